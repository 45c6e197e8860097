"""Tests ``headway try --backend kernel``: downloads take as long as in the simulator.

The tolerances at the assertions allow for a busy machine. A late run is repeated.
"""

import statistics
from pathlib import Path

import pytest
from real_time import in_real_time, note_late
from support import on_kernel
from test_try import run, tried

LINE = [
    *("--rate", "50Mbit/s", "--rtt", "80ms", "--buffer", "1BDP", "--quick-start"),
    *("--apart", "1s", "--duration", "4s", "--flows"),
    "cubic+hystart:size=1MB,cubic+jump-start:size=1MB:announces=on,"
    "cubic+mega-start:size=1MB:initial_rate=50Mbit/s,"
    "cubic+quick-start:size=1MB:initial_rate=50Mbit/s:announces=on",
]
REPEATS = 3


def times_ms(result: dict) -> list[float]:
    return [flow["fct_us"] / 1e3 for flow in result["flows"]]


@on_kernel
@in_real_time
def test_the_kernels_downloads_take_what_the_simulators_do(capfd) -> None:
    """Test downloads of 1 MB over 50 Mbit/s and 80 ms with four startups, three runs each."""
    found = []
    for _ in range(REPEATS):
        result = tried(capfd, *LINE, "--beside", "kernel")
        note_late(result["warnings"])
        found.append(times_ms(result["beside"]))
    medians = [statistics.median(each) for each in zip(*found, strict=True)]
    assert medians == pytest.approx(times_ms(result), rel=0.05)
    # on both backends, the startup hystart is the slowest, and the two startups that pace at the
    # full rate are the fastest
    assert medians[0] > medians[3] > max(medians[1:3])


@on_kernel
@in_real_time
def test_a_control_of_the_kernels_own_fills_the_link(capfd) -> None:
    there = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    own = "bbr" if "bbr" in there else "cubic"
    options = ["--rate", "5Mbit/s", "--rtt", "20ms", "--duration", "3s", "--warmup", "1s"]
    name = f"kernel:{own}"
    result = tried(capfd, *options, "--backend", "kernel", "--control", name)
    note_late(result["warnings"])
    [flow] = result["flows"]
    assert (flow["cc"], flow["startup"]) == (f"kernel:{own}", None)
    assert flow["goodput_bps"] > 3.5e6


@on_kernel
def test_a_control_that_the_kernel_has_not_is_one_line_that_says_what_it_has(capfd) -> None:
    status, out, err = run(capfd, "try", "--backend", "kernel", "--control", "nosuch")
    assert (status, out) == (3, "")
    assert "this kernel has no control 'nosuch'; it has " in err
    assert "modprobe tcp_nosuch" in err
    assert err.count("\n") == 1
