"""``headway try``: run a few trials of an ad-hoc experiment and print the results."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from headway import try_experiment
from headway.backends import backend_named
from headway.cli.options import AsJson, BackendName, Threads
from headway.cli.paths import check_file, check_folder, path
from headway.cli.show import progress_bar, watch
from headway.cli.try_diverge import DivergeOptions
from headway.cli.try_results import OtherBackend, print_results
from headway.cli.try_run import FinishedTrial, Outputs, check_trials, run_trials
from headway.errors import HeadwayError, InterruptedRunError
from headway.experiment import Capture, Experiment, Transfers
from headway.try_experiment import TryOptions


class Try(TyperCommand):
    """The command ``headway try``, which accepts ``--quick-start`` without a value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert "on" after ``--quick-start`` if no tunables follow."""
        for index in range(len(args) - 1, -1, -1):
            follows = args[index + 1 : index + 2]
            if args[index] == "--quick-start" and (not follows or not _is_tunables(follows[0])):
                args.insert(index + 1, "on")
        return super().parse_args(ctx, args)


def _is_tunables(text: str) -> bool:
    return text in ("on", "off") or ("=" in text and not text.startswith("-"))


def try_out(
    context: typer.Context,
    experiment: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="A whole experiment, as .json or .toml.", show_default=False
        ),
    ] = None,
    rate: Annotated[
        str, typer.Option(help="Bottleneck's rate in each direction.")
    ] = TryOptions.rate,
    rtt: Annotated[str, typer.Option(help="Base round-trip time.")] = TryOptions.rtt,
    buffer: Annotated[
        str, typer.Option(help="Queue limit: bytes, pkts or BDP.")
    ] = TryOptions.buffer,
    loss: Annotated[
        str, typer.Option(help="Random loss of data packets: 0.01 or 1%.")
    ] = TryOptions.loss,
    jitter: Annotated[
        str | None,
        typer.Option(
            metavar="TIME[:OPTION=VALUE]...",
            help="Vary the delay of data packets: 10ms:distribution=normal:correlation=25%.",
        ),
    ] = None,
    burst_loss: Annotated[
        str | None,
        typer.Option(
            metavar="OPTION=VALUE[:...]",
            help="Bursty loss of data packets (Gilbert-Elliott): to_bad=1%:to_good=25%.",
        ),
    ] = None,
    policer: Annotated[
        str | None,
        typer.Option(
            metavar="RATE:burst=SIZE[:mark=on]",
            help="Drop (or mark) data packets beyond a token bucket: 10Mbit/s:burst=64KiB.",
        ),
    ] = None,
    shaper: Annotated[
        str | None,
        typer.Option(
            metavar="RATE:burst=SIZE",
            help="Queue data packets until a token bucket lets them go: 10Mbit/s:burst=64KiB.",
        ),
    ] = None,
    aggregation: Annotated[
        str | None,
        typer.Option(
            metavar="TIME[:packets=N]",
            help="Send data packets in frames, one each TIME: 4ms:packets=32.",
        ),
    ] = None,
    ack_thinning: Annotated[
        str | None,
        typer.Option(
            metavar="filter|keep=1/N[:interval=TIME]",
            help="Drop ACKs on the way back that newer ones make superfluous: filter.",
        ),
    ] = None,
    corruption: Annotated[
        str | None,
        typer.Option(
            metavar="P|bit=P",
            help="Damage data packets, so that receivers drop them: 0.1% or bit=1e-7.",
        ),
    ] = None,
    mtu: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE[:icmp=off]",
            help="Largest packet of the link towards the receivers: 1400B.",
        ),
    ] = None,
    aqm: Annotated[
        str, typer.Option(help="AQM of the queue, for example fq_codel:target=5ms,ecn=off.")
    ] = TryOptions.aqm,
    vary: Annotated[
        str | None,
        typer.Option(
            metavar="KIND:FILE",
            help="Vary the bottleneck as FILE says: schedule:FILE or mahimahi:FILE.",
        ),
    ] = None,
    quick_start: Annotated[
        str | None,
        typer.Option(
            help="Let routers answer Quick-Start requests; tunables may follow, for example "
            "algorithm=fair."
        ),
    ] = None,
    router: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:OPTION=VALUE]...",
            help="Add a router algorithm to the link. Repeat in the order that packets pass them.",
        ),
    ] = None,
    routers_at_arrival: Annotated[
        bool,
        typer.Option(
            "--routers-at-arrival",
            help="Let routers write into packets that join the queue, as they do on the kernel.",
        ),
    ] = False,
    hop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RATE,DELAY,BUFFER",
            help="Add a hop: a chain instead of one bottleneck. Repeat for each hop.",
        ),
    ] = None,
    reverse: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD=VALUE,...",
            help="Fields of the reverse link that differ from the forward link's: rate=1Mbit/s.",
        ),
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(
            "--topology",
            parser=path,
            metavar="FILE",
            help="Read the topology from a .json or .toml file.",
        ),
    ] = None,
    flows: Annotated[
        str, typer.Option(help="Flows, for example 2xcubic,1xhtcp+jump-start:size=1MB:sack=off.")
    ] = TryOptions.flows,
    control: Annotated[
        str | None,
        typer.Option(
            help=(
                "Run a single flow with this control; with --backend kernel, also one of the "
                "kernel's own controls."
            )
        ),
    ] = None,
    apart: Annotated[
        str | None, typer.Option(help="Start flows one after the other, this far apart.")
    ] = None,
    voip: Annotated[bool, typer.Option("--voip", help="Add a VoIP stream.")] = False,
    duration: Annotated[str, typer.Option(help="Simulated length.")] = TryOptions.duration,
    warmup: Annotated[
        str, typer.Option(help="Time at the start that metrics leave out.")
    ] = TryOptions.warmup,
    trials: Annotated[
        int, typer.Option(min=1, help="Number of runs, with different start times.")
    ] = 1,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the first trial; each further one adds 1.")
    ] = 1,
    stack: Annotated[str, typer.Option(help="TCP stack: linux-2.6, linux-6.")] = TryOptions.stack,
    sysctl: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Set a sysctl of all hosts, for example tcp_sack=0. Repeat for more.",
        ),
    ] = None,
    route: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Set an attribute of all hosts' routes, for example initcwnd=20.",
        ),
    ] = None,
    backend: BackendName = "sim",
    beside: Annotated[
        str | None,
        typer.Option(
            metavar="BACKEND",
            help="Also run the trials on this backend, and compare the flows' results.",
        ),
    ] = None,
    diverge: Annotated[
        bool,
        typer.Option(
            "--diverge", help="With --beside: show the first packet that differs, and why."
        ),
    ] = False,
    diverge_time: Annotated[
        str,
        typer.Option(metavar="TIME", help="With --diverge: tolerance for the times of packets."),
    ] = "5 ms",
    diverge_after: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="With --diverge: skip a flow's packets until this time after its first packet.",
        ),
    ] = "0 s",
    diverge_ignore: Annotated[
        str,
        typer.Option(
            metavar="FIELDS", help="With --diverge: ignore these fields: window,timestamp."
        ),
    ] = "",
    pcap: Annotated[
        Path | None,
        typer.Option(
            "--pcap",
            parser=path,
            metavar="FILE",
            help="Write the first trial's packets (pcapng).",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", parser=path, metavar="FILE", help="Write the first trial's time series."
        ),
    ] = None,
    plot_transfers: Annotated[
        Path | None,
        typer.Option(
            "--plot-transfers",
            parser=path,
            metavar="FILE",
            help="Write completion times and slowdowns of the first trial's transfers.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", parser=path, metavar="DIR", help="Save each trial's trace."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            parser=path,
            metavar="FILE",
            help="Write the experiment as .json, then run it.",
        ),
    ] = None,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Try flows on a dumbbell or a chain; the default is a 1 Mbit/s home link with one CUBIC flow.

    Flows can also run on a topology from a file, and a file can give a whole experiment.
    """
    if beside == backend:
        raise HeadwayError(f"beside: {beside} is already the backend; name another one")
    given = _given(context)
    diverge_options = DivergeOptions.from_options(
        diverge, diverge_time, diverge_after, diverge_ignore, beside, given
    )
    runner, other = backend_named(backend), beside and backend_named(beside)
    _check_files(pcap=pcap, plot=plot, plot_transfers=plot_transfers, out=out, save=save)
    with _warned_once():
        if experiment is not None:
            _refuse(given, _PARTS, f"{experiment} has the whole experiment; change it there")
            base = try_experiment.from_file(experiment)
            if "seed" in given:
                base = Experiment.model_validate({**base.model_dump(mode="json"), "seed": seed})
        else:
            _refuse_twice(given, topology)
            try_options = TryOptions(
                rate, rtt, buffer, loss, jitter, burst_loss, policer, shaper, aggregation,
                ack_thinning, corruption, mtu, aqm, vary, quick_start, router or (),
                routers_at_arrival, hop or (), reverse, topology, flows, control, voip, apart,
                duration, warmup, stack, sysctl or (), route or (),
            )  # fmt: skip
            base = try_experiment.from_options(try_options, seed, backend)
    if plot_transfers is not None and not any(isinstance(f.app, Transfers) for f in base.flows):
        raise HeadwayError(
            "plot-transfers: no flow generates transfers; set arrivals, load or think of a flow"
        )
    if save is not None:
        try_experiment.save(base, save)
    check_trials(base, trials)
    experiments = _experiments(base, trials, pcap=pcap is not None, kept=out is not None)
    diverge_options.capture(experiments, whole=pcap is not None)
    with progress_bar(not as_json) as progress:
        watch(runner, progress)
        outputs = Outputs(out=out and out / "trials", pcap=pcap, plot=plot, keep=diverge)
        done, end = run_trials(runner, experiments, outputs, threads, progress)
        also: dict[int, FinishedTrial] = {}
        if other and end is None:
            watch(other, progress)
            nothing = Outputs(out=None, pcap=None, plot=None, keep=diverge)
            also, end = run_trials(other, experiments, nothing, threads, progress)
    if plot is not None and 0 in done and done[0].trace is not None:
        from headway.cli.plot import plot_trace

        plot_trace(done[0].trace, plot)
    if plot_transfers is not None and 0 in done:
        from headway.cli.plot import plot_transfers_of

        plot_transfers_of(done[0].digest["transfers"], plot_transfers)
    if done:
        compared = diverge_options.compare(done.get(0), also.get(0), (backend, beside or ""))
        found = OtherBackend(beside, list(also.values()), compared) if beside and also else None
        print_results(base, [done[index] for index in sorted(done)], found, as_json=as_json)
    if isinstance(end, KeyboardInterrupt):
        kept = str(out / "trials") if out else "the results above" if done else None
        raise InterruptedRunError(len(done), trials, kept)
    if end is not None:
        raise end


