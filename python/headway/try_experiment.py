"""The experiment of ``headway try``, built from its options or read from a file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.engine import engine
from headway.errors import ExperimentError, HeadwayError
from headway.experiment import (
    KERNEL_OWN,
    Chain,
    Dumbbell,
    Experiment,
    Flow,
    Hop,
    Link,
    Voip,
    parse_flows,
)
from headway.experiment.algorithms import Router
from headway.files import save_text
from headway.registry import options_of_text, registry
from headway.units import format_time, parse_positive_time, parse_time

_START_SPREAD = "1 s"
"""Each trial draws its flows' start times from [0, this time)."""
_SAMPLES = 500
"""Counter readings per run, for time series in plots and exports."""
_MAX_FILE_BYTES = 64 * 1024 * 1024
"""Largest file of an experiment that is read; large enough for a million flows."""
_MOST_CHARACTERS = 400
_READERS: dict[str, Callable[[str], Any]] = {".json": json.loads, ".toml": tomllib.loads}


@dataclass(frozen=True)
class TryOptions:
    """The values of the options of ``headway try``, as text, with their defaults."""

    rate: str = "1Mbit/s"
    rtt: str = "50 ms"
    buffer: str = "60000 B"
    loss: str = "0"
    jitter: str | None = None
    burst_loss: str | None = None
    policer: str | None = None
    shaper: str | None = None
    aggregation: str | None = None
    ack_thinning: str | None = None
    corruption: str | None = None
    mtu: str | None = None
    aqm: str = "drop-tail"
    vary: str | None = None
    quick_start: str | None = None
    routers: Sequence[str] = ()
    routers_at_arrival: bool = False
    hops: Sequence[str] = ()
    reverse: str | None = None
    topology: Path | None = None
    flows: str = "1xcubic"
    control: str | None = None
    voip: bool = False
    apart: str | None = None
    duration: str = "30 s"
    warmup: str = "0 s"
    stack: str = "linux-6"
    sysctls: Sequence[str] = ()
    route: Sequence[str] = ()


def from_options(try_options: TryOptions, seed: int, backend: str) -> Experiment:
    """Build the experiment that the options describe; raises HeadwayError or ExperimentError."""
    flows = (
        _flows(try_options.flows)
        if try_options.control is None
        else [_flow_of_control(try_options.control, backend)]
    )
    if try_options.apart is not None:
        flows = _start_apart(flows, try_options.apart)
    if try_options.voip:
        flows.append(Flow(app=Voip))
    fields = {
        "topology": _topology(try_options),
        "flows": flows,
        "duration": try_options.duration,
        "warmup": try_options.warmup,
        "seed": seed,
        "stack": try_options.stack,
        "sysctls": _settings("sysctl", try_options.sysctls),
        "route_attributes": _settings("route", try_options.route),
        "start_spread": _START_SPREAD,
        "sample": _sample_every(try_options.duration),
    }
    try:
        return Experiment.model_validate(fields)
    except ExperimentError as error:
        if try_options.topology is not None and str(error).startswith("topology"):
            raise HeadwayError(f"{try_options.topology}: {_shortened(str(error))}") from None
        raise


