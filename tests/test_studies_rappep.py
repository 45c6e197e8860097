"""Paper 004's proxy: when its report recommends a proxy, and the study's version for the kernel.

The simulator replaces the kernel, as in test_studies_on_kernel.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from headway.backends.sim import SimBackend
from headway.claims import Evidence, Statement
from headway.experiment import Bulk, Experiment
from headway.publish import Page
from headway.studies.rap_over_satellite.experiments import STARTS_S
from headway.studies.rappep import observe
from headway.studies.rappep.claims import OF_KERNEL
from headway.studies.rappep.experiments import (
    ON_KERNEL,
    PROXIED,
    TIMES_TABLE,
    USED_TABLE,
    on_kernel,
)
from headway.studies.rappep.observe import Found, Row
from headway.studies.rappep.page import Candidate, kernel_page, worth_rows
from headway.study import StudyContext
from headway.trace import Trace


def told(bare: list[Candidate], proxied: list[Candidate]) -> list[list[object]]:
    """Rows of the report's table: best variant without proxy, best with proxy, gain, verdict."""
    known = {one.name: one for one in [*bare, *proxied]}
    names = ([x.name for x in bare], [x.name for x in proxied])
    rows = worth_rows("a path", known.__getitem__, *names)
    return [[row[2], row[4], *row[6:]] for row in rows]


def test_a_scheme_that_overflows_the_queue_is_not_the_fastest_of_the_others() -> None:
    hog, polite = Candidate("hog", 5.0, 0.7), Candidate("polite", 20.0, 0.0)
    proxy = Candidate("proxy", 10.0, 0.001)
    assert told([hog, polite], [proxy]) == [
        ["hog", "proxy", -100.0, "no: slower"],
        ["polite", "proxy", 50.0, "yes"],
    ]


@pytest.mark.parametrize(
    ("with_one_s", "said"),
    [(8.9, "yes"), (9.2, "no: as fast"), (10.9, "no: as fast"), (11.2, "no: slower")],
)
def test_a_tenth_of_the_time_counts(with_one_s: float, said: str) -> None:
    [row, _] = told([Candidate("bare", 10.0, 0.0)], [Candidate("proxy", with_one_s, 0.0)])
    assert row[-1] == said


def test_a_proxy_is_worth_it_where_nothing_else_leaves_the_queue_room() -> None:
    bare, proxy = Candidate("bare", 1.0, 0.2), Candidate("proxy", 10.0, 0.0)
    assert told([bare], [proxy])[1] == ["none", "proxy", None, "yes"]
    assert told([proxy], [bare])[1] == ["proxy", "none", None, "no"]


def test_an_unfinished_scheme_is_no_candidate() -> None:
    assert told([Candidate("never", float("inf"), 0.0)], [])[0] == ["none", "none", None, "no"]


def experiments(*, quick: bool) -> dict[str, Experiment]:
    """The trials of the study's kernel version in which servers send files."""
    trials = on_kernel(StudyContext(Path(), SimBackend(), quick=quick))
    return {key: one for key, one in trials.items() if isinstance(one.flows[0].app, Bulk)}


def observe_live(key: str, trace: Trace) -> Row:
    """The kernel version's observation of a trial in which servers send files."""
    row = observe.observe_live(key, trace)
    assert isinstance(row, Row)
    return row


@pytest.fixture(scope="module")
def found() -> Found:
    """Simulated observations for the first run of each trial in the kernel version's full form."""
    first = {key: one for key, one in experiments(quick=False).items() if key.endswith("-r1")}
    return Found({key: observe_live(key, SimBackend().run(one)) for key, one in first.items()})


@pytest.fixture(scope="module")
def through_sides() -> Trace:
    """A simulated trial of XCP PEP in which each server has a side link of its own."""
    return SimBackend().run(experiments(quick=True)["xcp_pep-delays-p1e-3-r1"])


def test_the_quick_form_has_a_trial_for_each_figure_and_row() -> None:
    keys = set(experiments(quick=True))
    assert keys < set(experiments(quick=False))
    assert {key.split("-")[0] for key in keys} == set(ON_KERNEL)
    assert {"xcp_pep-delays-p1e-3-r1", "tcp_pep-delays-p1e-3-r1", "cubic26-p0-r1"} < keys
    assert {"tcp_pep-p1e-2-r1", "xcp_pep-p1e-2-r1", "mpcp_pep-p1e-2-r1"} < keys


def test_every_trial_ends_before_its_time(found: Found) -> None:
    for key, one in experiments(quick=False).items():
        if key in found:
            starts_s = min(one.start_times_ns()) / 1e9
            assert starts_s + found[key].files.all_s < 0.9 * one.duration / 1e9, key


def test_a_file_begins_when_it_is_asked_for_whichever_packet_is_seen_first(
    through_sides: Trace,
) -> None:
    key = "xcp_pep-delays-p1e-3-r1"
    late = replace(
        through_sides,
        flows=tuple(
            # the kernel backend logs only packets on the satellite leg, so its times of first
            # packets are later
            flow.model_copy(update={"first_packet_ns": None if number == 0 else 10**9 * number})
            for number, flow in enumerate(through_sides.flows)
        ),
    )
    starts_s = np.array(through_sides.experiment.start_times_ns()) / 1e9
    ends_s = np.array([flow.done_ns for flow in through_sides.flows]) / 1e9
    for trace in (through_sides, late):
        row = observe_live(key, trace)
        assert row.files.times_s == pytest.approx(ends_s - starts_s)
        assert row.files.all_s == pytest.approx(ends_s.max() - starts_s.min())
        # the window is open from the start, since the relay's connection needs no handshake
        assert row.window_pkts[:, 0] == pytest.approx(10)


