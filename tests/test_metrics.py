import pytest
from support import S, experiment, trace

from headway import metrics
from headway.trace import FlowSummary


def flow_counters(*readings: tuple[int, int, int]):
    """(time s, delivered bytes, retransmits) of flow 0 as rows."""
    return [(t * S, 0, delivered, 0, again, 0, 0) for t, delivered, again in readings]


def link_counters(*rows):
    """(time s, arrived, sent bytes, dropped) of link 0 as rows."""
    return [(t * S, 0, a, 0, 0, b, d, 0, 0) for t, a, b, d in rows]


def test_goodput_is_delivered_over_the_window() -> None:
    t = trace({"flow_counters": flow_counters((2, 50_000, 3), (10, 850_000, 8))})
    # (850 000 - 50 000) bytes in 8 s.
    assert metrics.goodput_bps(t, 0) == 800_000
    assert metrics.retransmits_pkts(t, 0) == 5
    assert metrics.retransmits_pkts(t, 0, metrics.whole_run(t)) == 8
    assert metrics.goodput_bps(t, 0, (0, 2 * S)) == 200_000


def test_a_window_that_is_no_checkpoint_is_refused() -> None:
    t = trace({"flow_counters": flow_counters((2, 0, 0), (10, 0, 0))})
    with pytest.raises(ValueError, match="not a checkpoint"):
        metrics.goodput_bps(t, 0, (3 * S, 10 * S))


def test_tcptrace_counts_unique_bytes_from_first_to_last_packet() -> None:
    summary = FlowSummary(
        name="reno-0",
        kind="bulk",
        control="reno",
        unique_bytes=1_000_000,
        first_packet_ns=S,
        last_packet_ns=9 * S,
    )
    t = trace(flows=[summary, FlowSummary(name="voip-1", kind="cbr")])
    assert metrics.goodput_tcptrace_bps(t, 0) == 1_000_000
    assert metrics.goodput_tcptrace_bps(t, 1) is None


def test_batches_of_goodput() -> None:
    readings = [(2 * S + k * 800_000_000, 0, k * k * 1000, 0, 0, 0, 0) for k in range(11)]
    t = trace({"flow_counters": readings})
    goodputs = metrics.batch_goodputs_bps(t, 0)
    assert goodputs.tolist() == pytest.approx([(2 * k + 1) * 10_000 for k in range(10)])
    assert goodputs.mean() == pytest.approx(metrics.goodput_bps(t, 0))


def test_owd_leaves_out_the_warmup_and_the_lost() -> None:
    ms = 1_000_000
    t = trace(
        {
            "udp": [
                (1, 1 * S, 900 * ms),  # warm-up
                (1, 3 * S, 25 * ms),
                (1, 4 * S, None),  # lost
                (1, 5 * S, 35 * ms),
                (1, 6 * S, 60 * ms),
            ]
        }
    )
    assert metrics.owd_us(t).tolist() == [25_000, 35_000, 60_000]
    d = metrics.owd_distribution_us(t)
    assert (d.count, d.median, d.mean, d.min, d.max) == (3, 35_000, 40_000, 25_000, 60_000)
    assert metrics.lost_pkts(t) == 1
    assert metrics.owd_us(t, flow=0).size == 0


def test_queue_full_events_are_counted_where_they_begin() -> None:
    t = trace(
        {
            "queue_full": [
                (0, 1 * S, 3 * S, 1),  # begins in the warm-up
                (0, 3 * S, 3 * S + 5, 2),
                (1, 4 * S, 5 * S, 1),  # another link
                (0, 9 * S, 11 * S, 7),
            ]
        }
    )
    assert metrics.queue_full_events(t) == 2
    assert metrics.queue_full_per_minute(t) == 15.0  # 2 in 8 s
    assert metrics.queue_full_events(t, link=1) == 1


def test_link_totals() -> None:
    t = trace({"link_counters": link_counters((2, 100, 0, 1), (10, 500, 900_000, 21))})
    assert metrics.utilization(t) == 0.9  # of 1 Mbit/s
    assert metrics.throughput_bps(t) == 900_000
    assert metrics.drops_pkts(t) == 20
    assert metrics.drop_rate(t) == 0.05


