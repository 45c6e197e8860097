"""Converts the files of the kernel backend's programs to the tables of a Trace.

Three sources: the emulator's log of packets, the sampler's records of senders
(algorithms/kernel/sampler.bpf.c) and the traffic programs' own rows. All their times are of one
clock, CLOCK_MONOTONIC; tables count from ``start_ns``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from headway.errors import HeadwayError
from headway.trace import SCHEMA

Records = npt.NDArray[np.void]
Ints = npt.NDArray[np.int64]
Routes = Sequence[tuple[Sequence[int], Sequence[int]]]
"""For each flow, the numbers of the links to its other end, and of those back."""

PACKET = np.dtype(
    [
        ("arrived_ns", "<i8"),
        ("departed_ns", "<i8"),
        ("due_ns", "<i8"),
        ("delivered_ns", "<i8"),
        ("queue_bytes", "<u4"),
        ("queue_pkts", "<u4"),
        ("source", "<u4"),
        ("destination", "<u4"),
        ("source_port", "<u2"),
        ("destination_port", "<u2"),
        ("ip_bytes", "<u4"),
        ("link", "u1"),
        ("outcome", "u1"),
        ("protocol", "u1"),
        ("flags", "u1"),
        ("packet", "<u4"),
    ]
)
"""A row of the emulator's log: one packet (crates/emulator/src/log.rs)."""

SAMPLE = np.dtype(
    [
        ("time_ns", "<i8"),
        ("since_ns", "<i8"),
        ("acked_bytes", "<u8"),
        ("cwnd_pkts", "<u4"),
        ("ssthresh_pkts", "<u4"),
        ("srtt_8us", "<u4"),
        ("inflight_pkts", "<u4"),
        ("delivered_pkts", "<u4"),
        ("retransmits_pkts", "<u4"),
        ("sent_pkts", "<u4"),
        ("prior_cwnd_pkts", "<u4"),
        ("local_port", "<u2"),
        ("peer_port", "<u2"),
        ("rtos", "<u2"),
        ("ca_state", "u1"),
        ("kind", "u1"),
        ("netns", "<u4"),
        ("mss_bytes", "<u4"),
    ]
)
"""A record of the sampler: the state of a sender."""

ACK, CA_STATE, SYN, ESTABLISHED, CLOSED = range(5)
_DISORDER, _CWR, _RECOVERY, _LOSS = 1, 2, 3, 4
_INFINITE_SSTHRESH = 0x7FFFFFFF
_WIDEST_WINDOW_PKTS = 1 << 20  # as HW_NO_WINDOW_PKTS in algorithms/port/bpf/control.h
_CARRIED, _MARKED, _COPY, _DAMAGED = 0, 1, 2, 4
_LINK_NUMBERS = 256  # the log has one byte for the number of a link
_STALL_NS = 50_000  # a packet that waits longer met a stall: the emulator usually wakes up sooner
_REASON = {1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 6: 5, 7: 6, 8: 7}
_CORRUPT = 8
"""The reason of the receiver's drop of a packet that the link damaged but carried."""


def read(path: Path, dtype: npt.DTypeLike) -> Records:
    """The records of a file, shape (n,). Raises HeadwayError if the last record is incomplete."""
    dtype = np.dtype(dtype)
    if path.stat().st_size % dtype.itemsize:
        raise HeadwayError(f"{path.name}: ends within a record; was its writer killed?")
    return np.fromfile(path, dtype=dtype)


def read_rows(path: Path, columns: int) -> Ints:
    """A traffic program's rows, shape (n, columns)."""
    return np.fromfile(path, dtype="<i8").reshape(-1, columns)


def empty(table: str) -> pl.DataFrame:
    """A table without rows."""
    return pl.DataFrame(schema=SCHEMA[table])


def frame(table: str, columns: Mapping[str, Any]) -> pl.DataFrame:
    """A table from its columns (arrays, or Series if they have nulls) in the schema's types."""
    return pl.DataFrame(
        [pl.Series(name, columns[name]).cast(dtype) for name, dtype in SCHEMA[table].items()]
    )


