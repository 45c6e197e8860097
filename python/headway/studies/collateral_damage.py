"""Paper 001: what NewReno, H-TCP and CUBIC do to a VoIP stream on a home link.

Claim: goodput hardly tells the three apart, the delay they cause does; CUBIC causes most.
Setup: 1 Mbit/s and 60 000 bytes of drop-tail queue each way, 50 or 100 ms RTT; one, two or five
bulk flows of one control beside a one-way VoIP stream; Linux 2.6.25 hosts, a dummynet router.
Run: 18 cells of five trials, each at least three minutes and twenty congestion epochs.
Check: tables 1 and 2 and 109 statements.  Plot: figures 2 to 5.

Stewart, Armitage, Huebner: "Collateral Damage: The Impact of Optimised TCP Variants on Real-Time
Traffic Latency in Consumer Broadband Environments", IFIP Networking 2009.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway import models
from headway.claims import Claim, write_claims
from headway.errors import HeadwayError
from headway.experiment import (
    Aqm,
    Control,
    Dumbbell,
    Experiment,
    Flow,
    Link,
    Record,
    Voip,
    limit_bytes,
)
from headway.files import save_text
from headway.report import Report, Section, write_report
from headway.studies import _collateral_damage_page as page
from headway.studies._collateral_damage_claims import Evidence, all_claims
from headway.studies._collateral_damage_data import CELLS, LABELS, CellKey
from headway.studies._collateral_damage_results import (
    BOTTLENECK,
    Cell,
    epochs_per_flow,
    fit_cubic_growth,
    fit_htcp_growth,
    trial_of,
)
from headway.studies.common.legacy import TraceStudy
from headway.study import Agreement, StudyContext, StudyResult
from headway.sweep import Observed
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

TRIALS, QUICK_TRIALS = 5, 4
LENGTH_S, QUICK_LENGTH_S = 180.0, 85.0
EPOCHS = 20
"""Section 3: five trials, each three minutes or twenty congestion epochs, whichever is longer."""

MARGIN = 1.1
"""A trial planned from the closed form, or run again because it was short, gets this much more."""

START_SPREAD_RTTS = 1.0
"""Flows start at random within this many round trips.

Iperf opens the connections of one command in parallel, so within a round trip of each other. It
matters: a flow whose handshake meets a queue takes that delay for the path's, and H-TCP's RTT
scaling then makes it up to four times as fast as the flow that came first. The page of the study
says what other starts would give.
"""

VOIP_LEAD_S = 1.0
"""The datagrams are there before the flows, by this much."""

DRAIN_S = 10.0
"""Time after the last flow stops sending for its queue and retransmissions to empty."""

SETTINGS: dict[str, dict[str, int]] = {
    "reno": {},
    # Adaptive reset is the paper's name for the bandwidth switch of Linux.
    "htcp": {"adaptive_backoff": 0, "bandwidth_switch": 0, "rtt_scaling": 1},
    "cubic26": {"max_increment": 100},
}
"""Section 3: the tunables that were changed."""

RATE, BUFFER = "1 Mbit/s", "60000 B"

FIGURE_2: CellKey = (100, "htcp", 1)
CUBIC_GROWTH: CellKey = (100, "cubic26", 1)
ZOOMED: tuple[CellKey, ...] = (
    (50, "reno", 1),
    (50, "htcp", 1),
    (50, "cubic26", 1),
    FIGURE_2,
    CUBIC_GROWTH,
    (50, "reno", 5),
    (50, "htcp", 5),
    (50, "cubic26", 5),
)
"""Cells whose first trial is recorded in full."""


def trial_key(cell: CellKey, trial: int) -> str:
    """A trial's name, for example "rtt50-htcp-n2-t3"; trials count from 1."""
    rtt_ms, control, flows = cell
    return f"rtt{rtt_ms}-{control}-n{flows}-t{trial}"


def path(rtt_ms: int) -> Dumbbell:
    """The testbed: a dummynet router between hosts on gigabit Ethernet.

    FreeBSD 7's dummynet drops a packet only if the bytes already queued exceed the limit, so the
    queue can hold up to one packet more than it says.
    """
    dummynet = Aqm.model_validate({"name": "drop-tail", "tunables": {"overshoot": 1}})
    reverse = Link.model_validate(
        {"rate": RATE, "delay": f"{rtt_ms / 2:g} ms", "buffer": BUFFER, "aqm": dummynet}
    )
    return Dumbbell.model_validate(
        {
            "rate": RATE,
            "rtt": f"{rtt_ms} ms",
            "buffer": BUFFER,
            "aqm": dummynet,
            "reverse": reverse,
            "access_rate": "1 Gbit/s",
        }
    )