def test_nobody_arriving_has_no_drop_rate() -> None:
    t = trace({"link_counters": link_counters((2, 0, 0, 0), (10, 0, 0, 0))})
    assert metrics.drop_rate(t) is None


def test_the_queue_is_weighted_by_time() -> None:
    # The queue is 0 until 4 s, 3000 B until 8 s, and then 1500 B: in [2, 10] s for 2, 4 and 2 s.
    t = trace({"queue": [(0, 0, 0, 0), (0, 4 * S, 3000, 2), (0, 8 * S, 1500, 1), (1, 9 * S, 9, 9)]})
    d = metrics.queue_bytes(t)
    assert d.mean == 1875
    assert (d.min, d.median, d.max) == (0, 1500, 3000)


def test_a_queue_that_never_changed_was_empty() -> None:
    d = metrics.queue_bytes(trace())
    assert (d.min, d.mean, d.max) == (0, 0, 0)


def test_what_was_not_recorded_is_unknown() -> None:
    assert metrics.queue_bytes(trace(of=experiment(record=["udp"]))).mean is None
    assert metrics.srtt_us(trace(), 0).mean is None


def test_srtt_leaves_out_the_time_before_the_first_sample() -> None:
    rows = [
        (0, 0, 10, None, None, 0, 0),
        (0, 6 * S, 12, None, 50_000, 5, 0),
        (0, 8 * S, 20, 10, 70_000, 5, 0),
    ]
    t = trace({"flow_state": rows})
    assert metrics.srtt_us(t, 0).mean == 60_000
    assert metrics.cwnd_pkts(t, 0).mean == 13  # 10 for 4 s, 12 for 2 s, 20 for 2 s


def test_windows_are_read_at_the_same_times_of_all_flows() -> None:
    rows = [
        (0, 0, 10, None, None, 0, 0),
        (0, 6 * S, 12, None, None, 5, 0),
        (1, 4 * S, 3, None, None, 0, 0),
    ]
    t = trace({"flow_state": rows}, of=experiment(flows="2xreno"))
    assert metrics.windows_pkts(t, 2 * S).tolist() == [[10, 10, 12, 12], [0, 3, 3, 3]]


def test_congestion_epochs_lie_between_backoffs_that_stood() -> None:
    recovery, rto, cwr, undo = 0, 1, 2, 3
    rows = [
        (0, 1 * S, recovery, 40, 20),  # warm-up
        (0, 3 * S, recovery, 40, 20),
        (0, 4 * S, cwr, 20, 10),  # not loss
        (0, 5 * S, recovery, 40, 20),
        (0, 5 * S + 7, undo, 20, 20),  # undoes the previous row
        (0, 6 * S, rto, 30, 15),
        (1, 7 * S, recovery, 9, 4),  # another flow
        (0, 8 * S, recovery, 30, 15),
    ]
    t = trace({"backoffs": rows}, of=experiment(flows="2xreno"))
    assert metrics.backoff_times_ns(t, 0) == [3 * S, 6 * S, 8 * S]
    assert metrics.congestion_epochs_s(t, 0).tolist() == [3.0, 2.0]
    assert metrics.congestion_epochs_s(t, 1).size == 0


def test_jain_over_flows_and_the_tables() -> None:
    rows = [(t * S, flow, t * 1000 * (flow + 1), 0, 0, 0, 0) for t in (2, 10) for flow in range(2)]
    links = [(t * S, link, t, t, t, t, 0, 0, 0) for t in (2, 10) for link in range(2)]
    t = trace(
        {"flow_counters": rows, "link_counters": links}, of=experiment(flows="1xreno,1xcubic")
    )
    assert metrics.flow_jain_index(t) == pytest.approx(0.9)
    flows = metrics.flow_table(t)
    assert flows["goodput_bps"].to_list() == [8000, 16_000]
    assert flows["srtt_us"].to_list() == [None, None]
    assert metrics.link_table(t)["name"].to_list() == ["forward0", "reverse0"]
