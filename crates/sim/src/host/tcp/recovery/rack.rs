//! Recovery of linux-6: RACK-TLP (RFC 8985) detects losses by time, and proportional rate reduction
//! (RFC 6937) reduces the window (tcp_fastretrans_alert, tcp_recovery.c and the functions they
//! call, Linux 6.1).

use super::{kind, MayRetransmit};
use crate::host::tcp::ack_info::AckInfo;
use crate::host::tcp::scoreboard::{Segment, LOST, RETRANS, SACKED};
use crate::host::tcp::state::EcnFlags;
use crate::host::tcp::{ca, Pending, Rack, Socket};
use crate::net::packet::Packet;
use crate::net::Net;
use headway_algorithms::CaState;

impl Rack {
    /// Processes a delivered packet: updates the most recently sent one, and takes the RTT of this
    /// one (RFC 8985, 6.2 step 2; tcp_rack_advance). Packets are processed in the order of their
    /// data, so the RTT is that of the last, even if another one was sent later.
    #[inline]
    pub(in crate::host::tcp) fn advance(&mut self, segment: &Segment, now_ns: u64, min_us: u32) {
        let sent_ns = segment.sent_ns;
        let rtt_us = (now_ns - sent_ns) / 1000;
        if segment.marks & RETRANS != 0 && rtt_us < u64::from(min_us) {
            // This ACK may be for the original packet and not for the retransmission.
            return;
        }
        self.advanced = true;
        self.rtt_us = rtt_us;
        if (sent_ns, segment.end()) > (self.sent_ns, self.end_seq) {
            self.sent_ns = sent_ns;
            self.end_seq = segment.end();
        }
    }
}

