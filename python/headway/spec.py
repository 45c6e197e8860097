"""What all typed descriptions share: a frozen base, and quantities written with their unit."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from headway import units

Rate = Annotated[int, BeforeValidator(units.parse_rate), PlainSerializer(units.format_rate)]
"""Bits per second, written "1Mbit/s"."""
Time = Annotated[int, BeforeValidator(units.parse_time), PlainSerializer(units.format_time)]
"""Nanoseconds, written "50 ms"."""
Length = Annotated[
    int, BeforeValidator(units.parse_positive_time), PlainSerializer(units.format_time)
]
"""Nanoseconds, more than 0."""
Size = Annotated[int, BeforeValidator(units.parse_size), PlainSerializer(units.format_size)]
"""Bytes, written "60000 B"."""
PositiveSize = Annotated[
    int, BeforeValidator(units.parse_positive_size), PlainSerializer(units.format_size)
]
"""Bytes, more than 0."""


class Spec(BaseModel):
    """Frozen, and a misspelt field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)
