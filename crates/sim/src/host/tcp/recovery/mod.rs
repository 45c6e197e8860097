//! The state machine of loss recovery. This file has the part that both stack versions share:
//! entering and leaving a state, the retransmission timeout, and undoing reductions.

mod frto;
mod rack;
mod rate_halving;

use super::ack_info::AckInfo;
use super::profile::{Detection, Reduction, DUPTHRESH};
use super::scoreboard::EVER_RETRANS;
use super::{ca, Socket};
use crate::net::Net;
use headway_algorithms::{CaState, Event};

/// Kinds of window reduction in the trace's table of backoffs.
mod kind {
    pub const RECOVERY: u8 = 0;
    pub const RTO: u8 = 1;
    pub const CWR: u8 = 2;
    pub const UNDO: u8 = 3;
}

/// Value of `undo_retrans` while no retransmission has been sent for which a D-SACK could arrive.
const NO_COPY_YET: i32 = -1;

/// What the sender may send after an ACK in Recovery or Loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MayRetransmit {
    /// Nothing.
    Nothing,
    /// Lost packets.
    Lost,
    /// First new data. If there is none, lost packets.
    New,
}

impl Socket {
    fn note_backoff(&self, net: &mut Net, kind: u8, before: u32) {
        if let Some(digest) = &mut net.digest {
            match kind {
                kind::RECOVERY | kind::RTO => digest.backoff(self.flow, net.now_ns),
                kind::UNDO => digest.undo(self.flow),
                _ => {}
            }
        }
        if net.tables.off {
            return;
        }
        let now_ns = net.now_ns as i64;
        net.tables
            .backoffs
            .push(self.flow, now_ns, kind, before, self.conn.ssthresh_pkts);
    }

    /// Distance in packets from the oldest packet to the highest one that was delivered.
    fn forward(&self) -> u32 {
        if self.options.sack {
            self.board.forward()
        } else {
            self.board.sacked_out + 1
        }
    }

    /// Without SACK, counts a packet that a duplicate ACK reports as delivered (tcp_add_reno_sack).
    fn add_duplicate_ack(&mut self) {
        self.board.sacked_out += 1;
        self.limit_duplicate_acks(0);
    }

    /// Removes duplicate ACKs from the count. The first acknowledged packet filled a hole; each
    /// further one accounts for a duplicate ACK (tcp_remove_reno_sacks).
    #[cold]
    pub(super) fn remove_duplicate_acks(&mut self, info: &mut AckInfo) {
        let acked = info.acked_pkts;
        let counted = self.board.sacked_out;
        if self.profile.reduction == Reduction::Prr {
            info.newly_acked_pkts = acked.saturating_sub(counted).max(1);
            // One of the SACKed packets that were not retransmitted may have been delivered much
            // earlier.
            info.original_sacked &= !info.retransmitted_acked;
        }
        self.board.sacked_out = counted.saturating_sub(acked - 1);
        self.limit_duplicate_acks(acked);
    }

    /// Limits the count of duplicate ACKs to the outstanding packets minus the holes. If more were
    /// counted, the path must have reordered all of these packets (tcp_check_reno_reordering,
    /// tcp_limit_reno_sacked).
    fn limit_duplicate_acks(&mut self, acked_pkts: u32) {
        let out = self.board.packets_out();
        let holes = self.board.lost_out.max(1).min(out);
        if self.board.sacked_out + holes <= out {
            return;
        }
        self.board.sacked_out = out - holes;
        let distance = out + acked_pkts;
        if self.profile.reduction == Reduction::Prr {
            // As in Linux, the new estimate of reordering may be lower than the old one.
            self.reordering = distance.min(self.profile.max_reordering_pkts);
            self.rack.reordering_seen = true;
        } else {
            self.reordering_found(distance);
        }
    }

    fn reset_duplicate_acks(&mut self) {
        if !self.options.sack {
            self.board.sacked_out = 0;
        }
    }

    /// After a dubious ACK, limits the burst to three packets (tcp_moderate_cwnd).
    fn moderate(&mut self, net: &Net) {
        self.conn.cwnd_pkts = self.conn.cwnd_pkts.min(self.board.in_flight() + 3).max(1);
        self.cwnd_stamp_ns = net.now_ns;
    }

