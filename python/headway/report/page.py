"""A self-contained HTML report: one file, no network, readable on a screen and in print.

A study fills a :class:`Report` with plain data; :func:`render` turns it into the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from headway.claims import BASES, VERDICTS, Claim, Verdict, told
from headway.files import save_text
from headway.report.zoom import ZoomChart, script_and_divs
from headway.table import Table, alone, texts

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True)
class ReportCell:
    """A cell: its text, what it was checked as (colour and mark), and a hint on hovering."""

    text: str
    verdict: Verdict | None = None
    hint: str = ""


@dataclass(frozen=True)
class ReportTable:
    """A table of the page. ``groups`` are (heading, columns spanned) above the columns."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[ReportCell]]
    note: str = ""
    groups: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True)
class ReportFigure:
    """A figure: an ``<svg>`` element as text, and what one sees in it."""

    title: str
    svg: str
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the page: text (one paragraph per item), then tables, figures, charts."""

    title: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[ReportTable] = ()
    figures: Sequence[ReportFigure] = ()
    charts: Sequence[ZoomChart] = ()

    @property
    def anchor(self) -> str:
        """The section's identifier in links."""
        return "".join(c if c.isalnum() else "-" for c in self.title.lower()).strip("-")


@dataclass(frozen=True)
class Report:
    """Everything on the page."""

    title: str
    subtitle: str
    summary: Sequence[tuple[str, str]] = ()
    """(what, value): the few numbers to see first."""
    sections: Sequence[Section] = ()
    claims: Sequence[Claim] = ()
    facts: Sequence[tuple[str, str]] = ()
    """(what, value): what was run, with which versions and seed."""
    commands: Sequence[str] = field(default=())
    """How to repeat it."""


def plain_table(table: Table) -> ReportTable:
    """A study's printed table as it stands."""
    rows = [[ReportCell(text) for text in row] for row in texts(table)]
    return ReportTable(table.title, table.columns, rows, table.note)


def render(report: Report) -> str:
    """The whole page as HTML."""
    charts = [chart for section in report.sections for chart in section.charts]
    library, script, divs = script_and_divs(charts)
    counts = Counter(claim.verdict for claim in report.claims)
    bases = Counter(claim.basis for claim in report.claims)
    return _template().render(
        report=report,
        library=library,
        chart_script=script,
        chart_div=dict(zip(map(id, charts), divs, strict=True)),
        verdicts=[(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]],
        bases=[(basis, bases[basis]) for basis in BASES if bases[basis]],
        told=told(report.claims),
        text=alone,
        id=id,
    )


def write_report(path: Path, report: Report) -> Path:
    """Render the report into ``path``.

    Raises:
        HeadwayError: if the file cannot be written.
    """
    save_text(path, render(report))
    return path


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    source = resources.files("headway.report").joinpath("page.html.j2").read_text("utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source)