def concat(table: str, frames: Sequence[pl.DataFrame], by: Sequence[str] = ()) -> pl.DataFrame:
    """Join frames of one table; sort the rows by the columns ``by``, if given."""
    if not frames:
        return empty(table)
    joined = pl.concat(frames)
    return joined.sort(by, maintain_order=True) if by else joined


def _masked(values: npt.NDArray[Any], unknown: npt.NDArray[np.bool_]) -> pl.Series:
    return (
        pl.Series(values).to_frame("v").select(pl.when(pl.Series(~unknown)).then(pl.col("v")))["v"]
    )


@dataclass(frozen=True)
class PacketLog:
    """The emulator's log, with the flow of each packet, relative to the run's start.

    It has a row for each packet and link that the packet crossed.
    """

    rows: Records
    flow: Ints
    is_back: npt.NDArray[np.bool_]
    """Whether each packet travels back to its flow's opener."""
    routes: Routes
    start_ns: int
    duration_ns: int

    @classmethod
    def load(
        cls,
        path: Path,
        ports: Sequence[int],
        start_ns: int,
        duration_ns: int,
        routes: Routes | None = None,
        *,
        is_reversed: bool = False,
    ) -> PacketLog:
        """Read a log. Packets to or from port ``ports[i]`` belong to flow i, others to -1.

        ``routes[i]`` has the links that flow i's packets cross; None: link 0 there, and 1 back.
        ``is_reversed``: clients are at the far end of the testbed's link, so forward and reverse
        link are exchanged.
        """
        rows = read(path, PACKET)
        if is_reversed:
            rows["link"] = 1 - rows["link"]
        rows = rows[np.argsort(rows["arrived_ns"], kind="stable")]
        routes = [((0,), (1,))] * len(ports) if routes is None else routes
        to_flow = np.full(2**16, -1, dtype=np.int64)
        # per flow and link: whether the flow crosses the link; the last row is that of no flow
        there, back = np.zeros((2, len(ports) + 1, _LINK_NUMBERS), dtype=np.bool_)
        for index, (port, (links_there, links_back)) in enumerate(zip(ports, routes, strict=True)):
            to_flow[port] = index
            there[index, list(links_there)] = True
            back[index, list(links_back)] = True
        to, of = to_flow[rows["destination_port"]], to_flow[rows["source_port"]]
        is_there, is_back = there[to, rows["link"]], back[of, rows["link"]]
        flow = np.where(is_there, to, np.where(is_back, of, -1))
        return cls(rows, flow, is_back & ~is_there, routes, start_ns, duration_ns)

    def _of(self, link: int) -> npt.NDArray[np.bool_]:
        original = (self.rows["flags"] & _COPY) == 0
        chosen: npt.NDArray[np.bool_] = (self.rows["link"] == link) & original
        return chosen

    def _leave_ns(self, rows: Records) -> Ints:
        """When packets left the queue, or arrived, if the queue dropped them on arrival."""
        leave: Ints = np.where(rows["departed_ns"] > 0, rows["departed_ns"], rows["arrived_ns"])
        return leave

    def _queue_changes(self, link: int) -> tuple[Ints, Ints, Ints]:
        """Changes of the queue since the log's start: times, and bytes and packets after each."""
        kept = self.rows[self._of(link) & self._enqueued()]
        departed = kept[kept["departed_ns"] > 0]
        times = np.concatenate([departed["departed_ns"], kept["arrived_ns"]])
        sizes = np.concatenate(
            [-departed["ip_bytes"].astype(np.int64), kept["ip_bytes"].astype(np.int64)]
        )
        order = np.argsort(times, kind="stable")
        bytes_ = np.cumsum(sizes[order])
        return times[order] - self.start_ns, bytes_, np.cumsum(np.sign(sizes[order]))

    def _enqueued(self) -> npt.NDArray[np.bool_]:
        """Whether each packet entered the queue, including those dropped from its head later."""
        enqueued: npt.NDArray[np.bool_] = (self.rows["outcome"] == _CARRIED) | (
            self.rows["departed_ns"] > 0
        )
        return enqueued

    def queue(self, link: int) -> pl.DataFrame:
        """Rows of ``queue`` within the run."""
        times, bytes_, pkts = self._queue_changes(link)
        inside = (times >= 0) & (times < self.duration_ns)
        return frame(
            "queue",
            {
                "link": np.full(int(inside.sum()), link),
                "time_ns": times[inside],
                # at equal times the log may list a departure before the arrival; then the queue
                # would be below 0
                "queue_bytes": np.maximum(bytes_[inside], 0),
                "queue_pkts": np.maximum(pkts[inside], 0),
            },
        )

    def drops(self) -> pl.DataFrame:
        """Rows of ``drops``, in order of time; flow is null for packets of no flow."""
        is_damaged = (self.rows["flags"] & _DAMAGED) != 0
        times = np.where(is_damaged, self.rows["arrived_ns"], self._leave_ns(self.rows))
        times -= self.start_ns
        chosen = (self.rows["outcome"] != _CARRIED) | is_damaged
        chosen &= (times >= 0) & (times < self.duration_ns)
        order = np.flatnonzero(chosen)[np.argsort(times[chosen], kind="stable")]
        rows, flow = self.rows[order], self.flow[order]
        reasons = np.array([0, *(_REASON[k] for k in sorted(_REASON))])
        return frame(
            "drops",
            {
                "link": rows["link"],
                "time_ns": times[order],
                "flow": _masked(flow, flow < 0),
                "ip_bytes": rows["ip_bytes"],
                "reason": np.where(is_damaged[order], _CORRUPT, reasons[rows["outcome"]]),
            },
        )

    def queue_full(self, link: int) -> pl.DataFrame:
        """Rows of ``queue_full``: from a drop for lack of room to the next packet accepted."""
        chosen = self._of(link) & (self._enqueued() | (self.rows["outcome"] == 1))
        times = self.rows["arrived_ns"][chosen] - self.start_ns
        full = self.rows["outcome"][chosen] == 1
        inside = (times >= 0) & (times < self.duration_ns)
        times, full = times[inside], full[inside]
        edges = np.diff(np.concatenate([[0], full.astype(np.int8), [0]]))
        first, after = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        ends = np.append(times, self.duration_ns)
        return frame(
            "queue_full",
            {
                "link": np.full(first.size, link),
                "start_ns": times[first],
                "end_ns": ends[after],
                "dropped_pkts": after - first,
            },
        )

    def link_counters(self, link: int, checkpoints_ns: Sequence[int]) -> pl.DataFrame:
        """Rows of ``link_counters`` at each checkpoint."""
        rows = self.rows[self._of(link)]
        dropped = rows[rows["outcome"] != _CARRIED]
        dropped = dropped[np.argsort(self._leave_ns(dropped), kind="stable")]
        carried = rows[rows["outcome"] == _CARRIED]
        sent = carried[np.argsort(carried["departed_ns"], kind="stable")]
        at = np.asarray(checkpoints_ns, dtype=np.int64)

        def counters_of(of: Records, times: Ints) -> tuple[Ints, Ints]:
            until = np.searchsorted(times - self.start_ns, at, side="right")
            totals = np.concatenate([[0], np.cumsum(of["ip_bytes"].astype(np.int64))])
            return until, totals[until]

        arrived_pkts, arrived_bytes = counters_of(rows, rows["arrived_ns"])
        sent_pkts, sent_bytes = counters_of(sent, sent["departed_ns"])
        dropped_pkts, dropped_bytes = counters_of(dropped, self._leave_ns(dropped))
        return frame(
            "link_counters",
            {
                "time_ns": at,
                "link": np.full(at.size, link),
                "arrived_pkts": arrived_pkts,
                "arrived_bytes": arrived_bytes,
                "sent_pkts": sent_pkts,
                "sent_bytes": sent_bytes,
                "dropped_pkts": dropped_pkts,
                "dropped_bytes": dropped_bytes,
                "queue_byte_us": self._queue_integral(link, at),
            },
        )

    def stalls_ns(self, link: int) -> list[list[int]]:
        """Intervals [start, end] in ns in which packets were due but the emulator did not run."""
        rows = self.rows[(self.rows["link"] == link) & (self.rows["delivered_ns"] > 0)]
        rows = rows[rows["delivered_ns"] - rows["due_ns"] >= _STALL_NS]
        rows = rows[np.argsort(rows["delivered_ns"], kind="stable")]
        stalls: list[list[int]] = []
        for due, delivered in zip(
            (rows["due_ns"] - self.start_ns).tolist(),
            (rows["delivered_ns"] - self.start_ns).tolist(),
            strict=True,
        ):
            if not 0 <= due < self.duration_ns:
                continue
            if stalls and due <= stalls[-1][1]:
                stalls[-1] = [min(due, stalls[-1][0]), delivered]
            else:
                stalls.append([due, delivered])
        return stalls

    def _queue_integral(self, link: int, at: Ints) -> Ints:
        times, bytes_, _ = self._queue_changes(link)
        inside = times >= 0
        times, bytes_ = times[inside], np.maximum(bytes_[inside], 0)
        if times.size == 0:
            return np.zeros(at.size, dtype=np.int64)
        area = np.concatenate([[0.0], np.cumsum(np.diff(times) * bytes_[:-1].astype(np.float64))])
        last = np.searchsorted(times, at, side="right") - 1
        known = last >= 0
        queued = np.where(known, (at - times[last]) * bytes_[last] + area[last], 0.0)
        return np.asarray(np.rint(queued / 1000), dtype=np.int64)

    def marks(self, flow: int, *, is_back: bool = False) -> int:
        """How many of a flow's packets the links in one direction marked with CE."""
        flags = self.rows["flags"]
        chosen = (self.flow == flow) & (self.is_back == is_back)
        chosen &= (flags & (_MARKED | _COPY)) == _MARKED
        return int(np.unique(self.rows["packet"][chosen]).size)

    def first_arrivals_ns(self, flow: int) -> dict[int, int]:
        """When the first packet arrived at each port of the flow's opener."""
        last = self.routes[flow][1][-1]
        arrived = (self.flow == flow) & self.is_back & self._of(last)
        arrived &= self.rows["delivered_ns"] > 0
        rows = self.rows[arrived]
        rows = rows[np.argsort(rows["delivered_ns"], kind="stable")]
        ports, firsts = np.unique(rows["destination_port"], return_index=True)
        return dict(zip(ports.tolist(), rows["delivered_ns"][firsts].tolist(), strict=True))

    def span_ns(self, flow: int, own_link_ns: int) -> tuple[int | None, int | None]:
        """Times in ns of a flow's first and last packet at its sender's host, in any direction.

        ``own_link_ns`` is the delay of this host's own link.
        """
        (first, *_), (*_, last) = self.routes[flow]
        own = self.flow == flow
        sent = self.rows[own & ~self.is_back]
        received = self.rows[own & self.is_back]
        times = np.concatenate(
            [
                sent["arrived_ns"][sent["link"] == first] - own_link_ns,
                received["delivered_ns"][
                    (received["link"] == last) & (received["delivered_ns"] > 0)
                ],
            ]
        )
        times = times - self.start_ns
        times = times[times < self.duration_ns]
        return (int(times.min()), int(times.max())) if times.size else (None, None)


