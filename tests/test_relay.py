"""Flows through a host in the middle of their path."""

from __future__ import annotations

import pytest

from headway import Bulk, Chain, Experiment, ExperimentError, Flow, Hop, Relay, metrics, run


def hop(delay: str, loss: str) -> Hop:
    link = {"rate": "20 Mbit/s", "delay": delay, "buffer": "500 kB", "loss": loss}
    return Hop.model_validate({"forward": link, "reverse": {**link, "loss": "0"}})


SATELLITE = Chain(hops=[hop("5 ms", "0.2 %"), hop("270 ms", "0")])


def goodput_mbps(relay: Relay | None) -> float:
    flow = Flow(app=Bulk(), control="cubic", relay=relay, start="0 s")
    trace = run(Experiment(topology=SATELLITE, flows=[flow], duration="40 s", record=()))
    return metrics.goodput_bps(trace, 0) / 1e6


def test_losses_of_one_leg_stay_on_it():
    whole, split = goodput_mbps(None), goodput_mbps(Relay(at_hop=1))
    assert whole < 2.5
    assert split > 5 * whole


def test_a_relay_has_its_own_control():
    relay = Relay(at_hop=1, control="cubic+jump-start")
    assert goodput_mbps(relay) != goodput_mbps(Relay(at_hop=1))
    assert Relay.model_validate(relay.model_dump()) == relay


def test_the_text_of_a_flow_names_the_router():
    assert Flow.model_validate("cubic:relay=1").relay == Relay(at_hop=1)
    with pytest.raises(ExperimentError, match="voip has no option"):
        Flow.model_validate("voip:relay=1")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"relay": 1, "from_hop": 1}, "relay.at_hop: 1 is not allowed; between from_hop, 1"),
        ({"relay": 2, "to_hop": 2}, "relay.at_hop: 2 is not allowed; between from_hop, 0"),
        ({"relay": {"at_hop": 1, "stack": "bsd"}}, "bsd"),
        ({"relay": {"at_hop": 1, "control": "cubik"}}, "cubik"),
    ],
)
def test_what_cannot_be_is_one_line(fields, said):
    with pytest.raises(ExperimentError, match=said) as error:
        Flow.model_validate({"control": "cubic", **fields})
    assert "\n" not in str(error.value)


def test_a_relay_is_within_the_chain():
    with pytest.raises(ExperimentError, match=r"relay.at_hop: 2 is not allowed; less than"):
        Experiment(topology=SATELLITE, flows=["cubic:relay=2"], duration="1 s")
