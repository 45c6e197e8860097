"""The benchmark of whole processes: what it reads and how it judges."""

from __future__ import annotations

import pytest
import try_bench
from try_bench import Case, Measured


def test_a_process_is_measured_from_its_start_to_its_end():
    found = try_bench.run(Case("1 s", 2, "10Mbit/s", "2s"))
    # the link carries 10 Mbit/s in packets of 1500 bytes; Python with the engine uses over 10 MB
    assert found.pkts_per_s * found.wall_s == pytest.approx(10e6 * 2 / 8 / 1500, rel=0.25)
    assert 10 < found.peak_mb < 500


def test_a_failure_says_what_was_run_and_why():
    with pytest.raises(RuntimeError, match="1 flows, x: headway: "):
        try_bench.run(Case("x", 1, "10", "2s"))


def test_only_what_has_a_target_can_be_missed():
    slow = Measured(20, 20, 1e6, 300)
    assert try_bench.misses(Case("", 1, "", ""), slow) == []
    assert try_bench.misses(Case("", 1, "", "", 2.5e6, 12, 150), slow) == [
        "packets per second below 2,500,000",
        "longer than 12 s",
        "more than 150 MB",
    ]
    assert try_bench.median([slow, Measured(1, 2, 3, 4), Measured(2, 3, 4, 5)]) == Measured(
        2, 3, 4, 5
    )
