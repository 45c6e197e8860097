"""Head-of-line blocking: the time that small messages wait behind a lost one.

Equations A.5 to A.7 of Scharf (2011), appendix A.2, after Scharf and Kiesel. The model assumes
constant intervals between messages, losses so rare that recoveries do not overlap, and a window
that never limits. The modelled wait is a lower bound, valid for a loss ratio of at most 1 %.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headway.models._checks import Floats, loss_ratios, not_negative, positive

#: Linux's first retransmission time-out minus the round-trip time, seconds
#: (the floor of the variance term in its RTO).
LINUX_RTO_FLOOR_S = 0.2


def detection_time_s(*, rtt_s: float, interval_s: float, rto_s: float | None = None) -> float:
    """Time from sending a message that is lost to its retransmission, eq. A.5.

    Three duplicate ACKs or the time-out trigger it, whichever is sooner. Every ACK restarts the
    timer.

    Args:
        rtt_s: round-trip time, seconds, > 0.
        interval_s: spacing of messages, seconds, > 0.
        rto_s: T0, seconds, > 0; None: ``rtt_s`` + 200 ms, as Linux.

    Returns:
        seconds.

    Raises:
        ValueError: if an argument is outside its range.
    """
    tau, delta = positive("rtt_s", rtt_s), positive("interval_s", interval_s)
    t0 = tau + LINUX_RTO_FLOOR_S if rto_s is None else positive("rto_s", rto_s)
    return min(tau + 3 * delta, t0 + max(tau - delta, 0.0))


def head_of_line_delay_s(
    loss: npt.ArrayLike, *, rtt_s: float, interval_s: float, rto_s: float | None = None
) -> Floats:
    """Mean wait of a message in the receiver's resequencing queue, one direction, eq. A.6.

    Args:
        loss: packet loss ratios, any shape, each in [0, 1].
        rtt_s: round-trip time, seconds, > 0.
        interval_s: spacing of messages, seconds, > 0.
        rto_s: T0, seconds, > 0; None: ``rtt_s`` + 200 ms.

    Returns:
        seconds, shape of ``loss``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    p = loss_ratios(loss, zero_allowed=True)
    t_det = detection_time_s(rtt_s=rtt_s, interval_s=interval_s, rto_s=rto_s)
    queued = int(np.floor(t_det / interval_s))
    per_loss_s = (queued + 1) * t_det - queued * (queued + 1) * interval_s / 2
    return np.asarray(p * per_loss_s, dtype=np.float64)


def response_time_s(
    loss: npt.ArrayLike,
    *,
    rtt_s: float,
    interval_s: float,
    rto_s: float | None = None,
    processing_s: float = 0.0,
) -> Floats:
    """Mean time from sending a request to the reply's delivery, eq. A.7.

    Loss is the same in both directions; the reply is sent at once.

    Args:
        loss: packet loss ratios per direction, any shape, each in [0, 1].
        rtt_s: round-trip time, seconds, > 0.
        interval_s: spacing of requests, seconds, > 0.
        rto_s: T0, seconds, > 0; None: ``rtt_s`` + 200 ms.
        processing_s: epsilon, time spent in the two hosts, seconds, >= 0.

    Returns:
        seconds, shape of ``loss``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    wait_s = head_of_line_delay_s(loss, rtt_s=rtt_s, interval_s=interval_s, rto_s=rto_s)
    return np.asarray(
        rtt_s + 2 * wait_s + not_negative("processing_s", processing_s), dtype=np.float64
    )
