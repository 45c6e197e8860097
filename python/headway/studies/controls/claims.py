"""Check: the table, whose rows are numbers that are published or follow from a law."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from headway.backends import backend_named
from headway.claims import Change, Seen, Spoil, Statement, edited, near, scaled
from headway.claims.declared import study_file
from headway.experiment import Experiment
from headway.figures import label_of
from headway.studies.controls.experiments import (
    COMPOUND_PKTS,
    HIGHSPEED_PKTS,
    LOST_PART,
    RTT0_MS,
    RTT_MS,
    Found,
    Run,
    bic_pkts,
    compound_pkts,
    illinois_cycle_pkts,
    illinois_pkts,
    lost_every,
    periodic,
    reno_pkts,
    scalable_26_pkts,
    scalable_pkts,
)
from headway.study import StudyContext

FILE = study_file(__name__)


@dataclass(frozen=True)
class Text:
    """A row's table in study.toml."""

    control: str
    quantity: str
    source: str
    """The number's source: a paper, or "analytic" and the law."""
    within: float
    """The part of the number by which ours may differ, fixed before results were seen."""
    why: str = ""
    """The reason for the tolerance or for a remaining difference."""


@dataclass(frozen=True)
class Row:
    """One number of one control.

    ``value`` computes it from the observations. A test scales ``field`` of trial ``key`` by
    ``spoiled``, and the row must fail. Where the row itself fails, the test scales it by
    ``mended``, and it must hold.
    """

    id: str
    key: str
    field: str
    expected: float
    value: Callable[[Found], float]
    unit: str = ""
    spoiled: float = 2.0
    mended: float | None = None
    tries: Sequence[Change] = ()
    """Changes of the trials with which a failing row holds; the failure's cause is in
    study.toml."""

    @property
    def text(self) -> Text:
        """The row's texts of study.toml; line breaks become spaces."""
        fields = FILE.published[self.id].items()
        texts = {name: " ".join(v.split()) for name, v in fields if isinstance(v, str)}
        return Text(**{**FILE.published[self.id], **texts})

    def statement(self) -> Statement[Found]:
        """The row as a statement that a judge can check."""
        text, cause = self.text, FILE.why.get(self.id)
        return Statement(
            self.id,
            f"{label_of(text.control)}: {text.quantity} ({text.source})",
            self.expected,
            self._look,
            ours=text.why,
            why=None if cause is None else cause.why(self.tries),
            spoil=self._scaled(self.spoiled),
            mend=None if self.mended is None else self._scaled(self.mended),
        )

    def _look(self, found: Found) -> Seen:
        unit = self.unit or None
        return near(self.value(found), self.expected, relative=self.text.within, unit=unit)

    def _scaled(self, factor: float) -> Spoil:
        return scaled(self.key, factor, self.field)


def _trial(
    field: str,
    unit: str,
    id: str,
    key: str,
    expected: float,
    of: Callable[[Run], float] | None = None,
    **more: Any,
) -> Row:
    """A row about a field of one trial, or a number computed from it."""
    value = of or attrgetter(field)
    return Row(id, key, field, expected, lambda found: float(value(found[key])), unit, **more)


_window = partial(_trial, "window_pkts", "packets")
"""A row about a mean window."""
_ssthresh = partial(_trial, "ssthresh_pkts", "packets")
_utilization = partial(_trial, "utilization", "")
_queue = partial(_trial, "queue_pkts", "packets", of=lambda run: run.queue_pkts - run.utilization)
"""A row about the mean number of waiting packets.

The packet in transmission does not wait: its time is part of the base RTT of a delay-based law. A
packet is in transmission during the part of the time that the link is used.
"""
_share = partial(_trial, "first_share", "")
"""A row about the first flow's share of the total goodput."""


def _slope(id: str, small: str, large: str, expected: float, **more: Any) -> Row:
    """Slope of the window over the loss ratio on logarithmic scales, between two loss ratios.

    ``small`` and ``large`` are the trials with the smaller loss and with ten times as much.
    """

    def slope(found: Found) -> float:
        return -math.log10(found[small].window_pkts / found[large].window_pkts)

    return Row(id, small, "window_pkts", expected, slope, **more)


def _hybla(id: str, rtt_ms: float, loss: str) -> Row:
    """Hybla's goodput divided by Reno's."""
    key = f"hybla-{rtt_ms:g}ms-{loss}"

    def ratio(found: Found) -> float:
        reno = found[f"reno-25ms-{loss}"]
        return (found[key].window_pkts / rtt_ms) / (reno.window_pkts / RTT0_MS)

    return Row(id, key, "window_pkts", 1.0, ratio)


