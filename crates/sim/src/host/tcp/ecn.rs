//! Explicit congestion notification (RFC 3168) as in Linux: negotiation, which packets are
//! ECN-capable, the receiver's echo and the sender's response. `recovery` then reduces the window.

use super::profile::Reduction;
use super::state::EcnFlags;
use super::{Socket, State};
use crate::net::packet::{ecn as bits, flags, Packet};
use crate::net::Net;
use crate::scenario::EcnMode;

/// Largest number of quick ACKs after a CE mark or after a packet that is not ECN-capable
/// (tcp_ecn_check_ce since Linux 4.19). Before 4.19 the limit was the general one for quick ACKs.
const QUICK_ACKS: u32 = 2;

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
        !self.bits_are_taken()
            && (self.ecn.has(EcnFlags::NEEDED)
                || self.options.ecn[0].unwrap_or(self.profile.ecn) == EcnMode::On)
    }

    /// Tells the control whether both ends have negotiated ECN.
    pub(super) fn ecn_agreed(&mut self) {
        self.conn.ecn = u8::from(self.ecn.has(EcnFlags::OK));
    }

    /// The codepoint that ECN-capable packets of this socket carry.
    fn ect(&self) -> u8 {
        if self.ecn.has(EcnFlags::ECT_1) {
            bits::ECT_1
        } else {
            bits::ECT_0
        }
    }

    /// ECN bits of packets that RFC 3168 does not make ECN-capable, such as the SYN. If the control
    /// needs ECN, all its packets are ECN-capable (INET_ECN_xmit, which Linux never resets for the
    /// socket).
    pub(super) fn ecn_of_all(&self) -> u8 {
        if self.ecn.has(EcnFlags::NEEDED) {
            self.ect()
        } else {
            bits::NOT_ECT
        }
    }

    /// ECN flags of a SYN or SYN-ACK that is sent now. `first` is true for its first transmission.
    /// A retransmitted SYN does not request ECN, since the first may have been dropped because of
    /// the request (tcp_ecn_fallback, on since Linux 4.1). The socket remembers its request until
    /// the SYN-ACK decides whether ECN is on.
    pub(super) fn ecn_of_syn(&mut self, opens: bool, first: bool) -> u8 {
        if !opens {
            return if self.ecn.has(EcnFlags::OK) {
                flags::ECE
            } else {
                0
            };
        }
        if !self.asks_ecn() || !first && self.profile.ecn_falls_back {
            return 0;
        }
        self.ecn.set(EcnFlags::OK, true);
        flags::ECE | flags::CWR
    }

    /// Processes the SYN at the listening end (tcp_ecn_create_request). RFC 3168 does not allow an
    /// ECN-capable SYN. Current kernels accept the request of such a SYN only if the listener's
    /// control needs ECN.
    pub(super) fn on_ecn_syn(&mut self, p: &Packet) {
        let accepts = self.options.ecn[1].unwrap_or(self.profile.ecn) != EcnMode::Off;
        let asks = p.flags & (flags::ECE | flags::CWR) == flags::ECE | flags::CWR;
        let plain = p.ecn == bits::NOT_ECT || !self.profile.ecn_falls_back;
        let grants = accepts && plain || self.ecn.has(EcnFlags::NEEDED);
        self.ecn
            .set(EcnFlags::OK, asks && grants && !self.bits_are_taken());
    }

    /// Processes the SYN-ACK (tcp_ecn_rcv_synack).
    pub(super) fn on_ecn_syn_ack(&mut self, p: &Packet) {
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
        if !self.ecn.has(EcnFlags::OK) {
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

    /// Whether an ACK echoes a CE mark (tcp_ecn_rcv_ecn_echo).
    #[inline]
    pub(super) fn is_echo(&mut self, p: &Packet) -> bool {
        if p.flags & flags::ECE == 0 || !self.ecn.has(EcnFlags::OK) {
            return false;
        }
        self.counters.ece_acks += 1;
        true
    }

    /// Sets CWR on the next new data, because cwnd was reduced (tcp_ecn_queue_cwr).
    pub(super) fn queue_cwr(&mut self) {
        if self.ecn.has(EcnFlags::OK) {
            self.ecn.set(EcnFlags::QUEUE_CWR, true);
        }
    }

    /// Cancels CWR, because the reduction was undone before CWR was sent (tcp_ecn_withdraw_cwr).
    pub(super) fn withdraw_cwr(&mut self) {
        self.ecn.set(EcnFlags::QUEUE_CWR, false);
    }
}
