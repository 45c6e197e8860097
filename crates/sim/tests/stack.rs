//! How connections of each stack version start, grow and acknowledge. Each test checks a fact of
//! Linux 2.6.24/2.6.25 or 6.1 (net/ipv4) or of an RFC, and cites the source.

use crate::common::{
    bulk, dumbbell, find, on_the_wheel, text, wide_link, CapturedSegment, Trace, MS, SECOND,
};
use headway_wire::TcpFlags;
use serde_json::{json, Value};

const STACKS: [&str; 2] = ["linux-2.6", "linux-6"];

/// A flow of requests and responses. With a response of one byte, the connection closes only after
/// the response has arrived, so that no FIN affects the last segments of the request.
fn requests(epochs: &[(u64, u64, u64)]) -> Value {
    json!({"name": "requests", "app": {"kind": "vectors", "epochs": epochs},
        "control": {"name": "reno"}})
}

/// Data packets per round trip. A round begins with the first packet sent after the acknowledgement
/// of the previous round's first packet.
fn rounds(trace: &Trace) -> Vec<usize> {
    let data = trace.data();
    let acks = trace.acks();
    let mut rounds = vec![];
    let mut from = 0;
    while from < data.len() {
        let first = data[from];
        let acked = acks.iter().find(|a| a.ack > first.seq);
        let Some(acked) = acked else { break };
        let next = data.partition_point(|d| d.time_ns <= acked.time_ns);
        rounds.push(next - from);
        from = next;
    }
    rounds
}

#[test]
fn the_initial_window_is_2_in_linux_26_and_10_in_linux_6() {
    // Linux 2.6.24 starts with the socket's default of 2 (tcp_init_cwnd), Linux 6.1 with
    // TCP_INIT_CWND, 10 (RFC 6928).
    for (stack, window) in [("linux-2.6", 2), ("linux-6", 10)] {
        let link = wide_link(100_000_000, 25 * MS);
        let trace = Trace::of(&dumbbell(
            stack,
            2 * SECOND,
            &link,
            json!([bulk("reno", None)]),
        ));
        assert_eq!(rounds(&trace)[0], window, "{stack}");
    }
}

#[test]
fn slow_start_doubles_the_window_every_round_when_every_packet_is_acknowledged() {
    // The window grows by one segment per ACK (RFC 5681, 3.1).
    for (stack, expected) in [("linux-2.6", [2, 4, 8, 16]), ("linux-6", [10, 20, 40, 80])] {
        let link = wide_link(1_000_000_000, 50 * MS);
        let mut flow = bulk("reno", None);
        flow["delayed_ack"] = json!(false);
        let trace = Trace::of(&dumbbell(stack, SECOND, &link, json!([flow])));
        assert_eq!(rounds(&trace)[..4], expected, "{stack}");
    }
}

#[test]
fn a_large_receive_buffer_leaves_slow_start_to_the_sender() {
    // tcp_grow_window opens the window by two segments per segment, and grants a quick ACK each
    // time. Every packet is therefore acknowledged at once and cwnd doubles. The default buffer of
    // 2.6 would stop this at 64 KiB.
    let doubled = [2, 4, 8, 16, 32, 64, 128, 256];
    for (buffer, as_if_unlimited) in [(Some(8 << 20), true), (None, false)] {
        let link = wide_link(1_000_000_000, 50 * MS);
        let mut flow = bulk("reno", None);
        flow["rmem_bytes"] = json!(buffer.map(|bytes| [4096, bytes, bytes]));
        let trace = Trace::of(&dumbbell("linux-2.6", 2 * SECOND, &link, json!([flow])));
        assert_eq!(
            rounds(&trace)[..8] == doubled,
            as_if_unlimited,
            "{buffer:?}"
        );
    }
}

