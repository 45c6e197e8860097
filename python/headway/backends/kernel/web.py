"""Web pages of a run over real sockets: nginx, optionally behind the proxy, and a client.

Each flow has its own server and port, so that the listening socket sets the flow's control.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.experiment import Flow, Pages
from headway.experiment.directions import server_sends_more

_MS = 1_000_000
_MOST_REQUEST_BYTES = 8_000
"""A line of a request's head must fit into one of nginx's buffers, 8 KiB."""


def server(app: Pages, flow: Flow, at: str, control: str, folder: Path) -> Sequence[str]:
    """The command of a flow's server: nginx, or with a deadline the proxy in front of nginx."""
    sizes = folder / "sizes"
    folder.mkdir()
    sizes.write_text("".join(f"{size}\n" for size in app.table().response_bytes.tolist()))
    return [
        sys.executable, "-m", "headway.web.origin", "--listen", at, "--sizes", str(sizes),
        "--folder", str(folder), "--control", control, *_request_options(app), *_idle_options(app),
        *_hint_options(flow),
        *(["--http", "2"] if app.http == "2" else []),
        *(["--deadlines"] if flow.deadline is not None else []),
    ]  # fmt: skip


def client(app: Pages, flow: Flow, to: str, control: str) -> Sequence[str]:
    """The command of a flow's client, without its times and files."""
    deadline = [] if flow.deadline is None else ["--deadline-ms", str(flow.deadline // _MS)]
    return [
        sys.executable, "-m", "headway.web.client", "--to", to, "--pages", str(app.file),
        "--http", app.http, "--connections", str(app.parallel), "--control", control,
        *_request_options(app), *deadline,
    ]  # fmt: skip


def _request_options(app: Pages) -> Sequence[str]:
    most = app.keepalive_requests
    return [] if most is None else ["--requests", str(most)]


def _idle_options(app: Pages) -> Sequence[str]:
    idle_ns = app.keepalive_timeout
    return [] if idle_ns is None else ["--idle-ms", str(idle_ns // _MS)]


def sets_hints(flow: Flow) -> bool:
    """Whether a server sets the socket options of include/headway.h."""
    return flow.deadline is not None or bool(_hint_options(flow))


def notes(name: str, client: Mapping[str, Any], server: Mapping[str, Any]) -> Sequence[str]:
    """Notes about requests and responses that had to be larger than the flow's file says."""
    counts = [
        (client.get("larger_requests"), "requests"),
        (server.get("larger_responses"), "responses of its file"),
    ]
    return [
        f"{name}: {count} {of} were larger than the file says, because of their heads"
        for count, of in counts
        if count
    ]


def _hint_options(flow: Flow) -> Sequence[str]:
    """The options of a server for the hints on all its connections.

    The flow has such hints only if the server sends more data than the client.
    """
    hints = {"--initial-rate": flow.initial_rate, "--data-volume": flow.data_volume}
    return [part for name, value in hints.items() if value for part in (name, str(value))]


def check(name: str, flow: Flow, app: Pages) -> None:
    """Raise HeadwayError, naming the field, for options that nginx or our client lacks."""
    table = app.table()
    if table.serve_ns.any():
        raise HeadwayError(f"kernel backend: {name}: pages: serve_ns: nginx answers at once")
    if (most_bytes := int(table.request_bytes.max())) > _MOST_REQUEST_BYTES:
        raise HeadwayError(
            f"kernel backend: {name}: pages: request_bytes: {most_bytes} is not allowed; at most "
            f"{_MOST_REQUEST_BYTES}, the largest head for nginx"
        )
    if app.keepalive_timeout is not None and app.keepalive_timeout < _MS:
        raise HeadwayError(f"kernel backend: {name}: keepalive_timeout: must be at least 1 ms")
    limits_keepalive = app.keepalive_requests is not None or app.keepalive_timeout is not None
    if flow.deadline is not None and (app.http == "2" or limits_keepalive):
        raise HeadwayError(
            f"kernel backend: {name}: http 2, keepalive_requests and keepalive_timeout are not "
            "possible with a deadline: the proxy before nginx speaks HTTP/1.1 and keeps connections"
        )
    if flow.announces or flow.announces_first:
        raise HeadwayError(
            f"kernel backend: {name}: announces, announces_first: not possible: "
            "a Web server does not know what a connection will carry"
        )
    sets_rate_or_volume = flow.initial_rate is not None or flow.data_volume is not None
    if sets_rate_or_volume and (flow.deadline is not None or not server_sends_more(flow)):
        raise HeadwayError(
            f"kernel backend: {name}: initial_rate, data_volume: with pages, only a server that "
            "sends more than it receives can have them, and only without a deadline"
        )
    if flow.deadline is not None and flow.deadline % _MS:
        raise HeadwayError(f"kernel backend: {name}: deadline: must be whole ms, as in the header")
