"""Finds a smaller experiment in which the backends still differ.

This module drops flows and options, halves the transfer and rounds numbers: one change after the
other, the largest first. It keeps a change if the backends still differ. The number of changes that
it tries is limited, because each needs a run on the kernel.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.experiment.flow import Flow
from headway.experiment.path import Dumbbell, Link
from headway.spec import Spec

Fields = dict[str, Any]
Differs = Callable[[Experiment], bool]
"""A function that returns whether both backends can run an experiment and differ in it."""

_KEPT_OF_FLOW = ("app", "control", "start")
_DUMBBELL = Dumbbell(rate="1 Mbit/s", rtt="1 ms", buffer="2 pkts")
_LINK = Link(rate="1 Mbit/s", delay="1 ms", buffer="2 pkts")
_KEPT_OF_PATH = ("kind", "rate", "rtt", "delay", "buffer", "access_rate", "access_delay")
_TOGETHER = (("read_size", "read_interval"), ("source", "destination"))
"""Options of a flow that are set together or not at all."""
_SETTINGS = ("sysctls", "route_attributes")
_QUANTITY = re.compile(r"^([0-9.]+)( ?)([A-Za-z/]*)$")
_ROUNDED = ("rate", "rtt", "buffer", "delay", "size", "read_rate", "rcvbuf", "sndbuf", "rmem",
            "wmem", "initial_rwnd", "read_size", "read_interval", "initial_rate",
            "loss", "spread", "burst", "interval")  # fmt: skip
_LEAST_BYTES = 20_000
"""The smallest size to which a transfer is reduced."""


def minimize(experiment: Experiment, differs: Differs, most: int) -> tuple[Experiment, int]:
    """Find a smaller experiment in which the backends still differ.

    Calls ``differs`` at most ``most`` times.

    Returns the experiment and the number of calls.
    """
    found, tries = experiment, 0
    refused: set[str] = set()
    changed = True
    while changed:
        changed = False
        for what, fields in _candidates(found.model_dump(mode="json")):
            if what in refused:
                continue
            try:
                candidate = Experiment.model_validate(fields)
            except HeadwayError:
                continue
            if candidate == found:
                continue
            if tries == most:
                return found, tries
            tries += 1
            if differs(candidate):
                found, changed = candidate, True
                break
            refused.add(what)
    return found, tries


FieldPath = tuple[str | int, ...]
Candidates = Iterator[tuple[str, Fields]]
"""Simpler experiments, each with a text that names the change from the original experiment."""


def _with(fields: Mapping[str, Any], *changes: tuple[FieldPath, Any]) -> Fields:
    """A copy of an experiment's fields in which ``changes`` have set the values at paths."""
    other: Fields = copy.deepcopy(dict(fields))
    for (*above, name), value in changes:
        place: Any = other
        for step in above:
            place = place[step]
        place[name] = value
    return other


def _candidates(fields: Mapping[str, Any]) -> Candidates:
    flows = fields["flows"]
    for index in range(len(flows) - 1, 0, -1):
        others = [flow for number, flow in enumerate(flows) if number != index]
        yield f"flow {index} of {len(flows)}", {**fields, "flows": others}
    yield from _simpler_path(fields)
    for index in range(len(flows)):
        yield from _simpler_flow(fields, index)
        yield from _shorter_flow(fields, index)
    length = _QUANTITY.match(fields["duration"])
    if all(flow["app"].get("size") is None for flow in flows) and length and float(length[1]) >= 2:
        half = f"{float(length[1]) / 2:g} {length[3]}"
        yield f"duration, {half}", {**fields, "duration": half}
    yield from _rounder(fields)


def _simpler_path(fields: Mapping[str, Any]) -> Candidates:
    for place, own, plain in _links(fields["topology"]):
        for name, value in plain.model_dump(mode="json").items():
            if name not in _KEPT_OF_PATH and own[name] != value:
                yield f"{place}: {name}", _with(fields, ((*place, name), value))
        steps = (own["vary"] or {}).get("steps", ())
        for number in range(1, len(steps)):
            others = [step for index, step in enumerate(steps) if index != number]
            yield (
                f"{place}: step {number} of {len(steps)}",
                _with(fields, ((*place, "vary", "steps"), others)),
            )
    needed = len(fields["flows"]) + 1
    if fields["topology"].get("hosts", 0) > needed:
        yield f"{needed} hosts", _with(fields, (("topology", "hosts"), needed))
    for settings in _SETTINGS:
        for name in fields[settings]:
            kept = {other: v for other, v in fields[settings].items() if other != name}
            yield f"{settings}: {name}", {**fields, settings: kept}


