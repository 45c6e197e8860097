"""Web pages: files read, written, refused in one line, and loaded over each version of HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support import headway

from headway import Dumbbell, Experiment, ExperimentError, Flow, Pages, Trace, Vectors, metrics, run
from headway.workloads import WebObject, page_table, read_pages, surge, write_pages
from headway.workloads.pages import visited

SITE = """\
# a document with a script that loads a picture, and a second page
page,request_bytes,response_bytes,serve_ns,think_ns,after,start_ns
0,400,20000,15000000,2000000000,,
0,300,30000,,,0,
0,350,90000,,,1,40000000
0,350,10000,,,0,
7,350,5000,,,,
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    file = tmp_path / "site.csv"
    file.write_text(SITE)
    return file


def loaded(app: Pages, duration: str = "10 s", **of_flow: object) -> Trace:
    flow = Flow.model_validate({"app": app, "control": "cubic", "start": "1 s", **of_flow})
    path = Dumbbell(rate="10 Mbit/s", rtt="100 ms", buffer="1 BDP")
    return run(Experiment(topology=path, flows=[flow], duration=duration))


@pytest.mark.parametrize("http", ["1.0", "1.1", "1.1-pipelined", "2"])
def test_pages_are_loaded_in_the_order_that_the_file_says(site, http):
    trace = loaded(Pages(file=site, http=http))
    whole = (0, trace.experiment.duration)
    rows = metrics.responses(trace, whole).sort("epoch")
    assert rows["epoch"].to_list() == [0, 1, 2, 3, 4]
    assert rows["response_bytes"].to_list() == [20_000, 30_000, 90_000, 10_000, 5000]
    starts, ends = (
        trace["responses"].sort("epoch")[name].to_numpy() for name in ("start_ns", "end_ns")
    )
    assert starts[1] == starts[3] == ends[0]
    assert starts[2] == ends[1] + 40_000_000
    pages = metrics.page_loads(trace, whole)
    assert pages["page"].to_list() == [0, 1]
    assert pages["objects"].to_list() == [4, 1]
    assert pages["bytes"].to_list() == [150_000, 5000]
    assert pages["start_ns"].to_list() == [1_000_000_000, ends[:4].max() + 2_000_000_000]
    assert pages["seconds"][0] == pytest.approx((ends[:4].max() - 1_000_000_000) / 1e9)
    assert trace.flows[0].kind == "pages"
    assert trace["flow_counters"]["delivered_bytes"][-1] == 155_000


def test_a_page_counts_from_its_beginning_and_only_when_it_is_whole(tmp_path):
    file = tmp_path / "late.csv"
    file.write_text(
        "page,request_bytes,response_bytes,after,start_ns\n"
        "0,300,1000,,50000000\n0,300,1000,,70000000\n1,300,90000000,,\n"
    )
    trace = loaded(Pages(file=file, connections=1))
    pages = metrics.page_loads(trace, (0, trace.experiment.duration))
    assert pages["page"].to_list() == [0]
    assert pages["start_ns"].to_list() == [1_000_000_000]
    assert 0.35 < pages["seconds"][0] < 0.37


def test_a_user_on_one_connection_waits_as_long_as_with_vectors(tmp_path):
    visits = surge.server("large", "1").visits("user", 60)
    table = visited(visits, 300)
    assert table.objects.tolist() == [len(page.files_bytes) for page in visits]
    assert table.think_ns.tolist() == [1000 * page.think_us for page in visits]
    write_pages(tmp_path / "user.csv", table)
    files = [(size, page) for page in visits for size in page.files_bytes]
    lasts = np.cumsum(table.objects.astype(np.int64)) - 1
    thinks = np.zeros(len(files), dtype=np.int64)
    thinks[lasts] = table.think_ns
    vectors = Vectors.model_construct(
        epochs=tuple((300, size, int(ns)) for (size, _), ns in zip(files, thinks, strict=True))
    )
    one = loaded(Pages(file=tmp_path / "user.csv", connections=1), "120 s")
    other = loaded(vectors, "120 s", nodelay=True)
    assert one["responses"].equals(other["responses"])
    assert metrics.page_loads(one).height > 5


def test_what_is_written_is_read_again(site, tmp_path):
    drawn = page_table(
        [
            ([WebObject(300, 1000), WebObject(400, 2000, after=0, serve_ns=3, start_ns=4)], 5),
            ([WebObject(500, 6000)], 0),
        ]
    )
    assert drawn.after.tolist() == [(1 << 32) - 1, 0, (1 << 32) - 1]
    for table in (read_pages(site), drawn):
        other = tmp_path / "other.csv"
        write_pages(other, table)
        again = read_pages(other)
        for name, column in vars(table).items():
            assert np.array_equal(column, getattr(again, name)), name
    assert other.read_text().startswith("page,start_ns,request_bytes,response_bytes,serve_ns,")


