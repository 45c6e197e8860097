//! The codes of the ACE field (TCP's flags AE, CWR and ECE) in the handshake (RFC 9768, 3.1).

use crate::net::packet::{about, ecn, flags, Packet};

/// A SYN that asks for Accurate ECN.
pub const ASKS: u8 = 0b111;
/// A SYN that asks for the ECN of RFC 3168 only.
const ASKS_CLASSIC: u8 = 0b011;
/// A SYN-ACK that accepts the ECN of RFC 3168 only.
const ACCEPTS_CLASSIC: u8 = 0b001;
/// Codes that return the ECN field of the SYN or SYN-ACK, by that field.
const ECHOES: [u8; 4] = [0b010, 0b011, 0b100, 0b110];

/// Feedback of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No ECN.
    Off,
    /// The ECN of RFC 3168.
    Classic,
    /// Accurate ECN.
    Accurate,
}

/// Whether a SYN with this code asks for Accurate ECN. Codes without a meaning do, for the sake of
/// later versions (tcp_accecn_syn_requested).
#[must_use]
pub fn asks(ace: u8) -> bool {
    ace != 0 && ace != ASKS_CLASSIC
}

/// The mode of an opener that has asked for Accurate ECN and gets a SYN-ACK with this code
/// (tcp_ecn_rcv_synack).
#[must_use]
pub fn mode_of_syn_ack(ace: u8) -> Mode {
    match ace {
        // 111: the other end returns what it gets
        0 | ASKS => Mode::Off,
        ACCEPTS_CLASSIC => Mode::Classic,
        // also 101, which the ECN Nonce has used: RFC 9768, and Linux since 7.0
        _ => Mode::Accurate,
    }
}

/// The code that returns the ECN field with which a SYN or SYN-ACK arrived
/// (tcp_accecn_reflector_flags).
#[must_use]
pub fn echo_of(ip_ecn: u8) -> u8 {
    ECHOES[usize::from(ip_ecn & 3)]
}

/// The ECN field that a code returns; None if it returns none.
#[must_use]
pub fn echoed(ace: u8) -> Option<u8> {
    let field = ECHOES.iter().position(|&code| code == ace);
    field.map(|field| field as u8)
}

/// Whether a path without faults can change the ECN field of a packet from `sent` to `arrived`
/// (tcp_ect_transition_valid).
#[must_use]
pub fn can_become(sent: u8, arrived: u8) -> bool {
    let both_capable = sent != ecn::NOT_ECT && arrived != ecn::NOT_ECT;
    sent == arrived || both_capable && sent != ecn::CE
}

/// Whether the path has cleared the ACE field of the packet that completes the handshake, so that
/// no feedback arrives.
#[must_use]
pub fn is_cleared(ace: u8) -> bool {
    ace == 0
}

/// What a code tells about this end's SYN or SYN-ACK (tcp_accecn_validate_syn_feedback).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// The path has changed the ECN field in a way that no router does.
    pub is_bleached: bool,
    /// Packets that arrived with a mark.
    pub marked_pkts: u32,
}

impl Echo {
    /// What the code tells if the packet was sent with the ECN field `sent`. Codes that return no
    /// field tell nothing.
    #[must_use]
    pub fn of(ace: u8, sent: u8) -> Echo {
        let Some(echoed) = echoed(ace) else {
            return Echo::default();
        };
        let is_bleached = !can_become(sent, echoed);
        Echo {
            is_bleached,
            marked_pkts: u32::from(!is_bleached && echoed == ecn::CE),
        }
    }
}

/// The ACE field of a packet.
pub(crate) fn ace_of(p: &Packet) -> u8 {
    p.flags >> 6 & 1 | p.flags >> 6 & 2 | u8::from(p.is(about::AE)) << 2
}

/// Sets the ACE field of a packet whose field is 0.
pub(crate) fn set_ace(packet: &mut Packet, ace: u8) {
    let bit = |number: u8, flag: u8| if ace >> number & 1 == 1 { flag } else { 0 };
    packet.flags |= bit(0, flags::ECE) | bit(1, flags::CWR);
    packet.about |= bit(2, about::AE);
}
