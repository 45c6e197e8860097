"""The command line, for people and for scripts."""

import json
import os
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support import HANGS_S, HEADWAY, headway

from headway.claims import Claim, Verdict, write_claims
from headway.cli.app import execute
from headway.study import Study
from headway.trace import load_trace
from headway.verdicts import Difference

LONG = ["--rate", "50Mbit/s", "--duration", "60 s"]
SHORT = ["--duration", "3 s", "--warmup", "1 s"]


def run(capfd, *arguments: str) -> tuple[int, str, str]:
    """Run a command in this process, which is faster than a new one; returns status, stdout,
    stderr.
    """
    status = execute(arguments)
    printed = capfd.readouterr()
    return status, printed.out, printed.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("try --flows 1xcubik", "flows: 1xcubik: unknown control 'cubik'; nearest: cubic"),
        ("try --flows 1xcubic+slow-stat", "unknown startup 'slow-stat'; nearest: slow-start"),
        ("try --flows 1xhtcp:adaptive_backoff=2", "out of range; allowed: on or off"),
        ("try --flows 1xhtcp:adaptiv_backoff=off", "nearest: adaptive_backoff"),
        ("try --flows 0xcubic", "flows: '0xcubic': write for example 2xcubic"),
        ("try --rate=-1Mbit/s", "rate: '-1Mbit/s' must be more than 0"),
        ("try --rate -1Mbit/s", "rate: '-1Mbit/s' must be more than 0"),
        ("try --rate 1000000", "rate: '1000000' has no unit; allowed: bit/s"),
        ("try --rtt 50", "rtt: '50' has no unit; allowed: ns, us, ms, s"),
        ("try --buffer 60000", "buffer: '60000' has no unit; allowed: B, kB"),
        ("try --buffer 0B", "buffer: '0B' must be more than 0"),
        ("try --buffer 0BDP", "buffer: '0BDP' must be more than 0"),
        ("try --loss 2", "loss: '2' must be at least 0"),
        ("try --duration 0s", "duration: '0s' must be more than 0"),
        ("validate --duration 30", "duration: '30' has no unit; allowed: ns, us, ms, s"),
        (
            "validate --duration 5500ms",
            "5500ms is not allowed; must be whole seconds, at least 5 s",
        ),
        ("validate --duration 4s", "4s is not allowed"),
        ("try --warmup 30s", "warmup: 30 s is not allowed; must be less than duration, 30 s"),
        ("try --stack linux-7", "unknown stack 'linux-7'; nearest: linux-6"),
        ("try --backend kernal", "backend: unknown 'kernal'; allowed: sim"),
        ("try --trials 0", "--trials"),
        ("try --trials many", "--trials"),
        ("try --seed -3", "--seed"),
        ("try --plot picture.gif", "name a file that ends in .svg, .pdf, .png"),
        ("try --pcap /dev/null/x.pcapng --duration 1s", "cannot save"),
        ("try --out /dev/null/x --duration 1s", "cannot save"),
        ("try --no-such-option", "No such option: --no-such-option"),
        ("describe cubik", "unknown name 'cubik'; nearest: cubic"),
        ("run no-such-study", "unknown study 'no-such-study'"),
        ("run collateral-damage --out /dev/null/x", "cannot make the folder"),
        ("run collateral-damage --backend kernal", "allowed: sim"),
        ("report /no/such/folder", "study.json is missing"),
        ("export /no/such/folder --flent x", "not a trace (the folder is missing)"),
        ("export /tmp", "--flent"),
        ("no-such-command", "No such command"),
    ],
)
def test_bad_input_is_one_line_and_status_2(capfd, arguments: str, said: str) -> None:
    status, out, err = run(capfd, *arguments.split(" "))
    assert status == 2
    assert said in err
    assert err.startswith("headway: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert out == ""


def test_errors_are_the_same_in_a_process_of_its_own() -> None:
    done = headway("try", "--flows", "1xcubik")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "nearest: cubic" in done.stderr


def test_no_command_shows_help_and_version_is_one_line(capfd) -> None:
    status, out, _ = run(capfd)
    assert status == 0
    for command in ("list", "describe", "run", "try", "report", "export"):
        assert f"  {command} " in out
    assert run(capfd, "--version")[1].startswith("headway ")


def test_list_shows_every_kind_and_its_json_the_same(capfd) -> None:
    listed = json.loads(run(capfd, "list", "--json")[1])
    assert set(listed) == {
        "studies",
        "controls",
        "startups",
        "queues",
        "routers",
        "stacks",
        "backends",
    }
    assert {"reno", "cubic", "htcp"} <= {control["name"] for control in listed["controls"]}
    assert "collateral-damage" in {study["name"] for study in listed["studies"]}
    status, out, _ = run(capfd, "list")
    assert status == 0
    for group in ("studies", "controls", "startups", "queues", "routers", "stacks"):
        for item in listed[group]:
            assert item["name"] in out
            assert item["title"].split()[0] in out
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.slow
def test_everything_listed_can_be_described(capfd) -> None:
    listed = json.loads(run(capfd, "list", "--json")[1])
    for group in ("studies", "controls", "startups", "queues", "routers", "stacks"):
        for item in listed[group]:
            status, out, err = run(capfd, "describe", item["name"])
            assert (status, err) == (0, "")
            assert max(map(len, out.splitlines())) <= 100
            described = json.loads(run(capfd, "describe", item["name"], "--json")[1])
            alike = described if isinstance(described, list) else [described]
            assert item["name"] in {one["name"] for one in alike}


def test_describe_shows_tunables_with_default_range_and_meaning(capfd) -> None:
    described = json.loads(run(capfd, "describe", "htcp", "--json")[1])
    assert described["kind"] == "control"
    assert described["source"]
    out = run(capfd, "describe", "htcp")[1]
    for tunable in described["tunables"]:
        assert tunable["min"] <= tunable["default"] <= tunable["max"]
        assert tunable["name"] in out


DISTRIBUTION = {"median", "mean", "sd", "p95", "p99", "min", "max"}


def test_the_json_of_try_keeps_its_contract(capfd) -> None:
    status, out, err = run(
        capfd, "try", "--voip", "--flows", "1xcubic,1xreno+slow-start", *SHORT, "--json"
    )
    assert (status, err) == (0, "")
    result = json.loads(out)
    assert {"flows", "link", "voip"} <= set(result)
    assert [flow["cc"] for flow in result["flows"]] == ["cubic", "reno"]
    for flow in result["flows"]:
        assert {"cc", "goodput_bps", "retransmits_pkts", "rtos", "srtt_us"} <= set(flow)
        assert isinstance(flow["retransmits_pkts"], int)
    assert {"utilization", "drops_pkts", "queue_full_events", "queue_bytes"} <= set(result["link"])
    assert set(result["link"]["queue_bytes"]) == DISTRIBUTION
    assert set(result["voip"]["owd_us"]) == DISTRIBUTION
    assert isinstance(result["voip"]["lost_pkts"], int)
    assert 0 < sum(flow["goodput_bps"] for flow in result["flows"]) <= 1_000_000
    assert 0 < result["link"]["utilization"] <= 1


def test_without_a_call_voip_is_null(capfd) -> None:
    assert json.loads(run(capfd, "try", *SHORT, "--json")[1])["voip"] is None


def test_several_trials_give_their_mean_and_each_of_them(capfd) -> None:
    out = run(capfd, "try", "--trials", "3", "--seed", "5", "--flows", "2xreno", *SHORT, "--json")[
        1
    ]
    result = json.loads(out)
    assert result["seeds"] == [5, 6, 7]
    goodputs = [trial["flows"][0]["goodput_bps"] for trial in result["trials"]]
    assert result["flows"][0]["goodput_bps"] == pytest.approx(sum(goodputs) / 3)
    assert result["flows"][0]["goodput_bps_ci95"] >= 0


def test_the_table_of_try_fits_100_columns(capfd) -> None:
    status, out, _ = run(
        capfd, "try", "--voip", "--trials", "2", "--flows", "2xcubic,2xhtcp", *SHORT
    )
    assert status == 0
    assert max(map(len, out.splitlines())) <= 100
    for shown in ("cubic-0", "htcp-3", "one-way delay", "utilization"):
        assert shown in out


@pytest.mark.slow
def test_try_writes_packets_pictures_and_traces(capfd, tmp_path: Path) -> None:
    pcap, plot, out = tmp_path / "a.pcapng", tmp_path / "a.png", tmp_path / "out"
    files = ["--pcap", str(pcap), "--plot", str(plot), "--out", str(out)]
    status, _, err = run(capfd, "try", "--voip", "--trials", "2", *SHORT, *files)
    assert (status, err) == (0, "")
    assert pcap.read_bytes()[:4] == bytes.fromhex("0a0d0d0a")  # pcapng's section header
    assert plot.read_bytes()[:4] == b"\x89PNG"
    assert sorted(path.name for path in (out / "trials").iterdir()) == ["seed1", "seed2"]
    assert load_trace(out / "trials" / "seed2").experiment.seed == 2

    exported = tmp_path / "a.flent.gz"
    status, _, err = run(capfd, "export", str(out), "--flent", str(exported))
    assert status == 2
    assert "choose one with --trial: seed1, seed2" in err
    status, shown, _ = run(
        capfd, "export", str(out), "--flent", str(exported), "--trial", "seed2", "--json"
    )
    assert status == 0
    assert json.loads(shown)["flent"] == str(exported)
    assert exported.read_bytes()[:2] == b"\x1f\x8b"


def test_a_truncated_trace_is_one_line(capfd, tmp_path: Path) -> None:
    run(capfd, "try", *SHORT, "--out", str(tmp_path))
    table = tmp_path / "trials" / "seed1" / "queue.parquet"
    table.write_bytes(table.read_bytes()[:-20])
    status, _, err = run(capfd, "export", str(tmp_path), "--flent", str(tmp_path / "x"))
    assert status == 2
    assert "unreadable or truncated trace" in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_full_disk_keeps_the_earlier_trials(tmp_path: Path) -> None:
    """Trials get longer, until the output of one exceeds the limit on a file's size."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    short = headway("try", *SHORT, "--out", str(tmp_path), preexec_fn=limit)
    assert short.returncode == 0, short.stderr
    # With a higher rate and ten thousand packets, the queue table exceeds the limit on file sizes.
    long = ["--seed", "2", "--rate", "20Mbit/s", "--duration", "30 s", "--buffer", "1BDP"]
    done = headway("try", *long, "--out", str(tmp_path), preexec_fn=limit)
    assert done.returncode == 2
    assert "disk full while saving" in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in (tmp_path / "trials").iterdir()] == ["seed1"]
    load_trace(tmp_path / "trials" / "seed1")


@pytest.mark.slow
def test_ctrl_c_keeps_the_finished_trials_and_says_so(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*HEADWAY, "try", "--trials", "500", "--threads", "1", *LONG, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    trials = tmp_path / "trials"
    deadline = time.monotonic() + HANGS_S
    while time.monotonic() < deadline and not list(trials.glob("seed*")):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANGS_S)
    assert process.returncode == 130
    kept = sorted(trials.glob("seed*"))
    assert f"interrupted: {len(kept)} of 500 trials finished, kept in {trials}" in err
    assert err.count("\n") == 1
    assert "cubic-0" in out  # finished trials are still shown
    assert not [path for path in trials.iterdir() if path.name.startswith(".")]
    for path in kept:
        load_trace(path)


@pytest.mark.slow
def test_ctrl_c_during_a_study_keeps_the_finished_trials(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*HEADWAY, "run", "collateral-damage", "--threads", "1", "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + HANGS_S
    while time.monotonic() < deadline and not list((tmp_path / "trials").glob("[!.]*")):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANGS_S)
    assert process.returncode == 130
    kept = list((tmp_path / "trials").glob("[!.]*"))
    assert f"interrupted: {len(kept)} of 90 trials finished, kept in" in err
    assert err.count("\n") == 1
    for path in kept:
        load_trace(path)


def _claims(folder: Path, *verdicts: tuple[str, Verdict]) -> str:
    folder.mkdir()
    made = [
        Claim(name, "it is", "setting" if name[0] == "S" else "simulated", "much", 1.5, "s", "sign",
              verdict, note="why")
        for name, verdict in verdicts
    ]  # fmt: skip
    write_claims(folder / "claims.json", made)
    return str(folder)


def test_claims_of_several_studies_are_counted(capfd, tmp_path: Path) -> None:
    one = _claims(tmp_path / "one", ("C-TH-001", "holds"), ("C-TH-002", "fails"))
    two = _claims(
        tmp_path / "two", ("B-1", "not checked"), ("C-MN-002", "holds"), ("S-1", "as stated")
    )
    status, out, _ = run(capfd, "claims", one, two)
    assert status == 0
    assert re.search(r"all +simulated +2 +0 +0 +1 +0 +0 +1\b", out)
    assert re.search(r"all +setting +0 +0 +0 +0 +1 +0 +0\b", out)
    assert (
        "\n C-TH-002  it is\n           fails (simulated)\n           published: much\n"
        "           measured: 1.5 s\n           tolerance: sign\n           why\n"
    ) in out
    assert out.endswith("2 of 3 statements of the papers hold, at least in part: 66.7 %\n")

    wanted = tmp_path / "wanted.txt"
    wanted.write_text("# some\nC-TH-001\nB-1  # not all\n\nC-9\n")
    status, out, _ = run(capfd, "claims", one, two, "--only", str(wanted), "--json")
    said = json.loads(out)
    assert status == 0
    assert said["total"] == {"simulated": {"holds": 1, "not checked": 1}}
    assert said["missing"] == ["C-9"]
    assert said["share"] == 1.0
    assert [claim["id"] for claim in said["not_holding"]] == ["B-1"]


def test_a_claim_is_printed_with_its_statement_and_a_check_once(capfd, tmp_path: Path) -> None:
    long = "the median of what arrives " * 8
    made = [
        Claim("A-1", long, "simulated", 9.5, 1.25, "ms", "±20 %", "fails", note="why"),
        Claim("A-21", "b", "simulated", 3, 2, "ms", "±20 %", "fails", note="why", same_as="A-1"),
    ]
    (tmp_path / "one").mkdir()
    write_claims(tmp_path / "one" / "claims.json", made)
    _, out, _ = run(capfd, "claims", str(tmp_path / "one"))
    assert max(map(len, out.splitlines())) <= 100
    assert f" A-1   {long.strip()} fails (simulated)" in re.sub(r"\n {7}", " ", out)
    assert "fails (simulated): published 9.5 ms, measured 1.25 ms; tolerance: ±20 %" in out
    assert " A-21  b\n" in out
    assert "published 3 ms, measured 2 ms, see A-1" in out
    assert out.count("why") == 1


def test_what_is_not_as_it_was_locked_says_what_was_claimed(capfd, monkeypatch) -> None:
    found = [Difference("A-1", "verdict", "holds", "fails"), Difference("A-1", "value", "1", "2")]
    claim = Claim("A-1", "one is faster", "simulated", 1, 2, "s", "sign", "fails")
    monkeypatch.setattr("headway.cli.verdicts._run_study", lambda *_: (found, [claim]))
    status, out, _ = run(capfd, "verdicts", "first-megabyte")
    assert status == 1
    assert (
        "\n A-1  first-megabyte: one is faster\n      verdict: was holds, is fails\n"
        "      value: was 1, is 2\n"
    ) in out


def test_claims_that_cannot_be_counted_are_refused(capfd, tmp_path: Path) -> None:
    one = _claims(tmp_path / "one", ("A-1", "holds"))
    again = _claims(tmp_path / "again", ("A-1", "fails"))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "claims.json").write_text('[{"id": 1}]')
    (tmp_path / "empty.txt").write_text("# nothing\n")
    for arguments, message in (
        ([one, again], f"A-1 is in {one} and in {again}; leave one out"),
        ([str(tmp_path)], f"{tmp_path}: has no study's claims (claims.json is missing)"),
        ([str(tmp_path / "broken")], "claims.json: unreadable"),
        ([one, "--only", str(tmp_path / "empty.txt")], "names no claim; it must have claims' ids"),
        ([one, "--only", str(tmp_path / "none.txt")], "No such file"),
    ):
        status, out, err = run(capfd, "claims", *arguments)
        assert (status, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


def test_run_overwrites_results_of_other_settings_only_when_told(
    capfd, monkeypatch, tmp_path: Path
) -> None:
    ran = []
    monkeypatch.setattr(Study, "run", lambda self, ctx: self.describe(ctx) or ran.append(ctx.seed))
    monkeypatch.setattr("headway.cli.studies._show", lambda *_: None)
    out = ["--out", str(tmp_path), "--quick"]
    assert run(capfd, "run", "buffers", *out)[0] == 0
    assert run(capfd, "run", "buffers", *out)[0] == 0
    for other in (
        ["buffers", *out, "--seed", "5"],
        ["buffers", *out, "--seed", "5", "--resume"],
        ["buffers", "--out", str(tmp_path)],
        ["load", *out],
    ):
        status, _, err = run(capfd, "run", *other)
        assert status == 2
        assert "has results of `headway run buffers --quick --backend sim --seed 1`" in err
        assert err.count("\n") == 1
    assert run(capfd, "run", "buffers", *out, "--seed", "5", "--force")[0] == 0
    assert ran == [1, 1, 5]


@pytest.mark.slow
def test_a_quick_study_from_run_to_report_to_export(capfd, tmp_path: Path) -> None:
    status, out, err = run(
        capfd,
        "run",
        "ssthresh-strategies",
        "--quick",
        "--seed",
        "2",
        "--out",
        str(tmp_path),
        "--json",
    )
    assert (status, err) == (0, "")
    result = json.loads(out)
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert claims == result["claims"]
    for claim in claims:
        assert {"id", "published", "measured", "unit", "tolerance", "verdict"} <= set(claim)
        assert claim["verdict"] in ("holds", "fails", "not checked")
        assert claim["basis"] == "simulated"
    assert sum(result["verdicts"]["simulated"].values()) == len(claims) > 0
    assert list(tmp_path.glob("*.parquet"))
    for path in [result["report"], *result["artefacts"]]:
        assert Path(path).stat().st_size > 0

    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    (tmp_path / "report.html").unlink()
    status, out, err = run(capfd, "report", str(tmp_path))
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines()[:-1])) <= 100
    assert {path: path.read_bytes() for path in before} == before

    status, _, err = run(
        capfd, "export", str(tmp_path), "--trial", "nobody", "--flent", str(tmp_path / "x")
    )
    assert status == 2
    assert "unknown trial 'nobody'" in err


def test_a_reader_that_stops_reading_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [*HEADWAY, "list", "--json"], stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert process.stderr == ""
