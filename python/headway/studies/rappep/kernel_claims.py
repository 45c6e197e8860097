"""Check on the kernel: paper 004's statements on schemes that run there, by the kernel's trials.

Statements on router protocols from end to end need the simulator's trials.
"""

from __future__ import annotations

from dataclasses import replace

from headway.claims import Seen, Statement, between
from headway.studies.rappep.claims import ASSISTED, STATEMENTS, slower, worst_swing
from headway.studies.rappep.observe import Found

_BESIDE = ("cubic26", "tcp_pep")
_AS_THERE = ("C-RP-011", "C-RP-012", "C-RP-015", "C-RP-016")
"""Judged as in the simulator."""


def _slower(found: Found) -> Seen:
    return slower(found, _BESIDE)


def _worst_swing(found: Found) -> Seen:
    return worst_swing(found, _BESIDE)


def _no_drops(found: Found) -> Seen:
    """Judged over all trials of the run. The quick form has fewer."""
    drops = [row.full_pkts for name, row in found.items() if name.split("-")[0] in ASSISTED]
    return between(sum(drops), 0, 0, unit="packets")


_OTHERWISE = {
    "C-RP-006": (_slower, "CUBIC and TCP PEP"),
    "C-RP-008": (_worst_swing, "compared with CUBIC"),
    "C-RP-017": (_no_drops, ""),
}
"""The check of a claim, and the part of the statement that it judges."""


def _of_kernel(one: Statement[Found]) -> Statement[Found]:
    if one.id not in _OTHERWISE:
        return one
    look, part = _OTHERWISE[one.id]
    return replace(one, look=look, part=part)


OF_KERNEL = tuple(
    _of_kernel(one) for one in STATEMENTS if one.id in _AS_THERE or one.id in _OTHERWISE
)
