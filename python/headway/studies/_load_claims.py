"""The statements of thesis section 6.4.3 on startups under load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from headway import models
from headway.claims import Claim, Seen, Statement, between
from headway.claims import Evidence as Trials
from headway.claims import judge as evaluate
from headway.studies.common import lab, pairs
from headway.studies.common.pairs import Outcome, Scheme
from headway.workloads import published
from headway.workloads.draws import Floats

LOADS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
IDLE = 0.02
SMALL, MODERATE, HIGH = 0.1, 0.3, 0.7
SCHEMES = (
    pairs.SLOW_START,
    pairs.JUMP_START,
    pairs.INITIAL_START,
    pairs.LARGE_INITIAL_START,
    pairs.MEGA_START,
)
ROUTERS = pairs.ROUTERS
"""Quick-Start for every transfer, by ways of approval; figures 6.44 and 6.46."""

CHIS = (1, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CHI_LOAD = MODERATE
CHI_MEANS = (published.LARGER_MEAN_RESPONSE_BYTES, published.MEAN_RESPONSE_BYTES)

Found = Trials[Outcome]


def key(scheme: str, load: float) -> str:
    """A trial's name: "jump-start-30"."""
    return f"{scheme}-{round(100 * load):02d}"


def chi_key(mean_bytes: int, chi: int | None) -> str:
    """A trial's name by mean response and threshold; None: slow start."""
    return f"mean{mean_bytes // 1000}-{'slow-start' if chi is None else f'chi{chi}'}"


def chi_scheme(chi: int) -> Scheme:
    """Quick-Start for what is larger than ``chi`` bytes."""
    return pairs.quick_start(f"quick-start-chi{chi}", f"above {chi} B", chi_bytes=chi)


def processor_sharing_s(load: float) -> float:
    """Eq. 6.12 for the study's workload."""
    return models.sharing.processor_sharing_response_s(
        published.LARGER_MEAN_RESPONSE_BYTES, path=lab.model_path(), load=load
    )


def all_claims(results: Mapping[str, Outcome]) -> list[Claim]:
    """Claims of section 6.4.3."""
    return evaluate(_STATEMENTS, Trials(results))


def _mean(found: Found, scheme: str, load: float) -> float:
    return found[key(scheme, load)].mean_s


def _gain_s(found: Found, scheme: str, load: float) -> float:
    return _mean(found, "slow-start", load) - _mean(found, scheme, load)


def _by_load(values: Mapping[float, float], unit: str = "s", digits: int = 2) -> str:
    shown = ", ".join(f"{value:.{digits}f} at {100 * at:g} %" for at, value in values.items())
    return f"{shown} ({unit})"


def _sharing(_: Found) -> Seen:
    return between(processor_sharing_s(MODERATE), 0.337, 0.339, unit="s", note="At 30 % load.")


def idle_s() -> float:
    """Eq. 6.11: slow start after idle times, alone on the link."""
    return _lossless_s(partial(models.startup.slow_start_response_s, window_pkts=3))


def _lossless_s(response_s: Callable[..., Floats]) -> float:
    """Eq. 6.11 with a response time of table 6.1."""
    sizes = published.synthetic_responses(published.LARGER_MEAN_RESPONSE_BYTES)
    return models.sharing.unloaded_response_s(sizes, partial(response_s, path=lab.model_path()))


JUMP = partial(models.startup.jump_start_response_s, window_pkts=3)
ENDS = (
    partial(models.startup.slow_start_response_s, window_pkts=10),
    partial(models.startup.paced_response_s, rate_bps=10e6, window_pkts=3),
)
"""Initial- and Mega-Start as the study uses them."""


def _idle(found: Found) -> Seen:
    measured = _mean(found, "slow-start", IDLE)
    return between(
        100 * (measured / idle_s() - 1),
        -5,
        5,
        unit="%",
        note=f"{measured:.3f} s at 2 % load; eq. 6.11 gives {idle_s():.3f} s, without loss.",
    )


def _order(found: Found) -> Seen:
    jump, slow = (_mean(found, s, MODERATE) for s in ("jump-start", "slow-start"))
    return Seen(
        f"Jump-Start {jump:.2f} s, Slow-Start {slow:.2f} s",
        jump < slow,
        note="At 30 % load; RCP and XCP are not here.",
    )


def _threshold(_: Found) -> Seen:
    return between(float(pairs.CHI_BYTES), 10_000, 10_000, unit="B")


def _jump_gain(found: Found) -> Seen:
    gains = [_gain_s(found, "jump-start", load) for load in LOADS]
    return between(float(np.mean(gains)), 0.2, 0.6, unit="s", note="Mean over all loads.")


def _jump_near_sharing(found: Found) -> Seen:
    rows = {load: _mean(found, "jump-start", load) for load in LOADS}
    holds = all(
        processor_sharing_s(load) < jump < _mean(found, "slow-start", load)
        for load, jump in rows.items()
    )
    over = {load: jump - processor_sharing_s(load) for load, jump in rows.items()}
    return Seen(
        f"above processor sharing by {_by_load(over)}", holds, "between PS and SS at every load"
    )


