"""Check: what papers and RFCs say of the queue that a control or a discipline keeps."""

from collections.abc import Iterable
from functools import partial

from headway.claims import Change, Claims, Seen, edited, replaced, words
from headway.figures import label_of
from headway.registry import registry
from headway.studies.collateral_damage.experiments import RATE
from headway.studies.common.runs import listed
from headway.studies.latency_of_everything.experiments import (
    PACKET_BYTES,
    PLAIN,
    RTT_MS,
    Found,
    mean,
)
from headway.units import BITS_PER_BYTE, parse_rate

CLAIMS: Claims[Found] = Claims(__name__)
PACKET_MS = PACKET_BYTES * BITS_PER_BYTE * 1e3 / parse_rate(RATE)
"""Time to send a full packet over the link."""
LOSS_BASED = ("reno", "htcp", "cubic26", "cubic")
DELAY_BASED = ("fast", "vegas")
ALL = (*LOSS_BASED, *DELAY_BASED, "compound", "illinois", "bbr")
"""The controls by which a statement about all controls is judged."""


def _default(control: str, tunable: str) -> int:
    owner = registry().control(control)
    return next(one.default for one in owner.tunables if one.name == tunable)


def _medians_ms(found: Found, controls: Iterable[str], queue: str = PLAIN) -> dict[str, float]:
    return {control: mean(found, control, queue, "induced_median_ms") for control in controls}


def _each(values: dict[str, float], form: str = "{:.1f}") -> str:
    return listed({label_of(control): one for control, one in values.items()}, form)


def _faster_link(*keys: str) -> Change:
    rate = {"topology.rate": "10 Mbit/s", "topology.reverse.rate": "10 Mbit/s"}
    return Change("a link of 10 Mbit/s", edited(rate), keys)


@CLAIMS.judge("latency-fast")
def _fast(found: Found) -> Seen:
    [measured_ms] = _medians_ms(found, ["fast"]).values()
    alpha_ms = _default("fast", "alpha") * PACKET_MS
    return Seen.by(measured_ms, words.quantity(measured_ms, alpha_ms, 0.10), unit="ms")


@CLAIMS.judge("latency-compound")
def _compound(found: Found) -> Seen:
    compound_ms, reno_ms = _medians_ms(found, ("compound", "reno")).values()
    similar = words.similar(compound_ms, reno_ms)
    return Seen.by(compound_ms / reno_ms, similar, note=f"Reno's median delay is {reno_ms:.0f} ms.")


@CLAIMS.judge("latency-cubic")
def _cubic_most(found: Found) -> Seen:
    medians_ms = _medians_ms(found, ("reno", "htcp", "cubic26"))
    reno_ms, htcp_ms, cubic_ms = medians_ms.values()
    more = [words.more(cubic_ms, other_ms) for other_ms in (reno_ms, htcp_ms)]
    return Seen.by(_each(medians_ms, "{:.0f}"), *more, unit="ms")


@CLAIMS.judge("latency-by-delay")
def _delay_below_loss(found: Found) -> Seen:
    by_delay_ms = max(_medians_ms(found, DELAY_BASED).values())
    by_loss_ms = min(_medians_ms(found, LOSS_BASED).values())
    measured = f"at most {by_delay_ms:.0f} beside at least {by_loss_ms:.0f}"
    return Seen.by(measured, words.less(by_delay_ms, by_loss_ms), unit="ms")


@CLAIMS.judge("latency-utilization")
def _no_utilization_lost(found: Found) -> Seen:
    unused = {control: 1 - mean(found, control, PLAIN, "utilization") for control in ALL}
    most = max(unused, key=lambda one: unused[one])
    return Seen.by(
        f"at most {100 * unused[most]:.1f} % ({label_of(most)})",
        words.every([words.hardly(part) for part in unused.values()]),
    )


@CLAIMS.judge("latency-maxnet")
def _maxnet(found: Found) -> Seen:
    waiting_pkts = mean(found, "maxnet", PLAIN, "waiting_pkts")
    can = words.some([words.within(waiting_pkts, 0, 1)])
    return Seen.by(waiting_pkts, can, unit="packets")


# ---- Ranges ----


def _median_within(found: Found, control: str, low_ms: float, high_ms: float) -> Seen:
    [measured_ms] = _medians_ms(found, [control]).values()
    check = words.within(measured_ms, low_ms, high_ms)
    # MPCP's authors say that MPCP "can" keep the queue low.
    return Seen.by(measured_ms, words.some([check]) if control == "mpcp" else check, unit="ms")


_NO_DELAYED_ACKS = edited({"flows.0.delayed_ack": False})
for _control, _low_ms, _high_ms, _tries in (
    ("vegas", _default("vegas", "alpha") * PACKET_MS, _default("vegas", "beta") * PACKET_MS, []),
    ("bbr", 0, RTT_MS, [_faster_link("bbr-drop-tail-*")]),
    ("xcp", 0, PACKET_MS, [Change("no delayed ACKs", _NO_DELAYED_ACKS, "xcp-drop-tail-*")]),
    ("rcp", 0, PACKET_MS, []),
    ("vcp", 0, RTT_MS, [_faster_link("vcp-drop-tail-*")]),
    ("mpcp", 0, RTT_MS, [_faster_link("mpcp-drop-tail-*")]),
):
    CLAIMS.add(
        f"latency-{_control}",
        partial(_median_within, control=_control, low_ms=_low_ms, high_ms=_high_ms),
        spoil=replaced(f"{_control}-drop-tail-*", 1.2 * _high_ms, "induced_median_ms"),
        mend=replaced(f"{_control}-drop-tail-*", 0.8 * _high_ms, "induced_median_ms"),
        tries=_tries,
    )


def _every_mean_within(
    found: Found, controls: Iterable[str], queue: str, path: str, low: float, high: float
) -> Seen:
    means = {control: mean(found, control, queue, path) for control in controls}
    unit = "ms" if path.endswith("ms") else "packets"
    bound = f"{low:g} to {high:g} {unit} each"
    checks = [words.within(one, low, high, bound) for one in means.values()]
    return Seen.by(_each(means), *checks, unit=unit)


_RED = {one.name: one.default for one in registry().queue("red").tunables}
_CODEL_TRIES = [_faster_link(*(f"{control}-codel-*" for control in LOSS_BASED))]
for _queue, _controls, _path, _low, _high, _tries in (
    # RFC 8289, section 4.4: the target is 5 ms.
    ("codel", LOSS_BASED, "induced_median_ms", 0, 5, _CODEL_TRIES),
    ("red", LOSS_BASED, "counted_pkts", _RED["min_th_pkts"], _RED["max_th_pkts"], []),
    ("drr", ALL, "induced_max_ms", 0, 2 * PACKET_MS, []),
):
    CLAIMS.add(
        f"latency-{_queue}",
        partial(
            _every_mean_within, controls=_controls, queue=_queue, path=_path, low=_low, high=_high
        ),
        spoil=replaced(f"*-{_queue}-*", 1.2 * _high, _path),
        mend=replaced(f"*-{_queue}-*", 0.8 * _high, _path),
        tries=_tries,
    )
