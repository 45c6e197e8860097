"""Damaged or malicious files end in one line each, with bounded memory."""

import contextlib
import gzip
import hashlib
import json
import resource
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from support import trace

from headway.claims import read_claims
from headway.cli.app import execute
from headway.errors import HeadwayError
from headway.flent import MAX_BYTES, import_flent
from headway.studies.common import traffic
from headway.workloads import Pareto, Tmix, Workload, sessions, tmix

MANY_DIGITS = "9" * 4301
"""Python converts at most 4300 digits by default."""


def refused(text: str) -> str:
    with pytest.raises(HeadwayError) as failed:
        tmix.parse(text, "f")
    return str(failed.value)


@pytest.mark.parametrize(
    "text",
    [
        f"SEQ {MANY_DIGITS} 1\n> 1\n< 1\n",
        f"SEQ 0 1\n> {MANY_DIGITS}\n",
        f"S 0 1\nI 0 {MANY_DIGITS} 1\n",
        f"SEQ 0 1\nw {MANY_DIGITS} 1\n",
        f"SEQ 0 1\n{MANY_DIGITS}\n",
        f"{MANY_DIGITS}\n",
        f"SEQ 0 1\n> {2**53 + 1}\n",
    ],
)
def test_a_tmix_number_without_end_is_one_short_line(text: str) -> None:
    message = refused(text)
    assert message.startswith("f:")
    assert len(message) < 160
    assert "digits" not in message


def test_leading_zeros_and_the_largest_number_are_numbers() -> None:
    [connection] = tmix.parse(f"SEQ {'0' * 40}7 1\n> {2**53}\n").connections
    assert connection.start_us == 7
    assert connection.exchanges[0].request_bytes == 2**53


def workload(path: Path, load: float = 0.5) -> Workload:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Workload.model_validate(
        {
            "vectors": Tmix(path=str(path), sha256=digest),
            "load": load,
            "rate": "10 Mbit/s",
            "until": "3 h",
        }
    )


def test_responses_too_small_for_a_load_are_refused_before_they_are_drawn(tmp_path: Path) -> None:
    small = tmp_path / "small.tmix"
    small.write_text("SEQ 0 1 1 2\n> 100\n< 1\n")
    with pytest.raises(HeadwayError, match=r"responses of 1 bytes on average; at most 20,000,000"):
        sessions(workload(small))
    with pytest.raises(HeadwayError, match="at most 20,000,000"):
        Workload.model_validate(
            {
                "vectors": Pareto.model_validate({"mean": "1 B"}),
                "load": 0.9,
                "rate": "10 Gbit/s",
                "until": "3 h",
            }
        )


def test_a_response_of_a_terabyte_is_a_session_that_does_not_end(tmp_path: Path) -> None:
    large = tmp_path / "large.tmix"
    large.write_text("SEQ 0 1 1 2\n> 100\n< 1000000000000\n")
    table = sessions(workload(large))
    assert table.response_bytes.tolist() == [10**12]
    rows = pl.DataFrame({"seconds": [1.0] * 9})
    with pytest.raises(HeadwayError, match=r"^9 responses were complete when the run ended"):
        traffic.traffic(trace(), rows)


CLAIM = {
    "id": "C-1",
    "statement": "s",
    "basis": "simulated",
    "published": 1.0,
    "measured": None,
    "unit": None,
    "tolerance": "",
    "verdict": "holds",
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": ["a", "list"]}, "id: \"['a', 'list']\" is not allowed"),
        ({"id": None}, "id: 'None'"),
        ({"basis": {}}, "basis: '{}'"),
        ({"basis": "guessed"}, "basis: 'guessed'; allowed: simulated, live, model, setting"),
        ({"verdict": "perhaps"}, "verdict: 'perhaps'; allowed: holds"),
        ({"published": [1]}, "published: '[1]'"),
        ({"published": float("nan")}, "published: 'nan'"),
        ({"measured": {}}, "measured: '{}'"),
        ({"same_as": 3}, "same_as: '3'"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_claim_with_a_wrong_field_is_named(tmp_path: Path, capsys, changes, said: str) -> None:
    file = tmp_path / "claims.json"
    file.write_text(json.dumps([CLAIM]))
    assert [claim.id for claim in read_claims(file)] == ["C-1"]
    file.write_text(json.dumps([{**CLAIM, **changes}]))
    for options in ([], ["--json"]):
        assert execute(["claims", str(tmp_path), *options]) == 2
        printed = capsys.readouterr()
        assert said in printed.err
        assert printed.err.count("\n") == 1


def test_a_message_repeats_no_more_than_a_screen_of_somebodys_input(tmp_path: Path) -> None:
    file = tmp_path / "claims.json"
    file.write_text(json.dumps([{**CLAIM, "9" * 100_000: 1}]))
    with pytest.raises(HeadwayError) as failed:
        read_claims(file)
    assert str(failed.value).startswith(f"{file}: unreadable")
    assert len(str(failed.value)) < 1100


@pytest.mark.parametrize("text", ["7", "[7]", "{}x", '"x"', "[" * 100_000, "[" + MANY_DIGITS + "]"])
def test_claims_that_are_no_list_of_claims_are_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "claims.json"
    file.write_text(text)
    with pytest.raises(HeadwayError, match="unreadable"):
        read_claims(file)


FLENT = {"version": 4, "metadata": {}, "x_values": [0.0, 1.0], "results": {"a": [1, None]}}


def flent(path: Path, data: object) -> Path:
    path.write_bytes(gzip.compress(json.dumps(data).encode()))
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"results": {"a": [1]}},
        {"results": {"a": "ab"}},
        {"results": {"a": [[1], [2]]}},
        {"results": [1]},
        {"x_values": {"0": 1}},
        {"x_values": None},
        {"metadata": [1]},
        {"raw_values": [1]},
    ],
)
def test_flent_series_that_are_none_are_one_line(tmp_path: Path, changes) -> None:
    assert import_flent(flent(tmp_path / "good", FLENT)).series["a"].to_list() == [1, None]
    with pytest.raises(HeadwayError, match="unreadable Flent data file"):
        import_flent(flent(tmp_path / "bad", {**FLENT, **changes}))


def test_a_damaged_gzip_is_one_line_wherever_it_is_damaged(tmp_path: Path) -> None:
    file = flent(tmp_path / "file", {**FLENT, "raw_values": {"x": list(range(60))}})
    whole = file.read_bytes()
    refused_at = set()
    for index in range(0, len(whole), 3):
        flipped = bytes([whole[index] ^ 0x5A])
        for damaged in (whole[:index], whole[:index] + flipped + whole[index + 1 :]):
            file.write_bytes(damaged)
            with contextlib.suppress(HeadwayError):
                import_flent(file)
                continue
            refused_at.add(index)
    assert refused_at >= set(range(12, len(whole), 3))  # the first 12 bytes are gzip's header


EXPLODE = """
import sys
from pathlib import Path
from headway.flent import import_flent
try:
    import_flent(Path(sys.argv[1]))
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_gzip_that_explodes_is_refused_within_bounded_memory(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.flent.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as stream:
        for _ in range(MAX_BYTES // 2**20 * 4):
            stream.write(b" " * 2**20)
    assert bomb.stat().st_size < 2_000_000
    done = subprocess.run(
        [sys.executable, "-c", EXPLODE, str(bomb)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30)),
    )
    assert done.stdout.startswith("HeadwayError ")
    assert "more than 64 MiB when unpacked" in done.stdout
