"""Startup behaviour: values from a link's counters and from windows, checked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support import S, experiment, trace

from headway.studies.common import lab
from headway.studies.startup_behaviour.observe import Response, Scheme, Upload, observe

MS = S // 1000
HANDSHAKE_MS, RTT_MS = 200, 200


def counters(link: int, rates_mbps: list[tuple[int, float]], until_ms: int) -> list[tuple]:
    """A link's counters every 10 ms, from steps of (start of the step in ms, IP rate in Mbit/s)."""
    times_ms = np.arange(0, until_ms, 10)
    rate = np.zeros(times_ms.size)
    for begin_ms, mbps in rates_mbps:
        rate[times_ms >= begin_ms] = mbps
    total = np.concatenate([[0.0], np.cumsum(rate[:-1] * 1e6 * 0.01 / 8)])
    return [
        (int(t) * MS, link, 0, 0, 0, int(sent), 0, 0, 0)
        for t, sent in zip(times_ms, total, strict=True)
    ]


def made(tables: dict[str, list[tuple]]) -> object:
    one = trace(tables, of=experiment(flows="1xreno", stack="linux-2.6"))
    flow = one.flows[0].model_copy(update={"handshake_rtt_us": HANDSHAKE_MS * 1000})
    return type(one)(one.tables, (flow,), one.links, one.meta)


def test_a_paced_start_and_a_window_after_idle_are_told_apart() -> None:
    # made up: 5 Mbit/s from 300 ms on, then the link's rate; after the idle time a burst, and then
    # 2.5 Mbit/s
    rates = [(300, 5.0), (500, 9.76), (2000, 0.0), (5300, 1.8), (5320, 0.0), (5500, 2.5), (7000, 0)]
    responses = [(0, 0, 0, 2 * S), (0, 1, 5200 * MS, 7 * S)]
    link = counters(lab.DOWNLINK, rates, 8000)
    seen = observe("quick-start", made({"responses": responses, "link_counters": link}))
    assert isinstance(seen, Scheme)
    first, after = seen.downloads
    assert seen.grants == 0
    assert (first.response_s, after.response_s) == pytest.approx((1.8, 1.8))
    assert first.first_round_bytes == pytest.approx(5e6 * 0.2 / 8 * 1448 / 1500, rel=0.01)
    assert after.first_round_bytes == pytest.approx(3 * 1448, rel=0.05)
    assert (first.paced_bps, after.paced_bps) == pytest.approx((5e6, 2.5e6), rel=0.02)
    assert first.full_after_s == pytest.approx(0.4)
    assert first.full_after_request_s == pytest.approx(0.1 + 0.4 + 0.1)
    assert math.isnan(after.full_after_s)
    # the fourth packet leaves after a round trip and a pacing gap
    assert after.fast_after_request_s == pytest.approx(0.3 + 0.01, abs=0.011)


def test_an_uploads_window_is_read_while_paced_and_after() -> None:
    windows = [(205, 85), (399, 85), (402, 45), (403, 46), (590, 90), (700, 30)]
    state = [(0, ms * MS, cwnd, None, 0, 0, 0) for ms, cwnd in windows]
    link = counters(0, [(200, 5.0), (300, 0.0)], 1000)
    seen = observe("upload", made({"flow_state": state, "link_counters": link}))
    assert seen == Upload(pytest.approx(62500 * 1448 / 1500), 85, 45)


def test_the_smaller_queue_has_one_response() -> None:
    seen = observe("small-200", made({"responses": [(0, 0, 0, 2 * S)]}))
    assert seen == Response(pytest.approx(1.8))
