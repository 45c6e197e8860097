"""The server of a site on a host of the testbed: nginx with a given congestion control.

If clients state target times (deadlines), the proxy of headway.web runs before nginx and accepts
the clients' connections.

This module is a program for ``headwayctl testbed exec``: it prints "ready", serves until the
visitor has written its results, and prints a summary. The program creates the listening socket, so
that the socket's hints apply to the connections that nginx accepts from it.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

from headway import sockets
from headway.errors import HeadwayError
from headway.web import origin
from headway.web.parent import end_with_parent

_POLL_S = 0.05
_LINGER_S = 0.3
_NGINX_ADDRESS = "127.0.0.1:8080"
"""Address of nginx behind the proxy. The port can be fixed, because each run has its own network
namespace."""
_CONFIG = """
daemon off; user root; worker_processes 1; pid {files.pid}; error_log {files.log} crit;
events {{ worker_connections 512; }}
http {{
  access_log off; sendfile on; tcp_nodelay on; server_tokens off; etag off;
  client_body_temp_path {files.temporary}; proxy_temp_path {files.temporary};
  fastcgi_temp_path {files.temporary}; uwsgi_temp_path {files.temporary};
  scgi_temp_path {files.temporary};
  types {{
    text/html html; text/css css; text/javascript js; application/json json;
    image/png png; model/gltf-binary glb; application/octet-stream pack;
  }}
  server {{
    listen {address}; root {root}; keepalive_timeout {keep_s}; keepalive_requests 1000;
    # close the connections of a city's program, so that its data cannot reuse them
    location /program/ {{ keepalive_timeout 0; }}
  }}
}}
"""


def main() -> None:
    """Serve a folder; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m headway.browser.serve")
    parser.add_argument("--address", required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--control", required=True)
    parser.add_argument("--initial-rate", type=int)
    parser.add_argument("--data-volume", type=int)
    parser.add_argument("--targets", action="store_true")
    parser.add_argument("--close", action="store_true")
    parser.add_argument("--until", type=Path, required=True)
    parser.add_argument("--end", type=int, required=True)
    options = parser.parse_args()
    end_with_parent(signal.SIGKILL)
    try:
        with tempfile.TemporaryDirectory() as folder:
            _serve(options, Path(folder))
    except HeadwayError as error:
        sys.exit(f"error: {error}")
    print(json.dumps({"ended_ns": time.monotonic_ns()}), flush=True)


def _serve(options: argparse.Namespace, folder: Path) -> None:
    config = _CONFIG.format(
        files=origin.Files(folder),
        address=_NGINX_ADDRESS if options.targets else options.address,
        root=origin.quoted(options.root),
        keep_s=0 if options.close else 600,
    )
    if options.targets:
        with origin.running(config, folder):
            _serve_behind_proxy(options)
        return
    with _listening_socket(options) as at, origin.running(config, folder, at):
        print("ready", flush=True)
        _wait(options)


def _serve_behind_proxy(options: argparse.Namespace) -> None:
    """Run the proxy before nginx. The proxy sets the hints for target times on clients' sockets."""
    import uvicorn

    from headway.web import serve

    settings = serve.Settings(
        listen=options.address, upstream=f"http://{_NGINX_ADDRESS}", control=options.control
    )
    config = serve.configuration(settings)
    if options.close:
        config.headers.append(("Connection", "close"))
    server = uvicorn.Server(config)

    def end() -> None:
        _wait(options)
        server.should_exit = True

    with serve.listening(options.address, options.control) as at:
        _set_hints(at, options)
        print("ready", flush=True)
        threading.Thread(target=end, daemon=True).start()
        server.run(sockets=[at])


def _wait(options: argparse.Namespace) -> None:
    """Wait until the visitor is done."""
    while not options.until.exists() and time.monotonic_ns() < options.end:
        time.sleep(_POLL_S)
    time.sleep(_LINGER_S)  # the last acknowledgements


def _listening_socket(options: argparse.Namespace) -> socket.socket:
    host, _, port = options.address.rpartition(":")
    at = socket.socket()
    at.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    at.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, options.control.encode())
    _set_hints(at, options)
    at.bind((host, int(port)))
    at.listen(512)
    return at


def _set_hints(at: socket.socket, options: argparse.Namespace) -> None:
    """Set hints on the listening socket; every connection that it accepts inherits them."""
    if options.initial_rate or options.data_volume:
        hints = {"initial_rate_bps": options.initial_rate, "data_volume_bytes": options.data_volume}
        if not sockets.hint(at, **hints):
            raise HeadwayError("no program receives hints on this host")


if __name__ == "__main__":
    main()
