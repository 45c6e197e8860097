"""The generic parts know no protocol by its name: a new one needs its own files, and no more."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GENERIC = (
    "algorithms/port/header.h",
    "algorithms/port/link.h",
    "algorithms/port/queue.h",
    "algorithms/port/router.h",
    "crates/sim/src/event.rs",
    "crates/sim/src/net",
    "crates/sim/src/rng.rs",
    "crates/sim/src/scenario",
    "crates/sim/src/trace",
    "crates/sim/src/world",
    "python/headway/backends",
    "python/headway/metrics",
    "python/headway/spill.py",
    "python/headway/trace.py",
)
NAMES = re.compile(r"quick[-_ ]?start|approv|explicit[-_ ]?rate", re.IGNORECASE)


@pytest.mark.parametrize("part", GENERIC)
def test_a_generic_part_names_no_protocol(part: str) -> None:
    path = ROOT / part
    files = [path] if path.is_file() else sorted(path.rglob("*.rs")) + sorted(path.rglob("*.py"))
    assert files, f"{part} has moved: this test is to follow it"
    named = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if NAMES.search(line)
    ]
    assert named == []