impl Socket {
    /// Runs the state machine (tcp_fastretrans_alert of 6.1). Returns which packets may be sent.
    #[inline(never)]
    pub(in crate::host::tcp) fn alert_6(
        &mut self,
        net: &mut Net,
        info: &mut AckInfo,
        set_timer: &mut bool,
    ) -> MayRetransmit {
        let duplicate = info.is_duplicate();
        if info.ece {
            self.prior_ssthresh = 0;
        }
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
                        return MayRetransmit::Nothing;
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
                        self.duplicate_delivered(info);
                    }
                } else if self.undo_marker.is_some() && self.was_only_delayed(info.ts_ecr_ms) {
                    self.note_late_original(info);
                    if self.board.retrans_out > 0 {
                        return MayRetransmit::Nothing;
                    }
                    self.clear_retrans_stamp();
                    self.undo(net, true);
                    self.try_to_open(net, info);
                }
                if self.undo_by_dsack(net) {
                    self.try_to_open(net, info);
                }
                self.identify_losses(net, info, set_timer);
                if self.conn.ca_state != ca::RECOVERY {
                    if !self.time_to_recover(net) {
                        return MayRetransmit::Nothing;
                    }
                    self.enter_recovery(net, info.ece);
                }
            }
            ca::LOSS => {
                let may_retransmit = self.process_loss(net, info, duplicate);
                let copies = self.board.retrans_out;
                self.identify_losses(net, info, set_timer);
                // A lost retransmission starts another recovery (FLAG_LOST_RETRANS). New losses may
                // do so as well, after the reduction of a timeout was undone.
                let copy_lost = copies > self.board.retrans_out;
                let stays = !copy_lost && self.conn.ca_state != ca::OPEN;
                if stays || !self.enter_if_due(net, info) {
                    return may_retransmit;
                }
            }
            _ => {
                if !self.options.sack {
                    if info.advanced {
                        self.reset_duplicate_acks();
                    }
                    if duplicate {
                        self.duplicate_delivered(info);
                    }
                }
                if self.conn.ca_state <= ca::DISORDER {
                    self.undo_by_dsack(net);
                }
                self.identify_losses(net, info, set_timer);
                if !self.enter_if_due(net, info) {
                    return MayRetransmit::Nothing;
                }
            }
        }
        MayRetransmit::Lost
    }

    /// Without SACK, counts the packet that a duplicate ACK reports as delivered.
    pub(super) fn duplicate_delivered(&mut self, info: &mut AckInfo) {
        let before = self.board.sacked_out;
        self.add_duplicate_ack();
        let pkts = self.board.sacked_out.saturating_sub(before);
        info.newly_acked_pkts += pkts;
        self.count_delivered(pkts);
        if info.ece && !self.ecn.has(EcnFlags::ACCURATE) {
            self.count_marked(pkts);
        }
    }

    /// Updates the reordering distance after an original was acknowledged in Recovery. The distance
    /// reaches from that packet to the highest SACKed packet. If nothing is SACKed, it is the
    /// number of packets that the ACK covers. Without SACK but with duplicate ACKs, it reaches to
    /// the last packet sent (tcp_try_undo_partial, tcp_check_sack_reordering,
    /// tcp_highest_sack_seq).
    fn note_late_original(&mut self, info: &AckInfo) {
        let before = self.board.first - u64::from(info.acked_pkts);
        let highest = if self.board.sacked_out == 0 {
            self.board.first
        } else if self.options.sack {
            self.board.sacked_end
        } else {
            self.board.end()
        };
        if before < highest {
            self.reordering_found((highest - before) as u32);
        }
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
                    self.arm_retransmit(net, net.now_ns + wait_us * 1000);
                    *set_timer = false;
                }
            }
            return;
        }
        // NewReno (RFC 6582, tcp_newreno_mark_lost): the oldest packet is lost on the third
        // duplicate ACK and on every partial ACK.
        let state = self.conn.ca_state;
        if state < ca::RECOVERY && self.board.sacked_out >= self.reordering
            || state == ca::RECOVERY && info.advanced
        {
            let first = self.board.first;
            if self.board.front().is_some_and(|s| s.marks & LOST == 0) {
                self.lose(net, first);
            }
        }
    }

    fn rack_window_us(&self) -> u64 {
        if !self.rack.reordering_seen
            && (self.conn.ca_state >= ca::RECOVERY
                || self.options.rules.counts_duplicate_acks
                    && self.board.sacked_out >= self.reordering)
        {
            return 0;
        }
        let quarter = u64::from(self.rtt.min_us) / 4;
        (quarter * u64::from(self.rack.steps)).min(self.rtt.srtt_us())
    }

    /// Marks packets lost that were sent long enough before a delivered one. Returns how long to
    /// wait for the packets that are not yet overdue (RFC 8985, 6.2 step 5).
    fn rack_detect(&mut self, net: &Net) -> Option<u64> {
        let window_us = self.rack_window_us();
        let mut wait_us = None;
        let mut at = 0;
        while let Some(&(number, sent_ns)) = self.board.by_time.get(at) {
            let current = self
                .board
                .get(number)
                .filter(|s| s.sent_ns == sent_ns && s.marks & SACKED == 0);
            let Some(segment) = current else {
                // Skip the entry: this transmission was acknowledged, or the packet was
                // retransmitted after it.
                if at == 0 {
                    self.board.by_time.pop_front();
                } else {
                    at += 1;
                }
                continue;
            };
            if segment.marks & (LOST | RETRANS) == LOST {
                // Keep the entry of a packet that a timeout has marked lost, because the timeout
                // may prove spurious.
                at += 1;
                continue;
            }
            if (self.rack.sent_ns, self.rack.end_seq) <= (sent_ns, segment.end()) {
                break;
            }
            let age_us = (net.now_ns - sent_ns) / 1000;
            let due_us = self.rack.rtt_us + window_us;
            if age_us >= due_us {
                self.lose(net, number);
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
    pub(in crate::host::tcp) fn rack_dsack(&mut self, info: &AckInfo) {
        if !self.uses_rack
            || !(info.dsack || self.rack.dsack_seen)
            || !self.options.rules.reordering_window_adapts
        {
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

    /// Processes the expiry of RACK's reordering timer: packets that have not arrived by now are
    /// lost.
    pub(in crate::host::tcp) fn reorder_timer_fired(&mut self, net: &mut Net) {
        let in_flight = self.board.in_flight();
        let losses = self.board.losses;
        self.rack_detect(net);
        if in_flight != self.board.in_flight() {
            if self.conn.ca_state != ca::RECOVERY {
                self.enter_recovery(net, false);
                if !self.takes_samples {
                    self.reduce_by_prr(1, self.board.losses != losses, false);
                }
            }
            self.retransmit_queue(net);
        }
        if self.pending != Some(Pending::Rto) {
            self.rearm_rto_of_head(net);
        }
    }

    /// After an ACK, sets cwnd by proportional rate reduction (RFC 6937, tcp_cwnd_reduction).
    pub(in crate::host::tcp) fn reduce_by_prr(
        &mut self,
        delivered: u32,
        newly_lost: bool,
        advanced: bool,
    ) {
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
            let step = owed.max(i64::from(delivered)) + i64::from(advanced && !newly_lost);
            step.min(i64::from(ssthresh - in_flight))
        };
        send = send.max(i64::from(self.prr_out == 0));
        self.conn.cwnd_pkts = (i64::from(in_flight) + send).max(1) as u32;
    }

    /// Processes the ACK that shows whether a tail loss probe repaired a loss
    /// (tcp_process_tlp_ack).
    pub(in crate::host::tcp) fn probe_acked(&mut self, net: &mut Net, info: &AckInfo, p: &Packet) {
        if p.ack < self.tlp_high_seq {
            return;
        }
        if !self.tlp_retrans {
            self.tlp_high_seq = 0;
        } else if p.ack > self.tlp_high_seq {
            // The tail was lost and the probe repaired it, which indicates congestion.
            let before = self.conn.cwnd_pkts;
            self.begin_reduction(net, false);
            self.set_ca_state(net, CaState::Cwr);
            self.note_backoff(net, kind::CWR, before);
            self.complete_reduction(net);
            self.keep_open(net);
        } else if info.is_duplicate() && info.sacked_pkts == 0 {
            self.tlp_high_seq = 0;
        }
    }
}
