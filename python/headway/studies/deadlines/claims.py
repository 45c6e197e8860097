"""Check: targets that are met, missed, or not read: C-TH-244 to 248 and 290.

On the kernel: the same statements, with a real server.
"""

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

from headway.claims import Claims, Seen, Statement, near, scaled, swapped, words
from headway.claims.spoil import Rows, Spoil
from headway.claims.why import Change, Edit, edited
from headway.claims.words import Check
from headway.experiment import Experiment
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.studies.common.beside import agreed, as_simulated
from headway.studies.common.runs import listed
from headway.studies.deadlines import experiments as setup
from headway.studies.deadlines import page
from headway.studies.deadlines.experiments import BASE, BLIND, CORRECTED, LABELS, LATE, MEGA, Found
from headway.study import Agreement
from headway.trace import Trace

CLAIMS: Claims[Found] = Claims(__name__)
LIVE: Claims[Found] = Claims(__name__, "kernel")
RTT_S = lab.RTT_MS / 1e3
LEAST_S = 0.29
"""The smallest target that the link allows: 200 ms, and 100 kB at 9.76 Mbit/s."""
LEAST_ASKING_S = 0.56
"""The smallest response time target for late Quick-Start: a round trip more, and 5.12 Mbit/s, the
highest granted rate."""


def rate_bps(target_s: float) -> float | None:
    """Eq. 7.1: the payload rate that meets a target, Q = s / (T - d); None if no rate can."""
    left_s = target_s - lab.model_path().rtt_s
    return setup.SIZE_BYTES * 8 / left_s if left_s > 0 else None


def _observing(change: Callable[[Array], Array]) -> Callable[[str, Trace], setup.Responses]:
    """Observe response times as usual, then apply a function to them."""

    def observed(key: str, trace: Trace) -> setup.Responses:
        seen = setup.observe(key, trace)
        return dataclasses.replace(seen, response_s=change(seen.response_s))

    return observed


_SMALLER = edited(
    {"flows.*.app.file": str(setup.FILES / "smaller.csv"), "flows.*.app.sha256": None}
)
_WHOLE_MS = _observing(lambda times_s: np.round(times_s, 3))
_FASTEST = _observing(lambda times_s: times_s.min(keepdims=True))


@CLAIMS.judge(
    "C-TH-244",
    tries=[
        Change("response times rounded to whole milliseconds", keys=MEGA, observe=_WHOLE_MS),
        Change("an object of 99 kB instead of 100 kB", _SMALLER, MEGA),
    ],
)
def _met(found: Found) -> Seen:
    own = found[MEGA].between(LEAST_S)
    parts, most_ms = own.times_s / own.targets_s, 1e3 * own.late_s.max()
    return Seen.by(
        f"{int((own.late_s <= 0).sum())} of {parts.size} targets met"
        + (f", the others at most {most_ms:.1f} ms late" if most_ms > 0 else ""),
        *(words.within(part, -math.inf, 1, f"all from {LEAST_S:g} s on") for part in parts),
    )


def _within(found: Found, scheme: str, least_s: float) -> Seen:
    """Judge that every response time is at most 10 % above its target, by the largest ratio."""
    own = found[scheme].between(least_s)
    parts = own.times_s / own.targets_s
    return Seen.by(
        f"at most {parts.max():.3f} of the target, {parts.size} targets",
        *(words.within(part, -math.inf, 1.1, f"≤ 1.1 from {least_s:g} s on") for part in parts),
    )


def _timed(time_s: Callable[[float], float], *schemes: str) -> Spoil:
    """Replace every response time of these startups by a function of the target."""

    def spoil(rows: Rows) -> Rows:
        changed = dict(rows)
        for scheme, target_s in product(schemes, setup.TARGETS_S):
            if (key := setup.live_key(scheme, target_s)) in rows:
                times_s = np.full_like(rows[key].response_s, time_s(target_s))
                changed[key] = dataclasses.replace(rows[key], response_s=times_s)
        return changed

    return spoil


for _ids, _scheme, _least_s in (
    (("deadlines-mega-start", "deadlines-live-mega-start"), MEGA, LEAST_S),
    (("deadlines-quick-start", "deadlines-live-quick-start"), CORRECTED, LEAST_ASKING_S),
):
    _look = partial(_within, scheme=_scheme, least_s=_least_s)
    CLAIMS.add(_ids[0], _look, spoil=scaled(_scheme, 1.5, "response_s"))
    _too_late, _on_time = _timed(lambda t: 1.2 * t, _scheme), _timed(lambda t: t, _scheme)
    LIVE.add(_ids[1], _look, spoil=_too_late, mend=_on_time)


