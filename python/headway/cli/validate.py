"""``headway validate``: the simulator against this machine's kernel, in numbers."""

from __future__ import annotations

import datetime
import json
import platform
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.backends import Backend, as_it_is, backend_named
from headway.backends.kernel import KernelBackend
from headway.cli.options import AsJson
from headway.cli.places import path
from headway.cli.show import console, print_json, print_table, progress_bar, watch
from headway.errors import HeadwayError, InterruptedRunError
from headway.experiment import Experiment
from headway.files import save_text
from headway.registry import registry
from headway.sweep import Progress
from headway.table import Table
from headway.trace import Trace, save_trace
from headway.units import NS_PER_S, parse_positive_time
from headway.validation import Comparison, Scenario, compare, matrix, quick_matrix
from headway.validation.builtin import Pair, compare_builtin
from headway.validation.builtin import section as builtin_section
from headway.validation.compare import retransmits_share, spreads
from headway.validation.cost import RATE, RTT, Cost, measure, pairs
from headway.validation.cost import section as cost_section
from headway.validation.report import overlay, page, with_sections
from headway.versions import versions

_DURATION_S, _QUICK_DURATION_S, _LEAST_DURATION_S = 30, 12, 5
_PAGE = Path("docs/validation.md")
_SIM_TRIALS = 5
"""Random loss makes trials differ, and the simulator's take no time: so many for each of the
kernel's, with seeds that go on from those."""
Experiments = Callable[[Scenario, int], list[Experiment]]
"""The trials of a scenario; where loss is random, so many times as usual."""


def _length_s(text: str) -> int:
    """Whole seconds from "30 s". Raises HeadwayError."""
    try:
        length_ns = parse_positive_time(text)
    except ValueError as error:
        raise HeadwayError(f"duration: {error}") from None
    length_s, rest = divmod(length_ns, NS_PER_S)
    if rest or length_s < _LEAST_DURATION_S:
        raise HeadwayError(
            f"duration: {text} is not allowed; whole seconds from {_LEAST_DURATION_S} s on"
        )
    return length_s


