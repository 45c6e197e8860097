"""The base class of studies: a publication's figures and claims as code.

A package of ``headway.studies`` defines one ``STUDY: Study``, which ``declared`` makes of the
package's functions and its ``study.toml``. A study defines its trials, observes the trace of each,
judges its statements by the observations, and shows them. This module runs studies, saves and
resumes their trials, and rebuilds their reports.

Layout of a study's directory::

    study.json          which study, seed, quick or not, backend, versions
    trials/KEY/         one saved Trace per trial, written as soon as it is finished
    report.html  claims.json  figures/  *.parquet      made from what was observed
"""

from __future__ import annotations

import abc
import importlib
import json
import pkgutil
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Generic, TypeVar, cast

from headway.backends import Backend
from headway.claims import Basis, Claim, Evidence, Statement, judge
from headway.claims.declared import study_file
from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.files import save_text
from headway.publish import Page, publish
from headway.report import Sketch, question, sketches
from headway.sweep import Notice, Observed, Progress, no_notice, no_progress, observed
from headway.table import Table
from headway.trace import Trace, is_of_another_build, load_trace
from headway.versions import versions

Row = TypeVar("Row")
Found = TypeVar("Found")
AnyStudy = "Study[Any, Any]"
STUDY_FILE = "study.json"


@dataclass(frozen=True)
class Agreement:
    """How closely a study's results on the kernel must agree with the simulator's.

    It applies to tables whose title begins with ``table``, to rows with a cell ``row``, and to the
    columns in ``columns`` (all if empty). The numbers may differ by the larger of two limits:
    ``most`` (in ``unit``), and the share ``relative`` of the simulator's value.
    """

    id: str
    statement: str
    table: str
    row: str
    most: float
    unit: str
    relative: float = 0.0
    columns: Sequence[str] = ()

    @staticmethod
    def per_row(
        labels: Mapping[str, str], statement: str, *, prefix: str = "kernel-", **fields: Any
    ) -> tuple[Agreement, ...]:
        """One agreement per row of a table, for its keys and labels.

        The id is ``prefix`` and the key; ``{}`` in ``statement`` is the label.
        """
        return tuple(
            Agreement(f"{prefix}{key}", statement.format(label), row=label, **fields)
            for key, label in labels.items()
        )


@dataclass(frozen=True)
class StudyResult:
    """A study's results. ``artefacts`` are the files written in addition to the report."""

    tables: Sequence[Table]
    claims: Sequence[Claim]
    report: Path | None
    artefacts: Sequence[Path] = ()


@dataclass
class StudyContext:
    """Where and how a study runs.

    ``out_dir`` must exist. ``quick`` selects the shortest form that fills every table. ``seed`` is
    the base seed, from which a study derives its trials' seeds. ``resume`` keeps finished trials if
    the same engine made them from the same experiment. ``vectors`` is a tmix file or a name of
    ``workloads.workload.NAMED``, for studies that replay traces; None is the study's default.
    Without ``keeps_traces`` traces are dropped after they are observed.
    """

    out_dir: Path
    backend: Backend
    quick: bool = False
    seed: int = 1
    vectors: Path | None = None
    threads: int = 0
    progress: Progress = no_progress
    notice: Notice = no_notice
    resume: bool = False
    keeps_traces: bool = True
    made: dict[Study[Any, Any], dict[str, Experiment]] = field(
        default_factory=dict, init=False, repr=False
    )
    """The experiments of each study that was asked for its ``trials``."""

    @property
    def trials_dir(self) -> Path:
        """The folder with one saved trace per trial."""
        return self.out_dir / "trials"

    @property
    def basis(self) -> Basis:
        """The basis of claims that trials on this backend judge: "simulated" or "live"."""
        return "simulated" if self.backend.name == "sim" else "live"

    def run_trials(
        self, experiments: Mapping[str, Experiment], observe: Callable[[str, Trace], Row]
    ) -> Observed[Row]:
        """Run every experiment, save each trace as ``trials/KEY``, and keep its observation.

        Returns observations by key, in the order of ``experiments``. Keys are file names.
        ``observe`` is called in the thread that ran the trial; the trace is dropped after that.
        Raises InterruptedRunError on Ctrl-C, and HeadwayError if a trace cannot be saved; trials
        that were saved before are kept.
        """
        return observed(
            experiments,
            observe,
            self.trials_dir if self.keeps_traces else None,
            self.backend,
            self.threads,
            self.progress,
            self.notice,
            resume=self.resume,
        )


