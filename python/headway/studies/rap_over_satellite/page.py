"""Plot: figures 3, 4 and 6, and completion times by protocol and loss."""

from itertools import product

import polars as pl

from headway.figures import Curve, Panel, label_of, style_of, timeseries
from headway.publish import Page
from headway.studies.common.runs import estimate, mean, mean_of_known, value, values
from headway.studies.common.shown import by_flow, chart, figures, table
from headway.studies.rap_over_satellite.experiments import LOSSES, SCHEMES, SIDE_LOSS, key
from headway.studies.rap_over_satellite.observe import FIRST_RUN, Files, Found, numbers, trials
from headway.study import Agreement, StudyContext

CASES = {
    "no loss": (LOSSES[0], False),
    "1 % loss": (LOSSES[1], False),
    "0.1 % loss, side links of up to 800 ms": (SIDE_LOSS, True),
}
_TITLE, _MEAN = "Five files of 5 MB, means over", "mean s"
AGREEMENTS = Agreement.per_row(
    SCHEMES,
    "{}: mean completion times on the kernel match the simulator's to 5 %.",
    table=_TITLE, columns=(_MEAN,), most=0.1, relative=0.05, unit="s",
)  # fmt: skip
"""Tolerances within which kernel and simulator must agree, for every router protocol."""
_AXES = ("time (s)", "use of the link")
_Cell = tuple[str, str]


def page(_ctx: StudyContext, found: Found) -> Page:
    """The report's table, figures and data."""

    def of(cell: _Cell) -> list[Files]:
        loss, delays = CASES[cell[0]]
        return trials(found, cell[1], loss, delays=delays)

    names = ("all_s", "used", "jain", "drops_pkts")
    data = [
        {"trial": trial, "mean_s": value(row, "times_s"), **{n: getattr(row, n) for n in names}}
        for trial, row in found.items()
    ]
    return Page(
        tables=[
            table(
                f"{_TITLE} {len(numbers(found))} runs",
                product(CASES, SCHEMES),
                {
                    "path": lambda cell: cell[0],
                    "protocol": lambda cell: SCHEMES[cell[1]],
                    _MEAN: (lambda cell: estimate(of(cell), "times_s").mean, 2),
                    "±95 %": (lambda cell: estimate(of(cell), "times_s").half_width, 2),
                    "all s": (lambda cell: mean(of(cell), "all_s"), 2),
                    "link used %": (lambda cell: 100 * mean(of(cell), "used"), 1),
                    "Jain": (lambda cell: mean_of_known(values(of(cell), "jain")), 3),
                    "lost pkts": (lambda cell: mean(of(cell), "drops_pkts"), 1),
                },
                "Completion time of a file from its first packet, and of all five files from the "
                "first start. Use of the link until then. Jain's index of goodputs while all five "
                "files are being sent, over runs where that happens. Packets lost on the link or "
                "dropped by its queue.",
            )
        ],
        figures=figures(
            *(
                (
                    f"Figure {number}",
                    f"Use of the bottleneck with {case}, one run. A curve ends with the last file.",
                    chart([_used(found, one, CASES[case][0]) for one in SCHEMES], *_AXES),
                )
                for number, case in {3: "no loss", 4: "1 % loss"}.items()
            ),
            (
                "Figure 6",
                "Part of the link that each file gets with XCP and with MPCP, at 0.1 % loss and "
                "side links of different delays, one run.",
                timeseries([_panel(found, scheme) for scheme in ("xcp", "mpcp")], height_mm=48),
            ),
        ),
        data={"trials": pl.DataFrame(data)},
    )


def _used(found: Found, scheme: str, loss: float) -> Curve:
    one = found[key(scheme, loss, FIRST_RUN)]
    return Curve(label_of(scheme), one.slots_s, one.used_by_slot, style_of(scheme))


def _panel(found: Found, scheme: str) -> Panel:
    one, name = found[key(scheme, SIDE_LOSS, FIRST_RUN, delays=True)], SCHEMES[scheme]
    lines = by_flow(name, one.slots_s, one.used_by_flow, style_of(scheme), "file")
    return Panel("part of the link", lines, title=name)
