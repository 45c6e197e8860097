"""Workloads: they reproduce published values on every machine, and tmix files are read back."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.backends.sim import SimBackend
from headway.errors import HeadwayError
from headway.experiment import Dumbbell, Experiment, Flow, Sessions
from headway.workloads import (
    Campus,
    Pareto,
    Recorded,
    SessionTable,
    Stream,
    Tmix,
    Workload,
    campus,
    campus_fit,
    distribution,
    from_vectors,
    generate,
    published,
    recorded,
    sessions,
    shares,
    tmix,
)
from headway.workloads.campus import campus_model
from headway.workloads.workload import PAYLOAD_SHARE

CAMPUS = Workload(vectors=Campus(), load=0.35, rate="10 Mbit/s", until="1 h", seed=7)


def test_uniform_numbers_are_uniform_and_streams_differ() -> None:
    one, other = (Stream(name).uniform(100_000) for name in ("a", "b"))
    assert one.min() > 0
    assert one.max() < 1
    assert abs(one.mean() - 0.5) < 4 / np.sqrt(12 * one.size)
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.02
    assert (Stream("a").uniform(100_000) == one).all()


@pytest.mark.parametrize(
    ("vectors", "begins"), [(Campus(), "12bf9b64c3e56963"), (Recorded(), "49076c0b1d637a8c")]
)
def test_workloads_are_the_same_on_every_machine(vectors: Campus | Recorded, begins: str) -> None:
    table = sessions(CAMPUS.model_copy(update={"vectors": vectors}))
    columns = (table.start_us, table.exchanges, table.request_bytes, table.response_bytes)
    digest = hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest()
    assert digest[:16] == begins


def test_the_recorded_connections_are_what_their_source_says() -> None:
    """Compares the recorded connections with known numbers of their original file."""
    table = recorded.table()
    responses = table.response_bytes[table.response_bytes > 0]
    requests = table.request_bytes[table.request_bytes > 0]
    assert len(table) == 1007
    assert table.response_bytes.mean() == pytest.approx(11_945, abs=1)
    assert responses.max() == 8_831_503
    assert table.exchanges.max() == 163
    assert table.exchanges.mean() == pytest.approx(3.10, abs=0.01)
    assert requests.mean() == pytest.approx(15_250, abs=10)
    assert np.quantile(requests, [0.5, 0.9]).tolist() == pytest.approx([268, 598], rel=0.02)
    assert np.diff(table.start_us).mean() == pytest.approx(6_801, abs=1)
    assert {one.rtt_us is None for one in recorded.connections()} == {False}
    assert {one.windows_bytes is None for one in recorded.connections()} == {False}


def test_uploads_can_be_left_out() -> None:
    largest = [one.request_bytes.max() for one in (recorded.table(), recorded.table(1_000_000))]
    assert largest == [12_424_783, 105_104]
    assert len(recorded.table(1_000_000)) == 1004
    with pytest.raises(ValueError, match="largest_request"):
        Recorded.model_validate({"largest_request": "0 B"})


def test_a_data_file_with_other_contents_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text, said in (
        ("other.tmix", "SEQ 0 1\n> 1\n", "install Headway again"),
        ("broken.tmix", "SEQ x\n", "broken.tmix:1: SEQ"),
        ("missing.tmix", None, "No such file"),
    ):
        file = tmp_path / name
        if text is not None:
            file.write_text(text)
        monkeypatch.setattr(recorded, "FILE", file)
        recorded.connections.cache_clear()
        with pytest.raises(HeadwayError, match=said):
            recorded.connections()
    monkeypatch.undo()
    recorded.connections.cache_clear()
    assert len(recorded.connections()) == 1007


def test_the_data_file_is_made_of_a_file_of_connections(tmp_path: Path) -> None:
    text = recorded.data_of(recorded.connections())
    assert text == recorded.FILE.read_text(encoding="utf-8")
    again = tmix.parse(tmix.text_of(recorded.connections(), "ns2")).connections
    assert recorded.data_of(again) == text


def test_recorded_connections_are_drawn_with_replacement_and_stay_whole() -> None:
    workload = CAMPUS.model_copy(update={"vectors": Recorded()})
    table, given = sessions(workload), recorded.table(1_000_000)

    def whole(of: SessionTable) -> list[tuple[bytes, ...]]:
        columns = (of.request_bytes, of.serve_us, of.response_bytes, of.think_us)
        parts = [np.split(column, of.ends[:-1]) for column in columns]
        return [tuple(part.tobytes() for part in one) for one in zip(*parts, strict=True)]

    known = {one: number for number, one in enumerate(whole(given))}
    numbers = np.array([known[one] for one in whole(table)])
    counts = np.bincount(numbers, minlength=len(given))[np.unique(list(known.values()))]
    # each connection is drawn about equally often; repeated rounds of all connections would draw
    # each exactly equally often
    single = counts[counts < 2 * counts.mean()]
    assert single.std() == pytest.approx(np.sqrt(single.mean()), rel=0.15)
    assert table.response_bytes.sum() == pytest.approx(workload.wanted_bytes, rel=0.01)
    every = CAMPUS.model_copy(update={"vectors": Recorded(largest_request=None)})
    assert sessions(every).request_bytes.max() == 12_424_783


def test_vectors_are_measured_beside_the_thesis() -> None:
    table = distribution.recorded_compared_with_thesis()
    assert table.columns[:4] == ["quantity", "thesis", "recorded", "with uploads"]
    rows = {str(row[0]): row[1:4] for row in table.rows}
    assert rows["mean response"] == ["about 14 kB", "12.3 kB", "12.3 kB"]
    assert rows["mean request"] == ["1 kB", "0.62 kB", "15.25 kB"]
    assert rows["shape of the responses' tail: largest 2 %"] == ["1.1", "1.084", "1.082"]
    assert rows["responses above the initial window of 3 MSS"] == ["25 %", "18.1 %", "18.1 %"]


@pytest.fixture(scope="module")
def many_drawn() -> SessionTable:
    return campus_model().draw(100_000, "many")


def test_drawn_vectors_have_the_recorded_correlations(many_drawn: SessionTable) -> None:
    wanted = campus_fit.moments(recorded.table(1_000_000))
    found = campus_fit.moments(many_drawn)
    # in the recording, small requests and responses tend to follow small ones
    assert wanted.adjacent[0, 0] > 0.5
    assert wanted.adjacent[1, 1] > 0.6
    for name in ("within", "adjacent", "count"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=0.04), name


@pytest.mark.parametrize("name", campus.QUANTITIES)
def test_drawn_vectors_have_the_recorded_quantiles(name: str, many_drawn: SessionTable) -> None:
    given = recorded.table(1_000_000)
    own, theirs = (
        getattr(table, name)[campus_fit.present(table)[name]] for table in (many_drawn, given)
    )
    for q in (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99):
        # where the recording has few distinct values, a drawn quantile may differ from the recorded
        # one, but it lies between the neighbouring recorded quantiles
        low, high = np.quantile(theirs, [q - 0.01, q + 0.01 if q < 0.99 else 0.995])
        assert low <= np.quantile(own, q) <= high, q
    assert (own == 0).mean() == pytest.approx((theirs == 0).mean(), abs=0.01)


def test_drawn_vectors_have_the_recorded_numbers_of_exchanges(many_drawn: SessionTable) -> None:
    given = recorded.table(1_000_000).exchanges
    for count in (1, 2, 3, 6):
        part = (given == count).mean()
        assert (many_drawn.exchanges == count).mean() == pytest.approx(part, abs=0.01)
    assert (many_drawn.think_us[many_drawn.ends - 1] == 0).all()
    assert (many_drawn.request_bytes + many_drawn.response_bytes > 0).all()


@pytest.mark.slow
def test_the_parameters_of_the_model_are_those_that_are_fitted() -> None:
    again = campus_fit.fitted(recorded.table(1_000_000))
    written = json.loads(campus.FILE.read_text(encoding="utf-8"))
    assert again["exchanges"] == written["exchanges"]
    for name in ("slopes", "between", "within"):
        assert again[name] == pytest.approx(np.array(written[name]), abs=0.002), name
    for name in campus.QUANTITIES:
        fitted, kept = (np.array(one["marginals"][name]["quantiles"]) for one in (again, written))
        assert fitted == pytest.approx(kept, rel=0.01), name


def test_a_model_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.json"
    file.write_text('{"exchanges": [[1], [1]]}')
    monkeypatch.setattr(campus, "FILE", file)
    campus_model.cache_clear()
    with pytest.raises(HeadwayError, match=r"model\.json: unreadable .*install Headway again"):
        campus_model()
    monkeypatch.undo()
    campus_model.cache_clear()


def test_servers_delays_can_be_scaled() -> None:
    none = sessions(CAMPUS.model_copy(update={"vectors": Campus(serve_factor=0)}))
    assert not none.serve_us.any()
    assert (none.response_bytes == sessions(CAMPUS).response_bytes).all()
    assert sessions(CAMPUS).serve_us.any()


def test_synthetic_responses_begin_where_their_mean_wants() -> None:
    assert published.synthetic_responses(14_000).smallest == pytest.approx(2239, rel=1e-3)
    assert published.synthetic_responses(114_000).smallest == pytest.approx(22_700, rel=2e-3)


@pytest.mark.parametrize(
    "vectors", [Campus(), Recorded(), Pareto(mean="14 kB"), Pareto(mean="114 kB")]
)
def test_a_workload_asks_for_its_load(vectors: Campus | Pareto | Recorded) -> None:
    workload = CAMPUS.model_copy(update={"vectors": vectors})
    table = sessions(workload)
    asked = table.response_bytes.sum() * 8 / 3600 / (10e6 * PAYLOAD_SHARE)
    # The responses exceed the requested volume by at most the last response of up to 10 MB.
    assert 0.35 <= asked < 0.35 + 10e6 * 8 / 3600 / 10e6
    assert table.start_us.min() >= 0
    assert table.start_us.max() < 3600 * 10**6


def test_times_between_sessions_are_exponential() -> None:
    gaps = np.sort(np.diff(sessions(CAMPUS).start_us))
    fitted = 1 - np.exp(-gaps / gaps.mean())
    steps = np.arange(1, gaps.size + 1) / gaps.size
    # Claim C-TH-005 requires a distance below 0.05.
    assert np.abs(fitted - steps).max() < 1.6 / np.sqrt(gaps.size) < 0.05


def test_pairs_share_every_session_once() -> None:
    parts = shares(CAMPUS, 50)
    whole = sessions(CAMPUS)
    assert sum(len(part) for part in parts) == len(whole)
    for name in ("start_us", "response_bytes", "request_bytes", "think_us"):
        together = np.concatenate([getattr(part, name) for part in parts])
        assert (np.sort(together) == np.sort(getattr(whole, name))).all()
    counts = np.array([len(part) for part in parts])
    assert counts.std() < 2 * np.sqrt(counts.mean())


def test_chosen_sessions_keep_their_exchanges() -> None:
    table = from_vectors([[(1, 2, 3), (4, 5, 6)], [(7, 8, 9)], [(10, 11, 12)]], [0, 5, 9])
    part = table.of(np.array([0, 2]))
    assert part.start_us.tolist() == [0, 9]
    assert part.exchanges.tolist() == [2, 1]
    assert part.request_bytes.tolist() == [1, 4, 10]
    assert part.think_us.tolist() == [3, 6, 12]


@pytest.mark.parametrize(
    ("starts", "counts", "column", "words"),
    [
        ([1, 0], [1, 1], 2, "sorted"),
        ([0], [1, 1], 2, "per session"),
        ([0, 1], [0, 2], 2, "at least one exchange"),
        ([0, 1], [1, 1], 3, "request_bytes"),
    ],
)
def test_columns_that_do_not_fit_are_refused(
    starts: list[int], counts: list[int], column: int, words: str
) -> None:
    two = np.ones(2, dtype=np.int64)
    with pytest.raises(ValueError, match=words):
        SessionTable(
            np.array(starts), np.array(counts), np.ones(column, dtype=np.int64), two, two, two
        )


ORIGINAL = """\
# two connections, one of them concurrent
SEQ 1000000 3 17 4
w 65535 32768
r 54000
l 0.0 0.01
m 1460 536
> 329
t 120
< 403
t 120000
> 403
< 25821
t 3120000
> 356
< 1198
CONC 1500000 1 1 5 6
w 65535 65535
r 1000
l 0 0
c> 10
t> 20
c< 30
SEQ 900000 1 18 4
< 77
t 5
"""


def test_the_original_format_is_read() -> None:
    file = tmix.parse(ORIGINAL)
    assert file.concurrent == 1
    first, second = file.connections
    assert first.exchanges == (
        tmix.Exchange(329, 120, 403, 120_000),
        tmix.Exchange(403, 0, 25_821, 3_120_000),
        tmix.Exchange(356, 0, 1198, 0),
    )
    assert (first.rtt_us, first.windows_bytes, first.loss) == (54_000, (65_535, 32_768), (0, 0.01))
    assert first.mss_bytes == (1460, 536)
    assert second.exchanges == (tmix.Exchange(0, 0, 77, 5),)
    assert tmix.sessions_of(file.connections).start_us.tolist() == [900_000, 1_000_000]


def test_the_format_of_ns2_is_read() -> None:
    text = """S 1000 2 1 2
