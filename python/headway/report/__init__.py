"""The report of a study: one HTML file that opens offline."""

from headway.report.page import (
    Report,
    ReportCell,
    ReportFigure,
    ReportTable,
    Section,
    plain_table,
    render,
    write_report,
)
from headway.report.sketch import Edge, Node, row, sketches
from headway.report.svg import Sketch
from headway.report.words import question
from headway.report.zoom import ZoomChart

__all__ = [
    "Edge",
    "Node",
    "Report",
    "ReportCell",
    "ReportFigure",
    "ReportTable",
    "Section",
    "Sketch",
    "ZoomChart",
    "plain_table",
    "question",
    "render",
    "row",
    "sketches",
    "write_report",
]
