"""Verdicts of a study without its pictures: trials, observations, judgement."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from headway.backends import Backend
from headway.claims import Claim
from headway.study import Study, StudyContext
from headway.sweep import Progress, no_progress


def judged(
    study: Study[Any, Any],
    backend: Backend,
    *,
    quick: bool,
    seed: int = 1,
    threads: int = 0,
    progress: Progress = no_progress,
) -> list[Claim]:
    """Run a study in one form and judge its claims; no trace and no report is kept."""
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
        return study.judge(ctx, study.gather(ctx, study.collect(ctx).rows))
