//! First round trips of startups on the wire. The numbers follow from Scharf, "Fast Startup
//! Internet Congestion Control" (2011), sections 4.4 and 5.2, and RFC 9959; segments have 1448
//! bytes in packets of 1500.

use crate::common::{dumbbell, find, wide_link, CapturedSegment, Trace, MS, SECOND};
use headway_wire::TcpFlags;
use serde_json::{json, Value};

const STACKS: [&str; 2] = ["linux-2.6", "linux-6"];

/// A flow with a bulk transfer, a startup, its tunables, and other fields. Its send buffer is large
/// from the start, as an application on Linux can request.
fn flow(startup: &str, bytes: u64, tunables: Value, fields: &Value) -> Value {
    let mut flow = json!({"name": startup, "app": {"kind": "bulk", "bytes": bytes},
        "control": {"name": "reno", "startup": startup, "tunables": tunables},
        "wmem_bytes": [4096, 4 << 20, 4 << 20]});
    for (name, value) in fields.as_object().expect("fields") {
        flow[name] = value.clone();
    }
    flow
}

/// Data packets of the first round trip: those sent before the first acknowledgement of data
/// arrives.
fn first_flight(trace: &Trace) -> Vec<CapturedSegment> {
    let acks = trace.acks();
    let acked = acks.iter().find(|a| a.ack > 1).expect("an ACK of data");
    let data = trace.data();
    let flight = data.iter().take_while(|d| d.time_ns < acked.time_ns);
    flight.map(|d| (*d).clone()).collect()
}

/// Sizes of the bursts of a flight, and the times between the starts of successive bursts.
fn bursts(flight: &[CapturedSegment]) -> (Vec<usize>, Vec<u64>) {
    let (mut sizes, mut starts) = (vec![0], vec![flight[0].time_ns]);
    for (i, packet) in flight.iter().enumerate() {
        if i > 0 && packet.time_ns - flight[i - 1].time_ns > MS / 2 {
            sizes.push(0);
            starts.push(packet.time_ns);
        }
        *sizes.last_mut().expect("one") += 1;
    }
    let gaps = starts.windows(2).map(|w| w[1] - w[0]).collect();
    (sizes, gaps)
}

/// Sizes of the bursts if this number of packets is sent in chunks of three. Linux 6 does not pace
/// bursts that begin within the first ten packets. The first burst was cut to two packets before
/// the startup was told of the transmission. Three bursts of three packets follow at once.
fn threes(stack: &str, pkts: usize) -> Vec<usize> {
    let (mut sizes, left) = match stack {
        "linux-6" => (vec![11], pkts - 11),
        _ => (vec![], pkts),
    };
    sizes.extend(vec![3; left / 3]);
    sizes.extend((left % 3 > 0).then_some(left % 3));
    sizes
}

fn run(stack: &str, rtt_ms: u64, flow: Value) -> Trace {
    let link = wide_link(100_000_000, rtt_ms * MS / 2);
    Trace::of(&dumbbell(stack, 4 * SECOND, &link, json!([flow])))
}

#[test]
fn jump_start_paces_65535_bytes_over_a_round_trip_in_bursts_of_three() {
    for stack in STACKS {
        let window = json!({"initial_rwnd_bytes": 1 << 20});
        let trace = run(
            stack,
            100,
            flow("jump-start", 1_000_000, json!({}), &window),
        );
        let flight = first_flight(&trace);
        // The flight has 45 whole segments. By eq. 5.1 these are 15 timers, the first of which
        // fires immediately.
        assert_eq!(flight.len(), 45, "{stack}");
        let (sizes, gaps) = bursts(&flight);
        assert_eq!(sizes, threes(stack, 45), "{stack}");
        for gap in gaps {
            assert!(gap.abs_diff(100 * MS / 15) < MS / 2, "{stack}: {gap}");
        }
    }
}