def validate(
    quick: Annotated[
        bool, typer.Option("--quick", help="Six short scenarios; writes no page by itself.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", parser=path, metavar="DIR", help="Results folder.")
    ] = Path("results/validate"),
    only: Annotated[
        str, typer.Option("--only", help="Scenarios whose name has this part, as htcp or loss.")
    ] = "",
    duration: Annotated[
        int | None,
        typer.Option(
            "--duration", parser=_length_s, metavar="TIME", help="Of each scenario, as 30s."
        ),
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Of each; medians count.")] = 1,
    loss_trials: Annotated[
        int, typer.Option("--loss-trials", min=1, help="Of each with random loss, at least.")
    ] = 3,
    repeats: Annotated[
        int, typer.Option("--repeats", min=0, help="Of a run that could not keep time, at most.")
    ] = 2,
    page_path: Annotated[
        Path | None,
        typer.Option(
            "--page", parser=path, metavar="FILE", help="The page to write [docs/validation.md]."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of every scenario.")] = 1,
    with_matrix: Annotated[
        bool,
        typer.Option("--matrix/--no-matrix", help="Without: only what is asked for beside it."),
    ] = True,
    builtin: Annotated[
        bool | None,
        typer.Option(
            "--builtin/--no-builtin",
            help="Also our CUBIC against the kernel's own [with the whole matrix].",
        ),
    ] = None,
    cost: Annotated[
        bool | None,
        typer.Option(
            "--cost/--no-cost",
            help="Also the time each control takes per ACK [with the whole matrix].",
        ),
    ] = None,
    save: Annotated[bool, typer.Option("--traces", help="Save both traces of each.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a matrix of scenarios on both backends and say how far they differ."""
    kernel = backend_named("kernel")
    is_whole = with_matrix and not (quick or only)
    chosen = [s for s in (quick_matrix() if quick else matrix()) if with_matrix and only in s.key]
    if with_matrix and not chosen:
        raise HeadwayError(f"only: no scenario has {only!r} in its name")
    length_s = duration or (_QUICK_DURATION_S if quick else _DURATION_S)
    measured = _Matrix(
        chosen,
        lambda s, more: [
            s.experiment(length_s, seed + trial)
            for trial in range(more * max(trials, loss_trials) if s.loss else trials)
        ],
        repeats,
        out,
        save,
    )
    try:
        with progress_bar(not as_json) as progress:
            watch(kernel, progress)
            measured.run(kernel, progress)
            compared = (
                compare_builtin(kernel, KernelBackend(builtin=True), length_s, progress)
                if (is_whole if builtin is None else builtin)
                else []
            )
            wanted = pairs(registry()) if (is_whole if cost is None else cost) else []
            costs = measure(wanted, progress)
    except KeyboardInterrupt:
        raise InterruptedRunError(len(measured.comparisons), len(chosen), str(out)) from None
    comparisons = measured.comparisons
    about = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "kernel": platform.release(),
        "headway": versions()["headway"],
        "duration_s": length_s,
        "trials": trials,
        "loss_trials": max(trials, loss_trials),
        "seed": seed,
    }
    # a part of the matrix is no page
    target = page_path or (_PAGE if is_whole or not with_matrix else None)
    if target is not None:
        _write_page(target, about, comparisons, compared, costs)
    result = {
        "about": about,
        "scenarios": [asdict(c) for c in comparisons],
        "differences": {name: asdict(s) for name, s in spreads(comparisons).items()},
        "builtin": [asdict(p) for p in compared],
        "cost": [asdict(c) for c in costs],
        "retransmits_agree": retransmits_share(comparisons) if comparisons else None,
    }
    save_text(out / "validation.json", json.dumps(result, indent=1))
    if as_json:
        print_json(result)
    else:
        _print(comparisons, compared, costs, out, target)


def _write_page(
    target: Path,
    about: dict[str, Any],
    comparisons: list[Comparison],
    compared: list[Pair],
    costs: list[Cost],
) -> None:
    """The page anew; without scenarios only its sections that were measured."""
    measured = f"Measured on {about['date']}, Linux {about['kernel']}."
    sections = [builtin_section(compared, measured)] if compared else []
    sections += [cost_section(costs, measured)] if costs else []
    previous = target.read_text(encoding="utf-8") if target.exists() else None
    if comparisons:
        save_text(target, page(comparisons, about, previous, sections))
    elif previous is None:
        raise HeadwayError(f"{target}: does not exist; run the matrix first")
    else:
        save_text(target, with_sections(previous, sections))


class _Matrix:
    """Runs scenarios on both backends and keeps what became of them."""

    def __init__(
        self,
        chosen: list[Scenario],
        experiments: Experiments,
        repeats: int,
        out: Path,
        save: bool,
    ) -> None:
        self.chosen = chosen
        self._experiments = experiments
        self._repeats = repeats
        self._out = out
        self._save = save
        self.comparisons: list[Comparison] = []

    def run(self, kernel: Backend, progress: Progress) -> None:
        """Run all; ``comparisons`` has those that are done, also after Ctrl-C."""
        progress(0, len(self.chosen), "")
        # links of one rate run side by side as far as the machine has room for them
        for _, group in groupby(self.chosen, key=lambda s: s.rate_mbps):
            scenarios = list(group)
            runs = [(s, e) for s in scenarios for e in self._experiments(s, 1)]
            twins = [(s, e) for s in scenarios for e in self._experiments(s, _SIM_TRIALS)]
            sims: dict[int, Trace] = {}
            backend_named("sim").run_each([e for _, e in twins], as_it_is, sims.__setitem__)
            kernels, repeated = _on_time(kernel, [e for _, e in runs], self._repeats)
            for scenario in scenarios:
                own = [index for index, (of, _) in enumerate(runs) if of == scenario]
                self._keep(
                    scenario,
                    [sims[index] for index, (of, _) in enumerate(twins) if of == scenario],
                    [kernels[index] for index in own],
                    sum(repeated[index] for index in own),
                )
                progress(len(self.comparisons), len(self.chosen), scenario.key)

    def _keep(
        self, scenario: Scenario, sims: list[Trace], kernels: list[Trace], repeated: int
    ) -> None:
        self.comparisons.append(compare(scenario, sims, kernels, repeated))
        overlay(sims[0], kernels[0], self._out / "figures" / scenario.key)
        if self._save:
            save_trace(sims[0], self._out / "traces" / scenario.key / "sim")
            save_trace(kernels[0], self._out / "traces" / scenario.key / "kernel")


def _on_time(
    kernel: Backend, experiments: Sequence[Experiment], repeats: int
) -> tuple[dict[int, Trace], Counter[int]]:
    """Each experiment's trace; one whose emulator could not keep time is run again."""
    traces: dict[int, Trace] = {}
    repeated: Counter[int] = Counter()
    kernel.run_each(experiments, as_it_is, traces.__setitem__)
    for index, experiment in enumerate(experiments):
        while not traces[index].meta["emulator"]["on_time"] and repeated[index] < repeats:
            traces[index] = kernel.run(experiment)
            repeated[index] += 1
    return traces, repeated


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{value:+.1%}"


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
                "our CUBIC against the kernel's own",
                ["path", "goodput", "mean queue", "holds"],
                [
                    [p.path, _percent(p.goodput), _percent(p.queue), "yes" if p.holds else "no"]
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
            ["scenario", "goodput", "OWD", "p95 OWD", "again: kernel", "sim", "shares"],
            [
                [
                    c.scenario.key,
                    _percent(c.goodput),
                    _percent(c.owd_median),
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
    show.print(f"packets sent again agree in {retransmits_share(comparisons):.0%}", markup=False)
