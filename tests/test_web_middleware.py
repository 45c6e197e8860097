"""The middleware over loopback: what it sets on a socket, and which targets it ignores."""

import logging
from typing import Any

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from served import exchange, server

from headway.web import middleware, target
from headway.web.middleware import DeadlineMiddleware
from headway.web.target import Target

BODY = b"x" * 100_000


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answers with a Content-Length, except for /chunked; answers /empty with 304."""
    status = 304 if scope["path"] == "/empty" else 200
    headers = [(b"content-length", b"%d" % len(BODY))] if scope["path"] != "/chunked" else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": BODY if status == 200 else b""})


def outside(app: Any) -> Any:
    """Another middleware with its own `send`."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        async def own(message: Any) -> None:
            await send(message)

        await app(scope, receive, own)

    return wrapped


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, int]]:
    """Records what is set on sockets, for a connection with a round trip of 60 ms."""
    told: list[dict[str, int]] = []

    def hint(_connection: object, **values: int) -> bool:
        told.append(values)
        return True

    monkeypatch.setattr(target.sockets, "hint", hint)
    monkeypatch.setattr(target, "round_trip_ms", lambda _connection: 60.0)
    return told


def asked(app: Any, *header: str, path: str = "/", method: str = "GET") -> bytes:
    config = uvicorn.Config(app, http="h11", lifespan="off")
    head = "".join(f"{line}\r\n" for line in ("Host: here", "Connection: close", *header))
    with server(config) as address:
        return exchange(address, f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode())


def test_without_the_header_only_the_volume_is_said(said: list[dict[str, int]]) -> None:
    asked(DeadlineMiddleware(application))
    (told,) = said
    assert told["deadline_ms"] == 0
    assert told["data_volume_bytes"] > len(BODY)


@pytest.mark.parametrize(
    ("method", "path"), [("HEAD", "/"), ("GET", "/empty"), ("GET", "/chunked")]
)
def test_a_response_without_a_body_or_a_length_has_neither(
    method: str, path: str, said: list[dict[str, int]]
) -> None:
    answer = asked(
        DeadlineMiddleware(application), "Response-Deadline: 500", path=path, method=method
    )
    assert answer.startswith(b"HTTP/1.1 ")
    assert said == [{"data_volume_bytes": 0, "deadline_ms": 0}]


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [
        *("", "soon", "-5", "0", "0.0", "1e3", "inf", "nan", "+7", "300, 400", "3600001"),
        *("9" * 5000, "0x10", "\u0663", "1_0"),
    ],
)
def test_a_target_that_makes_no_sense_is_ignored_with_one_line(
    value: str, said: list[dict[str, int]], caplog: pytest.LogCaptureFixture
) -> None:
    answer = asked(DeadlineMiddleware(application), f"Response-Deadline: {value}")
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"\r\n\r\n" + BODY)
    assert [one["deadline_ms"] for one in said] == [0]
    (line,) = [record for record in caplog.records if record.name == "headway.web"]
    assert line.levelno == logging.WARNING
    assert "ignored" in line.getMessage()
    assert "\n" not in line.getMessage()
    assert len(line.getMessage()) < 200


def test_two_targets_are_none(said: list[dict[str, int]], caplog: pytest.LogCaptureFixture) -> None:
    asked(DeadlineMiddleware(application), "Response-Deadline: 300", "response-deadline: 400")
    assert [one["deadline_ms"] for one in said] == [0]
    assert [r.getMessage() for r in caplog.records if r.name == "headway.web"] == [
        "Response-Deadline: 2 times: ignored: must be one time in ms, up to 3600000"
    ]


def test_where_the_socket_is_hidden_the_response_is_the_same(
    said: list[dict[str, int]], caplog: pytest.LogCaptureFixture
) -> None:
    middleware._warn_once.cache_clear()
    for _ in range(2):
        answer = asked(outside(DeadlineMiddleware(application)), "Response-Deadline: 300")
        assert answer.endswith(BODY)
    assert said == []
    assert ["must be the outermost" in r.getMessage() for r in caplog.records] == [True]


def test_a_socket_that_refuses_changes_no_response(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_connection: object, **_values: int) -> bool:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(target.sockets, "hint", refuses)
    assert asked(DeadlineMiddleware(application), "Response-Deadline: 300").endswith(BODY)


@given(st.binary(max_size=60))
def test_whatever_the_header_says_it_is_a_time_or_nothing(value: bytes) -> None:
    parsed = target.parse([value])
    assert parsed is None or 0 < parsed <= target.MOST_MS


@given(st.floats(0.001, target.MOST_MS), st.floats(0, 1e4), st.floats(0, 3600))
def test_what_is_left_is_never_nothing_nor_more_than_the_target(
    target_ms: float, rtt_ms: float, passed_s: float
) -> None:
    left_ms = Target(target_ms, 5.0).left_ms(rtt_ms, 5.0 + passed_s)
    assert 1 <= left_ms <= max(1, round(target_ms))


def test_below_the_round_trip_less_is_left_than_the_last_byte_needs() -> None:
    # at most half a round trip is left, for which eq. 7.1 gives no rate
    assert Target(199.0, 0.0).left_ms(200.0, 0.0) < 100
    assert Target(300.0, 0.0).left_ms(200.0, 0.0) == 200
