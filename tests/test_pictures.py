"""The checker of figures finds no fault in any figure of any study. For each kind of fault, a
figure with only this fault tests that the checker finds it and nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import accumulate, combinations
from pathlib import Path
from typing import TYPE_CHECKING

import made_up
import numpy as np
import pytest
from quick import SIMULATED, quick
from support import S, experiment, trace

from headway.backends import run
from headway.cli.plot import trace_figure
from headway.figures import (
    Bars,
    Curve,
    Panel,
    Series,
    curves,
    grouped_bars,
    label_of,
    style_of,
    timeseries,
    variant_of,
)
from headway.figures.canvas import MM_PER_INCH, new_figure
from headway.figures.faults import faults, key_in, series_of
from headway.figures.style import LABELS, STYLES
from headway.publish import Figures, Page
from headway.study import discover
from headway.validation.report import overlay_figure, windows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STUDIES = {
    study.name if form is study else f"{study.name}-live": form
    for study in discover().values()
    for form in study.forms()
}
LIVE = [name for name in STUDIES if name not in SIMULATED]
EVERY_STUDY = pytest.mark.parametrize(
    "name", [*LIVE, *(pytest.param(name, marks=pytest.mark.slow) for name in SIMULATED)]
)
X = np.linspace(0, 10, 50)
NONE = style_of("reno")


@functools.cache
def page(name: str) -> Page:
    """A study's page from its quick form, or from made-up measurements."""
    study = STUDIES[name]
    if name in LIVE:
        ctx = made_up.whole(study, made_up.context(Path("nowhere")))
        rows = made_up.rows(study.name, ctx)
    else:
        ctx, rows = quick(name).ctx, quick(name).seen.rows
    return study.page(ctx, study.gather(ctx, rows))


def figures(name: str) -> Figures:
    """The figures of a study's page."""
    return page(name).figures


# ---- Every figure ----


@pytest.mark.slow
@EVERY_STUDY
def test_every_figure_of_a_study_is_without_a_fault(name: str) -> None:
    found = {file: list(map(str, faults(one))) for file, (_, _, one) in figures(name).items()}
    assert {file: wrong for file, wrong in found.items() if wrong} == {}


@EVERY_STUDY
def test_a_scheme_has_one_colour_in_every_figure(name: str) -> None:
    """A scheme is recognized by its name in the legend. Variants of schemes are not compared."""
    named = {label: style_of(scheme) for scheme, label in LABELS.items()}
    for file, (_, _, figure) in figures(name).items():
        for label, look in (one for ax in figure.axes for one in series_of(ax)):
            if label not in named:
                continue
            assert look.colour == named[label].colour.lower(), f"{file}: {label}"
            assert look.marker in (None, named[label].marker), f"{file}: {label}"


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATED)
def test_series_that_zoom_can_be_told_apart_and_have_names_for_people(name: str) -> None:
    charts = [chart for section in page(name).sections for chart in section.charts]
    for panel in (panel for chart in charts for panel in chart.panels):
        series = [*panel.series, *panel.right_series]
        looks = {(one.style.colour, str(one.style.dash), one.points) for one in series}
        assert len(looks) == len(series), panel.y_label
        assert [one.label for one in series if key_in(one.label)] == []
        assert key_in(panel.y_label) is None


def test_both_backends_windows_are_drawn_over_each_other() -> None:
    flows = experiment(flows="2xcubic26,1xhtcp")
    state = [
        (flow, at_s * S, 10 + flow + at_s, None, 50_000, 0, 0)
        for flow in range(3)
        for at_s in range(1, 9)
    ]
    sim, kernel = (
        windows_of(trace({"flow_state": rows}, of=flows)) for rows in (state, state[:-4])
    )
    assert faults(overlay_figure(sim, kernel)) == []


# ---- Each kind of fault is found ----


def plain(*, width_mm: float = 170, height_mm: float = 70) -> tuple[Figure, Axes]:
    """A figure without any fault."""
    figure, (ax,) = new_figure(width_mm=width_mm, height_mm=height_mm)
    ax.plot(X, X)
    ax.set_xlabel("time (s)")
    return figure, ax


def side_by_side() -> tuple[Figure, list[Axes]]:
    figure, axes = new_figure(columns=2)
    for ax in axes:
        ax.plot(X, X)
    return figure, axes


def legend_that_is_cut() -> Figure:
    figure, ax = plain()
    ax.lines[0].set_label("a name that is far too long for a figure of this width " * 3)
    figure.legend(loc="outside upper center")
    return figure