def _links(path: Mapping[str, Any]) -> list[tuple[FieldPath, Any, Spec]]:
    """Each link's place and fields, and a link without options; a dumbbell counts as a link."""
    hops: list[tuple[FieldPath, Any]] = [
        (("topology", "hops", index), hop) for index, hop in enumerate(path.get("hops", ()))
    ]
    if "edge" in path:
        hops = [(("topology", "edge"), path["edge"])]
    links: list[tuple[FieldPath, Any, Spec]] = [
        ((*place, way), hop[way], _LINK)
        for place, hop in hops
        for way in ("forward", "reverse")
        if hop[way] is not None
    ]
    if path["kind"] == "dumbbell":
        links = [(("topology",), path, _DUMBBELL)]
        if path["reverse"] is not None:
            links.append((("topology", "reverse"), path["reverse"], _LINK))
    return links


def _simpler_flow(fields: Mapping[str, Any], index: int) -> Candidates:
    flow = fields["flows"][index]
    place = ("flows", index)
    for name, field in Flow.model_fields.items():
        plain = field.get_default(call_default_factory=True)
        if name in _KEPT_OF_FLOW or flow[name] == plain:
            continue
        changes = [((*place, name), plain)]
        for pair in _TOGETHER:
            if name in pair:
                changes = [((*place, both), None) for both in pair]
        yield f"flow {index}'s {name}", _with(fields, *changes)
    control = flow["control"]
    if control is None:
        return
    if control["startup"] is not None:
        alone = {"name": control["name"]}
        yield f"flow {index}'s startup", _with(fields, ((*place, "control"), alone))
    for name in ("reno", "cubic"):
        if control["name"] not in ("reno", name):
            other = {**control, "name": name}
            yield f"flow {index}'s control, {name}", _with(fields, ((*place, "control"), other))


def _shorter_flow(fields: Mapping[str, Any], index: int) -> Candidates:
    """Experiments in which a flow has half its size, or half its epochs."""
    app = fields["flows"][index]["app"]
    place = ("flows", index, "app")
    size = app.get("size")
    if size is not None and (half := int(size.split()[0]) // 2) >= _LEAST_BYTES:
        yield f"flow {index}'s size, {half}", _with(fields, ((*place, "size"), f"{half} B"))
    epochs = app.get("epochs", ())
    if len(epochs) > 1:
        few = epochs[: len(epochs) // 2]
        yield f"flow {index}'s epochs, {len(few)}", _with(fields, ((*place, "epochs"), few))


def _rounder(fields: Mapping[str, Any]) -> Candidates:
    """Experiments with numbers rounded to one digit: first all numbers, then one at a time."""
    rounded = _round(fields)
    if rounded != fields:
        yield f"all rounded, {rounded}", rounded
    owners: list[tuple[FieldPath, Any]] = [(("topology",), fields["topology"])]
    owners += [(("flows", index), flow) for index, flow in enumerate(fields["flows"])]
    for place, owner in owners:
        for name in _ROUNDED:
            if name in owner and (value := _round_text(owner[name])) != owner[name]:
                yield f"{place}: {name}, {value}", _with(fields, ((*place, name), value))


def _round(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _round(of_key, key) for key, of_key in value.items()}
    if isinstance(value, list):
        return [_round(one, name) for one in value]
    return _round_text(value) if name in _ROUNDED else value


def _round_text(value: Any) -> Any:
    """A quantity, or the sizes of a buffer, rounded to one significant digit."""
    if isinstance(value, float):
        return float(f"{value:.0e}")
    match = _QUANTITY.match(value) if isinstance(value, str) else None
    if match is None and isinstance(value, str) and value.count("/") == 2:
        least, *sizes = value.split("/")
        return "/".join([least, *map(_round_text, sizes)])
    if match is None:
        return value
    number = f"{float(f'{float(match[1]):.0e}'):.10f}".rstrip("0").rstrip(".")
    return f"{number}{match[2]}{match[3]}"


def one_line(experiment: Experiment) -> str:
    """An experiment as one line of text, without settings that have their default."""
    fields = experiment.model_dump(mode="json", exclude_defaults=True)
    path = {k: v for k, v in fields["topology"].items() if k != "kind"}
    path |= {name: fields[name] for name in _SETTINGS if fields.get(name)}
    parts = [f"{name}={_value_text(value)}" for name, value in path.items()]
    for flow, own in zip(experiment.flows, fields["flows"], strict=True):
        control = flow.control.label if flow.control is not None else flow.app.kind
        settings = [f"{k}={_value_text(v)}" for k, v in own.items() if k != "control"]
        parts.append(":".join([control, *settings]))
    return ", ".join(parts)


def _value_text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={_value_text(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return "+".join(map(_value_text, value))
    return str(value).replace(" ", "")
