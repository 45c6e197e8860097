//! Explicit congestion notification, RFC 3168, as Linux has it: who negotiates it, which
//! packets may be marked, the receiver's echo and the sender's answer. How the window
//! then comes down is `recovery`'s.

use super::profile::Reduction;
use super::{Socket, State};
use crate::net::packet::{ecn as bits, flags, Packet};
use crate::scenario::EcnMode;
use headway_algorithms::ControlFlags;

/// Most quick ACKs after a mark, or after a packet that could not be marked
/// (tcp_ecn_check_ce since 4.19; before, as many as ever).
const QUICK_ACKS: u32 = 2;

/// Where a connection's end stands with ECN (tp->ecn_flags). All bits are off where no
/// end asks for it, so one look tells packets of such a flow apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EcnFlags(u8);

impl EcnFlags {
    /// Asked for or granted; once the connection is established, both (TCP_ECN_OK).
    const OK: u8 = 1;
    /// The next new data says that the window was reduced (TCP_ECN_QUEUE_CWR).
    const TELL: u8 = 2;
    /// A mark arrived and the sender has not said that it reduced (TCP_ECN_DEMAND_CWR).
    const ECHO: u8 = 4;
    /// The peer's data can be marked (TCP_ECN_SEEN).
    const SEEN: u8 = 8;
    /// The control needs ECN (tcp_ca_needs_ecn).
    const NEEDED: u8 = 16;
    /// The control's packets carry ECT(1).
    const ECT_1: u8 = 32;

    /// What a control declares of itself.
    pub fn of(control: ControlFlags) -> EcnFlags {
        let mut flags = EcnFlags::default();
        flags.set(Self::NEEDED, control.needs_ecn());
        flags.set(Self::ECT_1, control.ect1());
        flags
    }

    /// Something is to be done for ECN.
    #[inline(always)]
    pub fn any(self) -> bool {
        self.0 != 0
    }

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    fn set(&mut self, bit: u8, on: bool) {
        self.0 = if on { self.0 | bit } else { self.0 & !bit };
    }
}

impl Socket {
    /// Whether both ends agreed on ECN.
    pub fn uses_ecn(&self) -> bool {
        self.state == State::Established && self.ecn.has(EcnFlags::OK)
    }

    /// The control's header is in the bits of ECN: they cannot be RFC 3168's, too.
    fn bits_are_taken(&self) -> bool {
        self.carried.as_ref().is_some_and(|c| c.takes_ecn_bits())
    }

    /// Whether this end asks for ECN when it opens a connection.
    pub fn asks_ecn(&self) -> bool {
        !self.bits_are_taken()
            && (self.ecn.has(EcnFlags::NEEDED)
                || self.options.ecn[0].unwrap_or(self.profile.ecn) == EcnMode::On)
    }

    /// The control knows what was agreed on.
    pub(super) fn ecn_agreed(&mut self) {
        self.conn.ecn = u8::from(self.ecn.has(EcnFlags::OK));
    }

    /// With which bits a packet that can be marked leaves.
    fn ect(&self) -> u8 {
        if self.ecn.has(EcnFlags::ECT_1) {
            bits::ECT_1
        } else {
            bits::ECT_0
        }
    }

    /// What every packet carries, as its SYN: of a control that needs ECN all can be
    /// marked (INET_ECN_xmit, which Linux never takes back from it), of others none.
    pub(super) fn ecn_of_all(&self) -> u8 {
        if self.ecn.has(EcnFlags::NEEDED) {
            self.ect()
        } else {
            bits::NOT_ECT
        }
    }

    /// Flags of the SYN or SYN-ACK that leaves now, `first` of its kind or not. A SYN
    /// that is repeated does not ask again, since the first may have been dropped for
    /// asking (tcp_ecn_fallback, on since Linux 4.1); what is remembered is settled by
    /// the SYN-ACK.
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

    /// A SYN has arrived at who listens (tcp_ecn_create_request): one that can be marked
    /// is none of RFC 3168's, and current kernels grant it only where the listener's
    /// control needs ECN, too.
    pub(super) fn ecn_asked(&mut self, p: &Packet) {
        let accepts = self.options.ecn[1].unwrap_or(self.profile.ecn) != EcnMode::Off;
        let asks = p.flags & (flags::ECE | flags::CWR) == flags::ECE | flags::CWR;
        let plain = p.ecn == bits::NOT_ECT || !self.profile.ecn_falls_back;
        let grants = accepts && plain || self.ecn.has(EcnFlags::NEEDED);
        self.ecn
            .set(EcnFlags::OK, asks && grants && !self.bits_are_taken());
    }

