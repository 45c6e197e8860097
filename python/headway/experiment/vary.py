"""Links whose rate and delay change during a run: steps, or a Mahimahi trace."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from headway import _engine, units
from headway.spec import Given, Spec, Time, Written  # noqa: F401 - see Given
from headway.units import BITS_PER_BYTE, NS_PER_S

OPPORTUNITY_BYTES = 1500
"""IP bytes that one line of a Mahimahi trace delivers."""
_NS_PER_MS = 1_000_000
_MAX_FILE_BYTES = 64 * 1024 * 1024

DOWN = "down"

if TYPE_CHECKING:
    RateOrDown = Given[int, str]
else:
    RateOrDown = Annotated[
        int,
        BeforeValidator(lambda rate: 0 if rate == DOWN else units.parse_rate(rate)),
        PlainSerializer(lambda bps: units.format_rate(bps) if bps else DOWN),
    ]
    """Bits per second, written "1Mbit/s"; 0 is a link that is down, written "down"."""


class Step(Spec):
    """From ``start`` on, the link has this rate ("down" for none) and this delay."""

    start: Time
    rate: RateOrDown
    delay: Time


class Schedule(Spec):
    """Steps of rate and delay. The first begins at 0; the last one has no end.

    A packet in transmission when the rate changes is finished at the new rate. Packets keep their
    order when the delay shrinks.
    """

    kind: Literal["schedule"] = "schedule"
    steps: Given[tuple[Step, ...], Sequence[Step]] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_steps(self) -> Self:
        _engine.check_vary(json.dumps(self.fields()))
        return self

    def fields(self) -> dict[str, Any]:
        """The fields in the engine's format."""
        steps = [[step.start, step.rate, step.delay] for step in self.steps]
        return {"kind": self.kind, "steps": steps}

    def capacity_bytes(self, start_ns: int, end_ns: int) -> float:
        """The bytes that the link can send in [start_ns, end_ns)."""
        ends = [step.start for step in self.steps[1:]] + [max(end_ns, self.steps[-1].start)]
        spans = (
            step.rate * max(0, min(end, end_ns) - max(step.start, start_ns))
            for step, end in zip(self.steps, ends, strict=True)
        )
        return sum(spans) / (BITS_PER_BYTE * NS_PER_S)


class Mahimahi(Spec):
    """A Mahimahi trace: the times in ms of opportunities to deliver 1500 IP bytes.

    It repeats after its last opportunity. The delay is the link's.
    """

    kind: Literal["mahimahi"] = "mahimahi"
    opportunities_ms: Given[tuple[int, ...], Sequence[int]] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_steps(self) -> Self:
        _engine.check_vary(json.dumps(self.fields()))
        return self

    def fields(self) -> dict[str, Any]:
        """The fields in the engine's format."""
        return {"kind": self.kind, "opportunities_ms": list(self.opportunities_ms)}

    def capacity_bytes(self, start_ns: int, end_ns: int) -> float:
        """The bytes that the link can send in [start_ns, end_ns)."""
        return OPPORTUNITY_BYTES * float(self._until(end_ns) - self._until(start_ns))

    def _until(self, time_ns: int) -> int:
        """Opportunities before ``time_ns``."""
        period_ns = self.opportunities_ms[-1] * _NS_PER_MS
        # an opportunity at the very end of a period belongs to that period
        periods, within_ns = divmod(max(time_ns - 1, 0), period_ns)
        index = bisect_left(self.opportunities_ms, (within_ns + 1) / _NS_PER_MS)
        return periods * len(self.opportunities_ms) + (index if time_ns > 0 else 0)


def vary_of_text(text: str) -> Schedule | Mahimahi:
    """Read "schedule:FILE" or "mahimahi:FILE". Raises ValueError with a one-line message.

    A schedule is a CSV file with the header ``time_ns,rate_bps,delay_ns``. A Mahimahi trace has
    the time of an opportunity in ms on each line.
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
        fields = json.loads(_engine.vary_of_text(kind, lines))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    if kind == "mahimahi":
        return Mahimahi.model_construct(opportunities_ms=tuple(fields["opportunities_ms"]))
    return Schedule.model_construct(
        steps=tuple(
            Step.model_construct(start=start, rate=rate, delay=delay)
            for start, rate, delay in fields["steps"]
        )
    )


def outages(rate: str, delay: str, down: Sequence[tuple[str, str]]) -> Schedule:
    """A schedule of this rate and delay that is down in each of these intervals, (from, to)."""
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
    """How rate and delay change; None if they do not. Text names a file: "mahimahi:lte.trace"."""
