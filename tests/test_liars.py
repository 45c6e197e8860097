"""In the simulator, lying endpoints (examples/liars.py) gain what the control's law predicts."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "examples"))
import liars


@pytest.mark.slow
def test_a_lie_brings_what_follows_from_the_law_and_every_lie_brings_something() -> None:
    honest, lying = liars.all_found(numbers=(1,), seconds=30.0)
    assert set(honest) == set(liars.PROTOCOLS)
    assert {(lie.protocol, lie.who) for lie, _ in lying} == {
        (protocol, who) for protocol in liars.PROTOCOLS for who in ("sender", "receiver")
    }
    for (lie, number), found in lying.items():
        liar, other = liars.multiples(found, honest[lie.protocol])
        expected = liars.predicted(lie, number)
        if expected is not None:
            assert (liar, other) == pytest.approx(expected, rel=0.05), lie
        assert liar > 1.0 > other, lie
    lines = liars.table(honest, lying, "sim")
    for lie, _ in lying:
        assert any(f"{lie.who} {lie.says}" in line for line in lines), lie


def control_table(path: Path) -> dict[str, str]:
    """The table of the control in a C file: the value of each field that the file sets."""
    [body] = re.findall(
        r"^HW_TABLE struct hw_cc_ops \w+ = \{\n(.*?)^\};",
        path.read_text(),
        re.DOTALL | re.MULTILINE,
    )
    fields = re.findall(r"^\t\.(\w+) =\s+(.*?),$", body, re.DOTALL | re.MULTILINE)
    assert body.count("\t.") == len(fields) == len(dict(fields)), path
    return dict(fields)


SENDERS = sorted({lie.file for lie in liars.LIES if lie.who == "sender"})


@pytest.mark.parametrize("file", SENDERS)
def test_a_lying_senders_table_is_its_protocols_but_for_one_callback(file: str) -> None:
    path = liars.FOLDER / "sender" / file
    lying = control_table(path)
    [honest_path] = re.findall(r'^#include "(cc/.*)"$', path.read_text(), re.MULTILINE)
    assert lying.pop("source") == f'"algorithms/{honest_path}"'
    honest = control_table(ROOT / "algorithms" / honest_path)
    del honest["source"]
    differ = {field for field in lying | honest if lying.get(field) != honest.get(field)}
    [callback] = differ - {"name", "title"}
    assert differ == {"name", "title", callback}
    assert lying["name"] == f'"{path.stem}"'
    assert lying[callback] == f"{path.stem}_{callback}"
    assert honest[callback] == f"{Path(honest_path).stem}_{callback}"


def test_every_lying_sender_is_tried() -> None:
    assert sorted(file.name for file in (liars.FOLDER / "sender").glob("*.c")) == SENDERS
