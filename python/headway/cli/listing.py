"""``headway list``: studies, algorithms and backends, from the catalogue without imports."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from headway import catalogue
from headway.backends import BACKENDS
from headway.backends.kernel.headwayctl import unusable
from headway.cli.options import AsJson
from headway.cli.show import console, print_json, print_table
from headway.table import Table


def list_all(as_json: AsJson = False) -> None:
    """List studies, controls, startups, router algorithms, stacks and backends."""
    known = catalogue.algorithms()
    groups: dict[str, list[dict[str, Any]]] = {
        "studies": [_short(asdict(study)) for study in catalogue.studies().values()],
        **{
            kind: [_short(item) for item in known[kind]]
            for kind in ("controls", "startups", "queues", "routers", "stacks")
        },
    }
    if as_json:
        print_json({**groups, "backends": list(BACKENDS)})
        return
    for group, items in groups.items():
        print_table(Table(group, ["name", "title"], [[i["name"], i["title"]] for i in items]))
    missing = unusable()
    note = f" (kernel: not available: {missing})" if missing else ""
    console().print(f"backends: {', '.join(BACKENDS)}{note}", markup=False)


def _short(item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in ("name", "title", "source") if key in item}
