"""tests/import_circles.py finds circles of imports in Rust, Python and C."""

from __future__ import annotations

from pathlib import Path

import import_circles
import pytest


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def circles(root: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The printed references of circles in a tree."""
    status = import_circles.main([str(root)])
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert status == (1 if printed else 0)
    return [line for line in printed if " -> " in line]


def rust(root: Path, **files: str) -> None:
    """Write a crate with these modules; `lib` is its root, and `__` in a name stands for `/`."""
    named = {f"crates/made/src/{name.replace('__', '/')}.rs": text for name, text in files.items()}
    write(root, {"crates/made/Cargo.toml": "", **named})


def test_two_rust_files_that_use_each_other_are_a_circle(tmp_path, capsys) -> None:
    rust(
        tmp_path,
        lib="mod one;\nmod two;\n",
        one="use crate::two::Two;\npub struct One(Two);\n",
        two="pub struct Two;\nfn f() { crate::one::One::new(); }\n",
    )
    assert circles(tmp_path, capsys) == [
        "crates/made/src/one.rs:1 -> crates/made/src/two.rs: use crate::two::Two",
        "crates/made/src/two.rs:2 -> crates/made/src/one.rs: crate::one::One::new",
    ]


def test_a_circle_of_three_rust_files_is_found_through_lists_globs_and_nested_modules(
    tmp_path, capsys
) -> None:
    rust(
        tmp_path,
        lib="mod one;\nmod two;\nmod three;\n",
        one="use crate::{three::nothing as _, two::{self, Two}};\nfn f() { two::g() }\n",
        two="use crate::three::*;\npub fn g() -> Three { Three }\n",
        three="pub struct Three;\n#[cfg(test)]\nmod tests { fn f() { super::super::one::f() } }\n",
    )
    found = circles(tmp_path, capsys)
    assert {line.split(":")[0] for line in found} == {
        f"crates/made/src/{name}.rs" for name in ("one", "two", "three")
    }


def test_a_re_export_of_a_parent_leads_to_the_file_that_defines_the_item(tmp_path, capsys) -> None:
    files = {
        "lib": "mod room;\n",
        "room__mod": "mod one;\nmod two;\npub use one::One;\npub use two::two;\n",
        "room__one": "pub struct One;\n// use super::two;\n",
        "room__two": 'use super::One;\npub fn two(_: One) -> &\'static str { "super::mine" }\n',
    }
    rust(tmp_path, **files)
    assert circles(tmp_path, capsys) == []
    # a parent module that uses a name that it re-exports refers to the child; a circle also needs a
    # child that uses an item of the parent itself
    rust(tmp_path, room__mod=files["room__mod"] + "pub const MINE: One = One;\n")
    assert circles(tmp_path, capsys) == []
    rust(tmp_path, room__one="pub struct One;\nuse super::MINE as _;\n")
    assert len(circles(tmp_path, capsys)) == 2


def test_paths_in_serdes_attributes_count(tmp_path, capsys) -> None:
    rust(
        tmp_path,
        lib="mod one;\nmod two;\n",
        one='struct One {\n    #[serde(default = "crate::two::yes")]\n    a: bool,\n}\n',
        two="use crate::one::One;\nfn yes() -> bool { true }\n",
    )
    assert len(circles(tmp_path, capsys)) == 2


def test_python_files_that_import_each_other_are_a_circle(tmp_path, capsys) -> None:
    files = {
        "python/headway/__init__.py": "",
        "python/headway/one.py": "from headway import two\n",
        "python/headway/two.py": "def f():\n    from .one import g\n",
    }
    write(tmp_path, files)
    assert circles(tmp_path, capsys) == [
        "python/headway/one.py:1 -> python/headway/two.py: from headway import two",
        "python/headway/two.py:2 -> python/headway/one.py: from headway.one import g",
    ]
    later = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .one import g\n"
    write(tmp_path, {"python/headway/two.py": later})
    assert circles(tmp_path, capsys) == []


def test_a_package_and_a_module_that_imports_its_names_are_a_circle(tmp_path, capsys) -> None:
    files = {
        "python/headway/__init__.py": "from headway.one import g\nX = 1\n",
        "python/headway/one.py": "from headway import X\n",
    }
    write(tmp_path, files)
    assert len(circles(tmp_path, capsys)) == 2


def test_headers_that_include_each_other_are_a_circle(tmp_path, capsys) -> None:
    write(
        tmp_path,
        {
            "algorithms/port/a.h": '#include "port/b.h"\n',
            "algorithms/port/b.h": '#include <stdint.h>\n#include "a.h"\n',
        },
    )
    assert circles(tmp_path, capsys) == [
        'algorithms/port/a.h:1 -> algorithms/port/b.h: #include "port/b.h"',
        'algorithms/port/b.h:2 -> algorithms/port/a.h: #include "a.h"',
    ]
