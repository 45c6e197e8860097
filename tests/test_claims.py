"""Statements, their verdicts and tallies, and deliberately spoiled evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from headway.claims import (
    Claim,
    Evidence,
    Headline,
    Seen,
    Statement,
    Why,
    all_of,
    between,
    edited,
    headline,
    joined,
    judge,
    near,
    replaced,
    scaled,
    swapped,
    tally,
    told,
)
from headway.experiment import Experiment


def test_a_value_holds_in_its_range_only() -> None:
    for value, holds in ((0.9, False), (1.0, True), (2.0, True), (2.1, False)):
        assert between(value, 1, 2).holds is holds
    assert not between(None, 1, 2).holds
    assert not between(math.nan, 1, 2).holds
    assert between(math.nan, 1, 2).measured == "nothing"
    assert between(9.0, 1, math.inf).holds


def test_tolerances_are_told() -> None:
    assert between(1.0, 1, math.inf).tolerance == "≥ 1"
    assert between(1.0, -math.inf, 2).tolerance == "≤ 2"
    assert between(1.0, 1, 2).tolerance == "1 to 2"
    assert near(1.05, 1, relative=0.1).tolerance == "±10 %"
    assert near(1.05, 1, relative=0.1).holds
    assert not near(1.0001, 1).holds
    assert near(3.0, 3).tolerance == "exact"


def look(found: Evidence[float]) -> Seen:
    return Seen(found["a"], found["a"] > 1, unit="s")


def test_a_claim_without_its_trials_is_not_checked() -> None:
    claims = judge(
        [
            Statement("X-1", "is there", 1.0, look),
            Statement("X-2", "is not", 1.0, lambda found: Seen(found["b"], True)),
            Statement("X-3", "cannot", 1.0, why_not="because"),
        ],
        Evidence({"a": 2.0}),
    )
    assert [claim.verdict for claim in claims] == ["holds", "not checked", "not checked"]
    assert [claim.note for claim in claims] == ["", "This run has no trial b.", "because"]


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (("", "20 % are ours.", ""), "20 % are ours."),
        (("It took 1.2 s.", "20 % are ours."), "It took 1.2 s. 20 % are ours."),
        (("5.8 s", "The target is 500 ms."), "5.8 s. The target is 500 ms."),
        (("no recording", "the longest took 5 s"), "no recording; the longest took 5 s"),
        ((), ""),
    ],
)
def test_remarks_are_joined_as_sentences(texts: tuple[str, ...], text: str) -> None:
    assert joined(*texts) == text


def test_a_verdict_is_of_its_basis() -> None:
    statement = Statement("X-1", "above one", 1.0, look)
    above, below = Evidence({"a": 2.0}), Evidence({"a": 0.5})
    assert statement.judge(above).verdict == "holds"
    assert statement.judge(above).basis == "simulated"
    assert statement.judge(above, "live").basis == "live"
    assert statement.judge(below).verdict == "fails"
    in_part = replace(statement, part="half of it")
    assert in_part.judge(above).verdict == "in part"
    assert in_part.judge(below).verdict == "fails"
    setting = replace(statement, carrier="setting")
    assert setting.judge(above).verdict == "as stated"
    assert setting.judge(below).verdict == "differs"
    assert setting.judge(above, "live").basis == "setting"
    assert replace(statement, carrier="model").judge(above).basis == "model"


def test_a_statement_that_a_setting_was_fitted_to_counts_in_no_headline() -> None:
    fitted = Statement("C-MN-027", "above one", 1.0, look, calibrated="alpha was fitted to it")
    for measured in (2.0, 0.5):
        one = fitted.judge(Evidence({"a": measured}))
        assert one.basis == "calibrated"
        assert one.calibrated == "alpha was fitted to it"
        assert one.note == "In no tally: alpha was fitted to it"
        assert one.why == ""
        assert headline([one]) == Headline(0, 0, 0)
        assert told([one]) == "1 calibrated"


def claim(name: str, basis: str, verdict: str, same_as: str = "", why: str = "") -> Claim:
    return Claim(name, "x", basis, 1.0, 1.0, None, "", verdict, same_as=same_as, why=why)  # type: ignore[arg-type]


def test_a_tally_never_mixes_bases_nor_whose_statements_and_counts_a_check_once() -> None:
    claims = [
        claim("C-TH-001", "simulated", "holds"),
        claim("C-TH-002", "simulated", "fails", why="refuted"),
        claim("C-TH-003", "simulated", "fails", same_as="C-TH-002", why="refuted"),
        claim("C-MN-001", "simulated", "in part"),
        claim("C-MN-002", "simulated", "undecided"),
        claim("C-RP-001", "live", "holds"),
        claim("ours", "simulated", "fails", why="unknown setting"),
        claim("C-TH-004", "model", "holds"),
        claim("C-TH-005", "setting", "as stated"),
        claim("C-TH-006", "setting", "differs"),
        claim("C-TH-007", "simulated", "not checked"),
    ]
    assert headline(claims) == Headline(2, 1, 5)
    assert headline(claims, "simulated") == Headline(1, 1, 4)
    assert headline(claims, "simulated").share == 0.5
    assert headline([]).share is None
    assert told(claims) == (
        "1 of 4 simulated statements of the papers hold (and 1 in part); "
        "1 of 1 live statements of the papers hold; "
        "0 of 1 simulated statements of ours hold; 1 undecided; 1 of 1 models; "
        "1 of 2 settings are as stated; 1 not checked"
    )
    assert told([]) == "none"
    assert tally(claims)["simulated"]["fails"] == 2


def test_an_edit_puts_values_at_paths_of_an_experiment() -> None:
    one = Experiment.model_validate(
        {
            "topology": {"kind": "dumbbell", "rate": "1Mbit/s", "rtt": "50ms", "buffer": "50 pkts"},
            "flows": "2xcubic",
            "duration": "10 s",
        }
    )
    changed = edited({"topology.buffer": "15 pkts", "flows.*.delayed_ack": False})(one)
    assert str(changed.topology.links()[0][0].buffer) == "15 pkts"
    assert [flow.delayed_ack for flow in changed.flows] == [False, False]
    assert edited({"seed": lambda seed: seed + 1})(one).seed == one.seed + 1
    with pytest.raises(LookupError, match=r"topology.bufer.size: no such field"):
        edited({"topology.bufer.size": 1})(one)


def test_a_failure_says_of_which_kind_it_is() -> None:
    below = Evidence({"a": 0.5})
    unexplained = Statement("X-1", "above one", 1.0, look)
    assert unexplained.judge(below).why == "open"
    assert unexplained.judge(Evidence({"a": 2.0})).why == ""
    explained = replace(unexplained, why=Why("refuted", "The link is slow."))
    assert explained.judge(below).why == "refuted"
    assert explained.judge(below).note == "The link is slow."
    assert explained.judge(Evidence({"a": 2.0})).note == ""


@dataclass(frozen=True)
class Row:
    """A made-up observation of a trial, with numbers, arrays and nested parts."""

    mean_s: float
    rates: np.ndarray
    parts: tuple[dict[str, float], ...]


ROWS = {
    name: Row(seconds, np.array([1.0, 2.0]), ({"first": seconds}, {"first": 1.0}))
    for name, seconds in (("slow-start-30", 3.0), ("jump-start-30", 2.0), ("other", 5.0))
}


def test_evidence_is_scaled_and_replaced_where_the_path_leads() -> None:
    rows = scaled("*-start-30", 2.0, "mean_s", "rates", "parts.0.first")(ROWS)
    assert (rows["slow-start-30"].mean_s, rows["other"].mean_s) == (6.0, 5.0)
    assert rows["jump-start-30"].rates.tolist() == [2.0, 4.0]
    assert rows["jump-start-30"].parts == ({"first": 4.0}, {"first": 1.0})
    assert ROWS["jump-start-30"].mean_s == 2.0
    rows = replaced("other", 9.0, "rates", "parts.*.first")(ROWS)
    assert rows["other"].rates.tolist() == [9.0, 9.0]
    assert rows["other"].parts == ({"first": 9.0}, {"first": 9.0})
    assert scaled("other", 3.0, "rates.1")(ROWS)["other"].rates.tolist() == [1.0, 6.0]
    assert scaled("other", 3.0, "parts.1")(ROWS)["other"].parts[1] == {"first": 3.0}


def test_evidence_of_two_schemes_is_exchanged_trial_by_trial() -> None:
    rows = swapped("jump-start", "slow-start")(ROWS)
    assert rows["slow-start-30"].mean_s == 2.0
    assert rows["jump-start-30"].mean_s == 3.0
    assert rows["other"] is ROWS["other"]
    both = all_of(swapped("jump-start", "slow-start"), scaled("jump-start-*", 2.0, "mean_s"))
    assert both(ROWS)["jump-start-30"].mean_s == 6.0


@pytest.mark.parametrize(
    "spoil",
    [
        scaled("nobody", 2.0, "mean_s"),
        scaled("other", 2.0, "parts.0.second"),
        replaced("other", 2.0, "parts.7"),
        swapped("jump-start", "quick-start"),
        swapped("start", "other"),
    ],
)
def test_a_spoil_that_changes_nothing_is_an_error(spoil) -> None:
    with pytest.raises(LookupError):
        spoil(ROWS)
