"""Sweeps with other programs: SIGKILL at any time, SLURM (a stub), Snakemake, Dask, Chromium.

Only the last test reads a clock.
"""

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support import HANGS_S, HEADWAY, ROOT, headway, on_kernel

from headway.browser import chromium
from headway.sweep import Sweep
from headway.sweep.collect import Table, axis_of
from headway.sweep.report import page
from headway.sweep.results import Results

pytestmark = pytest.mark.slow
EXAMPLES = ROOT / "examples" / "sweeps"
MANY = """
replications = 250
[experiment]
duration = "2 s"
rate = "2Mbit/s"
[cross]
flows = ["1xcubic", "1xreno"]
buffer = ["10 pkts", "20 pkts"]
rtt = ["10 ms", "40 ms"]
"""
FEW = MANY.replace("250", "3")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a sweep, and `headway` on the PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    command = programs / "headway"
    command.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path[:0] = {sys.path!r}\n{HEADWAY[2]}\n"
    )
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    (tmp_path / "few.toml").write_text(FEW)
    (tmp_path / "many.toml").write_text(MANY)
    return tmp_path


def table(folder: Path, sweep: str, out: str) -> bytes:
    """The bytes of a sweep's table, which must be complete."""
    to = folder / f"{out}.parquet"
    file = str(folder / f"{sweep}.toml")
    done = headway("sweep", "collect", file, "--out", str(folder / out), "--to", str(to))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return to.read_bytes()


