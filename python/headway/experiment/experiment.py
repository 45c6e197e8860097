"""The experiment itself, with the checks that concern several of its parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from headway.engine import engine
from headway.errors import ExperimentError
from headway.experiment.apps import Cbr, Exchanges, Pages, Sessions, Transfers, Vectors, Voip
from headway.experiment.flow import ACCURATE, Flow, parse_flows
from headway.experiment.graph import Graph
from headway.experiment.network import Topology, named_links, routes_of
from headway.experiment.path import Capture, Link
from headway.experiment.vary import Mahimahi
from headway.registry import Algorithm, registry
from headway.spec import (
    Given,
    Length,
    MaybeLength,
    Spec,
    Time,
    Written,  # noqa: F401 - see Given
    default,
    default_made_by,
    shorten,
    within,
)
from headway.units import BITS_PER_BYTE, NS_PER_S, format_rate, format_size, format_time

Record = Literal["flows", "queue", "udp", "drops", "controls"]
RECORDS: tuple[Record, ...] = engine.RECORDS
BATCHES = engine.BATCHES
"""Number of equal parts (batches) of [warmup, duration] for batch means; counters are read at the
end of each."""

MAX_SAMPLES = 10_000_000
_MOST_NAMES = 200
"""Most names of links that an error lists."""
WITHOUT_FRTO = "linux-2.6"
"""The stack of the testbed in Scharf's thesis. The thesis switched F-RTO off."""
_REQUESTS = "quick-start"
"""The startup that sends requests to routers in an IP option."""


Settings = Given[dict[str, str], "Mapping[str, str | int]"]


def _setting(field: str, name: object, value: object) -> tuple[str, str]:
    """Name and value of a sysctl or an attribute, as Linux takes them. Raises ValueError."""
    if isinstance(value, list | tuple):
        value = " ".join(map(str, value))
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{name}: {shorten(repr(value))} is not allowed; a number, or text")
    return engine.host_setting(field, str(name), str(value), [])


class _Crossed(NamedTuple):
    """What the checks of flows need to know of a link."""

    link: Link
    longest_ns: int
    """Delay in ns with all effects, without the queue."""
    routers: Sequence[str]
    """Names of its routers."""


