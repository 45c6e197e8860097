"""``headway web-proxy``: a reverse proxy that handles deadlines for any Web server."""

from __future__ import annotations

from typing import Annotated

import typer

from headway.errors import HeadwayError


def web_proxy(
    upstream: Annotated[
        str,
        typer.Option("--upstream", metavar="URL", help="Server to forward to: http://HOST:PORT."),
    ],
    listen: Annotated[
        str, typer.Option("--listen", metavar="ADDRESS:PORT", help="Address clients connect to.")
    ] = "127.0.0.1:8000",
    control: Annotated[
        str | None,
        typer.Option(
            "--control", metavar="NAME", help="Congestion control of the clients' connections."
        ),
    ] = None,
    forwarded_for: Annotated[
        str,
        typer.Option(
            "--forwarded-for",
            metavar="set|append|off",
            help="X-Forwarded-For: set it to the client, append the client, or leave it out.",
        ),
    ] = "set",
    via: Annotated[
        str, typer.Option("--via", metavar="NAME", help="This proxy's name in Via; '' for none.")
    ] = "headway",
    connections: Annotated[
        int, typer.Option("--connections", min=1, help="Most clients at a time; others get 503.")
    ] = 1000,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Log responses with a target time, and their rate.")
    ] = False,
) -> None:
    """Reverse proxy that passes clients' deadlines to TCP."""
    try:
        from headway.web.headers import ForwardedFor
        from headway.web.serve import Settings, serve
    except ModuleNotFoundError as missing:
        raise HeadwayError(f"web-proxy needs {missing.name}: pip install 'headway[web]'") from None
    if forwarded_for not in list(ForwardedFor):
        raise HeadwayError(f"--forwarded-for {forwarded_for}: must be set, append or off")
    serve(
        Settings(
            listen=listen,
            upstream=upstream,
            control=control,
            forwarded_for=ForwardedFor(forwarded_for),
            via=via,
            connections=connections,
            verbose=verbose,
        )
    )
