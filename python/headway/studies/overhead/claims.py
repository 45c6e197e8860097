"""Check: C-QSL-027 to 033, C-TH-043 to 053, 215 to 240, 243, 265, 269 and 288.

Each statement that compares a router with an unmodified one has a twin: a statement of ours that
compares with a router that has an empty program. A program that is attached to a device costs
processor time even if it does nothing. The thesis patched its router, which therefore has no such
cost.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

from headway.claims import Change, Claims, Seen, Spoil, Statement, all_of, words
from headway.claims.spoil import Rows
from headway.claims.words import Check
from headway.metrics.stats import Estimate
from headway.registry import registry
from headway.studies.common.appendix_b import BUFFERS_BYTES
from headway.studies.overhead.experiments import (
    SHARES,
    SLOTS_MS,
    Found,
    Metric,
    Side,
    empty_ns,
    requests,
    slots,
)

CLAIMS: Claims[Found] = Claims(__name__)
LINUX_PPS = 300_000
"""Load of table 6.4 for delays and effort."""
NONE, FEW, MANY = (requests(share) for share in SHARES)
SHORT, LONG = (slots(ms) for ms in SLOTS_MS)
ROUTERS: Mapping[Side, str] = {
    "plain": "an unmodified router",
    "empty": "a router with an empty program",
}


# ---- Made-up evidence, which tests use to refute claims ----


def _as_if(than: Side, key: str, metric: Metric, ratio: float) -> Spoil:
    """Set the numbers of the router with the program to a multiple of another router's."""

    def spoil(rows: Rows) -> Rows:
        measured = dict(rows[key])
        if metric == "delays_us":
            turns = measured["delay_rounds_us"]
            measured["delay_rounds_us"] = [{**turn, "with": ratio * turn[than]} for turn in turns]
        else:
            sending_ns, turns = measured["sending_cpu_ns"], measured["rounds"]
            slower = [_slower(turn[than], sending_ns, ratio) for turn in turns]
            measured["rounds"] = [
                {**turn, "with": own} for turn, own in zip(turns, slower, strict=True)
            ]
        return {**rows, key: measured}

    return spoil


def _slower(turn: Mapping[str, float], sending_ns: float, factor: float) -> dict[str, float]:
    cpu_ns = sending_ns + factor * (turn["cpu_ns"] - sending_ns)
    return {**turn, "cpu_ns": cpu_ns, "rate_pps": 1e9 / cpu_ns}


def _empty_takes(more_ns: float) -> Spoil:
    """Make the empty program take ``more_ns`` of every packet."""

    def turn_of(turn: Mapping[str, Any]) -> dict[str, Any]:
        plain = turn["plain"]
        return {**turn, "empty": {**plain, "cpu_ns": plain["cpu_ns"] + more_ns}}

    return lambda rows: {
        key: {**row, "rounds": [turn_of(turn) for turn in row["rounds"]]}
        for key, row in rows.items()
    }


# ---- Ratios of the Quick-Start router to a router without Quick-Start ----


@dataclass(frozen=True)
class Beside:
    """The judge of a sentence that compares a router that runs the program with one that does not.

    ``spoil`` and ``mend`` make evidence by the other router. The paper's statement fails because of
    an attached program's cost, as its twin shows, unless study.toml gives another reason.
    ``twin_why`` is the twin's reason, by its name there.
    """

    look: Callable[[Side, Found], Seen]
    spoil: Callable[[Side], Spoil]
    mend: Callable[[Side], Spoil]
    twin_why: str = ""


def _ratio(
    share: int,
    metric: Metric,
    judged: Callable[[Estimate], Check],
    bad: float,
    good: float,
    twin_why: str = "",
) -> Beside:
    """Judge the ratio of the two routers at this share of requests.

    ``bad`` and ``good`` are ratios of time that refute the sentence and agree with it.
    """
    key = requests(share)

    def look(than: Side, found: Found) -> Seen:
        ratio = found[key].ratio(metric, found[key].with_, than)
        return Seen.by(ratio.mean, judged(ratio), note=_scatter(found, metric))

    def as_if(ratio: float, than: Side) -> Spoil:
        return _as_if(than, key, metric, ratio)

    return Beside(look, partial(as_if, bad), partial(as_if, good), twin_why)


