"""Imports the logs of Mahimahi's mm-link and of Pantheon's tunnels.

Both have a line per event, times in milliseconds: ``+`` a packet arrives at the queue, ``-`` it
departs, with its delay, ``#`` an opportunity to deliver, ``d`` packets are dropped. Pantheon adds
the flow's number. Bytes are those of whole packets, so flows have throughput rather than goodput.
A folder of Pantheon has several runs; import one of its files ``SCHEME_datalink_runN.log``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from headway.errors import HeadwayError
from headway.imports.build import Measured, PathGuess, Totals, rate_bps, trace_of
from headway.metrics.stats import Array
from headway.registry import registry
from headway.trace import Trace

_NS_PER_MS = 1_000_000
_INTERVAL_NS = 100 * _NS_PER_MS
_COLUMNS = ("time_ms", "event", "first", "second", "third")
_NO_SEPARATOR = "\x01"
"""Not in any log: lines are split afterwards, because they have different numbers of columns."""
_EVENTS = ("+", "-", "#", "d")
_METADATA = "pantheon_metadata.json"
_DATALINK = "_datalink_run"
_MOST_LISTED = 6


def import_tunnel_log(path: Path, control: str | None = None) -> Trace:
    """Read a log, or a folder with the log of one run. Raises HeadwayError with one line."""
    if path.is_dir():
        path = _only_run(path)
    scheme = path.name.partition(_DATALINK)[0] if _DATALINK in path.name else None
    events = _events(path)
    if control is None and scheme in {one.name for one in registry().controls}:
        control = scheme
    first_ms = float(events["time_ms"][0])
    events = events.with_columns(
        time_ns=((pl.col("time_ms") - first_ms) * _NS_PER_MS).round().cast(pl.Int64)
    )
    if events["time_ns"].min() < 0:  # type: ignore[operator] # a log has at least one event
        raise HeadwayError(f"{path}: events are not in order of time")
    duration_ns = int(events["time_ns"].max() or 0)  # type: ignore[arg-type]
    departures = events.filter(pl.col("event") == "-")
    flows = [
        _flow(f"{scheme or 'flow'}-{number}", departures.filter(pl.col("flow") == number))
        for number in sorted(departures["flow"].unique())
    ]
    capacity = float(events.filter(pl.col("event") == "#")["bytes"].sum())
    guess = PathGuess(rate_bps(capacity, duration_ns) if capacity else None)
    origin: dict[str, Any] = {"file": path.name, "format": "tunnel log", "notes": []}
    metadata = _metadata(path.with_name(_METADATA))
    if metadata is not None:
        origin["pantheon"] = metadata
    try:
        return trace_of(flows, duration_ns, guess, origin, control, _link(events, duration_ns))
    except HeadwayError as error:
        raise HeadwayError(f"{path}: {error}") from None


def _only_run(folder: Path) -> Path:
    logs = sorted(folder.glob(f"*{_DATALINK}*.log"))
    if len(logs) == 1:
        return logs[0]
    if not logs:
        raise HeadwayError(f"{folder}: no trace, and no SCHEME{_DATALINK}N.log of Pantheon")
    more = ", ..." if len(logs) > _MOST_LISTED else ""
    names = ", ".join(log.name for log in logs[:_MOST_LISTED])
    raise HeadwayError(f"{folder}: has {len(logs)} runs; import one of its files: {names}{more}")


def _metadata(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _events(path: Path) -> pl.DataFrame:
    """Events with the columns time_ms, event, bytes, delay_ms, flow and pkts."""
    try:
        whole = pl.read_csv(
            path,
            separator=_NO_SEPARATOR,
            has_header=False,
            comment_prefix="#",
            schema={"line": pl.String},
            truncate_ragged_lines=True,
            quote_char=None,
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise HeadwayError(f"{path}: unreadable log ({reason})") from None
    parts = pl.col("line").str.split_exact(" ", len(_COLUMNS) - 1)
    lines = whole.select(parts.struct.rename_fields(list(_COLUMNS))).unnest("line")
    number = {name: pl.col(name).cast(pl.Float64, strict=False) for name in _COLUMNS}
    is_drop, is_departure = pl.col("event") == "d", pl.col("event") == "-"
    flow = pl.when(is_departure).then(number["third"]).otherwise(number["second"])
    events = lines.select(
        number["time_ms"],
        "event",
        pl.when(is_drop).then(number["second"]).otherwise(number["first"]).alias("bytes"),
        pl.when(is_drop).then(number["first"]).otherwise(1.0).alias("pkts"),
        pl.when(is_departure).then(number["second"]).alias("delay_ms"),
        pl.when(is_drop).then(0.0).otherwise(flow).fill_null(0.0).alias("flow"),
    )
    wrong = events.with_row_index("line").filter(
        ~pl.col("event").is_in(_EVENTS).fill_null(False)
        | ~pl.col("time_ms").is_finite().fill_null(False)
        | ~pl.col("bytes").is_between(0, 1e9).fill_null(False)
        | ~pl.col("pkts").is_between(0, 1e9).fill_null(False)
        | ~pl.col("flow").is_between(0, 65_535).fill_null(False)
    )
    if wrong.height:
        shown = " ".join(str(v) for v in lines.row(int(wrong["line"][0])) if v is not None)
        raise HeadwayError(
            f"{path}: event {wrong['line'][0]}: {shown[:60]!r} is not TIME +|-|#|d BYTES ..."
        )
    if not events.height:
        raise HeadwayError(f"{path}: no events")
    return events.with_columns(pl.col("flow").cast(pl.UInt32))


def _flow(name: str, departures: pl.DataFrame) -> Measured:
    times_ns = departures["time_ns"].to_numpy()
    sizes = departures["bytes"].to_numpy()
    index, at = np.unique(times_ns // _INTERVAL_NS, return_inverse=True)
    delivered = np.cumsum(np.bincount(at, weights=sizes)).astype(float)
    sent = np.cumsum(np.bincount(at)).astype(float)
    starts_ns = (index * _INTERVAL_NS).astype(float)
    delays_ns = departures["delay_ms"].to_numpy() * _NS_PER_MS
    return Measured(
        name=name,
        totals=Totals(starts_ns, starts_ns + _INTERVAL_NS, delivered, sent),
        owd=(np.round(times_ns - np.nan_to_num(delays_ns)), delays_ns),
        summary={
            "first_packet_ns": int(times_ns[0]),
            "last_packet_ns": int(times_ns[-1]),
            "unique_bytes": int(sizes.sum()),
        },
    )


def _link(events: pl.DataFrame, duration_ns: int) -> dict[str, pl.DataFrame]:
    """The tables of the queue whose packets the log has."""
    moving = events.filter(pl.col("event") != "#")
    sign = np.where(moving["event"].to_numpy() == "+", 1.0, -1.0)
    drops = moving.filter(pl.col("event") == "d")
    # packets that are dropped on arrival have a line of their own before
    queue_bytes = np.maximum(np.cumsum(sign * moving["bytes"].to_numpy()), 0)
    queue_pkts = np.maximum(np.cumsum(sign * moving["pkts"].to_numpy()), 0)
    times_ns = moving["time_ns"].to_numpy()
    held_ns = np.diff(np.append(times_ns, duration_ns))

    def total(event: str, column: str) -> float:
        return float(moving.filter(pl.col("event") == event)[column].sum())

    counters: dict[str, Array] = {
        name: np.array([0.0, value])
        for name, value in {
            "arrived_pkts": total("+", "pkts"),
            "arrived_bytes": total("+", "bytes"),
            "sent_pkts": total("-", "pkts"),
            "sent_bytes": total("-", "bytes"),
            "dropped_pkts": total("d", "pkts"),
            "dropped_bytes": total("d", "bytes"),
            "queue_byte_us": float((queue_bytes * held_ns).sum()) / 1000,
        }.items()
    }
    return {
        "queue": pl.DataFrame(
            {"link": 0, "time_ns": times_ns, "queue_bytes": queue_bytes, "queue_pkts": queue_pkts}
        ),
        "drops": drops.select(
            "time_ns",
            link=pl.lit(0),
            flow=pl.col("flow"),
            ip_bytes=pl.col("bytes"),
            reason=pl.lit(0),
        ),
        "link_counters": pl.DataFrame({"time_ns": [0, duration_ns], "link": 0, **counters}),
    }
