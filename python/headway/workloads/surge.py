"""Web pages of the SURGE generator as paper 000 and the thesis used it (table 6.2).

A user asks for a page, gets its base file and then its embedded files, thinks, and asks for the
next. Of the files 30 % are bases of pages with embedded files and 32 % pages of their own.

The papers print a selection. The rest is from Barford and Crovella (1998): the sizes of files as
they are *requested* follow a Pareto distribution with k = 1000 bytes and alpha = 1.0, to which
SURGE matches popularity and size; it is cut off at 10 MB here. "Large files" are chosen evenly, so
sizes are drawn from their log-normal distribution as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from headway.models.distributions import LogNormal, Pareto, TruncatedPareto
from headway.workloads.draws import Ints, Stream

Model = Literal["default", "large"]

BASE_SHARE = 0.30 / (0.30 + 0.32)
"""Part of the pages that have embedded files."""
REQUESTED = TruncatedPareto(1000, 1.0, 10e6)
LARGE_FILES = LogNormal(11.92, 1.0)
EMBEDDED = Pareto(2, 1.245)
MOST_EMBEDDED = 100
"""The files of a page end somewhere; the mean of the distribution is 10."""
LARGE_EMBEDDED_MEAN = 2.0
THINK_S = Pareto(2, 1.4)
LONGEST_THINK_S = 300.0


@dataclass(frozen=True)
class WebPage:
    """One page: sizes of its files in bytes, the base first, and the time until the next."""

    files_bytes: tuple[int, ...]
    think_us: int

    @property
    def bytes(self) -> int:
        """All of it."""
        return sum(self.files_bytes)


def pages(model: Model, name: str, count: int) -> list[WebPage]:
    """What a user asks for.

    Args:
        model: "default" or "large" (table 6.2).
        name: of the random numbers; another name is another user.
        count: pages, >= 1.

    Returns:
        the pages in order.

    Raises:
        ValueError: if ``count`` is not positive.
    """
    if count < 1:
        raise ValueError(f"count must be >= 1, got {count!r}")
    has_embedded = Stream(f"{name}/kind").uniform(count) < BASE_SHARE
    embedded = np.where(has_embedded, _embedded(model, Stream(f"{name}/embedded"), count), 0)
    thinks = np.minimum(THINK_S.quantile(Stream(f"{name}/think").uniform(count)), LONGEST_THINK_S)
    total = int(count + embedded.sum())
    sizes = np.maximum(_sizes(model, Stream(f"{name}/size"), total), 1)
    starts = np.concatenate([[0], np.cumsum(1 + embedded)])
    return [
        WebPage(
            tuple(int(size) for size in sizes[starts[i] : starts[i + 1]]),
            round(float(thinks[i]) * 1e6),
        )
        for i in range(count)
    ]


def _sizes(model: Model, stream: Stream, count: int) -> Ints:
    return stream.draw(REQUESTED if model == "default" else LARGE_FILES, count)


def _embedded(model: Model, stream: Stream, count: int) -> Ints:
    if model == "default":
        drawn = np.floor(EMBEDDED.quantile(stream.uniform(count)))
    else:
        # Geometric from 1 on: the number of tries until a chance of 1 / mean comes true.
        miss = np.log1p(-1 / LARGE_EMBEDDED_MEAN)
        drawn = np.ceil(np.log(stream.uniform(count)) / miss)
    return np.asarray(np.clip(drawn, 1, MOST_EMBEDDED), dtype=np.int64)