def test_what_is_wrong_in_a_file_is_one_line_with_its_line_and_column(site, monkeypatch):
    monkeypatch.chdir(site.parent)  # a long path would be shortened
    site.write_text(SITE.replace("0,350,10000,,,0,", "0,350,10000,,,3,"))
    with pytest.raises(ExperimentError, match=r"site.csv: line 6, after: 3 is not") as e:
        Pages(file=Path(site.name))
    assert "\n" not in str(e.value)
    with pytest.raises(ExperimentError, match="cannot read: No such file"):
        Pages(file=site.parent / "none.csv")


def test_what_cannot_be_is_refused_by_its_field(site):
    with pytest.raises(ExperimentError, match="connections: 6 is not allowed; 1 with HTTP/2"):
        Pages(file=site, http="2", connections=6)
    with pytest.raises(ExperimentError, match="connections: 7 is not allowed; at most 6"):
        Pages(file=site, connections=7)
    with pytest.raises(ExperimentError, match="http: "):
        Pages.model_validate({"file": site, "http": "3"})
    assert Pages(file=site).parallel == 6
    assert Pages(file=site, http="2").parallel == 1


def test_a_file_that_changed_since_is_refused(site):
    made = Pages(file=site)
    site.write_text(SITE.replace("90000", "80000"))
    with pytest.raises(ExperimentError, match="has changed since"):
        loaded(made)
    with pytest.raises(ExperimentError, match="has changed since its sha256 was recorded"):
        Pages.model_validate(made.model_dump())


def test_the_text_of_a_flow_names_a_file_and_how_it_is_fetched(site):
    flow = Flow.model_validate(f"cubic:pages={site}:http=1.1-pipelined:connections=2")
    assert flow.app == Pages(file=site, http="1.1-pipelined", connections=2)
    for text, said in [
        (f"cubic:pages={site}:size=1MB", "cannot be used with pages; leave one"),
        (f"cubic:pages={site}:exchanges={site}", "cannot be used with pages; leave one"),
        ("cubic:http=2", "http: is only for Web pages; name their file"),
        (f"cubic:pages={site}:http=3", "app.http: '3' is not allowed; one of '1.0', '1.1'"),
        (f"voip:pages={site}", "voip has no option 'pages'"),
    ]:
        with pytest.raises(ExperimentError, match=said):
            Flow.model_validate(text)


def test_deadlines_count_the_handshake_of_those_that_open_a_connection(tmp_path):
    file = tmp_path / "three.csv"
    file.write_text("request_bytes,response_bytes,after\n300,1000,\n300,1000,0\n300,1000,0\n")
    for http, connections, met in [
        ("1.0", 1, [True, True, True]),
        ("1.1", 2, [True, True, True]),
        ("1.1", 1, [True, True, True]),
    ]:
        app = Pages(file=file, http=http, connections=connections)
        rows = metrics.deadlines(loaded(app, deadline="120 ms"), (0, 10**10))
        assert rows["met"].to_list() == met, http
        rows = metrics.deadlines(loaded(app, deadline="90 ms"), (0, 10**10))
        assert rows["met"].to_list() == [False] * 3, http


@pytest.mark.slow
def test_try_loads_pages(site):
    done = headway("try", "--duration", "8s", "--json", "--flows", f"cubic:pages={site}:http=2")
    assert done.returncode == 0, done.stderr
    [flow] = json.loads(done.stdout)["flows"]
    assert flow["delivered_bytes"] > 100_000
    bad = headway("try", "--flows", "cubic:pages=none.csv")
    assert bad.returncode == 2
    assert bad.stderr.count("\n") == 1
    assert "none.csv: cannot read" in bad.stderr


def test_a_hundred_thousand_objects_are_read_and_loaded(tmp_path):
    file = tmp_path / "many.csv"
    lines = (f"{i // 10},100,1000,{i - i % 10 if i % 10 else ''}" for i in range(100_000))
    file.write_text("page,request_bytes,response_bytes,after\n" + "\n".join(lines) + "\n")
    table = read_pages(file)
    assert len(table) == 10_000
    trace = loaded(Pages(file=file, http="2"), "100 s")
    assert metrics.page_loads(trace, (0, trace.experiment.duration)).height > 100
