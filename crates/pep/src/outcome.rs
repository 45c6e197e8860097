//! The two sides of a proxied connection, and the ways in which it can end.

use std::sync::atomic::AtomicU64;

use serde::{Serialize, Serializer};

use crate::counters::Counters;

/// Index of the leg to the client, and of the direction from the client to the server.
pub(crate) const CLIENT: usize = 0;
/// Index of the leg to the server, and of the direction from the server to the client.
pub(crate) const SERVER: usize = 1;

/// How a proxied connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Closed,
    Refused,
    Broke(usize),
    HandshakeTimeout,
    IdleTimeout,
    CutOff,
    NoRoom,
}

impl Outcome {
    /// Returns the counter of the connections that ended in this way.
    pub fn counter(self, counters: &Counters) -> &AtomicU64 {
        match self {
            Self::Closed => &counters.closed,
            Self::Refused => &counters.refused,
            Self::Broke(CLIENT) => &counters.reset_by_client,
            Self::Broke(_) => &counters.reset_by_server,
            Self::HandshakeTimeout => &counters.handshake_timeouts,
            Self::IdleTimeout => &counters.idle_timeouts,
            Self::CutOff => &counters.cut_off,
            Self::NoRoom => &counters.no_room,
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(match self {
            Self::Closed => "closed",
            Self::Refused => "refused",
            Self::Broke(CLIENT) => "reset-by-client",
            Self::Broke(_) => "reset-by-server",
            Self::HandshakeTimeout => "handshake-timeout",
            Self::IdleTimeout => "idle-timeout",
            Self::CutOff => "cut-off",
            Self::NoRoom => "no-room",
        })
    }
}
