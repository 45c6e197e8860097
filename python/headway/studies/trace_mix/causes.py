"""Why statements on campus traffic do not hold, with the experiments that show it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headway import workloads
from headway.claims import Change, Why, edited
from headway.claims.why import Edit
from headway.experiment import Sessions
from headway.studies.common import pairs, traffic
from headway.studies.common.changes import DELAYED_ACKS, NO_SACK, both_ways, queues_of
from headway.studies.trace_mix import observe
from headway.studies.trace_mix.experiments import MODERATE, SCHEMES, SMALL, key
from headway.studies.trace_mix.observe import Epochs
from headway.trace import Trace

PERSISTENT = edited({"flows.*.app.workload.persistent": True})


def load(part: float) -> Edit:
    """Load of the downlink."""
    return edited({"flows.*.app.workload.load": part})


def router(**tunables: int) -> Edit:
    """Tunables of Quick-Start's routers."""
    return both_ways({f"quick_start.{name}": value for name, value in tunables.items()})


def _at(*schemes: str, loads: tuple[float, ...] = (MODERATE,)) -> tuple[str, ...]:
    return tuple(key(scheme, at) for scheme in schemes for at in loads)


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
    return replace(observe.observe(trace), seconds=seconds)


_INTERVAL = (
    "Section 6.4.5 does not print the interval of the target algorithm. We use 200 ms. With a "
    "longer interval the router remembers grants for longer and denies more requests."
)

_MEGA = _at("slow-start", "mega-start")

MEGA_TAIL = Why(
    "refuted",
    "Mega-Start has more retransmission timeouts. But most epochs of 1.5 to 6 s belong to large "
    "responses, and Mega-Start shortens more of these than it delays.",
    (
        Change("delayed ACKs", DELAYED_ACKS, _MEGA),
        Change("persistent connections", PERSISTENT, _MEGA),
        Change("a load of 65 %", load(0.65), _MEGA),
    ),
    nothing_helps=True,
)

_GAINS = _at("slow-start", "jump-start", loads=(SMALL, MODERATE))

GAIN_BY_LOAD = Why(
    "refuted",
    "At 35 % load Slow-Start's responses take longer than at 6 %, and Jump-Start has more to save.",
    (
        Change("persistent connections", PERSISTENT, _GAINS),
        Change("hosts without SACK", NO_SACK, _GAINS),
    ),
    nothing_helps=True,
)

QUICK_AT_SMALL_LOAD = Why(
    "unknown setting",
    _INTERVAL,
    (
        Change(
            "an interval of 1 s",
            router(interval_ms=1000),
            _at("quick-start-chi", loads=(SMALL, MODERATE)),
        ),
    ),
)

SLOW_LOSS = Why(
    "refuted",
    "The thesis' receivers acknowledge every packet. Slow start then doubles its window in each "
    "round trip and overshoots the queue of 50 packets. With delayed ACKs it grows more slowly.",
    (Change("delayed ACKs", DELAYED_ACKS, _at("slow-start")),),
)

JUMP_LOSS = Why(
    "refuted",
    "The difference of the two loss rates varies with the losses of the slow start that follows "
    "each startup. With delayed ACKs slow start overshoots less.",
    (Change("delayed ACKs", DELAYED_ACKS, _at("slow-start", "jump-start")),),
)

PACING = Why(
    "refuted",
    "With a queue of 50 packets, bursts of ten packets lose some percent more than paced packets. "
    "A larger queue absorbs the bursts.",
    (Change("a buffer of 250 packets", queues_of(250), _at("initial-start", "jump-start-10")),),
)

_QUICK = _at("quick-start-chi", loads=(SMALL, 0.15))

QUICK_BESIDE_ENDS = Why(
    "refuted",
    "Quick-Start needs a round trip for its request, except in the first exchange of a connection, "
    "where the handshake carries the request. Jump-Start also shortens responses below the "
    "threshold of 10 kB.",
    (
        Change(
            "a threshold of three packets",
            edited({"flows.*.control.tunables.qs_min_bytes": 4343}),
            _QUICK,
        ),
        Change("the optimistic algorithm", router(algorithm=2), _QUICK),
        Change(
            "requests with data only",
            edited({"flows.*.announces_first": False, "flows.*.control.tunables.qs_activation": 3}),
            _QUICK,
        ),
    ),
    nothing_helps=True,
)

QUICK_LOSS = Why(
    "refuted",
    "At 15 % load nearly all losses come from the slow start that follows a grant or a denial. "
    "With delayed ACKs slow start loses less, and the losses due to grants become visible.",
    (
        Change(
            "delayed ACKs",
            DELAYED_ACKS,
            _at("slow-start", *(one.key for one in pairs.QUICK_STARTS), loads=(SMALL, 0.15)),
        ),
    ),
)

QUICK_LONGER = Why(
    "unknown setting",
    _INTERVAL,
    (
        Change(
            "an interval of 1 s",
            router(interval_ms=1000),
            _at("quick-start", loads=(MODERATE, 0.5)),
        ),
    ),
)

OPTIMISTIC_LOSS = Why(
    "refuted",
    "The optimistic algorithm grants two requests for 5.12 Mbit/s at once, which together exceed "
    "the link's rate. Smaller requests do not.",
    (
        Change(
            "requests for 1.28 Mbit/s",
            edited({"flows.*.control.tunables.qs_rate_kbps": 1280}),
            _at("quick-start", "quick-start-optimistic"),
        ),
    ),
)

RCP_BESIDE_TCP = Why(
    "unknown setting",
    "An epoch includes the server's delay, which no scheme changes. The thesis does not print this "
    "delay. In the vectors that we replay, it is most of the mean epoch.",
    (
        Change(
            "epochs without the servers' delays",
            None,
            (*_at("rcp", *(scheme.key for scheme in SCHEMES)), "rcp-unlimited"),
            observe=_without_server_delay,
        ),
    ),
)
