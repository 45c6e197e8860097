#!/usr/bin/env python3
"""Runs everything shown in README, CONTRIBUTING and docs, in order, in this checkout.

    python tests/followed.py                  what needs minutes, the live kernel included
    python tests/followed.py --make --long    with `make demo`, `make check`, ..., and hours of runs
    python tests/followed.py --quick docs/cli.md
    python tests/followed.py --list

It runs every `console` and `sh` block, every indented block that begins with a command, and every
Python program, in order. A block whose first line ends with a path (```c algorithms/cc/aimd.c,
```file config.json) is written to that path, and removed at the end of its page. A comment before a
block changes what is run; its reason is printed:

    <!-- not followed: why -->               nothing of it
    <!-- not followed, WORD: why -->         not the commands that begin with WORD
    <!-- followed with --long: why -->       (or --long, WORD)
    <!-- followed beside eth0 eth1: why -->  in a network namespace with such devices

A page ends at the first command that fails; the error has the page, the line and the text. Later
commands of the page that detach or take down something still run. Then the next page follows. Exit
status 1 if a page failed. Steps on the live kernel need root and headwayctl; if they cannot run,
one line says why.
"""

from __future__ import annotations

import argparse
import difflib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from shown import LIVE, ROOT, Step, all_pages, printed_lines, steps

TIMEOUT_S = {"quick": 1500, "others": 300, "live": 1800, "make": 3 * 3600, "long": 6 * 3600}
SOON_S = 10
"""Time limit for a program that a page starts to become ready, also on a busy machine."""
TAKES_DOWN = re.compile(
    r"^\s*(?:\.venv/bin/)?"
    r"(headwayctl (?:testbed down|detach|pep stop|hints (?:detach|unset))\b.*)$",
    re.M,
)
SERVER = "iperf3 --server --one-off --daemon"


class FailedError(Exception):
    """A command of a page did not do what the page says."""


