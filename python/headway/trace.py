"""The trace of a run: tables whose columns end in their unit, and the metadata of the run.

A value that a backend cannot know is null, never 0. Flows and links are numbered; their names and
totals are in ``Trace.flows`` and ``Trace.links``. A saved trace is a folder with one Parquet file
per table, ``trace.json`` and, if packets were captured, ``capture.pcapng``. It contains no
wall-clock time, so the same experiment saves the same bytes.
"""

from __future__ import annotations

import functools
import io
import json
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from headway import checksums
from headway.errors import ExperimentError, HeadwayError
from headway.experiment import Experiment, explain
from headway.files import save_bytes, saving_dir
from headway.registry import Algorithm
from headway.versions import versions

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 3
"""Version of the layout on disk; ``load_trace`` rejects others."""

SCHEMA: dict[str, dict[str, Any]] = {
    # One row per change of a sender's state; state: 0 open, 1 disorder, 2 cwr, 3 recovery, 4 loss.
    "flow_state": {
        "flow": pl.UInt32,
        "time_ns": pl.Int64,
        "cwnd_pkts": pl.UInt32,
        "ssthresh_pkts": pl.UInt32,
        "srtt_us": pl.UInt32,
        "inflight_pkts": pl.UInt32,
        "state": pl.UInt8,
    },
    # One row per change of a link's queue, with the queue's length after the change.
    "queue": {
        "link": pl.UInt32,
        "time_ns": pl.Int64,
        "queue_bytes": pl.UInt32,
        "queue_pkts": pl.UInt32,
    },
    # One row per packet that a link dropped. Reason: 0 the queue has no room, 1 random loss, 2 the
    # AQM's choice, 3 the packet has IP options, 4 the packet is a SYN that requests ECN, 5 the
    # policer had too few tokens.
    "drops": {
        "link": pl.UInt32,
        "time_ns": pl.Int64,
        "flow": pl.UInt32,
        "ip_bytes": pl.UInt32,
        "reason": pl.UInt8,
    },
    # One row per time in which a queue is full: from the first drop for lack of room until the
    # queue
    # accepts a packet.
    "queue_full": {
        "link": pl.UInt32,
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
        "dropped_pkts": pl.UInt32,
    },
    # One row per datagram that arrived or was lost; owd_ns is null if lost.
    "udp": {"flow": pl.UInt32, "sent_ns": pl.Int64, "owd_ns": pl.Int64},
    # One row per reduction of a sender's window, with cwnd before it and ssthresh after it; kind:
    # 0 recovery, 1 timeout, 2 cwr, 3 undo.
    "backoffs": {
        "flow": pl.UInt32,
        "time_ns": pl.Int64,
        "kind": pl.UInt8,
        "cwnd_pkts": pl.UInt32,
        "ssthresh_pkts": pl.UInt32,
    },
    # One row per flow and checkpoint (and at the run's end): totals since the start of the run.
    "flow_counters": {
        "time_ns": pl.Int64,
        "flow": pl.UInt32,
        "delivered_bytes": pl.UInt64,
        "sent_pkts": pl.UInt64,
        "retransmits_pkts": pl.UInt64,
        "rtos": pl.UInt64,
        "acked_bytes": pl.UInt64,
    },
    "link_counters": {
        "time_ns": pl.Int64,
        "link": pl.UInt32,
        "arrived_pkts": pl.UInt64,
        "arrived_bytes": pl.UInt64,
        "sent_pkts": pl.UInt64,
        "sent_bytes": pl.UInt64,
        "dropped_pkts": pl.UInt64,
        "dropped_bytes": pl.UInt64,
        "queue_byte_us": pl.UInt64,
    },
    # One row per exchange of a request and its response.
    "responses": {
        "flow": pl.UInt32,
        "epoch": pl.UInt32,
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
    },
    # One row per transfer of flows that generate them; end_ns is null if the transfer was not
    # complete at the end of the run, ideal_ns (completion time on an empty path) if it is unknown.
    "transfers": {
        "flow": pl.UInt32,
        "size_bytes": pl.UInt64,
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
        "ideal_ns": pl.Int64,
    },
    # Events of routers: algorithm is an index into Trace.routers, name an index into the events of
    # that algorithm; flow is null for events without a packet.
    "router_events": {
        "link": pl.UInt32,
        "time_ns": pl.Int64,
        "flow": pl.UInt32,
        "algorithm": pl.UInt8,
        "name": pl.UInt8,
        "value": pl.UInt64,
    },
    # Routers' counters at every checkpoint and at the end: algorithm is an index into
    # Trace.routers,
    # name an index into the algorithm's counters.
    "router_counters": {
        "time_ns": pl.Int64,
        "link": pl.UInt32,
        "algorithm": pl.UInt8,
        "name": pl.UInt8,
        "value": pl.UInt64,
    },
    # Counters of queue disciplines at every checkpoint and at the end: algorithm is an index into
    # Trace.queues, name an index into the discipline's counters.
    "queue_counters": {
        "time_ns": pl.Int64,
        "link": pl.UInt32,
        "algorithm": pl.UInt8,
        "name": pl.UInt8,
        "value": pl.UInt64,
    },
    # Sub-queues of such disciplines at every checkpoint and at the end, without those that no
    # packet has reached. sojourn_us is the sum over the packets that were sent.
    "sub_queues": {
        "time_ns": pl.Int64,
        "link": pl.UInt32,
        "queue": pl.UInt32,
        "queue_pkts": pl.UInt32,
        "queue_bytes": pl.UInt32,
        "sent_pkts": pl.UInt64,
        "sent_bytes": pl.UInt64,
        "sojourn_us": pl.UInt64,
        "dropped_pkts": pl.UInt64,
        "marked_ect0_pkts": pl.UInt64,
        "marked_ect1_pkts": pl.UInt64,
    },
    # One row per interval in which a flow of an imported capture was active, at the interval's end.
    # RTTs are those between the capture's place and the receiver: rtt from a segment to the ACK
    # that ends with it (prompt: of at least two full segments, so that the receiver did not delay
    # it), echo from a timestamp to its echo. Null without samples. sacked_bytes are those that were
    # acknowledged or named in SACK blocks so far.
    "captured": {
        "flow": pl.UInt32,
        "time_ns": pl.Int64,
        "sacked_bytes": pl.UInt64,
        "rtt_samples": pl.UInt32,
        "rtt_min_us": pl.UInt32,
        "rtt_mean_us": pl.UInt32,
        "rtt_max_us": pl.UInt32,
        "prompt_samples": pl.UInt32,
        "prompt_min_us": pl.UInt32,
        "prompt_mean_us": pl.UInt32,
        "prompt_max_us": pl.UInt32,
        "echo_samples": pl.UInt32,
        "echo_min_us": pl.UInt32,
        "echo_mean_us": pl.UInt32,
        "echo_max_us": pl.UInt32,
        "inflight_bytes": pl.UInt64,
        "rwnd_bytes": pl.UInt64,
        "out_of_order_pkts": pl.UInt64,
    },
    # Readings of the controls' state after every ACK: reading is an index into the flow's readings.
    "readings": {
        "flow": pl.UInt32,
        "time_ns": pl.Int64,
        "reading": pl.UInt8,
        "value": pl.UInt64,
    },
}
"""Every table's columns and types. Times are since the start of the run."""

