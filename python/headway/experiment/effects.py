"""Effects of a link: jitter, bursty loss, policer, shaper, frames, thinned ACKs, errors, MTU.

Each is written as text ("10ms:distribution=normal") or as fields. The engine checks them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, WrapSerializer, WrapValidator, model_validator

from headway import units
from headway.engine import engine
from headway.spec import (
    Given,
    Length,
    MaybeLength,
    Probability,
    Rate,
    Size,
    Spec,
    Written,  # noqa: F401 - see Given
    default,
    field_error,
)

_MAX_FILE_BYTES = 1024 * 1024
_UNIT = re.compile("_(ns|bps|bytes)$")
"""The unit at the end of a name in the engine's format."""

OFF: Literal["off"] = "off"
"""Written instead of an effect: from then on the link does not have the effect."""

Distribution = Literal["uniform", "normal", "pareto"]

if TYPE_CHECKING:
    JitterTable = Given[tuple[int, ...] | None, Sequence[int] | str | None]
    ProbabilityOrOne = Given[float, float | str]
    MaybeProbability = Given[float | None, float | str | None]
else:

    def _table(value):
        return jitter_table(value) if isinstance(value, str) else value

    JitterTable = Annotated[tuple[int, ...] | None, BeforeValidator(_table)]
    ProbabilityOrOne = Annotated[
        float, BeforeValidator(lambda value: units.parse_probability(value, with_one=True))
    ]
    MaybeProbability = Probability | None


def jitter_table(name: str) -> tuple[int, ...]:
    """Read a file in netem's format of distributions. Raises ValueError with one line.

    The file has whole numbers from -32768 to 32767, separated by white space, and comments after #.
    """
    file = Path(name)
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise ValueError(f"{file}: larger than {_MAX_FILE_BYTES >> 20} MiB")
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{file}: cannot read: {error.strerror or error}") from None
    except UnicodeError:
        raise ValueError(f"{file}: not text") from None
    try:
        return tuple(engine.jitter_table_of_text(text))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


