"""Counterfactuals: the trials of a statement with one thing changed, and its verdict then."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.claims import Claim, Statement
from headway.claims.why import Change
from headway.errors import HeadwayError
from headway.study import Study, StudyContext
from headway.sweep import observed

GOOD = ("holds", "in part", "as stated")


@dataclass(frozen=True)
class Tried:
    """A change and the claim that was judged with it."""

    change: Change
    claim: Claim

    @property
    def holds(self) -> bool:
        """Whether the statement holds with the change, at least in part."""
        return self.claim.verdict in GOOD


def tries_of(
    study: Study[Any, Any],
    ctx: StudyContext,
    statement: Statement[Any],
    rows: Mapping[str, Any],
) -> list[Tried]:
    """Run and judge each counterfactual of a statement beside a study's rows. Raises HeadwayError.

    Only trials that change are run; the others keep what was observed of them.
    """
    if statement.why is None:
        return []
    return [
        Tried(change, statement.judge(study.gather(ctx, _changed(study, ctx, change, rows))))
        for change in statement.why.tries
    ]


def _changed(
    study: Study[Any, Any], ctx: StudyContext, change: Change, rows: Mapping[str, Any]
) -> dict[str, Any]:
    experiments = {
        key: change.edit(experiment) if change.edit else experiment
        for key, experiment in study.experiments(ctx).items()
        if any(fnmatch.fnmatchcase(key, pattern) for pattern in change.patterns)
    }
    if not experiments:
        raise HeadwayError(f"{study.name}: no trial matches {', '.join(change.patterns)}")
    observe = change.observe or study.observe
    again = observed(experiments, observe, None, ctx.backend, ctx.threads, ctx.progress)
    return {**rows, **again.rows}
