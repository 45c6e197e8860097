"""Plot: figures 3 to 9, completion times, the satellites' clients, and when a proxy is worth it."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import polars as pl

from headway.claims import Evidence
from headway.experiment import Exchanges
from headway.figures import Curve, Dot, Panel, Series, dots, style_of, timeseries, variant_of
from headway.metrics.stats import Array
from headway.publish import Figures, Page
from headway.studies.common import runs
from headway.studies.common.shown import chart, table
from headway.studies.rap_over_satellite.experiments import FLOWS, SIZE_BYTES
from headway.studies.rap_over_satellite.observe import numbers
from headway.studies.rap_over_satellite.page import CASES as RAW_CASES
from headway.studies.rappep import claims, experiments, observe
from headway.studies.rappep.experiments import CLEAN, CLIENTS, LOADS, LOSSY, ORBITS, PAPERS, SCHEMES
from headway.studies.rappep.observe import ALL, SHARE, TIME, USED, Clients, Found, all_runs
from headway.study import StudyContext, declared
from headway.table import Cell, Table

CASES = dict(zip(RAW_CASES, experiments.PATHS, strict=True))
"""The paper's paths by their names in tables."""
SHORT = {CLEAN: "no loss", LOSSY: "1 % loss", experiments.SIDES: "0.1 %, side links"}
"""Names of the paper's paths in captions, and in tables of the kernel."""
LATE, EARLY = observe.LATE_PERCENT, 100 - observe.LATE_PERCENT
CURVES_S = 60.0
_STYLES = {
    "tcp_pep": "scalable",
    "cubic26": "cubic",
    "today": "cubic",
    "jump_start": "jump-start",
    "careful_resume": "careful-resume",
    "quick_start": "quick-start",
    "xcp_plain": "vegas",
    "mpcp_plain": "reno",
    "cubic_pep": "cubic26",
    "hybla_pep": "scalable",
    "bbr_pep": "bbr",
}
"""Schemes that use another algorithm's colour and marker."""


def page(_ctx: StudyContext, found: Found) -> Page:
    """The report's tables, figures and data."""
    figures = {
        **_of_times(found),
        **_used(found, "Figure 3", CLEAN, claims.OF_FIGURE_4),
        **_used(found, "Figure 4", LOSSY, claims.OF_FIGURE_4),
        **_used(found, "Figure 5", LOSSY, PAPERS),
        **_shares(found, {6: "xcp", 7: "xcp_pep", 8: "tcp_pep"}),
        **_windows(found, "the file's first packet"),
        **_client_figures(found.clients),
    }
    tables = [_worth(found), _times(found), _without(found), *_client_tables(found.clients)]
    return Page(tables=tables, figures=figures, data={"trials": _trials(found)})


# ---- Results for the paper's files ----


def _times(found: Found) -> Table:
    def of(name: str, factor: float = 1.0) -> Callable[[tuple[str, str]], float]:
        return lambda cell: factor * found.mean(cell[1], CASES[cell[0]], name)

    def to_tcp_pep(cell: tuple[str, str]) -> float:
        return 100 * (of(TIME)(cell) / of(TIME)((cell[0], "tcp_pep")) - 1)

    return table(
        f"Five files of 5 MB, means over {len(numbers(found))} runs",
        product(CASES, SCHEMES),
        {
            "path": lambda cell: cell[0],
            "scheme": lambda cell: SCHEMES[cell[1]],
            "mean s": (of(TIME), 2),
            "±95 %": (lambda cell: found.time_s(cell[1], CASES[cell[0]]).half_width, 2),
            "to TCP PEP %": (to_tcp_pep, 1),
            "all s": (of(ALL), 2),
            "link used %": (of(USED, 100), 1),
            "swing": (of("swing"), 3),
            "Jain": (of(SHARE), 3),
            "full pkts": (of("full_pkts"), 1),
        },
        "Completion time of a file from its first packet, also compared with TCP PEP's, and of all "
        "five files from the first start. Use of the link until then and its standard deviation "
        "over seconds. Jain's index of goodputs while all five files are being sent. Packets that "
        "the satellite's full queue dropped.",
    )


