"""Check: the claims of paper 004 on proxies, and on protocols compared with a proxy."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from headway.claims import Change, Claims, Seen, between, edited, words
from headway.claims.words import Check
from headway.experiment import Experiment
from headway.studies.common.runs import listed, paired, values
from headway.studies.rap_over_satellite.experiments import queue_of, starts_within
from headway.studies.rappep import observe
from headway.studies.rappep.experiments import CLEAN, LOSSY, SCHEMES, SIDES
from headway.studies.rappep.observe import ALL, SHARE, TIME, USED, Found, Row, all_runs
from headway.trace import Trace

CLAIMS: Claims[Found] = Claims(__name__)
OF_FIGURE_4 = ("cubic26", "vcp", "xcp", "mpcp", "tcp_pep")
"""Schemes that figures 3 and 4 compare; figure 5 compares the proxies."""
ASSISTED = {"xcp_pep": "xcp", "mpcp_pep": "mpcp"}
BOTH = (*ASSISTED, *ASSISTED.values())
OPEN_PKTS = observe.OPEN_PKTS
SWING_SHOWN = "Shown: the standard deviation of the link's use in each second"


def _means(found: Found, schemes: Iterable[str], form: str, *of: tuple[str, str]) -> str:
    """Means by scheme as text, each of a path and a number."""
    means = {SCHEMES[s]: tuple(found.mean(s, path, name) for path, name in of) for s in schemes}
    return listed(means, form)


def _less(found: Found, one: str, other: str, path: str, name: str) -> Check:
    """A scheme's number is less than another's, by the differences within each run."""
    return words.less(*found.paired(one, other, path, name))


def _more(found: Found, one: str, other: str, path: str, name: str) -> Check:
    return words.more(*found.paired(one, other, path, name))


def _all(path: str, *schemes: str) -> list[str]:
    """Keys of the trials of all runs of these schemes on a path."""
    return [f"{scheme}-{path}-*" for scheme in schemes]


def _queue(pkts: int, keys: Sequence[str]) -> Change:
    return Change(f"a queue of {pkts} packets", queue_of(pkts), keys)


def _large_files(keys: Sequence[str]) -> Change:
    return Change("files of 50 MB", edited({"flows.*.app.size": "50 MB"}), keys)


def _short_sides(keys: Sequence[str]) -> Change:
    def edit(experiment: Experiment) -> Experiment:
        data = experiment.model_dump(mode="json")
        for flow, of in zip(data["flows"], experiment.flows, strict=True):
            flow["delay"] = f"{round(of.delay * 0.1)} ns"
        return Experiment.model_validate(data)

    return Change("side links of up to 80 ms", edit, keys)


def _second_to_second(key: str, trace: Trace) -> Row:
    """Observe a trial with ``swing`` as the root mean square of changes from second to second."""
    row = observe.files(key, trace)
    first_s = min(flow.first_packet_ns or 0 for flow in trace.flows) / 1e9
    used = row.files.used_by_slot[row.files.slots_s > np.ceil(first_s)]
    return replace(row, swing=float(np.sqrt(np.mean(np.diff(used) ** 2))))


def _while_all_send(key: str, trace: Trace) -> Row:
    """Observe a trial with ``swing`` over the seconds in which all five files are being sent."""
    row = observe.files(key, trace)
    begins_s = np.array([flow.first_packet_ns or 0 for flow in trace.flows]) / 1e9
    slots_s = row.files.slots_s
    together = (slots_s - 1 >= begins_s.max()) & (slots_s <= (begins_s + row.files.times_s).min())
    used = row.files.used_by_slot[together]
    return replace(row, swing=float(used.std()) if used.size else float("nan"))


@CLAIMS.judge("C-RP-002", tries=[_queue(100, _all(CLEAN, "mpcp", "tcp_pep"))])
def _mpcp_faster(found: Found) -> Seen:
    ratio = found.mean("mpcp", CLEAN, TIME) / found.mean("tcp_pep", CLEAN, TIME)
    return Seen.by(
        ratio,
        # the claims list's range: "25 % faster" may mean 0.75 or 1/1.25
        words.within(ratio, 0.70, 0.85),
        _less(found, "mpcp", "tcp_pep", CLEAN, TIME),
        note="Shown: MPCP's time divided by TCP PEP's.",
    )


@CLAIMS.judge("C-RP-003", tries=[_queue(300, _all(CLEAN, *OF_FIGURE_4))])
def _users(found: Found) -> Seen:
    shown = {
        SCHEMES[one]: (100 * found.mean(one, CLEAN, USED), found.mean(one, CLEAN, TIME))
        for one in OF_FIGURE_4
    }
    vcp, xcp, mpcp = (found.mean(x, CLEAN, "converges_per_s") for x in ("vcp", "xcp", "mpcp"))

    def better(one: str, other: str) -> list[Check]:
        return [_more(found, one, other, CLEAN, USED), _less(found, one, other, CLEAN, TIME)]

    above = [
        check for a in ("xcp", "mpcp") for b in ("cubic26", "tcp_pep") for check in better(a, b)
    ]
    return Seen.by(
        listed(shown, "{:.0f} % and {:.1f} s"),
        words.every(above),
        *better("cubic26", "vcp"),
        *better("tcp_pep", "vcp"),
        words.is_so(vcp < min(xcp, mpcp), "VCP converges last"),
        note="Convergence is judged by the time until the link's mean utilization over 5 s "
        "reaches 80 %.",
    )


@CLAIMS.judge("C-RP-005", tries=[_queue(150, _all(LOSSY, "mpcp", "xcp", "tcp_pep"))])
def _lossy_faster(found: Found) -> Seen:
    both = ("mpcp", "xcp")
    tcp_pep_s = found.mean("tcp_pep", LOSSY, TIME)
    ratios = {SCHEMES[one]: found.mean(one, LOSSY, TIME) / tcp_pep_s for one in both}
    return Seen.by(
        listed(ratios, "{:.3g} of TCP PEP's"),
        # the claims list's range
        *(words.within(ratio, 0.60, 0.75) for ratio in ratios.values()),
        *(_less(found, one, "tcp_pep", LOSSY, TIME) for one in both),
    )


@CLAIMS.judge("C-RP-006")
def _slower(found: Found, schemes: Sequence[str] = OF_FIGURE_4) -> Seen:
    times = [
        [values(all_runs(found, f"{one}-{path}"), TIME) for path in (LOSSY, CLEAN)]
        for one in schemes
    ]
    return Seen.by(
        _means(found, schemes, "{:.1f} and {:.1f} s", (CLEAN, TIME), (LOSSY, TIME)),
        words.every([words.more(*paired(*both_s, skip_nan=False)) for both_s in times]),
    )


def _saved(found: Found, scheme: str, path: str) -> list[float]:
    """The part of TCP PEP's time that a scheme saves, by run."""
    own, tcp_pep = (values(all_runs(found, f"{x}-{path}"), TIME) for x in (scheme, "tcp_pep"))
    return [1 - time_s / other_s for time_s, other_s in zip(own, tcp_pep, strict=False)]


