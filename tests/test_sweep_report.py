"""The page and the figures of a sweep's table. tests/live shows the page in a browser."""

import base64
import json
import re
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from headway.cli.app import execute
from headway.errors import HeadwayError
from headway.sweep import Sweep
from headway.sweep.collect import table_of
from headway.sweep.figure import median_figure
from headway.sweep.report import page
from headway.sweep.results import Results
from headway.sweep.work import description_of, run_units, task

FIELDS = {
    "experiment": {"duration": "1 s", "rate": "1Mbit/s"},
    "cross": {"flows": ["1xcubic", "1xreno"], "rtt": ["10 ms", "40 ms"]},
    "replications": 2,
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of a small sweep."""
    folder = tmp_path_factory.mktemp("results")
    sweep = Sweep(**FIELDS)
    Results(folder).prepare(sweep)
    run_units(description_of(sweep), str(folder), [task(sweep, unit) for unit in sweep.units()])
    return folder


def unpacked(html: str) -> tuple[dict, bytes]:
    about = re.search(r'<script type="application/json" id="about">(.*?)</script>', html)[1]
    data = re.search(r'<script type="text/plain" id="data">(.*?)</script>', html)[1]
    return json.loads(about), zlib.decompress(base64.b64decode(data))


def test_the_page_has_all_values_of_the_table(done: Path) -> None:
    sweep = Sweep(**FIELDS)
    table = table_of(sweep, done)
    about, data = unpacked(page(sweep, table, done))
    types = {"levels": np.uint16, "whole": np.uint32, "number": np.float32}
    at = 0
    found = {}
    for column in about["columns"]:
        values = np.frombuffer(data[at : at + column["bytes"]], types[column["kind"]])
        at += -(-column["bytes"] // 4) * 4
        if column["kind"] == "levels":
            values = np.array(column["levels"])[values]
        found[column["name"]] = values.tolist()
    assert at == len(data)
    for name in ("row", "seed", "flows", "rtt_us", "class"):
        assert found[name] == table.frame[name].to_list()
    assert found["goodput_bps"] == pytest.approx(table.frame["goodput_bps"].to_list(), rel=1e-6)
    assert "fct_us" not in found  # a column without values
    assert about["command"]["options"] == {"flows": "--flows", "rtt": "--rtt"}
    assert about["command"]["fixed"] == ["--duration", "1 s", "--rate", "1Mbit/s"]
    written = {column["name"]: column.get("written") for column in about["columns"]}
    assert written["rtt_us"] == ["10 ms", "40 ms"]


def test_a_page_of_a_whole_experiment_names_the_runs(done: Path, tmp_path: Path) -> None:
    options = Sweep(**FIELDS)
    document = options.base.experiment({}).model_dump(mode="json")
    sweep = Sweep(**{**FIELDS, "experiment": {"document": document}})
    Results(tmp_path).prepare(sweep)
    run_units(description_of(sweep), str(tmp_path), [task(sweep, unit) for unit in sweep.units()])
    table = table_of(sweep, tmp_path)
    about, data = unpacked(page(sweep, table, tmp_path))
    assert about["command"] == {"runs": f"{tmp_path}/runs/", "key_bytes": 16}
    assert data[-16:].hex() == table.keys[-1]
    assert (tmp_path / "runs" / table.keys[-1] / "params.json").is_file()


def test_the_same_results_give_the_same_page_which_needs_no_network(done: Path) -> None:
    sweep = Sweep(**{**FIELDS, "name": "</script><b>"})
    html = page(sweep, table_of(Sweep(**FIELDS), done), done)
    assert html == page(sweep, table_of(Sweep(**FIELDS), done), done)
    assert "@" not in re.sub(r"<(style|script)\b.*?</\1>", "", html, flags=re.DOTALL)
    assert "https:" not in html
    assert html.replace("http://www.w3.org/2000/svg", "").count("http:") == 0
    assert html.count("</script><b>") == 0


@pytest.mark.slow
def test_a_figure_has_medians_with_intervals(done: Path, tmp_path: Path, capfd) -> None:
    frame = pl.DataFrame({"x": [1] * 21 + [2], "y": [*map(float, range(21)), 7.0]})
    [axes] = median_figure(frame, "x", "y").axes
    assert axes.lines[0].get_ydata().tolist() == [10.0, 7.0]
    low, high = axes.collections[0].get_segments()[0][:, 1]
    assert (low, high) == (6, 15)  # order statistics of rank 7 and 16 of 21
    with pytest.raises(HeadwayError, match="x: unknown column 'z'"):
        median_figure(frame, "z", "y")

    file = tmp_path / "sweep.toml"
    file.write_text('replications = 2\n[experiment]\nduration = "1 s"\nrate = "1Mbit/s"\n[cross]\n'
                    'flows = ["1xcubic", "1xreno"]\nrtt = ["10 ms", "40 ms"]\n')  # fmt: skip
    report = ["sweep", "report", str(file), "--out", str(done), "--to", str(tmp_path / "f.pdf")]
    assert execute([*report, "--x", "rtt_us", "--y", "srtt_us", "--colour", "flows"]) == 0
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
    capfd.readouterr()
    assert execute(report) == 2
    assert "a figure needs --x and --y" in capfd.readouterr().err
