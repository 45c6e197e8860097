"""Claim: n long flows need a buffer of only 2TpC/√n; short flows need one that depends on load.

Check: utilization, windows, loss, queues and completion times.
"""

import math
from itertools import product
from typing import Any

import numpy as np

from headway import Experiment, Trace, metrics
from headway.claims import Change, Claims, Evidence, Seen, between, edited, words
from headway.experiment import Dumbbell, Flow
from headway.figures import PUBLISHED, style_of, variant_of
from headway.publish import Page
from headway.studies.common import lab
from headway.studies.common.runs import each, listed, picked
from headway.studies.common.shown import chart, curve, figures
from headway.study import StudyContext, declared
from headway.table import Table
from headway.units import parse_time

Found = Evidence[dict[str, float]]
CLAIMS: Claims[Found] = Claims(__name__)
FIGURE_15 = CLAIMS.file.published["figure-15"]
"""Rows of figure 15: number of flows n, buffer as a multiple of 2TpC/√n and in packets, and the
utilization of the report's model, simulation and measurement.
"""
BUFFERS = {(n, times): pkts for n, times, pkts, *_ in FIGURE_15}
FLOWS, TIMES = (list(dict.fromkeys(column)) for column in zip(*BUFFERS, strict=True))
MANY = FLOWS[2:]
"""The numbers of flows for which the model holds."""
ONE, PHASES, PRODUCT = (18, 36, 71, 142), (10, 25, 50, 600), 1291
PATHS, LOADS = ("80-100", "40-100", "200-100", "80-50", "80-200"), (0.4, 0.6, 0.8, 0.9)
MIX = (236, 3333)
HOST: dict[str, Any] = {"control": "reno", "delayed_ack": False}
FLOW_PKTS = 14
SPREAD = Change(
    "round-trip times of 20 to 180 ms",
    edited({"topology.rtt": "20 ms", "flows.*.delay": lambda one: f"{2 * parse_time(one)} ns"}),
    "cell-*",
)


def _long(ctx: StudyContext, n: int) -> list[dict[str, Any]]:
    """Flows that start within two seconds; round trips are up to 80 ms longer than the path's."""
    starts_ms = np.random.default_rng([ctx.seed, n]).uniform(0, 2000, n)
    times = zip(np.linspace(0, 40, n), starts_ms, strict=True)
    return [{**HOST, "delay": f"{far:.3f} ms", "start": f"{at:.3f} ms"} for far, at in times]


