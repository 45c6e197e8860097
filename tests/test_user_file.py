"""Users' own files, by path: the tutorial's control and router, and invalid files."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from shown import steps
from support import ROOT, headway

from headway.backends import backend_named
from headway.cli.app import execute
from headway.experiment import Experiment
from headway.sweep import run_trials
from headway.trace import load_trace

FILES = {
    step.path: step.text
    for step in steps(ROOT / "docs" / "tutorial.md")
    if step.form == "file" and step.path.startswith("my_")
}
LINK = ["--rate", "10Mbit/s", "--rtt", "50 ms", "--buffer", "2 BDP", "--duration", "5s"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tutorial's files, where commands run."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Any:
    """Run a headway command that must succeed; returns the JSON that it prints."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        status = execute([*arguments, "--json"])
    assert status == 0, error.getvalue()
    return json.loads(out.getvalue())


def refused(*arguments: str) -> str:
    """Run a headway command that must end with status 2; returns its only error line."""
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
        assert execute(arguments) == 2
    return one_line(error.getvalue())


def refused_anew(*arguments: str) -> str:
    """Run a command that must fail in a new process, which has no C file loaded yet; returns the
    error line."""
    done = headway(*arguments)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    return one_line(done.stderr)


def one_line(said: str) -> str:
    assert "Traceback" not in said
    [line] = said.splitlines()
    return line.removeprefix("headway: ")


def test_the_tutorials_files_have_sixty_lines() -> None:
    assert set(FILES) == {"my_control.c", "my_router.c"}
    assert all(text.count("\n") <= 62 for text in FILES.values())


def test_the_tutorials_control_keeps_its_queue_short_and_its_link_busy(folder: Path) -> None:
    mine = run("try", "--flows", "1x./my_control.c", *LINK, "--warmup", "1s")
    cubic = run("try", "--flows", "1xcubic", *LINK, "--warmup", "1s")
    queue = [each["links"][0]["queue_bytes"]["mean"] for each in (mine, cubic)]
    assert queue[0] < queue[1] / 2
    assert mine["links"][0]["utilization"] > 0.95
    assert [flow["name"] for flow in mine["flows"]] == ["my_control-0"]


def test_the_tutorials_router_marks_and_counts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flows = ["--flows", "2x./my_control.c+hystart:ecn=on:target_ms=1000"]
    found = run("try", "--router", "./my_router.c:threshold_bytes=20000", *flows, *LINK)
    counted = found["links"][0]["routers"]["my_router"]
    assert counted["packets"] > 1000
    assert 0 < counted["marked"] < counted["packets"] / 10
    assert execute(["try", "--router", "./my_router.c", *flows, *LINK]) == 0
    assert "my_router: packets" in capsys.readouterr().out


def test_a_file_is_described_as_what_is_built_in(folder: Path) -> None:
    told = run("describe", "./my_control.c")
    assert (told["kind"], told["name"], told["startup"]) == ("control", "my_control", "slow-start")
    assert [one["name"] for one in told["tunables"]] == ["target_ms"]
    assert told["file"].startswith("./my_control.c@")
    told = run("describe", "my_router.c")
    assert told["kind"] == "router"
    assert [one["name"] for one in told["counters"]] == ["packets", "marked", "longest_bytes"]
    assert "file" not in run("describe", "reno")


@pytest.mark.slow
def test_a_record_holds_the_content_and_is_read_without_the_file(folder: Path) -> None:
    flows = ["--flows", "1x./my_control.c", "--router", "./my_router.c", *LINK]
    run("try", *flows, "--save", "mine.json", "--out", "mine")
    saved = json.loads(Path("mine.json").read_text())
    name = saved["flows"][0]["control"]["name"]
    assert name.startswith("./my_control.c@")
    assert len(name) == len("./my_control.c@") + 16
    run("try", "mine.json", "--out", "again")
    tables = [path.name for path in Path("mine/trials/seed1").iterdir()]
    assert "flow_state.parquet" in tables
    for table in tables:
        one, other = (Path(at, "trials", "seed1", table).read_bytes() for at in ("mine", "again"))
        assert one == other, table
    Path("my_router.c").unlink()
    source = Path("my_control.c").read_text()
    Path("my_control.c").write_text(source.replace("cwnd_pkts / 2", "cwnd_pkts / 3"))
    line = refused_anew("try", "mine.json")
    assert line.endswith("my_router.c: cannot read: No such file or directory (os error 2)")
    Path("my_router.c").write_text(FILES["my_router.c"])
    line = refused_anew("try", "mine.json")
    assert (
        f"./my_control.c has changed since it was recorded: content hash @{name[-16:]}, now @"
        in line
    )
    trace = load_trace("mine/trials/seed1")
    assert trace.flows[0].control == "my_control"
    assert trace.routers[-1].name == "my_router"
    assert (trace.routers[-1].file or "").startswith("./my_router.c@")
    assert str(trace.experiment.flows[0].control) == name


