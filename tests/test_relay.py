"""Flows through a relay in the middle of their path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


def relayed(hops: Sequence[Mapping[str, object]], flow: Mapping[str, object]) -> Experiment:
    """A transfer through a relay between two hops, whose reverse links mirror the forward links."""
    chain = Chain(hops=[Hop.model_validate({"forward": link}) for link in hops])
    fields = {"control": "reno+slow-start", "relay": 1, "start": "0 s", **flow}
    return Experiment(topology=chain, flows=[Flow.model_validate(fields)], duration="12 s")


FARTHER = {
    "kind": "schedule",
    "steps": [
        {"start": "0 s", "rate": "230 kbit/s", "delay": "55 ms"},
        {"start": "470 ms", "rate": "230 kbit/s", "delay": "220 ms"},
        {"start": "940 ms", "rate": "230 kbit/s", "delay": "55 ms"},
    ],
}
BESIDE_THE_KERNEL = {
    # The relay ends one TCP connection and begins another. It keeps data that the second
    # connection's socket does not accept, and writes up to 16 packets at a time into that socket.
    "a small send buffer": (
        relayed(
            [
                {"rate": "31 Mbit/s", "delay": "1.1 ms", "buffer": "100 kB"},
                {"rate": "6.2 Mbit/s", "delay": "4.4 ms", "buffer": "100 pkts"},
            ],
            {"app": Bulk(size="200 kB"), "wmem": "4096 B/4200 B/4200 B"},
        ),
        346,
        340,
    ),
    # The relay's FIN is in the last data packet. If the FIN were in a packet of its own, it would
    # cause one more SACK, and another packet would be retransmitted 0.2 s earlier.
    "an end with the data": (
        relayed(
            [
                {"rate": "1.15 Mbit/s", "delay": "11 ms", "buffer": "100 kB"},
                {"rate": "230 kbit/s", "delay": "44 ms", "buffer": "4700 B", "vary": FARTHER},
            ],
            {"app": Bulk(size="20 kB"), "read_size": "2800 B", "read_interval": "120 ms"},
        ),
        1634,
        1635,
    ),
    # When the relay's connection starts, its startup sees only the relay's first write of 16 KiB.
    "a startup": (
        relayed(
            [
                {"rate": "20 Mbit/s", "delay": "5 ms", "buffer": "1 MB"},
                {"rate": "20 Mbit/s", "delay": "250 ms", "buffer": "1 MB"},
            ],
            {
                "app": Bulk(size="2 MB"),
                "control": "cubic",
                "relay": {"at_hop": 1, "control": "cubic+jump-start"},
            },
        ),
        4147,
        4147,
    ),
}
"""Experiments with their completion times in ms: in the simulator, and with `headwayctl pep`.

The kernel was Linux 6.18 (tests/live/test_gateway_kernel_live.py)."""


@pytest.mark.parametrize("name", BESIDE_THE_KERNEL)
def test_a_relay_moves_data_as_the_proxy_does(name: str) -> None:
    asked, simulated_ms, _ = BESIDE_THE_KERNEL[name]
    done_ns = run(asked).flows[0].done_ns
    assert done_ns is not None
    assert round(done_ns / 1e6) == simulated_ms


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
    with pytest.raises(ExperimentError, match=r"relay.at_hop: 2 is not allowed; must be less than"):
        Experiment(topology=SATELLITE, flows=["cubic:relay=2"], duration="1 s")
