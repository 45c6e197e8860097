"""The study quickstart-linux on the kernel: its downloads beside the simulator's linux-6.

The paper's own figures 9 to 13 are of such a kernel, of 2.6.20; the users of figure 14 hold several
connections, which the kernel backend's programs do not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headway.experiment import Experiment
from headway.studies._quickstart_linux_data import CONTROLS, LABELS, TRACES, control_of
from headway.studies.common import lab
from headway.studies.common.in_turn import in_turn
from headway.studies.common.legacy_page import Findings
from headway.study import Agreement
from headway.table import Cell, Table
from headway.trace import Trace

RTTS_MS = (100, 200)
SIZES_BYTES = (1e3, 5e3, 10e3, 20e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6, 5e6)
QUICK_SIZES_BYTES = (5e3, 20e3, 100e3, 500e3)
TITLE = "Response times in ms"
NAMES = {
    (control, kind): f"{label}, {TRACES[kind]}"
    for control, label in LABELS.items()
    for kind in TRACES
}
AGREEMENTS = tuple(
    Agreement(
        f"kernel-{control}-{kind}",
        f"{name}: every response time on the kernel is the simulator's.",
        table=TITLE,
        row=name,
        most=15.0,
        unit="ms",
        relative=0.08,
    )
    for (control, kind), name in NAMES.items()
)


def experiments(*, quick: bool, seed: int) -> dict[str, Experiment]:
    """A trial per control, kind of start and RTT with one flow per size, one after the other."""
    trials = {}
    sizes = _sizes(quick=quick)
    for rtt_ms in RTTS_MS:
        starts, end_s = in_turn(sizes, rtt_ms)
        for control in CONTROLS:
            for kind in TRACES:
                flows = [
                    lab.requests(
                        [size],
                        control=control_of(control, kind),
                        start_s=start_s,
                        receive_window=None if kind == "ss" else lab.RECEIVE_WINDOW,
                        data_volume_bytes=None if kind == "ss" else size,
                        delayed_ack=True,
                    )
                    for size, start_s in zip(sizes, starts, strict=True)
                ]
                trials[_key(rtt_ms, control, kind)] = lab.experiment(
                    lab.path(rtt_ms=rtt_ms), flows, duration_s=end_s, seed=seed
                )
    return trials


def is_its(traces: Mapping[str, Trace]) -> bool:
    """Whether these trials were planned here."""
    return _key(RTTS_MS[0], "reno", "ss") in traces


def findings(traces: Mapping[str, Trace], *, quick: bool) -> Findings:
    """Response times by control, kind of start, size and RTT."""
    rows: list[list[Cell]] = [
        [
            NAMES[control, kind],
            f"{size / 1e3:g} kB",
            *(_time_ms(traces[_key(rtt_ms, control, kind)], number) for rtt_ms in RTTS_MS),
        ]
        for control in CONTROLS
        for kind in TRACES
        for number, size in enumerate(_sizes(quick=quick))
    ]
    return Findings(
        claims=[],
        tables=[Table(TITLE, ["start", "size", *(f"{rtt_ms} ms" for rtt_ms in RTTS_MS)], rows)],
        choices=[
            "The paper's claims are judged in the simulator with its own Linux. Here its downloads "
            "run on this machine's kernel, one after the other, and in the simulator with linux-6. "
            "Web users hold several connections at once, which the kernel backend does not do."
        ],
    )


def _key(rtt_ms: int, control: str, kind: str) -> str:
    return f"kernel-{rtt_ms}-{control}-{kind}"


def _sizes(*, quick: bool) -> tuple[float, ...]:
    return QUICK_SIZES_BYTES if quick else SIZES_BYTES


def _time_ms(trace: Trace, number: int) -> Cell:
    times = lab.response_times_s(trace, number)
    return round(1e3 * float(np.asarray(times)[0]), 1) if times.size else None
