"""The hints of applications: Python has the same values as include/headway.h."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support import HANGS_S, ROOT

from headway import sockets
from headway.errors import HeadwayError

HEADER = (ROOT / "include" / "headway.h").read_text()


def test_numbers_are_those_of_the_c_header() -> None:
    defined = dict(re.findall(r"#define (TCP_\w+)\s+(\w+)", HEADER))
    for name in [name for name in vars(sockets) if name.startswith("TCP_")]:
        assert getattr(sockets, name) == int(defined.pop(name), 0), name
    for kind in sockets.ApplicationType:
        assert kind == int(defined.pop(f"TCP_APPLICATION_{kind.name}"))
    for grant in sockets.Grant:
        assert grant == int(defined.pop(f"TCP_GRANT_{grant.name}"))
    assert not defined


def test_the_structure_has_the_size_of_the_c_header(tmp_path: Path) -> None:
    size = f'_Static_assert(sizeof(struct tcp_startup_info) == {sockets._INFO.size}, "");'
    source = tmp_path / "size.c"
    source.write_text(f"{HEADER}\n{size}\n")
    subprocess.run(["cc", "-c", "-o", "/dev/null", source], check=True)


def test_a_value_out_of_range_is_named() -> None:
    with socket.socket() as connection:
        with pytest.raises(HeadwayError, match="initial_rate_bps = -1"):
            sockets.hint(connection, initial_rate_bps=-1)
        with pytest.raises(HeadwayError, match="deadline_ms"):
            sockets.hint(connection, deadline_ms=2**32)


def test_the_example_uploads_where_nobody_takes_hints() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address, port = server.getsockname()
        example = ROOT / "examples" / "fast_upload.py"
        with subprocess.Popen(
            [sys.executable, example, address, str(port)], stdout=subprocess.PIPE
        ) as upload:
            connection, _ = server.accept()
            received = 0
            with connection:
                while data := connection.recv(1 << 16):
                    received += len(data)
            assert upload.wait(timeout=HANGS_S) == 0
    assert received == 1_000_000