class Effect(Spec):
    """Base of the effects: reads their text, and lets the engine check all fields together."""

    effect: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, value: Any) -> Any:
        return engine.effect_of_text(cls.effect, value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            self.fields()
        except ValueError as error:
            field, _, what = str(error).partition(": ")
            raise field_error(field, what) from None
        return self

    def fields(self) -> dict[str, Any]:
        """The fields in the engine's format. Raises ValueError."""
        lowered: dict[str, Any] = json.loads(self._lowered())
        return lowered

    def _lowered(self) -> str:
        return engine.lowered_effect(self.effect, self.model_dump_json())


class Jitter(Effect):
    """Variation of a link's delay: a random deviation for each packet, or as text: "10 ms".

    ``spread`` is half of the range for "uniform", and the standard deviation for "normal" and
    "pareto" (shape 3, shifted to the mean 0). ``table`` replaces ``distribution``: deviations in
    units of spread / 8192, all equally likely, or the name of a file in netem's format.
    ``correlation`` of successive deviations is from 0 to less than 1; it does not change the
    distribution. Packets keep their order unless ``reorder`` is on. No packet arrives before it
    has left the queue.
    """

    effect = "jitter"

    spread: Length
    distribution: Distribution = "uniform"
    table: JitterTable = default(None)
    correlation: Probability = default(0.0)
    reorder: bool = False

    @property
    def longest_ns(self) -> int:
        """The longest time in ns by which the deviation delays a packet."""
        return engine.jitter_longest_ns(self._lowered())


class BurstLoss(Effect):
    """Bursty loss by the model of Gilbert and Elliott, or as text: "to_bad=1%:to_good=25%".

    Before each packet the link moves from the good to the bad state with probability ``to_bad``
    (p), and back with probability ``to_good`` (r). Then it loses the packet with the probability
    of its state, ``loss_good`` (1 - k) or ``loss_bad`` (1 - h). It starts in the good state.
    """

    effect = "burst_loss"

    to_bad: ProbabilityOrOne
    to_good: ProbabilityOrOne
    loss_bad: ProbabilityOrOne = default(1.0)
    loss_good: ProbabilityOrOne = default(0.0)


class Policer(Effect):
    """A token bucket in front of the queue, or as text: "10Mbit/s:burst=64KiB".

    A packet that finds too few tokens is dropped; with ``mark``, packets that support ECN are
    marked instead. ``rate`` counts IP bits; ``burst`` is the bucket's size, at least a full packet
    (1500 B). The bucket is full at the start.
    """

    effect = "policer"

    rate: Rate
    burst: Size
    mark: bool = False


class Shaper(Effect):
    """A token bucket between queue and wire, or as text: "10Mbit/s:burst=64KiB".

    Packets wait in the queue until the bucket has tokens for them, and are then sent at the link's
    rate. ``burst`` is the bucket's size, at least a full packet (1500 B).
    """

    effect = "shaper"

    rate: Rate
    burst: Size


class Aggregation(Effect):
    """Transmission in frames, as of cellular and cable networks, or as text: "4ms:packets=32".

    The link sends only at multiples of ``interval``: what waits then, up to what it can send in an
    interval at its rate, and up to ``packets`` packets. All packets of a frame arrive together.
    """

    effect = "aggregation"

    interval: Length
    packets: Annotated[int, Field(ge=1, lt=2**32)] | None = None


class AckThinning(Effect):
    """Drops pure ACKs that newer ones make superfluous; as text "filter", "keep=1/4:interval=5ms".

    With ``filter`` a newer ACK takes the place of an older one of its connection that waits in the
    queue. With ``keep`` the link holds a connection's ACKs until it has this number of them, at
    most for ``interval`` (5 ms), and sends the newest. It drops only ACKs that acknowledge new
    data: no duplicates, no window updates, none with SACK blocks or other ECN flags than the next.
    """

    effect = "ack_thinning"

    filter: bool = False
    keep: str | None = None
    interval: MaybeLength = default(None)

    @property
    def longest_ns(self) -> int:
        """The longest time in ns for which an ACK is held."""
        return 0 if self.filter else self.interval or engine.ACK_INTERVAL_NS


class Corruption(Effect):
    """Bit errors, or as text: "0.1%" of the packets, "bit=1e-7" of the bits.

    A damaged packet uses the capacity of the link and of those behind it. The checksum of its
    receiver drops it. Either ``packet`` or ``bit`` is given.
    """

    effect = "corruption"

    packet: MaybeProbability = default(None)
    bit: MaybeProbability = default(None)


class Mtu(Effect):
    """The largest packet that the link takes, or as text: "1400B", "1400B:icmp=off".

    A larger packet is dropped. With ``icmp``, its sender learns of it and sends smaller packets.
    Without, it does not: such a path is a black hole for full packets. Hosts send packets of at
    most 1500 B.
    """

    effect = "mtu"

    size: Size
    icmp: bool = True


EFFECTS: Mapping[str, type[Effect]] = {
    each.effect: each for each in (Jitter, BurstLoss, Policer, Shaper, Aggregation)
}
"""The class of each effect that steps of a link may change, by the name of the link's field."""


def effect_of_fields(name: str, fields: Mapping[str, Any]) -> Effect:
    """The effect with these fields in the engine's format, which the engine has checked."""
    own: dict[str, Any] = {_UNIT.sub("", field): value for field, value in fields.items()}
    return EFFECTS[name].model_construct(**own)


def _unless_off(value: Any, handler: Callable[[Any], Any]) -> Any:
    return OFF if value == OFF else handler(value)


if TYPE_CHECKING:
    MaybeAckThinning = Given[AckThinning | None, AckThinning | dict[str, Any] | str | None]
    MaybeCorruption = Given[Corruption | None, Corruption | dict[str, Any] | str | None]
    MaybeMtu = Given[Mtu | None, Mtu | dict[str, Any] | str | None]
    MaybeAggregation = Given[Aggregation | None, Aggregation | dict[str, Any] | str | None]
    MaybeJitter = Given[Jitter | None, Jitter | dict[str, Any] | str | None]
    MaybeBurstLoss = Given[BurstLoss | None, BurstLoss | dict[str, Any] | str | None]
    MaybePolicer = Given[Policer | None, Policer | dict[str, Any] | str | None]
    MaybeShaper = Given[Shaper | None, Shaper | dict[str, Any] | str | None]
    Off = Literal["off"]
    SwitchedAggregation = Given[Aggregation | Off | None, Aggregation | dict[str, Any] | str | None]
    SwitchedJitter = Given[Jitter | Off | None, Jitter | dict[str, Any] | str | None]
    SwitchedBurstLoss = Given[BurstLoss | Off | None, BurstLoss | dict[str, Any] | str | None]
    SwitchedPolicer = Given[Policer | Off | None, Policer | dict[str, Any] | str | None]
    SwitchedShaper = Given[Shaper | Off | None, Shaper | dict[str, Any] | str | None]
else:
    MaybeJitter, MaybeBurstLoss = Jitter | None, BurstLoss | None
    MaybePolicer, MaybeShaper = Policer | None, Shaper | None
    MaybeAggregation = Aggregation | None
    MaybeAckThinning, MaybeCorruption, MaybeMtu = AckThinning | None, Corruption | None, Mtu | None
    _OR_OFF = (WrapValidator(_unless_off), WrapSerializer(_unless_off))
    SwitchedJitter = Annotated[MaybeJitter, *_OR_OFF]
    SwitchedBurstLoss = Annotated[MaybeBurstLoss, *_OR_OFF]
    SwitchedPolicer = Annotated[MaybePolicer, *_OR_OFF]
    SwitchedShaper = Annotated[MaybeShaper, *_OR_OFF]
    SwitchedAggregation = Annotated[MaybeAggregation, *_OR_OFF]
