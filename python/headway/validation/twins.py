"""Compares a study on the kernel with its twin, the same experiments in the simulator.

The twin uses the stack profile that models the kernel, whatever profile the study asks for: the two
then differ only in the backend. The comparison uses the study's own tables.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headway.backends.sim import SimBackend
from headway.claims import Claim, Verdict
from headway.experiment import Experiment
from headway.files import save_text
from headway.report import Report, Section, plain_table, write_report
from headway.study import Agreement, Study, StudyContext, StudyResult, form
from headway.table import Cell, Table
from headway.trace import load_trace
from headway.versions import versions

STACK = "linux-6"
"""The stack profile that models the kernel."""
FOLDER = "simulator"
"""Folder of the twin's results within the study's folder."""


@dataclass(frozen=True)
class SimulatorComparison:
    """The comparison of a study's tables from the kernel with those from the simulator.

    ``claims`` tell whether the tables agree as the study requires.
    """

    tables: Sequence[Table]
    claims: Sequence[Claim]
    notes: Mapping[str, int]
    """Warnings of the kernel's runs, with the number of runs that have them."""
    report: Path


def twin(experiment: Experiment) -> Experiment:
    """The same experiment for the simulator, with the stack profile that models the kernel."""
    return experiment.model_copy(update={"stack": STACK})


def compare_with_simulator(
    study: Study[Any, Any], ctx: StudyContext, kernel: StudyResult, *, resume: bool
) -> SimulatorComparison:
    """Run a study that ran on the kernel again in the simulator, and compare their results.

    The simulator's results are in ``FOLDER`` within the study's folder. With ``resume``, complete
    saved results are reused. Writes ``beside-simulator.json`` and ``beside-simulator.html``.
    """
    twin_ctx = StudyContext(
        out_dir=ctx.out_dir / FOLDER,
        backend=SimBackend(),
        quick=ctx.quick,
        seed=ctx.seed,
        progress=ctx.progress,
        notice=ctx.notice,
        resume=resume,
    )
    twins = {key: twin(experiment) for key, experiment in study.trials(ctx).items()}
    simulator = study.conclude(twin_ctx, twin_ctx.run_trials(twins, study.observe))
    tables = compare_tables(kernel.tables, simulator.tables)
    claims = [judge(a, kernel.tables, simulator.tables) for a in study.agreements]
    notes = Counter(
        re.sub(r"(?<![\w.-])\d+(?![\w.-])", "#", str(note))  # count warnings without their numbers
        for key in twins
        for note in load_trace(ctx.trials_dir / key).meta.get("notes", ())
    )
    path = ctx.out_dir / "beside-simulator.json"
    save_text(
        path,
        json.dumps(
            {
                "tables": [asdict(table) for table in tables],
                "claims": [asdict(claim) for claim in claims],
                "notes": dict(notes),
            },
            indent=1,
        ),
    )
    report = Report(
        title=f"{study.title}: kernel compared with simulator",
        subtitle=study.source,
        summary=[(claim.statement, claim.verdict) for claim in claims],
        sections=[
            Section(
                "Tables",
                [
                    "The tables show quantities measured on both backends, without published "
                    f"ones. The simulator ran the same experiments with stack {STACK}."
                ],
                tables=[plain_table(table) for table in tables],
            )
        ],
        claims=claims,
        facts=[
            (f"{count} of {len(twins)} runs on the kernel", note) for note, count in notes.items()
        ],
        question=[
            (
                "Question",
                "How much do the trials on this machine's kernel differ from the same trials in "
                f"the simulator with stack {STACK}? Trials: {len(twins)}.",
            ),
            ("Set-up", study.description),
            (
                "What was checked",
                "The column of published values shows the largest allowed difference, the column "
                "of measured values the difference that was found.",
            ),
        ],
        sketches=study.sketches(ctx),
        form=[("Form", form(ctx)), ("Seed", str(ctx.seed)), ("Headway", versions()["headway"])],
    )
    return SimulatorComparison(
        tables, claims, notes, write_report(path.with_suffix(".html"), report)
    )


