"""Response-time targets over HTTP: a client says when it wants the last byte, and TCP hears it.

Of the thesis' section 7.1. `middleware` is for ASGI servers, `proxy` stands before any other Web
server; both need the package's extra "web". docs/deadlines.md says how they are used.
"""
