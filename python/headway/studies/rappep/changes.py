"""Why statements of paper 004 on proxies do not hold, and the experiments that show it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headway.claims import Change, Why, edited
from headway.claims.why import Edit
from headway.experiment import Experiment
from headway.studies.rap_over_satellite.experiments import queue_of, starts_within
from headway.studies.rappep.observe import Row, observe
from headway.trace import Trace

_FIGURES_3_4 = ("cubic26", "vcp", "xcp", "mpcp", "tcp_pep")
_FIGURES_4_5 = ("xcp", "mpcp", "xcp_pep", "mpcp_pep")
_SMALL_QUEUE = "a queue of 100 packets"
_LARGE_FILES = edited({"flows.*.app.size": "50 MB"})


def _clean(*schemes: str) -> list[str]:
    return [f"{scheme}-p0-*" for scheme in schemes]


def _lossy(*schemes: str) -> list[str]:
    return [f"{scheme}-p1e-2-*" for scheme in schemes]


def _sides(*schemes: str) -> list[str]:
    return [f"{scheme}-delays-*" for scheme in schemes]


def _delays_times(factor: float) -> Edit:
    """Multiply the delays of the side links."""

    def edit(experiment: Experiment) -> Experiment:
        data = experiment.model_dump(mode="json")
        for flow, of in zip(data["flows"], experiment.flows, strict=True):
            flow["delay"] = f"{round(of.delay * factor)} ns"
        return Experiment.model_validate(data)

    return edit


def _second_to_second(key: str, trace: Trace) -> Row:
    """A row whose swing is the root mean square of changes from second to second."""
    row = observe(key, trace)
    first_s = min(flow.first_packet_ns or 0 for flow in trace.flows) / 1e9
    used = row.files.used_by_slot[row.files.slots_s > np.ceil(first_s)]
    return replace(row, swing=float(np.sqrt(np.mean(np.diff(used) ** 2))))


def _while_all_send(key: str, trace: Trace) -> Row:
    """A row whose swing covers only the seconds in which all five files are being sent."""
    row = observe(key, trace)
    begins_s = np.array([flow.first_packet_ns or 0 for flow in trace.flows]) / 1e9
    slots_s = row.files.slots_s
    together = (slots_s - 1 >= begins_s.max()) & (slots_s <= (begins_s + row.files.times_s).min())
    used = row.files.used_by_slot[together]
    return replace(row, swing=float(used.std()) if used.size else float("nan"))


def _with_queue(pkts: int, reason: str, keys: list[str]) -> Why:
    change = Change(f"a queue of {pkts} packets", queue_of(pkts), keys)
    return Why("unknown setting", reason, (change,))


MPCP_RATIO = _with_queue(
    100,
    "The paper does not print the routers' queue. Hybla grows by up to 1024 packets per round trip "
    "here. Linux's queue of 1000 packets absorbs this growth. A smaller queue delays TCP PEP, but "
    "not MPCP.",
    _clean("mpcp", "tcp_pep"),
)
USERS = _with_queue(
    300,
    "The paper does not print the routers' queue. With 1000 packets TCP PEP uses the link as well "
    "as MPCP (see C-RP-002).",
    _clean(*_FIGURES_3_4),
)
LOSSY_RATIO = _with_queue(
    150,
    "The paper does not print the routers' queue. At 1 % loss, too, Hybla's growth overflows a "
    "smaller queue (see C-RP-002).",
    _lossy("mpcp", "xcp", "tcp_pep"),
)
WORST_SWING = Why(
    "unknown setting",
    "The paper does not say what MPCP does on a loss. Here its window stays. The first file takes "
    "the link from idle to full, and a standard deviation counts this growth as oscillation. From "
    "second to second TCP PEP's use changes most.",
    (
        Change(
            "XCP and MPCP that halve the window on a loss",
            edited({"flows.*.control.tunables.on_loss": "halve"}),
            _lossy("xcp", "mpcp"),
        ),
        Change(
            "changes from second to second as the measure",
            keys=_lossy(*_FIGURES_3_4),
            observe=_second_to_second,
        ),
    ),
)
CALMER = Why(
    "refuted",
    "XCP from end to end fills the link about as fast as XCP PEP: its routers grant spare "
    "bandwidth within a few round trips. With files of 5 MB the start and the end decide how much "
    "the use varies. MPCP PEP oscillates less than MPCP and converges faster.",
    (
        Change("files of 50 MB", _LARGE_FILES, _lossy(*_FIGURES_4_5)),
        Change("starts within 10 s", starts_within(10), _lossy(*_FIGURES_4_5)),
        Change(
            "the seconds in which all files are being sent as the measure",
            keys=_lossy(*_FIGURES_4_5),
            observe=_while_all_send,
        ),
    ),
)
TIME_OR_FAIRNESS = Why(
    "refuted",
    "Over side links of up to 800 ms the servers' CUBIC takes longer than the satellite's leg. So "
    "the first leg decides the shares, whatever control the second leg has.",
    (Change("side links of up to 80 ms", _delays_times(0.1), _sides("xcp_pep", "mpcp_pep")),),
)
XCP_PEP_FAIRER = Why(
    "refuted",
    "Over side links of up to 800 ms the servers' CUBIC takes longer than the satellite's leg, so "
    "the first leg decides the shares. With large files or short side links it does not, and then "
    "TCP PEP or XCP from end to end is about as fair.",
    (
        Change("files of 50 MB", _LARGE_FILES, _sides("xcp_pep", "tcp_pep", "xcp")),
        Change(
            "side links of up to 80 ms",
            _delays_times(0.1),
            _sides("xcp_pep", "tcp_pep", "xcp"),
        ),
        Change(_SMALL_QUEUE, queue_of(100), _sides("xcp_pep", "tcp_pep", "xcp")),
    ),
    nothing_helps=True,
)
MPCP_PEP_FAIRER = Why(
    "refuted",
    "Over side links of up to 800 ms the servers' CUBIC takes longer than the satellite's leg, so "
    "the first leg decides the shares. With files of 50 MB MPCP PEP is fairer than MPCP, but its "
    "improvement over TCP PEP is a third of XCP PEP's, which has a controller for fairness.",
    (
        Change("files of 50 MB", _LARGE_FILES, _sides("mpcp_pep", "mpcp", "tcp_pep", "xcp_pep")),
        Change(
            "side links of up to 80 ms",
            _delays_times(0.1),
            _sides("mpcp_pep", "mpcp", "tcp_pep", "xcp_pep"),
        ),
    ),
    nothing_helps=True,
)
AT_THE_SERVER = Why(
    "unknown setting",
    "The paper does not print the proxy's buffers. Here they hold a whole file, which the side "
    "link of 1 Gbit/s delivers at once.",
    (
        Change(
            "send buffers of 1 MB",
            edited({"flows.*.send_buffer": "1 MB"}),
            _clean("xcp_pep"),
        ),
    ),
)
OPENS_FAST = Why(
    "unknown setting",
    "The proxy reads no data before its satellite connection is open, and hosts of Linux 2.6 delay "
    "the ACKs of unread data. The paper does not say how the proxy's hosts acknowledge.",
    (
        Change(
            "hosts that acknowledge every packet",
            edited({"flows.*.delayed_ack": False}),
            _clean("xcp_pep", "mpcp_pep"),
        ),
    ),
)
