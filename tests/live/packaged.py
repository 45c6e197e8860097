"""A Debian package of headwayctl, and a copy of this machine's root to install it in.

The copy (tests/overlay_root.sh) has its own processes and network, and optionally a systemd. With
HEADWAY_PACKAGE=full the package has full compression, and the tests' transfers last longer.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support import BUILT, ROOT

FULL = os.environ.get("HEADWAY_PACKAGE") == "full"
SCOPE = "hwpkg"
BED = f"{SCOPE}-bed"
CONTROL = f"{SCOPE}_cubic"
FLOW_S = 20.0 if FULL else 0.5
"""How long a test transfers data before an upgrade, and again after the upgrade, in s."""
OF_DPKG = ("var/lib/dpkg/", "var/log/", "var/cache/", "var/lib/systemd/deb-systemd-helper")
"""Prefixes of the paths of files that dpkg and systemd write for their own use."""


def missing() -> str | None:
    """The reason why no package can be built on this machine; None if one can."""
    tools = ("dpkg-deb", "dpkg-shlibdeps", "dpkg-gencontrol", "strip", "cargo")
    absent = [tool for tool in tools if shutil.which(tool) is None]
    if absent:
        return f"a Debian package: {absent[0]} is missing"
    if not Path("/var/lib/dpkg/status").exists():
        return "a Debian package: this system's libraries are of no Debian package"
    if not any(built.exists() for built in BUILT):
        return "a Debian package: headwayctl is not built"
    if Path("/usr/bin/headwayctl").exists():
        return "a Debian package: headwayctl is installed on this machine"
    return None


def made(folder: Path, version: str) -> Path:
    """Build a package of this version with the headwayctl that was built for the other tests.

    An archive with the same program is in the same folder.
    """
    environment = {**os.environ, "DEB_VERSION": version}
    if not FULL:
        environment |= {"DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"}
    program = next(built for built in BUILT if built.exists())
    done = subprocess.run(
        [ROOT / "packaging" / "build.sh", program, folder],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return Path(done.stdout.splitlines()[-1])


def version_of(program: str) -> str:
    """A pattern for what a program prints for --version: Cargo.toml's version and the commit."""
    found = re.search(
        r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.M
    )
    assert found is not None
    head = said("git", "-C", ROOT, "rev-parse", "--short=10", "HEAD").strip()
    return rf"{program} {re.escape(found[1])} \({head}(-dirty)?, \d{{4}}-\d\d-\d\d\)\n"


def newer_than(package: Path, folder: Path) -> Path:
    """Make a package with a later version and another program file from a package."""
    said("dpkg-deb", "--raw-extract", package, folder)
    control = folder / "DEBIAN" / "control"
    control.write_text(control.read_text().replace("Version: 0.1.0-1\n", "Version: 0.1.0-2\n"))
    with (folder / "usr" / "bin" / "headwayctl").open("ab") as program:
        program.write(bytes(1))
    newer = package.with_name("newer.deb")
    said("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", folder, newer)
    return newer


