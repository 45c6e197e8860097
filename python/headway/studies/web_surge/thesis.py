"""Check: how the statements on the thesis' users are judged; C-TH-169 to 174 and 280.

Two schemes load the same pages. The interval of a difference is therefore that of the differences
of ten batches of pages in pairs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

from headway.claims import Seen, words
from headway.claims.words import Check
from headway.metrics.stats import Estimate, confidence_interval
from headway.studies.web_surge.experiments import HTTP, MODELS
from headway.studies.web_surge.observe import Found, Loads

SLOW = "slow-start"
QUICK, JUMP = FAST = ("quick-start", "jump-start")
LATE = "quick-start-late"
EACH = tuple(HTTP)
KEPT = ("1.1", "1.1p")
RATHER_SMALL_S = 0.5
"""What the claims list takes "rather small" for."""


def spread(gains: Mapping[str, float]) -> str:
    """The least and the most that is saved, in words."""
    return f"{min(gains.values()):+.2f} to {max(gains.values()):+.2f} s"


def _saved_apart(
    slow: Loads,
    fast: Loads,
    batches: Callable[[Loads], Sequence[float]] = lambda own: own.batches_s,
) -> Estimate | None:
    """The time saved, from batch to batch; None: too few pages."""
    pairs = list(zip(batches(slow), batches(fast), strict=False))
    return confidence_interval([one - other for one, other in pairs]) if pairs else None


def paired(slow: Loads, fast: Loads) -> Estimate:
    """The mean time with a faster start; its interval is that of its difference to slow start."""
    saved = _saved_apart(slow, fast)
    return Estimate(fast.mean_s, None, saved.half_width if saved else None, fast.count)


def faster(slow: Loads, fast: Loads) -> Check:
    """A scheme takes less time than slow start."""
    return words.less(paired(slow, fast), slow.mean_s)


def significantly_faster(slow: Loads, fast: Loads) -> Check:
    """A scheme takes significantly less time than slow start."""
    return words.significantly_less(paired(slow, fast), slow.mean_s)


# ---- The thesis' user ----


def _alone(
    found: Found, models: Sequence[str] = tuple(MODELS), https: Sequence[str] = EACH
) -> dict[str, tuple[Loads, Loads]]:
    """Slow start and a faster start of one user, by "scheme model HTTP"."""
    return {
        f"{scheme} {model} {http}": (
            found.thesis(model, http, SLOW),
            found.thesis(model, http, scheme),
        )
        for scheme in FAST
        for model in models
        for http in https
    }


def _thesis_saved(
    found: Found, model: str, scheme: str, https: Sequence[str] = EACH
) -> dict[str, float]:
    """Seconds that a scheme saves one user, by HTTP."""
    return {
        http: found.thesis(model, http, SLOW).mean_s - found.thesis(model, http, scheme).mean_s
        for http in https
    }


def _told(found: Found, model: str, https: Sequence[str] = EACH) -> str:
    return "; ".join(
        f"{scheme} {spread(_thesis_saved(found, model, scheme, https))}" for scheme in FAST
    )


def all_gain(found: Found) -> Seen:
    """Both schemes are faster with each model and each HTTP."""
    checks = {name: faster(*pair) for name, pair in _alone(found).items()}
    slower = [name for name, check in checks.items() if not check.holds]
    return Seen.by(
        f"{len(checks) - len(slower)} of {len(checks)}",
        words.every(checks),
        note=f"Not faster by more than the interval: {', '.join(slower)}." if slower else "",
    )


def rather_small(found: Found) -> Seen:
    """SURGE's default saves little."""
    gains = [_thesis_saved(found, "default", scheme) for scheme in FAST]
    return Seen.by(
        _told(found, "default"),
        *(at_most_half_a_second(value) for own in gains for value in own.values()),
    )


def at_most_half_a_second(saved_s: float) -> Check:
    """An absolute difference that is rather small."""
    return words.within(abs(saved_s), -math.inf, RATHER_SMALL_S, f"< {RATHER_SMALL_S} s")


def over_a_second(found: Found) -> Seen:
    """Large files over HTTP/1.0 save more than a second."""
    saved = {scheme: _thesis_saved(found, "large", scheme)["1.0"] for scheme in FAST}
    return Seen.by(
        ", ".join(f"{scheme} {value:.2f} s" for scheme, value in saved.items()),
        *(words.within(value, 1, math.inf, "> 1 s") for value in saved.values()),
    )


def persistent(found: Found) -> Seen:
    """Connections that stay open save a significant part of the time."""
    pairs = _alone(found, ("large",), KEPT)
    return Seen.by(
        _told(found, "large", KEPT),
        words.every({name: significantly_faster(*pair) for name, pair in pairs.items()}),
    )


