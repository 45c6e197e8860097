"""Setup: one, two or five bulk flows of one control beside a call on a home link of 1 Mbit/s.

18 cells (two RTTs, three controls, three numbers of flows) of five trials, each three minutes or
twenty congestion epochs long, whichever is longer. Tables 1 and 2 of the paper come first, edits of
trials for counterfactuals last.
"""

import json
import math
import random
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from headway import models
from headway.claims import words
from headway.claims.declared import study_file
from headway.errors import HeadwayError
from headway.experiment import Dumbbell, Experiment, Flow, Schedule, Step, Voip
from headway.study import StudyContext
from headway.units import BITS_PER_BYTE, NS_PER_S, parse_rate, parse_size

RTTS_MS = (50, 100)
LABELS = {"reno": "NewReno", "htcp": "H-TCP", "cubic26": "CUBIC"}
CONTROLS = tuple(LABELS)
FLOW_COUNTS = (1, 2, 5)

CellKey = tuple[int, str, int]
"""(RTT in ms, control, number of TCP flows)."""
ROWS = tuple(product(RTTS_MS, CONTROLS))
CELLS: tuple[CellKey, ...] = tuple(product(RTTS_MS, CONTROLS, FLOW_COUNTS))
"""All 18 cells in the order of both tables, which is also that of the claims."""
GOODPUT, GOODPUT_SD = "goodput_kbytes_s", "goodput_sd_kbytes_s"
DELAYS = {"median": "owd_median_ms", "mean": "owd_mean_ms", "sd": "owd_sd_ms"}
"""Table 2's statistics, in its order."""
PUBLISHED: dict[str, dict[CellKey, float]] = {
    name: dict(zip(CELLS, values, strict=True))
    for name, values in study_file(__name__).published.items()
}
"""The numbers of tables 1 and 2 by cell."""
CLAIM_IDS = {
    number: f"C-CD-{count:03}"
    for count, number in enumerate(
        (*product(CELLS, (GOODPUT, GOODPUT_SD)), *product(CELLS, DELAYS.values())), start=1
    )
}
"""The claim id of each number of tables 1 and 2."""
SPREAD = CLAIM_IDS[CELLS[0], GOODPUT_SD]
"""The claim that carries the one check of all 18 standard deviations of goodput."""


class Tolerance(NamedTuple):
    """How far a measured value may be from the published value: the larger of the two margins."""

    relative: float
    unit: str
    refuting: float
    """A factor that puts any cell outside of its tolerance."""
    absolute: float = 0.0

    def check(self, published: float, measured: float) -> words.Check:
        """Whether ``measured`` is within the tolerance of the published value."""
        margin = max(self.relative * abs(published), self.absolute)
        return words.within(measured, published - margin, published + margin, str(self))

    def __str__(self) -> str:
        margin = f"±{100 * self.relative:g} %"
        return f"{margin} or ±{self.absolute:g} {self.unit}" if self.absolute else margin


TOLERANCES = {
    GOODPUT: Tolerance(0.015, "kB/s", 0.96),
    DELAYS["median"]: Tolerance(0.06, "ms", 0.9, absolute=25.0),
    DELAYS["mean"]: Tolerance(0.06, "ms", 0.9, absolute=25.0),
    DELAYS["sd"]: Tolerance(0.25, "ms", 0.5),
}


class Error(NamedTuple):
    """How far one statistic of table 2 is from the paper over all 18 cells."""

    statistic: str
    mean_abs_ms: float
    largest_ms: float
    worst_cell: CellKey
    largest_relative: float
    """Largest |measured / published - 1|."""


def delay_errors(measured_ms: Callable[[CellKey, str], float]) -> list[Error]:
    """Errors of the medians, means and standard deviations of table 2."""
    errors = []
    for statistic, name in DELAYS.items():
        published = np.array(list(PUBLISHED[name].values()))
        off = np.abs(np.array([measured_ms(cell, name) for cell in CELLS]) - published)
        worst, most = CELLS[int(np.argmax(off))], float((off / published).max())
        errors.append(Error(statistic, float(off.mean()), float(off.max()), worst, most))
    return errors


