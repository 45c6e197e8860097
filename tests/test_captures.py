"""Captures that the simulator wrote, imported: what is measured, comparisons, fitted paths."""

import json
import math
import random
import struct
from pathlib import Path

import polars as pl
import pytest

from headway import metrics
from headway.backends.sim import SimBackend
from headway.cli.app import execute
from headway.errors import HeadwayError
from headway.experiment import Capture, Dumbbell, Experiment
from headway.imports import compared, fit, import_file, load
from headway.trace import Trace, load_trace, save_trace

MS = 1_000_000
FIT_NS = 10 * MS


def simulated(path: Path, link: str = "bottleneck", **changes: object) -> Trace:
    """Simulate with a capture, and write the capture to ``path``."""
    fields: dict[str, object] = {
        "topology": Dumbbell(rate="10 Mbit/s", rtt="40 ms", buffer="1 BDP"),
        "flows": "1xcubic",
        "duration": "8 s",
        "capture": Capture(link=link, snaplen="120 B"),
    }
    trace = SimBackend().run(Experiment.model_validate(fields | changes))
    assert trace.capture is not None
    path.write_bytes(trace.capture)
    return trace


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trace, Trace]:
    """A capture of two flows, the simulation's trace, and the imported one."""
    path = tmp_path_factory.mktemp("captures") / "two.pcapng"
    true = simulated(path, link="hosts", flows="1xcubic,1xreno:size=2MB")
    return path, true, import_file(path, interval_ns=50 * MS, control="cubic")


def test_goodput_retransmissions_and_handshake_are_the_simulators(
    pair: tuple[Path, Trace, Trace],
) -> None:
    _, true, found = pair
    assert len(found.flows) == 2
    for flow in range(2):
        assert metrics.goodput_tcptrace_bps(found, flow) == pytest.approx(
            metrics.goodput_tcptrace_bps(true, flow), rel=1e-6
        )
        end = (0, true.duration_ns)
        resent = metrics.retransmits_pkts(true, flow, end)
        assert metrics.retransmits_pkts(found, flow, (0, found.duration_ns)) == resent > 0
        assert found.flows[flow].handshake_rtt_us == pytest.approx(
            true.flows[flow].handshake_rtt_us, abs=2
        )
        assert found.flows[flow].mss_bytes == 1460
        own = metrics.srtt_us(found, flow).mean
        assert own == pytest.approx(metrics.srtt_us(true, flow).mean, rel=0.05)


def test_the_trace_serves_metrics_plots_and_disk_like_a_simulated_one(
    pair: tuple[Path, Trace, Trace], tmp_path: Path
) -> None:
    _, _, found = pair
    table = metrics.flow_table(found)
    assert table["goodput_bps"].sum() == pytest.approx(9.6e6, rel=0.03)
    assert table["cwnd_pkts"].null_count() == table["rtos"].null_count() == 2
    assert metrics.batch_goodputs_bps(found, 0).mean() == pytest.approx(
        metrics.goodput_bps(found, 0)
    )
    again = load_trace(save_trace(found, tmp_path / "t"))
    assert all(again[name].equals(found[name]) for name in found.tables)
    assert load(tmp_path / "t").flows == found.flows
    captured = found["captured"]
    assert (captured["inflight_bytes"] > 60_000).any()
    assert captured["rwnd_bytes"].null_count() == 0
    assert (captured["rtt_min_us"].drop_nulls() >= 40_000).all()


def test_the_side_of_the_sender_is_used_of_a_capture_at_both_hosts(
    pair: tuple[Path, Trace, Trace],
) -> None:
    path, _, found = pair
    assert all((flow.model_extra or {})["capture"]["interface"] == 0 for flow in found.flows)
    assert any("several interfaces" in note for note in found.meta["import"]["notes"])
    far = import_file(path, interface=1)
    ends = [(flow.model_extra or {})["capture"] for flow in far.flows]
    # at the receivers, what was lost never came before, and ACKs follow at once
    assert all(end["retransmits_pkts"] == 0 < end["out_of_order_pkts"] for end in ends)
    assert all(end["sender_side_ns"] > 40 * MS > 10 * end["rtt"]["min_ns"] for end in ends)
    with pytest.raises(HeadwayError, match="capture at the sender"):
        fit(far)


def test_intervals_change_samples_but_no_totals(pair: tuple[Path, Trace, Trace]) -> None:
    path, _, found = pair
    coarse = import_file(path, interval_ns=1000 * MS)
    assert coarse["captured"].height < found["captured"].height / 10
    for column in ("rtt_samples", "echo_samples"):
        assert coarse["captured"][column].sum() == found["captured"][column].sum()


def test_a_comparison_with_the_same_experiment_differs_by_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    true = simulated(path, link="hosts", duration="3 s")
    rows = compared(import_file(path), true.experiment.model_copy(update={"capture": None})).rows
    assert {row.quantity for row in rows} >= {"goodput, kbit/s", "mean RTT, ms", "sent again, %"}
    assert all(row.difference == 0 for row in rows)


def random_path(numbers: random.Random) -> tuple[float, float, int]:
    """Rate in bit/s, RTT in ms and queue in packets of a path."""
    rate_bps = 10 ** numbers.uniform(math.log10(3e6), math.log10(30e6))
    rtt_ms = numbers.uniform(10, 100)
    pkts = round(numbers.uniform(0.5, 2) * rate_bps * rtt_ms / 1000 / 8 / 1500)
    return rate_bps, rtt_ms, max(pkts, 8)


