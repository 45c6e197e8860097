"""The metrics of a sweep's table: of classes of flows, of single flows and of links.

A class has the flows of one ``name``; flows without a name are grouped by their control and its
startup. All UDP flows together are the class "udp".
"""

from __future__ import annotations

import importlib
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.digest import Digest
from headway.errors import ExperimentError, HeadwayError
from headway.experiment import Experiment, Transfers
from headway.experiment.network import named_links
from headway.registry import unknown

UDP = "udp"
DEFAULT = (
    "goodput_bps", "retransmits_pkts", "srtt_us", "fct_us", "owd_median_us", "utilization",
    "drop_rate", "queue_mean_bytes", "jain_index",
)  # fmt: skip
"""The metrics of a sweep that names none."""
_MEANS = ("goodput_bps", "goodput_tcptrace_bps", "srtt_us", "cwnd_pkts", "fct_us", "slow_start_us")
_SUMS = (
    "sent_pkts", "retransmits_pkts", "rtos", "backoffs", "delivered_bytes", "quick_start_requests",
    "quick_start_grants",
)  # fmt: skip
_SPREAD = ("median", "mean", "p95", "p99", "max")
_COUNTED = (
    "utilization", "throughput_bps", "drops_pkts", "drop_rate", "queue_full_events",
    "queue_full_per_minute",
)  # fmt: skip
_LINK = (*_COUNTED, *(f"queue_{name}_bytes" for name in _SPREAD))
_OF_UDP = (*(f"owd_{name}_us" for name in _SPREAD), "lost_pkts")
_OF_TRANSFERS = (
    "begun", "unfinished", "completed",
    *(f"transfer_fct_{name}_us" for name in (*_SPREAD, "p999")),
    *(f"slowdown_{name}" for name in (*_SPREAD, "p999")),
)  # fmt: skip
_TOTAL = "goodput_total_bps"
OF_CLASS = (*_MEANS, _TOTAL, *_SUMS, *_OF_UDP, *_OF_TRANSFERS)
"""Metrics of a class: means over its flows, except for counts and ``goodput_total_bps``, which are
sums."""
OF_RUN = (*_LINK, "jain_index")
"""Metrics of a run: of its first link, and Jain's index of all TCP flows' goodput."""
KNOWN = (*OF_CLASS, *OF_RUN)

Result = dict[str, Any]
"""What is kept of a run: "flows", "links", "udp", "transfers", "jain_index", "functions"; or only
"error"."""
Values = dict[str, Any]


def classes_of(experiment: Experiment) -> list[str]:
    """The class of each flow."""
    found = []
    for flow in experiment.flows:
        control = flow.control
        if not flow.is_tcp or control is None:
            found.append(UDP)
        elif flow.name:
            found.append(flow.name)
        else:
            found.append(control.name + (f"+{control.startup}" if control.startup else ""))
    return found


def result_of(experiment: Experiment, digest: Digest) -> Result:
    """What is kept of a run."""
    classes = [
        name
        for name, flow in zip(classes_of(experiment), experiment.flows, strict=True)
        if flow.is_tcp
    ]
    flows = [
        {"class": name, **{key: flow[key] for key in ("name", *_MEANS, *_SUMS)}}  # type: ignore[literal-required]
        for name, flow in zip(classes, digest["flows"], strict=True)
    ]
    transfers = [
        {
            "class": one["group"],
            "begun": one["begun"],
            "unfinished": one["unfinished"],
            "completed": one["all"]["completed"],
            **_spread("transfer_fct_{}_us", one["all"]["fct_us"], (*_SPREAD, "p999")),
            **_spread("slowdown_{}", one["all"]["slowdown"], (*_SPREAD, "p999")),
        }
        for one in digest["transfers"]
    ]
    links = [
        {
            "name": link["name"],
            **{key: link[key] for key in _COUNTED},  # type: ignore[literal-required]
            **_spread("queue_{}_bytes", link["queue_bytes"], _SPREAD),
        }
        for link in digest["links"]
    ]
    udp = None
    if (voip := digest["voip"]) is not None:
        udp = {
            "flow_count": sum(not flow.is_tcp for flow in experiment.flows),
            **_spread("owd_{}_us", voip["owd_us"], _SPREAD),
            "lost_pkts": voip["lost_pkts"],
        }
    return {
        "flows": flows, "links": links, "udp": udp, "transfers": transfers,
        "jain_index": digest["jain_index"],
    }  # fmt: skip


def _spread(pattern: str, of: Mapping[str, Any], names: Iterable[str]) -> Values:
    return {pattern.format(name): of.get(name) for name in names}


@dataclass(frozen=True)
class Metric:
    """A metric by its name; ``where`` is a class, a flow or a link, or None."""

    name: str
    where: str | None = None

    @property
    def column(self) -> str:
        """The column's name in the table."""
        return self.name if self.where is None else f"{self.where}.{self.name}"


