"""The closed forms: published numbers, limits they must obey, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from headway import models

PATH = {"mss_bytes": 1448, "rtt_s": 0.2}
HOME_LINK = {
    "rate_bps": 1e6,
    "base_rtt_s": 0.05,
    "buffer_bytes": 60_000,
    "packet_bytes": 1500,
    "cross_traffic_bps": 74_400,
    "segments_per_ack": 2,
}


def test_sqrt_model_window_at_one_percent_is_12_packets() -> None:
    bps = models.reno_sqrt_bps(0.01, **PATH)
    assert float(bps) * 0.2 / (8 * 1448) == pytest.approx(math.sqrt(150), rel=1e-12)


def test_pftk_tends_to_the_sqrt_model_when_loss_vanishes() -> None:
    p = np.array([1e-8, 1e-7])
    ratio = models.reno_pftk_bps(p, rto_s=0.4, **PATH) / models.reno_sqrt_bps(p, **PATH)
    assert ratio == pytest.approx(1, abs=1e-3)
    assert np.all(ratio < 1)


def test_pftk_adds_the_timeout_term_outside_the_root() -> None:
    # Eq. 4.7 by hand for p = 0.1, b = 1: the square root is sqrt(0.2/3) = 0.258199, the factor
    # min(1, 3 sqrt(0.0375)) is 0.580948, and f = 0.4 * 0.580948 * 0.1 * 1.32 = 0.030674 s.
    bps = models.reno_pftk_bps(0.1, rto_s=0.4, **PATH)
    assert float(bps) == pytest.approx(1448 * 8 / (0.2 * 0.2581989 + 0.0306741), rel=1e-5)


def test_pftk_is_capped_by_the_window() -> None:
    bps = models.reno_pftk_bps(1e-6, rto_s=0.4, max_window_pkts=10, **PATH)
    assert float(bps) == pytest.approx(10 * 1448 * 8 / 0.2)


def test_cubic_constant_is_the_1_17_of_the_equation() -> None:
    # draft-rhee-tcpm-cubic prints these windows at 100 ms: 209 packets at a loss of 1e-4, 6602 at
    # 1e-6.
    bps = models.cubic_response_bps(np.array([1e-4, 1e-6]), mss_bytes=1448, rtt_s=0.1)
    assert bps * 0.1 / (1448 * 8) == pytest.approx([209, 6602], rel=2e-3)


def test_compound_window_is_64_packets_at_one_in_a_thousand() -> None:
    bps = models.compound_response_bps(1e-3, **PATH)
    assert float(bps) * 0.2 / (1448 * 8) == pytest.approx(64, rel=5e-3)


def test_a_cycle_has_the_closed_forms_of_reno_scalable_and_compound() -> None:
    reno = models.cycle(1e-3, lambda w, _: np.ones_like(w), kept=0.5)
    assert reno.mean_pkts == pytest.approx(math.sqrt(1.5 / 1e-3), rel=1e-3)
    assert reno.rounds == pytest.approx(reno.before_pkts / 2, rel=1e-6)
    scalable = models.cycle(1e-4, lambda w, _: 0.01 * w, kept=7 / 8)
    assert scalable.before_pkts == pytest.approx(0.08 / 1e-4, rel=1e-3)
    assert scalable.rounds == pytest.approx(math.log(8 / 7) / 0.01, rel=1e-3)
    compound = models.cycle(1e-3, lambda w, _: w**0.75 / 8, kept=0.5)
    published = models.compound_response_bps(1e-3, **PATH) * 0.2 / (8 * 1448)
    assert compound.mean_pkts == pytest.approx(float(published), rel=1e-3)


def test_a_pause_after_a_loss_lowers_the_mean_by_its_round_trip() -> None:
    """Scalable TCP by hand, with window W at the loss, W (b/a + pause kept) = 1/p.

    The packets are sent in ln(8/7)/a + pause round trips; kept = 7/8, b = 1 - kept and a = 0.01.
    """
    paused = models.cycle(1e-4, lambda w, _: 0.01 * w, kept=7 / 8, pause_rounds=1)
    assert paused.before_pkts == pytest.approx(1e4 / (12.5 + 7 / 8), rel=1e-3)
    assert paused.mean_pkts == pytest.approx(1e4 / (math.log(8 / 7) / 0.01 + 1), rel=1e-3)


def test_a_cycle_may_keep_a_part_that_depends_on_the_window() -> None:
    fixed, free = (
        models.cycle(1e-4, lambda w, _: np.ones_like(w), kept=kept)
        for kept in (0.5, lambda before: 0.5 + 0 * before)
    )
    assert fixed == free


def test_bic_is_back_at_the_window_of_the_loss_in_53_round_trips() -> None:
    """BIC from 800 to 1000 packets by hand, in three phases.

    (200 - 63)/16 round trips with the largest increment, 4 (1/15 + ... + 1/2) round trips with a
    quarter of the gap, and five round trips for each of the last seven packets.
    """
    windows = np.linspace(800, 1000, 200_001)
    middle = (windows[1:] + windows[:-1]) / 2
    rounds = float((np.diff(windows) / models.bic_growth(middle, 1000)).sum())
    assert rounds == pytest.approx(137 / 16 + 4 * sum(1 / d for d in range(2, 16)) + 35, rel=1e-3)
    with pytest.raises(ValueError, match="windows_pkts must be at most"):
        models.bic_growth(windows, 999)
    with pytest.raises(ValueError, match="loss: no window"):
        models.cycle(1e-30, lambda w, _: np.ones_like(w), kept=0.5)


def test_compound_function_is_the_mean_of_its_sawtooth() -> None:
    """Simulates a window W that grows by W^0.75 / 8 per round trip and is halved at a loss."""
    loss, window, sent, rounds = 1e-3, 40.0, [], 0
    for _ in range(50):
        since = 0.0
        while since < 1 / loss:
            since += window / 100
            window += window**0.75 / 8 / 100
            rounds += 1
        sent.append(since)
        window /= 2
    mean = sum(sent) / (rounds / 100)
    bps = models.compound_response_bps(loss, **PATH)
    assert float(bps) * 0.2 / (1448 * 8) == pytest.approx(mean, rel=0.01)


def test_random_losses_leave_cubic_more_than_its_equation_has() -> None:
    """Eq. 4.9 assumes exactly 1/p packets between losses; with random losses at the same p,
    throughput is 26 % higher.
    """
    shares = {fast: _random_cubic_share(1e-3, fast_convergence=fast) for fast in (False, True)}
    assert shares == {False: pytest.approx(1.26, abs=0.02), True: pytest.approx(1.17, abs=0.02)}


def _random_cubic_share(loss: float, *, fast_convergence: bool) -> float:
    """Throughput of CUBIC's curve with random loss, divided by the throughput of eq. 4.9."""
    rtt_s, c, b, flows = 0.2, 0.4, 0.2, 500
    chance = np.random.default_rng(1)
    step_s = rtt_s / 2
    now, k = np.zeros(flows), np.zeros(flows)
    plateau = np.full(flows, 60.0)
    left, sent = chance.exponential(1 / loss, flows), 0.0
    steps = int(200 / step_s)
    for step in range(2 * steps):
        window = plateau + c * (now - k) ** 3
        left -= window * step_s / rtt_s
        sent += float(window.sum()) * step_s / rtt_s if step >= steps else 0.0
        now += step_s
        lost = left <= 0
        left[lost] = chance.exponential(1 / loss, int(lost.sum()))
        gives_way = fast_convergence & (window < plateau)
        wanted = np.where(gives_way, window * (1 - b / 2), window)
        k = np.where(lost, np.cbrt((wanted - (1 - b) * window) / c), k)
        plateau, now = np.where(lost, wanted, plateau), np.where(lost, 0.0, now)
    equation = models.cubic_response_bps(loss, mss_bytes=1448, rtt_s=rtt_s)
    return sent / (flows * steps * step_s) * 8 * 1448 / float(equation)


