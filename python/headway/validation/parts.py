"""Further parts of the validation, which have separate sections and numbers.

The matrix of scenarios compares the simulator with the kernel under the controls that it had from
the beginning. Adding other subjects to it would change its medians, so each part has its own
section, with the same targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.validation.matrix import LOSSY_S, Scenario, matrix

LOSSY_TRIALS = 5
"""Number of trials on the kernel of a scenario with random loss. Each trial is compared with the
simulator's trial with the same seed."""


@dataclass(frozen=True)
class Part:
    """Scenarios that run together and make one section of the page.

    ``--only`` NAME selects the part.
    """

    name: str
    title: str
    remark: str
    scenarios: tuple[Scenario, ...]


def _lossy(control: str, router: str = "") -> Scenario:
    return Scenario(
        10, 50, 1.0, 1, control, loss=0.01, duration_s=LOSSY_S, trials=LOSSY_TRIALS, router=router
    )


def _of_control(control: str, own: Scenario) -> list[Scenario]:
    """Scenarios of a control: long RTT, small windows, deep queue, random loss; then ``own``."""
    return [
        Scenario(10, 100, 1.0, 1, control, duration_s=10),
        Scenario(10, 20, 4.0, 4, control, duration_s=8),
        Scenario(50, 20, 4.0, 2, control, duration_s=8),
        _lossy(control),
        own,
    ]


def _controls() -> list[Scenario]:
    """Scenarios of the papers' nine controls.

    In the last scenario of each control, the window follows the control's own law and not Reno's.
    """

    def large(control: str) -> Scenario:
        """A flow whose window grows to hundreds of packets and overflows the queue."""
        return Scenario(50, 100, 0.5, 1, control, duration_s=14)

    def shared(control: str) -> Scenario:
        """Four flows that each keep some packets in a queue large enough for all of them."""
        return Scenario(50, 100, 1.0, 4, control, duration_s=14)

    return [
        *_of_control("bic", large("bic")),
        *_of_control("scalable", large("scalable")),
        *_of_control("highspeed", large("highspeed")),
        # Hybla's rho is RTT / 25 ms = 8, and its window grows rho^2 = 64 times as fast as Reno's
        *_of_control("hybla", Scenario(10, 200, 1.0, 1, "hybla", duration_s=14)),
        *_of_control("westwood", large("westwood")),
        *_of_control("illinois", large("illinois")),
        *_of_control("compound", large("compound")),
        *_of_control("vegas", shared("vegas")),
        *_of_control("fast", shared("fast")),
    ]


def _of_protocol(name: str) -> list[Scenario]:
    """Links with a router of this protocol, used only by hosts of this protocol."""
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
    """The scenarios that ``only`` selects, and their part if they are a whole part.

    ``only`` is a part's name, names of controls of one part as ``bic`` or ``rcp,maxnet``, or text
    within the names of scenarios: those of the matrix, or of the parts if none of the matrix
    matches. An empty text selects the whole matrix.
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
    """The part that a scenario belongs to; None for the matrix."""
    return next((part for part in PARTS if scenario in part.scenarios), None)
