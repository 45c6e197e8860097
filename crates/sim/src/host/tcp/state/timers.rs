//! The timers of a socket, and when they expire.

/// A socket's timers; each has one deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Timer {
    /// Retransmission, tail loss probe or RACK reordering, see `Pending`.
    Retransmit = 0,
    /// Delayed or compressed ACK.
    Ack = 1,
    /// Next paced transmission.
    Pace = 2,
}

/// What the retransmission timer is armed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    Rto,
    Probe,
    Reorder,
    Persist,
}

/// A timer's deadline and its only event. Moving the deadline later needs no new event: the event
/// checks the deadline when it fires.
#[derive(Clone, Copy, Debug)]
pub struct TimerSlot {
    pub deadline_ns: u64,
    pub scheduled_ns: u64,
}

pub const NEVER: u64 = u64::MAX;
