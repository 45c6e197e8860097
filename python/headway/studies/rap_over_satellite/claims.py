"""Check: C-RP-001 and 004, which compare with no proxy; rappep has the others."""

from headway.claims import Change, Claims, Seen, replaced, scaled, words
from headway.studies.common.runs import listed
from headway.studies.rap_over_satellite.experiments import SCHEMES, starts_within
from headway.studies.rap_over_satellite.observe import Found, afct_s

CLAIMS: Claims[Found] = Claims(__name__)
LOSS = 1e-2
LOSSY_S = 24.0
TOLERANCE = 0.2
"""The claims list's range."""


@CLAIMS.judge(
    "C-RP-001",
    spoil=scaled("mpcp-p0-*", 2.0, "times_s"),
    mend=replaced("mpcp-p0-*", 18.0, "times_s"),
    tries=[Change("starts within 15 s", starts_within(15), "mpcp-p0-*")],
)
def _mpcp(found: Found) -> Seen:
    time_s = afct_s(found, "mpcp", 0).mean
    return Seen.by(time_s, words.quantity(time_s, CLAIMS.number("C-RP-001"), TOLERANCE), unit="s")


@CLAIMS.judge(
    "C-RP-004",
    spoil=replaced("xcp-p1e-2-*", 50.0, "times_s"),
    mend=replaced("*-p1e-2-*", 24.0, "times_s"),
)
def _lossy(found: Found) -> Seen:
    times = {SCHEMES[scheme]: afct_s(found, scheme, LOSS).mean for scheme in ("mpcp", "xcp")}
    told = listed(times, "{:.1f} s")
    return Seen.by(told, *(words.about(time, LOSSY_S) for time in times.values()))
