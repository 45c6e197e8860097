"""Files of exchanges: read, written, refused in one line, and run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support import headway

from headway import Dumbbell, Exchanges, Experiment, ExperimentError, Flow, metrics, run
from headway.workloads import read_exchanges, write_exchanges

PAGE = """\
# a document, then three pictures on two more connections
connection,request_bytes,response_bytes,serve_ns,think_ns,after
0,400,20000,15000000,5000000,
0,300,3000,,,
1,350,90000,,,0
1,350,10000,,,
2,350,10000,,,0
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "page.csv"
    file.write_text(PAGE)
    return file


def experiment(app: Exchanges) -> Experiment:
    return Experiment(
        topology=Dumbbell(rate="10 Mbit/s", rtt="100 ms", buffer="1 BDP"),
        flows=[Flow(app=app, control="cubic", start="1 s")],
        duration="10 s",
    )


def test_a_page_is_loaded_in_the_order_that_the_file_says(page):
    trace = run(experiment(Exchanges(file=page)))
    rows = metrics.responses(trace, (0, trace.experiment.duration)).sort("epoch")
    assert rows["epoch"].to_list() == [0, 1, 2, 3, 4]
    assert rows["request_bytes"].to_list() == [400, 300, 350, 350, 350]
    assert rows["response_bytes"].to_list() == [20_000, 3000, 90_000, 10_000, 10_000]
    start_ns = rows["start_ns"].to_numpy()
    end_ns = trace["responses"].sort("epoch")["end_ns"].to_numpy()
    assert start_ns[0] == 1_000_000_000
    after = end_ns[0] + 5_000_000
    assert [start_ns[1], start_ns[2], start_ns[4]] == [after] * 3
    assert start_ns[3] == end_ns[2]
    assert trace.flows[0].kind == "exchanges"


def test_what_is_written_is_read_again(page, tmp_path):
    table = read_exchanges(page)
    other = tmp_path / "other.csv"
    write_exchanges(other, table)
    again = read_exchanges(other)
    for name, column in vars(table).items():
        assert np.array_equal(column, getattr(again, name)), name


def test_what_is_wrong_in_a_file_is_one_line_with_its_line_and_column(page, monkeypatch):
    monkeypatch.chdir(page.parent)  # the error would shorten a long path
    page.write_text(PAGE.replace("10000,,,\n2", "ten,,,\n2"))
    with pytest.raises(
        ExperimentError, match=r"page.csv: line 6, response_bytes: 'ten' is not"
    ) as e:
        Exchanges(file=Path(page.name))
    assert "\n" not in str(e.value)
    with pytest.raises(ExperimentError, match="cannot read: No such file"):
        Exchanges(file=page.parent / "none.csv")


def test_a_file_that_changed_since_is_refused(page):
    made = experiment(Exchanges(file=page))
    page.write_text(PAGE.replace("90000", "80000"))
    with pytest.raises(ExperimentError, match="has changed since the experiment was made"):
        run(made)
    with pytest.raises(ExperimentError, match="has changed since its sha256 was recorded"):
        Exchanges.model_validate(made.flows[0].app.model_dump())


def test_the_text_of_a_flow_names_a_file(page):
    flow = Flow.model_validate(f"cubic:exchanges={page}:deadline=2s")
    assert flow.app == Exchanges(file=page)
    with pytest.raises(ExperimentError, match="cannot be used with exchanges; leave one"):
        Flow.model_validate(f"cubic:exchanges={page}:size=1MB")
    with pytest.raises(ExperimentError, match="voip has no option 'exchanges'"):
        Flow.model_validate(f"voip:exchanges={page}")


def test_a_hundred_thousand_exchanges_are_read_in_a_second_and_run(tmp_path):
    file = tmp_path / "many.csv"
    lines = (
        f"{i // 100},100,1000,{i - 100 if i >= 100 and i % 100 == 0 else ''}"
        for i in range(100_000)
    )
    file.write_text("connection,request_bytes,response_bytes,after\n" + "\n".join(lines) + "\n")
    table = read_exchanges(file)
    assert len(table) == 100_000
    assert table.exchanges.tolist() == [100] * 1000
    trace = run(experiment(Exchanges(file=file)))
    assert trace["responses"].height > 1000


# Exchange 1 is served for 10 ms. Without this time, its response would leave at the same time as
# the SYN-ACK of exchange 3, and the order of the two would depend on when a server's process wakes.
THREE = """\
connection,start_ns,request_bytes,response_bytes,serve_ns,think_ns,deadline_ns,after
0,,400,30000,15000000,5000000,,
0,,300,40000,10000000,20000000,600000000,
0,,2000,1000,,,,4
1,,350,200000,30000000,,700000000,0
1,,200,8000,,100000000,,
2,1500000000,350,120000,,,500000000,1
"""


