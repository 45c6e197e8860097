#!/usr/bin/env python3
"""Compare Headway's controls with the modules of a Debian kernel, under software emulation.

Downloads Debian's kernel package and starts it in QEMU without KVM, with virtual time: the guest's
clock counts its instructions and jumps while it is idle. Its timers are therefore exact even on a
slow or busy machine. In the guest a sender, a router with a rate and a queue, and a receiver are
namespaces; iperf3 sends with each control. The simulator runs the same path with the stack linux-6.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from run_bench import selected

from headway import Experiment, metrics, run
from headway.experiment import Dumbbell

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / "build" / "debian-kernel"
PACKAGES = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "iperf3": "iperf3",
}
CONTROLS = {
    "reno": "reno+slow-start",
    "cubic": "cubic",
    "htcp": "htcp",
    "bic": "bic",
    "scalable": "scalable",
    "highspeed": "highspeed",
    "hybla": "hybla",
    "westwood": "westwood",
    "vegas": "vegas",
    "illinois": "illinois",
}
"""For each control, its name in Debian's kernel and its name in Headway."""
MODULES = (
    "tcp_htcp",
    "tcp_bic",
    "tcp_scalable",
    "tcp_highspeed",
    "tcp_hybla",
    "tcp_westwood",
    "tcp_vegas",
    "tcp_illinois",
)
PATH_MODULES = ("veth", "sch_netem")
RATE_MBIT, RTT_MS, QUEUE_PKTS = 20, 100, 167
"""The path of the comparison; its queue holds one bandwidth-delay product."""
WARMUP_S, LENGTH_S = 20, 60
SAMPLE_S = 0.1
MSS_BYTES = 1448
TIMEOUT_S = 1500
"""Time limit of a guest's run; on an idle core a run takes a third of this time."""
EVERY_PACKET = 0.9
"""Above this number of ACKs per packet, the receiver counts as one without delayed ACKs."""


class BenchError(Exception):
    """A requirement is missing, or the guest did not finish."""


@dataclass(frozen=True)
class Seen:
    """Results of one control in Debian's kernel or in the simulator, after the warm-up."""

    goodput_mbps: float
    cwnd_pkts: float
    """Mean of cwnd over samples taken every 0.1 s."""
    reductions: float
    """Number of reductions: cwnd falls by 5 % or more between samples; successive falls count
    once."""
    srtt_ms: float


def tool(*command: str, cwd: Path | None = None) -> str:
    """Run a program. Raises BenchError with its last line if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BenchError(f"{' '.join(command[:3])}: {last}")
    return done.stdout


def install(packages: dict[str, str]) -> None:
    """Install the missing packages, given by program. Raises BenchError without root or apt-get."""
    missing = [package for program, package in packages.items() if not shutil.which(program)]
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise BenchError(f"needs {', '.join(missing)} (apt-get install {' '.join(missing)})")
    tool("apt-get", "-qq", "update")
    tool("apt-get", "-qq", "install", "-y", "--no-install-recommends", *missing)


def kernel() -> tuple[Path, Path]:
    """The kernel's image and its folder of modules, downloaded once."""
    WORK.mkdir(parents=True, exist_ok=True)
    unpacked = WORK / "kernel"
    if not unpacked.is_dir():
        depends = tool("apt-cache", "depends", "--important", "linux-image-amd64")
        [name, *_] = re.findall(r"linux-image-[\w.+-]+-amd64", depends)
        tool("apt-get", "-qq", "download", name, cwd=WORK)
        [package, *_] = sorted(WORK.glob(f"{name}_*.deb"))
        tool("dpkg-deb", "-x", str(package), str(unpacked))
    [image, *_] = sorted((unpacked / "boot").glob("vmlinuz-*"))
    [modules, *_] = sorted(Path(p) for p in unpacked.glob("**/lib/modules/*") if p.is_dir())
    return image, modules


def in_order(folder: Path, names: Sequence[str]) -> list[Path]:
    """The files of modules, each after the modules that it depends on."""
    files = {path.stem.replace("-", "_"): path for path in folder.glob("**/*.ko")}
    ordered: list[Path] = []

    def add(name: str) -> None:
        path = files.get(name)
        if path is None:
            raise BenchError(f"the kernel has no module {name}")
        [needed] = re.findall(rb"\0depends=([^\0]*)\0", path.read_bytes()) or [b""]
        for other in filter(None, needed.decode().replace("-", "_").split(",")):
            add(other)
        if path not in ordered:
            ordered.append(path)

    for name in names:
        add(name)
    return ordered


def libraries(program: str) -> list[Path]:
    """The libraries that a program is linked with, including the loader."""
    return [Path(found) for found in re.findall(r"(/\S+) \(0x", tool("ldd", program))]