def _without(found: Found) -> Table:
    """The part of a proxy's gain that a faster start recovers without a proxy."""

    def gain_s(cell: tuple[str, str], scheme: str = "") -> float:
        path = CASES[cell[0]]
        return found.mean("cubic26", path, TIME) - found.mean(scheme or cell[1], path, TIME)

    def part(start: str) -> Callable[[tuple[str, str]], float | None]:
        return lambda cell: 100 * (gain_s(cell, start) / gain_s(cell)) if gain_s(cell) > 0 else None

    names = {one: SCHEMES[one].removeprefix("CUBIC, ") for one in experiments.STARTS}
    starts = {f"{name} %": (part(one), 0) for one, name in names.items()}
    return table(
        "Part of a proxy's gain that a faster start recovers without a proxy",
        product(CASES, PAPERS),
        {
            "path": lambda cell: cell[0],
            "proxy": lambda cell: SCHEMES[cell[1]],
            "gain s": (gain_s, 1),
            **starts,
        },
        "Gain: how much shorter the mean completion time is than CUBIC's from end to end. At 100 % "
        "the start alone gains as much as the proxy; below 0 it is slower than CUBIC. A cell is "
        "empty where the proxy gains nothing.",
    )


def _of_times(found: Found) -> Figures:
    """Completion times without a proxy, with router protocols, and with a proxy."""
    figures = {}
    routed = ("cubic26", "xcp", "mpcp", "tcp_pep", "xcp_plain", "mpcp_plain", *PAPERS[1:])
    for key, path, what in (("0", CLEAN, "without loss"), ("0.01", LOSSY, "at 1 % loss")):
        today_s, shown = found.mean("today", path, TIME), []
        for scheme in (*experiments.STARTS, *routed):
            time = found.time_s(scheme, path)
            low_s, high_s = (time.mean + way * (time.half_width or 0.0) for way in (-1, 1))
            # the paper's CUBIC is that of Linux 2.6, not today's
            style = "cubic26" if scheme == "cubic26" else _STYLES.get(scheme, scheme)
            row = Dot(SCHEMES[scheme], style, time.mean, max(low_s, 0.0), high_s, today_s)
            shown.append(row)
        figures[f"times-{key}"] = (
            f"Completion times {what}",
            f"Mean of five files of 5 MB {what}, all runs, with the mean's 95 % interval: starts "
            "without a proxy, the paper's senders and routers, proxies.",
            dots(shown, x_label="mean completion time (s)", height_mm=84,
                 reference_label=f"{SCHEMES['today']}, without a proxy"),
        )  # fmt: skip
    return figures


def _trials(found: Found) -> pl.DataFrame:
    """Each trial's numbers."""
    names = (ALL, USED, SHARE, "swing", "steady_s", "most_used", "full_pkts", "sent_s")
    columns = {"mean_s": TIME} | {name.removeprefix("files."): name for name in names}
    return pl.DataFrame(
        [
            {"trial": key, **{column: runs.value(row, name) for column, name in columns.items()}}
            for key, row in found.items()
        ]
    )


def _used(found: Found, title: str, path: str, schemes: Sequence[str]) -> Figures:
    """Figures 3 to 5."""
    lines = []
    for scheme in schemes:
        row = found[f"{scheme}-{path}-r1"].files
        shown, style = row.slots_s <= CURVES_S, style_of(_STYLES.get(scheme, scheme))
        lines.append(Curve(SCHEMES[scheme], row.slots_s[shown], row.used_by_slot[shown], style))
    caption = (
        f"Use of the bottleneck with {SHORT[path]}, one run. A curve ends with the last file, or "
        f"after {CURVES_S:g} s."
    )
    return {f"figure-{title[-1]}": (title, caption, chart(lines, "time (s)", "use of the link"))}


