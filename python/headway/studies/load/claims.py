"""Check: C-TH-144 to 166."""

from collections.abc import Collection
from dataclasses import replace
from functools import partial

import numpy as np

from headway import models
from headway.claims import Claims, Seen, near, replaced, swapped, words
from headway.claims.spoil import Rows
from headway.models.startup import jump_start_response_s, paced_response_s, slow_start_response_s
from headway.studies.common import lab, pairs
from headway.studies.common.runs import listed, value
from headway.studies.load.experiments import CHIS, LOADS, MEAN_BYTES, MODERATE, chi_key, key
from headway.studies.load.observe import (
    ByLoad,
    Found,
    by_load,
    gains_s,
    idle_s,
    lossless_s,
    means,
    percent_more,
    processor_sharing_s,
)
from headway.workloads import published

CLAIMS: Claims[Found] = Claims(__name__)
MEAN = "seconds.mean"
LOWEST, HIGHEST = LOADS[:2], LOADS[-2:]
LOADED = tuple(load for load in LOADS if load >= words.CLEAR * 0.1)
"""Loads far above 10 %, as the table of words defines "far"."""
FAR_ABOVE_B = tuple(chi for chi in CHIS if chi >= words.CLEAR * 100e3)
"""Activation thresholds far above 100 kB, as the table of words defines "far"."""
INTERVALS_S = {"quick-start": 0.2, "quick-start-1000ms": 1.0}
ENDS = {
    "initial-start": partial(slow_start_response_s, window_pkts=10),
    "mega-start": partial(paced_response_s, rate_bps=10e6, window_pkts=3),
}
"""Response times of Initial- and Mega-Start by table 6.1, with the study's parameters."""


@CLAIMS.judge("C-TH-144")
def _idle(found: Found) -> Seen:
    measured, ideal = found["slow-start-02"].mean_s, idle_s()
    return Seen.by(
        100 * (measured / ideal - 1),
        words.quantity(measured, ideal, 0.05),
        unit="%",
        note=f"The simulated time is {measured:.3f} s at 2 % load; eq. 6.11, which assumes no "
        f"loss, gives {ideal:.3f} s.",
    )


@CLAIMS.judge("C-TH-145")
def _sharing(_: Found) -> Seen:
    seconds = processor_sharing_s(MODERATE)
    return Seen.by(
        seconds, words.within(seconds, 0.3375, 0.3385), unit="s", note="Computed at 30 % load."
    )


@CLAIMS.judge("C-TH-146")
def _jump_gain(found: Found) -> Seen:
    gains = gains_s(found, "jump-start")
    return Seen.by(
        float(np.mean(list(gains.values()))),
        *(words.several_hundred(1e3 * gain) for gain in gains.values()),
        unit="s",
        note=f"Shown: the mean over all loads of the time that Jump-Start saves. By load: "
        f"{by_load(gains)}. Each load is judged.",
    )


@CLAIMS.judge("C-TH-147")
def _jump_near_sharing(found: Found) -> Seen:
    jump, slow = (means(found, scheme) for scheme in ("jump-start", "slow-start"))
    shared = {load: processor_sharing_s(load) for load in LOADS}
    return Seen.by(
        f"above processor sharing by {by_load({at: jump[at] - shared[at] for at in LOADS})}",
        *(words.more(jump[load], shared[load]) for load in LOADS),
        *(words.less(jump[load], slow[load]) for load in LOADS),
        note="Each load is judged.",
    )


@CLAIMS.judge("C-TH-148")
def _jump_stays_low(found: Found) -> Seen:
    jump, slow = (means(found, scheme) for scheme in ("jump-start", "slow-start"))
    return Seen.by(
        f"{by_load(jump, loads=HIGHEST)}; Slow-Start {by_load(slow, loads=HIGHEST)}",
        words.at_high_load({load: words.less(jump[load], slow[load]) for load in LOADS}),
        note=f"For comparison: at 5 % load Jump-Start's mean response time is "
        f"{jump[LOADS[0]]:.2f} s.",
    )


