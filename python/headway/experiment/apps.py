"""The application of a flow: bulk data, calls, requests and responses."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from headway.engine import engine
from headway.errors import ExperimentError
from headway.spec import (
    MAX_BYTES,
    Given,
    Length,
    MaybeLength,
    MaybeSize,
    PositiveSize,
    Size,
    Spec,
    Time,
    Written,  # noqa: F401 - see Given
    default,
    shorten,
    within,
)
from headway.units import format_size
from headway.workloads.exchange_file import ExchangeTable, file_sha256, read_exchanges
from headway.workloads.pages import PageTable, read_pages
from headway.workloads.workload import Workload

MAX_MESSAGE_BYTES = engine.MAX_MESSAGE_BYTES
"""Largest message of a ping-pong flow, which sends until the flow stops."""
MAX_PAIRS = 1_000_000

if TYPE_CHECKING:
    Epochs = Given[tuple[tuple[int, int, int], ...], Sequence[tuple[str, str, str]]]
else:
    Epochs = tuple[tuple[Size, Size, Time], ...]


class Bulk(Spec):
    """Sends ``size`` bytes as fast as TCP allows, then closes; None sends until the end."""

    kind: Literal["bulk"] = "bulk"
    size: MaybeSize = default(None)


class Cbr(Spec):
    """Constant bit rate over UDP: one IP packet of ``packet`` bytes per ``interval``.

    ``packet`` is 29 to 65535 bytes, headers included. With ``ecn`` the packets carry ECT(0), so
    that an AQM marks packets that it would drop. The receiver does not answer.
    """

    kind: Literal["cbr"] = "cbr"
    packet: Annotated[PositiveSize, within(29, 65_535, format_size)]
    interval: Length
    ecn: bool = default(False)


class Vectors(Spec):
    """Requests and responses: epochs of (request bytes, response bytes, think time afterwards).

    ``connections`` has the number of epochs on each connection. When the epochs of one connection
    are over, including think times, that connection closes and the next one opens. None uses one
    connection for all epochs.
    """

    kind: Literal["vectors"] = "vectors"
    epochs: Epochs = Field(min_length=1)
    connections: Given[tuple[PositiveInt, ...] | None, Sequence[int] | None] = default(None)

    @model_validator(mode="after")
    def _check_connections(self) -> Self:
        if self.connections is not None and sum(self.connections) != len(self.epochs):
            raise ValueError(
                f"connections: the numbers add up to {sum(self.connections)}; must be the number "
                f"of epochs, {len(self.epochs)}"
            )
        return self

    @model_validator(mode="after")
    def _check_totals(self) -> Self:
        for column, what in enumerate(("requests", "responses")):
            total = sum(map(itemgetter(column), self.epochs))
            if total > MAX_BYTES:
                most = format_size(MAX_BYTES)
                raise ValueError(
                    f"epochs: {format_size(total)} of {what} in all are not allowed; at most {most}"
                )
        return self


class _FileApp(Spec):
    """An application that is read from a file.

    The file must not change until the experiment has run.
    """

    file: Path
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")

    @model_validator(mode="after")
    def _check_hash(self) -> Self:
        found = file_sha256(self.file)
        if self.sha256 is None:
            object.__setattr__(self, "sha256", found)
        elif self.sha256 != found:
            raise ValueError(f"file: {self.file} has changed since its sha256 was recorded")
        return self

    def check_same(self) -> None:
        """Raise ExperimentError if the file has changed since the experiment was made."""
        if file_sha256(self.file) != self.sha256:
            raise ExperimentError(f"{self.file}: has changed since the experiment was made")


class Exchanges(_FileApp):
    """Requests and responses from a file: see docs/exchanges.md.

    Each line is an exchange: request, response, the server's time, think time, deadline, the
    exchange that it follows, and its connection. The opener sends the requests; connections open
    when they are due. ``sha256`` is the file's checksum; the file must not change before the
    experiment has run. None computes it.
    """

    kind: Literal["exchanges"] = "exchanges"

    @model_validator(mode="after")
    def _check_content(self) -> Self:
        read_exchanges(self.file)
        return self

    def table(self) -> ExchangeTable:
        """The file's content. Raises ExperimentError if it differs from ``sha256``."""
        self.check_same()
        return read_exchanges(self.file)


