"""Check: what papers and RFCs say of the queue that a control or a discipline keeps."""

from __future__ import annotations

from collections.abc import Mapping

from headway.claims import Change, Seen, Statement, Why, edited, replaced, scaled, swapped, words
from headway.figures import label_of
from headway.registry import registry
from headway.studies.collateral_damage.experiments import RATE
from headway.studies.latency_of_everything.experiments import PLAIN, RTT_MS
from headway.studies.latency_of_everything.observe import PACKET_BYTES, Found, mean, runs_of
from headway.units import BITS_PER_BYTE, parse_rate

PACKET_MS = PACKET_BYTES * BITS_PER_BYTE * 1e3 / parse_rate(RATE)
"""Time to send a full packet over the link."""
CODEL_TARGET_MS = 5.0
"""RFC 8289, section 4.4."""
LOSS_BASED = ("reno", "htcp", "cubic26", "cubic")
DELAY_BASED = ("fast", "vegas")
ALL = (*LOSS_BASED, *DELAY_BASED, "compound", "illinois", "bbr")
"""The controls for which statements about every control are judged."""


def _default(control: str, tunable: str) -> int:
    owner = registry().control(control)
    return next(one.default for one in owner.tunables if one.name == tunable)


def _median_ms(found: Found, control: str, queue: str) -> float:
    runs = runs_of(found, control, queue)
    return mean(found, control, queue, runs, lambda one: one.induced_median_ms)


def _used(found: Found, control: str) -> float:
    return mean(found, control, PLAIN, runs_of(found, control, PLAIN), lambda one: one.utilization)


def _each(values: Mapping[str, float], digits: int = 1) -> str:
    return ", ".join(f"{label_of(control)} {one:.{digits}f}" for control, one in values.items())


def _fast(found: Found) -> Seen:
    measured_ms = _median_ms(found, "fast", PLAIN)
    alpha_ms = _default("fast", "alpha") * PACKET_MS
    return Seen.by(measured_ms, words.quantity(measured_ms, alpha_ms, 0.10), unit="ms")


def _vegas(found: Found) -> Seen:
    measured_ms = _median_ms(found, "vegas", PLAIN)
    low, high = (_default("vegas", name) * PACKET_MS for name in ("alpha", "beta"))
    return Seen.by(measured_ms, words.within(measured_ms, low, high), unit="ms")


def _compound(found: Found) -> Seen:
    compound_ms, reno_ms = (_median_ms(found, one, PLAIN) for one in ("compound", "reno"))
    return Seen.by(
        compound_ms / reno_ms, words.similar(compound_ms, reno_ms), note=f"Reno {reno_ms:.0f} ms."
    )


def _bbr(found: Found) -> Seen:
    measured_ms = _median_ms(found, "bbr", PLAIN)
    return Seen.by(measured_ms, words.within(measured_ms, 0, RTT_MS), unit="ms")


def _cubic_most(found: Found) -> Seen:
    medians = {one: _median_ms(found, one, PLAIN) for one in ("reno", "htcp", "cubic26")}
    others = [words.more(medians["cubic26"], medians[one]) for one in ("reno", "htcp")]
    return Seen.by(_each(medians, 0), *others, unit="ms")


def _delay_below_loss(found: Found) -> Seen:
    by_delay = max(_median_ms(found, control, PLAIN) for control in DELAY_BASED)
    by_loss = min(_median_ms(found, control, PLAIN) for control in LOSS_BASED)
    return Seen.by(
        f"at most {by_delay:.0f} beside at least {by_loss:.0f}",
        words.less(by_delay, by_loss),
        unit="ms",
    )


def _codel(found: Found) -> Seen:
    medians = {control: _median_ms(found, control, "codel") for control in LOSS_BASED}
    checks = [words.within(one, 0, CODEL_TARGET_MS, "0 to 5 ms each") for one in medians.values()]
    return Seen.by(_each(medians), *checks, unit="ms")


def _red(found: Found) -> Seen:
    tunables = {one.name: one.default for one in registry().queue("red").tunables}
    low, high = tunables["min_th_pkts"], tunables["max_th_pkts"]
    means: dict[str, float] = {}
    for control in LOSS_BASED:
        runs = runs_of(found, control, "red")
        means[control] = mean(found, control, "red", runs, lambda one: one.counted_pkts)
    bound = f"{low} to {high} packets each"
    checks = [words.within(one, low, high, bound) for one in means.values()]
    return Seen.by(_each(means), *checks, unit="packets")


