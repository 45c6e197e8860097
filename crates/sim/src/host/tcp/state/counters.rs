//! Counters of a socket.

/// Counters of a socket.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Data packets sent.
    pub sent_pkts: u64,
    /// Data packets retransmitted.
    pub retransmits_pkts: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Probes of a closed window.
    pub zero_window_probes: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Reductions undone.
    pub undos: u64,
    /// Quick-Start requests sent.
    pub qs_requests: u64,
    /// Requests that were granted.
    pub qs_grants: u64,
    /// Grants that the startup used because they exceeded the rate that it had anyway.
    pub qs_used: u64,
    /// Responses that were detected as lies.
    pub qs_lies: u64,
    /// How often the control fell back to its loss-based law because no router answered.
    pub fall_backs: u64,
    /// Data packets that arrived with a CE mark.
    pub ce_marks: u64,
    /// ACKs that arrived with ECE set.
    pub ece_acks: u64,
}

impl Counters {
    /// The sender's counters by name.
    pub(crate) fn protocol(&self) -> [(&'static str, u64); 4] {
        [
            ("requests", self.qs_requests),
            ("grants", self.qs_grants),
            ("used", self.qs_used),
            ("lies", self.qs_lies),
        ]
    }
}