@contextlib.contextmanager
def _warned_once() -> Iterator[None]:
    """Print each warning about the experiment's description as one line on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FutureWarning)
        yield
    for line in dict.fromkeys(str(warning.message) for warning in caught):
        print(f"headway: warning: {line}", file=sys.stderr)


_SEEDS = 2**63


def _experiments(base: Experiment, trials: int, *, pcap: bool, kept: bool) -> list[Experiment]:
    """One experiment per trial; with ``pcap`` the first experiment captures packets.

    The other experiments capture packets only if ``base`` does and traces are kept.
    """
    last = base.seed + trials - 1
    if last >= _SEEDS:
        raise HeadwayError(
            f"seed: the last of {trials} trials would have seed {last}; must be below 2**63"
        )
    plain = base if kept else base.model_copy(update={"capture": None})
    first = base.model_copy(update={"capture": base.capture or Capture()}) if pcap else plain
    return [
        (plain if trial else first).model_copy(update={"seed": base.seed + trial})
        for trial in range(trials)
    ]


_OF_TOPOLOGY = (
    "rate", "rtt", "buffer", "loss", "jitter", "burst_loss", "policer", "shaper", "aggregation",
    "ack_thinning", "corruption", "mtu", "aqm", "vary", "quick_start", "router",
    "routers_at_arrival", "hop", "reverse",
)  # fmt: skip
"""Options that each set a part of the topology."""
_OF_ONE_LINK = (
    "rate", "rtt", "buffer", "loss", "jitter", "burst_loss", "policer", "shaper", "aggregation",
    "ack_thinning", "corruption", "mtu", "vary",
)  # fmt: skip
"""Options that ``--hop`` replaces."""
_PARTS = (
    *_OF_TOPOLOGY, "topology", "flows", "control", "apart", "voip", "duration", "warmup", "stack",
    "sysctl", "route",
)  # fmt: skip
"""Options that each set a field of the experiment."""


def _given(context: typer.Context) -> set[str]:
    """The options that are given on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}


