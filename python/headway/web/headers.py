"""How the proxy changes the head of a message (RFC 9110 section 7, RFC 9112 section 6.1)."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

from headway.web import target

Headers = list[tuple[bytes, bytes]]

HEAD_BYTES = 16_384
"""Longest head of a request that the proxy accepts."""

_OF_ONE_HOP = {
    *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization"),
    *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
}
# Headers that the proxy does not pass on. The proxy answers Expect itself, because it sends a
# request's head to the upstream only when the body arrives. A deadline applies only to the
# connection of the client: an upstream that is a proxy, too, would pace its connection to this
# proxy by the deadline.
_HANDLED_HERE = {b"expect", target.HEADER.lower().encode()}


class ForwardedFor(enum.StrEnum):
    """Which client address the proxy reports to the upstream as the origin of a request."""

    SET = "set"
    """Report the connected client's address; drop the client's own headers on the origin."""
    APPEND = "append"
    """Add the client's address to the client's headers on the origin. For a client that is a
    trusted proxy."""
    OFF = "off"
    """Report no origin; drop the client's own headers on the origin."""


def refusal(scope: Mapping[str, Any]) -> tuple[int, str] | None:
    """Status and reason for refusing a request; None if it can be passed on.

    The proxy has one upstream, so it refuses a target that names a host. It also refuses framing
    that two servers could interpret differently.
    """
    method, path = scope["method"], scope["raw_path"]
    framing = {name for name, _ in scope["headers"]} & {b"content-length", b"transfer-encoding"}
    head_bytes = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    if head_bytes + len(path) + len(scope["query_string"]) > HEAD_BYTES:
        return 431, f"the head is longer than {HEAD_BYTES} bytes"
    # refuse a method with lower-case letters, since servers differ in how they treat it
    if method != method.upper() or method in ("CONNECT", "TRACE"):
        return 405 if method in ("CONNECT", "TRACE") else 501, f"{method} is not served here"
    if not (path.startswith(b"/") or (path == b"*" and method == "OPTIONS")):
        return 400, "the target must be a path"
    if len(framing) > 1:
        return 400, "Content-Length and Transfer-Encoding at once"
    if b"transfer-encoding" in framing and scope["http_version"] == "1.0":
        return 400, "HTTP/1.0 has no Transfer-Encoding"
    return None


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers without hop-by-hop headers, and without headers that Connection names."""
    known = [(name.lower(), value) for name, value in headers]
    named = {
        token.strip().lower()
        for name, value in known
        if name == b"connection"
        for token in value.split(b",")
    }
    # a Connection header that names Content-Length or Host must not remove those headers
    dropped = _OF_ONE_HOP | (named - {b"content-length", b"host"})
    return [(name, value) for name, value in known if name not in dropped]


def for_upstream(scope: Mapping[str, Any], forwarded_for: ForwardedFor, via: str) -> Headers:
    """The headers of a request for the upstream."""
    headers = [pair for pair in end_to_end(scope["headers"]) if pair[0] not in _HANDLED_HERE]
    if any(name == b"transfer-encoding" for name, _ in scope["headers"]):
        headers.append((b"transfer-encoding", b"chunked"))
    return _with_origin(headers, scope, forwarded_for) + _via(scope["http_version"], via)


def _with_origin(headers: Headers, scope: Mapping[str, Any], how: ForwardedFor) -> Headers:
    """Replace the client's headers on the origin by the origin that the proxy reports."""
    is_trusted = how is ForwardedFor.APPEND
    # drop header names with "_", which many servers treat as "-"; a trusted proxy sends no such
    # names
    kept = [
        (name, value)
        for name, value in headers
        if not _names_origin(name) or (is_trusted and b"_" not in name)
    ]
    if how is ForwardedFor.OFF or not scope.get("client"):
        return kept
    chain = [value for name, value in kept if name == b"x-forwarded-for"]
    origin_headers = [(b"x-forwarded-for", b", ".join([*chain, scope["client"][0].encode()]))]
    if not is_trusted:  # a trusted proxy reports the client's scheme itself
        origin_headers.append((b"x-forwarded-proto", scope["scheme"].encode()))
    return [pair for pair in kept if pair[0] != b"x-forwarded-for"] + origin_headers


def _names_origin(name: bytes) -> bool:
    """Whether a header reports the client of an earlier proxy, or the address it requested."""
    name = name.replace(b"_", b"-")
    return name.startswith(b"x-forwarded-") or name in (b"forwarded", b"x-real-ip")


def for_client(headers: Iterable[tuple[bytes, bytes]], via: str) -> Headers:
    """The headers of a response for the client; chunked framing overrides Content-Length."""
    known = [(name.lower(), value) for name, value in headers]
    is_chunked = any(name == b"transfer-encoding" for name, _ in known)
    passed = [
        pair for pair in end_to_end(known) if not (is_chunked and pair[0] == b"content-length")
    ]
    return passed + _via("1.1", via)


def _via(version: str, name: str) -> Headers:
    return [(b"via", f"{version} {name}".encode())] if name else []
