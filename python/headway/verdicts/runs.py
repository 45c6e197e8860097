"""Runs and judges a study, with its counterfactuals but without its report."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.backends import Backend
from headway.claims import Claim
from headway.study import Study, StudyContext
from headway.sweep import Progress, no_progress
from headway.verdicts.tries import Tried, Tries


@dataclass(frozen=True)
class Judged:
    """The claims of a run, and the counterfactuals of its failed claims by the claim's id."""

    claims: Sequence[Claim]
    tries: Mapping[str, Sequence[Tried]] = field(default_factory=dict)


def judged(
    study: Study[Any, Any],
    backend: Backend,
    *,
    quick: bool,
    seed: int = 1,
    threads: int = 0,
    tries: bool = False,
    progress: Progress = no_progress,
) -> Judged:
    """Run a study in one form and judge its claims, without keeping traces or a report.

    With ``tries`` also run the counterfactuals of claims that fail. The quick form runs only the
    first one of each claim.
    """
    with tempfile.TemporaryDirectory(prefix="headway-") as folder:
        ctx = StudyContext(
            out_dir=Path(folder),
            backend=backend,
            quick=quick,
            seed=seed,
            threads=threads,
            progress=progress,
            keeps_traces=False,
        )
        rows = study.collect(ctx).rows
        claims = study.judge(ctx, study.gather(ctx, rows))
        failed = {claim.id for claim in claims if claim.verdict == "fails"} if tries else set()
        counterfactuals = Tries(study, ctx, rows)
        tried = {
            one.id: found
            for one in study.statements
            if one.id in failed and (found := counterfactuals.of(one, only_first=quick))
        }
        return Judged(claims, tried)