def test_what_is_not_known_of_a_server_is_no_number(found: Found, through_sides: Trace) -> None:
    states = through_sides["flow_state"]
    blind = replace(
        through_sides,
        tables={**through_sides.tables, "flow_state": states.filter(pl.col("flow") != 2)},
    )
    row = observe_live("xcp_pep-delays-p1e-3-r1", blind)
    assert np.isnan(row.sent_s[2])
    assert np.isnan(row.open_s[2])
    assert np.isnan(row.window_pkts[2]).all()
    assert np.isfinite(np.delete(row.sent_s, 2)).all()
    rows = shown(Found({**found.rows, "one": row})).data["cwnd"]
    rows = rows.filter(pl.col("trial") == "one")
    assert sorted(rows["file"].unique()) == [1, 2, 4, 5]


def shown(found: Found) -> Page:
    """The page of the study's version for the kernel."""
    return kernel_page(StudyContext(Path(), SimBackend()), found)


def table(found: Found, title: str) -> dict[object, list[object]]:
    """A table's cells by scheme."""
    one = next(each for each in shown(found).tables if each.title.startswith(title))
    return {row[0]: list(row[1:]) for row in one.rows}


def test_tables_have_a_number_where_there_is_one_and_else_nothing(found: Found) -> None:
    assert table(found, TIMES_TABLE)["CUBIC"][2] is None
    assert table(found, "Packets that the satellite")["XCP PEP"] == [0, 0, 0]
    compared = table(found, "Mean completion times compared")
    assert compared["TCP PEP"] == [0, 0, 0]
    times = table(found, TIMES_TABLE)
    ratio = float(str(times["MPCP PEP"][1])) / float(str(times["TCP PEP"][1]))
    assert compared["MPCP PEP"][1] == pytest.approx(100 * (ratio - 1), abs=1)
    one = found["xcp_pep-p0-r1"]
    never = replace(one.files, times_s=np.full(5, np.nan), used=float("nan"), jain=float("nan"))
    unended = Found({**found.rows, "xcp_pep-p0-r1": replace(one, files=never)})
    for title in (TIMES_TABLE, USED_TABLE, "Jain", "Mean completion times compared"):
        assert table(unended, title)["XCP PEP"][0] is None


def test_a_scheme_is_compared_with_tcp_pep_by_the_runs_that_both_have(found: Found) -> None:
    one = found["tcp_pep-p1e-2-r1"]
    slow = replace(one, files=replace(one.files, times_s=100 * one.files.times_s))
    more = Found({**found.rows, "tcp_pep-p1e-2-r2": slow})
    title = "Mean completion times compared"
    assert table(more, title)["CUBIC"] == table(found, title)["CUBIC"]


def test_figures_and_data_are_of_what_there_is(found: Found) -> None:
    quick = Found({key: found[key] for key in experiments(quick=True)})
    for of in (found, quick):
        names = list(shown(of).figures)
        assert names == ["figure-3", "figure-5", "figure-7", "figure-8", "figure-9"]
    shares = shown(quick).data["shares"]
    row = quick["tcp_pep-delays-p1e-3-r1"]
    own = shares.filter(pl.col("trial") == "tcp_pep-delays-p1e-3-r1", pl.col("file") == 4)
    assert own["part"].to_list() == row.files.used_by_flow[3].tolist()


@pytest.mark.parametrize("statement", OF_KERNEL, ids=lambda one: one.id)
def test_a_claim_on_the_kernel_can_hold_and_can_fail(
    found: Found, statement: Statement[Found]
) -> None:
    def verdict(rows: dict[str, Row]) -> str:
        return statement.judge(Found(rows), "live").verdict

    rows = dict(Evidence.of(Row, found.rows).rows)
    good = "in part" if statement.part else "holds"
    assert statement.spoil is not None
    if verdict(rows) != good:
        assert statement.mend is not None
        rows = dict(statement.mend(rows))
    assert verdict(rows) == good
    assert verdict(dict(statement.spoil(rows))) == "fails"


def test_what_needs_routers_from_end_to_end_is_not_asked_of_the_kernel(found: Found) -> None:
    claims = [one.judge(found, "live") for one in OF_KERNEL]
    assert [claim.id for claim in claims if claim.verdict == "not checked"] == []
    assert {claim.basis for claim in claims} == {"live"}


@pytest.mark.slow
def test_tcp_pep_has_the_start_and_files_the_spread_that_the_fit_finds() -> None:
    ctx = StudyContext(Path(), SimBackend(), quick=True)
    assert observe.TCP_PEP.best(ctx) == (PROXIED["tcp_pep"][0], STARTS_S)


def test_a_fit_without_an_error_has_the_published_times() -> None:
    exact = {"tcp_pep-p0-r1": 23.0, "tcp_pep-p0-r2": 25.0, "tcp_pep-p1e-2-r1": 24 / 0.65}
    assert observe.errors(exact) == pytest.approx(0)
    assert observe.errors({**exact, "tcp_pep-p1e-2-r1": 12 / 0.65}) == pytest.approx(0.25)
