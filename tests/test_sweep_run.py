"""Runs of sweeps: resumed, divided, failed; and the tables of their results."""

import json
import signal
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from support import headway

from headway.cli.app import execute
from headway.errors import HeadwayError
from headway.sweep import Sweep
from headway.sweep.collect import table_of
from headway.sweep.results import Results
from headway.sweep.work import Runner, description_of, run_units, task
from headway.try_experiment import from_file

SMALL = {
    "experiment": {"duration": "2 s", "warmup": "0.5 s", "rate": "2Mbit/s", "rtt": "20 ms"},
    "cross": {"flows": ["2xcubic", "1xreno:name=mine,1xvoip"], "buffer": ["10 pkts", "20 pkts"]},
    "replications": 2,
    "metrics": ["goodput_bps", "owd_mean_us", "utilization", "mine.srtt_us", "reverse0.drops_pkts",
                "jain_index"],
}  # fmt: skip

GRID = """
replications = 3
functions = ["deadly:drops"]
[experiment]
duration = "1 s"
rate = "1Mbit/s"
[cross]
flows = ["1xcubic", "1xreno"]
buffer = ["10 pkts", "20 pkts"]
"""
DEADLY = '''
import os
import pathlib
import signal

from headway import metrics

ORDERS = pathlib.Path(__file__).parent / "orders"


def drops(trace):
    """Kills, once for each order, this process or the one that started it."""
    print("a function may print")
    for order in sorted(ORDERS.glob(f"*-{trace.flows[0].control}-{trace.meta['seed']}")):
        order.unlink()
        if order.name.startswith("parent"):
            os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return {"lost_pkts": metrics.drops_pkts(trace), "control": trace.flows[0].control}
'''


def run_here(sweep: Sweep, folder: Path, rows=None) -> list[dict]:
    """Run rows in this process."""
    Results(folder).prepare(sweep)
    units = [task(sweep, unit) for unit in sweep.units(rows)]
    return run_units(description_of(sweep), str(folder), units)


