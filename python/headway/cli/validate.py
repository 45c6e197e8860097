"""``headway validate``: compare the simulator with this machine's kernel."""

from __future__ import annotations

import datetime
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.backends import backend_named
from headway.backends.kernel import KernelBackend
from headway.cli.options import REPEATS, AsJson, Repeats
from headway.cli.paths import path
from headway.cli.random_cases import RandomOptions, run_random
from headway.cli.show import console, notice, print_json, print_table, progress_bar, watch
from headway.errors import HeadwayError, InterruptedRunError
from headway.files import save_text
from headway.registry import registry
from headway.table import Table
from headway.units import NS_PER_S, parse_positive_time
from headway.validation import Comparison, Scenario, quick_matrix
from headway.validation.builtin import BUILTIN_TARGETS, Pair, compare_builtin
from headway.validation.builtin import section as builtin_section
from headway.validation.compare import retransmits_share, spreads
from headway.validation.cost import RATE, RTT, Cost, measure, pairs
from headway.validation.cost import section as cost_section
from headway.validation.failed import Failures
from headway.validation.parts import Part, choose, part_of
from headway.validation.random_cases import KINDS
from headway.validation.report import page, part_section, with_parts, with_sections
from headway.validation.trials import Plan, Runner
from headway.versions import versions

_LEAST_DURATION_S = 5
_SECTION_S = 30
"""Length of each comparison with the kernel's own control: long enough for BBR to measure its min
RTT several times (every 10 s), and with a warm-up that contains BBR's Startup."""
_PAGE = Path("docs/validation.md")


def _length_s(text: str) -> int:
    """Whole seconds from "30 s". Raises HeadwayError."""
    try:
        length_ns = parse_positive_time(text)
    except ValueError as error:
        raise HeadwayError(f"duration: {error}") from None
    length_s, rest = divmod(length_ns, NS_PER_S)
    if rest or length_s < _LEAST_DURATION_S:
        raise HeadwayError(
            f"duration: {text} is not allowed; must be whole seconds, at least "
            f"{_LEAST_DURATION_S} s"
        )
    return length_s