@pytest.mark.parametrize(
    ("function", "exponent"),
    [
        (lambda p: models.reno_sqrt_bps(p, **PATH), -0.5),
        (lambda p: models.cubic_response_bps(p, **PATH), -0.75),
        (lambda p: models.compound_response_bps(p, **PATH), -0.8),
    ],
)
def test_response_falls_with_the_published_power_of_loss(
    function: Callable[[np.ndarray], np.ndarray], exponent: float
) -> None:
    low, high = function(np.array([1e-5, 1e-3]))
    assert math.log(high / low, 100) == pytest.approx(exponent)


def test_detection_takes_three_more_messages_or_a_timeout() -> None:
    assert models.detection_time_s(rtt_s=0.1, interval_s=0.01) == pytest.approx(0.13)
    assert models.detection_time_s(rtt_s=0.1, interval_s=1.0) == pytest.approx(0.3)


def test_head_of_line_delay_is_the_sum_of_all_waits() -> None:
    t_det = 0.13
    waits = [t_det - i * 0.01 for i in range(14)]
    wait = models.head_of_line_delay_s(0.01, rtt_s=0.1, interval_s=0.01)
    assert float(wait) == pytest.approx(0.01 * sum(waits), abs=1e-9)
    response = models.response_time_s(0.01, rtt_s=0.1, interval_s=0.01, processing_s=5e-4)
    assert float(response) == pytest.approx(0.1 + 2 * float(wait) + 5e-4)


