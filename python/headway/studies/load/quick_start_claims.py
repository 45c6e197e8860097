"""Check: C-TH-152, 153 and 157 to 166, Quick-Start's routers and thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headway import models
from headway.claims import (
    MissingTrialError,
    Seen,
    Statement,
    all_of,
    near,
    replaced,
    scaled,
    swapped,
    words,
)
from headway.claims.spoil import Rows
from headway.studies.common import lab, pairs
from headway.studies.common.traffic import Router
from headway.studies.load import causes
from headway.studies.load.experiments import (
    CHIS,
    LOADS,
    MODERATE,
    ROUTERS,
    SMALL,
    chi_key,
    key,
)
from headway.studies.load.seen import Found, by_load, gain_s, mean
from headway.workloads import published


def _quick_at_high_load(found: Found) -> Seen:
    quick, slow = (
        {load: mean(found, scheme, load) for load in LOADS}
        for scheme in ("quick-start", "slow-start")
    )
    off = {load: 100 * (quick[load] / slow[load] - 1) for load in LOADS[-2:]}
    alike = {load: words.similar(quick[load], slow[load]) for load in LOADS}
    return Seen.by(by_load(off, "%", 1), words.at_high_load(alike))


def _quick_pays_a_round_trip(found: Found) -> Seen:
    less = {
        load: gain_s(found, "jump-start", load) - gain_s(found, "quick-start", load)
        for load in LOADS
    }
    gains = {s: gain_s(found, s, SMALL) for s in ("quick-start", "jump-start")}
    shown = " and ".join(f"{gain:.2f} s by {s}" for s, gain in gains.items())
    return Seen.by(
        f"smaller by {by_load({load: less[load] for load in LOADS[:2]})}",
        words.at_small_load(
            {load: words.by_one_round_trip(less[load], lab.RTT_MS / 1e3) for load in LOADS}
        ),
        note=f"At 5 % load {shown}.",
    )


def _interval_at_small_load(found: Found) -> Seen:
    off = {
        load: {
            s: mean(found, s, load) / mean(found, "quick-start", load) - 1
            for s in ("quick-start-1000ms", "quick-start-adaptive")
        }
        for load in LOADS
    }
    shown = "; ".join(
        f"at {100 * load:g} %: " + ", ".join(f"{s} {100 * v:+.1f} %" for s, v in by.items())
        for load, by in list(off.items())[:2]
    )
    return Seen.by(
        shown,
        words.at_small_load(
            {load: words.both(*map(words.hardly, by.values())) for load, by in off.items()}
        ),
        note="Compared with an interval of 200 ms.",
    )


def _router(found: Found, scheme: str, load: float) -> Router:
    counted = found[key(scheme, load)].router
    if counted is None:
        raise MissingTrialError(f"{key(scheme, load)} has no Quick-Start router.")
    return counted


def _grants(found: Found) -> Seen:
    """The number of granted requests."""
    long, short = (
        {load: _router(found, scheme, load).grants for load in LOADS}
        for scheme in ("quick-start-1000ms", "quick-start")
    )
    ratios = {load: long[load] / short[load] for load in LOADS}
    return Seen.by(
        f"times those of 200 ms: {by_load(ratios, 'ratio')}",
        words.falls_with(LOADS, list(ratios.values())),
        words.at_high_load({load: words.much_less(long[load], short[load]) for load in LOADS}),
        note="The ratio must fall as the load increases. At high load much less must be granted.",
    )


def _granted_bps(found: Found) -> Seen:
    """The sum of granted rates."""
    fair, target = (
        {load: _router(found, scheme, load).granted_bps for load in LOADS}
        for scheme in ("quick-start-fair", "quick-start")
    )
    ratios = {load: fair[load] / target[load] for load in LOADS}
    return Seen.by(
        f"times target's {by_load(ratios, 'ratio')}",
        *(words.less(fair[load], target[load]) for load in LOADS),
        note="Each load is judged.",
    )


def _optimistic_speedup(found: Found) -> Seen:
    speedups = {
        load: 1 - mean(found, "quick-start-optimistic", load) / mean(found, "quick-start", load)
        for load in LOADS
    }
    best = max(speedups, key=lambda load: speedups[load])
    percent = {load: 100 * speedup for load, speedup in speedups.items()}
    return Seen.by(
        f"faster by {by_load(percent, '%', 1)}",
        words.less(
            mean(found, "quick-start-optimistic", MODERATE), mean(found, "quick-start", MODERATE)
        ),
        words.of_the_order_of(best, MODERATE),
        note=f"The speedup is largest at {100 * best:g} % load.",
    )


def _strategies_alike(found: Found) -> Seen:
    off, alike = {}, {}
    for load in LOADS:
        means = [mean(found, scheme.key, load) for scheme in ROUTERS]
        off[load] = 100 * (max(means) / min(means) - 1)
        alike[load] = words.not_significantly_different(max(means), min(means))
    slowest = {
        load: max(ROUTERS, key=lambda scheme: mean(found, scheme.key, load)).label
        for load in (SMALL, LOADS[-1])
    }
    return Seen.by(
        f"spread {by_load({load: off[load] for load in (*LOADS[:2], *LOADS[-2:])}, '%', 1)}",
        words.at_small_load(alike),
        words.at_high_load(alike),
        note="Slowest: "
        + ", ".join(f"{label} at {100 * load:g} %" for load, label in slowest.items())
        + ".",
    )


def _chi_means(found: Found, mean_bytes: int) -> dict[int, float]:
    return {chi: found[chi_key(mean_bytes, chi)].mean_s for chi in CHIS}


def _chi_words(means: Mapping[int, float]) -> str:
    return ", ".join(f"{1e3 * value:.0f} ms at {chi:g} B" for chi, value in means.items())


FAR_ABOVE_B = tuple(chi for chi in CHIS if chi >= words.CLEAR * 100e3)
"""Thresholds far above 100 kB, as the table of words defines "far"."""


def _all_requests(found: Found) -> Seen:
    means = _chi_means(found, published.LARGER_MEAN_RESPONSE_BYTES)
    best = min(means.values())
    return Seen.by(
        _chi_words(means),
        words.identical(means[1], best),
        *(words.less(means[1], value) for chi, value in means.items() if chi >= 100e3),
        note="A threshold of 1 B is compared with the best threshold, and with those of 100 kB and "
        "above.",
    )


def _few_requests(found: Found) -> Seen:
    means = _chi_means(found, published.LARGER_MEAN_RESPONSE_BYTES)
    slow = found[chi_key(published.LARGER_MEAN_RESPONSE_BYTES, None)].mean_s
    gains = ", ".join(
        f"{100 * (1 - means[chi] / slow):+.1f} % at {chi / 1e3:g} kB" for chi in FAR_ABOVE_B
    )
    return Seen.by(
        f"gain {gains}",
        *(words.not_significantly_less(means[chi], slow) for chi in FAR_ABOVE_B),
        note=f"The best threshold gains {100 * (1 - min(means.values()) / slow):.0f} %.",
    )


def _best_threshold(found: Found) -> Seen:
    means = _chi_means(found, published.MEAN_RESPONSE_BYTES)
    best = means[pairs.CHI_BYTES]
    orders_away = [
        value
        for chi, value in means.items()
        if chi <= pairs.CHI_BYTES / 10 or chi >= pairs.CHI_BYTES * 10
    ]
    return Seen.by(_chi_words(means), *(words.less(best, value) for value in orders_away))


def _approval_probability(load: float, interval_s: float) -> float:
    mean_arrival_s = models.sharing.mean_interval_s(
        published.LARGER_MEAN_RESPONSE_BYTES, path=lab.model_path(), load=load
    )
    return models.quick_start.approval_probability(
        spare_bps=(1 - load) * lab.LINK_BPS,
        request_bps=1e3 * pairs.REQUEST_KBPS,
        interval_s=interval_s,
        slots=2,
        mean_arrival_s=mean_arrival_s,
    )


def _approval_trend(found: Found) -> Seen:
    """The approved part of the requests, compared with the formula of section 6.4.3.3."""
    loads = [load for load in LOADS if load >= MODERATE]
    cells = [
        (scheme, interval_s, load)
        for scheme, interval_s in (("quick-start", 0.2), ("quick-start-1000ms", 1.0))
        for load in loads
    ]
    seen = [_router(found, scheme, load).approved_part for scheme, _, load in cells]
    formula = [(1 / load - 1) / (2 * interval_s) for _, interval_s, load in cells]
    shown = ", ".join(f"{100 * part:.0f}" for part in seen)
    expected = ", ".join(
        f"{100 * _approval_probability(load, interval_s):.0f}" for _, interval_s, load in cells
    )
    return Seen.by(
        f"approved {shown} %",
        words.proportional(formula, seen),
        note="Δ = 200 ms, then 1 s, each at "
        + ", ".join(f"{100 * at:g}" for at in loads)
        + f" % load. The approximation gives {expected} %.",
    )


def _threshold(_: Found) -> Seen:
    return near(float(pairs.CHI_BYTES), 10_000, unit="B")


def _by_formula(rows: Rows) -> Rows:
    """Approve the part of the requests that the formula gives, times 0.1."""
    changed = dict(rows)
    for scheme, interval_s in (("quick-start", 0.2), ("quick-start-1000ms", 1.0)):
        for load in LOADS:
            row = rows[key(scheme, load)]
            grants = 0.1 * (1 / load - 1) / (2 * interval_s) * row.router.requests
            router = replace(row.router, grants=grants)
            changed[key(scheme, load)] = replace(row, router=router)
    return changed


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-152",
        "Quick-Start's mean response time at high load",
        "about the same as Slow-Start's",
        _quick_at_high_load,
        spoil=scaled("quick-start-90", 1.2, "seconds.mean"),
    ),
    Statement(
        "C-TH-153",
        "Quick-Start's gain at small load compared with Jump-Start's",
        "smaller, by one round trip",
        _quick_pays_a_round_trip,
        why=causes.ONE_ROUND_TRIP,
        spoil=swapped("quick-start", "jump-start"),
        mend=all_of(
            replaced("jump-start-*", 0.5, "seconds.mean"),
            replaced("quick-start-*", 0.7, "seconds.mean"),
        ),
    ),
    Statement(
        "C-TH-157",
        "effect of the interval on the mean response time at small load",
        "hardly any",
        _interval_at_small_load,
        why=causes.INTERVAL_AT_SMALL_LOAD,
        spoil=scaled("quick-start-1000ms-05", 1.2, "seconds.mean"),
        mend=all_of(*(replaced(f"quick-start*-{at}", 0.6, "seconds.mean") for at in ("05", "10"))),
    ),
    Statement(
        "C-TH-158",
        "requests granted with an interval of 1000 ms compared with 200 ms, as the load increases",
        "much less",
        _grants,
        spoil=swapped("quick-start", "quick-start-1000ms"),
    ),
    Statement(
        "C-TH-159",
        "bandwidth granted by the fair algorithm compared with the target algorithm",
        "less",
        _granted_bps,
        spoil=swapped("quick-start", "quick-start-fair"),
    ),
    Statement(
        "C-TH-160",
        "mean response time with the optimistic algorithm compared with the target algorithm",
        "less, in particular at loads of the order of 30 %",
        _optimistic_speedup,
        spoil=swapped("quick-start", "quick-start-optimistic"),
    ),
    Statement(
        "C-TH-161",
        "mean response times of the approval algorithms at very small load and at very high load",
        "no significant difference",
        _strategies_alike,
        why=causes.STRATEGIES_ALIKE,
        spoil=scaled("quick-start-fair-90", 1.2, "seconds.mean"),
        mend=all_of(
            *(
                replaced(f"quick-start*-{at}", seconds, "seconds.mean")
                for at, seconds in (("05", 0.6), ("10", 0.7), ("70", 1.5), ("90", 2.3))
            )
        ),
    ),
    Statement(
        "C-TH-162",
        "probability of approval",
        "proportional to (1/rho - 1)/(Omega Delta)",
        _approval_trend,
        why=causes.APPROVAL,
        spoil=swapped("quick-start", "quick-start-1000ms"),
        mend=_by_formula,
    ),
    Statement(
        "C-TH-163",
        "best threshold for a mean of 114 kB",
        "small: every transfer uses Quick-Start",
        _all_requests,
        spoil=swapped("chi1", "chi300000"),
    ),
    Statement(
        "C-TH-164",
        "benefit of thresholds far above 100 kB, for a mean of 114 kB",
        "no significant benefit",
        _few_requests,
        figures={"much": "300 kB and 1 MB: at least 1.5 times 100 kB"},
        spoil=swapped("chi1000000", "chi3000"),
    ),
    Statement(
        "C-TH-165",
        "a threshold of the order of 10 kB, for a mean of 14 kB",
        "improves the mean response time; one that is orders of magnitude away does not",
        _best_threshold,
        figures={
            "of the order of": "10 kB, the threshold of all later sections",
            "order of magnitude": "at most 1 kB, or at least 100 kB",
        },
        spoil=scaled("mean14-chi1000000", 0.5, "seconds.mean"),
    ),
    Statement("C-TH-166", "threshold of intelligent activation", "10 kB", _threshold, "setting"),
)
