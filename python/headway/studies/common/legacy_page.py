"""The page of a study: its tables, figures, claims and data, written the same way by all.

A study fills :class:`Findings`; :func:`publish` writes report.html, claims.json, the figures and
the data, and returns the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from headway.claims import Claim, write_claims
from headway.figures import svg_text
from headway.files import save_text, saving
from headway.report import Report, ReportFigure, Section, plain_table, write_report
from headway.studies.common.legacy_claims import tally
from headway.study import Study, StudyContext, StudyResult
from headway.table import Cell, Table
from headway.trace import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Figures = dict[str, "tuple[str, str, Figure]"]
"""Figures by file name: (title, caption, figure)."""


@dataclass
class Findings:
    """What a study found."""

    claims: Sequence[Claim]
    tables: Sequence[Table] = ()
    figures: Figures = field(default_factory=dict)
    data: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Result tables by file name, saved as Parquet."""
    summary: Sequence[tuple[str, str]] = ()
    choices: Sequence[str] = ()
    """What the paper leaves open and was chosen here, one paragraph each."""
    facts: Sequence[tuple[str, str]] = ()


def publish(
    study: Study[Any, Any], ctx: StudyContext, traces: Mapping[str, Trace], findings: Findings
) -> StudyResult:
    """Write the study's files into ``ctx.out_dir``."""
    shown, files = [], []
    for name, (title, caption, figure) in findings.figures.items():
        svg = svg_text(figure)
        file = ctx.out_dir / "figures" / f"{name}.svg"
        save_text(file, svg)
        files.append(file)
        shown.append(ReportFigure(title, svg, caption))
    for name, rows in findings.data.items():
        file = ctx.out_dir / f"{name}.parquet"
        with saving(file) as temporary, temporary.open("wb") as stream:
            rows.write_parquet(stream, compression="zstd", compression_level=1)
        files.append(file)
    claims = sorted(findings.claims, key=lambda claim: claim.id)
    claims_file = write_claims(ctx.out_dir / "claims.json", claims)
    sections = [
        Section("Figures", figures=shown),
        Section("Tables", tables=[plain_table(table) for table in findings.tables]),
        Section("Choices", findings.choices),
    ]
    report = Report(
        title=study.title,
        subtitle=study.source,
        summary=[*findings.summary, ("claims", tally(claims))],
        sections=[part for part in sections if part.figures or part.tables or part.paragraphs],
        claims=claims,
        facts=[*findings.facts, *_facts(ctx, traces)],
        commands=[_command(ctx, study.name)],
    )
    page = write_report(ctx.out_dir / "report.html", report)
    return StudyResult(findings.tables, claims, page, [claims_file, *files])


def _facts(ctx: StudyContext, traces: Mapping[str, Trace]) -> list[tuple[str, str]]:
    facts = [
        ("Trials", str(len(traces))),
        ("Seed", str(ctx.seed)),
        ("Quick", "yes: fewer or shorter trials" if ctx.quick else "no"),
    ]
    if not traces:
        return facts
    meta = next(iter(traces.values())).meta
    versions = ", ".join(f"{k} {v}" for k, v in meta.get("versions", {}).items())
    return [
        *facts,
        ("Backend", str(meta.get("backend"))),
        ("Versions", versions),
        ("Platform", str(meta.get("platform"))),
    ]


def _command(ctx: StudyContext, name: str) -> str:
    quick = " --quick" if ctx.quick else ""
    return f"headway run {name}{quick} --backend {ctx.backend.name} --seed {ctx.seed}"


def seconds(value: float) -> Cell:
    """A time with two digits, or a dash for one that never came (NaN)."""
    return round(value, 2) if math.isfinite(value) else "–"
