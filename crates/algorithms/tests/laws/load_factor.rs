//! VCP and MPCP: how each kind of answer from the routers changes a window.

use super::{Flow, MS};
use headway_algorithms::header::header;
use headway_algorithms::native::mpcp_step;
use headway_algorithms::{Conn, Fields, ROUTERS_ABSENT};

/// A flow of VCP or MPCP whose window is used up.
fn led(control: &str, cwnd_pkts: u32, rtt_ms: u32) -> Flow {
    let conn = Conn {
        cwnd_pkts,
        cwnd_limited: 1,
        srtt_us: rtt_ms * 1000,
        min_rtt_us: rtt_ms * 1000,
        mss_bytes: 1448,
        header_bytes: 52,
        ..Conn::default()
    };
    Flow::new(control, &[], conn)
}

impl Flow {
    /// Passes the ACKs of one round trip, in each of which the receiver answers with `bytes`.
    fn answered_round(&mut self, rtt_ms: u64, header_name: &str, bytes: [u8; 8]) {
        let fields = header(header_name)
            .unwrap()
            .parse(&bytes)
            .expect("an answer");
        let acks = self.conn.cwnd_pkts;
        let end = self.conn.now_us + rtt_ms * MS;
        for i in 0..acks {
            self.conn.now_us += (end - self.conn.now_us) / u64::from(acks - i);
            self.cc.on_feedback(&mut self.conn, &fields);
            self.ack(1, rtt_ms);
        }
    }

    fn vcp_round(&mut self, rtt_ms: u64, region: u8) {
        self.answered_round(rtt_ms, "vcp-answer", [253, 8, 0x48, 0x56, region, 0, 0, 0]);
    }

    /// Passes the ACKs of one round trip, in which the three digits of this level arrive on packets
    /// 3, 4 and 5.
    fn mpcp_round(&mut self, rtt_ms: u64, level: u8) {
        let digits = [level / 9 + 1, level / 3 % 3 + 1, level % 3 + 1];
        let low = digits[0] << 4 | digits[1] << 2 | digits[2];
        self.answered_round(rtt_ms, "mpcp-answer", [253, 8, 0x48, 0x4d, 0, 5, 0, low]);
    }
}

#[test]
fn vcp_at_low_load_doubles_in_11_4_intervals_whatever_the_round_trip() {
    // doubling by steps of 17/16 takes ln 2/ln(17/16) intervals of 200 ms
    for rtt_ms in [50, 100, 200, 400] {
        let mut flow = led("vcp", 1000, rtt_ms);
        while flow.conn.cwnd_pkts < 2000 {
            flow.vcp_round(rtt_ms.into(), 1);
        }
        let intervals = flow.conn.now_us as f64 / 200e3;
        let last = f64::from(rtt_ms) / 200.0; // the test reads the window only once per round
        assert!(
            (11.4..11.46 + last).contains(&intervals),
            "{rtt_ms}: {intervals}"
        );
    }
}

#[test]
fn vcp_counts_at_most_two_and_a_half_intervals_of_a_round_trip_at_low_load() {
    let mut flow = led("vcp", 1000, 800);
    flow.vcp_round(800, 1);
    // 1000 ACKs of (17/16)^2.5 - 1 each
    assert!(
        (1163..=1165).contains(&flow.conn.cwnd_pkts),
        "{}",
        flow.conn.cwnd_pkts
    );
}

#[test]
fn vcp_at_high_load_gains_by_the_square_of_the_round_trip() {
    for (rtt_ms, packets) in [(100, 1), (200, 4), (300, 9), (500, 25), (800, 28)] {
        let mut flow = led("vcp", 1000, rtt_ms);
        flow.vcp_round(rtt_ms.into(), 2);
        let gained = flow.conn.cwnd_pkts - 1000;
        assert!(
            (packets - 1..=packets).contains(&gained),
            "{rtt_ms}: {gained}"
        );
    }
}

