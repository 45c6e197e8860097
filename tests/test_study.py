import json
import shutil
from pathlib import Path

import pytest
from support import experiment

from headway.backends import Recorded, backend_named
from headway.errors import HeadwayError
from headway.files import save_text
from headway.metrics import goodput_bps
from headway.study import Claim, Study, StudyContext, StudyResult, Table, discover, write_claims


class Small(Study):
    """Two trials and one claim."""

    name = "small"
    title = "Small"
    source = "nobody"

    def experiments(self, ctx):
        return {f"t{k}": experiment(seed=ctx.seed + k, start_spread="1 s") for k in range(2)}

    def analyse(self, ctx, traces):
        goodputs = {key: goodput_bps(trace, 0) for key, trace in traces.items()}
        claim = Claim("C-1", 1.0, goodputs["t0"], "bit/s", "none", "fails")
        save_text(ctx.out_dir / "report.html", str(goodputs))
        write_claims(ctx.out_dir / "claims.json", [claim])
        table = Table("goodput", ["trial", "bit/s"], list(goodputs.items()))
        return StudyResult([table], [claim], ctx.out_dir / "report.html")


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
