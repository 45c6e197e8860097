"""Links, and the topologies in which they stand in a row: dumbbells and chains of hops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from headway import units
from headway.engine import engine
from headway.experiment.algorithms import Aqm, Router
from headway.experiment.effects import (
    MaybeAckThinning,
    MaybeAggregation,
    MaybeBurstLoss,
    MaybeCorruption,
    MaybeJitter,
    MaybeMtu,
    MaybePolicer,
    MaybeShaper,
)
from headway.experiment.graph import Graph, row_graph
from headway.experiment.vary import Vary, over_time, spans
from headway.router import QuickStart
from headway.spec import (
    Given,
    Probability,
    Rate,
    Size,
    Spec,
    Time,
    Written,  # noqa: F401 - see Given
    default,
    default_made_by,
    within,
)

if TYPE_CHECKING:
    QueueLimit = Given[units.Buffer, units.Buffer | str]
    """Bytes, packets or bandwidth-delay products, written "60000 B", "40 pkts", "1 BDP"."""
else:
    QueueLimit = Annotated[units.Buffer, BeforeValidator(units.parse_buffer), PlainSerializer(str)]
Routers = Given[tuple[Router, ...], Sequence[Router | Mapping[str, Any] | str]]
QueueAlgorithm = Given[Aqm, Aqm | Mapping[str, Any] | str]


EcnPath = Literal["keep", "bleach", "drop-syn", "clear-flags", "strip-option", "zero-option"]
"""What a link does with ECN: keep the two ECN bits, clear them, or drop SYNs that request ECN;
clear TCP's ECN flags, replace Accurate ECN's option by padding, or set its counters to 0."""


class Link(Spec):
    """One direction of a hop: a queue, a rate, a delay, and impairments.

    ``loss``, ``duplicate`` and ``reorder`` are probabilities per packet, from 0 to less than 1; a
    reordered packet arrives ``reorder_delay`` later. ``routers`` are algorithms of the router in
    front of the link, in the order that packets pass them. ``quick_start`` adds the router that
    answers Quick-Start requests, before them. With ``routers_at_arrival`` they are programs at the
    senders' devices, as `headwayctl router` attaches them: they see packets before the link loses
    any, and write into them at once; their queue is virtual, and only packets wake them.
    ``drop_ip_options`` drops packets with IP options, as some paths do. ``ecn`` is the path's
    treatment of ECN before the queue: "keep", "bleach" (clears the two bits of IPv4), "drop-syn"
    (drops SYNs that request it, as some middleboxes do), "clear-flags" (clears TCP's flags AE, CWR
    and ECE), "strip-option" (replaces Accurate ECN's option by padding) or "zero-option" (sets its
    counters to 0).

    ``jitter`` (delay variation), ``burst_loss``, ``policer``, ``shaper``, ``aggregation``
    (transmission in frames), ``ack_thinning``, ``corruption`` and ``mtu`` are described by their
    classes in headway.experiment.effects. Before the queue, a packet passes MTU, loss, bursty loss,
    policer and thinning of ACKs, in this order.

    ``vary`` lets rate, delay and effects change during the run: a Schedule, a Mahimahi, or a file,
    "schedule:FILE" or "mahimahi:FILE". ``rate`` and ``delay`` then define the BDP and the base RTT,
    and apply as long as no step names others (a Mahimahi trace has a rate of its own).
    """

    rate: Rate
    delay: Time
    buffer: QueueLimit
    aqm: QueueAlgorithm = default_made_by(Aqm)
    loss: Probability = default(0.0)
    duplicate: Probability = default(0.0)
    reorder: Probability = default(0.0)
    reorder_delay: Time = default(0)
    jitter: MaybeJitter = default(None)
    burst_loss: MaybeBurstLoss = default(None)
    policer: MaybePolicer = default(None)
    shaper: MaybeShaper = default(None)
    aggregation: MaybeAggregation = default(None)
    ack_thinning: MaybeAckThinning = default(None)
    corruption: MaybeCorruption = default(None)
    mtu: MaybeMtu = default(None)
    quick_start: QuickStart = default(None)
    routers: Routers = default(())
    routers_at_arrival: bool = False
    drop_ip_options: bool = False
    ecn: EcnPath = "keep"
    vary: Vary = default(None)

    def over_time(self, name: str) -> list[tuple[int, Any]]:
        """The values of a field over a run, each with its start in ns; None is no effect."""
        steps = () if self.vary is None else self.vary.steps
        return over_time(steps, name, getattr(self, name))

    def ever(self, name: str) -> list[Any]:
        """The values that an effect has at some time of a run."""
        return [value for _, value in self.over_time(name) if value is not None]

    def capacity_bps(self, start_ns: int, end_ns: int) -> float:
        """The mean rate in bit/s over [start_ns, end_ns), at most the shaper's rate."""
        if self.vary is None or end_ns <= start_ns:
            return self.rate if self.shaper is None else min(self.rate, self.shaper.rate)
        sent = 0.0
        for begin, end, shaper in spans(self.over_time("shaper"), start_ns, end_ns):
            sent_bytes = self.vary.capacity_bytes(begin, end, self.rate)
            rate_bps = sent_bytes * units.BITS_PER_BYTE * units.NS_PER_S / (end - begin)
            sent += (rate_bps if shaper is None else min(rate_bps, shaper.rate)) * (end - begin)
        return sent / (end_ns - start_ns)

    @property
    def shaped_bps(self) -> int:
        """The rate in bit/s, at most the shaper's; without changes by ``vary``."""
        return self.rate if self.shaper is None else min(self.rate, self.shaper.rate)

    def largest_delay_ns(self) -> int:
        """Delay in ns with all effects that delay packets, without the queue."""
        jitter_ns = max((jitter.longest_ns for jitter in self.ever("jitter")), default=0)
        frame_ns = max((frames.interval for frames in self.ever("aggregation")), default=0)
        held_ns = 0 if self.ack_thinning is None else self.ack_thinning.longest_ns
        return self.delay + self.reorder_delay + jitter_ns + frame_ns + held_ns

    def all_routers(self) -> tuple[Router, ...]:
        """All routers: the one of ``quick_start``, if set, then ``routers``."""
        if self.quick_start is None:
            return self.routers
        first = Router.model_construct(name="quick-start", tunables=self.quick_start)
        return (first, *self.routers)


