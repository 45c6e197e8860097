"""Paper 001's study: published data, trials, per-trial numbers, claims, report."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support import S, trace

from headway import metrics
from headway.backends import backend_named
from headway.studies import collateral_damage as study
from headway.studies._collateral_damage_claims import Evidence, all_claims
from headway.studies._collateral_damage_data import (
    CELLS,
    DELAY,
    DELAY_LEVEL,
    GOODPUT,
    GOODPUT_SD,
    CellKey,
    Tolerance,
)
from headway.studies._collateral_damage_page import delay_errors, printed_tables
from headway.studies._collateral_damage_results import (
    Cell,
    CubicGrowth,
    HtcpGrowth,
    Trial,
    TrialNumbers,
    trial_of,
)
from headway.study import StudyContext


def as_published(key: CellKey, **changes: float) -> Trial:
    """A trial that measured exactly what the paper prints for its cell, in the paper's order."""
    _, control, flows = key
    events = {"reno": 3.0, "htcp": 20.0, "cubic26": 15.0}[control]
    # From two to five flows H-TCP falls back and CUBIC goes on.
    growth = {"reno": 2.0, "htcp": 1.0, "cubic26": 4.0}[control]
    per_minute = events + growth * (flows - 1)
    numbers = TrialNumbers(
        owd_median_ms=DELAY[key].median,
        owd_mean_ms=DELAY[key].mean,
        owd_sd_ms=DELAY[key].sd,
        owd_min_ms=key[0] / 2 + 1.488,
        owd_max_ms=key[0] / 2 + 481,
        voip_loss=0.01,
        goodput_kbytes_s=GOODPUT[key].mean,
        span_goodput_kbytes_s=111.7,
        queue_full_per_minute=per_minute,
        retransmits_pkts=9 * per_minute,
        retransmits_per_minute=3 * per_minute,
        epochs=20,
        length_s=180,
    )
    owd_ms = np.concatenate(
        [np.linspace(398, 440, 200), np.linspace(440, 480, 700), np.linspace(480, 503, 100)]
    )
    return Trial(dataclasses.replace(numbers, **changes), [], owd_ms)


def evidence(**changes: Any) -> Evidence:
    results = {key: Cell(key, [as_published(key)] * 5) for key in CELLS}
    base = Evidence(results, 480.0, 1.488, HtcpGrowth(1.0, 1.9, 30), CubicGrowth(0.4, 20))
    return dataclasses.replace(base, **changes)


def spoiled(key: CellKey, **changes: float) -> Evidence:
    results = dict(evidence().results)
    results[key] = Cell(key, [as_published(key, **changes)] * 5)
    return evidence(results=results)


def verdict(claims: Any, number: int) -> str:
    return {claim.id: claim.verdict for claim in claims}[f"C-CD-{number:03}"]


def test_there_are_109_claims_in_order_and_the_papers_own_numbers_satisfy_them() -> None:
    claims = all_claims(evidence())
    assert [claim.id for claim in claims] == [f"C-CD-{n:03}" for n in range(1, 110)]
    others = [claim.id for claim in claims if claim.verdict != "holds"]
    assert others == ["C-CD-109"]
    assert claims[-1].verdict == "not checked"


@pytest.mark.parametrize(
    ("number", "key", "changes"),
    [
        (1, (50, "reno", 1), {"goodput_kbytes_s": 109.0}),
        (37, (50, "reno", 1), {"owd_median_ms": 393.2 + 26}),
        (90, (100, "cubic26", 5), {"owd_sd_ms": 32.1 * 1.26}),
        (91, (50, "htcp", 1), {"goodput_kbytes_s": 108.0}),
        (93, (50, "htcp", 2), {"owd_min_ms": 20.0}),
        (94, (50, "htcp", 2), {"owd_max_ms": 519.0}),
        (95, (100, "cubic26", 5), {"voip_loss": 0.03}),
        (96, (50, "reno", 5), {"owd_median_ms": 486.0}),
        (97, (100, "htcp", 1), {"owd_median_ms": 411.0}),
        (98, (50, "htcp", 5), {"owd_median_ms": 445.0}),
        (99, (50, "reno", 2), {"owd_median_ms": 390.0}),
        (100, (50, "htcp", 2), {"owd_sd_ms": 30.0}),
        (101, (100, "htcp", 5), {"owd_median_ms": 430.0}),
        (103, (100, "reno", 2), {"queue_full_per_minute": 50.0}),
        (104, (50, "cubic26", 5), {"queue_full_per_minute": 16.0}),
        (105, (50, "htcp", 5), {"retransmits_per_minute": 20.0}),
    ],
)
def test_a_claim_fails_when_its_evidence_does(
    number: int, key: CellKey, changes: dict[str, float]
) -> None:
    assert verdict(all_claims(spoiled(key, **changes)), number) == "fails"


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (92, {"full_queue_ms": 492.0}),
        (107, {"htcp_growth": HtcpGrowth(2.0, 2.0, 30)}),
        (107, {"htcp_growth": HtcpGrowth(1.0, 1.0, 30)}),
        (108, {"cubic_growth": CubicGrowth(0.2, 30)}),
    ],
)
def test_a_law_fails_when_the_trace_does_not_follow_it(
    number: int, changes: dict[str, Any]
) -> None:
    assert verdict(all_claims(evidence(**changes)), number) == "fails"


