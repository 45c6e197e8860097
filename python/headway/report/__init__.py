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
from headway.report.zoom import ZoomChart

__all__ = [
    "Report",
    "ReportCell",
    "ReportFigure",
    "ReportTable",
    "Section",
    "ZoomChart",
    "plain_table",
    "render",
    "write_report",
]
