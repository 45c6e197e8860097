"""Accurate ECN (RFC 9768) in experiments: the options, what they lead to, and what is refused."""

from __future__ import annotations

import itertools
import platform
from typing import Any

import pytest

from headway import Experiment, run
from headway.backends.kernel.supported import check
from headway.backends.sim import scenario
from headway.errors import ExperimentError, KernelCannotError
from headway.experiment import parse_flows

MODES = ("off", "on", "passive", "accurate")
SIDES = tuple(itertools.product(MODES, MODES))
RED = {
    "name": "red",
    "tunables": {"ecn": 1, "min_th_pkts": 10, "max_th_pkts": 30, "weight_shift": 6},
}


def on(flows: Any, topology: dict[str, Any] | None = None, **fields: Any) -> Experiment:
    """An experiment on a path of 10 Mbit/s and 40 ms."""
    path = {"kind": "dumbbell", "rate": "10Mbit/s", "rtt": "40 ms", "buffer": "1000 pkts"}
    asked = {"topology": {**path, **(topology or {})}, "flows": flows, "duration": "3 s", **fields}
    return Experiment.model_validate(asked)


def test_both_ends_need_the_setting_and_fall_back_to_rfc_3168() -> None:
    flows = [
        {
            "control": "reno",
            "ecn": sides,
            "app": {"kind": "bulk", "size": "20 kB"},
            "start": f"{100 * number} ms",
        }
        for number, sides in enumerate(SIDES)
    ]
    trace = run(on(flows))
    for flow, (opener, responder) in zip(trace.flows, SIDES, strict=True):
        assert flow.done_ns is not None
        asks = opener in ("on", "accurate")
        assert flow.ecn == (responder != "off" if asks else None)
        assert flow.accurate_ecn == (opener == responder == "accurate")


@pytest.mark.parametrize(
    ("path", "ecn", "accurate"),
    [
        ("keep", True, True),
        ("bleach", True, True),
        ("drop-syn", False, False),
        ("clear-flags", False, False),
        ("strip-option", True, True),
        ("zero-option", True, True),
    ],
)
def test_a_path_decides_what_remains(path: str, ecn: bool, accurate: bool) -> None:
    [flow] = run(on("1xcubic:ecn=accurate", {"ecn": path, "aqm": RED})).flows
    assert (flow.ecn, flow.accurate_ecn) == (ecn, accurate)
    assert flow.ce_marks is not None
    # a path that clears the bits of a SYN without ECT does not show in the handshake
    assert (flow.ce_marks > 0) == (path not in ("bleach", "drop-syn", "clear-flags"))


def test_prague_needs_no_option_and_has_no_other_ecn() -> None:
    trace = run(on("1xprague", {"aqm": RED}, record=["controls", "flows"]))
    assert trace.flows[0].accurate_ecn
    [flow] = run(on("1xprague", {"ecn": "drop-syn"})).flows
    assert (flow.ecn, flow.accurate_ecn, flow.ce_marks) == (False, False, 0)


def test_sysctls_select_it_for_all_hosts() -> None:
    for value, accurate in ((1, False), (3, True), (4, False), (5, False)):
        [flow] = run(on("1xreno", sysctls={"tcp_ecn": value})).flows
        assert flow.accurate_ecn == accurate, value


def test_the_setting_is_written_for_both_ends_or_for_each() -> None:
    [both, each] = parse_flows("reno:ecn=accurate,cubic:ecn=accurate/passive")
    assert both.ecn_of_ends == ("accurate", "accurate")
    assert each.ecn_of_ends == ("accurate", "passive")
    [lowered] = scenario(on("reno:ecn=on/accurate"))["flows"]
    assert lowered["ecn"] == ["on", "accurate"]


@pytest.mark.parametrize(
    ("flows", "fields", "told"),
    [
        ("1xreno:ecn=accurate", {"stack": "linux-2.6"}, "off, on or passive with linux-2.6"),
        ("1xreno", {"stack": "linux-2.6", "sysctls": {"tcp_ecn": 3}}, "0 to 2 with linux-2.6"),
        ("1xreno", {"sysctls": {"tcp_ecn": 6}}, "tcp_ecn"),
        ("1xreno", {"stack": "linux-2.6", "sysctls": {"tcp_ecn_option": 1}}, "does not have"),
        ("1xvcp:ecn=accurate", {}, "ecn: accurate is not allowed; the header of vcp"),
    ],
)
def test_what_is_not_possible_is_refused(flows: str, fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ExperimentError, match=told) as refused:
        on(flows, **fields)
    assert "\n" not in str(refused.value)


def test_kernels_before_7_0_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "release", lambda: "6.18.44")
    for asked in (on("1xreno:ecn=accurate"), on("1xreno", sysctls={"tcp_ecn": 3})):
        with pytest.raises(KernelCannotError, match=r"since Linux 7\.0; this is 6\.18\.44"):
            check(asked)
    monkeypatch.setattr(platform, "release", lambda: "7.0.1")
    check(on("1xreno:ecn=accurate"))


def test_a_kernel_cannot_send_what_prague_needs() -> None:
    with pytest.raises(KernelCannotError, match=r"prague: .*ECT\(1\)"):
        check(on("1xprague"))