def compare_tables(kernel: Sequence[Table], simulator: Sequence[Table]) -> list[Table]:
    """Each table's numbers on both backends, with their absolute and relative difference.

    Text columns that are equal in both tables name the rows. A column is left out if its numbers
    are equal in every row, as published numbers are. A table without further columns is left out,
    too.
    """
    result = []
    for own, other in _pairs(kernel, simulator):
        heads = [i for i in range(len(own.columns)) if _is_head(own, other, i)]
        measured = [i for i in range(len(own.columns)) if _is_measured(own, other, i)]
        if not measured:
            continue
        columns = [own.columns[i] for i in heads]
        for i in measured:
            columns += [f"{own.columns[i]} kernel".replace(" ", "\n"), "sim.", "diff."]
        rows = [
            [
                *(row[i] for i in heads),
                *(cell for i in measured for cell in _difference_cells(row[i], twin_row[i])),
            ]
            for row, twin_row in zip(own.rows, other.rows, strict=True)
        ]
        title = f"{own.title}: kernel compared with simulator"
        result.append(Table(title, columns, rows, heads=len(heads), block=3))
    return result


def judge(agreement: Agreement, kernel: Sequence[Table], simulator: Sequence[Table]) -> Claim:
    """Judge whether every difference in the agreement's rows is within its tolerance.

    The claim shows the difference closest to the tolerance, or furthest beyond it. The claim fails
    if only one of the two tables has a number.
    """
    worst: tuple[float, float] | None = None
    is_whole = True
    for own, other in _pairs(kernel, simulator):
        if not own.title.startswith(agreement.table):
            continue
        for row, twin_row in zip(own.rows, other.rows, strict=True):
            if agreement.row not in row:
                continue
            for column, one, two in zip(own.columns, row, twin_row, strict=True):
                if agreement.columns and column not in agreement.columns:
                    continue
                if isinstance(one, int | float) and isinstance(two, int | float):
                    apart = abs(one - two)
                    allowed = max(agreement.most, agreement.relative * abs(two))
                    worst = max(worst or (0.0, 0.0), (apart / allowed, apart))
                elif isinstance(one, int | float) or isinstance(two, int | float):
                    is_whole = False
    verdict: Verdict = "not checked"
    if worst is not None:
        verdict = "holds" if worst[0] <= 1 and is_whole else "fails"
    return Claim(
        id=agreement.id,
        basis="live",
        published=agreement.most,
        measured=None if worst is None else round(worst[1], 2),
        unit=agreement.unit,
        tolerance=f"or {agreement.relative:.0%} if more" if agreement.relative else "at most",
        verdict=verdict,
        statement=agreement.statement,
        note="" if is_whole else "Some numbers exist on one side only.",
        margin=1 - worst[0] if worst is not None and is_whole else None,
    )


def _pairs(kernel: Sequence[Table], simulator: Sequence[Table]) -> list[tuple[Table, Table]]:
    by_title = {table.title: table for table in simulator}
    return [
        (table, other)
        for table in kernel
        if (other := by_title.get(table.title)) is not None
        and list(other.columns) == list(table.columns)
        and len(other.rows) == len(table.rows)
    ]


def _column(table: Table, index: int) -> list[Cell]:
    return [row[index] for row in table.rows]


def _is_head(own: Table, other: Table, index: int) -> bool:
    cells = _column(own, index)
    text = all(cell is None or isinstance(cell, str) for cell in cells)
    return text and cells == _column(other, index)


def _is_measured(own: Table, other: Table, index: int) -> bool:
    cells, twins = _column(own, index), _column(other, index)
    numbers = all(cell is None or isinstance(cell, int | float) for cell in [*cells, *twins])
    return numbers and cells != twins


def _difference_cells(one: Cell, two: Cell) -> tuple[Cell, Cell, Cell]:
    if not (isinstance(one, int | float) and isinstance(two, int | float)):
        return one, two, None
    part = f" ({(one - two) / two:+.0%})" if two else ""
    return one, two, f"{one - two:+.4g}{part}"
