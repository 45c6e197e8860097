"""Paper 001's study: published data, trials, per-trial numbers, claims, report."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from quick import quick
from support import ROOT, S, trace

from headway import metrics
from headway.backends import backend_named
from headway.claims import Claim, Evidence, Statement, tally
from headway.claims.words import proportional
from headway.experiment import Schedule
from headway.figures import svg_text
from headway.metrics import GrowthEpoch
from headway.report.dark import darkened
from headway.studies.collateral_damage import STUDY, experiments
from headway.studies.collateral_damage.experiments import (
    CELLS,
    CLAIM_IDS,
    CUBIC_GROWTH,
    FIGURE_2,
    GOODPUT,
    GOODPUT_SD,
    PUBLISHED,
    TOLERANCES,
    CellKey,
    trial,
    trial_key,
)
from headway.studies.collateral_damage.observe import (
    Cell,
    CubicGrowth,
    Found,
    HtcpGrowth,
    Law,
    Trial,
    TrialNumbers,
    cubic_growth,
    htcp_growth,
    observe,
    run_until_enough,
)
from headway.studies.collateral_damage.page import delay, errors, printed
from headway.study import StudyContext
from headway.verdicts.locked import as_claims, read

TRIALS = 5
LAW = Law(np.array([1.0, 4.0, 9.0]), np.array([0.5, 2.0, 4.5]))
"""A law of growth that is proportional to a power of the time."""
LINE = Law(np.array([1.0, 4.0, 9.0]), np.array([9.0, 10.0, 11.0]))


def as_published(key: CellKey, number: int = 3, **changes: float) -> Trial:
    """A made-up trial whose values are those that the paper prints for its cell.

    The goodputs of five such trials have the standard deviation that the paper prints.
    """
    _, control, flows = key
    events = {"reno": 3.0, "htcp": 20.0, "cubic26": 15.0}[control]
    # Between two and five flows, H-TCP's number of queue-full events grows little, CUBIC's much.
    growth = {"reno": 2.0, "htcp": 1.0, "cubic26": 4.0}[control]
    per_minute = events + growth * (flows - 1)
    numbers = TrialNumbers(
        **{name: PUBLISHED[name][key] for name in ("owd_median_ms", "owd_mean_ms", "owd_sd_ms")},
        owd_min_ms=key[0] / 2 + 1.488,
        owd_max_ms=key[0] / 2 + 481,
        voip_loss=0.01,
        goodput_kbytes_s=PUBLISHED[GOODPUT][key] + (number - 3) * PUBLISHED[GOODPUT_SD][key],
        span_goodput_kbytes_s=111.7,
        queue_full_per_minute=per_minute,
        retransmits_pkts=9 * per_minute,
        retransmits_per_minute=3 * per_minute,
        epochs=20,
        length_s=180,
    )
    # Made-up delays at 50 ms: CUBIC's distribution rises steeply at 400 ms and stays below 480 ms
    # for most of the time.
    steps = {"cubic26": [(398, 440, 200), (440, 480, 700), (480, 503, 100)]}
    parts = [np.linspace(*step) for step in steps.get(control, [(265, 503, 1000)])]
    owd_ms = np.concatenate(parts) + (key[0] - 50) / 2
    first = number == 1
    return Trial(
        dataclasses.replace(numbers, **changes),
        (),
        owd_ms,
        "stack linux-2.6",
        htcp_growth=HtcpGrowth(1.0, 1.9, 30, LAW) if first and key == FIGURE_2 else None,
        cubic_growth=CubicGrowth(0.4, 3.0, 20, LAW) if first and key == CUBIC_GROWTH else None,
    )


def keys(cell: CellKey) -> list[str]:
    return [trial_key(cell, number) for number in range(1, TRIALS + 1)]


def published_rows() -> dict[str, Trial]:
    return {
        trial_key(cell, number): as_published(cell, number)
        for cell in CELLS
        for number in range(1, TRIALS + 1)
    }


def found(rows: Mapping[str, Trial] | None = None) -> Found:
    return Found(Evidence(published_rows() if rows is None else rows), TRIALS)


def changed(key: CellKey, **changes: float) -> Found:
    """Trials with the published numbers, except for changed numbers of one cell."""
    trials = {
        trial_key(key, number): as_published(key, number, **changes)
        for number in range(1, TRIALS + 1)
    }
    return found(published_rows() | trials)


def judged(found: Found, number: int) -> Claim:
    return STUDY.statements[number - 1].judge(found)


def test_there_are_109_claims_in_order_and_the_papers_own_numbers_satisfy_them() -> None:
    assert [one.id for one in STUDY.statements] == [f"C-CD-{n:03}" for n in range(1, 110)]
    claims = [one.judge(found()) for one in STUDY.statements]
    others = {claim.id: claim.verdict for claim in claims if claim.verdict != "holds"}
    # C-CD-101 fails: the medians in table 2 (without the base delay) differ by up to 6 %, so they
    # are not identical.
    assert others == {"C-CD-101": "fails", "C-CD-109": "not checked"}


def test_the_spread_of_goodput_is_judged_as_a_group_and_counted_once() -> None:
    """The claims hold if 12 of 18 cells are within a factor of three of the paper, and fail if only
    11 are. Each claim shows the value of its own cell.
    """
    names = [f"C-CD-{number:03}" for number in range(2, 37, 2)]
    group = [one for one in STUDY.statements if one.id in names]
    assert [one.same_as for one in group] == ["", *["C-CD-002"] * 17]
    rows = published_rows()
    for alike, verdict in ((6, "holds"), (7, "fails")):
        for cell in CELLS[:alike]:
            for number in range(1, TRIALS + 1):
                rows[trial_key(cell, number)] = as_published(cell, 3)
        claims = [one.judge(found(rows)) for one in group]
        assert {claim.verdict for claim in claims} == {verdict}
        assert claims[0].note.startswith(f"{18 - alike} of 18 cells of table 1 agree")
        assert [claim.measured for claim in claims[alike:]] == pytest.approx(
            [PUBLISHED[GOODPUT_SD][cell] for cell in CELLS[alike:]]
        )
        assert len(tally(claims)["simulated"].counts) == 1
        assert tally(claims)["simulated"].judged == 1


@pytest.mark.parametrize(
    "statement", [one for one in STUDY.statements if one.spoil], ids=lambda one: one.id
)
def test_what_refutes_a_claim_refutes_it_for_the_papers_own_numbers(
    statement: Statement[Found],
) -> None:
    assert statement.spoil is not None
    spoiled = statement.judge(found(statement.spoil(published_rows())))
    assert spoiled.verdict == "fails", spoiled.measured


@pytest.mark.parametrize(
    ("number", "key", "changes"),
    [
        (37, (50, "reno", 1), {"owd_median_ms": 393.2 + 26}),
        (90, (100, "cubic26", 5), {"owd_sd_ms": 32.1 * 1.26}),
        (93, (50, "htcp", 2), {"owd_min_ms": 20.0}),
        (94, (50, "htcp", 2), {"owd_max_ms": 519.0}),
        (95, (100, "cubic26", 5), {"voip_loss": 0.051}),
        (98, (50, "htcp", 5), {"owd_median_ms": 445.0}),
        (99, (50, "reno", 2), {"owd_median_ms": 390.0}),
        (101, (100, "htcp", 5), {"owd_median_ms": 430.0}),
        (103, (100, "reno", 2), {"queue_full_per_minute": 50.0}),
        (104, (50, "cubic26", 5), {"queue_full_per_minute": 16.0}),
        (105, (50, "htcp", 5), {"retransmits_pkts": 9 * 11 * 1.09}),
    ],
)
def test_one_cell_that_is_just_outside_refutes_a_claim(
    number: int, key: CellKey, changes: dict[str, float]
) -> None:
    assert judged(changed(key, **changes), number).verdict == "fails"


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (107, {"htcp_growth": HtcpGrowth(0.5, 2.0, 30, LAW)}),
        (107, {"htcp_growth": HtcpGrowth(1.0, 2.6, 30, LAW)}),
        (107, {"htcp_growth": HtcpGrowth(1.0, 2.0, 30, LINE)}),
        (108, {"cubic_growth": CubicGrowth(0.4, -0.1, 30, LAW)}),
        (108, {"cubic_growth": CubicGrowth(0.49, 3.0, 30, LAW)}),
        (108, {"cubic_growth": CubicGrowth(0.4, 3.0, 30, LINE)}),
    ],
)
def test_every_part_of_a_law_can_refute_it(number: int, changes: dict[str, Any]) -> None:
    rows = {key: dataclasses.replace(row, **changes) for key, row in published_rows().items()}
    assert judged(found(rows), number).verdict == "fails"


def test_laws_without_recorded_epochs_are_not_checked() -> None:
    rows = {
        key: dataclasses.replace(row, htcp_growth=None, cubic_growth=None)
        for key, row in published_rows().items()
    }
    for number in (107, 108):
        assert judged(found(rows), number).verdict == "not checked"


@pytest.mark.parametrize(
    ("low", "high", "at"), [(440, 504, 490), (440, 504, 430), (470, 504, 470), (390, 425, 375)]
)
def test_step_plateau_and_growth_of_cubics_delay_are_judged_apart(
    low: float, high: float, at: float
) -> None:
    """The claim fails if all delays in a range are moved to one value: this moves the
    distribution's plateau, removes the delays above the plateau, or removes the step.
    """
    rows = {
        key: dataclasses.replace(
            row, owd_ms=np.where((row.owd_ms > low) & (row.owd_ms < high), at, row.owd_ms)
        )
        for key, row in published_rows().items()
    }
    assert judged(found(rows), 102).verdict == "fails"


def test_a_cell_that_lacks_a_trial_is_not_judged() -> None:
    rows = published_rows()
    del rows["rtt50-reno-n1-t4"]
    claim = judged(found(rows), 1)
    assert claim.verdict == "not checked"
    assert claim.note == "This run has no trial rtt50-reno-n1-t4."
    assert judged(found(rows), 3).verdict == "holds"


def test_tolerances_take_the_larger_margin() -> None:
    median = TOLERANCES["owd_median_ms"]
    assert median.check(350.0, 374.9).holds
    assert not median.check(350.0, 375.1).holds
    assert median.check(500.0, 529.9).holds
    assert str(median) == "±6 % or ±25 ms"
    assert str(TOLERANCES["owd_sd_ms"]) == "±25 %"


def test_errors_are_zero_for_the_papers_own_numbers_and_found_otherwise() -> None:
    assert all(error.largest_ms < 1e-9 for error in errors(found()))
    median, *_ = errors(changed((50, "htcp", 2), owd_median_ms=390.8 - 9))
    assert median.mean_abs_ms == pytest.approx(0.5)
    assert median.worst_cell == (50, "htcp", 2)


def test_parts_of_pages_say_what_the_claims_say() -> None:
    off = changed((50, "htcp", 2), owd_median_ms=390.8 - 36, owd_mean_ms=397.8 + 9)
    parts = {name: make([one.judge(off) for one in STUDY.statements]) for name, make in STUDY.parts}
    assert (
        "| 50 ms | H-TCP | 347.0 | 347.0 | 390.8 | 354.8 | 459.6 | 459.6 |"
        in parts["paper-001-medians"].splitlines()
    )
    said = parts["paper-001-errors"]
    assert "medians of table 2 are 2.0 ms off on average and 36.0 ms at most (50 ms, H-TCP" in said
    assert "the means 0.5 ms off on average and 9.0 ms at most" in said
    assert "- C-CD-049, table 2, RTT 50 ms, H-TCP, 2 flows: one-way delay of the VoIP" in said
    assert said.count("\n- ") == 1
    assert parts["paper-001-verdicts"].startswith(
        "88 of 90 simulated statements of the papers hold; "
    )
    assert "- C-CD-049, " in parts["paper-001-verdicts"]
    alike = {key: as_published(cell) for cell in CELLS for key in keys(cell)}
    claims = [one.judge(found(alike)) for one in STUDY.statements]
    for name in ("paper-001-errors", "paper-001-verdicts"):
        said = dict(STUDY.parts)[name](claims)
        assert said.count("C-CD-0") == 1
        assert "C-CD-002 and the 17 like it, table 1, standard deviations of goodput" in said


def test_the_readmes_picture_is_the_demos() -> None:
    """The README's picture shows the medians in verdicts.json; `make picture` makes it."""
    measured = {claim.id: claim.measured for claim in as_claims(read(STUDY))}
    svg = svg_text(delay({cell: measured[CLAIM_IDS[cell, "owd_median_ms"]] for cell in CELLS}))
    pictures = ROOT / "docs" / "pictures"
    assert (pictures / "delay.svg").read_text() == svg
    assert (pictures / "delay-dark.svg").read_text() == darkened(svg)
    assert len(svg) <= 100_000


