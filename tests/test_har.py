"""HAR files: what a browser recorded becomes Web pages, and page loads become a HAR file."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import S, experiment, headway, trace

from headway import Dumbbell, Experiment, Flow, Pages, metrics, run, save_trace
from headway.browser.sites import HEAD_BYTES, REQUEST_BYTES
from headway.errors import HeadwayError
from headway.har import export_har
from headway.trace import Trace
from headway.workloads import read_pages
from headway.workloads.exchange_file import AFTER_NONE
from headway.workloads.har import read_har

MS = 1_000_000
PARSER = {"type": "parser", "url": "https://a.example/"}
SITE = """\
page,request_bytes,response_bytes,serve_ns,think_ns,after,start_ns
0,400,20000,15000000,2000000000,,
0,300,30000,,,0,
0,350,10000,25000000,,0,3000000
0,350,90000,,,1,700000000
1,350,5000,,,,
1,350,6000,,,,1000000
"""


def entry(url: str, at_ms: float, took_ms: float, **more: Any) -> dict[str, Any]:
    """The essential fields that Chromium writes about a response."""
    at = f"2026-01-31T23:59:{58 + at_ms / 1e3:09.6f}+01:00"
    made = {
        "pageref": "page_1", "startedDateTime": at, "time": took_ms,
        "request": {"url": f"https://{url}", "headersSize": 420, "bodySize": 0, "headers": []},
        "response": {
            "status": 200, "headersSize": 180, "bodySize": 2000, "headers": [],
            "content": {"size": 9000},
        },
        "timings": {"blocked": 1, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 60,
                    "receive": 5},
    }  # fmt: skip
    return {**made, **more}


def recorded() -> dict[str, Any]:
    """A recorded page: a document, its style and its script, a picture that the style names, and an
    object from a cache."""
    document = entry("a.example/", 0, 200)
    document["timings"] |= {"connect": 100, "ssl": 60}
    packed = entry(
        "a.example/script.js", 215, 90, _initiator={"type": "parser", "url": "https://a.example/"}
    )
    packed["response"] |= {"headersSize": -1, "bodySize": -1, "_transferSize": 1234}
    picture = entry("b.example/picture.png", 400, 80, _initiator={
        "type": "script", "stack": {"callFrames": [], "parent": {
            "callFrames": [{"url": "https://a.example/script.js"}]}}})  # fmt: skip
    return {
        "log": {
            "version": "1.2",
            "pages": [{"id": "page_1", "startedDateTime": "2026-01-31T22:59:57.990Z"}],
            "entries": [
                picture, document, packed,
                entry("a.example/style.css", 210, 70, _initiator={"type": "parser", "url": "https://a.example/"}),
                entry("a.example/cached.png", 220, 1, _fromCache="memory"),
                entry("a.example/late.png", 500, 60),
            ],
        }
    }  # fmt: skip


@pytest.fixture
def har(tmp_path: Path) -> Path:
    file = tmp_path / "load.har"
    file.write_text("\ufeff" + json.dumps(recorded()), encoding="utf-8")
    return file


def test_a_browsers_page_is_taken_with_what_revealed_each_object(har):
    archive = read_har(har)
    table = archive.table
    assert (archive.hosts, archive.left_out) == (2, 1)
    assert table.objects.tolist() == [5]
    # document, style, script, picture, and an object without an initiator
    assert table.after.tolist() == [AFTER_NONE, 0, 0, 2, 3]
    assert table.request_bytes.tolist() == [420] * 5
    assert table.response_bytes.tolist() == [2180, 2180, 1234, 2180, 2180]
    # connecting took 100 ms, 60 of them for TLS; so the RTT is 40 ms
    assert table.serve_ns.tolist() == [20 * MS] * 5
    assert table.start_ns.tolist() == [10 * MS, 10 * MS, 15 * MS, 95 * MS, 20 * MS]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "start_ms"),
    [
        ({"startedDateTime": ""}, 0),
        ({"startedDateTime": None}, 0),
        ({}, 0),
        ({"startedDateTime": "2021-04-22T09:15:29.000-04:00"}, 0),  # after the entry
        ({"startedDateTime": "2021-04-22T09:15:28.250-04:00"}, 21),
    ],
)
def test_a_page_without_a_start_starts_with_its_first_entry(tmp_path, start, start_ms):
    one = entry("a.test/", 0, 100, startedDateTime="2021-04-22T09:15:28.271-04:00")
    file, site = tmp_path / "load.har", tmp_path / "site.csv"
    file.write_text(json.dumps({"log": {"pages": [{"id": "page_1", **start}], "entries": [one]}}))
    table = read_har(file).table
    assert table.objects.tolist() == [1]
    assert table.start_ns.tolist() == [start_ms * MS]
    done = headway("har", str(file), "--pages", str(site))
    assert done.returncode == 0, done.stderr
    assert "1 page, 1 object, " in " ".join(done.stdout.split())


def test_a_page_without_a_start_keeps_its_place_among_the_others(tmp_path):
    pages = [
        {"id": "b", "startedDateTime": "2026-01-31T22:59:58.000Z"},
        {"id": "a", "startedDateTime": ""},
    ]
    entries = [entry("a.test/", 700, 50, pageref="a"), entry("b.test/", 0, 200, pageref="b")]
    file = tmp_path / "load.har"
    file.write_text(json.dumps({"log": {"pages": pages, "entries": entries}}))
    assert read_har(file).table.think_ns.tolist() == [500 * MS, 0]


def test_the_recorded_round_trip_may_be_said(har):
    assert read_har(har, rtt_ns=55 * MS).table.serve_ns.tolist() == [5 * MS] * 5


def test_sizes_that_a_browser_does_not_say_are_those_of_its_headers(tmp_path):
    log = recorded()
    one = log["log"]["entries"][1]
    header = [{"name": "Accept", "value": "*/*"}]
    one["request"] |= {"headersSize": -1, "bodySize": -1, "headers": header}
    one["response"] |= {
        "headersSize": -1,
        "bodySize": -1,
        "content": {"size": 900, "compression": 200},
    }
    log["log"]["entries"] = [one]
    file = tmp_path / "one.har"
    file.write_text(json.dumps(log))
    table = read_har(file).table
    written = f"GET {one['request']['url']} HTTP/1.1\r\nAccept: */*\r\n\r\n"
    assert table.request_bytes.tolist() == [len(written)]
    assert 700 <= table.response_bytes[0] <= 800


@pytest.mark.parametrize("http", ["1.0", "1.1", "2"])
def test_a_page_load_that_is_written_is_the_same_pages_again(tmp_path, http):
    site = tmp_path / "site.csv"
    site.write_text(SITE)
    trace = loaded(site, http)
    export_har(trace, tmp_path / "load.har")
    table, again = read_pages(site), read_har(tmp_path / "load.har").table
    for name in ("objects", "request_bytes", "response_bytes", "after", "think_ns"):
        assert np.array_equal(getattr(table, name), getattr(again, name)), name
    for name in ("serve_ns", "start_ns"):
        off = getattr(again, name).astype(np.int64) - getattr(table, name).astype(np.int64)
        assert np.abs(off).max() <= 2, name
    log = json.loads((tmp_path / "load.har").read_text())["log"]
    loads = metrics.page_loads(trace, (0, trace.experiment.duration))
    assert [page["pageTimings"]["onLoad"] for page in log["pages"]] == pytest.approx(
        1e3 * loads["seconds"]
    )
    for one in log["entries"]:
        parts = sum(one["timings"][part] for part in ("blocked", "send", "wait", "receive"))
        assert parts == pytest.approx(one["time"])


def loaded(site: Path, http: str):
    app = Pages.model_validate({"file": site, "http": http, "connections": 1})
    path = Dumbbell(rate="10 Mbit/s", rtt="100 ms", buffer="1 BDP")
    flow = Flow(app=app, control="cubic", start="1 s")
    return run(Experiment(topology=path, flows=[flow], duration="20 s"))


PARTS = (("/index.html", 1000, None), ("/a.js", 30_000, 0), ("/b.png", 5000, 1))
"""A site's objects: path, size, and the number of the object that reveals it."""


