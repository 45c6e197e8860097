"""A sweep: the base experiment, the fields that vary, the combinations, and what is measured."""

from __future__ import annotations

import csv
import itertools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from headway import try_experiment, units
from headway.backends import BACKENDS
from headway.errors import ExperimentError, HeadwayError
from headway.experiment import Experiment
from headway.registry import unknown
from headway.spec import Spec, default_made_by, field_error, shorten
from headway.sweep.conditions import Condition
from headway.sweep.fields import Base
from headway.sweep.metrics import (
    DEFAULT,
    Metric,
    function_named,
    parse_metric,
    places_of,
)
from headway.sweep.values import MAX_VALUES, Distribution, Range, Value, sampled

MAX_COMBINATIONS = 10_000_000
"""Most combinations of a sweep, before conditions drop some."""
_MOST_CHECKS = 500
"""Most combinations that are checked before a sweep runs; errors of others are rows."""
_TRIES = 4
"""A value must be allowed in one of the first combinations that have it."""


class Until(Spec):
    """Replications until the 95 % interval of a metric is narrow, or ``most`` of them.

    ``until`` is the metric, ``within`` the half width of Student's t interval as a share of the
    mean. Of a metric of classes, the intervals of all classes must be as narrow.
    """

    until: str
    within: str | float
    least: int = Field(default=5, ge=2)
    most: int = Field(ge=2, le=100_000)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.least > self.most:
            raise field_error("least", f"{self.least} is not allowed; at most {self.most}, as most")
        parse_metric(self.until, "until")
        if not self.share > 0:
            raise field_error("within", f"{self.within!r} is not allowed; more than 0, below 100 %")
        return self

    @property
    def share(self) -> float:
        """``within`` as a number, from 0 to 1."""
        return units.parse_probability(self.within)


class Sample(Spec):
    """Fields that are sampled together: ``count`` points of a Sobol sequence or a Latin hypercube.

    ``seed`` scrambles the sequence.
    """

    fields: dict[str, Distribution] = Field(min_length=1)
    count: int = Field(ge=1, le=MAX_VALUES)
    method: Literal["sobol", "latin-hypercube"] = "sobol"
    seed: int = Field(default=1, ge=0)


class Block(NamedTuple):
    """Fields whose values belong together, and the combinations of their values."""

    fields: tuple[str, ...]
    points: Sequence[tuple[Value, ...]]


class Unit(NamedTuple):
    """What one process runs at a time: a run, or with ``until`` all runs of a combination."""

    row: int
    cell: int
    replication: int | None