def test_no_loss_means_no_wait() -> None:
    assert float(models.head_of_line_delay_s(0.0, rtt_s=0.1, interval_s=0.01)) == 0


def test_cubic_comes_back_to_the_old_window_after_k_seconds() -> None:
    k_s = models.cubic_k_s(100, 80)
    assert k_s == pytest.approx(3.684, abs=1e-3)
    t = np.array([0.0, k_s, 2 * k_s])
    window = models.cubic_window_pkts(t, window_before_pkts=100, window_after_pkts=80)
    assert window == pytest.approx([80, 100, 120])


def test_cubic_that_starts_above_the_old_window_grows_at_once() -> None:
    window = models.cubic_window_pkts(1.0, window_before_pkts=80, window_after_pkts=100)
    assert float(window) == pytest.approx(100.4)


def test_htcp_alpha_has_the_published_values() -> None:
    assert models.htcp_alpha(np.array([0.5, 1.0, 3.0])) == pytest.approx([1, 1, 22])
    assert float(models.htcp_alpha(3.0, quadratic=0.5)) == pytest.approx(23)
    assert float(models.htcp_alpha(3.0, rtt_s=0.05)) == pytest.approx(11)
    assert float(models.htcp_alpha(3.0, rtt_s=0.2)) == pytest.approx(44)


def test_htcp_window_is_the_integral_of_alpha() -> None:
    t = np.linspace(0, 5, 50_001)
    alpha = models.htcp_alpha(t)
    grown = float(np.sum((alpha[1:] + alpha[:-1]) / 2 * np.diff(t))) / 0.1
    window = models.htcp_window_pkts(5.0, window_after_pkts=20, rtt_s=0.1)
    assert float(window) == pytest.approx(20 + grown, rel=1e-6)


def test_reno_friendly_line_is_renos_own_at_one_half() -> None:
    window = models.reno_friendly_window_pkts(1.0, window_after_pkts=10, rtt_s=0.1, kept=0.5)
    assert float(window) == pytest.approx(20)
    slower = models.reno_friendly_window_pkts(1.0, window_after_pkts=10, rtt_s=0.1, kept=0.8)
    assert float(slower) == pytest.approx(10 + 10 / 3)