def logged(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """How often each run began and ended, by the logs of the processes."""
    lines = list(Results(folder).logged())
    begun = Counter(line["begin"] for line in lines if "begin" in line)
    return begun, Counter(line["end"] for line in lines if "end" in line)


def states(outcomes) -> Counter[str]:
    return Counter(outcome["state"] for outcome in outcomes)


def test_a_table_has_a_row_per_run_and_class(tmp_path: Path) -> None:
    sweep = Sweep(**SMALL)
    assert states(run_here(sweep, tmp_path)) == {"done": 8}
    frame = sweep.collect(tmp_path)
    assert frame.columns == [
        "row", "replication", "seed", "flows", "buffer_pkts", "class", "flow_count", "goodput_bps",
        "owd_mean_us", "utilization", "mine.srtt_us", "reverse0.drops_pkts", "jain_index", "error",
    ]  # fmt: skip
    assert frame["class"].to_list() == ["cubic"] * 4 + ["mine", "udp"] * 4
    assert frame["seed"].to_list() == [1, 2, 1, 2, 1, 1, 2, 2, 1, 1, 2, 2]
    assert frame["buffer_pkts"].dtype == pl.Int64
    first = frame.row(0, named=True)
    assert first["flow_count"] == 2
    assert 0.8e6 < first["goodput_bps"] < 1e6  # the mean of two flows that share 2 Mbit/s
    assert first["mine.srtt_us"] is None
    udp = frame.row(5, named=True)
    assert udp["goodput_bps"] is None
    assert udp["owd_mean_us"] > 10_000
    assert frame["error"].null_count() == 12


def test_a_run_is_what_try_runs(tmp_path: Path, capfd) -> None:
    sweep = Sweep(**SMALL)
    run_here(sweep, tmp_path, [1])
    words = sweep.base.as_command(sweep.settings(0), 2)
    assert execute(["try", *words, "--json"]) == 0
    tried = json.loads(capfd.readouterr().out)
    [key] = Results(tmp_path).keys()
    result = Results(tmp_path).read(key)
    assert [flow["goodput_bps"] for flow in result["flows"]] == [
        flow["goodput_bps"] for flow in tried["flows"]
    ]
    assert result["seed"] == 2
    whole = from_file(tmp_path / "runs" / key / "params.json")
    assert whole.flow_names() == ["cubic-0", "cubic-1"]
    assert whole.topology.rate == 2_000_000


def test_what_is_done_is_not_run_again_and_what_changed_is(tmp_path: Path) -> None:
    sweep = Sweep(**SMALL)
    run_here(sweep, tmp_path, [0, 1, 2])
    assert states(run_here(sweep, tmp_path)) == {"kept": 3, "done": 5}
    begun, ended = logged(tmp_path)
    assert set(begun.values()) == {1}
    assert begun == ended

    more = Sweep(**{**SMALL, "replications": 3})
    assert states(run_here(more, tmp_path)) == {"kept": 8, "done": 4}
    longer = Sweep(**{**SMALL, "experiment": {**SMALL["experiment"], "warmup": "1 s"}})
    assert states(run_here(longer, tmp_path, [0])) == {"done": 1}


def test_a_damaged_result_is_made_again(tmp_path: Path) -> None:
    sweep = Sweep(**SMALL)
    run_here(sweep, tmp_path, [0, 1])
    before = sweep.collect(tmp_path)
    keys = Results(tmp_path).keys()
    (tmp_path / "runs" / keys[0] / "result.json").write_text("")
    assert states(run_here(sweep, tmp_path, [0, 1])) == {"kept": 1, "done": 1}
    assert sweep.collect(tmp_path).equals(before)


def test_the_code_and_the_engine_are_part_of_a_runs_name(tmp_path: Path, monkeypatch) -> None:
    sweep = Sweep(**SMALL)

    def key() -> str:
        runner = Runner(description_of(sweep), tmp_path)
        return next(runner.keys(task(sweep, next(iter(sweep.units())))))

    first = key()
    assert key() == first
    monkeypatch.setattr("headway._engine.sources", lambda: "other")
    second = key()
    monkeypatch.setattr("headway.sweep.work._code", lambda: "other")
    assert len({first, second, key()}) == 3


def test_a_failed_run_is_a_row_with_its_error(tmp_path: Path) -> None:
    sweep = Sweep(
        experiment={"flows": "1xreno", "rate": "1Mbit/s"},
        cross={"warmup": ["5 s", "1 s"], "duration": ["2 s", "6 s"]},
    )
    assert states(run_here(sweep, tmp_path)) == {"failed": 1, "done": 3}
    assert states(run_here(sweep, tmp_path)) == {"failed": 1, "kept": 3}
    table = table_of(sweep, tmp_path)
    assert (table.failed, table.missing) == (1, 0)
    [error] = table.frame["error"].drop_nulls()
    assert error == "warmup: 5 s is not allowed; must be less than duration, 2 s"
    assert table.frame["warmup_us"].to_list() == [5_000_000, 5_000_000, 1_000_000, 1_000_000]


def test_replications_end_when_the_interval_is_narrow(tmp_path: Path) -> None:
    fields = {**SMALL, "cross": {"flows": ["2xcubic", "1xreno"]}}
    until = {"until": "jain_index", "within": "4%", "least": 3, "most": 9}
    sweep = Sweep(**{**fields, "replications": until})
    assert sweep.rows == 2
    outcomes = run_here(sweep, tmp_path)
    frame = sweep.collect(tmp_path)
    counts = frame.group_by("flows", maintain_order=True).len()["len"].to_list()
    assert [outcome["runs"] for outcome in outcomes] == counts
    assert counts[1] == 3  # the index of a single flow is always 1
    assert 3 < counts[0] <= 9
    # more runs in the folder change nothing
    run_here(Sweep(**{**fields, "replications": 9}), tmp_path)
    assert sweep.collect(tmp_path).equals(frame)


def test_a_results_folder_of_another_sweep_is_refused(tmp_path: Path, capfd) -> None:
    file = tmp_path / "one.toml"
    file.write_text('[experiment]\nduration = "1 s"\n[cross]\nrtt = ["10 ms"]\n')
    out = tmp_path / "out"
    Results(out).prepare(Sweep.from_file(file))
    other = tmp_path / "two.toml"
    other.write_text(file.read_text())
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "thesis.tex").write_text("work")
    for folder, said in ((out, "another sweep, whose name is 'one'"), (stranger, "other files")):
        for action in ("run", "status", "collect", "clean", "report"):
            to = ["--to", str(tmp_path / "x.csv")] if action in ("collect", "report") else []
            assert execute(["sweep", action, str(other), "--out", str(folder), *to]) == 2
            printed = capfd.readouterr()
            assert said in printed.err
            assert printed.err.count("\n") == 1
    assert [one.name for one in stranger.iterdir()] == ["thesis.tex"]