def test_highest_and_lowest_trial_do_not_count() -> None:
    key = (50, "reno", 1)
    values = [100.0, 300.0, 310.0, 320.0, 900.0]
    cell = Cell([as_published(key, owd_median_ms=value) for value in values])
    assert cell.mean("owd_median_ms") == 310.0
    assert cell.sd("owd_median_ms") == pytest.approx(10.0)


def test_printed_tables_fit_a_hundred_columns() -> None:
    for table in printed(found()):
        rows = [table.columns, *table.rows]
        widths = [max(len(str(row[i])) for row in rows) for i in range(len(table.columns))]
        assert sum(widths) + 3 * len(widths) <= 100


def test_the_quick_study_has_every_cell_and_the_full_one_ninety_trials(tmp_path: Path) -> None:
    backend = backend_named("sim")
    full = STUDY.experiments(StudyContext(tmp_path, backend))
    short = STUDY.experiments(StudyContext(tmp_path, backend, quick=True))
    assert len(full) == 90
    assert len(short) == 72
    assert set(short) < set(full)


def test_trials_differ_in_their_starts_and_repeat_with_the_seed() -> None:
    cell = (50, "cubic26", 5)
    first, again, other = (trial(cell, number, seed=1, length_s=60) for number in (1, 1, 2))
    assert first == again
    assert first.start_times_ns()[:5] != other.start_times_ns()[:5]
    assert len(set(first.start_times_ns())) == 6
    starts_s = [start / S - experiments.VOIP_LEAD_S for start in first.start_times_ns()[:5]]
    assert all(0 <= start_s < 0.05 for start_s in starts_s)
    lives_s = [((flow.stop or 0) - (flow.start or 0)) / S for flow in first.flows[:5]]
    assert lives_s == pytest.approx([60] * 5)
    assert max(flow.stop or 0 for flow in first.flows[:5]) < first.duration


