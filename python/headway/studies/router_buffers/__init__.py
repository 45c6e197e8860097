"""Claim: n long flows need a buffer of 2TpC/√n only; that of short flows follows from their load.

Check: utilization, windows, loss, queues and completion times.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from headway import Experiment, Trace, metrics
from headway.claims import (
    Change,
    Claims,
    Evidence,
    Seen,
    between,
    edited,
    replaced,
    scaled,
    words,
)
from headway.figures import PUBLISHED, style_of, variant_of
from headway.publish import Page
from headway.studies.common.changes import DELAYED_ACKS, NO_SACK
from headway.studies.common.runs import listed
from headway.studies.common.shown import chart, curve, figures
from headway.study import StudyContext, declared
from headway.table import Table
from headway.units import parse_time

Row = dict[str, float]
Found = Evidence[Row]
CLAIMS: Claims[Found] = Claims(__name__)
BUFFERS, SIMULATED, MEASURED = (
    {int(n): row for n, row in CLAIMS.file.published[name].items()}
    for name in ("buffers", "simulated", "measured")
)
TIMES, FEW, PRODUCT = (0.5, 1, 2, 3), (10, 25, 50), 1290  # 2TpC of the table, in packets
PATHS, LOADS = ("40-100", "80-100", "200-100", "80-50", "80-200"), (0.4, 0.6, 0.8, 0.9)
PACKET_BITS, FLOW_PKTS = 1500 * 8, 14
MODEL_SD = {n: (PRODUCT + row[1]) / (3 * math.sqrt(3 * n)) for n, row in BUFFERS.items()}
MORE_SPREAD = edited(
    {"topology.rtt": "20 ms", "flows.*.delay": lambda ms: f"{2 * parse_time(ms)} ns"}
)
TRIES = (
    Change("delayed ACKs", DELAYED_ACKS, "table-*"),
    Change("hosts without SACK", NO_SACK, "table-*"),
    Change("hosts of today's Linux", edited({"stack": "linux-6"}), "table-*"),
    Change("round trips of 20 to 180 ms", MORE_SPREAD, "table-*"),
)


def _long(n: int, seed: int) -> list[dict[str, Any]]:
    """Flows with round trips of 60 to 140 ms on a path of 60 ms."""
    at = [f"{ms:.3f} ms" for ms in np.random.default_rng([seed, n]).uniform(0, 2000, n)]
    far = [f"{ms:.3f} ms" for ms in np.linspace(0, 40, n)]
    own = {"control": "reno", "delayed_ack": False}
    return [{**own, "delay": delay, "start": start} for delay, start in zip(far, at, strict=True)]


def _short(load: float, rate_mbps: float, seconds: float) -> list[dict[str, Any]]:
    app = {"kind": "bulk", "size": f"{FLOW_PKTS * 1448} B"}
    count = round(load * rate_mbps * 1e6 * seconds / (FLOW_PKTS * PACKET_BITS))
    return [{"app": app, "control": "reno", "delayed_ack": False}] * count


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Trials by kind: one flow, the table, few and many flows, short flows, short among long."""
    made: dict[str, Experiment] = {}

    def add(key: str, path: str, pkts: int, flows: Any, seconds: int, *record: str) -> None:
        rate, rtt = path.split("-")
        link = {"rate": f"{rate} Mbit/s", "rtt": f"{rtt} ms", "buffer": f"{pkts} pkts"}
        fields = {
            "topology": {"kind": "dumbbell", "access_rate": "10 Gbit/s", **link},
            "flows": flows,
            "duration": f"{seconds} s",
            "warmup": f"{seconds / 3} s",
            "start_spread": f"{seconds} s",
            "stack": "linux-2.6",
            "seed": ctx.seed,
            "record": record,
        }
        made[key] = Experiment.model_validate(fields)

    one, cell, phase, short, mix = (200, 10, 12, 10, 12) if ctx.quick else (400, 40, 60, 30, 30)
    for pkts in (16, 31, 63, 125):
        add(f"one-{pkts}", "10-150", pkts, _long(1, ctx.seed), one)
    for n, sizes in BUFFERS.items():
        for times, pkts in zip(TIMES, sizes, strict=True):
            record = ["flows"] * (times == 1)
            add(f"table-{n}-{times}", "155-60", pkts, _long(n, ctx.seed), cell, *record)
    for n in (*FEW, 500):
        pkts = round(PRODUCT / n**0.5)
        add(f"phase-{n}", "155-60", pkts, _long(n, ctx.seed), phase, "flows")
    for path, load in dict.fromkeys([(p, 0.8) for p in PATHS] + [("80-100", x) for x in LOADS]):
        flows = _short(load, float(path.split("-")[0]), short)
        add(f"short-{path}-{load}", path, 100_000, flows, short, "queue")
    for pkts in (91, PRODUCT):
        flows = _long(200, ctx.seed) + _short(0.1, 155, mix)
        add(f"mix-{pkts}", "155-60", pkts, flows, mix)
    return made