def _jump_always(found: Found) -> Seen:
    gains = {load: _gain_s(found, "jump-start", load) for load in LOADS}
    return Seen(f"gain {_by_load(gains)}", min(gains.values()) > 0)


def _ends_alike(found: Found) -> Seen:
    jump = _mean(found, "jump-start", SMALL)
    off = {s: _mean(found, s, SMALL) / jump - 1 for s in ("initial-start", "mega-start")}
    words = ", ".join(f"{s} {100 * value:+.1f} %" for s, value in off.items())
    initial, mega = (100 * (value / _lossless_s(JUMP) - 1) for value in map(_lossless_s, ENDS))
    return Seen(
        words,
        max(map(abs, off.values())) <= 0.15,
        "±15 % of Jump-Start",
        note=f"Table 6.1 itself, without loss, gives {initial:+.0f} and {mega:+.0f} %.",
    )


def _ends_fail(found: Found) -> Seen:
    gains = {
        (s, load): _gain_s(found, s, load) / _mean(found, "slow-start", load)
        for s in ("initial-start", "mega-start")
        for load in LOADS
        if load >= MODERATE
    }
    words = ", ".join(f"{s} {100 * g:+.1f} % at {100 * at:g} %" for (s, at), g in gains.items())
    losses = [
        f"{s} {100 * found[key(s, MODERATE)].loss:.1f} %"
        for s in ("slow-start", "initial-start", "mega-start")
    ]
    return Seen(
        f"gain {words}",
        max(gains.values()) < 0.1,
        "gain < 10 % from 30 % load on",
        note=f"Loss at 30 % load: {', '.join(losses)}. It costs less than the round trips that "
        "are saved.",
    )


def _too_large_window(found: Found) -> Seen:
    gains = {load: _gain_s(found, "initial-start-100", load) for load in LOADS if load >= MODERATE}
    return Seen(
        f"gain {_by_load(gains)}",
        max(gains.values()) < 0,
        "slower from 30 % load on",
        note="A window of 100 packets over a buffer of 50; the text gives neither the window nor "
        "a load.",
    )


def _quick_at_high_load(found: Found) -> Seen:
    off = {
        load: 100 * (_mean(found, "quick-start", load) / _mean(found, "slow-start", load) - 1)
        for load in LOADS
        if load >= HIGH
    }
    return Seen(_by_load(off, "%", 1), max(map(abs, off.values())) <= 10, "±10 % from 70 % on")


def _quick_pays_a_round_trip(found: Found) -> Seen:
    gains = {s: _gain_s(found, s, SMALL) for s in ("quick-start", "jump-start")}
    words = ", ".join(f"{s} {g:.3f} s" for s, g in gains.items())
    return Seen(f"gain {words}", 0 < gains["quick-start"] < gains["jump-start"])


def _interval_at_small_load(found: Found) -> Seen:
    base = _mean(found, "quick-start", 0.05)
    off = {
        s: 100 * (_mean(found, s, 0.05) / base - 1)
        for s in ("quick-start-1000ms", "quick-start-adaptive")
    }
    words = ", ".join(f"{s} {value:+.1f} %" for s, value in off.items())
    return Seen(
        words,
        max(map(abs, off.values())) <= 5,
        "±5 % of 200 ms, at 5 % load",
        note="Requests come every 1.9 s; slots of 1 s remember grants for 2 s and peaks for 5 s.",
    )


def _grants(found: Found, scheme: str, load: float) -> float:
    """Bits per second granted per second."""
    return found[key(scheme, load)].granted_bps_per_s


def _compare_grants(found: Found, scheme: str) -> Seen:
    rows = {
        load: _grants(found, scheme, load) / _grants(found, "quick-start", load)
        for load in LOADS
        if load >= MODERATE
    }
    return Seen(f"times target's {_by_load(rows, 'ratio')}", max(rows.values()) < 1)


def _optimistic_gain(found: Found) -> Seen:
    gains = {
        load: 1e3
        * (_mean(found, "quick-start", load) - _mean(found, "quick-start-optimistic", load))
        for load in LOADS
    }
    best = max(gains, key=lambda load: gains[load])
    return Seen(
        f"gain {_by_load(gains, 'ms', 0)}",
        gains[MODERATE] > 0 and 0.2 <= best <= 0.5,
        "faster at 30 %, most between 20 and 50 %",
    )


def _strategies_alike(found: Found) -> Seen:
    off = {}
    for load in (0.05, 0.9):
        means = [_mean(found, scheme.key, load) for scheme in ROUTERS]
        off[load] = 100 * (max(means) / min(means) - 1)
    return Seen(
        f"spread {_by_load(off, '%', 1)}",
        max(off.values()) <= 10,
        "within 10 %",
        note="Slots of 1 s are the slowest at 5 % load, see C-TH-157.",
    )


def _chi_means(found: Found, mean_bytes: int) -> dict[int, float]:
    return {chi: found[chi_key(mean_bytes, chi)].mean_s for chi in CHIS}


