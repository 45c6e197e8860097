"""``headway validate --random``: compare both backends in random cases."""

from __future__ import annotations

import datetime
import itertools
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headway import try_experiment
from headway.backends import Backend, backend_named
from headway.backends.kernel import check
from headway.backends.repeating import Repeating
from headway.backends.sim import scenario_json
from headway.cli.paths import check_folder
from headway.cli.show import console, notice, print_json, print_table, progress_bar
from headway.errors import HeadwayError, InterruptedRunError
from headway.experiment import Experiment
from headway.files import save_text
from headway.validation.diverge import diverge
from headway.validation.minimize import minimize, one_line
from headway.validation.random_cases import KINDS, Case, cases
from headway.validation.random_compare import ALLOWED, Result, observe, values_of
from headway.validation.random_report import (
    Minimized,
    distribution_text,
    replay,
    summary,
    tables,
    value_text,
    worst,
    write_page,
)
from headway.validation.random_runs import RandomRunner, SavedRuns, samples_of
from headway.versions import versions

_MOST_SHOWN = 10
_NOTICE_S = 60


@dataclass(frozen=True)
class RandomOptions:
    """The values of the options of ``headway validate --random``."""

    count: int
    kind: str
    seed: int
    hours: float | None
    out: Path
    repeats: int
    minimize: int
    """Most kernel runs for minimizing one case; 0 minimizes no case."""
    as_json: bool

    @property
    def folder(self) -> Path:
        """The folder for the results of random cases of one kind and seed."""
        return self.out / "random" / f"{self.kind}-{self.seed}"


def run_random(options: RandomOptions) -> None:
    """Run the cases, minimize those in which the backends differ, and print the results."""
    if options.kind not in KINDS:
        raise HeadwayError(f"kind: unknown {options.kind!r}; allowed: {', '.join(KINDS)}")
    check_folder("out", options.folder)
    sim, kernel = backend_named("sim"), backend_named("kernel")
    until_s = None if options.hours is None else time.monotonic() + 3600 * options.hours
    chosen = list(itertools.islice(cases(options.kind, options.seed), options.count))
    kept = SavedRuns(options.folder / "kernel.jsonl")
    small: list[Minimized] = []
    with progress_bar(not options.as_json) as bar:
        runner = RandomRunner(
            chosen,
            kept,
            sim,
            kernel,
            (scenario_json, check),
            repeats=options.repeats,
            progress=bar if sys.stderr.isatty() and not options.as_json else _Lines(),
            until_s=until_s,
        )
        try:
            runner.run()
            repeating = Repeating(kernel, options.repeats)
            for result in worst(runner.outcome.results):
                late = until_s is not None and time.monotonic() >= until_s
                most = 0 if late else options.minimize
                bar(runner.done, len(chosen), f"minimizing case {result.case.index}")
                both = _DiffersAlike(sim, repeating, result)
                small.append(_minimized(options, result, both, most))
                if most:
                    small[-1] = _with_divergence(small[-1], sim, kernel)
        except KeyboardInterrupt:
            raise InterruptedRunError(
                len(runner.outcome.results), len(chosen), str(options.folder)
            ) from None
    about = {
        "made by": f"headway validate --random {options.count} --kind {options.kind} "
        f"--seed {options.seed}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "kernel": platform.release(),
        "Headway": str(versions()["headway"]),
        "engine": str(versions()["engine"]),
    }
    page = write_page(options.folder / "random.html", runner.outcome, options.count, about, small)
    numbers = summary(runner.outcome, options.count)
    if options.as_json:
        print_json({"about": about, **numbers, "cases": _as_fields(runner.outcome.results)})
        return
    _print(options, numbers)
    for table in tables(runner.outcome):
        print_table(table)
    _print_worst(runner.outcome.results, small)
    console().print(f"page: {page}", markup=False, soft_wrap=True)


class _Lines:
    """Prints one progress line per minute, for output without a progress bar."""

    def __init__(self) -> None:
        self._next_s = time.monotonic() + _NOTICE_S

    def __call__(self, done: int, total: int, label: str) -> None:
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _NOTICE_S
            notice(f"{done} of {total} cases{label and f', {label}'}")


