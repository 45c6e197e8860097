"""Plot: figures 9 to 14, and the numbers in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from headway.figures import (
    PUBLISHED,
    Bars,
    Curve,
    Panel,
    Series,
    curves,
    grouped_bars,
    label_of,
    one_of,
    style_of,
    timeseries,
)
from headway.metrics.stats import Array
from headway.publish import Figures, Page
from headway.studies.common import lab
from headway.studies.common.cells import seconds
from headway.studies.quickstart_linux.experiments import (
    CONTROLS,
    LABELS,
    RTTS_MS,
    SIZES_BYTES,
    SPEEDUP_RTTS_MS,
    TRACES,
)
from headway.studies.quickstart_linux.observe import Found, Pages
from headway.studies.quickstart_linux.web import (
    HTTP,
    LOAD_SCHEMES,
    MODELS,
    PAPER_SCHEMES,
    SHARES,
    THESIS_SCHEMES,
    load_key,
    share_key,
)
from headway.table import Cell, Table
from headway.workloads import surge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHOICES = (
    "Hosts are the stack linux-2.6 with 8 MB buffers. The paper's run CUBIC of Linux 2.6.25 with "
    "the first ssthresh of 100 packets that 2.6.20 had, or Reno, with the stack's own quick ACKs; "
    "their router meters by the second and remembers the grants of two, as printed, and takes the "
    "load to be that of the last second. The thesis' run CUBIC without such an ssthresh and never "
    "delay an ACK (6.1.1.2); their router has slots of 200 ms (6.4.3.2) and the thesis' peak "
    "estimator. Tried afterwards, the results in view: the peak of five seconds in the paper's "
    "router, and slots that adapt themselves in the thesis'; the same verdicts.",
    "Table 6.2 names the parameters of embedded files and think times and the shapes of the rest. "
    "Sizes of SURGE's default are those of Barford and Crovella (1998): 93 % from a log-normal "
    "body (mu 9.357, sigma 1.318) below 133 kB, 7 % from a Pareto tail (alpha 1.1) above, with no "
    "end. As in SURGE, popularity is matched to sizes so that what is requested follows a Pareto "
    "distribution (k = 1000 bytes, alpha = 1); from the largest file on, each gets the popularity "
    "that brings it nearest. Which files are bases, embedded or alone is drawn independently.",
    "Files become pages as in SURGE's own program (object.c of April 1998): the Pareto numbers of "
    "table 6.2 are files of a page with its base, drawn again above 150; the pages that are asked "
    "for most have the fewest; a page embeds the files with most requests left. Without the base, "
    "as the table's words can be read, pages have 44 instead of 24 kB, and C-QSL-021 fails. Users "
    "choose pages independently; SURGE's order has a locality that nothing here depends on.",
    "Users fetch one file after the other on one connection, as SURGE's clients do. The server "
    "closes it after 16 requests or 5 s of idleness, the defaults of lighttpd 1.4; neither paper "
    "prints how long connections of HTTP/1.1 last. One connection for the whole hour, tried with "
    "the results in view, gives the same verdicts.",
    "With early activation every handshake asks for 5.12 Mbit/s, whatever will be sent: the hosts' "
    "automatic activation does not know (paper 000, 4.2; thesis, B.3.4). After idle times it asks "
    "again with data, if that is more than a first window. Late activation asks with data only.",
    "Figure 13 is that of large files and of all six combinations; the paper does not say which "
    "model. Figure 6.49 has both models; SURGE's default needs ten times the users for as much "
    "load. How many there were is not printed.",
)

_PUBLISHED_FULL_S = {100: (1.0,)}
"""By RTT in ms, when slow start fills the link: C-QSL-001."""
_STYLES = dict(zip(TRACES, ("slow-start", "quick-start", "quick-start-b"), strict=False))
"""Those of figures 9 and 10: a lowered ssthresh is what the thesis calls QS-b."""

_SHORT = dict(zip(LOAD_SCHEMES, ("SS", "QS", "late", "JS"), strict=True))


def page(found: Found) -> Page:
    """Tables, figures and data."""
    return Page(
        tables=[_full(found), *_alone(found), *_load(found), _shares(found)],
        figures={**_start_figures(found), **_web_figures(found)},
        data={"web": _web(found)},
        facts=_server(found),
    )


def _web(found: Found) -> pl.DataFrame:
    """Every trial of Web users as one row."""
    kept = {key: row for key, row in found.rows.items() if isinstance(row, Pages)}
    return pl.DataFrame([{"trial": key, **asdict(row)} for key, row in kept.items()])


def _server(found: Found) -> list[tuple[str, str]]:
    facts = []
    for model, label in MODELS.items():
        server = surge.server(model, f"{found.seed}")
        facts.append(
            (
                f"Pages, {label}",
                f"{server.mean_page_bytes / 1e3:.1f} kB in {server.mean_page_files:.2f} files on "
                "average as they are asked for",
            )
        )
    return facts


def _full(found: Found) -> Table:
    return Table(
        "Time from the request until the link is full, s",
        ["RTT", "control", "SS", "QS", "QS lowered", "QS 2.56 lowered"],
        [
            [
                f"{rtt} ms",
                LABELS[control],
                *(seconds(found.start(rtt, control, kind).full_after_s) for kind in TRACES),
            ]
            for rtt in RTTS_MS
            for control in CONTROLS
        ],
        "A dash: not within 25 s.",
    )


def _alone(found: Found) -> list[Table]:
    """Figures 12 and 6.48."""
    return [
        Table(
            "Mean download time of a page, one user, s",
            ["model", "protocol", "control", *_with_errors(PAPER_SCHEMES)],
            [
                [
                    MODELS[model],
                    HTTP[http],
                    LABELS[control],
                    *_means([found.alone(model, http, control, s) for s in PAPER_SCHEMES]),
                ]
                for model in MODELS
                for http in HTTP
                for control in CONTROLS
            ],
            "Paper 000; ± is half of the 95 % interval.",
        ),
        Table(
            "Mean download time of a page, one user of the thesis, s",
            ["model", "protocol", *_with_errors(THESIS_SCHEMES)],
            [
                [
                    MODELS[model],
                    HTTP[http],
                    *_means([found.thesis(model, http, s) for s in THESIS_SCHEMES]),
                ]
                for model in MODELS
                for http in HTTP
            ],
            "CUBIC, ACKs never delayed; ± is half of the 95 % interval.",
        ),
    ]


def _with_errors(schemes: Sequence[str]) -> list[str]:
    return [column for scheme in schemes for column in (_SHORT[scheme], f"± {_SHORT[scheme]}")]


def _means(rows: Sequence[Pages]) -> list[Cell]:
    return [round(value, 3) for row in rows for value in (row.mean_s, row.half_width_s)]


def _load(found: Found) -> list[Table]:
    """Figures 13 and 6.49."""
    six: list[list[Cell]] = []
    for users in found.users("large"):
        for http in HTTP:
            for control in CONTROLS:
                slow, quick = (
                    found.pages(load_key(http, control, scheme, users)) for scheme in PAPER_SCHEMES
                )
                six.append(
                    [
                        users,
                        HTTP[http],
                        LABELS[control],
                        round(slow.mean_s, 2),
                        round(quick.mean_s, 2),
                        _percent(quick.approved),
                        _percent(slow.utilization),
                    ]
                )
    both: list[list[Cell]] = []
    for model, label in MODELS.items():
        for users in found.users(model):
            rows = [found.thesis(model, "1.1", scheme, users) for scheme in LOAD_SCHEMES]
            both.append(
                [
                    label,
                    users,
                    *(round(row.mean_s, 2) for row in rows),
                    *(_percent(row.approved) for row in rows[1:3]),
                    _percent(rows[0].utilization),
                ]
            )
    return [
        Table(
            "Mean download time of a page over the number of users, large files, s",
            ["users", "protocol", "control", "SS", "QS", "approved %", "load %"],
            six,
            "Paper 000. Load: what slow start makes of the link.",
        ),
        Table(
            "Mean download time of a page over the number of users of the thesis, HTTP/1.1, s",
            [
                "model",
                "users",
                *(_SHORT[scheme] for scheme in LOAD_SCHEMES),
                "QS approved %",
                "late approved %",
                "load %",
            ],
            both,
        ),
    ]


def _percent(part: float) -> Cell:
    return round(100 * part, 1) if math.isfinite(part) else None


def _shares(found: Found) -> Table:
    """Figure 14."""
    shares = (*SHARES, 1.0)
    return Table(
        "Mean download time of a page by part of the capacity for Quick-Start, one user, s",
        ["protocol", "control", *(f"{100 * share:.0f} %" for share in shares), "SS"],
        [
            [
                HTTP[http],
                LABELS[control],
                *(
                    round(found.pages(share_key(share, http, control)).mean_s, 3)
                    for share in shares
                ),
                round(found.alone("large", http, control, "slow-start").mean_s, 3),
            ]
            for http in HTTP
            for control in CONTROLS
        ],
        "Large files.",
    )


def _start_figures(found: Found) -> Figures:
    """Figures 9 to 11."""
    made: Figures = {}
    for number, rtt in (("9", 100), ("10", 200)):
        panels = [
            Panel(
                "rate (Mbit/s)",
                [
                    Series(
                        TRACES[kind],
                        found.start(rtt, control, kind).times_s,
                        found.start(rtt, control, kind).rates_bps / 1e6,
                        style_of(scheme),
                        step=True,
                    )
                    for kind, scheme in _STYLES.items()
                ]
                + [
                    Series(
                        "Slow-Start full, published",
                        np.array([full_s]),
                        np.array([lab.LINK_BPS / 1e6]),
                        PUBLISHED,
                        points=True,
                    )
                    for full_s in _PUBLISHED_FULL_S.get(rtt, ())
                ],
                title=LABELS[control],
            )
            for control in CONTROLS
        ]
        made[f"figure-{number}"] = (
            f"Figure {number}",
            f"IP rate in slots of a round trip of {rtt} ms.",
            timeseries(panels, height_mm=48),
        )
    speedups = [
        (
            LABELS[control],
            [
                Curve(
                    f"{rtt} ms",
                    np.array(SIZES_BYTES),
                    found.speedup(rtt, control),
                    replace(one_of(style_of("quick-start"), number), marker=marker),
                    markers=True,
                )
                for number, (rtt, marker) in enumerate(zip(SPEEDUP_RTTS_MS, "dos^", strict=True))
            ],
        )
        for control in CONTROLS
    ]
    made["figure-11"] = (
        "Figure 11",
        "Slow start's response time over Quick-Start's.",
        curves(speedups, x_label="transfer size (bytes)", y_label="speedup", x_scale="log"),
    )
    return made


def _web_figures(found: Found) -> Figures:
    """Figures 12 to 14, 6.48 and 6.49."""
    return {
        "figure-12": (
            "Figure 12",
            "Mean download time of a page for one user, with 95 % intervals.",
            grouped_bars(
                [
                    (
                        f"{MODELS[model]}, {label}",
                        [
                            _bars(scheme, [found.alone(model, h, control, scheme) for h in HTTP])
                            for scheme in PAPER_SCHEMES
                        ],
                    )
                    for model in MODELS
                    for control, label in LABELS.items()
                ],
                groups=["1.0", "1.1", "1.1 p."],
                x_label="HTTP",
                y_label="page time (s)",
            ),
        ),
        "figure-6-48": (
            "Figure 6.48 of the thesis",
            "Mean download time of a page for one user, with 95 % intervals.",
            grouped_bars(
                [
                    (
                        MODELS[model],
                        [
                            _bars(scheme, [found.thesis(model, h, scheme) for h in HTTP])
                            for scheme in THESIS_SCHEMES
                        ],
                    )
                    for model in MODELS
                ],
                groups=["1.0", "1.1", "1.1, pipelining"],
                x_label="HTTP",
                y_label="page time (s)",
            ),
        ),
        "figure-13": (
            "Figure 13",
            "Mean download time of a page over the number of users, large files: mean of Reno and "
            "CUBIC with three variants of HTTP, with 95 % intervals.",
            curves(
                [
                    (
                        "",
                        [_six_over_users(found, scheme) for scheme in PAPER_SCHEMES],
                    )
                ],
                x_label="users",
                y_label="page time (s)",
            ),
        ),
        "figure-6-49": (
            "Figure 6.49 of the thesis",
            "Mean download time of a page over the number of users, HTTP/1.1, with 95 % intervals.",
            curves(
                [
                    (MODELS[model], [_over_users(found, model, scheme) for scheme in LOAD_SCHEMES])
                    for model in MODELS
                ],
                x_label="users",
                y_label="page time (s)",
                share_x=False,
            ),
        ),
        "figure-14": _share_figure(found),
    }


def _bars(scheme: str, rows: Sequence[Pages]) -> Bars:
    heights = np.array([row.mean_s for row in rows])
    return Bars(label_of(scheme), scheme, heights, np.array([row.half_width_s for row in rows]))


def _curve(scheme: str, x: npt.ArrayLike, y: Array, half_width: Array | None = None) -> Curve:
    low, high = (None, None) if half_width is None else (y - half_width, y + half_width)
    return Curve(
        label_of(scheme), np.asarray(x), y, style_of(scheme), markers=True, low=low, high=high
    )


def _of_six(rows: Sequence[Pages]) -> float:
    """Half of the 95 % interval of a mean over independent trials."""
    return math.hypot(*(one.half_width_s for one in rows)) / len(rows)


def _six_over_users(found: Found, scheme: str) -> Curve:
    users = found.users("large")
    widths = np.array([_of_six(found.six(scheme, n)) for n in users])
    return _curve(scheme, users, found.six_s(scheme), widths)


def _over_users(found: Found, model: surge.Model, scheme: str) -> Curve:
    users = found.users(model)
    widths = np.array([found.thesis(model, "1.1", scheme, n).half_width_s for n in users])
    return _curve(scheme, users, found.load_s(model, scheme), widths)


def _share_figure(found: Found) -> tuple[str, str, Figure]:
    shares = (*SHARES, 1.0)
    means = [float(np.mean(list(found.share_s(share).values()))) for share in shares]
    slow = found.six_s("slow-start")[0]
    percent = np.array([100 * share for share in shares])
    rows = [
        [found.pages(share_key(share, http, control)) for http in HTTP for control in CONTROLS]
        for share in shares
    ]
    widths = np.array([_of_six(six) for six in rows])
    quick = _curve("quick-start", percent, np.array(means), widths)
    line = Curve(
        label_of("slow-start"), percent, np.full(percent.size, slow), style_of("slow-start")
    )
    return (
        "Figure 14",
        "Mean download time of a page over the part of the capacity for Quick-Start, one user, "
        "large files: mean of Reno and CUBIC with three variants of HTTP, with 95 % intervals.",
        curves([("", [quick, line])], x_label="part of the capacity (%)", y_label="page time (s)"),
    )
