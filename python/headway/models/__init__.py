"""Closed forms to compare simulations and measurements with.

Pure functions of plain numbers and NumPy arrays, without traces. Every formula names the equation
it comes from. Rates are in bit/s (application bytes per second where a docstring says so), times
in seconds, windows in packets.
"""

from headway.models import distributions, fairness, maxnet, quick_start, rcp, sharing, startup
from headway.models.cycle import Cycle, bic_growth, cycle
from headway.models.growth import (
    cubic_k_s,
    cubic_window_pkts,
    htcp_alpha,
    htcp_window_pkts,
    reno_friendly_window_pkts,
)
from headway.models.head_of_line import (
    LINUX_RTO_FLOOR_S,
    detection_time_s,
    head_of_line_delay_s,
    response_time_s,
)
from headway.models.response import (
    compound_response_bps,
    cubic_response_bps,
    reno_pftk_bps,
    reno_sqrt_bps,
)
from headway.models.sawtooth import Sawtooth, sawtooth

__all__ = [
    "LINUX_RTO_FLOOR_S",
    "Cycle",
    "Sawtooth",
    "bic_growth",
    "compound_response_bps",
    "cubic_k_s",
    "cubic_response_bps",
    "cubic_window_pkts",
    "cycle",
    "detection_time_s",
    "distributions",
    "fairness",
    "head_of_line_delay_s",
    "htcp_alpha",
    "htcp_window_pkts",
    "maxnet",
    "quick_start",
    "rcp",
    "reno_friendly_window_pkts",
    "reno_pftk_bps",
    "reno_sqrt_bps",
    "response_time_s",
    "sawtooth",
    "sharing",
    "startup",
]