class Reader:
    """Runs the steps of one page in the checkout."""

    def __init__(self, folder: Path = ROOT) -> None:
        self.folder = folder
        self.behind: list[subprocess.Popen[bytes]] = []
        self.written: list[Path] = []
        self.made: list[Path] = []
        named = os.environ.get("HEADWAYCTL")
        places = [Path(named).parent] if named else []
        places += [ROOT / ".venv" / "bin", ROOT / "target" / "release", Path(sys.executable).parent]
        self.environment = {
            **os.environ,
            "PATH": ":".join([*map(str, places), os.environ["PATH"]]),
            "COLUMNS": "100",
            "NO_COLOR": "1",
        }
        self.environment.pop("HEADWAY_SCOPE", None)

    def do(self, step: Step) -> str:
        """Run a step; returns its output. Raises FailedError."""
        if step.form == "file":
            path = self.folder / step.path
            if path.exists():
                raise FailedError(f"{step.path} is there already")
            if not path.parent.exists():
                path.parent.mkdir(parents=True)
                self.made.append(path.parent)
            path.write_text(step.text, encoding="utf-8")
            self.written.append(path)
            return ""
        command = self._command(step)
        if step.devices:
            command = ["nsenter", f"--net=/run/netns/{_NAMESPACE}", *command]
        # Use files, because reading a pipe to its end would wait for background processes.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=errors, start_new_session=True,
            )  # fmt: skip
            if step.text.endswith("&") and step.form == "command":
                self.behind.append(process)
                time.sleep(1)
                return ""
            self._wait(process, step)
            printed, said = (_read(file) for file in (output, errors))
        if process.returncode != 0:
            raise FailedError(f"exit status {process.returncode}\n{_last_lines(printed + said)}")
        if not re.search(step.says, printed):
            raise FailedError(f"output lacks {step.says!r}:\n{_last_lines(printed)}")
        there = printed_lines(printed.splitlines())[: len(step.shows)]
        if step.shows and tuple(there) != step.shows:
            raise FailedError("does not print what the page shows:\n" + _difference(step, there))
        if SERVER in step.text:
            self._wait_for_server(step)
        return printed

    def take_down(self, rest: Iterable[Step]) -> None:
        """Run the page's later commands that detach or remove something, after a failed step."""
        for step in rest:
            for text in TAKES_DOWN.findall(step.text):
                with suppress(FailedError):  # the command may remove something that does not exist
                    self.do(replace(step, form="command", text=text, shows=(), says=""))

    def _wait_for_server(self, step: Step) -> None:
        """Wait until the daemon that a step has started listens."""
        listens = replace(step, text=step.text.replace(SERVER, "ss -Hltn sport = :5201"))
        until = time.monotonic() + SOON_S
        while not self.do(listens):
            if time.monotonic() > until:
                raise FailedError(f"does not listen after {SOON_S} s")
            time.sleep(0.1)

    def _wait(self, process: subprocess.Popen[bytes], step: Step) -> None:
        try:
            check = DURING.get((step.page, "iperf3 --client" in step.text))
            if check is not None:
                check(self, process)
            process.wait(TIMEOUT_S[step.kind])
        except subprocess.TimeoutExpired:
            raise FailedError(f"still running after {TIMEOUT_S[step.kind]} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)

    def _command(self, step: Step) -> list[str]:
        venv = ROOT / ".venv" / "bin"
        text = step.text.removesuffix("&")
        # Without this checkout's .venv, the shell finds the commands on PATH.
        if self.folder != ROOT or not venv.exists():
            text = text.replace(".venv/bin/", "")
        if step.form == "program":
            python = venv / "python" if venv.exists() else Path(sys.executable)
            return [str(python), "-c", text]
        trap = "trap 'echo \"failed: line $LINENO: $BASH_COMMAND\" >&2' ERR\n"
        return ["bash", "-eE", "-c", (trap if step.form == "script" else "") + text]

    def leave(self) -> None:
        """Ends background processes, and removes files written for the page."""
        for process in self.behind:
            process.terminate()
        for process in self.behind:
            process.wait(30)
        for path in self.written:
            path.unlink(missing_ok=True)
            if path.suffix in (".c", ".rs") and path.parent != self.folder:
                # the engine was built with the removed file, so rebuild it
                (ROOT / ".venv" / ".engine").unlink(missing_ok=True)
        for folder in self.made:
            shutil.rmtree(folder, ignore_errors=True)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _difference(step: Step, there: Sequence[str]) -> str:
    return "\n".join(difflib.unified_diff(step.shows, there, "page", "printed", lineterm=""))


def _last_lines(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines()[-12:])


ATTACHED = ("htcp", "xcp_pep")
"""The controls that docs/live-kernel.md attaches before iperf3's client runs, in order."""


def carries_connections(reader: Reader, client: subprocess.Popen[bytes]) -> None:
    """Check that, while iperf3 runs, headwayctl status shows connections of the page's controls."""
    until = time.monotonic() + SOON_S
    while True:
        done = subprocess.run(
            ["headwayctl", "status", "--json"], env=reader.environment, capture_output=True,
            text=True, check=False, timeout=30,
        )  # fmt: skip
        attached = json.loads(done.stdout or "{}").get("attached", [])
        of_page = [one for one in attached if one["control"] in ATTACHED]
        carried = [one["counters"]["connections"] for one in of_page]
        used = [one["used_in"] for one in of_page]
        if any(carried) and any(used):
            break
        if client.poll() is not None or time.monotonic() > until:
            raise FailedError(
                f"headwayctl status while iperf3 runs: connections {carried}, sockets {used}"
            )
        time.sleep(0.2)
    print(f"    while it runs, headwayctl status: connections={max(carried)}")


DURING: dict[tuple[str, bool], Callable[[Reader, subprocess.Popen[bytes]], None]] = {
    ("docs/live-kernel.md", True): carries_connections,
}
"""Checks to run while a command of a page runs. The key has the page, and whether the command is
iperf3's client."""
CHANGES_HINTS = re.compile(r"headwayctl hints (?:attach|detach)\b")
LOCK = Path("/run/lock/headway-tests")
"""Tests that use machine-wide names, such as sockets or cgroups, hold this lock."""
_NAMESPACE = "headway-followed"


class Devices:
    """A network namespace that has devices with the names that a page uses."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    def __enter__(self) -> None:
        if self.names:
            self._ip("netns", "add", _NAMESPACE)
            for number, name in enumerate(self.names):
                far = f"far{number}"
                self._ip("-n", _NAMESPACE, "link", "add", name, "type", "veth", "peer", "name", far)
                self._ip("-n", _NAMESPACE, "addr", "add", f"192.0.2.{10 + number}/24", "dev", name)
                for end in (name, far):
                    self._ip("-n", _NAMESPACE, "link", "set", end, "up")

    def __exit__(self, *_: object) -> None:
        if self.names:
            subprocess.run(["ip", "netns", "del", _NAMESPACE], check=False)

    @staticmethod
    def _ip(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True)


def left_out(step: Step, wanted: Set[str], live: str | None) -> str:
    """The reason why a step is skipped in this run; empty if the step is not skipped."""
    if step.mark == "not":
        return step.reason
    if step.kind not in wanted and step.kind != "file":
        if step.kind == "long":
            return f"{step.reason} (--long follows it)"
        return NOT_WANTED[step.kind]
    return (live or "") if step.kind == "live" or LIVE.search(step.text) else ""


NOT_WANTED = {
    "make": "builds or tests everything (--make follows it)",
    "live": "of the live kernel, which --quick leaves out",
    "quick": "only the live kernel is wanted",
    "others": "needs a program of others",
}


def no_live_kernel() -> str | None:
    """The reason why steps on the live kernel cannot run, in one line; None if they can."""
    if os.geteuid() != 0:
        return "the live kernel's part needs root"
    reader = Reader()
    headwayctl = shutil.which("headwayctl", path=reader.environment["PATH"])
    if headwayctl is None:
        return "the live kernel's part needs headwayctl (make build)"
    done = subprocess.run([headwayctl, "doctor"], capture_output=True, check=False)
    return None if done.returncode == 0 else "this kernel lacks something: headwayctl doctor"


def follow(
    page: Path, wanted: Set[str], live: str | None = None, folder: Path = ROOT
) -> tuple[int, int, str | None]:
    """Follow the steps of a page that are of the wanted kinds.

    Returns the numbers of steps followed and left out, and the failure (None without one).
    """
    reader, followed, out = Reader(folder), 0, 0
    todo = [(step, left_out(step, wanted, live)) for step in steps(page)]
    live_texts = [step.text for step, why in todo if step.kind == "live" and not why]
    devices = tuple(dict.fromkeys(name for step, why in todo if not why for name in step.devices))
    with alone(live_texts), Devices(devices):
        try:
            for at, (step, why) in enumerate(todo):
                if why:
                    out += 1
                    print(f"  {step.where}: not followed: {_told(step)}: {why}")
                    continue
                print(f"  {step.where}: {_told(step)}", flush=True)
                begun = time.monotonic()
                try:
                    reader.do(step)
                except FailedError as failed:
                    reader.take_down(later for later, left in todo[at:] if not left)
                    return followed, out, f"{step.where}: {_told(step)}: {failed}"
                followed += 1
                if (took := time.monotonic() - begun) > 10:
                    print(f"    {took:.0f} s")
        finally:
            reader.leave()
    return followed, out, None


@contextmanager
def alone(texts: Sequence[str]) -> Iterator[None]:
    """Hold the machine-wide locks that these live steps need; waits for other holders.

    The kernel backend shares a lock while its runs need hints. Pages that attach and detach hints
    hold this lock exclusively, so that no run loses its hints.
    """
    from headway.backends.kernel.hints import lock_file

    with ExitStack() as held:
        if texts:
            fcntl.flock(held.enter_context(LOCK.open("w")), fcntl.LOCK_EX)
        if any(CHANGES_HINTS.search(text) for text in texts):
            held.enter_context(hints_locked(lock_file()))
        yield


@contextmanager
def hints_locked(path: Path) -> Iterator[None]:
    """Hold the lock of the machine's hints exclusively.

    The last holder removes the file. A lock on a removed file has no effect.
    """
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), path.stat()):
                break
        os.close(lock)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def _told(step: Step) -> str:
    if step.form == "file":
        return f"writes {step.path}"
    first = step.text.strip().splitlines()[0]
    return first if step.form == "command" else f"{step.form} {first} ..."


def main(arguments: Sequence[str] | None = None) -> int:
    """Follow the pages that the command line names; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None,
        epilog="Without PAGE all are followed.",
    )
    parser.add_argument("pages", nargs="*", metavar="PAGE", type=Path)
    parser.add_argument("--list", action="store_true", help="print the steps without running them")
    parser.add_argument("--quick", action="store_true", help="skip what needs the live kernel")
    parser.add_argument("--make", action="store_true", help="also run make targets (takes minutes)")
    parser.add_argument("--long", action="store_true", help="also run what takes many minutes")
    parser.add_argument(
        "--folder", type=Path, default=ROOT, help="folder to run commands in [the checkout]"
    )
    parser.add_argument("--build", action="store_true", help="run `make build` first")
    asked = parser.parse_args(arguments)
    pages = [page.resolve() for page in asked.pages] or all_pages()
    if asked.list:
        for page in pages:
            for step in steps(page):
                kind = f"not: {step.reason}" if step.mark == "not" else step.kind
                print(f"{step.where}\t{kind}\t{_told(step)}")
        return 0
    if asked.build:
        subprocess.run(["make", "build"], cwd=ROOT, check=True)
    wanted = {"quick", "others"} if asked.quick else {"quick", "others", "live"}
    wanted |= {kind for kind in ("make", "long") if getattr(asked, kind)}
    live = no_live_kernel()
    followed, out, failures = 0, 0, []
    for page in pages:
        print(page.relative_to(ROOT) if page.is_relative_to(ROOT) else page, flush=True)
        done, not_done, failed = follow(page, wanted, live, asked.folder)
        followed, out = followed + done, out + not_done
        if failed:
            failures.append(failed)
            print(f"  FAILED {failed}", flush=True)
    print(f"{followed} steps of {len(pages)} pages followed, {out} left out for the reasons above")
    for failed in failures:
        print(f"FAILED {failed}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
