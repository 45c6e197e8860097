"""The experiment of a row: the base of a sweep, with the row's values set in its fields.

The base is a file of an experiment, or the options of ``headway try`` with their defaults. A field
is named as in the experiment's document: ``topology.rate``, ``flows[0].delay``, ``flows[*].stack``,
``sysctls.tcp_sack``; ``topology.`` may be left out. With options, an option's name means the
option.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headway import try_experiment
from headway.errors import ExperimentError, HeadwayError
from headway.experiment import Experiment
from headway.registry import unknown
from headway.spec import Spec, default_made_by
from headway.sweep.values import Value
from headway.try_experiment import TryOptions

Settings = Mapping[str, Any]
"""Values by the names of fields or options."""

_SEEDS = 2**63
_PART = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\d+|\*)\]")
_MAPPINGS = ("sysctls", "route_attributes", "tunables")
"""Fields that map names to values: a name may be added, and the experiment checks it."""
_SINGULAR = {"hops": "hop", "routers": "router", "sysctls": "sysctl"}
_OPTIONS = {_SINGULAR.get(one.name, one.name): one.name for one in dataclasses.fields(TryOptions)}
"""The fields of TryOptions by the options' names."""
_SEVERAL = ("hop", "router", "sysctl", "route")
_SWITCHES = ("voip", "routers_at_arrival")


def option_name(name: str) -> str | None:
    """The option of ``headway try`` with this name, as in the file of a sweep; None if none."""
    plain = name.removeprefix("--").replace("-", "_")
    return plain if plain in _OPTIONS else None


class Base(Spec):
    """What all rows of a sweep have in common."""

    document: dict[str, Any] | None = None
    """The fields of an experiment; None for the options of ``headway try``."""
    fixed: dict[str, Any] = default_made_by(dict)
    """Settings of all rows."""
    backend: str = "sim"
    trace: bool = False
    """Whether traces are kept. Otherwise no counters are read for time series."""

    def experiment(self, settings: Settings) -> Experiment:
        """The experiment with these settings. Raises ExperimentError or HeadwayError."""
        settings = {**self.fixed, **settings}
        seed = settings.pop("seed", None)
        if self.document is None:
            given = {name: option_name(name) for name in settings}
            options = {option: settings[name] for name, option in given.items() if option}
            paths = {name: settings[name] for name, option in given.items() if not option}
            start = 1 if seed is None else _seed(seed)
            made = try_experiment.from_options(_try_options(options), start, self.backend)
            if not paths:
                return self._without_samples(made)
            document = made.model_dump(mode="json")
        else:
            document, paths = copy.deepcopy(self.document), settings
            if seed is not None:
                document["seed"] = _seed(seed)
        for name, value in paths.items():
            set_field(document, name, value)
        return self._without_samples(Experiment.model_validate(document))

    @property
    def seed(self) -> int:
        """The seed of the first replication, if no field varies it."""
        given = self.fixed.get("seed", (self.document or {}).get("seed", 1))
        return _seed(given)

    def _without_samples(self, experiment: Experiment) -> Experiment:
        if self.trace or (experiment.sample is None and experiment.capture is None):
            return experiment
        return experiment.model_copy(update={"sample": None, "capture": None})

    def as_command(self, settings: Settings, seed: int) -> list[str] | None:
        """The arguments of ``headway try`` for this row; None if it needs a file."""
        settings = {**self.fixed, **settings, "seed": seed}
        if self.document is not None:
            return None
        words: list[str] = []
        for name, value in settings.items():
            option = "seed" if name == "seed" else option_name(name)
            if option is None:
                return None
            shown = f"--{option.replace('_', '-')}"
            if option in _SWITCHES:
                words += [shown] if _switch(option, value) else []
            else:
                several = value if isinstance(value, list) else [value]
                words += [word for one in several for word in (shown, _text(one))]
        return words


def with_seed(experiment: Experiment, replication: int) -> Experiment:
    """The experiment with its seed increased by ``replication``."""
    seed = experiment.seed + replication
    if seed >= _SEEDS:
        raise ExperimentError(f"seed: {seed} is not allowed; must be below 2**63")
    if not replication:
        return experiment
    # Nothing else changes, so the checks of Experiment.model_copy would only take time.
    return super(Experiment, experiment).model_copy(update={"seed": seed})


def _seed(value: object) -> int:
    try:
        seed = int(str(value))
    except ValueError:
        seed = -1
    if not 0 <= seed < _SEEDS:
        raise ExperimentError(f"seed: {value!r} is not allowed; 0 to 2**63 - 1")
    return seed


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _switch(option: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("on", "off"):
        return value == "on"
    raise ExperimentError(f"{option}: {value!r} is not allowed; true or false")


def _try_options(options: Mapping[str, Any]) -> TryOptions:
    given: dict[str, Any] = {}
    for name, value in options.items():
        if name in _SWITCHES:
            given[_OPTIONS[name]] = _switch(name, value)
        elif name in _SEVERAL:
            several = value if isinstance(value, list) else [value]
            given[_OPTIONS[name]] = [_text(one) for one in several]
        else:
            given[_OPTIONS[name]] = Path(_text(value)) if name == "topology" else _text(value)
    if "control" in options and "flows" in options:
        raise HeadwayError("control: is one flow; put it into flows")
    return TryOptions(**given)


def _parts_of(name: str) -> list[str | int]:
    """The parts of a field's name: flows[0].delay has flows, 0 and delay; [*] is "*"."""
    parts: list[str | int] = []
    at = 0
    while at < len(name):
        found = _PART.match(name, at)
        if found is None:
            raise ExperimentError(f"{name!r} is not the name of a field; write topology.rate")
        word, index = found.groups()
        parts.append(word if word else index if index == "*" else int(index))
        at = found.end()
    return parts


def set_field(document: dict[str, Any], name: str, value: Value) -> None:
    """Set a field of an experiment's document. Raises ExperimentError if it names no field."""
    parts = _parts_of(name)
    topology = document.get("topology")
    if parts and parts[0] not in document and isinstance(topology, dict) and parts[0] in topology:
        parts = ["topology", *parts]
    _set(document, parts, value, "", name)


def _set(at: Any, parts: Sequence[str | int], value: Value, where: str, name: str) -> None:
    part, *rest = parts
    keys: list[Any] = [part]
    if isinstance(at, list):
        if part == "*":
            keys = list(range(len(at)))
        elif not isinstance(part, int) or part >= len(at):
            raise ExperimentError(
                f"{name}: no such field; {where} has {len(at)} elements, counted from 0"
            )
    elif not isinstance(at, dict):
        raise ExperimentError(f"{name}: no such field; {where} is {at!r} here")
    elif not isinstance(part, str) or (
        part not in at and where.rpartition(".")[2] not in _MAPPINGS
    ):
        known = list(at)
        if not where and isinstance(at.get("topology"), dict):
            known += [one for one in at["topology"] if one not in at]
        hint = unknown("", str(part), known).partition("; ")[2]
        raise ExperimentError(f"{name}: no such field; {hint}")
    for key in keys:
        if rest:
            inner = f"[{key}]" if isinstance(key, int) else f".{key}" if where else str(key)
            _set(at[key], rest, value, where + inner, name)
        else:
            at[key] = value
