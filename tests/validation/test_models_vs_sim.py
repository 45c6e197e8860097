"""The simulator against the closed forms, each where the closed form is valid.

The two are independent: formulas from the literature, and packets in queues.
"""

from __future__ import annotations

import numpy as np
import pytest

from headway import metrics, models, run, run_many
from headway.experiment import Dumbbell, Experiment, Flow, Link, Pingpong, Voip
from headway.units import NS_PER_S

pytestmark = pytest.mark.slow

MSS_BYTES = 1448
RENO_RTT_S = 0.2
#: Segments per ACK that Reno's growth counts as one: Linux 2.6 counts ACKs (and every second
#: segment is acknowledged), Linux 6 counts segments.
SEGMENTS_PER_ACK = {"linux-2.6": 2.0, "linux-6": 1.0}


def reno_model_bps(loss: float, stack: str) -> float:
    """Eq. 4.7 for the validation path; Linux's time-out is the round-trip time plus 200 ms."""
    return float(
        models.reno_pftk_bps(
            loss,
            mss_bytes=MSS_BYTES,
            rtt_s=RENO_RTT_S,
            rto_s=RENO_RTT_S + models.LINUX_RTO_FLOOR_S,
            segments_per_ack=SEGMENTS_PER_ACK[stack],
        )
    )


def reno_goodput_bps(loss: float, stack: str, losses: int = 600) -> float:
    """Mean goodput of two long runs over 10 Mbit/s, 200 ms, long enough for ``losses`` each."""
    length_s = max(losses / loss * MSS_BYTES * 8 / reno_model_bps(loss, stack), 300)
    experiments = [
        Experiment(
            topology=Dumbbell(rate="10Mbit/s", rtt="200 ms", buffer="1000 pkts", loss=loss),
            flows=(Flow(control="reno"),),
            duration=f"{length_s:.3f} s",
            warmup="20 s",
            stack=stack,
            seed=seed,
            record=(),
        )
        for seed in (1, 2)
    ]
    return float(np.mean([metrics.goodput_bps(trace, 0) for trace in run_many(experiments)]))


@pytest.mark.parametrize("stack", ["linux-2.6", "linux-6"])
@pytest.mark.parametrize("loss", [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 5e-2])
def test_renos_response_is_eq_4_7_within_a_tenth(loss: float, stack: str) -> None:
    assert reno_model_bps(loss, stack) < 0.75 * 10e6, "the link, not loss, would limit the flow"
    ratio = reno_goodput_bps(loss, stack) / reno_model_bps(loss, stack)
    assert ratio == pytest.approx(1, abs=0.10)


@pytest.mark.parametrize("stack", ["linux-2.6", "linux-6"])
def test_at_one_loss_in_ten_sack_beats_the_model_of_reno_without_it(stack: str) -> None:
    """Eq. 4.7 knows neither SACK nor limited transmit, and approximates for small windows."""
    ratio = reno_goodput_bps(0.1, stack, losses=3000) / reno_model_bps(0.1, stack)
    assert 1.0 < ratio < 1.35


def test_renos_goodput_falls_with_the_root_of_loss() -> None:
    low, high = (reno_goodput_bps(loss, "linux-2.6") for loss in (3e-4, 3e-3))
    assert np.log10(high / low) == pytest.approx(-0.5, abs=0.03)


