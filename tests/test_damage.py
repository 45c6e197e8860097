"""Damaged results are reported in one line, or run again, but never used."""

import dataclasses
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from quick import alone, quick
from support import trace

from headway.cli.app import execute
from headway.errors import HeadwayError
from headway.study import STUDY_FILE
from headway.trace import SCHEMA, load_trace, save_trace

STUDY = "first-megabyte"


def flip(path: Path, at: float) -> None:
    """Flip the bits of a byte at a part of the file."""
    data = bytearray(path.read_bytes())
    data[int(at * (len(data) - 1))] ^= 0xFF
    path.write_bytes(data)


def without_meta(trial: Path) -> None:
    state = json.loads((trial / "trace.json").read_text())
    (trial / "trace.json").write_text(json.dumps({**state, "meta": {}}))


def without_meta_and_sums(trial: Path) -> None:
    state = json.loads((trial / "trace.json").read_text())
    del state["crc32"]
    (trial / "trace.json").write_text(json.dumps({**state, "meta": {}}))


def of_an_experiment_that_cannot_be(trial: Path) -> None:
    state = json.loads((trial / "trace.json").read_text())
    del state["crc32"]
    state["meta"]["experiment"]["duration"] = "-1 s"
    (trial / "trace.json").write_text(json.dumps(state))


def without_a_flow(trial: Path) -> None:
    state = json.loads((trial / "trace.json").read_text())
    del state["crc32"]
    state["flows"].pop()
    (trial / "trace.json").write_text(json.dumps(state))


def with_another_number(trial: Path) -> None:
    text = (trial / "trace.json").read_text()
    assert '"seed": 1' in text
    (trial / "trace.json").write_text(text.replace('"seed": 1', '"seed": 2', 1))


def flipped(trial: Path) -> None:
    flip(trial / "flow_state.parquet", 0.5)


def truncated(trial: Path) -> None:
    data = (trial / "responses.parquet").read_bytes()
    (trial / "responses.parquet").write_bytes(data[: len(data) // 2])


def of_another_schema(trial: Path) -> None:
    state = json.loads((trial / "trace.json").read_text())
    del state["crc32"]
    (trial / "trace.json").write_text(json.dumps(state))
    pl.DataFrame({"x": [1]}).write_parquet(trial / "queue.parquet")


def half_written(trial: Path) -> None:
    text = (trial / "trace.json").read_text()
    (trial / "trace.json").write_text(text[:-20])


DAMAGES: list[Callable[[Path], None]] = [
    without_meta,
    without_meta_and_sums,
    of_an_experiment_that_cannot_be,
    without_a_flow,
    with_another_number,
    flipped,
    truncated,
    of_another_schema,
    half_written,
]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    ran = quick(STUDY)
    with alone(STUDY):
        return Path(shutil.copytree(ran.ctx.out_dir, tmp_path / "results"))


@pytest.mark.parametrize("damage", DAMAGES)
def test_report_and_export_name_a_damaged_trial(
    damage: Callable[[Path], None], results: Path, capsys
) -> None:
    trial = results / "trials" / "hystart"
    damage(trial)
    exported = ["export", str(results), "--trial", "hystart", "--flent", str(results / "x")]
    for arguments in (["report", str(results)], exported):
        assert execute(arguments) == 2
        printed = capsys.readouterr()
        assert printed.err.startswith(f"headway: {trial}: unreadable or truncated trace (")
        assert printed.err.count("\n") == 1
        assert ("--resume" in printed.err) == (arguments[0] == "report")
    assert not (results / "x").exists()


def test_resume_runs_damaged_trials_again_and_says_so(results: Path, capsys) -> None:
    trials = sorted((results / "trials").iterdir())
    for damage, trial in zip(DAMAGES, trials, strict=False):
        damage(trial)
    ages = {trial: (trial / "trace.json").stat().st_mtime_ns for trial in trials}
    run = ["run", STUDY, "--quick", "--resume", "--out", str(results)]
    assert execute(run) == 0
    said = capsys.readouterr().err
    assert f"{len(DAMAGES)} of {len(trials)} trials in" in said
    assert "are damaged, and are run again: " in said
    assert said.count("\n") == 1
    again = [trial for trial in trials if (trial / "trace.json").stat().st_mtime_ns != ages[trial]]
    assert set(again) == set(trials[: len(DAMAGES)])
    whole = quick(STUDY)
    for trial in again:
        assert (
            load_trace(trial)
            .tables["responses"]
            .equals(load_trace(whole.ctx.trials_dir / trial.name).tables["responses"])
        )
    assert execute(run) == 0
    assert capsys.readouterr().err == ""


def test_keys_that_are_numbers_do_no_harm(tmp_path: Path) -> None:
    made = trace()
    meta = {**made.meta, "kernel": {10: "a", 9: ("b", 0.1)}}
    loaded = load_trace(save_trace(dataclasses.replace(made, meta=meta), tmp_path / "t"))
    assert loaded.meta["kernel"] == {"10": "a", "9": ["b", 0.1]}


def test_every_file_of_a_trace_is_checked(tmp_path: Path) -> None:
    save_trace(trace(capture=b"packets" * 100), tmp_path / "t")
    load_trace(tmp_path / "t")
    files = sorted(path.name for path in (tmp_path / "t").iterdir())
    assert files == sorted(["capture.pcapng", "trace.json", *(f"{n}.parquet" for n in SCHEMA)])
    for name in files:
        for at in (0.0, 0.3, 0.7, 1.0):
            flip(tmp_path / "t" / name, at)
            with pytest.raises(HeadwayError) as failed:
                load_trace(tmp_path / "t")
            assert "\n" not in str(failed.value)
            flip(tmp_path / "t" / name, at)
    load_trace(tmp_path / "t")


@pytest.mark.slow
def test_a_trace_without_checksums_never_ends_in_more_than_a_line(tmp_path: Path, capfd) -> None:
    """Polars panics on some damaged files; a panic is no Exception in Python."""
    rows = [(1, k * 20_000_000, 25_000_000) for k in range(500)]
    folder = save_trace(trace({"udp": rows}), tmp_path / "t")
    state = json.loads((folder / "trace.json").read_text())
    del state["crc32"]
    (folder / "trace.json").write_text(json.dumps(state))
    whole = (folder / "udp.parquet").read_bytes()
    drawn = random.Random("damage")
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(drawn.choice((1, 1, 8))):
            data[drawn.randrange(len(data))] = drawn.randrange(256)
        (folder / "udp.parquet").write_bytes(data)
        try:
            load_trace(folder)
        except HeadwayError:
            refused += 1
    assert refused > 50
    capfd.readouterr()  # the messages of the panics


@pytest.mark.parametrize(
    "text",
    ["[]", "7", "{}", "[" * 100_000, '{"study": "first-megabyte"}',
     '{"study": "first-megabyte", "backend": "sim", "seed": "1", "quick": true}',
     '{"study": "first-megabyte", "backend": "sim", "seed": 1, "quick": []}',
     '{"study": ["first-megabyte"], "backend": "sim", "seed": 1, "quick": true}'],
)  # fmt: skip
def test_a_damaged_description_of_a_study_is_one_line(tmp_path: Path, capsys, text: str) -> None:
    (tmp_path / STUDY_FILE).write_text(text)
    assert execute(["report", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
