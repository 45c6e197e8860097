//! Explicit congestion notification (RFC 3168) as in Linux: negotiation, which packets are
//! ECN-capable, the receiver's echo and the sender's response. `recovery` then reduces the window.

use super::accurate_ecn::codes::{self, ace_of, set_ace};
use super::ack_info::AckInfo;
use super::profile::Reduction;
use super::state::EcnFlags;
use super::{Socket, State};
use crate::net::packet::{ecn as bits, flags, Packet};
use crate::net::Net;
use crate::scenario::EcnMode;
use headway_algorithms::{ECN_ACCURATE, ECN_CLASSIC, ECN_NONE};

/// Largest number of quick ACKs after a CE mark or after a packet that is not ECN-capable
/// (tcp_ecn_check_ce since Linux 4.19). Before 4.19 the limit was the general one for quick ACKs.
pub(super) const QUICK_ACKS: u32 = 2;

impl Socket {
    /// Whether both ends have negotiated ECN.
    pub fn uses_ecn(&self) -> bool {
        self.state == State::Established && self.ecn.has(EcnFlags::OK)
    }

    /// Whether the control's own header uses the ECN bits of the IP header, so that the connection
    /// cannot use RFC 3168's ECN.
    fn bits_are_taken(&self) -> bool {
        self.carried.as_ref().is_some_and(|c| c.takes_ecn_bits())
    }

    /// Whether this end requests ECN when it opens a connection.
    pub fn asks_ecn(&self) -> bool {
        let mode = self.options.ecn[0].unwrap_or(self.profile.ecn);
        !self.bits_are_taken() && (self.ecn.has(EcnFlags::NEEDED) || mode.requests())
    }

    /// Whether both ends have negotiated Accurate ECN.
    pub fn uses_accurate_ecn(&self) -> bool {
        self.uses_ecn() && self.ecn.has(EcnFlags::ACCURATE)
    }

    /// Tells the control which ECN both ends have negotiated. A path that changes the ECN bits of
    /// this end's packets, or the feedback about them, leaves none.
    pub(super) fn ecn_agreed(&mut self) {
        let mode = match (self.ecn.has(EcnFlags::OK), self.ecn.has(EcnFlags::ACCURATE)) {
            (true, true) if self.has_feedback() => ECN_ACCURATE,
            (true, false) => ECN_CLASSIC,
            _ => ECN_NONE,
        };
        self.conn.ecn = mode as u8;
        if self.ecn.has(EcnFlags::ACCURATE) {
            self.reserve_option();
        }
    }

    /// The codepoint that ECN-capable packets of this socket carry.
    pub(super) fn ect(&self) -> u8 {
        if self.ecn.has(EcnFlags::ECT_1) {
            bits::ECT_1
        } else {
            bits::ECT_0
        }
    }

    /// ECN bits of packets that RFC 3168 does not make ECN-capable, such as the SYN. If the control
    /// needs ECN, all its packets are ECN-capable (INET_ECN_xmit, which Linux never resets for the
    /// socket). If the control needs Accurate ECN, they are as long as Accurate ECN is possible:
    /// ECT(1) without its feedback is not allowed (RFC 9331 section 4.2).
    pub(super) fn ecn_of_all(&self) -> u8 {
        let lacks = self.ecn.has(EcnFlags::NEEDS_ACCURATE) && !self.ecn.has(EcnFlags::ACCURATE);
        if self.ecn.has(EcnFlags::NEEDED) && !lacks {
            self.ect()
        } else {
            bits::NOT_ECT
        }
    }

    /// Sets the ECN bits and flags of a SYN or SYN-ACK that is sent now.
    pub(super) fn mark_syn(&mut self, syn: &mut Packet, opens: bool) {
        self.set_syn_flags(syn, opens);
        let asks_nothing = self.ecn.has(EcnFlags::NEEDS_ACCURATE) && ace_of(syn) == 0;
        syn.ecn = if asks_nothing {
            bits::NOT_ECT
        } else {
            self.ecn_of_all()
        };
    }

