"""Setup: a bulk flow of each control and a call, with each queue discipline.

Run: reduce a trial to delay, utilization and queue.
"""

import random
from dataclasses import dataclass

import numpy as np

from headway import metrics
from headway.claims import Evidence
from headway.experiment import Dumbbell, Experiment, Flow, Voip
from headway.metrics.stats import or_nan, weighted_distribution
from headway.metrics.windows import counter_change, values_with_durations
from headway.registry import Algorithm, registry
from headway.studies.collateral_damage.experiments import BUFFER, RATE, VOIP_LEAD_S
from headway.studies.common import runs
from headway.study import StudyContext
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

RTT_MS = 50
PACKET_BYTES = 1500
PLAIN = "drop-tail"
"""The queue discipline that papers on controls assume."""
BULK = 0
"""Number of the bulk flow, and of the forward link."""


def ends() -> tuple[Algorithm, ...]:
    """Every control that end hosts can run.

    The controls of a proxy need a monitor and are left out.
    """
    return tuple(one for one in registry().controls if not one.reads_monitor)


def queues() -> list[str]:
    """Every queue discipline by name, drop-tail first."""
    return sorted((one.name for one in registry().queues), key=lambda name: (name != PLAIN, name))


def routers_of(control: Algorithm) -> tuple[str, ...]:
    """The router algorithms that read the header of a control's packets, by name."""
    if control.header is None:
        return ()
    return tuple(one.name for one in registry().routers if one.header == control.header)


def key(control: str, queue: str, run: int | str) -> str:
    """A trial's name, for example "cubic-red-t1"; runs count from 1, "*" names all."""
    return f"{control}-{queue}-t{run}"


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per control, queue and run."""
    return {
        key(control.name, queue, run): _trial(ctx, control, queue, run)
        for queue in queues()
        for control in ends()
        for run in range(1, 2 if ctx.quick else 6)
    }


def _trial(ctx: StudyContext, control: Algorithm, queue: str, run: int) -> Experiment:
    link = {"rate": RATE, "buffer": BUFFER, "aqm": queue, "routers": routers_of(control)}
    reverse = {**link, "delay": f"{RTT_MS / 2:g} ms"}
    # seeded by a text: Python guarantees the same draws for it in every version
    chance = random.Random(f"{ctx.seed}/{key(control.name, queue, run)}").random()
    start_s = VOIP_LEAD_S + chance * RTT_MS / 1e3
    bulk = Flow.model_validate(
        {"name": "bulk", "control": control.name, "start": f"{start_s:.9f} s"}
    )
    return Experiment(
        topology=Dumbbell.model_validate({**link, "rtt": f"{RTT_MS} ms", "reverse": reverse}),
        flows=(bulk, Flow(name="voip", app=Voip, start="0 s")),
        duration="50 s" if ctx.quick else "190 s",
        # Slow start ends after at most five seconds and is not part of the steady state.
        warmup="10 s",
        stack="linux-6",
        seed=ctx.seed * 1000 + run,
        # RED's thresholds are numbers of packets, whatever their size.
        record=("udp", "queue") if queue == "red" else ("udp",),
    )


@dataclass(frozen=True)
class Latency:
    """Observations of one trial after the warm-up.

    Induced delay is a datagram's delay beyond its delay on an empty path.
    """

    induced_median_ms: float
    induced_p95_ms: float
    induced_max_ms: float
    utilization: float
    goodput_kbps: float
    queue_pkts: float
    """Mean over time of the bytes in the queue, in packets of 1500."""
    counted_pkts: float
    """Mean over time of the packets in the queue, whatever their size; NaN: not recorded."""
    drops: int
    voip_loss: float

    @property
    def waiting_pkts(self) -> float:
        """The queue without the packet in transmission, which exists while the link is used."""
        return self.queue_pkts - self.utilization


Found = Evidence[Latency]


def observe(_key: str, trace: Trace) -> Latency:
    """Observe a trial: delay, utilization and queue."""
    induced_ms = metrics.owd_us(trace) / 1e3 - empty_path_ms(trace.experiment)
    known_ms = induced_ms if induced_ms.size else np.array([np.nan])
    lost = metrics.lost_pkts(trace)
    start_ns, end_ns = window = metrics.window_of(trace)
    byte_us = counter_change(trace, "link", BULK, "queue_byte_us", window)
    return Latency(
        induced_median_ms=float(np.median(known_ms)),
        induced_p95_ms=float(np.quantile(known_ms, 0.95)),
        induced_max_ms=float(known_ms.max()),
        utilization=metrics.utilization(trace),
        goodput_kbps=metrics.goodput_bps(trace, BULK) / 1e3,
        queue_pkts=byte_us / ((end_ns - start_ns) / 1e3) / PACKET_BYTES,
        counted_pkts=_counted_pkts(trace, window),
        drops=metrics.drops_pkts(trace),
        voip_loss=lost / max(lost + induced_ms.size, 1),
    )


def empty_path_ms(experiment: Experiment) -> float:
    """A datagram's delay on an empty path: half the RTT and its own time on the link."""
    link, _ = experiment.topology.links()[0]
    own_ns = Voip.packet * BITS_PER_BYTE * NS_PER_S / link.rate
    return float(experiment.base_rtt_ns / 2 + own_ns) / 1e6


def _counted_pkts(trace: Trace, window: tuple[int, int]) -> float:
    if "queue" not in trace.experiment.record:
        return np.nan
    held = values_with_durations(trace.rows_of("queue", "link", BULK), "queue_pkts", window)
    return or_nan(weighted_distribution(*held).mean)


def mean(found: Found, control: str, queue: str, path: str) -> float:
    """The mean of a number over all runs. Raises MissingTrialError."""
    return runs.mean(runs.matching(found, key(control, queue, "*")), path)
