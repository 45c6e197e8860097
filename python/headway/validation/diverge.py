"""Finds the first packet in which two runs of one experiment differ.

Both runs capture packets at both hosts (``captured``). Packets are aligned by flow, host and
direction, in their order, and compared field by field. The divergence is the earliest difference
over all streams: later differences may only follow from it.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from headway.backends import Backend
from headway.errors import HeadwayError
from headway.experiment import (
    Capture,
    Exchanges,
    Experiment,
    Flow,
    Pages,
    Sessions,
    Site,
    Transfers,
    Vectors,
)
from headway.experiment.directions import server_sends_more
from headway.packets import LEFT, RIGHT, Packet, Stream, first_ns, merged, streams, without_closing
from headway.table import ABSENT
from headway.trace import Trace

FIELDS = ("sequence", "length", "ack", "window", "flags", "ecn", "options", "sack",
          "timestamp", "echo", "time")  # fmt: skip
"""The fields of packets that are compared."""
_SNAPLEN = "128 B"
"""Bytes captured of each packet: enough for the longest headers, 60 bytes of IP and 60 of TCP."""
_CLOCK_NS = 1_000_000
"""The unit of TCP timestamps."""
_LATE_NS = 1_000_000
"""Packets that left the emulated link late by at least this time are reported."""
_STATES = ("open", "disorder", "CWR", "recovery", "loss")


@dataclass(frozen=True)
class CompareOptions:
    """Options of the comparison."""

    tolerance_ns: int = 5_000_000
    """Packet times that differ by at most this count as equal. A tick of the kernel's timers is 4
    ms."""
    fields: tuple[str, ...] = FIELDS
    """The fields to compare, out of FIELDS."""
    after_ns: int = 0
    """Packets less than this time after the flow's first packet are not compared."""
    before: int = 10
    """Number of packets shown before the one that differs, for each run."""

    def __str__(self) -> str:
        left_out = [field for field in FIELDS if field not in self.fields]
        phrases = [
            f"times within {self.tolerance_ns / 1e6:g} ms",
            f"not compared: {', '.join(left_out)}" if left_out else "",
            f"after {self.after_ns / 1e6:g} ms" if self.after_ns else "",
        ]
        return "; ".join(filter(None, phrases))


DEFAULTS = CompareOptions()


@dataclass(frozen=True)
class Difference:
    """The values of a packet's field in the two runs; None if the run does not have the packet."""

    field: str
    values: tuple[str | None, str | None]


@dataclass(frozen=True)
class SenderState:
    """The state of the flow's sender; None for an unknown value."""

    cwnd_pkts: int | None
    ssthresh_pkts: int | None
    srtt_us: int | None
    inflight_pkts: int | None
    state: str | None
    retransmitted_pkts: int
    """Data packets retransmitted so far."""
    timeouts: int
    """Retransmission timeouts so far."""
    drops_pkts: int
    """Packets of the flow that links have dropped so far."""


@dataclass(frozen=True)
class Divergence:
    """The first packet that differs, and the packets before it at the same host in each run."""

    flow: str
    host: str
    """"sender" or "receiver" of the flow's data."""
    sent: bool
    """Whether the host sent the packet; otherwise the host received it."""
    number: int
    """The packet's position in its stream, from 1."""
    time_ns: int
    """Time since the flow's first packet."""
    differences: tuple[Difference, ...]
    before: tuple[tuple[str, ...], tuple[str, ...]]
    """One line per packet, for each run. The last line is the packet that differs."""
    states: tuple[SenderState, SenderState]
    late: tuple[str, ...]
    """Lines on times shortly before the packet at which the emulated link delivered late. If there
    are such times, the machine may be the cause of the difference."""


@dataclass(frozen=True)
class Compared:
    """The result of comparing two runs packet by packet."""

    names: tuple[str, str]
    """The names of the two backends."""
    packets: int
    """Number of compared packets at both hosts."""
    until_ns: int
    """Time from the run's start to the end of the shorter capture."""
    how: CompareOptions
    first: Divergence | None
    by_field: tuple[tuple[str, str], ...]
    """For each field that differs, its name and its first differing packet, in order of time."""

    def lines(self) -> list[str]:
        """The result as text, at most 100 columns wide."""
        if self.first is None:
            return [f"no packet differs: {self.packets:,} packets at both hosts, {self.how}"]
        return _divergence_lines(self, self.first)