    /// Sets the ECN flags of a SYN or SYN-ACK that is sent now.
    /// A retransmitted SYN does not request ECN, since the first may have been dropped because of
    /// the request (tcp_ecn_fallback, on since Linux 4.1). Accurate ECN is requested once more
    /// (RFC 9768 section 3.1.4.1, Linux 7.0). The socket remembers its request until the SYN-ACK
    /// decides whether ECN is on.
    fn set_syn_flags(&mut self, syn: &mut Packet, opens: bool) {
        if !opens {
            if self.ecn.has(EcnFlags::ACCURATE) {
                set_ace(syn, self.ace_of_syn_ack());
            } else if self.ecn.has(EcnFlags::OK) {
                syn.flags |= flags::ECE;
            }
            return;
        }
        let repeats = u32::from(self.asks_accurate());
        if !self.asks_ecn() || self.profile.ecn_falls_back && self.retries > repeats {
            return;
        }
        self.ecn.set(EcnFlags::OK, true);
        syn.flags |= flags::ECE | flags::CWR;
        if self.asks_accurate() {
            self.ecn.set(EcnFlags::ACCURATE, true);
            set_ace(syn, codes::ASKS);
        }
    }

    /// Processes the SYN at the listening end (tcp_ecn_create_request). RFC 3168 does not allow an
    /// ECN-capable SYN. Current kernels accept the request of such a SYN only if the listener's
    /// control needs ECN.
    pub(super) fn on_ecn_syn(&mut self, net: &Net, p: &Packet) {
        if !self.bits_are_taken() && self.accepts_accurate(net, p) {
            return;
        }
        let accepts = self.options.ecn[1].unwrap_or(self.profile.ecn) != EcnMode::Off;
        let asks = p.flags & (flags::ECE | flags::CWR) == flags::ECE | flags::CWR;
        let plain = p.ecn == bits::NOT_ECT || !self.profile.ecn_falls_back;
        let grants = accepts && plain || self.ecn.has(EcnFlags::NEEDED);
        let may = !self.bits_are_taken() && !self.ecn.has(EcnFlags::NEEDS_ACCURATE);
        self.ecn.set(EcnFlags::OK, asks && grants && may);
    }

    /// Processes the SYN-ACK (tcp_ecn_rcv_synack).
    pub(super) fn on_ecn_syn_ack(&mut self, net: &Net, p: &Packet) {
        if self.ecn.has(EcnFlags::ACCURATE) {
            self.accurate_syn_ack(net, p);
            return;
        }
        let granted = p.flags & (flags::ECE | flags::CWR) == flags::ECE;
        let ok = self.ecn.has(EcnFlags::OK) && granted;
        self.ecn.set(EcnFlags::OK, ok);
    }

    /// ECN bits and TCP flags of a packet that is sent now (tcp_ecn_send). New data is ECN-capable
    /// and may carry CWR. Retransmissions and packets without data are not ECN-capable (RFC 3168
    /// sections 6.1.4 to 6.1.6), unless the control needs ECN.
    #[inline(never)]
    pub(super) fn ecn_of_segment(&mut self, seq: u64, payload_bytes: u32) -> (u8, u8) {
        let (mut ecn, mut tcp_flags) = (self.ecn_of_all(), 0);
        if !self.ecn.has(EcnFlags::OK) || self.ecn.has(EcnFlags::ACCURATE) {
            return (ecn, 0);
        }
        if payload_bytes > 0 && seq >= self.snd_nxt {
            ecn = self.ect();
            if self.ecn.has(EcnFlags::QUEUE_CWR) {
                self.ecn.set(EcnFlags::QUEUE_CWR, false);
                tcp_flags |= flags::CWR;
            }
        }
        if self.ecn.has(EcnFlags::DEMAND_CWR) {
            tcp_flags |= flags::ECE;
        }
        (ecn, tcp_flags)
    }