_U32_MAX = 2**32 - 1
_NULLS: dict[tuple[str, str], int] = {
    ("flow_state", "ssthresh_pkts"): _U32_MAX,
    ("flow_state", "srtt_us"): _U32_MAX,
    ("udp", "owd_ns"): -1,
    ("transfers", "end_ns"): -1,
    ("transfers", "ideal_ns"): -1,
    ("router_events", "flow"): _U32_MAX,
}
_FEW = 16
"""Up to this many flows or links, ``rows_of`` filters the whole table for each; with more, it
splits the table once."""
_ADDED = frozenset({"transfers", "readings", "queue_counters", "sub_queues", "captured"})
"""Tables that traces of this format may lack, because they were added later."""
_STATE_FILE = "trace.json"
_CAPTURE_FILE = "capture.pcapng"
_OWN = frozenset({_STATE_FILE, _CAPTURE_FILE, *(f"{name}.parquet" for name in SCHEMA)})
"""All file names that a trace's folder can contain."""


class FlowSummary(BaseModel):
    """One flow's identity and totals.

    Times of packets sent and received are those at the sender's host.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str
    kind: str
    group: str | None = None
    """The group of the flow's transfers; None if the flow generates none."""
    control: str | None = None
    startup: str | None = None
    readings: tuple[str, ...] = ()
    """Names of the control's readings, if the trace has them."""
    first_packet_ns: int | None = None
    last_packet_ns: int | None = None
    unique_bytes: int | None = None
    done_ns: int | None = None
    """When the last byte of a transfer with a size had arrived at the receiver in order."""
    handshake_rtt_us: int | None = None
    mss_bytes: int | None = None
    rate_limited: bool | int | None = None
    ecn: bool | None = None
    """Whether both ends negotiated ECN; None if the opener did not request it."""
    accurate_ecn: bool | None = False
    """Whether both ends negotiated Accurate ECN; None if the kernel does not tell."""
    ce_marks: int | None = 0
    """Data packets that arrived with CE."""
    ece_acks: int | None = 0
    """ACKs with ECE that returned to the sender; None means unknown."""
    protocols: Mapping[str, Mapping[str, int | str | None]] = {}
    """The sender's counters of each protocol that has a header, by the protocol's name. The key
    ``failure`` has the reason of the last failure. Missing counters are 0; None means unknown."""

    rwnd_limited_us: int | None = 0
    sndbuf_limited_us: int | None = 0
    """How long the peer's window (``rwnd_limited_us``) and the send buffer limited the sender, as
    TCP_INFO counts it. None means unknown."""

    first_flight: Mapping[str, int] | None = {}
    """Sums over the first flights of the sender's startup (see
    :class:`headway.digest.FirstFlight`). Empty if the startup began no first flight; None means
    unknown."""

    def counted(self, protocol: str, name: str) -> int | None:
        """A counter of the sender; 0 if the sender did not report the counter, None if unknown."""
        count = self.protocols.get(protocol, {}).get(name, 0)
        return None if count is None else int(count)


