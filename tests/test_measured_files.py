"""Files of Flent, iperf3, Mahimahi and Pantheon, as their documentation describes them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from headway import metrics
from headway.cli.app import execute
from headway.errors import HeadwayError
from headway.imports import import_file
from headway.trace import Trace

MS = 1_000_000


def flent(**changes: Any) -> dict[str, Any]:
    """A test of one upload, with a ping and a sum of all uploads."""
    return {
        "version": 4,
        "metadata": {
            "TITLE": "home",
            "SERIES_META": {
                "TCP upload::1": {"UNITS": "Mbits/s"},
                "TCP upload::1::tcp_cwnd": {"UNITS": ""},
                "TCP upload::1::tcp_rtt": {"UNITS": "ms"},
                "TCP upload sum": {"UNITS": "Mbits/s"},
                "Ping (ms) ICMP": {"UNITS": "ms"},
            },
        },
        "x_values": [0.5, 1.0, 1.5, 2.0],
        "results": {
            "TCP upload::1": [None, 8.0, 8.0, 4.0],
            "TCP upload::1::tcp_cwnd": [10, 20, 20, None],
            "TCP upload::1::tcp_rtt": [20.0, 25.0, 30.0, None],
            "TCP upload sum": [None, 8.0, 8.0, 4.0],
            "Ping (ms) ICMP": [18.0, 24.0, None, 31.0],
        },
        "raw_values": {},
        **changes,
    }


def imported_flent(path: Path, data: dict[str, Any]) -> Trace:
    path.write_bytes(gzip.compress(json.dumps(data).encode()))
    return import_file(path)


def test_flents_rates_windows_and_pings_become_a_trace(tmp_path: Path) -> None:
    trace = imported_flent(tmp_path / "a.flent.gz", flent())
    assert [flow.name for flow in trace.flows] == ["TCP upload::1"]
    assert metrics.goodput_bps(trace, 0, (0, 2_000 * MS)) == 5e6
    assert trace["flow_state"]["cwnd_pkts"].to_list() == [10, 20, 20, None]
    assert trace["flow_state"]["srtt_us"].to_list() == [20_000, 25_000, 30_000, None]
    assert trace.experiment.topology.rtt == 18 * MS  # type: ignore[union-attr]
    assert trace.experiment.topology.rate == 8_000_000  # type: ignore[union-attr]
    assert any("Ping" in note for note in trace.meta["import"]["notes"])


def test_flents_delays_are_datagrams_and_files_without_units_are_read_by_name(
    tmp_path: Path,
) -> None:
    owd = {"TCP upload::1": [1.0] * 4, "OWD (ms)::call": [9.0, 11.0, 12.0, None]}
    data = flent(metadata={}, results=owd)
    trace = imported_flent(tmp_path / "a.flent.gz", data)
    assert metrics.owd_us(trace, 1).tolist() == [9000, 11_000, 12_000]
    with pytest.raises(HeadwayError, match="no series in Mbits/s"):
        imported_flent(tmp_path / "b.flent.gz", flent(results={"x": [1.0] * 4}))


def iperf3(**changes: Any) -> dict[str, Any]:
    def stream(start: float, sent: int, **more: Any) -> dict[str, Any]:
        return {
            "socket": 5, "start": start, "end": start + 1, "seconds": 1.0, "bytes": sent,
            "bits_per_second": sent * 8.0, "retransmits": 2, "snd_cwnd": 14_480, "rtt": 25_000,
            "omitted": False, "sender": True, **more,
        }  # fmt: skip

    return {
        "start": {
            "connected": [{"socket": 5, "local_host": "10.0.0.1", "local_port": 40_000,
                           "remote_host": "10.0.0.2", "remote_port": 5201}],
            "tcp_mss_default": 1448,
            "test_start": {"protocol": "TCP", "num_streams": 1, "duration": 3},
        },
        "intervals": [
            {"streams": [stream(0, 9_000_000, omitted=True)], "sum": {}},
            {"streams": [stream(0, 1_000_000)], "sum": {}},
            {"streams": [stream(1, 2_000_000)], "sum": {}},
        ],
        "end": {
            "streams": [{"sender": {"socket": 5, "bytes": 3_000_000, "min_rtt": 20_000},
                         "receiver": {"bytes": 2_900_000}}],
            "sender_tcp_congestion": "cubic",
        },
        **changes,
    }  # fmt: skip


def imported_iperf3(path: Path, data: Any) -> Trace:
    path.write_text(json.dumps(data))
    return import_file(path)


def test_iperf3s_streams_become_flows(tmp_path: Path) -> None:
    trace = imported_iperf3(tmp_path / "a.json", iperf3())
    (flow,) = trace.flows
    assert (flow.name, flow.control) == ("10.0.0.1:40000-10.0.0.2:5201", "cubic")
    assert flow.unique_bytes == 2_900_000
    assert metrics.goodput_bps(trace, 0) == 12e6
    assert metrics.retransmits_pkts(trace, 0, (0, trace.duration_ns)) == 4
    assert trace["flow_state"]["cwnd_pkts"].to_list() == [10, 10]
    assert trace.experiment.topology.rtt == 20 * MS  # type: ignore[union-attr]
    other = iperf3()
    other["end"]["sender_tcp_congestion"] = "lp"
    assert imported_iperf3(tmp_path / "b.json", other).flows[0].control == "kernel:lp"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"error": "unable to connect"}, "iperf3 ended with an error: unable to connect"),
        ({"intervals": []}, "no flow with data"),
        ({"intervals": [{"streams": [{}]}]}, "no 'socket' in it"),
        ({"intervals": 3}, "no result of iperf3"),
        ({"start": {"test_start": {"protocol": "UDP"}}}, "protocol: UDP is not supported"),
    ],
)
def test_other_json_is_refused_in_one_line(
    changes: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(iperf3(**changes)))
    assert execute(["import", str(tmp_path / "a.json")]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


MAHIMAHI = """\
# mahimahi mm-link (uplink) [trace] > log
# command line: mm-link trace trace
# queue: droptail [packets=2]
# init timestamp: 1
# base timestamp: 100
100 # 1504
100 + 1500
101 + 1500
102 + 1500
102 d 1 1500
110 # 1504
110 - 1500 10
121 # 1504
121 - 1500 20
200 # 1504
"""


def test_mahimahis_events_become_a_flow_and_a_queue(tmp_path: Path) -> None:
    (tmp_path / "uplink.log").write_text(MAHIMAHI)
    trace = import_file(tmp_path / "uplink.log")
    assert trace.duration_ns == 100 * MS
    assert trace["queue"]["queue_pkts"].to_list() == [1, 2, 3, 2, 1, 0]
    assert trace["drops"]["ip_bytes"].to_list() == [1500]
    assert metrics.owd_us(trace, 0).tolist() == [10_000, 20_000]
    assert metrics.throughput_bps(trace, 0) == 3000 * 8 / 0.1
    assert trace.experiment.topology.rate == 481_280  # type: ignore[union-attr] # 4 x 1504 B


def pantheon(folder: Path, *schemes: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "pantheon_metadata.json").write_text(json.dumps({"flows": 2, "runtime": 1}))
    for scheme in schemes:
        (folder / f"{scheme}_datalink_run1.log").write_text(
            "# base timestamp: 0\n0.5 # 3008\n"
            + "".join(f"{t}.25 + 1400 {1 + t % 2}\n{t}.75 - 1400 0.5 {1 + t % 2}\n"
                      for t in range(1, 201))
        )  # fmt: skip


def test_pantheons_flows_have_the_schemes_control(tmp_path: Path) -> None:
    pantheon(tmp_path, "cubic")
    trace = import_file(tmp_path)
    assert [flow.name for flow in trace.flows] == ["cubic-1", "cubic-2"]
    assert {flow.control for flow in trace.flows} == {"cubic"}
    assert trace.meta["import"]["pantheon"] == {"flows": 2, "runtime": 1}
    assert [flow.unique_bytes for flow in trace.flows] == [140_000, 140_000]
    pantheon(tmp_path, "bbr")
    with pytest.raises(HeadwayError, match=r"2 runs; import one of its files: bbr_datalink"):
        import_file(tmp_path)
    assert import_file(tmp_path / "bbr_datalink_run1.log").flows[0].control == "bbr"
    (tmp_path / "empty").mkdir()
    with pytest.raises(HeadwayError, match="no trace"):
        import_file(tmp_path / "empty")


@pytest.mark.parametrize(
    "line", ["5 ? 1500", "x + 1500", "5 +", "5 + -3", "5 + nan", "nan + 1500", "5 d 1", '"5 + 1']
)
def test_a_wrong_event_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(f"1 + 1500\n2 - 1500 1\n{line}\n")
    with pytest.raises(HeadwayError, match=r"event 2: .* is not TIME"):
        import_file(tmp_path / "a.log")


def test_cite_prints_bibtex_of_the_tool_and_of_sources(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["cite", "cubic+jump-start", "hybla"]) == 0
    out = capsys.readouterr().out
    assert out.count("@misc{") == 5
    assert "url = {https://www.rfc-editor.org/info/rfc9438}" in out
    citation = (Path(__file__).parents[1] / "CITATION.cff").read_text()
    (author,) = (line.split(": ")[1] for line in citation.splitlines() if "- name:" in line)
    assert f"author = {{{{{author}}}}}" in out
    assert execute(["cite", "nope"]) == 2
    assert "'nope' is no algorithm" in capsys.readouterr().err


def test_the_style_of_figures_has_a_name_in_matplotlib() -> None:
    import matplotlib as mpl
    import matplotlib.style

    from headway.figures import style

    with mpl.rc_context():
        matplotlib.style.use("headway.paper")
        assert mpl.rcParams["pdf.fonttype"] == 42
        cycle = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
    colours = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY)
    assert cycle == list(colours)
