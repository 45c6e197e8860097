"""Check: what the thesis says of the page, by medians.

Statements and tolerances of C-TH-249 to 255 were written before the first full run; what was
settled afterwards is among the study's choices.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from headway.claims import Claim, Evidence, Seen, Statement, all_of, between, replaced
from headway.studies.common import sites
from headway.studies.map_page.experiments import (
    BASE,
    EARLY,
    OLD,
    SCHEMES,
    TARGETED,
    TARGETS_MS,
    key,
)
from headway.studies.map_page.observe import Loads

Found = Evidence[Loads]
_PUBLISHED_S = 9.6
_WITHIN = 0.2
_LOADS = "load_s"
_TIMES = "map-page-times"
_COLUMNS = ("median", "interval", "less than Slow-Start")
IN_ORDER = (OLD, BASE, "jump-start", "quick-start", EARLY)
"""From the slowest; Initial-Start is Slow-Start, and Mega-Start near the last."""


def _gains_s(found: Found, names: tuple[str, ...]) -> dict[str, float]:
    return {name: found[OLD].median_s - found[name].median_s for name in names}


def _gain_of(found: Found, names: tuple[str, ...], least_s: float) -> Seen:
    """What is gained over three packets, and what of it ten packets gain without the startup."""
    gains = _gains_s(found, names)
    first_s = found[OLD].median_s - found[BASE].median_s
    own = {name: gain - first_s for name, gain in gains.items()}
    shown = ", ".join(f"{SCHEMES[name].label} {gain:.2f} s" for name, gain in gains.items())
    left = ", ".join(f"{SCHEMES[name].label}'s {seconds:.2f} s" for name, seconds in own.items())
    short = [SCHEMES[name].label for name, seconds in own.items() if seconds < least_s]
    against = f"; held against ten packets {' and '.join(short)} would fail" if short else ""
    note = (
        f"{shown}. Of that {first_s:.2f} s are the first window, ten packets instead of three, as "
        f"of all schemes here; the startup is {left}{against}"
    )
    return between(min(gains.values()), least_s, float("inf"), unit="s", note=note)


def _cut(found: Found, names: tuple[str, ...]) -> Seen:
    parts = {name: 1 - found[name].median_s / found[BASE].median_s for name in names}
    seconds = {name: found[BASE].median_s - found[name].median_s for name in names}
    shown = ", ".join(
        f"{SCHEMES[name].label} {seconds[name]:.2f} s of {found[BASE].median_s:.2f} s"
        for name in names
    )
    return between(100 * min(parts.values()), 20, float("inf"), unit="%", note=shown)


def _optimum(found: Found) -> Seen:
    best = {
        name: min(TARGETS_MS, key=lambda ms, name=name: found[key(name, ms)].median_s)  # type: ignore[misc]
        for name in TARGETED
    }
    shown = ", ".join(f"{SCHEMES[name].label} {ms} ms" for name, ms in best.items())
    return Seen(shown, all(225 <= ms <= 300 for ms in best.values()), "225 to 300 ms")


def _no_benefit(found: Found) -> Seen:
    ratios = [found[key(name, 1000)].median_s / found[BASE].median_s for name in TARGETED]
    worst = max(ratios, key=lambda ratio: abs(ratio - 1))
    return between(worst, 0.95, 1.05)


def _told_apart(found: Found) -> Seen:
    """What each startup's visits took; those in order have intervals that do not overlap."""
    base_s = found[BASE].median_s
    rows = {}
    for name, scheme in SCHEMES.items():
        low_s, high_s = found[name].interval_s
        less = f"{100 * (1 - found[name].median_s / base_s):.0f} %"
        cells = (f"{found[name].median_s:.2f}", f"{low_s:.2f} to {high_s:.2f}", less)
        rows[scheme.label] = dict(zip(_COLUMNS, cells, strict=True))
    ends = [found[name].interval_s for name in IN_ORDER]
    apart = all(fast[1] < slow[0] for slow, fast in itertools.pairwise(ends))
    return Seen(sites.told(rows), apart, "intervals apart")


def times_table(claims: Sequence[Claim]) -> str:
    """What each startup's visits took, for a page."""
    return sites.table_told(claims, _TIMES, _COLUMNS)