    /// Enters Recovery if packets were lost; otherwise Open or Disorder. Returns whether it entered
    /// Recovery.
    fn enter_if_due(&mut self, net: &mut Net, info: &AckInfo) -> bool {
        if !self.time_to_recover(net) {
            self.try_to_open(net, info);
            return false;
        }
        self.enter_recovery(net, info.ece);
        true
    }

    fn time_to_recover(&self, net: &Net) -> bool {
        if self.board.lost_out > 0 {
            return true;
        }
        if self.profile.detection == Detection::RackTlp {
            return false;
        }
        if self.forward() > self.reordering || self.head_timed_out(net) {
            return true;
        }
        let out = self.board.packets_out();
        out <= self.reordering
            && self.board.sacked_out >= (out / 2).max(DUPTHRESH)
            && !self.may_send_new()
    }

    /// Whether the oldest packet has been in flight for longer than the RTO. This is possible
    /// because every ACK restarts the timer.
    fn head_timed_out(&self, net: &Net) -> bool {
        self.board
            .front()
            .is_some_and(|s| net.now_ns.saturating_sub(s.sent_ns) > self.rtt.rto_us() * 1000)
    }

    fn try_to_open(&mut self, net: &mut Net, info: &AckInfo) {
        self.clear_retrans_stamp();
        if info.ece {
            self.enter_cwr(net);
        }
        if self.conn.ca_state != ca::CWR {
            self.keep_open(net);
        } else if self.profile.reduction == Reduction::RateHalving {
            self.halve_step(net, info);
        }
    }

    /// Whether the oldest packet was retransmitted.
    fn head_was_retransmitted(&self) -> bool {
        let head = self.board.front();
        head.is_some_and(|s| s.marks & EVER_RETRANS != 0)
    }

    /// Clears the time of the first retransmission if no retransmission is outstanding. In linux-6
    /// a retransmission of the oldest packet is outstanding until that packet is acknowledged
    /// (tcp_any_retrans_done).
    fn clear_retrans_stamp(&mut self) {
        let linux_6 = self.profile.reduction == Reduction::Prr;
        if self.board.retrans_out == 0 && !(linux_6 && self.head_was_retransmitted()) {
            self.retrans_stamp_ns = 0;
        }
    }

    /// Enters Open; enters Disorder instead while losses or a possible undo are pending
    /// (tcp_try_keep_open).
    fn keep_open(&mut self, net: &mut Net) {
        // 2.6 stays in Disorder while a reduction may still be undone, 6.x while the oldest packet
        // is a retransmission.
        let held = match self.profile.reduction {
            Reduction::RateHalving => self.undo_marker.is_some(),
            Reduction::Prr => self.head_was_retransmitted(),
        };
        let unsettled =
            held || self.board.sacked_out + self.board.lost_out + self.board.retrans_out > 0;
        let state = if unsettled {
            CaState::Disorder
        } else {
            CaState::Open
        };
        if self.conn.ca_state != state as u8 {
            self.set_ca_state(net, state);
            self.high_seq = self.snd_nxt;
        }
        if self.profile.reduction == Reduction::RateHalving {
            self.moderate(net);
        }
    }

    /// Sets ssthresh and the counters at the start of a reduction of cwnd
    /// (tcp_init_cwnd_reduction). `by_mark` tells whether a CE mark is its only reason.
    fn begin_reduction(&mut self, net: &Net, by_mark: bool) {
        self.high_seq = self.snd_nxt;
        self.tlp_high_seq = 0;
        self.conn.cwnd_cnt = 0;
        self.prior_cwnd = self.conn.cwnd_pkts;
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.refresh(net);
        self.conn.by_mark = u8::from(by_mark);
        self.conn.ssthresh_pkts = self.control.ssthresh(&mut self.conn);
        self.queue_cwr();
    }

    /// Reduces cwnd after an echoed CE mark, at most once per window. This reduction is never
    /// undone (tcp_enter_cwr).
    fn enter_cwr(&mut self, net: &mut Net) {
        self.prior_ssthresh = 0;
        if self.conn.ca_state >= ca::CWR {
            return;
        }
        let before = self.conn.cwnd_pkts;
        self.undo_marker = None;
        self.begin_reduction(net, true);
        if self.profile.reduction == Reduction::RateHalving {
            self.conn.cwnd_pkts = before.min(self.board.in_flight() + 1);
            self.cwnd_stamp_ns = net.now_ns;
        }
        self.set_ca_state(net, CaState::Cwr);
        self.note_backoff(net, kind::CWR, before);
    }