def test_laws_without_recorded_epochs_are_not_checked() -> None:
    claims = all_claims(evidence(htcp_growth=None, cubic_growth=None))
    assert verdict(claims, 107) == verdict(claims, 108) == "not checked"


def test_tolerances_take_the_larger_margin() -> None:
    assert DELAY_LEVEL.accepts(350.0, 374.9)
    assert not DELAY_LEVEL.accepts(350.0, 375.1)
    assert DELAY_LEVEL.accepts(500.0, 529.9)
    assert GOODPUT_SD.accepts(0.01, 0.9)
    assert not GOODPUT_SD.accepts(0.01, 1.0)
    assert str(Tolerance(relative=0.06, absolute=25, unit="ms")) == "±6 % or ±25 ms"


def test_errors_are_zero_for_the_papers_own_numbers_and_found_otherwise() -> None:
    assert all(error.largest_ms < 1e-9 for error in delay_errors(evidence().results))
    results = spoiled((50, "htcp", 2), owd_median_ms=390.8 - 9).results
    median, *_ = delay_errors(results)
    assert median.mean_abs_ms == pytest.approx(0.5)
    assert median.worst_cell == (50, "htcp", 2)


def test_highest_and_lowest_trial_do_not_count() -> None:
    key = (50, "reno", 1)
    values = [100.0, 300.0, 310.0, 320.0, 900.0]
    cell = Cell(key, [as_published(key, owd_median_ms=value) for value in values])
    assert cell.mean("owd_median_ms") == 310.0
    assert cell.sd("owd_median_ms") == pytest.approx(10.0)


def test_printed_tables_fit_a_hundred_columns() -> None:
    for table in printed_tables(evidence().results):
        rows = [table.columns, *table.rows]
        widths = [max(len(str(row[i])) for row in rows) for i in range(len(table.columns))]
        assert sum(widths) + 3 * len(widths) <= 100


def test_the_quick_study_has_every_cell_and_the_full_one_ninety_trials(tmp_path: Path) -> None:
    backend = backend_named("sim")
    full = study.STUDY.experiments(StudyContext(tmp_path, backend))
    quick = study.STUDY.experiments(StudyContext(tmp_path, backend, quick=True))
    assert len(full) == 90
    assert len(quick) == 72
    assert set(quick) < set(full)


def test_trials_differ_in_their_starts_and_repeat_with_the_seed() -> None:
    cell = (50, "cubic26", 5)
    first, again, other = (study.trial(cell, number, seed=1, length_s=60) for number in (1, 1, 2))
    assert first == again
    assert first.start_times_ns()[:5] != other.start_times_ns()[:5]
    assert len(set(first.start_times_ns())) == 6
    starts_s = [start / S - study.VOIP_LEAD_S for start in first.start_times_ns()[:5]]
    assert all(0 <= start_s < 0.05 for start_s in starts_s)
    lives_s = [((flow.stop or 0) - (flow.start or 0)) / S for flow in first.flows[:5]]
    assert lives_s == pytest.approx([60] * 5)
    assert max(flow.stop or 0 for flow in first.flows[:5]) < first.duration


def test_a_lengthened_trial_only_ends_later() -> None:
    before = study.trial((100, "htcp", 2), 1, seed=1, length_s=60)
    after = study.lengthened(before, 1.5)
    assert after.start_times_ns() == before.start_times_ns()
    longer_ns = [
        (b.stop or 0) - (a.stop or 0) for a, b in zip(before.flows, after.flows, strict=True)
    ]
    assert longer_ns[0] == longer_ns[1] == longer_ns[2] == after.duration - before.duration
    assert longer_ns[0] == 30 * S


def test_newreno_alone_is_planned_for_twenty_of_its_long_epochs() -> None:
    assert study.planned_length_s((50, "reno", 1)) > 20 * 17
    assert study.planned_length_s((50, "htcp", 1)) == 180


