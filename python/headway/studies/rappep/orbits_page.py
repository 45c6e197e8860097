"""Plot: pages and files over a GEO and a LEO satellite, a table and a figure each."""

from __future__ import annotations

import numpy as np

from headway.claims import Evidence
from headway.figures import Dot, dots
from headway.publish import Figures
from headway.studies.rap_over_satellite.observe import numbers
from headway.studies.rappep.clients import LATE_PERCENT, Clients, times_s, trials
from headway.studies.rappep.orbits import LOADS, ORBITS, SCHEMES, key
from headway.table import Cell, Table

_STYLES = {
    "jump_start": "jump-start",
    "careful_resume": "careful-resume",
    "quick_start": "quick-start",
    "cubic_pep": "cubic26",
    "hybla_pep": "scalable",
    "bbr_pep": "bbr",
}
"""Schemes that use another algorithm's colour and marker."""
_EARLY_PERCENT = 100 - LATE_PERCENT
_KB = 1000


def tables(found: Evidence[Clients]) -> list[Table]:
    """One per satellite and load."""
    return [_table(found, orbit, load) for orbit in ORBITS for load in LOADS]


def _schemes(found: Evidence[Clients], orbit: str, load: str) -> dict[str, str]:
    """The schemes that this form runs; the kernel has fewer."""
    run = min(numbers(found), default=1)
    return {
        scheme: name for scheme, name in SCHEMES.items() if key(orbit, load, scheme, run) in found
    }


def _table(found: Evidence[Clients], orbit: str, load: str) -> Table:
    clients = 0
    rows: list[list[Cell]] = []
    for scheme, name in _schemes(found, orbit, load).items():
        of = trials(found, orbit, load, scheme)
        times, missing = times_s(of)
        clients = of[0].times_s.size

        def mean(values: list[float], digits: int) -> float:
            return round(float(np.mean(values)), digits)

        rows.append(
            [
                name,
                round(float(times.mean()), 2),
                round(float(np.percentile(times, LATE_PERCENT)), 2),
                missing,
                mean([row.all_s for row in of], 1),
                mean([100 * row.used for row in of], 1),
                mean([row.queue_bytes / _KB for row in of], 0),
                mean([row.full_pkts for row in of], 0),
                mean([row.jain for row in of], 3),
            ]
        )
    return Table(
        f"{LOADS[load].name}, {ORBITS[orbit].name}; {clients} clients",
        [
            "scheme",
            "mean s",
            f"{LATE_PERCENT} % s",
            "not done",
            "all s",
            "link used %",
            "queue kB",
            "full pkts",
            "Jain",
        ],
        rows,
        f"Time from a client's start to the last byte that it asked for: mean and {LATE_PERCENT} % "
        "quantile over the clients of all runs that ended. Time from the first start until all "
        "clients ended, and the downlink's use until then. The downlink's queue, again the "
        f"{LATE_PERCENT} % quantile, and packets that it dropped because it was full. Jain's index "
        "of the clients' rates.",
    )


def figures(found: Evidence[Clients]) -> Figures:
    """One per satellite and load."""
    made: Figures = {}
    for orbit in ORBITS:
        for load in LOADS:
            made[f"{orbit}-{load}"] = (
                f"{LOADS[load].name}, {orbit.upper()}",
                f"Time of a client, {ORBITS[orbit].name}: mean, and from "
                f"{_EARLY_PERCENT} to {LATE_PERCENT} %, all runs.",
                dots(
                    _dots(found, orbit, load),
                    x_label="time (s)",
                    reference_label=f"{SCHEMES['cubic']}, without a proxy",
                ),
            )
    return made


def _dots(found: Evidence[Clients], orbit: str, load: str) -> list[Dot]:
    plain, _ = times_s(trials(found, orbit, load, "cubic"))
    shown = []
    for scheme, name in _schemes(found, orbit, load).items():
        times, _ = times_s(trials(found, orbit, load, scheme))
        low, high = np.percentile(times, [_EARLY_PERCENT, LATE_PERCENT])
        shown.append(
            Dot(
                name,
                _STYLES.get(scheme, scheme),
                float(times.mean()),
                float(low),
                float(high),
                float(plain.mean()),
            )
        )
    return shown