@CLAIMS.judge("C-TH-149")
def _ends_alike(found: Found) -> Seen:
    jump, ends = means(found, "jump-start"), {s: means(found, s) for s in ENDS}
    alike = {
        load: words.both(*(words.similar(own[load], jump[load]) for own in ends.values()))
        for load in LOADS
    }
    by_model_s = lossless_s(partial(jump_start_response_s, window_pkts=3))
    by_model = (100 * (lossless_s(end) / by_model_s - 1) for end in ENDS.values())
    return Seen.by(
        "; ".join(
            f"{s} {by_load(percent_more(own, jump), '%', 0, LOWEST)}" for s, own in ends.items()
        ),
        words.at_small_load(alike),
        note="Shown: differences from Jump-Start's times. Table 6.1, without loss, gives "
        f"{', '.join(f'{percent:+.0f}' for percent in by_model)} %.",
    )


@CLAIMS.judge("C-TH-150")
def _ends_fail(found: Found) -> Seen:
    slow, ends = means(found, "slow-start", LOADED), {s: means(found, s, LOADED) for s in ENDS}
    gains = [
        f"{s} {100 * ((slow[at] - mean) / slow[at]):+.1f} % at {100 * at:g} %"
        for s, own in ends.items()
        for at, mean in own.items()
    ]
    losses = {s: 100 * found[key(s, MODERATE)].loss for s in ("slow-start", *ENDS)}
    return Seen.by(
        f"gain {', '.join(gains)}",
        *(
            words.not_significantly_less(own[load], slow[load])
            for own in ends.values()
            for load in LOADED
        ),
        note=f"Loss at 30 % load: {listed(losses, '{:.1f} %')}.",
    )


@CLAIMS.judge("C-TH-151")
def _too_large_window(found: Found) -> Seen:
    large, slow = (means(found, s, LOADED) for s in ("initial-start-100", "slow-start"))
    return Seen.by(
        f"gain {by_load(gains_s(found, 'initial-start-100', LOADED))}",
        *(words.more(large[load], slow[load]) for load in LOADED),
        note="The window is 100 packets and the buffer 50.",
    )


@CLAIMS.judge("C-TH-152")
def _quick_at_high_load(found: Found) -> Seen:
    quick, slow = (means(found, scheme) for scheme in ("quick-start", "slow-start"))
    alike = {load: words.similar(quick[load], slow[load]) for load in LOADS}
    return Seen.by(by_load(percent_more(quick, slow), "%", 1, HIGHEST), words.at_high_load(alike))


@CLAIMS.judge("C-TH-153")
def _quick_pays_a_round_trip(found: Found) -> Seen:
    jump, quick = (gains_s(found, scheme) for scheme in ("jump-start", "quick-start"))
    less = {load: jump[load] - quick[load] for load in LOADS}
    round_trip_s = lab.RTT_MS / 1e3
    return Seen.by(
        f"smaller by {by_load(less, loads=LOWEST)}",
        words.at_small_load({at: words.by_one_round_trip(less[at], round_trip_s) for at in LOADS}),
        note=f"At 5 % load Quick-Start saves {quick[LOADS[0]]:.2f} s and Jump-Start "
        f"{jump[LOADS[0]]:.2f} s.",
    )


def _ran(found: Found, scheme: str) -> dict[float, float]:
    """Mean times at the loads at which a scheme ran; the quick form has fewer."""
    return means(found, scheme, [at for at in LOADS if at == MODERATE or key(scheme, at) in found])


def _xcp_over_slow_start(found: Found) -> tuple[str, words.Check]:
    """XCP's additional time compared with Slow-Start, and the check that it is above 0."""
    xcp = {load: mean for load, mean in _ran(found, "xcp").items() if load >= MODERATE}
    slow = means(found, "slow-start", xcp)
    longer = words.some([words.more(mean, slow[load]) for load, mean in xcp.items()])
    return by_load(percent_more(xcp, slow), "%", 1), longer


@CLAIMS.judge("C-TH-154")
def _xcp_slower(found: Found) -> Seen:
    over, longer = _xcp_over_slow_start(found)
    return Seen.by(f"longer than Slow-Start's by {over}", longer)


def _as_shared(rows: Rows) -> Rows:
    """Set RCP's mean response times to those of processor sharing."""
    for load in LOADS:
        if (name := key("rcp", load)) in rows:
            rows = replaced(name, processor_sharing_s(load), MEAN)(rows)
    return rows


