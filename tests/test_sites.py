"""The sites that browsers visit: sizes, tiles, and the cache of built sites."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway import Experiment, run
from headway.browser import sites
from headway.browser.sites import city_made
from headway.errors import ExperimentError, HeadwayError

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
        # the last line of each script loads the next script
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
    """Replaces a site's generator by one that writes two files and counts its calls."""

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
    month_ago = folders[0].stat().st_mtime - 31 * 86_400
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
        ({"site": "map", "walk": "short"}, "walk: is only for the site city"),
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
