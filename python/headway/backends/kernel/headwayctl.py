"""Runs headwayctl as a subprocess: finds it, reads its output, and converts its errors."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

from headway.commit import STAMP
from headway.errors import HeadwayError, KernelCannotError

PROGRAM = "headwayctl"
VARIABLE = "HEADWAYCTL"
"""Environment variable with the path of headwayctl. It has priority over the PATH."""

_KERNEL_CANNOT = 3
_TIMEOUT_S = 60.0


def find() -> Path | None:
    """Find headwayctl: in the environment variable, next to this Python, or on the PATH."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named) if os.access(named, os.X_OK) else None
    installed = Path(sys.executable).parent / PROGRAM
    if os.access(installed, os.X_OK):
        return installed
    found = shutil.which(PROGRAM)
    return Path(found) if found else None


def unusable() -> str | None:
    """Why experiments cannot run on this machine's kernel, in one line; None if they can."""
    if not sys.platform.startswith("linux"):
        return f"the kernel backend needs Linux, this is {sys.platform}"
    if find() is None:
        where = os.environ.get(VARIABLE)
        return (
            f"{VARIABLE} names {where}, which cannot be run"
            if where
            else f"{PROGRAM} is missing; build it with `cargo build --release -p headway-kernel` "
            f"and put it on the PATH, or name it in {VARIABLE}"
        )
    if os.geteuid() != 0:
        return "network namespaces and eBPF need root; run as root"
    for path, what in (
        ("/sys/kernel/btf/vmlinux", "type information for eBPF"),
        ("/dev/net/tun", "TUN devices"),
    ):
        if not Path(path).exists():
            return f"the kernel has no {what} ({path} is missing)"
    return None


class Headwayctl:
    """The program headwayctl. Raises KernelCannotError if this machine cannot run experiments."""

    def __init__(self) -> None:
        reason = unusable()
        path = find()
        if reason is not None or path is None:
            raise KernelCannotError(f"kernel backend: {reason}")
        self.path = str(path.resolve())

    @functools.cached_property
    def digest(self) -> str:
        """A hash of headwayctl's file, without the commit in it.

        The keys of results contain the hash.
        """
        program = STAMP.sub(b"", Path(self.path).read_bytes())
        return hashlib.sha256(program).hexdigest()[:16]

    def run(self, *arguments: str, timeout_s: float = _TIMEOUT_S) -> str:
        """Run a command to its end and return what it printed. Raises HeadwayError."""
        try:
            done = subprocess.run(
                [self.path, *arguments],
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # the child gets no Ctrl-C; this process does
            )
        except subprocess.TimeoutExpired:
            raise HeadwayError(
                f"{PROGRAM} {_shown(arguments)}: no answer in {timeout_s:g} s"
            ) from None
        except OSError as error:
            raise HeadwayError(f"{self.path}: {error.strerror}") from None
        if done.returncode != 0:
            raise failure(arguments, done.returncode, done.stderr)
        return done.stdout

    def json(self, *arguments: str, timeout_s: float = _TIMEOUT_S) -> Any:
        """Run a command and return the JSON it printed. Raises HeadwayError."""
        text = self.run(*arguments, timeout_s=timeout_s)
        try:
            return json.loads(text)
        except ValueError:
            raise HeadwayError(
                f"{PROGRAM} {_shown(arguments)}: printed no JSON: {text[:80]!r}"
            ) from None


def failure(arguments: Sequence[str], status: int, stderr: str) -> HeadwayError:
    """The error of a failed command; a KernelCannotError for exit status 3."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    message = lines[-1] if lines else f"exit status {status}"
    text = message if message.startswith(PROGRAM) else f"{PROGRAM} {_shown(arguments)}: {message}"
    return KernelCannotError(text) if status == _KERNEL_CANNOT else HeadwayError(text)


def _shown(arguments: Sequence[str]) -> str:
    return " ".join(argument for argument in arguments[:2] if not argument.startswith("/"))


class Child:
    """A child process that prints "ready" after its set-up, and a JSON summary when it ends."""

    def __init__(self, command: Sequence[str], name: str) -> None:
        self.name = name
        self._command = list(command)
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_ready(self, word: str = "ready") -> None:
        """Wait until the program prints that it is ready. Raises HeadwayError if it ends before."""
        assert self._process.stdout is not None
        if not self._process.stdout.readline().startswith(word):
            self.result(5.0)
            raise HeadwayError(f"{self.name}: ended before it was ready")

    def check(self) -> None:
        """Raise HeadwayError if the program has failed already."""
        status = self._process.poll()
        if status:
            self.result(1.0)

    def ended(self) -> bool:
        """Whether the program has ended."""
        return self._process.poll() is not None

    def interrupt(self) -> None:
        """Send SIGTERM, so that the program can clean up before it ends."""
        if self._process.poll() is None:
            self._process.terminate()

    def result(self, timeout_s: float) -> Mapping[str, Any]:
        """Wait for the program's summary. Raises HeadwayError if the program fails or hangs."""
        try:
            out, errors = self._process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise HeadwayError(f"{self.name}: did not end in time") from None
        if self._process.returncode != 0:
            error = failure([], self._process.returncode, errors)
            raise type(error)(f"{self.name}: {error}")
        lines = [line for line in out.splitlines() if line.startswith("{")]
        if not lines:
            raise HeadwayError(f"{self.name}: ended without a summary")
        summary: Mapping[str, Any] = json.loads(lines[-1])
        return summary

    def kill(self) -> None:
        """Kill the program if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


class Watchdog:
    """A program that cleans up if this process cannot, for example because it was killed.

    This process registers each testbed, control and set of hints before creating it. If the context
    ends normally, this process writes "done" to a pipe, and the watchdog exits. If the pipe closes
    without "done", the watchdog removes the registered objects that still exist.
    """

    def __init__(self, ctl: Headwayctl) -> None:
        self._path = ctl.path
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [self._path, "watchdog"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._pipe = self._process.stdin
        return self

    def register(self, kind: str, name: str = "") -> None:
        """Register a "testbed", "control" or "hints" before creating it. Raises HeadwayError."""
        try:
            self._send(f"{kind} {name}".strip())
        except OSError as error:
            raise HeadwayError(f"{PROGRAM} watchdog: ended: {error.strerror}") from None

    def _send(self, line: str) -> None:
        assert self._pipe is not None
        with self._lock:
            self._pipe.write(f"{line}\n".encode())
            self._pipe.flush()

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        assert self._pipe is not None
        with contextlib.suppress(OSError):
            if failure is None:
                self._send("done")
            self._pipe.close()
        if failure is None and self._process is not None:
            self._process.wait()