def _a_round_trip_late(rows: Rows) -> Rows:
    """Make late Quick-Start miss each target by half a round trip."""
    targets = np.array(setup.TARGETS_S)
    late = np.where(targets > RTT_S, targets + RTT_S / 2, rows[LATE].response_s)
    return {**rows, LATE: dataclasses.replace(rows[LATE], response_s=late)}


def _named_rates(**tunables: int) -> Edit:
    """The server names the rate of eq. 7.1, in IP packets, for every target above the RTT."""
    packets_bits = math.ceil(setup.SIZE_BYTES / lab.MSS_BYTES) * lab.MTU_BYTES * 8

    def edit(experiment: Experiment) -> Experiment:
        data = experiment.model_dump(mode="json")
        for flow, target_s in zip(data["flows"], setup.TARGETS_S, strict=True):
            flow["control"]["tunables"].update(tunables)
            flow["deadline"] = None
            if (left_s := target_s - RTT_S) > 0:
                flow["initial_rate"] = f"{packets_bits / left_s:.0f} bit/s"
                flow["data_volume"] = f"{setup.SIZE_BYTES:.0f} B"
        return Experiment.model_validate(data)

    return edit


_NAMED = "a server that names the rate of eq. 7.1 for every target,"
_STRATEGY_C = f"{_NAMED} and ssthresh at the granted window (strategy c)"


@CLAIMS.judge(
    "C-TH-245",
    spoil=swapped(LATE, MEGA),
    mend=_a_round_trip_late,
    tries=[
        Change(_STRATEGY_C, _named_rates(qs_ssthresh=1), LATE),
        Change(f"{_NAMED} like the thesis'", _named_rates(), LATE),
    ],
)
def _missed(found: Found) -> Seen:
    own = found[LATE].between(LEAST_S)
    missed, most_s = own.targets_s[own.late_s > 0], own.late_s.max()
    pairs = list(zip(own.late_s, own.targets_s, strict=True))
    by = "by up to a round trip and half the rate"
    return Seen.by(
        f"{missed.size} of {len(pairs)} targets that the link allows missed"
        + (f", up to {missed.max():g} s by at most {most_s:.2f} s" if missed.size else ""),
        *(words.more(late + target, target) for late, target in pairs),
        *(words.within(late, -math.inf, RTT_S + (target - RTT_S), by) for late, target in pairs),
        note="The claims list gives the upper bound.",
    )


@CLAIMS.judge("C-TH-246")
def _constant(found: Found) -> Seen:
    times = {LABELS[scheme]: found[scheme].times_s for scheme in BLIND}
    return Seen.by(
        listed({name: 1e3 * np.ptp(own) for name, own in times.items()}, "±{:.1f} ms"),
        *(words.identical(float(own.max()), float(own.min())) for own in times.values()),
    )


def _refused(found: Found, same: Callable[[float, float], Check], base: str) -> Seen:
    """Judge that response times with targets below the RTT equal those of startup ``base``."""
    slow = float(np.median(found[base].times_s))
    below = {LABELS[scheme]: found[scheme].between(0, RTT_S).times_s for scheme in (MEGA, LATE)}
    shown = {name: _joined(own, ".3f") for name, own in below.items()}
    return Seen.by(
        f"{listed(shown, '{} s', '; ')}; {LABELS[base]} {slow:.3f} s",
        *(words.every([same(float(time), slow) for time in own]) for own in below.values()),
        note="Mega-Start and Quick-Start (late) are each tried as the flow's startup, and the "
        "socket has the response time target.",
    )


def _joined(values: Array, form: str) -> str:
    return ", ".join(f"{value:{form}}" for value in values)


CLAIMS.add("C-TH-247", lambda found: _refused(found, words.identical, BASE))


@CLAIMS.judge("C-TH-248")
def _equation(_found: Found) -> Seen:
    return near((rate_bps(0.5) or 0) / 1e6, 8 / 3, relative=1e-4, unit="Mbit/s")