    /// Saves the state for an undo (tcp_init_undo). D-SACKs may arrive for retransmissions in
    /// flight, including that of a tail loss probe. If no retransmission is in flight yet, because
    /// pacing delays the first one, linux-6 must not conclude that D-SACKs have arrived for all
    /// retransmissions.
    fn remember_for_undo(&mut self) {
        self.undo_marker = Some(self.snd_una);
        self.undo_retrans = self.board.retrans_out as i32;
        if self.profile.reduction == Reduction::Prr && self.undo_retrans == 0 {
            self.undo_retrans = NO_COPY_YET;
        }
    }

    /// Enters Recovery. With `ece` the ACK also echoed a CE mark, and the reduction cannot be
    /// undone.
    fn enter_recovery(&mut self, net: &mut Net, ece: bool) {
        let before = self.conn.cwnd_pkts;
        self.remember_for_undo();
        self.high_seq = self.snd_nxt;
        self.prior_ssthresh = 0;
        // the reduction in Loss was for an earlier loss, so reduce the window once more
        let linux_6 = self.profile.reduction == Reduction::Prr;
        if self.conn.ca_state < ca::CWR || linux_6 && self.conn.ca_state == ca::LOSS {
            if !ece {
                self.prior_ssthresh = self.current_ssthresh();
            }
            self.begin_reduction(net, false);
        }
        self.conn.cwnd_cnt = 0;
        self.set_ca_state(net, CaState::Recovery);
        self.startup_reduces = self.conn.cwnd_pkts < before;
        self.counters.recoveries += 1;
        self.rack.persist = self.rack.persist.saturating_sub(1);
        self.note_backoff(net, kind::RECOVERY, before);
    }

    /// Ends the reduction of Recovery or CWR. Rate halving may have gone below ssthresh and stays
    /// there; PRR ends at ssthresh.
    fn complete_reduction(&mut self, net: &mut Net) {
        if self.takes_samples {
            return;
        }
        match self.profile.reduction {
            Reduction::RateHalving => {
                self.conn.cwnd_pkts = self.conn.cwnd_pkts.min(self.conn.ssthresh_pkts);
            }
            Reduction::Prr => {
                if !self.never_reduced()
                    && (self.conn.ca_state == ca::CWR || self.undo_marker.is_some())
                {
                    self.conn.cwnd_pkts = self.conn.ssthresh_pkts;
                }
            }
        }
        self.cwnd_stamp_ns = net.now_ns;
        self.refresh(net);
        self.control.event(&mut self.conn, Event::CompleteCwr);
    }

    /// Whether packets were delayed and not lost: nothing was retransmitted, or the echoed
    /// timestamp is older than the first retransmission (tcp_packet_delayed).
    fn was_only_delayed(&self, ts_ecr_ms: u32) -> bool {
        if self.retrans_stamp_ns != 0 {
            return self.echo_is_older(ts_ecr_ms);
        }
        // Without SACK, a sender that stays in the state after high_seq is acknowledged has
        // forgotten which packets it retransmitted.
        self.profile.reduction == Reduction::RateHalving
            || self.options.sack
            || self.snd_una < self.high_seq
    }

    fn echo_is_older(&self, ts_ecr_ms: u32) -> bool {
        ts_ecr_ms != 0 && ts_ecr_ms < self.stamp_ms(self.retrans_stamp_ns)
    }

    fn may_undo(&self) -> bool {
        self.undo_marker.is_some()
            && (self.undo_retrans == 0 || self.was_only_delayed(self.last_echo_ms))
    }

    /// Undoes the reduction.
    fn undo(&mut self, net: &mut Net, ssthresh_too: bool) {
        let before = self.conn.cwnd_pkts;
        self.counters.undos += 1;
        if self.prior_ssthresh != 0 {
            self.refresh(net);
            self.conn.cwnd_pkts = self
                .control
                .undo_cwnd(&mut self.conn, self.prior_cwnd)
                .max(1);
            if ssthresh_too && self.prior_ssthresh > self.conn.ssthresh_pkts {
                self.conn.ssthresh_pkts = self.prior_ssthresh;
                self.withdraw_cwr();
            }
        } else {
            self.conn.cwnd_pkts = self.conn.cwnd_pkts.max(self.conn.ssthresh_pkts);
        }
        if self.profile.reduction == Reduction::RateHalving {
            self.moderate(net);
        } else {
            self.board.clear_lost();
            self.undo_marker = None;
        }
        self.cwnd_stamp_ns = net.now_ns;
        self.board.retransmit_from = self.board.first;
        self.note_backoff(net, kind::UNDO, before);
    }

