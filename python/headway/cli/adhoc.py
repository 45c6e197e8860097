"""``headway try``: an ad-hoc dumbbell, a few trials, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headway import metrics
from headway.backends import as_it_is, backend_named
from headway.cli.listing import AsJson
from headway.cli.show import console, print_json, print_table, progress_bar, watch
from headway.cli.studies import BackendName, Threads
from headway.digest import average, digest_of
from headway.errors import HeadwayError, InterruptedRunError
from headway.experiment import Capture, Dumbbell, Experiment, Flow, Voip, parse_flows
from headway.files import save_bytes
from headway.interrupts import held, interrupted
from headway.table import Cell, Table
from headway.trace import Trace, save_trace
from headway.units import format_time, parse_positive_time

_START_SPREAD = "1 s"
"""Trials differ by when their flows start; each draws from this."""
_SAMPLES = 500
"""Readings of the counters along a run, for time series in what is plotted and exported."""

Summary = dict[str, Any]


def try_out(
    rate: Annotated[str, typer.Option(help="Bottleneck, each direction.")] = "1Mbit/s",
    rtt: Annotated[str, typer.Option(help="Base round-trip time.")] = "50 ms",
    buffer: Annotated[str, typer.Option(help="Queue: bytes, pkts or BDP.")] = "60000 B",
    loss: Annotated[str, typer.Option(help="Random loss of data packets: 0.01 or 1%.")] = "0",
    flows: Annotated[
        str, typer.Option(help="For example 2xcubic,1xhtcp:adaptive_backoff=off:sack=off.")
    ] = "1xcubic",
    voip: Annotated[bool, typer.Option("--voip", help="Add a VoIP stream.")] = False,
    duration: Annotated[str, typer.Option(help="Simulated length.")] = "30 s",
    warmup: Annotated[str, typer.Option(help="What metrics leave out at the start.")] = "0 s",
    trials: Annotated[int, typer.Option(min=1, help="Runs, with other starts.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the first trial; then + 1.")] = 1,
    stack: Annotated[str, typer.Option(help="TCP endpoint: linux-2.6, linux-6.")] = "linux-6",
    backend: BackendName = "sim",
    pcap: Annotated[
        Path | None, typer.Option("--pcap", help="Write the first trial's packets (pcapng).")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Write the first trial's time series.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Save each trial's trace.")] = None,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Try flows on a dumbbell; the default is a 1 Mbit/s home link with one CUBIC flow."""
    runner = backend_named(backend)
    if plot is not None:
        from headway.cli.plot import check_format

        check_format(plot)
    base = Experiment.model_validate(
        {
            "topology": {
                "kind": "dumbbell", "rate": rate, "rtt": rtt, "buffer": buffer, "loss": loss
            },
            "flows": _flows(flows, voip),
            "duration": duration,
            "warmup": warmup,
            "seed": seed,
            "stack": stack,
            "start_spread": _START_SPREAD,
            "sample": _sample_every(duration),
        }
    )  # fmt: skip
    capturing = base.model_copy(update={"capture": Capture() if pcap else None})
    experiments = [
        (base if trial else capturing).model_copy(update={"seed": seed + trial})
        for trial in range(trials)
    ]
    done: dict[int, Trace] = {}
    with progress_bar(not as_json) as progress:
        watch(runner, progress)

        def finished(index: int, trace: Trace) -> None:
            with held():
                if out is not None:
                    save_trace(trace, out / "trials" / f"seed{experiments[index].seed}")
                done[index] = trace
                progress(len(done), trials, f"trial {index + 1}")

        progress(0, trials, "")
        stopped = interrupted(lambda: runner.run_each(experiments, as_it_is, finished, threads))
    if 0 in done:
        if pcap is not None:
            save_bytes(pcap, done[0].capture or b"")
        if plot is not None:
            from headway.cli.plot import plot_trace

            plot_trace(done[0], plot)
    if done:
        _give(base, [done[index] for index in sorted(done)], as_json)
    if stopped:
        kept = str(out / "trials") if out else "the results above" if done else None
        raise InterruptedRunError(len(done), trials, kept)


def _flows(text: str, voip: bool) -> tuple[Flow, ...]:
    try:
        flows = parse_flows(text)
    except ValueError as error:
        raise HeadwayError(f"flows: {error}") from None
    return (*flows, Flow(app=Voip)) if voip else tuple(flows)


def _sample_every(duration: str) -> str | None:
    try:
        length_ns = parse_positive_time(duration)
    except ValueError:
        return None  # the experiment says what is wrong with it
    return format_time(max(length_ns // _SAMPLES, 1_000_000))


def _give(base: Experiment, traces: list[Trace], as_json: bool) -> None:
    summaries = [digest_of(trace) for trace in traces]
    mean = average(summaries)
    if len(traces) > 1:
        for index, flow in enumerate(mean["flows"]):
            goodputs = [summary["flows"][index]["goodput_bps"] for summary in summaries]
            flow["goodput_bps_ci95"] = metrics.confidence_interval(goodputs).half_width
    if as_json:
        mean["trials"] = summaries if len(traces) > 1 else []
        mean["experiment"] = base.model_dump(mode="json")
        mean["seeds"] = [trace.meta["seed"] for trace in traces]
        mean["versions"] = traces[0].meta["versions"]
        print_json(mean)
    else:
        _print(base, mean, len(traces))


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _print(base: Experiment, mean: Summary, trials: int) -> None:
    path = base.topology
    assert isinstance(path, Dumbbell)
    shown = path.model_dump(mode="json")
    print_table(
        Table(
            f"{shown['rate']}, {shown['rtt']}, {shown['buffer']}, {base.stack}"
            f" · {format_time(base.duration)}, {trials} trial{'s' if trials > 1 else ''}",
            ["flow", "goodput kbit/s", "±95 %", "sent again", "RTOs", "srtt ms", "cwnd pkts"],
            [
                [
                    flow["name"],
                    _scaled(flow["goodput_bps"], 1e-3),
                    _scaled(flow.get("goodput_bps_ci95"), 1e-3),
                    flow["retransmits_pkts"],
                    flow["rtos"],
                    _scaled(flow["srtt_us"], 1e-3),
                    flow["cwnd_pkts"],
                ]
                for flow in mean["flows"]
            ],
        )
    )
    link = mean["link"]
    rows: list[list[Cell]] = [["queue, bytes", *_spread(link["queue_bytes"], 1)]]
    if mean["voip"] is not None:
        rows.append(["one-way delay, ms", *_spread(mean["voip"]["owd_us"], 1e-3)])
    print_table(
        Table("", ["", "median", "mean", "sd", "p95", "p99", "min", "max"], rows, by_row=True)
    )
    out = console()
    voip = f", VoIP lost {cell(mean['voip']['lost_pkts'])}" if mean["voip"] else ""
    out.print(
        f"utilization {link['utilization']:.1%}, drops {cell(link['drops_pkts'])}, "
        f"queue full {cell(link['queue_full_events'])} times{voip}",
        markup=False,
    )


def cell(value: float) -> str:
    """A count, or a mean of counts, as text."""
    return f"{value:g}" if value == int(value) else f"{value:.1f}"


def _spread(values: Summary, factor: float) -> list[Cell]:
    return [
        _scaled(values[key], factor) for key in ("median", "mean", "sd", "p95", "p99", "min", "max")
    ]