#[test]
fn a_segment_is_at_most_half_of_the_peers_largest_window() {
    // tcp_bound_to_half_wnd: the first window is 1448 bytes, so packets begin with 724 and grow
    // with the window. xcp's header takes 16 bytes of each.
    for (control, lengths) in [
        ("reno", [724, 724, 768, 768]),
        ("xcp", [708, 708, 752, 752]),
    ] {
        let mut link = wide_link(2_000_000, 5 * MS);
        link["routers"] = json!([{"name": "xcp"}]);
        let mut flow = bulk(control, Some(60_000));
        flow["rmem_bytes"] = json!([4096, 5600, 6 << 20]);
        let trace = Trace::of(&dumbbell("linux-6", 4 * SECOND, &link, json!([flow])));
        let first = &trace.data()[..4];
        let sent: Vec<_> = first.iter().map(|d| d.len).collect();
        assert_eq!(sent, lengths, "{control}");
        // The writer pushes every second sk_buff of the first length. The fourth packet begins with
        // the rest of one and includes its push (tcp_grow_skb).
        let pushed: Vec<_> = first.iter().map(|d| d.has(TcpFlags::PSH)).collect();
        assert_eq!(pushed, [false, true, false, true], "{control}");
    }
}

#[test]
fn an_ack_of_the_reader_counts_what_it_has_read_as_free() {
    // tcp_cleanup_rbuf: the first packet is acknowledged before it is read; the second, which has
    // PSH, after it is read. A window of three segments grants one quick ACK (tcp_incr_quickack).
    let link = wide_link(2_000_000, 5 * MS);
    let mut flow = bulk("reno", Some(60_000));
    flow["rmem_bytes"] = json!([4096, 9000, 6 << 20]);
    let trace = Trace::of(&dumbbell("linux-6", 4 * SECOND, &link, json!([flow])));
    let windows: Vec<_> = trace.acks()[..2].iter().map(|a| a.window << 7).collect();
    assert_eq!(windows, [4224, 4352]);
}

#[test]
fn a_receive_buffer_outside_its_range_is_rejected() {
    for buffer in [0, 4095, (1_u64 << 30) + 1] {
        let link = wide_link(1_000_000, MS);
        let mut flow = bulk("reno", None);
        flow["rmem_bytes"] = json!([4096, buffer, 1 << 30]);
        let error = headway_sim::run(&text(&dumbbell("linux-6", SECOND, &link, json!([flow]))))
            .err()
            .expect("out of range");
        assert!(error.to_string().contains("rmem_bytes"), "{error}");
    }
}

/// Number of packets delivered while the window grows from one size to another, divided by the
/// number for a growth of one packet per window.
fn windows_per_packet_of_growth(stack: &str, delayed_ack: bool) -> f64 {
    let link = json!({"rate_bps": 10_000_000, "delay_ns": 25 * MS, "limit_pkts": 45});
    let mut flow = bulk("reno", None);
    flow["delayed_ack"] = json!(delayed_ack);
    let trace = Trace::of(&dumbbell(stack, 22 * SECOND, &link, json!([flow])));
    // Checks the second sawtooth of cwnd, between two recoveries.
    let recoveries: Vec<_> = trace.backoffs().into_iter().filter(|b| b.1 == 0).collect();
    let (low, high) = (recoveries[1].3 + 15, recoveries[2].2 - 2);
    let states = &trace.outcome.tables.flow_state;
    let first_time = |cwnd: u32| {
        let rows = 0..states.flow.len();
        rows.map(|row| (states.time_ns[row] as u64, row))
            .find(|&(t, row)| t > recoveries[1].0 + SECOND / 2 && states.cwnd_pkts[row] == cwnd)
            .expect("the window passes here")
            .0
    };
    let acked = |time_ns: u64| {
        let acks = trace.acks();
        acks[acks.partition_point(|a| a.time_ns < time_ns)].ack
    };
    let delivered = (acked(first_time(high)) - acked(first_time(low))) / 1448;
    let windows: u64 = (low..high).map(u64::from).sum();
    delivered as f64 / windows as f64
}