def observe(key: str, trace: Trace) -> Row:
    """Utilization and loss, and what else this kind of trial is for."""
    seen = {"used": 100 * metrics.utilization(trace), "loss": metrics.drop_rate(trace) or 0.0}
    if "flows" in trace.experiment.record:
        seen |= _windows(trace)
    if key.startswith("short"):
        seen["queue_pkts"] = 8 * (metrics.queue_bytes(trace).p95 or 0.0) / PACKET_BITS
    if key.startswith("mix"):
        first_ns, end_ns = metrics.window_of(trace)
        pairs = zip(trace.experiment.start_times_ns(), trace.flows, strict=True)
        known = [(at, one.done_ns) for at, one in pairs if first_ns <= at < end_ns - 2e9]
        seen["done_s"] = float(np.mean([end - at for at, end in known if end is not None])) / 1e9
    return seen


def _windows(trace: Trace) -> Row:
    """The flows' windows and their sum in packets, read every 50 ms."""
    rows = trace["flow_state"].sort("flow", "time_ns").select("flow", "time_ns", "cwnd_pkts")
    grid, windows = np.arange(*metrics.window_of(trace), 50_000_000), []
    for _, times, cwnd in (one.to_numpy().T for one in rows.partition_by("flow")):
        windows.append(cwnd[np.searchsorted(times, grid, "right") - 1])
    total = np.sort(np.sum(windows, axis=0))
    normal = [math.erf(z / 2**0.5) / 2 + 0.5 for z in (total - total.mean()) / total.std()]
    return {
        "mean_pkts": float(np.mean(windows)),
        "sd_pkts": float(total.std()),
        "alone_pkts": float(np.var(windows, axis=1).sum() ** 0.5),
        "from_normal": float(np.abs(normal - np.arange(0.5, total.size) / total.size).max()),
    }


def _of(found: Found, key: str, which: Iterable[float | str], name: str) -> dict[Any, float]:
    return {one: found[key.format(one)][name] for one in which}


@CLAIMS.judge("SRB-01", spoil=scaled("one-125", 0.9, "used"))
def full(found: Found) -> Seen:
    """The link is used fully."""
    return between(found["one-125"]["used"], 99.9, 100, unit="%")


@CLAIMS.judge("SRB-02", spoil=replaced("one-*", 100.0, "used"))
def idles(found: Found) -> Seen:
    """Reno's sawtooth from half of product and buffer to the whole of both."""
    used, checks = _of(found, "one-{}", (16, 31, 63), "used"), []
    for pkts, mine in used.items():
        peak = 1 + pkts / 125
        sawtooth = 100 * (3 * peak**2 / 8) / ((2 - peak) / 2 + (peak**2 - 1) / 2)
        checks.append(words.identical(mine, sawtooth))
    return Seen.by(listed(used, "packets: {:.1f} %"), *checks)


@CLAIMS.judge(
    "SRB-03",
    spoil=scaled("table-300-1", 0.95, "used"),
    mend=[replaced("table-*", 98.5, "used"), replaced("table-100-0.5", 95.0, "used")],
    tries=TRIES,
)
def cells(found: Found) -> Seen:
    """Every cell of the table."""
    used = {n: list(_of(found, f"table-{n}-{{}}", TIMES, "used").values()) for n in BUFFERS}
    pairs = [pair for n in used for pair in zip(used[n], SIMULATED[n], strict=True)]
    checks = [words.within(mine, paper - 2, paper + 2, "±2 points") for mine, paper in pairs]
    told = {f"n = {n}:": tuple(row) for n, row in used.items()}
    return Seen.by(listed(told, "{:.1f} {:.1f} {:.1f} {:.1f}"), words.every(checks), unit="%")


@CLAIMS.judge(
    "SRB-04",
    spoil=scaled("table-*-1", 9.0, "sd_pkts"),
    mend=[replaced(f"table-{n}-1", sd, "sd_pkts") for n, sd in MODEL_SD.items()],
    tries=TRIES,
)
def spread(found: Found) -> Seen:
    """The deviation is that of the formula, and falls."""
    sds = _of(found, "table-{}-1", BUFFERS, "sd_pkts")
    checks = [words.quantity(sds[n], MODEL_SD[n]) for n in BUFFERS]
    falls = words.falls_with(list(sds), list(sds.values()))
    return Seen.by(listed(sds, "flows: {:.0f} packets"), falls, *checks)


@CLAIMS.judge(
    "SRB-05",
    spoil=replaced("table-*-1", 0.2, "from_normal"),
    mend=replaced("table-*-1", 0.01, "from_normal"),
    tries=[Change("trials of five minutes", edited({"duration": "300 s"}), "table-*-1")],
)
def normal(found: Found) -> Seen:
    """The largest difference to the normal distribution function."""
    apart = _of(found, "table-{}-1", BUFFERS, "from_normal")
    return Seen.by(
        listed(apart, "flows: {:.3f}"), *(words.within(one, 0, 0.05) for one in apart.values())
    )


