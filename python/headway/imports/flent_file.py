"""Imports Flent's data files (``.flent.gz``).

Series in Mbit/s are flows. ``NAME::tcp_cwnd`` and ``NAME::tcp_rtt`` are their windows and RTTs,
series of one-way delays are datagrams. The smallest ping suggests the base RTT. Averages and sums
of other series are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from headway.errors import HeadwayError
from headway.flent import FlentData, import_flent
from headway.imports.build import Measured, PathGuess, States, Totals, trace_of
from headway.metrics.stats import Array
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

_BPS = {"bits/s": 1.0, "Kbits/s": 1e3, "Mbits/s": 1e6, "Gbits/s": 1e9}
_COMBINED = ("avg", "sum", "total", "mean", "fairness")
"""Parts of the names of series that combine others."""


def import_flent_file(path: Path, control: str | None = None) -> Trace:
    """Read a Flent data file. Raises HeadwayError with one line."""
    data = import_flent(path)
    series, times_ns = data.series, data.series["time_s"].fill_null(0).to_numpy() * NS_PER_S
    units = _units(data)
    rates = [name for name, unit in units.items() if unit in _BPS and not _is_combined(name)]
    flows, notes = [], []
    for name in rates:
        rate_bps = series[name].to_numpy() * _BPS[units[name]]
        flows.append(
            Measured(name, totals=_totals(times_ns, rate_bps), states=_states(data, name, times_ns))
        )
    pings_ms: list[float] = []
    for name, unit in units.items():
        if unit != "ms" or "::tcp_" in name or _is_combined(name):
            continue
        values_ns = series[name].to_numpy() * 1e6
        if name.startswith("OWD"):
            raw = data.raw_values.get(name) or []
            sent, owd = _raw(raw) if raw else (times_ns, values_ns)
            flows.append(Measured(name, owd=(sent, owd)))
        elif np.isfinite(values_ns).any():
            pings_ms.append(float(np.nanmin(values_ns)) / 1e6)
            notes.append(f"{name}: pings have no table in a trace; the smallest is the base RTT")
    left = set(series.columns) - {"time_s", *rates}
    if not flows:
        raise HeadwayError(f"{path}: no series in Mbits/s or of one-way delays; it has "
                           f"{', '.join(sorted(left)[:8]) or 'none'}")  # fmt: skip
    total = sum(np.nan_to_num(series[name].to_numpy()) * _BPS[units[name]] for name in rates)
    guess = PathGuess(
        float(np.max(total)) if rates else None, min(pings_ms) * 1e6 if pings_ms else None
    )
    duration_ns = int(times_ns.max(initial=0))
    origin = {"file": path.name, "format": "flent", "notes": notes}
    origin["title"] = str(data.metadata.get("TITLE") or data.metadata.get("NAME") or "")
    return trace_of(flows, duration_ns, guess, origin, control)


def _units(data: FlentData) -> dict[str, str]:
    meta = data.metadata.get("SERIES_META")
    meta = meta if isinstance(meta, dict) else {}
    return {name: _unit(name, meta.get(name)) for name in data.series.columns if name != "time_s"}


def _unit(name: str, of: Any) -> str:
    """A series' unit; files of older versions do not name it."""
    if isinstance(of, dict) and of.get("UNITS"):
        return str(of["UNITS"])
    if "::" in name and name.rpartition("::")[2].startswith("tcp_"):
        return ""
    return "Mbits/s" if name.startswith("TCP") else "ms" if name.startswith(("Ping", "OWD")) else ""


def _is_combined(name: str) -> bool:
    words = name.lower().replace(":", " ").split()
    return any(word in _COMBINED or word.endswith("totals") for word in words)


def _totals(times_ns: Array, rate_bps: Array) -> Totals:
    """Bytes from rates, each of which is the mean since the step before."""
    starts_ns = np.concatenate([[0.0], times_ns[:-1]])
    spans_s = np.maximum(times_ns - starts_ns, 0) / NS_PER_S
    delivered = np.cumsum(np.nan_to_num(rate_bps) * spans_s / BITS_PER_BYTE)
    return Totals(starts_ns, np.maximum.accumulate(times_ns), delivered)


def _states(data: FlentData, name: str, times_ns: Array) -> States | None:
    def of(suffix: str, factor: float) -> Array | None:
        column = f"{name}::{suffix}"
        return data.series[column].to_numpy() * factor if column in data.series.columns else None

    cwnd, rtt_us = of("tcp_cwnd", 1.0), of("tcp_rtt", 1000.0)
    return None if cwnd is None and rtt_us is None else States(times_ns, cwnd, rtt_us)


def _raw(values: list[dict[str, Any]]) -> tuple[Array, Array]:
    """Times since the first one, and values, both in ns."""
    try:
        pairs = np.array([(float(v["t"]), float(v["val"])) for v in values]).reshape(-1, 2)
    except (KeyError, TypeError, ValueError):
        return np.empty(0), np.empty(0)
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    first_s = pairs[0, 0] if pairs[0, 0] > 1e6 else 0.0  # since 1970, or since the start
    return (pairs[:, 0] - first_s) * NS_PER_S, pairs[:, 1] * 1e6
