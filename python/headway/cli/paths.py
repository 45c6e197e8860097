"""Checks paths of results before a run, so that the run does not fail when it saves results."""

from __future__ import annotations

from pathlib import Path

from headway.errors import HeadwayError


def path(text: str | Path) -> Path:
    """Parse an option's path.

    Raises HeadwayError for "" (which pathlib reads as the current folder) and for NUL bytes.
    """
    if isinstance(text, Path):  # the default of an option is a Path
        return text
    if not text.strip() or "\0" in text:
        raise HeadwayError(f"{text!r} cannot be the name of a file or folder")
    return Path(text)


def check_file(option: str, file: Path | None) -> None:
    """Raise HeadwayError if the file cannot be created; its folder must exist."""
    if file is None:
        return
    if file.is_dir():
        raise HeadwayError(f"{option}: {file}: cannot save: it is a folder")
    if not file.parent.is_dir():
        raise HeadwayError(f"{option}: {file}: cannot save: no folder {file.parent}")


def check_folder(option: str, folder: Path | None) -> None:
    """Raise HeadwayError if the folder cannot be created: its first existing parent is a file."""
    if folder is None:
        return
    existing = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not existing.is_dir():
        raise HeadwayError(f"{option}: {folder}: cannot save: {existing} is not a folder")