#[test]
fn jump_start_sends_data_of_less_than_its_window_if_it_exceeds_the_initial_window() {
    // 30 kB are 21 segments. 20 kB are 14 segments, but 100 kbit/s x 100 ms allows fewer than the
    // initial window of 10.
    let window = json!({"initial_rwnd_bytes": 1 << 20});
    for (bytes, kbps, expected) in [(30_000, 10_000, 21), (20_000, 100, 10), (10_000, 10_000, 7)] {
        let tunables = json!({"js_max_rate_kbps": kbps});
        let trace = run("linux-6", 100, flow("jump-start", bytes, tunables, &window));
        assert_eq!(first_flight(&trace).len(), expected, "{bytes} bytes");
    }
}

#[test]
fn original_jump_start_is_limited_only_by_data_and_window() {
    // The limit is the peer's window when the flight is planned. The ACK after the SYN-ACK, with a
    // larger window, arrives too late.
    let mut tunables = json!({"js_max_bytes": 0, "js_max_rate_kbps": 0});
    let fields = json!({"initial_rwnd_bytes": 1 << 20, "extra_ack": true});
    let bound = flow("jump-start", 400_000, tunables.clone(), &fields);
    assert_eq!(first_flight(&run("linux-6", 100, bound)).len(), 45);
    tunables["ignore_peer_window"] = json!(1);
    let trace = run(
        "linux-6",
        100,
        flow("jump-start", 400_000, tunables, &fields),
    );
    // at 33 Mbit/s, 277 segments are sent in the first round trip
    assert_eq!(first_flight(&trace).len(), 277);
}

/// Segments in the first round trip of Mega-Start at 10 Mbit/s and 200 ms: 166 if nothing limits
/// them (W = Q tau/MTU).
fn mega(fields: &Value, tunables: Value) -> usize {
    first_flight(&run(
        "linux-6",
        200,
        flow("mega-start", 2_000_000, tunables, fields),
    ))
    .len()
}

#[test]
fn the_window_of_a_syn_ack_ends_a_first_flight_at_64_kib_and_an_ack_after_it_does_not() {
    let none = json!({});
    assert_eq!(mega(&json!({}), none.clone()), 45); // 65160 bytes
    let large = json!({"initial_rwnd_bytes": 2 << 20});
    // the SYN-ACK's window has 65535 bytes: the last large segment ends with the rest of it
    // (tcp_mss_split_point)
    assert_eq!(mega(&large, none.clone()), 46);
    let both = json!({"initial_rwnd_bytes": 2 << 20, "extra_ack": true});
    assert_eq!(mega(&both, none), 166);
    // section 5.2.4 of the thesis: receivers accept data beyond their advertised window
    assert_eq!(mega(&json!({}), json!({"ignore_peer_window": 1})), 166);
}

#[test]
fn mega_start_sends_at_the_rate_that_the_application_sets() {
    let mut fields = json!({"initial_rwnd_bytes": 2 << 20, "extra_ack": true,
        "initial_rate_bps": 4_000_000});
    assert_eq!(mega(&fields, json!({})), 66);
    fields["initial_rate_bps"] = json!(null);
    assert_eq!(mega(&fields, json!({"ms_automatic": 0})), 10);
}

#[test]
fn after_a_first_flight_without_loss_slow_start_continues_from_its_window() {
    let fields = json!({"initial_rwnd_bytes": 8_000_000, "extra_ack": true, "delayed_ack": false,
        "initial_rate_bps": 3_000_000});
    let trace = run(
        "linux-6",
        200,
        flow("mega-start", 2_000_000, json!({}), &fields),
    );
    let data = trace.data();
    let start = data[0].time_ns;
    let sent = |round: u64| {
        let of = |d: &&&CapturedSegment| (d.time_ns - start) / (200 * MS) == round;
        data.iter().filter(of).count()
    };
    // the window is 50 packets and doubles in every round; packets at the borders of rounds are
    // uncertain
    for (round, expected) in [50u64, 100, 200].into_iter().enumerate() {
        let n = sent(round as u64) as u64;
        assert!(n.abs_diff(expected) < expected / 10, "round {round}: {n}");
    }
}

