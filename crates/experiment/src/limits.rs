//! Largest values of an experiment's fields. Sums of such numbers cannot overflow.

/// Rate of a link or of a flow's option, in bits per second: 10 Tbit/s.
pub const MAX_RATE_BPS: u64 = 10_000_000_000_000;
/// Any time: ten years.
pub const MAX_TIME_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;
/// Length of a run: the 32-bit millisecond clock of TCP's timestamps wraps after 49.7 days.
pub const MAX_DURATION_NS: u64 = 49 * 86_400 * 1_000_000_000;
/// Any size: 1 PiB.
pub const MAX_BYTES: u64 = 1 << 50;
/// Limit of a queue, in bytes or in packets.
pub const MAX_LIMIT: u64 = (1 << 32) - 1;
/// Hops of a chain.
pub const MAX_HOPS: usize = 64;
/// Flows of an experiment.
pub const MAX_FLOWS: usize = 1_000_000;
/// Largest one-way delay for host pairs with many connections: half of TIME_WAIT. Sockets are used
/// again after TIME_WAIT, so no packet may take longer.
pub const MAX_SESSION_DELAY_NS: u64 = 30_000_000_000;
/// Largest window that 16 bits can advertise with the sockets' window scale, 7.
pub const MAX_WINDOW_BYTES: u64 = 65_535 << 7;
/// A message of an application that sends endless messages.
pub const MAX_MESSAGE_BYTES: u64 = 1 << 30;
/// Initial buffer of a socket: smallest and largest.
pub const BUFFER_BYTES: (u64, u64) = (4096, 1 << 30);
/// Smallest initial receive window: two segments.
pub const MIN_WINDOW_BYTES: u64 = 2920;
/// Characters in a name.
pub const MAX_NAME_CHARS: usize = 200;
