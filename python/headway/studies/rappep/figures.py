"""Plot: the paper's figures of the link's use, of shares, and of cwnd at the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headway.figures import Curve, Panel, Series, curves, one_of, style_of, timeseries
from headway.studies.rappep.experiments import LOSSES, SCHEMES, SIDE_LOSS, key
from headway.studies.rappep.observe import FIRST_RUN, Found, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES = {
    "tcp_pep": "scalable",
    "cubic26": "cubic",
    "today": "cubic",
    "jump_start": "jump-start",
    "careful_resume": "careful-resume",
    "quick_start": "quick-start",
    "xcp_plain": "vegas",
    "mpcp_plain": "reno",
}
"""Schemes that use another algorithm's colour and marker."""
CURVES_S = 60.0


def style(scheme: str) -> str:
    """The algorithm whose style a scheme uses."""
    return _STYLES.get(scheme, scheme)


def use_of_the_link(
    found: Found, title: str, case: str, loss: float, schemes: Sequence[str]
) -> tuple[str, str, Figure]:
    """Figures 3 to 5: title, caption and figure."""
    shown = [_used(found[key(scheme, loss, FIRST_RUN)], scheme) for scheme in schemes]
    return (
        title,
        f"Use of the bottleneck with {case}, one run. A curve ends with the last file, or "
        f"after {CURVES_S:g} s.",
        curves([("", shown)], x_label="time (s)", y_label="use of the link"),
    )


def shares(found: Found, title: str, scheme: str) -> tuple[str, str, Figure]:
    """Figures 6 to 8."""
    row = found[key(scheme, SIDE_LOSS, FIRST_RUN, delays=True)]
    return (
        title,
        f"Part of the link that each file gets with {SCHEMES[scheme]}, at 0.1 % loss and side "
        "links of different delays, one run. Data that waited for a lost packet is delivered "
        "together with it, so a part may exceed the link's rate.",
        timeseries([_shares(row, scheme)], height_mm=48),
    )


def windows(found: Found, since: str) -> tuple[str, str, Figure]:
    """Figure 9, with times since ``since``."""
    row = found[key("xcp_pep", LOSSES[0], FIRST_RUN)]
    return (
        "Figure 9",
        "cwnd at the server of each file's connection to the proxy, until all data is "
        "acknowledged: XCP PEP without loss, one run. Curves of different files may coincide.",
        curves(
            [("", _windows(row))],
            x_label=f"time since {since} (ms)",
            y_label="cwnd (packets)",
        ),
    )


def _used(row: Row, scheme: str) -> Curve:
    shown = row.files.slots_s <= CURVES_S
    return Curve(
        SCHEMES[scheme],
        row.files.slots_s[shown],
        row.files.used_by_slot[shown],
        style_of(style(scheme)),
    )


def _shares(row: Row, scheme: str) -> Panel:
    lines = [
        Series(
            f"file {number + 1}",
            row.files.slots_s,
            used,
            one_of(style_of(style(scheme)), number),
            step=True,
        )
        for number, used in enumerate(row.files.used_by_flow)
    ]
    return Panel("part of the link", lines, title=SCHEMES[scheme])


def _windows(row: Row) -> list[Curve]:
    return [
        Curve(
            f"file {number + 1}",
            1000 * row.window_s[np.isfinite(pkts)],
            pkts[np.isfinite(pkts)],
            one_of(style_of("cubic26"), number),
        )
        for number, pkts in enumerate(row.window_pkts)
    ]