def _scatter(found: Found, metric: Metric) -> str:
    """The measured ratio of two unmodified routers, which shows the measurement's error."""
    ratio = found[NONE].ratio(metric, found[NONE].without).mean
    return (
        f"The ratio of two measurements of the unmodified router is {ratio:.3f}, which shows the "
        "measurement error."
    )


def _printed(published: float, tolerance: float) -> Callable[[Estimate], Check]:
    return lambda ratio: words.quantity(ratio.mean, published, tolerance)


def _measurable(ratio: Estimate) -> Check:
    return words.both(words.more(ratio, 1.0), words.within(ratio.mean, -math.inf, 1.10))


def _many(than: Side, found: Found) -> Seen:
    many, few = (found[key].ratio("efforts_ns", found[key].with_, than) for key in (MANY, FEW))
    return Seen.by(
        f"{many.mean:.2f} times the effort with 50 %, {few.mean:.2f} with 1 %",
        words.much_more(many, 1.0),
        words.within(few.mean, -math.inf, words.CLEAR, "less than that with 1 %"),
        note=_scatter(found, "efforts_ns"),
    )


def _if_many(many: float) -> Callable[[Side], Spoil]:
    """The processor time of forwarding with 50 % requests, if 1 % requests cost hardly anything."""
    efforts = {FEW: 1.05, MANY: many}
    return lambda than: all_of(*(_as_if(than, k, "efforts_ns", e) for k, e in efforts.items()))


_COMPARED = {
    "C-QSL-027": _ratio(0, "efforts_ns", _measurable, 1.3, 1.04, "unmetered"),
    "C-QSL-028": _ratio(1, "efforts_ns", lambda r: words.some([words.few(r.mean - 1)]), 1.3, 1.04),
    "C-QSL-029": _ratio(
        1, "rates_pps", lambda r: words.not_significantly_less(r.mean, 1.0), 1.5, 1.02
    ),
    "C-QSL-030": _ratio(1, "delays_us", _printed(1.0, 0.05), 1.2, 1.0),
    "C-TH-223": _ratio(0, "rates_pps", _printed(1.0, 0.05), 1.5, 1.02),
    "C-TH-224": _ratio(0, "delays_us", _printed(1.0, 0.05), 1.2, 1.0),
    "C-TH-225": _ratio(0, "efforts_ns", _printed(1.04, 0.05), 1.3, 1.04, "unmetered"),
    "C-TH-228": _ratio(1, "rates_pps", _printed(1.0, 0.10), 1.6, 1.02),
    "C-TH-229": _ratio(1, "delays_us", _printed(1.0, 0.10), 1.2, 1.0),
    "C-TH-230": _ratio(1, "efforts_ns", _printed(1.12, 0.10), 1.5, 1.12, "few-requests"),
    "C-TH-233": _ratio(50, "rates_pps", _printed(1.0, words.QUANTITY), 3.24, 1.1),
    "C-TH-234": _ratio(50, "delays_us", _printed(1.0, words.QUANTITY), 1.3, 1.0),
    "C-TH-235": _ratio(
        50, "efforts_ns", lambda r: words.within(r.mean, 2.0, 4.0), 1.2, 3.24, "cheap-requests"
    ),
    "C-QSL-031": Beside(_many, _if_many(1.05), _if_many(3.0), "all-ask"),
}
_LOCKED = Change(
    "a router that meters each packet under a lock",
    keys=NONE,
    options={"--set": "algorithm=extreme"},
)
_ALL_ASK = Change("a request in every packet", keys=MANY, options={"--requests": "100"})
_TRIES = {
    "unmetered": (Change("151 turns", keys=NONE, options={"--rounds": "151"}), _LOCKED),
    "few-requests": (
        Change("10 % requests instead of 1 %", keys=FEW, options={"--requests": "10"}),
    ),
    "cheap-requests": (replace(_LOCKED, keys=MANY), _ALL_ASK),
    "all-ask": (replace(_ALL_ASK, says="a request in every packet instead of every second"),),
}
_OWN_REASON = {"C-TH-235": "cheap-requests", "C-QSL-031": "all-ask"}

