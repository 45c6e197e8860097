//! What a run records.

use serde::Deserialize;

/// What the trace contains. Everything by default.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Sender state of every flow, on change.
    pub flows: bool,
    /// Queue length of every recorded link, on change.
    pub queue: bool,
    /// One-way delay of every datagram.
    pub udp: bool,
    /// Every dropped packet.
    pub drops: bool,
}

impl Record {
    /// Records nothing.
    pub fn none() -> Record {
        Record {
            flows: false,
            queue: false,
            udp: false,
            drops: false,
        }
    }
}

impl Default for Record {
    fn default() -> Self {
        Record {
            flows: true,
            queue: true,
            udp: true,
            drops: true,
        }
    }
}

/// Export of a link, or of what hosts send and receive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// A link's name; or "bottleneck": both directions of the first hop, as tcpdump would capture
    /// them on the senders' side; or "hosts": what both ends of every flow send and receive, on an
    /// interface for each side.
    pub link: String,
    /// Bytes to keep of each packet; 0 keeps all.
    #[serde(default)]
    pub snaplen_bytes: u32,
}
