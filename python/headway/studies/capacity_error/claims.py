"""Check: C-TH-205, 206, 208 to 211, 213 and 282 to 284."""

from __future__ import annotations

from dataclasses import replace

from headway import models
from headway.claims import Evidence, Seen, Statement, between, replaced, scaled, swapped
from headway.claims.spoil import Rows, Spoil
from headway.studies.capacity_error.experiments import RTT_S, SIZES, long_key
from headway.studies.capacity_error.observe import Transfer
from headway.studies.common import lab

Found = Evidence[Transfer]


def _under(found: Found) -> Seen:
    under, slow = found["under"], found["slow-start"]
    granted = under.granted_bps / 1e6
    return Seen(
        f"granted {granted:.2f} Mbit/s; full after {under.full_after_s:.1f} s, "
        f"Slow-Start {slow.full_after_s:.1f} s",
        0 <= granted <= 0.64 and under.timeouts <= slow.timeouts,
        "≤ 0.64 Mbit/s, no timeout more",
    )


def _over(found: Found) -> Seen:
    over = found["over"]
    return between(
        over.full_after_s,
        2.0,
        6.0,
        unit="s",
        note=f"{over.early_drops(5)} packets lost in five round trips, {over.timeouts} timeouts.",
    )


def _too_much(found: Found) -> Seen:
    ratios = {
        size: found[long_key("quick-start", size)].duration_s
        / found[long_key("slow-start", size)].duration_s
        for size in SIZES
    }
    words = ", ".join(f"{ratio:.2f} at {size // 1_000_000}" for size, ratio in ratios.items())
    longer = sum(ratio > 1 for ratio in ratios.values())
    return Seen(
        f"times Slow-Start's: {words} MB",
        longer > len(SIZES) / 2 and max(ratios.values()) <= 1.3,
        "longer at most sizes, within 30 %",
        note="Simulated; the thesis measured a real path.",
    )


def _half(found: Found) -> Seen:
    half, slow = (found[name].delivered_after_s(1_000_000) for name in ("half", "slow-start"))
    return Seen(
        f"1 MB after {half:.2f} s, Slow-Start {slow:.2f} s",
        half < slow and found["half"].timeouts <= found["slow-start"].timeouts,
    )


def _harmless(found: Found) -> Seen:
    small = found["over-small"]
    drops = small.early_drops(3)
    return Seen(
        f"{drops} packets lost in three round trips", drops == 0 and small.granted_bps > 0, "none"
    )


def _shared(found: Found) -> Seen:
    shared = found["shared"]
    drops, granted = shared.early_drops(3), shared.granted_bps / 1e6
    return Seen(
        f"granted {granted:.2f} Mbit/s, {drops} packets lost in three round trips",
        granted > 0 and drops == 0,
        "no loss by overshoot",
    )


def _queue(_: Found) -> Seen:
    alpha, beta, ratio = 0.4, 0.226, 1.2
    queue_bits = models.rcp.standing_queue_bits(
        assumed_bps=ratio * lab.LINK_BPS,
        rate_bps=lab.LINK_BPS,
        rtt_s=RTT_S,
        alpha=alpha,
        beta=beta,
    )
    # Eq. 6.13, which 6.14 solves, with the round-trip time that this queue makes.
    rtt_s = RTT_S + queue_bits / lab.LINK_BPS
    left = alpha * (ratio - 1) * lab.LINK_BPS - beta * queue_bits / rtt_s
    return Seen(
        f"feedback {left / lab.LINK_BPS:.1e} of the rate at b = {queue_bits / 1e6:.2f} Mbit",
        abs(left) < 1e-9 * lab.LINK_BPS,
        "0 within 1e-9",
        note="By the equations, for c = 1.2 r; RCP is not simulated yet.",
    )


def _bound(alpha: float, beta: float) -> float:
    return models.rcp.largest_capacity_ratio(alpha=alpha, beta=beta)


def _times_slow_start(factor: float) -> Spoil:
    """Every transfer over the long path takes so many times as long with Quick-Start."""

    def spoil(rows: Rows) -> Rows:
        changed = dict(rows)
        for size in SIZES:
            slow = rows[long_key("slow-start", size)]
            changed[long_key("quick-start", size)] = replace(slow, acked_s=factor * slow.acked_s)
        return changed

    return spoil


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-205",
        "capacity taken for a tenth",
        "smaller grant, slower start only",
        _under,
        spoil=swapped("under", "right"),
    ),
    Statement(
        "C-TH-206",
        "capacity taken for tenfold: full after",
        "several seconds",
        _over,
        spoil=swapped("over", "right"),
        mend=scaled("over", 0.3, "full_after_s"),
    ),
    Statement("C-TH-208", "RCP's standing queue, eq. 6.14", "b", _queue, carrier="model"),
    Statement(
        "C-TH-209",
        "RCP's bound with 0.4 and 0.226, eq. 6.15",
        "c/r < 1.565",
        lambda _: between(_bound(0.4, 0.226), 1.5645, 1.5655),
        carrier="model",
    ),
    Statement(
        "C-TH-210",
        "error that 0.1 and 0.1 tolerate",
        "about factor three",
        lambda _: between(
            _bound(0.1, 0.1), 2.7, 3.3, note="Eq. 6.15 gives two; see the errata of the thesis."
        ),
        carrier="model",
    ),
    Statement(
        "C-TH-211",
        "needed accuracy with 0.4 and 0.226",
        "50 %",
        lambda _: between(100 * (_bound(0.4, 0.226) - 1), 45, 60, unit="%"),
        carrier="model",
    ),
    Statement(
        "C-TH-213",
        "grants above a real path's rate",
        "longer, rather small difference",
        _too_much,
        spoil=swapped("slow-start", "quick-start"),
        mend=_times_slow_start(1.1),
    ),
    Statement(
        "C-TH-282",
        "threshold below 1",
        "still a certain speedup",
        _half,
        spoil=swapped("half", "slow-start"),
    ),
    Statement(
        "C-TH-283",
        "too large a capacity, but small requests",
        "no harm",
        _harmless,
        spoil=replaced("over-small", 0.5, "drops_s"),
    ),
    Statement(
        "C-TH-284",
        "shared Ethernet with theta c = 10 Mbit/s",
        "works well",
        _shared,
        spoil=replaced("shared", 0.0, "granted_bps"),
    ),
)
