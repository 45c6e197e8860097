"""Setup: one greedy flow over 9.76 Mbit/s and 200 ms, each packet lost with probability p.

Another flow without random loss has the queue of figures 4.8 and 4.9.
"""

from __future__ import annotations

from headway import models
from headway.experiment import Dumbbell, Experiment, Flow, Record
from headway.metrics.stats import Array
from headway.models._checks import Floats
from headway.studies.common import lab
from headway.study import StudyContext

CONTROLS = {"reno": "Reno", "cubic26": "CUBIC", "compound": "Compound"}
LOSSES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 5e-2, 1e-1)
QUICK_LOSSES = (1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 5e-2)
RUNS, QUICK_RUNS = 2, 1
WARMUP_S = 40.0
QUEUED = ("cubic26", "compound")
"""The controls whose queues are measured."""
QUEUED_S = 400.0
"""A sawtooth of figure 4.9 takes less than a minute."""
LOSSES_PER_RUN = 2000
"""Expected losses in each run, if this does not take too many packets."""
MOST_PKTS, QUICK_MOST_PKTS = 10e6, 4e6
FULL_LINK_S = 2000.0
"""Length of a run whose equation gives the flow the whole link."""
RTT_S = lab.RTT_MS / 1e3
CAPACITY_BPS = lab.LINK_BPS * lab.MSS_BYTES / lab.MTU_BYTES
SEGMENTS_PER_ACK = 2.0
"""Linux 2.6 counts ACKs, and outside of slow start every second packet is acknowledged."""


def reno_bps(loss: float | Array) -> Floats:
    """Eq. 4.7 for this path."""
    return models.reno_pftk_bps(
        loss,
        mss_bytes=lab.MSS_BYTES,
        rtt_s=RTT_S,
        rto_s=RTT_S + models.LINUX_RTO_FLOOR_S,
        segments_per_ack=SEGMENTS_PER_ACK,
    )


def reno_sqrt_bps(loss: float | Array) -> Floats:
    """Eq. 4.6 for this path."""
    return models.reno_sqrt_bps(
        loss, mss_bytes=lab.MSS_BYTES, rtt_s=RTT_S, segments_per_ack=SEGMENTS_PER_ACK
    )


def cubic_bps(loss: float | Array) -> Floats:
    """Eq. 4.9 for this path."""
    return models.cubic_response_bps(loss, mss_bytes=lab.MSS_BYTES, rtt_s=RTT_S)


def compound_bps(loss: float | Array) -> Floats:
    """Eq. 4.10 for this path."""
    return models.compound_response_bps(loss, mss_bytes=lab.MSS_BYTES, rtt_s=RTT_S)


_FASTER = {"cubic26": cubic_bps, "compound": compound_bps}


def key(control: str, loss: float, run: int) -> str:
    """A trial's name: "cubic26-p1e-3-r1"."""
    return f"{control}-p{loss:.0e}-r{run}".replace("e-0", "e-")


def queue_key(control: str) -> str:
    """A trial's name without random loss: "queue-compound"."""
    return f"queue-{control}"


def losses(ctx: StudyContext) -> tuple[float, ...]:
    """Probabilities of loss of this form."""
    return QUICK_LOSSES if ctx.quick else LOSSES


def runs(ctx: StudyContext) -> int:
    """Number of runs of each control and loss."""
    return QUICK_RUNS if ctx.quick else RUNS


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per control, loss and run, and one for each queue."""
    trials = {
        key(control, loss, run): _trial(ctx, control, loss, run)
        for control in CONTROLS
        for loss in losses(ctx)
        for run in range(1, runs(ctx) + 1)
    }
    return trials | {queue_key(control): _queue_trial(ctx, control) for control in QUEUED}


def _trial(ctx: StudyContext, control: str, loss: float, run: int) -> Experiment:
    equation_bps = float(reno_bps(loss))
    if control in _FASTER:
        equation_bps = max(equation_bps, float(_FASTER[control](loss)))
    wanted_pkts = min(LOSSES_PER_RUN / loss, QUICK_MOST_PKTS if ctx.quick else MOST_PKTS)
    length_s = wanted_pkts * 8 * lab.MSS_BYTES / equation_bps
    if equation_bps >= CAPACITY_BPS:
        length_s = FULL_LINK_S
    topology = lab.path(loss=loss)
    lossless_back = topology.reverse and topology.reverse.model_copy(update={"loss": 0.0})
    topology = topology.model_copy(update={"reverse": lossless_back})
    return _greedy(topology, control, length_s, seed=ctx.seed * 1000 + run)


def _queue_trial(ctx: StudyContext, control: str) -> Experiment:
    """Figures 4.8 and 4.9: only the queue drops."""
    path = lab.path(buffer_pkts=lab.SMALL_BUFFER_PKTS)
    return _greedy(path, control, QUEUED_S, seed=ctx.seed, record=("flows", "queue"))


def _greedy(
    path: Dumbbell, control: str, length_s: float, *, seed: int, record: tuple[Record, ...] = ()
) -> Experiment:
    flow = Flow.model_validate(
        {"control": control, "receive_buffer": lab.RECEIVE_BUFFER, "start": "0 s"}
    )
    made = lab.experiment(path, [flow], duration_s=WARMUP_S + length_s, seed=seed, record=record)
    return made.model_copy(update={"warmup": int(WARMUP_S * 1e9)})
