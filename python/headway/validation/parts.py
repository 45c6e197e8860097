"""Further parts of the validation: other subjects than the matrix', with numbers of their own.

The matrix says how far two stacks differ under the controls that both had from the first. More
subjects would move its medians and say nothing of it, so each part has a section of its own, with
the same targets printed beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.validation.matrix import LOSSY_S, Scenario, matrix

LOSSY_TRIALS = 5
"""Trials on the kernel where loss is random: they are compared in pairs of one seed."""


@dataclass(frozen=True)
class Part:
    """Scenarios that are run together and make one section; ``name`` is what is asked for."""

    name: str
    title: str
    remark: str
    scenarios: tuple[Scenario, ...]


def _lossy(control: str, router: str = "") -> Scenario:
    return Scenario(
        10, 50, 1.0, 1, control, loss=0.01, duration_s=LOSSY_S, trials=LOSSY_TRIALS, router=router
    )


def _of_control(control: str, own: Scenario) -> list[Scenario]:
    """A path with a long RTT, a small window among others, a deep queue, losses; and ``own``."""
    return [
        Scenario(10, 100, 1.0, 1, control, duration_s=10),
        Scenario(10, 20, 4.0, 4, control, duration_s=8),
        Scenario(50, 20, 4.0, 2, control, duration_s=8),
        _lossy(control),
        own,
    ]


def _controls() -> list[Scenario]:
    """The papers' nine: the last row of each is where its own law, not Reno's, decides."""

    def large(control: str) -> Scenario:
        """A window of hundreds of packets, in a queue that makes it fall."""
        return Scenario(50, 100, 0.5, 1, control, duration_s=14)

    def shared(control: str) -> Scenario:
        """Four flows that keep some packets each in a queue with room for all of them."""
        return Scenario(50, 100, 1.0, 4, control, duration_s=14)

    return [
        *_of_control("bic", large("bic")),
        *_of_control("scalable", large("scalable")),
        *_of_control("highspeed", large("highspeed")),
        # rho is RTT / 25 ms: growth 64 times Reno's
        *_of_control("hybla", Scenario(10, 200, 1.0, 1, "hybla", duration_s=14)),
        *_of_control("westwood", large("westwood")),
        *_of_control("illinois", large("illinois")),
        *_of_control("compound", large("compound")),
        *_of_control("vegas", shared("vegas")),
        *_of_control("fast", shared("fast")),
    ]


def _of_protocol(name: str) -> list[Scenario]:
    """Links that only hosts of this protocol use, behind a router of it."""
    return [
        Scenario(10, 20, 4.0, 1, name, duration_s=10, router=name),
        Scenario(10, 100, 1.0, 4, name, duration_s=14, router=name),
        Scenario(50, 20, 4.0, 4, name, duration_s=10, router=name),
        Scenario(50, 100, 1.0, 1, name, duration_s=14, router=name),
        _lossy(name, router=name),
    ]


CONTROLS = Part(
    "controls",
    "## The papers' other controls",
    """Both sides run our C file, because this kernel has none of these controls as a module
([controls.md](controls.md) compares them with a Debian kernel's modules).""",
    tuple(_controls()),
)
PROTOCOLS = Part(
    "protocols",
    "## Controls that routers steer",
    "Hosts, header and router run the same C files on both sides.",
    tuple(row for name in ("xcp", "rcp", "vcp", "mpcp", "maxnet") for row in _of_protocol(name)),
)
PARTS = (CONTROLS, PROTOCOLS)


def choose(only: str) -> tuple[Part | None, Sequence[Scenario]]:
    """The scenarios that ``only`` means, and the part that they are, if it is a whole one.

    It is a part's name, names of its controls as ``bic`` or ``rcp,maxnet``, or what scenarios have
    in their names: those of the matrix, and where none has it those of the parts. Nothing is the
    whole matrix.
    """
    controls = set(only.split(","))
    named: list[Scenario] = []
    for part in PARTS:
        if part.name == only:
            return part, part.scenarios
        if controls <= {row.control for row in part.scenarios}:
            named = [row for row in part.scenarios if row.control in controls]
    further = [row for part in PARTS for row in part.scenarios]
    within = [row for row in matrix() if only in row.key]
    return None, named or within or [row for row in further if only in row.key]


def part_of(scenario: Scenario) -> Part | None:
    """Whose scenario it is; None: the matrix'."""
    return next((part for part in PARTS if scenario in part.scenarios), None)