@CLAIMS.judge("C-RP-007")
def _gap_grows(found: Found) -> Seen:
    gaps = {
        SCHEMES[one]: paired(*(_saved(found, one, x) for x in (LOSSY, CLEAN)), skip_nan=False)
        for one in ("xcp", "mpcp")
    }
    return Seen.by(
        listed({name: (clean, lossy.mean) for name, (lossy, clean) in gaps.items()},
               "{:.2f} and {:.2f}"),
        *(words.more(*gap) for gap in gaps.values()),
        note="Shown: the part of TCP PEP's time that each protocol saves, without loss and at 1 %.",
    )  # fmt: skip


_HALVE = edited({"flows.*.control.tunables.on_loss": "halve"})
_FIGURE_4 = _all(LOSSY, *OF_FIGURE_4)
_FIGURES_4_5 = _all(LOSSY, "xcp", "mpcp", *ASSISTED)


@CLAIMS.judge(
    "C-RP-008",
    tries=[
        Change("XCP and MPCP that halve the window on a loss", _HALVE, _all(LOSSY, "xcp", "mpcp")),
        Change(
            "the change of the utilization from second to second as the measure",
            None,
            _FIGURE_4,
            _second_to_second,
        ),
    ],
)
def _worst_swing(found: Found, schemes: Sequence[str] = OF_FIGURE_4) -> Seen:
    others = [scheme for scheme in schemes if scheme != "tcp_pep"]
    return Seen.by(
        _means(found, schemes, "{:.3g}", (LOSSY, "swing")),
        words.every([_more(found, "tcp_pep", other, LOSSY, "swing") for other in others]),
        note=f"{SWING_SHOWN}.",
    )


