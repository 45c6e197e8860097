//! The retransmission timeout of linux-6 and F-RTO (RFC 5682, with SACK the SACK-enhanced version).
//! F-RTO sends new data to find out whether a timeout was spurious, before everything is
//! retransmitted (tcp_enter_loss, tcp_timeout_mark_lost, tcp_process_loss, Linux 6.1 to 6.18).

use super::MayRetransmit;
use crate::host::tcp::ack_info::AckInfo;
use crate::host::tcp::profile::DUPTHRESH;
use crate::host::tcp::{ca, Socket};
use crate::net::Net;

impl Socket {
    /// After a timeout, marks the oldest packet lost, and all packets that are in flight for longer
    /// than the RTT of a delivered packet. Packets sent later may still arrive
    /// (tcp_timeout_mark_lost). Without SACK, RACK has no RTT, and all packets are lost.
    pub(super) fn mark_late_lost(&mut self, net: &Net) {
        let first = self.board.first;
        for number in first..self.board.end() {
            let sent_ns = self.board.get(number).map_or(0, |s| s.sent_ns);
            if number == first || (net.now_ns - sent_ns) / 1000 >= self.rack.rtt_us {
                self.board.mark_lost(number);
            }
        }
    }

    /// Sets the window after a timeout, saves the state for an undo, and decides whether F-RTO
    /// checks the timeout: not during a recovery, unless the oldest packet times out again.
    /// `reduces`: this timeout has set ssthresh.
    pub(super) fn enter_loss_6(&mut self, reduces: bool) {
        if reduces {
            self.remember_for_undo();
        }
        self.conn.cwnd_pkts = self.board.in_flight() + 1;
        let fresh = self.conn.ca_state < ca::RECOVERY;
        if self.conn.ca_state <= ca::DISORDER && self.board.sacked_out >= DUPTHRESH {
            self.reordering = self.reordering.min(DUPTHRESH);
        }
        self.frto = self.uses_frto() && (fresh || self.retries > 0);
    }

    fn uses_frto(&self) -> bool {
        self.options.frto.unwrap_or(true)
    }

    /// Processes an ACK in Loss (tcp_process_loss). Returns what may be sent.
    pub(super) fn process_loss(
        &mut self,
        net: &mut Net,
        info: &mut AckInfo,
        duplicate: bool,
    ) -> MayRetransmit {
        if info.advanced {
            self.retries = 0;
            if self.undo_loss(net, false) {
                return MayRetransmit::Nothing;
            }
        }
        let recovered = self.snd_una >= self.high_seq;
        if self.frto {
            if info.original_sacked && self.undo_loss(net, true) {
                // A packet that was never retransmitted has arrived: nothing was lost (step 3.b).
                return MayRetransmit::Nothing;
            }
            if self.snd_nxt > self.high_seq {
                // New data arrived before the old data: the loss was real (step 3.a).
                self.frto &= info.sacked_pkts == 0 && !duplicate;
            } else if info.advanced && !recovered {
                // The oldest packet has arrived, as original or retransmission. Sending new data,
                // if there is any, will show which (step 2.b).
                self.high_seq = self.snd_nxt;
                let may_send =
                    self.snd_nxt < self.write_end && self.snd_una + self.snd_wnd > self.snd_nxt;
                if may_send {
                    return MayRetransmit::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.undo_recovery(net);
            return MayRetransmit::Nothing;
        }
        if !self.options.sack {
            if self.snd_nxt > self.high_seq && duplicate {
                self.duplicate_delivered(info);
            } else if info.advanced {
                self.reset_duplicate_acks();
            }
        }
        MayRetransmit::Lost
    }

    /// Retransmits what an ACK allows (tcp_xmit_recovery).
    pub(in crate::host::tcp) fn retransmit_lost(&mut self, net: &mut Net, what: MayRetransmit) {
        if what == MayRetransmit::New {
            self.push_pending(net);
            if self.snd_nxt > self.high_seq {
                return;
            }
            self.frto = false;
        }
        if what != MayRetransmit::Nothing {
            self.retransmit_queue(net);
        }
    }
}
