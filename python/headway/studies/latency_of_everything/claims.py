"""Check: what papers and RFCs say of the queue that a control or a discipline keeps."""

from __future__ import annotations

from dataclasses import replace

from headway.claims import Seen, Statement, between, replaced, scaled, swapped
from headway.figures import label_of
from headway.registry import registry
from headway.studies.collateral_damage.experiments import RATE
from headway.studies.latency_of_everything.experiments import PLAIN, RTT_MS
from headway.studies.latency_of_everything.observe import PACKET_BYTES, Found, mean, runs_of
from headway.units import BITS_PER_BYTE, parse_rate

PACKET_MS = PACKET_BYTES * BITS_PER_BYTE * 1e3 / parse_rate(RATE)
"""What a full packet takes on the link."""
LOSS_BASED = ("reno", "htcp", "cubic26", "cubic")
DELAY_BASED = ("fast", "vegas")
ALL = (*LOSS_BASED, *DELAY_BASED, "compound", "illinois", "bbr")
"""Those that a statement about all of them is judged by."""


def _default(control: str, tunable: str) -> int:
    owner = registry().control(control)
    return next(one.default for one in owner.tunables if one.name == tunable)


def _median_ms(found: Found, control: str, queue: str) -> float:
    runs = runs_of(found, control, queue)
    return mean(found, control, queue, runs, lambda one: one.induced_median_ms)


def _queue_pkts(found: Found, control: str, queue: str) -> float:
    return mean(found, control, queue, runs_of(found, control, queue), lambda one: one.queue_pkts)


def _each(
    found: Found,
    controls: tuple[str, ...],
    queue: str,
    low_ms: float,
    high_ms: float,
    note: str = "",
) -> Seen:
    """All medians must lie in a range, ends included."""
    medians = {control: _median_ms(found, control, queue) for control in controls}
    words = ", ".join(f"{label_of(control)} {median:.1f}" for control, median in medians.items())
    holds = all(low_ms <= median <= high_ms for median in medians.values())
    return Seen(words, holds, f"{low_ms:g} to {high_ms:g} ms each", "ms", note)


def _fast(found: Found) -> Seen:
    alpha_ms = _default("fast", "alpha") * PACKET_MS
    return between(_median_ms(found, "fast", PLAIN), 0.9 * alpha_ms, 1.1 * alpha_ms, unit="ms")


def _vegas(found: Found) -> Seen:
    low, high = (_default("vegas", name) * PACKET_MS for name in ("alpha", "beta"))
    return between(_median_ms(found, "vegas", PLAIN), low - PACKET_MS, high + PACKET_MS, unit="ms")


def _compound(found: Found) -> Seen:
    reno_ms = _median_ms(found, "reno", PLAIN)
    return between(
        _median_ms(found, "compound", PLAIN) / reno_ms,
        0.85,
        1.15,
        note=f"Reno {reno_ms:.0f} ms.",
    )


def _bbr(found: Found) -> Seen:
    return between(
        _median_ms(found, "bbr", PLAIN),
        0,
        RTT_MS,
        unit="ms",
        note="The product is four packets here; to two BBR adds three segments and a packet "
        "or two, for delayed ACKs and its probing, which are as much again.",
    )


def _cubic_most(found: Found) -> Seen:
    medians = {one: _median_ms(found, one, PLAIN) for one in ("reno", "htcp", "cubic26")}
    words = ", ".join(f"{label_of(control)} {median:.0f}" for control, median in medians.items())
    return Seen(words, max(medians, key=lambda one: medians[one]) == "cubic26", unit="ms")


def _delay_below_loss(found: Found) -> Seen:
    by_delay = max(_median_ms(found, control, PLAIN) for control in DELAY_BASED)
    by_loss = min(_median_ms(found, control, PLAIN) for control in LOSS_BASED)
    return Seen(
        f"at most {by_delay:.0f} against at least {by_loss:.0f}", by_delay < by_loss, unit="ms"
    )


def _codel(found: Found) -> Seen:
    return _each(
        found,
        LOSS_BASED,
        "codel",
        0,
        5,
        f"A packet takes {PACKET_MS:g} ms on this link: CoDel drops nothing while no more than one "
        "waits (RFC 8289, section 4.4), and so cannot hold less than it.",
    )


def _red(found: Found) -> Seen:
    tunables = {one.name: one.default for one in registry().queue("red").tunables}
    low, high = tunables["min_th_pkts"], tunables["max_th_pkts"]
    means = {control: _queue_pkts(found, control, "red") for control in LOSS_BASED}
    words = ", ".join(f"{label_of(control)} {pkts:.1f}" for control, pkts in means.items())
    holds = all(low <= pkts <= high for pkts in means.values())
    return Seen(
        words,
        holds,
        f"{low} to {high} packets each",
        "packets",
        "A flow alone that backs off leaves less in flight than the thresholds for a while, and "
        "RED's average, over some 500 packets, follows it by seconds on this link.",
    )


def _drr(found: Found) -> Seen:
    return _each(found, ALL, "drr", 0, 2 * PACKET_MS)


def _no_utilization_lost(found: Found) -> Seen:
    used = {
        control: mean(
            found, control, PLAIN, runs_of(found, control, PLAIN), lambda one: one.utilization
        )
        for control in ALL
    }
    least = min(used, key=lambda one: used[one])
    words = f"{100 * used[least]:.1f} % ({label_of(least)})"
    return Seen(words, used[least] >= 0.95, "≥ 95 % each")


