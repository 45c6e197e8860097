"""Recognizes the format of a measurement by its content, and imports it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headway.errors import HeadwayError
from headway.imports import capture, flent_file, iperf3, tunnel_log
from headway.trace import Trace, load_trace

FORMATS = "pcap, pcapng, .flent.gz, iperf3 --json, Pantheon's and Mahimahi's logs"
_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 4096
_TRACE_FILE = "trace.json"


def import_file(
    path: Path,
    *,
    interval_ns: int = capture.INTERVAL_NS,
    control: str | None = None,
    interface: int | None = None,
    most_flows: int = capture.MOST_FLOWS,
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Import a measurement of any format in FORMATS.

    ``control`` is the senders' control, if known. The other arguments are for captures: see
    :func:`headway.imports.capture.import_capture`. Raises HeadwayError with one line.
    """
    if path.is_dir():
        return tunnel_log.import_tunnel_log(path, control)
    head = _head(path)
    if head[:4] in capture.MAGICS:
        return capture.import_capture(
            path,
            interval_ns=interval_ns,
            control=control,
            interface=interface,
            most_flows=most_flows,
            progress=progress,
        )
    if head.startswith(_GZIP):
        return flent_file.import_flent_file(path, control)
    if head.lstrip().startswith(b"{"):
        return iperf3.import_iperf3(path, control)
    if head[:1].isdigit() or (head.startswith(b"#") and b"mestamp" in head):
        return tunnel_log.import_tunnel_log(path, control)
    raise HeadwayError(f"{path}: the format is not known; {FORMATS}")


def load(path: Path, control: str | None = None, interval_ns: int = capture.INTERVAL_NS) -> Trace:
    """Load a saved trace, or import a file.

    Raises HeadwayError with one line.
    """
    if (path / _TRACE_FILE).is_file():
        return load_trace(path)
    return import_file(path, control=control, interval_ns=interval_ns)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except FileNotFoundError:
        raise HeadwayError(f"{path}: no such file") from None
