//! A host in the middle of a flow's path, which splits its connection in two: what arrives
//! on one it writes to the other, and so with the end of either's sending. It moves data as
//! `headwayctl pep` does (crates/pep/src/flow.rs). Applications do not know of it, as with any
//! transparent split-TCP proxy (RFC 3135, 2.4).

use std::collections::BTreeMap;

use super::{Application, At, Connection, Connections, Host, Side, Totals};

/// What a relay reads into memory and writes at once, while less than this arrives between reads.
const COPY_BYTES: u64 = 16 << 10;
/// Packets that fit into the pipe: one page each, and 1 MiB (`--pipe-bytes` of `headwayctl pep`).
const PIPE_PKTS: u64 = 256;
/// Packets of the pipe that one call of a socket takes (Linux splice_to_socket).
const CALL_PKTS: u64 = 16;

/// What a relay has of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Direction {
    /// Read, and not yet taken by the socket of the other end.
    held_bytes: u64,
    /// Data goes through a pipe: more than one read brought or one write took.
    is_piped: bool,
    /// The last read brought at least [`COPY_BYTES`].
    is_bulk: bool,
}

/// An application whose connections go through a relay.
pub(super) struct Relayed {
    ends: Box<dyn Application>,
    /// By pair of sockets and the side of the source; only those that hold something or will read
    /// into a pipe.
    directions: BTreeMap<(u32, u8), Direction>,
}

impl Relayed {
    pub fn new(ends: Box<dyn Application>) -> Relayed {
        Relayed {
            ends,
            directions: BTreeMap::new(),
        }
    }

    /// Moves what can be moved from the end that `from` faces to the other.
    fn forward(&mut self, host: &mut Host, pair: Connection, from: Side) {
        let key = (pair.number(), from as u8);
        let before = self.directions.get(&key).copied().unwrap_or_default();
        let after = before.moved_on(host, pair, from);
        if after == Direction::default() {
            self.directions.remove(&key);
        } else {
            self.directions.insert(key, after);
        }
    }

    /// News of one of a relay's sockets: both directions may go on.
    fn both(&mut self, host: &mut Host, pair: Connection) {
        self.forward(host, pair, Side::Opener);
        self.forward(host, pair, Side::Responder);
    }
}

impl Direction {
    /// Reads what has arrived, and writes it until the other socket has no room. What that has not
    /// taken is held, and nothing is read before it is gone, so that the source's window closes.
    fn moved_on(mut self, host: &mut Host, pair: Connection, from: Side) -> Direction {
        let to = match from {
            Side::Opener => Side::Responder,
            Side::Responder => Side::Opener,
        };
        let packet_bytes = u64::from(host.connections.look(pair, from).mss);
        while host.connections.look(pair, to).takes_writes() {
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
                let ended = host.connections.look(pair, from).fin_arrived();
                if ended && !host.connections.look(pair, to).closes() {
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

    fn timer_of(&mut self, host: &mut Host, at: At) {
        self.ends.timer_of(host, at);
    }

    fn established(&mut self, host: &mut Host, at: At) {
        if !host.connections.is_relay(at.connection) {
            self.ends.established(host, at);
        } else if at.side == Side::Opener {
            let onwards = host.connections.socket(at.connection, Side::Responder);
            onwards.connect(host.net);
        } else {
            self.both(host, at.connection);
        }
    }

    fn readable(&mut self, host: &mut Host, at: At) {
        if host.connections.is_relay(at.connection) {
            self.forward(host, at.connection, at.side);
        } else {
            self.ends.readable(host, at);
        }
    }

    fn writable(&mut self, host: &mut Host, at: At) {
        if host.connections.is_relay(at.connection) {
            self.both(host, at.connection);
        } else {
            self.ends.writable(host, at);
        }
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