def flow_state(samples: Records, flow: int, start_ns: int) -> pl.DataFrame:
    """Rows of ``flow_state`` of one flow's samples, in order of time.

    A record at an ACK's arrival is valid since the previous packet or timeout.
    """
    samples = samples[np.argsort(samples["time_ns"], kind="stable")]
    changes = samples[samples["kind"] == CA_STATE]
    timeout = (samples["kind"] == CA_STATE) & (samples["ca_state"] == _LOSS)
    rows = samples[(samples["kind"] == ACK) | (samples["kind"] == ESTABLISHED) | timeout]
    since = np.where((rows["kind"] == ACK) & (rows["since_ns"] > 0), rows["since_ns"],
                     rows["time_ns"])  # fmt: skip
    if changes.size:
        last_change = _last_before(rows, changes)
        since = np.where(rows["kind"] == ACK, np.maximum(since, last_change), since)
    srtt = rows["srtt_8us"] >> 3
    return frame(
        "flow_state",
        {
            "flow": np.full(rows.size, flow),
            "time_ns": since - start_ns,
            "cwnd_pkts": rows["cwnd_pkts"],
            "ssthresh_pkts": _masked(
                rows["ssthresh_pkts"], rows["ssthresh_pkts"] >= _INFINITE_SSTHRESH
            ),
            "srtt_us": _masked(srtt, rows["srtt_8us"] == 0),
            "inflight_pkts": rows["inflight_pkts"],
            "state": rows["ca_state"],
        },
    ).sort("time_ns", maintain_order=True)


