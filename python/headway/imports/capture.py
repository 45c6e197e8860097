"""Imports pcap and pcapng files. crates/capture reads the packets and measures connections.

A connection becomes a flow: the direction with more data. Counts are tcptrace's: a packet with
data that the capture had before is a retransmission, also at a receiver's host, where the lost
packet is not in the capture and its retransmission is out of order. RTTs are those between the
capture's place and the receiver.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from headway.engine import engine
from headway.errors import HeadwayError
from headway.imports.build import Measured, PathGuess, States, Totals, rate_bps, trace_of
from headway.imports.path import estimate
from headway.trace import Trace

MAGICS = (
    b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1",
    b"\x0a\x0d\x0d\x0a",
)  # fmt: skip
"""The first four bytes of captures."""
INTERVAL_NS = 100_000_000
MOST_FLOWS = 100
"""Most flows of a trace; the largest are kept."""
_NOTES = {
    "udp": "packets of UDP",
    "other_protocols": "packets that are neither TCP nor UDP",
    "not_ip": "frames without IP",
    "fragments": "IP fragments",
    "cut": "packets that the snap length cut within their headers",
    "malformed": "packets with a wrong header",
    "beyond_connections": "packets of further connections (at most 65,536 are followed)",
}
"""Notes of the engine on packets that are left out."""
_DOUBTS = {
    "without_time": "packets have no valid time; the time of the packet before was used",
    "time_reversed": "packets are earlier than the packet before; its time was used",
    "beyond_unacknowledged": "segments gave no RTT, because too many were unacknowledged",
}


def import_capture(
    path: Path,
    *,
    interval_ns: int = INTERVAL_NS,
    control: str | None = None,
    interface: int | None = None,
    most_flows: int = MOST_FLOWS,
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Read a capture of any size. Raises HeadwayError with one line.

    Args:
        path: a pcap or pcapng file.
        interval_ns: length of the intervals in which samples are combined, > 0.
        control: the senders' control, if known.
        interface: number of the capture's interface to use; None takes for each connection the
            interface that is nearest to the sender.
        most_flows: keep this many flows, those with most data.
        progress: called with the number of bytes read.
    """
    try:
        found = engine.read_capture(str(path), interval_ns, progress)
    except ValueError as error:
        raise HeadwayError(f"{path}: {error}") from None
    summary = json.loads(found["summary"])
    notes = _notes(summary)
    connections = _chosen(summary["connections"], interface, most_flows, notes)
    if not connections:
        raise HeadwayError(f"{path}: {_why_empty(notes)}")
    bins = pl.DataFrame(found["bins"])
    parts = bins.partition_by("connection", "direction", as_dict=True)
    empty = bins.clear()
    flows = []
    duration_ns = summary["last_ns"] - summary["first_ns"]
    for number, connection, direction in connections:
        own = parts.get((number, direction), empty)
        flows.append(_measured(connection, direction, own, interval_ns))
    origin = {
        "file": path.name,
        "format": "capture",
        "interval_ns": interval_ns,
        "first_packet_epoch_ns": summary["first_ns"],
        "packets": summary["packets"],
        "notes": notes,
    }
    first = trace_of(flows, duration_ns, PathGuess(), origin, control)
    found_path = estimate(first)
    guess = PathGuess(found_path.rate_bps, found_path.rtt_ns)
    return trace_of(flows, duration_ns, guess, origin, control)


def _notes(summary: Mapping[str, Any]) -> list[str]:
    """One line for each kind of packet that is left out or doubtful."""
    counts = summary["notes"]
    lines = [f"{counts[name]} {text} are left out" for name, text in _NOTES.items() if counts[name]]
    lines += [f"{counts[name]} {text}" for name, text in _DOUBTS.items() if counts[name]]
    if counts["unsupported_link"]:
        lines.append(
            f"{counts['unsupported_link']} packets of link type {counts['link_type']} are left out"
        )
    if summary["damage"] is not None:
        lines.append(f"the file is damaged and was read up to there: {summary['damage']}")
    return lines


def _why_empty(notes: Sequence[str]) -> str:
    return "; ".join(["no TCP connection with data", *notes])


