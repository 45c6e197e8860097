"""Plot: figures 12 to 14, 6.48 and 6.49, today's pages, and the numbers in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from headway.figures import (
    Bars,
    Curve,
    curves,
    grouped_bars,
    label_of,
    style_of,
)
from headway.metrics.stats import Array
from headway.publish import Figures, Page
from headway.studies.quickstart_linux.experiments import CONTROLS, LABELS
from headway.studies.web_surge.experiments import (
    HTTP,
    LOAD_SCHEMES,
    MODELS,
    PAPER_SCHEMES,
    SHARES,
    THESIS_SCHEMES,
    TODAY,
    load_key,
    share_key,
)
from headway.studies.web_surge.observe import Found, Loads
from headway.table import Cell, Table
from headway.workloads import surge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHOICES = (
    "Hosts are the stack linux-2.6 with 8 MB buffers. The paper's hosts run CUBIC of Linux 2.6.25 "
    "with the initial ssthresh of 100 packets that 2.6.20 had, or Reno, with the stack's own quick "
    "ACKs. Their router meters in slots of a second and remembers the grants of two slots, as "
    "printed. Its load is that of the last second. The thesis' hosts run CUBIC without such an "
    "ssthresh and never delay an ACK (6.1.1.2). Their router has slots of 200 ms (6.4.3.2) and the "
    "thesis' peak estimator. Two variants were tried with results in view: the peak of five "
    "seconds in the paper's router, and adaptive slots in the thesis'. All verdicts are the same.",
    "Table 6.2 names the parameters of embedded files and think times and the shapes of the rest. "
    "Sizes of SURGE's default are those of Barford and Crovella (1998): 93 % from a log-normal "
    "body (mu 9.357, sigma 1.318) below 133 kB, 7 % from a Pareto tail (alpha 1.1) above, without "
    "an upper limit. As in SURGE, popularity is matched to sizes so that requested sizes follow a "
    "Pareto distribution (k = 1000 bytes, alpha = 1). Beginning with the largest file, each gets "
    "the popularity that comes nearest to this. Which files are bases, embedded or alone is drawn "
    "independently.",
    "Files become pages as in SURGE's own program (object.c of April 1998). Table 6.2's Pareto "
    "numbers count the files of a page with its base, and are drawn again above 150. The most "
    "requested pages have the fewest files. A page embeds the files with most requests left. If "
    "the numbers exclude the base, as the table's words can be read, pages have 44 instead of 24 "
    "kB, and C-QSL-021 fails. Users choose pages independently. SURGE's order has a locality, on "
    "which nothing here depends.",
    "Users fetch one file after the other on one connection, as SURGE's clients do. The server "
    "closes it after 16 requests or 5 s of idleness, the defaults of lighttpd 1.4. Neither paper "
    "prints how long connections of HTTP/1.1 last. One connection for the whole hour, tried with "
    "results in view, gives the same verdicts.",
    "With early activation every handshake asks for 5.12 Mbit/s, because the hosts' automatic "
    "activation does not know what will be sent (paper 000, 4.2; thesis, B.3.4). After idle times "
    "the host asks again with data, if the data exceeds an initial window. Late activation asks "
    "with data only.",
    "In further trials the thesis' user has a browser of today: six connections of HTTP/1.1, or "
    "HTTP/2. A server of HTTP/2 answers all requests at the same time, in turns of a frame. The "
    "base names the embedded files, and the browser then requests them at once. The server closes "
    "connections as nginx does by default, after 1000 requests or 75 s of idleness. No claim is "
    "judged by these trials.",
    "Figure 13 shows large files and all six combinations; the paper does not name its model. "
    "Figure 6.49 has both models. SURGE's default needs ten times the users for the same load. The "
    "papers do not print how many users they had.",
)

_SHORT = dict(zip(LOAD_SCHEMES, ("SS", "QS", "late", "JS"), strict=True))


def page(found: Found) -> Page:
    """Tables, figures and data."""
    return Page(
        tables=[*_alone(found), _today(found), *_load(found), _shares(found)],
        figures=_figures(found),
        data={"web": _web(found)},
        facts=_server(found),
    )


def _web(found: Found) -> pl.DataFrame:
    """Every trial of Web users as one row."""
    return pl.DataFrame([{"trial": key, **asdict(row)} for key, row in found.rows.items()])


def _server(found: Found) -> list[tuple[str, str]]:
    facts = []
    for model, label in MODELS.items():
        server = surge.server(model, f"{found.seed}")
        facts.append(
            (
                f"Loads, {label}",
                f"{server.mean_page_bytes / 1e3:.1f} kB in {server.mean_page_files:.2f} files on "
                "average over the requests",
            )
        )
    return facts


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


_GROUPS = {**dict.fromkeys(HTTP), **dict.fromkeys(TODAY)}
"""Ways to fetch a page, in the order of figures."""


def _fetched(found: Found, model: str, how: str, scheme: str) -> Loads:
    of = found.today if how in TODAY else found.thesis
    return of(model, how, scheme)


def _today(found: Found) -> Table:
    """Page times with today's browsers."""
    return Table(
        "Mean download time of a page, one user of the thesis, as browsers fetch it today, s",
        ["model", "protocol", *_with_errors(THESIS_SCHEMES)],
        [
            [
                MODELS[model],
                label,
                *_means([found.today(model, how, scheme) for scheme in THESIS_SCHEMES]),
            ]
            for model in MODELS
            for how, label in TODAY.items()
        ],
        "The pages are those of the table before; ± is half of the 95 % interval.",
    )


