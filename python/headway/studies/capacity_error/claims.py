"""Check: C-TH-205 to 214 and 282 to 287."""

from __future__ import annotations

from dataclasses import replace

from headway.claims import Seen, Statement, replaced, swapped, words
from headway.claims.spoil import Rows, Spoil
from headway.claims.why import Change, Edit, Why, edited
from headway.studies.capacity_error import network_claims
from headway.studies.capacity_error.experiments import (
    LONG_KBPS,
    RTT_S,
    SIZES,
    SMALL_KBPS,
    TODAY,
    TODAYS_STACK,
    long_key,
)
from headway.studies.capacity_error.observe import Found

GRID_BPS = 640_000
"""The largest rate code below a tenth of the link's rate."""


def _under(found: Found) -> Seen:
    under, right = found.cases["under"], found.cases["right"]
    return Seen.by(
        f"granted {under.granted_bps / 1e6:.2f} Mbit/s, full after {under.full_after_s:.1f} s, "
        f"{under.timeouts:g} timeouts; with c = r {right.granted_bps / 1e6:.2f} Mbit/s, "
        f"{right.full_after_s:.1f} s, {right.timeouts:g}",
        words.is_so(0 < under.granted_bps <= GRID_BPS, "granted, ≤ 0.64 Mbit/s"),
        words.less(under.granted_bps, right.granted_bps),
        words.more(under.full_after_s, right.full_after_s),
        words.is_so(under.timeouts <= right.timeouts, "no further timeout"),
    )


def _over(found: Found) -> Seen:
    over, today = found.cases["over"], found.cases[TODAY]
    lost = over.early_drops(5)
    return Seen.by(
        f"{lost} packets lost in five round trips, {over.timeouts:g} timeouts, repaired "
        f"{over.repaired_after_s:.1f} s after the first, full after {over.full_after_s:.1f} s",
        words.is_so(lost > 1, "multiple losses"),
        words.is_so(over.timeouts >= 1, "a timeout"),
        words.few_round_trips(over.repaired_after_s, RTT_S),
        words.several_seconds(over.full_after_s),
        note=f"With hosts of today's Linux the link is full after {today.full_after_s:.1f} s, with "
        f"{today.timeouts:g} timeouts.",
    )


def _half(found: Found) -> Seen:
    half, slow = found.cases["half"], found.cases["slow-start"]
    sooner_s = [one.delivered_after_s(1_000_000) for one in (half, slow)]
    return Seen.by(
        f"1 MB after {sooner_s[0]:.2f} s, Slow-Start {sooner_s[1]:.2f} s; full after "
        f"{half.full_after_s:.1f} and {slow.full_after_s:.1f} s, {half.timeouts:g} and "
        f"{slow.timeouts:g} timeouts",
        words.less(*sooner_s),
        words.is_so(half.full_after_s <= slow.full_after_s, "full no later"),
        words.is_so(half.timeouts <= slow.timeouts, "no further timeout"),
    )


def _harmless(found: Found) -> Seen:
    small = found.cases["over-small"]
    drops = small.early_drops(3)
    return Seen.by(
        f"granted {small.granted_bps / 1e6:.2f} Mbit/s, {drops} packets lost in three round trips",
        words.is_so(small.granted_bps == SMALL_KBPS * 1e3, "granted"),
        words.is_so(drops == 0, "none lost"),
    )


def _shared(found: Found) -> Seen:
    shared = found.cases["shared"]
    drops = shared.early_drops(3)
    return Seen.by(
        f"granted {shared.granted_bps / 1e6:.2f} Mbit/s, {drops} packets lost in three round trips",
        words.is_so(shared.granted_bps > 0, "granted"),
        words.is_so(drops == 0, "none lost by overshoot"),
    )