def test_a_sweep_goes_on_until_the_file_changes(folder: Path) -> None:
    def experiments() -> dict[str, Experiment]:
        path = {"kind": "dumbbell", "rate": "5Mbit/s", "rtt": "20 ms", "buffer": "1 BDP"}
        fields = {"topology": path, "flows": "1x./my_control.c,1xreno", "duration": "2 s"}
        seeds = range(1, 5)
        return {f"s{n}": Experiment.model_validate({**fields, "seed": n}) for n in seeds}

    one = run_trials(experiments(), folder / "sweep", threads=4)
    # runs in one thread, and runs of saved experiments, give the same traces
    alone = run_trials(experiments(), folder / "alone", threads=1)
    for key, trace in one.items():
        assert trace.meta["key"] == alone[key].meta["key"]
        for name, table in trace.tables.items():
            assert table.equals(alone[key].tables[name])
    said: list[str] = []
    again = run_trials(experiments(), folder / "sweep", notice=said.append, resume=True)
    assert said == []
    keys = [trace.meta["key"] for trace in again.values()]
    Path("my_control.c").write_text(FILES["my_control.c"].replace("/ 2, 2", "/ 3, 2"))
    changed = experiments()
    backend = backend_named("sim")
    assert not set(keys) & {backend.key(each) for each in changed.values()}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("2);\n}\n\nHW", "2)\n}\n\nHW", "./my_control.c:{line}: expected ';' before"),
        ('"port/cc.h"', "<math.h>", "./my_control.c:3: includes <math.h>; allowed: headers"),
        (".ssthresh = my", ".undo_cwnd = my", "./my_control.c:{line}: "),
        ("\t.ssthresh = my_ssthresh,\n", "", "has no .ssthresh, which every control needs"),
        ('20, 1, 1000 }', '0, 1, 1000 }', "has the tunable target_ms = 0, which is not from 1 to"),
        ("u64 again", "u64 more[20], again", "has .state_bytes 176; at most 104"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_with_its_line(
    folder: Path, old: str, new: str, says: str
) -> None:
    text = FILES["my_control.c"]
    assert old in text
    Path("my_control.c").write_text(text.replace(old, new))
    line = text[: text.index(old)].count("\n") + 1
    told = refused("try", "--flows", "1x./my_control.c")
    assert says.format(line=line) in told


def test_names_and_options_are_refused_as_usual(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = refused("try", "--flows", "1x./my_control.c:target_ms=0")
    assert "tunable target_ms=0 out of range; allowed: 1 to 1000 ms" in told
    told = refused("try", "--flows", "1x./my_control.c:target=5")
    assert "unknown option of my_control 'target'; nearest: target_ms" in told
    told = refused("try", "--flows", "1x./nowhere.c")
    assert "./nowhere.c: cannot read: No such file or directory" in told
    told = refused("try", "--router", "./my_control.c")
    assert "is a control, but a router is expected" in told
    told = refused("try", "--aqm", "./my_router.c")
    assert "unknown queue discipline './my_router.c'" in told
    monkeypatch.setenv("CC", "no-such-compiler")
    (folder / "other.c").write_text(FILES["my_control.c"].replace("my_control", "other"))
    told = refused("try", "--flows", "1x./other.c")
    assert "./other.c: cannot run no-such-compiler: No such file or directory" in told
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", str(folder))
    told = refused("try", "--flows", "1x./other.c")
    assert "no C compiler among cc, gcc, clang; install one" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "signal"),
    [
        ("c->cwnd_pkts / (c->mss_bytes - 1448)", "SIGFPE"),
        ("*(volatile u32 *)(unsigned long)c->cwnd_cnt", "SIGSEGV"),
    ],
)
def test_a_crash_ends_in_a_line_that_names_its_line(folder: Path, code: str, signal: str) -> None:
    text = FILES["my_control.c"]
    old = "hw_max_u32(c->cwnd_pkts / 2, 2)"
    Path("my_control.c").write_text(text.replace(old, code))
    line = text[: text.index(old)].count("\n") + 1
    told = refused_anew("try", "--flows", "1x./my_control.c", "--loss", "0.05", "--trials", "4")
    assert told.startswith(f"./my_control.c:{line}: my_ssthresh ends in {signal}"), told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "(void)state;\n\t(void)tun;\n\thw_additive",
            "while (*(volatile u32 *)&c->cwnd_pkts) {}\n\thw_additive",
            "my_cong_avoid has not returned for 1 s: an endless loop?",
        ),
        (
            "return c->srtt_us >",
            "return *(volatile u32 *)&c->mss_bytes + waiting_us(c) > 9 ? 0 : c->srtt_us >",
            "waiting_us ends in SIGSEGV: invalid memory access",
        ),
    ],
    ids=["loop", "recursion"],
)
def test_an_endless_call_ends_in_a_line_that_names_its_function(
    folder: Path, old: str, new: str, says: str
) -> None:
    text = FILES["my_control.c"]
    assert old in text
    Path("my_control.c").write_text(text.replace(old, new))
    told = refused_anew("try", "--flows", "1x./my_control.c")
    line = text[: text.index(old)].count("\n") + 1
    at, does = told.split(": ", 1)
    assert does == says, told
    assert abs(int(at.removeprefix("./my_control.c:")) - line) <= 1, told


def test_a_protocol_of_three_files_runs_from_its_folder(folder: Path) -> None:
    at = ROOT / "tests" / "protocol"
    router = f"{at}/router/explicit_rate.c:rate_kbps=3000"
    found = run("try", "--flows", f"1x{at}/cc/explicit.c", "--router", router, *LINK)
    assert found["flows"][0]["goodput_bps"] < 3.1e6
    assert found["links"][0]["routers"]["explicit-rate"]["lowered"] > 100