TRIALS, QUICK_TRIALS = 5, 4
LENGTH_S, QUICK_LENGTH_S = 180.0, 85.0
EPOCHS = 20
"""Section 3: five trials, each three minutes or twenty congestion epochs, whichever is longer."""
MARGIN = 1.1
"""Safety factor on the length that the sawtooth's formula gives for a trial, and on the length of a
repeated trial that was too short.
"""
START_SPREAD_RTTS = 1.0
"""Flows start at random within this many round trips (choices in study.toml)."""
VOIP_LEAD_S = 1.0
"""The VoIP stream's datagrams begin this long before the TCP flows."""
SETTINGS: dict[str, dict[str, int]] = {
    "reno": {},
    # Adaptive reset is the paper's name for the bandwidth switch of Linux.
    "htcp": {"adaptive_backoff": 0, "bandwidth_switch": 0, "rtt_scaling": 1},
    "cubic26": {"max_increment": 100},
}
"""Tunables that the paper's testbed changed (section 3)."""
RATE, BUFFER = "1 Mbit/s", "60000 B"
BOTTLENECK = 0
"""The number of the forward link."""
_RATE_BPS, _BUFFER_BYTES = parse_rate(RATE), parse_size(BUFFER)
DATAGRAMS_BPS = Voip.packet * BITS_PER_BYTE * NS_PER_S / Voip.interval
PAYLOAD_SHARE = 1448 / 1500
"""Payload of a packet of full size."""
LINK_GOODPUT_KBYTES_S = (_RATE_BPS - DATAGRAMS_BPS) / BITS_PER_BYTE * PAYLOAD_SHARE / 1e3
"""Payload rate of full-sized TCP packets while the VoIP stream uses its part of the link."""
FULL_QUEUE_MS = _BUFFER_BYTES * BITS_PER_BYTE * 1e3 / _RATE_BPS
DATAGRAM_MS = Voip.packet * BITS_PER_BYTE * 1e3 / _RATE_BPS
"""Times to send a full queue and one datagram over the bottleneck."""

FIGURE_2: CellKey = (100, "htcp", 1)
CUBIC_GROWTH: CellKey = (100, "cubic26", 1)
ZOOMED: tuple[CellKey, ...] = (
    *((50, control, 1) for control in CONTROLS),
    FIGURE_2,
    CUBIC_GROWTH,
    *((50, control, 5) for control in CONTROLS),
)
"""Cells whose first trial is recorded in full."""
LENGTHENED = "lengthened.json"
"""File in the study's folder: the factors by which each trial was lengthened, by key and in
order."""


def cell_name(cell: CellKey) -> str:
    """A cell's name in texts: "50 ms, NewReno, 2 flows"."""
    rtt_ms, control, flows = cell
    return f"{rtt_ms} ms, {LABELS[control]}, {flows_name(flows)}"


def flows_name(flows: int) -> str:
    """A number of flows in words: "1 flow"."""
    return f"{flows} flow{'s' if flows > 1 else ''}"


def trial_key(cell: CellKey, trial: int | str) -> str:
    """A trial's name, for example "rtt50-htcp-n2-t3"; trials count from 1, "*" names all."""
    rtt_ms, control, flows = cell
    return f"rtt{rtt_ms}-{control}-n{flows}-t{trial}"


RECORDED = {trial_key(cell, 1): cell for cell in ZOOMED}
"""By key, the trials of which flow states and the queue are recorded."""


def trials_per_cell(ctx: StudyContext) -> int:
    """Number of trials per cell in this form."""
    return QUICK_TRIALS if ctx.quick else TRIALS


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """90 trials, with the lengths found necessary in this folder; 72 of 85 s with ``quick``."""
    plan = {}
    for cell in CELLS:
        length_s = QUICK_LENGTH_S if ctx.quick else planned_length_s(cell)
        for number in range(1, trials_per_cell(ctx) + 1):
            plan[trial_key(cell, number)] = trial(cell, number, seed=ctx.seed, length_s=length_s)
    for key, factors in lengthened_by(ctx.out_dir).items():
        for factor in factors:
            if key in plan:
                plan[key] = lengthened(plan[key], factor)
    return plan


