"""Why statements on the bottleneck's buffer do not hold, with the experiments that show it."""

from __future__ import annotations

from headway.claims import Change, Why
from headway.studies.common.changes import DELAYED_ACKS, NO_SACK, queues_of
from headway.studies.trace_mix.claims import PERSISTENT, load

_JUMP = ("slow-start-b*", "jump-start-b*")

SLOW_LOSS = Why(
    "refuted",
    "The thesis' receivers acknowledge every packet. Slow start then doubles its window in each "
    "round trip and overshoots the queue. With delayed ACKs the full form loses 1.2 to 1.8 % with "
    "queues of 20 packets and more, but still 2.8 % with a queue of 10 packets.",
    (
        Change("delayed ACKs", DELAYED_ACKS, "slow-start-b*"),
        Change("persistent connections", PERSISTENT, "slow-start-b*"),
        Change("a load of 15 %", load(0.15), "slow-start-b*"),
    ),
    nothing_helps=True,
)

LEAST_LOSS = Why(
    "refuted",
    "Slow start overshoots large queues, and small queues cannot absorb bursts. How fast the "
    "window grows decides which buffer loses least.",
    (Change("delayed ACKs", DELAYED_ACKS, "slow-start-b*"),),
)

DOUBLED = Why(
    "refuted",
    "Slow start follows each Jump-Start and causes the larger part of the losses at each buffer. "
    "Jump-Start only adds to them.",
    (
        Change("delayed ACKs", DELAYED_ACKS, _JUMP),
        Change("persistent connections", PERSISTENT, _JUMP),
        Change("hosts without SACK", NO_SACK, _JUMP),
        Change("a load of 15 %", load(0.15), _JUMP),
    ),
    nothing_helps=True,
)

SAME = Why(
    "refuted",
    "Jump-Start also causes additional losses with large buffers. Its data meets a queue that "
    "other transfers in slow start have filled.",
    (
        Change("delayed ACKs", DELAYED_ACKS, _JUMP),
        Change("persistent connections", PERSISTENT, _JUMP),
        Change("a load of 15 %", load(0.15), _JUMP),
    ),
    nothing_helps=True,
)

QUICK = Why(
    "refuted",
    "Quick-Start's grants change when transfers meet in slow start. This changes the loss by "
    "several percent in either direction at each buffer. With delayed ACKs slow start loses less.",
    (
        Change("delayed ACKs", DELAYED_ACKS, ("slow-start-b*", "quick-start*")),
        Change("hosts without SACK", NO_SACK, ("slow-start-b*", "quick-start*")),
    ),
    nothing_helps=True,
)

INITIAL_LESS = Why(
    "unknown setting",
    "The thesis does not print the size of the smallest buffer. A burst of ten packets overflows a "
    "queue of ten packets; ten paced packets do not.",
    (Change("a smallest buffer of 20 packets", queues_of(20), "*-start-b10"),),
)
