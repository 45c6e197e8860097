"""Opens a quick report in Chromium: desktop and phone, light and dark scheme.

Measures sizes, colours and text, no time.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from quick import quick

from headway.browser import chromium
from headway.claims import Claim
from headway.figures import Curve, Style, curves, svg_text
from headway.figures.style import BLACK
from headway.report import (
    Edge,
    Node,
    Report,
    ReportCell,
    ReportFigure,
    ReportTable,
    Section,
    row,
    write_report,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.program() is None, reason="chromium is not installed"),
]

DESK_PX, PHONE_PX = 1400, 400
SCHEMES = ("light", "dark")
CONTRAST = 4.5
"""The contrast ratio that the accessibility guidelines require for text (WCAG 2.1, 1.4.3)."""

FACTS = (Path(__file__).parent / "report_facts.js").read_text(encoding="utf-8")


class Looked:
    """A report in four views: facts and pictures by (width, scheme), and the browser."""

    def __init__(self, window: chromium.Browser, report: Path, shots: Path) -> None:
        self.window = window
        self.facts: dict[tuple[int, str], dict[str, Any]] = {}
        self.pictures: dict[tuple[int, str], np.ndarray] = {}
        window.set_window(DESK_PX, SCHEMES[0])
        window.open(report)
        for width in (DESK_PX, PHONE_PX):
            for scheme in SCHEMES:
                window.set_window(width, scheme)
                self.facts[width, scheme] = window.value(FACTS)
                png = window.picture(shots / f"report-{width}-{scheme}.png")
                self.pictures[width, scheme] = imread(io.BytesIO(png))[..., :3].mean(axis=2)


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looked]:
    """The quick report of paper 001, in four views.

    HEADWAY_SHOTS names a folder for the screenshots.
    """
    report = quick("collateral-damage").result.report
    assert report is not None
    shots = os.environ.get("HEADWAY_SHOTS")
    folder = Path(shots) if shots else tmp_path_factory.mktemp("shots")
    with chromium.browser(tmp_path_factory.mktemp("profile")) as window:
        yield Looked(window, report, folder)


def test_nothing_is_asked_of_a_network_and_nothing_complains(looked: Looked) -> None:
    assert looked.window.requests == []
    assert looked.window.errors_and_warnings == []


@pytest.mark.parametrize("width", [DESK_PX, PHONE_PX])
def test_nothing_is_wider_than_the_window(looked: Looked, width: int) -> None:
    facts = looked.facts[width, "light"]
    assert facts["inner"] == width
    assert facts["page"] <= width
    assert facts["wide"] == []


@pytest.mark.parametrize("width", [DESK_PX, PHONE_PX])
def test_every_verdict_is_in_the_window(looked: Looked, width: int) -> None:
    facts = looked.facts[width, "light"]
    assert facts["verdicts"] == len(quick("collateral-damage").result.claims)
    assert facts["marked"] > facts["verdicts"]
    assert facts["hidden"] == 0


def test_it_begins_with_what_was_asked_and_what_was_found(looked: Looked) -> None:
    facts = looked.facts[DESK_PX, "light"]
    assert facts["titles"][:2] == ["What was asked", "What was found"]
    assert facts["sketch"] > 300
    assert looked.facts[PHONE_PX, "light"]["sketch"] > 300


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [DESK_PX, PHONE_PX])
def test_all_text_stands_out(looked: Looked, width: int, scheme: str) -> None:
    contrast, text = looked.facts[width, scheme]["worst"]
    assert contrast >= CONTRAST, text


@pytest.mark.parametrize("width", [DESK_PX, PHONE_PX])
def test_dark_and_light_differ_in_colours_only(looked: Looked, width: int) -> None:
    light, dark = (looked.pictures[width, scheme] for scheme in SCHEMES)
    assert light.shape == dark.shape == (900, width)
    assert light.mean() > 0.85
    assert dark.mean() < 0.25
    assert min(light.std(), dark.std()) > 0.03
    # The light and the dark scheme draw the same picture with inverted brightness.
    assert np.corrcoef(light.ravel(), dark.ravel())[0, 1] < -0.8
    one, other = (looked.facts[width, scheme] for scheme in SCHEMES)
    assert one["headings"] == other["headings"]


def test_charts_to_zoom_into_follow_the_scheme(looked: Looked) -> None:
    light, dark = (looked.facts[DESK_PX, scheme]["charts"] for scheme in SCHEMES)
    assert set(light) == {"#ffffff"}
    assert set(dark) == {"#15181b"}


def test_a_figure_over_time_opens_to_be_zoomed_into(looked: Looked) -> None:
    drawn = looked.window.value(
        """new Promise(done => {
          const more = document.querySelector("#figure-2 details");
          more.open = true;
          setTimeout(() => { const b = more.querySelector(".chart").getBoundingClientRect();
            done([b.width, b.height]); }, 300); })"""
    )
    assert drawn[0] > 300
    assert drawn[1] > 300


def test_a_link_finds_its_claim_whatever_is_left_out(looked: Looked) -> None:
    name = quick("collateral-damage").result.claims[-1].id
    shown = looked.window.value(
        f"""new Promise(done => {{
          const row = document.getElementById("{name}");
          const field = document.getElementById("claims-text");
          field.value = "nothing has these words";
          field.dispatchEvent(new Event("input"));
          const before = row.hidden;
          location.hash = "{name}";
          setTimeout(() => {{ const b = row.getBoundingClientRect();
            done([before, row.hidden, b.top, row.querySelector("a.anchor").href]); }}, 100); }})"""
    )
    assert shown[:2] == [True, False]
    assert -1 <= shown[2] < 900
    assert shown[3].endswith(f"report.html#{name}")


@pytest.mark.parametrize("width", [DESK_PX, PHONE_PX])
def test_words_without_end_are_folded_or_scroll_in_their_own_box(
    looked: Looked, tmp_path: Path, width: int
) -> None:
    long = "<b>" + "w" * 300
    cells = [[ReportCell(long, "holds", long)] * 3] * 2
    claims = [
        Claim(long, long, "live", long, long, long, long, "not checked", long, long),
        Claim("C-1", long, "live", long, 1.5, long, long, "fails", long, long, long),
    ]
    table = ReportTable(long, [long] * 3, cells, long, [(long, 3)])
    sections = [Section(long, [long], [table], [ReportFigure(long, "<svg></svg>", long, long)])]
    sketch = row([Node([long]), Node([long])], [Edge([long])], long)
    pairs = [(long, long)]
    report = Report(long, long, pairs, sections, claims, pairs, [long], pairs, [sketch], pairs)
    looked.window.set_window(width, "light")
    looked.window.open(write_report(tmp_path / "report.html", report))
    facts = looked.window.value(FACTS)
    assert facts["page"] <= width
    assert facts["wide"] == []
    assert facts["hidden"] == 0 or width == DESK_PX  # on a phone, a wide table scrolls
    assert looked.window.errors_and_warnings == []


def test_markers_and_ticks_are_drawn_in_a_dark_page_as_in_a_light_one(
    looked: Looked, tmp_path: Path
) -> None:
    """Test the colours of markers and ticks.

    They are copies of a shape, so CSS rules for a figure's elements do not apply to them.
    """
    many = np.arange(60.0)
    crosses = Curve("published", many, many, Style(BLACK, "x"), line=False, markers=True)
    figure = ReportFigure("F", svg_text(curves([("", [crosses])], x_label="x", y_label="y")))
    report = Report("t", "s", sections=[Section("F", figures=[figure])])
    page = write_report(tmp_path / "report.html", report)
    inked = []
    for scheme in SCHEMES:
        looked.window.set_window(DESK_PX, scheme)
        looked.window.open(page)
        shown = imread(io.BytesIO(looked.window.picture()))[..., :3].mean(axis=2)
        inked.append((np.abs(shown - np.median(shown)) > 0.4).sum())
    assert inked[0] > 2000
    assert inked[1] == pytest.approx(inked[0], rel=0.15)
