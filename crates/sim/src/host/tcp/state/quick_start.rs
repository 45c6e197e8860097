//! Quick-Start state of a socket.

use headway_algorithms::header::HeaderInfo;
use headway_algorithms::{QsHost, QsOption};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A socket's Quick-Start state; most sockets have none.
pub struct QuickStart {
    pub header: &'static HeaderInfo,
    pub response_header: &'static HeaderInfo,
    pub host: QsHost,
    /// Sequence number after the packet that carried the request.
    pub request_end: u64,
    /// Response to the peer's request, which the next packet with an ACK carries.
    pub response: Option<QsOption>,
    pub rng: Xoshiro256PlusPlus,
}

/// The part of a socket's Quick-Start state that every packet of the socket reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuickStartFlags {
    /// Whether a Quick-Start request is in flight.
    pub waits: bool,
    /// Whether a Quick-Start option must be sent.
    pub due: bool,
}
