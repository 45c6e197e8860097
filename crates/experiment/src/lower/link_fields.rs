//! Names of the fields of a link.

/// Fields of the forward link that the reverse link copies by default: its rate and queue limit,
/// and the behaviour of routers and middleboxes. Queue management, disturbances, effects and
/// changes are not copied.
pub const MIRRORED: [&str; 7] = [
    "rate",
    "buffer",
    "quick_start",
    "routers",
    "routers_at_arrival",
    "drop_ip_options",
    "ecn",
];

/// All fields of a link.
pub const LINK: [&str; 22] = [
    "rate",
    "delay",
    "buffer",
    "aqm",
    "loss",
    "duplicate",
    "reorder",
    "reorder_delay",
    "jitter",
    "burst_loss",
    "policer",
    "shaper",
    "aggregation",
    "ack_thinning",
    "corruption",
    "mtu",
    "quick_start",
    "routers",
    "routers_at_arrival",
    "drop_ip_options",
    "ecn",
    "vary",
];
