//! Controls that respond to marks: DCTCP's law, and Reno's and CUBIC's smaller reduction (ABE).

use super::Flow;
use headway_algorithms::{CaState, Conn, Event};

fn dctcp(cwnd: u32, ecn: u8) -> Flow {
    let conn = Conn {
        cwnd_pkts: cwnd,
        ssthresh_pkts: 2,
        ecn,
        ..Conn::default()
    };
    Flow::new("dctcp", &[], conn)
}

/// Lets the flow observe a whole window, in which so many of the delivered packets are marked.
fn window(flow: &mut Flow, delivered_pkts: u32, marked_pkts: u32) {
    flow.conn.delivered_pkts += u64::from(delivered_pkts);
    flow.conn.delivered_ce_pkts += marked_pkts;
    flow.conn.snd_una = flow.conn.snd_nxt;
    flow.conn.snd_nxt = flow.conn.snd_una.wrapping_add(1000);
    flow.conn.cwnd_limited = 0;
    flow.ack(1, 10);
}

/// alpha, as the reduction of a very large window shows it.
fn alpha(flow: &mut Flow) -> f64 {
    let cwnd = std::mem::replace(&mut flow.conn.cwnd_pkts, 1 << 24);
    let kept = flow.cc.ssthresh(&mut flow.conn);
    flow.conn.cwnd_pkts = cwnd;
    2.0 * (1.0 - f64::from(kept) / f64::from(1 << 24))
}

#[test]
fn dctcp_averages_the_marked_fraction_of_each_window() {
    let mut flow = dctcp(100, 1);
    let mut expected = 1.0;
    assert!(
        (alpha(&mut flow) - expected).abs() < 1e-6,
        "alpha begins at 1"
    );
    let fractions = [0, 3, 100, 57, 1, 0, 0, 20, 99, 64];
    for (round, marked) in fractions.into_iter().cycle().take(300).enumerate() {
        window(&mut flow, 100, marked);
        expected += (f64::from(marked) / 100.0 - expected) / 16.0;
        // two roundings to 1/1024 per window, of which each window forgets a sixteenth
        let bound = 32.0 / 1024.0;
        let got = alpha(&mut flow);
        assert!(
            (got - expected).abs() < bound,
            "window {round}: {got} for {expected}"
        );
    }
}

#[test]
fn dctcp_forgets_marks_and_updates_alpha_only_once_per_window() {
    let mut flow = dctcp(100, 1);
    window(&mut flow, 100, 0);
    let after_one = alpha(&mut flow);
    // ACKs within the window
    flow.conn.snd_una = flow.conn.snd_una.wrapping_add(999);
    flow.conn.delivered_pkts += 99;
    flow.ack(1, 10);
    assert!((alpha(&mut flow) - after_one).abs() < 1e-6);
    for _ in 0..300 {
        window(&mut flow, 100, 0);
    }
    assert!(alpha(&mut flow) < 1e-6);
    // without alpha a mark costs nothing
    flow.conn.cwnd_pkts = 40;
    assert_eq!(flow.cc.ssthresh(&mut flow.conn), 40);
}

#[test]
fn dctcp_halves_on_losses_whatever_alpha_is() {
    let mut flow = dctcp(100, 1);
    for _ in 0..300 {
        window(&mut flow, 100, 0);
    }
    flow.conn.cwnd_pkts = 60;
    flow.lose();
    assert_eq!(flow.conn.cwnd_pkts, 30);
    assert_eq!(flow.cc.undo_cwnd(&mut flow.conn, 0), 60);
    flow.conn.ssthresh_pkts = flow.cc.ssthresh(&mut flow.conn);
    flow.cc.event(&mut flow.conn, Event::Loss);
    flow.cc.set_state(&mut flow.conn, CaState::Loss);
    assert_eq!(flow.conn.ssthresh_pkts, 15);
}

#[test]
fn dctcp_without_ecn_is_reno() {
    let mut flow = dctcp(100, 0);
    for _ in 0..50 {
        window(&mut flow, 100, 0);
    }
    assert_eq!(flow.cc.ssthresh(&mut flow.conn), 50);
}

#[test]
fn abe_keeps_more_of_the_window_after_a_mark_than_after_a_loss() {
    for (control, beta_ecn, after_mark, after_loss) in [
        ("reno", 0, 500, 500),
        ("reno", 819, 799, 500),
        ("cubic", 0, 700, 700),
        ("cubic", 870, 849, 700),
    ] {
        let tunables = [("beta_ecn", beta_ecn)];
        let conn = Conn {
            cwnd_pkts: 1000,
            ssthresh_pkts: 10,
            ecn: 1,
            ..Conn::default()
        };
        let mut flow = Flow::new(control, &tunables, conn);
        flow.conn.by_mark = 1;
        let kept = flow.cc.ssthresh(&mut flow.conn);
        assert_eq!(kept, after_mark, "{control} with {beta_ecn}");
        flow.conn.by_mark = 0;
        let kept = flow.cc.ssthresh(&mut flow.conn);
        assert_eq!(kept, after_loss, "{control} with {beta_ecn}");
    }
}
