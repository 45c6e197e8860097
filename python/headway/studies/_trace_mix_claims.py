"""The statements of thesis section 6.4.5 on realistic traffic, and of its workload."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from headway.claims import Claim, Seen, Statement, between
from headway.claims import Evidence as Trials
from headway.claims import judge as evaluate
from headway.models.distributions import TruncatedPareto
from headway.studies.common import pairs
from headway.studies.common.pairs import Outcome
from headway.workloads import SessionTable, Workload, published, sessions

LOADS = (0.06, 0.15, 0.35, 0.5, 0.65)
SMALL, MODERATE = 0.06, 0.35
TAIL = 0.95
LARGE = 10_000.0
SIZES = tuple(float(size) for size in np.geomspace(100, 1e7, 21))
ENOUGH = 30
"""Exchanges that a size needs to be drawn."""

SCHEMES = (
    pairs.SLOW_START,
    pairs.JUMP_START,
    pairs.SMALL_JUMP_START,
    pairs.INITIAL_START,
    pairs.MEGA_START,
    *pairs.QUICK_STARTS,
)

Found = Trials[Outcome]


def key(scheme: str, load: float) -> str:
    """A trial's name: "jump-start-35"."""
    return f"{scheme}-{round(100 * load):02d}"


def all_claims(results: Mapping[str, Outcome], workload: Workload) -> list[Claim]:
    """Claims of the results, and of the sessions that they were made with."""
    return evaluate(_STATEMENTS, Trials(results)) + evaluate(
        _WORKLOAD, Trials({"sessions": sessions(workload)})
    )


def _at(found: Found, scheme: str, load: float = MODERATE) -> Outcome:
    return found[key(scheme, load)]


def _gain(found: Found, scheme: str, load: float = MODERATE) -> float:
    """Part of slow start's mean epoch duration that a scheme saves."""
    return 1 - _at(found, scheme, load).mean_s / _at(found, "slow-start", load).mean_s


def _gain_large_s(found: Found, scheme: str, load: float) -> float:
    """What exchanges with more than 10 kB save on average, seconds."""
    return (
        _at(found, "slow-start", load).sized(LARGE, np.inf).mean_s
        - _at(found, scheme, load).sized(LARGE, np.inf).mean_s
    )


def _percent(value: float) -> str:
    return f"{100 * value:+.1f} %"


def _means_differ(found: Found) -> Seen:
    slow = _at(found, "slow-start").mean_s
    off = {s.key: _at(found, s.key).mean_s / slow - 1 for s in SCHEMES[1:]}
    most = max(off, key=lambda k: abs(off[k]))
    return Seen(
        f"at most {_percent(off[most])} ({most})", abs(off[most]) <= 0.3, "±30 % of Slow-Start"
    )


def _shifted_left(found: Found) -> Seen:
    points = (0.3, 0.5, 0.7, 1.0)
    shares = {
        scheme: [_at(found, scheme).above(t) for t in points]
        for scheme in ("slow-start", "jump-start", "initial-start")
    }
    better = all(
        mine < slow
        for scheme in ("jump-start", "initial-start")
        for mine, slow in zip(shares[scheme], shares["slow-start"], strict=True)
    )
    words = "; ".join(
        f"{scheme}: " + ", ".join(f"{100 * share:.2f}" for share in row)
        for scheme, row in shares.items()
    )
    return Seen(f"% above 0.3, 0.5, 0.7, 1 s: {words}", better)


def _mega_tail(found: Found) -> Seen:
    mega, slow = (_at(found, scheme).above(2.5) for scheme in ("mega-start", "slow-start"))
    return Seen(f"{100 * mega:.2f} % against {100 * slow:.2f} % above 2.5 s", mega > slow)


def _useless(found: Found) -> Seen:
    gain = _gain(found, "quick-start")
    return Seen(f"gain {_percent(gain)}", gain < 0.05, "gain < 5 %")


def _slight(found: Found) -> Seen:
    useful = {s: _gain(found, s) for s in ("quick-start-optimistic", "quick-start-chi")}
    other = _gain(found, "quick-start")
    words = ", ".join(f"{s} {_percent(g)}" for s, g in [*useful.items(), ("quick-start", other)])
    return Seen(words, min(useful.values()) > max(0.0, other))


def _large_gain(found: Found) -> Seen:
    gains = {
        (s, load): _gain_large_s(found, s, load)
        for s in ("jump-start", "quick-start-chi")
        for load in (SMALL, MODERATE)
    }
    words = ", ".join(f"{s} {1e3 * g:.0f} ms at {100 * at:g} %" for (s, at), g in gains.items())
    return between(max(gains.values()), 0.1, 0.6, unit="s", note=f"All above 10 kB: {words}.")


def _jump_everywhere(found: Found) -> Seen:
    small, moderate = (_gain_large_s(found, "jump-start", load) for load in (SMALL, MODERATE))
    return between(
        moderate / small if small else math.inf,
        0.7,
        1.3,
        note=f"{1e3 * small:.0f} ms at 6 %, {1e3 * moderate:.0f} ms at 35 %.",
    )


