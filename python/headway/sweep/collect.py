"""The table of a sweep: one row per run and class of flows, in the plan's order."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from headway.errors import HeadwayError
from headway.files import save_bytes
from headway.sweep.metrics import OF_CLASS, Metric, Result, rows_of, values_of_run
from headway.sweep.plan import Plan
from headway.sweep.results import Results
from headway.sweep.values import Value, quantity
from headway.sweep.work import Runner, description_of, task

_UNITS = {"bit/s": ("bps", 1), "s": ("us", 1_000_000), "B": ("bytes", 1),
          "pkts": ("pkts", 1), "BDP": ("bdp", 1)}  # fmt: skip
"""By kind of quantity: the end of the column's name, and the factor from the base unit."""


@dataclass(frozen=True)
class Axis:
    """A field that varies, as a column: numbers in one unit, or texts."""

    name: str
    column: str
    factor: float | None
    """Factor from base units to the column's; None for texts."""
    is_whole: bool = False

    def value(self, given: Value) -> Value:
        """A value of the field in the column."""
        if self.factor is None:
            return ("on" if given else "off") if isinstance(given, bool) else str(given)
        found = quantity(given)
        assert found is not None
        amount = found.amount * self.factor
        return round(amount) if self.is_whole else float(f"{amount:.15g}")


def axis_of(name: str, values: Sequence[Value]) -> Axis:
    """The column of a field that has these values."""
    found = [quantity(value) for value in values]
    kinds = {None if one is None else one.unit for one in found}
    known = [one for one in found if one is not None]
    if None in kinds or len(kinds) > 1:
        return Axis(name, name, None)
    unit = known[0].unit
    end, factor = _UNITS.get(unit, ("", 1))
    amounts = [one.amount * factor for one in known]
    # rates and sizes are whole; times are rounded to ns, so they may have decimals of a µs
    is_whole = all(float(amount).is_integer() and abs(amount) < 2**53 for amount in amounts)
    plain = not end or name.endswith(f"_{end}")
    return Axis(name, name if plain else f"{name}_{end}", factor, is_whole)


@dataclass
class Table:
    """The table of a sweep, and how much of the sweep it has."""

    frame: pl.DataFrame
    axes: tuple[Axis, ...]
    metrics: tuple[str, ...]
    missing: int
    """Number of rows of the plan whose runs are not all made."""
    failed: int
    keys: list[str] = field(default_factory=list)
    """The key of each row's run."""
    commands: dict[int, list[str] | None] = field(default_factory=dict)


def table_of(sweep: Plan, folder: Path) -> Table:
    """The table of the results in a folder.

    Columns: row (of the plan), replication, seed, the fields that vary, class, flow_count, the
    metrics, functions' values, error. Raises HeadwayError if the folder has none of this sweep.
    """
    results = Results(folder)
    if not results.check(sweep):
        raise HeadwayError(f"{folder}: has no results; run the sweep first")
    columns = list(zip(*sweep.cells, strict=True))
    axes = tuple(
        axis_of(name, list(dict.fromkeys(values)))
        for name, values in zip(sweep.fields, columns, strict=True)
        if name != "seed"  # has a column of its own
    )
    table = Table(pl.DataFrame(), axes, (), 0, 0)
    rows = list(_rows(sweep, Runner(description_of(sweep), folder), axes, table))
    functions = list(dict.fromkeys(name for row in rows for name in row["functions"]))
    metrics = [metric.column for metric in sweep.parsed_metrics]
    table.metrics = (*metrics, *functions)
    first = ["row", "replication", "seed", *(axis.column for axis in axes), "class", "flow_count"]
    data: dict[str, pl.Series] = {}
    for name in first:
        data[name] = pl.Series(name, [row.get(name) for row in rows], _type(name, axes))
    for name in metrics:
        data[name] = pl.Series(name, [row.get(name) for row in rows], pl.Float64, strict=False)
    for name in functions:
        data[name] = pl.Series(name, [row["functions"].get(name) for row in rows], strict=False)
    data["error"] = pl.Series("error", [row.get("error") for row in rows], pl.String)
    table.frame = pl.DataFrame(data)
    return table


def _type(name: str, axes: Sequence[Axis]) -> Any:
    axis = next((one for one in axes if one.column == name), None)
    if axis is not None:
        if axis.factor is None:
            return pl.String
        return pl.Int64 if axis.is_whole else pl.Float64
    return pl.String if name == "class" else pl.Int64


def _rows(
    sweep: Plan, runner: Runner, axes: Sequence[Axis], table: Table
) -> Iterator[dict[str, Any]]:
    base_seed = sweep.base.seed
    for unit in sweep.units():
        settings = sweep.settings(unit.cell)
        shown = {axis.column: axis.value(settings[axis.name]) for axis in axes}
        seed = int(settings.get("seed", base_seed))
        for replication, key, result in runner.results_of(task(sweep, unit)):
            if result is None:
                table.missing += 1
                break
            run = {"row": unit.row, "replication": replication, "seed": seed + replication, **shown}
            table.failed += "error" in result
            for row in _of_result(result, sweep.parsed_metrics):
                table.keys.append(key)
                yield run | row


def _of_result(result: Result, metrics: Sequence[Metric]) -> Iterator[dict[str, Any]]:
    if "error" in result:
        yield {"error": result["error"], "functions": {}}
        return
    of_run = values_of_run(result, metrics)
    named = [metric.name for metric in metrics if metric.where is None and metric.name in OF_CLASS]
    for row in rows_of(result):
        own: Mapping[str, Any] = {name: row.get(name) for name in named}
        yield {
            "class": row["class"], "flow_count": row["flow_count"], **own, **of_run,
            "functions": result.get("functions", {}),
        }  # fmt: skip


def save_table(table: Table, path: Path) -> None:
    """Write the table as .parquet or .csv, completely or not at all. Raises HeadwayError."""
    stream = io.BytesIO()
    if path.suffix == ".csv":
        table.frame.write_csv(stream)
    else:
        check_name(path)
        table.frame.write_parquet(stream, compression="zstd", statistics=True)
    save_bytes(path, stream.getvalue())


def check_name(path: Path) -> None:
    """Raise HeadwayError for a file name that ``save_table`` does not accept."""
    if path.suffix not in (".csv", ".parquet"):
        raise HeadwayError(f"to: {path}: name a file that ends in .parquet or .csv")
