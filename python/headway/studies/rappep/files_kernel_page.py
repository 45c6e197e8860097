"""Plot on the kernel: completion times, use of the link, shares, drops, and the paper's figures."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import polars as pl

from headway.publish import Figures
from headway.studies.rap_over_satellite.observe import numbers
from headway.studies.rappep.experiments import SCHEMES
from headway.studies.rappep.figures import shares, use_of_the_link, windows
from headway.studies.rappep.files_kernel import (
    CASES,
    CLEAN,
    LOSSY,
    OF_KERNEL,
    OWN,
    PAPERS,
    SIDES,
    TIMES,
    USED,
    Case,
)
from headway.studies.rappep.observe import FIRST_RUN, Found, afct_s, jain, mean
from headway.table import Cell, Table

Number = Callable[[Found, str, Case], float]
"""A number of a scheme on a path; NaN where it is not known."""


def tables(found: Found) -> list[Table]:
    """One table per number, schemes by paths; a cell without a trial or number is empty."""
    return [
        _table(
            found, TIMES, _time_s, 2, "From the request for a file until all of it has arrived."
        ),
        _table(
            found,
            "Mean completion times compared with TCP PEP's in %",
            _beside_tcp_pep,
            0,
            "Over the runs that both have. Below 0 the time is shorter. The paper has 25 % without "
            "loss, and 35 % at 1 %, for routers' protocols from end to end.",
        ),
        _table(
            found,
            USED,
            lambda found, scheme, case: 100 * _mean(found, scheme, case, "files.used"),
            1,
            "From the request for the first file to the end of the last.",
        ),
        _table(
            found,
            "Jain's index of the files",
            lambda found, scheme, case: jain(found, scheme, case.loss, delays=case.delays),
            3,
            "Computed from goodputs while all five files are being sent; empty where that never "
            "happens.",
        ),
        _table(
            found,
            "Packets that the satellite's full queue dropped",
            lambda found, scheme, case: _mean(found, scheme, case, "full_pkts"),
            0,
            "Means over runs.",
        ),
    ]


def _table(found: Found, title: str, number: Number, digits: int, note: str) -> Table:
    def cell(scheme: str, case: Case) -> Cell:
        if not _is_there(found, scheme, case):
            return None
        value = number(found, scheme, case)
        return round(value, digits) if math.isfinite(value) else None

    rows: list[list[Cell]] = [
        [SCHEMES[scheme], *(cell(scheme, case) for case in CASES)] for scheme in OF_KERNEL
    ]
    return Table(title, ["scheme", *(case.name for case in CASES)], rows, note)


def _is_there(found: Found, scheme: str, case: Case) -> bool:
    return case.key(scheme, FIRST_RUN) in found


def _time_s(found: Found, scheme: str, case: Case) -> float:
    return afct_s(found, scheme, case.loss, delays=case.delays).mean


def _beside_tcp_pep(found: Found, scheme: str, case: Case) -> float:
    """A mean over the runs that both have."""
    names = [(case.key(scheme, run), case.key("tcp_pep", run)) for run in numbers(found)]
    both = [(found[own], found[other]) for own, other in names if own in found and other in found]
    own_s, other_s = (
        np.mean([row.files.times_s for row in rows]) for rows in zip(*both, strict=True)
    )
    return float(100 * (own_s / other_s - 1))


def _mean(found: Found, scheme: str, case: Case, name: str) -> float:
    return mean(found, scheme, case.loss, name, delays=case.delays)


def figures(found: Found) -> Figures:
    """The paper's figures, as far as this form has their trials, each of the first run."""

    def there(case: Case) -> list[str]:
        return [one for one in (OWN, *PAPERS, "vcp_pep") if _is_there(found, one, case)]

    return {
        "figure-3": use_of_the_link(found, "Figure 3", CLEAN.name, CLEAN.loss, there(CLEAN)),
        "figure-5": use_of_the_link(found, "Figures 4 and 5", LOSSY.name, LOSSY.loss, there(LOSSY)),
        **{
            f"figure-{number}": shares(found, f"Figure {number}", scheme)
            for number, scheme in {7: "xcp_pep", 8: "tcp_pep"}.items()
            if _is_there(found, scheme, SIDES)
        },
        "figure-9": windows(found, "the server was connected"),
    }


def shares_by_second(found: Found) -> pl.DataFrame:
    """The part of the link that each file had in each second of each trial."""
    return pl.DataFrame(
        [
            {"trial": name, "time_s": float(time_s), "file": file + 1, "part": float(part)}
            for name, row in found.items()
            for file, parts in enumerate(row.files.used_by_flow)
            for time_s, part in zip(row.files.slots_s, parts, strict=True)
        ]
    )


def cwnd_at_the_server(found: Found) -> pl.DataFrame:
    """Figure 9's windows of each trial, where they are known."""
    return pl.DataFrame(
        [
            {"trial": name, "file": file + 1, "time_ms": 1000 * float(at), "cwnd_pkts": float(pkts)}
            for name, row in found.items()
            for file, window in enumerate(row.window_pkts)
            for at, pkts in zip(row.window_s, window, strict=True)
            if np.isfinite(pkts)
        ]
    )
