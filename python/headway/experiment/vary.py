"""Links that change during a run: steps, or a Mahimahi trace."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from headway import units
from headway.engine import engine
from headway.experiment.effects import (
    OFF,
    SwitchedAggregation,
    SwitchedBurstLoss,
    SwitchedJitter,
    SwitchedPolicer,
    SwitchedShaper,
    effect_of_fields,
)
from headway.spec import (
    Given,
    MaybeTime,
    Spec,
    Time,
    Written,  # noqa: F401 - see Given
    default,
    field_error,
)
from headway.units import BITS_PER_BYTE, NS_PER_S

OPPORTUNITY_BYTES = 1500
"""IP bytes that one line of a Mahimahi trace delivers."""
_NS_PER_MS = 1_000_000
_MAX_FILE_BYTES = 64 * 1024 * 1024

DOWN = "down"

T = TypeVar("T")

if TYPE_CHECKING:
    RateOrDown = Given[int | None, str | None]
else:
    RateOrDown = (
        Annotated[
            int,
            BeforeValidator(lambda rate: 0 if rate == DOWN else units.parse_rate(rate)),
            PlainSerializer(lambda bps: units.format_rate(bps) if bps else DOWN),
        ]
        | None
    )
    """Bits per second, written "1Mbit/s"; 0 is a link that is down, written "down"."""


class TraceStep(Spec):
    """From ``start`` on, the link has these effects; "off" ends an effect.

    Effects that the step does not name stay as they are.
    """

    start: Time
    jitter: SwitchedJitter = default(None)
    burst_loss: SwitchedBurstLoss = default(None)
    policer: SwitchedPolicer = default(None)
    shaper: SwitchedShaper = default(None)
    aggregation: SwitchedAggregation = default(None)

    @model_validator(mode="before")
    @classmethod
    def _names_what_can_change(cls, value: Any) -> Any:
        for name in value if isinstance(value, dict) else ():
            if name in engine.LINK and name not in cls.model_fields:
                allowed = ", ".join(cls.model_fields)
                raise field_error(name, f"cannot change during a run; allowed: {allowed}")
        return value


class Step(TraceStep):
    """From ``start`` on, the link has this rate ("down" for none), this delay and these effects.

    What a step does not name stays as it is. Before a step names it, it is the link's own.
    """

    rate: RateOrDown = default(None)
    delay: MaybeTime = default(None)


def over_time(steps: Sequence[TraceStep], name: str, own: T) -> list[tuple[int, T | None]]:
    """The values of a field over a run, each with its start in ns; ``own`` is the link's.

    An effect that is off is None.
    """
    values: list[tuple[int, T | None]] = [(0, own)]
    for step in steps:
        value = getattr(step, name, None)
        if value is None:
            continue
        if step.start == 0:
            values.clear()
        values.append((step.start, None if value == OFF else value))
    return values


def spans(
    values: Sequence[tuple[int, T]], start_ns: int, end_ns: int
) -> Iterator[tuple[int, int, T]]:
    """Where values of ``over_time`` apply in [start_ns, end_ns): start, end and value."""
    starts = [start for start, _ in values]
    for (start, value), end in zip(values, [*starts[1:], end_ns], strict=True):
        begin, until = max(start, start_ns), min(end, end_ns)
        if begin < until:
            yield begin, until, value


class _Variation(Spec):
    """Base of the kinds of variation: the engine checks all steps together."""

    @model_validator(mode="after")
    def _check_steps(self) -> Self:
        self._lowered(1, 0)
        return self

    def fields(self, rate_bps: int = 1, delay_ns: int = 0) -> dict[str, Any]:
        """The fields in the engine's format, for a link with this rate and delay."""
        fields: dict[str, Any] = json.loads(self._lowered(rate_bps, delay_ns))
        return fields

    def _lowered(self, rate_bps: int, delay_ns: int) -> str:
        return engine.lowered_vary(self.model_dump_json(), rate_bps, delay_ns)


