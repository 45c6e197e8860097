"""Runs the trials of ``headway try``, and keeps only the results that the options request."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.backends import Backend
from headway.backends.sim import SimBackend
from headway.digest import Digest, digest_of
from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.files import save_parts
from headway.interrupts import delay_interrupts
from headway.limits import TRIAL_BYTES, TRIAL_FLOW_BYTES, check_room
from headway.versions import versions

if TYPE_CHECKING:
    from headway.sweep import Progress
    from headway.trace import Trace


@dataclass(frozen=True)
class Outputs:
    """The outputs that are made from traces. If none is wanted, no trace is recorded."""

    out: Path | None
    """Folder to save each trial's trace in."""
    pcap: Path | None
    plot: Path | None
    """Files (``pcap`` and ``plot``) to make from the first trial's trace."""
    keep: bool = False
    """Whether to return the first trial's trace, with its packets."""

    def any(self) -> bool:
        """Whether traces or packets are needed."""
        made = (self.out, self.pcap, self.plot)
        return self.keep or any(path is not None for path in made)

    def is_recorded(self) -> bool:
        """Whether the simulator's traces are written to disk while they grow."""
        return self.out is not None or (self.plot is None and not self.keep)

    def folder_on_disk(self) -> Path:
        """A folder on the disk to which most of the output will be written."""
        if self.out is not None:
            return self.out
        if self.pcap is not None and (self.pcap.is_file() or not self.pcap.exists()):
            return self.pcap.resolve().parent
        return Path(tempfile.gettempdir())


@dataclass(frozen=True)
class FinishedTrial:
    """One finished trial, with its trace only if a further output needs it."""

    digest: Digest
    meta: Mapping[str, Any]
    trace: Trace | None = None


def check_trials(experiment: Experiment, trials: int) -> None:
    """Raise HeadwayError if the results of this many trials cannot fit in memory."""
    each_bytes = TRIAL_BYTES + len(experiment.flows) * TRIAL_FLOW_BYTES
    check_room(f"--trials: {trials}", trials * each_bytes)


def run_trials(
    backend: Backend,
    experiments: Sequence[Experiment],
    outputs: Outputs,
    threads: int,
    progress: Progress,
) -> tuple[dict[int, FinishedTrial], KeyboardInterrupt | HeadwayError | None]:
    """Run all trials; returns the finished ones by index, and the exception that ended the run."""
    done: dict[int, FinishedTrial] = {}

    def finished(index: int, result: FinishedTrial) -> None:
        done[index] = result
        progress(len(done), len(experiments), f"trial {index + 1}")

    progress(0, len(experiments), "")
    try:
        _run(backend, experiments, outputs, finished, threads)
    except (KeyboardInterrupt, HeadwayError) as end:
        return done, end
    return done, None


def _run(
    backend: Backend,
    experiments: Sequence[Experiment],
    outputs: Outputs,
    finished: Callable[[int, FinishedTrial], None],
    threads: int,
) -> None:
    """Call ``finished`` for each trial as it ends, after saving its trace if requested.

    If no trace is needed, the simulator computes digests without traces.
    """
    if isinstance(backend, SimBackend) and not outputs.any():

        def digested(index: int, digest: Digest) -> None:
            meta = {"seed": experiments[index].seed, "versions": versions()}
            with delay_interrupts():
                finished(index, FinishedTrial(digest, meta))

        backend.digest_each(experiments, digested, threads)
    elif isinstance(backend, SimBackend) and outputs.is_recorded():
        _run_to_disk(backend, experiments, outputs, finished, threads)
    else:
        _run_in_memory(backend, experiments, outputs, finished, threads)


def _run_to_disk(
    backend: SimBackend,
    experiments: Sequence[Experiment],
    outputs: Outputs,
    finished: Callable[[int, FinishedTrial], None],
    threads: int,
) -> None:
    """Run trials, writing traces and packets to disk while they grow; keep the trace to plot."""
    from headway.trace import load_trace
    from headway.trace_writer import GrowingTrace, temporary_folder

    def recorded(index: int, result: tuple[Digest, GrowingTrace]) -> None:
        digest, growing = result
        seed = experiments[index].seed
        meta = {"seed": seed, "versions": versions()}
        trace = None
        with delay_interrupts():  # Ctrl-C waits, so that each saved trial is also counted
            if index == 0 and outputs.pcap is not None:
                save_parts(outputs.pcap, growing.capture())
            if outputs.out is not None and growing.trace is not None:
                was_in_memory = growing.is_in_memory
                growing.save(outputs.out / f"seed{seed}")
                meta = dict(growing.trace.meta)
                if index == 0 and outputs.keep:
                    trace = load_trace(outputs.out / f"seed{seed}")
                elif index == 0 and outputs.plot is not None:
                    trace = (
                        growing.trace if was_in_memory else load_trace(outputs.out / f"seed{seed}")
                    )
            growing.drop()
            finished(index, FinishedTrial(digest, meta, trace))

    with temporary_folder(outputs.folder_on_disk()) as folder:
        backend.record_each(experiments, folder, recorded, threads, trace=outputs.out is not None)


def _run_in_memory(
    backend: Backend,
    experiments: Sequence[Experiment],
    outputs: Outputs,
    finished: Callable[[int, FinishedTrial], None],
    threads: int,
) -> None:
    """Run trials with whole traces in memory, and compute the digests from the traces."""

    def work(_index: int, trace: Trace) -> FinishedTrial:
        return FinishedTrial(digest_of(trace), trace.meta, trace)

    def traced(index: int, done: FinishedTrial) -> None:
        with delay_interrupts():  # Ctrl-C waits, so that each saved trial is also counted
            if outputs.out is not None and done.trace is not None:
                from headway.trace import save_trace

                save_trace(done.trace, outputs.out / f"seed{experiments[index].seed}")
            if index == 0 and outputs.pcap is not None and done.trace is not None:
                save_parts(outputs.pcap, [done.trace.capture or b""])
            is_needed = index == 0 and (outputs.keep or outputs.plot is not None)
            finished(index, done if is_needed else replace(done, trace=None))

    backend.run_each(experiments, work, traced, threads)