class Plan(Spec):
    """The description of a sweep; see ``headway.sweep.Sweep``."""

    name: str = "sweep"
    experiment: dict[str, Any] = default_made_by(dict)
    cross: dict[str, Any] = default_made_by(dict)
    zip: tuple[dict[str, Any], ...] = ()
    sample: tuple[Sample, ...] = ()
    tables: tuple[str | dict[str, tuple[Value, ...]], ...] = ()
    where: tuple[str, ...] = ()
    replications: int | Until = 1
    metrics: tuple[str, ...] = DEFAULT
    functions: tuple[str, ...] = ()
    backend: str = "sim"
    trace: bool = False

    @field_validator("experiment", mode="before")
    @classmethod
    def _document(cls, value: Any) -> Any:
        if isinstance(value, Experiment):
            return {"document": value.model_dump(mode="json")}
        if isinstance(value, str | Path):
            return {"file": str(value)}
        return value

    @field_validator("cross", "zip", mode="before")
    @classmethod
    def _axes(cls, value: Any) -> Any:
        blocks = value if isinstance(value, list | tuple) else [value]
        read = [
            {str(name): _axis(str(name), one) for name, one in block.items()}
            if isinstance(block, Mapping)
            else block
            for block in blocks
        ]
        return tuple(read) if isinstance(value, list | tuple) else read[0]

    @field_validator("replications", mode="before")
    @classmethod
    def _replications(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        if isinstance(value, Mapping):
            return Until.model_validate(value)
        if isinstance(value, Until):
            return value
        raise ValueError(f"{shorten(repr(value))} is not allowed; a number, at least 1, or until")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.backend not in BACKENDS:
            raise ValueError(f"backend: unknown {self.backend!r}; allowed: {', '.join(BACKENDS)}")
        if not self.metrics:
            raise ValueError("metrics: name at least one")
        _ = self.parsed_metrics
        names = [name for block in self.blocks for name in block.fields]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name}: varies twice; name a field in one block only")
        size = math.prod(len(block.points) for block in self.blocks)
        if size == 0:
            empty = next(block.fields for block in self.blocks if not block.points)
            raise ValueError(f"{', '.join(empty)}: has no value, so the sweep has no run")
        if size > MAX_COMBINATIONS:
            raise ValueError(
                f"cross: {size:,} combinations are too many; at most {MAX_COMBINATIONS:,}"
            )
        if len(self.cells) * self.most_replications > MAX_VALUES:
            raise ValueError(
                f"replications: {len(self.cells) * self.most_replications:,} runs are too many; at "
                f"most {MAX_VALUES:,}"
            )
        return self

    @classmethod
    def from_file(cls, path: Path | str) -> Self:
        """Read a sweep from a .toml file. Raises HeadwayError with one line that names the file.

        The files that it names are relative to its folder, which may also have modules with
        functions. The default name is the file's name.
        """
        path = Path(path)
        fields = try_experiment.fields_of_file(path)
        if not isinstance(fields, dict):
            raise HeadwayError(f"{path}: not a sweep; it must map names to values")
        folder = str(path.resolve().parent)
        if fields.get("functions") and folder not in sys.path:
            sys.path.insert(0, folder)
        try:
            fields = {"name": path.stem, **_absolute(fields, path.parent)}
            return cls.model_validate(fields)
        except ExperimentError as error:
            raise HeadwayError(f"{path}: {error}") from None

    @cached_property
    def base(self) -> Base:
        """What all runs have in common."""
        fixed = dict(self.experiment)
        document, file = fixed.pop("document", None), fixed.pop("file", None)
        if file is not None:
            experiment = try_experiment.from_file(Path(file))
            document = experiment.model_dump(mode="json")
        return Base(document=document, fixed=fixed, backend=self.backend, trace=self.trace)

    @cached_property
    def parsed_metrics(self) -> tuple[Metric, ...]:
        """The metrics, each once."""
        return tuple(dict.fromkeys(map(parse_metric, self.metrics)))

    @cached_property
    def blocks(self) -> list[Block]:
        """Blocks of fields; the last one varies fastest."""
        blocks = [Block(*_read_table(table)) for table in self.tables]
        blocks += [
            Block(tuple(one.fields), sampled(one.fields, one.count, one.method, one.seed))
            for one in self.sample
        ]
        for fields in self.zip:
            columns = [_values(name, axis) for name, axis in fields.items()]
            if len({len(column) for column in columns}) > 1:
                lengths = ", ".join(
                    f"{name} has {len(column)}"
                    for name, column in zip(fields, columns, strict=True)
                )
                raise ExperimentError(f"zip: fields must have equally many values; {lengths}")
            blocks.append(Block(tuple(fields), list(zip(*columns, strict=True))))
        blocks += [
            Block((name,), [(value,) for value in _values(name, axis)])
            for name, axis in self.cross.items()
        ]
        return blocks

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that vary."""
        return tuple(name for block in self.blocks for name in block.fields)

    @cached_property
    def cells(self) -> list[tuple[Value, ...]]:
        """The combinations that are kept, each with a value per field."""
        points = itertools.product(*(block.points for block in self.blocks))
        cells = (tuple(itertools.chain.from_iterable(point)) for point in points)
        if not self.where:
            return list(cells)
        known = {name: value for name, value in self.base.fixed.items() if name not in self.fields}
        first = dict(zip(self.fields, (v for b in self.blocks for v in b.points[0]), strict=True))
        conditions = [Condition(text, known | first) for text in self.where]
        kept = []
        for cell in cells:
            values = known | dict(zip(self.fields, cell, strict=True))
            if all(condition.holds(values) for condition in conditions):
                kept.append(cell)
        if not kept:
            raise ExperimentError("where: no combination is left, so the sweep has no run")
        return kept

    @property
    def until(self) -> Until | None:
        """When the replications of a combination end; None for a fixed number."""
        return self.replications if isinstance(self.replications, Until) else None

    @property
    def most_replications(self) -> int:
        """The number of replications, or the largest number."""
        if isinstance(self.replications, Until):
            return self.replications.most
        return self.replications

    @property
    def rows(self) -> int:
        """Number of rows: runs, or with ``until`` combinations."""
        return len(self.cells) * (1 if self.until else self.most_replications)

    def settings(self, cell: int) -> dict[str, Value]:
        """The values of a combination by field."""
        return dict(zip(self.fields, self.cells[cell], strict=True))

    def units(self, rows: Sequence[int] | None = None) -> Iterator[Unit]:
        """The rows with these numbers, or all, in order."""
        for row in range(self.rows) if rows is None else rows:
            if self.until:
                yield Unit(row, row, None)
            else:
                yield Unit(row, *divmod(row, self.most_replications))

    def check(self) -> None:
        """Raise HeadwayError for what would fail in every run that has it.

        That is a field or a value that no experiment has, a metric of what no run has, or a
        function that cannot be imported.
        """
        for text in self.functions:
            function_named(text)
        wanted = [*self.parsed_metrics]
        if self.until:
            wanted.append(parse_metric(self.until.until, "until"))
        known: dict[str, tuple[str, ...]] = {}
        tries: dict[tuple[str, Value], int] = {}
        failed: dict[tuple[str, Value], HeadwayError] = {}
        checks = 0
        for cell in self.cells:
            if checks == _MOST_CHECKS:
                break
            pairs = [
                pair
                for pair in zip(self.fields, cell, strict=True)
                if tries.get(pair, 0) < _TRIES and (pair in failed or pair not in tries)
            ]
            if not pairs and tries:
                continue
            checks += 1
            try:
                experiment = self.base.experiment(dict(zip(self.fields, cell, strict=True)))
            except HeadwayError as error:
                for pair in pairs:
                    tries[pair] = tries.get(pair, 0) + 1
                    failed.setdefault(pair, error)
                if not self.fields:
                    raise
                continue
            known |= places_of(experiment)
            for pair in pairs:
                tries[pair] = _TRIES
                failed.pop(pair, None)
            if not self.fields:
                break
        if failed:
            raise next(iter(failed.values()))
        for metric in wanted:
            _check_metric(metric, known)


def _check_metric(metric: Metric, known: Mapping[str, tuple[str, ...]]) -> None:
    if metric.where is None:
        return
    if metric.where not in known:
        hint = unknown("flow, class or link", metric.where, list(known))
        raise HeadwayError(f"metrics: {metric.column}: {hint}")
    if metric.name not in known[metric.where]:
        has = ", ".join(known[metric.where])
        raise HeadwayError(f"metrics: {metric.column}: {metric.where} has only {has}")


def _axis(name: str, given: Any) -> Any:
    """The values of a field: a list, a Range, or a Distribution."""
    if isinstance(given, Range | Distribution):
        return given
    try:
        if isinstance(given, Mapping):
            made = Range if "range" in given else Distribution
            return made.model_validate(given)
    except ExperimentError as error:
        raise ExperimentError(f"{name}: {error}") from None
    if not isinstance(given, list | tuple):
        raise ExperimentError(
            f"{name}: {shorten(repr(given))} is not allowed; a list, a range or a distribution"
        )
    for value in given:
        if not isinstance(value, str | int | float | bool):
            raise ExperimentError(
                f"{name}: {shorten(repr(value))} is not allowed; texts, numbers, true and false"
            )
    return tuple(given)


def _values(name: str, axis: Any) -> Sequence[Value]:
    if isinstance(axis, Range):
        return axis.values()
    if isinstance(axis, Distribution):
        if axis.count is None:
            raise ExperimentError(f"{name}: count: is missing; the number of values to draw")
        drawn = sampled({name: axis}, axis.count, axis.method or "sobol", axis.seed or 1)
        return [value for (value,) in drawn]
    values: Sequence[Value] = axis
    return values


def _absolute(fields: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The fields of a file, with paths that do not depend on the current folder."""
    experiment = fields.get("experiment")
    if isinstance(experiment, dict) and isinstance(experiment.get("file"), str):
        fields = {**fields, "experiment": {**experiment, "file": str(folder / experiment["file"])}}
    if isinstance(tables := fields.get("tables"), list):
        named = [str(folder / one) if isinstance(one, str) else one for one in tables]
        fields = {**fields, "tables": named}
    return fields


def _read_table(
    table: str | Mapping[str, Sequence[Value]],
) -> tuple[tuple[str, ...], list[tuple[Value, ...]]]:
    """Fields and rows of a CSV file, or of columns."""
    if not isinstance(table, str):
        return tuple(table), list(zip(*table.values(), strict=True))
    try:
        with Path(table).open(newline="", encoding="utf-8") as stream:
            lines = [line for line in csv.reader(stream, strict=True) if line]
    except OSError as error:
        raise ExperimentError(f"tables: {table}: cannot read: {error.strerror or error}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise ExperimentError(f"tables: {table}: not CSV: {error}") from None
    if not lines:
        raise ExperimentError(f"tables: {table}: has no header")
    header = tuple(name.strip() for name in lines[0])
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(header):
            raise ExperimentError(
                f"tables: {table}: row {number} has {len(line)} values; the header has "
                f"{len(header)}"
            )
    return header, [tuple(value.strip() for value in line) for line in lines[1:]]