def _too_much(found: Found) -> Seen:
    slow, quick = (
        [found.long[long_key(name, size)] for size in SIZES]
        for name in ("slow-start", "quick-start")
    )
    ratios = [one.took_s / other.took_s for one, other in zip(quick, slow, strict=True)]
    longer = sum(ratio > 1 for ratio in ratios)
    return Seen.by(
        f"{', '.join(f'{ratio:.2f}' for ratio in ratios)} times Slow-Start's",
        words.is_so(all(one.granted_bps == LONG_KBPS * 1e3 for one in quick), "granted"),
        words.most([words.more(ratio, 1.0) for ratio in ratios]),
        *(words.quantity(ratio, 1.0, 0.3) for ratio in ratios),
        note=f"At {', '.join(f'{size // 1000}' for size in SIZES)} kB; longer at {longer}, "
        f"{100 * (sum(ratios) / len(ratios) - 1):+.0f} % on average. Timeouts: "
        f"{', '.join(f'{one.timeouts:g}' for one in quick)}, and "
        f"{', '.join(f'{one.timeouts:g}' for one in slow)} with Slow-Start.",
    )


def _times_slow_start(factor: float) -> Spoil:
    """Set Quick-Start's times on the long path to ``factor`` times slow start's."""

    def spoil(rows: Rows) -> Rows:
        changed = dict(rows)
        for size in SIZES:
            key = long_key("quick-start", size)
            slow_s = rows[long_key("slow-start", size)].took_s
            changed[key] = replace(rows[key], took_s=factor * slow_s)
        return changed

    return spoil


def _longer(by_bytes: int) -> Edit:
    """Transfers that are ``by_bytes`` longer."""

    def more(size: str) -> str:
        return f"{int(size.removesuffix(' B')) + by_bytes} B"

    return edited({"flows.0.app.epochs.0.0": more})


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-205",
        "the router assumes a tenth of the capacity",
        "smaller grant, just a slower startup",
        _under,
        spoil=swapped("under", "right"),
    ),
    Statement(
        "C-TH-206",
        "the router assumes ten times the capacity",
        "overshoot, multiple losses, a timeout that is solved within few round trips, full after "
        "several seconds",
        _over,
        spoil=swapped("over", "right"),
        mend=replaced("over", 0.8, "repaired_after_s"),
        why=Why(
            "refuted",
            "The first burst loses 1200 packets. After the timeout slow start retransmits them and "
            "overflows the queue of 50 packets once more, so that the repair takes 17 round trips. "
            "Of the changes with a timeout, the fastest repair takes seven round trips. Where "
            "fewer packets are lost, SACK repairs them without a timeout.",
            [
                Change(
                    "a receive window of 1.4 MB",
                    edited({"flows.0.receive_window": "1400000 B"}),
                    "over",
                ),
                Change(
                    "requests for 20.48 Mbit/s",
                    edited({"flows.0.control.tunables.qs_rate_kbps": 20_480}),
                    "over",
                ),
                Change(
                    "ssthresh set to the Quick-Start window",
                    edited({"flows.0.control.tunables.qs_ssthresh": 1}),
                    "over",
                ),
                Change("a queue of 80 packets", edited({"topology.buffer": "80 pkts"}), "over"),
                Change("hosts of today's Linux", edited({"stack": TODAYS_STACK}), "over"),
            ],
            nothing_helps=True,
        ),
    ),
    Statement(
        "C-TH-213",
        "grants above the long path's rate: transfer time",
        "typically longer, the difference rather small",
        _too_much,
        spoil=_times_slow_start(0.8),
        mend=_times_slow_start(1.1),
        why=Why(
            "unknown setting",
            "The overshoot causes timeouts, because Linux 2.6 detects a lost retransmission only "
            "by a timeout. Only in long transfers are the timeouts a small part of the time. The "
            "thesis does not print the sizes of figure 6.62.",
            [
                Change("transfers that are 200 MB longer", _longer(200_000_000), "long-*"),
                Change("a queue of 100 packets", edited({"topology.buffer": "100 pkts"}), "long-*"),
                Change("hosts of today's Linux", edited({"stack": TODAYS_STACK}), "long-*"),
            ],
        ),
    ),
    Statement(
        "C-TH-282",
        "router's threshold theta of 0.5",
        "still a certain speedup, TCP works well",
        _half,
        spoil=swapped("half", "slow-start"),
    ),
    Statement(
        "C-TH-283",
        "too large a capacity, but small requests",
        "no harm",
        _harmless,
        spoil=swapped("over", "over-small"),
    ),
    Statement(
        "C-TH-284",
        "shared Ethernet of 100 Mbit/s with theta c = 10 Mbit/s",
        "works reasonably well",
        _shared,
        spoil=swapped("over", "shared"),
    ),
    *network_claims.STATEMENTS,
)