def label_that_is_cut() -> Figure:
    figure, ax = plain(height_mm=45)
    ax.set_ylabel("what is shown here, in the unit in which it is shown (Mbit/s)")
    return figure


def tick_label_that_is_cut() -> Figure:
    figure, ax = plain()
    figure.set_layout_engine("none")
    ax.set_position((0.0, 0.2, 0.9, 0.7))
    return figure


def data_beyond_the_axes() -> Figure:
    figure, ax = plain()
    ax.set_ylim(0, 5)
    return figure


def bar_beyond_the_axes() -> Figure:
    figure, ax = new_figure()
    ax[0].bar([1, 2], [3, 4])
    ax[0].set_ylim(0, 3.5)
    return figure


def legend_over_data() -> Figure:
    figure, ax = plain()
    ax.lines[0].set_label("a line")
    ax.legend(loc="lower left")
    return figure


def legend_over_markers() -> Figure:
    figure, (ax,) = new_figure()
    ax.plot([1, 2, 3], [1, 2, 3], linestyle="none", marker="o", label="points")
    ax.legend(loc="lower left")
    return figure


def legend_over_bars() -> Figure:
    figure, (ax,) = new_figure()
    ax.bar([1, 2], [3, 4], label="bars")
    ax.legend(loc="lower right")
    return figure


def legend_over_a_band() -> Figure:
    figure, (ax,) = new_figure()
    ax.fill_between(X, X, X + 5, label="a band")
    ax.legend(loc="center")
    return figure


def tick_labels_over_each_other() -> Figure:
    figure, ax = plain()
    ax.set_xticks([1, 1.2], ["one thing", "another thing"])
    return figure


def tick_labels_that_read_as_one() -> Figure:
    figure, ax = plain()
    figure.set_layout_engine("none")
    ax.set_position((0.2, 0.3, 0.7, 0.6))
    ax.set_xticks([1, 2], ["a", "b"])
    figure.draw_without_rendering()
    left = ax.get_xticklabels()[0].get_window_extent()
    beside = left.x1 + left.width / 2 + 0.5
    ax.set_xticks([1, float(ax.transData.inverted().transform((beside, 0))[0])], ["a", "b"])
    return figure


def title_over_the_plot_above() -> Figure:
    figure, axes = new_figure(rows=2, height_mm=100)
    figure.set_layout_engine("none")
    axes[0].set_xticks([])
    axes[1].set_title("the second", y=1.4)
    return figure


def legend_over_a_title() -> Figure:
    figure, ax = plain()
    ax.set_title("a title in the middle")
    ax.lines[0].set_label("a line")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0)
    ax.get_legend().set_in_layout(True)  # type: ignore[union-attr]
    return figure


def times_that_differ() -> Figure:
    figure, axes = new_figure(rows=2, height_mm=100)
    axes[0].plot(X, X)
    axes[1].plot(X[:10], X[:10])
    axes[1].set_xlabel("time (s)")
    return figure


def lines_alike() -> Figure:
    figure, ax = plain()
    ax.plot(X, X + 1, color=ax.lines[0].get_color())
    return figure


def lines_of_nearly_one_shade() -> Figure:
    figure, (ax,) = new_figure()
    ax.plot(X, X, color="#0072B2")
    ax.plot(X, 2 * X, color="#107AB6")
    return figure


def lines_alike_on_both_scales() -> Figure:
    figure, ax = plain()
    ax.twinx().plot(X, 2 * X, color=ax.lines[0].get_color())
    return figure


def bars_alike() -> Figure:
    figure, (ax,) = new_figure()
    for place in (0.0, 0.4):
        ax.bar(np.arange(3) + place, [1, 2, 3], 0.4, color="#0072B2", hatch="//")
    return figure


def one_name_in_two_colours() -> Figure:
    figure, axes = side_by_side()
    for ax, name in zip(axes, ("reno", "htcp"), strict=True):
        ax.lines[0].set(label="Reno", color=style_of(name).colour)
    return figure


def one_name_with_two_markers() -> Figure:
    figure, axes = side_by_side()
    for ax, marker in zip(axes, "os", strict=True):
        ax.lines[0].set(label="Reno", marker=marker, color="#0072B2")
    return figure


def control_as_the_registry_has_it() -> Figure:
    figure, ax = plain()
    ax.lines[0].set_label("cubic26")
    figure.legend(loc="outside upper center")
    return figure