@CLAIMS.judge("C-TH-155", spoil=swapped("rcp", "slow-start"), mend=_as_shared)
def _rcp_shares(found: Found) -> Seen:
    rcp = _ran(found, "rcp")
    shared = {load: processor_sharing_s(load) for load in rcp}
    seen = Seen.by(
        f"difference to processor sharing {by_load(percent_more(rcp, shared), '%', 1)}",
        *(words.quantity(rcp[load], shared[load], 0.15) for load in rcp),
    )
    return replace(seen, tolerance="±15 % of eq. 6.12 at every load")


@CLAIMS.judge("C-TH-156")
def _order(found: Found) -> Seen:
    rcp, jump, slow = (found[key(s, MODERATE)].mean_s for s in ("rcp", "jump-start", "slow-start"))
    over, longer = _xcp_over_slow_start(found)
    return Seen.by(
        f"{rcp:.3f}, {jump:.3f} and {slow:.3f} s at 30 %; XCP by {over}",
        words.less(rcp, jump),
        words.less(jump, slow),
        longer,
    )


_OTHER_INTERVALS = ("quick-start-1000ms", "quick-start-adaptive")


@CLAIMS.judge("C-TH-157")
def _interval_at_small_load(found: Found) -> Seen:
    base, others = means(found, "quick-start"), {s: means(found, s) for s in _OTHER_INTERVALS}
    off = {at: {s: own[at] / base[at] - 1 for s, own in others.items()} for at in LOADS}
    hardly = {load: words.both(*map(words.hardly, by.values())) for load, by in off.items()}
    return Seen.by(
        "; ".join(
            f"at {100 * load:g} %: "
            + listed({s: 100 * part for s, part in off[load].items()}, "{:+.1f} %")
            for load in LOWEST
        ),
        words.at_small_load(hardly),
        note="The times are compared with those of an interval of 200 ms.",
    )


def _counted(found: Found, scheme: str, what: str, loads: Collection[float] = LOADS) -> ByLoad:
    """A counter of Quick-Start's router by load."""
    return {load: value(found[key(scheme, load)], f"router.{what}") for load in loads}


@CLAIMS.judge("C-TH-158")
def _grants(found: Found) -> Seen:
    """Judge the number of granted requests."""
    short, long = (_counted(found, scheme, "grants") for scheme in INTERVALS_S)
    ratios = {load: long[load] / short[load] for load in LOADS}
    return Seen.by(
        f"times those of 200 ms: {by_load(ratios, 'ratio')}",
        words.falls_with(LOADS, list(ratios.values())),
        words.at_high_load({load: words.much_less(long[load], short[load]) for load in LOADS}),
        note="The ratio of the two numbers must fall as the load increases. At high load the "
        "number with 1000 ms must be much smaller.",
    )


@CLAIMS.judge("C-TH-159")
def _granted_bps(found: Found) -> Seen:
    """Judge the sum of granted rates."""
    schemes = ("quick-start-fair", "quick-start")
    fair, target = (_counted(found, scheme, "granted_bps") for scheme in schemes)
    return Seen.by(
        f"times target's {by_load({at: fair[at] / target[at] for at in LOADS}, 'ratio')}",
        *(words.less(fair[load], target[load]) for load in LOADS),
        note="Each load is judged.",
    )


@CLAIMS.judge("C-TH-160")
def _optimistic_speedup(found: Found) -> Seen:
    optimistic, target = (means(found, s) for s in ("quick-start-optimistic", "quick-start"))
    percent = {load: 100 * (1 - optimistic[load] / target[load]) for load in LOADS}
    best = max(percent, key=percent.__getitem__)
    return Seen.by(
        f"faster by {by_load(percent, '%', 1)}",
        words.less(optimistic[MODERATE], target[MODERATE]),
        words.of_the_order_of(best, MODERATE),
        note=f"The speedup is largest at {100 * best:g} % load.",
    )


@CLAIMS.judge("C-TH-161")
def _strategies_alike(found: Found) -> Seen:
    times = {scheme.label: means(found, scheme.key) for scheme in pairs.ROUTERS}
    most, least = ({at: f(own[at] for own in times.values()) for at in LOADS} for f in (max, min))
    alike = {at: words.not_significantly_different(most[at], least[at]) for at in LOADS}
    slowest = [
        f"{max(times, key=lambda label: times[label][load])} at {100 * load:g} %"
        for load in (LOADS[0], LOADS[-1])
    ]
    return Seen.by(
        f"spread {by_load(percent_more(most, least), '%', 1, (*LOWEST, *HIGHEST))}",
        words.at_small_load(alike),
        words.at_high_load(alike),
        note=f"The algorithm with the longest mean response time: {', '.join(slowest)} load.",
    )


