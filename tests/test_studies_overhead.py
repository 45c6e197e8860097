"""The study overhead: its verdicts from measurements that are made up, kept and resumed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support import headway
from test_studies_thesis import claims_by_study

from headway.backends import Recorded
from headway.errors import HeadwayError, InterruptedRunError
from headway.studies.common import measured
from headway.studies.overhead import STUDY
from headway.study import StudyContext

PARTS = (0, 500_000, 900_000, 990_000, 999_000, 1_000_000)


def outcome(command: Sequence[str], *, more_ns: float = 20.0) -> dict[str, Any]:
    """What `headwayctl router bench` prints: the program takes ``more_ns`` of 2 us, and 300 more
    of every packet with a request."""
    share = int(command[command.index("--requests") + 1])
    sides = {"without": 2000.0, "with": 2000.0 + more_ns + 3.0 * share}
    one = {
        side: {"packets": 1000, "rate_pps": 1e9 / ns, "clock_pps": 4e5, "cpu_ns": ns}
        for side, ns in sides.items()
    }
    delays = [
        {
            "packets": 1000,
            "lost": 0,
            "mean_us": ns / 1e3,
            "quantiles_us": [[part, ns / 1e3 * (1 + part / 1e6)] for part in PARTS],
        }
        for ns in sides.values()
    ]
    return {
        "rounds": [one, one, one],
        "sending_cpu_ns": 1000.0,
        "program_ns": more_ns + 3.0 * share,
        "delays": delays,
    }


class Fake:
    """Stands for headwayctl: counts its calls, and is interrupted in one of them."""

    calls = 0
    digest = "0123"
    interrupted_in: int | None = None

    def json(self, *command: str, timeout_s: float) -> dict[str, Any]:
        assert command[-1] == "--json"
        assert timeout_s > 60
        Fake.calls += 1
        if Fake.calls == Fake.interrupted_in:
            raise KeyboardInterrupt
        return outcome(command)


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyContext:
    monkeypatch.setattr(measured, "Headwayctl", Fake)
    monkeypatch.setattr(Fake, "calls", 0)
    return StudyContext(tmp_path, Recorded("kernel"), quick=True)


def test_every_claim_gets_a_verdict_or_a_reason(ctx: StudyContext) -> None:
    result = STUDY.run(ctx)
    assert {claim.id for claim in result.claims} == claims_by_study()["overhead"]
    assert all(claim.note for claim in result.claims if claim.verdict == "not checked")
    verdicts = {claim.id: claim.verdict for claim in result.claims}
    # 2 % more effort of 1000 ns by metering, 17 % with half of the packets requests
    assert verdicts["C-QSL-027"] == verdicts["C-QSL-031"] == verdicts["C-TH-225"] == "holds"
    assert verdicts["C-TH-235"] == "fails"  # twice to four times
    saved = json.loads((ctx.out_dir / "claims.json").read_text())
    assert len(saved) == 48
    before = [path.read_bytes() for path in (result.report, *result.artefacts) if path]
    again = STUDY.rebuild(ctx)
    assert [path.read_bytes() for path in (again.report, *again.artefacts) if path] == before


def test_more_time_in_the_program_fails_the_claims_on_it(ctx: StudyContext) -> None:
    STUDY.run(ctx)
    for path in ctx.trials_dir.iterdir():
        record = json.loads(path.read_text())
        record["measured"] = outcome(record["command"], more_ns=300.0)
        path.write_text(json.dumps(record))
    verdicts = {claim.id: claim.verdict for claim in STUDY.rebuild(ctx).claims}
    for name in ("C-QSL-027", "C-QSL-028", "C-QSL-029", "C-QSL-030", "C-TH-223", "C-TH-238"):
        assert verdicts[name] == "fails", name


def test_an_interrupted_run_keeps_what_is_finished(
    ctx: StudyContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "interrupted_in", 3)
    with pytest.raises(InterruptedRunError, match="2 of 5"):
        STUDY.run(ctx)
    with pytest.raises(HeadwayError, match="3 of 5 measurements are missing"):
        STUDY.rebuild(ctx)
    ctx.resume = True
    STUDY.run(ctx)
    assert Fake.calls == 6  # the third began twice


def test_it_needs_the_kernel_and_says_so() -> None:
    done = headway("run", "overhead", "--backend", "sim")
    assert done.returncode == 2
    assert done.stderr == "headway: --backend sim: overhead needs backend kernel\n"
