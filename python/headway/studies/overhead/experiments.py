"""Setup: headwayctl's router bench, one command per share of requests and per length of slots."""

from __future__ import annotations

from headway.studies.common.measured import Commands
from headway.study import StudyContext

PACKET_BYTES = 50
"""Of table 6.4: so small that the processor limits, not the link."""
SHARES = (0, 1, 50)
"""Packets of a hundred with a request."""
DELAY_PPS = 100_000
"""Delays are measured below the peak rate, as the thesis does."""
SLOT_MS = 1000
SLOTS_MS = (100, 2000)
"""Slots of metering: figure 6.65 has them below and above one second."""

CHOICES = (
    "Rates are packets per second of one processor's time: a packet is sent, forwarded and dropped "
    "by the receiving host within one system call. What is not forwarding is measured with packets "
    "that the router drops at once, and taken off for the effort.",
    "Table 6.4 has its unmodified router without requests only. Ours is measured in turns with the "
    "others, and a ratio is the median over the turns, each to the unmodified router of its own "
    "turn: the machine's speed changes by more than what Quick-Start takes.",
    "All requests are answered (max_requests=0) by the target algorithm on 10 Gbit/s; packets with "
    "a request are as long as those without.",
    "The thesis' router was patched. Here a program is attached to the device, which has a price "
    "of its own. So each comparison with an unmodified router has a twin: a statement of ours that "
    "compares with a router that has an empty program.",
    "Delays are from the system call that sends a packet to the receiving device, at "
    f"{DELAY_PPS} packets per second; their distribution is that of the turn with the median mean.",
)


def commands(ctx: StudyContext) -> Commands:
    """Arguments of headwayctl by key."""
    shares = {requests(share): _bench(ctx, share, SLOT_MS) for share in SHARES}
    return shares | {slots(ms): _bench(ctx, 1, ms) for ms in SLOTS_MS}


def requests(share: int) -> str:
    """The key of a measurement with so many requests in a hundred packets."""
    return f"requests-{share}"


def slots(ms: int) -> str:
    """The key of a measurement with slots of so many ms, and 1 % requests."""
    return f"slots-{ms}ms"


def _bench(ctx: StudyContext, share: int, slot_ms: int) -> list[str]:
    rounds, time = ("7", "60ms") if ctx.quick else ("31", "150ms")
    return [
        *("router", "bench", "--packet-bytes", str(PACKET_BYTES), "--requests", str(share)),
        *("--rounds", rounds, "--time", time, "--delays", str(DELAY_PPS)),
        *("--set", f"interval_ms={slot_ms}"),
    ]