def planned_length_s(cell: CellKey) -> float:
    """Seconds that three minutes or twenty epochs take, by the sawtooth's closed form.

    A NewReno flow alone needs 17 s per epoch at 50 ms RTT. n flows fill the queue n times faster,
    but a full queue hits only some of them: (n + 1) / 2, between one and all, is near enough.
    The other two controls have epochs of a few seconds. If a trial turns out short all the same,
    it is run again (:func:`run_until_enough`).
    """
    rtt_ms, control, flows = cell
    if control != "reno":
        return LENGTH_S
    cycle = models.sawtooth(
        rate_bps=1e6,
        base_rtt_s=rtt_ms / 1e3,
        buffer_bytes=60_000,
        packet_bytes=1500,
        cross_traffic_bps=Voip.packet * BITS_PER_BYTE * NS_PER_S / Voip.interval,
        segments_per_ack=2,
    )
    epoch_s = cycle.cycle_s / ((flows + 1) / 2)
    # Slow start's overshoot comes before the first epoch.
    return max(LENGTH_S, (EPOCHS + 2) * MARGIN * epoch_s)


def trial(cell: CellKey, number: int, *, seed: int, length_s: float) -> Experiment:
    """One trial: flows start at random times; the datagrams are there until the first stops."""
    rtt_ms, control, flows = cell
    settings = Control.model_validate({"name": control, "tunables": SETTINGS[control]})
    # random() of a text seed is the one generator Python promises never to change.
    chance = random.Random(f"{seed}/{trial_key(cell, number)}").random
    spread_s = START_SPREAD_RTTS * rtt_ms / 1e3
    starts_s = [VOIP_LEAD_S + spread_s * chance() for _ in range(flows)]
    # Each writes for the trial's length, then its send buffer drains.
    stops_s = [start_s + length_s for start_s in starts_s]
    tcp = tuple(
        Flow(
            name=f"tcp{index}",
            control=settings,
            start=f"{start_s:.9f} s",
            stop=f"{stop_s:.9f} s",
        )
        for index, (start_s, stop_s) in enumerate(zip(starts_s, stops_s, strict=True), start=1)
    )
    record: tuple[Record, ...] = ("udp",)
    if number == 1 and cell in ZOOMED:
        record = ("flows", "queue", "udp")
    return Experiment(
        topology=path(rtt_ms),
        flows=(*tcp, Flow(name="voip", app=Voip, start="0 s", stop=f"{min(stops_s):.9f} s")),
        duration=f"{max(stops_s) + DRAIN_S:.9f} s",
        stack="linux-2.6",
        seed=seed,
        record=record,
    )


def lengthened(experiment: Experiment, factor: float) -> Experiment:
    """The same trial with every flow living ``factor`` times as long."""
    tcp = [flow for flow in experiment.flows if flow.is_tcp]
    lives_ns = [(flow.stop or 0) - (flow.start or 0) for flow in tcp]
    extra_ns = int(max(lives_ns) * (factor - 1))
    flows = tuple(
        flow.model_copy(update={"stop": (flow.stop or 0) + extra_ns}) for flow in experiment.flows
    )
    return experiment.model_copy(
        update={"flows": flows, "duration": experiment.duration + extra_ns}
    )


_ROUNDS, _MOST = 4, 4.0
"""A short trial is run again so often, and becomes at most so many times as long each time."""


def run_until_enough(ctx: StudyContext, experiments: Mapping[str, Experiment]) -> Observed[Trace]:
    """Run trials, then those again, longer, whose flows saw fewer than twenty epochs each.

    Notes how much longer they became.
    """
    factors = _factors(ctx.out_dir)
    planned = dict(experiments)
    seen = ctx.run_trials(planned, lambda _, trace: trace)
    for _ in range(_ROUNDS):
        short = {}
        for key, trace in seen.rows.items():
            epochs = epochs_per_flow(trace)
            if epochs < EPOCHS:
                factor = min(MARGIN * EPOCHS / max(epochs, 1.0), _MOST)
                short[key] = planned[key] = lengthened(planned[key], factor)
                factors[key] = [*factors.get(key, []), factor]
        if not short:
            break
        seen.rows |= ctx.run_trials(short, lambda _, trace: trace).rows
        save_text(ctx.out_dir / _FACTORS_FILE, json.dumps(factors, indent=1))
    return seen


