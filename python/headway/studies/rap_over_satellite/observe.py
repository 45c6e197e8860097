"""Run: completion times of the files, and the link's use meanwhile."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from headway import metrics
from headway.claims import Evidence
from headway.metrics.stats import Array, Estimate
from headway.studies.common import lab
from headway.studies.common.runs import estimate
from headway.studies.rap_over_satellite.experiments import FLOWS, RATE_BPS, key
from headway.trace import Trace
from headway.units import NS_PER_S

FIRST_RUN = 1


@dataclass(frozen=True)
class Files:
    """One trial."""

    times_s: Array
    """Time from a file's first packet to its last byte in order, by flow; NaN if the file did not
    end."""
    all_s: float
    """Time from the first file's start to the last file's end; NaN if a file did not end."""
    used: float
    """Part of the link's capacity that was used from the first start to the last end."""
    jain: float
    """Jain's index of goodputs while all files are being sent; NaN if that is less than a slot."""
    drops_pkts: float
    """Packets that the queue dropped or the link lost."""
    slots_s: Array
    """Ends of slots, shape (slots,), up to the last file's end."""
    used_by_slot: Array
    """The part of the link that all flows used in each slot."""
    used_by_flow: Array
    """The part that each flow's application data used, shape (flows, slots)."""


Found = Evidence[Files]


def observe(_key: str, trace: Trace, link: int = 0) -> Files:
    """Observe a trial, whose data crosses the satellite by link number ``link``."""
    begins = np.array([flow.first_packet_ns for flow in trace.flows], dtype=np.float64) / NS_PER_S
    ends = np.array(
        [np.nan if flow.done_ns is None else flow.done_ns for flow in trace.flows], dtype=np.float64
    )
    ends /= NS_PER_S
    last_s, first_s = float(ends.max()), float(begins.min())
    slots, rates = lab.link_rate(trace, link)
    goodputs = [lab.flow_rate(trace, flow) for flow in range(FLOWS)]
    per_flow = np.array([goodput for _, goodput in goodputs])
    shown = slots <= (np.ceil(last_s) if np.isfinite(last_s) else slots[-1])
    together = (goodputs[0][0] - 1 >= begins.max()) & (goodputs[0][0] <= np.nanmin(ends))
    sent_bits = float(rates[shown] @ np.diff(slots, prepend=0.0)[shown])
    return Files(
        times_s=ends - begins,
        all_s=last_s - first_s,
        used=sent_bits / (last_s - first_s) / RATE_BPS,
        jain=_jain(per_flow[:, together].mean(axis=1)) if together.any() else float("nan"),
        drops_pkts=float(metrics.drops_pkts(trace, link)),
        slots_s=slots[shown],
        used_by_slot=rates[shown] / RATE_BPS,
        used_by_flow=per_flow[:, : int(shown.sum())] / RATE_BPS,
    )


def _jain(rates: Array) -> float:
    return float(metrics.jain_index(list(rates)) or 0.0)


def numbers(found: Iterable[str]) -> list[int]:
    """The numbers of the runs that were executed."""
    return sorted({int(name.rpartition("-r")[2]) for name in found})


def trials(found: Found, scheme: str, loss: float, *, delays: bool = False) -> list[Files]:
    """All runs of a scheme. Raises MissingTrialError."""
    names = numbers(found) or [FIRST_RUN]
    return [found[key(scheme, loss, run, delays=delays)] for run in names]


def afct_s(found: Found, scheme: str, loss: float, *, delays: bool = False) -> Estimate:
    """The average completion time over files, and then over runs; NaN where one did not end."""
    return estimate(trials(found, scheme, loss, delays=delays), "times_s")
