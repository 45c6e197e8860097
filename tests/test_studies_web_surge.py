"""The study web-surge: who asks for what with which hosts, and when a page is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import S, experiment, trace

from headway.backends import backend_named
from headway.experiment import Experiment, Vectors
from headway.studies.web_surge import experiments as web
from headway.studies.web_surge.observe import page_times
from headway.study import StudyContext, discover


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Experiment]:
    folder: Path = tmp_path_factory.mktemp("web-surge")
    ctx = StudyContext(folder, backend_named("sim"), quick=True)
    return discover()["web-surge"].experiments(ctx)


def test_the_papers_hosts_have_quick_acks_of_their_own_and_the_thesis_never_delays_any(
    trials: dict[str, Experiment],
) -> None:
    for key, trial in trials.items():
        of_thesis = key.startswith(("thesis-", "today-"))
        assert {flow.delayed_ack for flow in trial.flows} == {not of_thesis}, key
        router = trial.topology.links()[0][1].quick_start
        assert router is not None
        assert router["interval_ms"] == (200 if of_thesis else 1000), key
        for flow in trial.flows:
            assert flow.control is not None
            first_ssthresh = flow.control.tunables.get("initial_ssthresh")
            assert first_ssthresh == (100 if "cubic" in key else None), key


def test_all_schemes_and_controls_are_asked_for_the_same(trials: dict[str, Experiment]) -> None:
    for model in web.MODELS:
        for http in web.HTTP:
            own = [
                trials[key]
                for key in trials
                if key.startswith((f"web-{model}-{http}-", f"thesis-{model}-{http}-"))
                and len(trials[key].flows) == 1
            ]
            assert len(own) >= 4 + 3
            assert len({one.flows[0].app for one in own}) == 1


def test_todays_browsers_load_the_pages_of_the_thesis_user(trials: dict[str, Experiment]) -> None:
    for model in web.MODELS:
        apps = {
            how: {trials[web.today_key(model, how, one)].flows[0].app for one in web.THESIS_SCHEMES}
            for how in web.TODAY
        }
        ways = {how: (app.http, app.parallel) for how, [app] in apps.items()}
        assert ways == {"six": ("1.1", 6), "2": ("2", 1)}
        [app] = apps["2"]
        vectors = trials[web.thesis_key(model, "1.0", "slow-start")].flows[0].app
        assert app.table().response_bytes.tolist() == [epoch[1] for epoch in vectors.epochs]


def test_only_the_share_of_the_capacity_is_another_one(trials: dict[str, Experiment]) -> None:
    whole = trials[web.share_key(1, "1.1", "reno")]
    half = trials[web.share_key(0.5, "1.1", "reno")]
    routers = [one.topology.links()[0][1].quick_start for one in (whole, half)]
    assert [router and router.get("threshold_permille", 1000) for router in routers] == [1000, 500]
    assert half.flows == whole.flows


def test_a_page_is_there_when_the_file_before_a_think_time_is() -> None:
    one = Vectors(epochs=(("1 B", "10 B", "0 s"), ("1 B", "20 B", "2 s"), ("1 B", "30 B", "3 s")))
    two = Vectors(epochs=(("1 B", "40 B", "5 s"), ("1 B", "50 B", "0 s"), ("1 B", "60 B", "5 s")))
    flows = [{"app": app, "control": "reno"} for app in (one, two)]
    rows = [
        (0, 0, 0, S),
        (0, 1, S, 3 * S),
        (0, 2, 5 * S, 9 * S),
        (1, 0, S, 2 * S),
        (1, 1, 7 * S, 8 * S),  # the page's last file never came
    ]
    times_s, sizes = page_times(trace({"responses": rows}, of=experiment(flows=flows)))
    assert times_s.tolist() == [1, 3, 4]
    assert sizes.tolist() == [40, 30, 30]
    times_s, sizes = page_times(trace(of=experiment(flows=flows)))
    assert times_s.size == sizes.size == 0
