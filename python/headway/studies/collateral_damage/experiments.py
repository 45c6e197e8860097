"""Setup: one, two or five bulk flows of one control beside a call on a home link of 1 Mbit/s.

18 cells (two RTTs, three controls, three numbers of flows) of five trials, each three minutes or
twenty congestion epochs long, whichever is longer.
"""

from __future__ import annotations

import random

from headway import models
from headway.experiment import (
    Aqm,
    Control,
    Dumbbell,
    Experiment,
    Flow,
    Link,
    Record,
    Voip,
)
from headway.studies.collateral_damage.published import CELLS, CellKey
from headway.study import StudyContext
from headway.units import BITS_PER_BYTE, NS_PER_S, parse_rate, parse_size

TRIALS, QUICK_TRIALS = 5, 4
LENGTH_S, QUICK_LENGTH_S = 180.0, 85.0
EPOCHS = 20
"""Section 3: five trials, each three minutes or twenty congestion epochs, whichever is longer."""

MARGIN = 1.1
"""A trial planned from the closed form, or run again because it was short, gets this much more."""

START_SPREAD_RTTS = 1.0
"""Flows start at random within this many round trips.

Iperf opens the connections of one command in parallel, so within a round trip of each other. It
matters: a flow whose handshake meets a queue takes that delay for the path's, and H-TCP's RTT
scaling then makes it up to four times as fast as the flow that came first. The page of the study
says what other starts would give.
"""

VOIP_LEAD_S = 1.0
"""The datagrams are there before the flows, by this much."""

DRAIN_S = 10.0
"""Time after the last flow stops sending for its queue and retransmissions to empty."""

SETTINGS: dict[str, dict[str, int]] = {
    "reno": {},
    # Adaptive reset is the paper's name for the bandwidth switch of Linux.
    "htcp": {"adaptive_backoff": 0, "bandwidth_switch": 0, "rtt_scaling": 1},
    "cubic26": {"max_increment": 100},
}
"""Section 3: the tunables that were changed."""

RATE, BUFFER = "1 Mbit/s", "60000 B"

BOTTLENECK = 0
"""The number of the forward link."""

_RATE_BPS, _BUFFER_BYTES = parse_rate(RATE), parse_size(BUFFER)
DATAGRAMS_BPS = Voip.packet * BITS_PER_BYTE * NS_PER_S / Voip.interval
PAYLOAD_SHARE = 1448 / 1500
"""What a full-sized packet carries."""
LINK_GOODPUT_KBYTES_S = (_RATE_BPS - DATAGRAMS_BPS) / BITS_PER_BYTE * PAYLOAD_SHARE / 1e3
"""What full-sized packets carry beside all datagrams."""
FULL_QUEUE_MS = _BUFFER_BYTES * BITS_PER_BYTE * 1e3 / _RATE_BPS
DATAGRAM_MS = Voip.packet * BITS_PER_BYTE * 1e3 / _RATE_BPS
"""Times to send a full queue and one datagram over the bottleneck."""

FIGURE_2: CellKey = (100, "htcp", 1)
CUBIC_GROWTH: CellKey = (100, "cubic26", 1)
ZOOMED: tuple[CellKey, ...] = (
    (50, "reno", 1),
    (50, "htcp", 1),
    (50, "cubic26", 1),
    FIGURE_2,
    CUBIC_GROWTH,
    (50, "reno", 5),
    (50, "htcp", 5),
    (50, "cubic26", 5),
)
"""Cells whose first trial is recorded in full."""


def trial_key(cell: CellKey, trial: int | str) -> str:
    """A trial's name, for example "rtt50-htcp-n2-t3"; trials count from 1, "*" names all."""
    rtt_ms, control, flows = cell
    return f"rtt{rtt_ms}-{control}-n{flows}-t{trial}"


RECORDED = {trial_key(cell, 1): cell for cell in ZOOMED}
"""Trials with flow states and queue, by key."""


def trials_per_cell(ctx: StudyContext) -> int:
    """How many trials a cell has."""
    return QUICK_TRIALS if ctx.quick else TRIALS


def planned(ctx: StudyContext) -> dict[str, Experiment]:
    """90 trials (72 of 85 s with ``quick``) by key."""
    return {
        trial_key(cell, number): trial(
            cell,
            number,
            seed=ctx.seed,
            length_s=QUICK_LENGTH_S if ctx.quick else planned_length_s(cell),
        )
        for cell in CELLS
        for number in range(1, trials_per_cell(ctx) + 1)
    }


def path(rtt_ms: int) -> Dumbbell:
    """The testbed: a dummynet router between hosts on gigabit Ethernet.

    FreeBSD 7's dummynet drops a packet only if the bytes already queued exceed the limit, so the
    queue can hold up to one packet more than it says.
    """
    dummynet = Aqm.model_validate({"name": "drop-tail", "tunables": {"overshoot": 1}})
    reverse = Link.model_validate(
        {"rate": RATE, "delay": f"{rtt_ms / 2:g} ms", "buffer": BUFFER, "aqm": dummynet}
    )
    return Dumbbell.model_validate(
        {
            "rate": RATE,
            "rtt": f"{rtt_ms} ms",
            "buffer": BUFFER,
            "aqm": dummynet,
            "reverse": reverse,
            "access_rate": "1 Gbit/s",
        }
    )


def planned_length_s(cell: CellKey) -> float:
    """Seconds that three minutes or twenty epochs take, by the sawtooth's closed form.

    A NewReno flow alone needs 17 s per epoch at 50 ms RTT. n flows fill the queue n times faster,
    but a full queue hits only some of them: (n + 1) / 2, between one and all, is near enough.
    The other two controls have epochs of a few seconds. If a trial turns out short all the same,
    it is run again (enough.py).
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
    epoch_s = cycle.cycle_s / ((flows + 1) / 2)
    # Slow start's overshoot comes before the first epoch.
    return max(LENGTH_S, (EPOCHS + 2) * MARGIN * epoch_s)


def trial(cell: CellKey, number: int, *, seed: int, length_s: float) -> Experiment:
    """One trial: flows start at random times; the datagrams are there until the first stops."""
    rtt_ms, control, flows = cell
    settings = Control.model_validate({"name": control, "tunables": SETTINGS[control]})
    # random() of a text seed is the one generator Python promises never to change.
    chance = random.Random(f"{seed}/{trial_key(cell, number)}").random
    spread_s = START_SPREAD_RTTS * rtt_ms / 1e3
    starts_s = [VOIP_LEAD_S + spread_s * chance() for _ in range(flows)]
    # Each writes for the trial's length, then its send buffer drains.
    stops_s = [start_s + length_s for start_s in starts_s]
    tcp = tuple(
        Flow(
            name=f"tcp{index}",
            control=settings,
            start=f"{start_s:.9f} s",
            stop=f"{stop_s:.9f} s",
        )
        for index, (start_s, stop_s) in enumerate(zip(starts_s, stops_s, strict=True), start=1)
    )
    record: tuple[Record, ...] = ("udp",)
    if trial_key(cell, number) in RECORDED:
        record = ("flows", "queue", "udp")
    return Experiment(
        topology=path(rtt_ms),
        flows=(*tcp, Flow(name="voip", app=Voip, start="0 s", stop=f"{min(stops_s):.9f} s")),
        duration=f"{max(stops_s) + DRAIN_S:.9f} s",
        stack="linux-2.6",
        seed=seed,
        record=record,
    )