def column_as_a_label() -> Figure:
    figure, ax = plain()
    ax.set_ylabel("cwnd_pkts")
    return figure


def collapsed() -> Figure:
    return plain(width_mm=30)[0]


BAD: list[tuple[str, Callable[[], Figure]]] = [
    ("outside", legend_that_is_cut),
    ("outside", label_that_is_cut),
    ("outside", tick_label_that_is_cut),
    ("cut", data_beyond_the_axes),
    ("cut", bar_beyond_the_axes),
    ("over data", legend_over_data),
    ("over data", legend_over_markers),
    ("over data", legend_over_bars),
    ("over data", legend_over_a_band),
    ("over text", tick_labels_over_each_other),
    ("over text", tick_labels_that_read_as_one),
    ("over text", title_over_the_plot_above),
    ("over text", legend_over_a_title),
    ("time", times_that_differ),
    ("alike", lines_alike),
    ("alike", lines_of_nearly_one_shade),
    ("alike", lines_alike_on_both_scales),
    ("alike", bars_alike),
    ("two looks", one_name_in_two_colours),
    ("two looks", one_name_with_two_markers),
    ("key", control_as_the_registry_has_it),
    ("key", column_as_a_label),
    ("sliver", collapsed),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "make"), BAD, ids=[make.__name__ for _, make in BAD])
def test_a_bad_figure_is_found(kind: str, make: Callable[[], Figure]) -> None:
    assert {one.kind for one in faults(make())} == {kind}


def test_a_good_figure_has_no_fault() -> None:
    assert faults(plain()[0]) == []


@pytest.mark.parametrize(
    "text",
    ["cubic26", "CUBIC beside cubic26", "jump-start", "cubic+jump-start", "hosts of linux-2.6",
     "owd_ms", "reno", "qs-a-100-81.92", "quick-start-b"],
)  # fmt: skip
def test_keys_are_known(text: str) -> None:
    assert key_in(text)


@pytest.mark.parametrize(
    "text",
    ["CUBIC", "Jump-Start", "slow start's half (ms)", "log-normal", "target", "one-way delay (ms)",
     "end to end", "10", "$10^{-3}$", "rate (Mbit/s)", "Reno"],
)  # fmt: skip
def test_words_for_people_are_no_keys(text: str) -> None:
    assert key_in(text) is None


def test_every_scheme_is_called_by_a_name_for_people() -> None:
    assert [name for name in LABELS if key_in(label_of(name))] == []
    assert label_of("cubic+jump-start") == "CUBIC with Jump-Start"


# ---- What keeps figures free of faults ----


def long_names(count: int) -> list[Curve]:
    return [
        Curve(f"a scheme with a rather long name, {n}", X, n * X, variant_of(NONE, n))
        for n in range(count)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3, 7, 12])
def test_a_legend_takes_as_many_rows_as_its_width_needs(count: int) -> None:
    figure = curves([("", long_names(count))], x_label="x", y_label="y", height_mm=60)
    assert faults(figure) == []
    [ax] = figure.axes
    height_mm = MM_PER_INCH * ax.bbox.height / figure.dpi
    assert height_mm > 35, "the rows of the legend are not taken from the plot"


def test_panels_over_time_share_their_axis() -> None:
    panels = [
        Panel("long", [Series("a", X, X, style_of("reno"))]),
        Panel("short", [Series("b", X[:9], X[:9], style_of("htcp"))]),
    ]
    figure = timeseries(panels)
    assert faults(figure) == []
    assert len({ax.get_xlim() for ax in figure.axes}) == 1


def test_a_shared_scale_shows_all_of_every_panel() -> None:
    low, high = (Curve(label, X, k * X, style_of(label)) for label, k in (("reno", 1), ("htcp", 9)))
    figure = curves([("low", [low]), ("high", [high])], x_label="x", y_label="y")
    assert "cut" not in {one.kind for one in faults(figure)}


@pytest.mark.parametrize("name", STYLES)
def test_several_flows_of_one_control_can_be_told_apart(name: str) -> None:
    _, (ax,) = new_figure()
    for number in range(10):
        style = variant_of(style_of(name), number)
        ax.plot(X, X, color=style.colour, linestyle=style.dash)
    looks = [look for _, look in series_of(ax)]
    assert not [one for one, other in combinations(looks, 2) if one.same_as(other)]


