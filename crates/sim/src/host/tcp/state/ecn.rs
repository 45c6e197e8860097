//! ECN state of a socket.

use super::super::profile::{Profile, Reduction};
use headway_algorithms::ControlFlags;

/// ECN state of a connection's end (tp->ecn_flags). No bit is set if neither end asks for ECN, so
/// one comparison recognizes packets without ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnFlags(u16);

impl EcnFlags {
    /// This end has requested or accepted ECN; after the handshake: both ends have negotiated ECN
    /// (TCP_ECN_OK).
    pub const OK: u16 = 1;
    /// The next packet with new data will carry CWR (TCP_ECN_QUEUE_CWR).
    pub const QUEUE_CWR: u16 = 2;
    /// A CE mark arrived, and the sender has not yet sent CWR (TCP_ECN_DEMAND_CWR).
    pub const DEMAND_CWR: u16 = 4;
    /// The peer has sent ECN-capable data (TCP_ECN_SEEN).
    pub const SEEN: u16 = 8;
    /// The control needs ECN (tcp_ca_needs_ecn).
    pub const NEEDED: u16 = 16;
    /// The control's packets carry ECT(1).
    pub const ECT_1: u16 = 32;
    /// ACKs tell exactly which packets were marked CE (RFC 8257 section 3.2).
    pub const ECHOES_CE: u16 = 64;
    /// The latest data packet was marked CE; only with [`Self::ECHOES_CE`] (ce_state).
    pub const LAST_WAS_CE: u16 = 128;
    /// This end has requested or accepted Accurate ECN; after the handshake: both ends have
    /// negotiated it (TCP_ECN_MODE_ACCECN). [`Self::OK`] is then set too.
    pub const ACCURATE: u16 = 256;
    /// The control has no ECN without Accurate ECN (tcp_ca_needs_accecn, and no fallback to
    /// RFC 3168).
    pub const NEEDS_ACCURATE: u16 = 512;

    /// The initial ECN flags of a socket, given what its control declares. linux-2.6 has no
    /// Accurate ECN, so a control that needs it then has no ECN.
    pub fn of(control: ControlFlags, profile: &Profile) -> EcnFlags {
        let mut flags = EcnFlags::default();
        if control.accurate_ecn() && profile.reduction == Reduction::RateHalving {
            return flags;
        }
        flags.set(Self::NEEDED, control.needs_ecn());
        flags.set(Self::NEEDS_ACCURATE, control.accurate_ecn());
        flags.set(Self::ECT_1, control.ect1());
        flags.set(Self::ECHOES_CE, control.echoes_ce());
        flags
    }

    /// Whether packets need any ECN processing.
    #[inline(always)]
    pub fn any(self) -> bool {
        self.0 != 0
    }

    pub fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    pub fn set(&mut self, bit: u16, on: bool) {
        self.0 = if on { self.0 | bit } else { self.0 & !bit };
    }
}
