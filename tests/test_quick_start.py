"""Quick-Start in experiments: routers that answer requests, and their records in a trace."""

from __future__ import annotations

import polars as pl
import pytest
from support import experiment

from headway import load_trace, run, save_trace
from headway.errors import ExperimentError
from headway.experiment import Bulk, Cbr, Dumbbell, Experiment, Flow, Requests
from headway.metrics import router_counters, router_events
from headway.models.quick_start import (
    RATES_BPS,
    fair_grant_bps,
    optimistic_grant_bps,
    rate_code,
    target_grant_bps,
)
from headway.registry import registry

PATH = {"kind": "dumbbell", "rate": "100Mbit/s", "rtt": "40 ms", "buffer": "100 pkts"}


def generator(mean_interval: str = "10 ms", codes: tuple[int, ...] = (6, 7, 8)) -> Flow:
    return Flow(app=Requests(codes=codes, mean_interval=mean_interval))


def load_test(quick_start: object, **fields: object) -> Experiment:
    flows = [generator()]
    topology = {**PATH, "quick_start": quick_start}
    return experiment(topology=topology, flows=flows, duration="20 s", warmup="0 s", **fields)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (None, None),
        (False, None),
        (True, {}),
        ({"algorithm": "fair", "interval_ms": 200}, {"algorithm": 3, "interval_ms": 200}),
        ("algorithm=optimistic:track=on", {"algorithm": 2, "track": 1}),
    ],
)
def test_a_router_is_written_as_fields_text_or_true(given: object, stored: object) -> None:
    forward, reverse = Dumbbell(**PATH, quick_start=given).links()[0]
    assert forward.quick_start == stored
    assert reverse.quick_start == stored, "a router knows Quick-Start on both sides"
    again = Experiment.model_validate_json(load_test(given).model_dump_json())
    assert again.topology.links()[0][0].quick_start == stored


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"algorithm": "unfair"}, "allowed: target, share, optimistic, fair, extreme"),
        ({"slots": 17}, "tunable slots=17 out of range; allowed: 0 to 16 slots"),
        ({"omega": 2}, "unknown tunable of quick-start 'omega'"),
        ("fair", "'fair': write OPTION=VALUE"),
        (7, "7 is not allowed; must be on, off or tunables of quick-start"),
    ],
)
def test_a_wrong_router_is_refused_in_one_line(given: object, said: str) -> None:
    with pytest.raises(ExperimentError) as error:
        load_test(given)
    line = str(error.value)
    assert said in line
    assert "quick_start" in line
    assert "\n" not in line


def test_a_generator_is_udp_and_asks_for_codes_from_1_to_15() -> None:
    assert not generator().is_tcp
    with pytest.raises(ExperimentError, match="requests flow is UDP"):
        Flow(app=Requests(codes=(7,), mean_interval="1 s"), control="cubic")
    for codes in [(0,), (16,), ()]:
        with pytest.raises(ExperimentError):
            generator(codes=codes)


def test_the_registry_names_the_values_of_a_choice() -> None:
    router = registry().router("quick-start")
    assert router.header == "quick-start"
    estimator = next(t for t in router.tunables if t.name == "estimator")
    assert estimator.choices == ("last", "ewma", "peak")
    assert estimator.allowed == "last, ewma, peak"
    assert [estimator.check(v) for v in ("ewma", 1, "1")] == [1, 1, 1]


def test_a_trace_keeps_every_answer_and_the_totals(tmp_path) -> None:
    trace = run(load_test({"interval_ms": 500}, sample="100 ms"))
    answers = router_events(trace, "quick-start")
    assert answers.height > 1500
    rate_bps = pl.lit(40_000, dtype=pl.UInt64) * pl.lit(2).pow(pl.col("granted_code"))
    grants = answers.filter(pl.col("granted_code") > 0).with_columns(rate_bps=rate_bps)
    granted = grants["rate_bps"].sum()
    totals = router_counters(trace, "quick-start").filter(pl.col("link") == 0)
    last = totals.row(-1, named=True)
    assert last["time_ns"] == trace.duration_ns
    assert last["requests"] == answers.height
    assert last["granted_bps"] == granted
    # by eq. 6.1 the router grants new rates of 100 Mbit/s per second; the traffic of the requests
    # themselves reduces this slightly
    assert granted / 20 == pytest.approx(100e6, rel=0.05)
    assert totals["time_ns"].diff().drop_nulls().max() == 100_000_000
    assert (answers["granted_code"] <= answers["requested_code"]).all()
    used = grants["usage_bps"] + grants["outstanding_bps"] + grants["rate_bps"]
    assert (used <= 100_000_000).all()
    saved = load_trace(save_trace(trace, tmp_path / "trace"))
    assert router_events(saved, "quick-start").equals(answers)


