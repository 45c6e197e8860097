"""The equations of table 6.1, compared with simulated transfers and with published numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from headway.models import fairness, quick_start, rcp, sharing, startup
from headway.models.distributions import TruncatedPareto, truncated_pareto_of_mean
from headway.models.startup import StartupPath

ETHERNET = StartupPath(rate_bps=9.76e6, rtt_s=0.2)
EARLY_BPS = 5.12e6
KB, MB = 1e3, 1e6


def ack_clocked_s(size_bytes: float, path: StartupPath, window_pkts: int) -> float:
    """Duration of a transfer in slow start, simulated packet by packet instead of by a formula.

    Every ACK releases two packets. The ACK of a packet arrives a round-trip time after the packet
    has left the link.
    """
    packets = math.ceil(size_bytes / path.mss_bytes)
    packet_s = path.mss_bytes / path.capacity
    released = [0.0] * window_pkts
    free_s = 0.0
    for number in range(packets):
        free_s = max(free_s, released[number]) + packet_s
        released += [free_s + path.rtt_s] * 2
    return free_s


def rate_doubled_s(size_bytes: float, path: StartupPath, rate: float, step_s: float) -> float:
    """Duration of a transfer with a paced start, simulated in small steps of time.

    The rate doubles in every round, up to the path's rate.
    """
    sent, now_s = 0.0, 0.0
    while sent < size_bytes:
        sent += min(rate * path.growth ** (now_s // path.round_s), path.capacity) * step_s
        now_s += step_s
    return now_s


@pytest.mark.parametrize("window_pkts", [2, 3, 10])
@pytest.mark.parametrize("rtt_s", [0.05, 0.1, 0.2])
def test_slow_start_takes_as_long_as_packet_by_packet(rtt_s: float, window_pkts: int) -> None:
    path = StartupPath(rate_bps=9.76e6, rtt_s=rtt_s)
    for size in (1e3, 1448, 5e3, 10e3, 30e3, 100e3, 300e3, 1e6, 3e6, 10e6):
        counted_s = ack_clocked_s(size, path, window_pkts)
        whole = math.ceil(size / path.mss_bytes) * path.mss_bytes
        model_s = startup.slow_start_transfer_s(whole, path=path, window_pkts=window_pkts)
        # The tolerance is needed because the equation counts the last round before the link is
        # full as a whole round.
        assert float(model_s) == pytest.approx(counted_s, rel=0.02, abs=0.004)


@pytest.mark.slow
@pytest.mark.parametrize("rtt_s", [0.05, 0.2])
@pytest.mark.parametrize("rate_bps", [0.64e6, 5.12e6, 10e6])
def test_a_paced_start_takes_as_long_as_in_small_steps(rtt_s: float, rate_bps: float) -> None:
    path = StartupPath(rate_bps=9.76e6, rtt_s=rtt_s)
    q = path.payload_rate(rate_bps)
    for size in (5e3, 50e3, 130e3, 1e6):
        model_s = float(startup.paced_transfer_s(size, path=path, rate=q))
        step_s = model_s / 20_000
        assert model_s == pytest.approx(rate_doubled_s(size, path, q, step_s), rel=1e-3)


def test_delayed_acks_make_rounds_grow_by_half() -> None:
    path = StartupPath(rate_bps=1e9, rtt_s=0.2, segments_per_ack=2)
    # Three rounds send 2 + 3 + 4.5 packets, so ten packets need a fourth round.
    three = startup.slow_start_transfer_s(9 * 1448, path=path, window_pkts=2)
    four = startup.slow_start_transfer_s(10 * 1448, path=path, window_pkts=2)
    assert float(four - three) == pytest.approx(0.2, abs=1e-3)
    assert float(startup.data_in_rounds(3, 2, path.growth)) == pytest.approx(9.5)


@pytest.mark.parametrize(
    ("response", "seconds"),
    [
        (lambda: startup.slow_start_response_s(100 * KB, path=ETHERNET), 1.215),
        (lambda: startup.slow_start_response_s(1 * MB, path=ETHERNET), 2.145),
        (
            lambda: startup.paced_response_s(100 * KB, path=ETHERNET, rate_bps=EARLY_BPS),
            0.362,
        ),
        (lambda: startup.paced_response_s(100 * KB, path=ETHERNET, rate_bps=10e6), 0.285),
    ],
)
def test_response_times_are_those_worked_out_by_hand(
    response: Callable[[], np.ndarray], seconds: float
) -> None:
    assert float(response()) == pytest.approx(seconds, abs=5e-4)


def test_jump_start_takes_two_round_trips_whatever_fits() -> None:
    sizes = np.array([3e3, 10e3, 30e3, 65e3])
    times_s = startup.jump_start_response_s(sizes, path=ETHERNET)
    assert times_s == pytest.approx([0.4] * 4)
    one_packet_s = startup.jump_start_response_s(1448, path=ETHERNET)
    assert float(one_packet_s) < 0.21


def test_timers_let_a_small_jump_start_end_early() -> None:
    # 7 packets are sent in two bursts, the second half a round trip after the first
    timed_s = startup.timed_jump_start_response_s([3e3, 10e3, 1e6], path=ETHERNET)
    burst_s = 3.5 * 1448 / ETHERNET.capacity
    assert float(timed_s[1]) == pytest.approx(0.3 + burst_s)
    assert float(timed_s[0]) == pytest.approx(0.2 + 3 * 1448 / ETHERNET.capacity)
    assert float(timed_s[2]) == float(startup.jump_start_response_s(1e6, path=ETHERNET))


def test_jump_starts_rate_has_three_limits() -> None:
    rates = startup.jump_start_rate([10e3, 1e6], rtt_s=0.2)
    assert rates == pytest.approx([50e3, 65_535 / 0.2])
    assert float(startup.jump_start_rate(1e6, rtt_s=0.01)) == pytest.approx(1.25e6)
    # Section 4.4.3.2 calls the highest rate at 200 ms "about 2 Mbit/s".
    assert float(rates[1]) * 8 == pytest.approx(2.62e6, rel=1e-3)


def test_late_activation_costs_a_round_trip_less_what_the_window_carried() -> None:
    early_s = startup.paced_response_s(100 * KB, path=ETHERNET, rate_bps=EARLY_BPS)
    late_s = startup.late_quick_start_response_s(100 * KB, path=ETHERNET, rate_bps=EARLY_BPS)
    saved_s = 2 * 1448 / ETHERNET.payload_rate(EARLY_BPS)
    assert float(late_s - early_s) == pytest.approx(0.2 - saved_s)


@pytest.mark.parametrize("rate_bps", [80e3, 160e3])
def test_a_rate_below_the_window_is_not_used(rate_bps: float) -> None:
    slow_s = startup.slow_start_response_s(50 * KB, path=ETHERNET)
    for response in (startup.paced_response_s, startup.late_quick_start_response_s):
        path = StartupPath(rate_bps=9.76e6, rtt_s=0.1)
        slow_s = startup.slow_start_response_s(50 * KB, path=path)
        assert float(response(50 * KB, path=path, rate_bps=rate_bps)) == float(slow_s)


def test_what_fits_the_window_gains_nothing() -> None:
    size = 2 * 1448
    slow_s = float(startup.slow_start_response_s(size, path=ETHERNET))
    late_s = startup.late_quick_start_response_s(size, path=ETHERNET, rate_bps=EARLY_BPS)
    assert float(late_s) == slow_s
    assert float(startup.jump_start_response_s(size, path=ETHERNET)) == slow_s


def test_quick_starts_kink_is_what_the_first_round_carries() -> None:
    kink = ETHERNET.payload_rate(EARLY_BPS) * ETHERNET.round_s
    sizes = np.array([kink * 0.9, kink * 0.99, kink * 1.01, kink * 1.1])
    times_s = startup.paced_response_s(sizes, path=ETHERNET, rate_bps=EARLY_BPS)
    slopes = np.diff(times_s) / np.diff(sizes)
    assert kink == pytest.approx(124.3e3, rel=1e-3)
    assert slopes[0] == pytest.approx(1 / ETHERNET.payload_rate(EARLY_BPS))
    assert slopes[2] < 0.6 * slopes[0]


@pytest.mark.parametrize(
    ("rtt_s", "jump", "quick"),
    [(0.1, 2.7, 3.0), (0.2, 2.7, 3.7)],
)
def test_largest_speedups_are_those_of_the_claims(rtt_s: float, jump: float, quick: float) -> None:
    path = StartupPath(rate_bps=9.76e6, rtt_s=rtt_s)
    sizes = np.geomspace(1e3, 1e7, 4000)
    slow_s = startup.slow_start_response_s(sizes, path=path)
    by_jump = slow_s / startup.jump_start_response_s(sizes, path=path)
    by_quick = slow_s / startup.paced_response_s(sizes, path=path, rate_bps=EARLY_BPS)
    assert by_jump.max() == pytest.approx(jump, rel=0.03)
    assert by_quick.max() == pytest.approx(quick, rel=0.03)
    for ratio in (by_jump, by_quick):
        assert 10e3 <= sizes[np.argmax(ratio)] <= 1e6
        assert ratio[-1] < 1.2
        assert ratio[0] == pytest.approx(1, abs=0.02)


def test_window_after_a_lossy_jump_start_is_half_of_what_arrived() -> None:
    assert startup.jump_start_window_after_loss_pkts(45, 20) == 12
    assert startup.jump_start_window_after_loss_pkts(45, 44) == 1
    assert startup.jump_start_window_after_loss_pkts(10, 20) == 1


def test_pacing_timers_follow_eq_5_1() -> None:
    assert startup.pacing_timers(85, rtt_s=0.2) == 28
    assert startup.pacing_timers(85, rtt_s=0.01) == 10
    assert startup.pacing_timers(2, rtt_s=0.2) == 1
    assert startup.pacing_timers(7, rtt_s=0.2) == 2


def test_unloaded_mean_agrees_with_drawing_sizes() -> None:
    sizes = truncated_pareto_of_mean(114e3, shape=1.1, largest=10e6)

    def response_s(size: np.ndarray) -> np.ndarray:
        return startup.slow_start_response_s(size, path=ETHERNET, window_pkts=3)

    drawn = sizes.quantile(np.random.default_rng(7).random(2_000_000))
    model_s = sharing.unloaded_response_s(sizes, response_s)
    assert model_s == pytest.approx(float(response_s(drawn).mean()), rel=3e-3)
    # Compute the mean also by the integral of eq. 6.11 as printed, on a fine logarithmic grid.
    z = np.geomspace(sizes.smallest, sizes.largest, 400_001)
    steps, middle = np.diff(z), np.sqrt(z[1:] * z[:-1])
    integral_s = float(np.sum(sizes.density(middle) * response_s(middle) * steps))
    assert model_s == pytest.approx(integral_s, rel=1e-3)


def test_processor_sharing_is_a_busy_link_simulated() -> None:
    """Compares eq. 6.12 with a fluid simulation of transfers that share the rate equally."""
    rng = np.random.default_rng(3)
    path = StartupPath(rate_bps=9.76e6, rtt_s=0.2)
    load, mean = 0.5, 20e3
    count = 60_000
    interval_s = sharing.mean_interval_s(mean, path=path, load=load)
    arrivals = np.cumsum(rng.exponential(interval_s, count))
    sizes = rng.uniform(0.5 * mean, 1.5 * mean, count)
    # Virtual time is the amount of data that a transfer would have received since the start of the
    # simulation. Transfers end in the order of the virtual time at which their data is complete.
    import heapq

    present: list[tuple[float, float]] = []
    virtual, now, total = 0.0, 0.0, 0.0
    done = 0
    for arrival, size in zip(arrivals, sizes, strict=True):
        while present:
            end, born = present[0]
            finish = now + (end - virtual) * len(present) / path.capacity
            if finish > arrival:
                break
            heapq.heappop(present)
            virtual, now = end, finish
            total, done = total + finish - born, done + 1
        if present:
            virtual += (arrival - now) * path.capacity / len(present)
        now = arrival
        heapq.heappush(present, (virtual + size, arrival))
    model_s = sharing.processor_sharing_response_s(mean, path=path, load=load) - path.rtt_s
    assert total / done == pytest.approx(model_s, rel=0.04)


def test_processor_sharing_of_the_thesis_is_0_338_s() -> None:
    response_s = sharing.processor_sharing_response_s(114e3, path=ETHERNET, load=0.3)
    assert response_s == pytest.approx(0.338, abs=5e-4)


def test_rcps_standing_queue_solves_eq_6_13() -> None:
    r, c, tau, alpha, beta = 10e6, 12e6, 0.2, 0.4, 0.226
    queue = rcp.standing_queue_bits(rate_bps=r, assumed_bps=c, rtt_s=tau, alpha=alpha, beta=beta)
    assert alpha * (c - r) == pytest.approx(beta * queue / (tau + queue / r))


def test_rcp_tolerates_what_eq_6_15_says() -> None:
    assert rcp.largest_capacity_ratio(alpha=0.4, beta=0.226) == pytest.approx(1.565)
    assert rcp.largest_capacity_ratio(alpha=0.1, beta=0.1) == 2
    path = {"rate_bps": 1e6, "rtt_s": 0.1, "alpha": 0.4, "beta": 0.226}
    assert rcp.standing_queue_bits(assumed_bps=0.9e6, **path) == 0
    assert math.isinf(rcp.standing_queue_bits(assumed_bps=1.57e6, **path))
    assert math.isfinite(rcp.standing_queue_bits(assumed_bps=1.56e6, **path))


def test_quick_start_has_fifteen_rates() -> None:
    assert len(quick_start.RATES_BPS) == 16
    assert quick_start.RATES_BPS[1] == 80_000
    assert quick_start.RATES_BPS[15] == 1_310_720_000
    assert quick_start.rate_code(10e6) == 7
    assert quick_start.rate_code(79_999) == 0
    assert quick_start.rate_code(2e9) == 15


def test_quick_starts_window_is_85_packets_at_5_mbit_and_200_ms() -> None:
    assert quick_start.window_pkts(5.12e6, rtt_s=0.2) == pytest.approx(85.33, abs=0.01)


def test_target_never_grants_more_than_xi() -> None:
    """Simulates dense requests slot by slot: the long-run rate of grants is that of eq. 6.1."""
    spare, interval_s, slots = 100e6, 0.2, 2
    history = [0.0] * slots
    total, count = 0.0, 400
    for _ in range(count):
        history = [0.0, *history[:-1]]
        for _ in range(5):
            grant = quick_start.target_grant_bps(
                200e6, spare_bps=spare, outstanding_bps=sum(history)
            )
            history[0] += grant
            total += grant
    per_s = total / (count * interval_s)
    model = quick_start.most_granted_bps_per_s(spare_bps=spare, interval_s=interval_s, slots=slots)
    assert per_s == pytest.approx(model, rel=0.01)
    assert model == pytest.approx(250e6)


@pytest.mark.parametrize("load", [0.3, 0.5, 0.7, 0.9])
def test_approval_goes_with_the_load_and_the_time_that_grants_are_remembered(load: float) -> None:
    def probability(at: float, interval_s: float) -> float:
        return quick_start.approval_probability(
            spare_bps=(1 - at) * 10e6,
            request_bps=5.12e6,
            interval_s=interval_s,
            slots=2,
            mean_arrival_s=0.1 / at,
        )

    # the router remembers grants for two seconds, in which ten requests arrive; 0.98 requests fit
    # into the spare capacity
    assert probability(0.5, 1.0) == pytest.approx(5e6 / 5.12e6 / (2 / 0.2))
    trend = (1 / load - 1) / (1 / 0.5 - 1)
    assert probability(load, 1.0) == pytest.approx(probability(0.5, 1.0) * trend)
    assert probability(load, 2.0) == pytest.approx(probability(load, 1.0) / 2)
    assert probability(0.01, 0.01) == 1


def test_the_fair_algorithm_opens_a_slots_share_with_time() -> None:
    def grant(elapsed: float, granted: float = 0.0) -> float:
        return quick_start.fair_grant_bps(
            50e6, spare_bps=80e6, granted_now_bps=granted, outstanding_bps=granted, elapsed=elapsed
        )

    assert grant(0.0) == pytest.approx(5e6)
    assert grant(1.0) == pytest.approx(40e6)
    assert grant(0.5) == pytest.approx((5e6 + 40e6) / 2)
    assert grant(0.5, granted=30e6) == 0


def test_optimistic_forgets_and_slots_cover_the_longest_delay() -> None:
    assert quick_start.optimistic_grant_bps(5e6, spare_bps=4e6) == 4e6
    assert quick_start.target_grant_bps(5e6, spare_bps=4e6, outstanding_bps=4e6) == 0
    assert quick_start.slots_needed(0.2, interval_s=0.2) == 3
    assert quick_start.slots_needed(0.5, interval_s=0.2) == 5


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: StartupPath(rate_bps=0, rtt_s=0.1), "rate_bps"),
        (lambda: StartupPath(rate_bps=1e6, rtt_s=-1), "rtt_s"),
        (lambda: StartupPath(rate_bps=1e6, rtt_s=1, mtu_bytes=1000), "mtu_bytes"),
        (lambda: StartupPath(rate_bps=1e6, rtt_s=1, segments_per_ack=0.5), "segments_per_ack"),
        (lambda: startup.slow_start_response_s(0, path=ETHERNET), "size_bytes"),
        (lambda: startup.slow_start_response_s([1, -1], path=ETHERNET), "size_bytes"),
        (lambda: startup.slow_start_response_s(1, path=ETHERNET, window_pkts=0), "window_pkts"),
        (lambda: startup.paced_transfer_s(1, path=ETHERNET, rate=[0.0]), "rate"),
        (lambda: startup.paced_response_s(1, path=ETHERNET, rate_bps=-1), "ip_rate_bps"),
        (lambda: startup.jump_start_rate(1, rtt_s=0), "rtt_s"),
        (lambda: startup.data_in_rounds(1, 1, 1.0), "growth"),
        (lambda: startup.jump_start_window_after_loss_pkts(-1, 0), "paced_pkts"),
        (lambda: startup.pacing_timers(0, rtt_s=0.1), "window_pkts"),
        (lambda: sharing.processor_sharing_response_s(1, path=ETHERNET, load=1.0), "load"),
        (lambda: sharing.mean_interval_s(1, path=ETHERNET, load=0), "load"),
        (
            lambda: sharing.unloaded_response_s(TruncatedPareto(1, 1.1, 2), lambda z: z, points=0),
            "points",
        ),
        (lambda: rcp.largest_capacity_ratio(alpha=0, beta=1), "alpha"),
        (lambda: quick_start.rate_code(-1), "rate_bps"),
        (lambda: quick_start.slots_needed(0, interval_s=1), "longest_delay_s"),
        (
            lambda: quick_start.fair_grant_bps(
                1, spare_bps=1, granted_now_bps=0, outstanding_bps=0, elapsed=1.1
            ),
            "elapsed",
        ),
        (lambda: quick_start.most_granted_bps_per_s(spare_bps=1, interval_s=1, slots=0), "slots"),
    ],
)
def test_startup_models_refuse_what_is_out_of_range(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()


def test_aimd_makes_shares_equal_and_mimd_leaves_their_ratio() -> None:
    aimd = fairness.shares_over_rounds((1.0, 80.0), capacity=100, added=1, rounds=2000)
    assert aimd[-1, 0] / aimd[-1, 1] == pytest.approx(1, abs=1e-3)
    mimd = fairness.shares_over_rounds((1.0, 80.0), capacity=100, grown=1.1, rounds=2000)
    assert mimd[-1, 0] / mimd[-1, 1] == pytest.approx(1 / 80)
    assert aimd.sum(axis=1).max() <= 102
    # By hand: windows of 1 and 80 grow by 1 until they exceed 100 together, then both halve.
    assert aimd[1].tolist() == [2, 81]
    assert aimd[10].tolist() == [11, 90]
    assert aimd[11].tolist() == [5.5, 45]


@pytest.mark.parametrize(
    "changes", [{"added": -1}, {}, {"added": 1, "kept": 1}, {"added": 1, "rounds": 0}]
)
def test_the_sharing_law_refuses_what_is_out_of_range(changes: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"added|kept|rounds"):
        fairness.shares_over_rounds((1, 1), capacity=10, **changes)
