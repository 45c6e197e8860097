"""Check: C-TH-154 to 156, XCP and RCP under load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headway.claims import MissingTrialError, Seen, Statement, scaled, swapped
from headway.claims.spoil import Rows
from headway.studies.load.experiments import LOADS, MODERATE, key
from headway.studies.load.references import processor_sharing_s
from headway.studies.load.seen import Found, by_load, mean


def _loads(found: Found, scheme: str) -> list[float]:
    """The loads at which a scheme was run; fewer in the quick form."""
    loads = [load for load in LOADS if key(scheme, load) in found]
    if not loads:
        raise MissingTrialError(f"This run has no trial {key(scheme, MODERATE)}.")
    return loads


def _over(found: Found, scheme: str) -> Mapping[float, float]:
    """By which part slow start is faster, at loads of several flows."""
    return {
        load: 100 * (mean(found, scheme, load) / mean(found, "slow-start", load) - 1)
        for load in _loads(found, scheme)
        if load >= MODERATE
    }


def _xcp_slower(found: Found) -> Seen:
    over = _over(found, "xcp")
    return Seen(
        f"longer than Slow-Start's by {by_load(over, '%', 1)}",
        max(over.values()) > 0,
        "longer at a load of 30 % or more",
    )


def _rcp_shares(found: Found) -> Seen:
    over = {
        load: 100 * (mean(found, "rcp", load) / processor_sharing_s(load) - 1)
        for load in _loads(found, "rcp")
    }
    return Seen(
        f"beside processor sharing {by_load(over, '%', 1)}",
        all(abs(one) <= 15 for one in over.values()),
        "±15 % at every load",
        note="RCP is near while the load is small. Above, who comes sends at once at a rate that "
        "all others have, too, until the rate has followed; the queue that this makes is "
        "time. In runs of half an hour a byte waits 0.07 s at 50 %, which is all that is "
        "above, and 0.09 s at 70 %, which is half of it. The rest is idleness: a rate that "
        "was lowered for the queue rises again over round trips, and meanwhile the link has "
        "room that nobody takes. At 70 and 90 % some response is under way for 87 and 99 % of "
        "the time, where processor sharing would be done in 71 and 90. No other setting comes "
        "nearer: see the choices.",
    )


def _order(found: Found) -> Seen:
    rcp, jump, slow = (mean(found, s, MODERATE) for s in ("rcp", "jump-start", "slow-start"))
    over = _over(found, "xcp")
    return Seen(
        f"{rcp:.3f}, {jump:.3f} and {slow:.3f} s at 30 %; XCP by {by_load(over, '%', 1)}",
        rcp < jump < slow and max(over.values()) > 0,
        "all of it",
    )


def _as_shared(rows: Rows) -> Rows:
    """RCP's mean response times are those of processor sharing."""
    changed = dict(rows)
    for load in LOADS:
        if (name := key("rcp", load)) in rows:
            seconds = replace(rows[name].seconds, mean=processor_sharing_s(load))
            changed[name] = replace(rows[name], seconds=seconds)
    return changed


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-154",
        "XCP, several competing flows: mean response time",
        "may even be slower than Slow-Start",
        _xcp_slower,
        ours="Loads of 30 % and more, where flows meet; one of them is enough for may.",
        spoil=scaled("xcp-*", 0.5, "seconds.mean"),
    ),
    Statement(
        "C-TH-155",
        "RCP: mean response time beside processor sharing, eq. 6.12",
        "closely approximates",
        _rcp_shares,
        spoil=swapped("rcp", "slow-start"),
        mend=_as_shared,
    ),
    Statement(
        "C-TH-156",
        "order of mean response times",
        "RCP < JS < SS; XCP may exceed SS",
        _order,
        spoil=swapped("rcp", "slow-start"),
    ),
)
