"""Check: the claims of paper 004 on proxies, and on protocols compared with a proxy."""

from __future__ import annotations

import math

import numpy as np

from headway.claims import Seen, Statement, all_of, between, replaced, scaled, swapped, words
from headway.claims.words import Check
from headway.metrics.stats import Estimate, confidence_interval
from headway.studies.rappep import changes
from headway.studies.rappep.experiments import LOSSES, SCHEMES, SIDE_LOSS
from headway.studies.rappep.observe import OPEN_PKTS, Found, afct_s, beside, jain, mean, trials

CLEAN, LOSSY = LOSSES
OF_FIGURE_4 = ("cubic26", "vcp", "xcp", "mpcp", "tcp_pep")
"""Figures 3 and 4 compare these; figure 5 the proxies."""
ASSISTED = {"xcp_pep": "xcp", "mpcp_pep": "mpcp"}
TIME, USED, SHARE = "files.times_s", "files.used", "files.jain"
CLEAN_RATIO, LOSSY_RATIO = (0.70, 0.85), (0.60, 0.75)
"""The claims list's ranges: "25 % faster" may mean 0.75 or 1/1.25."""
AT_SERVER_S = (3.5, 6.5)
"""The claims list's range."""
LEAST_SHARE = 0.9
ROUND_TRIP_S = 0.8


def _less(found: Found, one: str, other: str, loss: float, name: str) -> Check:
    """A scheme's number is less than another's, by the differences within each run."""
    return words.less(*beside(found, one, other, loss, name))


def _more(found: Found, one: str, other: str, loss: float, name: str) -> Check:
    return words.more(*beside(found, one, other, loss, name))


def _fairer(found: Found, one: str, other: str) -> tuple[Estimate, float]:
    """Jain's index of two schemes at 0.1 % loss with unlike side links."""
    return beside(found, one, other, SIDE_LOSS, SHARE, delays=True)


def _ratio(found: Found, scheme: str, loss: float) -> float:
    """A scheme's average completion time over TCP PEP's."""
    return afct_s(found, scheme, loss).mean / afct_s(found, "tcp_pep", loss).mean


def _by_scheme(values: dict[str, float], unit: str) -> str:
    return ", ".join(f"{SCHEMES[scheme]} {value:.3g}{unit}" for scheme, value in values.items())


def _mpcp_faster(found: Found) -> Seen:
    ratio = _ratio(found, "mpcp", CLEAN)
    return Seen.by(
        ratio,
        words.within(ratio, *CLEAN_RATIO),
        _less(found, "mpcp", "tcp_pep", CLEAN, TIME),
        note="Shown: MPCP's time over TCP PEP's.",
    )


def _users(found: Found) -> Seen:
    used = {scheme: mean(found, scheme, CLEAN, USED) for scheme in OF_FIGURE_4}
    times = {scheme: afct_s(found, scheme, CLEAN).mean for scheme in OF_FIGURE_4}
    after = {scheme: mean(found, scheme, CLEAN, "converges_per_s") for scheme in OF_FIGURE_4}

    def better(one: str, other: str) -> list[Check]:
        return [
            _more(found, one, other, CLEAN, USED),
            _less(found, one, other, CLEAN, TIME),
        ]

    told = ", ".join(
        f"{SCHEMES[one]} {100 * used[one]:.0f} % and {times[one]:.1f} s" for one in OF_FIGURE_4
    )
    above = [
        check for a in ("xcp", "mpcp") for b in ("cubic26", "tcp_pep") for check in better(a, b)
    ]
    slow = words.is_so(after["vcp"] < min(after["xcp"], after["mpcp"]), "VCP converges last")
    return Seen.by(
        told,
        words.every(above),
        *better("cubic26", "vcp"),
        *better("tcp_pep", "vcp"),
        slow,
        note="Convergence is judged by the time until the mean use over 5 s reaches 80 % of the "
        "link.",
    )


