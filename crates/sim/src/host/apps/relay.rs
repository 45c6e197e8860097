//! A relay: a host on a flow's path that splits its connection in two. It writes what arrives on
//! one connection to the other, and forwards each FIN. It moves data as `headwayctl pep` does
//! (crates/pep/src/flow.rs). Applications do not notice it, as with any transparent split-TCP proxy
//! (RFC 3135, 2.4).

use std::collections::BTreeMap;

use super::application::{Application, Host};
use crate::host::connection::{Connection, ConnectionEnd, Connections, Side, Totals};

/// The relay copies the data of a read through memory if the read returns less than this. After a
/// read that returns at least this, data goes through a pipe.
const COPY_BYTES: u64 = 16 << 10;
/// Packets that fit into the pipe: one page per packet, 1 MiB in total (`--pipe-bytes` of
/// `headwayctl pep`).
const PIPE_PKTS: u64 = 256;
/// Number of packets that one call moves from the pipe into a socket (Linux splice_to_socket).
const CALL_PKTS: u64 = 16;

/// A relay's state for one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Direction {
    /// Bytes that the relay has read and the other socket has not yet accepted.
    held_bytes: u64,
    /// Whether data goes through a pipe: after a read of at least [`COPY_BYTES`], or after a write
    /// that did not accept everything.
    is_piped: bool,
    /// Whether the last read returned at least [`COPY_BYTES`].
    is_bulk: bool,
}

/// An application whose connections pass a relay.
pub(super) struct Relayed {
    ends: Box<dyn Application>,
    /// State per pair of sockets and direction. A direction is named by the side that sends.
    /// Directions in their initial state are not stored.
    directions: BTreeMap<(u32, u8), Direction>,
}

impl Relayed {
    pub fn new(ends: Box<dyn Application>) -> Relayed {
        Relayed {
            ends,
            directions: BTreeMap::new(),
        }
    }

    /// Moves all data that can be moved in one direction: from the end `from` to the opposite end.
    fn forward(&mut self, host: &mut Host, pair: Connection, from: Side) {
        let key = (pair.number(), from as u8);
        let before = self.directions.get(&key).copied().unwrap_or_default();
        let after = before.forward_data(host, pair, from);
        if after == Direction::default() {
            self.directions.remove(&key);
        } else {
            self.directions.insert(key, after);
        }
    }

    /// Moves data in both directions after something has changed at one of a relay's sockets.
    fn both(&mut self, host: &mut Host, pair: Connection) {
        self.forward(host, pair, Side::Opener);
        self.forward(host, pair, Side::Responder);
    }
}

impl Direction {
    /// Reads data that has arrived at one socket, and writes it to the other until that has no
    /// room. The relay keeps data that the other socket does not accept. Meanwhile it reads nothing
    /// more, so the receive window that the sender sees closes.
    fn forward_data(mut self, host: &mut Host, pair: Connection, from: Side) -> Direction {
        let to = match from {
            Side::Opener => Side::Responder,
            Side::Responder => Side::Opener,
        };
        let packet_bytes = u64::from(host.connections.socket_ref(pair, from).mss);
        while host.connections.socket_ref(pair, to).takes_writes() {
            if self.held_bytes > 0 {
                let bytes = self.held_bytes.min(CALL_PKTS * packet_bytes);
                self.held_bytes -= host.offer(pair, to, bytes);
                continue;
            }
            self.is_piped |= self.is_bulk;
            let source = host.connections.socket(pair, from);
            let bytes = if self.is_piped {
                source.splice(host.net, PIPE_PKTS * packet_bytes)
            } else {
                source.read(host.net, COPY_BYTES)
            };
            if bytes == 0 {
                self.is_piped = false;
                let ended = host.connections.socket_ref(pair, from).fin_arrived();
                if ended && !host.connections.socket_ref(pair, to).has_closed() {
                    host.connections.socket(pair, to).shut_down(host.net);
                }
                break;
            }
            self.held_bytes = bytes;
            self.is_bulk = bytes >= COPY_BYTES;
            if !self.is_piped {
                self.held_bytes -= host.offer(pair, to, bytes);
                self.is_piped = self.held_bytes > 0;
            }
        }
        self
    }
}

impl Application for Relayed {
    fn started(&mut self, host: &mut Host) {
        self.ends.started(host);
    }

    fn stopped(&mut self, host: &mut Host) {
        self.ends.stopped(host);
    }

    fn timer(&mut self, host: &mut Host) {
        self.ends.timer(host);
    }

    fn timer_of(&mut self, host: &mut Host, at: ConnectionEnd) {
        self.ends.timer_of(host, at);
    }

    fn established(&mut self, host: &mut Host, at: ConnectionEnd) {
        if !host.connections.is_relay(at.connection) {
            self.ends.established(host, at);
        } else if at.side == Side::Opener {
            let onwards = host.connections.socket(at.connection, Side::Responder);
            onwards.connect(host.net);
        } else {
            self.both(host, at.connection);
        }
    }

    fn readable(&mut self, host: &mut Host, at: ConnectionEnd) {
        if host.connections.is_relay(at.connection) {
            self.forward(host, at.connection, at.side);
        } else {
            self.ends.readable(host, at);
        }
    }

    fn writable(&mut self, host: &mut Host, at: ConnectionEnd) {
        if host.connections.is_relay(at.connection) {
            self.both(host, at.connection);
        } else {
            self.ends.writable(host, at);
        }
    }

    fn ended(&mut self, host: &mut Host) {
        self.ends.ended(host);
    }

    fn connection(&self) -> Option<Connection> {
        self.ends.connection()
    }

    fn totals(&self, connections: &Connections) -> Option<Totals> {
        self.ends.totals(connections)
    }

    fn datagrams(&self) -> u64 {
        self.ends.datagrams()
    }
}
