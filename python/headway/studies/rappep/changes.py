"""Why statements of paper 004 on proxies do not hold, and the experiments that show it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headway.claims import Change, Why, edited
from headway.claims.why import Edit
from headway.experiment import Experiment
from headway.studies.rap_over_satellite.changes import queue_of, starts_within
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
    """A row whose swing is of the seconds in which all five files are on the way."""
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
    "here. Linux's queue of 1000 packets absorbs that; a smaller one costs TCP PEP time and MPCP "
    "none.",
    _clean("mpcp", "tcp_pep"),
)
USERS = _with_queue(
    300,
    "As for C-RP-002: with a queue of 1000 packets TCP PEP uses the link as well as MPCP.",
    _clean(*_FIGURES_3_4),
)
LOSSY_RATIO = _with_queue(
    150,
    "As for C-RP-002: at 1 % loss Hybla's growth overflows a smaller queue, too.",
    _lossy("mpcp", "xcp", "tcp_pep"),
)
WORST_SWING = Why(
    "unknown setting",
    "The paper does not say what MPCP does on a loss. Here the window stays, and a first file "
    "grows from an idle to a full link, which a standard deviation counts as oscillation. From "
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
    "XCP from end to end fills the link about as fast as XCP PEP: its routers hand out spare "
    "bandwidth within a few round trips. With files of 5 MB the start and the end decide how much "
    "the use varies. MPCP PEP is calmer and faster than MPCP.",
    (
        Change("files of 50 MB", _LARGE_FILES, _lossy(*_FIGURES_4_5)),
        Change("starts within 10 s", starts_within(10), _lossy(*_FIGURES_4_5)),
        Change(
            "the seconds in which all files are on the way as the measure",
            keys=_lossy(*_FIGURES_4_5),
            observe=_while_all_send,
        ),
    ),
)
TIME_OR_FAIRNESS = Why(
    "refuted",
    "Through side links of up to 800 ms the servers' CUBIC needs longer than the satellite, so the "
    "first leg decides the shares, whatever controls the second.",
    (Change("side links of up to 80 ms", _delays_times(0.1), _sides("xcp_pep", "mpcp_pep")),),
)
XCP_PEP_FAIRER = Why(
    "refuted",
    "As for C-RP-012. Where the first leg does not decide, since files are large or side links "
    "short, TCP PEP or XCP from end to end is about as fair.",
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
    "As for C-RP-012. With files of 50 MB MPCP PEP is fairer than MPCP, but its improvement over "
    "TCP PEP is a third of XCP PEP's, which has a controller for fairness.",
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
    "The proxy's buffers are not printed. Here they hold a whole file, which the side link of "
    "1 Gbit/s carries at once.",
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
    "The proxy reads nothing before its satellite connection is open, and hosts of Linux 2.6 delay "
    "the ACKs of what is not read. The paper does not say how the proxy's hosts acknowledge.",
    (
        Change(
            "hosts that acknowledge every packet",
            edited({"flows.*.delayed_ack": False}),
            _clean("xcp_pep", "mpcp_pep"),
        ),
    ),
)
