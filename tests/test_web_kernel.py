"""Page loads that the kernel backend cannot run are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.experiment import Dumbbell, Experiment, Flow, Pages

RTT_MS = 40


def loads(tmp_path: Path, *, deadline: str | None = None, **fields: object) -> Experiment:
    """Two objects, the second after the first, and a second page with one."""
    file = tmp_path / "pages.csv"
    file.write_text(
        "page,request_bytes,response_bytes,think_ns,after,start_ns\n"
        "0,400,30000,100000000,,\n0,200,50000,,0,20000000\n1,120,1000,,,\n"
    )
    app = Pages.model_validate({"file": file, "connections": 1, **fields})
    flow = Flow.model_validate({"app": app, "control": "cubic+mega-start", "deadline": deadline})
    path = Dumbbell.model_validate(
        {"rate": "10 Mbit/s", "rtt": f"{RTT_MS} ms", "buffer": "100 pkts"}
    )
    return Experiment.model_validate({"topology": path, "flows": [flow], "duration": "2 s"})


def test_what_the_kernel_backend_cannot_load_is_one_line(tmp_path: Path) -> None:
    from headway.backends.kernel import supported

    for fields, says in (
        ({"http": "2", "deadline": "1 s"}, "http 2, keepalive_requests"),
        ({"keepalive_requests": 5, "deadline": "1 s"}, "not possible with a deadline"),
        ({"keepalive_timeout": "1 us"}, "keepalive_timeout: at least 1 ms"),
        ({"deadline": "500 us"}, "whole ms"),
    ):
        with pytest.raises(HeadwayError, match=f"^kernel backend: .*{says}"):
            supported.check(loads(tmp_path, **fields))
    for column, says in (
        ("request_bytes,response_bytes,serve_ns\n300,1000,5\n", "serve_ns: nginx answers at once"),
        ("request_bytes,response_bytes\n9000,10000\n", "request_bytes: 9000 is not allowed"),
    ):
        made = loads(tmp_path)
        (tmp_path / "pages.csv").write_text(column)
        app = Pages.model_validate({"file": tmp_path / "pages.csv"})
        flow = made.flows[0].model_copy(update={"app": app})
        with pytest.raises(HeadwayError, match=f"^kernel backend: .*{says}"):
            supported.check(made.model_copy(update={"flows": (flow,)}))
