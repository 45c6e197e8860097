"""How long a megabyte takes over 100 Mbit/s and 200 ms with each startup, on either backend.

Claim: a startup that knows its rate needs little more than the path does, the time of the data at
the link's rate and the round trips that the startup cannot do without; slow start needs three times
as long. Setup: one client, one server, one download at a time, CUBIC of today's Linux after the
startup, and a Quick-Start router at the link. Run: every startup, three times. Check: the median
within 15 % of what is least possible.  Plot: nothing; a table.

No paper's figure: the thesis' question (section 6.4.2) at a path of today.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headway.claims import Claim
from headway.experiment import Experiment, Flow
from headway.studies.common import lab
from headway.studies.common import legacy_claims as claim
from headway.studies.common.legacy import TraceStudy
from headway.studies.common.legacy_page import Findings, publish
from headway.study import Agreement, StudyContext, StudyResult
from headway.table import Cell, Table
from headway.trace import Trace

SIZE_BYTES = 1e6
RATE_BPS = 100e6
BUFFER_PKTS = 2000
RECEIVE_WINDOW = "4 MB"
TRIALS, QUICK_TRIALS = 3, 1
FIRST_S, SPACING_S = 0.5, 4.0
"""A download, and then an idle link for longer than routers remember."""
WITHIN = 0.15
TITLE = "A megabyte over 100 Mbit/s and 200 ms: from the opening of the connection, in ms"


@dataclass(frozen=True)
class Scheme:
    """A startup: what a flow says, and the round trips it cannot do without."""

    label: str
    control: str
    round_trips: int = 2
    """The handshake, and the request with its response."""
    initial_rate_bps: float | None = None
    announces: bool = False


_MEGA_BPS = 95e6
SCHEMES = {
    "slow-start": Scheme("Slow-Start", "cubic+slow-start"),
    "hystart": Scheme("HyStart", "cubic+hystart"),
    "hystart-plus-plus": Scheme("HyStart++", "cubic+hystart-plus-plus"),
    "initial-start": Scheme(
        "Initial-Start, 100 packets paced", "cubic+initial-start:is_window_pkts=100:is_paced=on"
    ),
    "jump-start": Scheme("Jump-Start", "cubic+jump-start", announces=True),
    "jump-start-original": Scheme(
        "Jump-Start, no bounds",
        "cubic+jump-start:js_max_bytes=0:js_max_rate_kbps=0",
        announces=True,
    ),
    "careful-resume": Scheme(
        "Careful Resume, 1600 packets saved", "cubic+careful-resume:cr_saved_cwnd_pkts=1600"
    ),
    "mega-start": Scheme("Mega-Start", "cubic+mega-start", initial_rate_bps=_MEGA_BPS),
    "quick-start": Scheme(
        "Quick-Start, early",
        "cubic+quick-start",
        initial_rate_bps=RATE_BPS,
        announces=True,
    ),
    "quick-start-late": Scheme(
        "Quick-Start, late",
        "cubic+quick-start:qs_activation=late",
        round_trips=3,
        initial_rate_bps=RATE_BPS,
        announces=True,
    ),
}
CHECKED = ("mega-start", "quick-start")
"""Startups that know the path's rate with the first packet of the response."""


def least_s(scheme: Scheme) -> float:
    """The data at the link's rate, and the round trips needed."""
    path = lab.model_path(rate_bps=RATE_BPS)
    wire_bytes = SIZE_BYTES * lab.MTU_BYTES / lab.MSS_BYTES
    return wire_bytes * 8 / RATE_BPS + scheme.round_trips * path.rtt_s


class FirstMegabyte(TraceStudy):
    """The study; see the module."""

    name = "first-megabyte"
    title = "The first megabyte: one download with each startup"
    source = "After Scharf, Fast Startup Internet Congestion Control (2011), section 6.4.2"
    description = (
        "A download of 1 MB over 100 Mbit/s and 200 ms with every startup, from the opening of "
        "the connection to the last byte, beside what is least possible."
    )
    agreements = tuple(
        Agreement(
            f"kernel-{name}",
            f"{scheme.label}: the kernel's time is the simulator's.",
            table=TITLE,
            row=scheme.label,
            most=15.0,
            unit="ms",
            relative=0.08,
        )
        for name, scheme in SCHEMES.items()
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per startup, its downloads one after the other."""
        trials = QUICK_TRIALS if ctx.quick else TRIALS
        return {
            name: lab.experiment(
                lab.path(rate_bps=RATE_BPS, buffer_pkts=BUFFER_PKTS),
                [_flow(scheme, FIRST_S + SPACING_S * number) for number in range(trials)],
                duration_s=FIRST_S + SPACING_S * trials,
                stack="linux-6",
                seed=ctx.seed,
            )
            for name, scheme in SCHEMES.items()
        }

    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """Times beside the least possible, and whether those who know the rate come near it."""
        times = {name: _times_ms(traces[name]) for name in SCHEMES}
        findings = Findings(
            claims=_claims(times),
            tables=[_table(times)],
            choices=[
                "Both hosts announce 4 MB from the start, so no window holds a first flight back, "
                "and the bottleneck's queue has room for all of it. Jump-Start and early "
                "Quick-Start know the volume, Mega-Start and Quick-Start the rate, as an "
                "application would say them: a late request knows only what is queued otherwise, "
                "on Linux the first 64 kB or so. Careful Resume has 1600 packets saved."
            ],
        )
        return publish(self, ctx, traces, findings)


def _flow(scheme: Scheme, start_s: float) -> Flow:
    flow = lab.requests(
        [SIZE_BYTES],
        control=scheme.control,
        start_s=start_s,
        receive_window=RECEIVE_WINDOW,
        data_volume_bytes=SIZE_BYTES if scheme.announces else None,
        delayed_ack=True,  # today's hosts
    )
    rate_bps = scheme.initial_rate_bps
    return flow.model_copy(update={"initial_rate": rate_bps and int(rate_bps)})


def _times_ms(trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """From the opening to the last byte of every download; those that did not end are left out."""
    rows = trace["responses"].sort("flow")
    return ((rows["end_ns"] - rows["start_ns"]) / 1e6).to_numpy().astype(np.float64)


def _median_ms(times: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(np.median(times)) if times.size else float("nan")


def _table(times: Mapping[str, np.ndarray[tuple[int], np.dtype[np.float64]]]) -> Table:
    slow_ms = _median_ms(times["slow-start"])
    rows: list[list[Cell]] = []
    for name, scheme in SCHEMES.items():
        median_ms = _median_ms(times[name])
        least_ms = 1e3 * least_s(scheme)
        rows.append(
            [
                scheme.label,
                round(median_ms, 1),
                f"{least_ms:.0f}",
                f"{median_ms / least_ms:.2f}",
                f"{slow_ms / median_ms:.2f}",
            ]
        )
    return Table(TITLE, ["startup", "median", "least", "of it", "gain"], rows)


def _claims(times: Mapping[str, np.ndarray[tuple[int], np.dtype[np.float64]]]) -> list[Claim]:
    made = []
    for name in CHECKED:
        least_ms = 1e3 * least_s(SCHEMES[name])
        made.append(
            claim.in_range(
                f"first-megabyte-{name}",
                f"{SCHEMES[name].label}: within 15 % of the data at the link's rate and two RTTs",
                round(least_ms, 1),
                _median_ms(times[name]),
                "ms",
                0.0,
                (1 + WITHIN) * least_ms,
            )
        )
    return made


STUDY = FirstMegabyte()