def run(folder: Path, sweep: str, out: str, *more: str) -> str:
    done = headway("sweep", "run", str(folder / f"{sweep}.toml"), "--out", str(folder / out), *more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def counts(out: Path) -> tuple[Counter[str], Counter[str]]:
    """How often each run began and ended."""
    lines = list(Results(out).logged())
    begun = Counter(line["begin"] for line in lines if "begin" in line)
    return begun, Counter(line["end"] for line in lines if "end" in line)


def test_2000_runs_killed_three_times_give_the_same_table(folder: Path) -> None:
    run(folder, "many", "whole")
    workers = 2
    for number, done in enumerate((300, 900, 1500)):
        process = subprocess.Popen(
            [*HEADWAY, "sweep", "run", str(folder / "many.toml"), "--out", str(folder / "killed"),
             "--workers", str(workers), "--json"],
            stdout=subprocess.PIPE, text=True, process_group=0,
        )  # fmt: skip
        assert process.stdout is not None
        while len(Results(folder / "killed").keys()) < done:
            assert process.stdout.readline()
        own = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if number != 1:  # only the parent, only a worker, and all
            process.kill()
        for worker in own if number == 2 else own[:1] if number == 1 else []:
            os.kill(int(worker), signal.SIGKILL)
        if number == 1:
            process.stdout.read()
        process.wait()
        process.stdout.close()
    assert ", " in run(folder, "many", "killed")
    assert table(folder, "many", "killed") == table(folder, "many", "whole")
    begun, ended = counts(folder / "killed")
    assert len(ended) == 2000
    assert set(ended.values()) == {1}
    # a run began twice only if its process was killed in it, or an orphan was still busy with it
    assert begun.total() <= 2000 + 3 * workers


SBATCH = """#!/bin/bash
# A stub of sbatch: runs the array's tasks one after the other.
range=${1#--array=}; shift
export SLURM_ARRAY_TASK_COUNT=$((${range#*-} - ${range%-*} + 1)) SLURM_CPUS_PER_TASK=1
for ((task = ${range%-*}; task <= ${range#*-}; task++)); do
    SLURM_ARRAY_TASK_ID=$task bash "$@" || exit
done
"""


def test_the_sbatch_file_makes_all_runs(folder: Path) -> None:
    stub = folder / "bin" / "sbatch"
    stub.write_text(SBATCH)
    stub.chmod(0o755)
    subprocess.run(
        ["sbatch", "--array=1-3", EXAMPLES / "array.sbatch", "few.toml", "slurm"],
        cwd=folder, check=True, timeout=HANGS_S,
    )  # fmt: skip
    run(folder, "few", "whole")
    assert table(folder, "few", "slurm") == table(folder, "few", "whole")
    assert set(counts(folder / "slurm")[0].values()) == {1}


@pytest.mark.skipif(
    shutil.which("snakemake", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") is None,
    reason="snakemake is not installed",
)
def test_the_snakefile_makes_table_and_page(folder: Path) -> None:
    settings = ["sweep=few.toml", "results=results/few", "shards=3"]
    subprocess.run(
        ["snakemake", "--snakefile", EXAMPLES / "Snakefile", "--cores", "2", "--quiet", "all",
         "--config", *settings],
        cwd=folder, check=True, timeout=HANGS_S, env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    run(folder, "few", "whole")
    made = folder / "results" / "few"
    assert (made / "results.parquet").read_bytes() == table(folder, "few", "whole")
    assert (made / "report.html").stat().st_size > 10_000


def test_dask_makes_the_same_table_though_a_worker_is_killed(folder: Path) -> None:
    distributed = pytest.importorskip("distributed")
    sweep = Sweep.from_file(folder / "few.toml")
    run(folder, "few", "whole")
    seen: list[str] = []
    from headway.sweep.run import run_sweep

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:

        def report(outcome) -> None:
            seen.append(outcome["state"])
            if len(seen) == 3:
                os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)

        run_sweep(sweep, folder / "dask", on=f"dask:{cluster.scheduler_address}", report=report)
    assert len(seen) == 24
    assert table(folder, "few", "dask") == table(folder, "few", "whole")
    assert set(counts(folder / "dask")[1].values()) == {1}


def test_the_script_for_dask_jobqueue_runs_a_sweep(folder: Path) -> None:
    pytest.importorskip("distributed")
    subprocess.run(
        [sys.executable, EXAMPLES / "on_cluster.py", "few.toml", "out", "--local", "--jobs", "1"],
        cwd=folder, check=True, timeout=HANGS_S,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    run(folder, "few", "whole")
    assert table(folder, "few", "out") == table(folder, "few", "whole")


KERNEL = """
backend = "kernel"
metrics = ["goodput_bps", "retransmits_pkts"]
[experiment]
duration = "3 s"
rate = "10Mbit/s"
rtt = "20 ms"
[cross]
flows = ["2xcubic", "2xreno", "2xkernel:bbr"]
"""


@on_kernel
def test_a_sweep_on_the_kernel_runs_one_at_a_time_and_goes_on(folder: Path) -> None:
    (folder / "kernel.toml").write_text(KERNEL)
    run(folder, "kernel", "kernel", "--rows", "0:2")
    assert "1 done, 2 kept" in run(folder, "kernel", "kernel", "--workers", "2")
    assert counts(folder / "kernel")[0].total() == 3
    table(folder, "kernel", "kernel")
    found = pl.read_parquet(folder / "kernel.parquet")
    assert found["flows"].to_list() == ["2xcubic", "2xreno", "2xkernel:bbr"]
    assert found["goodput_bps"].is_between(4e6, 5e6).all()  # the mean of two flows


def large(replications: int) -> tuple[Sweep, Table]:
    """A sweep of 1000 combinations, with made-up results."""
    sweep = Sweep(
        name="large",
        experiment={"duration": "30 s"},
        cross={
            "rate": {"range": ["1Mbit/s", "1Gbit/s"], "count": 10, "scale": "log"},
            "rtt": {"range": ["10ms", "200ms"], "count": 20},
            "flows": ["2xcubic", "2xreno", "2xbbr", "2xhtcp", "2xvegas"],
        },
        metrics=["goodput_bps", "srtt_us", "utilization", "drop_rate", "queue_mean_bytes"],
        replications=replications,
    )
    random = np.random.default_rng(1)
    values = zip(sweep.fields, zip(*sweep.cells, strict=True), strict=True)
    axes = tuple(axis_of(name, list(dict.fromkeys(own))) for name, own in values)
    units = list(sweep.units())
    columns = {
        "row": [unit.row for unit in units],
        "seed": [1 + (unit.replication or 0) for unit in units],
        **{a.column: [a.value(sweep.cells[u.cell][at]) for u in units]
           for at, a in enumerate(axes)},
        "class": [sweep.cells[unit.cell][2] for unit in units],
        **{name: random.random(len(units)) for name in sweep.metrics},
    }  # fmt: skip
    return sweep, Table(pl.DataFrame(columns), axes, sweep.metrics, 0, 0)


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    """A browser that shows the page of 50,000 rows."""
    if chromium.program() is None:
        pytest.skip("chromium is not installed")
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(page(*large(50), Path("results/large")), encoding="utf-8")
    with chromium.browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.set_window(1400, "light")
        opened.open(file)
        until_s = time.monotonic() + 60
        while not opened.value("!!window.sweepReport"):
            assert time.monotonic() < until_s, opened.errors_and_warnings
        yield opened


def test_the_page_needs_no_network_and_fits_every_window(
    window: chromium.Browser, tmp_path: Path
) -> None:
    shots = Path(os.environ.get("HEADWAY_SHOTS", tmp_path))
    for chart in ("line", "heat", "cdf"):
        choose(window, "chart", chart)
        for width in (1400, 400):
            for scheme in ("light", "dark"):
                window.set_window(width, scheme)
                window.picture(shots / f"sweep-{chart}-{width}-{scheme}.png")
                assert window.value("document.documentElement.scrollWidth") <= width
        assert window.value(INK) > 2000
    assert window.requests == []
    assert window.errors_and_warnings == []
    assert window.value("window.sweepReport.svg()").startswith("<svg xmlns=")
    window.set_window(1400, "light")


INK = """(copy => {
    copy.width = 400; copy.height = 300;
    const g = copy.getContext('2d', {willReadFrequently: true});
    g.drawImage(document.getElementById('figure'), 0, 0);
    return Array.from(g.getImageData(0, 0, 400, 300).data).filter((v, i) => i % 4 == 3 && v).length;
})(document.createElement('canvas'))"""
"""The number of painted pixels in the upper left part of the figure."""


def choose(window: chromium.Browser, name: str, value: str) -> None:
    window.value(
        f"(e => {{ e.value = {json.dumps(value)}; e.dispatchEvent(new Event("
        f"e.tagName == 'SELECT' ? 'change' : 'input')) }})(document.getElementById('{name}'))"
    )


def shown(window: chromium.Browser) -> list[list[str]]:
    rows = "Array.from(document.querySelectorAll('#body tr[data-row]'))"
    return window.value(f"{rows}.map(r => Array.from(r.cells).map(c => c.textContent))")


def test_the_table_is_filtered_and_sorted_and_gives_commands(window: chromium.Browser) -> None:
    choose(window, "filter", "class=2xreno rtt_us<=20000 utilization<0.5")
    assert 300 < int(window.value("document.getElementById('count').textContent").split()[0]) < 700
    assert {row[4] for row in shown(window)} == {"2xreno"}
    window.value("document.querySelectorAll('#head button')[6].click()")  # goodput, ascending
    goodput = [float(row[6].split()[0]) for row in shown(window)]
    assert goodput == sorted(goodput)
    window.value("document.querySelector('#body tr[data-row]').click()")
    command = window.value("document.getElementById('command').textContent")
    assert command.startswith("headway try --duration '30 s' --rate ")
    assert " --rtt 10ms --flows 2xreno --seed " in command
    choose(window, "filter", "")
    assert len(shown(window)) < 60  # of 50,000


FILTERED = """new Promise(resolve => {
    const box = document.getElementById('filter'), began = performance.now();
    box.value = TEXT; box.dispatchEvent(new Event('input'));
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
})"""
"""The time in ms from typing TEXT until the browser has painted the table."""


@pytest.mark.measures
def test_a_page_of_50000_rows_opens_in_2_s_and_filters_in_100_ms(
    window: chromium.Browser,
) -> None:
    assert window.value("window.sweepReport.ready") < 2000
    choose(window, "chart", "line")
    for text in ("cubic", "utilization<0.5", "2xbbr rtt_us>50000", ""):
        script = FILTERED.replace("TEXT", json.dumps(text))
        assert statistics.median(window.value(script) for _ in range(5)) < 100, text