def _with_errors(schemes: Sequence[str]) -> list[str]:
    return [column for scheme in schemes for column in (_SHORT[scheme], f"± {_SHORT[scheme]}")]


def _means(rows: Sequence[Loads]) -> list[Cell]:
    return [round(value, 3) for row in rows for value in (row.mean_s, row.half_width_s)]


def _load(found: Found) -> list[Table]:
    """Figures 13 and 6.49."""
    six: list[list[Cell]] = []
    for users in found.users("large"):
        for http in HTTP:
            for control in CONTROLS:
                slow, quick = (
                    found.rows[load_key(http, control, scheme, users)] for scheme in PAPER_SCHEMES
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
            "Paper 000. Load: the link's utilization with slow start.",
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
                *(round(found.rows[share_key(share, http, control)].mean_s, 3) for share in shares),
                round(found.alone("large", http, control, "slow-start").mean_s, 3),
            ]
            for http in HTTP
            for control in CONTROLS
        ],
        "Large files.",
    )


def _figures(found: Found) -> Figures:
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
        "page-times": (
            "Page times by version of HTTP",
            "Mean download time of a page for one user of the thesis, with 95 % intervals: the "
            "bars of figure 6.48, then HTTP/1.1 with six connections and HTTP/2.",
            grouped_bars(
                [
                    (
                        MODELS[model],
                        [
                            _bars(scheme, [_fetched(found, model, h, scheme) for h in _GROUPS])
                            for scheme in THESIS_SCHEMES
                        ],
                    )
                    for model in MODELS
                ],
                groups=["1.0", "1.1", "1.1 p.", "six", "2"],
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


def _bars(scheme: str, rows: Sequence[Loads]) -> Bars:
    heights = np.array([row.mean_s for row in rows])
    return Bars(label_of(scheme), scheme, heights, np.array([row.half_width_s for row in rows]))


def _curve(scheme: str, x: npt.ArrayLike, y: Array, half_width: Array | None = None) -> Curve:
    low, high = (None, None) if half_width is None else (y - half_width, y + half_width)
    return Curve(
        label_of(scheme), np.asarray(x), y, style_of(scheme), markers=True, low=low, high=high
    )


def _of_six(rows: Sequence[Loads]) -> float:
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
        [found.rows[share_key(share, http, control)] for http in HTTP for control in CONTROLS]
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
