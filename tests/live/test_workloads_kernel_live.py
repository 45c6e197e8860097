"""Plays workloads over real sockets and compares them with the simulator.

The tolerances at the assertions allow for a busy machine. A late run is repeated.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from real_time import in_real_time, live
from shown import steps
from support import ROOT, on_kernel
from test_workloads_kernel import asked, drawn

from headway import (
    Flow,
    Trace,
    Vectors,
    metrics,
    run,
)
from headway.workloads import shares


def rows_of(trace: Trace) -> pl.DataFrame:
    rows = metrics.responses(trace, (0, trace.experiment.duration))
    return rows.sort("flow", "epoch")


@on_kernel
@in_real_time
def test_a_tmix_file_is_played_on_the_kernel_as_in_the_simulator(tmp_path: Path) -> None:
    made = asked(drawn(tmp_path / "some.tmix"))
    sim, kernel = run(made), live(made)
    share = [shares(flow.app.workload, 2)[flow.app.pair] for flow in made.flows]
    assert min(map(len, share)) > 2, "connections of each pair"
    assert kernel.experiment == made
    assert [flow.kind for flow in kernel.flows] == ["sessions"] * 2
    one, other = rows_of(sim), rows_of(kernel)
    columns = ["flow", "epoch", "request_bytes", "response_bytes"]
    assert one.height == sum(part.request_bytes.size for part in share)
    assert one.select(columns).equals(other.select(columns))
    apart_s = np.abs(one["seconds"].to_numpy() - other["seconds"].to_numpy())
    # if only one backend counted handshakes, every second exchange would differ by 60 ms
    assert np.median(apart_s) < 0.01
    assert np.quantile(apart_s, 0.8) < 0.03
    begun_ns = np.abs(one["start_ns"].to_numpy() - other["start_ns"].to_numpy())
    assert np.median(begun_ns) < 20_000_000
    for name in ("delivered_bytes", "acked_bytes"):
        ends = [
            trace["flow_counters"].group_by("flow").agg(pl.col(name).max()).sort("flow")
            for trace in (sim, kernel)
        ]
        assert ends[0].equals(ends[1])
        assert ends[0][name].to_list() == [part.response_bytes.sum() for part in share]


@on_kernel
@in_real_time
def test_vectors_on_connections_in_turn_take_as_long_on_both_backends() -> None:
    app = Vectors(
        epochs=[("300 B", "30 kB", "100 ms"), ("400 B", "8 kB", "0 s"), ("2 kB", "0 B", "50 ms")],
        connections=[1, 1, 1],
    )
    made = asked([Flow(app=app, control="cubic")], duration="3 s")
    one, other = (rows_of(trace) for trace in (run(made), live(made)))
    assert other["epoch"].to_list() == [0, 1, 2]
    took_s = [rows["seconds"].to_numpy() for rows in (one, other)]
    begun_s = [np.diff(rows["start_ns"].to_numpy()) / 1e9 for rows in (one, other)]
    for simulated, measured in (took_s, begun_s):
        assert np.abs(simulated - measured).max() < 0.03


@on_kernel
def test_a_pair_without_a_session_sends_nothing_on_the_kernel(tmp_path: Path) -> None:
    flows = drawn(tmp_path / "one.tmix", pairs=40, load=0.01, until="1 s")
    sizes = [len(share) for share in shares(flows[0].app.workload, 40)]
    empty, used = sizes.index(0), sizes.index(max(sizes))
    trace = live(asked([flows[empty], flows[used]], duration="2 s"))
    assert trace.flows[0].first_packet_ns is None
    assert trace.flows[1].first_packet_ns is not None
    assert set(trace["responses"]["flow"].to_list()) == {1}


@on_kernel
@in_real_time
def test_the_pages_surge_users_load_their_pages_on_both_backends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [program] = [step.text for step in steps(ROOT / "docs/workloads.md") if "surge" in step.text]
    monkeypatch.chdir(tmp_path)
    shown: dict[str, Trace] = {}
    exec(compile(program, "docs/workloads.md", "exec"), shown)
    made = shown["trace"].experiment
    kernel = live(made)
    window = (0, made.duration)
    one, other = (metrics.page_loads(trace, window) for trace in (shown["trace"], kernel))
    assert one.height > 8
    both = one.join(other, on=["flow", "page"], suffix="_kernel")
    # a page that completes near the end of the run may be in only one of the two traces
    assert both.height >= max(one.height, other.height) - len(made.flows)
    apart_s = (both["seconds_kernel"] - both["seconds"]).abs()
    assert apart_s.quantile(0.8) < 0.1
    thought = [trace.sort("flow", "page")["start_ns"].diff().median() for trace in (one, other)]
    assert thought[1] == pytest.approx(thought[0], rel=0.1)
