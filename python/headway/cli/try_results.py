"""Output of ``headway try``: flows, queues, routers and warnings."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from headway.cli.show import console, notice, print_json, print_table
from headway.cli.try_run import FinishedTrial
from headway.cli.try_warnings import warnings
from headway.digest import SPREAD, average
from headway.experiment import Experiment, Link, Topology
from headway.table import Cell, Table
from headway.units import BITS_PER_BYTE, format_rate, format_time

if TYPE_CHECKING:
    from headway.validation.diverge import Compared

_MOST_FLOWS = 100
"""Most rows of the table of flows; one line summarizes the flows without a row."""
_MOST_LINKS = 8
"""Most links of a network whose results are printed; --json has all."""

Summary = dict[str, Any]


@dataclass(frozen=True)
class OtherBackend:
    """The same trials on the second backend (``--beside``)."""

    backend: str
    trials: Sequence[FinishedTrial]
    compared: Compared | None = None
    """The result of comparing the packets of the first trial; None if they were not compared."""


def print_results(
    base: Experiment,
    done: Sequence[FinishedTrial],
    second: OtherBackend | None = None,
    *,
    as_json: bool,
) -> None:
    """Print the results of the trials and the warnings."""
    trials = [each.digest for each in done]
    mean = _mean(trials)
    mean["warnings"] = _all_warnings(base, mean, done)
    mean["beside"] = None
    if second is not None:
        other = _mean([each.digest for each in second.trials])
        mean["beside"] = {"backend": second.backend, **other}
        if second.compared is not None:
            mean["divergence"] = asdict(second.compared)
        for line in _all_warnings(base, other, second.trials):
            if line not in mean["warnings"]:
                mean["warnings"].append(f"{second.backend}: {line}")
    if as_json:
        mean["trials"] = trials if len(trials) > 1 else []
        mean["experiment"] = base.model_dump(mode="json")
        mean["seeds"] = [each.meta["seed"] for each in done]
        mean["versions"] = done[0].meta["versions"]
        print_json(mean)
    else:
        _print(base, mean, len(trials))
        if second is not None and second.compared is not None:
            console().print("\n".join(second.compared.lines()), markup=False, soft_wrap=True)
    for line in mean["warnings"]:
        notice(f"warning: {line}")


def _mean(trials: Sequence[Any]) -> Summary:
    mean: Summary = dict(average(trials))
    mean["flows"] = [dict(flow) for flow in mean["flows"]]
    if len(trials) > 1:
        _intervals(mean["flows"], trials)
    return mean


def _all_warnings(base: Experiment, mean: Summary, done: Sequence[FinishedTrial]) -> list[str]:
    """Warnings about the results, and the backend's notes."""
    notes = dict.fromkeys(note for each in done for note in each.meta.get("notes", ()))
    return [*warnings(base, mean["flows"]), *notes]


def _intervals(flows: Sequence[Summary], trials: Sequence[Any]) -> None:
    """Add to each flow half the widths of the 95 % confidence intervals over the trials."""
    for index, flow in enumerate(flows):
        of_trials = [trial["flows"][index] for trial in trials]
        flow["goodput_bps_ci95"] = _half_width([each["goodput_bps"] for each in of_trials])
        flow["fct_us_ci95"] = _half_width([each["fct_us"] for each in of_trials])