def test_a_lengthened_trial_only_ends_later() -> None:
    before = trial((100, "htcp", 2), 1, seed=1, length_s=60)
    after = experiments.lengthened(before, 1.5)
    assert after.start_times_ns() == before.start_times_ns()
    longer_ns = [
        (b.stop or 0) - (a.stop or 0) for a, b in zip(before.flows, after.flows, strict=True)
    ]
    assert longer_ns[0] == longer_ns[1] == longer_ns[2] == after.duration - before.duration
    assert longer_ns[0] == 30 * S


def test_newreno_alone_is_planned_for_twenty_of_its_long_epochs() -> None:
    assert experiments.planned_length_s((50, "reno", 1)) > 20 * 17
    assert experiments.planned_length_s((50, "htcp", 1)) == 180


def hand_made_trial() -> Any:
    """Ten seconds of two flows and a call, small enough to count."""
    experiment = trial((50, "reno", 2), 1, seed=1, length_s=10)
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
    numbers = observe("rtt50-reno-n2-t2", made).numbers
    experiment = made.experiment
    # The median is over delays after both flows' first backoff, at 3 s; the minimum and the maximum
    # are over all delays.
    stop_ns = min(flow.stop or 0 for flow in experiment.flows[:2])
    inside = [at for at in range(int(experiment.duration / S)) if at >= 3 and at * S < stop_ns]
    assert numbers.owd_median_ms == pytest.approx(np.median([100 + at for at in inside]))
    assert numbers.owd_min_ms == 100
    assert numbers.goodput_kbytes_s == pytest.approx(60 + 60)
    assert numbers.span_goodput_kbytes_s < 120
    assert numbers.retransmits_pkts == 4 + 5
    assert numbers.epochs == (5 + 1) / 2
    # The study counts the queue-full events of a trial's middle minute. This trial is shorter, so
    # all its events count.
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
        of=trial((50, "reno", 1), 1, seed=1, length_s=40),
    )
    epochs = metrics.growth_epochs(made, 0)
    assert len(epochs) == 2
    assert epochs[0].cwnd_before_pkts == 40
    assert epochs[0].time_s.tolist() == [1, 2, 3, 4, 5]
    assert epochs[0].increase_s.tolist() == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])


