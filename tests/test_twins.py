"""A study's tables from the kernel and from the simulator: what is compared, and when the tables
agree.
"""

from dataclasses import replace

import pytest

from headway.backends import backend_named
from headway.backends.sim import SimBackend
from headway.metrics import goodput_bps
from headway.publish import Page
from headway.study import Agreement, Study, StudyContext
from headway.table import Table
from headway.validation.twins import FOLDER, compare_tables, compare_with_simulator, judge

KERNEL = Table(
    "delay in ms",
    ["control", "", "paper", "ours", "where"],
    [["reno", "median", 90.0, 100.0, "a"], ["reno", "mean", 91.0, 300.0, "b"]],
)
SIM = replace(KERNEL, rows=[["reno", "median", 90.0, 88.0, "c"], ["reno", "mean", 91.0, None, "c"]])
MEDIANS = Agreement("a-1", "Medians agree.", table="delay", row="median", most=15.0, unit="ms")


def test_what_depends_on_the_backend_is_shown_beside() -> None:
    [table] = compare_tables([KERNEL], [SIM])
    assert list(table.columns) == ["control", "", "ours\nkernel", "sim.", "diff."]
    assert table.rows[0] == ["reno", "median", 100.0, 88.0, "+12 (+14%)"]
    assert table.rows[1] == ["reno", "mean", 300.0, None, None]


def test_a_table_of_published_numbers_alone_is_left_out() -> None:
    assert compare_tables([KERNEL], [KERNEL]) == []
    assert compare_tables([KERNEL], [replace(SIM, title="another")]) == []


@pytest.mark.parametrize(("most", "verdict"), [(12.0, "holds"), (11.9, "fails")])
def test_an_agreement_is_judged_by_its_largest_difference(most: float, verdict: str) -> None:
    claim = judge(replace(MEDIANS, most=most), [KERNEL], [SIM])
    assert (claim.verdict, claim.measured) == (verdict, 12.0)


@pytest.mark.parametrize(("relative", "verdict"), [(0.14, "holds"), (0.13, "fails")])
def test_a_large_number_may_differ_by_a_part_of_it(relative: float, verdict: str) -> None:
    claim = judge(replace(MEDIANS, most=5.0, relative=relative), [KERNEL], [SIM])  # 12 of 88
    assert (claim.verdict, claim.measured) == (verdict, 12.0)


def test_an_agreement_may_be_about_some_columns() -> None:
    both = [replace(table, columns=["", "", "paper", "ours", ""]) for table in (KERNEL, SIM)]
    only = judge(replace(MEDIANS, columns=("paper",)), *([table] for table in both))
    assert (only.verdict, only.measured) == ("holds", 0.0)
    assert judge(replace(MEDIANS, columns=("mine",)), *([t] for t in both)).verdict == "not checked"


def test_a_number_on_one_side_only_is_no_agreement() -> None:
    rows = [["reno", "median", 100.0, None, "a"], ["reno", "mean", 91.0, 300.0, "b"]]
    claim = judge(MEDIANS, [replace(KERNEL, rows=rows)], [replace(SIM, columns=KERNEL.columns)])
    assert claim.verdict == "fails"
    assert "one side" in claim.note


def test_an_agreement_about_nothing_that_was_measured_is_not_checked() -> None:
    assert judge(replace(MEDIANS, row="maximum"), [KERNEL], [SIM]).verdict == "not checked"


class Other(SimBackend):
    """Replaces the kernel: the simulator with a different stack, which adds warnings."""

    name = "kernel"

    def run_each(self, experiments, work, finished, threads=0):
        def doubted(index, trace):
            trace.meta["notes"] = [f"{index + 7} packets were late"]
            return work(index, trace)

        super().run_each(experiments, doubted, finished, threads)


class Small(Study):
    name, title, source = "small", "Small", "nobody"
    agreements = (Agreement("s-1", "Goodputs agree.", "goodput", "t0", 1.0, "bit/s"),)

    def experiments(self, ctx):
        from support import experiment

        return {"t0": experiment(seed=ctx.seed, start_spread="1 s", stack="linux-2.6")}

    def observe(self, key, trace):
        return goodput_bps(trace, 0)

    def page(self, ctx, found):
        return Page(tables=[Table("goodput", ["trial", "bit/s"], list(found.items()))])


def test_the_twin_is_run_with_the_kernels_stack_and_saved(tmp_path) -> None:
    ctx = StudyContext(out_dir=tmp_path, backend=Other(), seed=3)
    beside = compare_with_simulator(Small(), ctx, Small().run(ctx), resume=False)
    twin = StudyContext(out_dir=tmp_path / FOLDER, backend=backend_named("sim"))
    [trial] = twin.trials_dir.iterdir()
    from headway.trace import load_trace

    assert load_trace(trial).experiment.stack == "linux-6"
    [row] = beside.tables[0].rows
    assert row[1] != row[2]
    [claim] = beside.claims
    assert claim.verdict == "fails"
    assert beside.notes == {"# packets were late": 1}
    page = beside.report.read_text()
    assert "Trials: 1." in page
    assert "60000 B, drop-tail" in page
    assert (tmp_path / "beside-simulator.json").exists()
