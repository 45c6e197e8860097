import gzip
import json
from pathlib import Path

import pytest
from support import S, experiment, trace

from headway.errors import HeadwayError
from headway.flent import export_flent, import_flent


@pytest.fixture
def data_file(tmp_path: Path) -> Path:
    of = experiment(duration="3 s", warmup="0 s", sample="1 s")
    made = trace(
        {
            "flow_counters": [(t * S, 0, t * t * 125_000, 0, 0, 0, 0) for t in range(4)],
            "flow_state": [(0, S // 2, 10, None, None, 0, 0), (0, 2 * S, 20, 15, 60_000, 0, 0)],
            "udp": [(1, S, 25_000_000), (1, 2 * S, None)],
            "queue": [(0, 0, 0, 0), (0, S + 1, 3000, 2)],
        },
        of=of,
    )
    export_flent(made, tmp_path / "t.flent.gz")
    return tmp_path / "t.flent.gz"


def test_the_file_is_flents_format_4(data_file: Path) -> None:
    data = json.loads(gzip.decompress(data_file.read_bytes()))
    assert set(data) == {"version", "metadata", "x_values", "results", "raw_values"}
    assert data["version"] == 4
    assert data["x_values"] == [1, 2, 3]
    assert all(len(series) == 3 for series in data["results"].values())
    # Flent needs these entries in every file that it opens.
    for key in ("NAME", "TITLE", "TIME", "T0", "STEP_SIZE", "TOTAL_LENGTH", "DATA_FILENAME"):
        assert data["metadata"][key] is not None
    assert set(data["metadata"]["SERIES_META"]) == set(data["results"])
    assert all(set(point) == {"t", "val"} for raw in data["raw_values"].values() for point in raw)


def test_series_hold_what_the_trace_holds(data_file: Path) -> None:
    series = import_flent(data_file).series
    assert series["time_s"].to_list() == [1, 2, 3]
    # 125 kB, 375 kB and 625 kB in a second each.
    assert series["TCP upload::reno-0"].to_list() == [1, 3, 5]
    assert series["TCP upload::reno-0::tcp_cwnd"].to_list() == [10, 20, 20]
    assert series["TCP upload::reno-0::tcp_rtt"].to_list() == [None, 60, 60]
    assert series["OWD (ms)::voip-1"].to_list() == [25, None, None]
    assert series["qdisc backlog::forward0"].to_list() == [0, 3000, 3000]


def test_the_same_trace_exports_the_same_bytes(data_file: Path, tmp_path: Path) -> None:
    first = data_file.read_bytes()
    data_file.unlink()
    made = trace()
    export_flent(made, data_file)
    again = data_file.read_bytes()
    export_flent(made, data_file)
    assert data_file.read_bytes() == again != first


@pytest.mark.parametrize(
    "content", [b"", b"no gzip", gzip.compress(b"[]", mtime=0), gzip.compress(b"{", mtime=0)]
)
def test_what_is_no_flent_file_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.flent.gz"
    path.write_bytes(content)
    with pytest.raises(HeadwayError, match="unreadable Flent data file") as error:
        import_flent(path)
    assert "\n" not in str(error.value)


def test_a_truncated_or_other_version_file_is_one_line(data_file: Path) -> None:
    whole = data_file.read_bytes()
    data_file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(HeadwayError, match="unreadable"):
        import_flent(data_file)
    data_file.write_bytes(gzip.compress(b'{"version": 3}'))
    with pytest.raises(HeadwayError, match="version 3, this reads 4"):
        import_flent(data_file)
    data_file.unlink()
    with pytest.raises(HeadwayError, match="no such file"):
        import_flent(data_file)
