"""Counterfactuals: runs a statement's trials with one change, and judges the statement again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.backends.kernel.headwayctl import Headwayctl
from headway.claims import Claim, Statement
from headway.claims.why import Change
from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.studies.common.measured import MeasuredStudy, Measurement, measure
from headway.study import Study, StudyContext
from headway.sweep import observed

GOOD = ("holds", "in part", "as stated")
REPEATABLE = ("--set",)
"""Options that a headwayctl command accepts several times."""


@dataclass(frozen=True)
class Tried:
    """A counterfactual's change, and the claim as judged with this change."""

    change: Change
    claim: Claim


RowsByChange = dict[tuple[object, ...], Any]
"""Observations by change and trial, so that statements with the same change share the runs."""


def tries_of(
    study: Study[Any, Any],
    ctx: StudyContext,
    statement: Statement[Any],
    rows: Mapping[str, Any],
    changed: RowsByChange | None = None,
    *,
    only_first: bool = False,
) -> list[Tried]:
    """Run and judge each counterfactual of a statement. Raises HeadwayError.

    Only trials that a change applies to run again; the others keep the observations in ``rows``.
    ``changed`` has the observations of changed trials that ran for other statements of the same
    study and context; they do not run again. With ``only_first`` only the first of ``tries`` runs.
    The statement that ``shown_by`` names needs no run, since it judges ``rows``.
    """
    known = {} if changed is None else changed
    why = statement.why
    if why is None:
        return []

    def judged(one: Statement[Any], evidence: Mapping[str, Any]) -> Claim:
        return one.judge(study.gather(ctx, evidence), ctx.basis)

    found = [
        Tried(change, judged(statement, {**rows, **_changed(study, ctx, change, known)}))
        for change in why.tries[: 1 if only_first else None]
    ]
    shown = [judged(one, rows) for one in study.statements if one.id == why.shown_by]
    return [*found, *(Tried(why.changes[-1], claim) for claim in shown)]


def _changed(
    study: Study[Any, Any], ctx: StudyContext, change: Change, known: RowsByChange
) -> dict[str, Any]:
    """The observations of the trials that a change applies to, by the trial's key."""
    is_measured = isinstance(study, MeasuredStudy)
    every: Mapping[str, Any] = (
        study.commands(ctx) if isinstance(study, MeasuredStudy) else study.experiments(ctx)
    )
    names = {
        key: (change.edit, change.observe, *change.options.items(), key)
        for key in every
        if change.matches(key)
    }
    if not names:
        what = "measurement" if is_measured else "trial"
        raise HeadwayError(f"{study.name}: no {what} matches {', '.join(change.patterns)}")
    missing = {key: every[key] for key, name in names.items() if name not in known}
    if missing:
        found = _measured(missing, change) if is_measured else _run(study, ctx, missing, change)
        known.update({names[key]: row for key, row in found.items()})
    return {key: known[name] for key, name in names.items()}


def _run(
    study: Study[Any, Any],
    ctx: StudyContext,
    experiments: Mapping[str, Experiment],
    change: Change,
) -> Mapping[str, Any]:
    edited = {key: change.edit(one) if change.edit else one for key, one in experiments.items()}
    observe = change.observe or study.observe
    return observed(edited, observe, None, ctx.backend, ctx.threads, ctx.progress).rows


def _measured(commands: Mapping[str, Sequence[str]], change: Change) -> dict[str, Measurement]:
    headwayctl = Headwayctl()
    return {
        key: measure(headwayctl, _with(command, change.options))
        for key, command in commands.items()
    }


def _with(command: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """A command with these options.

    An option that the command has gets the new value; a new or repeatable option is added.
    """
    words = list(command)
    for name, value in options.items():
        if name in words and name not in REPEATABLE:
            words[words.index(name) + 1] = value
        else:
            words += [name, value]
    return words
