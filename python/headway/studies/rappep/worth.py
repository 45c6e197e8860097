"""Plot: when a proxy is worth it, compared with faster starts without one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headway.claims import Evidence
from headway.studies.rap_over_satellite import experiments as raw
from headway.studies.rap_over_satellite.page import CASES
from headway.studies.rappep import clients, orbits
from headway.studies.rappep.clients import Clients
from headway.studies.rappep.experiments import SCHEMES, STARTS
from headway.studies.rappep.observe import Found, afct_s, mean
from headway.table import Cell, Table

OVERFLOW = 0.01
"""A scheme that loses a larger part of its data to the full queue also harms the others."""
ALIKE = 0.1
"""Times that differ by a smaller part count as equal."""
_PACKET_BYTES = 1500
_PROXIES = ("tcp_pep", "xcp_pep", "mpcp_pep", "vcp_pep")


@dataclass(frozen=True)
class Candidate:
    """A scheme over one path."""

    name: str
    mean_s: float
    overflow: float
    """Packets that full queues dropped, as a part of the data; above 1 if much is retransmitted."""


def table(found: Found) -> Table:
    """A row per path and load."""
    rows: list[list[Cell]] = []
    for case, (loss, delays) in CASES.items():

        def files(scheme: str, loss: float = loss, delays: bool = delays) -> Candidate:
            time_s = afct_s(found, scheme, loss, delays=delays).mean
            full = mean(found, scheme, loss, "full_pkts", delays=delays)
            return Candidate(SCHEMES[scheme], time_s, full / _pkts(raw.FLOWS * raw.SIZE_BYTES))

        rows += _rows(f"Five files of 5 MB, {case}", files, STARTS, _PROXIES)
    for orbit in orbits.ORBITS:
        for load, of in orbits.LOADS.items():
            judged = _client(found.clients, orbit, load)
            rows += _rows(f"{of.name}, {orbit.upper()}", judged, orbits.BARE, orbits.PROXIED)
    return Table(
        "When a proxy is worth it",
        ["path", "among", "without a proxy", "s", "with one", "s", "gain %", "worth it"],
        rows,
        "The shortest mean time without a proxy and with one, among all schemes, and among those "
        f"that lose at most {100 * OVERFLOW:g} % of their data to the full queue. A scheme that "
        "overflows the queue makes all others wait and lose packets, too. Gain: the part of the "
        f"time that the proxy saves. Gains of at least {100 * ALIKE:g} % count.",
    )


def _client(found: Evidence[Clients], orbit: str, load: str) -> Callable[[str], Candidate]:
    def candidate(scheme: str) -> Candidate:
        rows = clients.trials(found, orbit, load, scheme)
        times, missing = clients.times_s(rows)
        asked = orbits.LOADS[load].response_bytes * orbits.LOADS[load].clients * len(rows)
        full = sum(row.full_pkts for row in rows)
        time_s = math.inf if missing else float(times.mean())
        return Candidate(orbits.SCHEMES[scheme], time_s, full / _pkts(asked))

    return candidate


def _rows(
    path: str,
    candidate: Callable[[str], Candidate],
    bare: Iterable[str],
    proxied: Iterable[str],
) -> list[list[Cell]]:
    """A row among all schemes, and one among those that do not overflow the queue."""
    both = [list(map(candidate, schemes)) for schemes in (bare, proxied)]
    rows = []
    for among, most in (("all", math.inf), ("no overflow", OVERFLOW)):
        without, with_one = (_fastest(x for x in own if x.overflow <= most) for own in both)
        rows.append(
            [path, among, *_cells(without), *_cells(with_one), *_verdict(without, with_one)]
        )
    return rows


def _fastest(candidates: Iterable[Candidate]) -> Candidate | None:
    known = [one for one in candidates if math.isfinite(one.mean_s)]
    return min(known, key=lambda one: one.mean_s, default=None)


def _verdict(without: Candidate | None, with_one: Candidate | None) -> list[Cell]:
    """The gain in percent, and whether the proxy is worth it."""
    if without is None or with_one is None:
        return [None, "no" if with_one is None else "yes"]
    gain = 1 - with_one.mean_s / without.mean_s
    words = "yes" if gain >= ALIKE else "no: as fast" if gain > -ALIKE else "no: slower"
    return [round(100 * gain, 0), words]


def _cells(one: Candidate | None) -> list[Cell]:
    return ["none", None] if one is None else [one.name, round(one.mean_s, 2)]


def _pkts(size_bytes: int) -> float:
    return size_bytes / _PACKET_BYTES