@pytest.mark.parametrize(
    ("seed", "control"),
    [
        *((seed, ("cubic", "reno", "htcp", "bbr")[seed % 4]) for seed in range(3)),
        *(
            pytest.param(seed, ("cubic", "reno", "htcp", "bbr")[seed % 4], marks=pytest.mark.slow)
            for seed in range(3, 20)
        ),
    ],
)
def test_a_fit_finds_the_path_of_a_capture(seed: int, control: str, tmp_path: Path) -> None:
    rate_bps, rtt_ms, pkts = random_path(random.Random(seed))
    topology = Dumbbell(rate=f"{rate_bps:.0f} bit/s", rtt=f"{rtt_ms:.3f} ms", buffer=f"{pkts} pkts")
    path = tmp_path / "a.pcapng"
    simulated(path, topology=topology, flows=f"1x{control}", duration="15 s", seed=seed)
    found = fit(import_file(path, interval_ns=FIT_NS), runs=0)
    assert found.path.rate_bps == pytest.approx(rate_bps, rel=0.02)
    assert found.path.rtt_ns == pytest.approx(rtt_ms * MS, abs=MS)
    assert found.path.loss == 0
    if found.path.is_queue_full:
        assert found.path.buffer_pkts == pytest.approx(pkts, rel=0.15, abs=1.0)
    assert found.experiment.base_rtt_ns == pytest.approx(found.path.rtt_ns, abs=1)


def test_simulations_change_what_a_capture_does_not_show(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    simulated(path, duration="6 s")
    shown = import_file(path, interval_ns=FIT_NS, control="cubic")
    estimated, found = fit(shown, runs=0), fit(shown, runs=12)
    assert (estimated.runs, estimated.errors) == (0, {})
    assert found.runs == 1  # the queue was busy and full
    assert found.path == estimated.path
    assert all(abs(found.errors[name]) < 0.005 for name in ("goodput", "least RTT", "mean RTT"))
    topology = Dumbbell(rate="10 Mbit/s", rtt="40 ms", buffer="200 pkts")
    simulated(path, duration="4 s", topology=topology, flows="1xcubic:rcvbuf=64KiB")
    found = fit(import_file(path, interval_ns=FIT_NS, control="cubic"), runs=12)
    assert not found.path.is_queue_full
    assert found.runs > 1
    assert found.path.rate_bps == pytest.approx(10e6, rel=0.02)


def test_a_connection_that_carries_little_is_not_simulated(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    simulated(path, duration="6 s", flows="1xcubic,1xreno:size=4kB")
    found = fit(import_file(path, interval_ns=FIT_NS))
    assert len(found.experiment.flows) == 1
    assert found.path.rate_bps == pytest.approx(10e6, rel=0.01)


def test_random_losses_are_told_from_a_full_queue(tmp_path: Path) -> None:
    topology = Dumbbell(rate="10 Mbit/s", rtt="40 ms", buffer="4 BDP", loss=0.001)
    simulated(tmp_path / "a.pcapng", topology=topology, duration="20 s", flows="1xbbr")
    found = fit(import_file(tmp_path / "a.pcapng", interval_ns=FIT_NS))
    assert found.path.loss == pytest.approx(0.001, rel=0.6)
    assert found.path.rate_bps == pytest.approx(10e6, rel=0.02)
    assert not found.path.is_queue_full


def test_the_commands_import_compare_and_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, experiment = tmp_path / "a.pcapng", tmp_path / "fitted.json"
    simulated(path, duration="3 s")
    out, plot = tmp_path / "trace", tmp_path / "a.svg"
    assert execute(["import", str(path), "--out", str(out), "--plot", str(plot)]) == 0
    assert "least RTT ms" in capsys.readouterr().out
    assert "in flight (packets)" in plot.read_text()
    assert execute(["fit", str(path), "--save", str(experiment)]) == 0
    assert "base round trip" in capsys.readouterr().out
    described = json.loads(experiment.read_text())
    described["flows"] = "1xcubic"
    experiment.write_text(json.dumps(described))
    both = tmp_path / "both.svg"
    assert execute(["compare", str(out), str(experiment), "--plot", str(both), "--json"]) == 0
    rows = {row["quantity"]: row for row in json.loads(capsys.readouterr().out)}
    assert abs(rows["goodput, kbit/s"]["difference"]) < 0.05
    assert "simulated" in both.read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the format is not known"),
        (b"\xd4\xc3\xb2\xa1", "pcap: file header at byte 0: needs 24 bytes"),
        (struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 64, 147), "no TCP connection with data"),
        (b"\x0a\x0d\x0d\x0a\0\0\0\0", "no TCP connection with data; the file is damaged"),
        (b"\x1f\x8bxx", "unreadable Flent data file"),
        (b"{}", "no result of iperf3 --json"),
        (b"1 2\n", "is not TIME"),
    ],
)
def test_a_file_that_is_no_measurement_is_one_line(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    for arguments in (["import", str(path)], ["fit", str(path)]):
        assert execute(arguments) == 2
        err = capsys.readouterr().err
        assert err.startswith("headway: ")
        assert message in err
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "none.pcap"], "none.pcap: no such file"),
        (["import", "x", "--interval", "0 s"], "interval"),
        (["import", "x", "--control", "nope"], "control"),
        (["fit", "x", "--save", "x.txt"], "save"),
        (["compare", "x", "none.json"], "none.json"),
        (["import", "x", "--plot", "x.gif"], "plot"),
    ],
)
def test_a_wrong_option_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_most_flows_keeps_those_with_most_data(pair: tuple[Path, Trace, Trace]) -> None:
    path, _, found = pair
    one = import_file(path, most_flows=1)
    sizes = [flow.unique_bytes or 0 for flow in found.flows]
    assert [flow.unique_bytes for flow in one.flows] == [max(sizes)]
    assert any("less data" in note for note in one.meta["import"]["notes"])
    assert one["flow_counters"].filter(pl.col("flow") != 0).height == 0
