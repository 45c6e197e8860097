"""Writes the result files of every study: report.html, claims.json, figures and data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from headway.claims import Claim, write_claims
from headway.files import save_text
from headway.report import (
    Report,
    ReportFigure,
    ReportTable,
    Section,
    Sketch,
    ZoomChart,
    plain_table,
    write_report,
)
from headway.table import Table
from headway.trace import save_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Drawn = tuple[str, str, "Figure"]
"""A figure with its title and caption: (title, caption, figure)."""
Figures = dict[str, Drawn]
"""Figures by file name."""


@dataclass
class Page:
    """What a study shows of its findings."""

    tables: Sequence[Table] = ()
    """Printed, and shown in the report unless ``report_tables`` replaces them."""
    figures: Figures = field(default_factory=dict)
    data: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Result tables by file name, saved as Parquet."""
    summary: Sequence[tuple[str, str]] = ()
    """(what, value): the few numbers at the top of the report."""
    facts: Sequence[tuple[str, str]] = ()
    report_tables: Sequence[ReportTable] | None = None
    sections: Sequence[Section] = ()
    """Further sections of the report, after its tables."""


def publish(
    out_dir: Path,
    *,
    title: str,
    source: str,
    page: Page,
    choices: Sequence[str],
    claims: Sequence[Claim],
    facts: Sequence[tuple[str, str]],
    command: str,
    question: Sequence[tuple[str, str]] = (),
    sketches: Sequence[Sketch] = (),
    form: Sequence[tuple[str, str]] = (),
) -> tuple[Path, list[Path]]:
    """Write a study's files into ``out_dir``; returns the report and the other files."""
    from headway.figures import svg_text
    from headway.report.dark import darkened

    shown, files = [], []
    for name, (heading, caption, figure) in page.figures.items():
        svg = svg_text(figure)
        for file_name, text in ((name, svg), (f"{name}-dark", darkened(svg))):
            file = out_dir / "figures" / f"{file_name}.svg"
            save_text(file, text)
            files.append(file)
        shown.append(ReportFigure(heading, svg, caption, name, _to_zoom(heading, figure)))
    for name, rows in page.data.items():
        files.append(save_table(rows, out_dir / f"{name}.parquet"))
    claims_file = write_claims(out_dir / "claims.json", claims)
    tables = page.report_tables
    if tables is None:
        tables = [plain_table(table) for table in page.tables]
    sections = [
        Section("Figures", figures=shown),
        Section("Tables", tables=tables),
        *page.sections,
        Section("Choices", choices),
    ]
    report = Report(
        title=title,
        subtitle=source,
        summary=page.summary,
        sections=[
            part
            for part in sections
            if part.figures or part.tables or part.paragraphs or part.charts
        ],
        claims=claims,
        facts=[*page.facts, *facts],
        commands=[command],
        question=question,
        sketches=sketches,
        form=form,
    )
    return write_report(out_dir / "report.html", report), [claims_file, *files]


def _to_zoom(title: str, figure: Figure) -> ZoomChart | None:
    """A zoomable copy of a figure over time; None for other figures."""
    from headway.figures import shown_over_time

    shown = shown_over_time(figure)
    return None if shown is None else ZoomChart(title, shown[1], x_label=shown[0])
