import json
import shutil
import weakref
from dataclasses import replace
from pathlib import Path

import pytest
from support import experiment

from headway.backends import Recorded, backend_named
from headway.claims import Statement, between
from headway.errors import HeadwayError
from headway.metrics import goodput_bps
from headway.publish import Page
from headway.study import Study, StudyContext, discover
from headway.table import Table
from headway.trace import load_trace, save_trace


class Small(Study):
    """Two trials and one claim."""

    name = "small"
    title = "Small"
    source = "nobody"

    def experiments(self, ctx):
        return {f"t{k}": experiment(seed=ctx.seed + k, start_spread="1 s") for k in range(2)}

    statements = (
        Statement("C-1", "goodput", 1.0, lambda found: between(found["t0"], 0, 1, unit="bit/s")),
    )

    def observe(self, key, trace):
        return goodput_bps(trace, 0)

    def page(self, ctx, found):
        return Page(tables=[Table("goodput", ["trial", "bit/s"], list(found.items()))])


@pytest.fixture
def ctx(tmp_path: Path) -> StudyContext:
    return StudyContext(out_dir=tmp_path, backend=backend_named("sim"), seed=3)


def test_a_study_saves_its_trials_and_rebuilds_the_same_report(ctx: StudyContext) -> None:
    result = Small().run(ctx)
    assert sorted(path.name for path in ctx.trials_dir.iterdir()) == ["t0", "t1"]
    first = result.report.read_bytes()
    result.report.unlink()
    assert Small().rebuild(ctx).tables == result.tables
    assert result.report.read_bytes() == first
    saved = json.loads((ctx.out_dir / "study.json").read_text())
    assert (saved["study"], saved["seed"], saved["backend"]) == ("small", 3, "sim")


def test_claims_are_a_list_with_the_agreed_keys(ctx: StudyContext) -> None:
    Small().run(ctx)
    (claim,) = json.loads((ctx.out_dir / "claims.json").read_text())
    assert {"id", "published", "measured", "unit", "tolerance", "verdict"} <= set(claim)


def test_rebuilding_without_a_trial_says_which(ctx: StudyContext) -> None:
    with pytest.raises(HeadwayError, match=r"2 of 2 trials are missing \(first: t0\)"):
        Small().rebuild(ctx)


def test_rebuilding_refuses_the_trials_of_another_run(ctx: StudyContext) -> None:
    Small().run(ctx)
    ctx.seed = 9
    with pytest.raises(HeadwayError, match="t0: trial of another run"):
        Small().rebuild(ctx)


def test_resuming_keeps_what_was_finished(ctx: StudyContext) -> None:
    Small().run(ctx)
    kept = (ctx.trials_dir / "t0" / "trace.json").stat().st_mtime_ns
    shutil.rmtree(ctx.trials_dir / "t1")
    ctx.resume = True
    Small().run(ctx)
    assert (ctx.trials_dir / "t0" / "trace.json").stat().st_mtime_ns == kept
    assert (ctx.trials_dir / "t1").is_dir()


def test_a_trial_of_another_engine_is_run_again_and_said_so(ctx: StudyContext) -> None:
    Small().run(ctx)
    old = load_trace(ctx.trials_dir / "t0")
    made_by = {**old.meta["versions"], "engine": "0.1.0 (0123456789abcdef)"}
    save_trace(
        replace(old, meta={**old.meta, "key": "another", "versions": made_by}),
        ctx.trials_dir / "t0",
    )
    said: list[str] = []
    ctx.resume, ctx.notice = True, said.append
    # the rebuild makes a report, and a notice tells that another engine made one of the trials
    Small().rebuild(ctx)
    assert said == [
        "1 of 2 trials were made by another build of the engine; the report shows them as they are"
    ]
    Small().run(ctx)
    assert said[1:] == [
        f"1 of 2 trials in {ctx.trials_dir} were made by another build of Headway or on another "
        "kernel, and are run again"
    ]
    again = load_trace(ctx.trials_dir / "t0")
    assert again.meta["key"] == ctx.backend.key(again.experiment)
    assert again.meta["versions"] != made_by


def test_observing_lets_go_of_every_trace(ctx: StudyContext) -> None:
    seen: list[weakref.ref[object]] = []
    most = 0

    def observe(key, trace):
        nonlocal most
        seen.append(weakref.ref(trace))
        most = max(most, sum(one() is not None for one in seen))
        return key

    many = {f"t{k}": experiment(seed=k, start_spread="1 s") for k in range(12)}
    ctx.keeps_traces, ctx.threads = False, 2
    assert list(ctx.run_trials(many, observe).rows.values()) == list(many)
    assert most <= 4  # two runs may be active while two finished results wait
    assert not ctx.trials_dir.exists()


@pytest.mark.slow
def test_studies_are_found_by_listing_the_folder(ctx: StudyContext) -> None:
    studies = discover()
    assert "collateral-damage" in studies
    for name, study in studies.items():
        assert study.name == name
        assert study.title
        assert study.source
        for key, one in study.experiments(ctx).items():
            assert "/" not in key
            assert one.duration > one.warmup


def test_a_report_is_rebuilt_without_the_backend_it_ran_on(ctx: StudyContext) -> None:
    Small().run(ctx)
    ctx.backend = Recorded("kernel")
    Small().rebuild(ctx)
    with pytest.raises(HeadwayError, match="backend kernel: only recorded traces"):
        Small().run(ctx)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 4},
        {"quick": True},
        {"vectors": Path("/x")},
        {"backend": Recorded("kernel")},
    ],
)
def test_results_of_other_settings_are_not_overwritten(ctx: StudyContext, change: dict) -> None:
    Small().refuse_to_overwrite(ctx)  # nothing exists
    Small().describe(ctx)
    Small().refuse_to_overwrite(ctx)  # the same again
    with pytest.raises(HeadwayError, match="--force") as refused:
        Small().refuse_to_overwrite(replace(ctx, **change))
    assert "`headway run small --backend sim --seed 3`" in str(refused.value)


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, "\xff"])
def test_results_that_cannot_be_read_are_not_overwritten(ctx: StudyContext, text: str) -> None:
    (ctx.out_dir / "study.json").write_text(text, encoding="latin-1")
    with pytest.raises(HeadwayError, match="that cannot be read"):
        Small().refuse_to_overwrite(ctx)