@CLAIMS.judge(
    "C-RP-009",
    tries=[
        _large_files(_FIGURES_4_5),
        Change(
            "start times of the files within 10 s instead of 2.5 s", starts_within(10), _FIGURES_4_5
        ),
        Change(
            "only the seconds in which all files are being sent as the measured time",
            keys=_FIGURES_4_5,
            observe=_while_all_send,
        ),
    ],
)
def _calmer_and_sooner(found: Found) -> Seen:
    return Seen.by(
        _means(found, BOTH, "{:.3f} and {:.1f} s", (LOSSY, "swing"), (LOSSY, "steady_s")),
        *(_less(found, p, r, LOSSY, "swing") for p, r in ASSISTED.items()),
        *(_more(found, p, r, LOSSY, "converges_per_s") for p, r in ASSISTED.items()),
        note=f"{SWING_SHOWN}, and the time until the mean use over 5 s reaches 80 %.",
    )


@CLAIMS.judge("C-RP-010")
def _in_the_end(found: Found) -> Seen:
    pairs = [[found.mean(x, LOSSY, "most_used") for x in pair] for pair in ASSISTED.items()]
    return Seen.by(
        _means(found, BOTH, "{:.3g}", (LOSSY, "most_used")),
        *(words.similar(*most) for most in pairs),
        note="Shown: the largest mean use of the link over 5 s.",
    )


@CLAIMS.judge("C-RP-011")
def _who_ends_first(found: Found) -> Seen:
    shown = _means(found, ASSISTED, "{:.3g} s", (LOSSY, ALL))
    return Seen.by(shown, _less(found, "mpcp_pep", "xcp_pep", LOSSY, ALL))


@CLAIMS.judge("C-RP-012", tries=[_short_sides(["xcp_pep-delays-*", "mpcp_pep-delays-*"])])
def _time_or_fairness(found: Found) -> Seen:
    return Seen.by(
        _means(found, ASSISTED, "{:.1f} s and {:.3f}", (LOSSY, TIME), (SIDES, SHARE)),
        _less(found, "mpcp_pep", "xcp_pep", LOSSY, TIME),
        _more(found, "xcp_pep", "mpcp_pep", SIDES, SHARE),
        note="Shown: the average completion time at 1 % loss, and Jain's index with side links of "
        "different delays.",
    )


_XCP_SIDES = ["xcp_pep-delays-*", "tcp_pep-delays-*", "xcp-delays-*"]


@CLAIMS.judge(
    "C-RP-013", tries=[_large_files(_XCP_SIDES), _short_sides(_XCP_SIDES), _queue(100, _XCP_SIDES)]
)
def _xcp_pep_fairer(found: Found) -> Seen:
    pairs = [found.paired("xcp_pep", one, SIDES, SHARE) for one in ("xcp", "tcp_pep")]
    return Seen.by(
        _means(found, ("xcp_pep", "xcp", "tcp_pep"), "{:.3g}", (SIDES, SHARE)),
        *(words.significantly_more(*pair) for pair in pairs),
        words.within(found.mean("xcp_pep", SIDES, SHARE), 0.9, 1),
        note="Shown: Jain's index. By the claims list XCP PEP's index must be at least 0.9.",
    )


