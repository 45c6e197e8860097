"""Figures: they show the data, files are reproducible, colours are fixed."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from headway.figures import (
    QUEUE,
    Bars,
    Dot,
    Pairs,
    Panel,
    Sample,
    Series,
    cdf,
    dots,
    figure_bytes,
    grouped_bars,
    min_max_indices,
    published_vs_measured,
    save_figure,
    style_of,
    svg_text,
    timeseries,
)
from headway.figures.style import STYLES
from headway.registry import registry

TIME_S = np.linspace(0, 10, 50_000)
SAW = TIME_S % 1.0


def one_panel() -> list[Panel]:
    return [Panel("cwnd (packets)", [Series("cwnd", TIME_S, SAW, style_of("reno"), step=True)])]


def test_decimation_keeps_the_envelope_and_both_ends() -> None:
    rng = np.random.default_rng(7)
    y = rng.normal(size=100_000)
    y[61_234] = 50.0
    y[7] = -50.0
    keep = min_max_indices(y, 1000)
    assert keep.size <= 1000
    assert np.all(np.diff(keep) > 0)
    assert keep[0] == 0
    assert keep[-1] == y.size - 1
    assert 61_234 in keep
    assert 7 in keep
    for part in np.array_split(np.arange(y.size), 100):
        inside = keep[(keep >= part[0]) & (keep <= part[-1])]
        assert y[inside].max() >= np.quantile(y[part], 0.99)


def test_decimation_leaves_short_series_alone_and_survives_nan() -> None:
    assert min_max_indices(np.arange(10.0), 10).tolist() == list(range(10))
    y = np.full(1000, np.nan)
    y[500] = 3.0
    assert 500 in min_max_indices(y, 20)


@pytest.mark.parametrize("limit", [0, 3])
def test_decimation_refuses_too_few_points(limit: int) -> None:
    with pytest.raises(ValueError, match="limit must be >= 4"):
        min_max_indices(np.arange(100.0), limit)


def test_every_algorithm_has_its_own_colour_and_marker() -> None:
    looks = [(style.colour, style.marker) for style in STYLES.values()]
    assert len(set(looks)) == len(looks)
    assert len({style_of(name).colour for name in ("reno", "htcp", "cubic26")}) == 3


@pytest.mark.parametrize("family", ["controls", "startups"])
def test_all_of_a_family_are_told_apart_in_one_figure(family: str) -> None:
    """Algorithms differ as lines, as points and as bars, and in a print without colour as lines
    with points."""
    names = [one.name for one in getattr(registry(), family)]
    assert len(names) > 8
    for how in (("colour", "dash"), ("colour", "marker"), ("colour", "hatch"), ("dash", "marker")):
        alike: dict[tuple[object, ...], list[str]] = {}
        for name in names:
            assert name in STYLES
            look = tuple(getattr(style_of(name), part) for part in how)
            alike.setdefault(look, []).append(name)
        assert [same for same in alike.values() if len(same) > 1] == [], how


def test_a_startup_changes_the_marker_not_the_colour() -> None:
    joined = style_of("cubic+jump-start")
    assert joined.colour == style_of("cubic").colour
    assert joined.marker == style_of("jump-start").marker


def test_an_unlisted_algorithm_always_looks_the_same() -> None:
    assert style_of("someones-new-control") == style_of("someones-new-control")


def test_a_drawn_line_is_the_series() -> None:
    (ax,) = timeseries(one_panel()).axes
    (line,) = ax.get_lines()
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert x[0] == 0
    assert x[-1] == 10
    assert y.max() == SAW.max()
    assert np.isin(y, SAW).all()


def test_a_second_scale_is_drawn_at_the_right() -> None:
    panel = Panel("a", [Series("a", TIME_S, SAW, QUEUE)], "b", [Series("b", TIME_S, SAW, QUEUE)])
    left, right = timeseries([panel]).axes
    assert (left.get_ylabel(), right.get_ylabel()) == ("a", "b")


def test_a_cdf_passes_one_half_at_the_median() -> None:
    values = np.random.default_rng(3).normal(400, 50, 5000)
    figure = cdf([("one flow", [Sample("NewReno", "reno", values)])], x_label="delay (ms)")
    (line,) = figure.axes[0].get_lines()
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    assert np.interp(0.5, y, x) == pytest.approx(np.median(values), abs=1)
    assert y[-1] == 1.0


def test_bars_have_the_given_heights_and_errors() -> None:
    bars = Bars("H-TCP", "htcp", np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.2, 0.4]))
    figure = grouped_bars([("50 ms", [bars])], groups=["1", "2", "5"], y_label="events")
    heights = [patch.get_bbox().height for patch in figure.axes[0].patches]  # type: ignore[attr-defined]
    assert heights == [1.0, 2.0, 4.0]
    assert figure.axes[0].get_ylim()[1] >= 4.4


def test_published_values_of_bars_are_crosses_over_their_bars_and_fit_in() -> None:
    bars = Bars("H-TCP", "htcp", np.array([1.0, 2.0]), published=np.array([1.5, 6.0]))
    ax = grouped_bars([("", [bars])], groups=["1", "2"], y_label="ms").axes[0]
    (crosses,) = ax.get_lines()
    assert crosses.get_xydata().tolist() == [[0.0, 1.5], [1.0, 6.0]]  # type: ignore[union-attr]
    assert ax.get_ylim()[1] > 6.0


def test_bars_must_match_their_groups() -> None:
    with pytest.raises(ValueError, match="2 bars, 3 groups"):
        grouped_bars(
            [("", [Bars("x", "reno", np.array([1.0, 2.0]))])], groups=list("abc"), y_label="y"
        )


def test_dots_stand_at_their_numbers_with_what_they_are_held_against() -> None:
    rows = [Dot("Reno", "reno", 3.0, 2.0, 5.0, 1.0), Dot("H-TCP", "htcp", 4.0, 4.0, 4.0, 1.5)]
    [ax] = dots(rows, x_label="time (ms)", reference_label="least").axes
    reference, *values = (np.asarray(line.get_xdata()).tolist() for line in ax.get_lines())
    assert reference == [1.0, 1.5]
    assert values == [[3.0], [4.0]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Reno", "H-TCP"]


def test_published_beside_measured_puts_each_pair_at_its_place() -> None:
    pairs = Pairs(
        "delay", "ms", {"reno": np.array([1.0, 2.0])}, {"reno": np.array([1.5, 2.5])}, band=1.0
    )
    figure = published_vs_measured([pairs], labels={"reno": "NewReno"})
    points = figure.axes[0].get_lines()[-1]
    assert np.asarray(points.get_xdata()).tolist() == [1.0, 2.0]
    assert np.asarray(points.get_ydata()).tolist() == [1.5, 2.5]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "starts"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")]
)
def test_files_are_of_their_kind_and_reproducible(name: str, starts: bytes) -> None:
    first = figure_bytes(timeseries(one_panel()), name)
    assert first.startswith(starts)
    assert first == figure_bytes(timeseries(one_panel()), name)


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="format must be one of svg, pdf, png"):
        figure_bytes(timeseries(one_panel()), "gif")


def test_saving_writes_one_file_per_format(tmp_path: Path) -> None:
    files = save_figure(timeseries(one_panel()), tmp_path / "fig", ("svg", "png"))
    assert [file.name for file in files] == ["fig.svg", "fig.png"]
    assert all(file.stat().st_size > 1000 for file in files)


def test_inline_svg_is_one_well_formed_element() -> None:
    text = svg_text(timeseries(one_panel()))
    assert ElementTree.fromstring(text).tag.endswith("svg")


@pytest.mark.parametrize("make", [timeseries, lambda p: cdf(p, x_label="x")])
def test_empty_figures_are_refused(make: object) -> None:
    with pytest.raises(ValueError, match="at least one panel"):
        make([])  # type: ignore[operator]