def has_unknown_ssthresh(samples: Records) -> bool:
    """Whether a flow's ssthresh had a value that no control returns: then the kernel skipped it.

    If the kernel skips a program, the return value is whatever the register contains, such as the
    low half of a pointer.
    """
    ssthresh = samples["ssthresh_pkts"]
    return bool(np.any((ssthresh > _WIDEST_WINDOW_PKTS) & (ssthresh < _INFINITE_SSTHRESH)))


def _connection(samples: Records) -> Ints:
    """A number for each record's connection, made from its pair of ports."""
    return np.asarray(samples["local_port"].astype(np.int64) << 16 | samples["peer_port"])


def _last_before(rows: Records, changes: Records) -> Ints:
    """Time of the last change of each row's connection before the row; 0 if there was none.

    ``rows`` and ``changes`` are in order of time.
    """
    first_ns = min(rows["time_ns"].min(initial=2**62), changes["time_ns"].min())

    def keys(records: Records) -> Ints:
        # the low 44 bits of a key are the time: 2^44 ns are five hours
        place = np.searchsorted(known, _connection(records))
        return np.asarray((place << 44) + records["time_ns"] - first_ns)

    known = np.unique(np.concatenate([_connection(rows), _connection(changes)]))
    order = np.argsort(keys(changes), kind="stable")
    changes = changes[order]
    before = np.searchsorted(keys(changes), keys(rows), side="left") - 1
    last = changes[np.maximum(before, 0)]
    own = (before >= 0) & (_connection(last) == _connection(rows))
    return np.where(own, last["time_ns"], 0)