#[test]
fn reno_grows_a_packet_per_window_or_half_with_counted_and_delayed_acks() {
    // 2.6.24 tcp_reno_cong_avoid counts ACKs (no ABC by default); 6.1 counts packets.
    for (stack, delayed_ack, windows) in [
        ("linux-2.6", true, 2.0),
        ("linux-2.6", false, 1.0),
        ("linux-6", true, 1.0),
        ("linux-6", false, 1.0),
    ] {
        let measured = windows_per_packet_of_growth(stack, delayed_ack);
        let error = (measured / windows - 1.0).abs();
        assert!(
            error < 0.05,
            "{stack}, delayed {delayed_ack}: {measured} windows"
        );
    }
}

/// Data segments towards the opener, each with the time until it is acknowledged.
fn ack_delays_ns(trace: &Trace) -> Vec<u64> {
    let back = trace
        .segments
        .iter()
        .enumerate()
        .filter(|(_, s)| !s.outbound && s.len > 0);
    back.filter_map(|(at, data)| {
        let end = data.seq + u64::from(data.len);
        let later = trace.segments[at..].iter();
        let ack = later.clone().find(|s| s.outbound && s.ack >= end)?;
        Some(ack.time_ns - data.time_ns)
    })
    .collect()
}

#[test]
fn a_single_segment_is_acknowledged_at_once_with_credit_or_if_the_reader_sees_psh() {
    // tcp_incr_quickack: one credit per two segments of 536 bytes in the window, at most 16. 2.6.24
    // uses up one credit for every packet that it sends, even for a request. Without credits, ACKs
    // are delayed by TCP_ATO_MIN. In linux-6 a reader that has read all of a pushed segment
    // acknowledges it (tcp_cleanup_rbuf).
    let link = wide_link(100_000_000, 10 * MS);
    let epochs = [(100, 100, 100 * MS); 40];
    for (stack, credit) in [("linux-2.6", 3), ("linux-6", 40)] {
        let trace = Trace::of(&dumbbell(
            stack,
            20 * SECOND,
            &link,
            json!([requests(&epochs)]),
        ));
        let delays = ack_delays_ns(&trace);
        assert_eq!(delays.len(), 40, "{stack}");
        let quick = delays.iter().take_while(|&&d| d < MS).count();
        assert_eq!(quick, credit, "{stack}: {delays:?}");
        for delay in &delays[quick.min(39)..39] {
            assert!((40 * MS..41 * MS).contains(delay), "{stack}: {delay}");
        }
    }
}

#[test]
fn the_first_segments_are_acknowledged_one_by_one_and_later_every_second() {
    let link = json!({"rate_bps": 10_000_000, "delay_ns": 25 * MS, "limit_pkts": 50});
    for stack in STACKS {
        let trace = Trace::of(&dumbbell(
            stack,
            10 * SECOND,
            &link,
            json!([bulk("reno", None)]),
        ));
        // While data is missing, every segment is acknowledged (RFC 5681, 4.2).
        let acks = trace.acks().into_iter();
        let acked: Vec<_> = acks.filter(|a| a.sack.is_empty()).map(|a| a.ack).collect();
        let steps: Vec<_> = acked.windows(2).map(|w| (w[1] - w[0]) / 1448).collect();
        assert!(
            steps[..5].iter().all(|&s| s == 1),
            "{stack}: {:?}",
            &steps[..20]
        );
        let late = &steps[steps.len() / 2..];
        let doubles = late.iter().filter(|&&s| s == 2).count();
        assert!(
            doubles * 10 > late.len() * 9,
            "{stack}: {doubles} of {}",
            late.len()
        );
    }
}

#[test]
fn the_receive_window_grows_to_fill_100_mbit_over_50_ms() {
    // tcp_rcv_space_adjust: the bandwidth-delay product is 625000 bytes.
    let link = json!({"rate_bps": 100_000_000, "delay_ns": 25 * MS, "limit_pkts": 417});
    for stack in STACKS {
        let mut scenario = dumbbell(stack, 8 * SECOND, &link, json!([bulk("cubic", None)]));
        scenario["checkpoints_ns"] = json!([6 * SECOND]);
        scenario["record"] = json!({"queue": false});
        scenario["capture"] = Value::Null;
        let outcome = crate::common::run(&scenario);
        let delivered = &outcome.tables.flow_counters.delivered_bytes;
        let rate_bps = (delivered[1] - delivered[0]) as f64 * 8.0 / 2.0;
        assert!(rate_bps > 85e6, "{stack}: {rate_bps} bit/s of goodput");
    }
}

