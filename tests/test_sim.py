"""The engine through Python: the properties that everything else relies on."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import ROWS, Row, done_ms
from support import S, experiment

from headway import metrics, run
from headway.backends import backend_named, keep_trace
from headway.errors import HeadwayError
from headway.experiment import Capture, Experiment, parse_flows
from headway.registry import registry
from headway.trace import SCHEMA, Trace, save_trace

MIXED = experiment(
    flows="1xcubic,1xreno:sack=off,1xhtcp,1xvoip", start_spread="1 s", capture=Capture()
)


def same(one, two) -> bool:
    return one.capture == two.capture and all(one[name].equals(two[name]) for name in SCHEMA)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (save_trace(run(MIXED), tmp_path / name) for name in "ab")
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes()


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_change_a_trace(threads: int) -> None:
    several = [MIXED.model_copy(update={"seed": seed}) for seed in range(4)]
    traces = {}
    backend_named("sim").run_each(several, keep_trace, traces.__setitem__, threads=threads)
    assert sorted(traces) == [0, 1, 2, 3]
    for index, one in enumerate(several):
        assert same(traces[index], run(one))
    assert not same(traces[0], traces[1])


@pytest.mark.parametrize("stack", [stack.name for stack in registry().stacks])
@pytest.mark.parametrize("control", [control.name for control in registry().controls])
def test_every_control_fills_the_link_on_every_stack(control: str, stack: str) -> None:
    trace = run(experiment(flows=f"2x{control}", stack=stack, duration="20 s", warmup="5 s"))
    assert metrics.utilization(trace) > 0.95
    delivered = sum(metrics.goodput_bps(trace, flow) for flow in trace.tcp_flows())
    # 1448 of 1500 bytes are payload with timestamps. When a retransmission fills a hole, the
    # receiver also delivers data that arrived before the measured time: at most a full queue per
    # flow.
    assert 0.9e6 < delivered <= 1e6 * 1448 / 1500 + 2 * 60_000 * 8 / 15
    assert metrics.queue_bytes(trace).max <= 60_000 + 1500


def test_every_startup_works_with_every_control() -> None:
    for control in registry().controls:
        if "own-start" in control.flags:
            trace = run(experiment(flows=f"1x{control.name}"))
            assert trace.flows[0].startup is None
            assert metrics.goodput_bps(trace, 0) > 0
            continue
        for startup in registry().startups:
            trace = run(experiment(flows=f"1x{control.name}+{startup.name}"))
            assert trace.flows[0].startup == startup.name
            assert metrics.goodput_bps(trace, 0) > 0


def test_the_call_sees_propagation_and_the_full_queue_as_bounds() -> None:
    trace = run(experiment(flows="1xreno,1xvoip", duration="60 s", warmup="0 s"))
    owd = metrics.owd_distribution_us(trace)
    assert owd.min >= 25_000
    # 25 ms of propagation, 480 ms in a full queue, and one packet more; see paper 001, section 4.2.
    assert owd.max <= 25_000 + 480_000 + 13_000 + 2_000


def test_a_finite_flow_delivers_exactly_its_bytes() -> None:
    trace = run(
        experiment(
            flows="1xcubic:size=123457B",
            duration="30 s",
            topology={
                "kind": "dumbbell",
                "rate": "1Mbit/s",
                "rtt": "50 ms",
                "buffer": "5 pkts",
                "loss": "3%",
            },
        )
    )
    counters = trace["flow_counters"].filter(pl.col("time_ns") == 30 * S)
    assert counters["delivered_bytes"].to_list() == [123_457]
    assert trace.flows[0].unique_bytes == 123_457


@settings(max_examples=15)
@given(
    rate=st.sampled_from(["100kbit/s", "1Mbit/s", "30Mbit/s"]),
    rtt=st.sampled_from(["1 ms", "50 ms", "600 ms"]),
    buffer=st.sampled_from(["3 pkts", "0.5 BDP", "100 kB"]),
    loss=st.sampled_from([0, 0.02, 0.3]),
    flows=st.sampled_from(["1xreno:sack=off", "2xcubic,1xvoip", "1xhtcp:delayed_ack=off"]),
    stack=st.sampled_from(["linux-2.6", "linux-6"]),
    seed=st.integers(0, 2**32),
)
def test_counters_agree_whatever_the_path(rate, rtt, buffer, loss, flows, stack, seed) -> None:
    one = experiment(
        topology={"kind": "dumbbell", "rate": rate, "rtt": rtt, "buffer": buffer, "loss": loss},
        flows=flows,
        stack=stack,
        seed=seed,
        duration="5 s",
        warmup="1 s",
    )
    trace = run(one)
    totals = trace["link_counters"].filter(pl.col("time_ns") == one.duration)
    for row in totals.iter_rows(named=True):
        inside = row["arrived_pkts"] - row["sent_pkts"] - row["dropped_pkts"]
        assert inside >= 0
        recorded = trace["drops"].filter(pl.col("link") == row["link"]).height
        assert recorded == row["dropped_pkts"]
    assert (trace["flow_state"]["cwnd_pkts"] >= 1).all()
    assert 0 <= metrics.utilization(trace) <= 1
    metrics.flow_table(trace)
    metrics.link_table(trace)


def test_what_the_engine_refuses_is_one_line() -> None:
    far = experiment().topology.model_copy(update={"access_rate": 0})
    with pytest.raises(HeadwayError, match=r"^topology\.access_rate: '0 bit/s' must be") as error:
        run(experiment(topology=far))
    assert "\n" not in str(error.value)


def test_epochs_on_connections_of_their_own_each_pay_a_handshake() -> None:
    def took_rtts(connections: tuple[int, ...] | None) -> list[int]:
        app = {"kind": "vectors", "epochs": [["9 B", "9 B", "1 s"]] * 3, "connections": connections}
        trace = run(experiment(flows=[{"app": app, "control": "reno"}]))
        rows = metrics.responses(trace, (0, 10 * S))
        return [round(seconds / 0.05) for seconds in rows["seconds"]]

    assert took_rtts(None) == [2, 1, 1]
    assert took_rtts((1, 2)) == [2, 2, 1]
    assert took_rtts((1, 1, 1)) == [2, 2, 2]


@pytest.mark.parametrize(
    "app",
    [
        {"kind": "bulk", "size": "200 kB"},
        {"kind": "vectors", "epochs": [["1 kB", "50 kB", "1 s"]] * 2, "connections": [1, 1]},
    ],
)
def test_a_flow_may_have_a_stack_of_its_own(app: dict) -> None:
    """A flow with ``stack`` behaves as in an experiment with this stack; others do not change."""

    def alone(stack: str, of_flow: str | None) -> Trace:
        flow = {"app": app, "control": "reno", "start": "0 s", "stack": of_flow}
        return run(experiment(flows=[flow], stack=stack, duration="5 s"))

    older, newer = alone("linux-2.6", None), alone("linux-6", None)
    assert not older["flow_state"].equals(newer["flow_state"])
    own = alone("linux-6", "linux-2.6")
    for name, table in older.tables.items():
        assert own[name].equals(table), name
    both = run(experiment(flows="reno:stack=linux-2.6,reno"))["flow_state"]
    old, new = (both.filter(pl.col("flow") == flow)["cwnd_pkts"][0] for flow in (0, 1))
    assert old < new == 10
    with pytest.raises(HeadwayError, match="stack: unknown stack 'linux-7'; nearest: linux-6"):
        parse_flows("reno:stack=linux-7")


def test_a_router_leaves_random_losses_as_they_are() -> None:
    def lost_ns(routers: list[str]) -> list[int]:
        path = {"kind": "dumbbell", "rate": "16 Mbit/s", "rtt": "18 ms",
                "buffer": "20 pkts", "loss": 0.02, "routers": routers}  # fmt: skip
        experiment = Experiment.model_validate(
            {"topology": path, "flows": "1xvcp", "duration": "500 ms"}
        )
        drops: list[int] = run(experiment)["drops"]["time_ns"].to_list()
        return drops

    # at low load a VCP router changes nothing, because it signals the same load factor that VCP
    # assumes without routers
    assert lost_ns(["vcp"]) == lost_ns([]) != []


def test_routers_at_arrival_write_older_prices_as_on_the_kernel() -> None:
    def drops(at_arrival: bool) -> int:
        path = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "100 pkts",
                "routers": ["maxnet"], "routers_at_arrival": at_arrival}  # fmt: skip
        made = Experiment.model_validate(
            {"topology": path, "flows": "maxnet", "duration": "3 s", "warmup": "0 s"}
        )
        return run(made)["drops"].height

    # a price that is older by the time in the queue lets the window overshoot; Linux 6.18 with
    # `headwayctl router maxnet` dropped 18 packets in two runs
    assert [drops(False), drops(True)] == [0, 17]


def test_routers_at_arrival_see_packets_that_are_lost_behind_them() -> None:
    def headers(at_arrival: bool) -> int:
        path = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "100 pkts",
                "loss": 0.1, "routers": ["maxnet"], "routers_at_arrival": at_arrival}  # fmt: skip
        made = Experiment.model_validate(
            {"topology": path, "flows": "maxnet", "duration": "3 s", "warmup": "0 s"}
        )
        trace = run(made)
        sent = trace["flow_counters"]["sent_pkts"].max()
        counted = trace["router_counters"].filter(pl.col("name") == 2, pl.col("link") == 0)
        return sent - counted["value"].max()

    assert headers(True) == 0
    assert headers(False) > 10


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_transfer_takes_as_long_as_on_the_kernel(row: Row) -> None:
    took_ms = done_ms(run(row.experiment))
    assert took_ms == pytest.approx(row.sim_ms, rel=0.002)
    assert took_ms == pytest.approx(row.kernel_ms, rel=row.spread)
