"""Setup: headwayctl's window bench, one command per case."""

from __future__ import annotations

from headway.studies.common.appendix_b import BUFFERS_BYTES
from headway.studies.common.measured import Commands
from headway.study import StudyContext

RATE_BPS = 10e6
RTT_S = 0.2
BDP_BYTES = RATE_BPS * RTT_S / 8
BYTES, QUICK_BYTES = 1_000_000, 500_000
"""Four times what a round trip of the path carries, and twice."""
INITIAL_WINDOW_PKTS = 2
"""The initial window of figure 5.11, w."""
FIRST_WINDOW_PKTS = 4
"""The window that Linux 2.6.24 announces first, for segments of up to 1460 bytes."""
BEYOND = "1MB"

SLOW_START, SENDER_ONLY, BOTH_ENDS, BEYOND_WINDOW = (
    "slow-start",
    "sender-only",
    "both-ends",
    "beyond-window",
)
INITIATOR, EXTRA_ACK = "initiator", "initiator-extra-ack"

_SMALL = ("--first-window", str(FIRST_WINDOW_PKTS))
_INITIATOR = ("--sender-connects", "--set", "js_max_bytes=0")
_CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    SLOW_START: ("slow-start", _SMALL),
    SENDER_ONLY: ("jump-start", _SMALL),
    BOTH_ENDS: ("jump-start", ()),
    BEYOND_WINDOW: ("jump-start", (*_SMALL, "--ignore-peer", BEYOND)),
    INITIATOR: ("jump-start", _INITIATOR),
    EXTRA_ACK: ("jump-start", (*_INITIATOR, "--extra-ack", BEYOND)),
}

CHOICES = (
    "The hosts are those of section 6.1.1.2 and appendix B.2: they have buffers of 8 MiB, "
    "acknowledge every segment and keep no metrics of earlier connections. Slow start begins with "
    "the two packets of figure 5.11. Today's Linux announces 4 MB at once, which is the large "
    "window. A route with initrwnd 4 gives the small window of Linux 2.6.24.",
    "Jump-Start is the thesis' variant, with at most 65,535 B and 10 Mbit/s in the first round "
    "trip (by section 4.4.3.2 the default). It gets the connection's volume from the application, "
    "because an unpatched kernel shows it only the first piece of a large write.",
    "A transfer has 1 MB, four times what a round trip carries (the quick form: twice). Data that "
    "fits the first round trip does not show whether the sender obeys the window afterwards. The "
    "queue has the 1000 packets of section 6.3.1, to which the text refers for more detail, so "
    "that nothing is lost. With the 50 packets of section 6.1.1.1 the verdicts were the same.",
    "cwnd and announced window are the sender's at the same moment, because the smaller of the two "
    "bounds it. The table also has the window over the cwnd of half a round trip before, when the "
    "window was announced.",
    "The extra ACK matters only to a connection's initiator, and only for more than the 65,535 B "
    "that a SYN-ACK can announce. Jump-Start's own bound is set to the same size, so the extra ACK "
    "is measured without that bound.",
)


def commands(ctx: StudyContext) -> Commands:
    """Arguments of headwayctl by case."""
    return {
        case: [
            *("host", "window-bench", "--control", f"cubic+{startup}", *options),
            *("--initial-window", str(INITIAL_WINDOW_PKTS)),
            *("--buffers", *map(str, BUFFERS_BYTES)),
            *("--bytes", f"{QUICK_BYTES if ctx.quick else BYTES}B"),
            *("--rate", f"{RATE_BPS:.0f}bit", "--rtt", f"{RTT_S:g}s"),
            *("--buffer", "1000pkts", "--rounds", "2" if ctx.quick else "5"),
        ]
        for case, (startup, options) in _CASES.items()
    }