@CLAIMS.judge(
    "SRB-06",
    spoil=scaled("phase-500", 9.0, "sd_pkts"),
    mend=replaced("phase-??", 9999.0, "sd_pkts"),
    tries=[
        Change("a buffer of 2TpC", edited({"topology.buffer": f"{PRODUCT} pkts"}), "phase-*"),
    ],
)
def phase(found: Found) -> Seen:
    """The deviation in terms of that of independent flows."""
    alone = _of(found, "phase-{}", (*FEW, 500), "alone_pkts")
    times = {n: found[f"phase-{n}"]["sd_pkts"] / alone[n] for n in alone}
    common = words.most([words.within(times[n], 1.5, math.inf) for n in FEW])
    return Seen.by(listed(times, "flows: {:.2f}"), common, words.within(times[500], 0, 1.5))


@CLAIMS.judge(
    "SRB-07",
    spoil=scaled("table-*-1", 9.0, "loss"),
    mend=[
        replaced("table-*-1", 1.0, "mean_pkts"),
        *(replaced(f"table-*-{t}", 0.76 + 0.01 * (1 - t), "loss") for t in TIMES),
    ],
    tries=TRIES,
)
def loss(found: Found) -> Seen:
    """Loss falls with the buffer at every number of flows, and follows the formula."""
    seen, checks = {}, []
    for n, mean_pkts in _of(found, "table-{}-1", BUFFERS, "mean_pkts").items():
        own = [100 * one for one in _of(found, f"table-{n}-{{}}", TIMES, "loss").values()]
        model = 76 / mean_pkts**2
        checks += [words.falls_with(TIMES, own), words.quantity(own[1] / model, 1)]
        seen[f"n = {n}:"] = (*own, model)
    told = listed(seen, "{:.2f} {:.2f} {:.2f} {:.2f}, formula {:.2f}", "; ")
    return Seen.by(told, *checks, unit="%")


@CLAIMS.judge("SRB-08", spoil=scaled("short-200-*", 2.0, "queue_pkts"))
def anywhere(found: Found) -> Seen:
    """The same queue on every path."""
    queues = _of(found, "short-{}-0.8", PATHS, "queue_pkts")
    checks = [words.similar(one, sum(queues.values()) / len(queues)) for one in queues.values()]
    return Seen.by(listed(queues, "{:.1f}"), *checks, unit="packets")


@CLAIMS.judge(
    "SRB-09",
    spoil=scaled("short-80-100-0.4", 9.0, "queue_pkts"),
    mend=replaced("short-80-100-*", 1.0, "queue_pkts"),
    tries=[
        Change(
            "hosts connected at 10 Mbit/s", edited({"topology.access_rate": "10 Mbit/s"}), "short-*"
        ),
        Change(
            "hosts connected at 2 Mbit/s", edited({"topology.access_rate": "2 Mbit/s"}), "short-*"
        ),
    ],
)
def bounded(found: Found) -> Seen:
    """Bursts of 2, 4 and 8 packets have E[X²]/E[X] = 6. The formula is 5 % at the bound."""
    queues = _of(found, "short-80-100-{}", LOADS, "queue_pkts")
    bounds = [math.log(20) * load / (2 * (1 - load)) * 6 for load in LOADS]
    checks = [words.within(queues[load], 0, most) for load, most in zip(LOADS, bounds, strict=True)]
    return Seen.by(listed(queues, "load: {:.1f}"), *checks, unit="packets")


@CLAIMS.judge("SRB-10", spoil=scaled("mix-91", 3.0, "done_s"))
def sooner(found: Found) -> Seen:
    """Short flows are done sooner with the smaller buffer."""
    times = _of(found, "mix-{}", (91, PRODUCT), "done_s")
    return Seen.by(listed(times, "packets: {:.3f} s"), words.less(times[91], times[PRODUCT]))


def page(_ctx: StudyContext, found: Found) -> Page:
    """The table next to the paper's, and the idle part of the link."""
    rows = [
        (
            n,
            times,
            BUFFERS[n][i],
            found[f"table-{n}-{times}"]["used"],
            SIMULATED[n][i],
            MEASURED[n][i],
        )
        for n in BUFFERS
        for i, times in enumerate(TIMES)
    ]
    used = {(row[0], row[1]): row[3] for row in rows}
    heads = ["flows", "times 2TpC/√n", "packets", "here", "paper, simulated", "paper, measured"]
    lines = []
    for i, name in enumerate(("reno", "htcp")):
        told = f"{TIMES[i]:g} times 2TpC/√n"
        paper = [100 - SIMULATED[n][i] for n in BUFFERS]
        lines.append(
            curve(told, list(BUFFERS), [100 - used[n, TIMES[i]] for n in BUFFERS], style_of(name))
        )
        lines.append(curve(f"{told}, paper", list(BUFFERS), paper, variant_of(PUBLISHED, i)))
    idle = ("Idle link", "", chart(lines, "flows", "idle part of the link, %"))
    return Page(tables=[Table("Utilization in %", heads, rows)], figures=figures(idle))


STUDY = declared(
    __name__, experiments=experiments, observe=observe, page=page, statements=CLAIMS.statements()
)
