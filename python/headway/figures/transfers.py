"""Draws completion times and slowdowns of transfers, from a digest's ``transfers``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.figures.canvas import drawing, legend_above, new_figure
from headway.figures.style import label_of, style_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def transfers(groups: Sequence[Mapping[str, Any]], *, height_mm: float = 70) -> Figure:
    """The distribution of completion times, and slowdown by size, of each group of transfers.

    Args:
        groups: the ``transfers`` of a digest.
        height_mm: height, millimetres.

    Returns:
        the figure. Its right panel has the median (line) and the 99 % quantile (dotted) of the
        slowdown in each class of sizes, at the class's mean size.

    Raises:
        ValueError: without a complete transfer.
    """
    known = [group for group in groups if group["all"]["completed"]]
    if not known:
        raise ValueError("a figure of transfers needs at least one complete transfer")
    with drawing():
        figure, (left, right) = new_figure(height_mm=height_mm, columns=2)
        for group in known:
            style, label = style_of(group["group"]), label_of(group["group"])
            times_ms = np.array(group["cdf"]["fct_us"], dtype=float) / 1000
            left.plot(times_ms, group["cdf"]["share"], label=label, color=style.colour,
                      linestyle=style.dash)  # fmt: skip
            classes = [one for one in group["by_size"] if one["slowdown"]["median"] is not None]
            sizes = [one["bytes"] / one["completed"] for one in classes]
            for name, dash in (("median", style.dash), ("p99", ":")):
                values = [one["slowdown"][name] for one in classes]
                right.plot(sizes, values, color=style.colour, linestyle=dash, marker=style.marker,
                           markersize=3.2, linewidth=1.0)  # fmt: skip
        left.set_xscale("log")
        left.set_xlabel("completion time (ms)")
        left.set_ylabel("share of transfers")
        left.set_ylim(0, 1)
        right.set_xscale("log")
        right.set_yscale("log")
        right.set_xlabel("size (bytes)")
        right.set_ylabel("slowdown: median, 99 % (dotted)")
        legend_above(figure)
    return figure
