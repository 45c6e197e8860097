"""A web application whose responses arrive by the deadlines that clients state.

    uvicorn --app-dir examples deadlines:app

GET /N answers with N bytes. The request header Response-Deadline states the deadline in ms, and the
middleware passes it to the connection's socket (docs/deadlines.md).
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from headway.web.middleware import DeadlineMiddleware

Message = MutableMapping[str, Any]
MOST_BYTES = 1 << 30


async def zeros(
    scope: Message,
    _receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    """Any ASGI application works; this one needs no framework."""
    if scope["type"] != "http":
        return
    size = scope["path"].removeprefix("/")
    known = size.isascii() and size.isdecimal() and int(size) <= MOST_BYTES
    body = bytes(int(size)) if known else b"ask for /N, N bytes up to 2**30\n"
    headers = [(b"content-length", str(len(body)).encode())]
    status = 200 if known else 404
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


app = DeadlineMiddleware(zeros)
"""The middleware must be outermost, because it looks for the client's socket."""
