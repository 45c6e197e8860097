"""Plot: figures 12 to 14, 6.48 and 6.49, today's pages, and the numbers in them."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from headway.figures import Bars, Curve, curves, grouped_bars, label_of, style_of
from headway.metrics.stats import Estimate
from headway.publish import Figures, Page
from headway.studies.common.shown import chart, curve
from headway.studies.quickstart_linux.experiments import CONTROLS, LABELS
from headway.studies.web_surge import experiments as web
from headway.studies.web_surge.experiments import HTTP, MODELS, QUICK, SLOW, TODAY, Found, Loads
from headway.study import StudyContext
from headway.table import Cell, Table
from headway.workloads import surge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHORT = dict(zip(web.LOAD_SCHEMES, ("SS", "QS", "late", "JS"), strict=True))
_NAMES: Mapping[Any, str] = {**MODELS, **HTTP, **TODAY, **LABELS}
_SHARES = (*web.SHARES, 1.0)


def page(ctx: StudyContext, found: Found) -> Page:
    """The report's tables, figures and data."""
    trials = [{"trial": key, **asdict(row)} for key, row in found.rows.items()]
    servers = {label: surge.server(model, f"{ctx.seed}") for model, label in MODELS.items()}
    facts = [
        (
            f"Loads, {label}",
            f"{server.mean_page_bytes / 1e3:.1f} kB in {server.mean_page_files:.2f} files on "
            "average over the requests",
        )
        for label, server in servers.items()
    ]
    return Page(_tables(found), _figures(found), {"web": pl.DataFrame(trials)}, facts=facts)


def _tables(found: Found) -> list[Table]:
    """Figures 12, 6.48, 6.48 today, 13, 6.49 and 14."""

    def of_paper(users: int, http: str, control: str) -> list[Cell]:
        slow, quick = (found.paper("large", control, http, s, users) for s in web.PAPER_SCHEMES)
        times_s = [round(one.mean_s, 2) for one in (slow, quick)]
        return [*times_s, _percent(quick.approved), _percent(slow.utilization)]

    def of_thesis(model: str, users: int) -> list[Cell]:
        rows = [found.thesis(model, "1.1", scheme, users) for scheme in web.LOAD_SCHEMES]
        shares = [rows[1].approved, rows[2].approved, rows[0].utilization]
        return [*(round(row.mean_s, 2) for row in rows), *map(_percent, shares)]

    def limited(http: str, control: str) -> list[Cell]:
        keys = [web.paper_key("large", control, http, QUICK, share=share) for share in _SHARES]
        rows = [*(found.rows[key] for key in keys), found.paper("large", control, http, SLOW)]
        return [round(row.mean_s, 3) for row in rows]

    one, half = "Mean download time of a page, one user", "± is half of the 95 % interval."
    over = "Mean download time of a page over the number of users"
    return [
        _alone(
            f"{one}, s",
            product(MODELS, HTTP, CONTROLS),
            lambda model, http, control, scheme: found.paper(model, control, http, scheme),
            web.PAPER_SCHEMES,
            f"Paper 000; {half}",
        ),
        _alone(
            f"{one} of the thesis, s",
            product(MODELS, HTTP),
            found.thesis,
            web.THESIS_SCHEMES,
            f"CUBIC, ACKs never delayed; {half}",
        ),
        _alone(
            f"{one} of the thesis, as browsers fetch it today, s",
            product(MODELS, TODAY),
            found.thesis,
            web.THESIS_SCHEMES,
            f"The pages are those of the table before; {half}",
        ),
        _table(
            f"{over}, large files, s",
            ["users", "protocol", "control", "SS", "QS", "approved %", "load %"],
            product(found.users("large"), HTTP, CONTROLS),
            of_paper,
            "Paper 000. Load: the link's utilization with slow start.",
        ),
        _table(
            f"{over} of the thesis, HTTP/1.1, s",
            ["model", "users", *_SHORT.values(), "QS approved %", "late approved %", "load %"],
            [(model, users) for model in MODELS for users in found.users(model)],
            of_thesis,
        ),
        _table(
            "Mean download time of a page by part of the capacity for Quick-Start, one user, s",
            ["protocol", "control", *(f"{100 * share:.0f} %" for share in _SHARES), "SS"],
            product(HTTP, CONTROLS),
            limited,
            "Large files.",
        ),
    ]


def _table(
    title: str,
    heads: Sequence[str],
    items: Iterable[tuple[Any, ...]],
    cells: Callable[..., list[Cell]],
    note: str = "",
) -> Table:
    """A row per item: its names, and cells that are a function of it."""
    rows = [[*(_NAMES.get(part, part) for part in item), *cells(*item)] for item in items]
    return Table(title, heads, rows, note)


