"""Sites that a browser visits: how they are made, what is refused, and a visit on the testbed."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from real_time import in_real_time
from support import on_kernel

from headway import Experiment, metrics, run
from headway.backends.kernel import KernelBackend
from headway.browser import chromium, sites
from headway.browser.sites import city_made
from headway.errors import ExperimentError, HeadwayError
from headway.har import export_har
from headway.workloads import write_pages
from headway.workloads.har import read_har

PATH = {"rate": "1 Gbit/s", "rtt": "200 ms", "buffer": "25 MB"}


def experiment(app: dict[str, Any], **flow: Any) -> Experiment:
    return Experiment.model_validate(
        {
            "topology": {"kind": "dumbbell", **PATH},
            "flows": [{"app": {"kind": "site", **app}, "control": "cubic+slow-start", **flow}],
            "duration": "60 s",
        }
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.slow
def test_a_map_is_one_and_a_half_megabytes_with_its_large_scripts_first(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    folder = sites.site("map")
    objects = sites.objects_of(folder)
    assert 1.4e6 < sum(one.size_bytes for one in objects) < 1.6e6
    kinds = [one.path.split("/")[1].split(".")[0] for one in objects]
    assert kinds == [*["index", "site"], *["scripts"] * 5, *["tiles"] * 35]
    assert all((folder / one.path[1:]).stat().st_size == one.size_bytes for one in objects)
    for before, after in itertools.pairwise(objects[2:7]):
        # a script's last line has the next one's tag
        last = (folder / before.path[1:]).read_text(encoding="utf-8").splitlines()[-1]
        assert after.path[1:] in last
    assert sites.site("map") == folder, "it is made once"


def test_a_tile_is_a_glb_whose_picture_is_not_packed() -> None:
    tile = next(city_made._tiles(city_made.QUARTERS[0], 64))
    assert tile[:4] == b"glTF"
    assert int.from_bytes(tile[8:12], "little") == len(tile)
    length = int.from_bytes(tile[12:16], "little")
    document = json.loads(tile[20 : 20 + length])
    picture = document["bufferViews"][document["images"][0]["bufferView"]]
    assert 3 * 64 * 64 < picture["byteLength"] < 1.02 * 3 * 64 * 64 + 64
    count = document["accessors"][0]["count"]
    start = 28 + length + document["bufferViews"][3]["byteOffset"]
    triangles = np.frombuffer(tile, np.uint16, document["accessors"][3]["count"], start)
    assert triangles.max() == count - 1


def test_near_and_far_tiles_have_the_same_houses() -> None:
    def corners(size_px: int) -> bytes:
        tile = next(city_made._tiles(city_made.QUARTERS[2], size_px))
        length = int.from_bytes(tile[12:16], "little")
        view = json.loads(tile[20 : 20 + length])["bufferViews"][0]
        return tile[28 + length : 28 + length + view["byteLength"]]

    assert corners(32) == corners(64)


class Made:
    """A maker of sites of one file, which counts them."""

    count = 0

    def make(self, folder: Path) -> list[sites.Object]:
        self.count += 1
        (folder / "a.txt").write_bytes(b"abc")
        (folder / "b.txt").write_bytes(b"de")
        return [sites.Object("/a.txt", 3, None), sites.Object("/b.txt", 2, None)]


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    made = Made()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("headway.browser.sites.importlib.import_module", lambda _: made)
    return made


def test_another_checkouts_site_stays_while_it_may_be_served(
    maker: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []
    for digest in ("one", "other"):
        monkeypatch.setattr(sites, "_digest", lambda _, digest=digest: digest)
        folders.append(sites.site("map"))
    assert all(folder.is_dir() for folder in folders)
    month_ago = time.time() - 30 * 86_400
    os.utime(folders[0], (month_ago, month_ago))
    assert sites.site("map") == folders[1]
    assert sorted(one.name for one in folders[1].parent.iterdir()) == ["map-other", "map.lock"]
    assert maker.count == 2
    os.utime(folders[1], (month_ago, month_ago))
    assert sites.site("map").is_dir(), "who wants it keeps it"
    assert maker.count == 2


@pytest.mark.parametrize("gone", ["a.txt", sites.OBJECTS])
def test_a_site_whose_deletion_was_interrupted_is_made_again(gone: str, maker: Made) -> None:
    folder = sites.site("map")
    (folder / gone).unlink()
    assert sites.site("map") == folder
    assert maker.count == 2
    assert (folder / "a.txt").read_bytes() == b"abc"
    assert len(sites.objects_of(folder)) == 2


@pytest.mark.parametrize(
    ("app", "said"),
    [
        ({"site": "map", "connections": 1}, "the browser loads a map over six"),
        ({"site": "map", "walk": "short"}, "walk: is through a city"),
        ({"site": "moon"}, "'map' or 'city'"),
        ({"site": "map", "visits": 0}, "visits: 0 is not allowed"),
    ],
)
def test_what_a_site_cannot_be_is_one_line(app: dict[str, Any], said: str) -> None:
    with pytest.raises(ExperimentError, match=said) as raised:
        experiment(app)
    assert "\n" not in str(raised.value)


def test_the_simulator_has_no_browser_and_says_which_backend_has() -> None:
    with pytest.raises(HeadwayError, match="cubic-0: site: needs a browser; --backend kernel"):
        run(experiment({"site": "map"}))


def simulated_s(file: Path, http: str) -> float:
    """How long the map takes without a browser."""
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
    # the simulator has no browser that parses and paints, but the same page
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
    # to the second quarter: what comes first in little detail comes in full when it is near
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