def _shares(found: Found, by_figure: dict[int, str]) -> Figures:
    """Figures 6 to 8, with the trials that were run."""
    figures = {}
    for number, scheme in by_figure.items():
        if (key := f"{scheme}-{experiments.SIDES}-r1") in found:
            row, style = found[key].files, style_of(_STYLES.get(scheme, scheme))
            lines = [
                Series(f"file {n + 1}", row.slots_s, used, variant_of(style, n), step=True)
                for n, used in enumerate(row.used_by_flow)
            ]
            figures[f"figure-{number}"] = (
                f"Figure {number}",
                f"Part of the link that each file gets with {SCHEMES[scheme]}, at 0.1 % loss and "
                "side links of different delays, one run. Data that waited for a lost packet is "
                "delivered together with it, so a part may exceed the link's rate.",
                timeseries([Panel("part of the link", lines, title=SCHEMES[scheme])], height_mm=48),
            )
    return figures


def _windows(found: Found, since: str) -> Figures:
    """Figure 9, with times since ``since``."""
    row, lines = found[f"xcp_pep-{CLEAN}-r1"], []
    for n, pkts in enumerate(row.window_pkts):
        known, style = np.isfinite(pkts), variant_of(style_of("cubic26"), n)
        lines.append(Curve(f"file {n + 1}", 1000 * row.window_s[known], pkts[known], style))
    caption = (
        "cwnd at the server of each file's connection to the proxy, until all data is "
        "acknowledged: XCP PEP without loss, one run. Curves of different files may coincide."
    )
    drawn = chart(lines, f"time since {since} (ms)", "cwnd (packets)")
    return {"figure-9": ("Figure 9", caption, drawn)}


# ---- The satellites' clients ----


def _there(found: Evidence[Clients], orbit: str, load: str) -> dict[str, list[Clients]]:
    """The runs of each scheme that this form has; the kernel has fewer."""
    own = {scheme: f"{orbit}_{load}-{scheme}" for scheme in CLIENTS}
    return {scheme: all_runs(found, key) for scheme, key in own.items() if f"{key}-r1" in found}


def _loads_of(found: Evidence[Clients]) -> list[tuple[str, str]]:
    return [(o, load) for o, load in product(ORBITS, LOADS) if f"{o}_{load}-cubic-r1" in found]


def _ended_s(rows: Sequence[Clients]) -> Array:
    """The times of all clients that ended."""
    times_s = np.concatenate([row.times_s for row in rows])
    return np.asarray(times_s[np.isfinite(times_s)])


def _missing(rows: Sequence[Clients]) -> int:
    return int(sum(np.isnan(row.times_s).sum() for row in rows))


def _client_table(found: Evidence[Clients], orbit: str, load: str) -> Table:
    there = _there(found, orbit, load)

    def of(name: str, factor: float = 1.0) -> Callable[[str], float]:
        return lambda scheme: factor * runs.mean(there[scheme], name)

    clients = there["cubic"][0].times_s.size
    return table(
        f"{LOADS[load].name}, {ORBITS[orbit].name}; {clients} clients",
        there,
        {
            "scheme": lambda scheme: CLIENTS[scheme],
            "mean s": (lambda scheme: float(_ended_s(there[scheme]).mean()), 2),
            f"{LATE} % s": (lambda scheme: float(np.percentile(_ended_s(there[scheme]), LATE)), 2),
            "not done": lambda scheme: _missing(there[scheme]),
            "all s": (of("all_s"), 1),
            "link used %": (of("used", 100), 1),
            "queue kB": (of("queue_bytes", 1e-3), 0),
            "full pkts": (of("full_pkts"), 0),
            "Jain": (of("jain"), 3),
        },
        f"Time from a client's start to the last byte that it asked for: mean and {LATE} % "
        "quantile over the clients of all runs that ended. Time from the first start until all "
        "clients ended, and the downlink's use until then. The downlink's queue, again the "
        f"{LATE} % quantile, and packets that it dropped because it was full. Jain's index "
        "of the clients' rates.",
    )


def _client_tables(found: Evidence[Clients]) -> list[Table]:
    """A table for each satellite and load."""
    return [_client_table(found, orbit, load) for orbit, load in _loads_of(found)]


