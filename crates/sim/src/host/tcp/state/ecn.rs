//! ECN state of a socket.

use headway_algorithms::ControlFlags;

/// ECN state of a connection's end (tp->ecn_flags). No bit is set if neither end asks for ECN, so
/// one comparison recognizes packets without ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnFlags(u8);

impl EcnFlags {
    /// This end has requested or accepted ECN; after the handshake: both ends have negotiated ECN
    /// (TCP_ECN_OK).
    pub const OK: u8 = 1;
    /// The next packet with new data will carry CWR (TCP_ECN_QUEUE_CWR).
    pub const QUEUE_CWR: u8 = 2;
    /// A CE mark arrived, and the sender has not yet sent CWR (TCP_ECN_DEMAND_CWR).
    pub const DEMAND_CWR: u8 = 4;
    /// The peer has sent ECN-capable data (TCP_ECN_SEEN).
    pub const SEEN: u8 = 8;
    /// The control needs ECN (tcp_ca_needs_ecn).
    pub const NEEDED: u8 = 16;
    /// The control's packets carry ECT(1).
    pub const ECT_1: u8 = 32;

    /// The initial ECN flags of a socket, given what its control declares.
    pub fn of(control: ControlFlags) -> EcnFlags {
        let mut flags = EcnFlags::default();
        flags.set(Self::NEEDED, control.needs_ecn());
        flags.set(Self::ECT_1, control.ect1());
        flags
    }

    /// Whether packets need any ECN processing.
    #[inline(always)]
    pub fn any(self) -> bool {
        self.0 != 0
    }

    pub fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    pub fn set(&mut self, bit: u8, on: bool) {
        self.0 = if on { self.0 | bit } else { self.0 & !bit };
    }
}