def backoffs(samples: Records, flow: int, start_ns: int) -> pl.DataFrame:
    """Rows of ``backoffs``: the sender entered recovery, timeout or CWR, or undid a reduction."""
    kinds = {_RECOVERY: 0, _LOSS: 1, _CWR: 2}
    rows: list[tuple[int, int, int, int]] = []
    entered: dict[int, int] = {}  # ssthresh when a connection entered such a state
    changes = samples[samples["kind"] == CA_STATE]
    changes = changes[np.argsort(changes["time_ns"], kind="stable")]
    for connection, record in zip(_connection(changes).tolist(), changes, strict=True):
        state, ssthresh = int(record["ca_state"]), int(record["ssthresh_pkts"])
        time_ns = int(record["time_ns"]) - start_ns
        if state in kinds:
            rows.append((time_ns, kinds[state], int(record["prior_cwnd_pkts"]), ssthresh))
            entered[connection] = ssthresh
        else:
            # if ssthresh is above its value at the start of the reduction, the sender undid the
            # reduction
            if ssthresh > entered.get(connection, ssthresh):
                rows.append((time_ns, 3, int(record["cwnd_pkts"]), ssthresh))
            if state != _DISORDER:
                entered.pop(connection, None)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4)
    return frame(
        "backoffs",
        {
            "flow": np.full(len(rows), flow),
            "time_ns": columns[:, 0],
            "kind": columns[:, 1],
            "cwnd_pkts": columns[:, 2],
            "ssthresh_pkts": _masked(columns[:, 3], columns[:, 3] >= _INFINITE_SSTHRESH),
        },
    )


