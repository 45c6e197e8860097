import dataclasses
import json
import os
import resource
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import S, experiment, trace

from headway.errors import HeadwayError
from headway.files import save_text
from headway.trace import SCHEMA, load_trace, save_trace

_RANGES = {
    pl.UInt8: st.integers(0, 255),
    pl.UInt32: st.integers(0, 2**32 - 1),
    pl.UInt64: st.integers(0, 2**64 - 1),
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
}


def rows_of(name: str):
    return st.lists(st.tuples(*(st.none() | _RANGES[t] for t in SCHEMA[name].values())), max_size=4)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    tables=st.fixed_dictionaries({name: rows_of(name) for name in SCHEMA}),
    capture=st.none() | st.binary(max_size=20),
)
def test_what_is_saved_is_what_is_loaded(tmp_path: Path, tables, capture) -> None:
    saved = trace(tables, capture=capture)
    loaded = load_trace(save_trace(saved, tmp_path / "t"))
    for name in SCHEMA:
        assert loaded[name].equals(saved[name], null_equal=True)
    assert loaded.capture == capture
    assert loaded.flows == saved.flows
    assert loaded.meta == saved.meta
    assert loaded.experiment == saved.experiment
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_the_same_trace_saves_the_same_bytes(tmp_path: Path) -> None:
    made = trace({"udp": [(1, S, 5), (1, 2 * S, None)]})
    one, two = save_trace(made, tmp_path / "a"), save_trace(made, tmp_path / "b")
    for file in one.iterdir():
        assert file.read_bytes() == (two / file.name).read_bytes()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save_trace(trace({"udp": [(1, S, 5)] * 2000}, capture=b"abc"), tmp_path / "t")


@pytest.mark.parametrize("file", ["trace.json", "udp.parquet", "queue.parquet"])
@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
def test_a_truncated_trace_is_one_line(saved: Path, file: str, part: float) -> None:
    whole = (saved / file).read_bytes()
    (saved / file).write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(HeadwayError, match="unreadable or truncated") as error:
        load_trace(saved)
    assert "\n" not in str(error.value)


def test_missing_parts_are_named(saved: Path, tmp_path: Path) -> None:
    (saved / "udp.parquet").unlink()
    with pytest.raises(HeadwayError, match=r"not a trace \(udp\.parquet is missing"):
        load_trace(saved)
    with pytest.raises(HeadwayError, match="the folder is missing"):
        load_trace(tmp_path / "none")


def test_a_table_that_lost_rows_or_columns_is_refused(saved: Path) -> None:
    table = pl.read_parquet(saved / "udp.parquet")
    table.head(5).write_parquet(saved / "udp.parquet")
    with pytest.raises(HeadwayError, match=r"udp\.parquet"):
        load_trace(saved)
    table.drop("owd_ns").write_parquet(saved / "udp.parquet")
    with pytest.raises(HeadwayError, match=r"udp\.parquet"):
        load_trace(saved)


@pytest.mark.parametrize("state", ["[]", "{}", "null", '{"format": 99}', '{"format": 1}'])
def test_foreign_json_is_one_line(saved: Path, state: str) -> None:
    (saved / "trace.json").write_text(state)
    with pytest.raises(HeadwayError):
        load_trace(saved)


def test_saving_again_replaces(saved: Path) -> None:
    save_trace(trace(), saved)
    assert load_trace(saved)["udp"].height == 0
    assert not (saved / "capture.pcapng").exists()


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """The kernel's limit on a file's size simulates a full disk."""
    save_trace(trace(), tmp_path / "earlier")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))
    try:
        with pytest.raises(HeadwayError, match="disk full while saving"):
            save_trace(trace(capture=os.urandom(10_000)), tmp_path / "later")
        with pytest.raises(HeadwayError, match="disk full while saving"):
            save_text(tmp_path / "text", "x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["earlier"]
    load_trace(tmp_path / "earlier")


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HeadwayError, match="cannot save"):
        save_trace(trace(), tmp_path / "file" / "t")


def test_numpy_and_pandas_keep_nulls_apart_from_zero() -> None:
    made = trace({"udp": [(1, S, 5), (1, 2 * S, None), (1, 3 * S, 0)]})
    columns = made.numpy("udp")
    assert columns["sent_ns"].tolist() == [S, 2 * S, 3 * S]
    assert [str(v) for v in columns["owd_ns"]] == ["5.0", "nan", "0.0"]
    frame = made.pandas("udp")
    assert frame["owd_ns"].isna().tolist() == [False, True, False]
    assert list(frame.columns) == list(SCHEMA["udp"])


def test_flows_are_found_by_name_and_kind() -> None:
    made = trace()
    assert made.flow_index("voip-1") == 1
    assert (made.tcp_flows(), made.udp_flows()) == ([0], [1])
    with pytest.raises(KeyError):
        made.flow_index("nobody")


def test_metadata_is_json() -> None:
    made = trace()
    assert json.loads(json.dumps(dict(made.meta))) == made.meta
    assert dataclasses.is_dataclass(made)


def test_rows_of_one_of_many_flows_are_those_of_a_filter() -> None:
    many = trace(
        {"backoffs": [(number % 40, number * 7 % 90, 0, 9, 4) for number in range(300)]},
        of=experiment(flows="50xreno"),
    )
    for flow in range(50):
        found = many.rows_of("backoffs", "flow", flow)
        assert found.equals(many["backoffs"].filter(flow=flow))
        assert found.schema == many["backoffs"].schema
    assert many.rows_of("backoffs", "flow", 45).is_empty()