@dataclass(frozen=True)
class Trace:
    """The trace of one run. ``tables`` has every table of SCHEMA; ``meta`` is JSON data."""

    tables: Mapping[str, pl.DataFrame]
    flows: tuple[FlowSummary, ...]
    links: tuple[str, ...]
    meta: Mapping[str, Any]
    capture: bytes | None = field(default=None, repr=False)
    routers: tuple[Algorithm, ...] = ()
    """The router algorithms, each with the names of its counters and events as its C file declares
    them. ``headway.metrics.router_counters`` and ``headway.metrics.router_events`` return tables
    with these names as columns."""
    queues: tuple[Algorithm, ...] = ()
    """The queue disciplines of the run that declare counters. ``headway.metrics.queue_counters``
    returns a table with the counters' names as columns."""

    @functools.cached_property
    def experiment(self) -> Experiment:
        """The experiment that made this trace."""
        return Experiment.model_validate(self.meta["experiment"])

    @property
    def duration_ns(self) -> int:
        """Length of the run in ns."""
        return self.experiment.duration

    @property
    def warmup_ns(self) -> int:
        """Beginning of the measured part in ns."""
        return self.experiment.warmup

    def __getitem__(self, table: str) -> pl.DataFrame:
        """A table by name."""
        return self.tables[table]

    def rows_of(self, table: str, owner: str, index: int) -> pl.DataFrame:
        """A table's rows of one flow or link; ``owner`` is the column, "flow" or "link".

        With many flows or links the table is split once, at the first call, so that reading the
        rows of each takes time linear in the rows.
        """
        frame = self.tables[table]
        if len(self.flows if owner == "flow" else self.links) <= _FEW:
            return frame.filter(pl.col(owner) == index)
        cut = self._cut.get((table, owner))
        if cut is None:
            cut = frame.partition_by(owner, as_dict=True, maintain_order=True)
            self._cut[table, owner] = cut
        return cut.get((index,), frame.clear())

    @functools.cached_property
    def _cut(self) -> dict[tuple[str, str], dict[tuple[Any, ...], pl.DataFrame]]:
        return {}

    def numpy(self, table: str) -> dict[str, np.ndarray[Any, Any]]:
        """A table's columns as arrays of one length; columns with nulls become floats with NaN."""
        return {column.name: column.to_numpy() for column in self.tables[table]}

    def pandas(self, table: str) -> pd.DataFrame:
        """A table as a pandas DataFrame. Raises HeadwayError if pandas is not installed."""
        try:
            import pandas as pd
        except ImportError:
            raise HeadwayError("pandas is not installed; run `pip install pandas`") from None
        return pd.DataFrame(self.numpy(table))

    def flow_index(self, name: str) -> int:
        """The number of the flow called ``name``. Raises KeyError."""
        for index, flow in enumerate(self.flows):
            if flow.name == name:
                return index
        raise KeyError(name)

    def tcp_flows(self) -> list[int]:
        """The numbers of the TCP flows."""
        return [index for index, flow in enumerate(self.flows) if flow.control is not None]

    def udp_flows(self) -> list[int]:
        """The numbers of the UDP flows."""
        return [index for index, flow in enumerate(self.flows) if flow.control is None]


