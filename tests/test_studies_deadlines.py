"""The observations of the study deadlines, checked by hand, and the claims of each form."""

from __future__ import annotations

import math
from pathlib import Path

import made_up
import numpy as np
import pytest
from support import S, experiment, trace

from headway.claims import MissingTrialError, Statement
from headway.studies.common.beside import SIMULATED, BesideSimulator
from headway.studies.deadlines.claims import LIVE, rate_bps
from headway.studies.deadlines.experiments import (
    BASE,
    CORRECTED,
    LATE,
    MEGA,
    SIZE_BYTES,
    TARGETS_S,
    Found,
    Responses,
    live_key,
    observe,
)
from headway.studies.deadlines.kernel import gather
from headway.study import discover
from headway.trace import FlowSummary

MS = S // 1000
CTX = made_up.context(Path("nowhere"))


def test_a_target_needs_what_is_left_of_it_after_a_round_trip() -> None:
    assert rate_bps(0.5) == pytest.approx(SIZE_BYTES * 8 / 0.3)
    assert rate_bps(0.2) is None
    assert rate_bps(0.1) is None


def test_a_response_counts_from_the_end_of_its_handshake() -> None:
    of = experiment(flows="2xcubic")
    rows = [(0, 0, 5 * S, 5 * S + 700 * MS)]
    seen = observe("", trace({"responses": rows}, of=of))
    idle_s = of.base_rtt_ns / S
    assert seen.response_s[0] == pytest.approx(0.7 - idle_s)
    assert math.isnan(seen.response_s[1])  # it has none


def test_a_late_handshake_of_the_first_download_makes_no_other_one_faster() -> None:
    of = experiment(flows="1xcubic")
    rows = [(0, 0, 5 * S, 5 * S + 700 * MS), (0, 1, 7 * S, 7 * S + 500 * MS)]
    flow = FlowSummary(name="cubic-0", kind="pages", handshake_rtt_us=290_000)
    made = trace({"responses": rows}, of=of, flows=[flow])
    idle_s = of.base_rtt_ns / S
    assert observe("", made).response_s == pytest.approx([0.7 - idle_s, 0.5 - idle_s])


def test_on_the_kernel_a_target_is_the_median_of_its_downloads() -> None:
    rows = {live_key(MEGA, 0.3): Responses(np.array([0.31, 0.9, 0.3]))}
    found = gather(CTX, rows)
    assert found[MEGA].by_target() == {0.3: 0.31}
    with pytest.raises(MissingTrialError, match=BASE):
        found[BASE]


def test_live_claims_fail_where_targets_are_missed() -> None:
    def found(late: float) -> Found:
        times = {live_key(MEGA, t): Responses(np.array([t * late])) for t in TARGETS_S}
        return gather(CTX, times)

    met = statement("deadlines-live-mega-start")
    assert met.judge(found(1.09), "live").verdict == "holds"
    assert met.judge(found(1.11), "live").verdict == "fails"


def statement(name: str) -> Statement[Found]:
    return next(one for one in LIVE.statements() if one.id == name)


@pytest.mark.parametrize(
    ("below", "above", "verdict"), [(0, 3, "holds"), (1, 3, "fails"), (0, 0, "fails")]
)
def test_below_the_round_trip_time_no_router_is_asked_and_above_it_one_is(
    below: float, above: float, verdict: str
) -> None:
    none = np.array([0.7])
    rows = {
        live_key(scheme, target): Responses(none, below if target < 0.2 else above)
        for scheme in (LATE, CORRECTED)
        for target in (0.1, 0.3)
    }
    seen = statement("deadlines-live-not-asked").judge(gather(CTX, rows), "live")
    assert seen.verdict == verdict


def test_targets_that_slow_start_meets_by_itself_are_no_evidence_of_a_late_quick_start() -> None:
    def found(late_s: float) -> Found:
        times = {(LATE, 0.3): late_s, (LATE, 0.7): 0.65, ("initial-start", 0.3): 0.65}
        rows = {live_key(*key): Responses(np.array([took])) for key, took in times.items()}
        return gather(CTX, rows)

    late = statement("deadlines-live-late")
    assert late.judge(found(0.4), "live").verdict == "in part"
    assert late.judge(found(0.3), "live").verdict == "fails"


def test_the_simulators_curve_stands_beside_the_kernels() -> None:
    study = discover()["deadlines"].on("kernel")
    whole = made_up.whole(study, CTX)
    rows = made_up.rows("deadlines", CTX)
    [(_, _, figure)] = study.page(whole, study.gather(whole, rows)).figures.values()
    assert [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes] == [
        "kernel",
        "simulator",
    ]
    without = {key: row for key, row in rows.items() if not key.startswith(SIMULATED)}
    [(_, _, alone)] = study.page(whole, study.gather(whole, without)).figures.values()
    assert len(alone.axes) == 1


def test_the_claims_are_the_simulators_and_the_kernel_has_its_own() -> None:
    study = discover()["deadlines"]
    assert study.on("sim") is study
    live = study.on("kernel")
    assert isinstance(live, BesideSimulator)
    assert live.agreements
    assert not any(one.id.startswith("C-") for one in live.statements)
