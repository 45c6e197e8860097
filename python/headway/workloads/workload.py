"""Descriptions of workloads for experiments, without the sessions' numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from headway.spec import (
    Length,
    PositiveSize,
    Rate,
    Size,
    Spec,
    Written,  # noqa: F401 - see Given
    default,
    within,
)
from headway.units import BITS_PER_BYTE, NS_PER_S, format_size

PAYLOAD_SHARE = 1448 / 1500
"""L / MTU: the share of payload in full packets with timestamps."""

LARGEST_RESPONSE_BYTES = 10_000_000
"""K: the largest response of the synthetic workloads (section 6.4.3.1)."""
MEAN_RESPONSE_BYTES = 14_000
"""Mean response of the campus traces (section 3.3.3.2) and of section 6.5.2's workload."""
MOST_RESPONSES = 20_000_000
"""Most responses of one workload: some 2 GB of columns."""


class Campus(Spec):
    """Connection vectors drawn from a model of the recorded ones: see ``campus``.

    ``serve_factor`` multiplies the servers' delays; with 0 servers answer at once.
    """

    kind: Literal["campus"] = "campus"
    serve_factor: float = Field(default=1.0, ge=0.0, le=1e6, allow_inf_nan=False)


LARGEST_REQUEST_BYTES = 1_000_000
"""Recorded connections with a larger request are left out unless asked for."""


class Recorded(Spec):
    """Connection vectors recorded on a campus, drawn with replacement: see ``recorded``.

    Connections with a request larger than ``largest_request`` are left out; None keeps all.
    """

    kind: Literal["recorded"] = "recorded"
    trace: Literal["unc-2006-inbound"] = "unc-2006-inbound"
    largest_request: PositiveSize | None = default(LARGEST_REQUEST_BYTES)


class Pareto(Spec):
    """One exchange per session: a small request, and a truncated Pareto response up to 10 MB."""

    kind: Literal["pareto"] = "pareto"
    mean: Annotated[PositiveSize, within(1, LARGEST_RESPONSE_BYTES - 1, format_size)]
    request: Annotated[Size, within(0, LARGEST_RESPONSE_BYTES, format_size)] = default(100)


class Tmix(Spec):
    """Connection vectors of a tmix file; ``sha256`` is the checksum of its content."""

    kind: Literal["tmix"] = "tmix"
    path: str
    sha256: str


NAMED: Mapping[str, Campus | Recorded] = {
    "recorded": Recorded(),
    "recorded-all": Recorded(largest_request=None),
    "drawn": Campus(),
}
"""Connection vectors that ``headway run --vectors`` accepts by name; the first is the default."""


class Workload(Spec):
    """The sessions of all host pairs together.

    ``load`` is the offered load of the responses relative to ``rate``, counted in application bytes
    as in the thesis (rho = m / (R delta), section 6.4.3.1). Sessions start at independent, uniform
    times in [0, ``until``), so the times between them are exponential. Sessions are drawn until
    their bytes reach the load exactly, because the mean of a fixed number of heavy-tailed sizes
    would vary. With ``persistent`` a pair's sessions take turns on one connection.
    """

    vectors: Annotated[Campus | Pareto | Recorded | Tmix, Field(discriminator="kind")]
    load: float = Field(gt=0, allow_inf_nan=False)
    rate: Rate
    until: Length
    persistent: bool = False
    seed: int = Field(default=1, ge=0)

    @model_validator(mode="after")
    def _can_be_drawn(self) -> Self:
        mean = self.vectors.mean if isinstance(self.vectors, Pareto) else MEAN_RESPONSE_BYTES
        if self.wanted_bytes / mean > MOST_RESPONSES:
            raise ValueError(
                f"load: {self.load:g} is not allowed; at most {MOST_RESPONSES:,} responses in "
                f"total, here {self.wanted_bytes / mean:.3g}"
            )
        return self

    @property
    def wanted_bytes(self) -> float:
        """Application bytes of all responses together."""
        return self.load * self.rate * PAYLOAD_SHARE * self.until / NS_PER_S / BITS_PER_BYTE