def check(experiment: Experiment) -> None:
    """Raise HeadwayError if the packets of two runs of the experiment could not be aligned."""
    for name, flow in zip(experiment.flow_names(), experiment.flows, strict=True):
        if flow.relay is not None:
            raise HeadwayError(f"diverge: {name}: relay is not allowed; use flows without a relay")
        if _has_many_connections(flow):
            raise HeadwayError(
                f"diverge: {name}: {flow.app.kind} is not allowed with more than one connection; "
                "use flows of one connection each"
            )


def _has_many_connections(flow: Flow) -> bool:
    if isinstance(flow.app, Vectors):
        return flow.app.connections is not None
    return isinstance(flow.app, Exchanges | Sessions | Pages | Site | Transfers)


def captured(experiment: Experiment, *, whole: bool = False) -> Experiment:
    """The experiment with a capture at both hosts, of headers only unless ``whole``.

    Raises HeadwayError if its packets cannot be aligned.
    """
    check(experiment)
    capture = Capture.model_validate({"link": "hosts", "snaplen": "0 B" if whole else _SNAPLEN})
    return experiment.model_copy(update={"capture": capture})


def diverge(
    experiment: Experiment,
    one: Backend,
    other: Backend,
    how: CompareOptions = DEFAULTS,
) -> Compared:
    """Run an experiment on two backends and compare their packets. Raises HeadwayError."""
    capturing = captured(experiment)
    traces = one.run(capturing), other.run(capturing)
    return compare(*traces, (one.name, other.name), how)


@dataclass(frozen=True)
class _Run:
    """One of the two compared runs, with its packets."""

    trace: Trace
    packets: Mapping[Stream, list[Packet]]

    @classmethod
    def of(cls, trace: Trace) -> _Run:
        return cls(trace, without_closing(streams(trace)))

    def origin_ns(self, flow: int, side: int) -> int | None:
        return first_ns(dict(self.packets), flow, side)

    def offset_ns(self, flow: int) -> int:
        """Time to add to a capture's time to get the time since the run's start, in ns."""
        at = self.trace.flows[flow].first_packet_ns
        return (at or 0) - (self.origin_ns(flow, LEFT) or 0)

    def end_ns(self) -> int:
        """Time since the run's start up to which the capture has all packets.

        A kernel run and its capture end when all transfers are done.
        """
        duration_ns = self.trace.experiment.duration
        if any(flow.done_ns is None for flow in self.trace.flows):
            return duration_ns
        last = [of[-1].time_ns + self.offset_ns(key.flow) for key, of in self.packets.items()]
        return min(max(last, default=0), duration_ns)


def compare(
    one: Trace,
    other: Trace,
    names: tuple[str, str] = ("simulator", "kernel"),
    how: CompareOptions = DEFAULTS,
) -> Compared:
    """Compare the captures of two traces of one experiment. Raises HeadwayError."""
    runs = (_Run.of(one), _Run.of(other))
    end_ns = min(run.end_ns() for run in runs)
    found: dict[str, _FirstDifference] = {}
    count = 0
    keys = sorted({*runs[0].packets, *runs[1].packets})
    for key in keys:
        stream = _StreamPair(key, runs, end_ns, how)
        count += stream.count
        for difference in stream.differences():
            known = found.get(difference.field)
            if known is None or difference.order < known.order:
                found[difference.field] = difference
    first_differences = sorted(found.values(), key=lambda difference: difference.order)
    first = _divergence(runs, first_differences, how) if first_differences else None
    by_field = tuple(
        (difference.field, _where(one, difference)) for difference in first_differences
    )
    return Compared(names, count, end_ns, how, first, by_field)


@dataclass(frozen=True)
class _FirstDifference:
    """The first packet of a stream in which a field differs."""

    field: str
    key: Stream
    index: int
    time_ns: int
    """Time of the packet since the run's start; the earlier of the two runs' times."""
    flow_ns: int
    """Time since the flow's first packet."""

    @property
    def order(self) -> tuple[int, bool]:
        """Sort key: the time; a received packet comes before a packet sent at the same time."""
        return self.time_ns, self.key.sent


