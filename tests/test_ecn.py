"""ECN of RFC 3168: the options, and equal outcomes in both backends."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from headway import Experiment, metrics, run
from headway.backends.sim import scenario
from headway.errors import ExperimentError
from headway.experiment import Flow, parse_flows
from headway.trace import Trace

MODES = ("off", "on", "passive")
SIDES = tuple(itertools.product(MODES, MODES))
RED = {
    "name": "red",
    "tunables": {"ecn": 1, "min_th_pkts": 10, "max_th_pkts": 30, "weight_shift": 6},
}
CODEL = {"name": "codel", "tunables": {"ecn": 1}}
MARKERS = pytest.mark.parametrize("aqm", [RED, CODEL], ids=["red", "codel"])
PATHS = ("keep", "bleach", "drop-syn")
CWR = 2


def on(flows: Any, topology: dict[str, Any] | None = None, **fields: Any) -> Experiment:
    """An experiment on a path of 10 Mbit/s and 40 ms."""
    path = {"kind": "dumbbell", "rate": "10Mbit/s", "rtt": "40 ms", "buffer": "1000 pkts"}
    asked = {"topology": {**path, **(topology or {})}, "flows": flows, "duration": "3 s", **fields}
    return Experiment.model_validate(asked)


def of_all_sides(path: str) -> Experiment:
    """Nine short transfers with every combination of the two ends' ECN settings."""
    flows = [
        {
            "control": "reno",
            "ecn": sides,
            "app": {"kind": "bulk", "size": "20 kB"},
            "start": f"{100 * number} ms",
        }
        for number, sides in enumerate(SIDES)
    ]
    return on(flows, {"ecn": path})


def agreed(trace: Trace) -> list[bool | None]:
    """For each flow, whether ECN was negotiated; also checks that every transfer has ended."""
    assert all(flow.done_ns is not None for flow in trace.flows)
    return [flow.ecn for flow in trace.flows]


def expected(path: str) -> list[bool | None]:
    """What RFC 3168 section 6.1.1 requires of the negotiation, for each flow.

    An opener that requests ECN gets it if the responder supports ECN and the path does not drop the
    SYN.
    """
    return [
        (responder != "off" and path != "drop-syn") if opener == "on" else None
        for opener, responder in SIDES
    ]


@pytest.mark.parametrize("path", PATHS)
def test_ecn_is_agreed_on_as_both_sides_and_the_path_have_it(path: str) -> None:
    assert agreed(run(of_all_sides(path))) == expected(path)


def halves_once_per_round_trip(trace: Trace) -> None:
    """Check a marked Reno flow: no drop, no retransmission, at most one halving per round trip."""
    [flow] = trace.flows
    rows = trace["backoffs"].sort("time_ns").to_dicts()
    assert flow.ecn
    assert flow.ce_marks is not None
    assert flow.ce_marks >= len(rows) >= 5
    assert trace["drops"].height == 0
    assert metrics.retransmits_pkts(trace, 0) == 0
    for row in rows:
        assert (row["kind"], row["ssthresh_pkts"]) == (CWR, max(row["cwnd_pkts"] // 2, 2))
    for before, after in itertools.pairwise(rows):
        assert after["time_ns"] - before["time_ns"] >= trace.experiment.base_rtt_ns


def marked(sides: str = "on/passive", **topology: Any) -> Experiment:
    """A Reno flow through a queue that marks packets with CE."""
    flows = [{"control": "reno", "ecn": sides}]
    return on(flows, {"aqm": RED, **topology}, duration="12 s", warmup="2 s")


@MARKERS
def test_marks_halve_reno_once_per_round_trip(aqm: dict[str, Any]) -> None:
    halves_once_per_round_trip(run(marked(aqm=aqm)))


def test_what_is_not_capable_of_ecn_is_dropped_and_what_a_path_bleached_as_well() -> None:
    for trace in (run(marked("passive")), run(marked(ecn="bleach"))):
        assert trace.flows[0].ce_marks == 0
        assert 2 in trace["drops"]["reason"]


def test_ecn_is_written_for_both_ends_or_for_each() -> None:
    [both, each, none] = parse_flows("reno:ecn=on,cubic:ecn=on/passive,htcp")
    assert both.ecn_of_ends == ("on", "on")
    assert each.ecn_of_ends == ("on", "passive")
    assert none.ecn_of_ends is None
    assert Flow.model_validate({"control": "reno", "ecn": ("off", "on")}).ecn == "off/on"
    assert Flow.model_validate({"control": "reno", "ecn": ("on", "on")}).ecn == "on"
    [lowered] = scenario(on("reno:ecn=on/off"))["flows"]
    assert lowered["ecn"] == ["on", "off"]
    assert "ecn" not in scenario(on("reno"))["flows"][0]


@pytest.mark.parametrize(
    ("flow", "told"),
    [
        ({"control": "reno", "ecn": "yes"}, "ecn"),
        ({"control": "reno", "ecn": ("on", "maybe")}, "ecn"),
        ("1xreno:ecn=yes", "'yes' is not allowed; one of 'off'"),
        ("1xvcp:ecn=on", "the header of vcp is in the ECN bits, so its flows cannot use ECN"),
        ({"control": "mpcp", "ecn": ("off", "on")}, "cannot use ECN"),
    ],
)
def test_what_is_no_word_for_ecn_is_refused(flow: Any, told: str) -> None:
    with pytest.raises(ExperimentError, match=told) as refused:
        on(flow if isinstance(flow, str) else [flow])
    assert "\n" not in str(refused.value)


def datagrams(ecn: bool) -> Experiment:
    """Datagrams at twice the link's rate through a queue that marks packets with CE."""
    cbr = {"kind": "cbr", "packet": "1250 B", "interval": "500 us", "ecn": ecn}
    return on([{"app": cbr}], {"aqm": CODEL, "buffer": "200 pkts"}, duration="2 s")


def are_marked_where_they_can_be(marked: Trace, dropped: Trace) -> None:
    """Check two flows of datagrams, with ECN and without, that lose half of their packets.

    The AQM must mark the packets with ECN and drop those without; the full queue drops both.
    """
    marks = [trace.flows[0].ce_marks for trace in (marked, dropped)]
    early = [int((trace["drops"]["reason"] == 2).sum()) for trace in (marked, dropped)]
    assert marks[0] is not None
    assert marks[0] > 10
    assert marks[1] == 0
    assert early[0] == 0
    assert early[1] > 10


def test_datagrams_are_marked_where_they_can_be_and_else_dropped() -> None:
    are_marked_where_they_can_be(run(datagrams(True)), run(datagrams(False)))
