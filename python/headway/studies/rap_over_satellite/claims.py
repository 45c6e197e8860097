"""Check: C-RP-001 and 004, which compare with no proxy; rappep has the others."""

from headway.claims import Change, Claims, Seen, words
from headway.studies.common.runs import each
from headway.studies.rap_over_satellite.experiments import SCHEMES, starts_within
from headway.studies.rap_over_satellite.observe import Found, afct_s

CLAIMS: Claims[Found] = Claims(__name__)
LOSS = 1e-2
LOSSY_S = 24.0
TOLERANCE = 0.2
"""The range that the claims list allows."""


@CLAIMS.judge(
    "C-RP-001",
    tries=[
        Change(
            "start times of the files within 15 s instead of 2.5 s", starts_within(15), "mpcp-p0-*"
        )
    ],
)
def _mpcp(found: Found) -> Seen:
    time_s = afct_s(found, "mpcp", 0).mean
    return Seen.by(time_s, words.quantity(time_s, CLAIMS.number("C-RP-001"), TOLERANCE), unit="s")


@CLAIMS.judge("C-RP-004")
def _lossy(found: Found) -> Seen:
    times = {SCHEMES[scheme]: afct_s(found, scheme, LOSS).mean for scheme in ("mpcp", "xcp")}
    return each(times, lambda time_s: words.about(time_s, LOSSY_S), "{:.1f} s")
