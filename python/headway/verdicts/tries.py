"""Counterfactuals: runs trials of a statement with one change, and judges it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.backends.kernel.headwayctl import Headwayctl
from headway.claims import Claim, Statement
from headway.claims.why import Change
from headway.errors import HeadwayError
from headway.studies.common.measured import MeasuredStudy, Measurement, measure
from headway.study import Study, StudyContext
from headway.sweep import observed

GOOD = ("holds", "in part", "as stated")
SEVERAL_TIMES = ("--set",)
"""Options of headwayctl that can be repeated."""


@dataclass(frozen=True)
class Tried:
    """A change, and the claim judged with it."""

    change: Change
    claim: Claim


def tries_of(
    study: Study[Any, Any],
    ctx: StudyContext,
    statement: Statement[Any],
    rows: Mapping[str, Any],
) -> list[Tried]:
    """Run and judge each counterfactual of a statement. Raises HeadwayError.

    Only trials that change run again; the others keep their rows. The statement that ``shown_by``
    names needs no run, since it judges the same rows.
    """
    why = statement.why
    if why is None:
        return []

    def judged(one: Statement[Any], evidence: Mapping[str, Any]) -> Claim:
        return one.judge(study.gather(ctx, evidence), ctx.basis)

    found = [judged(statement, _changed(study, ctx, change, rows)) for change in why.tries]
    found += [judged(one, rows) for one in study.statements if one.id == why.shown_by]
    return [Tried(*both) for both in zip(why.changes, found, strict=True)]


def _changed(
    study: Study[Any, Any], ctx: StudyContext, change: Change, rows: Mapping[str, Any]
) -> dict[str, Any]:
    if isinstance(study, MeasuredStudy):
        return {**rows, **_measured(study, ctx, change)}
    experiments = {
        key: change.edit(experiment) if change.edit else experiment
        for key, experiment in study.experiments(ctx).items()
        if change.matches(key)
    }
    if not experiments:
        raise HeadwayError(f"{study.name}: no trial matches {', '.join(change.patterns)}")
    observe = change.observe or study.observe
    again = observed(experiments, observe, None, ctx.backend, ctx.threads, ctx.progress)
    return {**rows, **again.rows}


def _measured(
    study: MeasuredStudy[Any], ctx: StudyContext, change: Change
) -> dict[str, Measurement]:
    commands = {
        key: _with(command, change.options)
        for key, command in study.commands(ctx).items()
        if change.matches(key)
    }
    if not commands:
        raise HeadwayError(f"{study.name}: no measurement matches {', '.join(change.patterns)}")
    headwayctl = Headwayctl()
    return {key: measure(headwayctl, command) for key, command in commands.items()}


def _with(command: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """A command with options replaced, or added if they can be repeated."""
    words = list(command)
    for name, value in options.items():
        if name in words and name not in SEVERAL_TIMES:
            words[words.index(name) + 1] = value
        else:
            words += [name, value]
    return words
