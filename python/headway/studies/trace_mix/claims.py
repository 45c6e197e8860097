"""Check: C-TH-002 to 006, 175 to 194, 263, 281, 291 and 292.

All schemes carry the same sessions, so the intervals of two means are no interval of their
difference. Means are compared, and the seeds show how certain a difference is.

C-TH-002 to 006 and 185 are properties of the connection vectors, which come from another recording
than the thesis' vectors. They show how close the two recordings are. All recorded connections are
measured, not those that a trial happens to draw.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from headway import workloads
from headway.claims import Change, Claims, Seen, words
from headway.experiment import Sessions
from headway.studies.common import network, pairs, traffic
from headway.studies.common.runs import listed
from headway.studies.trace_mix.experiments import (
    LOADS,
    MODERATE,
    SCHEMES,
    SMALL,
    UNLIMITED,
    Epochs,
    Mix,
    below,
    key,
    observe,
)
from headway.trace import Trace
from headway.workloads.distribution import distribution

CLAIMS: Claims[Mix] = Claims(__name__)
_BOTH = (SMALL, MODERATE)


def _without_server_delay(_key: str, trace: Trace) -> Epochs:
    """Subtract from each epoch the server's delay t_a."""
    rows = traffic.responses(trace)
    app = trace.experiment.flows[0].app
    assert isinstance(app, Sessions)
    delays_us = [share.serve_us for share in workloads.shares(app.workload, app.pairs)]
    served_us = np.array(
        [delays_us[flow][epoch] for flow, epoch in rows.select("flow", "epoch").iter_rows()]
    )
    seconds = traffic.mean_s(rows["seconds"].to_numpy() - served_us / 1e6)
    return replace(observe(_key, trace), seconds=seconds)


def _at(found: Mix, scheme: str, load: float = MODERATE) -> Epochs:
    return found[key(scheme, load)]


def _gain(found: Mix, scheme: str) -> float:
    """The part of slow start's mean epoch duration that a scheme saves."""
    return 1 - _at(found, scheme).mean_s / _at(found, "slow-start").mean_s


def _large_s(found: Mix, scheme: str, load: float) -> float:
    """Mean duration of exchanges with a response of 10 kB or more."""
    return _at(found, scheme, load).large.mean


def _gain_large_s(found: Mix, scheme: str, load: float) -> float:
    """The mean time saved per exchange with a response of 10 kB or more, in seconds."""
    return _large_s(found, "slow-start", load) - _large_s(found, scheme, load)


def _more_loss(found: Mix, scheme: str, load: float = MODERATE) -> float:
    """Packet loss of a scheme minus slow start's, in percentage points."""
    return 100 * (_at(found, scheme, load).loss - _at(found, "slow-start", load).loss)


def _percent(value: float) -> str:
    return f"{100 * value:+.1f} %"


def _by_load(values: Mapping[float, str] | Iterable[tuple[float, str]]) -> str:
    pairs = values.items() if isinstance(values, Mapping) else values
    return ", ".join(f"{value} at {100 * load:g} %" for load, value in pairs)


@CLAIMS.judge("C-TH-175")
def _means_differ(found: Mix) -> Seen:
    off = {s.key: -_gain(found, s.key) for s in SCHEMES[1:]}
    most = max(off, key=lambda k: abs(off[k]))
    return Seen.by(
        f"at most {_percent(off[most])} ({most})",
        *(words.within(one, -0.3, 0.3, "±30 % of Slow-Start") for one in off.values()),
    )


@CLAIMS.judge("C-TH-176")
def _shifted_left(found: Mix) -> Seen:
    shares = {
        scheme: [_at(found, scheme).above_ms[ms] for ms in (200, 300, 500, 700, 900)]
        for scheme in ("slow-start", "jump-start", "initial-start")
    }
    slow, *faster = shares.values()
    shown = "; ".join(
        f"{scheme}: " + ", ".join(f"{100 * share:.2f}" for share in row)
        for scheme, row in shares.items()
    )
    return Seen.by(
        f"% above 0.2, 0.3, 0.5, 0.7, 0.9 s: {shown}",
        *(words.less(*both) for row in faster for both in zip(row, slow, strict=True)),
        note="Each of these durations is judged.",
    )