w 65535 65535
I 0 0 329
A 0 120 403
I 0 5000 10
I 70 0 20
A 0 0 30
I 0 9 0
A 0 0 0
"""
    (connection,) = tmix.parse(text).connections
    assert connection.exchanges == (
        tmix.Exchange(329, 120, 403, 5000),
        tmix.Exchange(10, 0, 0, 70),
        tmix.Exchange(20, 0, 30, 9),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("> 5\n", "tmix:1: '>' before"),
        ("SEQ x 1\n", "tmix:1: SEQ 'x 1'"),
        ("SEQ 0 1\nr\n", "tmix:2: r ''"),
        ("SEQ 0 1\n> -5\n", "tmix:2: > '-5'"),
        ("SEQ 0 1\nl 0 2e300\n", "tmix:2: l"),
        ("SEQ 0 1\nc> 3\n", "not a line of a sequential connection"),
        ("SEQ 0 1\nSEQ 1 1\n> 1\n", "tmix:1: a connection without data"),
        ("S 0 1\nI 0 5\n", "tmix:2: I '0 5'"),
    ],
)
def test_a_line_that_is_wrong_is_named(text: str, words: str) -> None:
    with pytest.raises(HeadwayError) as caught:
        tmix.parse(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


_waits = st.integers(0, 10**9)
_sizes = st.integers(1, 10**8)
# Draw no empty messages, since a tmix file cannot express a wait after an empty message.
_exchanges = st.builds(tmix.Exchange, _sizes, _waits, _sizes, _waits)
_connections = st.builds(
    tmix.Connection,
    st.integers(0, 10**12),
    st.lists(_exchanges, min_size=1, max_size=5).map(tuple),
    st.tuples(st.integers(0, 99), st.integers(0, 99)),
    st.none() | st.tuples(st.integers(0, 2**30), st.integers(0, 2**30)),
    st.none() | st.integers(0, 10**7),
    st.none() | st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.none() | st.just((1460, 1460)),
)


@given(st.lists(_connections, max_size=4), st.sampled_from(["original", "ns2"]))
def test_what_is_written_is_read_back(
    connections: list[tmix.Connection], form: tmix.Format
) -> None:
    assert tmix.parse(tmix.text_of(connections, form)).connections == tuple(connections)


@given(st.text("SEQCON IAtwrl<>c#0123456789.\n", max_size=80))
def test_no_text_is_worse_than_an_error(text: str) -> None:
    with contextlib.suppress(HeadwayError):
        assert tmix.parse(text).concurrent >= 0


def test_a_tmix_file_is_a_workload(tmp_path: Path) -> None:
    path = tmix.write(tmp_path / "some.tmix", tmix.parse(ORIGINAL).connections)
    _, digest = tmix.load(path)
    workload = CAMPUS.model_copy(
        update={"vectors": Tmix(path=str(path), sha256=digest), "load": 0.1}
    )
    table = sessions(workload)
    assert table.response_bytes.sum() == pytest.approx(workload.wanted_bytes, rel=1e-3)
    # The file is repeated in rounds, each in another order, so each connection is equally frequent.
    assert abs((table.exchanges == 3).sum() - (table.exchanges == 1).sum()) <= 1
    other = CAMPUS.model_copy(update={"vectors": Tmix(path=str(path), sha256="0" * 64)})
    with pytest.raises(HeadwayError, match="SHA-256"):
        sessions(other)


def in_rounds(given: SessionTable, workload: Workload) -> list[int]:
    """Response bytes of the sessions when whole rounds of a file are drawn one after the other."""
    sizes = [int(part.sum()) for part in np.split(given.response_bytes, given.ends[:-1])]
    order, drawn = Stream(f"{workload.seed}/order"), list[int]()
    reached = 0
    while True:
        for session in np.argsort(order.uniform(len(given)), kind="stable"):
            drawn.append(sizes[session])
            reached += sizes[session]
            if reached >= workload.wanted_bytes:
                return drawn


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("connections", [1, 2, 7, 300])
@pytest.mark.parametrize("load", [1e-9, 0.01, 0.05])
def test_a_files_rounds_are_the_same_however_many_are_drawn_at_a_time(
    connections: int, load: float, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "_AT_A_TIME", 50)
    made = [
        tmix.Connection(
            0, tuple(tmix.Exchange(1, 0, (7 * at) % 5000, 0) for _ in range(at % 3 + 1))
        )
        for at in range(1, connections + 1)
    ]
    path = tmix.write(tmp_path / "some.tmix", made)
    vectors = Tmix(path=str(path), sha256=tmix.load(path)[1])
    fields = {"vectors": vectors, "load": load, "until": 10_000_000_000, "seed": seed}
    workload = CAMPUS.model_copy(update=fields)
    table = sessions(workload)
    sums = np.add.reduceat(table.response_bytes, table.ends - table.exchanges)
    assert sums.tolist() == in_rounds(tmix.sessions_of(made), workload)


def test_millions_of_rounds_of_a_small_file_are_drawn_in_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmix.write(tmp_path / "one.tmix", [tmix.Connection(0, (tmix.Exchange(9, 0, 100, 0),))])
    vectors = Tmix(path=str(path), sha256=tmix.load(path)[1])
    workload = CAMPUS.model_copy(update={"vectors": vectors, "load": 0.02, "seed": 11})
    asked, uniform = list[int](), Stream.uniform
    monkeypatch.setattr(Stream, "uniform", lambda of, n: asked.append(n) or uniform(of, n))
    assert len(sessions(workload)) > 800_000
    assert len(asked) < 5


def _some_pairs(persistent: bool) -> Experiment:
    workload = Workload(
        vectors=Pareto(mean="14 kB"),
        load=0.3,
        rate="10 Mbit/s",
        until="60 s",
        persistent=persistent,
    )
    flows = tuple(
        Flow(app=Sessions(workload=workload, pair=i, pairs=20), control="reno", start="0 s")
        for i in range(20)
    )
    path = Dumbbell.model_validate({"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "50 pkts"})
    return Experiment(topology=path, flows=flows, duration="100 s", record=())


@pytest.mark.parametrize("persistent", [False, True])
def test_every_session_is_answered_in_the_simulator(persistent: bool) -> None:
    experiment = _some_pairs(persistent)
    trace = SimBackend().run(experiment)
    workload = experiment.flows[0].app
    assert isinstance(workload, Sessions)
    table = sessions(workload.workload)
    assert trace["responses"].height == len(table)
    delivered = trace["flow_counters"].filter(trace["flow_counters"]["time_ns"] == 100 * 10**9)
    assert delivered["delivered_bytes"].sum() == table.response_bytes.sum()
    saved = Experiment.model_validate(experiment.model_dump(mode="json"))
    assert saved == experiment


def test_a_pair_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="pair: 3 must be less than pairs, 3"):
        Sessions(workload=CAMPUS, pair=3, pairs=3)
