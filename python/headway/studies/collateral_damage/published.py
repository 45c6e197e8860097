"""Paper 001 in numbers: its tables 1 and 2, and how near a reproduction has to come.

Stewart, Armitage, Huebner: "Collateral Damage: The Impact of Optimised TCP Variants on Real-Time
Traffic Latency in Consumer Broadband Environments", 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.claims.words import Check, within

RTTS_MS = (50, 100)
CONTROLS = ("reno", "htcp", "cubic26")
LABELS = {"reno": "NewReno", "htcp": "H-TCP", "cubic26": "CUBIC"}
FLOW_COUNTS = (1, 2, 5)

CellKey = tuple[int, str, int]
"""(RTT in ms, control, number of TCP flows)."""

CELLS: tuple[CellKey, ...] = tuple(
    (rtt_ms, control, flows) for rtt_ms in RTTS_MS for control in CONTROLS for flows in FLOW_COUNTS
)
"""All 18 cells in the order of both tables, which is also that of the claims."""


def cell_name(cell: CellKey) -> str:
    """A cell as a reader calls it: "50 ms, NewReno, 2 flows"."""
    rtt_ms, control, flows = cell
    return f"{rtt_ms} ms, {LABELS[control]}, {flows_name(flows)}"


def flows_name(flows: int) -> str:
    """A number of flows in words: "1 flow"."""
    return f"{flows} flow{'s' if flows > 1 else ''}"


@dataclass(frozen=True)
class Goodput:
    """A cell of table 1, in kB/s (1 kB = 1000 bytes): mean and standard deviation over runs."""

    mean: float
    sd: float


@dataclass(frozen=True)
class Delay:
    """A cell of table 2, in ms: one-way delay of the datagrams, base delay included."""

    median: float
    mean: float
    sd: float


# fmt: off
_GOODPUTS = (
    ((111.8, 0.01), (112.2, 0.19), (112.2, 0.10)),
    ((111.9, 0.06), (112.5, 0.11), (114.2, 0.50)),
    ((111.9, 0.04), (112.6, 0.24), (114.5, 0.39)),
    ((111.9, 0.01), (112.2, 0.01), (112.5, 0.23)),
    ((111.8, 0.04), (112.7, 0.19), (114.0, 0.43)),
    ((111.9, 0.04), (112.7, 0.25), (114.3, 0.39)),
)
_DELAYS = (
    ((393.2, 387.7, 74.2), (422.8, 410.1, 67.1), (445.5, 427.3, 68.2)),
    ((347.0, 371.1, 73.5), (390.8, 397.8, 66.3), (459.6, 439.2, 59.7)),
    ((456.2, 452.2, 35.5), (474.1, 465.7, 31.9), (485.0, 476.4, 26.1)),
    ((409.8, 402.4, 81.0), (442.4, 427.6, 73.7), (466.0, 447.1, 74.1)),
    ((353.3, 383.6, 85.1), (405.5, 414.8, 71.5), (479.0, 459.1, 62.9)),
    ((487.8, 476.7, 42.0), (494.5, 485.2, 37.8), (504.3, 494.7, 32.1)),
)
# fmt: on

GOODPUT: dict[CellKey, Goodput] = {
    key: Goodput(*values)
    for key, values in zip(CELLS, (cell for row in _GOODPUTS for cell in row), strict=True)
}
"""Table 1."""

DELAY: dict[CellKey, Delay] = {
    key: Delay(*values)
    for key, values in zip(CELLS, (cell for row in _DELAYS for cell in row), strict=True)
}
"""Table 2."""


@dataclass(frozen=True)
class Tolerance:
    """How far a measured value may be from the published one: the larger of the two margins."""

    relative: float
    unit: str
    absolute: float = 0.0

    def accepts(self, published: float, measured: float) -> bool:
        """Whether ``measured`` is near enough."""
        return self.check(published, measured).holds

    def check(self, published: float, measured: float) -> Check:
        """The same as a condition of a statement."""
        margin = max(self.relative * abs(published), self.absolute)
        return within(measured, published - margin, published + margin, str(self))

    def __str__(self) -> str:
        margin = f"±{100 * self.relative:g} %"
        return f"{margin} or ±{self.absolute:g} {self.unit}" if self.absolute else margin


GOODPUT_MEAN = Tolerance(0.015, "kB/s")
GOODPUT_SD_FACTOR = 3.0
"""A standard deviation of three values may be so many times the published one, or part of it."""
GOODPUT_SD_CELLS = 12
"""In at least so many of the 18 cells: two thirds."""
_DELAY_LEVEL = Tolerance(0.06, "ms", absolute=25.0)
DELAY_TOLERANCES = {"median": _DELAY_LEVEL, "mean": _DELAY_LEVEL, "sd": Tolerance(0.25, "ms")}
"""Table 2's statistics, in its order."""


def goodput_claims(cell: CellKey) -> tuple[str, str]:
    """The claims of a cell of table 1: mean and standard deviation."""
    first = 1 + 2 * CELLS.index(cell)
    return f"C-CD-{first:03}", f"C-CD-{first + 1:03}"


def delay_claim(cell: CellKey, statistic: str) -> str:
    """The claim of a cell and statistic of table 2."""
    number = 1 + 2 * len(CELLS) + 3 * CELLS.index(cell) + list(DELAY_TOLERANCES).index(statistic)
    return f"C-CD-{number:03}"