@CLAIMS.judge("C-TH-177")
def _mega_tail(found: Mix) -> Seen:
    schemes = ("slow-start", "jump-start", "initial-start", "mega-start")
    rows = {scheme: _at(found, scheme) for scheme in schemes}
    parts = {s: row.above_ms[1500] - row.above_ms[6000] for s, row in rows.items()}
    timeouts = listed({s: 1e3 * row.timeouts / row.count for s, row in rows.items()}, "{:.1f}")
    return Seen.by(
        f"{100 * parts['mega-start']:.2f} % last 1.5 to 6 s, of Slow-Start's "
        f"{100 * parts['slow-start']:.2f} %",
        words.more(parts["mega-start"], parts["slow-start"]),
        note=f"Retransmission timeouts per 1000 epochs: {timeouts}.",
    )


@CLAIMS.judge("C-TH-178", "C-TH-292")
def _useless(found: Mix) -> Seen:
    gain = _gain(found, "quick-start")
    return Seen.by(f"gain {_percent(gain)}", words.hardly(max(gain, 0.0)))


@CLAIMS.judge("C-TH-179")
def _slight(found: Mix) -> Seen:
    useful = ("quick-start-optimistic", "quick-start-chi")
    gains = {s: _gain(found, s) for s in (*useful, "quick-start")}
    slow, other = (_at(found, s).mean_s for s in ("slow-start", "quick-start"))
    return Seen.by(
        listed({s: _percent(gain) for s, gain in gains.items()}, "{}"),
        *(words.slightly_less(_at(found, s).mean_s, slow) for s in useful),
        *(words.less(_at(found, s).mean_s, other) for s in useful),
        words.hardly(max(gains["quick-start"], 0.0)),
        note='"Only": the target algorithm without a threshold must gain hardly anything.',
    )


@CLAIMS.judge("C-TH-180")
def _xcp(found: Mix) -> Seen:
    xcp, slow = (_at(found, scheme).mean_s for scheme in ("xcp", "slow-start"))
    lost = 100 * _at(found, "slow-start").loss
    return Seen.by(
        f"{1e3 * xcp:.0f} ms, Slow-Start {1e3 * slow:.0f} ms",
        words.more(xcp, slow),
        note=f"{_queues(found, 'xcp')} Slow-Start loses {lost:.1f} %.",
    )


@CLAIMS.judge(
    "C-TH-181",
    tries=[
        Change(
            "epochs without the servers' delays",
            None,
            (*(key(s, MODERATE) for s in ("rcp", *(one.key for one in SCHEMES))), "rcp-unlimited"),
            observe=_without_server_delay,
        )
    ],
)
def _rcp(found: Mix) -> Seen:
    rcp = _at(found, "rcp").mean_s
    others = {scheme.label: _at(found, scheme.key).mean_s for scheme in SCHEMES}
    best = min(others, key=lambda label: others[label])
    return Seen.by(
        f"{1e3 * rcp:.0f} ms, {best} {1e3 * others[best]:.0f} ms",
        words.every([words.significantly_less(rcp, other) for other in others.values()]),
        note=_queues(found, "rcp"),
    )


def _queues(found: Mix, scheme: str) -> str:
    """A scheme's loss, and its mean epoch duration with an unlimited queue."""
    own, free = _at(found, scheme), found[f"{scheme}-{UNLIMITED}"]
    return (
        f"With the queue of 50 packets {network.SCHEMES[scheme]} loses {100 * own.loss:.1f} %. "
        f"With an unlimited queue its epochs take {1e3 * free.mean_s:.0f} ms."
    )


@CLAIMS.judge("C-TH-182")
def _large_gain(found: Mix) -> Seen:
    cells = [(s, at) for s in ("jump-start", "quick-start-chi") for at in _BOTH]
    gains = [_gain_large_s(found, *cell) for cell in cells]
    shown = [(at, f"{s} {1e3 * g:.0f} ms") for (s, at), g in zip(cells, gains, strict=True)]
    return Seen.by(
        _by_load(shown),
        *(words.less(_large_s(found, s, at), _large_s(found, "slow-start", at)) for s, at in cells),
        words.within(max(gains), 0.1, 0.6, "at most 0.1 to 0.6 s"),
        note="All four gains must be positive. The largest must be 0.1 to 0.6 s.",
    )


@CLAIMS.judge("C-TH-183")
def _jump_everywhere(found: Mix) -> Seen:
    small, moderate = (_gain_large_s(found, "jump-start", load) for load in _BOTH)
    return Seen.by(
        moderate / small if small else math.inf,
        words.similar(moderate, small),
        note=f"Jump-Start saves {1e3 * small:.0f} ms at 6 % load and "
        f"{1e3 * moderate:.0f} ms at 35 %.",
    )


