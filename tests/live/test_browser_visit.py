"""Visits the city with Chromium over nginx at loopback and checks what arrived.

A visit takes a few seconds and may take 10 to 60 s. A visit that fails must end within 12 s
although it has 30 s.
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from headway.browser import chromium, sites, visit
from headway.errors import HeadwayError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.program() is None, reason="chromium is not installed"),
]
needs_the_city = [
    pytest.mark.skipif(
        shutil.which("nginx", path="/usr/sbin:/usr/bin") is None, reason="nginx is not installed"
    ),
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed"),
]


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    with chromium.browser(tmp_path_factory.mktemp("profile"), chromium.SOFTWARE_3D) as opened:
        yield opened


@contextlib.contextmanager
def served(root: Path, folder: Path) -> Iterator[str]:
    """The address of an nginx that serves a site as in runs of the kernel backend."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    over = folder / "over"
    command = [
        sys.executable, "-m", "headway.browser.serve", "--address", address, "--root", str(root),
        "--control", "reno", "--until", str(over), "--end", str(time.monotonic_ns() + 60 * 10**9),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield address
        finally:
            over.touch()
            process.wait(20)


def walked(
    window: chromium.Browser, address: str, *, connections: int = 1, seconds: float = 30.0
) -> dict[str, Any]:
    """The messages that a page sends at the beginning of a walk through the city."""
    told = argparse.Namespace(
        site="city",
        address=address,
        query=f"?walk=short&connections={connections}&fps=4",
        deadline_ms=None,
        stop=time.monotonic_ns() + round(seconds * 1e9),
    )
    return visit._one_visit(window, told)[1]


def city(folder: Path, without: Sequence[str] = ()) -> Path:
    """A copy of the city site that links to the original's data. Leaves out the named files."""
    whole = sites.site("city")
    shutil.copytree(whole / "program", folder / "program")
    (folder / "data").mkdir()
    for pack in (whole / "data").glob("*.pack"):
        if pack.name not in without:
            (folder / "data" / pack.name).symlink_to(pack)
    return folder


class TestACity:
    pytestmark = needs_the_city

    def test_a_walk_that_is_not_over_is_no_visit(
        self, window: chromium.Browser, tmp_path: Path
    ) -> None:
        with (
            served(sites.site("city"), tmp_path) as address,
            pytest.raises(
                HeadwayError, match=r"had not ended when the flow ended, with \d+ objects"
            ),
        ):
            walked(window, address, seconds=2.0)

    @pytest.mark.parametrize(
        ("damage", "connections"), [("missing", 1), ("cut", 6), ("no glTF", 1)]
    )
    def test_a_quarter_that_cannot_be_shown_is_said_at_once(
        self, damage: str, connections: int, window: chromium.Browser, tmp_path: Path
    ) -> None:
        name = "harbour-far.pack"
        root = city(tmp_path / "city", without=[name])
        whole = (sites.site("city") / "data" / name).read_bytes()
        at = root / "data" / name
        if damage == "cut":
            at.write_bytes(whole[:-1000])
        elif damage == "no glTF":
            at.write_bytes(re.sub(rb"glTF", b"gone", whole, count=1))
        said = {
            "missing": rf"/data/{name}: status 404",
            "cut": rf"/data/{name}: .*ends after \d+",
            "no glTF": r"/data/harbour/far/0\.glb: ",
        }
        began_s = time.monotonic()
        with (
            served(root, tmp_path) as address,
            pytest.raises(HeadwayError, match=f"^site city: .*{said[damage]}") as raised,
        ):
            walked(window, address, connections=connections)
        assert "\n" not in str(raised.value)
        assert time.monotonic() - began_s < 12, "and not when the run ends"


@pytest.mark.skipif(
    shutil.which("nginx", path="/usr/sbin:/usr/bin") is None, reason="nginx is not installed"
)
def test_a_pack_comes_in_the_same_tiles_over_one_connection_and_over_six(
    window: chromium.Browser, tmp_path: Path
) -> None:
    tiles = {f"/data/a/near/{number}.glb": 40_000 * number + 7 for number in range(9)}
    head = json.dumps(list(tiles.items())).encode() + b"\n"
    data = b"".join(bytes([number]) * size for number, size in enumerate(tiles.values()))
    root = tmp_path / "site"
    for name in ("program", "data"):
        (root / name).mkdir(parents=True)
    (root / "data" / "a.pack").write_bytes(head + data)
    shutil.copy(Path(sites.__file__).parent / "city" / "loader.js", root / "program")
    (root / "program" / "index.html").write_text(
        """<script>const told = {};
        const loader = new Worker("loader.js");
        const ask = connections => new Promise(done => {
          const got = [];
          loader.onmessage = ({ data }) => {
            const all = data.file ? [...new Set(new Uint8Array(data.file))] : [];
            got.push([data.path ?? data.wrong, data.file?.byteLength ?? data.bytes, all]);
            if (!data.file) done(got);
          };
          const pack = { pack: "/data/a.pack", bytes: 1 };
          loader.postMessage({ pack, connections, target: null });
        });</script>"""
    )
    with served(root, tmp_path) as address:
        window.new_context()
        window.open(f"http://{address}/program/index.html")
        whole, in_parts = window.value("ask(1)"), window.value("ask(6)")
    want = [
        [path, size, [number] if size else []] for number, (path, size) in enumerate(tiles.items())
    ]
    assert whole == [*want, ["/data/a.pack", 1, []]]
    assert in_parts[-1] == whole[-1], "the pack is there when its tiles are"
    assert sorted(in_parts) == sorted(whole)


class Recorder(http.server.BaseHTTPRequestHandler):
    """A page whose worker fetches objects like a site's worker, and its server's requests."""

    asked: dict[str, str | None]

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        type(self).asked[path] = self.headers.get(visit.HEADER)
        page = b"<script src=main.js></script>"
        script = (
            b"const loader = new Worker('loader.js');"
            b"const target = new URLSearchParams(location.search).get('target');"
            b"loader.onmessage = () => { window.city = { isOver: true, told: () => ({}) }; };"
            b"const pack = { pack: '/data/a.pack', bytes: 3 };"
            b"loader.postMessage({ pack, connections: 1, target });"
        )
        source = Path(sites.__file__).parent / "city" / "loader.js"
        kinds = {
            "/program/index.html": ("text/html", page),
            "/program/main.js": ("text/javascript", script),
            "/program/loader.js": ("text/javascript", source.read_bytes()),
            "/data/a.pack": ("application/octet-stream", b"[]\n"),
        }
        kind, content = kinds.get(path, ("text/plain", b""))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_every_request_of_a_city_states_the_target(window: chromium.Browser) -> None:
    """Chromium adds a header to a page's requests, but not to those of its workers."""
    Recorder.asked = {}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    told = argparse.Namespace(
        site="city",
        address=f"127.0.0.1:{server.server_port}",
        query="?walk=short",
        deadline_ms=250,
        stop=time.monotonic_ns() + 10 * 10**9,
    )
    visit._one_visit(window, told)
    server.shutdown()
    server.server_close()
    assert Recorder.asked["/program/index.html"] == "250"
    assert Recorder.asked["/data/a.pack"] == "250"
