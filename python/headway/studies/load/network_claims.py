"""Check: C-TH-154 to 156, XCP and RCP under load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headway.claims import MissingTrialError, Seen, Statement, scaled, swapped, words
from headway.claims.spoil import Rows
from headway.claims.words import Check
from headway.studies.load import causes
from headway.studies.load.experiments import LOADS, MODERATE, key
from headway.studies.load.references import processor_sharing_s
from headway.studies.load.seen import Found, by_load, mean


def _loads(found: Found, scheme: str) -> list[float]:
    """The loads at which a scheme runs; the quick form has fewer."""
    loads = [load for load in LOADS if key(scheme, load) in found]
    if not loads:
        raise MissingTrialError(f"This run has no trial {key(scheme, MODERATE)}.")
    return loads


def _over(found: Found, scheme: str) -> Mapping[float, float]:
    """By how many percent slow start is faster, at loads at which several flows compete."""
    return {
        load: 100 * (mean(found, scheme, load) / mean(found, "slow-start", load) - 1)
        for load in _loads(found, scheme)
        if load >= MODERATE
    }


def _slower_somewhere(found: Found, loads: Iterable[float]) -> Check:
    """XCP takes longer than slow start at one of the loads."""
    return words.some(
        [words.more(mean(found, "xcp", load), mean(found, "slow-start", load)) for load in loads]
    )


def _xcp_slower(found: Found) -> Seen:
    over = _over(found, "xcp")
    return Seen.by(
        f"longer than Slow-Start's by {by_load(over, '%', 1)}",
        _slower_somewhere(found, over),
    )


def _rcp_shares(found: Found) -> Seen:
    over = {
        load: 100 * (mean(found, "rcp", load) / processor_sharing_s(load) - 1)
        for load in _loads(found, "rcp")
    }
    seen = Seen.by(
        f"difference to processor sharing {by_load(over, '%', 1)}",
        *(words.quantity(mean(found, "rcp", at), processor_sharing_s(at), 0.15) for at in over),
    )
    return replace(seen, tolerance="±15 % of eq. 6.12 at every load")


def _order(found: Found) -> Seen:
    rcp, jump, slow = (mean(found, s, MODERATE) for s in ("rcp", "jump-start", "slow-start"))
    over = _over(found, "xcp")
    return Seen.by(
        f"{rcp:.3f}, {jump:.3f} and {slow:.3f} s at 30 %; XCP by {by_load(over, '%', 1)}",
        words.less(rcp, jump),
        words.less(jump, slow),
        _slower_somewhere(found, over),
    )


def _as_shared(rows: Rows) -> Rows:
    """Set RCP's mean response times to those of processor sharing."""
    changed = dict(rows)
    for load in LOADS:
        if (name := key("rcp", load)) in rows:
            seconds = replace(rows[name].seconds, mean=processor_sharing_s(load))
            changed[name] = replace(rows[name], seconds=seconds)
    return changed


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-154",
        "XCP's mean response time with several competing flows",
        "may even be longer than Slow-Start's",
        _xcp_slower,
        ours="Several flows compete at loads of 30 % and above.",
        spoil=scaled("xcp-*", 0.5, "seconds.mean"),
    ),
    Statement(
        "C-TH-155",
        "RCP's mean response time compared with processor sharing, eq. 6.12",
        "closely approximates it",
        _rcp_shares,
        why=causes.RCP_BESIDE_SHARING,
        spoil=swapped("rcp", "slow-start"),
        mend=_as_shared,
    ),
    Statement(
        "C-TH-156",
        "mean response times at moderate load",
        "RCP < Jump-Start < Slow-Start; XCP's may exceed Slow-Start's",
        _order,
        ours="The order is judged at 30 % load, XCP's time at loads of 30 % and above.",
        spoil=swapped("rcp", "slow-start"),
    ),
)