def test_a_recorded_trial_keeps_its_course_and_others_do_not() -> None:
    made = hand_made_trial()
    course = observe("rtt50-reno-n1-t1", made).course
    assert course is not None
    assert course.owd_ms.value.tolist() == [100 + at for at in range(int(made.duration_ns / S))]
    assert observe("rtt50-reno-n1-t2", made).course is None


def epoch(cwnd_pkts: list[tuple[float, int]], before_pkts: int) -> GrowthEpoch:
    """A congestion epoch with this window over time, on a link that takes 12 ms per packet."""
    time_s, window = np.array(cwnd_pkts).T
    return GrowthEpoch(before_pkts, time_s + 0.5, window, window * 0.012)


def follow(target: Callable[[float, int], float], start_pkts: int, until_s: float) -> GrowthEpoch:
    """The window of a flow that grows towards a target window within a round trip, as in Linux.

    ``target`` gives the target window for a time and the present window. Every ACK is for two
    packets.
    """
    time_s, window, credit = 0.0, start_pkts, 0.0
    points = [(0.0, window)]
    while time_s < until_s:
        time_s += 2 * 0.012
        credit += 2 * max(target(time_s, window) - window, 0.01) / window
        if credit >= 1:
            window, credit = window + 1, 0.0
            points.append((time_s, window))
    return epoch(points, 2 * start_pkts)


