"""The studies of many host pairs: what they run, and that their claims can fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from headway import metrics
from headway.backends.sim import SimBackend
from headway.claims import Evidence as Trials
from headway.claims import judge as evaluate
from headway.experiment import Sessions
from headway.studies import _load_claims, _trace_mix_claims, buffers, mixed_use
from headway.studies.common import pairs
from headway.studies.common.pairs import Outcome
from headway.study import StudyContext, discover
from headway.workloads import Campus, sessions, shares, tmix

NAMES = ("buffers", "load", "mixed-use", "trace-mix")


def outcome(seconds: float, loss: float = 0.01, *, size: float = 20_000) -> Outcome:
    """A trial in which every response took about so long."""
    n = 40_000
    spread = np.linspace(0.9, 1.1, n)
    rows = pl.DataFrame(
        {
            "flow": np.arange(n) % 450,
            "epoch": np.arange(n) // 450,
            "start_ns": np.arange(n) * 10**6,
            "seconds": seconds * spread,
            "request_bytes": np.full(n, 100),
            "response_bytes": np.where(np.arange(n) % 5 == 0, size, 500.0),
        }
    )
    return Outcome(rows, loss, 0.35, {"granted_bps": 1e9, "grants": 10.0, "requests": 20.0}, 100.0)


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
    # No response comes before a round trip and its own transmission are over.
    least = rtt_s + rows["response_bytes"].to_numpy() * 8 / 9.76e6
    assert (rows["seconds"].to_numpy() >= least).all()


def test_the_first_exchange_of_a_connection_can_count_from_its_opening() -> None:
    workload = pairs.workload(Campus(), load=0.3, hours=0.02, seed=1)
    experiment = pairs.workload_experiment(workload, [pairs.SLOW_START], pairs=30)
    trace, window = SimBackend().run(experiment), (0, experiment.duration)
    asked = metrics.responses(trace, window)
    opened = metrics.responses(trace, window, from_opening=True)
    assert opened.drop("seconds").equals(asked.drop("seconds"))
    more_s = (opened["seconds"] - asked["seconds"]).to_numpy()
    rtt_s = 0.004 + 2 * np.array([f.delay for f in experiment.flows])[asked["flow"]] / 1e9
    firsts = sum((share.ends - share.exchanges).size for share in shares(workload, 30))
    assert (more_s[more_s > 0] >= rtt_s[more_s > 0]).all()
    assert (more_s > 0).sum() == firsts
    kept = pairs.workload(Campus(), load=0.3, hours=0.02, seed=1, persistent=True)
    trace = SimBackend().run(pairs.workload_experiment(kept, [pairs.SLOW_START], pairs=30))
    assert metrics.responses(trace, window, from_opening=True).equals(
        metrics.responses(trace, window)
    )


def test_a_trial_with_routers_counts_their_answers() -> None:
    workload = pairs.workload(Campus(), load=0.3, hours=0.02, seed=1)
    routed = pairs.workload_experiment(workload, [pairs.QUICK_STARTS[0]], pairs=30)
    found = pairs.outcome(SimBackend().run(routed))
    assert 0 < found.approved_part <= 1
    assert found.granted_bps_per_s > 0
    plain = pairs.workload_experiment(workload, [pairs.SLOW_START], pairs=30)
    with pytest.raises(ValueError, match="no Quick-Start router"):
        _ = pairs.outcome(SimBackend().run(plain)).approved_part


def test_claims_on_the_mix_follow_what_is_measured() -> None:
    slow = outcome(0.2)
    results = {
        _trace_mix_claims.key(scheme.key, load): slow
        for scheme in _trace_mix_claims.SCHEMES
        for load in _trace_mix_claims.LOADS
    }
    workload = pairs.workload(Campus(), load=0.06, hours=0.1, seed=1)

    def verdicts() -> dict[str, str]:
        return {c.id: c.verdict for c in _trace_mix_claims.all_claims(results, workload)}

    alike = verdicts()
    assert alike["C-TH-175"] == "holds"
    assert alike["C-TH-187"] == "fails"
    assert alike["C-TH-178"] == "holds"
    results["jump-start-35"] = replace(slow, loss=0.02)
    results["initial-start-35"] = replace(slow, loss=0.015)
    results["quick-start-35"] = outcome(0.1)
    changed = verdicts()
    assert changed["C-TH-187"] == "holds"
    assert changed["C-TH-188"] == "holds"
    assert changed["C-TH-178"] == "fails"
    assert changed["C-TH-175"] == "fails"


def test_claims_on_load_follow_what_is_measured() -> None:
    results = {
        _load_claims.key(scheme.key, load): outcome(1.0)
        for scheme in (*_load_claims.SCHEMES, *_load_claims.ROUTERS)
        for load in _load_claims.LOADS
    }

    def verdict(name: str) -> str:
        return next(c.verdict for c in _load_claims.all_claims(results) if c.id == name)

    assert verdict("C-TH-148") == "fails"
    assert verdict("C-TH-150") == "holds"
    for load in _load_claims.LOADS:
        results[_load_claims.key("jump-start", load)] = outcome(0.7)
    assert verdict("C-TH-148") == "holds"
    assert verdict("C-TH-146") == "holds"
    assert verdict("C-TH-149") == "fails"
    assert verdict("C-TH-165") == "not checked"


def test_claims_on_buffers_follow_what_is_measured() -> None:
    losses = dict(zip(buffers.BUFFERS_PKTS, (2, 1.5, 1, 1.1, 1.2, 1.3, 1.4, 1.4), strict=True))
    results = {
        buffers.key(scheme.key, b): outcome(0.2, loss / 100)
        for scheme in buffers.SCHEMES
        for b, loss in losses.items()
    }
    for b in buffers.BUFFERS_PKTS:
        if b < 100:
            results[buffers.key("jump-start", b)] = outcome(0.2, losses[b] / 50)
    found = {c.id: c.verdict for c in evaluate(buffers.STATEMENTS, Trials(results))}
    holds = {name for name, verdict in found.items() if verdict == "holds"}
    assert holds == {f"C-TH-{n}" for n in (195, 196, 197, 198, 199, 201)}


def test_halves_of_a_mixed_trial_are_compared_request_by_request() -> None:
    both = outcome(0.3)
    rows = both.rows.with_columns(
        pl.when(pl.col("flow") // 9 % 2 == 1)
        .then(pl.col("seconds") * 0.8)
        .otherwise(pl.col("seconds"))
        .alias("seconds")
    )
    faster = replace(both, rows=rows)
    results = {}
    for load in mixed_use.LOADS:
        results[mixed_use.key("slow-start", load)] = both
        for scheme in mixed_use.SCHEMES:
            results[mixed_use.key(scheme.key, load)] = faster
    found = {c.id: c for c in evaluate(mixed_use.STATEMENTS, Trials(results))}
    assert found["C-TH-202"].verdict == "holds"
    assert "own -20.0" in str(found["C-TH-202"].measured)
    assert found["C-TH-203"].verdict == "fails"


def test_outcomes_for_two_halves_have_the_names_of_the_thesis() -> None:
    named = {
        "ideal": ((-0.2, 0.01), (-0.1, 0.01)),
        "good": ((-0.2, 0.01), (0.04, 0.01)),
        "unfair": ((-0.2, 0.01), (0.06, 0.01)),
        "contrary": ((0.2, 0.01), (0.0, 0.01)),
        "detrimental": ((0.2, 0.01), (0.06, 0.01)),
        "–": ((-0.01, 0.02), (0.06, 0.1)),
    }
    assert {name: mixed_use.outcome_class(*changes) for name, changes in named.items()} == {
        name: name for name in named
    }


def test_a_tmix_file_replaces_the_drawn_vectors(tmp_path: Path) -> None:
    connection = tmix.Connection(0, (tmix.Exchange(200, 0, 30_000, 0),) * 2)
    file = tmix.write(tmp_path / "one.tmix", [connection])
    ctx = StudyContext(tmp_path, SimBackend(), quick=True, vectors=file)
    experiment = discover()["trace-mix"].experiments(ctx)["slow-start-06"]
    app = experiment.flows[0].app
    assert isinstance(app, Sessions)
    drawn = sessions(app.workload)
    assert set(drawn.response_bytes.tolist()) == {30_000}
    assert set(drawn.exchanges.tolist()) == {2}