#[test]
fn initial_start_sends_its_window_as_a_burst_or_over_a_round_trip() {
    let window = json!({"initial_rwnd_bytes": 1 << 20});
    for stack in STACKS {
        let tunables = json!({"is_window_pkts": 30});
        let trace = run(
            stack,
            100,
            flow("initial-start", 500_000, tunables, &window),
        );
        let flight = first_flight(&trace);
        assert_eq!(flight.len(), 30, "{stack}");
        assert_eq!(bursts(&flight).0, [30], "{stack}");
        let tunables = json!({"is_window_pkts": 30, "is_paced": 1});
        let trace = run(
            stack,
            100,
            flow("initial-start", 500_000, tunables, &window),
        );
        let (sizes, _) = bursts(&first_flight(&trace));
        assert_eq!(sizes, threes(stack, 30), "{stack}");
    }
}

#[test]
fn after_a_loss_the_window_is_half_of_what_arrived() {
    // 45 segments, sent at 10 Mbit/s over 53 ms, meet a queue of 10 packets at 2 Mbit/s.
    let link = json!({"rate_bps": 2_000_000, "delay_ns": 25 * MS, "limit_pkts": 10});
    for stack in STACKS {
        let one = flow(
            "jump-start",
            400_000,
            json!({}),
            &json!({"initial_rwnd_bytes": 1 << 20}),
        );
        let trace = Trace::of(&dumbbell(stack, 20 * SECOND, &link, json!([one])));
        let n_pacing = first_flight(&trace).len();
        let end = trace.data()[n_pacing - 1].seq + 1448;
        let lost = trace.lost.iter().filter(|l| l.seq < end).count();
        assert!(lost > 5, "{stack}: {lost}");
        let states = &trace.outcome.tables.flow_state;
        let recovered = (1..states.state.len())
            .find(|&i| states.state[i] < 2 && states.state[i - 1] >= 3)
            .expect("recovery ends");
        let expected = (n_pacing - lost.min(n_pacing)) / 2;
        let found = states.cwnd_pkts[recovered];
        // cwnd may be smaller, because retransmissions of data sent after the flight are
        // subtracted, too; the ACK that ends recovery may add a packet
        assert!(
            (1..=expected as u32 + 1).contains(&found),
            "{stack}: {found}, {n_pacing} sent, {lost} lost"
        );
        assert_eq!(
            trace.outcome.tables.flow_counters.delivered_bytes[0],
            400_000
        );
    }
}

#[test]
fn an_idle_connection_uses_its_startup_again() {
    // The flow sends a request of 200 kB, pauses for 3 s, and sends another request.
    let epochs = [(200_000, 1, 3_000 * MS), (200_000, 1, 0)];
    for stack in STACKS {
        for (after_idle, expected) in [(1, 45), (0, if stack == "linux-6" { 10 } else { 3 })] {
            let mut one = flow(
                "jump-start",
                1,
                json!({"after_idle": after_idle}),
                &json!({"initial_rwnd_bytes": 1 << 20}),
            );
            one["app"] = json!({"kind": "vectors", "epochs": epochs});
            let link = wide_link(100_000_000, 50 * MS);
            let trace = Trace::of(&dumbbell(stack, 8 * SECOND, &link, json!([one])));
            let data = trace.data();
            let again = data
                .windows(2)
                .position(|w| w[1].time_ns - w[0].time_ns > 2 * SECOND)
                .expect("a pause")
                + 1;
            let from = data[again].time_ns;
            let flight = data[again..]
                .iter()
                .take_while(|d| d.time_ns < from + 100 * MS)
                .count();
            assert_eq!(flight, expected, "{stack}");
        }
    }
}

