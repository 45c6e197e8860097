"""Where results go, as options say it: refused before a run what could not be written after it."""

from __future__ import annotations

from pathlib import Path

from headway.errors import HeadwayError


def path(text: str | Path) -> Path:
    """The path an option names. Raises HeadwayError for "", to pathlib the folder one is in."""
    if isinstance(text, Path):  # an option's default
        return text
    if not text.strip() or "\0" in text:
        raise HeadwayError(f"{text!r} is the name of no file or folder")
    return Path(text)


def check_file(option: str, file: Path | None) -> None:
    """Raises HeadwayError where no file can be made: its folder has to be there."""
    if file is None:
        return
    if file.is_dir():
        raise HeadwayError(f"{option}: {file}: cannot save: it is a folder")
    if not file.parent.is_dir():
        raise HeadwayError(f"{option}: {file}: cannot save: there is no folder {file.parent}")


def check_folder(option: str, folder: Path | None) -> None:
    """Raises HeadwayError where a folder cannot be made: the first that exists has to be one."""
    if folder is None:
        return
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not there.is_dir():
        raise HeadwayError(f"{option}: {folder}: cannot save: {there} is no folder")
