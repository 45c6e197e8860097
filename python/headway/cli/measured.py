"""``headway import``, ``compare`` and ``fit``: measurements that were made elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.options import AsJson
from headway.cli.paths import check_file, check_folder, path
from headway.cli.show import console, notice, print_json, print_table
from headway.errors import HeadwayError
from headway.table import Cell, Table
from headway.units import NS_PER_S, format_rate, parse_positive_time

if TYPE_CHECKING:
    from headway.trace import Trace

_MOST_NOTES = 20

MeasuredFile = Annotated[
    Path,
    typer.Argument(
        parser=path,
        metavar="MEASURED",
        help="A capture or another file that `headway import` reads, or a saved trace.",
    ),
]
ControlName = Annotated[
    str | None,
    typer.Option("--control", metavar="NAME", help="The senders' control, if you know it."),
]
Interval = Annotated[
    str,
    typer.Option(
        "--interval", metavar="TIME", help="Length of the intervals in which samples are combined."
    ),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", parser=path, metavar="FILE", help="Draw the time series.")
]


def import_measured(
    file: Annotated[
        Path,
        typer.Argument(
            parser=path,
            metavar="FILE",
            help="pcap, pcapng, .flent.gz, iperf3 --json, or a log of Pantheon or Mahimahi.",
        ),
    ],
    interval: Interval = "100 ms",
    control: ControlName = None,
    interface: Annotated[
        int | None,
        typer.Option(
            "--interface", min=0, help="Use only this interface of a capture [the sender's]."
        ),
    ] = None,
    flows: Annotated[
        int,
        typer.Option("--flows", min=1, help="Keep the flows with most data, at most this many."),
    ] = 100,
    out: Annotated[
        Path | None, typer.Option("--out", parser=path, metavar="DIR", help="Save the trace.")
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Import a capture or the results of another tool as a trace."""
    from headway.imports import import_file
    from headway.trace import save_trace

    _check_control(control)
    check_folder("out", out)
    _check_plot(plot)
    trace = import_file(
        file,
        interval_ns=_interval_ns(interval),
        control=control,
        interface=interface,
        most_flows=flows,
    )
    _print_notes(trace)
    if out is not None:
        save_trace(trace, out)
    if plot is not None:
        from headway.cli.plot import plot_trace

        plot_trace(trace, plot)
    rows = _flow_rows(trace)
    if as_json:
        print_json({"import": trace.meta["import"], "flows": rows})
        return
    title = f"{file} · {trace.meta['import']['format']}, {trace.duration_ns / NS_PER_S:.3f} s"
    print_table(Table(title, ("flow", *(_HEADS[name] for name in _HEADS)), [
        (row["name"], *(row[name] for name in _HEADS)) for row in rows
    ]))  # fmt: skip


_HEADS = {
    "goodput_kbps": "kbit/s",
    "retransmits_pkts": "sent again",
    "out_of_order_pkts": "reordered",
    "least_rtt_ms": "least RTT ms",
    "mean_rtt_ms": "mean",
    "largest_rtt_ms": "largest",
}


def _flow_rows(trace: Trace) -> list[dict[str, Any]]:
    from headway.metrics import flow_table

    table = {row["flow"]: row for row in flow_table(trace).iter_rows(named=True)}
    rows = []
    for number, flow in enumerate(trace.flows):
        of = table.get(number, {})
        own = (flow.model_extra or {}).get("capture")
        rtt = own["rtt"] if own else {}
        goodput = of.get("goodput_tcptrace_bps") or of.get("goodput_bps")
        rows.append(
            {
                "name": flow.name,
                "goodput_kbps": None if goodput is None else goodput / 1e3,
                "retransmits_pkts": of.get("retransmits_pkts"),
                "out_of_order_pkts": own and own["out_of_order_pkts"],
                **{
                    name: None if rtt.get(key) is None else rtt[key] / 1e6
                    for name, key in (
                        ("least_rtt_ms", "min_ns"),
                        ("mean_rtt_ms", "mean_ns"),
                        ("largest_rtt_ms", "max_ns"),
                    )
                },
            }
        )
    return rows