def lengthened_by(out_dir: Path) -> dict[str, list[float]]:
    """The factors by which trials were lengthened in this folder. Raises HeadwayError."""
    file = out_dir / LENGTHENED
    if not file.exists():
        return {}
    try:
        saved = json.loads(file.read_text(encoding="utf-8"))
        return {str(key): [float(factor) for factor in value] for key, value in saved.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise HeadwayError(f"{file}: unreadable ({error})") from None


def path(rtt_ms: int) -> Dumbbell:
    """The testbed: a dummynet router between hosts on gigabit Ethernet.

    FreeBSD 7's dummynet drops a packet only if the bytes already queued exceed the limit, so the
    queue can hold up to one packet more than it says.
    """
    dummynet = {"name": "drop-tail", "tunables": {"overshoot": 1}}
    link = {"rate": RATE, "buffer": BUFFER, "aqm": dummynet}
    reverse = {**link, "delay": f"{rtt_ms / 2:g} ms"}
    return Dumbbell.model_validate(
        {**link, "rtt": f"{rtt_ms} ms", "reverse": reverse, "access_rate": "1 Gbit/s"}
    )


def planned_length_s(cell: CellKey) -> float:
    """Seconds that three minutes or twenty epochs take, by the sawtooth's closed form.

    A NewReno flow alone needs 17 s per epoch at 50 ms RTT. n flows fill the queue n times faster,
    but a full queue hits only some of them: (n + 1) / 2, between one and all, is near enough.
    The other two controls have epochs of a few seconds. If a trial turns out short all the same,
    it is run again (``run_until_enough``).
    """
    rtt_ms, control, flows = cell
    if control != "reno":
        return LENGTH_S
    cycle = models.sawtooth(
        rate_bps=_RATE_BPS,
        base_rtt_s=rtt_ms / 1e3,
        buffer_bytes=_BUFFER_BYTES,
        packet_bytes=1500,
        cross_traffic_bps=DATAGRAMS_BPS,
        segments_per_ack=2,
    )
    # Slow start's overshoot comes before the first epoch.
    return max(LENGTH_S, (EPOCHS + 2) * MARGIN * (cycle.cycle_s / ((flows + 1) / 2)))


def trial(cell: CellKey, number: int, *, seed: int, length_s: float) -> Experiment:
    """One trial: flows start at random; the VoIP stream ends when the first flow stops."""
    rtt_ms, control, flows = cell
    # Python guarantees the same numbers of random() for a text seed in every version.
    chance = random.Random(f"{seed}/{trial_key(cell, number)}").random
    spread_s = START_SPREAD_RTTS * rtt_ms / 1e3
    starts_s = [VOIP_LEAD_S + spread_s * chance() for _ in range(flows)]
    # Each flow's application writes for the trial's length, then the send buffer drains.
    stops_s = [start_s + length_s for start_s in starts_s]
    settings = {"name": control, "tunables": SETTINGS[control]}
    tcp = [
        {"name": f"tcp{n}", "control": settings, "start": f"{start:.9f} s", "stop": f"{stop:.9f} s"}
        for n, (start, stop) in enumerate(zip(starts_s, stops_s, strict=True), start=1)
    ]
    recorded = ("flows", "queue") if trial_key(cell, number) in RECORDED else ()
    call = {"name": "voip", "app": Voip, "start": "0 s", "stop": f"{min(stops_s):.9f} s"}
    return Experiment.model_validate(
        {
            "topology": path(rtt_ms),
            "flows": (*tcp, call),
            # 10 s after the last flow stops, in which the queue drains and lost packets are
            # retransmitted
            "duration": f"{max(stops_s) + 10:.9f} s",
            "stack": "linux-2.6",
            "seed": seed,
            "record": (*recorded, "udp"),
        }
    )


def _with(experiment: Experiment, flows: Iterable[Flow], later_ns: int) -> Experiment:
    """The trial with these flows and a later end. The last flow is the VoIP stream."""
    duration_ns = experiment.duration + later_ns
    return experiment.model_copy(update={"flows": tuple(flows), "duration": duration_ns})


def _stopping(flow: Flow, stop_ns: int) -> Flow:
    return flow.model_copy(update={"stop": stop_ns})


def _stopping_later(experiment: Experiment, by_ns: int) -> Experiment:
    flows = [_stopping(flow, (flow.stop or 0) + by_ns) for flow in experiment.flows]
    return _with(experiment, flows, by_ns)


def _longest_ns(experiment: Experiment) -> int:
    return max((flow.stop or 0) - (flow.start or 0) for flow in experiment.flows[:-1])


def lengthened(experiment: Experiment, factor: float) -> Experiment:
    """The same trial, in which every flow lasts ``factor`` times as long."""
    return _stopping_later(experiment, int(_longest_ns(experiment) * (factor - 1)))


def three_minutes(experiment: Experiment) -> Experiment:
    """A trial of the quick form, lengthened to the paper's three minutes."""
    if _longest_ns(experiment) >= int(LENGTH_S * NS_PER_S):
        return experiment
    return lengthened(experiment, LENGTH_S / QUICK_LENGTH_S)


def starting_within(experiment: Experiment, spread_ns: int) -> Experiment:
    """The trial with start times that are scaled from one round trip to ``spread_ns``."""
    lead_ns = int(VOIP_LEAD_S * NS_PER_S)

    def move(flow: Flow) -> Flow:
        start = flow.start or 0
        by = (start - lead_ns) * spread_ns // experiment.base_rtt_ns + lead_ns - start
        return flow.model_copy(update={"start": start + by, "stop": (flow.stop or 0) + by})

    *tcp, call = experiment.flows
    moved = [move(flow) for flow in tcp]
    stops, were = ([flow.stop or 0 for flow in flows] for flows in (moved, tcp))
    return _with(experiment, (*moved, _stopping(call, min(stops))), max(stops) - max(were))


def _chance(experiment: Experiment) -> Callable[[], float]:
    """A random generator for a trial, seeded by the experiment's seed and the flows' starts."""
    starts = [str(flow.start) for flow in experiment.flows[:-1]]
    return random.Random("/".join([str(experiment.seed), *starts])).random


def own_times(experiment: Experiment, most_ns: int) -> Experiment:
    """The trial with a random start of each flow and of the VoIP stream, and a random VoIP end."""
    moved, chance = starting_within(experiment, most_ns), _chance(experiment)
    *tcp, call = moved.flows
    start_ns = int(chance() * most_ns)
    stop_ns = (call.stop or 0) + int((2 * chance() - 1) * most_ns)
    call = call.model_copy(update={"start": start_ns, "stop": stop_ns})
    return _with(moved, (*tcp, call), most_ns)


def longer(experiment: Experiment, most_ns: int) -> Experiment:
    """The trial, in which all flows end later by a random time of up to ``most_ns``."""
    return _stopping_later(experiment, int(most_ns * _chance(experiment)()))


def noisy_delays(experiment: Experiment, noise_ns: int, step_ns: int) -> Experiment:
    """The trial with an exponential random delay added to the forward link's every ``step_ns``."""
    path, chance = experiment.topology, _chance(experiment)
    assert isinstance(path, Dumbbell)
    steps = []
    for start_ns in range(0, experiment.duration, step_ns):
        delay_ns = path.rtt // 2 - int(noise_ns * math.log(1 - chance()))
        steps.append(Step.model_construct(start=start_ns, rate=path.rate, delay=delay_ns))
    noisy = path.model_copy(update={"vary": Schedule(steps=tuple(steps))})
    return experiment.model_copy(update={"topology": noisy})


def without_delayed_acks(experiment: Experiment) -> Experiment:
    """The trial with an ACK for every packet of a bulk flow."""
    *tcp, call = experiment.flows
    return _with(experiment, (*(f.model_copy(update={"delayed_ack": False}) for f in tcp), call), 0)
