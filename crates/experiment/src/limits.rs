//! Largest and smallest values of an experiment's fields. Sums of such numbers cannot overflow.

/// Largest rate of a link or of a flow's option, in bits per second: 10 Tbit/s.
pub const MAX_RATE_BPS: u64 = 10_000_000_000_000;
/// Largest value of any time: ten years.
pub const MAX_TIME_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;
/// Longest duration of a run, 49 days: the 32-bit millisecond clock of TCP's timestamps wraps after
/// 49.7 days.
pub const MAX_DURATION_NS: u64 = 49 * 86_400 * 1_000_000_000;
/// Any size: 1 PiB.
pub const MAX_BYTES: u64 = 1 << 50;
/// Largest limit of a queue, in bytes or in packets.
pub const MAX_LIMIT: u64 = (1 << 32) - 1;
/// Largest number of hops of a chain, and of links that a route crosses.
pub const MAX_HOPS: usize = 64;
/// Largest number of nodes of a network.
pub const MAX_NODES: usize = 2048;
/// Largest number of characters in the name of a node.
pub const MAX_NODE_CHARS: usize = 40;
/// Largest number of edges of a network.
pub const MAX_EDGES: usize = 8192;
/// Largest number of links of a network; each edge has two.
pub const MAX_LINKS: usize = 2 * MAX_EDGES;
/// Largest number of flows of an experiment.
pub const MAX_FLOWS: usize = 1_000_000;
/// Largest one-way delay for host pairs with many connections: half of TIME_WAIT. Sockets are used
/// again after TIME_WAIT, so every packet must have arrived by then.
pub const MAX_SESSION_DELAY_NS: u64 = 30_000_000_000;
/// Largest window that 16 bits can advertise with the sockets' window scale, 7.
pub const MAX_WINDOW_BYTES: u64 = 65_535 << 7;
/// Largest message of an application that sends endless messages.
pub const MAX_MESSAGE_BYTES: u64 = 1 << 30;
/// Smallest and largest size of a socket's buffer.
pub const BUFFER_BYTES: (u64, u64) = (4096, 1 << 30);
/// Smallest and largest value of SO_RCVBUF and SO_SNDBUF. Linux doubles them.
pub const SOCKET_OPTION_BYTES: (u64, u64) = (BUFFER_BYTES.0 / 2, BUFFER_BYTES.1 / 2);
/// Smallest initial receive window: two full segments.
pub const MIN_WINDOW_BYTES: u64 = 2920;
/// Largest number of characters in a name.
pub const MAX_NAME_CHARS: usize = 200;
/// Largest spread of a link's delay variation, and longest time between its frames and for which it
/// holds ACKs: ten minutes.
pub const MAX_JITTER_NS: u64 = 600_000_000_000;
/// Largest number of values in a table of delay variation, as in netem.
pub const JITTER_TABLE_VALUES: usize = 16_384;
/// Smallest bucket of a policer or shaper: a full packet, which otherwise never passes.
pub const MIN_BURST_BYTES: u64 = 1500;
/// Smallest and largest MTU of a link. Below 552 bytes Linux fragments packets instead of making them
/// smaller (net.ipv4.route.min_pmtu), and hosts send no packet above the largest size.
pub const LINK_MTU_BYTES: (u64, u64) = (576, 1500);
/// Smallest and largest number of ACKs of which a link that thins them keeps one.
pub const THINNED_ACKS: (u64, u64) = (2, 1000);
/// How long a link that thins ACKs holds one by default: a few times the gap between the ACKs of a
/// busy download.
pub const ACK_INTERVAL_NS: u64 = 5_000_000;
