//! State of Accurate ECN at one end of a connection.

use super::codes::Echo;
use super::counters::{Delivered, Received};
use super::option::least_fields;
use crate::net::packet::{ecn as bits, Packet};

/// Number of ACKs that carry the option after the ECN field of arriving packets has changed. The
/// second shows which field the latest packets had.
pub(super) const REPORTS: u8 = 2;

/// Whether the peer's option has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PeerOption {
    #[default]
    Unseen,
    Seen,
    /// It arrived with a counter of 0, which no end sends.
    Cleared,
}

/// State of Accurate ECN at one end of a connection.
#[derive(Debug, Default)]
pub struct AccurateEcn {
    pub(super) received: Received,
    pub(super) delivered: Delivered,
    /// ECN field of the peer's SYN or SYN-ACK.
    pub(super) syn_ecn: u8,
    /// Whether the next packet returns that field instead of the counter.
    pub(super) echoes_syn: bool,
    pub(super) syn_acks_sent: u8,
    /// Whether the packet that is being processed completes the handshake. Its ACE field is a code.
    pub(super) completes: bool,
    /// The path clears the ACE field of packets to this end, so no feedback arrives.
    pub(super) is_deaf: bool,
    /// The path changes the ECN field of this end's packets, so they are sent without ECT.
    pub(super) is_bleached: bool,
    pub(super) peer_option: PeerOption,
    /// Counters in the option of the packet that is being processed.
    pub(super) arrived: Option<[Option<u32>; 3]>,
    /// ECN field of the previous packet.
    pub(super) last_ecn: u8,
    /// Whether it has changed since the last data packet.
    pub(super) changed: bool,
    /// CE-marked packets that no ACK has reported.
    pub(super) pending: u8,
    /// Number of packets that still carry the option because of a change.
    pub(super) demand: u8,
    /// Counters that the next option needs.
    pub(super) least_fields: u32,
    pub(super) option_sent_ns: u64,
    /// First byte of the D-SACK in the latest packet with the option.
    pub(super) dsack_start: Option<u64>,
    /// The path loses packets with the option, so none carries it.
    pub(super) option_is_lost: bool,
    /// Timestamp of the latest packet with feedback.
    pub(super) last_ts_ms: u32,
}

impl AccurateEcn {
    /// Counts a packet at the receiver (tcp_ecn_received_counters).
    pub(super) fn count(&mut self, p: &Packet) {
        if self.received.count(p.ecn, p.payload_bytes) {
            self.demand = self.demand.max(1);
        }
        if p.payload_bytes > 0 {
            self.least_fields = self.least_fields.max(least_fields(p.ecn));
        }
        let is_marked = p.ecn == bits::CE;
        self.pending = self.pending.saturating_add(is_marked.into());
        if p.ecn != self.last_ecn {
            self.last_ecn = p.ecn;
            self.changed = true;
        } else if !is_marked {
            return;
        }
        self.demand = REPORTS;
    }

    /// Takes the code that returns the ECN field of this end's SYN or SYN-ACK, which was sent with
    /// `sent`. Returns the number of packets that it reports as marked.
    pub(super) fn take_syn_echo(&mut self, ace: u8, sent: u8) -> u32 {
        let echo = Echo::of(ace, sent);
        self.is_bleached = echo.is_bleached;
        self.delivered.ce_pkts += echo.marked_pkts;
        echo.marked_pkts
    }

    /// Notes whether the peer's option has arrived in a packet (tcp_accecn_option_init).
    pub(super) fn note_option(&mut self) {
        if let (PeerOption::Unseen, Some([e1b, ..])) = (self.peer_option, self.arrived) {
            self.peer_option = if e1b == Some(0) {
                PeerOption::Cleared
            } else {
                PeerOption::Seen
            };
        }
    }
}