#[test]
fn vcp_on_overload_falls_once_then_holds_then_rises_as_at_high_load() {
    let mut flow = led("vcp", 1000, 100);
    flow.vcp_round(100, 3);
    assert_eq!(flow.conn.cwnd_pkts, 875);
    flow.vcp_round(100, 3);
    // after a reduction the window is frozen for t_rho
    assert_eq!(flow.conn.cwnd_pkts, 875);
    flow.vcp_round(100, 3);
    // additive increase adds at most one packet in this round trip
    assert!(
        (875..=876).contains(&flow.conn.cwnd_pkts),
        "{}",
        flow.conn.cwnd_pkts
    );
    flow.vcp_round(100, 3);
    assert!(
        (765..=767).contains(&flow.conn.cwnd_pkts),
        "{}",
        flow.conn.cwnd_pkts
    );
    // an answer that signals low load takes effect at once
    flow.vcp_round(100, 1);
    assert!(
        (788..=791).contains(&flow.conn.cwnd_pkts),
        "{}",
        flow.conn.cwnd_pkts
    );
}

impl Flow {
    /// Passes the ACKs of a round trip at low load, each for `per_ack` packets and with the answer
    /// "low". Sequence numbers count packets.
    fn vcp_low_round(&mut self, rtt_ms: u64, per_ack: u32) {
        let low = header("vcp-answer").unwrap();
        let low = low.parse(&[253, 8, 0x48, 0x56, 1, 0, 0, 0]).unwrap();
        let round_end = self.conn.snd_una.wrapping_add(self.conn.cwnd_pkts);
        let end = self.conn.now_us + rtt_ms * MS;
        while self.conn.snd_una != round_end {
            let left = round_end.wrapping_sub(self.conn.snd_una);
            let acked = per_ack.min(left);
            self.conn.now_us += (end - self.conn.now_us) / u64::from(left.div_ceil(per_ack));
            self.conn.snd_una = self.conn.snd_una.wrapping_add(acked);
            self.conn.srtt_us = u32::try_from(rtt_ms * MS).unwrap();
            self.cc.on_feedback(&mut self.conn, &low);
            self.ack(acked, rtt_ms);
            self.conn.snd_nxt = self.conn.snd_una.wrapping_add(self.conn.cwnd_pkts);
            self.cc.on_send(&mut self.conn, &mut Fields([0; 3]));
        }
    }

    /// Keeps the load low for `for_ms` at a constant window. Returns whether the flow then uses
    /// Reno's law.
    fn vcp_alone_after(&mut self, for_ms: u64, rtt_ms: u64, per_ack: u32) -> bool {
        let (window, until_us) = (self.conn.cwnd_pkts, self.conn.now_us + for_ms * MS);
        while self.conn.now_us < until_us {
            self.conn.cwnd_pkts = window;
            self.vcp_low_round(rtt_ms, per_ack);
        }
        u32::from(self.conn.routers) == ROUTERS_ABSENT
    }

    fn vcp_from(cwnd_pkts: u32, sequence: u32) -> Flow {
        let conn = Conn {
            cwnd_pkts,
            snd_una: sequence,
            snd_nxt: sequence.wrapping_add(cwnd_pkts),
            cwnd_limited: 1,
            min_rtt_us: 20_000,
            srtt_us: 20_000,
            mss_bytes: 1448,
            header_bytes: 52,
            ..Conn::default()
        };
        Flow::new("vcp", &[], conn)
    }
}

/// VCP needs two intervals and four round trips of 120 ms, plus the round trip that reveals the
/// queue: a little more than 1.0 s.
#[test]
fn vcp_detects_a_silent_queue_wherever_sequence_numbers_begin() {
    for sequence in [1, (1 << 31) - 30, (1 << 31) + 1, u32::MAX - 30] {
        for per_ack in [1, 2, 5, 10] {
            let mut flow = Flow::vcp_from(10, sequence);
            let what = format!("from {sequence}, {per_ack} packets an ACK");
            assert!(!flow.vcp_alone_after(2000, 60, per_ack), "{what}: no queue");
            assert!(!flow.vcp_alone_after(800, 120, per_ack), "{what}: early");
            assert!(flow.vcp_alone_after(600, 120, per_ack), "{what}");
        }
    }
}

/// An ACK of one packet may have waited for another packet; a few such ACKs do not show a queue.
#[test]
fn vcp_ignores_a_few_acks_that_may_have_been_delayed() {
    for window in [1, 2, 7] {
        let mut flow = Flow::vcp_from(window, 1);
        assert!(!flow.vcp_alone_after(5000, 120, 1), "{window}");
    }
}

