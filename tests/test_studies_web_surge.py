"""The study web-surge: its users, requests and hosts, and when a page is complete."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import S, experiment, trace

from headway.backends import backend_named
from headway.claims import Evidence, MissingTrialError
from headway.experiment import Experiment, Vectors
from headway.studies.web_surge import experiments as web
from headway.studies.web_surge import kernel
from headway.studies.web_surge.claims import all_gain, denied, still_faster
from headway.studies.web_surge.experiments import Found, Loads, page_times
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
            how: {
                trials[web.thesis_key(model, how, one)].flows[0].app for one in web.THESIS_SCHEMES
            }
            for how in web.TODAY
        }
        ways = {how: (app.http, app.parallel) for how, [app] in apps.items()}
        assert ways == {"six": ("1.1", 6), "2": ("2", 1)}
        [app] = apps["2"]
        vectors = trials[web.thesis_key(model, "1.0", "slow-start")].flows[0].app
        assert app.table().response_bytes.tolist() == [epoch[1] for epoch in vectors.epochs]


def test_only_the_share_of_the_capacity_is_another_one(trials: dict[str, Experiment]) -> None:
    whole = trials[web.paper_key("large", "reno", "1.1", "quick-start")]
    half = trials[web.paper_key("large", "reno", "1.1", "quick-start", share=0.5)]
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
        (1, 1, 7 * S, 8 * S),  # the page's last file never arrived
    ]
    times_s, sizes = page_times(trace({"responses": rows}, of=experiment(flows=flows)))
    assert times_s.tolist() == [1, 3, 4]
    assert sizes.tolist() == [40, 30, 30]
    times_s, sizes = page_times(trace(of=experiment(flows=flows)))
    assert times_s.size == sizes.size == 0


def loads(mean_s: float, batches_s: tuple[float, ...]) -> Loads:
    return Loads(100, mean_s, 0.3 * mean_s, 1.0, 1.0, 0.5, 1.0, batches_s, batches_s, batches_s)


def of_thesis(slow: Loads, fast: Loads) -> Found:
    rows = {
        web.thesis_key(model, http, scheme, users): slow if scheme == "slow-start" else fast
        for model in web.MODELS
        for http in web.HTTP
        for scheme in web.LOAD_SCHEMES
        for users in web.users_of(model, quick=True)
    }
    return Found(Evidence(rows), quick=True)


def test_what_is_saved_has_an_interval_by_batches_of_the_same_pages() -> None:
    """Load times vary from batch to batch, so the difference of two schemes is judged batch by
    batch. A difference of a tenth counts if all batches have a similar difference, and not if it
    varies.
    """
    batches = tuple(np.linspace(1.0, 3.0, 10))
    slow = loads(2.0, batches)
    sure = of_thesis(slow, loads(1.8, tuple(one - 0.2 for one in batches)))
    assert all_gain(sure).holds
    assert still_faster(sure).holds
    assert "0.20 ±0.00 s" in still_faster(sure).note
    other = tuple(one - 0.2 + (-1) ** n for n, one in enumerate(batches))
    unsure = of_thesis(slow, loads(1.8, other))
    assert all_gain(unsure).measured == "0 of 12"
    assert "0.20 ±0.75 s" in still_faster(unsure).note
    assert not still_faster(unsure).holds


def test_equal_times_are_within_two_percent_or_within_the_interval() -> None:
    """Quick-Start counts as equal to slow start if it is faster by 1.5 %, and as different if it is
    faster by 4 %, unless the interval of the difference includes 0.
    """
    batches = tuple(np.linspace(1.0, 3.0, 10))
    slow = loads(2.0, batches)
    assert denied(of_thesis(slow, loads(1.97, tuple(one - 0.03 for one in batches)))).holds
    assert not denied(of_thesis(slow, loads(1.92, tuple(one - 0.08 for one in batches)))).holds
    other = tuple(one - 0.08 + (-1) ** n for n, one in enumerate(batches))
    assert denied(of_thesis(slow, loads(1.92, other))).holds


def test_other_numbers_of_users_ask_what_so_many_ask(trials: dict[str, Experiment]) -> None:
    key = web.thesis_key("large", "1.1", "slow-start", 10)
    more = web.with_users({10: ("large", 20)})(trials[key])
    assert more.flows == trials[web.thesis_key("large", "1.1", "slow-start", 20)].flows


def test_on_the_kernel_a_user_who_did_not_load_all_pages_has_no_mean() -> None:
    users = [(1.0,) * kernel.QUICK_PAGES] * (2 * len(kernel.QUICK_WAYS))
    users[1] = ()
    ctx = StudyContext(Path("nowhere"), backend_named("sim"), quick=True)
    found = kernel.gather(ctx, {"slow-start": kernel.Times(tuple(users))})
    assert found.mean("default", "HTTP/1.1, six", "slow-start").mean == 1.0
    assert np.isnan(found.mean("default", "HTTP/2", "slow-start").mean)
    assert found.mean("large", "HTTP/2", "slow-start").mean == 1.0
    with pytest.raises(MissingTrialError, match=r"HTTP/1\.0"):
        found.mean("large", "HTTP/1.0", "slow-start")
