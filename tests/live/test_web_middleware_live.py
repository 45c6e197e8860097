"""The remaining time that the middleware sets on a socket, and the kernel's round-trip time.

The time between request and response is seconds, so that a busy machine matters little.
"""

from typing import Any

from test_web_middleware import BODY, application, asked, said  # noqa: F401 - said is a fixture

from headway.web import middleware, target
from headway.web.middleware import DeadlineMiddleware


def test_the_socket_gets_the_volume_and_the_remaining_time(said: list[dict[str, int]]) -> None:
    answer = asked(DeadlineMiddleware(application), "Response-Deadline: 5000")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert body == BODY
    (told,) = said
    # when the server responds, half of the RTT and the server's processing time have passed
    assert 0 < told["deadline_ms"] <= 5000 - 30
    assert len(answer) <= told["data_volume_bytes"] + len("date, server") + 100
    assert told["data_volume_bytes"] - len(BODY) <= len(head) + 100


def test_the_round_trip_is_that_of_the_kernel(said: list[dict[str, int]]) -> None:
    seen: list[float] = []

    async def looks(scope: Any, receive: Any, send: Any) -> None:
        transport = middleware.transport_of(send)
        assert transport is not None
        seen.append(target_round_trip(transport.get_extra_info("socket")))
        await application(scope, receive, send)

    asked(looks)
    assert len(seen) == 1
    assert 0 < seen[0] < 1000  # loopback, in ms


target_round_trip = target.round_trip_ms
