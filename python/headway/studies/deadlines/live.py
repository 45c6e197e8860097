"""Check on the kernel: what figure 7.4 is to show from real servers, as section 7.1.3 says it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from headway.claims import Seen, Spoil, Statement, all_of, replaced, scaled
from headway.claims.spoil import Rows
from headway.studies.common.beside import agreed, as_simulated
from headway.studies.deadlines import page
from headway.studies.deadlines.claims import (
    LEAST_ASKING_S,
    LEAST_S,
    OURS,
    RTT_S,
    constant,
    penalty,
    refused,
    within,
)
from headway.studies.deadlines.experiments import (
    BLIND,
    CORRECTED,
    LATE,
    MEGA,
    SCHEMES,
    TARGETS_S,
)
from headway.studies.deadlines.results import Found, live_key
from headway.study import Agreement
from headway.table import Table

TODAY = "initial-start"
"""What today's Linux does: ten packets."""
ASKS_S = 0.5
"""Up to here slow start is too slow, and a startup that may ask has to."""

AGREEMENTS = tuple(
    Agreement(
        f"kernel-{name}",
        f"{scheme.label}: response times over HTTP are the simulator's.",
        table=page.TITLE,
        row=scheme.label,
        most=0.03,
        unit="s",
        relative=0.1,
    )
    for name, scheme in SCHEMES.items()
)


def _not_asked(found: Found) -> Seen:
    words, holds = [], []
    for scheme in (LATE, CORRECTED):
        targets, asked = found.targets_s(scheme), found.asked(scheme)
        below = asked[targets < RTT_S]
        words.append(f"{SCHEMES[scheme].label} {', '.join(f'{count:g}' for count in below)}")
        holds += [below.size > 0, bool(np.all(below == 0))]
    targets, asked = found.targets_s(LATE), found.asked(LATE)
    above = asked[(targets >= LEAST_S) & (targets <= ASKS_S)]
    words.append(f"from {LEAST_S:g} to {ASKS_S:g} s {', '.join(f'{count:g}' for count in above)}")
    return Seen(
        "requests: " + "; ".join(words),
        all(holds) and above.size > 0 and bool(np.all(above > 0)),
        "none below, some above",
        note="Of all downloads of a target, as the router of the link counts them.",
    )


def _late(found: Found) -> Seen:
    own_s = float(np.median(found.times_s(TODAY)))
    targets, times = found.targets_s(LATE), found.times_s(LATE)
    hard = (targets >= LEAST_S) & (targets < own_s)
    over = (times - targets)[hard]
    told = f", by {over.min():.2f} to {over.max():.2f} s" if over.size else ""
    return Seen(
        f"{int((over > 0).sum())} of {over.size} missed{told}",
        over.size > 0 and bool(np.all(over > 0)),
        f"all from {LEAST_S:g} s to Initial-Start's time",
        note=f"Initial-Start takes {own_s:.2f} s.",
    )


def _tables(found: Found) -> tuple[list[Table], list[Table]]:
    twins = found.simulated()
    own = page.table(found.all_s())
    return [own], [page.table(twins.all_s())] if twins else []


def _timed(scheme: str, time_s: Callable[[float], float]) -> Spoil:
    """Every response of a scheme takes what is said of its target."""

    def spoil(rows: Rows) -> Rows:
        changed = dict(rows)
        for target in TARGETS_S:
            if (key := live_key(scheme, target)) in rows:
                took = np.full_like(rows[key].response_s, time_s(target))
                changed[key] = dataclasses.replace(rows[key], response_s=took)
        return changed

    return spoil


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "deadlines-live-mega-start",
        "Mega-Start over HTTP: within 10 % of every target that the link allows, up to 2 s",
        "the target",
        lambda found: within(found, MEGA, LEAST_S),
        ours=OURS,
        spoil=_timed(MEGA, lambda target: 1.2 * target),
        mend=_timed(MEGA, lambda target: target),
    ),
    Statement(
        "deadlines-live-quick-start",
        "late Quick-Start over HTTP that counts the round trip of asking: within 10 % of every "
        "target that the rates of the link's routers allow",
        "the target",
        lambda found: within(found, CORRECTED, LEAST_ASKING_S),
        ours=OURS,
        spoil=_timed(CORRECTED, lambda target: 1.2 * target),
        mend=_timed(CORRECTED, lambda target: target),
    ),
    Statement(
        "deadlines-live-below-rtt",
        "over HTTP, a target below the round-trip time leaves today's slow start, of ten packets",
        "as Initial-Start",
        lambda found: refused(found, 0.1, TODAY),
        ours=f"{OURS} A host that may ask leaves room for the option: 100 kB are a packet more "
        "than three windows of slow start, and take a round trip longer where nothing is asked, as "
        "deadlines-live-not-asked has it.",
        spoil=_timed(MEGA, lambda _: 0.3),
        mend=all_of(*(_timed(scheme, lambda _: 0.7) for scheme in (MEGA, LATE, TODAY))),
    ),
    Statement(
        "deadlines-live-not-asked",
        "over HTTP, a target below the round-trip time asks the routers for nothing",
        "nothing is activated",
        _not_asked,
        spoil=replaced(live_key(CORRECTED, TARGETS_S[0]), 1.0, "asked"),
        mend=all_of(
            replaced(f"{LATE}-t*", 1.0, "asked"),
            *(
                replaced(live_key(scheme, target), 0.0, "asked")
                for scheme in (LATE, CORRECTED)
                for target in TARGETS_S
                if target < RTT_S
            ),
        ),
    ),
    Statement(
        "deadlines-live-late",
        "over HTTP, late Quick-Start does not meet targets",
        "not met: a round trip, and rates are rounded down",
        _late,
        part="targets that today's slow start does not meet by itself",
        spoil=_timed(LATE, lambda target: 0.9 * target),
        mend=all_of(_timed(TODAY, lambda _: 0.7), _timed(LATE, lambda target: target + 0.1)),
    ),
    Statement(
        "deadlines-live-blind",
        "over HTTP, Jump-, Initial- and Slow-Start do not depend on the target",
        "constant",
        lambda found: constant(found, 0.05),
        ours="No paper says so; 50 ms are ours, a shared machine's.",
        spoil=_timed("jump-start", lambda target: target),
        mend=all_of(*(_timed(scheme, lambda _: 0.7) for scheme in BLIND)),
    ),
    Statement(
        "deadlines-live-wrong",
        "over HTTP, wrong targets cost little: worst time over slow start's, of three packets",
        "not much worse",
        penalty,
        spoil=_timed(LATE, lambda _: 9.0),
        mend=all_of(*(_timed(scheme, lambda _: 0.1) for scheme in (MEGA, LATE))),
    ),
    *(
        agreed(
            "deadlines",
            agreement,
            _tables,
            spoil=scaled(f"{name}-t*", 1.5, "response_s"),
            mend=as_simulated(f"{name}-t*"),
        )
        for name, agreement in zip(SCHEMES, AGREEMENTS, strict=True)
    ),
)
