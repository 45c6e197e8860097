"""The latency of everything: its trials, and the observations of a trial, checked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headway.backends import backend_named
from headway.claims import Evidence, MissingTrialError
from headway.experiment import Experiment
from headway.registry import Algorithm, registry
from headway.studies.latency_of_everything import experiments
from headway.studies.latency_of_everything.experiments import Latency, empty_path_ms, mean
from headway.study import StudyContext


@pytest.fixture(scope="module")
def trials() -> dict[str, Experiment]:
    return experiments.experiments(StudyContext(Path(), backend_named("sim"), quick=True))


def test_it_has_every_control_with_every_queue(trials: dict[str, Experiment]) -> None:
    wanted = {
        f"{control.name}-{queue.name}-t1"
        for control in experiments.ends()
        for queue in registry().queues
    }
    assert set(trials) == wanted
    for key, trial in trials.items():
        (forward, reverse), *none = trial.topology.links()
        assert none == []
        assert key == f"{trial.flows[0].control}-{forward.aqm.name}-t1"
        assert forward.aqm == reverse.aqm


def test_a_control_has_the_routers_of_its_header(trials: dict[str, Experiment]) -> None:
    for control in experiments.ends():
        of_header = {one.name for one in registry().routers if one.header == control.header}
        wanted = of_header if control.header else set()
        assert set(experiments.routers_of(control)) == wanted
        for link in trials[f"{control.name}-red-t1"].topology.links()[0]:
            assert {router.name for router in link.routers} == wanted


def test_a_header_of_nobodys_has_no_router() -> None:
    stranger = Algorithm(name="a", title="", source="", header="of nobody")
    assert experiments.routers_of(stranger) == ()
    quick_start = next(one for one in registry().routers if one.name == "quick-start")
    asking = Algorithm(name="b", title="", source="", header=quick_start.header)
    assert experiments.routers_of(asking) == ("quick-start",)


def test_a_mean_is_of_all_runs() -> None:
    found = Evidence({f"reno-red-t{run}": _latency(10.0 * run) for run in (1, 2, 3)})
    assert mean(found, "reno", "red", "induced_median_ms") == pytest.approx(20)
    with pytest.raises(MissingTrialError):
        mean(found, "cubic", "red", "induced_median_ms")


def _latency(median_ms: float) -> Latency:
    return Latency(median_ms, np.nan, np.nan, 1.0, 900.0, 3.0, np.nan, 0, 0.0)


def test_the_queue_is_recorded_where_thresholds_are_numbers_of_packets(
    trials: dict[str, Experiment],
) -> None:
    for key, trial in trials.items():
        assert ("queue" in trial.record) == ("-red-" in key)


def test_an_empty_path_takes_half_the_rtt_and_the_datagrams_own_time(
    trials: dict[str, Experiment],
) -> None:
    assert empty_path_ms(trials["reno-red-t1"]) == pytest.approx(25 + 186 * 8 / 1e3)