def tcp_counters(
    samples: Records,
    received: Ints,
    final: Mapping[str, Any] | None,
    flow: int,
    start_ns: int,
    checkpoints_ns: Sequence[int],
    *,
    syns: int = 1,
) -> pl.DataFrame:
    """Rows of ``flow_counters`` of a TCP flow, summed over its connections.

    ``received`` has the receiver's rows (time, bytes). ``final`` is TCP_INFO at the end of the
    flow, used for the last checkpoint. ``syns`` is 1 if the recorded end called connect(), because
    Linux counts the SYN of that end as an acknowledged byte.
    """
    at = np.asarray(checkpoints_ns, dtype=np.int64)
    samples = samples[np.argsort(samples["time_ns"], kind="stable")]
    last = np.searchsorted(samples["time_ns"] - start_ns, at, side="right")
    by_connection = np.argsort(_connection(samples), kind="stable")
    _, firsts = np.unique(_connection(samples), return_index=True)

    def total(column: str) -> Ints:
        grown = np.zeros(samples.size + 1, dtype=np.int64)
        values = samples[column].astype(np.int64)
        if column == "acked_bytes":
            values = np.maximum(values - syns, 0)
        grown[1:][by_connection] = np.diff(values[by_connection], prepend=0)
        grown[1:][firsts] = values[firsts]
        return np.cumsum(grown)[last]

    def closing(column: str, values: Ints, less: int = 0) -> Ints:
        last_value = final.get(column) if final else None
        if last_value is not None and values.size:
            values[-1] = max(int(values[-1]), int(last_value) - less)
        return values

    index = np.searchsorted(received[:, 0] - start_ns, at, side="right")
    delivered = np.concatenate([[0], received[:, 1]])[index]
    return frame(
        "flow_counters",
        {
            "time_ns": at,
            "flow": np.full(at.size, flow),
            "delivered_bytes": delivered,
            "sent_pkts": closing("sent_pkts", total("sent_pkts")),
            "retransmits_pkts": closing("retransmits_pkts", total("retransmits_pkts")),
            "rtos": closing("rtos", total("rtos")),
            "acked_bytes": closing("acked_bytes", total("acked_bytes"), syns),
        },
    )


def udp_fates(
    sent: Ints, received: Ints, flow: int, start_ns: int, duration_ns: int
) -> pl.DataFrame:
    """Rows of ``udp`` from (number, time) sent and (number, sent, received).

    A datagram is lost if one sent later arrived. Datagrams that are neither received nor known to
    be lost at the end of the run have no row.
    """
    known = received[received[:, 2] - start_ns < duration_ns]
    delays = dict(zip(known[:, 0].tolist(), (known[:, 2] - known[:, 1]).tolist(), strict=True))
    late = set(received[:, 0].tolist()) - delays.keys()
    newest = max(delays, default=-1)
    rows = [
        (time_ns - start_ns, delays.get(number))
        for number, time_ns in sent.tolist()
        if number in delays or (number < newest and number not in late)
    ]
    return frame(
        "udp",
        {
            "flow": np.full(len(rows), flow),
            "sent_ns": pl.Series([row[0] for row in rows], dtype=pl.Int64),
            "owd_ns": pl.Series([row[1] for row in rows], dtype=pl.Int64),
        },
    )
