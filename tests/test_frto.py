"""F-RTO as a setting of a flow: what it changes, and where it is refused."""

from __future__ import annotations

import pytest

from headway import Experiment, run
from headway.backends.kernel.testbed import _settings, sides
from headway.backends.sim import scenario
from headway.errors import ExperimentError


def longer_way(flow: str) -> Experiment:
    """A flow on a path whose delay is 1 s longer for a while: a timeout occurs without a loss."""
    steps = [("0 s", "20 ms"), ("2 s", "1 s"), ("2500 ms", "20 ms")]
    return Experiment.model_validate(
        {
            "topology": {
                "kind": "dumbbell",
                "rate": "10Mbit/s",
                "rtt": "40 ms",
                "buffer": "400 pkts",
                "vary": {
                    "kind": "schedule",
                    "steps": [
                        {"start": start, "rate": "10Mbit/s", "delay": delay}
                        for start, delay in steps
                    ],
                },
            },
            "flows": flow,
            "duration": "6 s",
        }
    )


def test_without_f_rto_a_spurious_timeout_sends_again_what_had_arrived() -> None:
    # use Vegas, which does not fill the queue, so that no packet is dropped
    with_it, without = (
        run(longer_way(f"vegas:sack=off:timestamps=off{option}")).tables["flow_counters"].tail(1)
        for option in ("", ":frto=off")
    )
    assert with_it["rtos"].item()
    assert without["rtos"].item()
    assert 10 * with_it["retransmits_pkts"].item() < without["retransmits_pkts"].item()


def test_on_is_what_linux_6_does_anyway() -> None:
    texts = ("reno:sack=off", "reno:sack=off:frto=on")
    own, on = (run(longer_way(text)).flows[0] for text in texts)
    assert own == on


def test_it_is_asked_for_only_where_a_flow_says_so() -> None:
    [own, off] = scenario(longer_way("reno,reno:frto=off"))["flows"]
    assert "frto" not in own
    assert off["frto"] is False


@pytest.mark.parametrize(
    "fields", [{"stack": "linux-2.6"}, {"flows": "reno:frto=on:stack=linux-2.6"}]
)
def test_linux_2_6_has_none(fields: dict[str, str]) -> None:
    whole = longer_way("reno:frto=on").model_dump(mode="json")
    with pytest.raises(ExperimentError) as refused:
        Experiment.model_validate({**whole, **fields})
    assert str(refused.value) == "flows[0].frto: on is not allowed; off with linux-2.6"


def test_on_the_kernel_it_is_the_hosts_sysctl() -> None:
    whole = longer_way("reno,reno:frto=off,reno:frto=on")
    own, off, on = sides(whole)
    assert not any("frto" in one for one in _settings(whole, own, is_left=True))
    for is_left in (True, False):
        assert "net.ipv4.tcp_frto=0" in _settings(whole, off, is_left=is_left)
    assert "net.ipv4.tcp_frto=2" in _settings(whole, on, is_left=True)