    /// Processes arriving data (tcp_ecn_accept_cwr, tcp_ecn_check_ce). Returns whether the data
    /// must be acknowledged immediately.
    #[inline(never)]
    pub(super) fn on_ecn_data(&mut self, net: &mut Net, p: &Packet) -> bool {
        if !self.ecn.has(EcnFlags::OK) {
            return false;
        }
        if self.ecn.has(EcnFlags::ACCURATE) {
            return self.on_accurate_data(p);
        }
        let linux_6 = self.profile.reduction == Reduction::Prr;
        let reduced = p.flags & flags::CWR != 0;
        if reduced {
            self.ecn.set(EcnFlags::DEMAND_CWR, false);
        }
        let end = p.seq + u64::from(p.payload_bytes);
        if p.payload_bytes == 0 || end <= self.receiver.rcv_nxt {
            return reduced && linux_6;
        }
        // data with CWR is acknowledged immediately: its sender may have only one packet in flight
        // (4.19)
        let mut at_once = reduced && linux_6;
        if self.ecn.has(EcnFlags::ECHOES_CE) && p.ecn != bits::NOT_ECT {
            at_once |= self.echo_exactly(net, p.ecn == bits::CE);
        }
        match p.ecn {
            bits::CE => {
                self.counters.ce_marks += 1;
                // After a CE mark the sender's window may be very small, so no ACK may be delayed.
                if linux_6 && !self.ecn.has(EcnFlags::DEMAND_CWR) {
                    self.receiver.requested_quick_acks = QUICK_ACKS;
                }
                self.ecn.set(EcnFlags::DEMAND_CWR | EcnFlags::SEEN, true);
            }
            // On a connection with ECN, only retransmissions are not ECN-capable, so the sender has
            // lost packets.
            bits::NOT_ECT if !linux_6 => self.receiver.requested_quick_acks = u32::MAX,
            bits::NOT_ECT if self.ecn.has(EcnFlags::SEEN) => {
                self.receiver.requested_quick_acks = QUICK_ACKS;
            }
            bits::NOT_ECT => {}
            _ => self.ecn.set(EcnFlags::SEEN, true),
        }
        at_once
    }

    /// Makes ACKs echo whether the latest data packet was marked CE (RFC 8257 section 3.2,
    /// dctcp_ece_ack_update). If that has changed, a delayed ACK is sent first, with the echo of
    /// the packets that it acknowledges, and the new packet is acknowledged immediately. Returns
    /// whether it has changed.
    fn echo_exactly(&mut self, net: &mut Net, marked: bool) -> bool {
        let changes = self.ecn.has(EcnFlags::LAST_WAS_CE) != marked;
        if changes {
            self.ecn.set(EcnFlags::LAST_WAS_CE, marked);
            if self.receiver.delays_ack() {
                self.ecn.set(EcnFlags::DEMAND_CWR, !marked);
                self.send_ack(net);
            }
        }
        self.ecn.set(EcnFlags::DEMAND_CWR, marked);
        changes
    }

    /// Reads the feedback of an ACK, and counts the packets that it reports as marked. Returns
    /// whether it reports any: echoes a CE mark (tcp_ecn_rcv_ecn_echo), or raises the count of
    /// Accurate ECN. `info` is None if nothing is outstanding.
    #[inline(never)]
    pub(super) fn take_echo(&mut self, p: &Packet, info: Option<&AckInfo>) -> bool {
        if !self.ecn.has(EcnFlags::OK) {
            return false;
        }
        let marked_pkts = if self.ecn.has(EcnFlags::ACCURATE) {
            match self.take_accurate(p, info) {
                0 => return false,
                pkts => pkts,
            }
        } else if p.flags & flags::ECE != 0 {
            info.map_or(0, AckInfo::delivered)
        } else {
            return false;
        };
        self.counters.ece_acks += 1;
        self.count_marked(marked_pkts);
        true
    }

    /// Counts packets as delivered with a mark (tcp_count_delivered_ce).
    pub(super) fn count_marked(&mut self, pkts: u32) {
        self.conn.delivered_ce_pkts = self.conn.delivered_ce_pkts.wrapping_add(pkts);
    }

    /// Sets CWR on the next new data, because cwnd was reduced (tcp_ecn_queue_cwr).
    pub(super) fn queue_cwr(&mut self) {
        if self.ecn.has(EcnFlags::OK) && !self.ecn.has(EcnFlags::ACCURATE) {
            self.ecn.set(EcnFlags::QUEUE_CWR, true);
        }
    }

    /// Cancels CWR, because the reduction was undone before CWR was sent (tcp_ecn_withdraw_cwr).
    pub(super) fn withdraw_cwr(&mut self) {
        self.ecn.set(EcnFlags::QUEUE_CWR, false);
    }
}
