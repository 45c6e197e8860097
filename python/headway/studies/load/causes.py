"""Why statements on bandwidth sharing do not hold, with the experiments that show it."""

from __future__ import annotations

from headway.claims import Change, Why, edited
from headway.claims.why import Edit
from headway.studies.common import lab
from headway.studies.common.changes import DELAYED_ACKS, NO_SACK, both_ways, queues_of
from headway.studies.load.experiments import LOADS
from headway.studies.load.seen import LOADED

_AT_SMALL_LOAD = tuple(f"{round(100 * load):02d}" for load in LOADS[:2])
_AT_HIGH_LOAD = tuple(f"{round(100 * load):02d}" for load in LOADS[-2:])


def _keys(schemes: tuple[str, ...], loads: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{scheme}-{load}" for scheme in schemes for load in loads)


_LOADED = tuple(f"{round(100 * load):02d}" for load in LOADED)
_COMPARED = _keys(("slow-start", "initial-start", "mega-start"), _LOADED)
_ALIKE = _keys(("jump-start", "initial-start", "mega-start"), _AT_SMALL_LOAD)
_QUICK_AT_SMALL_LOAD = _keys(("quick-start",), _AT_SMALL_LOAD)


def _mean_response(size_bytes: int) -> Edit:
    return edited({"flows.*.app.workload.vectors.mean": f"{size_bytes} B"})


def _request(kbps: int) -> Edit:
    """The rate that Quick-Start's hosts request."""
    return edited({"flows.*.control.tunables.qs_rate_kbps": kbps})


def _rcp(**tunables: int) -> Edit:
    """Tunables of RCP's routers."""
    return both_ways({f"routers.0.tunables.{name}": value for name, value in tunables.items()})


_UNPRINTED_RATE = (
    "Section 6.4.3 does not print the rate that hosts request. We use 5.12 Mbit/s, the rate of "
    "section 6.4.5. "
)

ENDS_ALIKE = Why(
    "refuted",
    "Table 6.1 contradicts the statement: without loss, Initial-Start takes 29 % longer than "
    "Jump-Start and Mega-Start 37 % less. Jump-Start spreads its data over a round trip, "
    "Mega-Start sends at the link's rate, and Initial-Start sends only ten packets in the first "
    "round trip.",
    (
        Change("responses of 14 kB on average", _mean_response(14_000), _ALIKE),
        Change("a buffer of 1000 packets", queues_of(1000), _ALIKE),
        Change("delayed ACKs", DELAYED_ACKS, _ALIKE),
    ),
    nothing_helps=True,
)

ENDS_FAIL = Why(
    "refuted",
    "Losses cost less time than the skipped round trips of slow start save. Initial-Start's gain "
    "disappears with a buffer of 10 packets, and Mega-Start's disappears without SACK. No change "
    "that was tried removes both gains.",
    (
        Change("a buffer of 10 packets", queues_of(10), _COMPARED),
        Change("hosts without SACK", NO_SACK, _COMPARED),
        Change("responses of 14 kB on average", _mean_response(14_000), _COMPARED),
        Change(
            "a connection for each response",
            edited({"flows.*.app.workload.persistent": False}),
            _COMPARED,
        ),
    ),
    nothing_helps=True,
)

TOO_LARGE_WINDOW = Why(
    "unknown setting",
    "The thesis does not print by how much the window exceeds the buffer of 50 packets. At small "
    "load a burst of 100 packets still saves more time than its losses cost.",
    (
        Change(
            "a window of 200 packets",
            edited({"flows.*.control.tunables.is_window_pkts": 200}),
            "initial-start-100-*",
        ),
    ),
)

RCP_BESIDE_SHARING = Why(
    "refuted",
    "A new flow sends at the rate of all others until the router has lowered it, one round trip "
    "later. A queue builds up, and afterwards the link idles while the rate rises again. The "
    "statement fails with all tried values of the settings that the thesis does not print.",
    (
        Change("weights of 0.6 and 0.6", _rcp(alpha=600, beta=600), "rcp-*"),
        Change("a target of 95 % of the link", _rcp(gamma=950), "rcp-*"),
        Change("a new rate once a round trip", _rcp(slot_ms=lab.RTT_MS), "rcp-*"),
        Change(
            "flows that probe after idle times",
            edited({"flows.*.control.tunables.idle": 1}),
            "rcp-*",
        ),
    ),
    nothing_helps=True,
)

ONE_ROUND_TRIP = Why(
    "refuted",
    "Jump-Start spreads 64 KiB over a round trip, which is 2.56 Mbit/s. Quick-Start sends at 5.12 "
    "Mbit/s, which makes up for a part of the round trip that its request takes. Table 6.1, "
    "without loss, gives a difference of 0.06 s, and of 0.14 and 0.24 s for requests of 2.56 and "
    "1.28 Mbit/s.",
    (
        Change("requests for 2.56 Mbit/s", _request(2560), _QUICK_AT_SMALL_LOAD),
        Change("requests for 1.28 Mbit/s", _request(1280), _QUICK_AT_SMALL_LOAD),
        Change(
            "a buffer of 1000 packets",
            queues_of(1000),
            _keys(("slow-start", "jump-start", "quick-start"), _AT_SMALL_LOAD),
        ),
    ),
    nothing_helps=True,
)

INTERVAL_AT_SMALL_LOAD = Why(
    "unknown setting",
    _UNPRINTED_RATE
    + "Two such grants use the whole link. With an interval of 1 s the router remembers a "
    "grant for 2 s, and another request arrives in this time.",
    (
        Change(
            "requests for 1.28 Mbit/s",
            _request(1280),
            _keys(("quick-start", "quick-start-1000ms", "quick-start-adaptive"), _AT_SMALL_LOAD),
        ),
    ),
)

STRATEGIES_ALIKE = Why(
    "unknown setting",
    _UNPRINTED_RATE
    + "The fair algorithm does not grant this rate at once. With an interval of 1 s the target "
    "algorithm does not grant it twice. All algorithms grant smaller requests.",
    (
        Change(
            "requests for 1.28 Mbit/s",
            _request(1280),
            _keys(("quick-start*",), (*_AT_SMALL_LOAD, *_AT_HIGH_LOAD)),
        ),
    ),
)

APPROVAL = Why(
    "refuted",
    "The formula counts only requests that are granted in full. By eq. 4.17 a router also grants "
    "less than requested. It therefore approves several times as many requests, and the "
    "probability cannot exceed 1.",
    (
        Change(
            "routers that deny what they cannot grant in full",
            both_ways({"quick_start.whole": 1}),
            _keys(("quick-start", "quick-start-1000ms"), ("30", "50", "70", "90")),
        ),
    ),
)
