"""Web pages of the SURGE generator as paper 000 and the thesis used it (table 6.2).

A server has 2000 files. 30 % are the bases of pages, 38 % are embedded in them, and 32 % are pages
by themselves. A user asks for a page, gets its base and then its embedded files, thinks, and asks
for the next; all users of a server ask for the same pages.

"SURGE default": few files get most requests (Zipf), and sizes have a log-normal body and a Pareto
tail. "Large files": all files are asked for alike, and their sizes are log-normal.

The papers print a selection of the parameters. The rest is from Barford and Crovella (1998): body,
tail, and the sizes of what is *requested*; and from SURGE's own program of April 1998 that makes
pages of files: how many files a page has, and which.
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
"""0.30 and 0.38 of them; the other 0.32 are pages by themselves."""
BODY, BODY_SHARE = LogNormal(9.357, 1.318), 0.93
"""Sizes in bytes; what is larger than the tail's smallest is the tail's."""
TAIL = Pareto(133e3, 1.1)
REQUESTED = Pareto(1000, 1.0)
"""Sizes as they are requested: popularity is matched to sizes so that this comes out."""
LARGE_FILES = LogNormal(11.92, 1.0)
PAGE_FILES = Pareto(2, 1.245)
"""Files of a page, the base included; what is drawn above MOST_FILES is drawn again."""
MOST_FILES = 150
LARGE_EMBEDDED_MEAN = 2.0
THINK_S = Pareto(2, 1.4)


@dataclass(frozen=True)
class WebPage:
    """One page: sizes of its files in bytes, the base first, and the time until the next."""

    files_bytes: tuple[int, ...]
    think_us: int


@dataclass(frozen=True, eq=False)
class Server:
    """The pages of a server, as sizes of their files in bytes, and how often each is asked for."""

    pages: tuple[tuple[int, ...], ...]
    shares: Floats
    """Part of the users' requests for pages, shape (pages,)."""

    @property
    def mean_page_bytes(self) -> float:
        """Of the pages as they are asked for."""
        return float(np.dot(self.shares, [sum(page) for page in self.pages]))

    @property
    def mean_page_files(self) -> float:
        """Files of a page, the base included, of the pages as they are asked for."""
        return float(np.dot(self.shares, [len(page) for page in self.pages]))

    def visits(self, name: str, length_s: float) -> list[WebPage]:
        """What a user asks for, in order, until it has thought for ``length_s`` (> 0) in all.

        Another ``name`` is another user.
        """
        # Nobody thinks for less than the distribution's least.
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
    """The server that the random numbers called ``name`` make of a model of table 6.2."""
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
        # What has most requests left belongs to what is requested most; those pages are small.
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
    """Popularities in the order of the files that get them, so that requests' sizes are REQUESTED.

    From the largest file on each gets what brings the share of requests for files of its size or
    more nearest to the distribution's.
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
    """Embedded files of each page that has a base."""
    if model == "default":
        below = stream.uniform(BASES) * PAGE_FILES.cdf(MOST_FILES + 1)
        return np.floor(PAGE_FILES.quantile(below)).astype(np.int64) - 1
    # Geometric from 1 on: the number of tries until a chance of 1 / mean comes true.
    miss = np.log1p(-1 / LARGE_EMBEDDED_MEAN)
    return np.asarray(np.ceil(np.log(stream.uniform(BASES)) / miss), dtype=np.int64)
