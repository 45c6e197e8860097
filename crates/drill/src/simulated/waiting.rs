//! Calls of an application that wait for something.

/// A call that waits for something.
#[derive(Clone, Debug)]
pub(super) enum Waiting {
    Accept { wanted: Option<i64> },
    Connect,
    Read { most_bytes: u64 },
    Write { bytes: u64 },
    Poll(Poll),
}

/// A call of poll with one socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Poll {
    /// Whether it waits for data, and for room.
    pub reads: bool,
    pub writes: bool,
    pub until_us: Option<u64>,
    /// Whether the script expects data, and room.
    pub expected: (bool, bool),
}