class _StreamPair:
    """The packets of one stream (flow, host and direction) in both runs."""

    def __init__(
        self, key: Stream, runs: tuple[_Run, _Run], end_ns: int, how: CompareOptions
    ) -> None:
        self.key = key
        self.how = how
        self.runs = runs
        self.both = tuple(run.packets.get(key, []) for run in runs)
        self.origins = tuple(run.origin_ns(key.flow, key.side) or 0 for run in runs)
        self.from_ns = tuple((run.origin_ns(key.flow, LEFT) or 0) + how.after_ns for run in runs)
        # times in the two captures up to which both captures have all packets of the stream's host
        self.ends_ns = tuple(end_ns - run.offset_ns(key.flow) - how.tolerance_ns for run in runs)
        self.count = min(len(of) for of in self.both)

    def differences(self) -> list[_FirstDifference]:
        """For each field that differs, the first packet in which the field differs."""
        found: dict[str, _FirstDifference] = {}
        for index, pair in enumerate(zip(*self.both, strict=False)):
            if all(p.time_ns > end for p, end in zip(pair, self.ends_ns, strict=True)):
                break
            if all(p.time_ns < start for p, start in zip(pair, self.from_ns, strict=True)):
                continue
            one, other = pair
            for field in differing(one, other, self.origins, self.how):
                if field not in found:
                    found[field] = self._place(field, index)
        if len(self.both[0]) != len(self.both[1]):
            run = int(len(self.both[1]) > len(self.both[0]))
            if self.from_ns[run] <= self.both[run][self.count].time_ns <= self.ends_ns[run]:
                found.setdefault("packet", self._place("packet", self.count))
        return list(found.values())

    def _place(self, field: str, index: int) -> _FirstDifference:
        times = [
            (
                of[index].time_ns + run.offset_ns(self.key.flow),
                of[index].time_ns - (run.origin_ns(self.key.flow, LEFT) or 0),
            )
            for of, run in zip(self.both, self.runs, strict=True)
            if index < len(of)
        ]
        time_ns, flow_ns = min(times)
        return _FirstDifference(field, self.key, index, time_ns, flow_ns)


def differing(
    one: Packet, other: Packet, origins: tuple[int, ...] = (0, 0), how: CompareOptions = DEFAULTS
) -> list[str]:
    """The fields in which two packets differ; times count from ``origins``."""
    times = one.time_ns - origins[0], other.time_ns - origins[1]
    found = [name for name, read in _FIELDS.items() if read(one) != read(other)]
    ticks = how.tolerance_ns // _CLOCK_NS + 1
    for name in ("timestamp", "echo"):
        values = getattr(one, name), getattr(other, name)
        if None in values:
            if values != (None, None):
                found.append(name)
        elif abs(values[0] - values[1]) > ticks:
            found.append(name)
    if abs(times[0] - times[1]) > how.tolerance_ns:
        found.append("time")
    return [name for name in found if name in how.fields]


def _options(packet: Packet) -> str:
    """The TCP options of a packet, without the values of SACK blocks and timestamps."""
    phrases = [
        f"mss {packet.mss}" if packet.mss is not None else "",
        f"wscale {packet.window_scale}" if packet.window_scale is not None else "",
        "sackOK" if packet.sack_permitted else "",
        "ts" if packet.timestamp is not None else "",
        *(f"kind {kind}" for kind in packet.other_options),
    ]
    return " ".join(filter(None, phrases)) or "none"


_FIELDS: Mapping[str, Callable[[Packet], Any]] = {
    "sequence": lambda packet: packet.sequence,
    "length": lambda packet: packet.length,
    "ack": lambda packet: packet.ack,
    "window": lambda packet: packet.window,
    "flags": lambda packet: packet.flags,
    "ecn": lambda packet: packet.ecn,
    "options": _options,
    "sack": lambda packet: packet.sack,
}
"""Functions that read the fields which must be equal in both runs, by the field's name."""