@pytest.mark.parametrize("algorithm", ["target", "optimistic", "fair"])
@pytest.mark.parametrize("estimator", ["peak", "ewma"])
def test_routers_grant_what_the_equations_say(algorithm: str, estimator: str) -> None:
    """Equations 4.17 to 4.19 in real numbers, to compare with the router's integers."""
    call = Flow(app=Cbr(packet="1250 B", interval="200 us"), start="3 s", stop="6 s")
    trace = run(
        experiment(
            topology={
                **PATH,
                "quick_start": {
                    "algorithm": algorithm,
                    "estimator": estimator,
                    "interval_ms": 200,
                    "slots": 3,
                    "threshold_permille": 900,
                },
            },
            flows=[generator("7 ms", tuple(range(1, 11))), call],
            duration="10 s",
            warmup="0 s",
        )
    )
    answers = router_events(trace, "quick-start")
    assert answers["usage_bps"].max() > 20e6
    slot, granted_now, granted = -1, 0, set()
    for row in answers.iter_rows(named=True):
        request = RATES_BPS[row["requested_code"]]
        spare = max(90e6 - row["usage_bps"], 0.0)
        outstanding = row["outstanding_bps"]
        if row["time_ns"] // 200_000_000 != slot:
            slot, granted_now = row["time_ns"] // 200_000_000, 0
        if algorithm == "optimistic":
            rate = optimistic_grant_bps(request, spare_bps=spare)
        elif algorithm == "fair":
            rate = fair_grant_bps(
                request,
                spare_bps=spare,
                granted_now_bps=granted_now,
                outstanding_bps=outstanding,
                elapsed=row["time_ns"] / 200e6 - slot,
                slots=3,
            )
        else:
            rate = target_grant_bps(request, spare_bps=spare, outstanding_bps=outstanding)
        # rounding: the trace has the link's usage to 8 bit/s, and the slot's time to 1 us
        near = {rate_code(max(rate + error, 0.0)) for error in (-500.0, 500.0)}
        assert row["granted_code"] in near, row
        granted_now += RATES_BPS[row["granted_code"]]
        granted.add(row["granted_code"])
    assert len(granted) > 5


def test_without_a_router_there_are_no_answers() -> None:
    trace = run(load_test(None))
    assert router_events(trace, "quick-start").height == 0
    assert router_counters(trace, "quick-start").height == 0


@pytest.mark.parametrize(
    ("path", "failure"),
    [
        ({"quick_start": True}, None),
        ({}, "TTL differs"),
        ({"quick_start": "threshold_permille=0"}, "unanswered"),
        ({"quick_start": True, "drop_ip_options": True}, "lost"),
    ],
)
def test_a_flow_says_why_its_request_failed(path: dict[str, object], failure: str | None) -> None:
    flow = Flow(app=Bulk(size="300 kB"), control="cubic+quick-start")
    trace = run(experiment(topology={**PATH, **path}, flows=[flow], duration="20 s", warmup="0 s"))
    summary = trace.flows[0]
    assert summary.unique_bytes == 300_000, "the connection works whatever the path does"
    assert summary.counted("quick-start", "requests") == 1
    assert summary.counted("quick-start", "grants") == (failure is None)
    assert summary.protocols["quick-start"].get("failure") == failure


def test_a_link_may_drop_packets_with_ip_options() -> None:
    topology = {**PATH, "drop_ip_options": True}
    trace = run(experiment(topology=topology, flows=[generator()], duration="2 s", warmup="0 s"))
    assert trace["drops"].height > 100
    assert (trace["drops"]["reason"] == 3).all()