def _short(load: float, mbps: float, seconds: float) -> list[Flow]:
    """Independent arrivals: flows without a start begin at moments that the seed draws."""
    app = {"kind": "bulk", "size": f"{FLOW_PKTS * lab.MSS_BYTES} B"}
    n = round(load * mbps * 1e6 * seconds / (FLOW_PKTS * 8 * 1500))
    return [Flow.model_validate({**HOST, "app": app})] * n


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Trials by kind: one flow, figure 15, few and many flows, short flows, short among long."""

    def trial(path: str, pkts: int, flows: Any, seconds: int, *record: Any) -> Experiment:
        rate, rtt = path.split("-")
        link = {"rate": f"{rate} Mbit/s", "rtt": f"{rtt} ms", "buffer": f"{pkts} pkts"}
        topology = Dumbbell.model_validate({**link, "access_rate": "10 Gbit/s"})
        more: dict[str, Any] = {"warmup": f"{seconds / 3} s", "start_spread": f"{seconds} s"}
        more |= {"duration_s": seconds, "seed": ctx.seed, "record": record}
        return lab.experiment(topology, flows, **more)

    one, cell, short, mix = (200, 10, 10, 6) if ctx.quick else (400, 180, 120, 30)
    made = {f"one-{pkts}": trial("12-142", pkts, _long(ctx, 1), one) for pkts in ONE}
    for (n, times), pkts in BUFFERS.items():
        record = ["flows"] * (times == 1)
        made[f"cell-{n}-{times}"] = trial("155-60", pkts, _long(ctx, n), cell, *record)
    for n in PHASES:
        pkts = round(PRODUCT / n**0.5)
        made[f"phase-{n}"] = trial("155-60", pkts, _long(ctx, n), cell, "flows")
    for path, load in dict.fromkeys([*product(PATHS, [0.8]), *product(PATHS[:1], LOADS)]):
        flows = _short(load, float(path.partition("-")[0]), short)
        made[f"short-{path}-{load}"] = trial(path, 100_000, flows, short, "queue")
    for pkts in MIX:
        made[f"mix-{pkts}"] = trial("400-60", pkts, [*_long(ctx, 200), *_short(0.2, 400, mix)], mix)
    return made


def observe(key: str, trace: Trace) -> dict[str, float]:
    """Observe utilization and loss, and the windows, queue or times of this kind of trial."""
    from scipy.stats import kstest  # loads slowly

    seen = {"used": 100 * metrics.utilization(trace), "loss": metrics.drop_rate(trace) or 0.0}
    if "flows" in trace.experiment.record:
        pkts = metrics.windows_pkts(trace, 50_000_000)
        total = pkts.sum(axis=0)
        seen |= {"mean_pkts": float(pkts.mean()), "sd_pkts": float(total.std())}
        seen["alone_pkts"] = float(np.var(pkts, axis=1).sum() ** 0.5)
        normal = kstest(total, "norm", (total.mean(), total.std()))
        seen["from_normal"] = float(normal.statistic)
    if key.startswith("short"):
        queue = metrics.queue_bytes(trace)
        seen |= {"queue_pkts": (queue.mean or 0) / 1500, "late_pkts": (queue.p95 or 0) / 1500}
    if key.startswith("mix"):
        first_ns, end_ns = metrics.window_of(trace)
        pairs = zip(trace.experiment.start_times_ns(), trace.flows, strict=True)
        known = [(at, one.done_ns) for at, one in pairs if first_ns <= at < end_ns - 2e9]
        seen["done_s"] = float(np.mean([end - at for at, end in known if end is not None])) / 1e9
    return seen


def _row(found: Found, n: int, path: str) -> tuple[float, ...]:
    """The number at ``path`` of the trials with n flows, for each buffer of figure 15."""
    return tuple(picked(found, f"cell-{n}-{{}}", TIMES, path).values())


CLAIMS.add("SRB-01", lambda found: between(found["one-142"]["used"], 99.9, 100, unit="%"))


@CLAIMS.judge("SRB-02")
def _idles(found: Found) -> Seen:
    used, checks = picked(found, "one-{}", ONE[:-1], "used"), []
    for pkts, mine in used.items():
        peak = 1 + pkts / ONE[-1]  # of the window, in bandwidth-delay products
        sawtooth = 100 * (3 * peak**2 / 8) / ((2 - peak) / 2 + (peak**2 - 1) / 2)
        checks += [words.identical(mine, sawtooth), words.less(mine, 100)]
    return Seen.by(listed(used, "packets: {:.1f} %"), *checks)


@CLAIMS.judge("SRB-03", tries=[SPREAD])
def _cells(found: Found) -> Seen:
    used = {f"n = {n}:": _row(found, n, "used") for n in FLOWS}
    pairs = zip(sum(used.values(), ()), FIGURE_15, strict=True)
    checks = [words.within(mine, row[4] - 2, row[4] + 2, "±2 points") for mine, row in pairs]
    return Seen.by(listed(used, "{:.1f} {:.1f} {:.1f} {:.1f}"), words.every(checks), unit="%")


@CLAIMS.judge("SRB-04", tries=[SPREAD])
def _spread(found: Found) -> Seen:
    sds = picked(found, "cell-{}-1", FLOWS, "sd_pkts")
    most = {n: (PRODUCT + BUFFERS[n, 1]) / (3 * (3 * n) ** 0.5) for n in MANY}
    checks = [words.within(sds[n] / most[n], 0, 1) for n in MANY]
    checks.append(words.falls_with(FLOWS, list(sds.values())))
    return Seen.by(listed(sds, "flows: {:.0f} packets"), *checks)


@CLAIMS.judge("SRB-05")
def _normal(found: Found) -> Seen:
    apart = picked(found, "cell-{}-1", MANY, "from_normal")
    return each(apart, lambda one: words.within(one, 0, 0.05), "flows: {:.3f}")


@CLAIMS.judge("SRB-06")
def _phase(found: Found) -> Seen:
    sds, alone = (picked(found, "phase-{}", PHASES, f"{name}_pkts") for name in ("sd", "alone"))
    times = {n: sds[n] / alone[n] for n in PHASES}
    *few, many = times.values()
    common = words.most([words.within(one, 1.5, math.inf) for one in few])
    return Seen.by(listed(times, "flows: {:.2f}"), common, words.within(many, 0, 1.5))


@CLAIMS.judge("SRB-07", tries=[SPREAD])
def _loss(found: Found) -> Seen:
    seen, checks = {}, []
    for n, mean_pkts in picked(found, "cell-{}-1", FLOWS, "mean_pkts").items():
        own, model = [100 * one for one in _row(found, n, "loss")], 76 / mean_pkts**2
        checks += [words.falls_with(TIMES, own), words.quantity(own[1] / model, 1)]
        seen[f"n = {n}:"] = (*own, model)
    told = listed(seen, "{:.2f} {:.2f} {:.2f} {:.2f}, formula {:.2f}", "; ")
    return Seen.by(told, *checks, unit="%")


@CLAIMS.judge("SRB-08")
def _anywhere(found: Found) -> Seen:
    queues = picked(found, "short-{}-0.8", PATHS, "queue_pkts")
    mean_pkts = sum(queues.values()) / len(queues)
    return each(queues, lambda one: words.similar(one, mean_pkts), "{:.1f}", unit="packets")


@CLAIMS.judge("SRB-09")
def _bounded(found: Found) -> Seen:
    """Bursts of 2, 4 and 8 packets have E[X²]/E[X] = 6; at the bound the formula is 5 %."""
    queues = picked(found, "short-80-100-{}", LOADS, "late_pkts")
    bounds = {load: math.log(20) * load / (2 * (1 - load)) * 6 for load in LOADS}
    checks = [words.within(queues[load], 0, bounds[load]) for load in LOADS]
    return Seen.by(listed(queues, "load: {:.1f}"), *checks, unit="packets")


@CLAIMS.judge("SRB-10")
def _sooner(found: Found) -> Seen:
    times = picked(found, "mix-{}", MIX, "done_s")
    return Seen.by(listed(times, "packets: {:.3f} s"), words.much_less(*times.values()))


def page(_ctx: StudyContext, found: Found) -> Page:
    """The table of utilizations beside the report's, and a figure of the link's idle part."""
    rows = [[*row, round(found[f"cell-{row[0]}-{row[1]}"]["used"], 1)] for row in FIGURE_15]
    heads = ["flows", "times 2TpC/√n", "packets", "model", "simulated", "measured", "here"]
    lines = []
    for i, name in enumerate(("reno", "htcp")):
        told, own = f"{TIMES[i]:g} times 2TpC/√n", [row for row in rows if row[1] == TIMES[i]]
        here, paper = ([100 - row[column] for row in own] for column in (6, 4))
        lines.append(curve(told, FLOWS, here, style_of(name)))
        lines.append(curve(f"{told}, paper", FLOWS, paper, variant_of(PUBLISHED, i)))
    idle = ("Idle link", "", chart(lines, "flows", "idle part of the link, %"))
    return Page(tables=[Table("Utilization in %", heads, rows)], figures=figures(idle))


STUDY = declared(__name__)
