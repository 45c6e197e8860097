"""An experiment's typed model and its scenario have the same values, for any experiment."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from test_experiment_limits import EXPERIMENTS

from headway.backends.sim import scenario, topology_fields
from headway.errors import ExperimentError, HeadwayError
from headway.experiment import Bulk, Cbr, Experiment, Flow, Link, Vectors, limit_bytes, named_links
from headway.experiment.effects import Effect
from headway.units import format_rate

OF_FLOWS = {
    "rcvbuf": "rcvbuf_bytes",
    "sndbuf": "sndbuf_bytes",
    "rmem": "rmem_bytes",
    "wmem": "wmem_bytes",
    "read_rate": "read_rate_bps",
    "read_size": "read_bytes",
    "read_interval": "read_interval_ns",
    "initial_rwnd": "initial_rwnd_bytes",
    "initial_rate": "initial_rate_bps",
    "data_volume": "data_volume_bytes",
    "deadline": "deadline_ns",
    "willing_rate": "willing_rate_bps",
    "stop": "stop_ns",
    "delay": "extra_delay_ns",
}
"""Fields whose name in a scenario has a unit; others have the same name."""
ELSEWHERE = {
    *("app", "control", "name", "ecn", "start", "relay", "from_hop", "to_hop", "direction"),
    *("source", "destination", "route", "reverse_route"),
}


def check_flow(flow: Flow, lowered: dict[str, Any]) -> None:
    for field in set(Flow.model_fields) - ELSEWHERE:
        value = getattr(flow, field)
        kept = list(value) if isinstance(value, tuple) else value
        assert lowered.get(OF_FLOWS.get(field, field)) == kept, field
    if flow.control is None:
        assert "control" not in lowered
    else:
        named = lowered["control"]
        given = (flow.control.name, flow.control.startup, flow.control.tunables)
        assert (named["name"], named.get("startup"), named["tunables"]) == given
    app = lowered["app"]
    assert app["kind"] == flow.app.kind
    if isinstance(flow.app, Bulk):
        assert app.get("bytes") == flow.app.size
    if isinstance(flow.app, Cbr):
        assert (app["ip_bytes"], app["interval_ns"]) == (flow.app.packet, flow.app.interval)
    if isinstance(flow.app, Vectors):
        assert app["epochs"] == [list(epoch) for epoch in flow.app.epochs]
        assert app["connections"] == list(flow.app.connections or ())


def check_routes(lowered: dict[str, Any], routes: tuple[list[int], list[int]]) -> None:
    """A flow takes its routes, or those up to its relay and then those behind it."""
    there, back = lowered.get("route", [0]), lowered.get("reverse_route", [1])
    if "relay" in lowered:
        relay = lowered["relay"]
        there, back = there + relay["route"], relay["reverse_route"] + back
    assert (there, back) == routes


def check_link(link: Link, lowered: dict[str, Any], base_rtt_ns: int) -> None:
    for field in ("loss", "duplicate", "reorder"):
        assert lowered[field] == getattr(link, field)
    for field in [kind.effect for kind in Effect.__subclasses__()]:
        effect = getattr(link, field)
        assert lowered.get(field) == (None if effect is None else effect.fields()), field
    assert (lowered["rate_bps"], lowered["delay_ns"]) == (link.rate, link.delay)
    assert lowered["reorder_delay_ns"] == link.reorder_delay
    assert lowered["aqm"] == {"name": link.aqm.name, "tunables": link.aqm.tunables}
    in_bytes = limit_bytes(link, base_rtt_ns)
    assert lowered.get("limit_bytes") == in_bytes
    assert lowered.get("limit_pkts") == (int(link.buffer.amount) if in_bytes is None else None)
    names = [router.name for router in link.all_routers()]
    assert [router["name"] for router in lowered.get("routers", [])] == names
    for field in ("routers_at_arrival", "drop_ip_options"):
        assert lowered.get(field, False) == getattr(link, field), field
    assert lowered.get("ecn", "keep") == link.ecn


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(EXPERIMENTS)
def test_a_scenario_says_what_the_typed_model_keeps(fields: dict[str, Any]) -> None:
    try:
        made = Experiment.model_validate(fields)
    except ExperimentError:
        assume(False)
    lowered = scenario(made)
    assert (lowered["duration_ns"], lowered["seed"]) == (made.duration, made.seed)
    assert lowered["stack"] == made.stack
    assert lowered["checkpoints_ns"] == made.checkpoints_ns()
    assert lowered["record"] == {name: name in made.record for name in lowered["record"]}
    topology = lowered["topology"]
    for (name, link), one in zip(
        named_links(made.topology).items(), topology["links"], strict=True
    ):
        assert one["name"] == name
        check_link(link, one, made.base_rtt_ns)
    assert topology == topology_fields(made)
    assert [flow["name"] for flow in lowered["flows"]] == made.flow_names()
    assert [flow["start_ns"] for flow in lowered["flows"]] == made.start_times_ns()
    for number, one in enumerate(lowered["flows"]):
        check_flow(made.flows[number], one)
        check_routes(one, made.routes(number))


def test_the_kernel_s_own_controls_are_refused_where_they_are_not() -> None:
    path = {"kind": "dumbbell", "rate": format_rate(10**7), "rtt": "1 ms", "buffer": "9 pkts"}
    made = Experiment.model_validate({"topology": path, "flows": "kernel:bbr", "duration": "1 s"})
    with pytest.raises(HeadwayError, match=r"^kernel:bbr: the simulator does not have"):
        scenario(made)