def _lossy_faster(found: Found) -> Seen:
    ratios = {scheme: _ratio(found, scheme, LOSSY) for scheme in ("mpcp", "xcp")}
    return Seen.by(
        _by_scheme(ratios, " of TCP PEP's"),
        *(words.within(ratio, *LOSSY_RATIO) for ratio in ratios.values()),
        *(_less(found, scheme, "tcp_pep", LOSSY, TIME) for scheme in ratios),
    )


def _slower_at_loss(found: Found, scheme: str) -> Check:
    """A scheme's time at 1 % loss is longer than without."""
    clean, lossy = (
        np.array([row.files.times_s.mean() for row in trials(found, scheme, loss)])
        for loss in LOSSES
    )
    runs = min(len(clean), len(lossy))
    apart = confidence_interval(list(lossy[:runs] - clean[:runs]))
    mine = Estimate(float(lossy[:runs].mean()), apart.sd, apart.half_width, runs)
    return words.more(mine, float(clean[:runs].mean()))


def slower(found: Found, schemes: tuple[str, ...]) -> Seen:
    """C-RP-006 for some schemes."""
    pairs = {s: (afct_s(found, s, CLEAN).mean, afct_s(found, s, LOSSY).mean) for s in schemes}
    told = ", ".join(f"{SCHEMES[s]} {a:.1f} and {b:.1f} s" for s, (a, b) in pairs.items())
    return Seen.by(told, words.every([_slower_at_loss(found, one) for one in schemes]))


def _slower(found: Found) -> Seen:
    return slower(found, OF_FIGURE_4)


def _gap(found: Found, scheme: str, loss: float) -> np.ndarray:
    """The part of TCP PEP's time that a scheme saves, by run."""
    own, tcp_pep = (
        np.array([row.files.times_s.mean() for row in trials(found, one, loss)])
        for one in (scheme, "tcp_pep")
    )
    runs = min(len(own), len(tcp_pep))
    return np.asarray(1 - own[:runs] / tcp_pep[:runs])


def _gap_grows(found: Found) -> Seen:
    told, checks = [], []
    for scheme in ("xcp", "mpcp"):
        clean, lossy = (_gap(found, scheme, loss) for loss in LOSSES)
        apart = confidence_interval(list(lossy - clean))
        mine = Estimate(float(lossy.mean()), apart.sd, apart.half_width, apart.count)
        checks.append(words.more(mine, float(clean.mean())))
        told.append(f"{SCHEMES[scheme]} {clean.mean():.2f} and {lossy.mean():.2f}")
    return Seen.by(
        ", ".join(told),
        *checks,
        note="Shown: the part of TCP PEP's time that each saves, without loss and at 1 %.",
    )


def worst_swing(found: Found, schemes: tuple[str, ...]) -> Seen:
    """C-RP-008 compared with some schemes."""
    swings = {scheme: mean(found, scheme, LOSSY, "swing") for scheme in schemes}
    others = [scheme for scheme in schemes if scheme != "tcp_pep"]
    return Seen.by(
        _by_scheme(swings, ""),
        words.every([_more(found, "tcp_pep", other, LOSSY, "swing") for other in others]),
        note="Shown: the standard deviation of the link's use in each second.",
    )


def _worst_swing(found: Found) -> Seen:
    return worst_swing(found, OF_FIGURE_4)


def _calmer_and_sooner(found: Found) -> Seen:
    names = [*ASSISTED, *ASSISTED.values()]
    swings = {scheme: mean(found, scheme, LOSSY, "swing") for scheme in names}
    steady = {scheme: mean(found, scheme, LOSSY, "steady_s") for scheme in names}
    told = ", ".join(f"{SCHEMES[s]} {swings[s]:.3f} and {steady[s]:.1f} s" for s in names)
    return Seen.by(
        told,
        *(_less(found, p, r, LOSSY, "swing") for p, r in ASSISTED.items()),
        *(_more(found, p, r, LOSSY, "converges_per_s") for p, r in ASSISTED.items()),
        note="Shown: the standard deviation of the link's use in each second, and the time until "
        "the mean use over 5 s reaches 80 %.",
    )


