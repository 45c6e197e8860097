"""A self-contained HTML report: one file, no network, readable on a screen and in print.

A study fills a ``Report`` with plain data; ``render`` turns it into the page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from headway.claims import BASES, VERDICTS, Claim, Verdict, told
from headway.files import save_text
from headway.report.dark import dark_colour, rules
from headway.report.svg import Sketch
from headway.report.words import grouped_by_verdict
from headway.report.zoom import ZoomChart, colours, script_and_divs
from headway.table import Table, is_numeric, texts, value_text

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True)
class ReportCell:
    """A cell: its text, its verdict (shown by colour and mark), and a hint on hovering."""

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

    @property
    def numeric(self) -> list[bool]:
        """Per column, whether it has numbers, which are right-aligned."""
        return [is_numeric([row[i].text for row in self.rows]) for i in range(len(self.columns))]

    @property
    def group_names(self) -> list[str]:
        """Per column, the name of the group that begins there; a phone shows it above values."""
        names = []
        for name, span in self.groups:
            names += [name, *[""] * (span - 1)]
        return names + [""] * (len(self.columns) - len(names))

    @property
    def labels(self) -> int:
        """Number of columns, from the left, that label a row."""
        numeric = self.numeric
        return numeric.index(True) if True in numeric else 1

    @property
    def abreast(self) -> int:
        """Number of columns that a phone shows side by side: those of a group, or else three."""
        return min((span for name, span in self.groups if name), default=3)

    @property
    def verdicts(self) -> list[tuple[Verdict, int]]:
        """Number of checked cells by verdict."""
        counts = Counter(cell.verdict for row in self.rows for cell in row)
        return [(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]]


@dataclass(frozen=True)
class ReportFigure:
    """A figure: an ``<svg>`` element as text, a caption, and a zoomable chart of the same data."""

    title: str
    svg: str
    caption: str = ""
    name: str = ""
    """The file's name, used in links; links use the title if it is empty."""
    chart: ZoomChart | None = None


@dataclass(frozen=True)
class Section:
    """A part of the page: text (one paragraph per item), then tables, figures, charts."""

    title: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[ReportTable] = ()
    figures: Sequence[ReportFigure] = ()
    charts: Sequence[ZoomChart] = ()


@dataclass(frozen=True)
class Report:
    """The content of the page."""

    title: str
    subtitle: str
    summary: Sequence[tuple[str, str]] = ()
    """Pairs of name and value: the few numbers at the top of the page."""
    sections: Sequence[Section] = ()
    claims: Sequence[Claim] = ()
    facts: Sequence[tuple[str, str]] = ()
    """Pairs of name and value that describe what was run, with versions and seed."""
    commands: Sequence[str] = field(default=())
    """Commands that repeat the run."""
    question: Sequence[tuple[str, str]] = ()
    """Pairs of title and text that state the study's question."""
    sketches: Sequence[Sketch] = ()
    """Drawings of the set-up."""
    form: Sequence[tuple[str, str]] = ()
    """Pairs of name and value at the top of the page: form, seed and versions of this run."""


def plain_table(table: Table) -> ReportTable:
    """A study's printed table as a table of the report, with the same texts."""
    rows = [[ReportCell(text) for text in row] for row in texts(table)]
    return ReportTable(table.title, table.columns, rows, table.note)


def render(report: Report) -> str:
    """The whole page as HTML."""
    charts = [
        chart
        for section in report.sections
        for chart in (*(figure.chart for figure in section.figures), *section.charts)
        if chart is not None
    ]
    library, script, divs = script_and_divs(charts)
    counts = Counter(claim.verdict for claim in report.claims)
    bases = Counter(claim.basis for claim in report.claims)
    anchors = _anchors(report)
    return _template().render(
        report=report,
        style=_part("page.css"),
        script=_part("page.js"),
        dark_rules=rules(figure.svg for section in report.sections for figure in section.figures),
        dark_colours={colour: dark_colour(colour) for colour in sorted(colours(charts))},
        library=library,
        chart_script=script,
        chart_div=dict(zip(map(id, charts), divs, strict=True)),
        verdicts=[(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]],
        bases=[(basis, bases[basis]) for basis in BASES if bases[basis]],
        told=told(report.claims),
        found=grouped_by_verdict(report.claims),
        anchor=lambda thing: anchors[id(thing)],
        text=value_text,
        id=id,
    )


def write_report(path: Path, report: Report) -> Path:
    """Render the report into ``path``.

    Raises:
        HeadwayError: if the file cannot be written.
    """
    save_text(path, render(report))
    return path


OWN_ANCHORS = ("asked", "found", "claims", "what-was-run")
"""Anchors of the parts that the template adds."""


def _anchors(report: Report) -> dict[int, str]:
    """A unique anchor for every section, table, figure and chart, by ``id``.

    Claims use their identifiers.
    """
    taken = {*OWN_ANCHORS, *(claim.id for claim in report.claims)}
    made: dict[int, str] = {}

    def name(thing: object, kind: str, title: str) -> None:
        own = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or kind
        if kind and not own.startswith(kind):
            own = f"{kind}-{own}"
        number, free = 1, own
        while free in taken:
            number += 1
            free = f"{own}-{number}"
        taken.add(free)
        made[id(thing)] = free

    for section in report.sections:
        name(section, "", section.title)
    for section in report.sections:
        for table in section.tables:
            name(table, "table", re.split(r"[:.] |[:.]$", table.title)[0])
        for figure in section.figures:
            name(figure, "figure", figure.name or figure.title)
        for chart in section.charts:
            name(chart, "chart", chart.title)
    return made


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_part("page.html.j2"))


@cache
def _part(name: str) -> str:
    return resources.files("headway.report").joinpath(name).read_text("utf-8")