def _settings(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Settings of hosts from NAME=VALUE."""
    try:
        return options_of_text(list(texts))
    except ValueError as error:
        raise HeadwayError(f"{option}: {error}") from None


def _topology(try_options: TryOptions) -> object:
    """The topology, or its fields."""
    if try_options.topology is not None:
        fields = fields_of_file(try_options.topology)
        is_whole = isinstance(fields, dict) and "topology" in fields
        return fields["topology"] if is_whole else fields
    if try_options.hops:
        return _chain(try_options)
    fields = _dumbbell(try_options)
    # ACKs are thinned on the way back
    thinning, reverse = try_options.ack_thinning, try_options.reverse
    given = [None if thinning is None else f"ack_thinning={thinning}", reverse]
    if parts := [part for part in given if part is not None]:
        fields["reverse"] = _reverse(fields, ",".join(parts))
    return fields


def _reverse(forward: dict[str, Any], text: str) -> Link:
    """The dumbbell's reverse link: a mirror of the forward link, except for the given fields."""
    [(_, mirrored)] = Dumbbell.model_validate(forward).links()
    try:
        given = _link_options(part.strip() for part in text.split(","))
        return Link.model_validate({**mirrored.model_dump(mode="json"), **given})
    except ValueError as error:
        raise HeadwayError(f"reverse: {text!r}: {error}") from None


def _link_options(parts: Iterable[str]) -> dict[str, object]:
    """A link's fields from FIELD=VALUE; "routers" is off, or NAME+NAME."""
    fields: dict[str, object] = {**options_of_text(list(parts))}
    if isinstance(routers := fields.get("routers"), str):
        fields["routers"] = [] if routers == "off" else _routers(routers.split("+"))
    return fields


def _dumbbell(try_options: TryOptions) -> dict[str, Any]:
    return {
        "kind": "dumbbell",
        "rate": try_options.rate,
        "rtt": try_options.rtt,
        "buffer": try_options.buffer,
        "loss": try_options.loss,
        "jitter": try_options.jitter,
        "burst_loss": try_options.burst_loss,
        "policer": try_options.policer,
        "shaper": try_options.shaper,
        "aggregation": try_options.aggregation,
        "corruption": try_options.corruption,
        "mtu": try_options.mtu,
        "aqm": try_options.aqm,
        "vary": try_options.vary,
        "quick_start": try_options.quick_start,
        "routers": _routers(try_options.routers),
        "routers_at_arrival": try_options.routers_at_arrival,
    }


def _chain(try_options: TryOptions) -> Chain:
    """Parse hops, RATE,DELAY,BUFFER[,FIELD=VALUE]...; the other link options apply to each hop."""
    hops = []
    routers = _routers(try_options.routers)
    for text in try_options.hops:
        try:
            rate, delay, buffer, *more = (part.strip() for part in text.split(","))
        except ValueError:
            raise HeadwayError(
                f"hop: {text!r}: write RATE,DELAY,BUFFER[,FIELD=VALUE]..., "
                "for example 10Mbit/s,20ms,1BDP,aqm=red"
            ) from None
        try:
            link = {
                "aqm": try_options.aqm,
                "quick_start": try_options.quick_start,
                "routers": routers,
                "routers_at_arrival": try_options.routers_at_arrival,
                **_link_options(more),
            }
            hops.append(
                Hop(
                    forward=Link.model_validate(
                        {**link, "rate": rate, "delay": delay, "buffer": buffer}
                    )
                )
            )
        except ValueError as error:
            raise HeadwayError(f"hop: {text!r}: {error}") from None
    return Chain(hops=tuple(hops))


def _routers(texts: Sequence[str]) -> list[Router]:
    try:
        return [Router.model_validate(text) for text in texts]
    except ValueError as error:
        raise HeadwayError(f"router: {error}") from None


def _flows(text: str) -> list[Flow]:
    try:
        return parse_flows(text)
    except ValueError as error:
        raise HeadwayError(f"flows: {error}") from None


def _flow_of_control(name: str, backend: str) -> Flow:
    """A flow with Headway's control of this name.

    If Headway has none, and the backend is the kernel, the flow uses the kernel's own control.
    """
    bare = name.partition("+")[0].partition(":")[0]
    known = {control.name for control in registry().controls}
    is_ours = bare in known or engine.file_of(bare) is not None
    if backend == "kernel" and not is_ours and not name.startswith(KERNEL_OWN):
        name = KERNEL_OWN + name
    try:
        [flow] = parse_flows(name)
    except ValueError as error:
        hint = "" if is_ours else "; the kernel's own controls need --backend kernel"
        raise HeadwayError(f"control: {error}{hint}") from None
    return flow


def _start_apart(flows: Sequence[Flow], interval: str) -> list[Flow]:
    """Let flow number N (from 0) start at N times the interval, if the flow has no start time."""
    try:
        interval_ns = parse_time(interval)
    except ValueError as error:
        raise HeadwayError(f"apart: {error}") from None
    return [
        flow if flow.start is not None else flow.model_copy(update={"start": interval_ns * index})
        for index, flow in enumerate(flows)
    ]


def _sample_every(duration: str) -> str | None:
    try:
        length_ns = parse_positive_time(duration)
    except ValueError:
        return None  # the constructor of Experiment reports the wrong duration
    return format_time(max(length_ns // _SAMPLES, 1_000_000))


def from_file(path: Path) -> Experiment:
    """Read an experiment from a .json or .toml file with the fields of Experiment.

    From the output of ``headway try --json`` it reads the key ``experiment``. Raises
    HeadwayError with a one-line message.
    """
    fields = fields_of_file(path)
    if isinstance(fields, dict) and "topology" not in fields and "experiment" in fields:
        fields = fields["experiment"]
    try:
        return Experiment.model_validate(fields)
    except ExperimentError as error:
        raise HeadwayError(f"{path}: {_shortened(str(error))}") from None


def fields_of_file(path: Path) -> Any:
    """The content of a .json or .toml file. Raises HeadwayError with a one-line message."""
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise HeadwayError(f"{path}: name a file that ends in .json or .toml")
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise HeadwayError(f"{path}: larger than {_MAX_FILE_BYTES >> 20} MiB")
        return read(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HeadwayError(f"{path}: cannot read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise HeadwayError(f"{path}: not {path.suffix[1:].upper()}: {error}") from None


def _shortened(line: str) -> str:
    """The error line, without its middle if it is too long because it quotes a file's values."""
    if len(line) <= _MOST_CHARACTERS:
        return line
    return f"{line[: _MOST_CHARACTERS // 2]} ... {line[-_MOST_CHARACTERS // 2 :]}"


def check_save(path: Path) -> None:
    """Raise HeadwayError for a file name that ``save`` does not accept."""
    if path.suffix.lower() != ".json":
        raise HeadwayError(f"save: {path}: name a file that ends in .json")


def save(experiment: Experiment, path: Path) -> None:
    """Write the experiment as JSON that ``from_file`` reads. Raises HeadwayError."""
    text = json.dumps(experiment.model_dump(mode="json"), indent=2, ensure_ascii=False)
    save_text(path, text + "\n")
