"""--version prints the commit; nothing else may depend on the commit."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from support import ROOT

from headway import commit
from headway.backends.kernel.headwayctl import Headwayctl


def test_without_a_checkout_the_record_is_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "python" / "headway" / "commit.txt"
    record.parent.mkdir(parents=True)
    monkeypatch.setattr(commit, "RECORD", record)
    assert commit.commit() is None
    record.write_text("1a2b3c4d5e, 2026-11-27\n", encoding="ascii")
    assert commit.commit() == "1a2b3c4d5e, 2026-11-27"
    (tmp_path / ".git").touch()  # of a repository that git cannot read
    assert commit.commit() == "1a2b3c4d5e, 2026-11-27"


def digest(program: Path) -> str:
    ctl = object.__new__(Headwayctl)
    ctl.path = str(program)
    return ctl.digest


def test_results_of_headwayctl_are_kept_under_a_name_without_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("stamp", ROOT / "packaging" / "stamp.py")
    assert spec is not None
    assert spec.loader is not None
    stamp = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stamp)
    program, copy = tmp_path / "headwayctl", tmp_path / "copy"
    program.write_bytes(b"code headwayctl commit:" + bytes(46) + b" more code")
    program.chmod(0o755)
    for found in ("1a2b3c4d5e, 2026-11-27", "1a2b3c4d5e-dirty, 2026-11-27", None):
        monkeypatch.setattr(stamp, "commit", lambda found=found: found)
        stamp.main(program, copy)
        expected = b"code headwayctl commit:" + (found or "").encode().ljust(46, b"\0")
        assert copy.read_bytes() == expected + b" more code"
        assert copy.stat().st_mode == program.stat().st_mode
        assert digest(copy) == digest(program)
    program.write_bytes(b"code headwayctl commit:" + bytes(46) + b" other code")
    assert digest(copy) != digest(program)
    program.write_bytes(b"code")
    with pytest.raises(SystemExit, match=r"has 0 places for the commit; allowed: 1"):
        stamp.main(program, copy)
