"""The report: one file that contains everything and fetches nothing."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from support import experiment

from headway.backends import backend_named
from headway.claims import Claim
from headway.errors import HeadwayError
from headway.figures import (
    Curve,
    Panel,
    Series,
    curves,
    shown_over_time,
    style_of,
    svg_text,
    timeseries,
)
from headway.figures.style import STYLES
from headway.report import (
    Edge,
    Node,
    Report,
    ReportCell,
    ReportFigure,
    ReportTable,
    Section,
    Sketch,
    ZoomChart,
    plain_table,
    question,
    render,
    row,
    sketches,
    write_report,
)
from headway.report.dark import INK, PAPER, contrast, dark_colour, darkened
from headway.report.sketch import Way
from headway.study import StudyContext, discover
from headway.table import Table

TIME_S = np.linspace(0, 100, 200_000)
PANEL = Panel("cwnd (packets)", [Series("cwnd", TIME_S, TIME_S % 3, style_of("htcp"), step=True)])


class Page(HTMLParser):
    """Collects from a page: addresses that a browser would fetch, elements, identifiers outside of
    pictures, and text outside of scripts.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.names: list[str] = []
        self._skip = self._drawn = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._skip += tag in ("script", "style")
        self._drawn += tag == "svg"
        values = dict(attrs)
        if "id" in values and not self._drawn:
            self.names.append(values["id"] or "")
        for name in ("src", "href", "data", "srcset", "poster", "action", "xlink:href"):
            value = values.get(name)
            if value and not value.startswith(("#", "data:")):
                self.fetched.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag: str) -> None:
        self._skip -= tag in ("script", "style")
        self._drawn -= tag == "svg"

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
        question=[("What is claimed", "One is <faster>.")],
        sketches=sketches([experiment()]),
        form=[("Form", "quick"), ("Seed", "1")],
    )


@pytest.fixture(scope="module")
def html() -> str:
    return render(example())


@pytest.mark.slow
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
        "5 published statements: 1 of 3 simulated statements of ours hold (and 1 in part); "
        "1 of 1 settings are as stated; 1 not checked",
        "Judged: half",
    ):
        assert text in " ".join(page.text.split()), text
    assert "svg" in page.tags


def test_verdicts_are_words_and_marks_not_only_colours(html: str) -> None:
    assert re.search(
        r'class="v-fails"><span class="mark" aria-hidden="true">&#10007;</span>fails', html
    )
    assert re.search(
        r'class="n v-holds" title="within 25 ms"[^>]*><span[^>]*>&#10003;</span>391.0', html
    )


def test_the_library_is_embedded_once_however_many_charts(html: str) -> None:
    assert html.count("Bokeh.embed") >= 1
    assert len(html) < 4_000_000
    without = Report("t", "s", sections=[Section("x")])
    assert len(render(without)) < 20_000


def test_long_series_are_thinned(html: str) -> None:
    # Without thinning, 3 panels of 200 000 points would be 12 MB of base64 in single precision.
    assert len(html) - 1_400_000 < 1_500_000


def test_the_same_report_gives_the_same_page(html: str) -> None:
    assert render(example()) == html


@pytest.mark.slow
def test_writing_says_in_one_line_what_went_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HeadwayError, match="cannot save"):
        write_report(tmp_path / "file" / "report.html", example())
    path = write_report(tmp_path / "report.html", example())
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_it_begins_with_what_was_asked_and_found_and_which_form_it_is(html: str) -> None:
    page = Page()
    page.feed(html)
    text = " ".join(page.text.split())
    order = ["Form: quick", "Seed: 1", "One is <faster>.", "60000 B, drop-tail", "What was found",
             "As published (2)", "C-1 delay of one. Measured: 1.1 ms; published: 1 ms.",
             "In part (1)", "Not as published (1)", "Words before the table."]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_every_figure_table_and_claim_has_a_link_of_its_own(html: str) -> None:
    page = Page()
    page.feed(html)
    own = page.names
    assert {"figure-1", "table-delay", "table-plain", "chart-one-flow", "C-1", "claims"} <= set(own)
    assert sorted(own) == sorted(set(own))
    links = re.findall(r'class="anchor" href="#([^"]+)"', html)
    assert set(links) <= set(own)
    assert {"figure-1", "C-1", "table-delay"} <= set(links)


