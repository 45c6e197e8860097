"""What a study is: a published set of figures and claims, as code.

A module of ``headway.studies`` defines one ``STUDY: Study``. A study names its trials
(:meth:`Study.experiments`) and turns their traces into tables, claims and a report
(:meth:`Study.analyse`). Running, saving, resuming and rebuilding the report are the same for
every study and live here.

Layout of a study's directory::

    study.json          which study, seed, quick or not, backend, versions
    trials/KEY/         one saved Trace per trial, written as soon as it is finished
    report.html  claims.json  *.parquet      written by ``analyse``
"""

from __future__ import annotations

import abc
import importlib
import json
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Literal

from headway.backends import Backend
from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.files import save_text
from headway.sweep import Progress, no_progress, run_trials
from headway.trace import Trace, load_trace, versions

Cell = str | int | float | None
Verdict = Literal["holds", "fails", "not checked"]


@dataclass(frozen=True)
class Claim:
    """A published statement beside what was measured.

    ``published`` and ``measured`` are numbers where the claim is a value, else words;
    ``measured`` is None when this run could not measure it. ``verdict`` is one of
    "holds", "fails", "not checked". ``note`` says why it fails or could not be checked, or what
    had to be chosen to check it.
    """

    id: str
    published: float | str
    measured: float | str | None
    unit: str | None
    tolerance: str
    verdict: Verdict
    statement: str = ""
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table to print and to put in the report: plain data, at most 100 columns wide as text.

    Each row has one cell per column; None prints as an empty cell.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True)
class Agreement:
    """How near the kernel must come to the simulator with the same stack profile.

    Of the tables whose title begins with ``table``, the numbers of the rows with a cell ``row``
    may differ by ``most`` (in ``unit``), or by the part ``relative`` of the simulator's if that is
    more.
    """

    id: str
    statement: str
    table: str
    row: str
    most: float
    unit: str
    relative: float = 0.0


@dataclass(frozen=True)
class StudyResult:
    """What a study found. ``artefacts`` are the files written beside the report."""

    tables: Sequence[Table]
    claims: Sequence[Claim]
    report: Path | None
    artefacts: Sequence[Path] = ()


@dataclass
class StudyContext:
    """Where and how a study runs.

    ``out_dir`` exists. ``quick`` asks for the shortest run that still shows every table.
    ``seed`` is the base seed, from which a study derives its trials' seeds. ``resume`` keeps
    trials that are already there, if the same experiment and versions made them. ``vectors`` is
    a tmix file, for studies that take one instead of their own connection vectors.
    """

    out_dir: Path
    backend: Backend
    quick: bool = False
    seed: int = 1
    vectors: Path | None = None
    threads: int = 0
    progress: Progress = no_progress
    resume: bool = False

    @property
    def trials_dir(self) -> Path:
        """The folder with one saved trace per trial."""
        return self.out_dir / "trials"

    def run_trials(self, experiments: Mapping[str, Experiment]) -> dict[str, Trace]:
        """Run every experiment and save each trace as ``trials/KEY`` when it finishes.

        Returns the traces by key, in the order of ``experiments``. Keys are file names.
        On Ctrl-C raises InterruptedRunError, with the finished trials kept; raises HeadwayError
        when a trace cannot be saved (trials saved before that stay).
        """
        return run_trials(
            experiments,
            self.trials_dir,
            self.backend,
            self.threads,
            self.progress,
            resume=self.resume,
        )


class Study(abc.ABC):
    """One published study. Subclasses set the three names and write the two methods."""

    name: str
    """What ``headway run`` calls it, for example "collateral-damage"."""
    title: str
    source: str
    """The paper, as one cites it."""
    description: str = ""
    """A few lines for ``headway describe``: path, flows, what is measured."""
    takes_vectors: bool = False
    """Whether a tmix file may replace the study's own connection vectors."""
    only_backend: ClassVar[str | None] = None
    """The backend it needs, if there is only one."""
    agreements: Sequence[Agreement] = ()
    """What must agree where the study runs on the kernel, beside its twin in the simulator."""

    @abc.abstractmethod
    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """The trials by key (a file name: ``rtt50-cubic-n2-t3``), for this seed and length."""

    @abc.abstractmethod
    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """Metrics, tables, claims and figures of the trials.

        Writes report.html, claims.json (see :func:`write_claims`) and the result tables
        (``*.parquet``) into ``ctx.out_dir``. A pure function of the traces: called again by
        ``headway report`` it gives the same files.
        """

    def run(self, ctx: StudyContext) -> StudyResult:
        """Run all trials, then analyse them."""
        self.describe(ctx)
        return self.analyse(ctx, ctx.run_trials(self.experiments(ctx)))

    def describe(self, ctx: StudyContext) -> None:
        """Write study.json: what is run."""
        save_text(
            ctx.out_dir / "study.json",
            json.dumps(
                {
                    "study": self.name,
                    "seed": ctx.seed,
                    "quick": ctx.quick,
                    "backend": ctx.backend.name,
                    "vectors": ctx.vectors and str(ctx.vectors),
                    "versions": versions(),
                },
                indent=2,
            ),
        )

    def rebuild(self, ctx: StudyContext) -> StudyResult:
        """Analyse the trials saved in ``ctx.out_dir`` again, without running any."""
        experiments = self.experiments(ctx)
        missing = [key for key in experiments if not (ctx.trials_dir / key).is_dir()]
        again = f"run `headway run {self.name} --resume --out {ctx.out_dir}`"
        if missing:
            raise HeadwayError(
                f"{ctx.out_dir}: {len(missing)} of {len(experiments)} trials are missing "
                f"(first: {missing[0]}); {again}"
            )
        traces = {key: load_trace(ctx.trials_dir / key) for key in experiments}
        for key, trace in traces.items():
            if trace.experiment != experiments[key]:
                raise HeadwayError(f"{ctx.trials_dir / key}: trial of another run; {again}")
        return self.analyse(ctx, traces)


def write_claims(path: Path, claims: Sequence[Claim]) -> Path:
    """Write claims as a JSON list of {id, published, measured, unit, tolerance, verdict, ...}."""
    save_text(path, json.dumps([asdict(claim) for claim in claims], indent=2, ensure_ascii=False))
    return path


def read_claims(path: Path) -> list[Claim]:
    """What :func:`write_claims` wrote. Raises HeadwayError."""
    try:
        return [Claim(**fields) for fields in json.loads(path.read_text(encoding="utf-8"))]
    except (FileNotFoundError, NotADirectoryError):
        raise HeadwayError(
            f"{path.parent}: no study's claims here ({path.name} is missing)"
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise HeadwayError(f"{path}: unreadable ({error})") from None


def discover() -> dict[str, Study]:
    """Every study by name: each module of ``headway.studies`` that defines ``STUDY``."""
    package = importlib.import_module("headway.studies")
    found: dict[str, Study] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        study = getattr(importlib.import_module(f"headway.studies.{info.name}"), "STUDY", None)
        if isinstance(study, Study):
            found[study.name] = study
    return dict(sorted(found.items()))
