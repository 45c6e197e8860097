"""Runs on the kernel share a lock that only root can hold; folders name their owner."""

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from support import ROOT

from headway import sockets
from headway.backends.kernel import folders, hints
from headway.errors import HeadwayError


class Ctl:
    """Replaces headwayctl and its watchdog, and records the calls."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def run(self, *arguments: str) -> str:
        self.asked.append(" ".join(arguments))
        return ""

    def register(self, kind: str, name: str = "") -> None:
        self.asked.append(f"register {kind}")


@pytest.fixture
def lock(tmp_path: Path, monkeypatch) -> Path:
    path = tmp_path / "lock"
    monkeypatch.setattr(hints, "lock_file", lambda: path)
    monkeypatch.setattr(sockets, "hint", lambda *_, **__: False)
    return path


def taking(ctl: Any) -> Any:
    return hints.hints_attached(ctl, ctl)


def test_the_lock_is_where_only_root_makes_files(monkeypatch) -> None:
    monkeypatch.delenv("HEADWAY_SCOPE", raising=False)
    assert hints.lock_file() == Path("/run/headway.hints")
    monkeypatch.setenv("HEADWAY_SCOPE", "ann")
    assert hints.lock_file() == Path("/run/headway.hints-ann")
    watchdog = ROOT / "crates" / "kernel" / "src" / "cli" / "watchdog.rs"
    assert '"/run/headway.hints{dash}{scope}"' in watchdog.read_text(encoding="utf-8")
    monkeypatch.setenv("HEADWAY_SCOPE", "../tmp/x")
    with pytest.raises(HeadwayError, match="must be letters and digits"):
        hints.lock_file()


def test_the_lock_is_its_owners_alone_and_goes_with_the_last(lock: Path) -> None:
    ctl = Ctl()
    with taking(ctl):
        assert lock.stat().st_mode & 0o777 == 0o600
        with taking(Ctl()):
            pass
        assert lock.exists()
    assert ctl.asked == ["register hints", "hints attach", "hints detach --keep-defaults"]
    assert not lock.exists()


def test_a_link_in_the_locks_place_is_refused_and_what_it_names_stays(lock: Path) -> None:
    victim = lock.with_name("victim")
    victim.write_text("precious")
    lock.symlink_to(victim)
    with pytest.raises(HeadwayError, match="cannot lock"), taking(Ctl()):
        pass
    assert victim.read_text() == "precious"
    lock.unlink()
    lock.mkdir()
    with pytest.raises(HeadwayError, match="cannot lock"), taking(Ctl()):
        pass


def test_hints_of_somebody_else_stay(lock: Path, monkeypatch) -> None:
    monkeypatch.setattr(sockets, "hint", lambda *_, **__: True)
    ctl = Ctl()
    with taking(ctl):
        pass
    assert ctl.asked == []


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_again(lock: Path, monkeypatch) -> None:
    first = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(first, fcntl.LOCK_EX)
    waits, holders = hints._wait_for_lock, [first]

    def removed(held: int, kind: int, path: Path) -> None:
        if holders:
            lock.unlink()
            os.close(holders.pop())
        waits(held, kind, path)

    monkeypatch.setattr(hints, "_wait_for_lock", removed)
    with taking(Ctl()):
        assert lock.exists()
    assert not lock.exists()


def test_folders_of_dead_runs_go_with_the_next_run(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with folders.run_folder() as own:
        assert own.parent == tmp_path
        boot, namespace, pid, started = own.name.removeprefix("headway-run-").split("-")[:4]
        assert pid == str(os.getpid())
        dead = subprocess.Popen([sys.executable, "-c", ""])
        dead.wait()
        left = [
            f"headway-run-{boot}-{namespace}-{dead.pid}-{started}-a1",
            f"headway-run-{boot}-{namespace}-{pid}-{int(started) - 1}-a2",
            f"headway-run-{'0' * 8}-{namespace}-{pid}-{started}-a3",
        ]
        kept = [
            own.name,
            f"headway-run-{boot}-{namespace}-1-{folders._started(1)}-a4",
            f"headway-run-{boot}-{int(namespace) + 1}-{dead.pid}-{started}-a5",
            "headway-run-of-somebody",
            "thesis",
        ]
        for name in [*left, *kept[1:]]:
            (tmp_path / name).mkdir()
            (tmp_path / name / "file").write_text("x")
        link = tmp_path / f"headway-run-{boot}-{namespace}-{dead.pid}-{started}-a6"
        link.symlink_to(tmp_path / "thesis")
        with folders.run_folder():
            pass
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, link.name])
        assert (tmp_path / "thesis" / "file").exists()
    assert not own.exists()
