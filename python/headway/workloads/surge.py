"""Web pages of the SURGE generator as paper 000 and the thesis used it (table 6.2).

A server has 2000 files. 30 % are the bases of pages, 38 % are embedded in them, and 32 % are pages
of one file. A user requests a page's base, then its embedded files, thinks, and requests the next
page. All users of a server use the same set of pages.

"SURGE default": few files get most requests (Zipf), and sizes have a log-normal body and a Pareto
tail. "Large files": all files are requested equally often, and their sizes are log-normal.

The papers print only some of the parameters. The others are from Barford and Crovella (1998): body,
tail, and the sizes of *requested* files; and from SURGE's program of April 1998 that assembles
pages: how many files a page has, and which.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headway.models.distributions import LogNormal, Pareto
from headway.workloads.draws import Floats, Ints, Stream

Model = Literal["default", "large"]

FILES = 2000
BASES, EMBEDDED = 600, 760
"""Numbers of bases and of embedded files: 0.30 and 0.38 of all files. The other 0.32 are pages of
one file."""
BODY, BODY_SHARE = LogNormal(9.357, 1.318), 0.93
"""Distribution of the sizes in bytes of files in the body, and the share of these files. The body
is cut off at the smallest size of the tail."""
TAIL = Pareto(133e3, 1.1)
REQUESTED = Pareto(1000, 1.0)
"""Distribution of the sizes of requested files, weighted by requests. ``matched`` assigns
popularities to files so that requests have this distribution."""
LARGE_FILES = LogNormal(11.92, 1.0)
PAGE_FILES = Pareto(2, 1.245)
"""Distribution of the number of files of a page, with the base; numbers above MOST_FILES are drawn
again."""
MOST_FILES = 150
LARGE_EMBEDDED_MEAN = 2.0
THINK_S = Pareto(2, 1.4)


@dataclass(frozen=True)
class WebPage:
    """One page: the sizes of its files in bytes, the base first, and the think time after it."""

    files_bytes: tuple[int, ...]
    think_us: int


@dataclass(frozen=True, eq=False)
class Server:
    """The pages of a server, each as the sizes of its files in bytes, with their popularity."""

    pages: tuple[tuple[int, ...], ...]
    shares: Floats
    """Share of the users' requests for each page, shape (pages,)."""

    @property
    def mean_page_bytes(self) -> float:
        """Mean size of a page in bytes, weighted by requests."""
        return float(np.dot(self.shares, [sum(page) for page in self.pages]))

    @property
    def mean_page_files(self) -> float:
        """Mean number of files of a page, base included, weighted by requests."""
        return float(np.dot(self.shares, [len(page) for page in self.pages]))

    def visits(self, name: str, length_s: float) -> list[WebPage]:
        """The pages that a user visits until the think times add up to ``length_s`` (> 0).

        Each ``name`` is a different user.
        """
        # the user visits at most this many pages, since every think time is at least
        # ``THINK_S.smallest``
        most = int(length_s / THINK_S.smallest) + 1
        think_us = np.rint(1e6 * THINK_S.quantile(Stream(f"{name}/think").uniform(most)))
        count = int(np.searchsorted(np.cumsum(think_us), length_s * 1e6)) + 1
        ends = np.cumsum(self.shares) / self.shares.sum()
        pages = np.searchsorted(ends, Stream(f"{name}/page").uniform(count))
        return [
            WebPage(self.pages[page], int(us))
            for page, us in zip(pages, think_us[:count], strict=True)
        ]


@functools.lru_cache(maxsize=64)
def server(model: Model, name: str) -> Server:
    """A server of a model of table 6.2, drawn from the random streams called ``name``."""
    if model == "default":
        sizes = _default_sizes(f"{name}/{model}")
        popularity = matched(sizes, 1 / np.arange(1.0, FILES + 1))
    else:
        sizes = Stream(f"{name}/{model}/size").draw(LARGE_FILES, FILES)
        popularity = np.full(FILES, 1 / FILES)
    sizes = np.maximum(sizes, 1)
    order = np.argsort(Stream(f"{name}/{model}/group").uniform(FILES), kind="stable")
    bases, embedded, alone = np.split(order, [BASES, BASES + EMBEDDED])
    asked_first = bases[np.argsort(-popularity[bases], kind="stable")]
    counts = np.sort(_embedded(model, Stream(f"{name}/{model}/embedded")))
    pages: list[tuple[int, ...]] = [(int(sizes[file]),) for file in alone]
    left = popularity[embedded].copy()
    for base, count in zip(asked_first, counts, strict=True):
        # Each base in turn, the most requested first, takes the most popular embedded files that
        # are left. The most popular bases have the smallest numbers of embedded files.
        chosen = np.argsort(-left, kind="stable")[:count]
        left[chosen] -= popularity[base]
        pages.append((int(sizes[base]), *(int(size) for size in sizes[embedded[chosen]])))
    shares = popularity[np.concatenate([alone, asked_first])]
    return Server(tuple(pages), shares / shares.sum())


def _default_sizes(name: str) -> Ints:
    body = round(BODY_SHARE * FILES)
    within = Stream(f"{name}/body").uniform(body) * BODY.cdf(TAIL.smallest)
    tail = Stream(f"{name}/tail").draw(TAIL, FILES - body)
    return np.concatenate([np.rint(BODY.quantile(within)).astype(np.int64), tail])


def matched(sizes: Ints, popularity: Floats) -> Floats:
    """Assign popularities to files so that the sizes of requested files follow REQUESTED.

    Files get their popularity in order of size, the largest first. A file gets the popularity with
    which the share of requests for files of at least its size is closest to the distribution.
    """
    left = sorted((popularity / popularity.sum()).tolist())
    wanted = 1 - REQUESTED.cdf(sizes)
    given = np.empty(sizes.size)
    asked = 0.0
    for file in np.argsort(-sizes, kind="stable"):
        missing = float(wanted[file]) - asked
        at = bisect_left(left, missing)
        if at == len(left) or (at > 0 and missing - left[at - 1] <= left[at] - missing):
            at -= 1
        given[file] = left.pop(at)
        asked += given[file]
    return given


def _embedded(model: Model, stream: Stream) -> Ints:
    """Number of embedded files of each page that has a base."""
    if model == "default":
        below = stream.uniform(BASES) * PAGE_FILES.cdf(MOST_FILES + 1)
        return np.floor(PAGE_FILES.quantile(below)).astype(np.int64) - 1
    # Geometrically distributed from 1 on: the number of trials until an event of probability 1 /
    # mean.
    miss = np.log1p(-1 / LARGE_EMBEDDED_MEAN)
    return np.asarray(np.ceil(np.log(stream.uniform(BASES)) / miss), dtype=np.int64)
