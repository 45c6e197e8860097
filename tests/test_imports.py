"""Which modules commands load. This decides their start time, which `make bench-start` measures."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

import headway
from headway import catalogue, workloads
from headway.cli.commands import COMMANDS, load
from headway.study import discover
from headway.versions import versions

NUMBERS = {"numpy", "scipy", "polars", "pandas"}
PICTURES = {"matplotlib", "bokeh", "jinja2"}
STUDIES = {"headway.study", "headway.studies.load"}

LOADED = """
import json, sys
from headway.cli.app import execute
status = execute({arguments!r})
print(json.dumps([status, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded_by(*arguments: str) -> set[str]:
    """The loaded modules after a command, in a separate process."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(arguments=list(arguments))],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "100"},
    )
    status, modules = json.loads(done.stderr.splitlines()[-1])
    assert status == 0
    return set(modules)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "without"),
    [
        ("--help", NUMBERS | PICTURES | STUDIES | {"pydantic", "rich", "headway._engine"}),
        ("--version", NUMBERS | PICTURES | STUDIES | {"pydantic", "rich", "headway._engine"}),
        # typer itself reads options with pydantic
        ("list", NUMBERS | PICTURES | STUDIES),
        ("list --json", NUMBERS | PICTURES | STUDIES | {"rich"}),
        ("describe cubic", NUMBERS | PICTURES | STUDIES),
        ("try --duration 1s", NUMBERS | PICTURES | STUDIES),
        ("try --duration 1s --json", NUMBERS | PICTURES | STUDIES | {"rich"}),
    ],
)
def test_a_command_loads_nothing_that_it_does_not_need(arguments: str, without: set[str]) -> None:
    assert sorted(loaded_by(*arguments.split()) & without) == []


def test_help_knows_the_first_line_of_every_command() -> None:
    for name, command in COMMANDS.items():
        said = (load(name).help or "").split("\n\n")[0]
        assert command.help == " ".join(said.split()), name


def test_a_list_says_of_studies_what_they_say_of_themselves() -> None:
    found = discover()
    listed = catalogue.studies()
    assert list(listed) == list(found)
    for name, study in found.items():
        entry = listed[name]
        assert (entry.name, entry.title, entry.source) == (study.name, study.title, study.source)
        assert catalogue.study_named(name) is study
    assert catalogue.study_named("none") is None


def test_a_study_with_texts_is_listed_by_them(tmp_path, monkeypatch) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "study.toml").write_text(
        'name = "made"\ntitle = """\nA\ntitle\n"""\nsource = "S"\n[[claim]]\nid = "X"\n'
    )
    monkeypatch.setattr(catalogue, "_FOLDER", tmp_path)
    entry = catalogue.Entry("made", "A title", "S", "headway.studies.made")
    assert catalogue.studies() == {"made": entry}


def test_packages_give_every_name_they_promise() -> None:
    for package in (headway, workloads):
        for name in package.__all__:
            assert getattr(package, name) is not None
        assert dir(package) == sorted(package.__all__)
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = package.nothing


def test_types_are_told_the_same_names_as_those_given_on_demand() -> None:
    for package in (headway, workloads):
        tree = ast.parse(Path(package.__file__).read_bytes())
        [branch] = [node for node in tree.body if isinstance(node, ast.If)]
        told = {
            alias.name
            for node in branch.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        texts = {
            node.value
            for part in branch.orelse
            for node in ast.walk(part)
            if isinstance(node, ast.Constant)
        }
        assert told <= texts
        assert told <= set(package.__all__)


def test_versions_are_those_of_what_is_imported() -> None:
    import numpy as np
    import polars as pl

    assert versions()["numpy"] == np.__version__
    assert versions()["polars"] == pl.__version__


def test_the_benchmark_of_starts_measures_what_must_be_fast() -> None:
    text = (ROOT / "benchmarks" / "start_bench.py").read_text(encoding="utf-8")
    for command in ("list", "--help", "try"):
        assert f'"headway {command}"' in text