_FACTORS_FILE = "lengthened.json"


def _factors(out_dir: Path) -> dict[str, list[float]]:
    """By how much trials of this folder were lengthened, by key and in order."""
    file = out_dir / _FACTORS_FILE
    if not file.exists():
        return {}
    try:
        saved = json.loads(file.read_text(encoding="utf-8"))
        return {str(key): [float(factor) for factor in value] for key, value in saved.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise HeadwayError(f"{file}: unreadable ({error})") from None


class CollateralDamage(TraceStudy):
    """The study; see the module."""

    name = "collateral-damage"
    title = "Collateral damage: what bulk TCP flows do to a VoIP stream on a home link"
    source = (
        "Stewart, Armitage, Huebner: Collateral Damage: The Impact of Optimised TCP Variants on "
        "Real-Time Traffic Latency in Consumer Broadband Environments, Networking 2009"
    )
    description = (
        "1 Mbit/s with 60 000 bytes of drop-tail queue, 50 or 100 ms RTT; one, two or five bulk "
        "flows of NewReno, H-TCP or CUBIC (Linux 2.6.25) beside a one-way VoIP stream. Goodput, "
        "one-way delay, queue-full events and retransmissions; 18 cells of five trials."
    )

    agreements = (
        Agreement(
            "kernel-medians",
            "Every median one-way delay on the kernel is the simulator's with the same stack.",
            table="Table 2",
            row="median",
            most=15.0,
            unit="ms",
        ),
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """90 trials (72 of 85 s with ``quick``) by key, as long as they turned out to need."""
        trials = QUICK_TRIALS if ctx.quick else TRIALS
        planned = {
            trial_key(cell, number): trial(
                cell,
                number,
                seed=ctx.seed,
                length_s=QUICK_LENGTH_S if ctx.quick else planned_length_s(cell),
            )
            for cell in CELLS
            for number in range(1, trials + 1)
        }
        for key, factors in _factors(ctx.out_dir).items():
            for factor in factors:
                if key in planned:
                    planned[key] = lengthened(planned[key], factor)
        return planned

    def collect(self, ctx: StudyContext) -> Observed[Trace]:
        """Run all trials, short ones again."""
        if not ctx.resume:
            (ctx.out_dir / _FACTORS_FILE).unlink(missing_ok=True)
        experiments = self.experiments(ctx)
        if ctx.quick:
            return ctx.run_trials(experiments, self.observe)
        return run_until_enough(ctx, experiments)

    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """Tables, claims, figures and the report."""
        trials = QUICK_TRIALS if ctx.quick else TRIALS
        results = {
            cell: Cell(
                cell,
                [trial_of(traces[trial_key(cell, number)]) for number in range(1, trials + 1)],
            )
            for cell in CELLS
        }
        full = {cell: traces[trial_key(cell, 1)] for cell in ZOOMED}
        claims = all_claims(_evidence(results, full))
        tables = page.printed_tables(results)
        figures, figure_files = page.save_figures(
            ctx.out_dir / "figures", page.figures(results, full[FIGURE_2])
        )
        data_files = page.save_numbers(ctx.out_dir, results)
        claims_file = write_claims(ctx.out_dir / "claims.json", claims)
        report = Report(
            title=self.title,
            subtitle=self.source,
            summary=_summary(results, claims),
            sections=[
                Section(
                    "Tables",
                    [
                        "Published values beside those of this run; the mark says whether the "
                        "measured value is within its tolerance."
                    ],
                    tables=page.report_tables(results),
                    figures=[figure for figure in figures if "Table" in figure.title],
                ),
                Section(
                    "Figures", figures=[figure for figure in figures if "Table" not in figure.title]
                ),
                Section(
                    "Five flows",
                    [_FIVE_FLOWS],
                    tables=page.lifetime_tables(results, _link_goodput_kbytes_s()),
                ),
                Section(
                    "Time series",
                    [
                        "First trial of some cells. Drag to zoom into a time range, double arrows "
                        "undo, a click on a legend entry hides its line."
                    ],
                    charts=page.zoom_charts(list(full.items())),
                ),
            ],
            claims=claims,
            facts=_facts(ctx, traces, results),
            commands=[_command(ctx, self.name)],
        )
        report_file = write_report(ctx.out_dir / "report.html", report)
        return StudyResult(tables, claims, report_file, [claims_file, *data_files, *figure_files])


_FIVE_FLOWS = (
    "The paper's goodput of several flows can exceed what the link carries. It is a sum of "
    "averages, each over the lifetime of its own flow: a flow that ends early still counts as "
    "if it had run beside all others. Lifetimes that differ by some seconds in a trial of some "
    "minutes add about one per cent. Datagrams that the full queue drops add a little more."
)


def _link_goodput_kbytes_s() -> float:
    """What segments of 1448 bytes in packets of 1500 carry beside all datagrams, kB/s."""
    voip_bps = Voip.packet * BITS_PER_BYTE * NS_PER_S / Voip.interval
    return (1e6 - voip_bps) / BITS_PER_BYTE * 1448 / 1500 / 1e3


def _evidence(results: Mapping[CellKey, Cell], full: Mapping[CellKey, Trace]) -> Evidence:
    topology = path(50)
    forward, _ = topology.links()[BOTTLENECK]
    buffer_bytes = limit_bytes(forward, topology.rtt) or 0
    return Evidence(
        results=results,
        full_queue_ms=buffer_bytes * BITS_PER_BYTE * 1e3 / forward.rate,
        datagram_ms=Voip.packet * BITS_PER_BYTE * 1e3 / forward.rate,
        htcp_growth=fit_htcp_growth(full[FIGURE_2], 0),
        cubic_growth=fit_cubic_growth(full[CUBIC_GROWTH], 0),
    )


def _summary(results: Mapping[CellKey, Cell], claims: list[Claim]) -> list[tuple[str, str]]:
    median, mean, sd = page.delay_errors(results)
    held = sum(claim.verdict == "holds" for claim in claims)
    checked = sum(claim.verdict != "not checked" for claim in claims)
    return [
        ("mean error of the 18 median delays", f"{median.mean_abs_ms:.1f} ms"),
        ("largest error of a median", f"{median.largest_ms:.1f} ms"),
        ("mean / largest error of the means", f"{mean.mean_abs_ms:.1f} / {mean.largest_ms:.1f} ms"),
        (
            "mean / largest error of the deviations",
            f"{sd.mean_abs_ms:.1f} ms / {100 * sd.largest_relative:.0f} %",
        ),
        ("claims that hold", f"{held} of {checked} checked"),
    ]


def _facts(
    ctx: StudyContext, traces: Mapping[str, Trace], results: Mapping[CellKey, Cell]
) -> list[tuple[str, str]]:
    trials = [trial for cell in results.values() for trial in cell.trials]
    lengths = [trial.numbers.length_s for trial in trials]
    epochs = [trial.numbers.epochs for trial in trials]
    meta = next(iter(traces.values())).meta
    settings = "; ".join(
        f"{LABELS[name]}: {', '.join(f'{k} = {v}' for k, v in tunables.items()) or 'defaults'}"
        for name, tunables in SETTINGS.items()
    )
    return [
        ("Path", f"{RATE}, {BUFFER} drop-tail as in dummynet, both ways; half the RTT each way"),
        ("Hosts", f"{_hosts(meta)} on 1 Gbit/s access links"),
        ("Controls", settings),
        ("Datagrams", "186-byte IP packets every 20 ms, one way, from the start of the trial"),
        (
            "Trials",
            f"{len(trials)}; {min(lengths):.0f} to {max(lengths):.0f} s; "
            f"{min(epochs):.0f} to {max(epochs):.0f} congestion epochs per flow",
        ),
        ("Statistics", "per quantity, highest and lowest trial dropped, mean of the others"),
        (
            "Delay statistics",
            "all datagrams sent after every flow's first congestion event and before the first "
            "flow stops",
        ),
        (
            "Starts and stops",
            f"starts at random within {START_SPREAD_RTTS:g} RTT, {VOIP_LEAD_S:g} s after the "
            "datagrams; each flow writes for the trial's length and then drains its send buffer",
        ),
        ("Seed", str(ctx.seed)),
        ("Quick", "yes: shorter and fewer trials than the paper's" if ctx.quick else "no"),
        ("Backend", str(meta.get("backend"))),
        ("Versions", ", ".join(f"{k} {v}" for k, v in meta.get("versions", {}).items())),
        ("Platform", str(meta.get("platform"))),
    ]


def _hosts(meta: Mapping[str, Any]) -> str:
    if "kernel" in meta:
        return f"Linux {meta['kernel']['release']} of this machine"
    return f"stack {meta['experiment']['stack']}"


def _command(ctx: StudyContext, name: str) -> str:
    quick = " --quick" if ctx.quick else ""
    return f"headway run {name}{quick} --backend {ctx.backend.name} --seed {ctx.seed}"


STUDY = CollateralDamage()
