"""What a proxy does with the head of a message (RFC 9110 section 7, RFC 9112 section 6.1)."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

from headway.web import target

Headers = list[tuple[bytes, bytes]]

HEAD_BYTES = 16_384
"""A head that is longer is refused."""

_OF_ONE_HOP = {
    *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization"),
    *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
}
# we answer Expect ourselves: by the time the upstream is asked, the body comes; and a deadline is
# for the clients' connections: a second one that hears it would pace its inner one by it, too
_HEARD_HERE = {b"expect", target.HEADER.lower().encode()}


class ForwardedFor(enum.StrEnum):
    """Whom the upstream is told the request is from."""

    SET = "set"
    """The client that is connected; what it says of others before it is not passed on."""
    APPEND = "append"
    """What the client says, and the client: where it is a proxy that is trusted."""
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
    # HTTP has no methods in small letters, but servers differ in what they take them for
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
    headers = [pair for pair in end_to_end(scope["headers"]) if pair[0] not in _HEARD_HERE]
    if any(name == b"transfer-encoding" for name, _ in scope["headers"]):
        headers.append((b"transfer-encoding", b"chunked"))
    return _with_origin(headers, scope, forwarded_for) + _via(scope["http_version"], via)


def _with_origin(headers: Headers, scope: Mapping[str, Any], how: ForwardedFor) -> Headers:
    """With what the upstream is told of who asks, and nothing else of that kind."""
    is_trusted = how is ForwardedFor.APPEND
    # many servers take _ for -, and a proxy that is trusted has no need of it
    kept = [
        (name, value)
        for name, value in headers
        if not _names_origin(name) or (is_trusted and b"_" not in name)
    ]
    if how is ForwardedFor.OFF or not scope.get("client"):
        return kept
    chain = [value for name, value in kept if name == b"x-forwarded-for"]
    told = [(b"x-forwarded-for", b", ".join([*chain, scope["client"][0].encode()]))]
    if not is_trusted:  # a proxy before us knows the scheme, and we do not
        told.append((b"x-forwarded-proto", scope["scheme"].encode()))
    return [pair for pair in kept if pair[0] != b"x-forwarded-for"] + told


def _names_origin(name: bytes) -> bool:
    """Whether a header says who asks, or for which address, of a server before this one."""
    name = name.replace(b"_", b"-")
    return name.startswith(b"x-forwarded-") or name in (b"forwarded", b"x-real-ip")


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