class Study(abc.ABC, Generic[Row, Found]):
    """One published study: claim, setup, run, check, plot.

    ``Row`` is the observation of one trial, small and plain. ``Found`` is the input of the
    statements and the page, by default all rows by key. ``declared`` sets the attributes and the
    methods ``experiments``, ``observe`` and ``page``, or a subclass does.
    """

    name: str
    """The name for ``headway run``, for example "collateral-damage"."""
    title: str
    source: str
    """The citation of the paper."""
    description: str = ""
    """A few lines for ``headway describe``: path, flows, what is measured."""
    statements: Sequence[Statement[Found]] = ()
    """The paper's statements, and how each is judged."""
    choices: Sequence[str] = ()
    """Choices made here because the paper leaves them open, one paragraph each."""
    takes_vectors: bool = False
    """Whether a tmix file may replace the study's own connection vectors."""
    only_backend: ClassVar[str | None] = None
    """The only backend on which the study can run; None if it runs on any."""
    workload_tables: Sequence[Callable[[], Table]] = ()
    """Tables of the study's workload for ``headway describe``, computed on demand."""
    parts: Sequence[tuple[str, Callable[[Sequence[Claim]], str]]] = ()
    """Generated parts of documentation pages: the part's name, and a function that returns the
    part's text for the locked claims."""
    agreements: Sequence[Agreement] = ()
    """The numbers that must agree between a run on the kernel and the same run in the simulator."""

    def on(self, _backend: str) -> Study[Any, Any]:
        """The version of this study for a backend; most studies have only one version."""
        return self

    def live(self) -> Study[Any, Any] | None:
        """The version of this study that judges claims on a live kernel; None without one.

        For a study that runs in the simulator, this is its kernel version, if that has statements
        of its own. A kernel version that only judges the simulator's statements again has no locked
        verdicts.
        """
        if self.only_backend == "kernel":
            return self
        form = self.on("kernel")
        known = {one.id for one in self.statements}
        return form if any(one.id not in known for one in form.statements) else None

    def forms(self) -> Sequence[Study[Any, Any]]:
        """The versions that judge different claims: this study, and its live version."""
        live = self.live()
        return (self,) if live in (None, self) else (self, live)

    @abc.abstractmethod
    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """The trials' experiments by key (a file name such as ``rtt50-cubic-n2-t3``)."""

    @abc.abstractmethod
    def observe(self, key: str, trace: Trace) -> Row:
        """Return the observation of one trial: what the statements and the page need of its trace.

        The method must be a pure function.
        """

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
        """Return the input of the statements, made from the observations of all trials.

        The method must be a pure and fast function.
        """
        return cast(Found, Evidence(rows))

    @abc.abstractmethod
    def page(self, ctx: StudyContext, found: Found) -> Page:
        """Tables, figures and data to show."""

    def trials(self, ctx: StudyContext) -> dict[str, Experiment]:
        """The ``experiments`` of a context, which are made only once."""
        if self not in ctx.made:
            ctx.made[self] = self.experiments(ctx)
        return ctx.made[self]

    def sketches(self, ctx: StudyContext) -> list[Sketch]:
        """Drawings of the set-up: by default the topologies of the study's experiments."""
        return sketches(self.trials(ctx).values())

    def judge(self, ctx: StudyContext, found: Found) -> list[Claim]:
        """Every statement with its verdict."""
        return judge(self.statements, found, ctx.basis)

    def run(self, ctx: StudyContext) -> StudyResult:
        """Run all trials, then write verdicts, page and report."""
        self.describe(ctx)
        return self.conclude(ctx, self.collect(ctx))

    def rebuild(self, ctx: StudyContext) -> StudyResult:
        """Write verdicts, page and report again, from the trials saved in ``ctx.out_dir``."""
        return self.conclude(ctx, self.saved(ctx))

    def collect(self, ctx: StudyContext) -> Observed[Row]:
        """Run all trials and observe them."""
        return ctx.run_trials(self.trials(ctx), self.observe)

    def saved(self, ctx: StudyContext) -> Observed[Row]:
        """Observe the saved trials. Raises HeadwayError if one is missing or of another run."""
        experiments = self.trials(ctx)
        missing = [key for key in experiments if not (ctx.trials_dir / key).is_dir()]
        again = f"run `headway run {self.name} --resume --out {ctx.out_dir}`"
        if missing:
            raise HeadwayError(
                f"{ctx.out_dir}: {len(missing)} of {len(experiments)} trials are missing "
                f"(first: {missing[0]}); {again}"
            )
        seen: Observed[Row] = Observed()
        others = 0
        for key, experiment in experiments.items():
            try:
                trace = load_trace(ctx.trials_dir / key)
            except HeadwayError as error:
                raise HeadwayError(f"{error}; {again}") from None
            if trace.experiment != experiment:
                raise HeadwayError(f"{ctx.trials_dir / key}: trial of another run; {again}")
            others += is_of_another_build(trace)
            seen.add(key, self.observe(key, trace), trace.meta)
        if others:
            ctx.notice(
                f"{others} of {len(experiments)} trials were made by another build of the engine; "
                "the report shows them as they are"
            )
        return seen

    def conclude(self, ctx: StudyContext, seen: Observed[Row]) -> StudyResult:
        """Judge the observations, and write verdicts, page and report.

        Writes report.html, claims.json, figures and the result tables (``*.parquet``) into
        ``ctx.out_dir``. The same observations give the same files.
        """
        found = self.gather(ctx, seen.rows)
        claims = self.judge(ctx, found)
        page = self.page(ctx, found)
        report, files = publish(
            ctx.out_dir,
            title=self.title,
            source=self.source,
            page=page,
            choices=self.choices,
            claims=claims,
            facts=_facts(ctx, seen),
            command=_command(self.settings(ctx)),
            question=question(sys.modules[type(self).__module__].__doc__, self.description),
            sketches=self.sketches(ctx),
            form=_facts(ctx, seen)[:_AT_THE_BEGINNING],
        )
        return StudyResult(page.tables, claims, report, files)

    def settings(self, ctx: StudyContext) -> dict[str, Any]:
        """The settings that determine the results, as stored in study.json."""
        return {
            "study": self.name,
            "seed": ctx.seed,
            "quick": ctx.quick,
            "backend": ctx.backend.name,
            "vectors": ctx.vectors and str(ctx.vectors),
        }

    def describe(self, ctx: StudyContext) -> None:
        """Write study.json, which describes the run."""
        said = {**self.settings(ctx), "versions": versions()}
        save_text(ctx.out_dir / STUDY_FILE, json.dumps(said, indent=2))

    def refuse_to_overwrite(self, ctx: StudyContext) -> None:
        """Raise HeadwayError if ``ctx.out_dir`` has results of other settings."""
        try:
            found = json.loads((ctx.out_dir / STUDY_FILE).read_text(encoding="utf-8"))
            there = {name: found.get(name) for name in self.settings(ctx)}
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError, AttributeError) as error:
            what = f"a {STUDY_FILE} that cannot be read ({error})"
        else:
            if there == self.settings(ctx):
                return
            what = f"results of `{_command(there)}`"
        raise HeadwayError(
            f"{ctx.out_dir}: has {what}; name another folder with --out, or overwrite them with "
            "--force"
        )