def _chosen(
    connections: Sequence[Mapping[str, Any]],
    interface: int | None,
    most_flows: int,
    notes: list[str],
) -> list[tuple[int, Mapping[str, Any], int]]:
    """The connections to keep: number, description and direction of the data."""
    on_interfaces: dict[tuple[str, str], list[tuple[int, Mapping[str, Any], int]]] = {}
    for number, connection in enumerate(connections):
        sizes = [end["unique_bytes"] for end in connection["directions"]]
        if max(sizes) == 0 or interface not in (None, connection["interface"]):
            continue
        ends = sorted(end["source"] for end in connection["directions"])
        one = (number, connection, int(sizes[1] > sizes[0]))
        on_interfaces.setdefault((ends[0], ends[1]), []).append(one)
    found: list[tuple[int, Mapping[str, Any], int]] = []
    for same in on_interfaces.values():
        nearest = min(same, key=_distance)[1]["interface"]
        found += [one for one in same if one[1]["interface"] == nearest]
    found.sort(key=lambda one: one[0])
    if twice := sum(map(len, on_interfaces.values())) - len(found):
        notes.append(
            f"{twice} connections are on several interfaces; the one next to the sender is used"
        )
    if len(found) > most_flows:
        notes.append(f"{len(found) - most_flows} of {len(found)} connections, with less data, "
                     "are left out")  # fmt: skip
        found.sort(key=lambda one: -one[1]["directions"][one[2]]["unique_bytes"])
        found = sorted(found[:most_flows], key=lambda one: one[0])
    for _, connection, direction in found:
        _doubt(connection["directions"][direction], notes)
    return found


def _distance(one: tuple[int, Mapping[str, Any], int]) -> float:
    """Time from the place of the capture to the sender and back."""
    _, connection, direction = one
    known = connection["directions"][1 - direction]["least_echo_ns"]
    return float("inf") if known is None else float(known)


def _doubt(end: Mapping[str, Any], notes: list[str]) -> None:
    if end["missing_bytes"]:
        notes.append(f"{end['source']}: {end['missing_bytes']} bytes are not in the capture")
    if end["large_pkts"]:
        notes.append(
            f"{end['source']}: {end['large_pkts']} packets are larger than the MSS, as before "
            "segmentation offload; each counts as one"
        )


def _measured(
    connection: Mapping[str, Any], direction: int, bins: pl.DataFrame, interval_ns: int
) -> Measured:
    end, other = (connection["directions"][k] for k in (direction, 1 - direction))
    starts_ns = bins["index"].to_numpy() * interval_ns
    ends_ns = starts_ns + interval_ns
    is_acked = end["acked_bytes"] > 0
    mss_bytes = other["mss_bytes"]
    packet_bytes = end["sent_bytes"] / max(end["sent_pkts"], 1)
    known = bins.with_columns(
        pl.when(pl.col(pl.Int64) >= 0).then(pl.col(pl.Int64)).cast(pl.Float64)
    )
    delivered = bins["acked_bytes" if is_acked else "unique_bytes"]
    inflight = known["flight_bytes"].to_numpy() if is_acked else np.full(len(bins), np.nan)
    halves = (end["handshake_ns"], other["handshake_ns"])
    captured = known.select(
        pl.Series("time_ns", ends_ns),
        pl.col("delivered_bytes").alias("sacked_bytes"),
        *(
            pl.col(f"{kind}_{name}").truediv(1 if name == "samples" else 1000).alias(
                f"{kind}_samples" if name == "samples" else f"{kind}_{name[:-3]}_us"
            )
            for kind in ("rtt", "prompt", "echo")
            for name in ("samples", "min_ns", "mean_ns", "max_ns")
        ),
        pl.Series("inflight_bytes", inflight),
        "rwnd_bytes",
        "out_of_order_pkts",
    )  # fmt: skip
    return Measured(
        name=f"{end['source']}-{other['source']}",
        totals=Totals(
            starts_ns,
            ends_ns,
            delivered.to_numpy().astype(float),
            bins["sent_pkts"].to_numpy().astype(float),
            bins["retransmits_pkts"].to_numpy().astype(float),
        ),
        states=States(
            ends_ns,
            srtt_us=known["srtt_ns"].to_numpy() / 1000,
            inflight_pkts=np.ceil(inflight / max(packet_bytes, 1)),
        ),
        summary={
            "first_packet_ns": connection["first_ns"],
            "last_packet_ns": connection["last_ns"],
            "unique_bytes": end["unique_bytes"],
            "handshake_rtt_us": None if None in halves else round(sum(halves) / 1000),
            "mss_bytes": mss_bytes,
            "capture": {
                **end,
                "has_syn": connection["has_syn"],
                "interface": connection["interface"],
                "destination": other["source"],
                "reverse_bytes": other["unique_bytes"],
                "sender_side_ns": other["least_echo_ns"],
                "goodput_bps": rate_bps(
                    end["unique_bytes"], connection["last_ns"] - connection["first_ns"]
                ),
            },
        },
        captured=captured,
    )
