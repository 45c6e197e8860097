"""Workloads as an experiment names them: a few words, without the numbers they stand for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from headway.spec import Length, PositiveSize, Rate, Size, Spec
from headway.units import BITS_PER_BYTE, NS_PER_S

PAYLOAD_SHARE = 1448 / 1500
"""L / MTU: what full packets with timestamps carry of a link's rate in IP bits."""


class Campus(Spec):
    """Connection vectors like those of the campus traces of 2008: see ``published``.

    ``serve_factor`` multiplies the servers' delays; 0: they answer at once.
    """

    kind: Literal["campus"] = "campus"
    serve_factor: float = Field(default=1.0, ge=0.0, allow_inf_nan=False)


class Pareto(Spec):
    """One exchange per session: a small request, a truncated Pareto response up to 10 MB."""

    kind: Literal["pareto"] = "pareto"
    mean: PositiveSize
    request: Size = 100


class Tmix(Spec):
    """Connection vectors of a tmix file; ``sha256`` says which contents are meant."""

    kind: Literal["tmix"] = "tmix"
    path: str
    sha256: str


class Workload(Spec):
    """Sessions of any number of host pairs, in all.

    ``load`` is the part of ``rate`` that the responses ask for, counted in application bytes as
    the thesis does (rho = m / (R delta), section 6.4.3.1). Sessions start in [0, ``until``) at
    independent, equally likely moments, so the times between them are exponential; how many there
    are follows from the load exactly, since the mean of sizes with so heavy a tail would not.
    ``persistent``: a pair's sessions take turns on one connection.
    """

    vectors: Annotated[Campus | Pareto | Tmix, Field(discriminator="kind")]
    load: PositiveFloat
    rate: Rate
    until: Length
    persistent: bool = False
    seed: int = Field(default=1, ge=0)

    @property
    def wanted_bytes(self) -> float:
        """Application bytes of all responses."""
        return self.load * self.rate * PAYLOAD_SHARE * self.until / NS_PER_S / BITS_PER_BYTE
