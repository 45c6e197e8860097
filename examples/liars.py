"""What lying endpoints gain under XCP, RCP, MaxNet, VCP and MPCP.

python examples/liars.py [--seconds 60] [--backend kernel]

Four flows share a link whose router takes part; one or two of them have a sender that disobeys or a
receiver that lies (the C files in examples/liars). Goodput is printed as a multiple of each flow's
goodput when all are honest, next to the prediction of the protocol's law, if the law has an
equilibrium: with weight 1 for an honest flow and k for a liar, each honest one of n flows with l
liars gets n / (n - l + k l), and a liar gets k times that.

In the kernel only a receiver lies: lying and honest senders would need two controls for one header,
which the kernel's hosts do not support.

The results test a statement of Scharf (2011, section 4.7.3): such protocols have no protection
against malicious senders and receivers, and a single attacker can affect the resource management of
all flows of a link.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headway import Experiment, metrics
from headway.backends import run_many
from headway.trace import Trace

FOLDER = Path(__file__).resolve().parent / "liars"
PROTOCOLS = ("xcp", "rcp", "maxnet", "vcp", "mpcp")
FLOWS = 4
RATE_BPS = 10_000_000


@dataclass(frozen=True, eq=False)
class Lie:
    """A kind of liar: protocol, sender or receiver, C file, and a liar's weight in the equilibrium.

    The weight is None if the law has no equilibrium.
    """

    protocol: str
    who: str
    file: str
    says: str
    weight: float | None
    tunables: Mapping[str, int] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The path of the liar's C file."""
        return str(FOLDER / self.who / self.file)


LIES = (
    Lie("xcp", "sender", "xcp_twice.c", "claims half of its window", 2.0),
    Lie("xcp", "sender", "xcp_keeps.c", "gives nothing back", None),
    Lie("xcp", "receiver", "xcp_answers.c", "returns more than was given", None),
    Lie("rcp", "sender", "rcp_twice.c", "sends at twice the rate", 2.0),
    Lie("rcp", "receiver", "rcp_answers.c", "returns twice the rate", 2.0),
    Lie("maxnet", "sender", "maxnet_half.c", "believes half of the price", 2.0),
    Lie("maxnet", "receiver", "maxnet_answers.c", "returns half of the price", 2.0),
    Lie(
        "maxnet",
        "receiver",
        "maxnet_answers.c",
        "returns the least price",
        None,
        {"divisor": 16777215},
    ),
    Lie(
        "maxnet",
        "receiver",
        "maxnet_answers.c",
        "returns 0, no router's word",
        None,
        {"divisor": 0},
    ),
    Lie("vcp", "sender", "vcp_keeps.c", "takes overload for high load", None),
    Lie("vcp", "receiver", "vcp_answers.c", "returns low load always", None),
    Lie("mpcp", "sender", "mpcp_keeps.c", "takes overload for full load", None),
    Lie("mpcp", "receiver", "mpcp_answers.c", "returns low load always", None),
)


@dataclass(frozen=True)
class Found:
    """The results of one run: goodputs of liars and honest flows in bit/s, queue in ms, drops."""

    liars_bps: list[float]
    honest_bps: list[float]
    queue_ms: float
    drops_pkts: int


def experiment(protocol: str, lie: Lie | None, liars: int, seconds: float) -> Experiment:
    """The experiment with four flows: the first `liars` flows lie and start before the others."""
    path: dict[str, object] = {
        "kind": "dumbbell",
        "rate": f"{RATE_BPS} bit/s",
        "rtt": "40 ms",
        "buffer": "2 BDP",
        "routers": [protocol],
    }
    lying = protocol
    if lie is not None and lie.who == "sender":
        lying = lie.path
    if lie is not None and lie.who == "receiver":
        # the router treats the first connections that answer as liars
        lies = [{"name": lie.path, "tunables": {**lie.tunables, "liars": liars}}]
        path["reverse"] = {
            "rate": f"{RATE_BPS} bit/s",
            "delay": "20 ms",
            "buffer": "2 BDP",
            "routers": [protocol, *lies],
        }
    controls = [lying] * liars + [protocol] * (FLOWS - liars)
    flows = [
        {"name": f"{'liar' if at < liars else 'honest'}-{at}", "control": control,
         "start": f"{at * 100} ms"}
        for at, control in enumerate(controls)
    ]  # fmt: skip
    return Experiment.model_validate(
        {
            "topology": path,
            "flows": flows,
            "duration": f"{round(seconds * 1000)} ms",
            "warmup": f"{round(seconds * 1000 / 3)} ms",
        }
    )


