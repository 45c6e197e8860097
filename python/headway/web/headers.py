"""What a proxy does with the head of a message (RFC 9110 section 7, RFC 9112 section 6.1)."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

Headers = list[tuple[bytes, bytes]]

HEAD_BYTES = 16_384
"""A head that is longer is refused."""

_OF_ONE_HOP = {
    *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization"),
    *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
}
_OF_THE_CLIENT = {b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"forwarded"}


class ForwardedFor(enum.StrEnum):
    """Whom the upstream is told the request is from."""

    SET = "set"
    """The client that is connected; what it says of others before it is not passed on."""
    APPEND = "append"
    """The same after what the client says: where the client is a proxy that is trusted."""
    OFF = "off"
    """Nothing, and nothing that the client says."""


def refusal(scope: Mapping[str, Any]) -> tuple[int, str] | None:
    """Status and reason for a request that is not passed on; None: it is.

    There is one upstream, so a target that names a host is refused, and so is framing that two
    servers could read in two ways.
    """
    method, path = scope["method"], scope["raw_path"]
    framing = {name for name, _ in scope["headers"]} & {b"content-length", b"transfer-encoding"}
    head_bytes = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    if head_bytes + len(path) + len(scope["query_string"]) > HEAD_BYTES:
        return 431, f"the head is longer than {HEAD_BYTES} bytes"
    if method in ("CONNECT", "TRACE"):
        return 405, f"{method} is not served here"
    if not (path.startswith(b"/") or (path == b"*" and method == "OPTIONS")):
        return 400, "the target must be a path"
    if len(framing) > 1:
        return 400, "Content-Length and Transfer-Encoding at once"
    if b"transfer-encoding" in framing and scope["http_version"] == "1.0":
        return 400, "HTTP/1.0 has no Transfer-Encoding"
    return None


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Without those of one hop, and without those that Connection names."""
    known = [(name.lower(), value) for name, value in headers]
    named = {
        token.strip().lower()
        for name, value in known
        if name == b"connection"
        for token in value.split(b",")
    }
    # a request must not make its own length or host disappear
    dropped = _OF_ONE_HOP | (named - {b"content-length", b"host"})
    return [(name, value) for name, value in known if name not in dropped]


def for_upstream(scope: Mapping[str, Any], forwarded_for: ForwardedFor, via: str) -> Headers:
    """Those of a request as the upstream gets them."""
    given = end_to_end(scope["headers"])
    # we answer Expect ourselves: by the time the upstream is asked, the body comes
    dropped = _OF_THE_CLIENT | {b"expect"}
    headers = [(name, value) for name, value in given if name not in dropped]
    if any(name == b"transfer-encoding" for name, _ in scope["headers"]):
        headers.append((b"transfer-encoding", b"chunked"))
    if forwarded_for is not ForwardedFor.OFF and scope.get("client"):
        before = [v for k, v in given if k == b"x-forwarded-for"]
        chain = before if forwarded_for is ForwardedFor.APPEND else []
        headers += [
            (b"x-forwarded-for", b", ".join([*chain, scope["client"][0].encode()])),
            (b"x-forwarded-proto", scope["scheme"].encode()),
        ]
    return headers + _via(scope["http_version"], via)


def for_client(headers: Iterable[tuple[bytes, bytes]], via: str) -> Headers:
    """Those of a response as the client gets them; of two lengths the chunks' counts."""
    known = [(name.lower(), value) for name, value in headers]
    is_chunked = any(name == b"transfer-encoding" for name, _ in known)
    passed = [
        pair for pair in end_to_end(known) if not (is_chunked and pair[0] == b"content-length")
    ]
    return passed + _via("1.1", via)


def _via(version: str, name: str) -> Headers:
    return [(b"via", f"{version} {name}".encode())] if name else []