def visited(site: str = "map", **told: Any) -> Trace:
    """A trace of two visits by a browser; in the second visit an object did not arrive."""
    page = {"kind": "site", "site": site, "visits": 2}
    of = experiment(flows=[{"app": page, "control": "cubic"}])
    rows = [(0, number, number * 200 * MS, (number + 1) * 200 * MS) for number in range(5)]
    made = trace({"responses": rows}, of=of)
    made.meta["visits"] = {
        "0": {
            "site_objects": len(PARTS),
            "site": [{"path": p, "size_bytes": size, "after": a} for p, size, a in PARTS],
            "visits": [
                {"begun_ns": 0, "objects": 3, "load_ms": 612.5},
                {"begun_ns": 600 * MS, "objects": 2, "load_ms": 410.0},
            ],
            **told,
        }
    }
    return made


def test_a_browsers_visits_are_page_loads_and_a_har_file_of_the_same_page(tmp_path):
    browsed = visited()
    [load] = metrics.page_loads(browsed, (0, 10 * S)).iter_rows(named=True)
    size_bytes = sum(HEAD_BYTES + size for _, size, _ in PARTS)
    assert load == {
        "flow": 0, "page": 0, "start_ns": 0, "seconds": 0.6125, "objects": 3, "bytes": size_bytes
    }  # fmt: skip
    assert metrics.page_loads(browsed, (MS, 10 * S)).is_empty(), "it began before"
    export_har(browsed, tmp_path / "load.har")
    log = json.loads((tmp_path / "load.har").read_text())["log"]
    assert [page["pageTimings"]["onLoad"] for page in log["pages"]] == [612.5]
    assert [one["time"] for one in log["entries"]] == [200.0] * 3
    assert [one["timings"]["blocked"] for one in log["entries"]] == [-1] * 3
    again = read_har(tmp_path / "load.har").table
    assert again.request_bytes.tolist() == [REQUEST_BYTES] * 3
    assert again.response_bytes.tolist() == [HEAD_BYTES + size for _, size, _ in PARTS]
    assert again.after.tolist() == [AFTER_NONE, 0, 1]


