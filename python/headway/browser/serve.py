"""The server of a site on a host of the testbed: nginx with a given congestion control.

With targets, the proxy of headway.web runs before nginx and has the clients' connections.

It is a program for ``headwayctl testbed exec``: it prints "ready", serves until the visitor has
written its results, and prints a summary. It creates the listening socket, so that the socket's
hints apply to the connections that nginx accepts from it.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

from headway import sockets
from headway.browser.chromium import ends_with_parent
from headway.errors import HeadwayError
from headway.web import origin

_POLL_S = 0.05
_LINGER_S = 0.3
_BEHIND = "127.0.0.1:8080"
"""Address of nginx behind a proxy; each run has a separate host."""
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
    """Serve a folder; see the module."""
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
    told = parser.parse_args()
    ends_with_parent()
    try:
        with tempfile.TemporaryDirectory() as folder:
            _serve(told, Path(folder))
    except HeadwayError as error:
        sys.exit(f"error: {error}")
    print(json.dumps({"ended_ns": time.monotonic_ns()}), flush=True)


def _serve(told: argparse.Namespace, folder: Path) -> None:
    config = _CONFIG.format(
        files=origin.Files(folder),
        address=_BEHIND if told.targets else told.address,
        root=origin.quoted(told.root),
        keep_s=0 if told.close else 600,
    )
    if told.targets:
        with origin.running(config, folder):
            _before(told)
        return
    with _listening(told) as at, origin.running(config, folder, at):
        print("ready", flush=True)
        _wait(told)


def _before(told: argparse.Namespace) -> None:
    """Run the proxy before nginx, which sets the targets' hints on the clients' sockets."""
    import uvicorn

    from headway.web import serve

    settings = serve.Settings(
        listen=told.address, upstream=f"http://{_BEHIND}", control=told.control
    )
    config = serve.configuration(settings)
    if told.close:
        config.headers.append(("Connection", "close"))
    server = uvicorn.Server(config)

    def end() -> None:
        _wait(told)
        server.should_exit = True

    with serve.listening(told.address, told.control) as at:
        _say(at, told)
        print("ready", flush=True)
        threading.Thread(target=end, daemon=True).start()
        server.run(sockets=[at])


def _wait(told: argparse.Namespace) -> None:
    """Wait until the visitor is done."""
    while not told.until.exists() and time.monotonic_ns() < told.end:
        time.sleep(_POLL_S)
    time.sleep(_LINGER_S)  # the last acknowledgements


def _listening(told: argparse.Namespace) -> socket.socket:
    host, _, port = told.address.rpartition(":")
    at = socket.socket()
    at.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    at.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, told.control.encode())
    _say(at, told)
    at.bind((host, int(port)))
    at.listen(512)
    return at


def _say(at: socket.socket, told: argparse.Namespace) -> None:
    """Set the hints of every connection that the socket accepts."""
    if told.initial_rate or told.data_volume:
        said = {"initial_rate_bps": told.initial_rate, "data_volume_bytes": told.data_volume}
        if not sockets.hint(at, **said):
            raise HeadwayError("no program receives hints on this host")


if __name__ == "__main__":
    main()
