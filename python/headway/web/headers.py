"""How the proxy changes the head of a message (RFC 9110 section 7, RFC 9112 section 6.1)."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

from headway.web import target

Headers = list[tuple[bytes, bytes]]

HEAD_BYTES = 16_384
"""Longer heads are refused."""

_OF_ONE_HOP = {
    *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization"),
    *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
}
# The proxy answers Expect, because it sends the head to the upstream when the body arrives. A
# deadline applies to the clients' connections: a second proxy would also pace its connection to
# this one by it.
_HANDLED_HERE = {b"expect", target.HEADER.lower().encode()}


class ForwardedFor(enum.StrEnum):
    """Which origin of the request the proxy reports to the upstream."""

    SET = "set"
    """The connected client; its own statements on earlier hops are dropped."""
    APPEND = "append"
    """The client's statements, and the client: if the client is a trusted proxy."""
    OFF = "off"
    """The proxy reports no origin, and drops the client's statements."""


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
    # HTTP's methods are upper-case, and servers differ in how they treat lower-case ones
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
    """The headers without hop-by-hop headers and without those that Connection names."""
    known = [(name.lower(), value) for name, value in headers]
    named = {
        token.strip().lower()
        for name, value in known
        if name == b"connection"
        for token in value.split(b",")
    }
    # a request must not remove its own length or host
    dropped = _OF_ONE_HOP | (named - {b"content-length", b"host"})
    return [(name, value) for name, value in known if name not in dropped]


def for_upstream(scope: Mapping[str, Any], forwarded_for: ForwardedFor, via: str) -> Headers:
    """The headers of a request for the upstream."""
    headers = [pair for pair in end_to_end(scope["headers"]) if pair[0] not in _HANDLED_HERE]
    if any(name == b"transfer-encoding" for name, _ in scope["headers"]):
        headers.append((b"transfer-encoding", b"chunked"))
    return _with_origin(headers, scope, forwarded_for) + _via(scope["http_version"], via)


def _with_origin(headers: Headers, scope: Mapping[str, Any], how: ForwardedFor) -> Headers:
    """The headers with the reported origin, replacing all other headers on the origin."""
    is_trusted = how is ForwardedFor.APPEND
    # many servers treat _ as -, and a trusted proxy does not need it
    kept = [
        (name, value)
        for name, value in headers
        if not _names_origin(name) or (is_trusted and b"_" not in name)
    ]
    if how is ForwardedFor.OFF or not scope.get("client"):
        return kept
    chain = [value for name, value in kept if name == b"x-forwarded-for"]
    origin_headers = [(b"x-forwarded-for", b", ".join([*chain, scope["client"][0].encode()]))]
    if not is_trusted:  # a trusted proxy knows the scheme, and this proxy does not
        origin_headers.append((b"x-forwarded-proto", scope["scheme"].encode()))
    return [pair for pair in kept if pair[0] != b"x-forwarded-for"] + origin_headers


def _names_origin(name: bytes) -> bool:
    """Whether a header reports an earlier hop's client, or the address it requested."""
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
