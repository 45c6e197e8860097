"""Sysctls, attributes of routes and buffers of sockets: what they change, and what is refused."""

from __future__ import annotations

import json
import warnings

import pytest
from host_rows import HOST_ROWS, LONG, HostRow, result

from headway import Experiment, run
from headway.backends.kernel.programs import _buffer_options
from headway.backends.kernel.supported import check
from headway.backends.kernel.testbed import (
    _common,
    _of_all_routes,
    _route_options,
    _settings,
    sides,
)
from headway.cli.app import execute
from headway.digest import digest_of
from headway.errors import ExperimentError, HeadwayError
from headway.experiment import Flow

ROWS = pytest.mark.parametrize("row", HOST_ROWS, ids=str)


@ROWS
def test_a_setting_changes_what_it_changes_on_linux(row: HostRow) -> None:
    usual, with_it = (result(run(row.experiment(with_it=with_it))) for with_it in (False, True))
    assert (round(usual), round(with_it)) == (row.usual, row.sim)
    assert row.usual != row.sim


@ROWS
def test_the_simulator_agrees_with_the_kernel(row: HostRow) -> None:
    assert row.sim == pytest.approx(row.kernel, rel=row.spread)
    assert row.usual != pytest.approx(row.kernel, rel=row.spread)


def experiment(**fields: object) -> Experiment:
    whole = {"topology": {"kind": "dumbbell", **LONG}, "flows": "reno", "duration": "1 s"}
    return Experiment.model_validate({**whole, **fields})


@pytest.mark.parametrize(
    ("option", "goodput_kbps"),
    [
        # 64 KiB become a buffer of 128 KiB, of which 81,920 bytes are window
        ("rcvbuf=64KiB", 6438),
        # without a window scale: 45 segments of 1448 bytes in a round trip
        ("rcvbuf=65535B", 5243),
        # the first window does not limit a long flow
        ("initial_rwnd=65535B", 96_500),
    ],
)
def test_only_a_fixed_buffer_limits_a_long_flow(option: str, goodput_kbps: int) -> None:
    whole = experiment(flows=f"cubic:{option}", duration="30 s", warmup="5 s")
    [flow] = digest_of(run(whole))["flows"]
    assert flow["goodput_bps"] / 1000 == pytest.approx(goodput_kbps, rel=0.01)


