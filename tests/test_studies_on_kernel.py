"""Studies that also run on the kernel: their requests, and the comparison with the twin.

The simulator replaces the kernel here; test_kernel_backend.py tests the kernel's side.
"""

from pathlib import Path

import pytest

from headway.backends import backend_named
from headway.backends.sim import SimBackend
from headway.figures.faults import faults
from headway.study import Study, StudyContext, discover
from headway.validation.twins import compare_with_simulator, twin

STUDIES = (
    "deadlines",
    "first-megabyte",
    "quickstart-linux",
    "rappep",
    "startup-behaviour",
    "transfer-times",
    "web-surge",
)


class StandIn(SimBackend):
    """The simulator under the kernel's name, with the kernel's stack."""

    name = "kernel"

    def run_each(self, experiments, work, finished, threads=0):
        super().run_each([twin(each) for each in experiments], work, finished, threads)


@pytest.fixture(params=STUDIES)
def study(request: pytest.FixtureRequest) -> Study:
    return discover()[request.param].on("kernel")


@pytest.mark.slow
def test_the_kernel_backend_takes_all_its_experiments(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headway.backends.kernel import supported

    monkeypatch.setattr(supported, "_kernel_version", lambda: (6, 12))
    experiments = study.experiments(StudyContext(tmp_path, StandIn()))
    for experiment in experiments.values():
        supported.check(experiment)
    # an hour is longer than anybody waits
    assert sum(each.duration for each in experiments.values()) < 3600e9


@pytest.mark.parametrize("name", ["maxnet", "rap-over-satellite"])
def test_the_kernel_backend_takes_all_experiments_with_protocols_of_routers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headway.backends.kernel import supported

    monkeypatch.setattr(supported, "_kernel_version", lambda: (6, 12))
    study = discover()[name].on("kernel")
    assert study.agreements
    for experiment in study.experiments(StudyContext(tmp_path, StandIn())).values():
        supported.check(experiment)


@pytest.mark.slow
def test_every_agreement_is_judged_and_a_backend_agrees_with_itself(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx = StudyContext(tmp_path, StandIn(), quick=True)
    pages, draw = [], study.page
    monkeypatch.setattr(study, "page", lambda *of: pages.append(draw(*of)) or pages[-1])
    result = study.run(ctx)
    for name, (_, _, figure) in pages[0].figures.items():
        assert list(map(str, faults(figure))) == [], name
    beside = compare_with_simulator(study, ctx, result, resume=False)
    assert [claim.id for claim in beside.claims] == [each.id for each in study.agreements]
    assert {(claim.verdict, claim.measured) for claim in beside.claims} == {("holds", 0.0)}


def test_a_sender_that_knows_the_rate_is_near_the_minimum(tmp_path: Path) -> None:
    study = discover()["first-megabyte"]
    result = study.run(StudyContext(tmp_path, backend_named("sim"), quick=True))
    assert [claim.verdict for claim in result.claims] == ["holds", "holds"]
    gains = {row[0]: float(str(row[-1])) for row in result.tables[0].rows}
    assert gains.pop("Slow-Start") == 1
    assert gains["Mega-Start"] > 3
    fast = [gain for name, gain in gains.items() if not name.startswith("HyStart")]
    assert min(fast) > 1.2
    again = study.rebuild(StudyContext(tmp_path, backend_named("sim"), quick=True))
    assert again.tables == result.tables
