//! The results of one ACK, for loss recovery and rate samples.

/// The results of one ACK. The order of the fields keeps those that most ACKs read out of groups of
/// bytes that are stored one by one: compilers load such bytes four at a time, and processors stall
/// on these loads.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct AckInfo {
    /// Packets cumulatively acknowledged.
    pub acked_pkts: u32,
    /// Number of them that were not SACKed before. Without SACK: packets delivered, including those
    /// that duplicate ACKs count.
    pub newly_acked_pkts: u32,
    /// Packets newly SACKed.
    pub sacked_pkts: u32,
    /// Timestamp echo; 0 without one.
    pub ts_ecr_ms: u32,
    /// Losses known before this ACK.
    pub losses_before: u32,
    /// Packets in flight before this ACK.
    pub in_flight_before: u32,
    /// Whether it acknowledges a single packet of less than full size, whose ACK may have been
    /// delayed (FLAG_ACK_MAYBE_DELAYED).
    pub may_be_delayed: bool,
    /// Whether snd_una moved.
    pub advanced: bool,
    /// Whether it came with data, or moved snd_una or the window. It is then no duplicate.
    pub not_duplicate: bool,
    /// Whether it echoes a CE mark.
    pub ece: bool,
    /// Whether it acknowledges, by SACK or cumulatively, packets up to `high_seq` that were never
    /// retransmitted.
    pub original_sacked: bool,
    /// Whether it carries a D-SACK block.
    pub dsack: bool,
    /// Whether it cumulatively acknowledges a retransmitted packet.
    pub retransmitted_acked: bool,
    /// Whether it restarts the retransmission timer although it acknowledges nothing cumulatively.
    pub restarts_timer: bool,
}

impl AckInfo {
    /// Whether it is a duplicate ACK.
    pub fn is_duplicate(&self) -> bool {
        !self.advanced && !self.not_duplicate
    }

    /// Newly delivered packets.
    pub fn delivered(&self) -> u32 {
        self.newly_acked_pkts + self.sacked_pkts
    }
}