def compare(
    measured: MeasuredFile,
    experiment: Annotated[
        Path,
        typer.Argument(metavar="EXPERIMENT", help="An experiment to simulate, as .json or .toml."),
    ],
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compare a measurement with the simulation of an experiment."""
    from headway import try_experiment
    from headway.imports import compared, load

    _check_plot(plot)
    described = try_experiment.from_file(experiment)
    trace = load(measured)
    _print_notes(trace)
    found = compared(trace, described)
    if plot is not None:
        from headway.cli.plot import plot_beside

        plot_beside({"measured": found.measured, "simulated": found.simulated}, plot)
    if as_json:
        print_json([{**vars(row), "difference": row.difference} for row in found.rows])
        return
    rows: list[tuple[Cell, ...]] = []
    for row in found.rows:
        change = row.difference
        rows.append(
            (
                row.flow,
                row.quantity,
                row.measured,
                row.simulated,
                None if change is None else f"{100 * change:+.1f} %",
            )
        )
    heads = ("flow", "quantity", "measured", "simulated", "difference")
    print_table(Table(f"{measured} beside {experiment}", heads, rows, by_row=True))


def fit(
    measured: Annotated[
        Path,
        typer.Argument(parser=path, metavar="MEASURED", help="A capture at the senders."),
    ],
    control: ControlName = None,
    runs: Annotated[
        int, typer.Option("--runs", min=0, help="Largest number of simulations; needs --control.")
    ] = 40,
    save: Annotated[
        Path | None,
        typer.Option("--save", parser=path, metavar="FILE", help="Write the experiment as .json."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit the simplest path to a capture: rate, round trip, queue and loss."""
    from headway import try_experiment
    from headway.experiment import Dumbbell
    from headway.imports import fit as fitted_to
    from headway.imports import import_file
    from headway.imports.fit import FIT_INTERVAL_NS

    _check_control(control)
    check_file("save", save)
    if save is not None:
        try_experiment.check_save(save)
    trace = import_file(measured, interval_ns=FIT_INTERVAL_NS, control=control)
    _print_notes(trace)
    found = fitted_to(trace, control, runs)
    if save is not None:
        try_experiment.save(found.experiment, save)
    one = found.path
    if as_json:
        print_json(
            {
                "path": vars(one),
                "estimate": vars(found.estimate),
                "errors": dict(found.errors),
                "runs": found.runs,
                "experiment": found.experiment.model_dump(mode="json"),
            }
        )
        return
    topology = found.experiment.topology
    assert isinstance(topology, Dumbbell)
    path_rows: list[tuple[Cell, ...]] = [
        (
            "rate",
            format_rate(topology.rate),
            "" if one.is_busy else "at least: the queue was empty",
        ),
        ("base round trip", f"{topology.rtt / 1e6:.3f} ms", ""),
        (
            "queue",
            f"{topology.buffer} of {one.packet_bytes:.0f} B",
            "" if one.is_queue_full else "at least: it was never full",
        ),
        ("random loss", f"{100 * one.loss:.4f} %", ""),
    ]
    print_table(Table(f"Path of {measured}", ("", "fitted", ""), path_rows))
    if found.errors:
        errors = [(name, f"{100 * value:+.2f} %") for name, value in found.errors.items()]
        runs_text = f"{found.runs} run{'s' if found.runs != 1 else ''}"
        title = f"Simulated with {control or trace.flows[0].control}, {runs_text}"
        print_table(Table(title, ("", "off by"), errors))
    else:
        console().print("Estimated from the capture alone; --control also simulates it.")


def _interval_ns(text: str) -> int:
    try:
        return parse_positive_time(text)
    except ValueError as error:
        raise HeadwayError(f"interval: {error}") from None


def _check_control(name: str | None) -> None:
    from headway.experiment import Control

    if name is not None:
        try:
            Control(name=name)
        except ValueError as error:
            raise HeadwayError(f"control: {error}") from None


def _check_plot(file: Path | None) -> None:
    check_file("plot", file)
    if file is not None:
        from headway.cli.plot import check_format

        check_format(file)


def _print_notes(trace: Trace) -> None:
    notes = trace.meta.get("import", {}).get("notes", [])
    for line in notes[:_MOST_NOTES]:
        notice(f"warning: {line}")
    if len(notes) > _MOST_NOTES:
        print(f"headway: warning: {len(notes) - _MOST_NOTES} more", file=sys.stderr)
