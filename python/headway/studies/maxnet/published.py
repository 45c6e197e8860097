"""What the paper prints: table I, and numbers of sections IV.A and IV.B."""

from __future__ import annotations

TABLE_I = {
    "maxnet": (8.89, 8.58, 8.25, 7.83, 7.65, 6.85),
    "fast": (9.36, 5.56, 4.75, 4.13, 3.07, 3.08),
    "bic": (9.47, 3.51, 2.36, 1.81, 1.39, 1.21),
}
"""Throughput in Mbit/s at 0 to 5 % loss."""
RTT_MS = 29.0
"""MaxNet's mean RTT, of one flow and of four."""
RTT_RANGE_MS = (28.0, 33.0)
"""What the claims list allows for one flow."""
BIC_RTT_MS, FOUR_FAST_RTT_MS, FOUR_BIC_RTT_MS = 70.0, 200.0, 250.0
"""All of them exceeded."""
FOUR_MBPS = (2.27, 2.31)
"""Least and largest mean throughput of four MaxNet flows."""
TWO_MBPS = (4.40, 4.68)
"""Of two with RTTs of 57 and 29 ms; the paper does not say which is whose."""
MU_1024 = 983
BUFFER_BYTES = 30_000