def _in_the_end(found: Found) -> Seen:
    names = [*ASSISTED, *ASSISTED.values()]
    most = {scheme: mean(found, scheme, LOSSY, "most_used") for scheme in names}
    return Seen.by(
        _by_scheme(most, ""),
        *(words.similar(most[p], most[r]) for p, r in ASSISTED.items()),
        note="Shown: the largest mean use of the link over 5 s.",
    )


def _who_ends_first(found: Found) -> Seen:
    times = {scheme: mean(found, scheme, LOSSY, "files.all_s") for scheme in ASSISTED}
    check = _less(found, "mpcp_pep", "xcp_pep", LOSSY, "files.all_s")
    return Seen.by(_by_scheme(times, " s"), check)


def _time_or_fairness(found: Found) -> Seen:
    times = {scheme: afct_s(found, scheme, LOSSY).mean for scheme in ASSISTED}
    shares = {scheme: jain(found, scheme, SIDE_LOSS, delays=True) for scheme in ASSISTED}
    told = ", ".join(f"{SCHEMES[s]} {times[s]:.1f} s and {shares[s]:.3f}" for s in ASSISTED)
    return Seen.by(
        told,
        _less(found, "mpcp_pep", "xcp_pep", LOSSY, TIME),
        words.more(*_fairer(found, "xcp_pep", "mpcp_pep")),
        note="Shown: the average completion time at 1 % loss, and Jain's index with unlike side "
        "links.",
    )


def _xcp_pep_fairer(found: Found) -> Seen:
    shares = {s: jain(found, s, SIDE_LOSS, delays=True) for s in ("xcp_pep", "xcp", "tcp_pep")}
    return Seen.by(
        _by_scheme(shares, ""),
        *(words.significantly_more(*_fairer(found, "xcp_pep", one)) for one in ("xcp", "tcp_pep")),
        words.within(shares["xcp_pep"], LEAST_SHARE, 1),
        note="Shown: Jain's index. The claims list asks XCP PEP for at least 0.9.",
    )


def _mpcp_pep_fairer(found: Found) -> Seen:
    names = ("mpcp_pep", "mpcp", "tcp_pep", "xcp_pep")
    shares = {s: jain(found, s, SIDE_LOSS, delays=True) for s in names}
    gains = {one: shares[one] - shares["tcp_pep"] for one in ASSISTED}
    return Seen.by(
        _by_scheme(shares, ""),
        *(words.more(*_fairer(found, "mpcp_pep", one)) for one in ("mpcp", "tcp_pep")),
        words.similar(gains["mpcp_pep"], gains["xcp_pep"]),
        note="Shown: Jain's index. The improvements over TCP PEP's index are compared.",
    )


def _at_the_server(found: Found) -> Seen:
    return between(
        mean(found, "xcp_pep", CLEAN, "sent_s"),
        *AT_SERVER_S,
        unit="s",
        note="Shown: the time from a file's first packet at the server to the last "
        "acknowledgement.",
    )


def _opens_fast(found: Found) -> Seen:
    rows = [row for scheme in ASSISTED for row in trials(found, scheme, CLEAN)]
    slowest = float(np.max([row.open_s.max() for row in rows]))
    own = float(np.mean([row.open_s for row in trials(found, "cubic26", CLEAN)]))
    return Seen.by(
        f"{OPEN_PKTS} packets after {slowest:.3f} s at most; without a proxy {own:.2f} s in the "
        "mean",
        words.within(slowest, 0, ROUND_TRIP_S, "each within a round trip of the satellite, 0.8 s"),
        words.within(own, ROUND_TRIP_S, math.inf, "later without a proxy"),
        note=f"Shown: the time until cwnd reaches {OPEN_PKTS} packets.",
    )


def _no_drops(found: Found) -> Seen:
    drops = 0.0
    for scheme in ASSISTED:
        rows = [row for loss in LOSSES for row in trials(found, scheme, loss)]
        rows += trials(found, scheme, SIDE_LOSS, delays=True)
        drops += sum(row.full_pkts for row in rows)
    return between(drops, 0, 0, unit="packets")


