//! The timers of a socket, and when they expire.

/// The timers of a socket. Each has one deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Timer {
    /// The retransmission timer. It also serves tail loss probes and RACK's reordering window, see
    /// `Pending`.
    Retransmit = 0,
    /// Delayed or compressed ACK.
    Ack = 1,
    /// Next paced transmission.
    Pace = 2,
}

/// What the retransmission timer currently waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    Rto,
    Probe,
    Reorder,
    Persist,
}

/// A timer's deadline, and the only event that is scheduled for it. Moving the deadline to a later
/// time needs no new event: the event checks the deadline when it fires.
#[derive(Clone, Copy, Debug)]
pub struct TimerSlot {
    pub deadline_ns: u64,
    pub scheduled_ns: u64,
}

pub const NEVER: u64 = u64::MAX;
