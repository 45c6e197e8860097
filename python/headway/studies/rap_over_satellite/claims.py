"""Check: C-RP-001 and 004, which compare with no proxy; rappep has the others."""

from __future__ import annotations

from headway.claims import Seen, Statement, replaced, scaled, words
from headway.studies.rap_over_satellite.changes import WIDER_STARTS
from headway.studies.rap_over_satellite.experiments import SCHEMES
from headway.studies.rap_over_satellite.observe import Found, afct_s

LOSS = 1e-2
MPCP_S, LOSSY_S = 18.0, 24.0
TOLERANCE = 0.2
"""The claims list's range."""


def _mpcp(found: Found) -> Seen:
    time_s = afct_s(found, "mpcp", 0).mean
    return Seen.by(
        time_s,
        words.quantity(time_s, MPCP_S, TOLERANCE),
        unit="s",
    )


def _lossy(found: Found) -> Seen:
    times = {scheme: afct_s(found, scheme, LOSS).mean for scheme in ("mpcp", "xcp")}
    told = ", ".join(f"{SCHEMES[scheme]} {time:.1f} s" for scheme, time in times.items())
    return Seen.by(told, *(words.about(time, LOSSY_S) for time in times.values()))


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-RP-001",
        "MPCP's average completion time without loss",
        MPCP_S,
        _mpcp,
        why=WIDER_STARTS,
        spoil=scaled("mpcp-p0-*", 2.0, "times_s"),
        mend=replaced("mpcp-p0-*", 18.0, "times_s"),
    ),
    Statement(
        "C-RP-004",
        "average completion times of MPCP and of XCP at 1 % loss",
        "around 24 s, both",
        _lossy,
        spoil=replaced("xcp-p1e-2-*", 50.0, "times_s"),
        mend=replaced("*-p1e-2-*", 24.0, "times_s"),
    ),
)
