"""The measuring client fetches from nginx over loopback.

Time limits are 20 s or more. The protocol determines the order of the responses.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest
from test_web_client import MS, pages

from headway.errors import HeadwayError
from headway.web import origin
from headway.web.client import Client, Limits
from headway.web.connections import HttpConnection, Server
from headway.web.origin import HEAD_BYTES, Keepalive, nginx, write_files
from headway.web.visit import PendingObject
from headway.workloads.pages import PageTable, WebObject, page_table

needs_nginx = pytest.mark.skipif(
    not (shutil.which("nginx") or Path("/usr/sbin/nginx").exists()), reason="no nginx"
)


class Watched(Client):
    """Records which connection fetched which object."""

    def __init__(self, *of: object) -> None:
        super().__init__(*of)  # type: ignore[arg-type]
        self.took: list[list[int]] = []
        self._numbers: dict[int, int] = {}

    def _new(self, now_ns: int) -> HttpConnection:
        connection = super()._new(now_ns)
        own: list[int] = []
        self.took.append(own)
        request = connection.request

        def noted(pending: PendingObject, request_bytes: int, at_ns: int) -> bool:
            own.append(pending.object)
            return request(pending, request_bytes, at_ns)

        connection.request = noted  # type: ignore[method-assign]
        return connection


@pytest.fixture
def port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        number = taken.getsockname()[1]
    return int(number)


def load(
    port: int,
    folder: Path,
    table: PageTable,
    http: str,
    limits: Limits,
    keepalive: Keepalive | None = None,
) -> Watched:
    """Load all pages of a table from an nginx that runs only for this call."""
    write_files(table.response_bytes.tolist(), folder / "files")
    at = f"127.0.0.1:{port}"
    with nginx(at, folder, http=http, keepalive=keepalive or Keepalive()):
        client = Watched(Server(at, http), limits, table, time.monotonic_ns())
        end_ns = time.monotonic_ns() + 20_000 * MS
        try:
            client.load(end_ns, end_ns)
        finally:
            client.close()
    return client


def order(client: Client) -> list[int]:
    """The numbers of the page's objects, in the order in which they arrived."""
    return client.responses.tolist()[::3]


FIVE = ((1000, None), (900, 0), (800, 0), (700, 0), (60_000, 2))


@needs_nginx
@pytest.mark.parametrize(
    ("http", "connections", "opened"),
    [
        ("1.0", 1, 5),
        ("1.0", 6, 5),
        ("1.1", 1, 1),
        ("1.1", 2, 2),
        ("1.1", 6, 3),
        ("1.1-pipelined", 1, 1),
        ("1.1-pipelined", 2, 2),
        ("2", 1, 1),
    ],
)
def test_every_object_arrives_once_whole_and_after_what_reveals_it(
    http: str, connections: int, opened: int, port: int, tmp_path: Path
) -> None:
    client = load(port, tmp_path, pages(*FIVE), http, Limits(connections))
    numbers, asked, there = (client.responses.tolist()[at::3] for at in range(3))
    assert sorted(numbers) == list(range(5))
    asked_of = dict(zip(numbers, asked, strict=True))
    there_of = dict(zip(numbers, there, strict=True))
    assert all(asked_of[n] >= there_of[of] for n, (_, of) in enumerate(FIVE) if of is not None)
    whole = sum(size for size, _ in FIVE)
    assert client.received.rows[-1] == pytest.approx(whole, abs=5 * HEAD_BYTES)
    assert len(client.took) == opened


@needs_nginx
@pytest.mark.parametrize(("http", "least_bytes"), [("1.0", 56), ("1.1", 37), ("2", 40)])
def test_requests_that_are_smaller_than_their_heads_are_counted(
    http: str, least_bytes: int, port: int, tmp_path: Path
) -> None:
    # the length of a request's head depends on the number of digits of the port
    sizes = [least_bytes + len(f"{port}") * (http != "2") + more for more in (-1, 0, 1, 100)]
    table = page_table([([WebObject(size, 1000) for size in sizes], 0)])
    assert load(port, tmp_path, table, http, Limits(1)).larger == {0}


@needs_nginx
def test_a_pipeline_is_answered_in_order_and_two_in_turns(port: int, tmp_path: Path) -> None:
    table = pages((1000, None), (20_000_000, 0), (1000, 0))
    pipelined = load(port, tmp_path / "one", table, "1.1-pipelined", Limits(1))
    assert pipelined.took == [[0, 1, 2]]
    assert order(pipelined) == [0, 1, 2]
    two = load(port, tmp_path / "two", table, "2", Limits(1))
    assert two.took == [[0, 1, 2]]
    assert order(two) == [0, 2, 1]


