"""Response times of many transfers on one link: two references for load studies.

Scharf (2011), section 6.4.3.1, eq. 6.11 and 6.12. The first reference is the empty link, the second
a link that shares its rate equally at every moment. The response times of a startup are between
these references and those of slow start.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from headway.models._checks import Floats, positive
from headway.models.distributions import TruncatedPareto
from headway.models.startup import StartupPath


def unloaded_response_s(
    sizes: TruncatedPareto, response_s: Callable[[Floats], Floats], *, points: int = 1_000_000
) -> float:
    """Mean response time on an idle link, eq. 6.11: the integral of response time times density.

    The integral uses equally probable slices, because response times jump from round to round, and
    a few large responses have a large weight. The error is below 1e-4 with the default.

    Args:
        sizes: distribution of the response sizes, bytes.
        response_s: response time of an array of sizes, for example one of table 6.1.
        points: number of slices, >= 1.

    Returns:
        seconds.

    Raises:
        ValueError: if ``points`` is not positive.
    """
    count = int(positive("points", points))
    middle = (np.arange(count) + 0.5) / count
    return float(np.mean(response_s(sizes.quantile(middle))))


def processor_sharing_response_s(mean_bytes: float, *, path: StartupPath, load: float) -> float:
    """Mean response time of an M/G/1 queue with processor sharing, eq. 6.12.

    Args:
        mean_bytes: m, mean response, application bytes, > 0.
        path: the path.
        load: rho, offered load relative to the link's rate, in [0, 1).

    Returns:
        seconds.

    Raises:
        ValueError: if an argument is outside its range.
    """
    if not 0 <= load < 1:
        raise ValueError(f"load must lie in [0, 1), got {load!r}")
    return path.rtt_s + positive("mean_bytes", mean_bytes) / (path.capacity * (1 - load))


def mean_interval_s(mean_bytes: float, *, path: StartupPath, load: float) -> float:
    """delta: mean time between transfers for a given load, m / (R rho) (section 6.4.3.1).

    Args:
        mean_bytes: m, mean response, application bytes, > 0.
        path: the path.
        load: rho, > 0.

    Returns:
        seconds.

    Raises:
        ValueError: if an argument is outside its range.
    """
    interval_s = positive("mean_bytes", mean_bytes) / (path.capacity * positive("load", load))
    if not math.isfinite(interval_s):
        raise ValueError(f"load must be larger: the interval is infinite, got {load!r}")
    return interval_s