def test_two_things_of_one_name_are_told_apart() -> None:
    twice = [plain_table(Table("Sizes: small", ["a"], [])), plain_table(Table("Sizes", ["a"], []))]
    page = render(Report("t", "s", sections=[Section("Claims", tables=twice), Section("Found")]))
    for name in ("claims-2", "found-2", "table-sizes", "table-sizes-2"):
        assert f'id="{name}"' in page


def test_numbers_stand_to_the_right_and_words_to_the_left(html: str) -> None:
    assert '<th scope="col" class="n">published</th>' in html
    assert '<th scope="col">path</th>' in html
    assert '<td class="n" data-name="published">393.2</td>' in html
    assert '<td class="n">1.235</td>' in html
    assert "<td>50 ms</td>" in html
    assert '<span class="v-holds">1 holds</span>' in html


def test_nothing_that_is_put_in_becomes_part_of_the_page() -> None:
    evil = "\"><img src=x onerror='alert(1)'></text></title>"
    cell = ReportCell(evil, "holds", evil)
    page = render(
        Report(
            evil,
            evil,
            [(evil, evil)],
            [
                Section(evil, [evil], [ReportTable(evil, [evil], [[cell]], evil, [(evil, 1)])],
                        [ReportFigure(evil, "<svg></svg>", evil, evil)],
                        [ZoomChart(evil, [PANEL], evil)]),
            ],
            [Claim(evil, evil, "live", evil, evil, evil, evil, "fails", evil, evil, evil)],
            [(evil, evil)],
            [evil],
            [(evil, evil)],
            [row([Node([evil]), Node([evil])], [Edge([evil], [evil])], evil, [Way(0, 1, evil)])],
            [(evil, evil)],
        )
    )  # fmt: skip
    read = Page()
    read.feed(page)
    assert "img" not in read.tags
    assert read.fetched == []
    assert read.tags.count("title") == 1


DOCSTRING = """A study.

Claim: this is
so, mostly. Setup: two hosts. Run: ten times.  Check: the median.
Plot: figure 3.

Somebody (2011).
"""


def test_what_was_asked_is_in_a_study_s_own_words() -> None:
    assert question(DOCSTRING, "else") == [
        ("What is claimed", "This is so, mostly."),
        ("Set-up", "Two hosts."),
        ("The full form", "Ten times."),
        ("What was checked", "The median."),
    ]
    assert question(None, "else") == [("Set-up", "else")]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(discover()))
def test_every_study_says_what_it_asks_and_draws_what_it_measures(name: str, tmp_path) -> None:
    study = discover()[name]
    live = study.on("kernel")
    for form in (study,) if live is study else (study, live):
        ctx = StudyContext(tmp_path, backend_named("sim"), quick=True)
        drawn = form.sketches(ctx)
        assert drawn
        for sketch in drawn:
            assert sketch.svg.count("<text") >= 3
            assert len(sketch.caption) > 40
    assert question(sys.modules[type(study).__module__].__doc__, "")[0][0] == "What is claimed"


def test_a_dumbbell_s_sketch_has_the_values_of_all_experiments() -> None:
    path = {"kind": "dumbbell", "rate": "1Mbit/s", "rtt": "50 ms", "buffer": "40 pkts"}
    drawn = sketches(
        [experiment(topology=path | {"rtt": f"{ms} ms", "loss": 0.01}) for ms in (50, 80, 9, 300)]
        + [experiment(topology=path | {"rate": "9Mbit/s", "quick_start": True}, flows="1xreno")]
        + [experiment(topology=path | {"jitter": "9 ms"})]
    )
    [sketch] = drawn
    for text in ("1 or 9 Mbit/s", "40 pkts, drop-tail", "9 to 300 ms round trip", "1 or 2",
                 "random loss 0.01", "Quick-Start router in some", "jitter in some"):  # fmt: skip
        assert text in sketch.svg, text
    assert "6 trials of 10 s" in sketch.caption
    assert _inside(sketch)


