//! When HyStart ends slow start, by delay and by trains of ACKs.

use headway_algorithms::{Ack, CaState, Conn, ControlInstance, SSTHRESH_INFINITE};

fn new(conn: &mut Conn, detect: u32) -> ControlInstance {
    let tunables = [("hystart_detect".to_owned(), detect)];
    let mut cc = ControlInstance::new("reno", Some("hystart"), &tunables).unwrap();
    cc.init(conn);
    cc
}

/// Passes the ACKs of one round: `acks` ACKs, `gap_us` apart, each with this RTT sample.
fn round(cc: &mut ControlInstance, conn: &mut Conn, acks: u32, gap_us: u64, rtt_us: i32) {
    conn.snd_nxt = conn.snd_una + 1000;
    for _ in 0..acks {
        conn.now_us += gap_us;
        conn.snd_una += 1;
        let ack = Ack {
            acked_pkts: 1,
            rtt_us,
        };
        cc.pkts_acked(conn, &ack);
    }
    conn.snd_una += 1000; // the next ACK is beyond the end of the round
    conn.now_us += 50_000;
}

/// The smallest extra delay, in steps of 0.5 ms, at which HyStart ends slow start by delay alone.
fn exit_delay_us(base_us: i32) -> i32 {
    (0..60)
        .map(|i| i * 500)
        .find(|extra| {
            let mut conn = Conn {
                cwnd_pkts: 20,
                ..Conn::default()
            };
            let mut cc = new(&mut conn, 2);
            round(&mut cc, &mut conn, 10, 5000, base_us);
            round(&mut cc, &mut conn, 10, 5000, base_us + extra);
            conn.ssthresh_pkts != SSTHRESH_INFINITE
        })
        .expect("some delay ends it")
}

#[test]
fn delay_ends_slow_start_above_an_eighth_of_the_round_trip_within_4_to_16_ms() {
    assert_eq!(exit_delay_us(100_000), 13_000); // more than 12.5 ms
    assert_eq!(exit_delay_us(20_000), 4_500); // more than 4 ms
    assert_eq!(exit_delay_us(400_000), 16_500); // more than 16 ms
}

#[test]
fn delay_needs_more_than_eight_samples_and_a_window_of_16() {
    for (acks, cwnd, ends) in [(8, 20, false), (9, 20, true), (9, 15, false), (9, 16, true)] {
        let mut conn = Conn {
            cwnd_pkts: cwnd,
            ..Conn::default()
        };
        let mut cc = new(&mut conn, 2);
        round(&mut cc, &mut conn, 9, 5000, 50_000);
        round(&mut cc, &mut conn, acks, 5000, 90_000);
        let ended = conn.ssthresh_pkts == cwnd;
        assert_eq!(ended, ends, "{acks} samples at {cwnd}");
    }
}

#[test]
fn one_low_sample_in_a_round_speaks_against_a_queue() {
    let mut conn = Conn {
        cwnd_pkts: 20,
        ..Conn::default()
    };
    let mut cc = new(&mut conn, 2);
    round(&mut cc, &mut conn, 9, 5000, 50_000);
    conn.snd_nxt = conn.snd_una + 1000;
    for i in 0..20 {
        conn.snd_una += 1;
        let rtt_us = if i == 3 { 50_000 } else { 90_000 };
        cc.pkts_acked(
            &mut conn,
            &Ack {
                acked_pkts: 1,
                rtt_us,
            },
        );
    }
    assert_eq!(conn.ssthresh_pkts, SSTHRESH_INFINITE);
}

/// How long a train of ACKs, 1 ms apart, lasts before HyStart ends slow start.
fn train_ms(paced: u8) -> Option<u32> {
    let mut conn = Conn {
        cwnd_pkts: 20,
        paced,
        ..Conn::default()
    };
    let mut cc = new(&mut conn, 1);
    round(&mut cc, &mut conn, 1, 1000, 100_000);
    conn.snd_nxt = conn.snd_una + 1000;
    let mut first = None;
    for ms in 0..150 {
        let ack = Ack {
            acked_pkts: 1,
            rtt_us: 100_000,
        };
        conn.snd_una += 1;
        cc.pkts_acked(&mut conn, &ack);
        if conn.ssthresh_pkts != SSTHRESH_INFINITE {
            return Some(ms - first.unwrap_or(0));
        }
        first.get_or_insert(ms);
        conn.now_us += 1000;
    }
    None
}

#[test]
fn a_train_of_half_a_round_trip_ends_slow_start_and_of_a_whole_one_when_paced() {
    assert_eq!(train_ms(0), Some(51));
    assert_eq!(train_ms(1), Some(101));
}

#[test]
fn acks_further_apart_than_2_ms_are_no_train() {
    let mut conn = Conn {
        cwnd_pkts: 20,
        ..Conn::default()
    };
    let mut cc = new(&mut conn, 1);
    round(&mut cc, &mut conn, 100, 2001, 100_000);
    assert_eq!(conn.ssthresh_pkts, SSTHRESH_INFINITE);
}

#[test]
fn after_an_exit_it_is_silent_until_a_timeout() {
    let mut conn = Conn {
        cwnd_pkts: 20,
        ..Conn::default()
    };
    let mut cc = new(&mut conn, 2);
    round(&mut cc, &mut conn, 9, 5000, 50_000);
    round(&mut cc, &mut conn, 9, 5000, 90_000);
    assert_eq!(conn.ssthresh_pkts, 20);
    conn.ssthresh_pkts = 1000;
    round(&mut cc, &mut conn, 30, 5000, 120_000);
    assert_eq!(conn.ssthresh_pkts, 1000);
    cc.set_state(&mut conn, CaState::Loss);
    round(&mut cc, &mut conn, 9, 5000, 50_000);
    round(&mut cc, &mut conn, 9, 5000, 90_000);
    assert_eq!(conn.ssthresh_pkts, 20);
}
