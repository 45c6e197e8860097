"""Imports the results of ``iperf3 --json`` over TCP.

Each stream is a flow. A sender's bytes are those that it wrote to its socket in an interval; the
total that arrived is the receiver's. Windows, RTTs and retransmissions are the sender's, so that
the file of a client that receives (``--reverse``) lacks them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from headway.errors import HeadwayError
from headway.imports.build import Measured, PathGuess, States, Totals, trace_of
from headway.metrics.stats import Array
from headway.registry import registry
from headway.trace import Trace
from headway.units import NS_PER_S

MAX_BYTES = 64 << 20
_USUAL_MSS_BYTES = 1448


def import_iperf3(path: Path, control: str | None = None) -> Trace:
    """Read the JSON of an iperf3 client or server. Raises HeadwayError with one line."""
    try:
        text = path.read_bytes()
        if len(text) > MAX_BYTES:
            raise ValueError(f"more than {MAX_BYTES >> 20} MiB")
        return _trace(path, json.loads(text), control)
    except HeadwayError as error:
        raise HeadwayError(f"{path}: {error}") from None
    except KeyError as error:
        raise HeadwayError(f"{path}: no result of iperf3 --json (no {error} in it)") from None
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise HeadwayError(f"{path}: no result of iperf3 --json ({error})") from None


def _trace(path: Path, data: Mapping[str, Any], control: str | None) -> Trace:
    if data.get("error"):
        raise HeadwayError(f"iperf3 ended with an error: {data['error']}")
    start = data["start"]
    if start["test_start"]["protocol"] != "TCP":
        raise HeadwayError(f"protocol: {start['test_start']['protocol']} is not supported; TCP")
    ends = {one["sender"]["socket"]: one for one in data["end"]["streams"]}
    rows: dict[int, list[Mapping[str, Any]]] = {}
    for interval in data["intervals"]:
        for stream in interval["streams"]:
            if not stream.get("omitted"):
                rows.setdefault(stream["socket"], []).append(stream)
    names = {one["socket"]: one for one in start["connected"]}
    mss_bytes = start.get("tcp_mss") or start.get("tcp_mss_default") or _USUAL_MSS_BYTES
    flows = [
        _flow(names[socket], own, ends.get(socket, {}), int(mss_bytes))
        for socket, own in rows.items()
    ]
    if control is None:
        control = _control(data["end"].get("sender_tcp_congestion"))
    last_s = max((row["end"] for own in rows.values() for row in own), default=0.0)
    peaks = [
        sum(s["bits_per_second"] for s in i["streams"] if not s.get("omitted"))
        for i in data["intervals"]
    ]
    rtts = [one["sender"]["min_rtt"] for one in ends.values() if one["sender"].get("min_rtt")]
    guess = PathGuess(max(peaks, default=None), min(rtts) * 1000.0 if rtts else None)
    origin = {"file": path.name, "format": "iperf3", "notes": []}
    return trace_of(flows, round(last_s * NS_PER_S), guess, origin, control)


def _control(name: str | None) -> str | None:
    """The control of Headway with the kernel's name, or the kernel's own."""
    if not name:
        return None
    return name if name in {one.name for one in registry().controls} else f"kernel:{name}"


def _flow(
    ends: Mapping[str, Any], rows: list[Mapping[str, Any]], total: Mapping[str, Any], mss: int
) -> Measured:
    def of(name: str, unknown: float = np.nan) -> Array:
        return np.array([float(row.get(name, unknown)) for row in rows])

    starts_ns, ends_ns = of("start") * NS_PER_S, of("end") * NS_PER_S
    resent = of("retransmits")
    known = not np.isnan(resent).any()
    received = total.get("receiver", {}).get("bytes")
    return Measured(
        name=f"{ends['local_host']}:{ends['local_port']}-{ends['remote_host']}:{ends['remote_port']}",
        totals=Totals(
            starts_ns,
            ends_ns,
            np.cumsum(of("bytes")),
            retransmits_pkts=np.cumsum(resent) if known else None,
        ),
        states=States(ends_ns, cwnd_pkts=of("snd_cwnd") / mss, srtt_us=of("rtt")),
        summary={
            "first_packet_ns": round(starts_ns[0]),
            "last_packet_ns": round(ends_ns[-1]),
            "unique_bytes": received if received is not None else round(of("bytes").sum()),
            "mss_bytes": mss,
        },
    )
