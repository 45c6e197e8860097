"""A client, a gateway and a server in network namespaces, the proxies on the gateway, and load.

Each kind of load is one program at either end: iperf3 for bulk data, `headwayctl traffic pingpong`
for requests and responses, wrk for new connections, which an HAProxy answers itself, and a short
Python program for idle connections.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from run_bench import ROOT, BenchError

CLIENT_NET, SERVER_NET = "10.91.1", "10.91.2"
SERVER = f"{SERVER_NET}.2"
GATEWAY = f"{CLIENT_NET}.1"
"""The address that HAProxy's clients connect to, because HAProxy is not transparent."""
BULK, EXCHANGES, IDLE = 5201, 7001, 7002
PAGES = {"direct": 8080, "pep": 8081, "haproxy": 8082}
"""A separate server port for each way (direct, pep or haproxy). The server keeps the timestamps of
closed connections for a minute, and timestamps from another host's clock would look old to it."""
PATIENCE_S = 20.0
MESSAGE_BYTES = 64
MOST_DESCRIPTORS = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 60_000)
MOST_CONNECTIONS = min(10_000, MOST_DESCRIPTORS - 600)
"""The most idle connections that are open at a time: ten thousand, or fewer if a program may not
have enough descriptors."""
OF_ONE_TABLE = min(MOST_CONNECTIONS, (MOST_DESCRIPTORS - 1200) // 2)
"""The most idle connections that HAProxy can have: its threads share one table of descriptors."""
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

HAPROXY_COMMON = f"""global
    maxconn {OF_ONE_TABLE}
    maxpipes 100
    nbthread {{threads}}
    tune.pipesize 1048576
    log /dev/null local0
defaults
    timeout connect 10s
    timeout client 300s
    timeout server 300s
    mode tcp
    option splice-request
    option splice-response
"""
ANSWERS = f"""listen pages
    bind {SERVER}:{{port}}
    mode http
    http-request return status 200 content-type text/plain string ok
"""

# A program that keeps idle connections open, each after one request and response. Arguments:
# serve ADDRESS PORT MOST, or open ADDRESS PORT COUNT MOST. The program may open MOST descriptors.
HOLD = """
import resource, socket, sys
most = int(sys.argv[-1])
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
held = []
if role == "serve":
    listener = socket.create_server((address, port), backlog=4096)
    while True:
        held.append(listener.accept()[0])
        held[-1].recv(8)
        held[-1].send(b"answered")
for n in range(int(sys.argv[4])):
    held.append(socket.create_connection((address, port), timeout=20))
    held[-1].send(b"question")
    held[-1].recv(8)
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def served_first() -> Iterator[None]:
    """During the block this session's programs have priority over those of other sessions.

    Linux shares processors between sessions first, so a program's nice value is not enough
    (sched(7)).
    """
    own = Path("/proc/self/autogroup")
    if not own.exists():
        yield
        return
    before = own.read_text().rsplit(maxsplit=1)[-1]
    own.write_text("-20")
    try:
        yield
    finally:
        own.write_text(before)


def run(*words: str) -> str:
    """Run a program to its end; returns its output.

    Raises:
        BenchError: it is missing or fails.
    """
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"cannot run {words[0]}: {error}") from error
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        raise BenchError(f"{' '.join(words)}: status {done.returncode}: {lines[-1]}")
    return done.stdout


@dataclass(frozen=True)
class Exchanged:
    """Quantiles of the times from a request to its response, in ms."""

    p50_ms: float
    p99_ms: float


class Lab:
    """Client, gateway and server; `ways` are the alternatives to compare on the gateway."""

    def __init__(self, headwayctl: Path, cpus: Sequence[int]) -> None:
        self.headwayctl = headwayctl
        self.client_cpu, self.server_cpu = cpus[0], cpus[-1]
        self.prefix = f"hwbench{os.getpid()}"
        self.folder = ROOT / "build" / self.prefix
        self.ways = {"direct": self.direct, "pep": self.pep, "haproxy": self.haproxy}

    def name(self, host: str) -> str:
        """The name of a host's namespace."""
        return f"{self.prefix}{host}"

    def __enter__(self) -> Lab:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _build(self) -> None:
        for host in "cgs":
            run("ip", "netns", "add", self.name(host))
            run("ip", "-n", self.name(host), "link", "set", "lo", "up")
            run(*self.on(host), "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno")
        for host, device, net in (("c", "inside", CLIENT_NET), ("s", "outside", SERVER_NET)):
            here, gateway = self.name(host), self.name("g")
            run(
                *("ip", "link", "add", "eth0", "netns", here),
                *("type", "veth", "peer", "name", device, "netns", gateway),
            )
            for at, dev, end in ((here, "eth0", 2), (gateway, device, 1)):
                run("ip", "-n", at, "addr", "add", f"{net}.{end}/24", "dev", dev)
                run("ip", "-n", at, "link", "set", dev, "up")
            run("ip", "-n", here, "route", "add", "default", "via", f"{net}.1")
        run(*self.on("g"), "sysctl", "-qw", "net.ipv4.ip_forward=1")
        run(*self.on("c"), "sysctl", "-qw", "net.ipv4.ip_local_port_range=1025 65000")

    def __exit__(self, *_: object) -> None:
        for host in "cgs":
            subprocess.run(
                ["ip", "netns", "del", self.name(host)], capture_output=True, check=False
            )
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()

    def on(self, host: str) -> list[str]:
        """The command line that runs a program on a host, on the host's core if it has one."""
        cpu = {"c": self.client_cpu, "s": self.server_cpu}.get(host)
        pinned = [] if cpu is None else ["taskset", "-c", str(cpu)]
        return [*pinned, "ip", "netns", "exec", self.name(host)]

    @contextmanager
    def running(self, host: str, *words: str) -> Iterator[subprocess.Popen[str]]:
        """Run a program during the block; the process of `ip netns exec` becomes the program."""
        told = (self.folder / f"{Path(words[0]).name}.err").open("w")
        try:
            process = subprocess.Popen(
                [*self.on(host), *words],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, text=True,
            )  # fmt: skip
        except OSError as error:
            raise BenchError(f"cannot run {words[0]}: {error}") from error
        try:
            yield process
        finally:
            told.close()
            process.send_signal(signal.SIGTERM)
            try:
                process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()

    def listens(self, host: str, port: int) -> None:
        """Wait until a program listens at the port.

        Raises:
            BenchError: no program listens within PATIENCE_S.
        """
        end = time.monotonic() + PATIENCE_S
        while not run(*self.on(host), "ss", "-Hltn", f"sport = :{port}").strip():
            if time.monotonic() > end:
                raise BenchError(f"no program listens at port {port} after {PATIENCE_S:g} s")
            time.sleep(0.02)

    # The alternatives on the gateway. Each yields the proxy's process ID (None without a proxy) and
    # the address that clients connect to.

    @contextmanager
    def direct(self) -> Iterator[tuple[int | None, str]]:
        """No proxy: the gateway forwards packets."""
        yield None, SERVER

    @contextmanager
    def pep(self) -> Iterator[tuple[int | None, str]]:
        """This project's proxy, `headwayctl pep`."""
        words = ["pep", "run", "--name", self.prefix]
        words += ["--max-connections", str(MOST_CONNECTIONS + 20)]
        words += ["--client-dev", "inside", "--server-dev", "outside"]
        with self.running("g", str(self.headwayctl), *words) as process:
            line = process.stdout.readline() if process.stdout else ""
            if not line:
                told = (self.folder / f"{self.headwayctl.name}.err").read_text().strip()
                raise BenchError(f"headwayctl pep: {told or 'it ended'}")
            yield process.pid, SERVER
            run(str(self.headwayctl), "pep", "stop", self.prefix, "--within", "0s")

    @contextmanager
    def haproxy(self) -> Iterator[tuple[int | None, str]]:
        """Debian's HAProxy, which splices; clients connect to the gateway's address."""
        text = HAPROXY_COMMON.format(threads=len(os.sched_getaffinity(0)))
        for port in (BULK, EXCHANGES, PAGES["haproxy"], IDLE):
            text += f"listen port{port}\n    bind {GATEWAY}:{port}\n    server s {SERVER}:{port}\n"
        with self._haproxy("g", "proxy", text, BULK) as pid:
            yield pid, GATEWAY

    @contextmanager
    def _haproxy(self, host: str, name: str, text: str, port: int) -> Iterator[int]:
        path = self.folder / f"{name}.cfg"
        path.write_text(text)
        most = f"--nofile={MOST_DESCRIPTORS}"
        words = ["prlimit", most, "haproxy", "-db", "-q", "-f", str(path)]
        with self.running(host, *words) as process:
            self.listens(host, port)
            yield process.pid

    def bulk(
        self, to: str, connections: int, reverse: bool, duration_s: float
    ) -> tuple[float, float]:
        """Send bulk data; returns the goodput of all connections together in bit/s, and seconds.

        The seconds are the processor time of the load programs at both ends and of ksoftirqd.
        """
        words = ["-P", str(connections), "-t", f"{duration_s:g}", "-O", "0.3", "--json"]
        with self.bulk_server():
            before_s = ended_s() + soft_interrupts_s()
            text = run(
                *self.on("c"), "iperf3", "-c", to, *words, *(["--reverse"] if reverse else [])
            )
        bps = float(json.loads(text)["end"]["sum_received"]["bits_per_second"])
        return bps, ended_s() + soft_interrupts_s() - before_s

    @contextmanager
    def bulk_server(self) -> Iterator[None]:
        """An iperf3 server, which serves one client at a time."""
        with self.running("s", "iperf3", "-s"):
            self.listens("s", BULK)
            yield

    def exchanges(self, to: str, duration_s: float, beside_bulk: bool) -> Exchanged:
        """Send small requests at random times, a thousand per second, on one connection."""
        end_ns = time.monotonic_ns() + int((duration_s + 1.5) * 1e9)
        out = self.folder / "exchanges"
        common = ["--bytes", str(MESSAGE_BYTES), "--mean-interval-ns", "1000000", "--nodelay"]
        with ExitStack() as stack:
            if beside_bulk:
                stack.enter_context(self.bulk_server())
                load = ["iperf3", "-c", to, "-t", f"{duration_s + 3:g}"]
                stack.enter_context(self.running("c", *load))
                time.sleep(0.3)
            server = ["traffic", "pingpong-server", "--address", f"0.0.0.0:{EXCHANGES}", *common]
            server += ["--end", str(end_ns + 10**9)]
            stack.enter_context(self.running("s", str(self.headwayctl), *server))
            self.listens("s", EXCHANGES)
            client = ["traffic", "pingpong-client", "--address", f"{to}:{EXCHANGES}", *common]
            client += ["--stop", str(end_ns - 10**9), "--end", str(end_ns), "--out", str(out)]
            run(*self.on("c"), str(self.headwayctl), *client)
        times_ms = sorted(
            (end - start) / 1e6 for _, start, end in struct.iter_unpack("<3q", out.read_bytes())
        )
        if len(times_ms) < 100:
            raise BenchError(f"only {len(times_ms)} requests got a response; at least 100 must")
        return Exchanged(statistics.median(times_ms), times_ms[int(len(times_ms) * 0.99)])

    def new_connections(self, to: str, port: int, duration_s: float) -> float:
        """Completed connections per second, each with one request; 64 are open at a time."""
        text = HAPROXY_COMMON.format(threads=1) + ANSWERS.format(port=port)
        with self._haproxy("s", "answers", text, port):
            words = ["wrk", "-t", "1", "-c", "64", "-d", f"{math.ceil(duration_s)}s"]
            told = run(*self.on("c"), *words, "-H", "Connection: close", f"http://{to}:{port}/")
        lines = [line.split() for line in told.splitlines()]
        rate = next((float(line[1]) for line in lines if line[:1] == ["Requests/sec:"]), 0.0)
        if rate <= 0 or "Socket errors" in told:
            raise BenchError(f"wrk: {told.strip()}")
        return rate

    @contextmanager
    def idle(self, to: str, connections: int) -> Iterator[None]:
        """Open this many connections, answer one request on each, and keep them open."""
        hold = [sys.executable, "-c", HOLD]
        with self.running("s", *hold, "serve", SERVER, str(IDLE), str(MOST_DESCRIPTORS)):
            self.listens("s", IDLE)
            words = ["open", to, str(IDLE), str(connections), str(MOST_DESCRIPTORS)]
            with self.running("c", *hold, *words) as client:
                if not client.stdout or client.stdout.readline() != "open\n":
                    raise BenchError(f"idle connections: could not open all {connections}")
                yield


def processor_s(pid: int) -> float:
    """Processor time of a process, in user space and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def ended_s() -> float:
    """Processor time of all child processes of this benchmark that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def soft_interrupts_s() -> float:
    """Processor time of the kernel's threads for soft interrupts."""
    threads = (path.parent for path in Path("/proc").glob("[0-9]*/comm") if is_ksoftirqd(path))
    return sum(processor_s(int(folder.name)) for folder in threads)


def is_ksoftirqd(comm: Path) -> bool:
    """Whether the process with this comm file is ksoftirqd; False if it has ended."""
    try:
        return comm.read_text().startswith("ksoftirqd/")
    except OSError:
        return False


def descriptors(pid: int) -> int:
    """The number of a process's open descriptors, in all descriptor tables of its threads. The
    descriptors must not change while they are counted."""
    tables = {
        # threads that share a descriptor table give equal sets, so the table counts once
        frozenset((descriptor.name, str(descriptor.readlink())) for descriptor in folder.iterdir())
        for folder in Path(f"/proc/{pid}/task").glob("*/fd")
    }
    return sum(len(table) for table in tables)


def memory_bytes(pid: int) -> int:
    """A process's own memory: resident and not mapped from a file."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(fields[1]) - int(fields[2])) * PAGE_BYTES