class _DiffersAlike:
    """Checks whether the backends differ in a smaller experiment as they do in a case."""

    def __init__(self, sim: Backend, kernel: Repeating, original: Result) -> None:
        self._sim, self._kernel, self._original = sim, kernel, original

    def __call__(self, experiment: Experiment) -> bool:
        """Whether the backends differ as in the case, in both of two kernel runs."""
        kind = self._original.case.kind
        case = Case(kind, 0, 0, (), experiment)
        try:
            check(experiment)
            sims = [observe(self._sim.run(one)) for one in samples_of(experiment)]
            kernels = []
            for _ in range(2):
                kernels.append(observe(self._kernel.run(experiment)))
                values = values_of(experiment, sims, kernels, kind)
                if not Result(case, values).is_similar(self._original):
                    return False
        except HeadwayError as error:
            if type(error) is not HeadwayError:
                raise
            return False
        return True


def _minimized(options: RandomOptions, result: Result, both: _DiffersAlike, most: int) -> Minimized:
    """Save a case in which the backends differ, and the minimized case."""
    index = result.case.index
    whole = options.folder / "differ" / f"case-{index}.json"
    smaller = options.folder / "differ" / f"case-{index}-small.json"
    try_experiment.save(result.case.experiment, whole)
    if smaller.exists():
        file, experiment, runs = smaller, try_experiment.from_file(smaller), 0
    else:
        experiment, runs = minimize(result.case.experiment, both, most)
        file = whole if experiment == result.case.experiment else smaller
        try_experiment.save(experiment, file)
    return Minimized(index, file, one_line(experiment), runs)


def _with_divergence(small: Minimized, sim: Backend, kernel: Backend) -> Minimized:
    """Find the first packet that differs, and save its description next to the case's file."""
    try:
        found = diverge(try_experiment.from_file(small.file), sim, kernel)
        divergence = "\n".join(found.lines())
    except HeadwayError as error:
        if type(error) is not HeadwayError:
            raise
        divergence = str(error)
    save_text(small.file.with_suffix(".txt"), divergence + "\n")
    return replace(small, divergence=divergence)


def _as_fields(results: Sequence[Result]) -> list[dict[str, Any]]:
    return [
        {
            "index": result.case.index,
            "settings": dict(result.case.settings),
            "difference": result.difference,
            "beyond": result.beyond,
            "differs": result.differs,
            "values": {
                value.name: {
                    "sim": value.sim,
                    "kernel": list(value.kernels),
                    "difference": value.difference,
                    "differs": value.differs,
                }
                for value in result.values
            },
            "notes": list(result.notes),
        }
        for result in results
    ]


def _print(options: RandomOptions, numbers: dict[str, Any]) -> None:
    show = console()

    def line(text: str) -> None:
        show.print(text, markup=False, soft_wrap=True)

    line(
        f"random cases of kind {options.kind}, seed {options.seed}: simulator compared with kernel"
    )
    short = numbers["short"]
    said = f", {short} with fewer kernel runs than needed" if short else ""
    line(f"cases compared           {numbers['cases']} of {options.count}{said}")
    if numbers["difference"]:
        line(f"from the kernel's median {distribution_text(numbers['difference'])}")
        line(f"beyond its spread        {distribution_text(numbers['beyond_spread'])}")
        share = numbers["differ"] / numbers["cases"]
        line(f"beyond it by {ALLOWED:.0%}          {numbers['differ']} ({share:.1%})")
        one_side = ", ".join(f"{n} on {name}" for name, n in numbers["on_one_backend"].items())
        line(f"ended on one backend     {one_side or 'none'}")
    for reason, count in numbers["left_out"].items():
        line(f"left out                 {count}: {reason}")
    for index, error in numbers["failed"].items():
        line(f"failed                   case {index}: {error}")
    if numbers["not_run"]:
        line(f"not run yet              {numbers['not_run']}; the same command continues")


def _print_worst(results: Sequence[Result], small: Sequence[Minimized]) -> None:
    show = console()
    files = {one.index: one.file for one in small}
    for result in worst(results)[:_MOST_SHOWN]:
        assert result.main is not None
        for text in (
            f"case {result.case.index}: {value_text(result.main)}",
            f"  {replay(files[result.case.index])}",
        ):
            show.print(text, markup=False, soft_wrap=True)
