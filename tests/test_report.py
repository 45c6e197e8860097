"""The report: one file, nothing fetched, everything in it that was put in."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from headway.claims import Claim
from headway.errors import HeadwayError
from headway.figures import Panel, Series, style_of, svg_text, timeseries
from headway.report import (
    Report,
    ReportCell,
    ReportFigure,
    ReportTable,
    Section,
    ZoomChart,
    plain_table,
    render,
    write_report,
)
from headway.table import Table

TIME_S = np.linspace(0, 100, 200_000)
PANEL = Panel("cwnd (packets)", [Series("cwnd", TIME_S, TIME_S % 3, style_of("htcp"), step=True)])


class Page(HTMLParser):
    """Collects what a browser would fetch, open elements, and text outside scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self._skip = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._skip += tag in ("script", "style")
        values = dict(attrs)
        for name in ("src", "href", "data", "srcset", "poster", "action", "xlink:href"):
            value = values.get(name)
            if value and not value.startswith(("#", "data:")):
                self.fetched.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag: str) -> None:
        self._skip -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.text += data


def example() -> Report:
    return Report(
        title="A <study> & more",
        subtitle="what it is",
        summary=[("worst error", "3 ms")],
        sections=[
            Section(
                "Tables",
                ["Words before the table."],
                tables=[
                    ReportTable(
                        "Delay",
                        ["path", "flows", "published", "measured"],
                        [
                            [
                                ReportCell("50 ms"),
                                ReportCell("1"),
                                ReportCell("393.2"),
                                ReportCell("391.0", "holds", "within 25 ms"),
                            ]
                        ],
                    ),
                    plain_table(Table("Plain", ["a", "b"], [["x", 1.23456789], ["y", None]])),
                ],
                figures=[ReportFigure("Figure 1", svg_text(timeseries([PANEL])), "a saw")],
                charts=[ZoomChart("One flow", [PANEL, PANEL]), ZoomChart("Another", [PANEL])],
            )
        ],
        claims=[
            Claim("C-1", "delay of one", "simulated", 1.0, 1.1, "ms", "±20 %", "holds"),
            Claim("C-2", "order", "simulated", "a < b", "b < a", None, "sign", "fails"),
            Claim("C-3", "needs a kernel", "live", 0.5, None, "ms", "exact", "not checked"),
            Claim("C-4", "window", "setting", 10, 10, "pkts", "exact", "as stated"),
            Claim("C-5", "all", "simulated", "x", "y", None, "sign", "in part", part="half"),
        ],
        facts=[("seed", "1"), ("engine", "0.1.0")],
        commands=["headway run study --seed 1"],
    )


@pytest.fixture(scope="module")
def html() -> str:
    return render(example())


def test_nothing_is_fetched_and_the_page_forbids_it(html: str) -> None:
    page = Page()
    page.feed(html)
    assert page.fetched == []
    assert "default-src 'none'" in html
    style = html[: html.index("</style>")]
    assert not re.search(r"@import|url\(\s*['\"]?(?!data:|#)", style)


def test_everything_that_was_put_in_can_be_read(html: str) -> None:
    page = Page()
    page.feed(html)
    for text in (
        "A <study> & more",
        "worst error",
        "Words before the table.",
        "391.0",
        "1.235",
        "a saw",
        "delay of one",
        "needs a kernel",
        "headway run study --seed 1",
        "5 published statements: 1 of 3 simulated claims hold (and 1 in part); 1 of 1 settings are "
        "as stated; 1 not checked",
        "Judged: half",
    ):
        assert text in " ".join(page.text.split()), text
    assert "svg" in page.tags


def test_verdicts_are_words_and_marks_not_only_colours(html: str) -> None:
    assert re.search(
        r'class="v-fails"><span class="mark" aria-hidden="true">&#10007;</span>fails', html
    )
    assert re.search(r'class="v-holds" title="within 25 ms"><span[^>]*>&#10003;</span>391.0', html)


def test_the_library_is_embedded_once_however_many_charts(html: str) -> None:
    assert html.count("Bokeh.embed") >= 1
    assert len(html) < 4_000_000
    without = Report("t", "s", sections=[Section("x")])
    assert len(render(without)) < 20_000


def test_long_series_are_thinned(html: str) -> None:
    # 3 panels of 200 000 points would be 12 MB of base64 in single precision.
    assert len(html) - 1_400_000 < 1_500_000


def test_the_same_report_gives_the_same_page(html: str) -> None:
    assert render(example()) == html


def test_writing_says_in_one_line_what_went_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HeadwayError, match="cannot save"):
        write_report(tmp_path / "file" / "report.html", example())
    path = write_report(tmp_path / "report.html", example())
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
