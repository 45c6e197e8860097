"""Tests the Debian package of headwayctl: install, upgrade under traffic, remove; and the archive.

The package goes into a copy of this machine's root (tests/overlay_root.sh). With
HEADWAY_PACKAGE=full the package has full compression, lintian runs, and transfers last longer. One
bound is a time: an upgrade may interrupt a flow of 50 Mbit/s for less than a second, five times
TCP's shortest timeout.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from packaged import (
    BED,
    CONTROL,
    FLOW_S,
    FULL,
    SCOPE,
    Flow,
    Root,
    gateway,
    made,
    missing,
    newer_than,
    root,
    said,
    version_of,
)
from real_time import in_real_time
from support import ROOT, on_kernel

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("older"), "0.1.0-1")


def test_the_package_says_what_it_is_and_needs(package: Path) -> None:
    assert re.fullmatch(r"headwayctl_0\.1\.0-1_\w+\.deb", package.name)
    fields = dict(
        line.split(": ", 1) for line in said("dpkg-deb", "--field", package).splitlines()
        if re.match(r"\w", line)
    )  # fmt: skip
    assert fields["Version"] == "0.1.0-1"
    assert (fields["Section"], fields["Priority"]) == ("net", "optional")
    assert fields["Architecture"] == said("dpkg", "--print-architecture").strip()
    # the package depends only on the libraries that the program is linked with
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


def test_the_archive_is_used_where_it_is_unpacked(package: Path, tmp_path: Path) -> None:
    (archive,) = package.parent.glob("headwayctl-*-linux.tar.gz")
    with tarfile.open(archive) as members:
        members.extractall(tmp_path, filter="data")
    folder = tmp_path / archive.name.removesuffix(".tar.gz")
    assert {file.name for file in folder.iterdir()} == {
        "LICENSE", "copyright", "headwayctl", "share",
    }  # fmt: skip
    program = folder / "headwayctl"
    assert re.fullmatch(version_of("headwayctl"), said(program, "--version"))
    # without root, doctor may report that the kernel forbids eBPF (status 3)
    doctor = subprocess.run([program, "doctor"], capture_output=True, text=True, check=False)
    assert doctor.returncode in (0, 3), doctor.stderr
    completion = folder / "share" / "bash-completion" / "completions" / "headwayctl"
    script = (
        f"source {completion}; COMP_WORDS=(headwayctl det); COMP_CWORD=1; "
        '_headwayctl headwayctl det headwayctl; echo "${COMPREPLY[@]}"'
    )
    assert said("bash", "-c", script) == "detach\n"
    assert len(list((folder / "share" / "man" / "man1").iterdir())) > 30


def check_papers(copyright_file: str) -> None:
    """Check that the file has the text of every licence that it names, and of no other licence."""
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
             # the first two tags concern code of libraries, such as libbpf's C; the third does not
             # apply, because systemd or a user starts the proxy
             "hardening-no-fortify-functions,spelling-error-in-binary,"
             "package-supports-alternative-init-but-no-init.d-script"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "")


def acks(place: Root) -> int:
    """The number of ACKs that a congestion control has processed, on all its connections."""
    (control,) = [one for one in place.json("status")["attached"] if one["name"] == CONTROL]
    return int(control["counters"]["acks"])


@on_kernel
@pytest.mark.alone
@in_real_time
def test_an_upgrade_leaves_connections_alone_and_removal_leaves_nothing(
    package: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("root")
    older = Path(shutil.copy(package, folder))
    newer = newer_than(older, tmp_path_factory.mktemp("newer"))
    with root(folder) as place:
        place.run("dpkg", "--install", older)
        assert re.fullmatch(version_of("headwayctl"), place.run("headwayctl", "--version"))
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
"""A user ID that nobody has. With DynamicUser systemd uses one from 61184 to 65519."""


def check_unit(place: Root) -> None:
    """Check that systemd accepts every line of the unit, and rates the unit as well confined."""
    if shutil.which("systemd-analyze") is None:
        return
    unit = "/lib/systemd/system/headway-pep.service"
    assert place.run("sh", "-c", f"systemd-analyze --man=no verify {unit} 2>&1") == ""
    place.run("systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", unit)


TRACED = "strace -f -o /tmp/calls" if FULL and shutil.which("strace") else ""


def check_calls(place: Root) -> None:
    """Check that the unit's filter allows all system calls of the proxy and of its programs."""
    if not TRACED or shutil.which("systemd-analyze") is None:
        return

    def members(name: str) -> set[str]:
        if not name.startswith("@"):
            return {name}
        lines = said("systemd-analyze", "syscall-filter", name).splitlines()[1:]
        words = [line.strip() for line in lines if line.strip() and line.strip()[0] != "#"]
        return set().union(*map(members, words))

    allowed: set[str] = set()
    for words in re.findall(r"^SystemCallFilter=(.+)$", UNIT.read_text(encoding="utf-8"), re.M):
        named = set().union(*(members(word) for word in words.removeprefix("~").split()))
        allowed = allowed - named if words.startswith("~") else allowed | named
    made = set(re.findall(r"^\d+ +([a-z]\w+)\(", place.run("cat", "/tmp/calls"), re.M))
    assert {"splice", "accept4", "execve"} < made
    assert made - allowed == set()


def start_proxy(place: Root) -> None:
    """Start the proxy as the unit does: the example's options, the unit's user and capabilities."""
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
    """Test that an upgrade loses no data of open flows, which keep their congestion controls."""
    before = place.json("status")
    flow = Flow(place, f"headway-{BED}-left1", f"headway-{BED}-right1", "10.78.0.1")
    through = Flow(place, f"{SCOPE}-office", f"{SCOPE}-server", "10.2.0.2")
    time.sleep(FLOW_S)
    seen = acks(place)
    assert seen > 0
    began_s = time.monotonic()
    place.run("dpkg", "--install", newer)
    took_s = time.monotonic() - began_s
    assert acks(place) > seen + 100 * took_s  # 50 Mbit/s cause 2000 ACKs a second
    time.sleep(FLOW_S)
    (running,) = place.json("pep", "status")["proxies"]
    assert running["open"] == 1
    for one, wanted in ((flow, CONTROL), (through, None)):
        control, silence_s = one.end(least_bytes=1_000_000)
        assert wanted in (None, control)
        assert silence_s < 1.0  # allows a few TCP timeouts of at least 0.2 s
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
    """Test that removing the package leaves nothing, even while a program runs on a host."""
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
    """Test that purging the package removes what a crash left: files in /run, and controls."""
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
    """Test that the package's removal script removes all testbeds and everything attached.

    A program that records its arguments replaces headwayctl, because others may use the machine.
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
    assert asked("remove", 3, 0) == everything  # 3: the kernel cannot; removal continues
    assert asked("remove", 1, 1) == ann[:1]  # stops if detaching fails
    assert asked("upgrade", 0, 0) == []