def _half_width(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    from headway.metrics import confidence_interval

    return confidence_interval(known).half_width


def _print(base: Experiment, mean: Summary, trials: int) -> None:
    print_table(_flows(base, mean["flows"], trials, mean["beside"]))
    for group in mean["transfers"]:
        print_table(_transfers(group))
    shown = _shown_links(base, mean["links"])
    rows: list[list[Cell]] = [
        [f"queue{f' of {label}' if label else ''}, bytes", *_spread(link["queue_bytes"], 1)]
        for label, link in shown
    ]
    if mean["voip"] is not None:
        rows.append(["one-way delay, ms", *_spread(mean["voip"]["owd_us"], 1e-3)])
    print_table(Table("", ["", *SPREAD], rows, by_row=True))
    for label, link in shown:
        with_voip = mean["voip"] and link is shown[0][1]
        voip = f", VoIP lost {cell(mean['voip']['lost_pkts'])}" if with_voip else ""
        console().print(
            f"{f'{label}: ' if label else ''}utilization {link['utilization']:.1%}, "
            f"drops {cell(link['drops_pkts'])}, "
            f"queue full {cell(link['queue_full_events'])} times{voip}",
            markup=False,
        )
        _print_routers(base, link, f" of {label}" if label else "")


def _shown_links(base: Experiment, links: Sequence[Summary]) -> list[tuple[str, Summary]]:
    """The links whose results are printed, each with its label; "" if it is the only one.

    They are the forward links, and the reverse links if a flow begins at the far end. Of a network
    they are the links with the highest utilization.
    """
    if not base.topology.graph().is_row:
        busiest = sorted(links, key=lambda link: -link["utilization"])[:_MOST_LINKS]
        return [(link["name"], link) for link in links if link in busiest]
    several = len(base.topology.links()) > 1
    both = any(flow.direction == "reverse" for flow in base.flows)
    # for a chain of two hops with a gateway, the kernel backend records only one hop's links
    shown = []
    for link in links:
        hop = link["name"].removeprefix("forward").removeprefix("reverse")
        way = "reverse" if link["name"].startswith("reverse") else "forward"
        if both or way == "forward":
            words = [way if both else "", f"hop {hop}" if several else ""]
            shown.append((" ".join(filter(None, words)), link))
    return shown


def _print_routers(base: Experiment, link: Summary, where: str) -> None:
    """Print the counters that each router algorithm declares, without zeros."""
    declared = {owner.name: owner for owner in base.router_algorithms()}
    for name, counters in link["routers"].items():
        phrases = [
            _counter_text(each.name, counters[each.name], each.unit)
            for each in declared[name].counters
            if counters[each.name]
        ]
        console().print(f"{name}{where}: {', '.join(phrases) or 'nothing counted'}", markup=False)


def _counter_text(name: str, value: float, unit: str) -> str:
    if unit == "bit/s":
        return f"{name.removesuffix('_bps')} {format_rate(round(value))}"
    if unit == "ns":
        return f"{name.removesuffix('_ns')} {format_time(round(value))}"
    return f"{name} {cell(value)}"


def _flows(
    base: Experiment, flows: Sequence[Summary], trials: int, second: Summary | None
) -> Table:
    """The table of flows.

    Flows with a size show completion times, and goodput over those times. With a second backend
    the table shows both backends' values and their difference, and omits RTOs, srtt and cwnd.
    """
    sized = any(flow["size_bytes"] is not None for flow in flows)
    named = any(flow.control and flow.control.startup for flow in base.flows)
    shown = flows[:_MOST_FLOWS]
    columns: list[tuple[str, list[Cell]]] = [("flow", [flow["name"] for flow in shown])]
    if named:
        columns.append(("startup", [flow["startup"] for flow in shown]))
    if sized:
        columns.append(("done after ms", [_scaled(flow["fct_us"], 1e-3) for flow in shown]))
        if trials > 1:
            columns.append(("±95 %", [_scaled(flow["fct_us_ci95"], 1e-3) for flow in shown]))
    if second is not None and sized:
        columns += _differences(shown, second, "ms", lambda flow: _scaled(flow["fct_us"], 1e-3))
    columns.append(("goodput kbit/s", [_scaled(_goodput_bps(flow), 1e-3) for flow in shown]))
    if not sized:
        width = "goodput_bps_ci95" if trials > 1 else "goodput_bps_batch_ci95"
        columns.append(("±95 %", [_scaled(flow[width], 1e-3) for flow in shown]))
    if second is not None and not sized:
        columns += _differences(
            shown, second, "kbit/s", lambda flow: _scaled(_goodput_bps(flow), 1e-3)
        )
    columns.append(("sent again", [flow["retransmits_pkts"] for flow in shown]))
    if second is None:
        columns += [
            ("RTOs", [flow["rtos"] for flow in shown]),
            ("srtt ms", [_scaled(flow["srtt_us"], 1e-3) for flow in shown]),
            ("cwnd pkts", [flow["cwnd_pkts"] for flow in shown]),
        ]
    return Table(
        f"{_path_text(base.topology)}, {_stacks(base)}"
        f" · {format_time(base.duration)}, {trials} trial{'s' if trials > 1 else ''}",
        [name for name, _ in columns],
        [list(row) for row in zip(*(cells for _, cells in columns), strict=True)],
        note=_summary_of_others(flows),
    )


def _transfers(group: Summary) -> Table:
    """Completion times and slowdowns of a group's transfers, a row per class of sizes."""
    classes = [one for one in group["by_size"] if one["completed"]]
    several = [group["all"]] if len(classes) != 1 else []
    rows: list[list[Cell]] = []
    for one in [*classes, *several]:
        label = "all" if one is group["all"] else _size_class(one)
        times = [_scaled(one["fct_us"][name], 1e-3) for name in _TAIL]
        slowdowns = [one["slowdown"][name] for name in _TAIL]
        rows.append([label, one["completed"], *times, *slowdowns])
    unfinished = group["unfinished"]
    return Table(
        f"transfers of {group['group']}: completion time in ms, slowdown",
        ["size", "done", *_TAIL_SHOWN, *(f"{name} " for name in _TAIL_SHOWN)],
        rows,
        note=f"not complete at the end: {cell(unfinished)}" if unfinished else "",
    )


_TAIL = ("mean", "median", "p95", "p99", "p999")
_TAIL_SHOWN = ("mean", "p50", "p95", "p99", "p99.9")


def _size_class(one: Summary) -> str:
    if one["below_bytes"] is None:
        return f"from {_shortly(one['from_bytes'])}"
    return f"below {_shortly(one['below_bytes'])}"


def _shortly(amount_bytes: float) -> str:
    """A power of ten of bytes: "10 kB"."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if amount_bytes >= factor:
            return f"{amount_bytes / factor:g} {unit}"
    return f"{amount_bytes:g} B"


def _differences(
    shown: Sequence[Summary],
    second: Summary,
    unit: str,
    value: Callable[[Summary], float | None],
) -> list[tuple[str, list[Cell]]]:
    """Two columns: the second backend's values, and their relative difference."""
    pairs = [
        (value(here), value(there)) for here, there in zip(shown, second["flows"], strict=False)
    ]
    differs: list[Cell] = [
        None if here is None or there is None or not here else f"{(there - here) / here:+.1%}"
        for here, there in pairs
    ]
    return [(f"{second['backend']} {unit}", [there for _, there in pairs]), ("differs", differs)]


def _goodput_bps(flow: Summary) -> float | None:
    """Goodput over a finished flow's completion time, or else over [warmup, duration]."""
    if flow["size_bytes"] is None or flow["fct_us"] is None:
        goodput_bps: float | None = flow["goodput_bps"]
        return goodput_bps
    return float(flow["size_bytes"] * BITS_PER_BYTE * 1e6 / flow["fct_us"])


def _summary_of_others(flows: Sequence[Summary]) -> str:
    """A sentence that summarizes all flows, if the table does not have a row for each flow."""
    if len(flows) <= _MOST_FLOWS:
        return ""
    goodputs = _median_of([_goodput_bps(flow) for flow in flows], 1e-3)
    phrases = [f"goodput {goodputs} kbit/s"]
    times = [flow["fct_us"] for flow in flows if flow["fct_us"] is not None]
    if times:
        phrases.append(f"{len(times)} are done after {_median_of(times, 1e-3)} ms")
    return (
        f"and {len(flows) - _MOST_FLOWS:,} more flows; median (minimum to maximum) of all "
        f"{len(flows):,}: {', '.join(phrases)}; --json lists each"
    )


def _median_of(values: Sequence[float | None], factor: float) -> str:
    known = [value * factor for value in values if value is not None]
    return f"{statistics.median(known):.4g} ({min(known):.4g} to {max(known):.4g})"


def _path_text(path: Topology) -> str:
    """A short description of a path; it names the AQM unless it is drop-tail, and the routers."""
    graph = path.graph()
    forward = [link for link, _ in path.links()]
    several = f"{len(forward)} hops: " if len(forward) > 1 else ""
    if not graph.is_row:
        several = f"{path.kind} of {len(graph.nodes)} nodes: "
    parts = [
        " + ".join(dict.fromkeys(map(_rates, path.links()))),
        format_time(graph.base_rtt_ns(path.access_delay)),
        " + ".join(dict.fromkeys(str(link.buffer) for link in forward)),
        *dict.fromkeys(link.aqm.name for link in forward if link.aqm.name != "drop-tail"),
        *dict.fromkeys(router.label for link in forward for router in link.all_routers()),
    ]
    return several + ", ".join(parts)


def _rates(links: tuple[Link, Link]) -> str:
    """The rate of both directions, or both rates if they differ."""
    there, back = (format_rate(link.rate) for link in links)
    return there if there == back else f"{there} (back {back})"


def _stacks(base: Experiment) -> str:
    of_flows = dict.fromkeys(flow.stack or base.stack for flow in base.flows if flow.is_tcp)
    return " + ".join(of_flows) or base.stack


def cell(value: float) -> str:
    """A count, or a mean of counts, as text."""
    return f"{value:g}" if value == int(value) else f"{value:.1f}"


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _spread(values: Summary, factor: float) -> list[Cell]:
    return [_scaled(values[key], factor) for key in SPREAD]