@CLAIMS.judge("C-TH-184")
def _quick_at_small_load(found: Mix) -> Seen:
    gains = {load: _gain_large_s(found, "quick-start-chi", load) for load in _BOTH}
    quick_small_s = _large_s(found, "quick-start-chi", SMALL)
    slow_small_s, slow_s = (_large_s(found, "slow-start", load) for load in _BOTH)
    return Seen.by(
        _by_load({load: f"{1e3 * gain:.0f} ms" for load, gain in gains.items()}),
        words.less(quick_small_s, slow_small_s),
        words.hardly(max(gains[MODERATE] / slow_s, 0.0)),
        note=f"At 35 % load the gain is {100 * gains[MODERATE] / slow_s:.0f} % of "
        "Slow-Start's time. Responses of 10 kB and more are judged.",
    )


@CLAIMS.judge("C-TH-186")
def _slow_loss(found: Mix) -> Seen:
    loss = 100 * _at(found, "slow-start").loss
    return Seen.by(loss, words.of_the_order_of(loss, 1.0), unit="%")


@CLAIMS.judge("C-TH-187")
def _jump_loss(found: Mix) -> Seen:
    more = _more_loss(found, "jump-start")
    note = "By the claims list the sentence means percentage points of loss."
    return Seen.by(more, words.about(more, 1.0), unit="percentage points", note=note)


@CLAIMS.judge("C-TH-263")
def _jump_loss_summary(found: Mix) -> Seen:
    more = {load: _more_loss(found, "jump-start", load) for load in LOADS}
    return Seen.by(
        _by_load({load: f"{one:.2f}" for load, one in more.items()}),
        words.most([words.of_the_order_of(one, 1.0) for one in more.values()]),
        unit="percentage points",
        note='"Many scenarios" is judged as most of the loads.',
    )


@CLAIMS.judge("C-TH-188")
def _initial_beside_jump(found: Mix) -> Seen:
    initial, jump = (_at(found, s) for s in ("initial-start", "jump-start"))
    return Seen.by(
        f"95 % quantile {_percent(initial.p95_s / jump.p95_s - 1)}, loss {100 * initial.loss:.2f} "
        f"and {100 * jump.loss:.2f} %",
        words.similar(initial.p95_s, jump.p95_s),
        words.less(initial.loss, jump.loss),
        note="The thesis measures the speedup by the 95 % quantile.",
    )


def _beside_paced(found: Mix, judge: Callable[[float, float], words.Check], note: str) -> Seen:
    """A burst of ten packets compared with Initial-Start, which paces its packets."""
    small, initial = (_at(found, s) for s in ("jump-start-10", "initial-start"))
    pairs = (small.p95_s, initial.p95_s), (small.loss, initial.loss)
    quantile, loss = (_percent(one / other - 1) for one, other in pairs)
    checks = [judge(*pair) for pair in pairs]
    return Seen.by(f"95 % quantile {quantile}, loss {loss}", *checks, note=note)


CLAIMS.add(
    "C-TH-189",
    lambda found: _beside_paced(
        found,
        words.similar,
        "Shown: differences from Initial-Start. Figure 6.54 shows both values.",
    ),
)
CLAIMS.add(
    "C-TH-281",
    lambda found: _beside_paced(
        found,
        lambda small, initial: words.few(max(1 - small / initial, 0.0)),
        "Shown: differences from Initial-Start. If pacing makes a value worse, pacing counts as "
        "having no benefit for this value.",
    ),
)


@CLAIMS.judge("C-TH-190")
def _mega_loss(found: Mix) -> Seen:
    losses = {
        load: tuple(100 * _at(found, s, load).loss for s in ("mega-start", "slow-start"))
        for load in LOADS
    }
    checks = [
        words.both(
            words.within(mega, 3, math.inf),
            words.within(mega - slow, 1.5, math.inf, "1.5 points more"),
        )
        for mega, slow in losses.values()
    ]
    return Seen.by(
        "% " + _by_load({load: "{:.1f} ({:.1f})".format(*both) for load, both in losses.items()}),
        words.some(checks),
        note="Slow-Start's loss is in brackets. By the claims list Mega-Start must lose 1.5 "
        "percentage points more than Slow-Start.",
    )


@CLAIMS.judge("C-TH-191")
def _quick_beside_ends(found: Mix) -> Seen:
    schemes = ("quick-start-chi", "jump-start", "initial-start", "slow-start")
    p95_s = {load: {s: _at(found, s, load).p95_s for s in schemes} for load in LOADS}
    alike = {
        load: words.both(*(words.similar(by[schemes[0]], by[s]) for s in schemes[1:3]))
        for load, by in p95_s.items()
    }
    shown = "; ".join(
        f"{100 * load:g} % load: " + listed({s: 1e3 * one for s, one in by.items()}, "{:.0f}")
        for load, by in list(p95_s.items())[:2]
    )
    return Seen.by(
        f"95 % quantile in ms. {shown}",
        words.at_small_load(alike),
        note="Quick-Start with a threshold of 10 kB is compared with Jump-Start and Initial-Start. "
        "The thesis measures the speedup by the 95 % quantile.",
    )