def archive(files: dict[str, tuple[bytes, int]]) -> bytes:
    """A cpio archive in the format that kernels read ("newc"): contents and modes by path."""
    folders = {str(parent) for name in files for parent in Path(name).parents} - {".", "/"}
    entries = {
        **dict.fromkeys(sorted(folders), (b"", 0o40755)),
        **files,
        "TRAILER!!!": (b"", 0),
    }
    out = bytearray()
    for number, (name, (data, mode)) in enumerate(entries.items(), 1):
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        out += bytes(-len(out) % 4) + data
        out += bytes(-len(out) % 4)
    return bytes(out)


def initial_files(
    runs: str, settings: str, order: Sequence[Path], programs: Sequence[str] = ()
) -> bytes:
    """The guest's file system, compressed: with a script that runs, its settings, the modules in
    this order, and programs in addition to iperf3, ip and tc.
    """
    files: dict[str, tuple[bytes, int]] = {}

    def add(name: str, source: Path, mode: int = 0o100755) -> None:
        files[name.lstrip("/")] = (source.read_bytes(), mode)

    add("init", HERE / "debian_kernel_init.sh")
    add("runs", HERE / runs)
    busybox = shutil.which("busybox")
    if busybox is None:
        raise BenchError("needs busybox")
    add("bin/busybox", Path(busybox))
    for program in ("iperf3", "ip", "tc", *programs):
        place = shutil.which(program)
        if place is None:
            raise BenchError(f"needs {program}")
        add(f"usr/bin/{program}", Path(place))
        for library in libraries(place):
            add(str(library), library)
    for path in order:
        add(f"modules.d/{path.name}", path, 0o100644)
    listed = "".join(f"{path.name}\n" for path in order)
    files["modules"] = (listed.encode(), 0o100644)
    files["settings"] = (settings.encode(), 0o100644)
    for folder in ("proc", "sys", "dev", "tmp", "sbin", "var/run"):
        files[folder] = (b"", 0o40755)
    return gzip.compress(archive(files), compresslevel=1)


