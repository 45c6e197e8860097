"""Reports on random cases: a summary for the terminal, and an HTML page."""

from __future__ import annotations

import itertools
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway.report import Report, Section, plain_table, write_report
from headway.table import Cell, Table
from headway.validation.random_compare import ALLOWED, RULES, Result, Value
from headway.validation.random_runs import Outcome

_WORST = 20
_QUANTILES = (50, 75, 90, 100)
_MOST_PAIRS = 40


@dataclass(frozen=True)
class Minimized:
    """A case in which the backends differ, reduced to a smaller experiment."""

    index: int
    file: Path
    text: str
    """The smaller experiment's flows and path as text."""
    runs: int
    """Number of kernel runs that the reduction took."""
    divergence: str = ""
    """The first packet that differs between the two runs, as text."""


def replay(file: Path) -> str:
    """The command that runs a saved case on both backends."""
    return f"headway try {shlex.quote(str(file))} --beside kernel --diverge"


def summary(outcome: Outcome, requested: int) -> dict[str, Any]:
    """Numbers that summarize all cases, for JSON output."""
    results = outcome.results
    return {
        "asked": requested,
        "cases": len(results),
        "difference": _distribution(result.difference for result in results),
        "beyond_spread": _distribution(result.beyond for result in results),
        "differ": sum(result.differs for result in results),
        "short": outcome.short,
        "on_one_backend": dict(Counter(filter(None, map(_one_side, results)))),
        "left_out": dict(outcome.left_out),
        "failed": {str(index): error for index, error in outcome.failed.items()},
        "not_run": requested - len(results) - sum(outcome.left_out.values()) - len(outcome.failed),
    }


def _distribution(values: Iterable[float | None]) -> dict[str, float]:
    known = [value for value in values if value is not None]
    if not known:
        return {}
    quantiles = np.percentile(known, _QUANTILES).tolist()
    return dict(zip(("median", "p75", "p90", "max"), quantiles, strict=True))


def distribution_text(numbers: Mapping[str, float]) -> str:
    """A distribution as text."""
    return ", ".join(f"{name} {value:.1%}" for name, value in numbers.items())


def _one_side(result: Result) -> str | None:
    """The only backend on which the main value's event happened: "sim", "kernel", or None."""
    return None if result.main is None else result.main.on_one_side


def tables(outcome: Outcome) -> list[Table]:
    """The tables for a terminal: distributions by value, the kernel's own, and by option."""
    found = [_by_value(outcome.results), _of_kernel(outcome.results), _by_name(outcome.results)]
    return [table for table in found if table.rows]


def _percent(value: float | None) -> Cell:
    return None if value is None else f"{value:.1%}"


def _by_value(results: Sequence[Result]) -> Table:
    """A table: for each kind of value, the distribution of the cases' largest differences."""
    rows: list[list[Cell]] = []
    for kind in RULES:
        worst = [_worst(r.values, kind) for r in results]
        present = [value for value in worst if value is not None]
        known = [abs(v.difference) for v in present if v.difference is not None]
        if present:
            quantiles = np.percentile(known, _QUANTILES).tolist() if known else [None] * 4
            rows.append([kind, len(present), *map(_percent, quantiles),
                         sum(value.differs for value in present)])  # fmt: skip
    columns = ["value", "cases", "median", "p75", "p90", "max", "differ"]
    return Table("differences by value, simulator from kernel", columns, rows)


def _of_kernel(results: Sequence[Result]) -> Table:
    """A table: how far the kernel's runs are from their median; empty if a case has one run only.

    For each kind of value it has the distribution of the cases' largest such differences.
    """
    rows: list[list[Cell]] = []
    several = all(len(value.kernels) > 1 for result in results for value in result.values)
    for kind in RULES if several else ():
        found = ([v.own_difference for v in r.values if v.kind == kind] for r in results)
        largest = (max((one for one in own if one is not None), default=None) for own in found)
        known = [one for one in largest if one is not None]
        if known:
            quantiles = np.percentile(known, _QUANTILES).tolist()
            rows.append([kind, len(known), *map(_percent, quantiles)])
    columns = ["value", "cases", "median", "p75", "p90", "max"]
    return Table("differences by value, the kernel's runs from their median", columns, rows)


def _worst(values: Iterable[Value], kind: str) -> Value | None:
    of_kind = [value for value in values if value.kind == kind]
    return max(of_kind, key=lambda v: (v.differs, abs(v.difference or 0)), default=None)


def _groups(results: Sequence[Result], count: int) -> Mapping[tuple[str, ...], list[Result]]:
    """The results for every combination of ``count`` options that cases have."""
    groups: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in results:
        names = sorted(result.case.options)
        for together in itertools.combinations(names, count):
            groups[together].append(result)
    return groups