def _drr(found: Found) -> Seen:
    delays: dict[str, float] = {}
    for control in ALL:
        runs = runs_of(found, control, "drr")
        delays[control] = mean(found, control, "drr", runs, lambda one: one.induced_max_ms)
    most_ms = 2 * PACKET_MS
    bound = f"0 to {most_ms:g} ms each"
    checks = [words.within(one, 0, most_ms, bound) for one in delays.values()]
    return Seen.by(_each(delays), *checks, unit="ms")


def _no_utilization_lost(found: Found) -> Seen:
    unused = {control: 1 - _used(found, control) for control in ALL}
    most = max(unused, key=lambda one: unused[one])
    return Seen.by(
        f"at most {100 * unused[most]:.1f} % ({label_of(most)})",
        words.every([words.hardly(part) for part in unused.values()]),
    )


TEN_MBPS = edited({"topology.rate": "10 Mbit/s", "topology.reverse.rate": "10 Mbit/s"})


def _faster_link(*keys: str) -> Change:
    return Change("a link of 10 Mbit/s", TEN_MBPS, keys)


def _refuted(reason: str, *changes: Change) -> Why:
    return Why("refuted", reason, changes)


def _routed(
    control: str, says: str, published: str, most_ms: float, why: Why | None = None, part: str = ""
) -> Statement[Found]:
    """A statement on a router-controlled protocol's queue; ``published`` has its authors' words."""

    def look(found: Found) -> Seen:
        measured_ms = _median_ms(found, control, PLAIN)
        check = words.within(measured_ms, 0, most_ms)
        if says.startswith("can "):
            check = words.some([check])
        return Seen.by(measured_ms, check, unit="ms")

    limit = "one packet" if most_ms == PACKET_MS else "one round trip"
    return Statement(
        f"latency-{control}",
        f"{label_of(control)}'s routers {says}: induced delay",
        published,
        look,
        part=part,
        ours=f"The authors give no number. The limit here is {limit}, {most_ms:g} ms.",
        why=why,
        spoil=replaced(f"{control}-drop-tail-*", 400.0, "induced_median_ms"),
        mend=replaced(f"{control}-drop-tail-*", 6.0, "induced_median_ms"),
    )


def _square(control: str) -> Why:
    return _refuted(
        "The protocol scales its additive growth by the square of the RTT. This path holds only "
        "four packets, so a queue lengthens the RTT until the growth exceeds the decrease by a "
        "part of the window.",
        _faster_link(f"{control}-drop-tail-*"),
    )