FEW_PACKETS = (
    "That is one to two and a half packets, about as many as wait on 10 Mbit/s, where they take a "
    "tenth of the time."
)
SQUARE = (
    "Its additive growth is scaled by the square of the round trip. On this path of four packets a "
    "queue makes round trips so long that growth outweighs a decrease by parts of the window; on "
    "10 Mbit/s two packets wait."
)


def _routed(control: str, says: str, most_ms: float, why: str) -> Statement[Found]:
    """A router-controlled protocol's queue; ``says`` is its authors' word for it."""

    def look(found: Found) -> Seen:
        seen = between(_median_ms(found, control, PLAIN), 0, most_ms, unit="ms")
        return seen if seen.holds else replace(seen, note=why)

    return Statement(
        f"latency-{control}",
        f"{label_of(control)}'s routers keep the queue {says}: induced delay",
        says,
        look,
        ours=f"Authors give no number: {most_ms:g} ms, "
        + ("a packet." if most_ms == PACKET_MS else "a round trip."),
        spoil=replaced(f"{control}-drop-tail-*", 400.0, "induced_median_ms"),
        mend=replaced(f"{control}-drop-tail-*", 6.0, "induced_median_ms"),
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "latency-fast",
        "FAST alone keeps alpha packets in the queue (Jin, Wei, Low 2004): induced delay",
        _default("fast", "alpha") * PACKET_MS,
        _fast,
        ours="The fixed point has no tolerance: 10 %, since the call's datagrams wait there, too.",
        spoil=scaled("fast-drop-tail-*", 0.8, "induced_median_ms"),
        mend=replaced("fast-drop-tail-*", 240.0, "induced_median_ms"),
    ),
    Statement(
        "latency-vegas",
        "Vegas alone keeps between alpha and beta packets in the queue (Brakmo, Peterson 1995)",
        "24 to 48 ms",
        _vegas,
        ours="A packet to either side: the one in transmission, and the call's datagrams.",
        spoil=scaled("vegas-drop-tail-*", 3.0, "induced_median_ms"),
        mend=replaced("vegas-drop-tail-*", 36.0, "induced_median_ms"),
    ),
    Statement(
        "latency-compound",
        "Compound with windows around its low window is Reno (Tan et al. 2006): median over Reno's",
        1.0,
        _compound,
        ours="The window of this link reaches 44 packets, the low window is 41: 15 %.",
        spoil=scaled("compound-drop-tail-*", 0.5, "induced_median_ms"),
        mend=swapped("compound", "reno"),
    ),
    Statement(
        "latency-bbr",
        "BBR has at most two bandwidth-delay products in flight (Cardwell et al. 2016)",
        "at most a round trip in the queue",
        _bbr,
        spoil=replaced("bbr-drop-tail-*", 60.0, "induced_median_ms"),
        mend=replaced("bbr-drop-tail-*", 40.0, "induced_median_ms"),
    ),
    Statement(
        "latency-cubic",
        "CUBIC's median delay is the largest of NewReno, H-TCP and CUBIC (paper 001)",
        "in all its cells",
        _cubic_most,
        part="one flow, with today's stack",
        spoil=swapped("cubic26", "htcp"),
        mend=scaled("cubic26-drop-tail-*", 1.5, "induced_median_ms"),
    ),
    Statement(
        "latency-by-delay",
        "controls that go by delay keep shorter queues than those that wait for a loss (paper 003)",
        "lower latency",
        _delay_below_loss,
        spoil=swapped("vegas", "reno"),
        mend=scaled("vegas-drop-tail-*", 0.1, "induced_median_ms"),
    ),
    Statement(
        "latency-codel",
        "CoDel keeps a standing queue to its target of 5 ms (RFC 8289)",
        "5 ms",
        _codel,
        spoil=replaced("*-codel-*", 30.0, "induced_median_ms"),
        mend=replaced("*-codel-*", 4.0, "induced_median_ms"),
    ),
    Statement(
        "latency-red",
        "RED keeps the mean queue between its thresholds (Floyd, Jacobson 1993)",
        "5 to 15 packets",
        _red,
        part="loss-based controls",
        spoil=replaced("*-red-*", 20.0, "queue_pkts"),
        mend=replaced("*-red-*", 10.0, "queue_pkts"),
    ),
    Statement(
        "latency-drr",
        "with DRR a flow that sends less than its share waits for no one's queue but its own "
        "(Shreedhar, Varghese 1995)",
        "at most a packet in transmission and a quantum",
        _drr,
        spoil=replaced("*-drr-*", 100.0, "induced_median_ms"),
        mend=replaced("*-drr-*", 10.0, "induced_median_ms"),
    ),
    Statement(
        "latency-utilization",
        "a control needs no long queue to fill a link: least utilization of all, drop-tail",
        "full",
        _no_utilization_lost,
        ours="No paper says so of all of them; 95 % are ours.",
        spoil=replaced("vegas-drop-tail-*", 0.5, "utilization"),
        mend=replaced("*-drop-tail-*", 0.99, "utilization"),
    ),
    _routed("xcp", "near zero (Katabi, Handley, Rohrs 2002)", PACKET_MS, FEW_PACKETS),
    _routed("rcp", "near zero (Dukkipati 2007)", PACKET_MS, FEW_PACKETS),
    _routed("maxnet", "close to zero (paper 003)", PACKET_MS, FEW_PACKETS),
    _routed("vcp", "low (Xia et al. 2005)", RTT_MS, SQUARE),
    _routed("mpcp", "low (paper 004)", RTT_MS, SQUARE),
)
