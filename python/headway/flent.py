"""Flent's data files (``.flent.gz``, file format version 4), which people share.

The format, as Flent's resultset module reads and writes it: gzipped JSON with ``version``,
``metadata``, ``x_values`` (seconds), ``results`` (per series one value or null per x) and
``raw_values`` (per series a list of {"t": seconds, "val": value}). A simulated run has no
wall-clock time, so its T0 is the start of 1970.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from headway.errors import HeadwayError
from headway.files import save_bytes
from headway.metrics.stats import Array
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

VERSION = 4
MAX_BYTES = 64 << 20
"""Largest unpacked data file: hours of a dozen flows."""
_STEP_NS = NS_PER_S // 5  # Flent's usual step of 0.2 s
_EPOCH = "1970-01-01T00:00:00.000000Z"


_MAYBE = (dict, type(None))


@dataclass(frozen=True)
class FlentData:
    """A data file's content: ``series`` has ``time_s`` and a nullable column per series."""

    metadata: Mapping[str, Any]
    series: pl.DataFrame
    raw_values: Mapping[str, list[dict[str, Any]]]


def export_flent(trace: Trace, path: Path) -> None:
    """Write the trace as a Flent data file.

    Series per TCP flow: goodput (Mbit/s; null except when counters were read), cwnd
    (packets) and smoothed RTT (ms); per UDP flow: one-way delay (ms); per link: queue (bytes).
    Signals are sampled every 0.2 s. Raises HeadwayError if it cannot be saved.
    """
    experiment = trace.experiment
    step_ns = experiment.sample or _STEP_NS
    times_ns = np.arange(step_ns, experiment.duration + 1, step_ns, dtype=np.int64)
    results: dict[str, list[float | None]] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    meta: dict[str, dict[str, str]] = {}

    def add(name: str, unit: str, at_ns: Array, values: Array, sampled: Array) -> None:
        results[name] = [None if np.isnan(v) else float(v) for v in sampled]
        raw[name] = [
            {"t": float(t) / NS_PER_S, "val": float(v)}
            for t, v in zip(at_ns, values, strict=True)
            if not np.isnan(v)
        ]
        meta[name] = {"UNITS": unit}

    for flow in trace.tcp_flows():
        name = trace.flows[flow].name
        at_ns, goodput = _goodput_mbps(trace, flow)
        exact = dict(zip(at_ns.tolist(), goodput.tolist(), strict=True))
        sampled = np.array([exact.get(float(t), np.nan) for t in times_ns])
        add(f"TCP upload::{name}", "Mbits/s", at_ns, goodput, sampled)
        states = trace.rows_of("flow_state", "flow", flow)
        for column, label, unit, scale in (
            ("cwnd_pkts", "tcp_cwnd", "packets", 1.0),
            ("srtt_us", "tcp_rtt", "ms", 1000.0),
        ):
            at_ns, values = _signal(states, "time_ns", column, scale)
            add(f"TCP upload::{name}::{label}", unit, at_ns, values, _at(times_ns, at_ns, values))
    for flow in trace.udp_flows():
        rows = trace.rows_of("udp", "flow", flow)
        at_ns, values = _signal(rows, "sent_ns", "owd_ns", 1e6)
        add(
            f"OWD (ms)::{trace.flows[flow].name}",
            "ms", at_ns, values, _at(times_ns, at_ns, values),
        )  # fmt: skip
    for link, name in enumerate(trace.links):
        rows = trace.rows_of("queue", "link", link)
        at_ns, values = _signal(rows, "time_ns", "queue_bytes", 1.0)
        add(f"qdisc backlog::{name}", "bytes", at_ns, values, _at(times_ns, at_ns, values))
    data = {
        "version": VERSION,
        "metadata": {
            "NAME": "headway",
            "TITLE": f"{len(trace.flows)} flows, {experiment.stack}",
            "TIME": _EPOCH,
            "T0": _EPOCH,
            "DATA_FILENAME": path.name,
            "LENGTH": experiment.duration / NS_PER_S,
            "TOTAL_LENGTH": experiment.duration / NS_PER_S,
            "STEP_SIZE": step_ns / NS_PER_S,
            "TEST_PARAMETERS": {},
            "FLENT_VERSION": None,
            "SERIES_META": meta,
            "HEADWAY": dict(trace.meta),
        },
        "x_values": (times_ns / NS_PER_S).tolist(),
        "results": results,
        "raw_values": raw,
    }
    # Without a time in gzip's header, the same trace gives the same bytes.
    save_bytes(path, gzip.compress(json.dumps(data, sort_keys=True).encode(), mtime=0))


def import_flent(path: Path) -> FlentData:
    """Read a Flent data file of format version 4.

    Raises HeadwayError for other files, and for files that unpack to more than MAX_BYTES.
    """
    try:
        data = json.loads(_unpacked(path))
        if data["version"] != VERSION:
            raise HeadwayError(
                f"{path}: Flent file format version {data['version']}, this reads {VERSION}"
            )
        columns = {"time_s": data["x_values"], **data["results"]}
        if not isinstance(data["metadata"], dict) or not isinstance(data.get("raw_values"), _MAYBE):
            raise ValueError("metadata and raw_values must be objects")
        for name, values in columns.items():
            _check_series(name, values, len(data["x_values"]))
        series = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64), strict=False)
        return FlentData(data["metadata"], series, data.get("raw_values") or {})
    except FileNotFoundError:
        raise HeadwayError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error, pl.exceptions.PolarsError) as error:
        raise HeadwayError(f"{path}: unreadable Flent data file ({error})") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise HeadwayError(f"{path}: unreadable Flent data file ({error})") from None


def _unpacked(path: Path) -> bytes:
    """The unpacked text. Raises ValueError if it is larger than MAX_BYTES."""
    with gzip.open(path) as stream:
        text = stream.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES >> 20} MiB when unpacked")
    return text


def _check_series(name: str, values: Any, length: int) -> None:
    if not isinstance(values, list) or len(values) != length:
        raise ValueError(f"{name[:60]!r} is not a list of {length} values")
    if not all(value is None or isinstance(value, int | float) for value in values):
        raise ValueError(f"{name[:60]!r} has values that are not numbers")


def _signal(rows: pl.DataFrame, at: str, column: str, scale: float) -> tuple[Array, Array]:
    return (
        rows[at].cast(pl.Float64).to_numpy(),
        rows[column].cast(pl.Float64).to_numpy() / scale,
    )


def _at(times_ns: np.ndarray[Any, Any], at_ns: Array, values: Array) -> Array:
    """The latest value at each time; NaN before the first one."""
    index = np.searchsorted(at_ns, times_ns, side="right") - 1
    if at_ns.size == 0:
        return np.full(times_ns.size, np.nan)
    return np.where(index < 0, np.nan, values[np.maximum(index, 0)])


def _goodput_mbps(trace: Trace, flow: int) -> tuple[Array, Array]:
    """Times in ns of counter readings, and goodput in Mbit/s since the reading before."""
    rows = trace.rows_of("flow_counters", "flow", flow).sort("time_ns")
    at_ns = np.append(0.0, rows["time_ns"].cast(pl.Float64).to_numpy())
    delivered = np.append(0.0, rows["delivered_bytes"].cast(pl.Float64).to_numpy())
    later = np.diff(at_ns) > 0
    rate = np.diff(delivered)[later] * BITS_PER_BYTE * NS_PER_S / np.diff(at_ns)[later] / 1e6
    return at_ns[1:][later], rate