def _shown(field: str, packet: Packet, origin_ns: int) -> str:
    """A field's value as text."""
    if field == "time":
        return f"{(packet.time_ns - origin_ns) / 1e6:.3f} ms"
    if field == "sack":
        return " ".join(f"{left}-{right}" for left, right in packet.sack) or "none"
    if field in ("timestamp", "echo"):
        value = getattr(packet, field)
        return ABSENT if value is None else f"{value} ms"
    value = _FIELDS[field](packet)
    return ABSENT if value is None else str(value)


def _divergence(
    runs: tuple[_Run, _Run], first_differences: Sequence[_FirstDifference], how: CompareOptions
) -> Divergence:
    first = first_differences[0]
    key, index = first.key, first.index
    pair = [of[index] if index < len(of := run.packets.get(key, [])) else None for run in runs]
    origins = tuple(run.origin_ns(key.flow, key.side) or 0 for run in runs)
    starts = tuple(run.origin_ns(key.flow, LEFT) or 0 for run in runs)
    if pair[0] is not None and pair[1] is not None:
        differences = tuple(
            Difference(
                field,
                (_shown(field, pair[0], starts[0]), _shown(field, pair[1], starts[1])),
            )
            for field in differing(pair[0], pair[1], origins, how)
        )
    else:
        one, two = (None if packet is None else "there" for packet in pair)
        differences = (Difference("packet", (one, two)),)
    flow = runs[0].trace.experiment.flows[key.flow]
    data_side = RIGHT if server_sends_more(flow) else LEFT
    return Divergence(
        flow=runs[0].trace.flows[key.flow].name,
        host="sender" if key.side == data_side else "receiver",
        sent=key.sent,
        number=index + 1,
        time_ns=first.flow_ns,
        differences=differences,
        before=(
            _before(runs[0], key, pair[0], first.flow_ns, how.before),
            _before(runs[1], key, pair[1], first.flow_ns, how.before),
        ),
        states=(
            _state(runs[0], key.flow, data_side, pair[0], first.flow_ns),
            _state(runs[1], key.flow, data_side, pair[1], first.flow_ns),
        ),
        late=tuple(_late(runs, key.flow, first.flow_ns)),
    )


def _late(runs: tuple[_Run, _Run], flow: int, flow_ns: int) -> Iterator[str]:
    """Lines on the stalls of emulated links in the two round-trip times before the divergence."""
    for run in runs:
        until_ns = flow_ns + (run.trace.flows[flow].first_packet_ns or 0)
        from_ns = until_ns - 2 * run.trace.experiment.base_rtt_ns
        for link, stalls in run.trace.meta.get("emulator", {}).get("stalls_ns", {}).items():
            for begin_ns, end_ns in stalls:
                if end_ns - begin_ns >= _LATE_NS and end_ns > from_ns and begin_ns <= until_ns:
                    at_ms = (flow_ns + begin_ns - until_ns) / 1e6
                    yield f"{link} was {(end_ns - begin_ns) / 1e6:.3f} ms late at {at_ms:.3f} ms"


def _before(
    run: _Run, key: Stream, packet: Packet | None, flow_ns: int, count: int
) -> tuple[str, ...]:
    """Lines on the host's last packets up to the packet that differs."""
    origin_ns = run.origin_ns(key.flow, LEFT) or 0
    all_ = merged(dict(run.packets), key.flow, key.side)
    if packet is not None:
        last = next(i for i, (_, each) in enumerate(all_) if each is packet)
    else:
        last = bisect.bisect_right(all_, origin_ns + flow_ns, key=lambda e: e[1].time_ns) - 1
    chosen = all_[max(last - count, 0) : last + 1]
    return tuple(_line(sent, each, origin_ns, differs=each is packet) for sent, each in chosen)


_HEAD = f"  {'ms':>10} {'':4} {'sequence':>19} {'ack':>10} {'window':>8} {'flags':5} options"


def _line(sent: bool, packet: Packet, origin_ns: int, *, differs: bool) -> str:
    mark = ">" if differs else " "
    at = f"{(packet.time_ns - origin_ns) / 1e6:.3f}"
    way = "sent" if sent else "got"
    sequence = "" if packet.sequence is None else str(packet.sequence)
    if packet.length:
        sequence = f"{sequence}+{packet.length}"
    ack = "" if packet.ack is None else str(packet.ack)
    window = "" if packet.window is None else str(packet.window)
    more = [
        _options(packet) if "S" in packet.flags else "",
        "" if packet.echo is None else f"ecr {packet.echo}",
        "" if not packet.sack else f"sack {_shown('sack', packet, 0)}",
        "" if not packet.ecn else f"ecn {packet.ecn}",
    ]
    text = f"{mark} {at:>10} {way:4} {sequence:>19} {ack:>10} {window:>8} {packet.flags:5} "
    return (text + ", ".join(filter(None, more))).rstrip()


