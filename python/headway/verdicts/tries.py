"""Counterfactuals: runs a statement's trials with one change, and judges the statement again."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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


class Tries:
    """Runs the counterfactuals of a study's statements in one context.

    ``rows`` has the observations of the study's trials as published. Only trials that a change
    applies to run again, once for all statements with the same change; the others keep their
    observations.
    """

    def __init__(self, study: Study[Any, Any], ctx: StudyContext, rows: Mapping[str, Any]) -> None:
        self._study, self._ctx, self._rows = study, ctx, rows
        self._changed: dict[tuple[object, ...], Any] = {}
        """Observations by change and trial."""

    def of(self, statement: Statement[Any], *, only_first: bool = False) -> list[Tried]:
        """Run and judge each counterfactual of a statement. Raises HeadwayError.

        With ``only_first`` only the first of ``tries`` runs. The statement that ``shown_by`` names
        needs no run, since it judges the observations as published.
        """
        why = statement.why
        if why is None:
            return []
        found = [
            Tried(change, self._judged(statement, {**self._rows, **self._rows_with(change)}))
            for change in why.tries[: 1 if only_first else None]
        ]
        shown = [
            self._judged(one, self._rows)
            for one in self._study.statements
            if one.id == why.shown_by
        ]
        return [*found, *(Tried(why.changes[-1], claim) for claim in shown)]

    def _judged(self, statement: Statement[Any], rows: Mapping[str, Any]) -> Claim:
        return statement.judge(self._study.gather(self._ctx, rows), self._ctx.basis)

    @functools.cached_property
    def _trials(self) -> Mapping[str, Any]:
        """The study's trials by key: experiments, or commands of headwayctl."""
        if isinstance(self._study, MeasuredStudy):
            return self._study.commands(self._ctx)
        return self._study.trials(self._ctx)

    def _rows_with(self, change: Change) -> dict[str, Any]:
        """The observations of the trials that a change applies to, by the trial's key."""
        study = self._study
        names = {
            key: (change.edit, change.observe, *change.options.items(), key)
            for key in self._trials
            if change.matches(key)
        }
        if not names:
            what = "measurement" if isinstance(study, MeasuredStudy) else "trial"
            raise HeadwayError(f"{study.name}: no {what} matches {', '.join(change.patterns)}")
        missing = {
            key: self._trials[key] for key, name in names.items() if name not in self._changed
        }
        if missing:
            found = (
                _measured(missing, change)
                if isinstance(study, MeasuredStudy)
                else _run(study, self._ctx, missing, change)
            )
            self._changed.update({names[key]: row for key, row in found.items()})
        return {key: self._changed[name] for key, name in names.items()}


def _run(
    study: Study[Any, Any],
    ctx: StudyContext,
    experiments: Mapping[str, Experiment],
    change: Change,
) -> Mapping[str, Any]:
    observe = change.observe or study.observe
    if change.edit is None and ctx.keeps_traces:
        # only the observation changes, so the saved traces serve
        return replace(ctx, resume=True).run_trials(experiments, observe).rows
    edited = {key: change.edit(one) if change.edit else one for key, one in experiments.items()}
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
