//! H-TCP's law: growth by the time since the last backoff, scaled by the round trip; adaptive
//! backoff; and undone recoveries.

use super::Flow;
use headway_algorithms::CaState;

/// Number of ACKs for one packet of growth, 3 s after a loss. With beta 0.5, alpha = 2 (1 - beta)
/// factor = factor. At factor 22 a window of 22 * 23 packets therefore needs 23 counted ACKs, and
/// one more that uses them up.
fn htcp_acks_after_3_s(rtt_ms: u64, window: u32, tunables: &[(&str, u32)]) -> u32 {
    let mut flow = Flow::counting_acks("htcp", tunables, window - 1, 10);
    flow.lose();
    flow.conn.cwnd_pkts = window - 1;
    flow.wait_ms(3000);
    flow.acks_to_grow(rtt_ms); // H-TCP computes alpha only when cwnd grows, so let it grow first
    assert_eq!(flow.conn.cwnd_pkts, window);
    flow.acks_to_grow(rtt_ms)
}

#[test]
fn htcp_reads_alpha_22_three_seconds_after_a_backoff_and_23_by_the_draft() {
    assert_eq!(htcp_acks_after_3_s(100, 506, &[]), 23 + 1);
    assert_eq!(
        htcp_acks_after_3_s(100, 506, &[("draft_quadratic", 1)]),
        22 + 1
    );
}

#[test]
fn htcp_scales_alpha_by_the_round_trip_in_integers() {
    assert_eq!(htcp_acks_after_3_s(50, 220, &[]), 20 + 1); // factor 22 * 8 / 16 = 11
    assert_eq!(htcp_acks_after_3_s(200, 220, &[]), 5 + 1); // factor 22 * 8 / 4 = 44
    assert_eq!(htcp_acks_after_3_s(50, 220, &[("rtt_scaling", 0)]), 10 + 1);
}

#[test]
fn htcp_in_its_first_second_scales_one_to_one_or_two() {
    for (rtt_ms, acks) in [(50, 100), (100, 100), (200, 50)] {
        let mut flow = Flow::counting_acks("htcp", &[], 99, 10);
        flow.acks_to_grow(rtt_ms);
        assert_eq!(flow.acks_to_grow(rtt_ms), acks + 1, "{rtt_ms} ms");
    }
}

#[test]
fn htcp_counts_the_packets_of_an_ack_in_open_only() {
    let mut flow = Flow::counting_acks("htcp", &[("rtt_scaling", 0)], 100, 10);
    flow.ack(2, 100);
    assert_eq!(flow.conn.cwnd_cnt, 2);
    flow.cc.set_state(&mut flow.conn, CaState::Disorder);
    flow.ack(2, 100);
    assert_eq!(flow.conn.cwnd_cnt, 3);
}

#[test]
fn htcp_restarts_its_clock_after_a_backoff_but_not_after_a_lone_duplicate_ack() {
    let acks = |recovery: bool| {
        let mut flow = Flow::counting_acks("htcp", &[("rtt_scaling", 0)], 505, 10);
        flow.wait_ms(3000);
        let state = if recovery {
            CaState::Recovery
        } else {
            CaState::Disorder
        };
        flow.cc.set_state(&mut flow.conn, state);
        flow.cc.set_state(&mut flow.conn, CaState::Open);
        flow.acks_to_grow(100);
        flow.acks_to_grow(100)
    };
    assert_eq!(acks(false), 23 + 1); // alpha 22
    assert_eq!(acks(true), 506 + 1); // alpha 1
}

#[test]
fn htcp_adapts_its_backoff_to_the_queue_unless_told_not_to() {
    let kept = |adaptive: u32, max_rtt_ms: u64| {
        let tunables = [("adaptive_backoff", adaptive), ("bandwidth_switch", 0)];
        let mut flow = Flow::counting_acks("htcp", &tunables, 1000, 10);
        // the first backoff halves cwnd and only prepares adaptive backoff
        let _ = flow.cc.ssthresh(&mut flow.conn);
        for rtt_ms in (100..=max_rtt_ms).step_by(20) {
            flow.ack(1, rtt_ms);
        }
        flow.conn.cwnd_pkts = 1280;
        flow.cc.ssthresh(&mut flow.conn)
    };
    assert_eq!(kept(0, 160), 640);
    assert_eq!(kept(1, 160), 800); // 100/160 = 80/128
    assert_eq!(kept(1, 400), 640); // H-TCP keeps no less than half of the window
    assert_eq!(kept(1, 100), 1020); // not more than 102/128
}

#[test]
fn htcp_restores_the_time_of_the_last_backoff_on_undo() {
    let mut flow = Flow::counting_acks("htcp", &[("rtt_scaling", 0)], 505, 10);
    flow.wait_ms(3000);
    flow.conn.ssthresh_pkts = flow.cc.ssthresh(&mut flow.conn);
    flow.cc.set_state(&mut flow.conn, CaState::Recovery);
    flow.conn.cwnd_pkts = 252;
    assert_eq!(flow.cc.undo_cwnd(&mut flow.conn, 505), 505);
    flow.conn.cwnd_pkts = 505;
    flow.cc.set_state(&mut flow.conn, CaState::Open);
    flow.acks_to_grow(100);
    assert_eq!(flow.acks_to_grow(100), 23 + 1);
}
