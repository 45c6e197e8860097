//! What may be asked for at most. Sums of such numbers stay far from overflow.

/// Rate of a link, or one that a flow names, in bits per second: 10 Tbit/s.
pub const MAX_RATE_BPS: u64 = 10_000_000_000_000;
/// Any time: ten years.
pub const MAX_TIME_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;
/// Length of a run: the 32-bit millisecond clock of TCP's timestamps wraps after 49.7 days.
pub const MAX_DURATION_NS: u64 = 49 * 86_400 * 1_000_000_000;
/// Any size: 1 PiB.
pub const MAX_BYTES: u64 = 1 << 50;
/// Of a queue, in bytes or in packets.
pub const MAX_LIMIT: u64 = (1 << 32) - 1;
/// Hops of a chain.
pub const MAX_HOPS: usize = 64;
/// Flows of an experiment.
pub const MAX_FLOWS: usize = 1_000_000;
/// Half of TIME_WAIT: after it sockets are used again, so no packet may take longer where a host
/// pair has many connections.
pub const MAX_SESSION_DELAY_NS: u64 = 30_000_000_000;
/// What 16 bits can say with the sockets' window scale, 7.
pub const MAX_WINDOW_BYTES: u64 = 65_535 << 7;
/// Of a message of an application whose messages have no end.
pub const MAX_MESSAGE_BYTES: u64 = 1 << 30;
/// A socket's buffer from the start.
pub const BUFFER_BYTES: (u64, u64) = (4096, 1 << 30);
/// A receive window from the start: two segments.
pub const MIN_WINDOW_BYTES: u64 = 2920;
/// Characters of a name.
pub const MAX_NAME_CHARS: usize = 200;