@pytest.mark.parametrize("constant", [0.2, 0.4, 0.8])
def test_the_cubic_that_a_window_follows_is_found_to_a_tenth(constant: float) -> None:
    start, top = 41, 48
    k = ((top - start) / constant) ** (1 / 3)
    fitted = [
        cubic_growth([follow(lambda t, _: top + constant * (t - k) ** 3, start, until_s)])
        for until_s in (5.5, 6.0, 7.0)
    ]
    constants = [one.constant for one in fitted if one is not None]
    assert np.median(constants) == pytest.approx(constant, rel=0.1)


def test_a_cubic_flow_that_newreno_overtakes_is_behind() -> None:
    flat = follow(lambda t, window: window + (1.1 if t > 4 else 0.1), 41, 9)
    fitted = cubic_growth([dataclasses.replace(flat, cwnd_before_pkts=80)])
    assert fitted is not None
    assert fitted.least_lead_pkts < -2


@pytest.mark.parametrize(
    ("per_rtt", "exponent"),
    [
        (lambda x: 1 + 10 * x + x**2 / 4, 2),
        (lambda x: 4 if x else 1, 1),
        (lambda x: 1 + 10 * x**2, 3),
    ],
)
def test_the_power_of_growth_after_the_first_second_is_found(
    per_rtt: Callable[[float], float], exponent: int
) -> None:
    epochs = [
        follow(lambda t, window: window + per_rtt(max(t - 1, 0)), 25, until_s)
        for until_s in (3.0, 3.5, 4.0)
    ]
    fitted = htcp_growth(epochs)
    assert fitted is not None
    assert fitted.first_pkts_per_rtt == pytest.approx(1, abs=0.25)
    assert fitted.exponent == pytest.approx(exponent, abs=0.3)


@pytest.mark.slow
def test_every_cell_and_trial_is_in_the_data() -> None:
    ran = quick("collateral-damage")
    assert pl.read_parquet(ran.ctx.out_dir / "cells.parquet").height == 18
    assert pl.read_parquet(ran.ctx.out_dir / "trials.parquet").height == 72


