"""Plays files of exchanges on the kernel and compares response times with the simulator.

Times may differ by 20 ms or 5 %. Where a busy machine delays single responses, medians are
compared.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from real_time import in_real_time, live, live_each
from support import on_kernel
from test_exchanges import PAGE, THREE, experiment, page, seconds  # noqa: F401 - page is a fixture

from headway import Dumbbell, Exchanges, Experiment, Flow, metrics, run
from headway.errors import HeadwayError


@on_kernel
@in_real_time
def test_a_file_of_one_connection_runs_on_the_kernel_as_in_the_simulator(tmp_path):
    file = tmp_path / "one.csv"
    file.write_text(
        "request_bytes,response_bytes,serve_ns,think_ns\n"
        "300,30000,40000000,400000000\n500,8000,,100000000\n200,100000,,\n"
    )
    made = experiment(Exchanges(file=file)).model_copy(update={"duration": 4_000_000_000})
    window = (0, made.duration)
    sim, kernel = (
        metrics.responses(trace, window)["seconds"].to_numpy() for trace in (run(made), live(made))
    )
    assert len(sim) == len(kernel) == 3
    assert np.abs(sim - kernel).max() < 0.02


@on_kernel
@in_real_time
def test_three_connections_that_wait_for_one_another_take_as_long_on_both_backends(
    tmp_path: Path,
) -> None:
    """Exchange 3 with two deadlines: slow start meets 700 ms, only a fast start meets 400 ms."""
    deadlines_ms, took_s = (700, 400), (0.618, 0.480)
    asked = []
    for deadline_ms in deadlines_ms:
        file = tmp_path / f"{deadline_ms}.csv"
        file.write_text(THREE.replace("700000000,0", f"{deadline_ms}000000,0"))
        asked.append(
            Experiment(
                topology=Dumbbell(rate="10 Mbit/s", rtt="100 ms", buffer="2 BDP"),
                flows=[Flow(app=Exchanges(file=file), control="reno+mega-start", start="500 ms")],
                duration="3 s",
            )
        )
    # other programs may take the processor during a paced start: one run in five takes 6 % longer
    runs = [live_each(asked) for _ in range(3)]
    for at, made in enumerate(asked):
        sim, kernel = run(made), [traces[at] for traces in runs]
        assert [len(seconds(trace)) for trace in (sim, *kernel)] == [6] * 4
        medians = np.median([seconds(trace) for trace in kernel], axis=0)
        assert np.abs(medians / seconds(sim) - 1).max() < 0.05
        assert medians[3] == pytest.approx(took_s[at], rel=0.05)
        starts = [t["responses"].sort("epoch")["start_ns"].to_numpy() for t in (sim, *kernel)]
        assert np.abs(np.median(starts[1:], axis=0) - starts[0]).max() < 60_000_000
        last = [trace["flow_counters"].row(-1, named=True) for trace in (sim, *kernel)]
        assert [row["delivered_bytes"] for row in last] == [399_000] * 4
        assert [row["acked_bytes"] for row in last] == [399_000] * 4


@on_kernel
@in_real_time
def test_ten_thousand_exchanges_run_on_the_kernel(tmp_path):
    file = tmp_path / "many.csv"
    lines = (
        f"{i // 10},{i // 10 * 6_000_000 if i % 10 == 0 else ''},100,500,"
        f"{i - 1 if i % 1000 == 0 and i else ''}"
        for i in range(10_000)
    )
    head = "connection,start_ns,request_bytes,response_bytes,after\n"
    file.write_text(head + "\n".join(lines) + "\n")
    made = Experiment(
        topology=Dumbbell(rate="100 Mbit/s", rtt="100 ms", buffer="1 BDP"),
        flows=[Flow(app=Exchanges(file=file), control="cubic")],
        duration="8 s",
    )
    sim, kernel = run(made), live(made)
    assert sim["responses"].height == kernel["responses"].height == 10_000
    # compare the lower quartile, since a busy machine delays only some responses
    quarter = [np.quantile(seconds(trace), 0.25) for trace in (sim, kernel)]
    assert abs(quarter[1] / quarter[0] - 1) < 0.05


@on_kernel
def test_what_only_the_simulator_can_play_is_refused_by_the_kernel_in_one_line(page):
    flow = Flow(app=Exchanges(file=page), control="cubic", announces=True)
    made = experiment(Exchanges(file=page)).model_copy(update={"flows": (flow,)})
    with pytest.raises(HeadwayError, match="announces: not possible with several connections"):
        run(made, backend="kernel")
    page.write_text(PAGE.replace("0,300,", "0,0,").replace("3000,,,\n", "3000,,,2\n"))
    with pytest.raises(HeadwayError, match="exchange 1, after: 2 is not allowed; with request_by"):
        run(experiment(Exchanges(file=page)), backend="kernel")
