"""Plot: figures 3, 4 and 6, and completion times by protocol and loss."""

from __future__ import annotations

import polars as pl

from headway.figures import Curve, Panel, Series, curves, label_of, one_of, style_of, timeseries
from headway.publish import Figures, Page
from headway.studies.rap_over_satellite.experiments import (
    LOSSES,
    SCHEMES,
    SIDE_LOSS,
    key,
)
from headway.studies.rap_over_satellite.observe import (
    FIRST_RUN,
    Found,
    afct_s,
    jain,
    mean,
    numbers,
)
from headway.study import Agreement
from headway.table import Cell, Table

CASES = {
    "no loss": (LOSSES[0], False),
    "1 % loss": (LOSSES[1], False),
    "0.1 % loss, side links of up to 800 ms": (SIDE_LOSS, True),
}

_TITLE, _MEAN = "Five files of 5 MB, means over", "mean s"

AGREEMENTS = tuple(
    Agreement(
        f"kernel-{scheme}",
        f"{name}: mean completion times on the kernel match the simulator's to 5 %.",
        table=_TITLE,
        row=name,
        columns=(_MEAN,),
        most=0.1,
        relative=0.05,
        unit="s",
    )
    for scheme, name in SCHEMES.items()
)
"""How closely the kernel must match the simulator with every router protocol."""


def page(found: Found) -> Page:
    """Table, figures and data."""
    rows: list[list[Cell]] = []
    for case, (loss, delays) in CASES.items():
        for scheme, name in SCHEMES.items():
            time = afct_s(found, scheme, loss, delays=delays)
            share = jain(found, scheme, loss, delays=delays)
            half_width = None if time.half_width is None else round(time.half_width, 2)
            rows.append(
                [
                    case,
                    name,
                    round(time.mean, 2),
                    half_width,
                    round(mean(found, scheme, loss, "all_s", delays=delays), 2),
                    round(100 * mean(found, scheme, loss, "used", delays=delays), 1),
                    None if share is None else round(share, 3),
                    round(mean(found, scheme, loss, "drops_pkts", delays=delays), 1),
                ]
            )
    trials = [
        {
            "trial": name,
            "mean_s": float(found[name].times_s.mean()),
            "all_s": found[name].all_s,
            "used": found[name].used,
            "jain": found[name].jain,
            "drops_pkts": found[name].drops_pkts,
        }
        for name in found
    ]
    columns = ["path", "protocol", _MEAN, "±95 %", "all s", "link used %", "Jain", "lost pkts"]
    return Page(
        tables=[
            Table(
                f"{_TITLE} {len(numbers(found))} runs",
                columns,
                rows,
                "Completion time of a file from its first packet, and of all five files from the "
                "first start. Use of the link until then. Jain's index of goodputs while all five "
                "files are being sent, over runs where that happens. Packets lost on the link or "
                "dropped by its queue.",
            )
        ],
        figures=_figures(found),
        data={"trials": pl.DataFrame(trials)},
    )


def _figures(found: Found) -> Figures:
    made: Figures = {
        f"figure-{number}": (
            f"Figure {number}",
            f"Use of the bottleneck with {case}, one run. A curve ends with the last file.",
            curves(
                [("", [_used(found, scheme, loss) for scheme in SCHEMES])],
                x_label="time (s)",
                y_label="use of the link",
            ),
        )
        for number, (case, loss) in {3: ("no loss", LOSSES[0]), 4: ("1 % loss", LOSSES[1])}.items()
    }
    made["figure-6"] = (
        "Figure 6",
        "Part of the link that each file gets with XCP and with MPCP, at 0.1 % loss and side links "
        "of different delays, one run.",
        timeseries([_panel(found, scheme) for scheme in ("xcp", "mpcp")], height_mm=48),
    )
    return made


def _used(found: Found, scheme: str, loss: float) -> Curve:
    one = found[key(scheme, loss, FIRST_RUN)]
    return Curve(label_of(scheme), one.slots_s, one.used_by_slot, style_of(scheme))


def _panel(found: Found, scheme: str) -> Panel:
    one = found[key(scheme, SIDE_LOSS, FIRST_RUN, delays=True)]
    lines = [
        Series(
            f"{SCHEMES[scheme]}, file {number + 1}",
            one.slots_s,
            used,
            one_of(style_of(scheme), number),
            step=True,
        )
        for number, used in enumerate(one.used_by_flow)
    ]
    return Panel("part of the link", lines, title=SCHEMES[scheme])
