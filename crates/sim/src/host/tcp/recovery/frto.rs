//! The retransmission timeout of linux-6 and F-RTO (RFC 5682, with SACK the SACK-enhanced version).
//! F-RTO sends new data to find out whether a timeout was spurious, before everything is
//! retransmitted (tcp_enter_loss, tcp_timeout_mark_lost, tcp_process_loss, Linux 6.1 to 6.18).

use super::MayRetransmit;
use crate::host::tcp::ack_info::AckInfo;
use crate::host::tcp::profile::DUPTHRESH;
use crate::host::tcp::{ca, Socket};
use crate::net::Net;

impl Socket {
    /// After a timeout, marks as lost the oldest packet, and all packets that have been in flight
    /// for longer than a delivered packet's RTT. Packets sent later may still arrive
    /// (tcp_timeout_mark_lost). Without SACK, RACK has no RTT, and all packets are lost.
    pub(super) fn mark_late_lost(&mut self, net: &Net) {
        let first = self.board.first;
        for number in first..self.board.end() {
            let sent_ns = self.board.get(number).map_or(0, |s| s.sent_ns);
            if number == first || (net.now_ns - sent_ns) / 1000 >= self.rack.rtt_us {
                self.lose(net, number);
            }
        }
    }

    /// Sets the window after a timeout, saves the state for an undo, and decides whether F-RTO
    /// checks if the timeout was spurious. A timeout in Recovery or Loss is checked only if the
    /// oldest packet times out again. `reduces` tells whether this timeout has set ssthresh.
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

    /// Processes an ACK that arrives in Loss (tcp_process_loss). Returns which packets may be sent.
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
                // The ACK covers a packet that was never retransmitted, so nothing was lost
                // (F-RTO's step 3.b).
                return MayRetransmit::Nothing;
            }
            if self.snd_nxt > self.high_seq {
                // The new data has arrived before the old data, so the loss was real (F-RTO's step
                // 3.a).
                self.frto &= info.sacked_pkts == 0 && !duplicate;
            } else if info.advanced && !recovered {
                // The ACK covers the oldest packet, which was retransmitted: either the original or
                // the retransmission has arrived. The ACKs of new data, if there is any to send,
                // will show which one (F-RTO's step 2.b).
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

    /// Sends what the processing of an ACK has allowed (tcp_xmit_recovery).
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