def test_the_middle_of_an_interval_is_its_point() -> None:
    y, half = np.array([3.0, 4.0, 5.0]), np.array([1.0, np.nan, 0.5])
    curve = Curve("a", X[:3], y, NONE, markers=True, low=y - half, high=y + half)
    figure = curves([("", [curve])], x_label="x", y_label="y")
    assert faults(figure) == []
    [bars] = figure.axes[0].collections
    ends = [segment[:, 1].tolist() for segment in bars.get_segments() if len(segment)]  # type: ignore[attr-defined]
    assert [2.0, 4.0] in ends
    assert [4.5, 5.5] in ends


def test_bars_with_errors_are_one_series_each() -> None:
    heights = np.array([1.0, 2.0])
    bars = [
        Bars(label_of(name), name, heights, 0.1 * heights) for name in ("reno", "htcp", "cubic")
    ]
    assert faults(grouped_bars([("", bars)], groups=["a", "b"], y_label="y")) == []


# ---- The figures of `headway try --plot` ----


def drawn(figure: Figure, y_label: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The lines of a panel by label: (x, y)."""
    [ax] = [ax for ax in figure.axes if ax.get_ylabel() == y_label]
    return {
        str(line.get_label()): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))
        for line in ax.lines
    }


def counted(flow: int, *bytes_at_s: tuple[int, int]) -> list[tuple[int, ...]]:
    return [(at_s * S, flow, total, 0, 0, 0, 0) for at_s, total in bytes_at_s]


def test_a_trial_is_drawn_with_goodputs_windows_rtts_queue_and_delays() -> None:
    made = run(experiment(flows="3xcubic,2xcubic+jump-start,2xreno,1xvoip", sample="50 ms"))
    figure = trace_figure(made)
    assert faults(figure) == []
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "goodput (Mbit/s)", "cwnd (packets)", "RTT (ms)", "queue (kB)", "one-way delay (ms)",
    ]  # fmt: skip
    goodputs = drawn(figure, "goodput (Mbit/s)")
    assert set(goodputs) == {
        *(f"CUBIC, flow {n}" for n in range(3)),
        *(f"CUBIC with Jump-Start, flow {n}" for n in (3, 4)),
        *(f"Reno, flow {n}" for n in (5, 6)),
    }
    middles_s, rates_mbps = goodputs["CUBIC, flow 0"]
    # intervals are whole numbers of samples, so they differ in length
    ends_s = list(accumulate(middles_s, lambda end, middle: 2 * middle - end, initial=0.0))
    delivered = made["flow_counters"].filter(flow=0)["delivered_bytes"].to_list()[-1]
    assert rates_mbps @ np.diff(ends_s) == pytest.approx(8 * delivered / 1e6)


def test_more_flows_than_a_picture_can_show_are_drawn_by_control() -> None:
    figure = trace_figure(run(experiment(flows="8xcubic,7xreno", sample="50 ms", duration="3 s")))
    assert faults(figure) == []
    assert set(drawn(figure, "mean RTT (ms)")) == {"CUBIC, 8 flows", "Reno, 7 flows"}


def test_goodputs_of_many_flows_are_summed_and_windows_are_means() -> None:
    flows = experiment(flows="12xreno", duration="10 s", warmup="0 s")
    counters = [row for flow in range(12) for row in counted(flow, (5, 10_000), (10, 40_000))]
    state = [(flow, 1 * S, 10 + flow, None, 50_000, 0, 0) for flow in range(12)]
    state += [(0, 6 * S, 130, None, 50_000, 0, 0)]
    figure = trace_figure(trace({"flow_counters": counters, "flow_state": state}, of=flows))
    x, y = drawn(figure, "goodput of all (Mbit/s)")["Reno, 12 flows"]
    assert x.tolist() == [2.5, 7.5]
    assert y.tolist() == pytest.approx([12 * 0.016, 12 * 0.048])
    assert figure.legends[0].get_texts()[0].get_text() == "Reno, 12 flows"
    x, y = drawn(figure, "mean cwnd (packets)")["Reno, 12 flows"]
    assert np.interp([2, 9], x, y).tolist() == pytest.approx([15.5, 25.5])


def test_a_flow_with_a_name_keeps_it() -> None:
    named = experiment(flows=[{"control": "reno", "name": "backup of the disk"}])
    state = [(0, 1 * S, 10, None, 50_000, 0, 0), (0, 2 * S, 20, None, 50_000, 0, 0)]
    figure = trace_figure(trace({"flow_state": state}, of=named))
    assert list(drawn(figure, "cwnd (packets)")) == ["backup of the disk"]