_QUICK = [scheme.key for scheme in pairs.QUICK_STARTS]


@CLAIMS.judge("C-TH-192")
def _quick_loss(found: Mix) -> Seen:
    def moderately_more(scheme: str, load: float) -> words.Check:
        losses = (_at(found, one, load).loss for one in (scheme, "slow-start"))
        points = _more_loss(found, scheme, load)
        return words.both(
            words.more(*losses), words.within(points, -math.inf, 1.0, "at most 1 point")
        )

    more = [(at, f"{s} {_more_loss(found, s, at):+.2f}") for s in _QUICK for at in LOADS[:2]]
    by_load = {at: words.both(*(moderately_more(s, at) for s in _QUICK)) for at in LOADS}
    return Seen.by(_by_load(more), words.at_small_load(by_load), unit="percentage points")


@CLAIMS.judge("C-TH-193")
def _quick_longer(found: Mix) -> Seen:
    p95_s = {
        load: tuple(_at(found, s, load).p95_s for s in ("quick-start", "slow-start"))
        for load in (MODERATE, 0.5)
    }
    return Seen.by(
        _by_load({load: _percent(quick / slow - 1) for load, (quick, slow) in p95_s.items()}),
        words.some([words.more(*both) for both in p95_s.values()]),
        note="Judged by the 95 % quantile.",
    )


@CLAIMS.judge("C-TH-194")  # fmt: skip
def _optimistic_loss(found: Mix) -> Seen:
    optimistic, target = (
        100 * _at(found, scheme).loss for scheme in ("quick-start-optimistic", "quick-start")
    )
    return Seen.by(
        f"{_percent(optimistic / target - 1)}: {optimistic:.2f} and {target:.2f} %",
        words.not_significantly_more(optimistic, target),
    )


@CLAIMS.judge("C-TH-291")
def _jump_like_quick(found: Mix) -> Seen:
    jump, quick = (_at(found, scheme).mean_s for scheme in ("jump-start", "quick-start-chi"))
    note = "Judged by the mean epoch duration at 35 % load."
    return Seen.by(100 * (jump / quick - 1), words.similar(jump, quick), unit="%", note=note)


# ---- The connection vectors ----


@CLAIMS.judge("C-TH-002")
def _mean_response(found: Mix) -> Seen:
    value = distribution(found.drawn).mean_response_bytes / 1e3
    return Seen.by(value, words.about(value, 14), unit="kB")


@CLAIMS.judge("C-TH-003")
def _mean_request(found: Mix) -> Seen:
    value = distribution(found.drawn).mean_request_bytes / 1e3
    return Seen.by(value, words.quantity(value, 1, 0.3), unit="kB")


@CLAIMS.judge("C-TH-004")
def _tail_shape(found: Mix) -> Seen:
    one = distribution(found.drawn)
    low, high = one.other_tail_shapes
    return Seen.by(
        one.tail_shape,
        words.within(one.tail_shape, 0.9, 1.3),
        note="The shape parameter is fitted to the largest 2 % of the responses. A fit to the "
        "largest 1 % gives "
        f"{low:.2f}, the largest 5 % {high:.2f}.",
    )


@CLAIMS.judge("C-TH-005")
def _arrivals(found: Mix) -> Seen:
    distance = distribution(found.drawn).spacing
    note = "Shown: the Kolmogorov-Smirnov distance to the exponential distribution."
    return Seen.by(distance, words.within(distance, 0.0, 0.05), note=note)


@CLAIMS.judge("C-TH-006")
def _above_window(found: Mix) -> Seen:
    one = distribution(found.drawn)
    asked, given = 100 * one.requests_above_window, 100 * one.responses_above_window
    return Seen.by(
        f"{asked:.1f} % of requests, {given:.1f} % of responses",
        words.within(given, 20, 30, "responses ±5 percentage points"),
        words.within(asked, 0, 2, "requests ±1"),
    )


@CLAIMS.judge("C-TH-185")
def _small(found: Mix) -> Seen:
    value = 100 * below(found.drawn)
    return Seen.by(value, words.is_so(value > 50, "> 50 %"), unit="%")
