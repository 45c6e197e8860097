"""Invalid experiments are rejected when they are constructed; constructed experiments run."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from support import ROOT, experiment

import headway
from headway import Chain, Dumbbell, Flow, HeadwayError, Hop, Link, run
from headway.errors import ExperimentError
from headway.experiment import FLOW_OPTIONS, Experiment, Sessions, Vectors, parse_flows
from headway.workloads import Pareto, Workload

HOP = {"forward": {"rate": "1 Mbit/s", "delay": "5 ms", "buffer": "20 pkts"}}
TWO_HOPS = {"kind": "chain", "hops": [HOP, HOP]}
PATH = {"kind": "dumbbell", "rate": "1 Mbit/s", "rtt": "50 ms", "buffer": "60000 B"}
TURNS = {"kind": "vectors", "epochs": [["1 kB", "1 kB", "0 s"]] * 2, "connections": [1, 1]}

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"flows": "1xreno:from_hop=1"}, "from_hop: 1 is not allowed; must be less than the number"),
    ({"flows": "1xreno:to_hop=2"}, "flows[0].to_hop: 2 is not allowed; at most 1"),
    ({"topology": TWO_HOPS, "flows": "1xreno,1xreno:to_hop=3"}, "flows[1].to_hop: 3 is not"),
    ({"topology": TWO_HOPS, "flows": "1xreno:from_hop=2"}, "from_hop: 2 is not allowed"),
    ({"flows": "1xreno:from_hop=2:to_hop=1"}, "2 is not allowed; must be less than to_hop, 1"),
    ({"flows": "1xreno:to_hop=0"}, "to_hop: '0' is not allowed; at least 1"),
    ({"flows": "1xreno:start=2s:stop=1s"}, "1 s is not allowed; must be later than start, 2 s"),
    ({"flows": "1xreno:stop=1s", "start_spread": "3 s"}, "later than every start"),
    ({"flows": "1xreno:stop=0s"}, "flows[0].stop: 0 ns is not allowed"),
    ({"flows": "1000001xreno"}, "too many flows; at most 1000000"),
    ({"flows": "1000000000xcubic"}, "too many flows; at most 1000000"),
    ({"flows": f"{'9' * 5000}xcubic"}, "too many flows"),
    ({"flows": "1xreno:read_size=1kB"}, "read_size, read_interval: must be set together"),
    ({"flows": "1xreno:read_rate=1Mbit/s:read_size=1kB:read_interval=1s"}, "read_rate: cannot be"),
    ({"flows": "1xreno:send_buffer=4095B"}, "send_buffer: 4095 B is not allowed; 4096 B to"),
    ({"flows": "1xreno:receive_buffer=1B"}, "receive_buffer: 1 B is not allowed; 4096 B to"),
    ({"flows": "1xreno:rcvbuf=2047B"}, "rcvbuf: 2047 B is not allowed; 2048 B to 512 MiB"),
    ({"flows": "1xreno:sndbuf=1GiB"}, "sndbuf: 1073741824 B is not allowed; 2048 B to 512 MiB"),
    ({"flows": "1xreno:rmem=64KiB"}, "rmem: '64KiB' is not allowed; three sizes, MINIMUM/DEFAULT"),
    ({"flows": "1xreno:rmem=4KiB/6MiB/64KiB"}, "the default 6291456 B is not allowed; at most the"),
    ({"flows": "1xreno:wmem=8KiB/4KiB/64KiB"}, "the minimum 8192 B is not allowed; at most the"),
    ({"flows": "1xreno:wmem=1B/4KiB/64KiB"}, "wmem: 1 B is not allowed; 4096 B to 1 GiB"),
    ({"flows": "1xreno:wmem=4/5/6"}, "wmem: '4' has no unit"),
    ({"flows": "1xreno:initial_rwnd=9MiB"}, "9437184 B is not allowed; 2920 B to"),
    ({"flows": [{"control": "reno", "name": "a\nb"}]}, "name: 'a\\nb' is not allowed"),
    ({"flows": [{"control": "reno", "name": "\ud800"}]}, "name: "),
    ({"flows": [{"app": {"kind": "cbr", "packet": "28 B", "interval": "1 ms"}}]}, "29 B to "),
    ({"flows": [{"app": {"packet": "28 B"}}]}, "app.kind: is missing; allowed: bulk, cbr, vectors"),
    ({"flows": [{"app": {"kind": "blk"}, "control": "reno"}]}, "flows[0].app: unknown kind 'blk'"),
    ({"flows": [{"app": {"kind": "bulk", "size": "2000000 GB"}, "control": "reno"}]}, "1 PiB"),
    ({"capture": {"link": "forward1"}}, "capture.link: 'forward1' is not allowed; choose from b"),
    ({"capture": {"snaplen": "5 GB"}}, "snaplen: 5000000000 B is not allowed"),
    ({"capture": {}, "flows": [{"app": TURNS, "control": "reno"}]}, "capture: is not allowed with"),
    (
        {"topology": {**PATH, "rtt": "1 h"}, "flows": [{"app": TURNS, "control": "reno"}]},
        "flows[0].app: 1800 s of one-way delay is not allowed; at most 30 s",
    ),
    ({"duration": "50000 h"}, "at most 49 days"),
    ({"sample": "1 ns"}, "sample: 1 ns is not allowed; at least 1 us for this duration"),
    ({"start_spread": "100000 h"}, "at most 10 years"),
    ({"topology": {**PATH, "rate": "20000 Gbit/s"}}, "rate: 20000 Gbit/s is not allowed"),
    ({"topology": {**PATH, "buffer": "5 GB"}}, "buffer: 5000000000 B of hop 0 is not allowed"),
    ({"topology": {**PATH, "buffer": "1e9 BDP"}}, "is not allowed; at most 4294967295 B"),
    ({"topology": {**PATH, "buffer": "5000000000 pkts"}}, "at most 4294967295 pkts"),
    ({"topology": {**PATH, "buffer": "1e999999999 BDP"}}, "'1e999999999 BDP' is too large"),
    ({"topology": {**PATH, "buffer": "1e-999999999 BDP"}}, "is too small"),
    ({"topology": {**PATH, "rat": 1}}, "topology.rat: no such field; nearest: rate"),
    ({"topology": {"rate": "1 Mbit/s"}}, "topology.kind: is missing; allowed: dumbbell, chain"),
    ({"topology": {"kind": "chain", "hops": [HOP] * 65}}, "at most 64 of them"),
    ({"topology": {"kind": "chain", "hops": []}}, "topology.hops: [] is not allowed; at least 1"),
    ({"record": ["flow"]}, "record[0]: 'flow' is not allowed; one of 'flows', 'queue', 'udp', "),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), REFUSED)
def test_what_the_engine_would_refuse_is_refused_when_made(changes, said) -> None:
    with pytest.raises(ExperimentError) as error:
        experiment(**changes)
    line = str(error.value)
    assert said in line
    assert "\n" not in line
    assert len(line) < 400


def test_every_way_to_make_one_ends_in_one_line() -> None:
    for make in (
        lambda: Dumbbell(rate="1", rtt="50 ms", buffer="1 B"),
        lambda: Dumbbell.model_validate({"rate": "1", "rtt": "50 ms", "buffer": "1 B"}),
        lambda: Dumbbell.model_validate_json('{"rate": "1", "rtt": "50 ms", "buffer": "1 B"}'),
    ):
        with pytest.raises(HeadwayError) as error:
            make()
        assert str(error.value) == "rate: '1' has no unit; allowed: bit/s, kbit/s, Mbit/s, Gbit/s"
        assert isinstance(error.value, ValueError)
        assert error.value.__suppress_context__


def test_a_changed_copy_is_checked_as_a_whole() -> None:
    made = experiment(flows="1xreno")
    assert made.model_copy(update={"seed": 2}).seed == 2
    with pytest.raises(ExperimentError, match="seed: -1 is not allowed"):
        made.model_copy(update={"seed": -1})
    with pytest.raises(ExperimentError, match=r"flows\[0\].to_hop: 2 is not allowed"):
        made.model_copy(update={"flows": tuple(parse_flows("1xreno:to_hop=2"))})
    with pytest.raises(ExperimentError, match="seed: Experiment cannot be changed"):
        made.seed = 3


def test_the_public_names_are_those_an_experiment_needs() -> None:
    hop = Hop(forward=Link(rate="10 Mbit/s", delay="5 ms", buffer="1 BDP"))
    made = headway.Experiment(
        topology=Chain(hops=(hop, hop)),
        flows=[Flow(control="reno"), Flow(control="cubic", from_hop=1)],
        duration="1 s",
    )
    assert [flow.from_hop for flow in made.flows] == [0, 1]
    assert all(hasattr(headway, name) for name in headway.__all__)


def test_an_unknown_option_of_flows_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(ExperimentError, match="unknown option of cubic 'sakc'; nearest: sack"):
        parse_flows("1xcubic:sakc=off")
    with pytest.raises(ExperimentError) as error:
        parse_flows("1xcubic:zzzzzz=off")
    assert ", ".join(FLOW_OPTIONS) in str(error.value)
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    table = page.split("| option | value | meaning |")[1].split("\n\n")[0]
    named = re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines()[2:]))
    assert sorted(named) == sorted(FLOW_OPTIONS)


def test_a_workload_that_could_not_be_drawn_is_refused() -> None:
    fields: dict[str, Any] = {"load": 0.5, "rate": "10 Mbit/s", "until": "10 s"}
    for changes, said in (
        ({"vectors": {"kind": "pareto", "mean": "10 MB"}}, "vectors.mean: 10000000 B is not"),
        ({"load": 1e9}, "load: 1e.09 is not allowed; at most 20,000,000 responses"),
        ({"load": float("inf")}, "load"),
        ({"vectors": {"kind": "camp"}}, "vectors: unknown kind 'camp'; allowed: 'campus'"),
    ):
        with pytest.raises(ExperimentError, match=said):
            Workload.model_validate({"vectors": {"kind": "campus"}, **fields, **changes})


# --- every experiment that can be constructed runs ---

RATES = st.sampled_from(["1 bit/s", "9600 bit/s", "1 Mbit/s", "10 Mbit/s", "10 Gbit/s", "9 Tbit/s"])
TIMES = st.sampled_from(["0 s", "1 ns", "999 us", "20 ms", "1 s", "40 s", "80000 h"])
BUFFERS = st.sampled_from(["1 B", "100 B", "60000 B", "1 pkt", "3000000000 pkts", "0.3 BDP"])
CHANCES = st.sampled_from([0, 0.01, 0.5, 0.999])
SIZES = st.sampled_from(["1 B", "1460 B", "1 MB", "900000 GB"])
HOPS = st.one_of(st.none(), st.integers(0, 4))
ODDS = st.booleans()
JITTERS = st.sampled_from(
    ["1 ms", "10 min:distribution=pareto", "1 ns:correlation=0.999:reorder=on:distribution=normal"]
)
BURSTS = st.sampled_from(["to_bad=1%:to_good=100%", "to_bad=1:to_good=1e-9:loss_bad=0.5"])
BUCKETS = st.sampled_from(["1 bit/s:burst=1500B", "10Mbit/s:burst=64KiB", "9 Tbit/s:burst=4GB"])
PORTION = {
    **{"loss": CHANCES, "duplicate": CHANCES, "reorder": CHANCES, "reorder_delay": TIMES},
    **{"jitter": JITTERS, "burst_loss": BURSTS, "policer": BUCKETS, "shaper": BUCKETS},
    "aggregation": st.sampled_from(["4 ms", "10 min:packets=1", "1 ns:packets=32"]),
    "ack_thinning": st.sampled_from(["filter", "keep=1/2", "keep=1/1000:interval=10min"]),
    "corruption": st.sampled_from(["10%", "bit=1e-6"]),
    "mtu": st.sampled_from(["576B", "1499B:icmp=off"]),
}
LINKS = st.fixed_dictionaries(
    {"rate": RATES, "delay": TIMES, "buffer": BUFFERS},
    optional={**PORTION, "aqm": st.sampled_from(["drop-tail", "red"]), "quick_start": ODDS},
)
DUMBBELLS = st.fixed_dictionaries(
    {"kind": st.just("dumbbell"), "rate": RATES, "rtt": TIMES, "buffer": BUFFERS},
    optional={**PORTION, "reverse": LINKS, "access_rate": RATES, "access_delay": TIMES},
)
CHAINS = st.fixed_dictionaries(
    {
        "kind": st.just("chain"),
        "hops": st.lists(st.fixed_dictionaries({"forward": LINKS}), min_size=1, max_size=3),
    }
)
HOP_PAIRS = st.fixed_dictionaries({"forward": LINKS}, optional={"reverse": LINKS})
EDGES = st.fixed_dictionaries(
    {"between": st.sampled_from(["a-b", "b-c", "c-a", "a-d"]), "forward": LINKS},
    optional={"reverse": LINKS},
)
NETWORKS = st.fixed_dictionaries(
    {
        "kind": st.just("network"),
        "nodes": st.just(["a", "b", "c"]),
        "edges": st.lists(EDGES, min_size=1, max_size=3),
    },
    optional={"ecmp": ODDS, "access_rate": RATES, "access_delay": TIMES},
)
STARS = st.fixed_dictionaries(
    {"kind": st.just("star"), "hosts": st.integers(1, 4), "edge": HOP_PAIRS}
)
FABRICS = st.fixed_dictionaries(
    {
        "kind": st.just("leaf-spine"),
        "leaves": st.integers(1, 3),
        "spines": st.integers(0, 2),
        "hosts": st.integers(1, 2),
        "host_edge": HOP_PAIRS,
        "spine_edge": HOP_PAIRS,
    }
)
EPOCHS = st.lists(st.tuples(SIZES, SIZES, TIMES), min_size=1, max_size=3)
SESSIONS = st.builds(
    lambda load, pairs, persistent: Sessions(
        workload=Workload(
            vectors=Pareto(mean="14 kB"), load=load, rate="1 Mbit/s", until="1 s",
            persistent=persistent,
        ),
        pair=pairs - 1,
        pairs=pairs,
    ).model_dump(mode="json"),
    st.floats(0.01, 3),
    st.integers(1, 3),
    ODDS,
)  # fmt: skip
TRANSFERS = st.fixed_dictionaries(
    {
        "kind": st.just("transfers"),
        "sizes": st.sampled_from(
            ["1 B", "20 kB", "web-search", "pareto/1kB/1.2/5MB", "log-normal/1kB/50", "cdf/3@0.5"]
        ),
    },
    optional={
        "arrivals": st.sampled_from(["1/s", "20000/s", "0/s"]), "load": st.floats(0, 1.5),
        "think": TIMES, "spacing": st.sampled_from(["exponential", "constant", "even"]),
    },
)  # fmt: skip
TCP = st.one_of(
    TRANSFERS,
    st.fixed_dictionaries({"kind": st.just("bulk")}, optional={"size": SIZES}),
    st.fixed_dictionaries(
        {"kind": st.just("vectors"), "epochs": EPOCHS},
        optional={"connections": st.lists(st.integers(1, 2), max_size=3)},
    ),
    st.fixed_dictionaries({"kind": st.just("pingpong"), "request": SIZES, "mean_interval": TIMES}),
    SESSIONS,
)
UDP = st.one_of(
    st.fixed_dictionaries(
        {
            "kind": st.just("cbr"),
            "packet": st.sampled_from(["29 B", "186 B", "65535 B"]),
            "interval": st.sampled_from(["1 ms", "1 s", "80000 h"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("requests"),
            "codes": st.lists(st.integers(0, 15), min_size=1, max_size=2),
            "mean_interval": st.sampled_from(["1 ms", "1 s", "80000 h"]),
        }
    ),
)
CONTROLS = st.builds(
    lambda control, startup: f"{control}{startup}",
    st.sampled_from(["reno", "cubic", "cubic26", "htcp"]),
    st.sampled_from(["", *(f"+{one.name}" for one in headway.registry.registry().startups)]),
)
WINDOWS = st.sampled_from(["2920 B", "5 kB", "1 MB", "8388480 B"])
MEMORY = st.sampled_from(["4096 B/4096 B/4096 B", "4 KiB/1 MB/1 GiB"])
OPTIONS = {
    "sack": ODDS, "timestamps": ODDS, "delayed_ack": ODDS, "nodelay": ODDS, "extra_ack": ODDS,
    "rcvbuf": st.sampled_from(["2048 B", "1 MB", "512 MiB"]), "initial_rwnd": WINDOWS,
    "sndbuf": st.sampled_from(["2048 B", "1 MB", "512 MiB"]), "rmem": MEMORY, "wmem": MEMORY,
    "initial_rate": RATES, "data_volume": SIZES, "announces": ODDS, "announces_first": ODDS,
    "stabilize": ODDS, "deadline": TIMES, "willing_rate": RATES, "start": TIMES, "stop": TIMES,
    "delay": TIMES, "name": st.text(max_size=3),
}  # fmt: skip
IN_ROW = {
    "from_hop": st.integers(0, 3), "to_hop": HOPS,
    "direction": st.sampled_from(["forward", "reverse"]),
}  # fmt: skip
NODES = st.sampled_from(["a", "b", "c", "host0", "host2"])
ROUTES = st.sampled_from(["a-b", "a-c-b", "b-a", "c", "host0-hub-host2", "a-b-a"])
IN_NETWORK = {"source": NODES, "destination": NODES, "route": ROUTES, "reverse_route": ROUTES}


def flows(of_topology: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    options = OPTIONS | of_topology
    return st.one_of(
        st.fixed_dictionaries({"control": CONTROLS}, optional={"app": TCP, **options}),
        st.fixed_dictionaries({"app": UDP}, optional=options),
    )


PATHS = st.one_of(
    st.fixed_dictionaries(
        {
            "topology": st.one_of(DUMBBELLS, CHAINS),
            "flows": st.lists(flows(IN_ROW), min_size=1, max_size=3),
        }
    ),
    st.fixed_dictionaries(
        {
            "topology": st.one_of(NETWORKS, STARS, FABRICS),
            "flows": st.lists(flows(IN_NETWORK), min_size=1, max_size=3),
        }
    ),
)
EXPERIMENTS = st.builds(
    lambda path, rest: {**path, **rest},
    PATHS,
    st.fixed_dictionaries(
        {"duration": st.sampled_from(["1 ns", "1 ms", "200 ms"])},
        optional={
            "stack": st.sampled_from(["linux-6", "linux-2.6"]),
            "seed": st.integers(0, 2**63 - 1),
            "warmup": st.sampled_from(["0 s", "100 us"]),
            "start_spread": st.sampled_from(["0 s", "100 ms", "1 h"]),
            "sample": st.sampled_from(["100 us", "1 s"]),
            "capture": st.fixed_dictionaries(
                {
                    "link": st.sampled_from(
                        ["bottleneck", "hosts", "forward0", "reverse1", "nowhere"]
                    )
                }
            ),
        },
    ),
)


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(EXPERIMENTS)
def test_every_experiment_that_can_be_made_runs(fields: dict[str, Any]) -> None:
    try:
        made = Experiment.model_validate(fields)
    except ExperimentError as error:
        line = str(error)
        assert "\n" not in line
        assert line
        event("refused")
        return
    assert Experiment.model_validate(json.loads(made.model_dump_json())) == made
    trace = run(made)
    assert len(trace.flows) == len(made.flows)


WHOLE: dict[str, Any] = {
    "topology": {
        "kind": "chain",
        "hops": [{"forward": {**HOP["forward"], "aqm": {"name": "red", "tunables": {"ecn": 1}}}}],
        "access_rate": "1 Gbit/s",
    },
    "flows": [
        {"control": {"name": "cubic", "startup": "hystart", "tunables": {"beta": 700}}},
        {"control": "reno", "app": TURNS, "to_hop": 1, "delay": "1 ms", "sack": True},
        {"app": {"kind": "requests", "codes": [3], "mean_interval": "1 s"}, "name": "asks"},
        {
            "control": "htcp",
            "app": {
                "kind": "sessions",
                "workload": {
                    "vectors": {"kind": "pareto", "mean": "14 kB"},
                    "load": 0.5, "rate": "1 Mbit/s", "until": "1 s",
                },
                "pair": 0,
                "pairs": 2,
            },
        },
    ],
    "duration": "200 ms",
    "record": ["queue"],
}  # fmt: skip
JUNK = [
    None, True, 0, -1, 7, 1.5, 2**70, 10**4000, float("nan"), float("inf"), "", "x", "1", "x:y=z",
    "9" * 5000 + " s", "1e999999 Mbit/s", "\ud800", "a\nb", b"b", [], {}, [[]], ["x"], [None],
    {"kind": []}, {"kind": "bulk"}, {3: 4}, {"name": ["x"]}, {"name": "cubic", "startup": ["x"]},
    {"name": "cubic", "tunables": 3}, {"name": "cubic", "tunables": {3: 4}}, object(),
]  # fmt: skip


def places(part: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = part.items() if isinstance(part, dict) else enumerate(part)
    more = (places(value, (*at, key)) for key, value in inner if isinstance(value, dict | list))
    return [*((*at, key) for key in (part if isinstance(part, dict) else range(len(part)))),
            *(place for found in more for place in found)]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("junk", [pytest.param(j, id=f"junk{i}") for i, j in enumerate(JUNK)])
def test_junk_in_any_field_is_refused_in_one_line_or_runs(junk: object) -> None:
    assert run(Experiment.model_validate(WHOLE)).flows
    for place in places(WHOLE):
        fields = copy.deepcopy(WHOLE)
        part = fields
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = junk
        try:
            run(Experiment.model_validate(fields))
        except ExperimentError as error:
            line = str(error)
            assert line.isprintable(), place
            assert len(line) < 600, place


def test_a_vector_of_more_than_a_pebibyte_is_refused() -> None:
    with pytest.raises(ExperimentError, match=r"epochs: .* B of requests in all are not allowed"):
        Vectors(epochs=[("900000 GB", "1 B", "0 s"), ("900000 GB", "1 B", "0 s")])
