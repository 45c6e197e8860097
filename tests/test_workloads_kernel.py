"""Workloads, tmix files and vectors on several connections over real sockets, as simulated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from real_time import in_real_time, live
from shown import steps
from support import ROOT, on_kernel

from headway import (
    Chain,
    Dumbbell,
    Exchanges,
    Experiment,
    Flow,
    Sessions,
    Trace,
    Vectors,
    metrics,
    run,
)
from headway.backends.kernel import check
from headway.backends.kernel.lowered import FIRST_PORT, from_handshakes, lowered
from headway.errors import HeadwayError
from headway.workloads import Pareto, Tmix, Workload, read_exchanges, shares, tmix

PATH = Dumbbell.model_validate({"rate": "10 Mbit/s", "rtt": "60 ms", "buffer": "2 BDP"})
SMALL = """\
SEQ 0 3 1 1
> 329
t 12000
< 4030
t 120000
> 403
< 25821
t 40000
> 2000
< 90000
SEQ 300000 1 1 2
> 400
t 30000
< 60000
SEQ 500000 2 1 3
< 12000
t 60000
> 900
< 1198
t 20000
"""


def drawn(path: Path, *, pairs: int = 2, **changes: object) -> list[Flow]:
    """Pairs that share a tmix file's connections, 1 MB of responses in all."""
    path.write_text(SMALL)
    _, digest = tmix.load(path)
    workload = Workload.model_validate(
        {
            "vectors": Tmix(path=str(path), sha256=digest),
            "load": 0.5,
            "rate": "2 Mbit/s",
            "until": "8 s",
            "seed": 2,
            **changes,
        }
    )
    return [
        Flow(app=Sessions(workload=workload, pair=pair, pairs=pairs), control="cubic", start="1 s")
        for pair in range(pairs)
    ]


def asked(flows: list[Flow], **fields: object) -> Experiment:
    return Experiment.model_validate(
        {"topology": PATH, "flows": flows, "duration": "11 s", **fields}
    )


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
    # a handshake counted in one and not in the other would be 60 ms, in every second exchange
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


def test_what_starts_before_its_flow_is_open_with_it_in_the_file_too(tmp_path: Path) -> None:
    flows = drawn(tmp_path / "some.tmix", pairs=1)
    late = [flows[0].model_copy(update={"start": 5_000_000_000})]
    [flow] = lowered(asked(late), tmp_path).flows
    assert isinstance(flow.app, Exchanges)
    starts_ns = shares(flows[0].app.workload, 1)[0].start_us * 1000
    expected = np.maximum(starts_ns - 5_000_000_000, 0)
    assert expected.min() == 0 < expected.max()
    assert read_exchanges(flow.app.file).start_ns.tolist() == expected.tolist()


def test_a_connections_first_exchange_begins_when_its_handshake_has_ended(tmp_path: Path) -> None:
    file = tmp_path / "played.csv"
    played = Flow(app=Exchanges(file=_written(file, "0,1,1\n0,1,1\n1,1,1\n")), control="reno")
    # exchange 1 follows on its connection; of the second connection nothing ever came
    rows = np.array([[0, 10, 90], [1, 95, 99], [2, 20, 80]])
    told = from_handshakes(rows, played, {FIRST_PORT: 50})
    assert told.tolist() == [[0, 50, 90], [1, 95, 99], [2, 20, 80]]
    told = from_handshakes(rows, played, {FIRST_PORT: 5, FIRST_PORT + 1: 60})
    assert told.tolist() == [[0, 10, 90], [1, 95, 99], [2, 60, 80]]
    alone = Flow(app=Exchanges(file=_written(file, "0,1,1\n0,1,1\n")), control="reno")
    told = from_handshakes(rows[:2], alone, {45_678: 50})
    assert told.tolist() == [[0, 50, 90], [1, 95, 99]]
    assert from_handshakes(rows[:0], alone, {}).shape == (0, 3)


def _written(file: Path, lines: str) -> Path:
    file.write_text("connection,request_bytes,response_bytes\n" + lines)
    return file


def test_what_a_file_of_exchanges_cannot_say_is_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "some.tmix"
    for flows, fields, said in [
        (drawn(file, persistent=True), {}, "persistent: not possible; a file of exchanges says"),
        (
            drawn(file, vectors=Pareto(mean="1 kB", request="0 B"), rate="1 Gbit/s"),
            {},
            "at most 32768, one for each of the client's ports",
        ),
        ([flow.model_copy(update={"announces": True}) for flow in drawn(file)], {}, "announces: "),
        (drawn(file), {"topology": _two_hops()}, "sessions: not possible with a gateway"),
    ]:
        with pytest.raises(HeadwayError, match=f"^kernel backend: .*{said}") as error:
            check(asked(flows, **fields))
        assert "\n" not in str(error.value)
    file.write_text(SMALL + "SEQ 900000 1\n> 0\nt 5\n> 7\n< 7\n")
    _, digest = tmix.load(file)
    flows = drawn(file)
    file.write_text(SMALL + "SEQ 900000 1\n> 0\nt 5\n> 7\n< 7\n")
    vectors = Tmix(path=str(file), sha256=digest)
    workload = flows[0].app.workload.model_copy(update={"vectors": vectors})
    app = Sessions(workload=workload, pair=0, pairs=1)
    with pytest.raises(HeadwayError, match="without a request and a response is not allowed"):
        check(asked([Flow(app=app, control="cubic")]))


def _two_hops() -> Chain:
    hop = {"forward": {"rate": "5Mbit/s", "delay": "10 ms", "buffer": "20000 B"}}
    return Chain.model_validate({"hops": [hop] * 2})


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
    # a page that ends as the run does may be in one of them only
    assert both.height >= max(one.height, other.height) - len(made.flows)
    apart_s = (both["seconds_kernel"] - both["seconds"]).abs()
    assert apart_s.quantile(0.8) < 0.1
    thought = [trace.sort("flow", "page")["start_ns"].diff().median() for trace in (one, other)]
    assert thought[1] == pytest.approx(thought[0], rel=0.1)