def is_of_another_build(trace: Trace) -> bool:
    """Whether the trace was simulated by another build of the engine than the present one."""
    made_by = trace.meta.get("versions", {}).get("engine")
    return trace.meta.get("backend") == "sim" and made_by != versions()["engine"]


def frame_of(name: str, data: Mapping[str, Any]) -> pl.DataFrame:
    """A table from the engine's columns; the engine's markers for unknown values become nulls."""
    columns = SCHEMA[name]
    frame = pl.DataFrame({column: data[column] for column in columns}, schema=columns)
    return frame.with_columns(
        pl.when(pl.col(column) != missing).then(pl.col(column))
        for (table, column), missing in _NULLS.items()
        if table == name
    )


def from_engine(experiment: Experiment, result: Mapping[str, Any], key: str) -> Trace:
    """A Trace from the engine's result: {"summary": JSON, "tables": {...}, "capture": bytes}.

    ``key`` is the run's key, see ``Backend.key``.
    """
    summary = json.loads(result["summary"])
    tables = {}
    for name, columns in SCHEMA.items():
        found = result["tables"].get(name)  # the engine has no captured
        tables[name] = pl.DataFrame(schema=columns) if found is None else frame_of(name, found)
    trace = Trace(
        tables=tables,
        flows=tuple(FlowSummary.model_validate(flow) for flow in summary["flows"]),
        links=tuple(summary["links"]),
        meta={
            "backend": "sim",
            "key": key,
            "experiment": experiment.model_dump(mode="json"),
            "seed": experiment.seed,
            "events": summary.get("events"),
            "versions": versions(),
            "platform": platform.platform(),
        },
        capture=result.get("capture"),
        routers=_algorithms(summary.get("routers", ())),
        queues=_algorithms(summary.get("queues", ())),
    )
    # fill the cached property ``experiment``, so that the experiment is not parsed again from
    # ``meta``
    trace.__dict__["experiment"] = experiment
    return trace


def _algorithms(described: Iterable[Mapping[str, Any]]) -> tuple[Algorithm, ...]:
    return tuple(Algorithm.model_validate(one) for one in described)


WriteTable = Callable[[str, pl.DataFrame, Path], int]
"""Called with (name of a table, its rows, file to write); returns the number of rows written."""


def save_trace(
    trace: Trace,
    path: Path | str,
    write: WriteTable | None = None,
    capture: Iterable[bytes] | None = None,
) -> Path:
    """Save the trace as folder ``path``, completely or not at all; an existing trace is replaced.

    ``write`` writes the tables; None writes the rows of ``trace``. ``capture`` has the parts of the
    capture; None saves the capture of ``trace``. Raises HeadwayError for a full disk, a path that
    cannot be written, or a folder that contains files that do not belong to a trace.
    """
    path = Path(path)
    state: dict[str, Any] = {
        "format": FORMAT,
        "flows": [flow.model_dump(mode="json") for flow in trace.flows],
        "links": list(trace.links),
        "routers": [router.model_dump(mode="json") for router in trace.routers],
        "queues": [queue.model_dump(mode="json") for queue in trace.queues],
        "captured": trace.capture is not None,
        "meta": dict(trace.meta),
    }
    with saving_dir(path, _OWN.__contains__) as folder:
        state["rows"] = {
            name: (write or _write_table)(name, frame, folder / f"{name}.parquet")
            for name, frame in trace.tables.items()
        }
        if trace.capture is not None:
            with (folder / _CAPTURE_FILE).open("wb") as file:
                file.writelines([trace.capture] if capture is None else capture)
        text = json.dumps(checksums.with_sums(state, folder), indent=1)
        (folder / _STATE_FILE).write_text(text, encoding="utf-8")
    return path


