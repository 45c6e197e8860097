//! What a run records.

use serde::Deserialize;

/// What the trace contains. By default it contains everything except the controls' readings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Whether the trace has every change of a TCP sender's state.
    pub flows: bool,
    /// Whether the trace has every change of a recorded link's queue length.
    pub queue: bool,
    /// Whether the trace has the one-way delay of every datagram.
    pub udp: bool,
    /// Every dropped packet.
    pub drops: bool,
    /// Whether the trace has the readings of every TCP sender's control after every ACK. Not by
    /// default.
    pub controls: bool,
}

impl Record {
    /// Records nothing.
    pub fn none() -> Record {
        Record {
            flows: false,
            queue: false,
            udp: false,
            drops: false,
            controls: false,
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
            controls: false,
        }
    }
}

/// A capture to export: packets of a link, or packets that hosts send and receive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// A link's name; "bottleneck" for both directions of the first hop, as tcpdump would capture
    /// them on the senders' side; or "hosts" for what both ends of every flow send and receive,
    /// with one interface for each side.
    pub link: String,
    /// Bytes to keep of each packet; 0 keeps all.
    #[serde(default)]
    pub snaplen_bytes: u32,
}