def seconds(trace) -> np.ndarray:
    rows = metrics.responses(trace, (0, trace.experiment.duration)).sort("epoch")
    return rows["seconds"].to_numpy()


def test_deadlines_are_met_or_missed_from_when_the_request_leaves(tmp_path):
    file = tmp_path / "three.csv"
    # exchange 3 opens a connection; it takes 617 ms, 100 ms of them for the handshake
    file.write_text(THREE.replace("700000000,0", "600000000,0"))
    flow = Flow(app=Exchanges(file=file), control="reno+mega-start", start="500 ms")
    trace = run(experiment(Exchanges(file=file)).model_copy(update={"flows": (flow,)}))
    rows = metrics.deadlines(trace, (0, trace.experiment.duration)).sort("epoch")
    assert rows["epoch"].to_list() == [1, 3, 5]
    assert rows["deadline_s"].to_list() == [0.6, 0.6, 0.5]
    took_s = rows["seconds"].to_numpy() - np.array([0, 0.1, 0.1])
    assert rows["met"].to_list() == (took_s <= rows["deadline_s"].to_numpy()).tolist()
    assert rows["met"][0]
    late = tmp_path / "late.csv"
    late.write_text(THREE.replace("700000000,0", "300000000,0"))
    flow = Flow(app=Exchanges(file=late), control="reno", deadline="10 ms")
    trace = run(experiment(Exchanges(file=late)).model_copy(update={"flows": (flow,)}))
    rows = metrics.deadlines(trace, (0, trace.experiment.duration)).sort("epoch")
    assert rows["deadline_s"].to_list() == [0.01, 0.6, 0.01, 0.3, 0.01, 0.5]
    assert rows["met"].to_list()[:4] == [False, True, False, False]


TMIX = "SEQ 250 2 1 1\n> 329\nt 120\n< 403\nt 9\n> 403\nCONC 7 1\nSEQ 100 1 1 2\n< 25821\nt 3\n"


@pytest.mark.slow
def test_a_tmix_file_becomes_a_file_of_exchanges(tmp_path):
    file, made = tmp_path / "two.tmix", tmp_path / "two.csv"
    file.write_text(TMIX)
    done = headway("tmix", str(file), "--exchanges", str(made))
    assert done.returncode == 0, done.stderr
    told = "2 connections, 3 exchanges, requests 732 B, responses 26224 B"
    told += "; 1 concurrent connection left out"
    assert " ".join(done.stdout.split()) == f"{made}: {told}"
    table = read_exchanges(made)
    assert table.start_ns.tolist() == [100_000, 250_000]
    assert table.exchanges.tolist() == [1, 2]
    assert table.request_bytes.tolist() == [0, 329, 403]
    assert table.response_bytes.tolist() == [25_821, 403, 0]
    assert table.serve_ns.tolist() == [0, 120_000, 0]
    assert table.think_ns.tolist() == [3000, 9000, 0]
    said = json.loads(headway("tmix", str(file), "--exchanges", str(made), "--json").stdout)
    assert said == {
        "connections": 2,
        "exchanges": 3,
        "request_bytes": 732,
        "response_bytes": 26_224,
        "left_out": 1,
    }
    assert len(seconds(run(experiment(Exchanges(file=made))))) == 3


@pytest.mark.slow
def test_what_of_a_tmix_file_no_file_of_exchanges_can_say_is_one_line(tmp_path):
    file = tmp_path / "bad.tmix"
    for text, said in [
        ("CONC 7 1\n", "no sequential connection"),
        ("SEQ 0 1\n> 5\nt 6\n> 0\n", "exchange 1: request and response have 0 bytes; one"),
        (f"SEQ 0 1\n> 5\nt {2**53}\n", f"think_us: {2**53} is not allowed; at most "),
        (f"SEQ 0 1\n> 5\nt {2**53}\nt 1\n", "4: waits of more than"),
        ("SEQ 0 1\n! 5\n", "2: '!' is not a line"),
    ]:
        file.write_text(text)
        bad = headway("tmix", str(file), "--exchanges", str(tmp_path / "made.csv"))
        assert (bad.returncode, bad.stdout) == (2, "")
        assert said in bad.stderr
        assert bad.stderr.count("\n") == 1
    assert not (tmp_path / "made.csv").exists()
