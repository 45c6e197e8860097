"""Trials of the kernel repeated in the simulator ("twins"), and the statement that both agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.backends.sim import SimBackend
from headway.claims import MissingTrialError
from headway.studies.common.beside import SIMULATED, agreed, as_simulated, simulated
from headway.study import Agreement, StudyContext, discover
from headway.table import Table
from headway.validation.twins import twin

AGREEMENT = Agreement("near", "as simulated", "Times", "a", most=0.1, unit="s", relative=0.1)


class StandIn(SimBackend):
    """The simulator under the kernel's name, with the kernel's stack."""

    name = "kernel"

    def run_each(self, experiments, work, finished, threads=0):
        super().run_each([twin(each) for each in experiments], work, finished, threads)


def table(time_s: float | None) -> Table:
    return Table("Times", ["start", "time"], [["a", time_s], ["b", 9.0]])


@pytest.mark.parametrize(
    ("kernel_s", "simulated_s", "verdict"),
    [
        (1.05, 1.0, "holds"),
        (1.15, 1.0, "fails"),
        (2.15, 2.0, "holds"),  # within a tenth of the simulator's value
        (None, 1.0, "fails"),
        (None, None, "not checked"),
    ],
)
def test_an_agreement_is_judged_on_the_tables_of_both(
    kernel_s: float | None, simulated_s: float | None, verdict: str
) -> None:
    statement = agreed(
        "study",
        AGREEMENT,
        lambda found: ([table(found[0])], [table(found[1])]),
        spoil=dict,
        mend=dict,
    )
    claim = statement.judge((kernel_s, simulated_s), "live")
    assert (claim.id, claim.basis, claim.verdict) == ("study-near", "live", verdict)


def test_without_twins_nothing_agrees() -> None:
    statement = agreed("study", AGREEMENT, lambda _: ([table(1.0)], []), spoil=dict, mend=dict)
    assert statement.look is not None
    with pytest.raises(MissingTrialError):
        statement.look(None)


def test_a_form_on_the_kernel_has_each_trials_twin_among_its_rows(tmp_path: Path) -> None:
    study = discover()["deadlines"].on("kernel")
    ctx = StudyContext(tmp_path, StandIn(), quick=True)
    seen = study.collect(ctx).rows
    keys = list(study.experiments(ctx))
    assert list(seen) == [*keys, *(f"{SIMULATED}{key}" for key in keys)]
    twins = simulated(seen)
    for key in keys:  # StandIn simulates both trials, so they are equal
        assert twins[key].response_s.tolist() == seen[key].response_s.tolist(), key
    again = study.saved(ctx).rows
    assert list(again) == list(seen)
    assert {path.name for path in ctx.trials_dir.iterdir()} == set(keys)


def test_the_twins_evidence_takes_the_kernels_place() -> None:
    rows = {"a-1": 1, "b-1": 2, "simulated-a-1": 3, "simulated-b-1": 4}
    assert as_simulated("a-*")(rows) == {**rows, "a-1": 3}
    with pytest.raises(LookupError, match="no twin"):
        as_simulated("c-*")(rows)
