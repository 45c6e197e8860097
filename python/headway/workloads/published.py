"""Sizes of published workloads, as distributions.

Numbers are those of Scharf (2011), "Fast Startup Internet Congestion Control for Broadband
Interactive Applications".
"""

from __future__ import annotations

import functools

from headway.models.distributions import TruncatedPareto, truncated_pareto_of_mean
from headway.workloads import workload

CUTOFF_BYTES = workload.LARGEST_RESPONSE_BYTES
MEAN_RESPONSE_BYTES = workload.MEAN_RESPONSE_BYTES

TAIL_SHAPE = 1.1
"""Shape alpha of the responses' Pareto tail, fitted to campus traces of 2008 (section 3.3.3.2)."""

LARGER_MEAN_RESPONSE_BYTES = 114_000
"""Mean response of the workload with more mid-sized transfers (section 6.4.3.1)."""

INITIAL_WINDOW_BYTES = 3 * 1448
"""The window that 25 % of the responses and 1 % of the requests exceed (section 4.3.2.2)."""


@functools.lru_cache
def synthetic_responses(mean_bytes: float) -> TruncatedPareto:
    """Response sizes of sections 6.4.3 and 6.5.2, bytes: truncated Pareto, cut off at 10 MB."""
    return truncated_pareto_of_mean(mean_bytes, shape=TAIL_SHAPE, largest=CUTOFF_BYTES)
