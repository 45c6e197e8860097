"""MaxNet's study: values from traces and captures, checked by hand."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support import S, experiment, trace

from headway.backends.sim import SimBackend
from headway.studies.maxnet import STUDY, claims, experiments, fit
from headway.studies.maxnet.experiments import _course, _in_slots, _lossy, _raw_course, wire
from headway.study import StudyContext


def states(*rows: tuple[float, int, int]) -> pl.DataFrame:
    """(time in s, packets in flight, smoothed RTT in ms); 0 ms: no sample yet."""
    return pl.DataFrame(
        [(int(at * S), flight, rtt * 1000 or None) for at, flight, rtt in rows],
        schema={"time_ns": pl.Int64, "inflight_pkts": pl.UInt32, "srtt_us": pl.UInt32},
        orient="row",
    )


def test_a_course_is_the_mean_over_time_in_slots() -> None:
    rows = states((0.5, 2, 0), (1.0, 4, 20), (2.25, 8, 40), (2.5, 8, 60))
    seen = _course(rows, "srtt_us", 1.0, 4 * S) / 1e3
    assert math.isnan(seen[0])
    assert seen[1:] == pytest.approx([20, 0.25 * 20 + 0.25 * 40 + 0.5 * 60, 60])


def test_raw_throughput_is_what_is_in_flight_by_the_rtt() -> None:
    rows = states((0.5, 20, 30), (1.0, 20, 30), (2.0, 25, 30))
    seen = _in_slots(_raw_course(rows, np.full(120, 30.0), 3 * S), 1.0)
    assert seen == pytest.approx([10 * 12e-3 / 0.03, 20 * 12e-3 / 0.03, 25 * 12e-3 / 0.03])


def test_what_losses_left_of_windows() -> None:
    rows = [(0, S, 20, None, 28_000, 20, 0), (0, 2 * S, 19, 10, 28_000, 18, 0)]
    rows += [(0, 3 * S, 1, 12, 28_000, 0, 4), (0, 4 * S, 2, 12, 28_000, 0, 4)]
    rows += [(0, 5 * S, 1, 2, 28_000, 0, 4), (0, 6 * S, 9, 2, 28_000, 0, 4)]
    of = experiment(flows=[{"control": "reno"}], duration="10 s", warmup="0 s")
    tables = {
        "flow_state": rows,
        "backoffs": [
            (0, 2 * S, 0, 20, 10),
            (0, 3 * S, 1, 24, 12),
            (0, 4 * S, 0, 2, 2),  # undone
            (0, 4 * S, 3, 2, 2),
            (0, 5 * S, 1, 2, 2),  # too small to be halved
        ],
        "flow_counters": [(10 * S, 0, 10_000_000, 0, 0, 0, 0)],
    }
    seen = _lossy(trace(tables, of=of))
    assert seen.goodput_mbps == 8.0
    assert seen.kept == pytest.approx([0.95])
    assert seen.timeouts_kept == pytest.approx([0.5])
    assert seen.timeouts_cwnd_pkts == pytest.approx([1])


def block(kind: int, body: bytes) -> bytes:
    """A block of pcapng."""
    body += b"\0" * (-len(body) % 4)
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def test_options_are_read_from_a_capture() -> None:
    options = bytes([1, 1, 5, 18]) + bytes(16) + bytes([42, 8, 0, 0x2E, 0xE0, 0, 0, 1])
    tcp = bytes(12) + bytes([(20 + len(options)) // 4 << 4]) + bytes(7) + options
    packet = bytes([0x45]) + bytes(19) + tcp
    capture = block(0x0A0D0D0A, bytes(16)) + block(
        6, struct.pack("<IIIII", 0, 0, 0, len(packet), len(packet)) + packet
    )
    of = experiment(flows=[{"control": "reno"}], duration="10 s", warmup="0 s")
    seen = wire(trace({}, of=of, capture=capture))
    assert seen.lengths_bytes == pytest.approx([8])
    assert (seen.echoes[0], seen.prices[0]) == (12000, 1)
    assert seen.sack_blocks == pytest.approx([2])


def test_every_claim_of_table_i_has_its_published_value() -> None:
    by_id = {one.id: one for one in STUDY.statements}
    assert by_id["C-MN-001"].published == "8.89 Mbit/s"
    assert by_id["C-MN-011"].published == "4.13 Mbit/s"
    assert by_id["C-MN-018"].published == "1.21 Mbit/s"
    assert len(by_id) == 47
    assert set(claims.TABLE_I) == set(experiments.CONTROLS)


@pytest.mark.slow
def test_fast_has_the_alpha_that_the_fit_finds() -> None:
    ctx = StudyContext(Path(), SimBackend(), quick=True)
    assert fit.ALPHA.best(ctx) == experiments.FAST_ALPHA_PKTS
    [calibrated] = [one for one in STUDY.statements if one.calibrated]
    assert calibrated.id in fit.ALPHA.fitted_to
    assert calibrated.basis("simulated") == "calibrated"


def test_a_mean_rtt_that_does_not_exceed_the_printed_one_is_ruled_out() -> None:
    assert fit.excess({fit.FOUR: 200.0}) == math.inf
    assert fit.excess({fit.FOUR: 210.0}) == pytest.approx(0.05)