def _state(run: _Run, flow: int, side: int, packet: Packet | None, flow_ns: int) -> SenderState:
    """The state of the flow's sender at the time of the packet that differs."""
    origin_ns = run.origin_ns(flow, LEFT) or 0
    capture_ns = origin_ns + flow_ns if packet is None else packet.time_ns
    at_ns = capture_ns + run.offset_ns(flow)
    rows = _until(run.trace, "flow_state", flow, at_ns)
    last: dict[str, Any] = rows.row(-1, named=True) if rows.height else {}
    state = last.get("state")
    backoffs = _until(run.trace, "backoffs", flow, at_ns)
    sent = run.packets.get(Stream(flow, side, True), [])
    return SenderState(
        cwnd_pkts=last.get("cwnd_pkts"),
        ssthresh_pkts=last.get("ssthresh_pkts"),
        srtt_us=last.get("srtt_us"),
        inflight_pkts=last.get("inflight_pkts"),
        state=None if state is None else _STATES[state],
        retransmitted_pkts=_sent_again([p for p in sent if p.time_ns <= capture_ns]),
        timeouts=backoffs.filter(pl.col("kind") == 1).height,
        drops_pkts=_until(run.trace, "drops", flow, at_ns).height,
    )


def _until(trace: Trace, table: str, flow: int, at_ns: int) -> pl.DataFrame:
    rows = trace.tables[table]
    return rows.filter((pl.col("flow") == flow) & (pl.col("time_ns") <= at_ns))


def _sent_again(packets: Sequence[Packet]) -> int:
    """Number of data packets that begin below the highest sequence number sent before."""
    highest, count = 0, 0
    for packet in packets:
        if packet.sequence is None or not packet.length:
            continue
        count += packet.sequence < highest
        highest = max(highest, packet.sequence + packet.length)
    return count


def _where(trace: Trace, difference: _FirstDifference) -> str:
    flow = trace.experiment.flows[difference.key.flow]
    data_side = RIGHT if server_sends_more(flow) else LEFT
    host = "sender" if difference.key.side == data_side else "receiver"
    way = "sent" if difference.key.sent else "received"
    return (
        f"{trace.flows[difference.key.flow].name}: packet {difference.index + 1} {way} by the "
        f"{host}, {difference.flow_ns / 1e6:.3f} ms"
    )


def _divergence_lines(compared: Compared, first: Divergence) -> list[str]:
    way = "sent" if first.sent else "received"
    one, two = compared.names
    lines = [
        f"first divergence: {first.flow}, packet {first.number} {way} by the {first.host}, "
        f"{first.time_ns / 1e6:.3f} ms after the flow began",
        "",
        *_columns(
            ["", one, two],
            [[d.field, *(ABSENT if v is None else v for v in d.values)]
             for d in first.differences],
        ),
    ]  # fmt: skip
    for name, packets in zip(compared.names, first.before, strict=True):
        lines += ["", f"{name}, the {first.host}'s packets up to there:", _HEAD, *packets]
    states = [
        [field.replace("_", " "), *(_text(getattr(state, field)) for state in first.states)]
        for field in SenderState.__dataclass_fields__
    ]
    lines += ["", *_columns(["sender's state", one, two], states)]
    if first.late:
        lines += ["", *first.late, "the machine may be the cause: repeat the run"]
    if len(compared.by_field) > 1:
        lines += ["", "first difference by field, in order of time:"]
        lines += [f"  {field:9} {where}" for field, where in compared.by_field]
    return [line.rstrip()[:_WIDTH] for line in lines]


_WIDTH = 100


def _text(value: object) -> str:
    return ABSENT if value is None else str(value)


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as text: the first column left-aligned, the others right-aligned."""
    table = [head, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    return [
        "  ".join(["", row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
        for row in table
    ]
