//! The state machine of loss recovery, in both eras: rate halving with FACK
//! (linux-2.6) and PRR with RACK-TLP (linux-6).

use super::ack::AckInfo;
use super::profile::{Detection, Reduction, DUPTHRESH};
use super::scoreboard::{EVER_RETRANS, LOST, RETRANS, SACKED};
use super::{ca, Pending, Socket, Timer};
use crate::net::Net;
use crate::packet::Packet;
use headway_algorithms::{CaState, Event};

/// Kinds of rows in the table of backoffs.
mod kind {
    pub const RECOVERY: u8 = 0;
    pub const RTO: u8 = 1;
    pub const CWR: u8 = 2;
    pub const UNDO: u8 = 3;
}

/// Times on the timestamp clock, as the peer echoes them.
fn stamp_ms(time_ns: u64) -> u32 {
    (time_ns / 1_000_000) as u32 + 1
}

impl Socket {
    fn note_backoff(&self, net: &mut Net, kind: u8, before: u32) {
        let now_ns = net.now_ns as i64;
        net.tables
            .backoffs
            .push(self.flow, now_ns, kind, before, self.conn.ssthresh_pkts);
    }

    /// Distance that says how far the path has moved ahead of the oldest packet.
    fn forward(&self) -> u32 {
        if self.options.sack {
            self.board.forward()
        } else {
            self.board.sacked_out + 1
        }
    }

    fn add_duplicate_ack(&mut self) {
        if self.board.sacked_out + 1 < self.board.packets_out() {
            self.board.sacked_out += 1;
        }
    }

    fn reset_duplicate_acks(&mut self) {
        if !self.options.sack {
            self.board.sacked_out = 0;
        }
    }

    /// A burst of at most three packets after a doubtful ACK (tcp_moderate_cwnd).
    fn moderate(&mut self, net: &Net) {
        self.conn.cwnd_pkts = self.conn.cwnd_pkts.min(self.board.in_flight() + 3).max(1);
        self.cwnd_stamp_ns = net.now_ns;
    }

    // ---------------------------------------------------------------- linux-2.6

    /// tcp_fastretrans_alert of 2.6.24.
    pub(super) fn alert_26(&mut self, net: &mut Net, info: &AckInfo) {
        let duplicate = info.is_duplicate();
        let mut do_lost =
            duplicate || (info.sacked_pkts > 0 && self.board.forward() > self.reordering);
        if self.conn.ca_state == ca::RECOVERY && info.sacked_pkts > 0 {
            self.find_lost_retransmissions();
        }
        if self.conn.ca_state == ca::OPEN {
            self.retrans_stamp_ns = 0;
        } else if self.snd_una >= self.high_seq && self.leave_state_26(net) {
            return;
        }
        match self.conn.ca_state {
            ca::RECOVERY => {
                if info.advanced {
                    do_lost = self.partial_ack(net, info);
                } else if !self.options.sack && duplicate {
                    self.add_duplicate_ack();
                }
            }
            ca::LOSS => {
                if info.acked_pkts > 0 {
                    self.retries = 0;
                }
                if !self.undo_loss(net) {
                    self.moderate(net);
                    self.retransmit_queue(net);
                    return;
                }
                if self.conn.ca_state != ca::OPEN || !self.enter_if_due(net, info) {
                    return;
                }
            }
            _ => {
                if !self.options.sack {
                    if info.advanced {
                        self.reset_duplicate_acks();
                    }
                    if duplicate {
                        self.add_duplicate_ack();
                    }
                }
                if self.conn.ca_state == ca::DISORDER {
                    self.undo_by_dsack(net);
                }
                if !self.enter_if_due(net, info) {
                    return;
                }
            }
        }
        if do_lost || self.head_timed_out(net) {
            self.mark_by_distance(net);
        }
        self.halve_step(net, info);
        self.retransmit_queue(net);
    }