def _same_control(found: Found) -> Seen:
    split, whole = (afct_s(found, scheme, CLEAN).mean for scheme in ("cubic_pep", "cubic26"))
    return Seen.by(
        f"CUBIC PEP {split:.1f} s, CUBIC {whole:.1f} s", words.not_significantly_less(split, whole)
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-RP-002",
        "MPCP's average completion time over TCP PEP's, without loss",
        "25 % faster",
        _mpcp_faster,
        why=changes.MPCP_RATIO,
        spoil=scaled("mpcp-p0-*", 3.0, "files.times_s"),
        mend=all_of(
            replaced("mpcp-p0-*", 18.0, "files.times_s"),
            replaced("tcp_pep-p0-*", 24.0, "files.times_s"),
        ),
    ),
    Statement(
        "C-RP-003",
        "use of the bottleneck and completion without loss",
        "all but VCP outperform CUBIC and the TCP proxy; VCP converges slowly",
        _users,
        why=changes.USERS,
        spoil=swapped("mpcp", "vcp"),
        mend=all_of(
            replaced("xcp-p0-*", 1.0, "files.times_s"),
            replaced("mpcp-p0-*", 1.0, "files.times_s"),
            replaced("vcp-p0-*", 400.0, "files.times_s"),
            replaced("xcp-p0-*", 0.999, "files.used"),
            replaced("mpcp-p0-*", 0.998, "files.used"),
            replaced("vcp-p0-*", 0.01, "files.used"),
            replaced("vcp-p0-*", 0.001, "converges_per_s"),
        ),
    ),
    Statement(
        "C-RP-005",
        "average completion times of MPCP and of XCP over TCP PEP's, at 1 % loss",
        "35 % faster, both",
        _lossy_faster,
        why=changes.LOSSY_RATIO,
        spoil=scaled("tcp_pep-p1e-2-*", 10.0, "files.times_s"),
        mend=all_of(
            replaced("xcp-p1e-2-*", 24.0, "files.times_s"),
            replaced("mpcp-p1e-2-*", 24.0, "files.times_s"),
            replaced("tcp_pep-p1e-2-*", 37.0, "files.times_s"),
        ),
    ),
    Statement(
        "C-RP-006",
        "average completion time at 1 % loss compared with that without",
        "longer for all protocols",
        _slower,
        spoil=swapped("p0", "p1e-2"),
        mend=scaled("*-p1e-2-*", 20.0, "files.times_s"),
    ),
    Statement(
        "C-RP-007",
        "gap between MPCP and XCP and the TCP proxy, at 1 % loss and without",
        "larger at 1 % loss",
        _gap_grows,
        spoil=scaled("tcp_pep-p1e-2-*", 0.1, "files.times_s"),
        mend=scaled("tcp_pep-p1e-2-*", 20.0, "files.times_s"),
    ),
    Statement(
        "C-RP-008",
        "oscillation of the use at 1 % loss",
        "worst with the TCP proxy",
        _worst_swing,
        why=changes.WORST_SWING,
        spoil=replaced("tcp_pep-p1e-2-*", 0.0, "swing"),
        mend=replaced("tcp_pep-p1e-2-*", 1.0, "swing"),
    ),
    Statement(
        "C-RP-009",
        "oscillation and convergence of XCP PEP and MPCP PEP at 1 % loss",
        "fewer oscillations and faster convergence than XCP and MPCP",
        _calmer_and_sooner,
        why=changes.CALMER,
        spoil=replaced("xcp_pep-p1e-2-*", 0.01, "converges_per_s"),
        mend=all_of(
            replaced("*_pep-p1e-2-*", 1.0, "converges_per_s"),
            replaced("*_pep-p1e-2-*", 0.0, "swing"),
            replaced("xcp-p1e-2-*", 0.1, "converges_per_s"),
            replaced("mpcp-p1e-2-*", 0.1, "converges_per_s"),
        ),
    ),
    Statement(
        "C-RP-010",
        "use of the link in the end, XCP PEP and MPCP PEP compared with XCP and MPCP at 1 % loss",
        "comparable",
        _in_the_end,
        spoil=replaced("xcp_pep-p1e-2-*", 0.3, "most_used"),
        mend=replaced("*cp*-p1e-2-*", 0.99, "most_used"),
    ),
    Statement(
        "C-RP-011",
        "when the last file ends at 1 % loss, MPCP PEP and XCP PEP",
        "MPCP PEP first",
        _who_ends_first,
        spoil=replaced("mpcp_pep-p1e-2-*", 400.0, "files.all_s"),
        mend=replaced("mpcp_pep-p1e-2-*", 1.0, "files.all_s"),
    ),
    Statement(
        "C-RP-012",
        "completion time against fairness",
        "MPCP PEP has the shorter average completion time, XCP PEP is fairer",
        _time_or_fairness,
        why=changes.TIME_OR_FAIRNESS,
        spoil=swapped("mpcp_pep", "xcp_pep"),
        mend=all_of(
            replaced("mpcp_pep-p1e-2-*", 1.0, "files.times_s"),
            replaced("mpcp_pep-delays-*", 0.5, "files.jain"),
            replaced("xcp_pep-delays-*", 1.0, "files.jain"),
        ),
    ),
    Statement(
        "C-RP-013",
        "fairness at 0.1 % loss with unlike side links",
        "XCP PEP significantly above TCP PEP and above XCP",
        _xcp_pep_fairer,
        why=changes.XCP_PEP_FAIRER,
        spoil=replaced("xcp_pep-delays-*", 0.5, "files.jain"),
        mend=all_of(
            replaced("xcp_pep-delays-*", 1.0, "files.jain"),
            replaced("xcp-delays-*", 0.8, "files.jain"),
            replaced("tcp_pep-delays-*", 0.8, "files.jain"),
        ),
    ),
    Statement(
        "C-RP-014",
        "fairness of MPCP PEP at 0.1 % loss with unlike side links",
        "above TCP PEP and above MPCP, by an improvement similar to XCP PEP's",
        _mpcp_pep_fairer,
        why=changes.MPCP_PEP_FAIRER,
        spoil=replaced("mpcp_pep-delays-*", 0.3, "files.jain"),
        mend=all_of(
            replaced("*cp_pep-delays-*", 1.0, "files.jain"),
            replaced("mpcp-delays-*", 0.8, "files.jain"),
            replaced("tcp_pep-delays-*", 0.8, "files.jain"),
        ),
    ),
    Statement(
        "C-RP-015",
        "time until the transmission is over at the server, with a proxy",
        "5 s",
        _at_the_server,
        why=changes.AT_THE_SERVER,
        spoil=replaced("xcp_pep-p0-*", 60.0, "sent_s"),
        mend=replaced("xcp_pep-p0-*", 5.0, "sent_s"),
    ),
    Statement(
        "C-RP-016",
        "cwnd at the server, with a proxy",
        "opens very fast",
        _opens_fast,
        why=changes.OPENS_FAST,
        spoil=replaced("xcp_pep-p0-*", 3.0, "open_s"),
        mend=all_of(
            replaced("*cp_pep-p0-*", 0.1, "open_s"),
            replaced("cubic26-p0-*", 4.0, "open_s"),
        ),
    ),
    Statement(
        "C-RP-017",
        "losses by congestion on the proxy's satellite leg, with XCP PEP and MPCP PEP",
        "none",
        _no_drops,
        spoil=replaced("xcp_pep-p0-r1", 7.0, "full_pkts"),
        mend=replaced("*cp_pep-*", 0.0, "full_pkts"),
    ),
    Statement(
        "C-RP-018",
        "the best TCP at the ends of a proxy's connections",
        "CUBIC",
        why_not="The paper states this and shows no comparison.",
    ),
    Statement(
        "C-RP-019",
        "average completion time with CUBIC on both legs of a proxy, without loss",
        "not improved significantly over CUBIC from end to end",
        _same_control,
        spoil=scaled("cubic_pep-p0-*", 0.1, "files.times_s"),
        mend=scaled("cubic_pep-p0-*", 10.0, "files.times_s"),
    ),
)