/// Rounds of few packets do not revoke what VCP learned from a whole window, unless one of them
/// finds the path empty.
#[test]
fn vcp_remembers_a_queue_over_rounds_of_few_packets() {
    let after = |between: &[(u64, u32)]| {
        let mut flow = Flow::vcp_from(10, 1);
        flow.vcp_alone_after(240, 120, 2);
        flow.conn.cwnd_pkts = 5; // the window is small, as after a loss
        for &(rtt_ms, per_ack) in between {
            flow.vcp_low_round(rtt_ms, per_ack);
        }
        flow.vcp_alone_after(1000, 120, 2)
    };
    assert!(after(&[(120, 2)]));
    assert!(!after(&[(60, 2)]));
    assert!(!after(&[(120, 1), (120, 1)]), "all may have waited");
}

/// The timestamp of a retransmission was 100 ms ahead, so the RTT sample of its ACK, and the
/// stack's minimum RTT, are too short. If a packet that was sent only once gives the same sample,
/// the path itself is that short, and what exceeds it is a queue.
#[test]
fn vcp_takes_no_minimum_round_trip_from_retransmissions() {
    let alone_after = |resent_pkts: u32| {
        let mut flow = Flow::vcp_from(20, 1);
        flow.conn.min_rtt_us = 800_000;
        flow.cc.init(&mut flow.conn);
        flow.vcp_low_round(800, 2);
        flow.conn.retrans_pkts += resent_pkts;
        flow.conn.min_rtt_us = 700_000;
        flow.ack(1, 700);
        flow.conn.now_us += MS;
        flow.vcp_alone_after(20_000, 800, 2)
    };
    assert!(!alone_after(1));
    assert!(alone_after(0));
    // a minimum RTT from before the control began may also come from a retransmission
    let mut flow = Flow::vcp_from(20, 1);
    flow.conn.min_rtt_us = 700_000;
    flow.conn.retrans_pkts = 1;
    flow.cc.init(&mut flow.conn);
    assert!(!flow.vcp_alone_after(20_000, 800, 2));
    // minutes later the stack's minimum RTT of 800 ms has expired, and the path now has 900 ms
    let mut flow = Flow::vcp_from(20, 1);
    flow.conn.min_rtt_us = 800_000;
    flow.cc.init(&mut flow.conn);
    flow.vcp_low_round(800, 2);
    flow.conn.min_rtt_us = 900_000;
    assert!(!flow.vcp_alone_after(20_000, 900, 2));
}

#[test]
fn mpcp_changes_the_window_by_the_middle_of_a_level() {
    for level in [1_u8, 2, 8, 10, 11, 20, 26] {
        let mut flow = led("mpcp", 1000, 200);
        flow.mpcp_round(200, level);
        let factor = 1.0 + mpcp_step(level.into(), 3);
        // growth over a thousand ACKs, plus one packet of additive increase
        let exact = 1000.0 + 1000.0 * (factor - 1.0) + 1.0;
        let got = f64::from(flow.conn.cwnd_pkts);
        assert!((got - exact).abs() <= 2.0, "{level}: {got} {exact}");
    }
}

#[test]
fn mpcp_skips_incomplete_groups_and_accepts_reordered_pieces() {
    let after = |answers: &[[u8; 8]]| {
        let mut flow = led("mpcp", 1000, 200);
        for answer in answers {
            let fields = header("mpcp-answer").unwrap().parse(answer).unwrap();
            flow.cc.on_feedback(&mut flow.conn, &fields);
        }
        flow.conn.routers = 0;
        flow.answered_round(200, "mpcp-answer", [253, 8, 0x48, 0x4d, 0, 5, 0, 0]);
        flow.conn.cwnd_pkts
    };
    let answer = |id: u8, low: u8| [253, 8, 0x48, 0x4d, 0, id, 0, low];
    let top = 0b11_11_11; // level 26 on 3, 4, 5
    let falls = after(&[answer(5, top)]);
    assert!(falls < 1000, "{falls}");
    // the piece on packet 4 is missing, so the level is not known
    assert!(after(&[answer(5, 0b11_00_11)]) > 1000);
    // the missing piece arrives later, in a separate answer
    assert_eq!(after(&[answer(5, 0b11_00_11), answer(4, 0b11)]), falls);
    // the three pieces arrive in three answers, in reverse order
    assert_eq!(after(&[answer(5, 3), answer(4, 3), answer(3, 3)]), falls);
    // the latest complete group of pieces counts: level 1 on packets 6, 7 and 8; packet 9 belongs
    // to the next group
    let later = after(&[
        answer(5, top),
        [253, 8, 0x48, 0x4d, 0, 9, 0, 0b01_01_10_01_u8],
    ]);
    assert!(later > 1000, "{later}");
}