def _rows(groups: Mapping[tuple[str, ...], list[Result]]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for names, results in groups.items():
        known = [r.difference for r in results if r.difference is not None]
        p90 = float(np.percentile(known, 90)) if known else None
        rows.append([*names, len(results), sum(r.differs for r in results), _percent(p90)])
    return rows


def _by_option(results: Sequence[Result]) -> Table:
    rows = _rows(_groups(results, 1))
    rows.sort(key=lambda row: str(row[0]))
    return Table("by setting", ["setting", "cases", f"beyond {ALLOWED:.0%}", "p90"], rows)


def _by_name(results: Sequence[Result]) -> Table:
    """A table of the results by option, over all values of the option."""
    groups: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in results:
        names = {option.partition("=")[0] for option in result.case.options}
        for name in names or {"no option"}:
            groups[(name,)].append(result)
    rows = sorted(_rows(groups), key=lambda row: str(row[0]))
    return Table("by option", ["option", "cases", f"beyond {ALLOWED:.0%}", "p90"], rows)


def _by_setting(results: Sequence[Result]) -> Table:
    """A table of the results by class of rate, RTT and buffer, and by control."""
    groups: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in results:
        for name, value in result.case.settings:
            if f"{name}={value}" not in result.case.options:
                groups[(f"{name}={value}",)].append(result)
    rows = sorted(_rows(groups), key=lambda row: str(row[0]))
    columns = ["path or control", "cases", f"beyond {ALLOWED:.0%}", "p90"]
    return Table("by path and control", columns, rows)


def _by_pair(results: Sequence[Result]) -> Table:
    """A table of the pairs of options with which cases differ."""
    groups = _groups(results, 2)
    differing = {names: own for names, own in groups.items() if any(r.differs for r in own)}
    rows = _rows(differing)
    rows.sort(key=lambda row: (-int(str(row[3])), str(row[0])))
    return Table(
        "by pair of options",
        ["option", "option", "cases", f"beyond {ALLOWED:.0%}", "p90"],
        rows[:_MOST_PAIRS],
        note=f"{len(groups)} pairs covered; {len(differing)} of them in cases that differ.",
    )


def _amount(name: str, value: float | None) -> str:
    if value is None:
        return "never"
    if "goodput" in name:
        return f"{value / 1e6:.4g} Mbit/s"
    if name in ("retransmits", "timeouts"):
        return f"{value:g}"
    return f"{value * 1000:.5g} ms"


def value_text(value: Value) -> str:
    """One value on both backends, as text."""
    sim, kernel = (_amount(value.name, one) for one in (value.sim, value.kernel))
    difference = value.difference
    apart = "on one backend only" if difference is None else f"{difference:+.1%}"
    return f"{apart}, {value.name} {sim}, kernel {kernel}"


def worst(results: Sequence[Result]) -> list[Result]:
    """The cases that differ, worst first."""
    differing = [result for result in results if result.differs]
    far = {id(r): float("inf") if r.difference is None else r.difference for r in differing}
    return sorted(differing, key=lambda result: -far[id(result)])


def worst_table(results: Sequence[Result]) -> Table:
    """The worst cases: their settings, and the value that differs most."""
    rows: list[list[Cell]] = []
    for result in worst(results)[:_WORST]:
        main = result.main
        assert main is not None
        settings = " ".join(f"{name}={value}" for name, value in result.case.settings)
        difference = main.difference
        rows.append([
            result.case.index, settings, main.name, _amount(main.name, main.sim),
            _amount(main.name, main.kernel),
            "one only" if difference is None else f"{difference:+.1%}",
        ])  # fmt: skip
    return Table("worst cases", ["case", "settings", "value", "sim", "kernel", "diff."], rows)


def write_page(
    file: Path,
    outcome: Outcome,
    requested: int,
    about: Mapping[str, str],
    small: Sequence[Minimized],
) -> Path:
    """Write the page of a run. Raises HeadwayError."""
    numbers = summary(outcome, requested)
    one_side = ", ".join(f"{count} on {name}" for name, count in numbers["on_one_backend"].items())
    reasons = [f"{count}: {reason}" for reason, count in outcome.left_out.items()]
    reasons += [f"case {index} failed: {error}" for index, error in outcome.failed.items()]
    cases = [
        Section(
            f"Case {one.index}",
            [one.text, replay(one.file), *filter(None, one.divergence.splitlines())],
        )
        for one in small
    ]
    results = outcome.results
    report = Report(
        title="Random experiments: simulator compared with kernel",
        subtitle="Every pair of options, on both backends",
        summary=[
            ("cases compared", f"{numbers['cases']} of {requested}"),
            ("difference from the kernel's median", distribution_text(numbers["difference"])),
            ("beyond the kernel's range", distribution_text(numbers["beyond_spread"])),
            (f"more than {ALLOWED:.0%} beyond the range", str(numbers["differ"])),
            ("finished on one backend only", one_side or "none"),
        ],
        sections=[
            Section(
                "Differences",
                [
                    "The difference of a case is the largest of its differences in completion "
                    "time, goodput and response time (with the kind paths: in goodput and the "
                    "call's delay), relative to the median of the kernel's runs. "
                    "A case differs if the simulator is outside the range of the kernel's runs and "
                    "more than 5 % from the nearest. If several flows share a link, the difference "
                    "of goodput is relative to the link's rate, and 3 % are allowed."
                ],
                tables=[
                    plain_table(table)
                    for table in (_by_value(results), _of_kernel(results))
                    if table.rows
                ],
            ),
            Section(
                "Differences by option and path",
                tables=[
                    plain_table(table)
                    for table in (
                        _by_name(results),
                        _by_option(results),
                        _by_pair(results),
                        _by_setting(results),
                    )
                    if table.rows
                ],
            ),
            Section("Worst cases", tables=[plain_table(worst_table(results))]),
            *cases,
            Section("Left out", reasons or ["No case was left out."]),
        ],
        facts=list(about.items()),
    )
    return write_report(file, report)