def test_a_walk_through_a_city_is_no_page_and_an_older_trace_has_no_sizes(tmp_path):
    walk = visited("city", visits=[{"begun_ns": 0, "objects": 3, "walk_ms": 9.0}])
    assert metrics.page_loads(walk, (0, 10 * S)).is_empty()
    with pytest.raises(HeadwayError, match=r"no Web pages; .* named map"):
        export_har(walk, tmp_path / "load.har")
    older = visited()
    del older.meta["visits"]["0"]["site"]
    assert metrics.page_loads(older, (0, 10 * S))["bytes"].to_list() == [None]
    with pytest.raises(HeadwayError, match="run it again"):
        export_har(older, tmp_path / "load.har")


def test_what_is_wrong_is_one_line_with_its_place(tmp_path):
    def refused(content: str | bytes) -> str:
        file = tmp_path / "bad.har"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(HeadwayError) as caught:
            read_har(file)
        told = str(caught.value)
        assert "\n" not in told
        assert told.startswith(f"{file}: ")
        return told.removeprefix(f"{file}: ")

    assert refused('{"log":\n {,}}').startswith("line 2, column 3: not JSON (")
    assert refused(b"{\xff}") == "byte 1: not UTF-8"
    assert refused("[]") == "not a HAR file; it has no object named log"
    assert refused("[" * 200_000).startswith("not a HAR file; its values are nested too deeply")
    assert refused('{"log": {"entries": []}}') == (
        "log.entries: no entry has a response that used a network"
    )
    for place, value, said in [
        (("time",), "ten", '.time: "ten" is not allowed; a number'),
        (("startedDateTime",), "yesterday", '.startedDateTime: "yesterday" is not allowed; a date'),
        (("startedDateTime",), "2026-13-31T00:00:00Z", ".startedDateTime: "),
        (("request",), 7, ".request: 7 is not allowed; an object with names and values"),
        (("response", "bodySize"), [], ".response.bodySize: [] is not allowed; a number"),
        (("response", "headers"), "x", '.response.headers: "x" is not allowed; a list'),
        (("request", "url"), 3, ".request.url: 3 is not allowed; a text"),
        (("timings", "wait"), True, ".timings.wait: true is not allowed; a number"),
        (("timings", "wait"), 9e14, ".timings.wait: 900000000000000.0 is not allowed; at most 10"),
        (("time",), 4e11, ".time: 400000000000.0 is not allowed; at most 10 years, in ms"),
    ]:
        log = copy.deepcopy(recorded())
        *way, last = place
        at: Any = log["log"]["entries"][1]
        for name in way:
            at = at[name]
        at[last] = value
        assert refused(json.dumps(log)).startswith(f"log.entries[1]{said}")
    for value in ["yesterday", " ", 7]:
        log = recorded()
        log["log"]["pages"][0]["startedDateTime"] = value
        told = f"log.pages[0].startedDateTime: {json.dumps(value)} is not allowed; a "
        assert refused(json.dumps(log)).startswith(told)
    log = json.dumps(recorded())
    assert refused(log.replace('"time": 90', f'"time": {"9" * 4301}')) == (
        "not a HAR file; a number has more than 4300 digits"
    )
    late = recorded()
    late["log"]["entries"][5]["startedDateTime"] = "9999-01-31T23:00:00.000Z"
    assert refused(json.dumps(late)) == "log.entries: page 'page_1' lasts more than 10 years"
    late["log"]["entries"][5]["pageref"] = "another"
    assert (
        refused(json.dumps(late))
        == "log.entries: the next page starts more than 10 years after 'page_1'"
    )
    with pytest.raises(HeadwayError, match="cannot read: No such file"):
        read_har(tmp_path / "none.har")