    /// Leaves Recovery or Loss, and undoes the reduction if possible. Returns whether the sender
    /// stays in the state nevertheless.
    fn undo_recovery(&mut self, net: &mut Net) -> bool {
        if self.may_undo() {
            self.undo(net, true);
            self.undo_marker = None;
        }
        if self.must_not_open() {
            if self.profile.reduction == Reduction::RateHalving {
                self.moderate(net);
            }
            return true;
        }
        self.set_ca_state(net, CaState::Open);
        if self.profile.reduction == Reduction::Prr && self.board.packets_out() == 0 {
            self.retrans_stamp_ns = 0;
        }
        false
    }

    /// Whether the sender stays in Recovery or Loss until data above `high_seq` is acknowledged.
    /// Without SACK, later duplicate ACKs of this window must not start a new recovery (RFC 6582,
    /// tcp_is_non_sack_preventing_reopen).
    fn must_not_open(&mut self) -> bool {
        let is_held = self.snd_una == self.high_seq && !self.options.sack;
        if is_held && self.profile.reduction == Reduction::Prr {
            self.clear_retrans_stamp();
        }
        is_held
    }

    fn undo_by_dsack(&mut self, net: &mut Net) -> bool {
        if self.undo_marker.is_some() && self.undo_retrans == 0 {
            self.undo(net, true);
            self.undo_marker = None;
            return true;
        }
        false
    }

    /// Undoes the reduction of a timeout if the state allows it, or if F-RTO found the timeout
    /// spurious.
    fn undo_loss(&mut self, net: &mut Net, spurious: bool) -> bool {
        if !spurious && !self.may_undo() {
            return false;
        }
        self.board.clear_lost();
        self.undo(net, true);
        self.retries = 0;
        self.undo_marker = None;
        if self.profile.reduction == Reduction::Prr && self.must_not_open() {
            return true;
        }
        if spurious || self.options.sack {
            self.set_ca_state(net, CaState::Open);
        }
        true
    }

    /// Handles the retransmission timeout (tcp_retransmit_timer, tcp_enter_loss).
    pub(super) fn timeout(&mut self, net: &mut Net) {
        if self.board.packets_out() == 0 {
            return;
        }
        let before = self.conn.cwnd_pkts;
        self.counters.rtos += 1;
        let linux_6 = self.profile.reduction == Reduction::Prr;
        if linux_6 {
            self.reset_duplicate_acks();
            self.mark_late_lost(net);
        }
        let reduces = self.conn.ca_state <= ca::DISORDER
            || self.snd_una >= self.high_seq
            || (self.conn.ca_state == ca::LOSS && self.retries == 0);
        if reduces {
            self.prior_ssthresh = self.current_ssthresh();
            self.prior_cwnd = self.conn.cwnd_pkts;
            self.refresh(net);
            self.conn.by_mark = 0;
            self.conn.ssthresh_pkts = self.control.ssthresh(&mut self.conn);
            self.control.event(&mut self.conn, Event::Loss);
        }
        self.tlp_high_seq = 0;
        if linux_6 {
            self.enter_loss_6(reduces);
        } else {
            self.reset_duplicate_acks();
            let any_copy = self.board.mark_all_lost();
            self.undo_marker = (!any_copy).then_some(self.snd_una);
            self.undo_retrans = 0;
            self.retrans_stamp_ns = 0;
            self.conn.cwnd_pkts = 1;
            self.reordering = self.reordering.min(DUPTHRESH);
        }
        self.conn.cwnd_cnt = 0;
        self.cwnd_stamp_ns = net.now_ns;
        self.set_ca_state(net, CaState::Loss);
        self.high_seq = self.snd_nxt;
        self.queue_cwr();
        self.note_backoff(net, kind::RTO, before);
        let first = self.board.first;
        self.retransmit(net, first);
        self.retries += 1;
        self.rtt.back_off();
        self.arm_rto(net);
    }
}
