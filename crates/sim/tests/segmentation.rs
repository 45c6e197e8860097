//! Packets of a live Linux 6.18 that the profile linux-6 must reproduce. They were captured with
//! tcpdump on both hosts of `headway validate`'s testbed: large segments, the ACKs that follow
//! them, and recovery from many losses in a queue of four packets.

use crate::common::{bulk, dumbbell, wide_link, Trace, MS, SECOND};
use headway_wire::TcpFlags;
use serde_json::json;

const SEGMENT: u64 = 1448;

/// Reno at 1 Mbit/s and 20 ms, with a queue that holds 6000 bytes.
fn four_packet_queue() -> Trace {
    let link = json!({"rate_bps": 1_000_000, "delay_ns": 10 * MS, "limit_bytes": 6000});
    Trace::of(&dumbbell(
        "linux-6",
        SECOND,
        &link,
        json!([bulk("reno", None)]),
    ))
}

#[test]
fn the_first_window_is_sent_as_pairs_whose_second_packet_has_psh() {
    // __tcp_transmit_skb sets PSH on every segment of more than one packet; by tcp_min_tso_segs a
    // segment has at least 2.
    let pushed = |stack: &str| {
        let link = wide_link(10_000_000, 25 * MS);
        let flows = json!([bulk("reno", None)]);
        let trace = Trace::of(&dumbbell(stack, SECOND / 5, &link, flows));
        let data = trace.data();
        let first = data.iter().take(10);
        first.map(|d| d.has(TcpFlags::PSH)).collect::<Vec<_>>()
    };
    assert_eq!(pushed("linux-6"), [false, true].repeat(5));
    assert_eq!(pushed("linux-2.6"), [false; 10]);
}

#[test]
fn a_single_retransmitted_packet_has_psh_only_if_the_writer_pushed_it() {
    // __tcp_transmit_skb sets PSH in the transmitted copy, so a packet that is retransmitted alone
    // has only the PSH that tcp_mark_push set when the writer ran out of room.
    let trace = four_packet_queue();
    let data = trace.data();
    let mut pushed = std::collections::HashSet::new();
    let (mut alone, mut marked) = (0, 0);
    for (i, packet) in data.iter().enumerate() {
        let with_next = data
            .get(i + 1)
            .is_some_and(|n| n.time_ns < packet.time_ns + MS / 10);
        let with_last = i > 0 && data[i - 1].time_ns + MS / 10 > packet.time_ns;
        if packet.has(TcpFlags::PSH) {
            pushed.insert(packet.seq);
        }
        let again = data[..i].iter().any(|d| d.seq == packet.seq);
        if again && pushed.contains(&packet.seq) && !with_next && !with_last {
            alone += 1;
            marked += u32::from(packet.has(TcpFlags::PSH));
        }
    }
    assert!(alone > 2 && marked < 2, "{marked} of {alone}");
}

#[test]
fn a_window_of_two_packets_is_sent_as_two_segments_without_psh() {
    // A segment is at most half of cwnd (tcp_cwnd_test), here one packet. tcp_push_one does not set
    // PSH.
    let link = wide_link(10_000_000, 25 * MS);
    let flows = json!([bulk("hybla", None)]);
    let trace = Trace::of(&dumbbell("linux-6", SECOND / 5, &link, flows));
    let data = trace.data();
    assert!(!data[0].has(TcpFlags::PSH) && !data[1].has(TcpFlags::PSH));
    assert!(data[2].time_ns > data[1].time_ns + 20 * MS);
}

#[test]
fn segments_follow_the_writers_sk_buffs_as_on_linux() {
    // Linux 6.18 at 20 Mbit/s and 60 ms with a queue of three packets: the numbers of the first
    // packets, and which of them had PSH. Packet 31 ends an sk_buff, whose rest does not wait for
    // the next ACK (tcp_tso_should_defer). The writer sends packet 38 alone (tcp_push_one). The
    // writer wakes with the ACK of packet 30, not with that of 29: both are in one sk_buff, which
    // counts in the send buffer while packet 30 is in flight (tcp_trim_head).
    let alone = [
        12, 14, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 18, 19, 20, 21, 23, 25, 26, 28, 29, 31, 32, 34,
        36, 38, 39, 40, 42, 44, 45,
    ];
    let pushed = [13, 15, 22, 24, 27, 30, 33, 35, 37, 41, 43, 46];
    let link = json!({"rate_bps": 20_000_000, "delay_ns": 30 * MS, "limit_pkts": 3});
    let flows = json!([bulk("reno", Some(3_000_000))]);
    let trace = Trace::of(&dumbbell("linux-6", SECOND, &link, flows));
    let sent = |push: bool| -> Vec<u64> {
        let data = trace.data().into_iter().skip(12).take(43);
        data.filter(|d| d.has(TcpFlags::PSH) == push)
            .map(|d| (d.seq - 1) / SEGMENT)
            .collect()
    };
    assert_eq!(sent(false), alone);
    assert_eq!(sent(true), pushed);
}