def parse_metric(text: str, field: str = "metrics") -> Metric:
    """The metric that a text names: ``goodput_bps``, ``cubic.goodput_bps``, ``reverse0.drop_rate``.

    Raises ExperimentError for an unknown name.
    """
    where, _, name = text.rpartition(".")
    if name not in KNOWN:
        raise ExperimentError(f"{field}: {unknown('metric', name, list(KNOWN))}")
    if where and name == "jain_index":
        raise ExperimentError(f"{field}: {text}: jain_index is of the whole run")
    return Metric(name, where or None)


def places_of(experiment: Experiment) -> dict[str, tuple[str, ...]]:
    """The names that a metric's ``where`` may have, each with the metrics that it has."""
    places: dict[str, tuple[str, ...]] = {}
    flows = zip(classes_of(experiment), experiment.flow_names(), experiment.flows, strict=True)
    for of_class, name, flow in flows:
        own: tuple[str, ...] = (*_MEANS, *_SUMS) if flow.is_tcp else ()
        places[of_class] = (*own, _TOTAL) if flow.is_tcp else _OF_UDP
        if isinstance(flow.app, Transfers):
            places[of_class] += _OF_TRANSFERS
        if flow.is_tcp:
            places.setdefault(name, own)
    for name in named_links(experiment.topology):
        places.setdefault(name, _LINK)
    return places


def rows_of(result: Result) -> list[Values]:
    """A result's values by class: each has "class", "flow_count", and the metrics of the class."""
    rows: dict[str, Values] = {}
    by_class: dict[str, list[Values]] = {}
    for flow in result["flows"]:
        by_class.setdefault(flow["class"], []).append(flow)
    for name, flows in by_class.items():
        row: Values = {"class": name, "flow_count": len(flows)}
        row |= {key: _mean(flow[key] for flow in flows) for key in _MEANS}
        row[_TOTAL] = math.fsum(flow["goodput_bps"] for flow in flows)
        row |= {key: sum(flow[key] for flow in flows) for key in _SUMS}
        rows[name] = row
    for one in result["transfers"]:
        rows.setdefault(one["class"], {"flow_count": None}).update(one)
    if result["udp"] is not None:
        rows.setdefault(UDP, {"class": UDP}).update(result["udp"])
    return list(rows.values())


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def values_of_run(result: Result, metrics: Sequence[Metric]) -> Values:
    """The values of the metrics that a run has once, by column."""
    links = {link["name"]: link for link in result["links"]}
    first = result["links"][0]
    found: Values = {}
    for metric in metrics:
        if metric.where is None:
            if metric.name == "jain_index":
                found[metric.column] = result["jain_index"]
            elif metric.name in _LINK:
                found[metric.column] = first[metric.name]
            continue
        if metric.name in _LINK:
            found[metric.column] = links.get(metric.where, {}).get(metric.name)
            continue
        named = [row for row in rows_of(result) if row["class"] == metric.where]
        named += [flow for flow in result["flows"] if flow["name"] == metric.where]
        found[metric.column] = next((row[metric.name] for row in named if metric.name in row), None)
    return found


def readings(result: Result, metric: Metric) -> list[float]:
    """The metric's values in a result: one per class for a metric of classes."""
    if metric.where is None and metric.name in OF_CLASS:
        values = [row.get(metric.name) for row in rows_of(result)]
    else:
        values = list(values_of_run(result, [metric]).values())
    return [math.nan if value is None else float(value) for value in values]


Function = Callable[[Any], Any]


def function_named(text: str) -> Function:
    """The Python function that "module:function" names. Raises HeadwayError."""
    module_name, _, name = text.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise HeadwayError(f"functions: {text}: cannot be imported: {error}") from None
    if not callable(found):
        raise HeadwayError(f"functions: {text}: is not a function")
    return found  # type: ignore[no-any-return]


def applied(functions: Mapping[str, Function], trace: Any) -> Values:
    """The numbers that functions make of a trace, by column. Raises HeadwayError."""
    found: Values = {}
    for text, function in functions.items():
        try:
            made = function(trace)
        except HeadwayError:
            raise
        except Exception as error:  # the user's code
            raise HeadwayError(f"{text}: {type(error).__name__}: {error}") from None
        named = made if isinstance(made, Mapping) else {text.rpartition(":")[2]: made}
        for name, value in named.items():
            if isinstance(value, bool | str) or value is None:
                found[str(name)] = value
                continue
            try:
                number = float(value)
            except (TypeError, ValueError):
                raise HeadwayError(f"{text}: {name}: {value!r} is not a number") from None
            whole = isinstance(value, int) or (number.is_integer() and not isinstance(value, float))
            found[str(name)] = None if math.isnan(number) else int(value) if whole else number
    return found