_METHODS = ("experiments", "commands", "observe", "gather", "collect", "page", "sketches")


def declared(
    name: str,
    *modules: ModuleType,
    base: type[Any] = Study,
    kernel: Study[Any, Any] | None = None,
    form: str = "",
    **others: Any,
) -> Study[Any, Any]:
    """Make a study of the functions in ``modules`` and of the texts in its ``study.toml``.

    ``name`` is the caller's ``__name__``; its docstring begins the report. ``declared(__name__)``
    alone takes the functions of the caller. A function that a module defines is the method of that
    name, if it is one of ``_METHODS``. A module's STATEMENTS, or all claims of its CLAIMS, are the
    statements. ``base`` is the class, for example MeasuredStudy or one with methods of its own.
    ``kernel`` is the study's version for the kernel, which is declared with ``form="kernel"`` and
    takes its texts from ``[kernel]``. All ``others`` replace attributes and methods of Study of the
    same name; a method has no ``self``. Raises HeadwayError for a file ``study.toml`` that is
    missing or wrong.
    """
    file = study_file(name)
    own: dict[str, Any] = {"__module__": name, "name": file.name, **file.texts(form)}
    for module in modules or (() if others else (sys.modules[name],)):
        for method in _METHODS:
            part = getattr(module, method, None)
            if callable(part) and part.__module__ == module.__name__:
                own[method] = staticmethod(part)
        if hasattr(module, "STATEMENTS"):
            own["statements"] = module.STATEMENTS
        elif hasattr(module, "CLAIMS") and module.CLAIMS.module == module.__name__:
            own["statements"] = module.CLAIMS.statements()
    for attribute, part in others.items():
        if attribute.startswith("_") or not hasattr(base, attribute):
            raise TypeError(f"{name}: a study has no {attribute!r}")
        own[attribute] = staticmethod(part) if callable(part) else part
    if kernel is not None:
        own["on"] = lambda self, backend: kernel if backend == "kernel" else self
    kind: Any = types.new_class(file.name, (base,), exec_body=lambda body: body.update(own))
    made: Study[Any, Any] = kind()
    return made


