"""A browser loads the sites over the emulated path. Needs root, nginx, npm and Chromium.

The tests assert no duration. A late run is repeated.
"""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import pytest
from real_time import in_real_time
from support import on_kernel
from test_sites import cache, experiment  # noqa: F401 - cache is a fixture

from headway import Experiment, metrics, run
from headway.backends.kernel import KernelBackend
from headway.browser import chromium, sites
from headway.har import export_har
from headway.workloads import write_pages
from headway.workloads.har import read_har


def simulated_s(file: Path, http: str) -> float:
    """How long the map takes to load in the simulator, which has no browser, in s."""
    write_pages(file, sites.pages())
    app = {"kind": "pages", "file": file, "http": http, "connections": 6}
    page = experiment({"site": "map"}).model_dump() | {
        "flows": [{"app": app, "control": "cubic+slow-start"}]
    }
    trace = run(Experiment.model_validate(page))
    [seconds] = metrics.page_loads(trace, (0, trace.experiment.duration))["seconds"]
    return float(seconds)


needs_a_browser = pytest.mark.skipif(chromium.program() is None, reason="chromium is not installed")
needs_nginx = pytest.mark.skipif(
    shutil.which("nginx", path="/usr/sbin:/usr/bin") is None, reason="nginx is not installed"
)


@on_kernel
@in_real_time
@needs_a_browser
@needs_nginx
@pytest.mark.parametrize(("keep_alive", "visits"), [(True, 2), (False, 1)])
def test_a_visit_of_the_map_is_a_trace_with_every_object(
    keep_alive: bool, visits: int, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    app = {"site": "map", "visits": visits, "keep_alive": keep_alive}
    trace = KernelBackend().run(experiment(app))
    objects = sites.objects_of(sites.site("map"))
    rows = trace["responses"].sort("epoch")
    assert rows["epoch"].to_list() == list(range(visits * len(objects)))
    took_ms = (rows["end_ns"] - rows["start_ns"]).to_numpy() / 1e6
    assert took_ms.min() >= 195, "nothing is faster than the path"
    ends = rows["end_ns"].to_numpy()[: len(objects)]
    begins = rows["start_ns"].to_numpy()[: len(objects)]
    assert (begins[3:7] >= ends[2:6]).all(), "scripts come one after the other"
    told = trace.meta["visits"]["0"]
    assert [one["objects"] for one in told["visits"]] == [len(objects)] * visits
    loads = metrics.page_loads(trace, (0, trace.experiment.duration))
    assert loads["seconds"].to_list() == [one["load_ms"] / 1e3 for one in told["visits"]]
    export_har(trace, cache / "map.har")
    assert read_har(cache / "map.har").table.response_bytes.tolist() == visits * [
        sites.HEAD_BYTES + one.size_bytes for one in objects
    ]
    last_ms = (ends.max() - told["visits"][0]["begun_ns"]) / 1e6
    assert told["visits"][0]["load_ms"] == pytest.approx(last_ms, abs=250)
    # the simulator loads the same page, but has no browser that parses and paints it
    simulated_ms = 1e3 * simulated_s(cache / "map.csv", "1.1" if keep_alive else "1.0")
    assert 0.99 * simulated_ms < min(one["load_ms"] for one in told["visits"]) < 1.15 * simulated_ms
    assert base64.b64decode(told["picture"])[:2] == b"\xff\xd8", "a JPEG"
    delivered = trace["flow_counters"].sort("time_ns")["delivered_bytes"][-1]
    assert delivered == visits * sum(one.size_bytes for one in objects)


@on_kernel
@in_real_time
@needs_a_browser
@needs_nginx
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_a_recorded_walk_through_the_city_is_replayed_and_logs_every_object() -> None:
    app = {"site": "city", "walk": "short"}
    trace = KernelBackend().run(experiment(app, data_volume="118 MB"))
    objects = sites.objects_of(sites.site("city"))
    rows = trace["responses"].sort("start_ns")
    seen = rows["epoch"].to_list()
    packs = [number for number in seen if objects[number].within is None]
    # Until the walk reaches the second quarter of the city, the page loads coarse tiles first, and
    # full tiles when they are near.
    names = [objects[number].path.split("/")[-1] for number in packs]
    assert len(names) >= 3, names
    assert len(set(names)) == len(names), names
    for pack in packs:
        tiles = {number for number, one in enumerate(objects) if one.within == pack}
        assert tiles <= set(seen), "every tile of a pack is logged"
    begins = dict(zip(seen, rows["start_ns"].to_list(), strict=True))
    ends = dict(zip(seen, rows["end_ns"].to_list(), strict=True))
    for number in seen:
        assert ends[number] - begins[number] >= 195e6, "nothing is faster than the path"
        within = objects[number].within
        if within is not None:
            assert ends[number] <= ends[within] + 50e6, "a tile is there with its pack"
    told = trace.meta["visits"]["0"]
    assert base64.b64decode(told["picture"])[:2] == b"\xff\xd8", "a JPEG"
    delivered = trace["flow_counters"].sort("time_ns")["delivered_bytes"][-1]
    assert delivered >= sum(objects[number].size_bytes for number in packs)
