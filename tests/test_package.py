"""The Debian package of headwayctl: made, installed, upgraded under traffic, removed.

All of it happens in a copy of this machine's root (tests/overlay_root.sh). HEADWAY_PACKAGE=full, as
`make test-package` has it, compresses in earnest, asks lintian and sends for longer.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from real_time import in_real_time
from support import BUILT, ROOT, on_kernel

FULL = os.environ.get("HEADWAY_PACKAGE") == "full"
SCOPE = "hwpkg"
BED = f"{SCOPE}-bed"
CONTROL = f"{SCOPE}_cubic"
FLOW_S = 20.0 if FULL else 0.5
"""How long data flows before the upgrade begins and again when it has ended."""
OF_DPKG = ("var/lib/dpkg/", "var/log/", "var/cache/", "var/lib/systemd/deb-systemd-helper")
"""What dpkg keeps for itself."""


def missing() -> str | None:
    """Why no package can be made here; None: it can."""
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


pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def made(folder: Path, version: str) -> Path:
    """The package of that version, of the program that was built for the other tests."""
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
    return Path(done.stdout.strip())


def newer_than(package: Path, folder: Path) -> Path:
    """The same of a later version, whose program is another file."""
    said("dpkg-deb", "--raw-extract", package, folder)
    control = folder / "DEBIAN" / "control"
    control.write_text(control.read_text().replace("Version: 0.1.0-1\n", "Version: 0.1.0-2\n"))
    with (folder / "usr" / "bin" / "headwayctl").open("ab") as program:
        program.write(bytes(1))
    newer = package.with_name("newer.deb")
    said("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", folder, newer)
    return newer


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("older"), "0.1.0-1")


def said(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_package_says_what_it_is_and_needs(package: Path) -> None:
    assert re.fullmatch(r"headwayctl_0\.1\.0-1_\w+\.deb", package.name)
    fields = dict(
        line.split(": ", 1) for line in said("dpkg-deb", "--field", package).splitlines()
        if re.match(r"\w", line)
    )  # fmt: skip
    assert fields["Version"] == "0.1.0-1"
    assert (fields["Section"], fields["Priority"]) == ("net", "optional")
    assert fields["Architecture"] == said("dpkg", "--print-architecture").strip()
    # the libraries that the program is linked with, and no other
    needs = {word.split(" ")[0] for word in fields["Depends"].split(", ")}
    assert {"libc6", "libgcc-s1", "zlib1g"} < needs
    assert {re.sub("t64$", "", name) for name in needs} == {
        "libc6", "libgcc-s1", "zlib1g", "libelf1",
    }  # fmt: skip


def test_pages_completions_and_papers_lie_where_debian_looks(package: Path, tmp_path: Path) -> None:
    said("dpkg-deb", "--extract", package, tmp_path)
    files = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    pages = {file for file in files if file.startswith("usr/share/man/man1/headwayctl")}
    assert len(pages) > 30
    assert all(page.endswith(".1.gz") for page in pages)
    assert files - pages == {
        "etc/headway/pep.env",
        "lib/systemd/system/headway-pep.service",
        "usr/bin/headwayctl",
        "usr/share/bash-completion/completions/headwayctl",
        "usr/share/fish/vendor_completions.d/headwayctl.fish",
        "usr/share/zsh/vendor-completions/_headwayctl",
        "usr/share/doc/headwayctl/changelog.Debian.gz",
        "usr/share/doc/headwayctl/changelog.gz",
        "usr/share/doc/headwayctl/copyright",
        "usr/share/lintian/overrides/headwayctl",
    }
    owners = {line.split()[1] for line in said("dpkg-deb", "--contents", package).splitlines()}
    assert owners == {"root/root"}
    check_papers((tmp_path / "usr/share/doc/headwayctl/copyright").read_text(encoding="utf-8"))


def check_papers(copyright_file: str) -> None:
    """Every licence that is named is given, and none else."""
    heads = re.findall(r"^License: (.+)$(?!\n )", copyright_file, re.M)
    given = re.findall(r"^License: (.+)$(?=\n )", copyright_file, re.M)
    assert sorted(given) == sorted({word for head in heads for word in head.split(" or ")})
    assert "Files: *\nCopyright: Copyright (c) 2026, the Headway founders" in copyright_file
    assert "Files: algorithms/*" in copyright_file
    assert '"Dual BSD/GPL"' in copyright_file
    assert copyright_file.count("Files: vendor/") > 30


if FULL:

    def test_it_is_made_again_bit_by_bit_and_lintian_finds_nothing(
        package: Path, tmp_path: Path
    ) -> None:
        again = made(tmp_path, "0.1.0-1")
        first, second = (hashlib.sha256(p.read_bytes()).hexdigest() for p in (package, again))
        assert first == second
        if shutil.which("lintian") is None:
            pytest.skip("lintian is missing")
        done = subprocess.run(
            ["lintian", "--allow-root", "--fail-on=error,warning,info", package, "--suppress-tags",
             # of libraries: C that Rust's build of libbpf compiles, and words of theirs; the proxy
             # is started by systemd, or by hand
             "hardening-no-fortify-functions,spelling-error-in-binary,"
             "package-supports-alternative-init-but-no-init.d-script"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "")


class Root:
    """A copy of the machine's root, with processes and a network of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []
        self._lingered: list[Any] = []
        self.environment = {
            **os.environ,
            "HEADWAY_SCOPE": SCOPE,
            "LC_ALL": "C",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--propagation",
             "private", ROOT / "tests" / "overlay_root.sh", folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != "ready\n":
            why = self._holder.communicate()[1].strip().splitlines()
            pytest.skip(f"no copy of this machine's root: {(why or ['unshare'])[-1]}")
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children")
        self.first = int(children.read_text().split()[0])

    def begin(self) -> None:
        """Looks at what is there before a test."""
        # no index of all manual pages for each installation
        self.run("rm", "-f", "/var/lib/man-db/auto-update")
        self._written = self.written()
        # a connection that was killed keeps its control for minutes
        self._lingered = self.still_there()

    def still_there(self) -> list[Any]:
        """What the kernel has of this scope, as a headwayctl finds that is not removed."""
        status = json.loads(self.run(BUILT_CTL, "status", "--json"))
        found = [one for part in status.values() if isinstance(part, list) for one in part]
        before = [one["map_id"] for one in self._lingered]
        return [one for one in found if one.get("map_id") not in before]

    def inside(self, *command: str | Path) -> list[str]:
        """The command as it runs here."""
        enter = ["nsenter", f"--target={self.first}", "--mount", "--pid", "--net", "--root", "--wd"]
        return [*enter, *map(str, command)]

    def run(self, *command: str | Path, status: int = 0) -> str:
        """What it prints."""
        done = subprocess.run(
            self.inside(*command), env=self.environment, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == status, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def json(self, *command: str) -> Any:
        """What headwayctl prints as JSON."""
        return json.loads(self.run("headwayctl", *command, "--json"))

    def written(self) -> set[str]:
        """Names of what was written to the root, or taken from it."""
        top = self.folder / "written"
        inside = Path(f"/proc/{self.first}/root{top}")
        return {str(path.relative_to(inside)) for path in inside.rglob("*")}

    def left(self) -> list[str]:
        """What is not as it was, beside dpkg's own files and folders of others."""
        names = self.written() - self._written
        return sorted(n for n in names if not n.startswith(OF_DPKG) and not self._was(n))

    def _was(self, name: str) -> bool:
        there = Path(f"/proc/{self.first}/root") / name
        return Path("/", name).is_dir() and there.is_dir()

    def host(self, name: str) -> list[str]:
        """What begins a command of the machine's own that uses the network of a namespace here."""
        return ["nsenter", f"--net=/proc/{self.first}/root/run/netns/{name}"]

    def leave(self) -> None:
        """All of it goes."""
        for process in self.started:
            process.kill()
            process.wait()
        self._holder.communicate(timeout=30)


@contextmanager
def root(folder: Path) -> Iterator[Root]:
    """For one test, which is alone with the names of the machine."""
    with Path("/run/lock/headway-tests").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        place = Root(folder)
        try:
            place.begin()
            yield place
        finally:
            place.leave()
            # what a test left that failed
            subprocess.run([BUILT_CTL, "detach", "--all"], env=place.environment, check=False,
                           stdout=subprocess.DEVNULL)  # fmt: skip


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
    """Data of no end from one host to the other; both ends know what it was."""

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
        """Nothing was lost. The sender's control, and the receiver's longest silence in s."""
        sent, sent_hash, control = self._sender.communicate(timeout=60)[0].split()
        got, got_hash, silence_s = self._receiver.communicate(timeout=60)[0].split()
        assert int(sent) > least_bytes
        assert (got, got_hash) == (sent, sent_hash)
        return control, float(silence_s)


def acks(place: Root) -> int:
    """How many of a connection's ACKs the control has seen."""
    (control,) = [one for one in place.json("status")["attached"] if one["name"] == CONTROL]
    return int(control["counters"]["acks"])


@on_kernel
@in_real_time
def test_an_upgrade_leaves_connections_alone_and_removal_leaves_nothing(
    package: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("root")
    older = Path(shutil.copy(package, folder))
    newer = newer_than(older, tmp_path_factory.mktemp("newer"))
    with root(folder) as place:
        place.run("dpkg", "--install", older)
        assert place.run("headwayctl", "--version") == "headwayctl 0.1.0\n"
        place.run("headwayctl", "doctor")
        check_unit(place)
        place.run("headwayctl", "attach", "cubic", "--name", CONTROL)
        place.run("headwayctl", "testbed", "up", "--name", BED, "--rate", "50mbit", "--rtt", "20ms",
                  "--control", CONTROL)  # fmt: skip
        place.run("headwayctl", "host", "window", "--dev", "lo", "--extra-ack", "1MB")
        place.run("headwayctl", "router", "quick-start", "--dev", "lo", "--capacity", "10mbit")
        gateway(place)
        start_proxy(place)
        upgrade_under_traffic(place, newer)
        remove(place)
        purge(place, newer)
        ask_of_everything(place)


UNIT = ROOT / "packaging" / "headway-pep.service"
OWN_USER = "61234"
"""Nobody's: systemd takes one of 61184 to 65519 (DynamicUser)."""


def check_unit(place: Root) -> None:
    """systemd knows all of the unit, and finds it confined."""
    if shutil.which("systemd-analyze") is None:
        return
    unit = "/lib/systemd/system/headway-pep.service"
    assert place.run("sh", "-c", f"systemd-analyze --man=no verify {unit} 2>&1") == ""
    place.run("systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", unit)


def gateway(place: Root) -> None:
    """Two hosts and a gateway between them."""
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


TRACED = "strace -f -o /tmp/calls" if FULL and shutil.which("strace") else ""


def check_calls(place: Root) -> None:
    """The unit's filter lets every system call pass that the proxy and its programs made."""
    if not TRACED or shutil.which("systemd-analyze") is None:
        return

    def members(name: str) -> set[str]:
        lines = said("systemd-analyze", "syscall-filter", name).splitlines()[1:]
        words = [line.strip() for line in lines if line.strip() and line.strip()[0] != "#"]
        return set().union(*(members(w) if w.startswith("@") else {w} for w in words))

    allowed: set[str] = set()
    for words in re.findall(r"^SystemCallFilter=(.+)$", UNIT.read_text(encoding="utf-8"), re.M):
        named = set().union(*(members(word) for word in words.removeprefix("~").split()))
        allowed = allowed - named if words.startswith("~") else allowed | named
    made = set(re.findall(r"^\d+ +([a-z]\w+)\(", place.run("cat", "/tmp/calls"), re.M))
    assert {"splice", "accept4", "execve"} < made
    assert made - allowed == set()


def start_proxy(place: Root) -> None:
    """As the unit does, with the options of the example and the user and capabilities it names."""
    unit = UNIT.read_text(encoding="utf-8")
    words = re.findall(r"^AmbientCapabilities=(.+)$", unit, re.M)[0].lower().split()
    capabilities = ",".join(["-all", *(word.replace("cap_", "+") for word in words)])
    command = re.findall(r"^ExecStart=(.+)$", unit, re.M)[0]
    folder = f"/run/headway-{SCOPE}/pep"
    place.run(
        "sh",
        "-ec",
        f"""
        mkdir {folder}
        chown {OWN_USER}:{OWN_USER} {folder}
        . /etc/headway/pep.env
        ip netns exec {SCOPE}-gateway setpriv --reuid={OWN_USER} --regid={OWN_USER} --clear-groups \
            --inh-caps={capabilities} --ambient-caps={capabilities} --bounding-set={capabilities} \
            --no-new-privs {TRACED} {command} --max-connections 1000 >/tmp/proxy 2>&1 &
        """,
    )
    until = time.monotonic() + 10
    while "takes ipv4 from lan0 to sat0" not in (said := place.run("cat", "/tmp/proxy")):
        assert time.monotonic() < until, said
        time.sleep(0.05)


def upgrade_under_traffic(place: Root, newer: Path) -> None:
    """The flow loses nothing, and goes on by the control that it had."""
    before = place.json("status")
    flow = Flow(place, f"headway-{BED}-left1", f"headway-{BED}-right1", "10.78.0.1")
    through = Flow(place, f"{SCOPE}-office", f"{SCOPE}-server", "10.2.0.2")
    time.sleep(FLOW_S)
    seen = acks(place)
    assert seen > 0
    began_s = time.monotonic()
    place.run("dpkg", "--install", newer)
    took_s = time.monotonic() - began_s
    assert acks(place) > seen + 100 * took_s  # of 50 Mbit/s, two packets each: 2000 a second
    time.sleep(FLOW_S)
    (running,) = place.json("pep", "status")["proxies"]
    assert running["open"] == 1
    for one, wanted in ((flow, CONTROL), (through, None)):
        control, silence_s = one.end(least_bytes=1_000_000)
        assert wanted in (None, control)
        assert silence_s < 1.0  # a time-out of TCP is 0.2 s at least
    (proxy,) = place.json("pep", "status")["proxies"]
    assert proxy["pid"] == running["pid"]
    assert proxy["totals"]["client_bytes"] > 1_000_000
    after = place.json("status")
    for part in ("attached", "routers", "first_windows"):
        ids = [[one.get("map_id"), one.get("link_id")] for one in before[part]]
        assert ids, part
        assert ids == [[one.get("map_id"), one.get("link_id")] for one in after[part]]
    assert place.run("dpkg-query", "--show", "--showformat=${Version}", "headwayctl") == "0.1.0-2"


def remove(place: Root) -> None:
    """Also while something runs in a host."""
    busy = subprocess.Popen(
        place.inside("headwayctl", "testbed", "exec", "--name", BED, "left1", "--", "sleep", "99"),
        env=place.environment,
    )
    time.sleep(0.2)
    place.run("dpkg", "--remove", "headwayctl")
    check_calls(place)
    assert busy.wait(10) != 0
    assert place.left() == ["etc/headway", "etc/headway/pep.env"]
    assert place.run("ip", "netns", "exec", f"{SCOPE}-gateway", "nft", "list", "ruleset") == ""
    rules = place.run("ip", "-n", f"{SCOPE}-gateway", "rule")
    assert "fwmark" not in rules
    for host in ("office", "gateway", "server"):
        place.run("ip", "netns", "del", f"{SCOPE}-{host}")
    assert place.run("ls", "/run/netns") == ""
    assert place.run("sh", "-c", "ls -d /run/headway* || true") == ""
    assert [line.split(": ")[1] for line in place.run("ip", "-o", "link").splitlines()] == ["lo"]
    assert place.run("tc", "qdisc", "show", "dev", "lo") == "qdisc noqueue 0: root refcnt 2 \n"
    for way in ("ingress", "egress"):
        assert place.run("tc", "filter", "show", "dev", "lo", way) == ""
    until = time.monotonic() + 10
    while still := place.still_there():
        assert time.monotonic() < until, still
        time.sleep(0.1)


def purge(place: Root, package: Path) -> None:
    """What a crash left in /run goes; a scope's control goes with the package of whoever."""
    place.run("dpkg", "--install", package)
    place.run("headwayctl", "attach", "cubic", "--name", CONTROL)
    place.run("sh", "-c", f"echo rest >/run/headway-{SCOPE}/rest; : >/run/headway.hints-{SCOPE}")
    place.run("dpkg", "--purge", "headwayctl")
    assert place.run("sh", "-c", "ls -d /run/headway* || true") == ""
    assert place.still_there() == []
    assert place.left() == []


FAKE = """#!/bin/sh
echo "${HEADWAY_SCOPE:-}: $*" >>/tmp/asked
exit "$(cat /tmp/status)"
"""


def ask_of_everything(place: Root) -> None:
    """Without a scope each one's testbeds go, and then all that is attached on the machine.

    Here a program that takes notes is asked, for others may be at work on the machine.
    """
    script = ROOT / "packaging" / "debian" / "prerm"
    place.run("sh", "-c", "mkdir /tmp/bin /run/headway-ann; cat >/tmp/bin/headwayctl <<'END'\n"
              f"{FAKE}END\nchmod +x /tmp/bin/headwayctl")  # fmt: skip
    alone = ["env", "--unset=HEADWAY_SCOPE", f"PATH=/tmp/bin:{os.environ['PATH']}"]

    def asked(why: str, answer: int, status: int) -> list[str]:
        place.run("sh", "-c", f": >/tmp/asked; echo {answer} >/tmp/status")
        place.run(*alone, "sh", script, why, status=status)
        return place.run("cat", "/tmp/asked").splitlines()

    ann = ["ann: testbed down --all", "ann: detach --all"]
    everything = [*ann, ": testbed down --all", ": detach --all"]
    assert asked("remove", 0, 0) == everything
    assert asked("remove", 3, 0) == everything  # a kernel that can attach nothing
    assert asked("remove", 1, 1) == ann[:1]  # nothing is removed that could not be taken away
    assert asked("upgrade", 0, 0) == []