def small_and_big(found: Found) -> Seen:
    """Parts of the time that small and large pages save."""
    small = _parts(found, "default", lambda pages: pages.small_s)
    large = _parts(found, "large", lambda pages: pages.large_s)
    widths = (
        _widest(found, "default", lambda pages: pages.small_s, lambda own: own.small_batches_s),
        _widest(found, "large", lambda pages: pages.large_s, lambda own: own.large_batches_s),
    )
    return Seen.by(
        f"5 to 20 kB: {_percent(small)}; from 50 kB on: {_percent(large)}",
        words.every([words.hardly(value) for own in small.values() for value in own]),
        words.every(_significantly(found)),
        note="With HTTP/1.0, 1.1 and pipelining; small pages of SURGE's default, large ones of "
        f"the large files. The 95 % intervals reach up to ±{widths[0]:.0f} and "
        f"±{widths[1]:.0f} percentage points.",
    )


def _significantly(found: Found) -> dict[str, Check]:
    """Large pages of both schemes with each HTTP."""
    checks = {}
    for name, (slow, fast) in _alone(found, ("large",)).items():
        saved = _saved_apart(slow, fast, lambda own: own.large_batches_s)
        mine = Estimate(fast.large_s, None, saved.half_width if saved else None, fast.count)
        checks[name] = words.significantly_less(mine, slow.large_s)
    return checks


def _widest(
    found: Found,
    model: str,
    time: Callable[[Loads], float],
    batches: Callable[[Loads], Sequence[float]],
) -> float:
    """The widest half of an interval among the parts that are saved, %; NaN: too few pages."""
    widths = []
    for scheme in FAST:
        for http in HTTP:
            slow, fast = (found.thesis(model, http, each) for each in (SLOW, scheme))
            saved = _saved_apart(slow, fast, batches)
            width = saved and saved.half_width
            widths.append(100 * width / time(slow) if width else math.nan)
    return max(widths)


def _parts(found: Found, model: str, time: Callable[[Loads], float]) -> dict[str, list[float]]:
    """Parts of slow start's time that each scheme saves, by HTTP."""
    return {
        scheme: [
            1 - time(found.thesis(model, http, scheme)) / time(found.thesis(model, http, SLOW))
            for http in HTTP
        ]
        for scheme in FAST
    }


def _percent(saved: Mapping[str, Sequence[float]]) -> str:
    return ", ".join(
        f"{scheme} {', '.join(f'{100 * value:.0f}' for value in own)} %"
        for scheme, own in saved.items()
    )


# ---- The thesis' users ----


def _loaded(found: Found, model: str) -> tuple[int, ...]:
    """The numbers of users above one, with which the load is increased."""
    return found.users(model)[1:]  # type: ignore[arg-type]


def _equal_or_worse(slow: Loads, quick: Loads) -> Check:
    """Not faster: at most 2 % less time, or the 95 % interval of the difference includes 0.

    These are the bounds of "identical". More time is allowed.
    """
    ratio = quick.mean_s / slow.mean_s
    saved = _saved_apart(slow, quick)
    width = ((saved and saved.half_width) or 0.0) / slow.mean_s
    least = 1 - max(words.IDENTICAL, width)
    check = words.within(ratio, least, math.inf, "not 2 % less, or within the 95 % interval")
    return dataclasses.replace(check, words=frozenset({"more"}))


def denied(found: Found) -> Seen:
    """Quick-Start at high load takes as long as slow start, or longer."""
    told, checks = [], []
    for model in MODELS:
        for scheme in (QUICK, LATE):
            by_load = {}
            for users in _loaded(found, model):
                slow, quick = (found.thesis(model, "1.1", each, users) for each in (SLOW, scheme))
                by_load[float(users)] = _equal_or_worse(slow, quick)
            checks.append(words.at_high_load(by_load))
        for users in _loaded(found, model)[-2:]:
            slow = found.thesis(model, "1.1", SLOW, users)
            early, late = (
                found.thesis(model, "1.1", scheme, users).mean_s / slow.mean_s
                for scheme in (QUICK, LATE)
            )
            told.append(
                f"{MODELS[model]}, {users} users ({100 * slow.utilization:.0f} % load): early "
                f"{early:.2f}, late {late:.2f}"
            )
    return Seen.by("; ".join(told), *checks)


def still_faster(found: Found) -> Seen:
    """Jump-Start at high load takes less time than slow start."""
    told, checks, saved = [], [], []
    for model in MODELS:
        pairs = {
            users: tuple(found.thesis(model, "1.1", scheme, users) for scheme in (SLOW, JUMP))
            for users in _loaded(found, model)
        }
        checks.append(
            words.at_high_load(
                {float(users): faster(slow, jump) for users, (slow, jump) in pairs.items()}
            )
        )
        for users in _loaded(found, model)[-2:]:
            slow, jump = pairs[users]
            told.append(
                f"{MODELS[model]}: {jump.mean_s:.2f} of {slow.mean_s:.2f} s at "
                f"{100 * slow.utilization:.0f} % load"
            )
            if (one := _saved_apart(slow, jump)) is not None:
                saved.append(f"{one.mean:.2f} ±{one.half_width:.2f} s")
    return Seen.by(
        "; ".join(told),
        *checks,
        note=f"Saved, with its 95 % interval: {', '.join(saved)}." if saved else "",
    )
