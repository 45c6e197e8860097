"""Options and JSON keys that scripts may rely on do not disappear.

An option or key that gets another name keeps working under the old one for a release, with a
warning. Its old name then stays in these lists until the release after.
"""

from __future__ import annotations

import pytest

from headway.cli.commands import COMMANDS, load
from headway.digest import Digest, FirstFlight, FlowDigest, LinkDigest, VoipDigest

OPTIONS = {
    "list": "--json",
    "describe": "--json",
    "run": "--backend --force --json --out --quick --repeats --resume --seed --threads --vectors",
    "try": "--apart --aqm --backend --beside --buffer --control --diverge --diverge-after "
    "--diverge-ignore --diverge-time --duration --flows --hop --json --loss --out --pcap --plot "
    "--quick-start --rate --router --rtt --save --seed --stack --threads --trials --vary --voip "
    "--warmup --reverse --topology --jitter --burst-loss --policer --shaper "
    "--aggregation --ack-thinning --corruption --mtu",
    "draw": "--json --out",
    "report": "--json",
    "claims": "--json --only",
    "why": "--full --json --seed --threads",
    "verdicts": "--full --json --live --seeds --threads --write",
    "export": "--flent --har --json --trial",
    "har": "--json --pages --rtt",
    "tmix": "--exchanges --json",
    "conform": "--backend --json",
    "import": "--control --flows --interface --interval --json --out --plot",
    "compare": "--json --plot",
    "fit": "--control --json --runs --save",
    "cite": "",
    "sweep": "--all --colour --facet --json --on --out --rows --shard --to --workers --x --y",
    "pages": "--json",
    "validate": "--builtin --cost --duration --hours --json --kind --matrix --minimize "
    "--no-builtin --no-cost --no-matrix --only --out --page --quick --random --repeats --resume "
    "--seed --traces --trials",
    "web-proxy": "--connections --control --forwarded-for --listen --upstream --verbose --via",
}
"""Options of each command, as of 27 November 2026."""

KEYS: dict[type, str] = {
    Digest: "flows jain_index link links voip",
    FlowDigest: "backoffs cc cwnd_pkts delivered_bytes fall_backs fct_us first_flight "
    "goodput_bps goodput_bps_batch_ci95 goodput_tcptrace_bps name quick_start_grants "
    "quick_start_requests quick_start_used retransmits_pkts rtos sent_pkts size_bytes "
    "slow_start_us srtt_us startup",
    FirstFlight: "asked_pkts growth_limited_pkts largest_pkts rwnd_limited_pkts sent_pkts "
    "sndbuf_limited_pkts syn_limited_pkts",
    LinkDigest: "drop_rate drops_pkts name queue_bytes queue_full_events queue_full_per_minute "
    "routers throughput_bps utilization",
    VoipDigest: "lost_pkts owd_us",
}
"""Keys of the JSON of ``headway try``, as of 27 November 2026."""


def test_every_command_is_in_the_list() -> None:
    assert set(COMMANDS) == set(OPTIONS)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_command_has_every_option_that_it_had(name: str) -> None:
    command = load(name)
    context = command.make_context(name, [], resilient_parsing=True)
    options = {
        option
        for parameter in command.get_params(context)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert set(OPTIONS[name].split()) - options == set()


@pytest.mark.parametrize("part", KEYS, ids=lambda part: part.__name__)
def test_the_json_of_a_trial_has_every_key_that_it_had(part: type) -> None:
    assert set(KEYS[part].split()) - set(part.__annotations__) == set()
