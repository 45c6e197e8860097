"""The proxy as a program: uvicorn with deadlines, a listening socket, and limits."""

from __future__ import annotations

import logging
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import uvicorn

from headway.errors import HeadwayError
from headway.web.headers import HEAD_BYTES, ForwardedFor
from headway.web.middleware import DeadlineMiddleware
from headway.web.protocol import HeadTimeoutProtocol
from headway.web.proxy import Proxy, Timeouts


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The proxy's settings. Invalid settings raise HeadwayError."""

    listen: str
    """ADDRESS:PORT, or [ADDRESS]:PORT for IPv6."""
    upstream: str
    """http://HOST:PORT."""
    control: str | None = None
    """The congestion control of the clients' connections; None: the system's default."""
    forwarded_for: ForwardedFor = ForwardedFor.SET
    via: str = "headway"
    connections: int = 1000
    """Largest number of concurrent clients, including idle ones; further clients get 503."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    verbose: bool = False
    """Whether to log every response with a target, and the rate at which it started."""


def configuration(settings: Settings) -> uvicorn.Config:
    """The configuration of uvicorn for the proxy with deadlines."""
    proxy = Proxy(
        _upstream(settings.upstream),
        forwarded_for=settings.forwarded_for,
        via=_token(settings.via),
        timeouts=settings.timeouts,
    )
    return uvicorn.Config(
        DeadlineMiddleware(proxy),
        http=HeadTimeoutProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=settings.connections + 1,  # uvicorn counts the connection that it refuses
        timeout_keep_alive=75,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=HEAD_BYTES,
    )


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM; print ``ready`` once it listens. Raises HeadwayError."""
    logging.basicConfig(
        level=logging.INFO if settings.verbose else logging.WARNING,
        format="%(levelname)s %(message)s",
    )
    for noisy in ("httpcore", "uvicorn", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    config = configuration(settings)
    with listening(settings.listen, settings.control) as at:
        print(f"ready at {settings.listen}, before {settings.upstream}", flush=True)
        uvicorn.Server(config).run(sockets=[at])


def listening(where: str, control: str | None = None) -> socket.socket:
    """A listening socket whose connections use the control. Raises HeadwayError."""
    address, _, port = where.rpartition(":")
    if not address or not port.isdecimal() or not 0 <= int(port) < 1 << 16:
        raise HeadwayError(f"listen = {where}: must be ADDRESS:PORT")
    address = address.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    at = socket.socket(family, socket.SOCK_STREAM)
    try:
        at.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if control is not None:
            _set_control(at, control)
        at.bind((address, int(port)))
        at.listen(2048)
    except (OSError, HeadwayError) as error:
        at.close()
        if isinstance(error, HeadwayError):
            raise
        raise HeadwayError(f"listen = {where}: {error.strerror or error}") from None
    return at


def _set_control(at: socket.socket, control: str) -> None:
    try:
        at.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    except OSError as error:
        raise HeadwayError(
            f"control = {control}: {error.strerror}: must be one that the kernel has "
            "(headwayctl attach)"
        ) from None


def _upstream(url: str) -> str:
    """Check the upstream's URL and return it. Raises HeadwayError if it is invalid."""
    try:
        parts = urlsplit(url)
        known = parts.scheme == "http" and parts.hostname and parts.port != 0
    except ValueError:  # an invalid port
        known = False
    if not known or parts.path not in ("", "/") or parts.query or parts.fragment or parts.username:
        raise HeadwayError(f"upstream = {url}: must be http://HOST:PORT")
    return url


def _token(name: str) -> str:
    """Check the proxy's name for Via and return it. Raises HeadwayError if it is invalid."""
    if not all(c.isascii() and (c.isalnum() or c in "-._") for c in name):
        raise HeadwayError(f"via = {name}: must contain only letters, digits, - . _")
    return name