class Experiment(Spec):
    """The full description of a run. The same experiment gives the same trace, bit for bit.

    ``flows`` is a list of Flow, or text such as "2xcubic,1xhtcp:adaptive_backoff=off,1xvoip".
    Metrics use [warmup, duration]; the duration is at most 49 days. Flows without a start begin in
    [0, start_spread), drawn from the seed. Counters are read at the end of the warm-up and of each
    tenth of the rest, and additionally at every ``sample`` interval.

    ``sysctls`` maps names of net.ipv4 to values, such as {"tcp_rmem": "4096 131072 33554432"}, and
    ``route_attributes`` those of `ip route`, such as {"initcwnd": 20, "rto_min": "50 ms"}. Both
    apply to all hosts, and an option of a flow overrides them. Names that the simulator does not
    model are refused.
    """

    topology: Annotated[Topology, Field(discriminator="kind")]
    flows: Given[tuple[Flow, ...], str | Sequence[Flow | str]] = Field(
        min_length=1, max_length=engine.MAX_FLOWS
    )
    duration: Annotated[
        Length, within(1, engine.MAX_DURATION_NS, format_time, "more than 0, at most 49 days")
    ]
    warmup: Time = default(0)
    stack: str = "linux-6"
    seed: int = Field(default=1, ge=0, lt=2**63)
    start_spread: Time = default(0)
    sample: MaybeLength = default(None)
    record: Given[tuple[Record, ...], Sequence[Record]] = default(engine.RECORDS_BY_DEFAULT)
    capture: Capture | None = None
    sysctls: Settings = default_made_by(dict)
    route_attributes: Settings = default_made_by(dict)

    @field_validator("sysctls", "route_attributes", mode="before")
    @classmethod
    def _parse_settings(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError(f"{shorten(repr(value))} is not allowed; must map names to values")
        assert info.field_name is not None
        return dict(_setting(info.field_name, *pair) for pair in value.items())

    @field_validator("flows", mode="before")
    @classmethod
    def _parse_flows(cls, value: Any) -> Any:
        return parse_flows(value) if isinstance(value, str) else value

    @field_validator("stack")
    @classmethod
    def _known_stack(cls, value: str) -> str:
        return registry().stack(value).name

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_parts()
        return self

    def _check_stacks(self) -> None:
        """Raise ValueError if one of the stacks does not have one of the settings."""
        stacks = {flow.stack or self.stack for flow in self.flows}
        stacks |= {flow.relay.stack for flow in self.flows if flow.relay and flow.relay.stack}
        for field in ("sysctls", "route_attributes"):
            for name, value in getattr(self, field).items():
                try:
                    engine.host_setting(field, name, value, sorted(stacks))
                except ValueError as error:
                    raise ValueError(f"{field}: {error}") from None

    def _check_parts(self) -> None:
        """Check conditions that concern several fields together; raises ValueError."""
        if self.sysctls or self.route_attributes:
            self._check_stacks()
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed: {self.seed} is not allowed; 0 to 2**63 - 1")
        if self.warmup >= self.duration:
            raise ValueError(
                f"warmup: {format_time(self.warmup)} is not allowed; "
                f"must be less than duration, {format_time(self.duration)}"
            )
        if self.sample is not None and self.duration // self.sample > MAX_SAMPLES:
            raise ValueError(
                f"sample: {format_time(self.sample)} is not allowed; "
                f"at least {format_time(-(-self.duration // MAX_SAMPLES))} for this duration"
            )
        graph, named = self.topology.graph(), named_links(self.topology)
        links = list(named.values())
        base_rtt_ns = self.base_rtt_ns
        routers: list[list[str]] = []
        for index, (name, link) in enumerate(named.items()):
            where = f"hop {index // 2}" if graph.is_row else name
            self._check_buffer(link, base_rtt_ns, f" of {where}")
            self._check_service(link, where)
            routers.append([router.name for router in link.all_routers()])
            engine.check_routers(routers[-1])
            if link.mtu is not None and self._requests_rates:
                raise ValueError(
                    f"mtu: {where} has one; not with the startup {_REQUESTS}, whose hosts fix the "
                    "MTU of their routes so that packets have room for requests"
                )
        names = ("bottleneck", "hosts", *named) if graph.is_row else ("hosts", *named)
        if self.capture is not None and self.capture.link not in names:
            more = ", ..." if len(names) > _MOST_NAMES else ""
            raise ValueError(
                f"capture.link: {self.capture.link!r} is not allowed; "
                f"choose from {', '.join(names[:_MOST_NAMES])}{more}"
            )
        if self.capture is not None and self.capture.link == "hosts":
            relayed = [number for number, flow in enumerate(self.flows) if flow.relay is not None]
            if relayed:
                raise ValueError(
                    f"capture.link: 'hosts' is not allowed with flows[{relayed[0]}].relay; "
                    "a relay has separate hosts"
                )
        # Computed once, not for every flow.
        crossed = [
            _Crossed(link, link.largest_delay_ns(), names)
            for link, names in zip(links, routers, strict=True)
        ]
        seen: set[int] = set()  # "3xcubic" repeats one Flow object; check it once
        for number, flow in enumerate(self.flows):
            if id(flow) not in seen:
                seen.add(id(flow))
                self._check_flow(number, flow, graph, crossed)

    @staticmethod
    def _check_buffer(link: Link, base_rtt_ns: int, of: str) -> None:
        buffer, aqm = str(link.buffer), link.aqm
        try:
            engine.check_limit(buffer, link.rate, base_rtt_ns, of)
        except ValueError as error:
            raise ValueError(f"buffer: {error}") from None
        try:
            engine.check_queue(aqm.name, aqm.tunables, buffer, link.rate, base_rtt_ns)
        except ValueError as error:
            raise ValueError(f"aqm{of}: {error}") from None

    @staticmethod
    def _check_service(link: Link, where: str) -> None:
        """Check the fields that decide when a link sends; raises ValueError."""
        all_frames = link.ever("aggregation")
        if all_frames and isinstance(link.vary, Mahimahi):
            raise ValueError(
                f"aggregation: {where} has a Mahimahi trace; such a link cannot send in frames"
            )
        slowest_bps = min(rate for rate in link.ever("rate") if rate > 0)
        for frames in all_frames:
            if frames.interval * slowest_bps < BITS_PER_BYTE * NS_PER_S:
                raise ValueError(
                    f"aggregation.interval: {format_time(frames.interval)} is not allowed; "
                    f"a time in which {where} sends at least a byte"
                )
        if link.shaper is not None and link.vary is None and link.shaper.rate > link.rate:
            raise ValueError(
                f"shaper.rate: {format_rate(link.shaper.rate)} is not allowed; "
                f"at most the rate of {where}, {format_rate(link.rate)}"
            )

    @staticmethod
    def _check_hops(where: str, flow: Flow, hops: int) -> None:
        if flow.from_hop >= hops:
            raise ValueError(
                f"{where}.from_hop: {flow.from_hop} is not allowed; "
                f"must be less than the number of hops, {hops}"
            )
        last = hops if flow.to_hop is None else flow.to_hop
        if flow.relay is not None and flow.relay.at_hop >= last:
            raise ValueError(
                f"{where}.relay.at_hop: {flow.relay.at_hop} is not allowed; "
                f"must be less than the hop where the flow leaves, {last}"
            )

    def _check_flow(self, number: int, flow: Flow, graph: Graph, links: Sequence[_Crossed]) -> None:
        where = f"flows[{number}]"
        if graph.is_row:
            self._check_hops(where, flow, len(links) // 2)
        elif flow.relay is not None:
            raise ValueError(f"{where}.relay: only a chain can have relays")
        try:
            routes = routes_of(graph, flow, number, self.seed)
        except ValueError as error:
            raise ValueError(f"{where}.{error}") from None
        there, back = ([links[link] for link in route] for route in routes)
        self._check_headers(where, flow, [*there, *back])
        self._check_mtu(where, flow, there)
        # The latest start time that the flow can draw.
        latest_ns = max(self.start_spread - 1, 0) if flow.start is None else flow.start
        if flow.stop is not None and flow.stop <= latest_ns:
            raise ValueError(
                f"{where}.stop: {format_time(flow.stop)} is not allowed; "
                f"must be later than every start, up to {format_time(latest_ns)}"
            )
        if isinstance(flow.app, Transfers) and flow.app.load is not None:
            try:
                engine.check_load(
                    flow.app.load, flow.app.sizes, self.slowest_bps(each.link for each in there)
                )
            except ValueError as error:
                raise ValueError(f"{where}.app.load: {error}") from None
        stack = flow.stack or self.stack
        if flow.frto and stack == WITHOUT_FRTO:
            raise ValueError(f"{where}.frto: on is not allowed; off with {stack}")
        if ACCURATE in (flow.ecn_of_ends or ()) and stack == WITHOUT_FRTO:
            raise ValueError(
                f"{where}.ecn: {ACCURATE} is not allowed; off, on or passive with {stack}"
            )
        if isinstance(flow.app, Sessions | Exchanges | Pages | Transfers) or (
            isinstance(flow.app, Vectors) and flow.app.connections is not None
        ):
            longest_ns = max(sum(each.longest_ns for each in route) for route in (there, back))
            self._check_many_connections(where, flow, longest_ns)

    def _check_headers(self, where: str, flow: Flow, links: Sequence[_Crossed]) -> None:
        routers = {name for each in links for name in each.routers}
        relay = flow.relay.control if flow.relay is not None else None
        for control in (flow.control, relay):
            if control is None or control.kernel_own is not None:
                continue
            for router in sorted(routers):
                try:
                    engine.check_passage(control.name, router)
                except ValueError as error:
                    raise ValueError(f"{where}.{error}") from None

    @staticmethod
    def _check_mtu(where: str, flow: Flow, there: Sequence[_Crossed]) -> None:
        """Check that datagrams fit the links' MTU, because neither backend sends fragments."""
        mtus = (each.link.mtu for each in there)
        most = min((mtu.size for mtu in mtus if mtu is not None), default=None)
        if most is not None and isinstance(flow.app, Cbr) and flow.app.packet > most:
            raise ValueError(
                f"{where}.app.packet: {format_size(flow.app.packet)} is not allowed; "
                f"at most the MTU of its path, {format_size(most)}"
            )

    def _check_many_connections(self, where: str, flow: Flow, links_ns: int) -> None:
        if self.capture is not None:
            raise ValueError(
                f"capture: is not allowed with {where}; "
                "a capture cannot distinguish the connections of one pair"
            )
        path_ns = 2 * self.topology.access_delay + flow.delay + links_ns
        if path_ns > engine.MAX_SESSION_DELAY_NS:
            raise ValueError(
                f"{where}.app: {format_time(path_ns)} of one-way delay is not allowed; "
                f"at most {format_time(engine.MAX_SESSION_DELAY_NS)} "
                "with many connections of one pair"
            )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other fields, given in internal units: ns, bit/s, bytes.

        The copy is checked like any Experiment. Raises ExperimentError.
        """
        made = super().model_copy(update=update, deep=deep)
        try:
            made._check_parts()
        except ValueError as error:
            raise ExperimentError(str(error)) from None
        return made

    @property
    def _requests_rates(self) -> bool:
        """Whether a flow's sender may send Quick-Start requests."""
        controls = [flow.control for flow in self.flows]
        controls += [flow.relay.control for flow in self.flows if flow.relay is not None]
        return any(control is not None and control.startup == _REQUESTS for control in controls)

    @property
    def base_rtt_ns(self) -> int:
        """Propagation delay in ns of a round trip over the path, without flows' extra delays."""
        return self.topology.graph().base_rtt_ns(self.topology.access_delay)

    def routes(self, number: int) -> tuple[list[int], list[int]]:
        """Numbers of the links that a flow's packets cross: to the other end, and back.

        A link's number is its index in the trace's links.
        """
        return routes_of(self.topology.graph(), self.flows[number], number, self.seed)

    def slowest_bps(self, links: Iterable[Link]) -> int:
        """The rate in bit/s of the slowest of these links, or shapers, and the access links."""
        return min(self.topology.access_rate, *(link.shaped_bps for link in links))

    def all_routes(self) -> Iterator[tuple[list[int], list[int]]]:
        """The ``routes`` of all flows, in order. It finds the topology's graph only once."""
        graph = self.topology.graph()
        for number, flow in enumerate(self.flows):
            yield routes_of(graph, flow, number, self.seed)

    def flow_names(self) -> list[str]:
        """A name for each flow: its ``name``, or a default such as "cubic-0", "voip-1", "cbr-2"."""
        return engine.flow_names(
            [
                (flow.name, flow.control.name if flow.control else None, flow.app == Voip)
                for flow in self.flows
            ]
        )

    def queue_algorithms(self) -> tuple[Algorithm, ...]:
        """The queue disciplines of the experiment that declare counters, in the links' order."""
        names = dict.fromkeys(link.aqm.name for link in named_links(self.topology).values())
        disciplines = (registry().queue(name) for name in names)
        return tuple(queue for queue in disciplines if queue.counters)

    def router_algorithms(self) -> tuple[Algorithm, ...]:
        """Router algorithms, indexed as in a trace: the built-in ones, then those from C files.

        Raises ValueError for a file that has no router or has changed since it was recorded.
        """
        links = itertools.chain.from_iterable(self.topology.links())
        named = [registry().router(each.name) for link in links for each in link.all_routers()]
        files = {one.file: one for one in named if one.file is not None}
        return (*registry().routers, *files.values())

    def start_times_ns(self) -> list[int]:
        """Start time of each flow in ns. The seed draws the start times that flows do not set."""
        own = [flow.start for flow in self.flows]
        return engine.start_times_ns(self.seed, self.start_spread, own)

    def checkpoints_ns(self) -> list[int]:
        """Times in ns of counter readings, sorted: warm-up, ends of batches, every ``sample``."""
        return engine.checkpoints_ns(self.duration, self.warmup, self.sample)

    def batch_edges_ns(self) -> list[int]:
        """The 11 boundaries in ns of the ten equal parts of [warmup, duration]."""
        span_ns = self.duration - self.warmup
        return [self.warmup + span_ns * k // BATCHES for k in range(BATCHES + 1)]
