//! The results of one ACK, for loss recovery and rate samples.

/// The results of one ACK. The order of the fields avoids stalls of the processor: compilers load
/// four bytes at a time, and a load stalls if its bytes were just stored one by one. Fields that
/// most ACKs read are therefore apart from such bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct AckInfo {
    /// Packets cumulatively acknowledged.
    pub acked_pkts: u32,
    /// Number of cumulatively acknowledged packets that were not SACKed before. Without SACK:
    /// packets delivered, including those that duplicate ACKs count.
    pub newly_acked_pkts: u32,
    /// Packets newly SACKed.
    pub sacked_pkts: u32,
    /// Timestamp echo of the ACK; 0 without one.
    pub ts_ecr_ms: u32,
    /// Number of losses that were known before this ACK.
    pub losses_before: u32,
    /// Packets in flight before this ACK.
    pub in_flight_before: u32,
    /// Whether the ACK acknowledges a single packet of less than full size, so that the receiver
    /// may have delayed it (FLAG_ACK_MAYBE_DELAYED).
    pub may_be_delayed: bool,
    /// Whether the ACK moved snd_una.
    pub advanced: bool,
    /// Whether the ACK came with data, or moved snd_una or the window. Such an ACK is no duplicate
    /// ACK.
    pub not_duplicate: bool,
    /// Whether the ACK echoes a CE mark.
    pub ece: bool,
    /// Whether the ACK acknowledges, by SACK or cumulatively, packets up to `high_seq` that were
    /// never retransmitted.
    pub original_sacked: bool,
    /// Whether the ACK carries a D-SACK block.
    pub dsack: bool,
    /// Whether the ACK cumulatively acknowledges a retransmitted packet.
    pub retransmitted_acked: bool,
    /// Whether the ACK restarts the retransmission timer although it acknowledges nothing
    /// cumulatively.
    pub restarts_timer: bool,
}

impl AckInfo {
    /// Whether the ACK is a duplicate ACK.
    pub fn is_duplicate(&self) -> bool {
        !self.advanced && !self.not_duplicate
    }

    /// Newly delivered packets.
    pub fn delivered(&self) -> u32 {
        self.newly_acked_pkts + self.sacked_pkts
    }
}
