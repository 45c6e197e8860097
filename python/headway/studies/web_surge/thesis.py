"""Check: how what is said of the thesis' users is judged; C-TH-169 to 174 and 280."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from headway.claims import Seen
from headway.metrics.stats import Estimate, confidence_interval
from headway.studies.web_surge.experiments import HTTP, MODELS
from headway.studies.web_surge.observe import Found, Loads

SLOW = "slow-start"
QUICK, JUMP = FAST = ("quick-start", "jump-start")
LATE = "quick-start-late"
EACH = tuple(HTTP)
KEPT = ("1.1", "1.1p")
EQUAL = 0.95
"""Of slow start's time: what is less is faster."""


def spread(gains: Mapping[str, float]) -> str:
    """The least and the most that is saved, in words."""
    return f"{min(gains.values()):+.2f} to {max(gains.values()):+.2f} s"


# ---- The thesis' user ----


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
    """All that is saved is above 0, and how sure that is."""
    every = [
        value
        for scheme in FAST
        for model in MODELS
        for value in _thesis_saved(found, model, scheme).values()
    ]
    sure = [
        _surely(_saved_apart(found.thesis(model, http, SLOW), found.thesis(model, http, scheme)))
        for scheme in FAST
        for model in MODELS
        for http in EACH
    ]
    return Seen(
        f"{sum(value > 0 for value in every)} of {len(every)}",
        all(value > 0 for value in every),
        note=f"The 95 % interval of what is saved, by ten batches in pairs, is above 0 in "
        f"{sum(sure)} of {len(sure)}.",
    )


def _saved_apart(
    slow: Loads,
    fast: Loads,
    batches: Callable[[Loads], Sequence[float]] = lambda own: own.batches_s,
) -> Estimate | None:
    """What is saved, from batch to batch: both load the same pages; None: too few pages."""
    pairs = list(zip(batches(slow), batches(fast), strict=False))
    return confidence_interval([one - other for one, other in pairs]) if pairs else None


def _surely(saved: Estimate | None) -> bool:
    return saved is not None and saved.half_width is not None and saved.mean > saved.half_width


def rather_small(found: Found) -> Seen:
    """SURGE's default saves little."""
    gains = [_thesis_saved(found, "default", scheme) for scheme in FAST]
    within = all(abs(value) < 0.5 for own in gains for value in own.values())
    return Seen(_told(found, "default"), within, "< 0.5 s")


def over_a_second(found: Found) -> Seen:
    """Large files over HTTP/1.0 save more than a second."""
    saved = {scheme: _thesis_saved(found, "large", scheme)["1.0"] for scheme in FAST}
    return Seen(
        ", ".join(f"{scheme} {value:.2f} s" for scheme, value in saved.items()),
        all(value > 1 for value in saved.values()),
        "> 1 s",
    )


def persistent(found: Found) -> Seen:
    """Connections that stay open save something."""
    gains = [_thesis_saved(found, "large", scheme, KEPT) for scheme in FAST]
    positive = all(value > 0 for own in gains for value in own.values())
    return Seen(_told(found, "large", KEPT), positive)


def small_and_big(found: Found) -> Seen:
    """Parts of the time that small and large pages save."""
    small = _parts(found, "default", lambda pages: pages.small_s)
    large = _parts(found, "large", lambda pages: pages.large_s)
    widths = (
        _widest(found, "default", lambda pages: pages.small_s, lambda own: own.small_batches_s),
        _widest(found, "large", lambda pages: pages.large_s, lambda own: own.large_batches_s),
    )
    return Seen(
        f"5 to 20 kB: {_percent(small)}; from 100 kB on: {_percent(large)}",
        all(value < 0.10 for own in small.values() for value in own)
        and all(value > 0.30 for own in large.values() for value in own),
        "< 10 % and > 30 %",
        note="With HTTP/1.0, 1.1 and pipelining; small pages of SURGE's default, large ones of "
        "large files. Slow start sends 10 kB in two or three round trips of 200 ms, and each that "
        "is saved is more than a tenth of the page's time. Their 95 % intervals, by ten batches in "
        f"pairs, reach up to ±{widths[0]:.0f} and ±{widths[1]:.0f} points.",
    )


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


def denied(found: Found) -> Seen:
    """Quick-Start with most users."""
    most = {m: found.thesis(m, "1.1", SLOW, found.users(m)[-1]) for m in MODELS}
    over = {
        (model, scheme): float((found.load_s(model, scheme) / found.load_s(model, SLOW))[-1])
        for model in MODELS
        for scheme in (QUICK, LATE)
    }
    return Seen(
        "; ".join(
            f"{MODELS[model]}, {found.users(model)[-1]} users: early "
            f"{over[model, QUICK]:.2f}, late {over[model, LATE]:.2f}"
            for model in MODELS
        ),
        all(value >= EQUAL for value in over.values()),
        f"≥ {EQUAL}",
        note="95 % interval of slow start's mean: "
        + ", ".join(
            f"{MODELS[model]} ±{100 * slow.half_width_s / slow.mean_s:.0f} %"
            for model, slow in most.items()
        )
        + ".",
    )


def still_faster(found: Found) -> Seen:
    """Jump-Start with most users, and how sure that is."""
    most = {
        model: tuple(
            found.thesis(model, "1.1", scheme, found.users(model)[-1]) for scheme in (SLOW, JUMP)
        )
        for model in MODELS
    }
    saved = {model: _saved_apart(slow, jump) for model, (slow, jump) in most.items()}
    return Seen(
        "; ".join(
            f"{MODELS[model]}: {jump.mean_s:.2f} of {slow.mean_s:.2f} s at "
            f"{100 * slow.utilization:.0f} % load"
            for model, (slow, jump) in most.items()
        ),
        all(jump.mean_s < slow.mean_s for slow, jump in most.values()),
        note="What is saved, with its 95 % interval by ten batches in pairs: "
        + ", ".join(
            f"{MODELS[model]} {one.mean:.2f} ±{one.half_width:.2f} s"
            for model, one in saved.items()
            if one is not None
        )
        + "; slow start's own mean: "
        + ", ".join(f"±{100 * slow.half_width_s / slow.mean_s:.0f} %" for slow, _ in most.values())
        + ".",
    )