def test_values_equal_to_linux_s_defaults_change_nothing() -> None:
    sysctls = {
        "tcp_rmem": "4096 131072 6291456", "tcp_wmem": "4096 16384 4194304", "tcp_ecn": 2,
        "tcp_slow_start_after_idle": 1, "tcp_no_metrics_save": 1, "tcp_frto": 2, "tcp_sack": 1,
        "tcp_early_retrans": 3, "tcp_recovery": 1, "tcp_timestamps": 1, "tcp_window_scaling": 1,
        "tcp_pacing_ss_ratio": 200, "tcp_pacing_ca_ratio": 120, "tcp_notsent_lowat": 2**32 - 1,
        "tcp_rto_min_us": 200_000, "tcp_tso_win_divisor": 3, "tcp_min_tso_segs": 2,
    }  # fmt: skip
    route = {"initcwnd": 10, "rto_min": "200 ms", "quickack": 0}
    flows = "cubic:size=2MB,reno:start=100ms"
    own = run(experiment(flows=flows, duration="4 s"))
    given = run(experiment(flows=flows, duration="4 s", sysctls=sysctls, route_attributes=route))
    assert own.tables["flow_counters"].equals(given.tables["flow_counters"])
    assert own.tables["flow_state"].equals(given.tables["flow_state"])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"sysctls": {"tcp_autocorking": 0}},
            "sysctls: tcp_autocorking: the simulator does not model this sysctl; it models "
            "tcp_slow_start_after_idle, tcp_rmem, ",
        ),
        ({"sysctls": {"tcp_sack": 2}}, "sysctls: tcp_sack: 2 is not allowed; a whole number from"),
        ({"sysctls": {"tcp_sack": "on"}}, "sysctls: tcp_sack: 'on' is not allowed; a whole number"),
        ({"sysctls": {"tcp_sack": True}}, "sysctls: tcp_sack: True is not allowed; a number"),
        ({"sysctls": {"tcp_recovery": 0}}, "sysctls: tcp_recovery: 0 is not allowed; 1, 3, 5, 7"),
        ({"sysctls": {"tcp_rmem": 5000}}, "sysctls: tcp_rmem: 5000 is not allowed; three numbers"),
        (
            {"sysctls": {"tcp_rmem": "4096 6291456 131072"}},
            "sysctls: tcp_rmem: the default 6291456 B is not allowed; at most the maximum, ",
        ),
        ({"sysctls": "tcp_sack=0"}, "sysctls: 'tcp_sack=0' is not allowed; must map names to"),
        (
            {"sysctls": {"tcp_recovery": 1}, "stack": "linux-2.6"},
            "sysctls: tcp_recovery: the stack linux-2.6 does not have this sysctl",
        ),
        (
            {"route_attributes": {"initcwnd": 10}, "flows": "reno:stack=linux-2.6"},
            "route_attributes: initcwnd: the stack linux-2.6 does not have this attribute",
        ),
        (
            {"route_attributes": {"mtu": 1400}},
            "route_attributes: mtu: the simulator does not model this attribute of a route; it "
            "models initcwnd, initrwnd, rto_min, quickack",
        ),
        (
            {"route_attributes": {"rto_min": "1500 us"}},
            "route_attributes: rto_min: 1.5 ms is not allowed; 1 ms to 120 s, in whole",
        ),
        ({"route_attributes": {"rto_min": 50}}, "route_attributes: rto_min: '50' has no unit"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_line(fields: dict[str, object], said: str) -> None:
    with pytest.raises(ExperimentError) as refused:
        experiment(**fields)
    assert str(refused.value).startswith(said)


def test_options_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    fast = ["try", "--duration", "1s", "--json"]
    assert execute([*fast, "--sysctl", "net.ipv4.tcp_sack=0", "--route", "rto_min=50ms"]) == 0
    shown = capsys.readouterr()
    kept = json.loads(shown.out)["experiment"]
    assert kept["sysctls"] == {"tcp_sack": "0"}
    assert kept["route_attributes"] == {"rto_min": "50 ms"}
    for option in (["--sysctl", "tcp_nonsense=1"], ["--sysctl", "tcp_sack"], ["--route", "mtu=9"]):
        assert execute([*fast, *option]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert option[1].partition("=")[0] in line


def test_former_names_of_options_work_with_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    old = "reno:receive_buffer=16KiB:send_buffer=100kB:receive_window=9kB"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flow = Flow.model_validate(old)
    assert [str(one.message).partition(" ")[0] for one in caught] == [
        "receive_buffer", "send_buffer", "receive_window",
    ]  # fmt: skip
    assert flow.rmem == (4096, 16_384, 6 << 20)
    assert flow.wmem == (4096, 100_000, 100_000)
    assert flow.initial_rwnd == 9000
    assert execute(["try", "--duration", "1s", "--flows", "cubic:send_buffer=64KiB"]) == 0
    [line] = [line for line in capsys.readouterr().err.splitlines() if "another name" in line]
    assert line == (
        "headway: warning: send_buffer has another name since 0.2; write wmem=4096B/65536B/65536B"
    )
    with pytest.raises(ExperimentError, match="send_buffer: cannot be used with wmem"):
        Flow.model_validate("reno:send_buffer=64KiB:wmem=4KiB/8KiB/16KiB")


def test_the_kernel_backend_sets_the_same() -> None:
    whole = experiment(
        flows="reno:rmem=4KiB/8KiB/16KiB:sack=off:rcvbuf=64KiB:sndbuf=32KiB",
        sysctls={"tcp_rmem": "4096 65536 131072", "tcp_timestamps": 0},
        route_attributes={"initcwnd": 20, "rto_min": "1 s"},
    )
    [flow], [side] = whole.flows, sides(whole)
    assert _common(whole)["tcp_rmem"] == "4096 65536 131072"
    assert _common(whole)["tcp_wmem"] == "4096 16384 4194304"
    assert _common(whole)["tcp_timestamps"] == "0"
    assert _settings(whole, side, is_left=True) == [
        "net.ipv4.tcp_sack=0",
        "net.ipv4.tcp_rmem=4096 8192 16384",
    ]
    assert _of_all_routes(whole) == {"initcwnd": "20", "rto_min": "1000ms"}
    assert _buffer_options(flow) == ["--rcvbuf", "65536", "--sndbuf", "32768"]
    announced = flow.model_copy(update={"initial_rwnd": 146_000, "rmem": None})
    whole = whole.model_copy(update={"flows": (announced,)})
    [side] = sides(whole)
    assert "net.ipv4.tcp_rmem=4096 292000 292000" in _settings(whole, side, is_left=True)
    # without timestamps a segment has 1460 bytes
    assert _route_options(whole, side)[-2:] == ["initrwnd", "100"]


def test_the_kernel_backend_refuses_buffers_that_its_programs_do_not_set() -> None:
    flow = {"control": "reno", "rcvbuf": "64 KiB", "app": {"kind": "bulk"}, "relay": 1}
    hop = {"forward": {"rate": "5Mbit/s", "delay": "10 ms", "buffer": "20000 B"}}
    relayed = experiment(topology={"kind": "chain", "hops": [hop, hop]}, flows=[flow])
    with pytest.raises(HeadwayError, match="rcvbuf: not with programs that do not set it"):
        check(relayed)