def boot(
    image: Path, files: bytes, *options: str, name: str = "controls", limit_s: float = TIMEOUT_S
) -> str:
    """Run the guest to its end and return what it printed. Raises BenchError if it hangs."""
    initrd = WORK / f"{name}.gz"
    initrd.write_bytes(files)
    command = [
        "qemu-system-x86_64",
        *("-accel", "tcg", "-icount", "shift=0,sleep=off", "-smp", "1", "-m", "512"),
        *("-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"),
        *("-kernel", str(image), "-initrd", str(initrd)),
        *("-append", "console=ttyS0 loglevel=1 panic=-1 tsc=reliable mitigations=off"),
        *options,
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=limit_s, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as late:
        seen = (late.stdout or b"").decode(errors="replace").strip().splitlines()
        last = seen[-1][:100] if seen else "nothing"
        raise BenchError(f"the guest took over {limit_s:.0f} s; its last line: {last}") from late
    text = done.stdout.decode(errors="replace").replace("\r", "")
    (WORK / f"{name}.txt").write_text(text)
    if "\nDONE" not in text:
        lines = (text + done.stderr.decode(errors="replace")).strip().splitlines()
        raise BenchError(f"the guest ended early: {lines[-1][:200] if lines else 'no output'}")
    return text


def reports(console: str) -> dict[str, Seen]:
    """iperf3's results of each control, read from the guest's console."""
    found = {}
    for control, text in re.findall(r"^BEGIN (\S+)\n(.*?)^END \1$", console, re.M | re.S):
        written = gzip.decompress(base64.b64decode(text)).decode()
        if not written.startswith("{"):
            raise BenchError(f"{control}: iperf3 said: {written.strip().splitlines()[-1:]}")
        report = json.loads(written)
        if "error" in report:
            raise BenchError(f"{control}: iperf3 says: {report['error']}")
        rows = [one["streams"][0] for one in report["intervals"]]
        rows = [row for row in rows if row["start"] >= WARMUP_S]
        cwnd = np.array([row["snd_cwnd"] for row in rows]) / MSS_BYTES
        sent = sum(row["bytes"] for row in rows) / sum(row["seconds"] for row in rows)
        found[control] = Seen(
            sent * 8 / 1e6,
            float(cwnd.mean()),
            reductions(cwnd),
            float(np.mean([row["rtt"] for row in rows])) / 1e3,
        )
    return found


def acks_per_packet(console: str) -> dict[str, float]:
    """The receiver's ACKs per arrived segment."""
    rows = re.findall(r"^SEGMENTS (\S+) (\d+) (\d+) (\d+) (\d+)$", console, re.M)
    return {
        control: (int(out) - int(out_0)) / (int(came) - int(came_0))
        for control, came_0, out_0, came, out in rows
    }


def reductions(cwnd_pkts: np.ndarray) -> float:
    """Number of reductions: cwnd falls by 5 % or more between samples; successive falls count
    once."""
    falls = np.diff(cwnd_pkts) < -0.05 * cwnd_pkts[:-1]
    return float(np.sum(falls & ~np.concatenate([[False], falls[:-1]])))


def simulated(control: str, *, delayed_ack: bool) -> Seen:
    """The control's run over the same path in the simulator."""
    path = Dumbbell.model_validate(
        {"rate": f"{RATE_MBIT} Mbit/s", "rtt": f"{RTT_MS} ms", "buffer": f"{QUEUE_PKTS} pkts"}
    )
    trace = run(
        Experiment.model_validate(
            {
                "topology": path,
                "flows": f"1x{control}:start=0s:delayed_ack={'on' if delayed_ack else 'off'}",
                "duration": f"{WARMUP_S + LENGTH_S} s",
                "warmup": f"{WARMUP_S} s",
                "stack": "linux-6",
            }
        )
    )
    rows = trace.rows_of("flow_state", "flow", 0)
    times = np.arange(WARMUP_S, WARMUP_S + LENGTH_S, SAMPLE_S) * 1e9
    at = np.searchsorted(rows["time_ns"].to_numpy(), times, side="right") - 1
    cwnd = rows["cwnd_pkts"].to_numpy()[at].astype(float)
    srtt = rows["srtt_us"].to_numpy()[at].astype(float)
    goodput = metrics.goodput_bps(trace, 0) / 1e6
    return Seen(goodput, float(cwnd.mean()), reductions(cwnd), float(srtt.mean()) / 1e3)


def table(theirs: dict[str, Seen], ours: dict[str, Seen]) -> str:
    """A table: Debian's and the simulator's results, with the differences of cwnd and goodput."""
    lines = [
        f"{'control':<10} {'goodput Mbit/s':>20} {'mean cwnd pkts':>20} {'cwnd':>8} "
        f"{'reductions':>12} {'mean srtt ms':>16}",
        f"{'':<10} {'Debian':>10} {'ours':>9} {'Debian':>10} {'ours':>9} {'differs':>8} "
        f"{'D':>6} {'ours':>5} {'Debian':>9} {'ours':>6}",
    ]
    for control, one in theirs.items():
        our = ours[control]
        differs = our.cwnd_pkts / one.cwnd_pkts - 1
        lines.append(
            f"{control:<10} {one.goodput_mbps:>10.2f} {our.goodput_mbps:>9.2f} "
            f"{one.cwnd_pkts:>10.1f} {our.cwnd_pkts:>9.1f} {differs:>+8.1%} "
            f"{one.reductions:>6.0f} {our.reductions:>5.0f} {one.srtt_ms:>9.1f} {our.srtt_ms:>6.1f}"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; errors are one line and status 2."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--only", metavar="NAME,NAME", help="run these controls only")
    args = parser.parse_args(argv)
    controls = selected(parser, args.only, list(CONTROLS), "control")
    start = time.monotonic()
    try:
        install(PACKAGES)
        image, modules = kernel()
        settings = (
            f"CONTROLS='{' '.join(controls)}'\nSECONDS_EACH={WARMUP_S + LENGTH_S}\n"
            f"RATE_MBIT={RATE_MBIT}\nRTT_MS={RTT_MS}\nQUEUE_PKTS={QUEUE_PKTS}\n"
        )
        order = in_order(modules, (*PATH_MODULES, *MODULES))
        console = boot(image, initial_files("debian_kernel_runs.sh", settings, order))
        theirs = reports(console)
    except BenchError as error:
        print(f"debian_kernel: {error}", file=sys.stderr)
        return 2
    took_s = time.monotonic() - start
    [release] = re.findall(r"^KERNEL (\S+)$", console, re.M)
    print(
        f"Linux {release} of Debian in QEMU without KVM, virtual time, beside the simulator "
        f"(linux-6): {RATE_MBIT} Mbit/s, {RTT_MS} ms, {QUEUE_PKTS} packets of queue, one flow, "
        f"{LENGTH_S} s after {WARMUP_S} s. The guest took {took_s:.0f} s."
    )
    acks = acks_per_packet(console)
    each = min(acks.values()) > EVERY_PACKET
    print(
        f"Its receiver sent {min(acks.values()):.2f} to {max(acks.values()):.2f} ACKs per packet: "
        f"the simulator's {'acknowledges every packet, too' if each else 'delays ACKs, too'}."
    )
    ours = {name: simulated(CONTROLS[name], delayed_ack=not each) for name in theirs}
    print(table(theirs, ours))
    return 0


if __name__ == "__main__":
    sys.exit(main())