def found_in(trace: Trace, liars: int) -> Found:
    """The results in a run's trace, whose first flows are the liars."""
    goodputs_bps = [metrics.goodput_bps(trace, flow) for flow in range(FLOWS)]
    queue_bytes = metrics.queue_bytes(trace).mean or 0.0
    return Found(
        goodputs_bps[:liars],
        goodputs_bps[liars:],
        queue_bytes * 8e3 / RATE_BPS,
        metrics.drops_pkts(trace),
    )


def all_found(
    lies: Sequence[Lie] = LIES,
    numbers: Sequence[int] = (1, 2),
    seconds: float = 60.0,
    backend: str = "sim",
) -> tuple[dict[str, Found], dict[tuple[Lie, int], Found]]:
    """The results without liars, by protocol, and those of each lie with each number of liars."""
    asked = [(lie, liars) for lie in lies for liars in numbers]
    protocols = [p for p in PROTOCOLS if any(lie.protocol == p for lie in lies)]
    experiments = [experiment(protocol, None, 0, seconds) for protocol in protocols]
    experiments += [experiment(lie.protocol, lie, liars, seconds) for lie, liars in asked]
    traces = run_many(experiments, backend=backend)
    honest = {p: found_in(trace, 0) for p, trace in zip(protocols, traces, strict=False)}
    rest = zip(asked, traces[len(protocols) :], strict=True)
    return honest, {(lie, liars): found_in(trace, liars) for (lie, liars), trace in rest}


def mean(values: Sequence[float]) -> float:
    """Their mean."""
    return sum(values) / len(values)


def multiples(found: Found, honest: Found) -> tuple[float, float]:
    """Goodput of a liar and of an honest flow, relative to flows when all are honest."""
    share_bps = mean(honest.honest_bps)
    return mean(found.liars_bps) / share_bps, mean(found.honest_bps) / share_bps


def predicted(lie: Lie, liars: int) -> tuple[float, float] | None:
    """What a liar and an honest flow get in the law's equilibrium; None: the law has none."""
    if lie.weight is None:
        return None
    honest = FLOWS / (FLOWS - liars + lie.weight * liars)
    return lie.weight * honest, honest


def table(
    honest: Mapping[str, Found], lying: Mapping[tuple[Lie, int], Found], where: str
) -> list[str]:
    """Lines for people."""
    line = "{:7} {:38} {:>5}  {:12}  {:12} {:>8} {:>7}"
    lines = [
        f"{FLOWS} flows, {RATE_BPS / 1e6:g} Mbit/s, 40 ms, 2 BDP, {where}; goodputs by that of a "
        "flow while all are honest, (as predicted)",
        "",
        line.format("", "", "liars", "liar", "honest", "queue ms", "drops"),
    ]
    for protocol, before in honest.items():
        alone = f"all are honest (Jain's index {metrics.jain_index(before.honest_bps):.3f})"
        queue = f"{before.queue_ms:.1f}"
        lines.append(line.format(protocol, alone, 0, "", "1.00", queue, before.drops_pkts))
        for (lie, liars), found in lying.items():
            if lie.protocol != protocol:
                continue
            expected = predicted(lie, liars)
            told = [f"{value:.2f}" for value in multiples(found, before)]
            if expected is not None:
                told = [f"{one} ({value:.2f})" for one, value in zip(told, expected, strict=True)]
            what, queue = f"{lie.who} {lie.says}", f"{found.queue_ms:.1f}"
            lines.append(line.format("", what, liars, *told, queue, found.drops_pkts))
    return lines


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Measure what lying endpoints gain.")
    parser.add_argument("--seconds", type=int, default=60, help="duration of each run, 3 to 3600")
    parser.add_argument("--backend", choices=("sim", "kernel"), default="sim")
    asked = parser.parse_args()
    if not 3 <= asked.seconds <= 3600:
        parser.error(f"--seconds: {asked.seconds} is not from 3 to 3600")
    live = asked.backend == "kernel"
    lies = [lie for lie in LIES if lie.who == "receiver"] if live else LIES
    honest, lying = all_found(lies, (1,) if live else (1, 2), asked.seconds, asked.backend)
    print("\n".join(table(honest, lying, asked.backend)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