def test_clean_removes_what_the_sweep_no_longer_has(tmp_path: Path, capfd) -> None:
    file, out = tmp_path / "one.toml", tmp_path / "out"
    text = '[experiment]\nduration = "1 s"\n[cross]\nrtt = ["10 ms", "20 ms"]\n'
    file.write_text(text)
    run_here(Sweep.from_file(file), out)
    (out / "runs" / ".key.host.1").mkdir()
    file.write_text(text.replace(', "20 ms"', ""))
    assert execute(["sweep", "clean", str(file), "--out", str(out)]) == 0
    assert "removed 1 run and 1 partial run" in capfd.readouterr().out
    assert execute(["sweep", "status", str(file), "--out", str(out), "--json"]) == 0
    status = json.loads(capfd.readouterr().out)
    assert (status["done"], status["missing"], status["runs"]) == (1, 0, 1)
    assert len(Results(out).keys()) == 1


def test_a_full_disk_ends_the_sweep(tmp_path: Path, monkeypatch) -> None:
    def full(*_arguments, **_options):
        raise HeadwayError("disk full while saving; no part of it was kept")

    monkeypatch.setattr("headway.sweep.results.Results.save", full)
    [outcome] = run_here(Sweep(**SMALL), tmp_path, [0, 1])
    assert "disk full" in outcome["fatal"]


@pytest.mark.slow
def test_a_sweep_that_is_killed_goes_on_and_its_table_is_the_same(tmp_path: Path) -> None:
    """Workers and the process that started them are killed in the middle of runs."""
    (tmp_path / "deadly.py").write_text(DEADLY)
    file = tmp_path / "grid.toml"
    file.write_text(GRID)
    orders = tmp_path / "orders"
    orders.mkdir()

    def sweep(action: str, out: str, *more: str):
        return headway("sweep", action, str(file), "--out", str(tmp_path / out), *more)

    whole = sweep("run", "whole", "--json")
    assert whole.returncode == 0, whole.stderr
    assert json.loads(whole.stdout.splitlines()[-1])["done"] == 12

    for order in ("worker-cubic-1", "parent-reno-2", "parent-cubic-3"):
        (orders / order).touch()
    statuses = [sweep("run", "killed", "--workers", "1").returncode for _ in range(3)]
    assert statuses == [-signal.SIGKILL, -signal.SIGKILL, 0]
    assert list(orders.iterdir()) == []

    tables = []
    for out in ("whole", "killed"):
        made = sweep("collect", out, "--to", str(tmp_path / f"{out}.parquet"))
        assert made.returncode == 0, made.stderr
        tables.append((tmp_path / f"{out}.parquet").read_bytes())
    assert tables[0] == tables[1]
    frame = pl.read_parquet(tmp_path / "whole.parquet")
    assert frame["lost_pkts"].dtype == pl.Int64
    assert frame["control"].to_list() == ["cubic"] * 6 + ["reno"] * 6

    begun, ended = logged(tmp_path / "killed")
    assert set(ended.values()) == {1}
    assert len(ended) == 12
    assert begun.total() == 12 + 3  # only runs that were killed began twice


@pytest.mark.slow
def test_a_run_whose_process_always_dies_is_a_failed_row(tmp_path: Path) -> None:
    (tmp_path / "deadly.py").write_text(
        "import os\ndef drops(trace):\n    if trace.meta['seed'] == 2: os._exit(3)\n    return 1\n"
    )
    file = tmp_path / "grid.toml"
    file.write_text(GRID.split("[cross]", maxsplit=1)[0])
    done = headway("sweep", "run", str(file), "--out", str(tmp_path / "out"), "--json")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1] == {
        "rows": 3, "done": 2, "failed": 1, "kept": 0, "folder": str(tmp_path / "out")
    }  # fmt: skip
    [failed] = [line for line in lines[:-1] if line["state"] == "failed"]
    assert failed["row"] == 1
    assert failed["error"] == "the process that ran it died, three times"


@pytest.mark.slow
def test_shards_make_the_table_of_the_whole_sweep(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(GRID.replace('functions = ["deadly:drops"]', "trace = true"))
    out = ["--out", str(tmp_path / "out"), "--workers", "1"]
    for shard in ("1/2", "2/2"):
        done = headway("sweep", "run", str(file), "--shard", shard, *out)
        assert done.stdout.startswith("6 done")
    assert execute(["sweep", "status", str(file), "--out", str(tmp_path / "out")]) == 0
    traces = list((tmp_path / "out" / "runs").glob("*/trace/trace.json"))
    assert len(traces) == 12
