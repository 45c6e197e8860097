"""What saving may replace, and what it must not."""

import os
import stat
import threading
from pathlib import Path

import pytest
from support import trace

from headway.cli.app import execute
from headway.errors import HeadwayError
from headway.files import save_bytes
from headway.trace import load_trace, save_trace


def test_a_fifo_gets_what_is_saved_and_stays(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    save_bytes(fifo, b"x" * 100_000)
    reader.join()
    assert read == [b"x" * 100_000]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_an_open_descriptor_is_written_into(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        save_bytes(Path(f"/proc/self/fd/{out.fileno()}"), b"first")
        save_bytes(Path(f"/dev/fd/{out.fileno()}"), b"second")
    assert (tmp_path / "out").read_bytes() == b"second"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_link_stays_and_what_it_names_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    for before in (b"old", None):
        target = tmp_path / "there" / f"file-{before is None}"
        if before is not None:
            target.write_bytes(before)
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        save_bytes(link, b"new")
        assert link.is_symlink()
        assert target.read_bytes() == b"new"
    assert len(list((tmp_path / "there").iterdir())) == 2


def test_what_cannot_be_saved_is_one_line(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for place in (loop, tmp_path):
        with pytest.raises(HeadwayError, match="cannot save") as failed:
            save_bytes(place, b"x")
        assert str(failed.value).startswith(f"{place}: ")
    assert loop.is_symlink()


def test_a_trace_replaces_a_trace_and_nothing_else(tmp_path: Path) -> None:
    made, place = trace(), tmp_path / "trace"
    save_trace(made, place)
    (place / "trace.json").unlink()  # the trace is damaged, but has only files of a trace
    save_trace(made, place)
    link = tmp_path / "link"
    link.symlink_to(place)
    save_trace(made, link)
    assert link.is_symlink()
    assert load_trace(place).meta == made.meta

    (place / "thesis.tex").write_text("years of work")
    with pytest.raises(HeadwayError, match=r"other files \(thesis.tex\)"):
        save_trace(made, place)
    assert (place / "thesis.tex").read_text() == "years of work"
    assert (place / "trace.json").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "trace"]


def test_the_current_folder_is_no_place_for_a_trace(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for place in ("", ".", str(tmp_path)):
        with pytest.raises(HeadwayError, match="it is the current folder"):
            save_trace(trace(), place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["try", "--out", ""],
        ["run", "first-megabyte", "--quick", "--out", ""],
        ["validate", "--out", " "],
        ["report", ""],
        ["export", "", "--flent", "x"],
        ["claims", ""],
    ],
)
def test_an_empty_name_is_no_folder(arguments, capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(arguments) == 2
    printed = capsys.readouterr()
    assert "cannot be the name of a file or folder" in printed.err
    assert printed.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
