"""The results of a sweep: a folder with one folder per run.

    sweep.json            which sweep it is
    runs/KEY/params.json  the experiment of the run, without its seed
    runs/KEY/result.json  its seed, and its metrics or its error
    runs/KEY/trace/       its trace, if the sweep keeps traces
    log/HOST-PID.jsonl    what each process began and ended

A run's folder is written beside and renamed, so it is whole or absent. Nothing is synced: after a
power failure a file may be empty, and the run is then made again. Runs that differ only in the seed
may share params.json (a hard link), because a file takes at least one block of the disk.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.files import save_error, save_text
from headway.sweep.metrics import Result

if TYPE_CHECKING:
    from headway.sweep.plan import Plan

FORMAT = 1
_ABOUT, _RUNS, _LOG = "sweep.json", "runs", "log"
_SEPARATORS = (",", ":")


def identity(sweep: Plan) -> dict[str, Any]:
    """What must be equal for two sweeps to share a folder: changed values make other runs."""
    return {
        "format": FORMAT, "name": sweep.name, "fields": list(sweep.fields),
        "backend": sweep.backend,
    }  # fmt: skip


def compact(data: object) -> str:
    """JSON without spaces, as in the files of a run."""
    return json.dumps(data, separators=_SEPARATORS, ensure_ascii=False, allow_nan=False)


def _write(path: str, data: object) -> None:
    with open(path, "w", encoding="utf-8") as stream:  # noqa: PTH123 - faster
        stream.write(compact(data))


class Results:
    """The results folder of a sweep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / _RUNS
        self._log: int | None = None
        self._params: tuple[Mapping[str, Any], str] | None = None
        """The last params.json and its path."""

    def check(self, sweep: Plan) -> bool:
        """Whether the folder has results of this sweep; False if it is absent or empty.

        Raises HeadwayError if it belongs to another sweep, or is another folder.
        """
        about = self.folder / _ABOUT
        try:
            found = json.loads(about.read_text(encoding="utf-8"))
        except FileNotFoundError:
            if self.folder.is_dir() and any(self.folder.iterdir()):
                raise HeadwayError(
                    f"{self.folder}: has other files and no {_ABOUT}; name another folder"
                ) from None
            return False
        except OSError as error:
            raise HeadwayError(f"{about}: cannot read: {error.strerror or error}") from None
        except ValueError:
            raise HeadwayError(f"{about}: is damaged; remove it to use the folder") from None
        wanted = identity(sweep)
        differs = [name for name in wanted if found.get(name) != wanted[name]]
        if differs:
            name = differs[0]
            raise HeadwayError(
                f"{self.folder}: has the results of another sweep, whose {name} is "
                f"{found.get(name)!r}, not {wanted[name]!r}; name another folder with --out"
            )
        return True

    def prepare(self, sweep: Plan) -> None:
        """Make the folder, if it is absent. Raises HeadwayError as ``check`` does."""
        try:
            if not self.check(sweep):
                self.folder.mkdir(parents=True, exist_ok=True)
                save_text(self.folder / _ABOUT, json.dumps(identity(sweep), indent=2) + "\n")
            self.runs.mkdir(exist_ok=True)
            (self.folder / _LOG).mkdir(exist_ok=True)
        except OSError as error:
            raise save_error(self.folder, error) from None

    def read(self, key: str) -> Result | None:
        """The result of a run; None if it is absent or damaged."""
        try:
            with open(f"{self.runs}/{key}/result.json", "rb") as stream:  # noqa: PTH123 - faster
                found: Result = json.loads(stream.read())
        except (OSError, ValueError):
            return None
        return found

    def save(
        self,
        key: str,
        params: Mapping[str, Any],
        result: Result,
        also: Callable[[Path], object] | None = None,
    ) -> bool:
        """Save a run; ``also`` may write more into its folder.

        Returns whether this process has saved it: another one may have been faster. Raises
        HeadwayError if it cannot be written.
        """
        target = self.runs / key
        temporary = f"{self.runs}/.{key}.{socket.gethostname()}.{os.getpid()}"
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            os.mkdir(temporary)  # noqa: PTH102 - pathlib takes longer, 3 times per run
            if not self._shares_params(params, f"{temporary}/params.json"):
                _write(f"{temporary}/params.json", params)
            _write(f"{temporary}/result.json", result)
            if also is not None:
                also(Path(temporary))
            is_saved = self._rename(temporary, target)
            self._params = (params, f"{target}/params.json")
            return is_saved
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            raise save_error(target, error) from None

    def _shares_params(self, params: Mapping[str, Any], path: str) -> bool:
        """Link to the params.json of the run before, if it is the same."""
        if self._params is None or self._params[0] is not params:
            return False
        try:
            os.link(self._params[1], path)
        except OSError:  # the file system has no links, or the run before is gone
            return False
        return True

    def _rename(self, temporary: str, target: Path) -> bool:
        try:
            os.rename(temporary, target)  # noqa: PTH104
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            is_whole = self.read(target.name) is not None
            shutil.rmtree(temporary if is_whole else target, ignore_errors=True)
            if is_whole:
                return False
            os.rename(temporary, target)  # noqa: PTH104
        return True

    def log(self, entry: Mapping[str, Any]) -> None:
        """Append a line to this process's log."""
        if self._log is None:
            name = f"{socket.gethostname()}-{os.getpid()}.jsonl"
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            self._log = os.open(self.folder / _LOG / name, flags, 0o644)
        os.write(self._log, (compact(entry) + "\n").encode())

    def logged(self) -> Iterator[dict[str, Any]]:
        """All lines of the logs; one that was cut off is left out."""
        for file in sorted((self.folder / _LOG).glob("*.jsonl")):
            for line in file.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):
                    yield json.loads(line)

    def keys(self) -> list[str]:
        """The keys of all runs in the folder."""
        if not self.runs.is_dir():
            return []
        return sorted(one.name for one in self.runs.iterdir() if not one.name.startswith("."))

    def remove(self, key: str) -> None:
        """Remove a run."""
        try:
            shutil.rmtree(self.runs / key)
        except OSError as error:
            raise HeadwayError(
                f"{self.runs / key}: cannot remove: {error.strerror or error}"
            ) from None

    def remove_partial(self) -> int:
        """Remove what killed processes left; returns its number."""
        partial = [one for one in self.runs.iterdir() if one.name.startswith(".")]
        for one in partial:
            shutil.rmtree(one, ignore_errors=True)
        return len(partial)