def _client_figures(found: Evidence[Clients]) -> Figures:
    """A figure for each satellite and load."""
    figures: Figures = {}
    for orbit, load in _loads_of(found):
        plain_s = float(_ended_s(all_runs(found, f"{orbit}_{load}-cubic")).mean())
        shown = []
        for scheme, rows in _there(found, orbit, load).items():
            times_s, style = _ended_s(rows), _STYLES.get(scheme, scheme)
            low_s, high_s = np.percentile(times_s, [EARLY, LATE]).tolist()
            mean_s = float(times_s.mean())
            shown.append(Dot(CLIENTS[scheme], style, mean_s, low_s, high_s, plain_s))
        figures[f"{orbit}-{load}"] = (
            f"{LOADS[load].name}, {orbit.upper()}",
            f"Time of a client, {ORBITS[orbit].name}: mean, and from {EARLY} to "
            f"{LATE} %, all runs.",
            dots(shown, x_label="time (s)", reference_label="CUBIC, without a proxy"),
        )
    return figures


# ---- When a proxy is worth it, compared with faster starts without one ----

OVERFLOW = 0.01
"""A scheme that loses a larger part of its data to the full queue also harms the others."""
ALIKE = 0.1
"""Times that differ by a smaller part count as equal."""
PACKET_BYTES = 1500


class Candidate(NamedTuple):
    """Results of a scheme over one path."""

    name: str
    mean_s: float
    overflow: float
    """Packets that full queues dropped, as a part of the data; above 1 if much is retransmitted."""


def _worth(found: Found) -> Table:
    """A row per path and load."""

    def files(path: str, scheme: str) -> Candidate:
        full = found.mean(scheme, path, "full_pkts") * PACKET_BYTES
        time_s = found.mean(scheme, path, TIME)
        return Candidate(SCHEMES[scheme], time_s, full / (FLOWS * SIZE_BYTES))

    def clients(orbit: str, load: str, scheme: str) -> Candidate:
        rows = all_runs(found.clients, f"{orbit}_{load}-{scheme}")
        responses = Exchanges(file=LOADS[load].file).table().response_bytes
        asked_bytes = int(responses.sum()) * LOADS[load].clients * len(rows)
        full = sum(row.full_pkts for row in rows) * PACKET_BYTES
        time_s = math.inf if _missing(rows) else float(_ended_s(rows).mean())
        return Candidate(CLIENTS[scheme], time_s, full / asked_bytes)

    rows = []
    for case, path in CASES.items():
        name = f"Five files of 5 MB, {case}"
        rows += worth_rows(name, partial(files, path), experiments.STARTS, (*PAPERS, "vcp_pep"))
    for orbit, load in product(ORBITS, LOADS):
        name, of = f"{LOADS[load].name}, {orbit.upper()}", partial(clients, orbit, load)
        rows += worth_rows(name, of, experiments.BARE, experiments.BEHIND_PROXY)
    return Table(
        "When a proxy is worth it",
        ["path", "among", "without a proxy", "s", "with one", "s", "gain %", "worth it"],
        rows,
        "The shortest mean time without a proxy and with one, among all schemes, and among those "
        f"that lose at most {100 * OVERFLOW:g} % of their data to the full queue. A scheme that "
        "overflows the queue makes all others wait and lose packets, too. Gain: the part of the "
        f"time that the proxy saves. Gains of at least {100 * ALIKE:g} % count.",
    )


def worth_rows(
    path: str, of: Callable[[str], Candidate], bare: Iterable[str], proxied: Iterable[str]
) -> list[list[Cell]]:
    """A row among all schemes, and one among those that do not overflow the queue."""
    both = [list(map(of, schemes)) for schemes in (bare, proxied)]
    rows: list[list[Cell]] = []
    for among, most in (("all", math.inf), ("no overflow", OVERFLOW)):
        without, with_one = (_fastest(x for x in own if x.overflow <= most) for own in both)
        rows.append([path, among, *_cells(without), *_cells(with_one)])
        if without is None or with_one is None:
            rows[-1] += [None, "no" if with_one is None else "yes"]
        else:
            gain = 1 - with_one.mean_s / without.mean_s
            worth = "yes" if gain >= ALIKE else "no: as fast" if gain > -ALIKE else "no: slower"
            rows[-1] += [round(100 * gain, 0), worth]
    return rows