def validate(
    quick: Annotated[
        bool, typer.Option("--quick", help="Run eight scenarios once; writes no page by default.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", parser=path, metavar="DIR", help="Results folder.")
    ] = Path("results/validate"),
    only: Annotated[
        str,
        typer.Option(
            "--only",
            help="Run only scenarios whose name contains TEXT, such as htcp or loss. "
            "Two special values select scenarios outside of the matrix: controls runs the "
            "papers' other controls, protocols runs the controls that need routers.",
        ),
    ] = "",
    duration: Annotated[
        int | None,
        typer.Option(
            "--duration",
            parser=_length_s,
            metavar="TIME",
            help="Length of each trial, for example 30s [the scenario's].",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials", min=1, help="Number of kernel trials per scenario [the scenario's]."
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Reuse trials that an earlier run finished with the same program and kernel.",
        ),
    ] = False,
    repeats: Repeats = REPEATS,
    page_path: Annotated[
        Path | None,
        typer.Option(
            "--page", parser=path, metavar="FILE", help="The page to write [docs/validation.md]."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the first trial.")] = 1,
    with_matrix: Annotated[
        bool,
        typer.Option(
            "--matrix/--no-matrix",
            help="Run the scenarios; with --no-matrix run only what --builtin and --cost select.",
        ),
    ] = True,
    builtin: Annotated[
        bool | None,
        typer.Option(
            "--builtin/--no-builtin",
            help="Also compare our CUBIC and BBR with the kernel's own; --only cubic or bbr picks "
            "one [with the whole matrix, and with --only cubic or bbr].",
        ),
    ] = None,
    cost: Annotated[
        bool | None,
        typer.Option(
            "--cost/--no-cost",
            help="Also measure the time that each control takes per ACK [with the whole matrix].",
        ),
    ] = None,
    save: Annotated[bool, typer.Option("--traces", help="Save each scenario's traces.")] = False,
    random: Annotated[
        int | None,
        typer.Option(
            "--random",
            min=1,
            metavar="N",
            show_default=False,
            help="Run N random cases, drawn from --seed, instead of the matrix; the same command "
            "continues an interrupted run.",
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind", help=f"What random cases vary: {', '.join(KINDS)}.", show_default=True
        ),
    ] = KINDS[0],
    hours: Annotated[
        float | None,
        typer.Option(
            "--hours", metavar="H", help="With --random: start no further run after H hours."
        ),
    ] = None,
    minimize: Annotated[
        int,
        typer.Option(
            "--minimize",
            min=0,
            metavar="RUNS",
            help="With --random: most kernel runs to shrink a case in which the backends differ.",
        ),
    ] = 12,
    as_json: AsJson = False,
) -> None:
    """Run a matrix of scenarios on both backends and report how far they differ."""
    if random is not None:
        _refuse_with_random(quick=quick, only=only, duration=duration, trials=trials, save=save,
                              page=page_path, builtin=builtin, cost=cost)  # fmt: skip
        if hours is not None and not hours > 0:
            raise HeadwayError(f"hours: {hours:g} is not allowed; must be more than 0")
        run_random(RandomOptions(random, kind, seed, hours, out, repeats, minimize, as_json))
        return
    if hours is not None:
        raise HeadwayError("hours: needs --random N")
    sim, kernel = backend_named("sim"), backend_named("kernel")
    is_whole = with_matrix and not (quick or only)
    part, chosen = _chosen(only, quick=quick) if with_matrix else (None, [])
    named = [each for each in BUILTIN_TARGETS if each.control == only]
    against = (
        (named or BUILTIN_TARGETS)
        if (is_whole or bool(named) if builtin is None else builtin)
        else ()
    )
    if with_matrix and not (chosen or named):
        raise HeadwayError(f"only: no scenario has {only!r} in its name")
    plan = Plan(chosen, seed, duration, trials)
    tell = _no_line if as_json or sys.stderr.isatty() else notice
    failures = Failures(tell)
    runner = Runner(
        plan, out, repeats=repeats, resume=resume, save=save, tell=tell, failures=failures
    )
    try:
        with progress_bar(not as_json) as progress:
            for backend in (sim, kernel):
                watch(backend, progress)
            runner.run(sim, kernel)
            compared = []
            for each in against:
                sides = (kernel, KernelBackend(builtin=True), sim)
                compared += compare_builtin(
                    each, sides, duration or _SECTION_S, progress, failures, repeats
                )
            wanted = pairs(registry()) if (is_whole if cost is None else cost) else []
            costs = measure(wanted, progress, failures)
    except KeyboardInterrupt:
        finished = len(runner.comparisons())
        raise InterruptedRunError(finished, len(chosen), str(out)) from None
    comparisons = runner.comparisons()
    about = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "kernel": platform.release(),
        "headway": versions()["headway"],
        "duration_s": duration,
        "trials": trials,
        "seed": seed,
    }
    # without an explicit page, results of only some scenarios must not replace docs/validation.md
    is_page = (is_whole or part is not None or not with_matrix) and not failures.runs
    target = page_path or (_PAGE if is_page else None)
    has_any = comparisons or compared or costs or not failures.runs
    if target is not None and has_any:
        save_text(target, _page_of(target, about, comparisons, compared, costs))
    if comparisons:  # write a page into the results folder, too, even for only some scenarios
        save_text(out / _PAGE.name, _page_of(_PAGE, about, comparisons, compared, costs))
    result = {
        "about": about,
        "scenarios": [_as_fields(c) for c in comparisons],
        "differences": {name: asdict(s) for name, s in spreads(comparisons).items()},
        "builtin": [asdict(p) for p in compared],
        "cost": [asdict(c) for c in costs],
        "retransmits_agree": retransmits_share(comparisons) if comparisons else None,
        "failed": [asdict(each) for each in failures.runs],
    }
    save_text(out / "validation.json", json.dumps(result, indent=1))
    if as_json:
        print_json(result)
    else:
        _print(comparisons, compared, costs, out, target)
    if failures.runs:
        lines = "; ".join(f"{each.run}: {each.error}" for each in failures.runs)
        count = len(failures.runs)
        raise HeadwayError(
            f"failed runs: {count} (results of the other runs are in {out}): {lines}"
        )


def _refuse_with_random(**options: object) -> None:
    """Raise HeadwayError if an option is set that only applies to the matrix of scenarios."""
    for name, value in options.items():
        if value:
            raise HeadwayError(f"{name}: cannot be used with --random; leave one of them out")


def _no_line(_line: str) -> None:
    """Discards progress lines, because a bar shows the progress or --json was given."""


def _chosen(only: str, *, quick: bool) -> tuple[Part | None, Sequence[Scenario]]:
    if quick:
        return None, [scenario for scenario in quick_matrix() if only in scenario.key]
    return choose(only)


def _as_fields(c: Comparison) -> dict[str, Any]:
    derived = ("goodput", "owd_median", "owd_p95", "retransmits_agree")
    intervals = ("goodput_interval", "owd_interval")
    derived_values = {name: getattr(c, name) for name in (*derived, *intervals)}
    return {"key": c.scenario.key, **asdict(c), **derived_values}


def _page_of(
    target: Path,
    about: dict[str, Any],
    comparisons: list[Comparison],
    compared: list[Pair],
    costs: list[Cost],
) -> str:
    """The page's text with new results; sections that were not measured again stay unchanged."""
    measured = f"Measured on {about['date']}, Linux {about['kernel']}."
    sections = [
        builtin_section(each, list(of_it), measured)
        for each, of_it in groupby(compared, key=lambda pair: pair.against)
    ]
    sections += [cost_section(costs, measured)] if costs else []
    previous = target.read_text(encoding="utf-8") if target.exists() else None
    if comparisons:
        part = part_of(comparisons[0].scenario)
        if part is None:
            return page(comparisons, about, previous, sections)
        return with_parts(previous, [part_section(part, comparisons, about), *sections])
    if previous is None:
        raise HeadwayError(f"{target}: does not exist; run the matrix first")
    return with_sections(previous, sections)


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{value:+.1%}"


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.1%}"


def _us(value: float | None) -> str | None:
    return None if value is None else f"{value:.0f} us"


def _interval(interval: tuple[float, float] | None) -> str | None:
    return None if interval is None else " … ".join(f"{end:+.1%}" for end in interval)


def _print(
    comparisons: list[Comparison],
    compared: list[Pair],
    costs: list[Cost],
    out: Path,
    target: Path | None,
) -> None:
    if comparisons:
        _print_matrix(comparisons)
    if compared:
        print_table(
            Table(
                "against the kernel's own control",
                [
                    "control",
                    "path",
                    "goodput",
                    "mean queue",
                    "deviation",
                    "sim",
                    "queue",
                    "late",
                    "holds",
                ],
                [
                    [
                        p.against.control,
                        p.path,
                        *map(_percent, p.differences(p.ours)),
                        _share(p.builtin.queue_deviation),
                        *map(_percent, p.differences(p.sim) if p.sim else (None, None)),
                        _us(p.builtin.lateness_us),
                        "yes" if p.holds else "no",
                    ]
                    for p in compared
                ],
            )
        )
    if costs:
        print_table(
            Table(
                f"time in a control's programs under one flow, {RATE} and {RTT}",
                ["control", "startup", "ACKs", "ns per ACK"],
                [[c.control, c.startup, c.acks, c.ns_per_ack] for c in costs],
            )
        )
    if comparisons:
        console().print(f"figures: {out / 'figures'}", markup=False, soft_wrap=True)
    if target is not None:
        console().print(f"page: {target}", markup=False, soft_wrap=True)


def _print_matrix(comparisons: list[Comparison]) -> None:
    print_table(
        Table(
            "simulator against kernel, relative to the kernel",
            ["scenario", "goodput", "95 %", "OWD", "95 %", "p95 OWD", "again", "sim", "shares"],
            [
                [
                    c.scenario.key,
                    _percent(c.goodput),
                    _interval(c.goodput_interval),
                    _percent(c.owd_median),
                    _interval(c.owd_interval),
                    _percent(c.owd_p95),
                    c.kernel.retransmits_pkts,
                    c.sim.retransmits_pkts,
                    f"{c.shares:.1%}",
                ]
                for c in comparisons
            ],
        )
    )
    print_table(
        Table(
            "absolute differences over the scenarios",
            ["", "median", "p90", "largest", "holds"],
            [
                [
                    name,
                    _percent(s.median),
                    _percent(s.p90),
                    _percent(s.largest),
                    {None: None, True: "yes", False: "no"}[s.holds],
                ]
                for name, s in spreads(comparisons).items()
            ],
        )
    )
    show = console()
    for c in comparisons:
        for warning in c.warnings:
            show.print(f"{c.scenario.key}: {warning}", markup=False)
    show.print(f"retransmissions agree in {retransmits_share(comparisons):.0%}", markup=False)