def _refuse_twice(given: set[str], topology: Path | None) -> None:
    """Raise HeadwayError for options that another option replaces."""
    if "topology" in given:
        _refuse(given, _OF_TOPOLOGY, f"{topology} has the topology; change it there")
    if "hop" in given:
        _refuse(given, _OF_ONE_LINK, "give it in each --hop")
        _refuse(given, ("reverse",), "--topology FILE can give a chain's reverse links")
    if "control" in given:
        _refuse(given, ("flows",), "--control is one flow; put it into --flows")


def _refuse(given: set[str], names: Sequence[str], why: str) -> None:
    for name in names:
        if name in given:
            raise HeadwayError(f"--{name.replace('_', '-')}: {why}")


def _check_files(
    *,
    pcap: Path | None,
    plot: Path | None,
    plot_transfers: Path | None,
    out: Path | None,
    save: Path | None,
) -> None:
    """Raise HeadwayError before anything runs if an output file cannot be written later."""
    files = {"pcap": pcap, "plot": plot, "plot-transfers": plot_transfers, "save": save}
    for option, file in files.items():
        check_file(option, file)
    check_folder("out", out)
    if save is not None:
        try_experiment.check_save(save)
    for option in ("plot", "plot-transfers"):
        if (picture := files[option]) is not None:
            from headway.cli.plot import check_format

            check_format(picture, option)
