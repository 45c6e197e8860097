"""Check on the kernel: what the thesis' section 6.4.4 says of one user, over every HTTP.

Every startup loads the same pages, so that times are compared page by page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headway.claims import (
    Evidence,
    MissingTrialError,
    Seen,
    Spoil,
    Statement,
    all_of,
    replaced,
    scaled,
    words,
)
from headway.claims.why import Change, Why, edited
from headway.experiment import Experiment
from headway.figures import label_of
from headway.metrics.stats import Array
from headway.studies.common import beside
from headway.studies.web_surge.experiments import MODELS, THESIS_SCHEMES
from headway.studies.web_surge.thesis import FAST, SLOW, at_most_half_a_second
from headway.study import Agreement
from headway.table import Table
from headway.workloads import surge

WAYS: dict[str, tuple[str, int]] = {
    "HTTP/1.0": ("1.0", 1),
    "HTTP/1.0, six": ("1.0", 6),
    "HTTP/1.1": ("1.1", 1),
    "HTTP/1.1, six": ("1.1", 6),
    "pipelining": ("1.1-pipelined", 1),
    "pipelining, six": ("1.1-pipelined", 6),
    "HTTP/2": ("2", 1),
}
"""How pages are fetched: the version, and connections side by side."""
QUICK_WAYS = ("HTTP/1.1, six", "HTTP/2")
PAGES, QUICK_PAGES = 5, 1
TITLE = "Page times in s"
TOLERANCE_S, TOLERANCE = 0.02, 0.05

AGREEMENTS = tuple(
    Agreement(
        f"kernel-{scheme}",
        f"{label_of(scheme)}: every mean page time on the kernel is the simulator's.",
        table=TITLE,
        row=label_of(scheme),
        most=TOLERANCE_S,
        unit="s",
        relative=TOLERANCE,
    )
    for scheme in THESIS_SCHEMES
)


@dataclass(frozen=True)
class Times:
    """Of a trial: how long the pages of each user took, s, in their order."""

    pages_s: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Found:
    """A trial per startup, its users by model and way."""

    rows: Evidence[Times]
    quick: bool

    @property
    def ways(self) -> Sequence[str]:
        """Those that the form has."""
        return QUICK_WAYS if self.quick else tuple(WAYS)

    def pages_s(self, model: surge.Model, way: str, scheme: str) -> Array:
        """Of a user's pages; NaN where not all were loaded. Raises MissingTrialError."""
        if way not in self.ways:
            raise MissingTrialError(f"This run has no {way}.")
        user = list(MODELS).index(model) * len(self.ways) + self.ways.index(way)
        own = self.rows[scheme].pages_s[user]
        count = QUICK_PAGES if self.quick else PAGES
        return np.array(own if len(own) == count else [np.nan] * count)

    def saved_s(self, model: surge.Model, way: str, scheme: str) -> Array:
        """What a scheme saves, by page."""
        return self.pages_s(model, way, SLOW) - self.pages_s(model, way, scheme)

    def simulated(self) -> Found | None:
        """The same of the twins; None where none ran."""
        twins = beside.simulated(self.rows)
        return Found(Evidence(twins), self.quick) if twins else None

    def table(self) -> Table:
        """Mean page times."""
        return Table(
            TITLE,
            ["start", "model", *self.ways],
            [
                [
                    label_of(scheme),
                    label,
                    *(
                        None if np.isnan(mean) else round(float(mean), 3)
                        for mean in (self.pages_s(model, way, scheme).mean() for way in self.ways)
                    ),
                ]
                for scheme in THESIS_SCHEMES
                for model, label in MODELS.items()
            ],
        )


def _saved(found: Found, model: surge.Model, ways: Sequence[str]) -> dict[tuple[str, str], Array]:
    return {(scheme, way): found.saved_s(model, way, scheme) for scheme in FAST for way in ways}


def _spread(saved: Mapping[tuple[str, str], Array]) -> str:
    told = []
    for scheme in FAST:
        means = [each.mean() for (own, _), each in saved.items() if own == scheme]
        told.append(f"{label_of(scheme)} {min(means):+.2f} to {max(means):+.2f} s")
    return ", ".join(told)