def said(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Root:
    """A copy of the machine's root, with its own processes and network."""

    def __init__(self, folder: Path, systemd: bool = False) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []
        self._lingered: list[Any] = []
        self.environment = {
            **os.environ,
            "HEADWAY_SCOPE": SCOPE,
            "LC_ALL": "C",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        command: list[str | Path] = [
            "unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--propagation",
            "private", ROOT / "tests" / "overlay_root.sh", folder,
        ]  # fmt: skip
        self._group = group_of_its_own() if systemd else None
        if self._group:
            join = f'echo $$ >"{self._group}/cgroup.procs"; exec "$@"'
            command = ["sh", "-ec", join, "sh", *command, "systemd"]
            command.insert(command.index("--mount"), "--cgroup")
        pipe = subprocess.PIPE
        self._holder = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != "ready\n":
            why = self._holder.communicate()[1].strip().splitlines()
            pytest.skip(f"no copy of this machine's root: {(why or ['unshare'])[-1]}")
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children")
        self.first = int(children.read_text().split()[0])

    def begin(self) -> None:
        """Records the state before a test."""
        # keep installations from indexing all manual pages
        self.run("rm", "-f", "/var/lib/man-db/auto-update")
        self._written = self.written()
        # ignore congestion controls of earlier tests, because a killed connection uses its own for
        # minutes
        self._lingered = self.still_there()

    def still_there(self) -> list[Any]:
        """What this scope has attached to the kernel, as a headwayctl outside the copy reports."""
        status = json.loads(self.run(BUILT_CTL, "status", "--json"))
        found = [one for part in status.values() if isinstance(part, list) for one in part]
        before = [one["map_id"] for one in self._lingered]
        return [one for one in found if one.get("map_id") not in before]

    def inside(self, *command: str | Path) -> list[str]:
        """The command line that runs a command in the copy of the root."""
        enter = ["nsenter", f"--target={self.first}", "--mount", "--pid", "--net", "--root", "--wd"]
        return [*enter, *map(str, command)]

    def run(self, *command: str | Path, status: int = 0, text: str | None = None) -> str:
        """Run a command in the copy of the root; returns its output."""
        done = subprocess.run(
            self.inside(*command), env=self.environment, capture_output=True, text=True,
            input=text, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == status, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def json(self, *command: str) -> Any:
        """Run headwayctl in the copy of the root; returns its JSON output."""
        return json.loads(self.run("headwayctl", *command, "--json"))

    def written(self) -> set[str]:
        """Paths in the copy of the root that a test has written or removed."""
        top = self.folder / "written"
        inside = Path(f"/proc/{self.first}/root{top}")
        return {str(path.relative_to(inside)) for path in inside.rglob("*")}

    def left(self) -> list[str]:
        """Paths in the copy that a test has left, except dpkg's files and older folders."""
        names = self.written() - self._written
        return sorted(n for n in names if not n.startswith(OF_DPKG) and not self._was(n))

    def _was(self, name: str) -> bool:
        there = Path(f"/proc/{self.first}/root") / name
        return Path("/", name).is_dir() and there.is_dir()

    def host(self, name: str) -> list[str]:
        """Words before a command that make it run in the network of a host inside the copy."""
        return ["nsenter", f"--net=/proc/{self.first}/root/run/netns/{name}"]

    def leave(self) -> None:
        """End all processes and remove the copy of the root."""
        for process in self.started:
            process.kill()
            process.wait()
        if self._group:
            self._holder.kill()
        self._holder.communicate(timeout=30)
        if self._group:
            remove_group(self._group)


def group_of_its_own() -> Path:
    """Make a cgroup2 cgroup for the copy's systemd, which sees no other cgroups."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    found = [Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"]
    if not found or not Path("/lib/systemd/systemd").exists():
        pytest.skip("a systemd of its own: " + ("there is none" if found else "no cgroup2 here"))
    group = found[0] / f"headway-{os.getpid()}"
    group.mkdir()
    return group


def remove_group(group: Path) -> None:
    """Wait until the processes in a cgroup have ended, and remove the cgroup."""

    def removed() -> bool:
        try:
            for folder, _, _ in os.walk(group, topdown=False):
                Path(folder).rmdir()
        except OSError:
            return False
        return True

    until(f"{group} is empty", removed)


def until(what: str, is_so: Callable[[], bool]) -> None:
    """Wait until a condition is true, for at most 30 s."""
    end_s = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end_s, f"waited in vain: {what}"
        time.sleep(0.05)


@contextmanager
def root(folder: Path) -> Iterator[Root]:
    """A copy of the root folder for one test, which runs while the test holds a lock.

    All tests that attach programs to the kernel take this lock.
    """
    with Path("/run/lock/headway-tests").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        place = Root(folder)
        try:
            place.begin()
            yield place
        finally:
            place.leave()
            # detach what a failed test has left attached
            subprocess.run([BUILT_CTL, "detach", "--all"], env=place.environment, check=False,
                           stdout=subprocess.DEVNULL)  # fmt: skip


@contextmanager
def root_of_systemd(folder: Path, scope: str) -> Iterator[Root]:
    """A copy of the root folder that runs systemd. It has its own HEADWAY_SCOPE."""
    place = Root(folder, systemd=True)
    place.environment["HEADWAY_SCOPE"] = scope
    try:
        up = "systemctl is-system-running 2>&1 || true"
        until("systemd is up", lambda: "running" in place.run("sh", "-c", up))
        yield place
    finally:
        place.leave()


BUILT_CTL = next((str(built) for built in BUILT if built.exists()), "headwayctl")

SENDER = """
import hashlib, os, select, socket, sys
data = socket.create_connection((sys.argv[1], 5001))
seen, sent = hashlib.sha256(), 0
while not select.select([sys.stdin], [], [], 0)[0]:
    block = os.urandom(65536)
    data.sendall(block)
    seen.update(block)
    sent += len(block)
data.shutdown(socket.SHUT_WR)
data.recv(1)
print(sent, seen.hexdigest(), data.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
      .rstrip(bytes(1)).decode())
"""
RECEIVER = """
import hashlib, socket, sys, time
listener = socket.create_server((sys.argv[1], 5001))
print("listens", flush=True)
data, _ = listener.accept()
seen, got, last, silence_s = hashlib.sha256(), 0, time.monotonic(), 0.0
while block := data.recv(65536):
    now = time.monotonic()
    silence_s, last = max(silence_s, now - last), now
    seen.update(block)
    got += len(block)
print(got, seen.hexdigest(), silence_s)
"""


class Flow:
    """A transfer of endless data from one host to another. Both ends check the data."""

    def __init__(self, place: Root, sender: str, receiver: str, address: str) -> None:
        def end(host: str, program: str) -> subprocess.Popen[str]:
            command = [*place.host(host), sys.executable, "-c", program, address]
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
            place.started.append(process)
            return process

        self._receiver = end(receiver, RECEIVER)
        assert self._receiver.stdout is not None
        assert self._receiver.stdout.readline() == "listens\n"
        self._sender = end(sender, SENDER)

    def end(self, least_bytes: int) -> tuple[str, float]:
        """End the transfer and check that no data was lost.

        Returns the sender's congestion control, and the longest time in s without data at
        the receiver.
        """
        sent, sent_hash, control = self._sender.communicate(timeout=60)[0].split()
        got, got_hash, silence_s = self._receiver.communicate(timeout=60)[0].split()
        assert int(sent) > least_bytes
        assert (got, got_hash) == (sent, sent_hash)
        return control, float(silence_s)


def gateway(place: Root) -> None:
    """Make the namespaces of two hosts and of a gateway between them."""
    place.run(
        "sh",
        "-ec",
        f"""
        for host in office gateway server; do
            ip netns add {SCOPE}-$host
            ip -n {SCOPE}-$host link set lo up
        done
        ip link add lan0 netns {SCOPE}-gateway type veth peer name eth0 netns {SCOPE}-office
        ip link add sat0 netns {SCOPE}-gateway type veth peer name eth0 netns {SCOPE}-server
        ip -n {SCOPE}-office addr add 10.1.0.2/24 dev eth0
        ip -n {SCOPE}-gateway addr add 10.1.0.1/24 dev lan0
        ip -n {SCOPE}-gateway addr add 10.2.0.1/24 dev sat0
        ip -n {SCOPE}-server addr add 10.2.0.2/24 dev eth0
        for end in "office eth0" "gateway lan0" "gateway sat0" "server eth0"; do
            ip -n {SCOPE}-${{end% *}} link set ${{end#* }} up
        done
        ip -n {SCOPE}-office route add default via 10.1.0.1
        ip -n {SCOPE}-server route add default via 10.2.0.1
        ip netns exec {SCOPE}-gateway sysctl --quiet --write net.ipv4.ip_forward=1
        """,
    )