@needs_nginx
@pytest.mark.parametrize("streams", [128, 1024])
def test_what_is_more_than_a_server_takes_at_once_waits(
    streams: int, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = streams + 400
    config = origin._CONFIG.replace("streams 1024", f"streams {streams}")
    monkeypatch.setattr(origin, "_CONFIG", config)
    revealed = pages((1000, None), *((1000, 0) for _ in range(many)))
    client = load(port, tmp_path / "one", revealed, "2", Limits(1))
    assert client.took == [list(range(many + 1))]
    assert sorted(order(client)) == list(range(many + 1))
    # these requests are sent before the server has announced its limit of streams
    at_once = pages(*((1000, None) for _ in range(many)))
    client = load(port, tmp_path / "two", at_once, "2", Limits(1))
    assert sorted(order(client)) == list(range(many))


@needs_nginx
@pytest.mark.parametrize(
    ("http", "took"),
    [
        ("1.1", [[0, 1], [2, 3], [4]]),
        ("1.1-pipelined", [[0, 1], [2, 3], [4]]),
        ("2", [[0, 1], [2, 3], [4]]),
    ],
)
def test_connections_end_after_so_many_requests(
    http: str, took: list[list[int]], port: int, tmp_path: Path
) -> None:
    client = load(port, tmp_path, pages(*FIVE), http, Limits(1, 2), Keepalive(requests=2))
    assert client.took == took
    assert sorted(order(client)) == list(range(5))


@needs_nginx
@pytest.mark.parametrize("http", ["1.1", "1.1-pipelined", "2"])
def test_what_meets_a_server_that_closes_is_asked_again(
    http: str, port: int, tmp_path: Path
) -> None:
    # nginx closes a connection after two requests, and the client does not know this limit
    table = pages(*((1000, None) for _ in range(7)))
    client = load(port, tmp_path, table, http, Limits(1), Keepalive(requests=2))
    assert sorted(order(client)) == list(range(7))
    assert len(client.took) == 4
    if http == "1.1-pipelined":
        assert client.took == [[0, 1, 2, 3, 4, 5, 6], [2, 3, 4, 5, 6], [4, 5, 6], [6]]


@needs_nginx
@pytest.mark.parametrize("http", ["1.1", "1.1-pipelined", "2"])
def test_a_connection_that_the_server_closed_when_nothing_happened_is_replaced(
    http: str, port: int, tmp_path: Path
) -> None:
    table = pages((1000, None), (1000, 0), (1000, 1), start_ms=(0, 0, 600))
    client = load(port, tmp_path, table, http, Limits(1), Keepalive(idle_ms=100))
    assert client.took == [[0, 1], [2]]


def test_a_server_that_closes_without_an_answer_ends_the_client(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def close() -> None:
            other, _ = server.accept()
            other.recv(10)
            other.close()

        thread = threading.Thread(target=close)
        thread.start()
        to = f"127.0.0.1:{server.getsockname()[1]}"
        client = Client(Server(to, "1.1"), Limits(), pages((1000, None)), 0)
        end_ns = time.monotonic_ns() + 20_000 * MS
        with pytest.raises(HeadwayError, match="closed the connection without any response"):
            client.load(end_ns, end_ns)
        client.close()
        thread.join()


@needs_nginx
def test_what_is_not_there_is_told_by_its_status(port: int, tmp_path: Path) -> None:
    table = pages((1000, None), (1000, None))
    write_files([1000], tmp_path / "files")
    for http in ("1.1", "2"):
        with nginx(f"127.0.0.1:{port}", tmp_path, http=http):
            client = Client(Server(f"127.0.0.1:{port}", http), Limits(), table, 0)
            end_ns = time.monotonic_ns() + 20_000 * MS
            with pytest.raises(HeadwayError, match="/1: status 404, not 200"):
                client.load(end_ns, end_ns)
            client.close()


def test_a_missing_server_is_an_error(port: int) -> None:
    client = Client(Server(f"127.0.0.1:{port}", "1.1"), Limits(), pages((1000, None)), 0)
    end_ns = time.monotonic_ns() + 20_000 * MS
    with pytest.raises(OSError, match=os.strerror(111)):
        client.load(end_ns, end_ns)
    client.close()
