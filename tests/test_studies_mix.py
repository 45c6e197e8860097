"""The studies of many host pairs: their trials, and that their claims can fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from headway import metrics
from headway.backends.sim import SimBackend
from headway.claims import Evidence
from headway.cli.app import execute
from headway.errors import HeadwayError
from headway.experiment import Sessions
from headway.studies import mixed_use, trace_mix
from headway.studies.common import lab, pairs, traffic
from headway.study import Study, StudyContext, discover
from headway.trace import Trace
from headway.workloads import Campus, Recorded, sessions, shares, tmix

NAMES = ("buffers", "load", "mixed-use", "trace-mix")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_scheme_of_a_study_gets_the_same_sessions(name: str, tmp_path: Path) -> None:
    ctx = StudyContext(tmp_path, SimBackend(), quick=True)
    trials = discover()[name].experiments(ctx)
    workloads = {}
    for key, experiment in trials.items():
        apps = [flow.app for flow in experiment.flows]
        assert all(isinstance(app, Sessions) for app in apps)
        assert {app.pair for app in apps} == set(range(len(apps)))  # type: ignore[union-attr]
        workloads[key] = apps[0].workload  # type: ignore[union-attr]
    assert len(set(workloads.values())) < len(trials)


def test_pairs_have_all_round_trip_times_alike() -> None:
    workload = pairs.workload(Campus(), load=0.1, hours=0.01, seed=1)
    flows = pairs.workload_experiment(workload, [pairs.SLOW_START, pairs.JUMP_START]).flows
    for startup in ("slow-start", "jump-start"):
        delays = [f.delay for f in flows if f.control and f.control.startup == startup]
        rtts_ms = sorted(4 + 2 * delay / 1e6 for delay in delays)
        assert rtts_ms == sorted(list(pairs.RTTS_MS) * 25)


def test_responses_know_their_sizes() -> None:
    workload = pairs.workload(Campus(), load=0.3, hours=0.02, seed=1)
    experiment = pairs.workload_experiment(workload, [pairs.SLOW_START], pairs=30)
    rows = metrics.responses(SimBackend().run(experiment), (0, experiment.duration))
    for flow in (0, 7, 29):
        share = shares(workload, 30)[flow]
        own = rows.filter(pl.col("flow") == flow).sort("epoch")
        assert own["response_bytes"].to_list() == share.response_bytes[own["epoch"]].tolist()
        assert own["request_bytes"].to_list() == share.request_bytes[own["epoch"]].tolist()
    rtt_s = 0.004 + 2 * np.array([f.delay for f in experiment.flows])[rows["flow"]] / 1e9
    # A response takes at least a round trip, the server's delay and the transmission time.
    delays = [share.serve_us for share in shares(workload, 30)]
    served_s = np.array(
        [delays[flow][epoch] / 1e6 for flow, epoch in rows.select("flow", "epoch").iter_rows()]
    )
    # An exchange that has only a request or only a response takes half a round trip.
    both = (rows["request_bytes"] > 0) & (rows["response_bytes"] > 0)
    rtt_s = np.where(both, rtt_s, rtt_s / 2)
    least = rtt_s + served_s + rows["response_bytes"].to_numpy() * 8 / 9.76e6
    assert (rows["seconds"].to_numpy() >= least).all()


def trial(scheme: pairs.Scheme, *, vectors: pairs.Vectors, schemes: int = 1) -> Trace:
    """Simulate some minutes of a workload of 36 host pairs."""
    workload = pairs.workload(vectors, load=0.3, hours=0.05, seed=1)
    halves = [pairs.SLOW_START, scheme] if schemes == 2 else [scheme]
    return SimBackend().run(pairs.workload_experiment(workload, halves, pairs=36))


def test_a_trial_with_routers_counts_their_answers() -> None:
    routed = trial(pairs.QUICK_STARTS[0], vectors=Campus())
    counted = traffic.traffic(routed, traffic.responses(routed)).router
    assert counted is not None
    assert 0 < counted.approved_part <= 1
    assert counted.granted_bps > counted.grants > 0
    plain = trial(pairs.SLOW_START, vectors=Campus())
    assert traffic.traffic(plain, traffic.responses(plain)).router is None


def test_what_is_kept_of_epochs_is_what_the_table_of_them_says() -> None:
    trace = trial(pairs.SLOW_START, vectors=Campus())
    kept, rows = trace_mix.experiments.observe("", trace), traffic.responses(trace)
    seconds, sizes = rows["seconds"].to_numpy(), rows["response_bytes"].to_numpy()
    assert kept.count == rows.height > 1000
    assert kept.mean_s == pytest.approx(seconds.mean(), rel=1e-3)
    assert kept.large.mean == pytest.approx(seconds[sizes >= 10_000].mean(), rel=0.03)
    assert kept.p95_s == pytest.approx(np.quantile(seconds, 0.95))
    assert kept.above_ms == {ms: float((1e3 * seconds > ms).mean()) for ms in kept.above_ms}
    for at_s, part in zip(kept.tail_s, kept.tail_part, strict=True):
        # a response that takes exactly ``at_s`` may count as longer or not
        assert (seconds > at_s).mean() - 1e-9 <= part <= (seconds >= at_s).mean() + 1e-9
    by_size, ends = kept.by_size, trace_mix.experiments.SIZES_BYTES
    for middle, mean_s, lower_s, upper_s in zip(
        by_size.bytes, by_size.mean_s, by_size.lower_s, by_size.upper_s, strict=True
    ):
        place = int(np.searchsorted(ends, middle)) - 1
        own = seconds[(sizes >= ends[place]) & (sizes < ends[place + 1])]
        assert own.size >= trace_mix.experiments.ENOUGH
        assert mean_s == pytest.approx(own.mean())
        assert (lower_s, upper_s) == pytest.approx(tuple(np.quantile(own, [0.25, 0.75])))
    assert by_size.bytes.size > 5


def test_halves_of_a_mixed_trial_are_compared_request_by_request() -> None:
    vectors = pairs.synthetic(14_000)
    rows = {}
    for scheme in (pairs.SLOW_START, pairs.JUMP_START):
        trace = trial(scheme, vectors=vectors, schemes=2)
        name = mixed_use.experiments.key(scheme.key, 0.3)
        rows[name] = mixed_use.experiments.observe(name, trace)
        answered = traffic.responses(trace)
        for number, half in enumerate((rows[name].default, rows[name].fast)):
            own = answered.filter(pl.col("flow") // 9 % 2 == number)["seconds"].to_numpy()
            kept = half.seconds[np.isfinite(half.seconds)]
            assert np.sort(kept) == pytest.approx(np.sort(own), rel=1e-6)
            assert half.mean.mean == pytest.approx(own.mean(), rel=1e-3)
    found = Evidence(rows)
    both = [
        rows[mixed_use.experiments.key(s, 0.3)].fast.seconds for s in ("slow-start", "jump-start")
    ]
    change, interval = mixed_use.claims.change(found, "jump-start", "fast", 0.3)
    there = np.isfinite(both[0] + both[1])
    assert change == pytest.approx(both[1][there].mean() / both[0][there].mean() - 1, abs=0.01)
    assert change < -0.1 < -interval
    # both schemes have the same sessions in the same order, so equal values give no interval
    assert mixed_use.claims.change(found, "slow-start", "fast", 0.3) == (0, 0)


def test_outcomes_for_two_halves_have_the_names_of_the_thesis() -> None:
    named = {
        "ideal": ((-0.2, 0.01), (-0.12, 0.01)),
        "good": ((-0.2, 0.01), (0.09, 0.01)),
        "unfair": ((-0.2, 0.01), (0.12, 0.01)),
        "contrary": ((0.2, 0.01), (0.0, 0.01)),
        "detrimental": ((0.2, 0.01), (0.12, 0.01)),
        "–": ((-0.01, 0.02), (0.12, 0.2)),
    }
    assert {name: mixed_use.claims.outcome_class(*changes) for name, changes in named.items()} == {
        name: name for name in named
    }


def test_quick_start_asks_in_the_handshake_where_connections_open() -> None:
    workload = pairs.workload(Campus(), load=0.1, hours=0.02, seed=1)
    for scheme, foresees in ((pairs.QUICK_STARTS[1], True), (pairs.ROUTERS[0], False)):
        flow = pairs.workload_experiment(workload, [scheme], pairs=9).flows[0]
        assert flow.announces_first == scheme.foresees == foresees
        assert flow.control is not None
        assert (flow.control.tunables["qs_activation"] == lab.EARLY_OR_LATE) == foresees


@pytest.mark.parametrize("name", ["trace-mix", "buffers"])
def test_studies_of_traces_replay_the_recorded_vectors(name: str, tmp_path: Path) -> None:
    study = discover()[name]
    for chosen, vectors in (
        (None, Recorded()),
        ("recorded", Recorded()),
        ("recorded-all", Recorded(largest_request=None)),
        ("drawn", Campus()),
    ):
        assert pairs.traced(None if chosen is None else Path(chosen)) == vectors
    ctx = StudyContext(tmp_path, SimBackend(), quick=True)
    app = next(iter(study.experiments(ctx).values())).flows[0].app
    assert isinstance(app, Sessions)
    assert app.workload.vectors == Recorded()
    assert "uploads" in " ".join(study.choices)
    assert [made().columns[1] for made in study.workload_tables] == ["thesis"]


def test_vectors_are_chosen_by_name_or_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path | None] = []
    monkeypatch.setattr(Study, "run", lambda _, ctx: seen.append(ctx.vectors))
    monkeypatch.setattr("headway.cli.studies._show", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    for chosen in ("recorded-all", "drawn", "some.tmix", str(tmp_path / "drawn")):
        assert execute(["run", "buffers", "--vectors", chosen, "--out", "out"]) == 0
    files = [tmp_path / "some.tmix", tmp_path / "drawn"]
    assert seen == [Path("recorded-all"), Path("drawn"), *files]


def test_vectors_that_nobody_knows_are_refused() -> None:
    with pytest.raises(HeadwayError, match="recordd: No such file"):
        pairs.traced(Path("recordd"))


@pytest.mark.slow
def test_a_tmix_file_replaces_the_recorded_vectors(tmp_path: Path) -> None:
    connection = tmix.Connection(0, (tmix.Exchange(200, 0, 30_000, 0),) * 2)
    file = tmix.write(tmp_path / "one.tmix", [connection])
    ctx = StudyContext(tmp_path, SimBackend(), quick=True, vectors=file)
    experiment = discover()["trace-mix"].experiments(ctx)["slow-start-06"]
    app = experiment.flows[0].app
    assert isinstance(app, Sessions)
    drawn = sessions(app.workload)
    assert set(drawn.response_bytes.tolist()) == {30_000}
    assert set(drawn.exchanges.tolist()) == {2}