#[test]
fn a_server_uses_jump_start_for_its_first_response() {
    for stack in STACKS {
        let mut one = flow(
            "jump-start",
            1,
            json!({}),
            &json!({"initial_rwnd_bytes": 1 << 20}),
        );
        one["app"] = json!({"kind": "vectors", "epochs": [(400, 300_000, 0)]});
        let link = wide_link(100_000_000, 50 * MS);
        let trace = Trace::of(&dumbbell(stack, 4 * SECOND, &link, json!([one])));
        let back: Vec<_> = trace
            .segments
            .iter()
            .filter(|s| !s.outbound && s.len > 0)
            .collect();
        let first = back[0].time_ns;
        let flight = back.iter().filter(|s| s.time_ns < first + 100 * MS);
        assert_eq!(flight.count(), 45, "{stack}");
    }
}

#[test]
fn without_timestamps_a_retransmitted_handshake_gives_no_rtt_and_starts_slowly() {
    // tcp_ack_update_rtt: a timestamp shows which SYN was answered
    for (timestamps, packets) in [(true, 42), (false, 10)] {
        let mut link = wide_link(10_000_000, 25 * MS);
        link["loss"] = json!(0.05);
        let fields = json!({"timestamps": timestamps});
        let one = flow("jump-start", 60_000, json!({}), &fields);
        let scenario = dumbbell("linux-6", 4 * SECOND, &link, json!([one]));
        let trace = find(&scenario, 1, |t| {
            t.lost.iter().any(|s| s.has(TcpFlags::SYN))
        });
        let first = trace.data()[0].time_ns;
        let data = trace.data();
        let flight = data.iter().filter(|d| d.time_ns < first + 50 * MS);
        assert_eq!(flight.count(), packets, "timestamps {timestamps}");
    }
}

#[test]
fn careful_resume_tries_half_the_saved_window_after_the_initial_one() {
    let fields = json!({"initial_rwnd_bytes": 8_000_000, "extra_ack": true});
    let resume = |saved_rtt_ms: u64| {
        let tunables = json!({"cr_saved_cwnd_pkts": 200, "cr_saved_rtt_us": saved_rtt_ms * 1000});
        run(
            "linux-6",
            200,
            flow("careful-resume", 2_000_000, tunables, &fields),
        )
    };
    // number of packets that are sent within one round trip of the first ACK
    let second = |trace: &Trace| {
        let acked = trace
            .acks()
            .iter()
            .find(|a| a.ack > 1)
            .expect("an ACK")
            .time_ns;
        let within = |d: &&&CapturedSegment| (acked..acked + 200 * MS).contains(&d.time_ns);
        trace.data().iter().filter(within).count()
    };
    let trace = resume(200);
    assert_eq!(first_flight(&trace).len(), 10);
    // from the tenth ACK on, the jump is paced over one round trip
    assert!((98..=102).contains(&second(&trace)), "{}", second(&trace));
    // if the RTT is less than half of the saved RTT, or more than ten times as long, the path is a
    // different one
    assert_eq!(second(&resume(410)), 20);
    assert_eq!(second(&resume(19)), 20);
}

#[test]
fn a_packet_shortened_by_an_option_is_not_small_and_nagle_waits_for_none() {
    // 50,000 bytes are 34 full segments and a small one. The report of the granted rate takes space
    // in the first packet. This packet still counts as full, because it has as much data as fits
    // (tcp_minshall_update).
    for stack in STACKS {
        let mut link = wide_link(100_000_000, 50 * MS);
        link["routers"] = crate::common::answering(&json!({"interval_ms": 100}));
        let fields = json!({"initial_rwnd_bytes": 1 << 20, "extra_ack": true,
            "data_volume_bytes": 50_000});
        let tunables = json!({"qs_rate_kbps": 10_240, "qs_activation": 2, "qs_fit_data": 0});
        let quick_start = flow("quick-start", 50_000, tunables, &fields);
        let trace = Trace::of(&dumbbell(stack, 4 * SECOND, &link, json!([quick_start])));
        let flight = first_flight(&trace);
        let sent: u64 = flight.iter().map(|d| u64::from(d.len)).sum();
        assert_eq!(sent, 50_000, "{stack}");
    }
}