def _chi_words(means: Mapping[int, float]) -> str:
    return ", ".join(f"{1e3 * value:.0f} ms at {chi:g} B" for chi, value in means.items())


def _all_requests(found: Found) -> Seen:
    means = _chi_means(found, published.LARGER_MEAN_RESPONSE_BYTES)
    return Seen(
        _chi_words(means), means[1] <= 1.05 * min(means.values()), "χ = 1 B within 5 % of the best"
    )


def _few_requests(found: Found) -> Seen:
    means = _chi_means(found, published.LARGER_MEAN_RESPONSE_BYTES)
    slow = found[chi_key(published.LARGER_MEAN_RESPONSE_BYTES, None)].mean_s
    gain, best = slow - means[1_000_000], slow - min(means.values())
    return Seen(
        f"{1e3 * gain:.0f} ms at 1 MB, {1e3 * best:.0f} ms at best", gain < best / 2, "< half"
    )


def _best_threshold(found: Found) -> Seen:
    means = _chi_means(found, published.MEAN_RESPONSE_BYTES)
    best = min(means, key=lambda chi: means[chi])
    return Seen(f"best {best} B: {_chi_words(means)}", 3_000 <= best <= 30_000, "3 to 30 kB")


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
    """Approved part of the requests beside the model's, by rank."""
    loads = [load for load in LOADS if load >= MODERATE]
    seen, model = [], []
    for scheme, interval_s in (("quick-start", 0.2), ("quick-start-1000ms", 1.0)):
        for load in loads:
            seen.append(found[key(scheme, load)].approved_part)
            model.append(_approval_probability(load, interval_s))
    rank = float(np.corrcoef(np.argsort(np.argsort(seen)), np.argsort(np.argsort(model)))[0, 1])
    words = ", ".join(f"{100 * part:.0f}" for part in seen)
    return Seen(
        f"rank correlation {rank:.2f}; approved {words} %",
        rank > 0.8,
        "rank correlation > 0.8",
        note="Δ = 200 ms, then 1 s, each at " + ", ".join(f"{100 * at:g}" for at in loads) + " %.",
    )


_STATEMENTS: tuple[Statement[Found], ...] = (
    Statement("C-TH-144", "idle link, eq. 6.11", "integral over sizes", _idle),
    Statement("C-TH-145", "processor sharing, eq. 6.12", "T = tau + m/(R(1-rho))", _sharing),
    Statement(
        "C-TH-146",
        "Jump-Start's mean response time is lower",
        "by several hundred milliseconds",
        _jump_gain,
    ),
    Statement(
        "C-TH-147",
        "Jump-Start beside processor sharing",
        "not reached, rather small difference",
        _jump_near_sharing,
    ),
    Statement("C-TH-148", "Jump-Start at high load", "stays low", _jump_always),
    Statement(
        "C-TH-149",
        "Initial- and Mega-Start at small load",
        "similar to Jump-Start",
        _ends_alike,
    ),
    Statement(
        "C-TH-150",
        "Initial- and Mega-Start at loads far above 10 %",
        "not significantly better than Slow-Start",
        _ends_fail,
    ),
    Statement(
        "C-TH-151",
        "Initial-Start with a window above the buffer",
        "even worse than Slow-Start",
        _too_large_window,
    ),
    Statement(
        "C-TH-152", "Quick-Start at high load", "about the same as Slow-Start", _quick_at_high_load
    ),
    Statement(
        "C-TH-153",
        "Quick-Start's gain at small load beside Jump-Start's",
        "smaller, by one round trip",
        _quick_pays_a_round_trip,
    ),
    Statement("C-TH-156", "order of mean response times", "RCP < JS < SS", _order),
    Statement(
        "C-TH-157", "effect of the interval at small load", "hardly any", _interval_at_small_load
    ),
    Statement(
        "C-TH-158",
        "grants with an interval of 1000 ms beside 200 ms as load grows",
        "much less",
        lambda found: _compare_grants(found, "quick-start-1000ms"),
    ),
    Statement(
        "C-TH-159",
        "grants of the fair algorithm beside target",
        "fewer",
        lambda found: _compare_grants(found, "quick-start-fair"),
    ),
    Statement(
        "C-TH-160",
        "optimistic algorithm at about 30 % load",
        "faster than target",
        _optimistic_gain,
    ),
    Statement(
        "C-TH-161",
        "ways of approval at very small and very high load",
        "no significant difference",
        _strategies_alike,
    ),
    Statement(
        "C-TH-162",
        "probability of approval",
        "proportional to (1/rho - 1)/(Omega Delta)",
        _approval_trend,
    ),
    Statement("C-TH-163", "best threshold for a mean of 114 kB", "small", _all_requests),
    Statement("C-TH-164", "thresholds far above 100 kB", "no significant benefit", _few_requests),
    Statement("C-TH-165", "best threshold for a mean of 14 kB", "about 10 kB", _best_threshold),
    Statement("C-TH-166", "threshold of intelligent activation", "10 kB", _threshold),
)
