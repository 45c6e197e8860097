"""Check: the claims of paper 004 on protocols without proxies, C-RP-001, 003, 004 and 006."""

from __future__ import annotations

from headway.claims import Seen, Statement, all_of, near, replaced, scaled, swapped
from headway.studies.rap_over_satellite.experiments import SCHEMES
from headway.studies.rap_over_satellite.observe import Found, afct_s, mean

LOSS = 1e-2
NO_PEP = "beside CUBIC and among the protocols themselves; the proxy is not here yet"


def _mpcp(found: Found) -> Seen:
    return near(
        afct_s(found, "mpcp", 0).mean,
        18.0,
        relative=0.2,
        unit="s",
        note="The mean depends on when the files start, which is not printed.",
    )


def _users(found: Found) -> Seen:
    used = {scheme: mean(found, scheme, 0, "used") for scheme in SCHEMES}
    times = {scheme: afct_s(found, scheme, 0).mean for scheme in SCHEMES}
    above = all(
        used[one] > used["cubic26"] and times[one] < times["cubic26"] for one in ("xcp", "mpcp")
    )
    below = used["vcp"] < used["cubic26"] and times["vcp"] > times["cubic26"]
    words = ", ".join(
        f"{name} {100 * used[scheme]:.0f} % and {times[scheme]:.1f} s"
        for scheme, name in SCHEMES.items()
    )
    return Seen(words, above and below)


def _lossy(found: Found) -> Seen:
    times = {scheme: afct_s(found, scheme, LOSS).mean for scheme in ("mpcp", "xcp")}
    words = ", ".join(f"{SCHEMES[scheme]} {time:.1f} s" for scheme, time in times.items())
    return Seen(
        words, all(near(time, 24.0, relative=0.2).holds for time in times.values()), "±20 %"
    )


def _slower(found: Found) -> Seen:
    pairs = {s: (afct_s(found, s, 0).mean, afct_s(found, s, LOSS).mean) for s in SCHEMES}
    words = ", ".join(f"{SCHEMES[s]} {a:.1f} and {b:.1f} s" for s, (a, b) in pairs.items())
    return Seen(words, all(a < b for a, b in pairs.values()))


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-RP-001",
        "MPCP's average completion time without loss",
        18.0,
        _mpcp,
        spoil=scaled("mpcp-p0-*", 2.0, "times_s"),
        mend=replaced("mpcp-p0-*", 18.0, "times_s"),
    ),
    Statement(
        "C-RP-003",
        "use of the bottleneck and completion without loss",
        "XCP and MPCP better than CUBIC and the TCP proxy, VCP not: it converges slowly",
        _users,
        part=NO_PEP,
        spoil=swapped("mpcp", "vcp"),
        mend=all_of(
            scaled("xcp-p0-*", 0.5, "times_s"),
            scaled("mpcp-p0-*", 0.5, "times_s"),
            scaled("vcp-p0-*", 4.0, "times_s"),
            replaced("xcp-p0-*", 0.99, "used"),
            replaced("mpcp-p0-*", 0.98, "used"),
            replaced("vcp-p0-*", 0.1, "used"),
        ),
    ),
    Statement(
        "C-RP-004",
        "average completion times of MPCP and of XCP at 1 % loss",
        "around 24 s, both",
        _lossy,
        spoil=replaced("xcp-p1e-2-*", 50.0, "times_s"),
        mend=replaced("*-p1e-2-*", 24.0, "times_s"),
    ),
    Statement(
        "C-RP-006",
        "average completion time at 1 % loss beside that without",
        "larger for every protocol",
        _slower,
        part=NO_PEP,
        spoil=swapped("p0", "p1e-2"),
        mend=scaled("*-p1e-2-*", 10.0, "times_s"),
    ),
)