@pytest.mark.parametrize("rtt_ms", [50, 100])
def test_the_delay_behind_one_reno_flow_is_the_sawtooths(rtt_ms: int) -> None:
    rate_bps, buffer_bytes = 1_000_000, 60_000
    experiment = Experiment(
        topology=Dumbbell(rate="1 Mbit/s", rtt=f"{rtt_ms} ms", buffer=f"{buffer_bytes} B"),
        flows=(Flow(control="reno"), Flow(app=Voip, start="0 s")),
        duration="400 s",
        stack="linux-2.6",
        record=("udp",),
    )
    trace = run(experiment)
    backoffs = metrics.backoff_times_ns(trace, 0)
    # Use whole cycles, without slow start's overshoot and without the cycle that the overshoot
    # changed.
    window = (backoffs[2], backoffs[-1])
    owd_ms = metrics.owd_us(trace, window=window) / 1e3
    cycle = models.sawtooth(
        rate_bps=rate_bps,
        base_rtt_s=rtt_ms / 1e3,
        buffer_bytes=buffer_bytes,
        packet_bytes=1500,
        cross_traffic_bps=Voip.packet * 8 * NS_PER_S / Voip.interval,
        segments_per_ack=SEGMENTS_PER_ACK["linux-2.6"],
    )
    base_ms = rtt_ms / 2
    # The closed form leaves out that the queue drains during the recovery after each loss.
    assert np.median(owd_ms) - base_ms == pytest.approx(
        cycle.median_queueing_delay_s * 1e3, rel=0.04
    )
    assert owd_ms.mean() - base_ms == pytest.approx(cycle.mean_queueing_delay_s * 1e3, rel=0.04)
    assert owd_ms.std() == pytest.approx(cycle.sd_queueing_delay_s * 1e3, rel=0.10)
    epochs_s = metrics.congestion_epochs_s(trace, 0)[2:]
    assert np.mean(epochs_s) == pytest.approx(cycle.cycle_s, rel=0.10)
    for quantile in (0.1, 0.25, 0.5, 0.75, 0.9):
        bound_ms = cycle.queueing_delay_quantile_s(quantile) * 1e3
        share = float(np.mean(owd_ms - base_ms <= bound_ms))
        assert share == pytest.approx(quantile, abs=0.07)


def response_times_s(loss: float, *, rtt_ms: int, length_s: int = 2000) -> np.ndarray:
    """Times of 64-byte requests, 10 ms apart on average, that the far end echoes."""
    link = Link(rate="10Mbit/s", delay=f"{rtt_ms / 2} ms", buffer="1000 pkts", loss=loss)
    experiment = Experiment(
        topology=Dumbbell(
            rate="10Mbit/s", rtt=f"{rtt_ms} ms", buffer="1000 pkts", loss=loss, reverse=link
        ),
        flows=(
            Flow(app=Pingpong(request="64 B", mean_interval="10 ms"), control="reno", nodelay=True),
        ),
        duration=f"{length_s} s",
        stack="linux-6",
        seed=3,
        record=(),
    )
    rows = run(experiment)["responses"]
    return (rows["end_ns"] - rows["start_ns"]).to_numpy() / NS_PER_S


@pytest.mark.parametrize("loss", [0.0, 1e-3, 3e-3, 1e-2])
def test_head_of_line_blocking_is_eq_a_7_within_five_per_cent(loss: float) -> None:
    """At 50 ms the window stays larger than the five messages in flight, as the model assumes."""
    times_s = response_times_s(loss, rtt_ms=50)
    assert times_s.size > 190_000
    model_s = float(models.response_time_s(loss, rtt_s=0.05, interval_s=0.01))
    assert times_s.mean() == pytest.approx(model_s, rel=0.05)


def test_blocking_delays_as_much_as_the_model_says_beyond_the_round_trip() -> None:
    """Compares eq. A.6, for both directions, with the delay beyond the smallest response time. The
    round-trip time is left out, because it would hide an error.
    """
    times_s = response_times_s(1e-2, rtt_ms=50)
    wait_s = 2 * float(models.head_of_line_delay_s(1e-2, rtt_s=0.05, interval_s=0.01))
    # The model is a lower bound: it leaves out second losses and the smaller window.
    assert 0.95 * wait_s < times_s.mean() - times_s.min() < 1.35 * wait_s


def test_above_one_per_cent_congestion_control_adds_to_the_models_delay() -> None:
    """In 2000 s congestion control adds 7.5 %. In three runs of 120 s with equal losses, response
    times are 1.01 times those of eq. A.7 on Linux 6.18, and 1.00 times in the simulator.
    """
    times_s = response_times_s(5e-2, rtt_ms=50)
    model_s = float(models.response_time_s(5e-2, rtt_s=0.05, interval_s=0.01))
    assert times_s.mean() > 1.05 * model_s
