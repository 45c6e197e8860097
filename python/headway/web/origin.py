"""A Web server for measurements: nginx with files of given sizes, optionally behind the proxy.

    python -m headway.web.origin --listen ADDRESS:PORT --sizes FILE --folder DIR

FILE has one line per object: the bytes of its response including the head. Object N is /N. The
program prints "ready", and ends on SIGTERM or when its parent ends.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from headway.errors import HeadwayError
from headway.sockets import hint
from headway.web.parent import end, end_with_parent
from headway.web.serve import Settings, configuration, listening

HEAD_BYTES = 250
"""Approximate size of the head of nginx's responses, including the proxy's headers."""
_PORT_ON = 10_000
"""nginx behind the proxy listens on loopback, at the proxy's port plus this number."""
_START_S = 10.0

# With sendfile, a response's head would be sent as a separate packet. tcp_nopush avoids that, but
# it turns TCP_NODELAY off
# permanently on a connection of HTTP/2: the end of each response would wait for all earlier ACKs.
_CONFIG = """
daemon off;
user root;
worker_processes 1;
pid {files.pid};
error_log {files.log};
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    default_type application/octet-stream;
    sendfile off;
    output_buffers 2 256k;
    tcp_nodelay on;
    keepalive_requests {keepalive.requests};
    keepalive_timeout {keepalive.idle_ms}ms;
    http2_chunk_size 16k;
    http2_max_concurrent_streams 1024;
    client_body_temp_path {files.temporary};
    proxy_temp_path {files.temporary};
    fastcgi_temp_path {files.temporary};
    uwsgi_temp_path {files.temporary};
    scgi_temp_path {files.temporary};
    server {{ listen {at}{version}; root {root}; }}
}}
"""


@dataclass(frozen=True)
class Keepalive:
    """When nginx closes a connection: after this number of requests, or this idle time."""

    requests: int = 1_000_000
    idle_ms: int = 3_600_000


@dataclass(frozen=True)
class Files:
    """Paths of nginx's own files, quoted for its configuration."""

    folder: Path

    @property
    def pid(self) -> str:
        """The pid file, which exists once nginx listens."""
        return quoted(self.folder / "nginx.pid")

    @property
    def log(self) -> str:
        """The error log."""
        return quoted(self.folder / "nginx.log")

    @property
    def temporary(self) -> str:
        """Folder for buffered bodies."""
        return quoted(self.folder / "temp")


def quoted(path: Path) -> str:
    """A path quoted for nginx's configuration. Raises HeadwayError if it cannot be quoted."""
    path_text = str(path)
    if "$" in path_text or not path_text.isprintable():
        raise HeadwayError(
            f"folder = {path_text!r}: nginx cannot serve a path with $ or non-text bytes"
        )
    return '"' + path_text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_files(sizes: Sequence[int], folder: Path) -> None:
    """Write one file per object, such that the response including its head has the given size."""
    folder.mkdir(parents=True)
    for number, size in enumerate(sizes):
        with (folder / str(number)).open("wb") as file:
            file.truncate(max(size - HEAD_BYTES, 0))


@contextlib.contextmanager
def nginx(
    at: str,
    folder: Path,
    listener: socket.socket | None = None,
    *,
    http: str = "1.1",
    keepalive: Keepalive = Keepalive(),
) -> Iterator[None]:
    """Run nginx at this address until the context ends, with ``listener`` or a socket of its own.

    It serves ``folder``/files, over HTTP/2 with prior knowledge if ``http`` is "2".

    Raises HeadwayError.
    """
    version = " http2" if http == "2" else ""
    text = _CONFIG.format(
        files=Files(folder),
        root=quoted(folder / "files"),
        at=at,
        version=version,
        keepalive=keepalive,
    )
    with running(text, folder, listener):
        yield