class Schedule(_Variation):
    """Steps of a link's rate, delay and effects. The first step begins at 0; the last has no end.

    If the rate changes during the transmission of a packet, the rest of the packet is sent at the
    new rate. Packets keep their order when the delay decreases. What a change of an effect does to
    packets in the queue and to tokens is in docs/link-effects.md.
    """

    kind: Literal["schedule"] = "schedule"
    steps: Given[tuple[Step, ...], Sequence[Step]] = Field(min_length=1)

    def capacity_bytes(self, start_ns: int, end_ns: int, own_bps: int) -> float:
        """The bytes that a link of the rate ``own_bps`` can send in [start_ns, end_ns)."""
        rates = over_time(self.steps, "rate", own_bps)
        sent = ((rate or 0) * (end - begin) for begin, end, rate in spans(rates, start_ns, end_ns))
        return sum(sent) / (BITS_PER_BYTE * NS_PER_S)


class Mahimahi(_Variation):
    """A Mahimahi trace: the times in ms of opportunities to deliver 1500 IP bytes.

    The trace repeats after its last opportunity. The delay does not change: it is the link's.
    ``steps`` change the link's effects, except ``aggregation``, and do not repeat.
    """

    kind: Literal["mahimahi"] = "mahimahi"
    opportunities_ms: Given[tuple[int, ...], Sequence[int]] = Field(min_length=1)
    steps: Given[tuple[TraceStep, ...], Sequence[TraceStep]] = default(())

    def capacity_bytes(self, start_ns: int, end_ns: int, _own_bps: int = 0) -> float:
        """The bytes that the link can send in [start_ns, end_ns)."""
        return OPPORTUNITY_BYTES * float(self._until(end_ns) - self._until(start_ns))

    def _until(self, time_ns: int) -> int:
        """The number of opportunities to send before ``time_ns``."""
        period_ns = self.opportunities_ms[-1] * _NS_PER_MS
        # an opportunity exactly at the end of a period belongs to this period, not to the next
        periods, within_ns = divmod(max(time_ns - 1, 0), period_ns)
        index = bisect_left(self.opportunities_ms, (within_ns + 1) / _NS_PER_MS)
        return periods * len(self.opportunities_ms) + (index if time_ns > 0 else 0)


def vary_of_text(text: str) -> Schedule | Mahimahi:
    """Read "schedule:FILE" or "mahimahi:FILE". Raises ValueError with a one-line message.

    A schedule is a CSV file with the header ``time_ns,rate_bps,delay_ns``, which may continue with
    names of effects. Each line of a Mahimahi trace is the time in ms of one opportunity to deliver
    1500 IP bytes.
    """
    kind, colon, name = text.partition(":")
    if kind not in ("schedule", "mahimahi") or not colon or not name:
        raise ValueError(f"{text!r} is not allowed; schedule:FILE or mahimahi:FILE")
    file = Path(name)
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise ValueError(f"{file}: larger than {_MAX_FILE_BYTES >> 20} MiB")
        lines = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{file}: cannot read: {error.strerror or error}") from None
    except UnicodeError:
        raise ValueError(f"{file}: not text") from None
    try:
        fields = json.loads(engine.vary_of_text(kind, lines))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    if kind == "mahimahi":
        return Mahimahi.model_construct(opportunities_ms=tuple(fields["opportunities_ms"]))
    return Schedule.model_construct(steps=tuple(map(_step_of_fields, fields["steps"])))


def _step_of_fields(fields: Sequence[Any]) -> Step:
    """A step from the engine's format, which the engine has checked."""
    start, rate, delay, *switches = fields
    effects: dict[str, Any] = {
        name: OFF if effect == OFF else effect_of_fields(name, effect)
        for switched in switches
        for name, effect in switched.items()
    }
    return Step.model_construct(start=start, rate=rate, delay=delay, **effects)


def outages(rate: str, delay: str, down: Sequence[tuple[str, str]]) -> Schedule:
    """A schedule for a link with this rate and delay, which is down in the intervals ``down``."""
    steps = [] if down and units.parse_time(down[0][0]) == 0 else [("0 s", rate)]
    for start, end in down:
        steps += [(start, DOWN), (end, rate)]
    return Schedule(steps=[Step(start=at, rate=step, delay=delay) for at, step in steps])


def _parse_vary(value: Any) -> Any:
    return vary_of_text(value) if isinstance(value, str) else value


if TYPE_CHECKING:
    Vary = Given[Schedule | Mahimahi | None, Schedule | Mahimahi | str | None]
else:
    Vary = Annotated[
        Annotated[Schedule | Mahimahi, Field(discriminator="kind")] | None,
        BeforeValidator(_parse_vary),
    ]
    """How a link changes during a run; None if it does not. Text names a file, for example
    "mahimahi:lte.trace"."""