@pytest.mark.slow
def test_trials_that_are_short_of_epochs_are_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = (50, "reno", 1)
    key = trial_key(cell, 1)
    monkeypatch.setattr(experiments, "planned_length_s", lambda _: 100.0)
    ctx = StudyContext(tmp_path, backend_named("sim"), keeps_traces=False)
    planned = STUDY.experiments(ctx)[key]
    seen = run_until_enough(ctx, {key: planned})
    numbers = seen.rows[key].numbers
    assert numbers.epochs >= experiments.EPOCHS
    assert numbers.length_s > 300
    # Rebuilding the report uses the saved trial's duration, not the planned one.
    assert STUDY.experiments(ctx)[key].duration > planned.duration + 200 * S
    # A new run uses the planned duration again.
    again = "headway.studies.collateral_damage.observe.run_until_enough"
    monkeypatch.setattr(again, lambda _ctx, trials: trials)
    assert STUDY.collect(ctx)[key] == planned


@pytest.mark.parametrize("most_ns", [2 * S, S // 500])
def test_moved_starts_keep_lifetimes_and_the_datagrams_end_with_the_first_flow(
    most_ns: int,
) -> None:
    before = trial((50, "htcp", 5), 1, seed=1, length_s=85)
    after = experiments.starting_within(before, most_ns)
    *was, _ = before.flows
    *tcp, voip = after.flows
    starts = [flow.start or 0 for flow in tcp]
    assert [(flow.stop or 0) - (flow.start or 0) for flow in tcp] == [
        (flow.stop or 0) - (flow.start or 0) for flow in was
    ]
    assert all(S <= start < S + most_ns for start in starts)
    assert np.argsort(starts).tolist() == np.argsort([flow.start or 0 for flow in was]).tolist()
    assert voip.stop == min(flow.stop or 0 for flow in tcp)
    drain_ns = before.duration - max(flow.stop or 0 for flow in was)
    assert after.duration - max(flow.stop or 0 for flow in tcp) == drain_ns


def test_programs_with_own_times_begin_and_end_within_them() -> None:
    before = trial((50, "htcp", 5), 1, seed=1, length_s=85)
    most_ns = 5 * S // 2
    after = experiments.own_times(before, most_ns)
    *tcp, voip = after.flows
    assert all(S <= (flow.start or 0) < S + most_ns for flow in tcp)
    assert 0 <= (voip.start or 0) < most_ns
    assert abs((voip.stop or 0) - min(flow.stop or 0 for flow in tcp)) <= most_ns
    assert after.duration > max(flow.stop or 0 for flow in after.flows)
    assert experiments.own_times(before, most_ns) == after, "the draws are the trial's"
    other = trial((50, "htcp", 5), 2, seed=1, length_s=85)
    assert experiments.own_times(other, most_ns).flows[-1].start != voip.start


def test_noisy_delays_are_the_paths_and_more() -> None:
    before = trial((50, "htcp", 1), 1, seed=1, length_s=85)
    noise_ns, step_ns = 200_000, S // 10
    after = experiments.noisy_delays(before, noise_ns, step_ns)
    assert isinstance(after.topology.vary, Schedule)
    steps = after.topology.vary.steps
    added_ns = np.array([step.delay for step in steps]) - before.topology.rtt // 2
    assert added_ns.min() >= 0
    assert added_ns.mean() == pytest.approx(noise_ns, rel=0.2)
    assert {step.rate for step in steps} == {before.topology.rate}
    assert steps[-1].start > before.duration - 2 * step_ns


def test_trials_as_long_as_the_papers_stay_as_they_are() -> None:
    quick_one, full_one = (
        trial((100, "cubic26", 5), 1, seed=1, length_s=length_s) for length_s in (85, 180)
    )
    assert experiments.three_minutes(full_one) == full_one
    longest_s = max(
        ((flow.stop or 0) - (flow.start or 0)) / S
        for flow in experiments.three_minutes(quick_one).flows
        if flow.is_tcp
    )
    assert longest_s == pytest.approx(180, abs=0.1)


def test_growth_is_proportional_to_the_power_of_time_that_the_law_has() -> None:
    top, k = 48.0, 2.6
    follows = follow(lambda t, _: top + 0.4 * (t - k) ** 3, 41, 6.5)
    fitted = cubic_growth([follows])
    assert fitted is not None
    assert proportional(fitted.cubic.power.tolist(), fitted.cubic.growth.tolist()).holds
    line = cubic_growth([follow(lambda _, window: window + 1.5, 41, 6.5)])
    assert line is not None
    assert not proportional(line.cubic.power.tolist(), line.cubic.growth.tolist()).holds