def test_a_chain_s_sketch_has_its_hops_and_who_goes_where() -> None:
    hops = [
        {"forward": {"rate": rate, "delay": "10 ms", "buffer": "40 pkts"}}
        for rate in ("1 Mbit/s", "2 Mbit/s", "3 Mbit/s")
    ]
    chain = experiment(
        topology={"kind": "chain", "hops": hops}, flows="1xreno,1xcubic:from_hop=1:to_hop=2"
    )
    [sketch] = sketches([chain])
    assert sketch.svg.count("<circle") == 4
    assert "back:" not in sketch.svg
    for text in ("1 Mbit/s", "2 Mbit/s", "3 Mbit/s", "10 ms each way", ">reno<", ">cubic<"):
        assert text in sketch.svg, text
    assert _inside(sketch)


def edge(between: str, rate: str) -> dict[str, object]:
    return {"between": between, "forward": {"rate": rate, "delay": "9 ms", "buffer": "40 pkts"}}


@pytest.mark.parametrize(
    ("nodes", "edges", "rows"),
    [
        ("abcd", ("a-b", "b-c", "c-d"), [4]),  # in a row
        ("abcd", ("a-d", "b-d", "c-d"), [1, 3]),  # hosts below their hub
        ("abcd", ("a-b", "b-c", "c-a", "c-d"), [1, 2, 1]),  # on a circle
        ("abc", ("a-b", "b-c", "c-a"), [1, 2]),  # without ends
        ("abcd", ("a-b", "c-d"), [1, 2, 1]),  # in two parts
    ],
)
def test_a_network_s_sketch_has_its_nodes_and_edges(
    nodes: str, edges: tuple[str, ...], rows: list[int]
) -> None:
    drawn = [edge(between, f"{number + 1} Mbit/s") for number, between in enumerate(edges)]
    path = {"kind": "network", "nodes": list(nodes), "edges": drawn}
    made = experiment(topology=path, flows="1xreno:source=a:destination=b")
    [sketch] = sketches([made])
    heights = re.findall(r'<text x="[\d.]+" y="([\d.]+)">\w</text>', sketch.svg)
    assert [heights.count(y) for y in sorted(set(heights), key=float)] == rows
    for number in range(len(edges)):
        assert f">{number + 1} Mbit/s<" in sketch.svg
    assert sketch.svg.count('class="behind"') >= len(edges) - len(made.routes(0)[0])
    assert "reno from a to b" in sketch.caption
    assert _inside(sketch)


def test_a_large_network_s_sketch_has_no_labels() -> None:
    port = {"forward": {"rate": "1 Gbit/s", "delay": "9 us", "buffer": "40 pkts"}}
    fast = {"forward": {"rate": "4 Gbit/s", "delay": "9 us", "buffer": "40 pkts"}}
    path = {"kind": "leaf-spine", "leaves": 8, "spines": 4, "hosts": 16,
            "host_edge": port, "spine_edge": fast}  # fmt: skip
    made = experiment(topology=path, flows="1xreno:source=host0:destination=host127")
    [sketch] = sketches([made])
    assert sketch.svg.count("<rect") == 8 + 4 + 128
    assert "<text" not in sketch.svg
    assert "<title>host127</title>" in sketch.svg
    assert "140 nodes and 160 edges: 1 Gbit/s, 40 pkts, drop-tail" in sketch.caption
    [star] = sketches(
        [experiment(topology={"kind": "star", "hosts": 3, "edge": port}, flows="reno")]
    )
    assert star.svg.count("<rect") == 4


def test_a_chain_s_sketch_shows_who_goes_the_other_way() -> None:
    hop = {"forward": {"rate": "5 Mbit/s", "delay": "9 ms", "buffer": "40 pkts"}}
    flows = "1xreno,1xcubic:from_hop=1:direction=reverse"
    [sketch] = sketches([experiment(topology={"kind": "chain", "hops": [hop, hop]}, flows=flows)])
    tips = re.findall(r'd="M([\d.]+) [\d.]+H([\d.]+)M[\d.]+ [\d.]+L', sketch.svg)
    assert [float(begin) < float(end) for begin, end in tips] == [True, False]
    assert _inside(sketch)