#[test]
fn an_idle_connection_halves_its_window_per_timeout() {
    // Idle time is counted from the last transmission, and cwnd falls no lower than the initial
    // window (tcp_cwnd_restart, RFC 2861).
    let link = wide_link(100_000_000, 30 * MS);
    for stack in STACKS {
        for think_ms in [100, 450, 700, 1000, 30_000] {
            let epochs = [(400_000, 1, think_ms * MS), (100_000, 1, 0)];
            let scenario = dumbbell(stack, 60 * SECOND, &link, json!([requests(&epochs)]));
            let trace = Trace::of(&scenario);
            let data = trace.data();
            let second = data
                .iter()
                .position(|d| d.seq > 400_000)
                .expect("a second request");
            let (last, first) = (data[second - 1].time_ns, data[second].time_ns);
            let before = trace.cwnd_at(first - 10 * MS);
            let srtt_ns = u64::from(
                trace.outcome.tables.flow_state.srtt_us[trace
                    .outcome
                    .tables
                    .flow_state
                    .time_ns
                    .partition_point(|&t| t as u64 <= first)
                    - 1],
            ) * 1000;
            let idle_ns = first - last;
            let timeouts = (idle_ns - 1) / (srtt_ns + 200 * MS);
            // tcp_init_cwnd: three segments of 1448 bytes in 2.6, where a connection begins with 2.
            let floor = if stack == "linux-2.6" { 3 } else { 10 };
            let expected = before.checked_shr(timeouts as u32).unwrap_or(0).max(floor);
            assert_eq!(
                trace.cwnd_at(first),
                expected,
                "{stack}, {think_ms} ms, from {before}"
            );
        }
    }
}

/// Number of small data packets that were sent while an earlier small one was not acknowledged.
fn small_while_small_is_out(trace: &Trace) -> usize {
    let mut acked = 0;
    let mut small_end = 0;
    let mut count = 0;
    for s in &trace.segments {
        if !s.outbound && s.has(TcpFlags::ACK) {
            acked = acked.max(s.ack);
        }
        if s.outbound && s.len > 0 && s.len < 1448 {
            count += usize::from(small_end > acked);
            small_end = s.seq + u64::from(s.len);
        }
    }
    count
}

#[test]
fn nagle_delays_a_small_segment_while_another_is_in_flight_unless_nodelay() {
    // RFC 896 with Minshall's change (tcp_minshall_check).
    let link = wide_link(10_000_000, 50 * MS);
    for stack in STACKS {
        let mut flow = json!({"name": "messages", "control": {"name": "reno"},
            "app": {"kind": "pingpong", "request_bytes": 100, "mean_interval_ns": 2 * MS}});
        // after 30 ms more than a segment waits to be sent; the part beyond full segments continues
        // to wait (tcp_mss_split_point)
        let held = Trace::of(&dumbbell(stack, 10 * SECOND, &link, json!([flow])));
        assert_eq!(small_while_small_is_out(&held), 0, "{stack}");
        flow["app"]["mean_interval_ns"] = json!(20 * MS);
        let held = Trace::of(&dumbbell(stack, 10 * SECOND, &link, json!([flow])));
        assert_eq!(small_while_small_is_out(&held), 0, "{stack}");
        flow["nodelay"] = json!(true);
        let sent = Trace::of(&dumbbell(stack, 10 * SECOND, &link, json!([flow])));
        assert!(small_while_small_is_out(&sent) > 300, "{stack}");
        // In the first windows a few segments wait for room in the window, and messages are merged.
        let alone = sent.data().iter().filter(|d| d.len == 100).count();
        assert!(alone * 100 > sent.data().len() * 95, "{stack}: {alone}");
    }
}