def hand_made_trial() -> Any:
    """Ten seconds of two flows and a call, small enough to count."""
    experiment = study.trial((50, "reno", 2), 1, seed=1, length_s=10)
    first_ns, second_ns = experiment.start_times_ns()[:2]
    end_ns = experiment.duration
    counters = [
        (time_ns, flow, 0, 0, 4 + flow if time_ns else 0, 0, 0)
        for time_ns, flow in itertools.product((*experiment.checkpoints_ns(), end_ns), (0, 1))
    ]
    made = trace(
        {
            "udp": [(2, at * S, (100 + at) * 1_000_000) for at in range(int(end_ns / S))],
            "flow_counters": counters,
            "backoffs": [(0, at * S, 0, 40, 20) for at in range(2, 8)]
            + [(1, at * S, 0, 40, 20) for at in (3, 5)],
            "queue_full": [(0, at * S, at * S + 1, 1) for at in range(2, 10)],
        },
        of=experiment,
    )
    flows = [
        flow.model_copy(update=changes)
        for flow, changes in zip(
            made.flows,
            (
                {
                    "first_packet_ns": first_ns,
                    "last_packet_ns": first_ns + 10 * S,
                    "unique_bytes": 600_000,
                },
                {
                    "first_packet_ns": second_ns,
                    "last_packet_ns": second_ns + 8 * S,
                    "unique_bytes": 480_000,
                },
                {},
            ),
            strict=True,
        )
    ]
    return dataclasses.replace(made, flows=tuple(flows))


def test_a_trials_numbers_are_those_counted_by_hand() -> None:
    made = hand_made_trial()
    numbers = trial_of(made).numbers
    experiment = made.experiment
    # Delays count once both flows had a backoff, the second's first at 3 s; extremes always.
    stop_ns = min(flow.stop or 0 for flow in experiment.flows[:2])
    inside = [at for at in range(int(experiment.duration / S)) if at >= 3 and at * S < stop_ns]
    assert numbers.owd_median_ms == pytest.approx(np.median([100 + at for at in inside]))
    assert numbers.owd_min_ms == 100
    assert numbers.goodput_kbytes_s == pytest.approx(60 + 60)
    assert numbers.span_goodput_kbytes_s < 120
    assert numbers.retransmits_pkts == 4 + 5
    assert numbers.epochs == (5 + 1) / 2
    # The middle minute is all of so short a trial: every event counts.
    minutes = numbers.length_s / 60
    assert numbers.queue_full_per_minute == pytest.approx(8 / minutes, rel=0.01)


def test_growth_between_losses_is_read_from_open_states_only() -> None:
    rows = []
    for epoch in range(3):
        start = epoch * 10 * S
        rows.append((0, start, 20, 20, 100_000, 20, 3))
        rows += [(0, start + (k + 1) * S, 20 + k, 20, 100_000, 20, 0) for k in range(5)]
    made = trace(
        {"flow_state": rows, "backoffs": [(0, k * 10 * S, 0, 40, 20) for k in range(3)]},
        of=study.trial((50, "reno", 1), 1, seed=1, length_s=40),
    )
    epochs = metrics.growth_epochs(made, 0)
    assert len(epochs) == 2
    assert epochs[0].time_s.tolist() == [1, 2, 3, 4, 5]
    assert epochs[0].increase_s.tolist() == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])


@pytest.mark.slow
def test_the_quick_study_runs_and_rebuilds_the_same_files(tmp_path: Path) -> None:
    ctx = StudyContext(tmp_path, backend_named("sim"), quick=True)
    result = study.STUDY.run(ctx)
    names = ("report.html", "claims.json", "cells.parquet", "trials.parquet")
    before = {name: (tmp_path / name).read_bytes() for name in names}
    claims = json.loads(before["claims.json"])
    assert len(claims) == 109
    assert all(
        claim.keys() >= {"id", "published", "measured", "unit", "tolerance", "verdict"}
        for claim in claims
    )
    assert pl.read_parquet(tmp_path / "cells.parquet").height == 18
    assert pl.read_parquet(tmp_path / "trials.parquet").height == 72
    assert all(path.exists() for path in result.artefacts)
    study.STUDY.rebuild(ctx)
    assert {name: (tmp_path / name).read_bytes() for name in names} == before


@pytest.mark.slow
def test_trials_that_are_short_of_epochs_are_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = (50, "reno", 1)
    key = study.trial_key(cell, 1)
    monkeypatch.setattr(study, "planned_length_s", lambda _: 100.0)
    context = study._UntilEnough(tmp_path, backend_named("sim"))
    planned = study.STUDY.experiments(context)[key]
    traces = context.run_trials({key: planned})
    assert study.epochs_per_flow(traces[key]) >= study.EPOCHS
    assert traces[key].duration_ns > 300 * S
    # Whoever rebuilds the report later asks for what was run.
    assert study.STUDY.experiments(context)[key] == traces[key].experiment