@pytest.mark.parametrize("kept", [0.5, 0.8, 0.05])
def test_sawtooth_agrees_with_stepping_through_round_trips(kept: float) -> None:
    """Simulates the cycle one round trip at a time, with very small packets."""
    cycle = models.sawtooth(**{**HOME_LINK, "packet_bytes": 1.5}, kept=kept)
    share = 1e6 - 74_400
    packet_s = 1.5 * 8 / share
    window = kept * cycle.high_rtt_s / packet_s
    times, delays = [], []
    while window * packet_s < cycle.high_rtt_s:
        rtt = max(window * packet_s, 0.05)
        times.append(rtt)
        delays.append(rtt - 0.05)
        window += 1 / 2
    weight, delay = np.array(times), np.array(delays)
    mean = float(np.average(delay, weights=weight))
    sd = math.sqrt(float(np.average((delay - mean) ** 2, weights=weight)))
    order = np.cumsum(weight) / weight.sum()
    assert cycle.cycle_s == pytest.approx(weight.sum(), rel=1e-3)
    assert cycle.mean_queueing_delay_s == pytest.approx(mean, rel=1e-3)
    assert cycle.sd_queueing_delay_s == pytest.approx(sd, rel=1e-3)
    median = float(delay[np.searchsorted(order, 0.5)])
    assert cycle.median_queueing_delay_s == pytest.approx(median, rel=1e-3, abs=1e-6)
    assert float(cycle.queueing_delay_cdf(median)) == pytest.approx(0.5, abs=1e-3)


def test_sawtooth_of_the_home_link_is_what_the_paper_saw() -> None:
    """Paper 001, table 2, prints for one NewReno flow at 50 ms: median 393, mean 388, sd 74 ms."""
    cycle = models.sawtooth(**HOME_LINK)
    base_owd_ms = 25
    assert cycle.median_queueing_delay_s * 1e3 + base_owd_ms == pytest.approx(393.2, abs=12)
    assert cycle.mean_queueing_delay_s * 1e3 + base_owd_ms == pytest.approx(387.7, abs=12)
    assert cycle.sd_queueing_delay_s * 1e3 == pytest.approx(74.2, abs=5)


def test_sawtooth_cycle_carries_what_the_link_carries() -> None:
    cycle = models.sawtooth(**HOME_LINK)
    assert cycle.cycle_pkts * 1500 * 8 / cycle.cycle_s == pytest.approx(1e6 - 74_400)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: models.reno_sqrt_bps(0.0, **PATH), "loss must be in"),
        (lambda: models.reno_sqrt_bps(1.5, **PATH), "loss must be in"),
        (lambda: models.reno_sqrt_bps(float("nan"), **PATH), "loss must be in"),
        (lambda: models.reno_sqrt_bps(0.1, mss_bytes=0, rtt_s=0.1), "mss_bytes"),
        (lambda: models.reno_pftk_bps(0.1, rto_s=-1, **PATH), "rto_s"),
        (lambda: models.reno_pftk_bps(0.1, rto_s=1, segments_per_ack=0.5, **PATH), ">= 1"),
        (lambda: models.cubic_response_bps(0.1, reduction=1.0, **PATH), "reduction"),
        (lambda: models.detection_time_s(rtt_s=0, interval_s=1), "rtt_s"),
        (lambda: models.htcp_alpha(-1.0), "times must be"),
        (lambda: models.sawtooth(**{**HOME_LINK, "cross_traffic_bps": 2e6}), "below rate_bps"),
        (lambda: models.sawtooth(**{**HOME_LINK, "buffer_bytes": 0}), "buffer_bytes"),
        (lambda: models.sawtooth(**HOME_LINK).queueing_delay_quantile_s(1.2), "q must"),
    ],
)
def test_models_refuse_what_is_out_of_range(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()