#[test]
fn segments_grow_with_the_rate() {
    // A large segment has the bytes that 1.2 or 2 times the rate gives in 2^-10 s
    // (tcp_tso_autosize).
    let longest_run = |rate_bps| {
        let link = json!({"rate_bps": rate_bps, "delay_ns": 25 * MS, "limit_pkts": 600});
        let flows = json!([bulk("reno", None)]);
        let trace = Trace::of(&dumbbell("linux-6", 5 * SECOND, &link, flows));
        let data = trace.data();
        let late = &data[data.len() / 2..];
        let mut longest = 0;
        let mut run = 0;
        for packet in late {
            run += 1;
            if packet.has(TcpFlags::PSH) {
                longest = longest.max(run);
                run = 0;
            }
        }
        longest
    };
    assert!((2..=4).contains(&longest_run(1_000_000)));
    // 100 Mbit/s give 12.2 kB in 2^-10 s.
    assert!((8..=12).contains(&longest_run(100_000_000)));
}

#[test]
fn the_reader_acknowledges_every_large_segment_at_its_end() {
    // Since Linux 6.6, a pushed segment of full size is acknowledged after it is read, even if it
    // is the first since the last ACK (tcp_measure_rcv_mss, tcp_cleanup_rbuf).
    let link = wide_link(10_000_000, 25 * MS);
    let flows = json!([bulk("reno", Some(1000 * SEGMENT))]);
    let trace = Trace::of(&dumbbell("linux-6", 10 * SECOND, &link, flows));
    let acks: Vec<u64> = trace.acks().iter().map(|a| a.ack).collect();
    let data = trace.data();
    let pushed: Vec<_> = data.iter().filter(|d| d.has(TcpFlags::PSH)).collect();
    assert!(pushed.len() > 300, "{}", pushed.len());
    for packet in &pushed {
        let end = packet.seq + u64::from(packet.len);
        assert!(
            acks.binary_search(&end).is_ok() || acks.contains(&(end + 1)),
            "{end} is not acknowledged separately"
        );
    }
}

#[test]
fn recovery_from_a_full_queue_matches_linux_packet_by_packet() {
    // Numbers of the first 41 data packets, in the order in which the kernel sent them.
    let kernel = [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 18,
        19, 20, 15, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
    ];
    let trace = four_packet_queue();
    let sent: Vec<u64> = trace.data().iter().map(|d| (d.seq - 1) / SEGMENT).collect();
    assert_eq!(sent[..kernel.len()], kernel);
    // The ACK of packet 3 also detects the loss of packet 15: one packet is sent for it, and two
    // for the next ACK, when no new loss is found (tcp_cwnd_reduction).
    let acks = trace.acks();
    let at = |pkts: u64| {
        let ack = acks.iter().find(|a| a.ack == pkts * SEGMENT + 1);
        ack.expect("this ACK").time_ns
    };
    let between = |from: u64, to: u64| {
        let data = trace.data().into_iter();
        data.filter(|d| (at(from)..at(to)).contains(&d.time_ns))
            .count()
    };
    assert_eq!((between(4, 5), between(5, 6)), (1, 2));
}

#[test]
fn duplicate_acks_use_up_quick_ack_credit() {
    // tcp_dec_quickack_mode counts every ACK of data, in order or not. After the first two
    // recoveries, ACKs are delayed again.
    let trace = four_packet_queue();
    let acks = trace.acks().into_iter().filter(|a| a.sack.is_empty());
    let acks: Vec<u64> = acks
        .filter(|a| (270 * MS..360 * MS).contains(&a.time_ns))
        .map(|a| (a.ack - 1) / SEGMENT)
        .collect();
    assert!(
        acks.windows(2).any(|pair| pair[1] - pair[0] == 2),
        "{acks:?}"
    );
}

#[test]
fn duplicate_acks_are_not_merged_while_quick_ack_credit_is_left() {
    // __tcp_ack_snd_check checks the quick-ACK credit before it merges duplicate ACKs. Therefore
    // each of the five packets after the first hole is acknowledged at once; they arrive 0.6 ms
    // apart.
    let link = json!({"rate_bps": 20_000_000, "delay_ns": 30 * MS, "limit_pkts": 3});
    let flows = json!([bulk("reno", Some(3_000_000))]);
    let trace = Trace::of(&dumbbell("linux-6", 5 * SECOND, &link, flows));
    let acks = trace.acks();
    let duplicates: Vec<u64> = acks
        .iter()
        .filter(|a| a.ack == 3 * SEGMENT + 1 && !a.sack.is_empty())
        .map(|a| a.time_ns)
        .collect();
    let gaps: Vec<u64> = duplicates.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(gaps, [600_000; 4]);
}

#[test]
fn packets_with_protocol_headers_are_sent_one_by_one() {
    // Segments have one packet (gso_max_segs 1), so PSH is set only if the sender has no more data,
    // not on every second packet.
    let link = wide_link(10_000_000, 25 * MS);
    let pushed_percent = |control: &str| {
        let scenario = dumbbell("linux-6", SECOND, &link, json!([bulk(control, None)]));
        let trace = Trace::of(&scenario);
        let data = trace.data();
        let pushed = data.iter().filter(|d| d.has(TcpFlags::PSH)).count();
        100 * pushed / data.len()
    };
    assert!(pushed_percent("maxnet") < 10);
    assert!(pushed_percent("reno") > 40);
}
