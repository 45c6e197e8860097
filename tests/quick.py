"""The quick form of every study, run once for all tests that look at it."""

from __future__ import annotations

import functools
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.backends import backend_named
from headway.study import Study, StudyContext, StudyResult, discover
from headway.sweep import Observed

_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []

SIMULATED = [name for name, study in discover().items() if study.only_backend != "kernel"]


@dataclass(frozen=True)
class Quick:
    """A study's quick form, seed 1, on the simulator."""

    study: Study[Any, Any]
    ctx: StudyContext
    seen: Observed[Any]
    result: StudyResult


@functools.cache
def quick(name: str) -> Quick:
    """Run a study's quick form and keep it until the tests end."""
    folder = tempfile.TemporaryDirectory(prefix="headway-quick-")
    _FOLDERS.append(folder)
    study = discover()[name]
    ctx = StudyContext(Path(folder.name), backend_named("sim"), quick=True)
    study.describe(ctx)
    seen = study.collect(ctx)
    return Quick(study, ctx, seen, study.conclude(ctx, seen))
