"""Tests whether a verdict is due to chance: the 95 % interval of a claim's margin over seeds.

A margin is positive if the claim holds (claims.words). The interval is Student's, over margins
compressed to (-1, 1). A claim is undecided while the interval includes 0, unless six runs or more
agree, which happens by chance in one of 32 cases (sign test).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from headway.claims import Claim, Verdict
from headway.metrics.stats import confidence_interval

FULL_SEEDS = 8
"""The full form runs with at most this many seeds."""
LIVE_RUNS = 3
"""On a live kernel the full form runs at most this many times."""
LEAST_SEEDS = 3
"""The confidence interval decides a verdict only if the full form ran with at least this many
seeds."""
UNANIMOUS_RUNS = 6
"""If at least this many runs agree on whether a claim holds, they decide its verdict, even if the
confidence interval includes 0."""
CAN_CHANGE: tuple[Verdict, ...] = ("holds", "in part", "fails")


def side(margins: Sequence[float]) -> int:
    """What the margins of several runs decide: 1: the claim holds, -1: it fails, 0: undecided.

    Margins decide if their interval excludes 0, or if UNANIMOUS_RUNS or more have the same sign.
    """
    compressed = [margin / (1 + abs(margin)) for margin in margins]
    if len(compressed) < LEAST_SEEDS:
        return 0
    if len(compressed) >= UNANIMOUS_RUNS and len({margin > 0 for margin in compressed}) == 1:
        return 1 if compressed[0] > 0 else -1
    interval = confidence_interval(compressed)
    width = interval.half_width or 0.0
    if interval.mean - width > 0:
        return 1
    return -1 if interval.mean + width < 0 else 0


def is_settled(full: Claim, quick: Sequence[Claim]) -> bool:
    """Whether one full run decides a claim, because the quick runs of all seeds agree with it."""
    judged = [full, *quick]
    if full.verdict not in CAN_CHANGE or full.basis not in ("simulated", "live"):
        return True
    if any(one.verdict not in CAN_CHANGE for one in quick):
        judged = [one for one in judged if one.verdict in CAN_CHANGE]
    if len({one.verdict == "fails" for one in judged}) > 1:
        return False
    margins = [one.margin for one in judged if one.margin is not None]
    # a claim whose margin is equal with every seed does not depend on chance
    return len(set(margins)) <= 1 or len(margins) < LEAST_SEEDS or side(margins) != 0


def verdict(runs: Sequence[Claim]) -> Verdict:
    """The verdict of a claim over runs of the full form with different seeds."""
    margins = [one.margin for one in runs if one.margin is not None]
    if len(runs) == 1 or len(set(margins)) <= 1:
        return runs[0].verdict
    found = side(margins)
    if found > 0:
        return "in part" if any(one.part for one in runs) else "holds"
    return "fails" if found < 0 else "undecided"


def settled(
    first: Sequence[Claim],
    quick: Sequence[Sequence[Claim]],
    again: Callable[[int], Sequence[Claim]],
    budget: int,
) -> tuple[list[Claim], dict[str, int]]:
    """Claims of the full form with verdicts over as many seeds as each claim needs.

    Also returns, by claim, the number of seeds used. ``first`` has the claims of the full form with
    seed 1, ``quick`` those of the quick form for each seed. ``again`` runs the full form with a
    further seed, until ``budget`` seeds were used. Measured values are those of seed 1.
    """
    of_quick: dict[str, list[Claim]] = {}
    for claims in quick:
        for claim in claims:
            of_quick.setdefault(claim.id, []).append(claim)
    runs = {one.id: [one] for one in first}
    open_ = {one.id for one in first if not is_settled(one, of_quick.get(one.id, []))}
    for seed in range(2, budget + 1):
        if not open_:
            break
        for claim in again(seed):
            if claim.id in open_:
                runs[claim.id].append(claim)
        open_ = {name for name in open_ if not is_decided(runs[name])}
    # With a budget of one seed, claims on which the forms and seeds disagree are undecided.
    final: dict[str, Verdict] = {
        name: "undecided" if budget == 1 and name in open_ else verdict(own)
        for name, own in runs.items()
    }
    claims_now = [_with(one, final[one.id], runs[one.id]) for one in first]
    return claims_now, {name: len(own) for name, own in runs.items()}


def _with(first: Claim, decided: Verdict, runs: Sequence[Claim]) -> Claim:
    """The claim of the first run with the verdict over all runs.

    Its note is the note of a run that alone gave this verdict.
    """
    alike = next((run for run in runs if run.verdict == decided), first)
    return replace(first, verdict=decided, note=alike.note)


def is_decided(runs: Sequence[Claim]) -> bool:
    """Whether these runs of the full form are enough to decide the claim's verdict."""
    return len(runs) >= LEAST_SEEDS and verdict(runs) != "undecided"
