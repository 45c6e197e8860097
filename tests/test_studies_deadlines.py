"""What the study deadlines observes, by hand, and which form has which claims."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support import S, experiment, trace

from headway.claims import Evidence, MissingTrialError
from headway.studies.deadlines.claims import LIVE, rate_bps
from headway.studies.deadlines.experiments import BASE, MEGA, SIZE_BYTES, TARGETS_S
from headway.studies.deadlines.kernel import DeadlinesOnKernel
from headway.studies.deadlines.observe import Responses, observe
from headway.studies.deadlines.results import Found, live_key
from headway.study import discover

MS = S // 1000


def test_a_target_needs_what_is_left_of_it_after_a_round_trip() -> None:
    assert rate_bps(0.5) == pytest.approx(SIZE_BYTES * 8 / 0.3)
    assert rate_bps(0.2) is None
    assert rate_bps(0.1) is None


def test_a_response_counts_from_the_end_of_its_handshake() -> None:
    of = experiment(flows="2xcubic")
    rows = [(0, 0, 5 * S, 5 * S + 700 * MS)]
    seen = observe(trace({"responses": rows}, of=of))
    idle_s = of.base_rtt_ns / S
    assert seen.response_s[0] == pytest.approx(0.7 - idle_s)
    assert math.isnan(seen.response_s[1])  # it has none


def test_on_the_kernel_a_target_is_the_median_of_its_downloads() -> None:
    rows = {live_key(MEGA, 0.3): Responses(np.array([0.31, 0.9, 0.3]))}
    found = Found(Evidence(rows), is_live=True)
    assert found.targets_s(MEGA).tolist() == [0.3]
    assert found.times_s(MEGA).tolist() == [0.31]
    with pytest.raises(MissingTrialError, match=BASE):
        found.targets_s(BASE)


def test_live_claims_fail_where_targets_are_missed() -> None:
    def found(late: float) -> Found:
        times = {live_key(MEGA, t): Responses(np.array([t * late])) for t in TARGETS_S}
        return Found(Evidence(times), is_live=True)

    met = next(one for one in LIVE if one.id == "deadlines-mega-start")
    assert met.judge(found(1.09), "live").verdict == "holds"
    assert met.judge(found(1.11), "live").verdict == "fails"


def test_the_claims_are_the_simulators_and_the_kernel_has_its_own() -> None:
    study = discover()["deadlines"]
    assert study.on("sim") is study
    live = study.on("kernel")
    assert isinstance(live, DeadlinesOnKernel)
    assert live.agreements
    assert not any(one.id.startswith("C-") for one in live.statements)
