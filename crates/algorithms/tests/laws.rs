//! Each control's law, compared with the numbers of its paper and of the kernel that it follows.
//! This file tests Reno and the rules that all controls share; the modules test the other laws.

mod by_delay;
mod cubic;
mod htcp;
mod load_factor;
mod local;
mod loss_based;
mod marks;
mod prague;

use headway_algorithms::{Ack, CaState, Conn, ControlInstance};

const MS: u64 = 1000;

/// A flow in congestion avoidance. Tests pass it one ACK after the other.
struct Flow {
    cc: ControlInstance,
    conn: Conn,
}

impl Flow {
    fn new(control: &str, tunables: &[(&str, u32)], conn: Conn) -> Self {
        let tunables: Vec<_> = tunables.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
        let mut flow = Self {
            cc: ControlInstance::new(control, Some("slow-start"), &tunables).unwrap(),
            conn,
        };
        flow.cc.init(&mut flow.conn);
        flow
    }

    /// Linux 2.6's counting.
    fn counting_acks(control: &str, tunables: &[(&str, u32)], cwnd: u32, ssthresh: u32) -> Self {
        let conn = Conn {
            cwnd_pkts: cwnd,
            ssthresh_pkts: ssthresh,
            counts_acks: 1,
            ..Conn::default()
        };
        Self::new(control, tunables, conn)
    }

    fn ack(&mut self, acked_pkts: u32, rtt_ms: u64) {
        let ack = Ack {
            acked_pkts,
            rtt_us: i32::try_from(rtt_ms * MS).unwrap(),
        };
        let grow = if self.conn.counts_acks == 1 {
            1
        } else {
            acked_pkts
        };
        self.cc.ack(&mut self.conn, &ack, grow);
    }

    fn wait_ms(&mut self, ms: u64) {
        self.conn.now_us += ms * MS;
    }

    /// Number of ACKs of one packet each until cwnd grows; time does not advance.
    fn acks_to_grow(&mut self, rtt_ms: u64) -> u32 {
        self.acks_of_to_grow(1, rtt_ms)
    }

    fn acks_of_to_grow(&mut self, acked_pkts: u32, rtt_ms: u64) -> u32 {
        let cwnd = self.conn.cwnd_pkts;
        let mut acks = 0;
        while self.conn.cwnd_pkts == cwnd {
            self.ack(acked_pkts, rtt_ms);
            acks += 1;
            assert!(acks < 1_000_000);
        }
        acks
    }

    /// Lets the flow have a loss, which is repaired at once.
    fn lose(&mut self) {
        self.conn.ssthresh_pkts = self.cc.ssthresh(&mut self.conn);
        self.cc.set_state(&mut self.conn, CaState::Recovery);
        self.conn.cwnd_pkts = self.conn.ssthresh_pkts;
        self.conn.cwnd_cnt = 0;
        self.cc.set_state(&mut self.conn, CaState::Open);
    }

    /// Passes the ACKs of one round trip, evenly spaced; each ACK acknowledges `per_ack` packets.
    fn round(&mut self, rtt_ms: u64, per_ack: u32) {
        let acks = (self.conn.cwnd_pkts / per_ack).max(1);
        let end = self.conn.now_us + rtt_ms * MS;
        for i in 0..acks {
            self.conn.now_us += (end - self.conn.now_us) / u64::from(acks - i);
            self.ack(per_ack, rtt_ms);
        }
    }
}

#[test]
fn reno_of_2_6_spends_one_ack_more_than_a_window_per_packet() {
    let mut flow = Flow::counting_acks("reno", &[], 50, 10);
    assert_eq!(flow.acks_to_grow(100), 51);
    assert_eq!(flow.acks_to_grow(100), 52);
}

#[test]
fn reno_of_today_counts_acked_packets_and_loses_none() {
    let mut flow = Flow::new(
        "reno",
        &[],
        Conn {
            cwnd_pkts: 50,
            ssthresh_pkts: 10,
            ..Conn::default()
        },
    );
    for _ in 0..25 {
        flow.ack(2, 100);
    }
    assert_eq!((flow.conn.cwnd_pkts, flow.conn.cwnd_cnt), (51, 0));
    flow.ack(60, 100);
    assert_eq!((flow.conn.cwnd_pkts, flow.conn.cwnd_cnt), (52, 9));
}

#[test]
fn reno_grows_half_as_fast_on_delayed_acks_where_acks_are_counted() {
    let slope = |counts_acks: u8| {
        let conn = Conn {
            cwnd_pkts: 100,
            ssthresh_pkts: 10,
            counts_acks,
            ..Conn::default()
        };
        let mut flow = Flow::new("reno", &[], conn);
        for _ in 0..20 {
            flow.round(100, 2);
        }
        f64::from(flow.conn.cwnd_pkts - 100) / 20.0
    };
    assert!((slope(1) - 0.5).abs() <= 0.05, "{}", slope(1));
    assert!((slope(0) - 1.0).abs() <= 0.06, "{}", slope(0));
}

