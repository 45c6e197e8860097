"""Response-time targets over HTTP: a client's deadline for the last byte is passed to TCP.

The targets implement section 7.1 of the thesis. `middleware` is for ASGI servers, and `proxy` is a
reverse proxy for any other Web server. Both need the package's extra "web". See docs/deadlines.md.
"""