#[test]
fn the_end_of_a_transfer_waits_for_a_small_segment_in_linux_6() {
    // The first window ends with a small segment. In linux-6, as with headwayctl's programs on a
    // kernel, a FIN is sent only after everything is acknowledged. It therefore does not release
    // the end of the data (tcp_nagle_test).
    let link = wide_link(100_000_000, 50 * MS);
    let mut flow = bulk("reno", Some(12_000));
    flow["initial_rwnd_bytes"] = json!(7_500);
    let trace = Trace::of(&dumbbell("linux-6", SECOND, &link, json!([flow])));
    assert_eq!(small_while_small_is_out(&trace), 0);
}

#[test]
fn timeouts_of_a_syn_double_at_once_in_linux_26_and_after_the_first_four_in_linux_6() {
    // The first timeout is 3 s in linux-2.6 (RFC 1122 and 2988, TCP_TIMEOUT_INIT), and 1 s in
    // linux-6 (RFC 6298), which doubles it only after tcp_syn_linear_timeouts timeouts.
    for (stack, gaps_s) in [
        ("linux-2.6", &[3, 6, 12][..]),
        ("linux-6", &[1, 1, 1, 1, 1, 2, 4, 8]),
    ] {
        let link = wide_link(10_000_000, 11 * SECOND);
        let trace = Trace::of(&dumbbell(
            stack,
            22 * SECOND,
            &link,
            json!([bulk("reno", Some(1))]),
        ));
        let syns = trace.segments.iter();
        let syns = syns.filter(|s| s.outbound && s.has(TcpFlags::SYN));
        let times: Vec<_> = syns.map(|s| s.time_ns).collect();
        let gaps = times.windows(2).map(|w| w[1] - w[0]);
        assert_eq!(times.len() - 1, gaps_s.len(), "{stack}");
        for (gap, expected) in gaps.zip(gaps_s) {
            let exact = gap == expected * SECOND;
            assert_eq!(exact, stack == "linux-2.6", "{stack}: {times:?}");
            assert!(on_the_wheel(gap, expected * SECOND), "{stack}: {times:?}");
        }
        // retransmitted SYNs count as timeouts in linux-6 (tcp_update_rto_stats)
        let counted = if stack == "linux-6" { gaps_s.len() } else { 0 };
        assert_eq!(trace.repairs(), (counted as u64, 0), "{stack}");
    }
}

#[test]
fn one_lost_syn_keeps_the_initial_window_and_two_reduce_it_to_one_packet_in_linux_6() {
    // tcp_init_transfer of Linux 6.1 counts retransmissions of the SYN (RFC 5681, 3.1); Linux
    // 2.6.24 ignores them.
    for (stack, windows) in [("linux-6", [10, 10, 1]), ("linux-2.6", [2, 2, 2])] {
        for (n_lost, window) in windows.into_iter().enumerate() {
            let link = wide_link(100_000_000, 25 * MS);
            let flow = requests(&[(20_000, 1, 0)]);
            let mut scenario = dumbbell(stack, 30 * SECOND, &link, json!([flow]));
            scenario["topology"]["forward"]["loss"] = json!(0.2);
            let is_syn = |s: &CapturedSegment| s.has(TcpFlags::SYN);
            let trace = find(&scenario, n_lost, |t| t.lost.iter().all(is_syn));
            assert_eq!(rounds(&trace)[0], window, "{stack}, {n_lost} lost");
        }
    }
}

