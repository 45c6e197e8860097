"""The quick form of every study, run once for all tests and worker processes.

Results stay in target/quick/KEY/STUDY, where KEY is a hash of the engine's sources and of all files
of the Python package. A test that changes files works on a copy. A test that regenerates or copies
files holds `alone`.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import pickle
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headway
from headway.backends import backend_named
from headway.study import Study, StudyContext, StudyResult, discover
from headway.sweep import Observed
from headway.versions import versions

KEPT = Path(__file__).resolve().parent.parent / "target" / "quick"
SIMULATED = [name for name, study in discover().items() if study.only_backend != "kernel"]


@dataclass(frozen=True)
class Quick:
    """The results of a study's quick form with seed 1 in the simulator."""

    study: Study[Any, Any]
    ctx: StudyContext
    seen: Observed[Any]
    result: StudyResult
    sums: dict[Path, str]
    """The created files, with their checksums."""


@functools.cache
def quick(name: str) -> Quick:
    """Run a study's quick form, or read the results that another process or earlier run kept."""
    study, folder = discover()[name], _kept() / name
    ctx = StudyContext(folder, backend_named("sim"), quick=True)
    done = folder / "done.pickle"
    with alone(name):
        if done.exists():
            seen, result, sums = pickle.loads(done.read_bytes())
        else:
            shutil.rmtree(folder, ignore_errors=True)  # a killed run may have left this folder
            folder.mkdir()
            study.describe(ctx)
            seen = study.collect(ctx)
            result = study.conclude(ctx, seen)
            sums = sums_of(result)
            whole = done.with_suffix(".part")
            whole.write_bytes(pickle.dumps((seen, result, sums)))
            whole.rename(done)
    return Quick(study, ctx, seen, result, sums)


def sums_of(result: StudyResult) -> dict[Path, str]:
    """The files of a result with their checksums."""
    assert result.report is not None
    files = (result.report, *result.artefacts)
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def alone(name: str) -> AbstractContextManager[None]:
    """Hold a lock: no other process writes or copies the files of a study."""
    return _locked(_kept() / f"{name}.lock")


@functools.cache
def _kept() -> Path:
    """The folder for results of the present sources. Folders for other sources are removed."""
    package = Path(headway.__file__).parent
    files = sorted(
        path
        for path in package.rglob("*")
        if path.is_file()
        and path.suffix != ".so"
        and path.name != "verdicts.json"
        and path.parent.name != "__pycache__"
    )
    read = hashlib.sha256(json.dumps(versions(), sort_keys=True).encode())
    for path in files:
        read.update(f"{path.relative_to(package)}\0{path.stat().st_size}\0".encode())
        read.update(path.read_bytes())
    kept = KEPT / read.hexdigest()[:16]
    with _locked(KEPT / "lock"):
        for other in KEPT.iterdir():
            if other.is_dir() and other != kept:
                shutil.rmtree(other, ignore_errors=True)
        kept.mkdir(exist_ok=True)
    return kept


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock a file; waits while another process holds the lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