_AT_THE_BEGINNING = 5
"""This many facts on the run (form, seed, versions) are at the report's beginning; the others, such
as the platform, are at its end."""


def form(ctx: StudyContext) -> str:
    """The form of the run, quick or full, as text."""
    return "quick: fewer or shorter trials" if ctx.quick else "full"


def _facts(ctx: StudyContext, seen: Observed[Any]) -> list[tuple[str, str]]:
    facts = [
        ("Form", form(ctx)),
        ("Trials", str(len(seen.rows))),
        ("Seed", str(ctx.seed)),
    ]
    if not seen.meta:
        return facts
    made_by = ", ".join(f"{k} {v}" for k, v in seen.meta.get("versions", {}).items())
    return [
        *facts,
        ("Backend", str(seen.meta.get("backend"))),
        ("Versions", made_by),
        ("Platform", str(seen.meta.get("platform"))),
    ]


def _command(settings: Mapping[str, Any]) -> str:
    """The command that produces results with these settings."""
    quick = " --quick" if settings["quick"] else ""
    vectors = f" --vectors {settings['vectors']}" if settings["vectors"] else ""
    return (
        f"headway run {settings['study']}{quick} --backend {settings['backend']} "
        f"--seed {settings['seed']}{vectors}"
    )


def discover() -> dict[str, Study[Any, Any]]:
    """Every study by name: each module or package of ``headway.studies`` that defines ``STUDY``."""
    package = importlib.import_module("headway.studies")
    found: dict[str, Study[Any, Any]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        study = getattr(importlib.import_module(f"headway.studies.{info.name}"), "STUDY", None)
        if isinstance(study, Study):
            found[study.name] = study
    return dict(sorted(found.items()))