def _pairs(found: Found, model: surge.Model, ways: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Mean page times of a faster start and of slow start, by "scheme model way"."""
    return {
        f"{label_of(scheme)} {MODELS[model]} {way}": (
            float(found.pages_s(model, way, scheme).mean()),
            float(found.pages_s(model, way, SLOW).mean()),
        )
        for scheme in FAST
        for way in ways
    }


def _all_gain(found: Found) -> Seen:
    pairs = {
        name: pair for model in MODELS for name, pair in _pairs(found, model, found.ways).items()
    }
    checks = {name: words.less(*pair) for name, pair in pairs.items()}
    slower = [name for name, check in checks.items() if not check.holds]
    told = "; ".join(
        f"{MODELS[model]}: {_spread(_saved(found, model, found.ways))}" for model in MODELS
    )
    return Seen.by(
        f"{len(checks) - len(slower)} of {len(checks)}",
        words.every(checks),
        note=f"Saved: {told}." + (f" Not faster: {', '.join(slower)}." if slower else ""),
    )


def _rather_small(found: Found) -> Seen:
    saved = _saved(found, "default", found.ways)
    checks = [at_most_half_a_second(float(each.mean())) for each in saved.values()]
    return Seen.by(_spread(saved), *checks)


def _over_a_second(found: Found) -> Seen:
    saved = _saved(found, "large", ("HTTP/1.0",))
    checks = [words.within(float(each.mean()), 1, math.inf, "> 1 s") for each in saved.values()]
    return Seen.by(_spread(saved), *checks)


def _persistent(found: Found) -> Seen:
    kept = [way for way in found.ways if WAYS[way][0] != "1.0"]
    pairs = _pairs(found, "large", kept)
    parts = {name: 100 * (1 - fast / slow) for name, (fast, slow) in pairs.items()}
    return Seen.by(
        _spread(_saved(found, "large", kept)),
        words.every({name: words.significantly_less(*pair) for name, pair in pairs.items()}),
        note=f"{min(parts.values()):.0f} to {max(parts.values()):.0f} % of the time.",
    )


def _tables(found: Found) -> tuple[list[Table], list[Table]]:
    twins = found.simulated()
    return [found.table()], [twins.table()] if twins else []


def _taking(slow_s: float, fast_s: float) -> Spoil:
    """Every page takes as long with slow start, and so long with what starts faster."""
    each = {SLOW: slow_s, **dict.fromkeys(FAST, fast_s)}
    return all_of(*(replaced(scheme, took_s, "pages_s.*.*") for scheme, took_s in each.items()))


_GAIN, _LOSS = _taking(3.0, 1.0), _taking(1.0, 3.0)


def _pipelined(experiment: Experiment) -> Experiment:
    """Pipelining instead of HTTP/2."""
    data = experiment.model_dump(mode="json")
    for flow in data["flows"]:
        if flow["app"]["http"] == "2":
            flow["app"]["http"] = "1.1-pipelined"
    return Experiment.model_validate(data)


def _pipelined_and_closed(experiment: Experiment) -> Experiment:
    """The same, and a server that closes a connection before the next page."""
    return edited({"flows.*.app.keepalive_timeout": "500 ms"})(_pipelined(experiment))


_CLOSED = Why(
    "refuted",
    "Over HTTP/2 Jump-Start does not act: it begins with a connection's first data, and that is "
    "the head of a response, which nginx writes alone. And where one connection carries all pages, "
    "only the first page begins with a startup.",
    (
        Change("pipelining instead of HTTP/2", _pipelined),
        Change(
            "pipelining instead of HTTP/2, and a server that closes connections after 0.5 s of "
            "idleness, before the next page",
            _pipelined_and_closed,
        ),
    ),
)

STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "web-surge-live-all",
        "one user on the kernel: the mean page time with Jump- and with Quick-Start is always less "
        "than with slow start, with both models and each way of HTTP",
        "in all",
        _all_gain,
        why=_CLOSED,
        spoil=_LOSS,
        mend=_GAIN,
    ),
    Statement(
        "web-surge-live-default",
        "SURGE default on the kernel: the absolute difference is rather small",
        "rather small",
        _rather_small,
        spoil=_GAIN,
        mend=_taking(1.0, 0.9),
    ),
    Statement(
        "web-surge-live-large",
        "large files over HTTP/1.0 on the kernel: the time that Jump- and Quick-Start save",
        "more than 1 s",
        _over_a_second,
        spoil=_LOSS,
        mend=_GAIN,
    ),
    Statement(
        "web-surge-live-kept",
        "large files over connections that stay open, on the kernel: Jump- and Quick-Start reduce "
        "the time significantly",
        "significant",
        _persistent,
        why=_CLOSED,
        spoil=_LOSS,
        mend=_GAIN,
    ),
    *(
        beside.agreed(
            "web-surge",
            agreement,
            _tables,
            spoil=scaled(scheme, 1.5, "pages_s"),
            mend=beside.as_simulated(scheme),
        )
        for scheme, agreement in zip(THESIS_SCHEMES, AGREEMENTS, strict=True)
    ),
)
