"""Plot: figures 3 to 9, and completion times with a proxy and with faster starts."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway.figures import Dot, dots
from headway.publish import Figures, Page
from headway.studies.rap_over_satellite.observe import numbers
from headway.studies.rap_over_satellite.page import CASES
from headway.studies.rappep import orbits_page, worth
from headway.studies.rappep.claims import OF_FIGURE_4
from headway.studies.rappep.experiments import LOSSES, SCHEMES, STARTS
from headway.studies.rappep.figures import shares, style, use_of_the_link, windows
from headway.studies.rappep.observe import Found, afct_s, jain, mean
from headway.table import Cell, Table

_PROXIES = ("tcp_pep", "xcp_pep", "mpcp_pep")
_TIMED = (*STARTS, "cubic26", "xcp", "mpcp", "tcp_pep", "xcp_plain", "mpcp_plain", *_PROXIES[1:])


def page(found: Found) -> Page:
    """Tables, figures and data."""
    return Page(
        tables=[
            worth.table(found),
            _times(found),
            _without(found),
            *orbits_page.tables(found.clients),
        ],
        figures={**_of_times(found), **_figures(found), **orbits_page.figures(found.clients)},
        data={"trials": numbers_of(found)},
    )


def _times(found: Found) -> Table:
    rows: list[list[Cell]] = []
    for case, (loss, delays) in CASES.items():
        tcp_pep_s = afct_s(found, "tcp_pep", loss, delays=delays).mean
        for scheme, name in SCHEMES.items():
            time = afct_s(found, scheme, loss, delays=delays)
            half_width = None if time.half_width is None else round(time.half_width, 2)
            share = jain(found, scheme, loss, delays=delays)
            rows.append(
                [
                    case,
                    name,
                    round(time.mean, 2),
                    half_width,
                    round(100 * (time.mean / tcp_pep_s - 1), 1),
                    round(mean(found, scheme, loss, "files.all_s", delays=delays), 2),
                    round(100 * mean(found, scheme, loss, "files.used", delays=delays), 1),
                    round(mean(found, scheme, loss, "swing", delays=delays), 3),
                    None if np.isnan(share) else round(share, 3),
                    round(mean(found, scheme, loss, "full_pkts", delays=delays), 1),
                ]
            )
    return Table(
        f"Five files of 5 MB, means over {len(numbers(found))} runs",
        [
            "path",
            "scheme",
            "mean s",
            "±95 %",
            "to TCP PEP %",
            "all s",
            "link used %",
            "swing",
            "Jain",
            "full pkts",
        ],
        rows,
        "Completion time of a file from its first packet, also compared with TCP PEP's, and of all "
        "five files from the first start. Use of the link until then and its standard deviation "
        "over seconds. Jain's index of goodputs while all five files are being sent. Packets that "
        "the satellite's full queue dropped.",
    )


def _without(found: Found) -> Table:
    """The part of a proxy's gain that a faster start recovers without a proxy."""
    rows: list[list[Cell]] = []
    for case, (loss, delays) in CASES.items():
        own_s = afct_s(found, "cubic26", loss, delays=delays).mean
        for proxy in _PROXIES:
            gain_s = own_s - afct_s(found, proxy, loss, delays=delays).mean
            parts = [
                (own_s - afct_s(found, start, loss, delays=delays).mean) / gain_s
                if gain_s > 0
                else float("nan")
                for start in STARTS
            ]
            shown = [None if np.isnan(part) else round(100 * part, 0) for part in parts]
            rows.append([case, SCHEMES[proxy], round(gain_s, 1), *shown])
    return Table(
        "Part of a proxy's gain that a faster start recovers without a proxy",
        ["path", "proxy", "gain s", *(f"{_short(start)} %" for start in STARTS)],
        rows,
        "Gain: how much shorter the mean completion time is than CUBIC's from end to end. At 100 % "
        "the start alone gains as much as the proxy; below 0 it is slower than CUBIC. A cell is "
        "empty where the proxy gains nothing.",
    )


def _short(start: str) -> str:
    """A start's name in a column of its own."""
    return SCHEMES[start].removeprefix("CUBIC, ")


def _of_times(found: Found) -> Figures:
    """Completion times without a proxy, with router protocols, and with a proxy."""
    made: Figures = {}
    for loss, what in zip(LOSSES, ("without loss", "at 1 % loss"), strict=True):
        shown = []
        for scheme in _TIMED:
            time = afct_s(found, scheme, loss)
            half = time.half_width or 0.0
            shown.append(
                Dot(
                    SCHEMES[scheme],
                    # this CUBIC is not today's
                    "cubic26" if scheme == "cubic26" else style(scheme),
                    time.mean,
                    max(time.mean - half, 0.0),
                    time.mean + half,
                    afct_s(found, "today", loss).mean,
                )
            )
        made[f"times-{loss:g}"] = (
            f"Completion times {what}",
            f"Mean of five files of 5 MB {what}, all runs, with the mean's 95 % interval: starts "
            "without a proxy, the paper's senders and routers, proxies.",
            dots(shown, x_label="mean completion time (s)", height_mm=84,
                 reference_label=f"{SCHEMES['today']}, without a proxy"),
        )  # fmt: skip
    return made


def numbers_of(found: Found) -> pl.DataFrame:
    """Each trial's numbers."""
    return pl.DataFrame(
        [
            {
                "trial": name,
                "mean_s": float(row.files.times_s.mean()),
                "all_s": row.files.all_s,
                "used": row.files.used,
                "jain": row.files.jain,
                "swing": row.swing,
                "steady_s": row.steady_s,
                "most_used": row.most_used,
                "full_pkts": row.full_pkts,
                "sent_s": float(row.sent_s.mean()),
            }
            for name, row in found.items()
        ]
    )


def _figures(found: Found) -> Figures:
    made: Figures = {}
    for number, case, loss, schemes in (
        (3, "no loss", LOSSES[0], OF_FIGURE_4),
        (4, "1 % loss", LOSSES[1], OF_FIGURE_4),
        (5, "1 % loss", LOSSES[1], _PROXIES),
    ):
        made[f"figure-{number}"] = use_of_the_link(found, f"Figure {number}", case, loss, schemes)
    for number, scheme in {6: "xcp", 7: "xcp_pep", 8: "tcp_pep"}.items():
        made[f"figure-{number}"] = shares(found, f"Figure {number}", scheme)
    made["figure-9"] = windows(found, "the file's first packet")
    return made