    /// `high_seq` was reached. Returns true if the state is held for this ACK.
    fn leave_state_26(&mut self, net: &mut Net) -> bool {
        match self.conn.ca_state {
            ca::LOSS => {
                self.retries = 0;
                return self.undo_recovery(net);
            }
            // CWR lasts until something above high_seq is acknowledged.
            ca::CWR if self.snd_una != self.high_seq => {
                self.complete_reduction(net);
                self.set_ca_state(net, CaState::Open);
            }
            ca::DISORDER => {
                self.undo_by_dsack(net);
                if self.undo_marker.is_none() || !self.options.sack || self.snd_una != self.high_seq
                {
                    self.undo_marker = None;
                    self.set_ca_state(net, CaState::Open);
                }
            }
            ca::RECOVERY => {
                self.reset_duplicate_acks();
                if self.undo_recovery(net) {
                    return true;
                }
                self.complete_reduction(net);
            }
            _ => {}
        }
        false
    }

    /// Enters Recovery if loss is evident; otherwise Open or Disorder. Returns
    /// whether Recovery was entered.
    fn enter_if_due(&mut self, net: &mut Net, info: &AckInfo) -> bool {
        if !self.time_to_recover(net) {
            self.try_to_open(net, info);
            return false;
        }
        self.enter_recovery(net);
        true
    }

    fn time_to_recover(&self, net: &Net) -> bool {
        if self.board.lost_out > 0 {
            return true;
        }
        if self.profile.detection == Detection::RackTlp {
            return !self.options.sack && self.board.sacked_out + 1 > self.reordering;
        }
        if self.forward() > self.reordering || self.head_timed_out(net) {
            return true;
        }
        let out = self.board.packets_out();
        out <= self.reordering
            && self.board.sacked_out >= (out / 2).max(DUPTHRESH)
            && !self.may_send_new()
    }

    /// The oldest packet is out for longer than the timeout: possible because
    /// the timer restarts with every ACK.
    fn head_timed_out(&self, net: &Net) -> bool {
        self.board
            .front()
            .is_some_and(|s| net.now_ns.saturating_sub(s.sent_ns) > self.rtt.rto_us() * 1000)
    }