#[test]
fn a_timestamp_shows_that_a_syn_timed_out_before_its_answer_arrived() {
    // The RTT is 3.5 s, so SYNs are sent after 0, 1, 2 and 3 s. The SYN-ACK echoes the timestamp of
    // the first SYN, which shows that no SYN was lost (tcp_try_undo_spurious_syn): cwnd stays 10,
    // and the RTT is known. Without timestamps cwnd becomes 1, and the retransmission timeout is 3
    // s (tcp_init_metrics). The first data packet is still not retransmitted by a timeout before
    // its ACK arrives after 3.5 s, because the tail loss probe, sent 1 s after it, restarts the
    // timer.
    for (timestamps, window) in [(true, 10), (false, 1)] {
        let mut flow = requests(&[(20_000, 1, 0)]);
        flow["timestamps"] = json!(timestamps);
        let link = wide_link(100_000_000, 1750 * MS);
        let trace = Trace::of(&dumbbell("linux-6", 60 * SECOND, &link, json!([flow])));
        let syns = trace
            .segments
            .iter()
            .filter(|s| s.outbound && s.has(TcpFlags::SYN));
        assert_eq!(syns.count(), 4);
        let first_ns = trace.data()[0].time_ns;
        let first = trace
            .data()
            .iter()
            .filter(|d| d.time_ns < first_ns + SECOND)
            .count();
        assert_eq!(first, window, "timestamps {timestamps}");
        assert_eq!(trace.repairs(), (3, 0), "timestamps {timestamps}");
    }
}

#[test]
fn loss_after_a_syn_timeout_ends_with_the_syn_ack_or_without_sack_with_the_first_data() {
    // The SYN times out before the SYN-ACK arrives, so the sender enters Loss (tcp_enter_loss,
    // tcp_try_undo_recovery). A startup begins only in Open. Without SACK the sender is still in
    // Loss when it sends its first data, so the first flight is the initial window.
    for (sack, first) in [(true, 23), (false, 10)] {
        let mut flow = bulk("bic", Some(32_000));
        flow["control"]["startup"] = json!("mega-start");
        flow["initial_rate_bps"] = json!(3_200_000);
        flow["sack"] = json!(sack);
        let link = wide_link(10_000_000, 950 * MS);
        let trace = Trace::of(&dumbbell("linux-6", 20 * SECOND, &link, json!([flow])));
        assert_eq!(rounds(&trace)[0], first, "SACK {sack}");
    }
}

#[test]
fn the_window_of_a_syn_counts_segments_without_timestamps() {
    // The window of the SYN is 44 segments of 1460 bytes, that of the SYN-ACK 45 segments of 1448,
    // then in units of 128 bytes (tcp_connect_init, tcp_openreq_init_rwin). linux-2.6 has 5840
    // bytes in both.
    let windows = |stack: &str| {
        let link = wide_link(10_000_000, 25 * MS);
        let flows = json!([bulk("reno", Some(20_000))]);
        let trace = Trace::of(&dumbbell(stack, SECOND, &link, flows));
        let mut seen = trace.segments.iter();
        let mut next = |outbound| {
            seen.find(|s: &&CapturedSegment| s.outbound == outbound)
                .map(|s| s.window)
        };
        [next(true), next(false), next(true)].map(Option::unwrap)
    };
    assert_eq!(windows("linux-6"), [64_240, 65_160, 502]);
    assert_eq!(windows("linux-2.6"), [5840, 5840, 45]);
}

/// Largest window that a receiver announces, in bytes, and the scale of its SYN-ACK.
fn largest_window(scenario: &Value) -> (u64, Option<u8>) {
    let trace = Trace::of(scenario);
    let scale = trace.window_scale();
    let most = trace.acks().iter().map(|ack| ack.window).max().unwrap();
    (u64::from(most) << scale.unwrap_or(0), scale)
}