def _alone(
    title: str,
    items: Iterable[tuple[str, ...]],
    loads: Callable[..., Loads],
    schemes: Sequence[str],
    note: str,
) -> Table:
    """Mean times of one user, and halves of their intervals; ``loads(*item, scheme)`` has them."""
    items = list(items)
    names = ["model", "protocol", "control"][: len(items[0])]
    heads = [head for s in schemes for head in (_SHORT[s], f"± {_SHORT[s]}")]

    def cells(*item: str) -> list[Cell]:
        rows = [loads(*item, scheme) for scheme in schemes]
        return [round(value, 3) for row in rows for value in (row.mean_s, row.half_width_s)]

    return _table(title, [*names, *heads], items, cells, note)


def _percent(part: float) -> Cell:
    return round(100 * part, 1) if math.isfinite(part) else None


def _figures(found: Found) -> Figures:
    """Figures 12 to 14, 6.48 and 6.49."""
    short = {"1.0": "1.0", "1.1": "1.1", "1.1p": "1.1 p."}
    by_control = {
        f"{MODELS[model]}, {LABELS[control]}": partial(_time_s, found.paper, model, control)
        for model, control in product(MODELS, LABELS)
    }
    by_model = {label: partial(_time_s, found.thesis, model) for model, label in MODELS.items()}
    users = found.users("large")
    six = {s: [found.mean_of_six(s, n) for n in users] for s in web.PAPER_SCHEMES}
    percent = [100 * share for share in _SHARES]
    quick = _line(QUICK, percent, [found.mean_of_six(QUICK, share=share) for share in _SHARES])
    slow_s = np.full(len(percent), six[SLOW][0].mean)
    slow = Curve(label_of(SLOW), np.array(percent), slow_s, style_of(SLOW))
    mean, intervals = "Mean download time of a page", "with 95 % intervals"
    of_six = f"large files: mean of Reno and CUBIC with three variants of HTTP, {intervals}."
    return {
        "figure-12": (
            "Figure 12",
            f"{mean} for one user, {intervals}.",
            bars(by_control, web.PAPER_SCHEMES, short),
        ),
        "figure-6-48": (
            "Figure 6.48 of the thesis",
            f"{mean} for one user, {intervals}.",
            bars(by_model, web.THESIS_SCHEMES, {**short, "1.1p": "1.1, pipelining"}),
        ),
        "page-times": (
            "Page times by version of HTTP",
            f"{mean} for one user of the thesis, {intervals}: the bars of figure 6.48, then "
            "HTTP/1.1 with six connections and HTTP/2.",
            bars(by_model, web.THESIS_SCHEMES, {**short, "six": "six", "2": "2"}),
        ),
        "figure-13": (
            "Figure 13",
            f"{mean} over the number of users, {of_six}",
            chart([_line(s, users, own) for s, own in six.items()], "users", "page time (s)"),
        ),
        "figure-6-49": (
            "Figure 6.49 of the thesis",
            f"{mean} over the number of users, HTTP/1.1, {intervals}.",
            curves(
                [
                    (label, [_over_users(found, model, scheme) for scheme in web.LOAD_SCHEMES])
                    for model, label in MODELS.items()
                ],
                x_label="users",
                y_label="page time (s)",
                share_x=False,
            ),
        ),
        "figure-14": (
            "Figure 14",
            f"{mean} over the part of the capacity for Quick-Start, one user, {of_six}",
            chart([quick, slow], "part of the capacity (%)", "page time (s)"),
        ),
    }


def bars(
    panels: Mapping[str, Callable[[str, str], Estimate]],
    schemes: Sequence[str],
    groups: Mapping[str, str],
) -> "Figure":
    """Page times by variant of HTTP; each panel has a function of variant and scheme."""

    def of(time_s: Callable[[str, str], Estimate], scheme: str) -> Bars:
        times_s = [time_s(http, scheme) for http in groups]
        means, widths = ([getattr(one, name) for one in times_s] for name in ("mean", "half_width"))
        errors = None if None in widths else np.array(widths)
        return Bars(label_of(scheme), scheme, np.array(means), errors)

    return grouped_bars(
        [(title, [of(time_s, scheme) for scheme in schemes]) for title, time_s in panels.items()],
        groups=list(groups.values()),
        x_label="HTTP",
        y_label="page time (s)",
    )


def _time_s(loads: Callable[..., Loads], *of: str) -> Estimate:
    return loads(*of).time_s


def _over_users(found: Found, model: surge.Model, scheme: str) -> Curve:
    users = found.users(model)
    return _line(scheme, users, [found.thesis(model, "1.1", scheme, n).time_s for n in users])


def _line(scheme: str, x: Sequence[float], times_s: Sequence[Estimate]) -> Curve:
    return curve(label_of(scheme), x, times_s, style_of(scheme))