def _bdp_pkts(rate_bps: float) -> float:
    """Packets that the path holds: rate times RTT, including a packet's own transmission."""
    return rate_bps * RTT_MS / 1e3 / (8 * 1500) + 1


def _rarer_losses(experiment: Experiment) -> Experiment:
    """Reduce the loss to a tenth, and adapt the buffers and the run's length."""
    every = lost_every(experiment)
    if every is None:
        raise LookupError("this trial has no periodic loss")
    ctx = StudyContext(Path(), backend_named("sim"), quick=True, seed=experiment.seed)
    loss = 0.1 / every
    return periodic(ctx, "illinois", loss, illinois_pkts(loss), kept=1 - LOST_PART)


ROWS = (
    _window("CC-001", "reno-p1e-3", reno_pkts(1e-3)),
    _window("CC-002", "reno26-p1e-3", reno_pkts(1e-3, 2)),
    _window("CC-011", "scalable-p3e-4", 0.08 / 3e-4),
    _window("CC-012", "scalable-p3e-4", scalable_pkts(3e-4)),
    _window("CC-013", "scalable26-p3e-4", scalable_26_pkts(3e-4)),
    _slope("CC-014", "scalable-p3e-5", "scalable-p3e-4", -1.0),
    _window("CC-021", "highspeed-p1e-4", HIGHSPEED_PKTS[1e-4]),
    _window("CC-022", "highspeed-p1e-5", HIGHSPEED_PKTS[1e-5]),
    _slope("CC-023", "highspeed-p1e-5", "highspeed-p1e-4", -0.835),
    _window("CC-031", "bic-p1e-4", bic_pkts(1e-4)),
    _window("CC-032", "bic-p3e-5", bic_pkts(3e-5)),
    _hybla("CC-041", 200, "p1e-4"),
    _hybla("CC-042", 50, "p3e-5"),
    _hybla("CC-043", 200, "p3e-5"),
    _hybla("CC-044", 400, "p3e-5"),
    _ssthresh("CC-051", "westwood-10", _bdp_pkts(10e6)),
    _ssthresh("CC-052", "westwood-20", _bdp_pkts(20e6)),
    _utilization(
        "CC-053",
        "westwood-small-buffer",
        1.0,
        spoiled=0.8,
        mended=1.45,
        tries=(
            Change(
                "hosts of linux-2.6, whose Recovery lowers cwnd only to bandwidth times RTTmin",
                edited({"stack": "linux-2.6"}),
                "westwood-small-buffer",
            ),
            Change(
                "a queue of 0.5 BDP",
                edited({"topology.buffer": "0.5 BDP"}),
                "westwood-small-buffer",
            ),
        ),
    ),
    _utilization("CC-054", "westwood26-small-buffer", 1.0, spoiled=0.8),
    _queue("CC-061", "fast", 20),
    _queue("CC-062", "fast-four", 80),
    _share("CC-063", "fast-alphas", 0.25),
    _share("CC-064", "fast-far", 0.5),
    _queue("CC-071", "vegas", 3.0),
    _queue("CC-072", "vegas-five", 15.0),
    _share("CC-073", "vegas-far", 0.5),
    _window("CC-081", "compound-p1e-3", COMPOUND_PKTS[1e-3]),
    _window("CC-082", "compound-p1e-4", COMPOUND_PKTS[1e-4]),
    _window("CC-083", "compound-p1e-3", compound_pkts(1e-3)),
    _window("CC-084", "compound-p1e-4", compound_pkts(1e-4)),
    _slope("CC-085", "compound-p1e-4", "compound-p1e-3", -0.8),
    _window("CC-091", "illinois-p1e-3", illinois_pkts(1e-3), mended=1.25),
    _window("CC-092", "illinois-p1e-4", illinois_pkts(1e-4)),
    _window("CC-093", "illinois-p1e-3", illinois_cycle_pkts(1e-3), mended=1.1),
    _window("CC-094", "illinois-p1e-4", illinois_cycle_pkts(1e-4)),
    _slope(
        "CC-095",
        "illinois-p1e-4",
        "illinois-p1e-3",
        -0.5,
        mended=0.88,
        tries=(Change("a tenth of the loss, p from 1e-5 to 1e-4", _rarer_losses, "illinois-p*"),),
    ),
)
STATEMENTS = tuple(row.statement() for row in ROWS)