def _quick_at_small_load(found: Found) -> Seen:
    small, moderate = (_gain_large_s(found, "quick-start-chi", load) for load in (SMALL, MODERATE))
    return Seen(
        f"{1e3 * small:.0f} ms at 6 %, {1e3 * moderate:.0f} ms at 35 %",
        moderate < small / 2,
        "less than half",
    )


def _small_transfers(found: Found) -> Seen:
    sizes = _at(found, "slow-start").rows["response_bytes"]
    share = float((sizes < LARGE).to_numpy().mean())
    return between(share, 0.5, 1.0)


def _slow_loss(found: Found) -> Seen:
    return between(
        100 * _at(found, "slow-start").loss,
        0.5,
        2.0,
        unit="%",
        note="Each connection's large responses overshoot anew; how much of the traces' bytes "
        "they have, and how many exchanges a connection, is not printed.",
    )


def _more_loss(found: Found, scheme: str, load: float = MODERATE) -> float:
    """Percentage points more than slow start."""
    return 100 * (_at(found, scheme, load).loss - _at(found, "slow-start", load).loss)


def _jump_loss(found: Found) -> Seen:
    return between(_more_loss(found, "jump-start"), 0.3, 2.0, unit="percentage points")


def _initial_beside_jump(found: Found) -> Seen:
    initial, jump = (_at(found, s) for s in ("initial-start", "jump-start"))
    ratio = initial.quantile_s(TAIL) / jump.quantile_s(TAIL)
    return Seen(
        f"95 % quantile {_percent(ratio - 1)}, loss {100 * initial.loss:.2f} and "
        f"{100 * jump.loss:.2f} %",
        abs(ratio - 1) <= 0.1 and initial.loss < jump.loss,
        "quantile ±10 %, loss by sign",
    )


def _pacing_matters_little(found: Found) -> Seen:
    small, initial = (_at(found, s).quantile_s(TAIL) for s in ("jump-start-10", "initial-start"))
    return between(
        100 * (small / initial - 1),
        -5,
        5,
        unit="%",
        note="95 % quantile. Paced, ten packets take up to one round trip longer (table 6.1).",
    )


def _mega_loss(found: Found) -> Seen:
    losses = [100 * _at(found, "mega-start", load).loss for load in LOADS]
    return between(max(losses), 3.0, np.inf, unit="%", note="The largest of all loads.")


def _quick_beside_ends(found: Found) -> Seen:
    quick = _at(found, "quick-start-chi", SMALL).quantile_s(TAIL)
    ends = [_at(found, s, SMALL).quantile_s(TAIL) for s in ("jump-start", "initial-start")]
    off = min(ends, key=lambda one: abs(quick - one))
    return between(
        100 * (quick / off - 1),
        -10,
        10,
        unit="%",
        note="Threshold 10 kB, 95 % quantile, 6 %; a request with data costs a round trip.",
    )


def _quick_loss(found: Found) -> Seen:
    more = {s.key: _more_loss(found, s.key) for s in pairs.QUICK_STARTS}
    words = ", ".join(f"{s} {value:+.2f}" for s, value in more.items())
    return Seen(words, max(more.values()) < 1.0, "< +1", "percentage points")


def _quick_longer(found: Found) -> Seen:
    off = {}
    for load in (MODERATE, 0.5):
        quick, slow = (_at(found, s, load).quantile_s(TAIL) for s in ("quick-start", "slow-start"))
        off[load] = quick / slow - 1
    words = ", ".join(f"{_percent(o)} at {100 * load:g} %" for load, o in off.items())
    return Seen(words, max(off.values()) > 0)


def _optimistic_loss(found: Found) -> Seen:
    more = 100 * (_at(found, "quick-start-optimistic").loss - _at(found, "quick-start").loss)
    return between(more, -np.inf, 0.5, unit="percentage points")


def _jump_like_quick(found: Found) -> Seen:
    ratio = _at(found, "jump-start").mean_s / _at(found, "quick-start-chi").mean_s
    return between(100 * (ratio - 1), -10, 10, unit="%", note="Mean epoch duration at 35 %.")