for _name, _one in _COMPARED.items():
    CLAIMS.add(
        _name,
        partial(_one.look, "plain"),
        spoil=_one.spoil("plain"),
        mend=_one.mend("plain"),
        tries=_TRIES.get(_OWN_REASON.get(_name, ""), ()),
    )


def _with_twin(own: Statement[Found]) -> list[Statement[Found]]:
    """A statement of the paper, and ours with the empty program if it compares routers."""
    if own.id not in _COMPARED:
        return [own]
    one, name = _COMPARED[own.id], f"overhead-empty-{own.id.removeprefix('C-').lower()}"
    cause = CLAIMS.file.why.get(one.twin_why)
    twin = replace(
        own,
        id=name,
        text=own.text.replace(ROUTERS["plain"], ROUTERS["empty"]),
        look=partial(one.look, "empty"),
        spoil=one.spoil("empty"),
        mend=one.mend("empty"),
        why=None if cause is None else cause.why(_TRIES[one.twin_why]),
    )
    if own.why and own.id not in _OWN_REASON:
        own = replace(own, why=replace(own.why, shown_by=name))
    return [own, twin]


# ---- Cost of the attached program, and the length of slots ----


@CLAIMS.judge("overhead-empty-price", spoil=_empty_takes(0.0), mend=_empty_takes(20.0))
def _price(found: Found) -> Seen:
    price_ns = empty_ns([found[key] for key in (NONE, FEW, MANY, SHORT, LONG)])
    plain = found[NONE].plain
    effort_ns = median(plain.efforts_ns)
    return Seen.by(
        price_ns.mean,
        words.more(price_ns, 0.0),
        unit="ns",
        note=f"Without the program a packet takes {effort_ns + plain.sending_ns:.0f} ns, of which "
        f"forwarding takes {effort_ns:.0f} ns.",
    )


@CLAIMS.judge("C-TH-238")
def _processor_share(found: Found) -> Seen:
    time_ns = found[MANY].program_ns
    share = math.nan if time_ns is None else time_ns * LINUX_PPS / 1e7
    return Seen.by(
        "nothing" if time_ns is None else share,
        words.about(share, 4.0),
        unit="%",
        note="Processor time in the program as the kernel measures it, including the measurement.",
    )


_LONG_AS_PLAIN = _as_if("plain", LONG, "delays_us", 1.0)


@CLAIMS.judge(
    "C-TH-239",
    spoil=[_as_if("plain", SHORT, "delays_us", 1.2), _LONG_AS_PLAIN],
    mend=[_as_if("plain", SHORT, "delays_us", 1.0), _LONG_AS_PLAIN],
)
def _slots(found: Found) -> Seen:
    loads = [found[key] for key in (SHORT, LONG)]
    tails = [dict(load.with_.quantiles_us)[999_000] for load in loads]
    short, long = (load.ratio("delays_us", load.with_).mean for load in loads)
    return Seen.by(
        short / long,
        words.hardly(short / long - 1),
        note=f"With slots of 0.1 and 2 s, 99.9 % of the packets take at most {tails[0]:.1f} and "
        f"{tails[1]:.1f} us.",
    )


# ---- Settings ----


@CLAIMS.judge("C-TH-265")
def _largest_rate(_found: Found) -> Seen:
    jump_start = {one.name: one for one in registry().startup("jump-start").tunables}
    rate_mbps = jump_start["js_max_rate_kbps"].default / 1e3
    return Seen.by(
        rate_mbps,
        words.is_so(rate_mbps == 10.0, "10 Mbit/s"),
        unit="Mbit/s",
        note="In section 4.4.3.2 K_rate is 10 Mbit/s, and Headway's is the same. The appendix "
        "prints this number with byte/s instead of bit/s. In Headway a separate switch, "
        "headwayctl host window, lets hosts send beyond the receive window.",
    )


@CLAIMS.judge("C-TH-269")
def _buffers(_found: Found) -> Seen:
    ours = " / ".join(map(str, BUFFERS_BYTES))
    return Seen.by(
        ours,
        words.is_so(ours == "16384 / 8388608 / 16777216", "exact"),
        unit="B",
        note="These are the buffers of the hosts in the study receive-window. The simulator's "
        "hosts have the initial size.",
    )


STATEMENTS = tuple(one for own in CLAIMS.statements() for one in _with_twin(own))