class Pages(_FileApp):
    """Web pages from a file, which a user loads one after the other: see docs/pages.md.

    Each line is an object: request, response, the server's time, and the object that reveals it.
    ``http`` is the HTTP version, which decides how objects share the user's ``connections`` to the
    server, 1 to 6; None is six, as in browsers, and one with HTTP/2. The server closes a connection
    after ``keepalive_requests`` requests, and after ``keepalive_timeout`` without activity; None
    never closes it. ``sha256`` is the file's checksum, as for ``Exchanges``.
    """

    kind: Literal["pages"] = "pages"
    http: Literal["1.0", "1.1", "1.1-pipelined", "2"] = "1.1"
    connections: int | None = Field(default=None, ge=1, le=engine.MAX_PARALLEL)
    keepalive_requests: PositiveInt | None = None
    keepalive_timeout: MaybeLength = default(None)

    @model_validator(mode="after")
    def _check_http(self) -> Self:
        if self.http == "2" and self.connections not in (None, 1):
            raise ValueError(f"connections: {self.connections} is not allowed; 1 with HTTP/2")
        return self

    @model_validator(mode="after")
    def _check_content(self) -> Self:
        read_pages(self.file)
        return self

    @property
    def parallel(self) -> int:
        """Most connections at a time."""
        return self.connections or (1 if self.http == "2" else engine.MAX_PARALLEL)

    def table(self) -> PageTable:
        """The file's content. Raises ExperimentError if it differs from ``sha256``."""
        self.check_same()
        return read_pages(self.file)


class Pingpong(Spec):
    """Messages of ``request`` bytes, each echoed, at exponential intervals (``mean_interval``).

    This is an open loop: messages are sent on time even if the one before was not answered (thesis
    6.2.3).
    """

    kind: Literal["pingpong"] = "pingpong"
    request: Annotated[PositiveSize, within(1, MAX_MESSAGE_BYTES, format_size)]
    mean_interval: Length


class Requests(Spec):
    """Quick-Start requests without data, at exponential intervals of mean ``mean_interval``.

    Each request is an empty UDP datagram that asks for the rate of one of ``codes`` (1 to 15; code
    N is 40 kbit/s × 2^N), drawn uniformly: the load of the thesis' section 6.3.3.3.
    """

    kind: Literal["requests"] = "requests"
    codes: Given[tuple[Annotated[int, Field(ge=1, le=15)], ...], Sequence[int]] = Field(
        min_length=1, max_length=1000
    )
    mean_interval: Length


def _sizes(text: object) -> str:
    """Check a distribution of sizes; the name of a file is replaced by the file's points."""
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not allowed; text, such as '20 kB' or 'web-search'")
    if not engine.is_sizes_file(text):
        engine.mean_size_bytes(text)
        return text
    try:
        content = Path(text).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise ValueError(
            f"{shorten(repr(text))} is not allowed; a size, log-normal/MEAN/SIGMA, "
            "pareto/MEAN/SHAPE, pareto/MEAN/SHAPE/LARGEST, web-search, data-mining, "
            "or a readable file"
        ) from None
    try:
        return engine.sizes_of_lines(content)
    except ValueError as error:
        raise ValueError(f"{text}: {error}") from None


def _arrivals(text: object) -> str | None:
    if text is not None:
        if not isinstance(text, str):
            raise ValueError(f"{text!r} is not allowed; text, such as '50/s'")
        engine.parse_arrivals(text)
    return text


def _load(value: object) -> float | None:
    return None if value is None else engine.parse_load(str(value))


if TYPE_CHECKING:
    Load = Given[float | None, float | str | None]