def _fastest(candidates: Iterable[Candidate]) -> Candidate | None:
    known = [one for one in candidates if math.isfinite(one.mean_s)]
    return min(known, key=lambda one: one.mean_s, default=None)


def _cells(one: Candidate | None) -> list[Cell]:
    return ["none", None] if one is None else [one.name, round(one.mean_s, 2)]


# ---- On the kernel ----


def kernel_page(_ctx: StudyContext, found: Found) -> Page:
    """The report's tables, figures and data, as far as this form has their trials."""
    clean, lossy = (
        [one for one in ("cubic26", *PAPERS, "vcp_pep") if f"{one}-{path}-r1" in found]
        for path in (CLEAN, LOSSY)
    )
    shares = [
        {"trial": key, "time_s": float(time_s), "file": file + 1, "part": float(part)}
        for key, row in found.items()
        for file, parts in enumerate(row.files.used_by_flow)
        for time_s, part in zip(row.files.slots_s, parts, strict=True)
    ]
    windows = [
        {"trial": key, "file": file + 1, "time_ms": 1000 * float(at), "cwnd_pkts": float(pkts)}
        for key, row in found.items()
        for file, window in enumerate(row.window_pkts)
        for at, pkts in zip(row.window_s, window, strict=True)
        if np.isfinite(pkts)
    ]
    data = {"trials": _trials(found), "shares": pl.DataFrame(shares), "cwnd": pl.DataFrame(windows)}
    return Page(
        tables=[*_kernel_tables(found), *_client_tables(found.clients)],
        figures={
            **_used(found, "Figure 3", CLEAN, clean),
            **_used(found, "Figures 4 and 5", LOSSY, lossy),
            **_shares(found, {7: "xcp_pep", 8: "tcp_pep"}),
            **_windows(found, "the server was connected"),
            **_client_figures(found.clients),
        },
        data=data,
    )


def _kernel_tables(found: Found) -> list[Table]:
    """One table per number, schemes by paths; a cell without a trial or number is empty."""

    def of(name: str, factor: float = 1.0) -> Callable[[str, str], float]:
        return lambda scheme, path: factor * found.mean(scheme, path, name)

    def to_tcp_pep(scheme: str, path: str) -> float:
        own_s, other_s = found.paired(scheme, "tcp_pep", path, TIME, skip_nan=False)
        return 100 * (own_s.mean / other_s - 1)

    def one(title: str, number: Callable[[str, str], float], decimals: int, note: str) -> Table:
        def on(path: str) -> Callable[[str], float | None]:
            return lambda s: number(s, path) if f"{s}-{path}-r1" in found else None

        columns = {name: (on(path), decimals) for path, name in SHORT.items()}
        return table(title, experiments.ON_KERNEL, {"scheme": SCHEMES.get, **columns}, note)

    from_request = "From the request for a file until all of it has arrived."
    return [
        one(experiments.TIMES_TABLE, of(TIME), 2, from_request),
        one(
            "Mean completion times compared with TCP PEP's in %", to_tcp_pep, 0,
            "Over the runs that both have. Below 0 the time is shorter. The paper has 25 % without "
            "loss, and 35 % at 1 %, for routers' protocols from end to end.",
        ),
        one(
            experiments.USED_TABLE, of(USED, 100), 1,
            "From the request for the first file to the end of the last.",
        ),
        one(
            "Jain's index of the files", of(SHARE), 3,
            "Computed from goodputs while all five files are being sent; empty where that never "
            "happens.",
        ),
        one(
            "Packets that the satellite's full queue dropped", of("full_pkts"), 0,
            "Means over runs.",
        ),
    ]  # fmt: skip


KERNEL = declared(
    __name__,
    form="kernel",
    experiments=experiments.on_kernel,
    observe=observe.observe_live,
    gather=observe.gather,
    page=kernel_page,
    statements=claims.OF_KERNEL,
    agreements=experiments.AGREEMENTS,
)
"""Proxies and the satellites' clients on the kernel, against the simulator's linux-6. The proxy is
`headwayctl pep` on a gateway between two emulated legs."""