def test_ten_thousand_entries_are_read_in_one_go(tmp_path):
    log = recorded()
    many = [entry(f"a.example/{n}", n / 10, 30) for n in range(10_000)]
    log["log"]["entries"] = many
    file = tmp_path / "many.har"
    file.write_text(json.dumps(log))
    table = read_har(file).table
    assert table.objects.tolist() == [10_000]
    assert table.after[-1] == 10_000 - 1 - 300


@pytest.mark.slow
def test_the_command_makes_pages_of_a_har_file_and_a_har_file_of_page_loads(har, tmp_path):
    site = tmp_path / "site.csv"
    done = headway("har", str(har), "--pages", str(site))
    assert done.returncode == 0, done.stderr
    told = "1 page, 5 objects, 9954 B; 1 left out that used no network; 2 hosts, treated as one"
    assert " ".join(done.stdout.split()) == f"{site}: {told}"
    assert read_pages(site).objects.tolist() == [5]
    counted = json.loads(headway("har", str(har), "--pages", str(site), "--json").stdout)
    assert counted == {"pages": 1, "objects": 5, "bytes": 9954, "hosts": 2, "left_out": 1}
    save_trace(loaded(site, "2"), tmp_path / "trace")
    back = tmp_path / "back.har"
    assert headway("export", str(tmp_path / "trace"), "--har", str(back)).returncode == 0
    assert read_har(back).table.response_bytes.sum() == 9954
    for arguments, said in [
        (("har", str(site), "--pages", str(back)), "line 1, column 1: not JSON"),
        (("har", str(har), "--pages", str(back), "--rtt", "5"), "--rtt: '5' has no unit"),
        (("export", str(tmp_path / "trace")), "--flent FILE or --har FILE"),
    ]:
        bad = headway(*arguments)
        assert bad.returncode == 2
        assert said in bad.stderr
        assert bad.stderr.count("\n") == 1
