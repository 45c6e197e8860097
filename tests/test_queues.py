"""Queue disciplines in experiments: text, what is refused, counters in the trace, the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from site_hooks import described_queues
from support import ROOT, headway

from headway import Dumbbell, Experiment, metrics, run
from headway.backends.sim import scenario
from headway.errors import ExperimentError
from headway.experiment import Aqm
from headway.registry import registry
from headway.trace import load_trace, save_trace

# RFC 8034, as docs/queues.md writes it
CABLE_MODEM = (
    "pie:target=10ms,t_update=16ms,alpha_16ths=4,beta_16ths=40,max_burst=142ms,decay=50,"
    "scale=1024B,estimator=rate"
)
CABLE_MODEM_TUNABLES = {
    "target_us": 10_000,
    "t_update_us": 16_000,
    "alpha_16ths": 4,
    "beta_16ths": 40,
    "max_burst_us": 142_000,
    "decay": 50,
    "scale_bytes": 1024,
    "estimator": 1,
}


def _with(aqm: str, buffer: str = "60000 B") -> Experiment:
    path = Dumbbell(rate="10 Mbit/s", rtt="40 ms", buffer=buffer, aqm=aqm)
    return Experiment(topology=path, flows="2xcubic", duration="2 s", warmup="1 s")


@pytest.mark.parametrize(
    ("text", "tunables"),
    [
        ("fq_codel:target=5ms,ecn=off", {"target_us": 5000, "ecn": 0}),
        ("fq_codel:target_us=7000:ecn=ect1", {"target_us": 7000, "ecn": 1}),
        ("fq_codel:memory=4MiB,quantum=300B", {"memory_bytes": 4 << 20, "quantum_bytes": 300}),
        ("fq:maxrate=2.5Mbit/s,limit=500pkts", {"maxrate_kbps": 2500, "limit_pkts": 500}),
        ("step:threshold=30pkts", {"threshold_pkts": 30}),
        ("step:threshold=45kB,threshold_pkts=0", {"threshold_bytes": 45_000, "threshold_pkts": 0}),
        ("dualpi2:step=500us", {"step_us": 500}),
        ("codel:interval=0.1s", {"interval_us": 100_000}),
        (CABLE_MODEM, CABLE_MODEM_TUNABLES),
    ],
)
def test_a_tunable_takes_a_value_with_a_unit(text: str, tunables: dict[str, int]) -> None:
    aqm = Aqm.model_validate(text)
    assert aqm.tunables == tunables
    link = scenario(_with(text, "1 MB"))["topology"]["links"][0]
    assert link["aqm"] == {"name": aqm.name, "tunables": tunables}


@pytest.mark.parametrize(
    ("aqm", "said"),
    [
        ("fq_codel:target=5", "unknown tunable of fq_codel 'target'; nearest: target_us"),
        ("fq_codel:target=5kB", "unknown tunable of fq_codel 'target'; nearest: target_us"),
        ("fq_codel:target=1.5us", "unknown tunable of fq_codel 'target'"),
        ("fq_codel:target=1ms,target_us=2", "target_us is given twice"),
        ("fq_codel:target=5s", "tunable target_us=5s out of range; allowed: 1 to 4000000 us"),
        ("fq_codel:ecn=maybe", "ecn=maybe out of range; allowed: off, ect1, ect0, on"),
        (
            "fq_codel:target=200ms",
            "tunable target_us=200000 is not allowed; at most interval_us, 100000",
        ),
        (
            "fq_codel:flows=20000",
            "tunable flows=20000 is not allowed; at most as many as memory_bytes has room for "
            "full packets, 14563",
        ),
        (
            "step:threshold=41pkts",
            "aqm of hop 0: tunable threshold_pkts=41 is not allowed; at most the queue's limit in "
            "packets of 1500 bytes, 40",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_one_line(aqm: str, said: str) -> None:
    with pytest.raises(ExperimentError) as refused:
        _with(aqm)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("aqm", "said"),
    [
        ("step:threshold=50pkts", "threshold_pkts=50 is not allowed; at most the queue's limit"),
        ("fq_codel:target=200ms", "target_us=200000 is not allowed; at most interval_us, 100000"),
        ("fq_pie:flows=60000", "flows=60000 is not allowed; at most as many as memory_bytes"),
    ],
)
def test_the_command_refuses_with_status_2(aqm: str, said: str) -> None:
    done = headway("try", "--aqm", aqm, "--duration", "1s")
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["dualpi2", "fq", "fq_codel", "fq_pie", "pie", "step"])
def test_counters_reach_the_trace_by_name(name: str, tmp_path: Path) -> None:
    trace = run(_with(f"{name}:limit=100pkts" if name not in ("step", "fq") else name))
    [queue] = trace.queues
    assert queue.name == name
    counters = metrics.queue_counters(trace, name)
    assert counters.columns == ["time_ns", "link", *(one.name for one in queue.counters)]
    assert counters["time_ns"][-1] == 2_000_000_000
    assert set(counters["link"]) == {0}, "the reverse link is drop-tail"
    sent = trace["sub_queues"].filter(trace["sub_queues"]["time_ns"] == 2_000_000_000)
    # step decides as packets arrive and has no sub-queues
    assert (sent["sent_pkts"].sum() > 500) == (name != "step")
    saved = load_trace(save_trace(trace, tmp_path / "trace"))
    assert saved.queues == trace.queues
    assert metrics.queue_counters(saved, name).equals(counters)
    assert metrics.queue_counters(trace, "fq_pie" if name == "fq" else "fq").height == 0


def test_a_fair_queue_shares_equally_what_drop_tail_does_not() -> None:
    def index(aqm: str) -> float:
        path = Dumbbell(rate="10 Mbit/s", rtt="10 ms", buffer="100 kB", aqm=aqm)
        flows = "cubic,cubic:delay=90ms"
        made = Experiment(topology=path, flows=flows, duration="12 s", warmup="4 s")
        return metrics.flow_jain_index(run(made))

    assert index("drop-tail") < 0.9
    assert index("fq_codel") > 0.98


def test_describe_has_every_parameter_with_unit_range_and_meaning() -> None:
    done = headway("describe", "fq_codel", "--json")
    described: dict[str, Any] = json.loads(done.stdout)
    assert described["kind"] == "queue"
    by_name = {one["name"]: one for one in described["tunables"]}
    # the constants of RFC 8290 and of Linux
    defaults = {name: one["default"] for name, one in by_name.items()}
    assert defaults == {
        "target_us": 5000, "interval_us": 100_000, "mtu_bytes": 1500, "flows": 1024,
        "quantum_bytes": 1514, "limit_pkts": 10_240, "memory_bytes": 32 << 20, "drop_batch": 64,
        "ecn": 3, "ce_threshold_us": 0, "ce_threshold_ecn": 3, "behind": 0,
    }  # fmt: skip
    assert all(one["unit"] and one["meaning"] for one in by_name.values())
    assert "overlimit_pkts" in {one["name"] for one in described["counters"]}
    text = headway("describe", "fq_codel").stdout
    assert "1 to 4000000 us" in text
    assert "off, ect1, ect0, on" in text


def test_the_page_names_every_discipline_and_the_site_describes_it() -> None:
    page = (ROOT / "docs" / "queues.md").read_text(encoding="utf-8")
    assert f"`{CABLE_MODEM}`" in page
    [listed] = re.findall(r"The disciplines are (.*?)\.", page, re.S)
    names = [queue.name for queue in registry().queues]
    assert re.findall(r"`([\w-]+)`", listed) == names
    made = described_queues()
    for queue in registry().queues:
        assert f"### {queue.name}\n" in made
        for one in queue.tunables:
            assert f"| `{one.name}` | {one.shown_default} | {one.allowed} |" in made