#[test]
fn a_fixed_receive_buffer_does_not_grow() {
    // sk_setsockopt doubles SO_RCVBUF, and SOCK_RCVBUF_LOCK stops right-sizing. 160/256 of the
    // buffer are window in linux-6 (tcp_measure_rcv_mss), 3/4 in linux-2.6. The scale is the
    // smallest with which 16 bits can announce the window of the whole buffer.
    let link = wide_link(100_000_000, 50 * MS);
    // The ACK of a packet that is not read yet counts the packet: its 2304 bytes are 1440 of window.
    let found = [
        ("linux-6", 65_536_u64),
        ("linux-2.6", 65_536),
        ("linux-6", 16_384),
        ("linux-6", 1 << 20),
    ]
    .map(|(stack, rcvbuf)| {
        let mut flow = bulk("cubic", None);
        flow["rcvbuf_bytes"] = json!(rcvbuf);
        largest_window(&dumbbell(stack, 4 * SECOND, &link, json!([flow])))
    });
    assert_eq!(
        found,
        [
            (81_920 - 1440, Some(1)),
            (98_304, Some(1)),
            (13 * 1448, Some(0)),
            (1_310_720 - 1440, Some(5)),
        ]
    );
}

#[test]
fn without_window_scaling_a_window_has_16_bits() {
    let link = wide_link(100_000_000, 50 * MS);
    for stack in STACKS {
        let mut scenario = dumbbell(stack, 4 * SECOND, &link, json!([bulk("cubic", None)]));
        let (usual, scale) = largest_window(&scenario);
        assert!(usual > 1 << 20 && scale == Some(7), "{stack}: {usual}");
        scenario["sysctls"] = json!({"tcp_window_scaling": [0]});
        let (most, scale) = largest_window(&scenario);
        assert!(most <= 65_535 && most > 60_000 && scale.is_none(), "{most}");
    }
}

#[test]
fn a_large_maximum_has_a_larger_scale() {
    // 32 MiB, as many hosts have it for long paths: a scale of 10, and windows beyond 8 MiB
    let link = wide_link(1_000_000_000, 100 * MS);
    let mut scenario = dumbbell("linux-6", 6 * SECOND, &link, json!([bulk("cubic", None)]));
    scenario["sysctls"] = json!({"tcp_rmem": [4096, 131_072, 32 << 20],
        "tcp_wmem": [4096, 16_384, 64 << 20]});
    let (most, scale) = largest_window(&scenario);
    assert_eq!(scale, Some(10));
    assert!(most > 16 << 20, "{most}");
}

#[test]
fn a_setting_that_a_stack_lacks_is_rejected() {
    let link = wide_link(1_000_000, MS);
    let mut scenario = dumbbell("linux-2.6", SECOND, &link, json!([bulk("reno", None)]));
    for (field, settings, said) in [
        (
            "sysctls",
            json!({"tcp_recovery": [1]}),
            "sysctls.tcp_recovery: the stack linux-2.6",
        ),
        (
            "sysctls",
            json!({"tcp_sack": [2]}),
            "sysctls.tcp_sack: 2 is not allowed; a whole",
        ),
        (
            "sysctls",
            json!({"tcp_sack": []}),
            "sysctls.tcp_sack:  is not allowed; a whole",
        ),
        (
            "sysctls",
            json!({"tcp_fack": [1]}),
            "sysctls.tcp_fack: the simulator does not model",
        ),
        (
            "route_attributes",
            json!({"initcwnd": [4]}),
            "route_attributes.initcwnd: the stack",
        ),
    ] {
        scenario[field] = settings;
        let error = headway_sim::run(&text(&scenario)).err().expect("refused");
        assert!(error.to_string().contains(said), "{error}");
        scenario[field] = json!({});
    }
}

#[test]
fn an_answer_in_a_tcp_option_waits_for_a_packet_with_room() {
    // as the kernel's form does it (hw_reserve of algorithms/port/bpf/endpoint.h): segments stay full
    let flow = json!({"name": "both", "control": {"name": "vcp"},
        "app": {"kind": "pingpong", "request_bytes": 3000, "mean_interval_ns": 40 * MS}});
    let link = wide_link(20_000_000, 2 * MS);
    let trace = Trace::of(&dumbbell("linux-6", SECOND, &link, json!([flow])));
    assert!(trace.segments.iter().any(|s| s.len == 1448));
    assert!(trace
        .segments
        .iter()
        .all(|s| s.len == 1448 || s.len % 104 == 0));
}