#[test]
fn slow_start_doubles_or_grows_by_half_with_delayed_acks_as_the_stack_counts() {
    let after_a_round = |counts_acks: u8, per_ack: u32| {
        let conn = Conn {
            cwnd_pkts: 64,
            counts_acks,
            ..Conn::default()
        };
        let mut flow = Flow::new("reno", &[], conn);
        flow.round(100, per_ack);
        flow.conn.cwnd_pkts
    };
    assert_eq!(after_a_round(1, 1), 128);
    assert_eq!(after_a_round(1, 2), 96);
    assert_eq!(after_a_round(0, 1), 128);
    assert_eq!(after_a_round(0, 2), 128);
}

#[test]
fn slow_start_of_2_6_still_counts_the_window_equal_to_ssthresh() {
    let mut flow = Flow::counting_acks("reno", &[], 10, 10);
    flow.ack(1, 100);
    assert_eq!(flow.conn.cwnd_pkts, 11);
    let conn = Conn {
        cwnd_pkts: 9,
        ssthresh_pkts: 10,
        ..Conn::default()
    };
    let mut flow = Flow::new("reno", &[], conn);
    // the first of five packets brings cwnd to ssthresh, the other four count for congestion
    // avoidance
    flow.ack(5, 100);
    assert_eq!((flow.conn.cwnd_pkts, flow.conn.cwnd_cnt), (10, 4));
}

#[test]
fn what_is_kept_on_a_loss_is_what_each_version_says() {
    for (control, kept) in [
        ("reno", 50),
        ("htcp", 50),
        ("cubic", 70),
        ("cubic26", 79),
        ("bic", 79),
        ("scalable", 88),
        ("highspeed", 50),
        ("hybla", 50),
        ("westwood", 50),
        ("fast", 50),
        ("vegas", 50),
        ("compound", 50),
        ("illinois", 50),
        ("dctcp", 50),
    ] {
        let mut flow = Flow::counting_acks(control, &[], 100, 10);
        assert_eq!(flow.cc.ssthresh(&mut flow.conn), kept, "{control}");
        flow.conn.cwnd_pkts = 2;
        assert_eq!(flow.cc.ssthresh(&mut flow.conn), 2, "{control}");
    }
}

#[test]
fn rate_halving_stops_at_ssthresh_or_where_a_control_says() {
    for (control, floor) in [
        ("reno", 25),
        ("hybla", 25),
        ("scalable", 25),
        ("highspeed", 25),
        ("fast", 25),
        ("vegas", 25),
        ("compound", 25),
        ("illinois", 25),
        ("htcp", 50),
        ("cubic", 50),
        ("cubic26", 50),
        ("bic", 50),
        ("westwood", 2),
        ("dctcp", 50),
    ] {
        let mut flow = Flow::counting_acks(control, &[], 100, 50);
        assert_eq!(flow.cc.min_cwnd(&mut flow.conn), floor, "{control}");
    }
}

#[test]
fn nothing_grows_unless_the_window_was_used_up() {
    for control in headway_algorithms::controls() {
        if control.flags.own_start() {
            continue;
        }
        let control = control.name;
        let mut flow = Flow::counting_acks(control, &[], 10, 100);
        flow.conn.cwnd_limited = 0;
        flow.ack(1, 100);
        assert_eq!(flow.conn.cwnd_pkts, 10, "{control}");
    }
}

/// Sequence numbers begin with 1 in the simulator and anywhere on a live connection. A flow with a
/// varying queue and a loss must get the same windows in both cases. For controls with their own
/// start, the ACKs have rate samples, which count packets.
#[test]
fn controls_do_not_depend_on_where_sequence_numbers_begin() {
    let windows = |control: &str, sequence: u32| -> Vec<u32> {
        let conn = Conn {
            cwnd_pkts: 40,
            ssthresh_pkts: 20,
            cwnd_limited: 1,
            mss_bytes: 1448,
            srtt_us: 50_000,
            min_rtt_us: 50_000,
            snd_una: sequence,
            snd_nxt: sequence,
            ..Conn::default()
        };
        let mut flow = Flow::new(control, &[], conn);
        let mut seen = Vec::new();
        for round in 0..60 {
            let rtt_ms = [50, 60, 120, 200, 90][round / 4 % 5];
            if round == 37 {
                flow.lose();
            }
            let end = flow.conn.now_us + rtt_ms * MS;
            let acks = flow.conn.cwnd_pkts.div_ceil(2);
            for i in 0..acks {
                flow.conn.now_us += (end - flow.conn.now_us) / u64::from(acks - i);
                let conn = &mut flow.conn;
                conn.snd_una = conn.snd_una.wrapping_add(2 * 1448);
                conn.snd_nxt = conn.snd_una.wrapping_add(conn.cwnd_pkts * 1448);
                flow.ack(2, rtt_ms);
                seen.push(flow.conn.cwnd_pkts);
            }
        }
        seen
    };
    for control in headway_algorithms::controls() {
        if control.flags.own_start() {
            continue;
        }
        let from_1 = windows(control.name, 1);
        for sequence in [0, (1 << 31) - 40_000, (1 << 31) + 1, u32::MAX - 40_000] {
            let same = windows(control.name, sequence) == from_1;
            assert!(same, "{} from {sequence}", control.name);
        }
    }
}