    /// The SYN-ACK has arrived (tcp_ecn_rcv_synack).
    pub(super) fn ecn_answered(&mut self, p: &Packet) {
        let granted = p.flags & (flags::ECE | flags::CWR) == flags::ECE;
        let ok = self.ecn.has(EcnFlags::OK) && granted;
        self.ecn.set(EcnFlags::OK, ok);
    }

    /// A packet of a connection with ECN leaves (tcp_ecn_send): new data can be marked
    /// and may tell of a reduction; what is sent again and what has no data cannot be
    /// marked (RFC 3168 sections 6.1.4 to 6.1.6), but for controls that need ECN. Returns
    /// its ECN bits and TCP flags.
    #[inline(never)]
    pub(super) fn ecn_leaves(&mut self, seq: u64, payload_bytes: u32) -> (u8, u8) {
        let (mut ecn, mut told) = (self.ecn_of_all(), 0);
        if !self.ecn.has(EcnFlags::OK) {
            return (ecn, 0);
        }
        if payload_bytes > 0 && seq >= self.snd_nxt {
            ecn = self.ect();
            if self.ecn.has(EcnFlags::TELL) {
                self.ecn.set(EcnFlags::TELL, false);
                told |= flags::CWR;
            }
        }
        if self.ecn.has(EcnFlags::ECHO) {
            told |= flags::ECE;
        }
        (ecn, told)
    }

    /// Data of a connection with ECN has arrived (tcp_ecn_accept_cwr, tcp_ecn_check_ce).
    /// Returns whether it is to be acknowledged at once.
    #[inline(never)]
    pub(super) fn ecn_arrived(&mut self, p: &Packet) -> bool {
        if !self.ecn.has(EcnFlags::OK) {
            return false;
        }
        let linux_6 = self.profile.reduction == Reduction::Prr;
        let reduced = p.flags & flags::CWR != 0;
        if reduced {
            self.ecn.set(EcnFlags::ECHO, false);
        }
        let end = p.seq + u64::from(p.payload_bytes);
        if p.payload_bytes == 0 || end <= self.receiver.rcv_nxt {
            return reduced && linux_6;
        }
        match p.ecn {
            bits::CE => {
                self.counters.ce_marks += 1;
                // The sender's window may be very small: no ACK may be late.
                if linux_6 && !self.ecn.has(EcnFlags::ECHO) {
                    self.receiver.quick_acks_due = QUICK_ACKS;
                }
                self.ecn.set(EcnFlags::ECHO | EcnFlags::SEEN, true);
            }
            // What cannot be marked was sent again, so the sender is in trouble.
            bits::NOT_ECT if !linux_6 => self.receiver.quick_acks_due = u32::MAX,
            bits::NOT_ECT if self.ecn.has(EcnFlags::SEEN) => {
                self.receiver.quick_acks_due = QUICK_ACKS;
            }
            bits::NOT_ECT => {}
            _ => self.ecn.set(EcnFlags::SEEN, true),
        }
        // the sender may have no more than one packet out (4.19)
        reduced && linux_6
    }

    /// Whether an ACK echoes a mark (tcp_ecn_rcv_ecn_echo).
    #[inline]
    pub(super) fn is_echo(&mut self, p: &Packet) -> bool {
        if p.flags & flags::ECE == 0 || !self.ecn.has(EcnFlags::OK) {
            return false;
        }
        self.counters.ece_acks += 1;
        true
    }

    /// The window is reduced: the next new data says so (tcp_ecn_queue_cwr).
    pub(super) fn ecn_reduced(&mut self) {
        if self.ecn.has(EcnFlags::OK) {
            self.ecn.set(EcnFlags::TELL, true);
        }
    }

    /// The reduction was taken back before it was told (tcp_ecn_withdraw_cwr).
    pub(super) fn ecn_withdraw(&mut self) {
        self.ecn.set(EcnFlags::TELL, false);
    }
}
