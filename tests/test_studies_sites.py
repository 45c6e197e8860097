"""The studies with a browser: minimum times of responses, runs in groups, claims' texts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import made_up
import numpy as np
import pytest

from headway.claims import Claim
from headway.errors import HeadwayError
from headway.studies.city import STUDY as CITY
from headway.studies.city import claims as city
from headway.studies.city.experiments import Walk, gather
from headway.studies.common import sites
from headway.studies.map_page import STUDY as MAP_PAGE

CTX = made_up.context(Path("nowhere"))


def walks() -> dict[str, Walk]:
    return made_up.rows("city", CTX)


def claim(study: object, name: str, rows: dict[str, object]) -> Claim:
    [one] = [one for one in study.statements if one.id == name]  # type: ignore[attr-defined]
    judged: Claim = one.judge(study.gather(CTX, rows), "live")  # type: ignore[attr-defined]
    return judged


def test_the_least_time_is_the_links_or_the_receive_buffers() -> None:
    # 8 MB fit into the receive buffer, so the link's rate limits; 16 MiB need two flights of 8 MiB,
    # 200 ms apart
    assert sites.least_s(8e6, 200) == pytest.approx(0.2 + 8e6 * 8 / 1e9)
    flight_s = sites.RECEIVE_BUFFER_BYTES * 8 / sites.RATE_BPS
    assert sites.least_s(2 * sites.RECEIVE_BUFFER_BYTES, 200) == pytest.approx(0.4 + flight_s)
    # the largest district, 85.4 MB, takes eleven flights at 200 ms; at 50 ms the link's rate limits
    # it
    assert sites.least_s(85.39e6, 200) == pytest.approx(2.2120, abs=1e-4)
    assert sites.least_s(85.39e6, 50) == pytest.approx(0.05 + 85.39e6 * 8 / 1e9)


def test_a_walk_that_lacks_a_quarter_is_not_compared_with_others() -> None:
    rows = walks()
    one = rows["jump-start-r2"]
    rows["jump-start-r2"] = dataclasses.replace(
        one, names=one.names[:1], response_s=one.response_s[:1]
    )
    with pytest.raises(HeadwayError, match="city: jump-start-r2: towers-near did not arrive"):
        gather(CTX, rows)


def test_quarters_that_were_wanted_in_another_order_are_the_same_quarters() -> None:
    rows = walks()
    before = gather(CTX, rows)["slow-start"].each_s
    one = rows["slow-start-r2"]
    rows["slow-start-r2"] = dataclasses.replace(
        one, names=one.names[::-1], response_s=one.response_s[::-1]
    )
    assert np.array_equal(gather(CTX, rows)["slow-start"].each_s, before)


def test_an_order_of_means_needs_a_difference_beyond_its_interval() -> None:
    rows = walks()
    assert claim(CITY, "C-TH-258", rows).verdict == "in part"
    for run, factor in ((1, 0.6), (2, 1.0), (3, 1.4)):
        name = f"jump-start-r{run}"
        times_s = rows[name].response_s * factor
        rows[name] = dataclasses.replace(rows[name], response_s=times_s)
    spread = claim(CITY, "C-TH-258", rows)
    assert spread.verdict == "fails"
    assert "±" in str(spread.measured)


def test_the_note_gives_jump_starts_saving_and_the_largest_possible_one() -> None:
    told = claim(CITY, "C-TH-257", walks()).note
    # made up: 6.12 s on average; 86 MB take ten flights, the rest at link rate, and a round trip
    assert "With Slow-Start the slowest part takes 6.12 s" in told
    assert "need 2.22 s. So no startup can save more than 3.90 s" in told


def test_the_quick_form_does_not_judge_a_quarter_that_it_does_not_reach() -> None:
    rows = {
        name: dataclasses.replace(row, names=("harbour-near", "old-town-near"))
        for name, row in walks().items()
    }
    assert claim(CITY, "C-TH-262", rows).verdict == "not checked"
    assert claim(CITY, "C-TH-262", walks()).verdict == "as stated"


def test_pages_have_the_table_that_a_claim_tells() -> None:
    told = claim(CITY, "city-times", walks())
    lines = city.times_table([told]).splitlines()
    assert lines[0] == "| startup | median | longest | in all |"
    assert lines[2].startswith("| Slow-Start | 4.59 | 6.12 | 9.18 ± 0.22 |")
    assert len(lines) == 2 + 4 + 3
    assert city.times_table([]) == "Not measured.\n"


def test_a_gain_over_three_packets_says_what_of_it_ten_packets_are() -> None:
    rows = made_up.rows("map-page", CTX)
    told = claim(MAP_PAGE, "C-TH-251", rows).note
    assert "1.60 s come from an initial window of ten packets" in told
    assert "Saved compared with ten packets: Quick-Start 1.88 s, Mega-Start 1.88 s" in told
    told = claim(MAP_PAGE, "C-TH-250", rows).note
    assert "Initial-Start -0.10 s, Jump-Start 1.00 s" in told


def test_a_target_that_is_slightly_worse_is_at_most_15_percent_worse() -> None:
    rows = made_up.rows("map-page", CTX)
    assert claim(MAP_PAGE, "C-TH-254", rows).verdict == "holds"
    for name in ("quick-start-205", "mega-start-205"):
        rows[name] = dataclasses.replace(rows[name], load_s=np.full(5, 7.0))
    assert claim(MAP_PAGE, "C-TH-254", rows).verdict == "fails"
