"""Setup: headwayctl's router bench, one command per share of requests and per length of slots."""

from __future__ import annotations

from headway.studies.common.measured import Commands
from headway.study import StudyContext

PACKET_BYTES = 50
"""The packets of table 6.4, so small that the processor limits the rate, not the link."""
SHARES = (0, 1, 50)
"""Packets with a request in a hundred packets."""
DELAY_PPS = 100_000
"""The rate at which delays are measured, below the peak rate as in the thesis."""
SLOT_MS = 1000
SLOTS_MS = (100, 2000)
"""Lengths of the metering's slots. Figure 6.65 has lengths below and above one second."""

CHOICES = (
    "Rates are packets per second of one processor's time: within one system call a packet is "
    "sent, forwarded, and dropped by the receiving host. The effort is the time of forwarding "
    "alone. All other time is measured with packets that the router drops at once, and subtracted.",
    "Table 6.4 has the unmodified router only without requests. Here the routers are measured in "
    "turns, and a ratio is the median over the turns. Each turn is compared with the unmodified "
    "router of the same turn, because the machine's speed changes by more than Quick-Start costs.",
    "All requests are answered (max_requests=0) by the target algorithm on 10 Gbit/s; packets with "
    "a request are as long as those without.",
    "The thesis' router was patched. Here a program is attached to the device, which has a cost "
    "even if the program is empty. So each comparison with an unmodified router has a twin: a "
    "statement of ours that compares with a router that has an empty program.",
    f"Delays run from the system call that sends a packet to the receiving device, at {DELAY_PPS} "
    "packets per second. The distribution is that of the turn whose mean is the median.",
)


def commands(ctx: StudyContext) -> Commands:
    """Arguments of headwayctl by key."""
    shares = {requests(share): _bench(ctx, share, SLOT_MS) for share in SHARES}
    return shares | {slots(ms): _bench(ctx, 1, ms) for ms in SLOTS_MS}


def requests(share: int) -> str:
    """The key of a measurement with ``share`` requests in a hundred packets."""
    return f"requests-{share}"


def slots(ms: int) -> str:
    """The key of a measurement with slots of ``ms``, and 1 % requests."""
    return f"slots-{ms}ms"


def _bench(ctx: StudyContext, share: int, slot_ms: int) -> list[str]:
    rounds, time = ("7", "60ms") if ctx.quick else ("31", "150ms")
    return [
        *("router", "bench", "--packet-bytes", str(PACKET_BYTES), "--requests", str(share)),
        *("--rounds", rounds, "--time", time, "--delays", str(DELAY_PPS)),
        *("--set", f"interval_ms={slot_ms}"),
    ]