def _maxnet(found: Found) -> Seen:
    runs = runs_of(found, "maxnet", PLAIN)
    # The packet in transmission does not wait. It exists while the link is used.
    waiting = mean(found, "maxnet", PLAIN, runs, lambda one: one.queue_pkts - one.utilization)
    return Seen.by(waiting, words.some([words.within(waiting, 0, 1)]), unit="packets")


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "latency-fast",
        "FAST alone keeps alpha packets in the queue (Jin, Wei, Low 2004): induced delay",
        _default("fast", "alpha") * PACKET_MS,
        _fast,
        ours="The fixed point has no tolerance. 10 % are allowed, because the call's datagrams "
        "wait in the same queue.",
        spoil=scaled("fast-drop-tail-*", 0.8, "induced_median_ms"),
        mend=replaced("fast-drop-tail-*", 240.0, "induced_median_ms"),
    ),
    Statement(
        "latency-vegas",
        "Vegas alone keeps between alpha and beta packets in the queue (Brakmo, Peterson 1995)",
        "24 to 48 ms",
        _vegas,
        spoil=scaled("vegas-drop-tail-*", 3.0, "induced_median_ms"),
        mend=replaced("vegas-drop-tail-*", 36.0, "induced_median_ms"),
    ),
    Statement(
        "latency-compound",
        "Compound behaves like Reno while its window is near the low window (Tan et al. 2006): "
        "median delay over Reno's",
        1.0,
        _compound,
        ours="The window on this link reaches 44 packets; the low window is 41.",
        spoil=scaled("compound-drop-tail-*", 0.5, "induced_median_ms"),
        mend=swapped("compound", "reno"),
    ),
    Statement(
        "latency-bbr",
        "BBR has at most two bandwidth-delay products in flight (Cardwell et al. 2016)",
        "at most a round trip in the queue",
        _bbr,
        why=_refuted(
            "The product is four packets on this link. BBR adds three segments, and one or two "
            "packets for delayed ACKs and its probing, which together are as much again.",
            _faster_link("bbr-drop-tail-*"),
        ),
        spoil=replaced("bbr-drop-tail-*", 60.0, "induced_median_ms"),
        mend=replaced("bbr-drop-tail-*", 40.0, "induced_median_ms"),
    ),
    Statement(
        "latency-cubic",
        "CUBIC's median delay is larger than NewReno's and H-TCP's (paper 001)",
        "in all its cells",
        _cubic_most,
        part="one cell, one flow at 50 ms, with hosts of today; the paper has six cells",
        unjudged=("all",),
        spoil=swapped("cubic26", "htcp"),
        mend=scaled("cubic26-drop-tail-*", 1.5, "induced_median_ms"),
    ),
    Statement(
        "latency-by-delay",
        "controls that react to delay have lower latency than those that wait for a loss "
        "(paper 003)",
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
        why=_refuted(
            f"A packet takes {PACKET_MS:g} ms on this link. CoDel drops nothing while no more than "
            "one packet waits (RFC 8289, section 4.4), so it cannot hold the queue below that.",
            _faster_link(*(f"{control}-codel-*" for control in LOSS_BASED)),
        ),
        spoil=replaced("*-codel-*", 30.0, "induced_median_ms"),
        mend=replaced("*-codel-*", 4.0, "induced_median_ms"),
    ),
    Statement(
        "latency-red",
        "RED keeps the mean queue between its thresholds (Floyd, Jacobson 1993)",
        "5 to 15 packets",
        _red,
        part="loss-based controls",
        spoil=replaced("*-red-*", 20.0, "counted_pkts"),
        mend=replaced("*-red-*", 10.0, "counted_pkts"),
    ),
    Statement(
        "latency-drr",
        "with DRR a flow below its share waits for no one's queue but its own "
        "(Shreedhar, Varghese 1995)",
        "at most a packet in transmission and a quantum",
        _drr,
        spoil=replaced("*-drr-*", 100.0, "induced_max_ms"),
        mend=replaced("*-drr-*", 10.0, "induced_max_ms"),
    ),
    Statement(
        "latency-utilization",
        "all controls fill the link, also those with a short queue: hardly any of it is unused "
        "(drop-tail)",
        "full",
        _no_utilization_lost,
        ours="This is a statement of the study, not of a paper.",
        spoil=replaced("vegas-drop-tail-*", 0.5, "utilization"),
        mend=replaced("*-drop-tail-*", 0.99, "utilization"),
    ),
    _routed(
        "xcp",
        "keep the queue near zero",
        "near zero (Katabi, Handley, Rohrs 2002)",
        PACKET_MS,
        _refuted(
            "A receiver acknowledges every second packet, so two packets leave at once and one "
            "waits for the other. On this link that is 12 ms.",
            Change("no delayed ACKs", edited({"flows.0.delayed_ack": False}), "xcp-drop-tail-*"),
        ),
    ),
    _routed("rcp", "keep the queue near zero", "near zero (Dukkipati 2007)", PACKET_MS),
    Statement(
        "latency-maxnet",
        "MaxNet's routers can keep the mean queue close to zero",
        "close to zero (paper 003)",
        _maxnet,
        why=_refuted(
            "MaxNet's window is a whole number of packets, and one packet is a large part of what "
            "this link carries in a round trip, so the queue oscillates. The mean wait falls from "
            "2.2 packets at 1 Mbit/s to 1.1 at 2 Mbit/s and 0.8 at 10 Mbit/s.",
            _faster_link("maxnet-drop-tail-*"),
        ),
        ours="The authors give no number. The limit here is one packet that waits.",
        spoil=replaced("maxnet-drop-tail-*", 30.0, "queue_pkts"),
        mend=replaced("maxnet-drop-tail-*", 1.5, "queue_pkts"),
    ),
    _routed("vcp", "keep the queue low", "low (Xia et al. 2005)", RTT_MS, _square("vcp")),
    _routed(
        "mpcp",
        "can keep the persistent queue low",
        "low (paper 004)",
        RTT_MS,
        _square("mpcp"),
        part="the median wait, since the shortest wait of each round trip is not recorded",
    ),
)