_MPCP_SIDES = [f"{one}-delays-*" for one in ("mpcp_pep", "mpcp", "tcp_pep", "xcp_pep")]


@CLAIMS.judge("C-RP-014", tries=[_large_files(_MPCP_SIDES), _short_sides(_MPCP_SIDES)])
def _mpcp_pep_fairer(found: Found) -> Seen:
    schemes = ("mpcp_pep", "mpcp", "tcp_pep", "xcp_pep")
    mpcp_pep, _, tcp_pep, xcp_pep = (found.mean(one, SIDES, SHARE) for one in schemes)
    return Seen.by(
        _means(found, schemes, "{:.3g}", (SIDES, SHARE)),
        *(_more(found, "mpcp_pep", one, SIDES, SHARE) for one in ("mpcp", "tcp_pep")),
        words.similar(mpcp_pep - tcp_pep, xcp_pep - tcp_pep),
        note="Shown: Jain's index. The improvements over TCP PEP's index are compared.",
    )


@CLAIMS.judge("C-RP-015")
def _at_the_server(found: Found) -> Seen:
    return between(
        found.mean("xcp_pep", CLEAN, "sent_s"),
        3.5,
        6.5,  # the claims list's range
        unit="s",
        note="Shown: the time from a file's first packet at the server to the last "
        "acknowledgement.",
    )


@CLAIMS.judge("C-RP-016")
def _opens_fast(found: Found) -> Seen:
    rows = [row for scheme in ASSISTED for row in all_runs(found, f"{scheme}-{CLEAN}")]
    slowest = float(np.max([row.open_s.max() for row in rows]))
    own = found.mean("cubic26", CLEAN, "open_s")
    return Seen.by(
        f"{OPEN_PKTS} packets after {slowest:.3f} s at most; without a proxy {own:.2f} s in the "
        "mean",
        words.within_one_round_trip(slowest, 0.8),
        words.within(own, 0.8, math.inf, "later without a proxy"),
        note=f"Shown: the time until cwnd reaches {OPEN_PKTS} packets.",
    )


@CLAIMS.judge("C-RP-017")
def _no_drops(found: Found) -> Seen:
    trials = [f"{scheme}-{path}" for scheme in ASSISTED for path in (CLEAN, LOSSY, SIDES)]
    drops = sum(row.full_pkts for trial in trials for row in all_runs(found, trial))
    return between(drops, 0, 0, unit="packets")


@CLAIMS.judge("C-RP-019")
def _same_control(found: Found) -> Seen:
    schemes = ("cubic_pep", "cubic26")
    split, whole = (found.mean(one, CLEAN, TIME) for one in schemes)
    shown = _means(found, schemes, "{:.1f} s", (CLEAN, TIME))
    return Seen.by(shown, words.not_significantly_less(split, whole))


# ---- On the kernel ----

_THERE = ("cubic26", "tcp_pep")


def _no_drops_there(found: Found) -> Seen:
    """Judged over all trials of the run. The quick form has fewer."""
    drops = [row.full_pkts for key, row in found.items() if key.split("-")[0] in ASSISTED]
    return between(sum(drops), 0, 0, unit="packets")


_BY_ID = {one.id: one for one in CLAIMS.statements()}
_SLOWER, _WORST = (partial(judge, schemes=_THERE) for judge in (_slower, _worst_swing))
OF_KERNEL = (
    replace(_BY_ID["C-RP-006"], look=_SLOWER, part="CUBIC and TCP PEP"),
    replace(_BY_ID["C-RP-008"], look=_WORST, part="compared with CUBIC"),
    *(_BY_ID[name] for name in ("C-RP-011", "C-RP-012", "C-RP-015", "C-RP-016")),
    replace(_BY_ID["C-RP-017"], look=_no_drops_there),
)
"""Statements on schemes that run there, by the kernel's trials: router protocols from end to end
need the simulator's."""