_STATEMENTS: tuple[Statement[Found], ...] = (
    Statement("C-TH-175", "mean epoch durations differ little", "rather small", _means_differ),
    Statement(
        "C-TH-176",
        "Jump- and Initial-Start improve epochs of several hundred milliseconds",
        "improved",
        _shifted_left,
    ),
    Statement("C-TH-177", "Mega-Start: more epochs of the order of 3 s", "increased", _mega_tail),
    Statement(
        "C-TH-178",
        "Quick-Start for every transfer, target algorithm: benefit",
        "hardly any",
        _useless,
    ),
    Statement(
        "C-TH-179",
        "Quick-Start helps with the optimistic algorithm or a threshold of 10 kB only",
        "slight improvement",
        _slight,
    ),
    Statement(
        "C-TH-182",
        "mean epoch duration of transfers above 10 kB is reduced",
        "up to some hundred milliseconds",
        _large_gain,
    ),
    Statement(
        "C-TH-183", "Jump-Start's gain hardly depends on load", "independent", _jump_everywhere
    ),
    Statement(
        "C-TH-184", "Quick-Start gains only at small load", "only small load", _quick_at_small_load
    ),
    Statement("C-TH-185", "part of transfers below 10 kB", "most", _small_transfers),
    Statement("C-TH-186", "loss with an unmodified stack", "of the order of 1 %", _slow_loss),
    Statement("C-TH-187", "Jump-Start's additional loss", "about 1 %", _jump_loss),
    Statement(
        "C-TH-188",
        "Initial-Start beside Jump-Start",
        "similar speedup, less loss",
        _initial_beside_jump,
    ),
    Statement(
        "C-TH-189",
        "Jump-Start with K_data = 10 L beside Initial-Start",
        "almost the same",
        _pacing_matters_little,
    ),
    Statement("C-TH-190", "Mega-Start's loss as the load grows", "can exceed 3 %", _mega_loss),
    Statement(
        "C-TH-191",
        "Quick-Start's speedup at small load beside end-to-end schemes",
        "comparable",
        _quick_beside_ends,
    ),
    Statement("C-TH-192", "Quick-Start's additional loss", "moderate", _quick_loss),
    Statement(
        "C-TH-193",
        "Quick-Start for every transfer at moderate load, target algorithm",
        "can be slower than Slow-Start",
        _quick_longer,
    ),
    Statement(
        "C-TH-194",
        "loss with the optimistic algorithm beside target",
        "not significantly more",
        _optimistic_loss,
    ),
    Statement("C-TH-263", "Jump-Start's additional loss (summary)", "about 1 %", _jump_loss),
    Statement(
        "C-TH-281",
        "pacing a burst of ten segments",
        "few benefit",
        _pacing_matters_little,
    ),
    Statement(
        "C-TH-291",
        "Jump-Start beside intelligently used Quick-Start, on average",
        "quite similar",
        _jump_like_quick,
    ),
    Statement(
        "C-TH-292",
        "every transfer requests 5.12 Mbit/s, target algorithm: benefit",
        "hardly any",
        _useless,
    ),
)

_Table = Trials[SessionTable]


def _mean_response(found: _Table) -> Seen:
    return between(float(found["sessions"].response_bytes.mean()) / 1e3, 11.2, 16.8, unit="kB")


def _mean_request(found: _Table) -> Seen:
    return between(float(found["sessions"].request_bytes.mean()) / 1e3, 0.7, 1.3, unit="kB")


TAIL_PART = 0.02
"""Of the responses, the largest: what a Pareto tail is fitted to."""


def tail_fit(table: SessionTable) -> TruncatedPareto:
    """The largest responses as a truncated Pareto; its shape is of maximum likelihood."""
    sizes = table.response_bytes.astype(np.float64)
    low = float(np.quantile(sizes, 1 - TAIL_PART))
    high = max(float(published.CUTOFF_BYTES), float(sizes.max()))
    logs = np.log(sizes[sizes >= low] / low)
    span = np.log(high / low)
    shapes = np.linspace(0.1, 4.0, 3901)
    likelihood = np.log(shapes / -np.expm1(-shapes * span)) - shapes * logs.mean()
    return TruncatedPareto(low, float(shapes[int(np.argmax(likelihood))]), high)


def _tail_shape(found: _Table) -> Seen:
    return between(tail_fit(found["sessions"]).shape, 0.9, 1.3)


def _arrivals(found: _Table) -> Seen:
    gaps = np.sort(np.diff(found["sessions"].start_us))
    steps = np.arange(1, gaps.size + 1) / gaps.size
    distance = float(np.abs(1 - np.exp(-gaps / gaps.mean()) - steps).max())
    return between(distance, 0.0, 0.05, note="Kolmogorov-Smirnov distance to the exponential.")


def _above_window(found: _Table) -> Seen:
    table = found["sessions"]
    window = published.INITIAL_WINDOW_BYTES
    asked = 100 * float((table.request_bytes > window).mean())
    given = 100 * float((table.response_bytes > window).mean())
    return Seen(
        f"{asked:.1f} % of requests, {given:.1f} % of responses",
        abs(given - 25) <= 5 and abs(asked - 1) <= 1,
        "±5 percentage points of responses, ±1 of requests",
    )


_WORKLOAD: tuple[Statement[_Table], ...] = (
    Statement("C-TH-002", "mean response of the campus traces", "14 kB", _mean_response),
    Statement("C-TH-003", "mean request of the campus traces", "1 kB", _mean_request),
    Statement("C-TH-004", "shape of the responses' tail", 1.1, _tail_shape),
    Statement("C-TH-005", "times between connection vectors", "almost exponential", _arrivals),
    Statement(
        "C-TH-006",
        "larger than the initial window",
        "1 % of requests, 25 % of responses",
        _above_window,
    ),
)
