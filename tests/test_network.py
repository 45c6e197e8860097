"""Networks of any shape: closed forms of throughput, routes, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headway import (
    Edge,
    Experiment,
    ExperimentError,
    Flow,
    HeadwayError,
    Hop,
    LeafSpine,
    Link,
    Network,
    Star,
    metrics,
    run,
)
from headway.backends.kernel import check, testbed
from headway.backends.sim import SimBackend, topology_fields
from headway.cli.try_warnings import warnings
from headway.experiment import named_links

PAYLOAD = 1448 / 1500
"""Share of payload in a full packet with timestamps."""


def link(rate: str, delay: str, **more: Any) -> Link:
    return Link.model_validate({"rate": rate, "delay": delay, "buffer": "200 pkts", **more})


def edge(between: str, rate: str, delay: str, **more: Any) -> Edge:
    return Edge(between=between, forward=link(rate, delay, **more))


def goodputs_bps(made: Experiment) -> list[float]:
    trace = run(made)
    return [metrics.goodput_bps(trace, flow) for flow in range(len(made.flows))]


def test_a_parking_lot_with_fair_queues_shares_links_by_max_min_fairness() -> None:
    # The flow over all three hops gets half of the slowest hop, as the second short flow does. The
    # other two get the rest of their hops.
    rates = {"a-b": 10, "b-c": 6, "c-d": 12}
    lot = Network(
        nodes=["a", "b", "c", "d"],
        edges=[edge(name, f"{mbps} Mbit/s", "5 ms", aqm="drr") for name, mbps in rates.items()],
    )
    ends = [("a", "d"), ("a", "b"), ("b", "c"), ("c", "d")]
    flows = [Flow(control="cubic", source=one, destination=other) for one, other in ends]
    made = Experiment(topology=lot, flows=flows, duration="60 s", warmup="20 s", record=())
    assert made.base_rtt_ns == 30_000_000
    assert [made.routes(flow)[0] for flow in range(4)] == [[0, 2, 4], [0], [2], [4]]
    assert made.routes(0)[1] == [5, 3, 1]
    expected = [mbps * 1e6 * PAYLOAD for mbps in (3, 7, 3, 9)]
    assert goodputs_bps(made) == pytest.approx(expected, rel=0.01)


def test_acks_limit_a_download_beside_an_upload_on_an_asymmetric_link() -> None:
    # Fair queues give the ACKs half of the way back. Each ACK of 52 bytes releases one segment. No
    # queue overflows, and the receiver's largest window ends the growth of the download's window.
    back = {"rate": "1 Mbit/s", "delay": "10 ms", "buffer": "9000 pkts", "aqm": "drr"}
    path = {"kind": "dumbbell", "rate": "20 Mbit/s", "rtt": "20 ms", "buffer": "9000 pkts"}
    made = Experiment.model_validate(
        {
            "topology": {**path, "reverse": back},
            "flows": "reno+slow-start:delayed_ack=off,cubic:direction=reverse",
            "duration": "30 s",
            "warmup": "15 s",
            "record": [],
        }
    )
    assert (made.routes(0), made.routes(1)) == (([0], [1]), ([1], [0]))
    download, upload = goodputs_bps(made)
    assert download == pytest.approx(0.5e6 / (52 * 8) * 1448 * 8, rel=0.03)
    assert upload == pytest.approx(0.5e6 * PAYLOAD, rel=0.03)


def test_a_star_of_eight_senders_shares_the_link_of_the_receiver() -> None:
    hosts = Star(hosts=9, edge=Hop(forward=link("10 Mbit/s", "2 ms", aqm="drr"),
                                   reverse=link("10 Mbit/s", "2 ms", aqm="drr")))  # fmt: skip
    made = Experiment(
        topology=hosts, flows="8xcubic", duration="40 s", warmup="10 s", record=(),
        start_spread="1 s",
    )  # fmt: skip
    assert made.base_rtt_ns == 8_000_000
    names = list(named_links(hosts))
    assert [names[number] for number in made.routes(7)[0]] == ["host8-hub", "hub-host0"]
    assert goodputs_bps(made) == pytest.approx([10e6 / 8 * PAYLOAD] * 8, rel=0.01)


def test_a_leaf_spine_spreads_flows_over_its_spines() -> None:
    fabric = LeafSpine(
        leaves=2, spines=4, hosts=4,
        host_edge=Hop(forward=link("100 Mbit/s", "10 us")),
        spine_edge=Hop(forward=link("100 Mbit/s", "10 us")),
    )  # fmt: skip
    flows = [Flow(control="cubic", source="host0", destination="host4") for _ in range(40)]
    made = Experiment(topology=fabric, flows=flows, duration="1 s", record=())
    assert len(fabric.links()) == 8 + 8
    spines = {tuple(made.routes(flow)[0][1:3]) for flow in range(40)}
    assert len(spines) == 4
    other = made.model_copy(update={"seed": 2})
    assert [made.routes(n) for n in range(40)] != [other.routes(n) for n in range(40)]
    trace = run(made)
    assert trace.links == tuple(named_links(fabric))
    used = [
        name for number, name in enumerate(trace.links) if metrics.utilization(trace, number) > 0.01
    ]
    assert {"host0-leaf0", "leaf1-host4"} <= set(used)
    assert {name for name in used if name.startswith("leaf0-spine")} == {
        f"leaf0-spine{spine}" for spine in range(4)
    }


def test_a_warning_looks_at_the_route_of_its_own_flow() -> None:
    # Only the routers at x answer Quick-Start requests. Each flow's number decides its route.
    def by(node: str, **more: Any) -> list[Edge]:
        link = Link(rate="10 Mbit/s", delay="5 ms", buffer="200 pkts", **more)
        return [
            Edge(between=name, forward=link, reverse=link) for name in (f"a-{node}", f"{node}-b")
        ]

    edges = [*by("x", quick_start={}), *by("y")]
    made = Experiment(
        topology=Network(nodes=["a", "b", "x", "y"], edges=edges, ecmp=True),
        flows="8xcubic+quick-start:size=100kB:source=a:destination=b",
        duration="2 s",
        seed=3,
    )
    past_y = [number for number in range(8) if max(made.routes(number)[0]) >= 4]
    only_x = [
        number for number in range(8) if max(*made.routes(number)[0], *made.routes(number)[1]) < 4
    ]
    assert (past_y, only_x) == ([0], [1, 2, 4, 7])
    lines = warnings(made, SimBackend().digest(made)["flows"])
    assert [line.partition(",")[0] for line in lines] == [
        "cubic-0: no router on the path answers Quick-Start requests",
        "cubic-1",
        "cubic-7: no Quick-Start request was granted",
    ]


def test_a_network_can_be_written_as_json_and_as_text() -> None:
    triangle = Network(
        nodes=["a", "b", "c"],
        edges=[
            Edge(between=("a", "b"), forward=link("1 Mbit/s", "9 ms")),
            edge("b-c", "2 Mbit/s", "1 ms"),
            edge("c-a", "3 Mbit/s", "1 ms"),
        ],
    )
    text = "cubic:source=a:destination=b:route=a-b,voip:source=b:destination=a"
    made = Experiment(topology=triangle, flows=text, duration="1 s")
    assert list(named_links(triangle)) == ["a-b", "b-a", "b-c", "c-b", "c-a", "a-c"]
    assert made.routes(0) == ([0], [2, 4])
    assert made.routes(1) == ([2, 4], [5, 3])
    assert Flow(control="cubic", route=["a", "b"]).route == made.flows[0].route
    assert Experiment.model_validate_json(made.model_dump_json()) == made
    assert run(made).links == tuple(named_links(triangle))


SLOW = {"rate": "1 Mbit/s", "delay": "1 ms", "buffer": "9 pkts"}
HOP = {"forward": SLOW}
PAIR = {"kind": "network", "nodes": ["a", "b", "c"], "edges": [{"between": "a-b", **HOP}]}
ENDS = {"control": "reno", "source": "a", "destination": "b"}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"flows": [{**ENDS, "destination": "c"}]}, "flows[0].destination: no route leads from a to c"),
    ({"flows": [{**ENDS, "destination": "a"}]}, "flows[0].destination: 'a' is not allowed; it is"),
    ({"flows": [{**ENDS, "source": "d"}]}, "flows[0].source: 'd' is not a node; allowed: a, b, c"),
    ({"flows": "reno"}, "flows[0].source: is missing; a flow in a network needs it"),
    ({"flows": [{**ENDS, "route": "a-b-a-b"}]}, "flows[0].route: 'a-b-a-b' is not allowed; it pas"),
    ({"flows": [{**ENDS, "route": "a-c-b"}]}, "flows[0].route: 'a-c-b' is not allowed; no edge"),
    ({"flows": [{**ENDS, "route": "a b"}]}, "flows[0].route: 'a b' is not allowed; names of nodes"),
    ({"flows": [{**ENDS, "to_hop": 9**30}]}, "flows[0].to_hop: only a chain has hops"),
    ({"flows": [{**ENDS, "direction": "reverse"}]}, "flows[0].direction: 'reverse' is not allowed"),
    ({"flows": [{**ENDS, "relay": 1}]}, "flows[0].relay: only a chain can have relays"),
    ({"capture": {}}, "capture.link: 'bottleneck' is not allowed; choose from hosts, a-b, b-a"),
    ({"topology": {**PAIR, "nodes": ["a", "a"]}}, "topology: nodes[1]: 'a' is not allowed"),
    ({"topology": {**PAIR, "edges": PAIR["edges"] * 2}}, "edges[1].between: 'a-b' is not allowed"),
    (
        {"topology": {**PAIR, "edges": [{"between": "a-b", "forward": {**SLOW, "rate": "0 bps"}}]}},
        "topology.edges[0].forward.rate: '0 bps' must be",
    ),
    ({"topology": {"kind": "star", "hosts": 1, "edge": HOP}}, "topology: hosts: 1 is not allowed"),
    ({"topology": {"kind": "star", "hosts": 9**30, "edge": HOP}}, "topology.hosts: "),
    (
        {"topology": {"kind": "leaf-spine", "leaves": 2000, "spines": 2000, "hosts": 2000,
                      "host_edge": HOP, "spine_edge": HOP}},
        "topology: leaves: 2000 with 2000 spines and 2000 hosts each have",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), REFUSED)
def test_an_invalid_network_is_refused_in_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ExperimentError) as error:
        Experiment.model_validate({"topology": PAIR, "flows": [ENDS], "duration": "1 s", **changes})
    line = str(error.value)
    assert said in line
    assert "\n" not in line


def test_a_flow_in_a_row_names_no_nodes() -> None:
    path = {"kind": "dumbbell", "rate": "1 Mbit/s", "rtt": "9 ms", "buffer": "9 pkts"}
    for option in ("source", "destination", "route", "reverse_route"):
        line = rf"^flows\[0\].{option}: 'a' is not allowed; only a network has named nodes"
        with pytest.raises(ExperimentError, match=line):
            Experiment.model_validate(
                {"topology": path, "flows": f"reno:{option}=a", "duration": "1 s"}
            )


ROW = {"kind": "dumbbell", "rate": "1 Mbit/s", "rtt": "9 ms", "buffer": "9 pkts"}
EDGE = {"edge": HOP}
CHAIN = {"kind": "chain", "hops": [HOP] * 3}


@pytest.mark.parametrize(
    ("topology", "flows"),
    [
        (PAIR, [ENDS]),
        (ROW, "reno,cubic:direction=reverse"),
        (CHAIN, "reno,cubic:direction=reverse,voip:from_hop=1:to_hop=2"),
        ({"kind": "star", "hosts": 15, **EDGE}, "100xreno"),
    ],
)
def test_the_kernel_backend_runs_networks_and_reverse_flows(
    topology: dict[str, Any], flows: Any
) -> None:
    check(Experiment.model_validate({"topology": topology, "flows": flows, "duration": "1 s"}))


FAST = {"forward": {**SLOW, "rate": "1 Gbit/s"}}
ROUTED = {"forward": {**SLOW, "routers": ["xcp"]}}


@pytest.mark.parametrize(
    ("topology", "flows", "said"),
    [
        (
            {"kind": "star", "hosts": 16, **EDGE},
            "reno",
            "topology: 17 nodes are not allowed; at most 16",
        ),
        (
            {"kind": "star", "hosts": 2, **EDGE},
            "101xreno",
            "flows: 101 are not allowed; at most 100 in a network",
        ),
        (
            {"kind": "star", "hosts": 2, "edge": FAST},
            "reno",
            "topology: host0-hub: rate: 1 Gbit/s is not allowed; at most 200 Mbit/s",
        ),
        (
            {"kind": "star", "hosts": 2, "edge": ROUTED},
            "xcp",
            "topology: host0-hub: routers: xcp is not allowed; only a dumbbell",
        ),
        (ROW, "reno:direction=reverse", "capture.link: 'hosts' is not allowed with direction=rev"),
        (
            {"kind": "chain", "hops": [HOP] * 2},
            "reno:relay=1:direction=reverse",
            "reno-0: direction: 'reverse' is not allowed with a gateway; forward",
        ),
    ],
)
def test_the_kernel_backend_refuses_other_networks_in_one_line(
    topology: dict[str, Any], flows: str, said: str
) -> None:
    capture = {"link": "hosts"} if "capture" in said else None
    made = Experiment.model_validate(
        {"topology": topology, "flows": flows, "duration": "1 s", "capture": capture}
    )
    with pytest.raises(HeadwayError, match=said) as error:
        check(made)
    assert "\n" not in str(error.value)


def test_the_testbed_has_the_links_and_routes_of_the_simulator() -> None:
    fabric = LeafSpine(
        leaves=2, spines=2, hosts=2,
        host_edge=Hop(forward=link("10 Mbit/s", "1 ms")),
        spine_edge=Hop(forward=link("5 Mbit/s", "2 ms", aqm="codel")),
    )  # fmt: skip
    flows = [Flow(control="cubic", source="host0", destination="host3") for _ in range(4)]
    made = Experiment(topology=fabric, flows=flows, duration="1 s")
    config = config_of(made)
    links = [path["link"] for path in (config["forward"], config["reverse"], *config["further"])]
    assert links == topology_fields(made)["links"]
    assert [link["name"] for link in links] == list(named_links(fabric))
    routes = [(pair["there"], pair["back"]) for pair in config["routes"]]
    assert routes == [made.routes(number) for number in range(4)]
    assert len({there[1] for there, _ in routes}) == 2
    assert config["extra_delay_ns"] == [0] * 4


def test_a_row_has_the_same_testbed_as_before_with_reverse_flows_on_its_hosts() -> None:
    made = Experiment.model_validate(
        {"topology": ROW, "flows": "reno,cubic:direction=reverse", "duration": "1 s"}
    )
    config = config_of(made)
    assert config.keys() == {
        "seed", "forward", "reverse", "extra_delay_ns", "access_delay_ns", "access_rate_bps",
        "capture",
    }  # fmt: skip
    assert len(config["extra_delay_ns"]) == 1


def config_of(made: Experiment) -> dict[str, Any]:
    ctl: Any = None  # only the context of a testbed calls headwayctl
    return testbed.Testbed(ctl, made, "t", Path())._config