def _near_the_rtt(found: Found) -> Seen:
    worse = {
        name: found[key(name, TARGETS_MS[0])].median_s
        - min(found[key(name, ms)].median_s for ms in TARGETS_MS[1:])
        for name in TARGETED
    }
    shown = ", ".join(f"{SCHEMES[name].label} {late:+.2f} s" for name, late in worse.items())
    return Seen(shown, all(late > 0 for late in worse.values()))


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-249",
        "the page's loading time with the default stack, which began with three packets",
        _PUBLISHED_S,
        lambda found: between(
            found[OLD].median_s,
            (1 - _WITHIN) * _PUBLISHED_S,
            (1 + _WITHIN) * _PUBLISHED_S,
            unit="s",
        ),
        ours="Another page of the same volume: 20 % are ours.",
        spoil=replaced(OLD, 30.0, _LOADS),
        mend=replaced(OLD, _PUBLISHED_S, _LOADS),
    ),
    Statement(
        "C-TH-250",
        "Jump-Start or Initial-Start take over one second less",
        "> 1 s",
        lambda found: _gain_of(found, ("initial-start", "jump-start"), 1.0),
        spoil=replaced(OLD, 1.0, _LOADS),
        mend=replaced(OLD, 100.0, _LOADS),
    ),
    Statement(
        "C-TH-251",
        "Quick-Start or Mega-Start with a short target take over two seconds less",
        "> 2 s, targets below 300 ms",
        lambda found: _gain_of(found, TARGETED, 2.0),
        spoil=replaced(OLD, 1.0, _LOADS),
        mend=replaced(OLD, 100.0, _LOADS),
    ),
    Statement(
        "C-TH-252",
        "the best target is about 250 ms",
        "250 ms, of both",
        _optimum,
        ours="With 205 ms five are left for all but the round trip. Where the server takes "
        "longer, nothing begins, and tiles come later: so here, on a machine that others used. The "
        "run before had it for itself; there 205 ms was Quick-Start's best, and this failed.",
        spoil=all_of(replaced("*-start-225", 99.0, _LOADS), replaced("*-start-1000", 0.01, _LOADS)),
        mend=all_of(replaced("*-start-1000", 99.0, _LOADS), replaced("*-start-225", 0.01, _LOADS)),
    ),
    Statement(
        "C-TH-253",
        "a target of a second is no better than Slow-Start",
        "no benefit",
        _no_benefit,
        ours="The largest script, 742 kB, takes Slow-Start 1.4 s: with a target of a second it "
        "comes sooner, and nothing else does.",
        spoil=replaced("*-start-1000", 0.1, _LOADS),
        mend=all_of(replaced("*-start-1000", 8.0, _LOADS), replaced(BASE, 8.0, _LOADS)),
    ),
    Statement(
        "C-TH-254",
        "a target close to the round-trip time is slightly worse than the best",
        "worse",
        _near_the_rtt,
        ours="See C-TH-252.",
        spoil=replaced("*-start-205", 0.01, _LOADS),
        mend=replaced("*-start-205", 99.0, _LOADS),
    ),
    Statement(
        "C-TH-255",
        "the page's volume",
        1.5,
        lambda found: between(found[BASE].volume_bytes / 1e6, 1.45, 1.55, unit="MB"),
        carrier="setting",
    ),
    Statement(
        "map-page-cut",
        "Quick-Start and Mega-Start cut today's loading time by a fifth or more",
        "≥ 20 %",
        lambda found: _cut(found, TARGETED),
        ours="The thesis has over 2 s of 9.6 s, from three packets. What limits a late Quick-Start "
        "is told below.",
        spoil=replaced(BASE, 0.5, _LOADS),
        mend=replaced(BASE, 100.0, _LOADS),
    ),
    Statement(
        "map-page-early",
        "Quick-Start that asks with the SYN-ACK cuts it by a fifth or more, too",
        "≥ 20 %",
        lambda found: _cut(found, (EARLY,)),
        ours="No paper's; the server names a rate for every connection.",
        spoil=replaced(BASE, 0.5, _LOADS),
        mend=replaced(BASE, 100.0, _LOADS),
    ),
    Statement(
        _TIMES,
        "the startups' loading times in s: three packets, ten, Jump-Start, Quick-Start, and that "
        "asking with the SYN-ACK follow one another",
        "in that order",
        _told_apart,
        ours="No paper's.",
        spoil=replaced(OLD, 0.5, _LOADS),
        mend=all_of(
            *(replaced(name, 9.0 - number, _LOADS) for number, name in enumerate(IN_ORDER))
        ),
    ),
)