@contextlib.contextmanager
def running(config: str, folder: Path, listener: socket.socket | None = None) -> Iterator[None]:
    """Run nginx with this configuration until the context ends.

    Its pid file, log and temporary files are in the folder (``Files``). Raises HeadwayError if
    nginx does not start, or ends before the context.
    """
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        raise HeadwayError("nginx is not installed; a run with Web pages needs it (nginx-light)")
    path = folder / "nginx.conf"
    path.write_text(config, encoding="utf-8")
    # nginx uses the open listening sockets whose descriptors the variable NGINX names
    inherited = {}
    if listener is not None:
        listener.setblocking(False)
        inherited["NGINX"] = f"{listener.fileno()};"
    process = subprocess.Popen(
        [program, "-p", folder, "-e", folder / "nginx.log", "-c", path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # the log has the same text; an unread pipe could fill up
        env={**os.environ, **inherited},
        pass_fds=() if listener is None else (listener.fileno(),),
        process_group=0,
        preexec_fn=end_with_parent,  # noqa: PLW1509 (no threads yet)
    )
    try:
        _wait_for(folder, process)
        yield
        if process.poll() is not None:
            raise HeadwayError(
                f"nginx ended with status {process.returncode}: {_last_error(folder)}"
            )
    finally:
        end(process, within_s=10)


def _wait_for(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until nginx has written its pid file: then it listens.

    Connecting would be no test, because an inherited socket listens before nginx runs.
    """
    until = time.monotonic() + _START_S
    file = folder / "nginx.pid"
    while not (file.exists() and file.stat().st_size):  # the file exists before it has any content
        if process.poll() is not None or time.monotonic() > until:
            raise HeadwayError(f"nginx does not start: {_last_error(folder)}")
        time.sleep(0.01)


def _last_error(folder: Path) -> str:
    """The reason why nginx ended, from its log."""
    log = folder / "nginx.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    why = [line for line in lines if "[emerg]" in line] or lines[-1:]
    return why[0][-300:] if why else "its log is empty"


class _Server(uvicorn.Server):
    """uvicorn's server without signal handling, which would end the program before its summary."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _on_signals(then: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, then)


async def _serve_proxy(config: uvicorn.Config, at: socket.socket) -> None:
    server = _Server(config)

    def end() -> None:
        server.should_exit = True

    _on_signals(end)
    ready = asyncio.create_task(_print_ready(server))
    await server.serve(sockets=[at])
    ready.cancel()


async def _print_ready(server: uvicorn.Server) -> None:
    while not server.started:
        await asyncio.sleep(0.005)
    print("ready", flush=True)


def _set_hints(
    at: socket.socket, initial_rate_bps: int | None, data_volume_bytes: int | None
) -> None:
    """Set the hints of all connections that a socket will accept. Raises HeadwayError."""
    if initial_rate_bps is None and data_volume_bytes is None:
        return
    if not hint(at, initial_rate_bps=initial_rate_bps, data_volume_bytes=data_volume_bytes):
        raise HeadwayError("no program receives hints on this host (headwayctl hints attach)")


async def _wait_for_signal() -> None:
    stopped = asyncio.Event()
    _on_signals(stopped.set)
    print("ready", flush=True)
    await stopped.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM; return the exit status."""
    parser = argparse.ArgumentParser(prog="headway.web.origin")
    parser.add_argument("--listen", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--sizes", required=True, type=Path, metavar="FILE")
    parser.add_argument("--folder", required=True, type=Path, metavar="DIR")
    parser.add_argument("--control")
    parser.add_argument(
        "--http", choices=("1.1", "2"), default="1.1", help="HTTP version that nginx serves"
    )
    parser.add_argument(
        "--requests", type=int, default=Keepalive().requests, help="most requests per connection"
    )
    parser.add_argument(
        "--idle-ms",
        type=int,
        default=Keepalive().idle_ms,
        help="idle time after which a connection closes",
    )
    parser.add_argument(
        "--initial-rate",
        type=int,
        metavar="BIT/S",
        help="hint: initial rate of all connections, bit/s",
    )
    parser.add_argument(
        "--data-volume",
        type=int,
        metavar="BYTES",
        help="hint: volume that each connection will send, bytes",
    )
    parser.add_argument("--deadlines", action="store_true", help="run the proxy before nginx")
    options = parser.parse_args(arguments)
    end_with_parent()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    folder = options.folder.resolve()
    try:
        sizes = [int(line) for line in options.sizes.read_text().split()]
        write_files(sizes, folder / "files")
        with listening(options.listen, options.control) as at:
            _set_hints(at, options.initial_rate, options.data_volume)
            if options.deadlines:
                behind = f"127.0.0.1:{at.getsockname()[1] + _PORT_ON}"
                with nginx(behind, folder):
                    settings = Settings(listen=options.listen, upstream=f"http://{behind}")
                    asyncio.run(_serve_proxy(configuration(settings), at))
            else:
                keepalive = Keepalive(options.requests, options.idle_ms)
                with nginx(options.listen, folder, at, http=options.http, keepalive=keepalive):
                    asyncio.run(_wait_for_signal())
    except HeadwayError as error:
        print(f"headway.web.origin: {error}", file=sys.stderr)
        return 2
    larger = sum(size < HEAD_BYTES for size in sizes)
    print(json.dumps({"objects": len(sizes), "larger_responses": larger}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