def _simplified(load: float, interval_s: float) -> float:
    """The thesis' approximation of the probability of approval, for routers with two slots."""
    return (1 / load - 1) / (2 * interval_s)


def _approval_probability(load: float, interval_s: float) -> float:
    """The probability of approval by the formula of section 6.4.3.3."""
    path = lab.model_path()
    return models.quick_start.approval_probability(
        spare_bps=(1 - load) * lab.LINK_BPS,
        request_bps=1e3 * pairs.REQUEST_KBPS,
        interval_s=interval_s,
        slots=2,
        mean_arrival_s=models.sharing.mean_interval_s(MEAN_BYTES, path=path, load=load),
    )


def _by_formula(rows: Rows) -> Rows:
    """Approve the part of the requests that the formula gives, times 0.1."""
    for scheme, interval_s in INTERVALS_S.items():
        for load in LOADS:
            name = key(scheme, load)
            grants = 0.1 * _simplified(load, interval_s) * rows[name].router.requests
            rows = replaced(name, grants, "router.grants")(rows)
    return rows


@CLAIMS.judge("C-TH-162", spoil=swapped("quick-start", "quick-start-1000ms"), mend=_by_formula)
def _approval_trend(found: Found) -> Seen:
    """The approved part of the requests, compared with the formula."""
    loads = [load for load in LOADS if load >= MODERATE]
    approved = [
        part
        for scheme in INTERVALS_S
        for part in _counted(found, scheme, "approved_part", loads).values()
    ]
    cells = [(load, interval_s) for interval_s in INTERVALS_S.values() for load in loads]
    expected = ", ".join(f"{100 * _approval_probability(*cell):.0f}" for cell in cells)
    return Seen.by(
        f"approved {', '.join(f'{100 * part:.0f}' for part in approved)} %",
        words.proportional([_simplified(*cell) for cell in cells], approved),
        note=f"Shown: with an interval Δ of 200 ms, then of 1 s, each at "
        f"{', '.join(f'{100 * at:g}' for at in loads)} % load. The thesis' approximation gives "
        f"{expected} %.",
    )


def _by_threshold(found: Found, mean_bytes: int) -> tuple[dict[int, float], str]:
    """Mean times by threshold, and their description."""
    times = {chi: found[chi_key(mean_bytes, chi)].mean_s for chi in CHIS}
    return times, ", ".join(f"{1e3 * time:.0f} ms at {chi:g} B" for chi, time in times.items())


@CLAIMS.judge("C-TH-163")
def _all_requests(found: Found) -> Seen:
    times, shown = _by_threshold(found, MEAN_BYTES)
    return Seen.by(
        shown,
        words.identical(times[1], min(times.values())),
        *(words.less(times[1], time) for chi, time in times.items() if chi >= 100e3),
        note="A threshold of 1 B is compared with the best threshold, and with those of 100 kB and "
        "above.",
    )


@CLAIMS.judge("C-TH-164")
def _few_requests(found: Found) -> Seen:
    times, _ = _by_threshold(found, MEAN_BYTES)
    slow = found[chi_key(MEAN_BYTES, None)].mean_s
    gains = {chi: 100 * (1 - time / slow) for chi, time in times.items()}
    return Seen.by(
        f"gain {', '.join(f'{gains[chi]:+.1f} % at {chi / 1e3:g} kB' for chi in FAR_ABOVE_B)}",
        *(words.not_significantly_less(times[chi], slow) for chi in FAR_ABOVE_B),
        note=f"The best threshold shortens the mean response time by {max(gains.values()):.0f} %.",
    )


@CLAIMS.judge("C-TH-165")
def _best_threshold(found: Found) -> Seen:
    times, shown = _by_threshold(found, published.MEAN_RESPONSE_BYTES)
    best = pairs.CHI_BYTES
    away = [chi for chi in CHIS if chi <= best / 10 or chi >= best * 10]
    return Seen.by(shown, *(words.less(times[best], times[chi]) for chi in away))


CLAIMS.add("C-TH-166", lambda _: near(float(pairs.CHI_BYTES), 10_000, unit="B"))
