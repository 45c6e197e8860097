"""The study overhead: its verdicts and its page from made-up measurements."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import made_up
import pytest
from support import headway

from headway.claims import Change, Claim, Why
from headway.studies.overhead import STUDY
from headway.verdicts import tries


def judged(tmp_path: Path, **changes: float) -> dict[str, Claim]:
    ctx = made_up.context(tmp_path)
    commands = STUDY.commands(ctx)
    rows = {key: made_up.router_bench(command, **changes) for key, command in commands.items()}
    return {claim.id: claim for claim in STUDY.judge(ctx, STUDY.gather(ctx, rows))}


def test_ratios_are_to_the_plain_router_of_the_same_turn(tmp_path: Path) -> None:
    claims = judged(tmp_path)
    # in the made-up results, metering adds 2 % to an effort of 1000 ns, and requests in half of the
    # packets add 17 %; the 10 % by which turns differ cancel out
    assert claims["C-QSL-027"].measured == pytest.approx(1.02, rel=1e-4)
    assert claims["C-TH-223"].measured == pytest.approx(2000 / 2020, rel=1e-4)
    assert claims["C-TH-233"].measured == pytest.approx(2000 / 2170, rel=1e-4)
    assert claims["C-TH-235"].measured == pytest.approx(1.17, rel=0.05)
    assert claims["C-TH-235"].verdict == "fails"  # the claim states two to four times
    assert {claim.basis for claim in claims.values()} == {"live", "setting"}


def test_more_time_in_the_program_fails_the_claims_on_it(tmp_path: Path) -> None:
    claims = judged(tmp_path, more_ns=300.0)
    for name in ("C-QSL-027", "C-QSL-028", "C-QSL-029", "C-QSL-030", "C-TH-223", "C-TH-238"):
        assert claims[name].verdict == "fails", name


def test_no_overhead_at_all_is_not_a_measurable_one(tmp_path: Path) -> None:
    assert judged(tmp_path, more_ns=-20.0)["C-QSL-027"].verdict == "fails"


def test_each_comparison_has_a_twin_with_the_empty_program(tmp_path: Path) -> None:
    claims = judged(tmp_path)
    compared = [
        one
        for one in claims.values()
        if "an unmodified router" in one.statement
        and not one.statement.startswith("network processor")  # no ratios
    ]
    assert len(compared) == 14
    for one in compared:
        if one.id != "C-TH-218":  # this claim compares no overhead but a rate
            twin = claims[f"overhead-empty-{one.id.removeprefix('C-').lower()}"]
            text = one.statement.replace("an unmodified router", "a router with an empty program")
            assert (twin.statement, twin.published) == (text, one.published)
    # without a program a packet takes 1000 ns, with an empty program 1010, with the program 1020
    assert claims["overhead-empty-qsl-027"].measured == pytest.approx(1020 / 1010, rel=1e-4)
    assert claims["overhead-empty-price"].measured == pytest.approx(10.0, rel=0.01)


def test_a_counterfactual_measures_with_another_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def measure(_: object, command: list[str]) -> dict[str, Any]:
        asked.append(command)
        return made_up.router_bench(command)

    monkeypatch.setattr(tries, "measure", measure)
    monkeypatch.setattr(tries, "Headwayctl", object)
    ctx, changes = made_up.context(tmp_path), {"--requests": "90", "--set": "algorithm=share"}
    statement = next(one for one in STUDY.statements if one.id == "C-TH-235")
    why = Why("refuted", "It is cheap.", [Change("more", keys="requests-50", options=changes)])
    statement = dataclasses.replace(statement, why=why)
    [tried] = tries.Tries(STUDY, ctx, made_up.rows("overhead", ctx)).of(statement)
    assert tried.claim.measured == pytest.approx(1 + 0.02 + 90 * 0.003)
    [command] = asked
    assert made_up.option(command, "--requests") == "90"
    assert command[-4:] == ["--set", "interval_ms=1000", "--set", "algorithm=share"]


def test_what_shows_a_cause_counts_as_a_counterfactual(tmp_path: Path) -> None:
    ctx = made_up.context(tmp_path)
    statement = next(one for one in STUDY.statements if one.id == "C-TH-235")
    why = Why("refuted", "It is cheap.", shown_by="overhead-empty-th-223")
    rows = made_up.rows("overhead", ctx)
    [tried] = tries.Tries(STUDY, ctx, rows).of(dataclasses.replace(statement, why=why))
    assert (tried.claim.id, tried.claim.verdict) == ("overhead-empty-th-223", "holds")
    assert tried.claim.basis == "live"
    assert tried.change.says == "the comparison that claim overhead-empty-th-223 makes"
    assert tries.Tries(STUDY, ctx, rows).of(dataclasses.replace(statement, why=None)) == []


def test_what_shows_a_cause_is_a_statement_of_the_study() -> None:
    known = {one.id for one in STUDY.statements}
    named = [one.why.shown_by for one in STUDY.statements if one.why and one.why.shown_by]
    assert set(named) <= known


def test_the_table_shows_how_far_the_measurement_itself_scatters(tmp_path: Path) -> None:
    ctx = made_up.context(tmp_path)
    [table] = STUDY.page(ctx, STUDY.gather(ctx, made_up.rows("overhead", ctx))).tables
    ratios = {(row[0], row[1]): row[-3] for row in table.rows}
    assert ratios["unmodified, again", 0] == 1.0
    assert ratios["Quick-Start", 50] == round(2000 / 2170, 3)


@pytest.mark.slow
def test_it_needs_the_kernel_and_says_so() -> None:
    done = headway("run", "overhead", "--backend", "sim")
    assert done.returncode == 2
    assert done.stderr == "headway: --backend sim: overhead needs backend kernel\n"


def test_the_settings_are_those_of_the_appendix(tmp_path: Path) -> None:
    claims = judged(tmp_path)
    assert (claims["C-TH-265"].verdict, claims["C-TH-265"].measured) == ("as stated", 10.0)
    assert claims["C-TH-269"].verdict == "as stated"
    assert claims["C-TH-269"].published == "16384 / 8388608 / 16777216"