    fn try_to_open(&mut self, net: &mut Net, info: &AckInfo) {
        if self.board.retrans_out == 0 {
            self.retrans_stamp_ns = 0;
        }
        if self.conn.ca_state == ca::CWR {
            self.halve_step(net, info);
            return;
        }
        // 2.6 holds Disorder while a reduction may still be undone, 6.x while the
        // oldest packet was sent again.
        let held = match self.profile.reduction {
            Reduction::RateHalving => self.undo_marker.is_some(),
            Reduction::Prr => self
                .board
                .front()
                .is_some_and(|s| s.marks & EVER_RETRANS != 0),
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

    /// FACK marks by distance from the highest SACK, SACK without FACK and no
    /// SACK mark only the oldest packet (tcp_update_scoreboard).
    fn mark_by_distance(&mut self, net: &Net) {
        let count = if self.fack {
            self.board.forward().saturating_sub(self.reordering).max(1)
        } else {
            1
        };
        for number in self.board.first..self.board.first + u64::from(count) {
            match self.board.get(number) {
                Some(s) if s.end() <= self.high_seq => {
                    if s.marks & (SACKED | LOST) == 0 {
                        self.board.mark_lost(number);
                    }
                }
                _ => break,
            }
        }
        if self.options.sack && self.head_timed_out(net) {
            let limit_ns = self.rtt.rto_us() * 1000;
            let mut number = self.board.first;
            while let Some(s) = self.board.get(number) {
                if net.now_ns.saturating_sub(s.sent_ns) <= limit_ns {
                    break;
                }
                if s.marks & (SACKED | LOST) == 0 {
                    self.board.mark_lost(number);
                }
                number += 1;
            }
        }
    }

    /// A retransmission is lost when something sent after it was SACKed
    /// (tcp_mark_lost_retrans).
    fn find_lost_retransmissions(&mut self) {
        if self.board.retrans_out == 0 || self.board.sacked_end <= self.board.first {
            return;
        }
        let Some(received) = self.board.get(self.board.sacked_end - 1).map(|s| s.end()) else {
            return;
        };
        let slack = if self.fack {
            0
        } else {
            u64::from(self.reordering * self.mss)
        };
        for number in self.board.first..self.board.sacked_end {
            let Some(s) = self.board.get(number) else {
                break;
            };
            if s.marks & RETRANS != 0 && s.marks & SACKED == 0 && received > s.retrans_nxt + slack {
                self.board.mark_lost(number);
            }
        }
    }

    /// One packet less for every second ACK (tcp_cwnd_down).
    fn halve_step(&mut self, net: &Net, info: &AckInfo) {
        let progress = info.acked_pkts > 0 || info.advanced || info.sacked_pkts > 0 || info.dsack;
        if !progress && (self.options.sack || !info.is_duplicate()) {
            return;
        }
        let count = self.conn.cwnd_cnt + 1;
        self.conn.cwnd_cnt = count & 1;
        let mut cwnd = self.conn.cwnd_pkts;
        self.refresh(net);
        let floor = self.control.min_cwnd(&mut self.conn);
        if cwnd > floor {
            cwnd -= count >> 1;
        }
        self.conn.cwnd_pkts = cwnd.min(self.board.in_flight() + 1).max(1);
        self.cwnd_stamp_ns = net.now_ns;
    }

    // ------------------------------------------------------------------ linux-6

    /// tcp_fastretrans_alert of 6.1. Returns whether lost packets may be sent again.
    pub(super) fn alert_6(&mut self, net: &mut Net, info: &AckInfo, set_timer: &mut bool) -> bool {
        let duplicate = info.is_duplicate();
        if self.conn.ca_state == ca::OPEN {
            self.retrans_stamp_ns = 0;
        } else if self.snd_una >= self.high_seq {
            match self.conn.ca_state {
                ca::CWR if self.snd_una != self.high_seq => {
                    self.complete_reduction(net);
                    self.set_ca_state(net, CaState::Open);
                }
                ca::RECOVERY => {
                    self.reset_duplicate_acks();
                    if self.undo_recovery(net) {
                        return false;
                    }
                    self.complete_reduction(net);
                }
                _ => {}
            }
        }
        match self.conn.ca_state {
            ca::RECOVERY => {
                if !info.advanced {
                    if !self.options.sack && duplicate {
                        self.add_duplicate_ack();
                    }
                } else if self.undo_marker.is_some() && self.was_only_delayed(info) {
                    if self.board.retrans_out > 0 {
                        return false;
                    }
                    self.undo(net, true);
                    self.try_to_open(net, info);
                }
                if self.undo_by_dsack(net) {
                    self.try_to_open(net, info);
                }
                self.identify_losses(net, info, set_timer);
                if self.conn.ca_state != ca::RECOVERY {
                    if !self.time_to_recover(net) {
                        return false;
                    }
                    self.enter_recovery(net);
                }
            }
            ca::LOSS => {
                let copies = self.board.retrans_out;
                let resend = self.process_loss(net, info, duplicate);
                self.identify_losses(net, info, set_timer);
                let copy_lost = copies > self.board.retrans_out && self.board.lost_out > 0;
                if self.conn.ca_state == ca::LOSS && !copy_lost {
                    return resend;
                }
                if self.conn.ca_state == ca::LOSS || !self.enter_if_due(net, info) {
                    return resend;
                }
            }
            _ => {
                if !self.options.sack {
                    if info.advanced {
                        self.reset_duplicate_acks();
                    }
                    if duplicate {
                        self.add_duplicate_ack();
                    }
                }
                if self.conn.ca_state <= ca::DISORDER {
                    self.undo_by_dsack(net);
                }
                self.identify_losses(net, info, set_timer);
                if !self.enter_if_due(net, info) {
                    return false;
                }
                if !self.options.sack && self.board.lost_out == 0 {
                    let first = self.board.first;
                    self.board.mark_lost(first);
                }
            }
        }
        true
    }

    fn process_loss(&mut self, net: &mut Net, info: &AckInfo, duplicate: bool) -> bool {
        if info.advanced && self.undo_loss(net) {
            return true;
        }
        if self.snd_una >= self.high_seq {
            self.undo_recovery(net);
            return true;
        }
        if !self.options.sack {
            if self.snd_nxt > self.high_seq && duplicate {
                self.add_duplicate_ack();
            } else if info.advanced {
                self.reset_duplicate_acks();
            }
        }
        true
    }

    fn identify_losses(&mut self, net: &mut Net, info: &AckInfo, set_timer: &mut bool) {
        if self.board.packets_out() == 0 {
            return;
        }
        if self.options.sack {
            if std::mem::take(&mut self.rack.advanced) {
                if let Some(wait_us) = self.rack_detect(net) {
                    self.pending = Some(Pending::Reorder);
                    let wait_us = (wait_us + 2_000).min(self.rtt.rto_us());
                    self.arm(net, Timer::Resend, net.now_ns + wait_us * 1000);
                    *set_timer = false;
                }
            }
            return;
        }
        // NewReno (RFC 6582): the oldest packet, on the third duplicate and on
        // every partial ACK.
        let state = self.conn.ca_state;
        if state < ca::RECOVERY && self.board.sacked_out >= self.reordering
            || state == ca::RECOVERY && info.advanced
        {
            let first = self.board.first;
            self.board.mark_lost(first);
        }
    }

    /// RACK.rtt and the newest delivery (RFC 8985, 6.2 step 2).
    pub(super) fn rack_advance(&mut self, net: &Net, sent_ns: u64, end: u64, retrans: bool) {
        if !self.uses_rack() {
            return;
        }
        let rtt_us = (net.now_ns - sent_ns) / 1000;
        if retrans && rtt_us < u64::from(self.rtt.min_us) {
            // The original may have been acknowledged, not the copy.
            return;
        }
        self.rack.advanced = true;
        self.rack.rtt_us = rtt_us;
        if (sent_ns, end) > (self.rack.sent_ns, self.rack.end_seq) {
            self.rack.sent_ns = sent_ns;
            self.rack.end_seq = end;
        }
    }

    fn rack_window_us(&self) -> u64 {
        if !self.rack.reordering_seen
            && (self.conn.ca_state >= ca::RECOVERY || self.board.sacked_out >= self.reordering)
        {
            return 0;
        }
        let quarter = u64::from(self.rtt.min_us) / 4;
        (quarter * u64::from(self.rack.steps)).min(self.rtt.srtt_us())
    }

    /// Marks what was sent long enough before something delivered; returns how
    /// long to wait for the rest (RFC 8985, 6.2 step 5).
    fn rack_detect(&mut self, net: &Net) -> Option<u64> {
        let window_us = self.rack_window_us();
        let mut wait_us = None;
        let mut at = 0;
        while let Some(&(number, sent_ns)) = self.board.by_time.get(at) {
            let current = self.board.get(number).filter(|s| {
                s.sent_ns == sent_ns && s.marks & SACKED == 0 && s.marks & (LOST | RETRANS) != LOST
            });
            let Some(segment) = current else {
                // Acknowledged, or sent again since: the entry is history.
                if at == 0 {
                    self.board.by_time.pop_front();
                } else {
                    at += 1;
                }
                continue;
            };
            if (self.rack.sent_ns, self.rack.end_seq) <= (sent_ns, segment.end()) {
                break;
            }
            let age_us = (net.now_ns - sent_ns) / 1000;
            let due_us = self.rack.rtt_us + window_us;
            if age_us >= due_us {
                self.board.mark_lost(number);
                if at == 0 {
                    self.board.by_time.pop_front();
                } else {
                    at += 1;
                }
            } else {
                wait_us = Some(wait_us.unwrap_or(0).max(due_us - age_us));
                at += 1;
            }
        }
        wait_us
    }

    /// Adapts the reordering window to D-SACKs (tcp_rack_update_reo_wnd).
    pub(super) fn rack_dsack(&mut self, info: &AckInfo) {
        if !self.uses_rack() || !(info.dsack || self.rack.dsack_seen) {
            return;
        }
        if self.conn.delivered_pkts < self.rack.last_delivered {
            self.rack.dsack_seen = false;
        }
        if std::mem::take(&mut self.rack.dsack_seen) {
            self.rack.steps = (self.rack.steps + 1).min(255);
            self.rack.last_delivered =
                self.conn.delivered_pkts + u64::from(self.board.packets_out());
            self.rack.persist = 16;
        } else if self.rack.persist == 0 {
            self.rack.steps = 1;
        }
    }

    /// The settling time of reordered packets is over.
    pub(super) fn reorder_timer_fired(&mut self, net: &mut Net) {
        let in_flight = self.board.in_flight();
        let lost = self.board.lost_out;
        self.rack_detect(net);
        if in_flight != self.board.in_flight() {
            if self.conn.ca_state != ca::RECOVERY {
                self.enter_recovery(net);
                self.reduce_by_prr(1, self.board.lost_out.saturating_sub(lost), false);
            }
            self.retransmit_queue(net);
        }
        if self.pending != Some(Pending::Rto) {
            self.arm_rto(net);
        }
    }

    /// Proportional rate reduction per ACK (RFC 6937, tcp_cwnd_reduction).
    pub(super) fn reduce_by_prr(&mut self, delivered: u32, newly_lost: u32, advanced: bool) {
        if delivered == 0 || self.prior_cwnd == 0 {
            return;
        }
        self.prr_delivered += delivered;
        let in_flight = self.board.in_flight();
        let ssthresh = self.conn.ssthresh_pkts;
        let mut send = if in_flight > ssthresh {
            let due = (u64::from(ssthresh) * u64::from(self.prr_delivered))
                .div_ceil(u64::from(self.prior_cwnd));
            due as i64 - i64::from(self.prr_out)
        } else {
            let owed = i64::from(self.prr_delivered) - i64::from(self.prr_out);
            let step = owed.max(i64::from(delivered)) + i64::from(advanced && newly_lost == 0);
            step.min(i64::from(ssthresh - in_flight))
        };
        send = send.max(i64::from(self.prr_out == 0));
        self.conn.cwnd_pkts = (i64::from(in_flight) + send).max(1) as u32;
    }

    /// The ACK that settles a tail loss probe (tcp_process_tlp_ack).
    pub(super) fn probe_acked(&mut self, net: &mut Net, info: &AckInfo, p: &Packet) {
        if p.ack < self.tlp_high_seq {
            return;
        }
        if !self.tlp_retrans {
            self.tlp_high_seq = 0;
        } else if p.ack > self.tlp_high_seq {
            // The tail was lost and the probe repaired it: that was congestion.
            let before = self.conn.cwnd_pkts;
            self.begin_reduction(net);
            self.set_ca_state(net, CaState::Cwr);
            self.note_backoff(net, kind::CWR, before);
            self.complete_reduction(net);
            self.try_to_open(net, info);
        } else if info.is_duplicate() && info.sacked_pkts == 0 {
            self.tlp_high_seq = 0;
        }
    }

    // -------------------------------------------------------------------- both

    /// ssthresh and the counters of a reduction (tcp_init_cwnd_reduction).
    fn begin_reduction(&mut self, net: &Net) {
        self.high_seq = self.snd_nxt;
        self.tlp_high_seq = 0;
        self.conn.cwnd_cnt = 0;
        self.prior_cwnd = self.conn.cwnd_pkts;
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.refresh(net);
        self.conn.ssthresh_pkts = self.control.ssthresh(&mut self.conn);
    }

    fn enter_recovery(&mut self, net: &mut Net) {
        let before = self.conn.cwnd_pkts;
        self.undo_marker = Some(self.snd_una);
        self.undo_retrans = self.board.retrans_out as i32;
        self.high_seq = self.snd_nxt;
        self.prior_ssthresh = 0;
        if self.conn.ca_state < ca::CWR {
            self.prior_ssthresh = self.current_ssthresh();
            self.begin_reduction(net);
        }
        self.conn.cwnd_cnt = 0;
        self.set_ca_state(net, CaState::Recovery);
        self.counters.recoveries += 1;
        self.rack.persist = self.rack.persist.saturating_sub(1);
        self.note_backoff(net, kind::RECOVERY, before);
    }

    /// The end of Recovery or CWR. Rate halving may have gone below ssthresh and
    /// stays there; PRR ends at ssthresh.
    fn complete_reduction(&mut self, net: &mut Net) {
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

    /// Nothing was sent again, or the echoed timestamp is older than the first copy.
    fn was_only_delayed(&self, info: &AckInfo) -> bool {
        self.retrans_stamp_ns == 0 || self.echo_is_older(info.ts_ecr_ms)
    }

    fn echo_is_older(&self, ts_ecr_ms: u32) -> bool {
        ts_ecr_ms != 0 && ts_ecr_ms < stamp_ms(self.retrans_stamp_ns)
    }

    fn may_undo(&self) -> bool {
        self.undo_marker.is_some()
            && (self.undo_retrans == 0
                || self.retrans_stamp_ns == 0
                || self.echo_is_older(self.last_echo_ms))
    }

    /// Takes the reduction back.
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
        self.board.resend_from = self.board.first;
        self.note_backoff(net, kind::UNDO, before);
    }

    /// At the end of Recovery or Loss. Returns true if the state is held.
    fn undo_recovery(&mut self, net: &mut Net) -> bool {
        if self.may_undo() {
            self.undo(net, true);
            self.undo_marker = None;
        }
        if self.snd_una == self.high_seq && !self.options.sack {
            // Without SACK later duplicates of this window must not start a new
            // recovery (RFC 6582): hold until something above is acknowledged.
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

    fn undo_by_dsack(&mut self, net: &mut Net) -> bool {
        if self.undo_marker.is_some() && self.undo_retrans == 0 {
            self.undo(net, true);
            self.undo_marker = None;
            return true;
        }
        false
    }

    /// A partial ACK in Recovery. Returns whether more is to be marked lost.
    fn partial_ack(&mut self, net: &mut Net, _info: &AckInfo) -> bool {
        let failed = !self.options.sack || self.board.forward() > self.reordering;
        if self.may_undo() {
            if self.board.retrans_out == 0 {
                self.retrans_stamp_ns = 0;
            }
            self.undo(net, false);
            return false;
        }
        failed
    }

    fn undo_loss(&mut self, net: &mut Net) -> bool {
        if !self.may_undo() {
            return false;
        }
        self.board.clear_lost();
        self.undo(net, true);
        self.retries = 0;
        self.undo_marker = None;
        if self.options.sack {
            self.set_ca_state(net, CaState::Open);
        }
        true
    }

    /// The retransmission timeout (tcp_retransmit_timer, tcp_enter_loss).
    pub(super) fn timeout(&mut self, net: &mut Net) {
        if self.board.packets_out() == 0 {
            return;
        }
        let before = self.conn.cwnd_pkts;
        self.counters.rtos += 1;
        if self.conn.ca_state <= ca::DISORDER
            || self.snd_una >= self.high_seq
            || (self.conn.ca_state == ca::LOSS && self.retries == 0)
        {
            self.prior_ssthresh = self.current_ssthresh();
            self.prior_cwnd = self.conn.cwnd_pkts;
            self.refresh(net);
            self.conn.ssthresh_pkts = self.control.ssthresh(&mut self.conn);
            self.control.event(&mut self.conn, Event::Loss);
        }
        self.tlp_high_seq = 0;
        self.reset_duplicate_acks();
        let any_copy = self.board.mark_all_lost();
        self.undo_marker = (!any_copy).then_some(self.snd_una);
        self.undo_retrans = 0;
        self.retrans_stamp_ns = 0;
        self.conn.cwnd_pkts = 1;
        self.conn.cwnd_cnt = 0;
        self.cwnd_stamp_ns = net.now_ns;
        self.reordering = self.reordering.min(DUPTHRESH);
        self.set_ca_state(net, CaState::Loss);
        self.high_seq = self.snd_nxt;
        self.note_backoff(net, kind::RTO, before);
        let first = self.board.first;
        self.retransmit(net, first);
        self.retries += 1;
        self.rtt.back_off();
        self.arm_rto(net);
    }
}
