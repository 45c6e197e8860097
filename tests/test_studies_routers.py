"""The studies of Quick-Start's routers: what needs no trial, and their trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import S, experiment, trace

from headway.backends.sim import SimBackend
from headway.claims import Claim
from headway.experiment import Vectors
from headway.studies.approval_control import experiments as approval
from headway.studies.capacity_error import experiments as capacity
from headway.studies.capacity_error.observe import Guided, observe
from headway.studies.common import lab, network
from headway.study import StudyContext, discover

NAMES = ("approval-control", "capacity-error")


def without_trials(name: str, folder: Path) -> dict[str, Claim]:
    study = discover()[name]
    ctx = StudyContext(folder, SimBackend(), quick=True)
    return {claim.id: claim for claim in study.judge(ctx, study.gather(ctx, {}))}


@pytest.mark.parametrize("name", NAMES)
def test_without_trials_only_equations_and_settings_are_judged(name: str, tmp_path: Path) -> None:
    found = without_trials(name, tmp_path)
    judged = {claim.basis for claim in found.values() if claim.verdict != "not checked"}
    assert judged <= {"model", "setting"}
    assert "model" in judged


def test_transfers_over_the_long_path_are_granted_too_much_and_limited_by_nothing_else(
    tmp_path: Path,
) -> None:
    ctx = StudyContext(tmp_path, SimBackend(), quick=True)
    trials = discover()["capacity-error"].experiments(ctx)
    own = [trial for key, trial in trials.items() if key.startswith("long-quick-start-")]
    assert len(own) == len(capacity.SIZES)
    for trial in own:
        forward, _ = trial.topology.links()[0]
        [flow] = trial.flows
        assert isinstance(flow.app, Vectors)
        assert flow.control is not None
        asked_kbps = flow.control.tunables["qs_rate_kbps"]
        assert forward.rate < 1000 * int(asked_kbps) <= 1000 * capacity.LONG_ROUTER["capacity_kbps"]
        assert flow.initial_rwnd is not None
        assert flow.app.epochs[0][0] < flow.initial_rwnd
        assert str(forward.buffer) == f"{lab.SMALL_BUFFER_PKTS} pkts"


def test_the_burst_comes_at_several_times_within_a_slot(tmp_path: Path) -> None:
    ctx = StudyContext(tmp_path, SimBackend(), quick=True)
    trials = discover()["approval-control"].experiments(ctx)
    keys = ["pattern-fair", *(approval.late_key(ms) for ms in approval.LATER_MS)]
    begins = [trials[key].flows[approval.BURST[0]].start for key in keys]
    assert all(begin is not None for begin in begins)
    within = {int(begin or 0) // 1_000_000 % approval.INTERVAL_MS for begin in begins}
    assert within == set(range(0, approval.INTERVAL_MS, 25))


def guided(queue_pkts: list[float], lost_part: float = 0.0) -> Guided:
    """Readings of a link's counters at 9.6 Mbit/s, with these mean queue lengths in the slots."""
    slot_us, sent_bytes = 200_000, 240_000
    rows, waited = [], 0.0
    for slot, queue in enumerate(queue_pkts, start=1):
        waited += queue * lab.MTU_BYTES * slot_us
        sent, arrived = slot * sent_bytes, slot * sent_bytes / (1 - lost_part)
        dropped = arrived - sent
        rows.append((slot * S // 5, 0, 0, int(arrived), 0, sent, 0, int(dropped), int(waited)))
    seen = observe("rcp-double", trace({"link_counters": rows}, of=experiment()))
    assert isinstance(seen, Guided)
    return seen


def test_a_queue_that_grows_evenly_is_a_line_and_one_that_ends_is_not() -> None:
    even = guided([10.0 * slot for slot in range(75)])
    assert even.rates_bps == pytest.approx(np.full(75, 9.6e6))
    assert even.queue_pkts == pytest.approx(10.0 * np.arange(75), abs=0.01)
    growth = even.growth()
    assert (growth.pkts_per_s, growth.later_pkts_per_s) == pytest.approx((50, 50))
    assert growth.r_squared == pytest.approx(1)
    ends = guided([min(50.0 * slot, 900.0) for slot in range(75)]).growth()
    assert ends.later_pkts_per_s < ends.pkts_per_s / 2
    assert even.peak_bps() == pytest.approx(9.6e6)


def test_loss_is_read_second_by_second() -> None:
    loss = guided([1.0] * 75, lost_part=0.2).loss()
    assert loss == pytest.approx(np.full(10, 0.2), rel=1e-3)
    assert guided([1.0] * 75).loss() == pytest.approx(np.zeros(10))


def test_only_the_routers_of_a_wrong_link_are_told_otherwise(tmp_path: Path) -> None:
    ctx = StudyContext(tmp_path, SimBackend(), quick=True)
    trials = discover()["capacity-error"].experiments(ctx)
    for scheme in network.SCHEMES:
        for name, case in capacity.GUIDED.items():
            for link in trials[f"{scheme}-{name}"].topology.links()[0]:
                [router] = link.routers
                assert router.name == scheme
                told_bps = 1000 * int(router.tunables["capacity_kbps"])
                assert told_bps == pytest.approx(case.ratio * link.rate)