else:
    Load = Annotated[float | None, BeforeValidator(_load)]


class Transfers(Spec):
    """Transfers that arrive during the run, each over a connection of its own.

    The opener sends the bytes of each transfer and closes the connection. Exactly one of three
    fields says when transfers arrive. ``arrivals`` is a rate such as "50/s". ``load`` is the load
    that they offer to the slowest link of the flow's path: 0.6 or "60%" of its rate, counted in
    application bytes over 1448/1500 of the rate. With these two, transfers do not wait for each
    other (open loop). ``think`` is the mean time from the completion of a transfer to the arrival
    of the next one (closed loop). ``spacing`` is the distribution of these times: "exponential", so
    that arrivals are a Poisson process, or "constant".

    ``sizes`` is the distribution of sizes: "20 kB", "log-normal/MEAN/SIGMA" (sigma of the natural
    logarithm), "pareto/MEAN/SHAPE", "pareto/MEAN/SHAPE/LARGEST" (cut off), "web-search",
    "data-mining", or a file with points of a distribution function. A file is read once, when the
    experiment is constructed.
    """

    kind: Literal["transfers"] = "transfers"
    sizes: Annotated[str, BeforeValidator(_sizes)]
    arrivals: Annotated[str | None, BeforeValidator(_arrivals)] = None
    load: Load = default(None)
    think: MaybeLength = default(None)
    spacing: Literal["exponential", "constant"] = "exponential"

    @model_validator(mode="after")
    def _check_one_way_of_arriving(self) -> Self:
        given = [name for name in ("arrivals", "load", "think") if getattr(self, name) is not None]
        if not given:
            raise ValueError("arrivals: is missing; set arrivals, load or think")
        if len(given) > 1:
            raise ValueError(f"{given[0]}: cannot be used with {given[1]}; leave one of them out")
        return self

    @property
    def mean_size_bytes(self) -> float:
        """Mean size of a transfer."""
        return engine.mean_size_bytes(self.sizes)


Voip = Cbr.model_construct(packet=engine.VOIP[0], interval=engine.VOIP[1])
"""One direction of a G.711 telephone call: an IP packet of 186 bytes with 160 bytes of voice every
20 ms (paper 001)."""


class Sessions(Spec):
    """The share of host pair ``pair`` (from 0) in a workload that is divided among ``pairs``.

    The opener sends requests and the other end responds, on one connection per session or, if the
    workload is persistent, on one connection for all sessions of the pair. Responses cross the
    path in the reverse direction.
    """

    kind: Literal["sessions"] = "sessions"
    workload: Workload
    pair: int = Field(ge=0)
    pairs: int = Field(ge=1, le=MAX_PAIRS)

    @model_validator(mode="after")
    def _check_pair(self) -> Self:
        if self.pair >= self.pairs:
            raise ValueError(f"pair: {self.pair} must be less than pairs, {self.pairs}")
        return self


class Site(Spec):
    """A site that a browser loads ``visits`` times, each time without cache or open connections.

    ``map`` is a page of scripts and tiles, loaded over up to six connections. ``city`` is a walk
    through a 3D scene, whose parts are loaded over one persistent connection or, with
    ``connections`` 6, each with a request of its own. ``walk`` is the whole walk, or its first two
    places ("short"). With ``keep_alive`` off the server closes every connection after its response.
    The opener is the browser. Only the kernel backend has a browser.
    """

    kind: Literal["site"] = "site"
    site: Literal["map", "city"]
    visits: int = Field(default=1, ge=1, le=100)
    connections: Literal[1, 6] | None = None
    walk: Literal["whole", "short"] | None = None
    keep_alive: bool = True

    @model_validator(mode="after")
    def _check_site(self) -> Self:
        if self.site == "map" and self.connections == 1:
            raise ValueError("connections: 1 is not allowed; the browser loads a map over six")
        if self.site == "map" and self.walk is not None:
            raise ValueError("walk: is only for the site city, not for map")
        return self