class Dumbbell(Spec):
    """One bottleneck in each direction between any number of host pairs.

    ``rtt`` is propagation only, half of it in each direction. ``buffer``, ``aqm``, ``loss``,
    ``duplicate``, ``reorder``, ``jitter``, ``burst_loss``, ``policer``, ``shaper``,
    ``aggregation``, ``ack_thinning``, ``corruption``, ``mtu`` and ``vary`` apply to the forward
    direction, which carries the data.
    ``reverse`` None takes rate, delay, buffer, ``quick_start``, ``routers``,
    ``routers_at_arrival``, ``drop_ip_options`` and ``ecn`` from the forward direction; its queue is
    drop-tail, without loss, effects and variation.
    """

    kind: Literal["dumbbell"] = "dumbbell"
    rate: Rate
    rtt: Time
    buffer: QueueLimit
    aqm: QueueAlgorithm = default_made_by(Aqm)
    loss: Probability = default(0.0)
    duplicate: Probability = default(0.0)
    reorder: Probability = default(0.0)
    reorder_delay: Time = default(0)
    jitter: MaybeJitter = default(None)
    burst_loss: MaybeBurstLoss = default(None)
    policer: MaybePolicer = default(None)
    shaper: MaybeShaper = default(None)
    aggregation: MaybeAggregation = default(None)
    ack_thinning: MaybeAckThinning = default(None)
    corruption: MaybeCorruption = default(None)
    mtu: MaybeMtu = default(None)
    quick_start: QuickStart = default(None)
    routers: Routers = default(())
    routers_at_arrival: bool = False
    drop_ip_options: bool = False
    ecn: EcnPath = "keep"
    vary: Vary = default(None)
    reverse: Link | None = None
    access_rate: Rate = default(10**9)
    access_delay: Time = default(0)

    def links(self) -> list[tuple[Link, Link]]:
        """The bottleneck's forward and reverse link."""
        there_ns, back_ns = engine.halves_ns(self.rtt)
        shared = {name: getattr(self, name) for name in Link.model_fields if name != "delay"}
        forward = Link.model_construct(delay=there_ns, **shared)
        return [(forward, self.reverse or _mirror(forward, back_ns))]

    def graph(self) -> Graph:
        """Two routers and the links between them."""
        return _row(self.links())


class Hop(Spec):
    """One hop of a chain; ``reverse`` None mirrors the forward link as a dumbbell's does."""

    forward: Link
    reverse: Link | None = None

    def links(self) -> tuple[Link, Link]:
        """The forward and the reverse link."""
        return self.forward, self.reverse or _mirror(self.forward, self.forward.delay)


class Chain(Spec):
    """Routers in a row (a parking lot); each flow chooses where it enters and leaves."""

    kind: Literal["chain"] = "chain"
    hops: Given[tuple[Hop, ...], Sequence[Hop]] = Field(min_length=1, max_length=engine.MAX_HOPS)
    access_rate: Rate = default(10**9)
    access_delay: Time = default(0)

    def links(self) -> list[tuple[Link, Link]]:
        """Each hop's forward and reverse link."""
        return [hop.links() for hop in self.hops]

    def graph(self) -> Graph:
        """The routers and the links between them."""
        return _row(self.links())


class Capture(Spec):
    """A packet capture in pcapng, of a link or at hosts.

    ``link`` is a link's name ("forward0"), "bottleneck" (both directions of the first hop of a
    dumbbell or a chain, as seen from the left), or "hosts" (packets that hosts send and receive,
    one interface per side). ``snaplen`` is in bytes; 0 keeps whole packets.
    """

    link: str = "bottleneck"
    snaplen: Annotated[Size, within(0, 2**32 - 1, units.format_size)] = default(0)


def limit_bytes(link: Link, base_rtt_ns: int) -> int | None:
    """The link's queue limit in bytes; None if the limit is a number of packets."""
    return engine.limit_bytes(str(link.buffer), link.rate, base_rtt_ns)


def _row(links: Sequence[tuple[Link, Link]]) -> Graph:
    return row_graph(tuple((there.delay, back.delay) for there, back in links))


def _mirror(link: Link, delay_ns: int) -> Link:
    same = {name: getattr(link, name) for name in engine.MIRRORED}
    return Link.model_construct(delay=delay_ns, **same)
