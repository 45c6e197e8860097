"""Pages of docs/python are those that the docstrings make, and shown programs are well typed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support import HANGS_S, ROOT
from test_docs import programs


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(maker: ModuleType) -> dict[str, str]:
    return maker.pages()


def test_pages_of_the_python_face_are_fresh(maker: ModuleType, made: dict[str, str]) -> None:
    there = {page.name: page.read_text(encoding="utf-8") for page in maker.PAGES.glob("*.md")}
    stale = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
    assert not stale, f"run `make pages`: {stale}"


def test_every_public_name_is_documented(made: dict[str, str]) -> None:
    bare = [name for name, text in made.items() if len(re.split(r"```\n", text)[-1].strip()) < 40]
    assert not bare
    assert {f"headway.{name}.md" for name in ("Hop", "Chain", "Experiment", "run")} <= set(made)


def test_links_of_the_pages_lead_somewhere(maker: ModuleType, made: dict[str, str]) -> None:
    for name, text in made.items():
        for target in re.findall(r"\]\(([^)#]+)[)#]", text):
            assert (maker.PAGES / target).exists() or target in made, f"{name}: {target}"


@pytest.mark.slow
def test_shown_programs_are_well_typed(tmp_path: Path) -> None:
    """By a checker that knows nothing but what the package says: no plugin, no configuration."""
    shown = programs()
    assert len(shown) >= 3
    files = []
    for number, source in enumerate(shown):
        files.append(tmp_path / f"shown_{number}.py")
        files[-1].write_text(source, encoding="utf-8")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from headway import Flow, Hop\nFlow(control=7)\nFlow(delai='1 s')\nHop()\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable",
            sys.executable, "--cache-dir", str(tmp_path / "cache"), *map(str, [*files, wrong]),
        ],
        cwd=tmp_path, env={"MYPYPATH": str(ROOT / "python"), "PATH": ""}, timeout=HANGS_S,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if "error:" in line]
    assert [line for line in lines if "wrong.py" not in line] == [], done.stdout + done.stderr
    assert [line.split(":")[1] for line in lines] == ["2", "3", "4"], done.stdout