def _write_table(_name: str, frame: pl.DataFrame, file: Path) -> int:
    file.write_bytes(_parquet(frame))
    return frame.height


def _fits(trace: Trace) -> None:
    """Raise ValueError if the parts cannot be of one run, or its experiment is invalid."""
    if len(trace.flows) != len(trace.experiment.flows):
        raise ValueError(
            f"the trace has {len(trace.flows)} flows, its experiment {len(trace.experiment.flows)}"
        )
    if not isinstance(trace.meta.get("versions", {}), dict):
        raise ValueError("versions is not an object")


def save_table(frame: pl.DataFrame, path: Path) -> Path:
    """Save one table as a Parquet file, completely or not at all. Raises HeadwayError."""
    save_bytes(path, _parquet(frame))
    return path


def _parquet(frame: pl.DataFrame) -> bytes:
    # Write to memory first: if the disk is full, Polars would raise its own error without an errno.
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=1)
    return buffer.getvalue()


def _load_table(path: Path, state: dict[str, Any], name: str) -> pl.DataFrame:
    if name in _ADDED and name not in state["rows"]:
        return pl.DataFrame(schema=SCHEMA[name])
    checksums.check(state, path, f"{name}.parquet")
    with (path / f"{name}.parquet").open("rb") as file:
        frame = pl.read_parquet(file)
    if dict(frame.schema) != SCHEMA[name] or frame.height != state["rows"][name]:
        raise ValueError(f"{name}.parquet does not have the columns or rows it should")
    return frame


def load_trace(path: Path | str) -> Trace:
    """Load the trace saved at ``path``. Raises HeadwayError if it is incomplete or damaged."""
    path = Path(path)
    try:
        state = json.loads((path / _STATE_FILE).read_text(encoding="utf-8"))
        if state["format"] != FORMAT:
            raise HeadwayError(f"{path}: trace format {state['format']}, this reads {FORMAT}")
        checksums.check(state, path)
        tables = {name: _load_table(path, state, name) for name in SCHEMA}
        if state["captured"]:
            checksums.check(state, path, _CAPTURE_FILE)
        trace = Trace(
            tables=tables,
            flows=tuple(FlowSummary.model_validate(flow) for flow in state["flows"]),
            links=tuple(state["links"]),
            meta=state["meta"],
            capture=(path / _CAPTURE_FILE).read_bytes() if state["captured"] else None,
            routers=_algorithms(state["routers"]),
            queues=_algorithms(state.get("queues", ())),
        )
        _fits(trace)
        return trace
    except ExperimentError as error:
        raise HeadwayError(f"{path}: unreadable or truncated trace ({error})") from None
    except FileNotFoundError as error:
        missing = Path(error.filename).name if path.is_dir() else "the folder"
        raise HeadwayError(f"{path}: not a trace ({missing} is missing)") from None
    except ValidationError as error:
        raise HeadwayError(f"{path}: unreadable or truncated trace ({explain(error)})") from None
    except KeyError as error:
        raise HeadwayError(f"{path}: unreadable or truncated trace (no {error} in it)") from None
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise HeadwayError(f"{path}: unreadable or truncated trace ({error})") from None
    except pl.exceptions.PolarsError as error:
        raise HeadwayError(f"{path}: unreadable or truncated trace ({error})") from None
    except BaseException as error:
        # For some damaged files without checksums Polars panics; the panic's class does not derive
        # from Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise HeadwayError(f"{path}: unreadable or truncated trace ({error})") from None
