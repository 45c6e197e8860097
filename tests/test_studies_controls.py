"""The study of controls' table: every row is judged, and shows the expected value."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest

from headway.claims import Claim
from headway.registry import registry
from headway.studies.controls import STUDY
from headway.studies.controls.claims import ROWS
from headway.studies.controls.experiments import reno_pkts, scalable_pkts
from headway.studies.controls.page import part
from headway.studies.response_functions.experiments import governed_ns


def claim(number: str, measured: float | str, verdict: str = "holds") -> Claim:
    [statement] = [one for one in STUDY.statements if one.id == number]
    blank = statement.judge(STUDY.gather(None, {}))  # type: ignore[arg-type]
    return replace(blank, measured=measured, verdict=verdict)


def test_every_row_is_of_a_control_that_there_is() -> None:
    assert {row.text.control for row in ROWS} <= {control.name for control in registry().controls}
    assert len({row.id for row in ROWS}) == len(ROWS)
    # Vegas' law gives a range of windows, so the tolerance of its row is larger
    most = {"vegas": 1 / 3}
    assert all(0 < row.text.within <= most.get(row.text.control, 0.2) for row in ROWS)
    assert all(math.isfinite(row.expected) for row in ROWS)


def test_the_table_has_each_number_with_its_error_and_stars_what_is_beyond_its_tolerance() -> None:
    told = part([claim("CC-011", 240.0), claim("CC-021", 200.0, "fails")])
    scalable, highspeed = told.splitlines()[2:]
    assert scalable.startswith("| Scalable | mean window at loss p = 3e-4 | Kelly 2003: 0.08/p |")
    assert scalable.endswith("| 266.7 packets | 240 packets | -10.0 % |")
    assert highspeed.endswith("| 263 packets | 200 packets | -24.0 % * |")


def test_what_was_not_measured_has_no_error() -> None:
    told = part([claim("CC-011", "nothing", "fails")])
    assert told.splitlines()[-1].count("–") == 2


def test_analytic_windows_are_those_by_hand() -> None:
    assert reno_pkts(1e-3) == pytest.approx(math.sqrt(1500))
    assert reno_pkts(1e-3, 2) == pytest.approx(math.sqrt(750))
    assert scalable_pkts(1e-4) == pytest.approx(1e4 / (math.log(8 / 7) / 0.01 + 1), rel=1e-3)


def test_delay_governs_from_the_repair_until_the_last_shrinking_before_the_next_loss() -> None:
    repaired, recovery = 0, 3
    states = pl.DataFrame(
        [
            (5, repaired, 90),  # before the first loss, so it does not count
            (7, repaired, 80),
            (10, recovery, 60),
            (12, repaired, 50),
            (14, repaired, 70),
            (16, repaired, 60),
            (18, repaired, 75),
            (19, repaired, 65),
            (20, repaired, 66),
            (30, recovery, 33),  # a reduction by loss, not by delay
            (32, repaired, 33),
            (34, repaired, 34),
            (40, recovery, 17),
        ],
        schema=["time_ns", "state", "cwnd_pkts"],
        orient="row",
    )
    assert governed_ns(states, [10, 30, 40]) == [(12, 19)]
    assert governed_ns(states, [30, 40]) == []
    assert governed_ns(states, [10]) == []
