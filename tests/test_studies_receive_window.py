"""The study receive-window: what it derives from windows and from data over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made_up
import numpy as np
import pytest

from headway.claims import Claim
from headway.studies.receive_window import STUDY
from headway.studies.receive_window.experiments import Transfer


def transfer(**changes: Any) -> Transfer:
    """A made-up trial: cwnd begins at 10 kB and doubles every 100 ms; the receive window is twice
    cwnd."""
    windows = [
        {"time_us": 100_000 * n, "cwnd_bytes": 10_000 * 2**n, "window_bytes": 20_000 * 2**n}
        for n in range(8)
    ]
    arrived = [[200_000, 0], [300_000, 500_000], [500_000, 1_000_000]]
    return Transfer.of(
        {
            "took_us": 500_000,
            "windows": windows,
            "arrived": arrived,
            "window_limited_us": 1000,
            "retransmits_pkts": 0,
            **changes,
        }
    )


def judged(tmp_path: Path, rows: dict[str, Any]) -> dict[str, Claim]:
    ctx = made_up.context(tmp_path)
    return {claim.id: claim for claim in STUDY.judge(ctx, STUDY.gather(ctx, rows))}


def test_the_window_counts_beside_the_cwnd_of_the_same_moment_while_it_grows() -> None:
    # only windows below 250 kB, which the link carries in a round trip, are compared: 10 to 160 kB,
    # but not 320 kB
    assert transfer().window_by_cwnd().tolist() == [2.0] * 5
    # half a round trip earlier cwnd was half as large, and before the first round there was none
    assert transfer().window_by_cwnd(0.1).tolist() == [4.0] * 5


def test_data_has_arrived_when_so_much_of_it_was_read() -> None:
    shares = (0.25, 0.5, 0.75, 1.0)
    assert [transfer().reached_s(share) for share in shares] == pytest.approx([0.25, 0.3, 0.4, 0.5])


def test_values_that_the_kernel_lacks_are_null() -> None:
    assert np.isnan(transfer(window_limited_us=None).window_limited_s)


def test_the_verdicts_on_starts_that_only_double(tmp_path: Path) -> None:
    ctx = made_up.context(tmp_path)
    claims = judged(tmp_path, made_up.rows("receive-window", ctx))
    assert {claim.verdict for claim in claims.values()} == {"holds"}
    assert claims["C-TH-035"].measured == "2.00 (2.00 to 2.00)"
    # the made-up first window is now four packets instead of two
    least, _, most, *_ = str(claims["C-TH-036"].measured).split()
    assert [float(least), float(most)] == pytest.approx([1.0, 1.0], abs=0.1)


def test_a_window_that_is_seldom_twice_cwnd_is_not_about_twice(tmp_path: Path) -> None:
    ctx = made_up.context(tmp_path)
    rows = made_up.rows("receive-window", ctx)
    for one in rows["slow-start"]["rounds"]:
        for number, seen in enumerate(one["windows"]):
            if number % 5 > 2:  # the median stays
                seen["window_bytes"] *= 3
    claim = judged(tmp_path, rows)["C-TH-035"]
    assert (claim.verdict, claim.measured) == ("fails", "2.00 (2.00 to 6.00)")


def test_every_case_says_what_it_is_to_the_bench(tmp_path: Path) -> None:
    commands = STUDY.commands(made_up.context(tmp_path))
    assert {made_up.option(one, "--initial-window") for one in commands.values()} == {"2"}
    small = {key for key, one in commands.items() if "--first-window" in one}
    assert small == {"slow-start", "sender-only", "beyond-window"}
    assert {key for key, one in commands.items() if "--ignore-peer" in one} == {"beyond-window"}
    assert "--extra-ack" not in commands["initiator"]
    assert {*commands["initiator-extra-ack"]} - {*commands["initiator"]} == {"--extra-ack", "1MB"}
