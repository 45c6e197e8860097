//! Counts of first flights, and the state of the current one.

use serde::Serialize;

/// Sums over all first flights of a sender that were acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FirstFlights {
    /// Packets that the startup's window and the application's data would have allowed the sender
    /// to send.
    pub asked_pkts: u64,
    /// The largest `asked_pkts` of any single flight.
    pub largest_pkts: u64,
    /// Packets sent before the first ACK of their flight.
    pub sent_pkts: u64,
    /// Packets that were not sent because the peer's window had no room.
    pub rwnd_limited_pkts: u64,
    /// Those packets of `rwnd_limited_pkts` that lie beyond the largest window that a SYN-ACK,
    /// whose window is not scaled, can advertise.
    pub syn_limited_pkts: u64,
    /// Packets that were not sent because the send buffer had no room.
    pub sndbuf_limited_pkts: u64,
    /// By how many packets the startup's slow start grew less than standard slow start, until the
    /// window reached the intended size of the flight.
    pub growth_limited_pkts: u64,
}

impl FirstFlights {
    /// Adds the counts of another connection.
    pub(crate) fn add(&mut self, other: &FirstFlights) {
        self.asked_pkts += other.asked_pkts;
        self.largest_pkts = self.largest_pkts.max(other.largest_pkts);
        self.sent_pkts += other.sent_pkts;
        self.rwnd_limited_pkts += other.rwnd_limited_pkts;
        self.syn_limited_pkts += other.syn_limited_pkts;
        self.sndbuf_limited_pkts += other.sndbuf_limited_pkts;
        self.growth_limited_pkts += other.growth_limited_pkts;
    }
}

/// State of a socket whose startup may begin with a first flight.
#[derive(Clone, Debug, Default)]
pub struct FirstFlight {
    /// Sequence number at which the current flight begins; None outside of a flight.
    pub first_seq: Option<u64>,
    pub sent_before_pkts: u64,
    pub asked_pkts: u32,
    pub asked_bytes: u64,
    /// Window that the startup chose. The startup may have limited it to the peer's window.
    pub chosen_pkts: u32,
    /// Window up to which the startup's growth is compared with slow start's, after a flight that
    /// was not sent completely.
    pub target_pkts: u32,
    pub counts: FirstFlights,
}
