"""Loads pages from nginx through the proxy in the testbed.

The tests only assert minimum times, because a busy machine can only make loading slower.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from test_web_kernel import RTT_MS, loads

from headway.backends.kernel import KernelBackend
from headway.backends.kernel.headwayctl import unusable
from headway.experiment import Flow, Pages


@pytest.mark.kernel
@pytest.mark.skipif(unusable() is not None, reason=f"kernel backend: {unusable()}")
@pytest.mark.parametrize(("http", "deadline"), [("1.1", "90 ms"), ("1.0", "90 ms")])
def test_pages_load_through_the_proxy(tmp_path: Path, http: str, deadline: str) -> None:
    trace = KernelBackend().run(loads(tmp_path, http=http, deadline=deadline))
    rows = trace["responses"].sort("epoch")
    assert rows["epoch"].to_list() == [0, 1, 2]
    begins, ends = rows["start_ns"].to_list(), rows["end_ns"].to_list()
    # The client requests object 1 20 ms after object 0, which links to it. It requests object 2,
    # the next page, 100 ms after object 1.
    assert begins[1] >= ends[0] + 20_000_000
    assert begins[2] >= ends[1] + 100_000_000
    for begin, end in zip(begins, ends, strict=True):
        assert end - begin >= RTT_MS * 1e6
    delivered = trace["flow_counters"]["delivered_bytes"][-1]
    assert delivered == pytest.approx(81_000, abs=3 * 60)


@pytest.mark.kernel
@pytest.mark.skipif(unusable() is not None, reason=f"kernel backend: {unusable()}")
def test_every_http_loads_pages_side_by_side(tmp_path: Path) -> None:
    ways = (("1.0", 6), ("1.1", 6), ("1.1-pipelined", 1), ("2", 1))
    one = loads(tmp_path)
    (tmp_path / "pages.csv").write_text(
        "request_bytes,response_bytes,after\n300,30000,\n300,20000,0\n300,1000,0\n"
    )
    flows = []
    for http, connections in ways:
        fields = {"file": tmp_path / "pages.csv", "http": http, "connections": connections}
        app = Pages.model_validate({**fields, "keepalive_requests": 3, "keepalive_timeout": "1 s"})
        flows.append(Flow.model_validate({"app": app, "control": "cubic"}))
    trace = KernelBackend().run(one.model_copy(update={"flows": tuple(flows)}))
    for number, (http, _) in enumerate(ways):
        rows = trace["responses"].filter(pl.col("flow") == number).sort("epoch")
        assert rows["epoch"].to_list() == [0, 1, 2], http
        assert rows["start_ns"][1] == rows["start_ns"][2], f"HTTP/{http}: asked for at once"
        assert rows["start_ns"][1] >= rows["end_ns"][0]


@pytest.mark.kernel
@pytest.mark.skipif(unusable() is not None, reason=f"kernel backend: {unusable()}")
def test_what_is_smaller_than_a_head_is_noted(tmp_path: Path) -> None:
    made = loads(tmp_path)
    (tmp_path / "pages.csv").write_text(
        "request_bytes,response_bytes,after\n300,249,\n20,250,0\n30,100,0\n300,9000,0\n"
    )
    app = Pages.model_validate({"file": tmp_path / "pages.csv"})
    flow = made.flows[0].model_copy(update={"app": app})
    trace = KernelBackend().run(made.model_copy(update={"flows": (flow,)}))
    told = [note for note in trace.meta["notes"] if "larger" in note]
    assert told == [
        f"cubic-0: 2 {of} were larger than the file says, because of their heads"
        for of in ("requests", "responses of its file")
    ]