@CLAIMS.judge("C-TH-290")
def _penalty(found: Found) -> Seen:
    times_s = np.concatenate([found[scheme].times_s for scheme in (MEGA, LATE)])
    worst = float(times_s.max()) / float(found[BASE].times_s[0])
    # The claims list's "rather low" is 10 %. "Not much worse" alone would allow 50 %.
    check = dataclasses.replace(words.within(worst, -math.inf, 1.1), words=frozenset({"much"}))
    note = "Shown: the longest response time with targets from 0.1 to 2 s, divided by slow start's."
    return Seen.by(worst, check, note=note)


# ---- On the kernel ----

TODAY = "initial-start"
"""Initial window of today's Linux: ten packets."""


def _undelayed(*schemes: str) -> list[Change]:
    """A change that shows whether other work of the machine delayed downloads of these startups."""
    keys = [f"{scheme}-t*" for scheme in schemes]
    return [Change("the fastest of a target's three downloads", keys=keys, observe=_FASTEST)]


LIVE.add(
    "deadlines-live-below-rtt",
    lambda found: _refused(found, words.similar, TODAY),
    spoil=_timed(lambda _: 0.3, MEGA),
    mend=_timed(lambda _: 0.7, MEGA, LATE, TODAY),
)
LIVE.add(
    "deadlines-live-blind",
    _constant,
    spoil=_timed(lambda target_s: target_s, "jump-start"),
    mend=_timed(lambda _: 0.7, *BLIND),
    tries=_undelayed(*BLIND),
)
LIVE.add(
    "deadlines-live-wrong",
    _penalty,
    spoil=_timed(lambda _: 9.0, LATE),
    mend=_timed(lambda _: 0.1, MEGA, LATE),
)


@LIVE.judge("deadlines-live-not-asked")
def _not_asked(found: Found) -> Seen:
    below = {LABELS[scheme]: found[scheme].between(0, RTT_S).asked for scheme in (LATE, CORRECTED)}
    shown = listed({name: _joined(own, "g") for name, own in below.items()}, "{}", "; ")
    above = found[LATE].between(LEAST_S, 0.6).asked  # targets that slow start does not meet
    return Seen.by(
        f"requests: {shown}; from {LEAST_S:g} to 0.5 s {_joined(above, 'g')}",
        *(words.is_so(own.size > 0 and not own.any(), "none below") for own in below.values()),
        words.is_so(above.size > 0 and bool(np.all(above > 0)), "some above"),
        note="Shown: the number of Quick-Start requests that the link's router counts during the "
        "downloads with such targets.",
    )


@LIVE.judge(
    "deadlines-live-late",
    spoil=_timed(lambda target_s: 0.9 * target_s, LATE),
    mend=[_timed(lambda _: 0.7, TODAY), _timed(lambda target_s: target_s + 0.1, LATE)],
)
def _late(found: Found) -> Seen:
    own_s = float(np.median(found[TODAY].times_s))
    late = found[LATE].between(LEAST_S, own_s)
    over = late.late_s
    by = f", by {over.min():.2f} to {over.max():.2f} s" if over.size else ""
    return Seen.by(
        f"{int((over > 0).sum())} of {over.size} missed{by}",
        words.is_so(over.size > 0, f"all from {LEAST_S:g} s to Initial-Start's time"),
        *(words.more(float(o + t), float(t)) for o, t in zip(over, late.targets_s, strict=True)),
        note=f"For comparison: Initial-Start takes {own_s:.2f} s.",
    )


AGREEMENTS = Agreement.per_row(
    LABELS,
    "{}: response times over HTTP on the kernel agree with the simulator's.",
    table=page.TITLE, most=0.02, unit="s", relative=0.05,
)  # fmt: skip
_WHY = {scheme: LIVE.file.why["delayed"].why(_undelayed(scheme)) for scheme in BLIND}
_WHY[MEGA] = LIVE.file.why["not-activated"].why([LIVE.file.change["longer-target"].change()])
"""Why an agreement with the simulator fails, by startup."""


def _agreed(scheme: str, agreement: Agreement) -> Statement[Found]:
    keys = f"{scheme}-t*"
    spoil, mend = scaled(keys, 1.5, "response_s"), as_simulated(keys)
    one = agreed("deadlines", agreement, page.tables, spoil, mend)
    return dataclasses.replace(one, why=_WHY.get(scheme))


LIVE_STATEMENTS = (*LIVE.statements(), *map(_agreed, LABELS, AGREEMENTS))