def test_a_chain_s_sketch_says_what_the_way_back_is_where_it_is_another() -> None:
    up = {"rate": "5 Mbit/s", "delay": "290 ms", "buffer": "40 pkts"}
    hop = {"forward": up, "reverse": {**up, "rate": "50 Mbit/s", "loss": 0.01}}
    kinds = ("careful-resume", "jump-start", "quick-start")
    flows = ",".join(f"1xcubic+{startup}" for startup in kinds)
    [sketch] = sketches([experiment(topology={"kind": "chain", "hops": [hop]}, flows=flows)])
    for text in ("back: 50 Mbit/s, 40 pkts,", "random loss 0.01", "cubic+careful-resume,"):
        assert text in sketch.svg, text
    assert _inside(sketch)


def _inside(sketch: Sketch) -> bool:
    """Whether all texts are inside the picture, if letters have the assumed width."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', sketch.svg)
    assert found is not None
    width, height = map(float, found.groups())
    return all(
        len(text) * 3 <= float(x) <= width - len(text) * 3 and 8 <= float(y) <= height
        for x, y, text in re.findall(r'<text x="([\d.]+)" y="([\d.]+)">([^<]+)<', sketch.svg)
    )


def test_every_colour_of_a_figure_is_seen_in_the_dark_and_no_two_become_one() -> None:
    colours = sorted({style.colour.lower() for style in STYLES.values()})
    dark = [dark_colour(colour) for colour in colours]
    assert min(contrast(colour, PAPER) for colour in dark) >= 4.5
    assert len(set(dark)) == len(colours)
    assert (dark_colour("#000000"), dark_colour("#ffffff")) == (INK, PAPER)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_a_dark_page_has_a_rule_for_all_that_its_figures_paint(html: str) -> None:
    dark = html[html.rindex("prefers-color-scheme: dark", 0, html.index("</style>")) :]
    for name, colour in ("ink", INK), ("paper", PAPER):
        assert f"--{name}: {colour};" in html
    painted = set(re.findall(r"(fill|stroke): (#[0-9a-f]{6})", html[html.index("<figure") :]))
    assert len(painted) > 3
    for what, colour in painted:
        rule = f'[style*="{what}: {colour}"] {{ {what}: {dark_colour(colour)} !important'
        assert rule in dark


def test_a_darkened_picture_keeps_no_colour_of_the_light_one() -> None:
    svg = svg_text(timeseries([PANEL]))
    dark = darkened(svg)
    painted = set(re.findall(r"#[0-9a-f]{6}", svg))
    assert len(painted) > 3
    assert set(re.findall(r": (#[0-9a-f]{6})\b", dark)) == {dark_colour(one) for one in painted}
    assert f"text{{fill: {INK}}}" in dark


def test_a_figure_over_time_is_there_to_be_zoomed_into_and_no_other() -> None:
    points = Curve("dots", TIME_S[:9], TIME_S[:9], style_of("reno"), line=False)
    over_time = curves([("", [points])], x_label="time (s)", y_label="kB")
    shown = shown_over_time(over_time)
    assert shown is not None
    label, [panel] = shown
    assert (label, panel.y_label, panel.series[0].points) == ("time (s)", "kB", True)
    for other in "size (B)", "time between vectors (s)":
        assert shown_over_time(curves([("", [points])], x_label=other, y_label="s")) is None
    again = shown_over_time(timeseries([PANEL]))
    assert again is not None
    assert again[1][0].series[0].x.size == TIME_S.size
    figure = ReportFigure("One", "<svg></svg>", chart=ZoomChart("One", [panel]))
    page = render(Report("t", "s", sections=[Section("F", figures=[figure])]))
    assert "<summary>One to zoom into</summary>" in page
    assert '"Scatter"' in page
