"""Tests the proxy as a service of systemd.

The tests start the proxy, replace it under traffic by `systemctl reload` and by an upgrade of the
package, kill it and stop it. They run their own systemd (tests/overlay_root.sh).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest
from packaged import SCOPE, Flow, Root, gateway, made, missing, newer_than, root_of_systemd, until
from support import on_kernel

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

UNIT = "headway-pep.service"
LOG = "/var/log/headway/pep.log"
ECHO = """
import socket, sys
listener = socket.create_server((sys.argv[1], 5002), backlog=1000)
print("listens", flush=True)
while True:
    data, _ = listener.accept()
    data.settimeout(10)
    try:
        data.sendall(data.recv(64))
        data.close()
    except OSError:
        pass
"""
VISITOR = """
import select, socket, sys, time
number, slowest_s, wrong = 0, 0.0, []
while not select.select([sys.stdin], [], [], 0.005)[0]:
    began_s = time.monotonic()
    try:
        with socket.create_connection((sys.argv[1], 5002), timeout=10) as data:
            data.sendall(b"ask")
            if data.recv(64) != b"ask":
                wrong.append("another answer")
    except OSError as error:
        wrong.append(str(error))
    slowest_s = max(slowest_s, time.monotonic() - began_s)
    number += 1
print(number, slowest_s, wrong)
"""


class Visits:
    """A client that opens one connection after the other, each with a request and a response."""

    def __init__(self, place: Root, address: str) -> None:
        def end(host: str, program: str) -> subprocess.Popen[str]:
            command = [*place.host(f"{SCOPE}-{host}"), sys.executable, "-c", program, address]
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
            place.started.append(process)
            return process

        self._server = end("server", ECHO)
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == "listens\n"
        self._visitor = end("office", VISITOR)

    def end(self) -> int:
        """End the client, and check that no connection failed. Returns how many it opened."""
        number, slowest_s, wrong = self._visitor.communicate(timeout=60)[0].split(maxsplit=2)
        self._server.kill()
        self._server.communicate()
        assert wrong == "[]\n"
        print(f"{number} visits, the slowest took {float(slowest_s):.2f} s")
        return int(number)


def shown(place: Root, name: str) -> str:
    """A property of the service, as systemd shows it."""
    return place.run("systemctl", "show", "--value", f"--property={name}", UNIT).strip()


def proxies(place: Root) -> list[dict[str, Any]]:
    """The service's proxies; the proxy that accepts connections comes first."""
    alone = ["env", "--unset=HEADWAY_SCOPE", "headwayctl", "pep", "status", "--json"]
    found: list[dict[str, Any]] = json.loads(place.run(*alone))["proxies"]
    return found


def replaced(place: Root, before: int) -> int:
    """Check that a new process of the service accepts connections; returns its pid."""
    first, *others = proxies(place)
    assert first["pid"] != before
    assert (first["taking"], others[0]["taking"]) == ("yes", "hands-over")
    assert shown(place, "MainPID") == str(first["pid"])
    assert shown(place, "ActiveState") == "active"
    return int(first["pid"])


@on_kernel
def test_a_reload_and_an_upgrade_replace_the_services_proxy_and_no_connection_notices(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("root")
    older = made(folder, "0.1.0-1")
    newer = newer_than(older, tmp_path_factory.mktemp("newer"))
    with root_of_systemd(folder, "hwservice") as place:
        place.run("dpkg", "--install", older)
        gateway(place)
        drop_in = f"/etc/systemd/system/{UNIT}.d/here.conf"
        place.run("install", "-D", "/dev/stdin", drop_in, text="[Service]\n"
                  f"NetworkNamespacePath=/run/netns/{SCOPE}-gateway\n"
                  "StandardError=append:/run/said\n")  # fmt: skip
        other = f"drain-timeout 10min --name sat --log-connections {LOG} --server-buffer"
        place.run("sed", "-i", f"s#server-buffer#{other}#", "/etc/headway/pep.env")
        place.run("systemctl", "daemon-reload")
        place.run("systemctl", "start", UNIT)
        (first,) = proxies(place)
        assert shown(place, "MainPID") == str(first["pid"])
        assert shown(place, "StatusText") == "takes ipv4 from lan0 to sat0"
        through = Flow(place, f"{SCOPE}-office", f"{SCOPE}-server", "10.2.0.2")
        visits = Visits(place, "10.2.0.2")
        time.sleep(0.5)
        place.run("systemctl", "reload", UNIT)
        second = replaced(place, first["pid"])
        options_that_fail(place, second)
        place.run("dpkg", "--install", newer)
        third = replaced(place, second)
        assert place.run("readlink", f"/proc/{third}/exe") == "/usr/bin/headwayctl\n"
        time.sleep(0.5)
        through.end(least_bytes=1_000_000)
        assert visits.end() > 50
        until("predecessors have ended", lambda: len(proxies(place)) == 1)
        assert shown(place, "ActiveState") == "active"
        assert proxies(place)[0]["around"] == 0
        lines = place.run("cat", LOG).splitlines()
        assert len(lines) > 50
        assert json.loads(lines[0])["end"] == "closed"
        killed_and_stopped(place, third)


def options_that_fail(place: Root, running: int) -> None:
    """Check that a reload with wrong options fails and leaves the running proxy unchanged."""
    place.run("cp", "/etc/headway/pep.env", "/run/pep.env")
    place.run("sed", "-i", "s/sat0/sat9/", "/etc/headway/pep.env")
    place.run("systemctl", "reload", UNIT, status=1)
    place.run("cp", "/run/pep.env", "/etc/headway/pep.env")
    assert "sat9" in place.run("cat", "/run/said")
    assert shown(place, "MainPID") == str(running)
    assert shown(place, "ActiveState") == "active"
    assert proxies(place)[0]["pid"] == running


def killed_and_stopped(place: Root, running: int) -> None:
    """Check that systemd restarts a killed proxy, and that a stopped service leaves nothing."""
    place.run("kill", "-9", str(running))
    until("it runs again", lambda: shown(place, "MainPID") not in ("0", str(running))
          and shown(place, "ActiveState") == "active")  # fmt: skip
    assert [proxy["taking"] for proxy in proxies(place)] == ["yes"]
    place.run("systemctl", "stop", UNIT)
    gateway_has = ["ip", "netns", "exec", f"{SCOPE}-gateway"]
    place.run("systemctl", "start", UNIT)
    place.run("systemctl", "kill", "--signal=KILL", UNIT)  # kills both processes
    place.run("systemctl", "stop", UNIT)
    assert place.run(*gateway_has, "nft", "list", "ruleset") == ""
    assert "fwmark" not in place.run(*gateway_has, "ip", "rule")
    assert place.run("sh", "-c", "ls /run/headway 2>/dev/null || true") == ""
    place.run("systemctl", "start", UNIT)
    place.run("dpkg", "--purge", "headwayctl")
    assert place.run("sh", "-c", "ls -d /run/headway* /var/log/headway* || true") == ""
    assert place.run(*gateway_has, "nft", "list", "ruleset") == ""
