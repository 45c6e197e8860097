"""Check: startups that know the path's rate from the first packet on. No paper states this."""

from __future__ import annotations

from headway.claims import Evidence, Seen, Statement, between, swapped
from headway.studies.first_megabyte.experiments import SCHEMES, least_s
from headway.studies.first_megabyte.observe import Downloads

Found = Evidence[Downloads]

WITHIN = 0.15
SLACK = 0.01
"""Times shorter than possible by more than this are errors of measurement."""
OURS = "No paper states this. The 15 % are ours."


def _near_least(found: Found, name: str) -> Seen:
    least_ms = 1e3 * least_s(SCHEMES[name])
    return between(
        found[name].median_ms, (1 - SLACK) * least_ms, (1 + WITHIN) * least_ms, unit="ms"
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "first-megabyte-mega-start",
        "Mega-Start: within 15 % of the data at the link's rate and two RTTs",
        round(1e3 * least_s(SCHEMES["mega-start"]), 1),
        lambda found: _near_least(found, "mega-start"),
        ours=OURS,
        # no paced first flight at that rate
        spoil=swapped("mega-start", "jump-start-original"),
    ),
    Statement(
        "first-megabyte-quick-start",
        "Quick-Start, early: within 15 % of the data at the link's rate and two RTTs",
        round(1e3 * least_s(SCHEMES["quick-start"]), 1),
        lambda found: _near_least(found, "quick-start"),
        ours=OURS,
        # a request that costs a round trip
        spoil=swapped("quick-start", "quick-start-late"),
    ),
)
