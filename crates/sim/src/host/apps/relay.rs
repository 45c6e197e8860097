//! A host in the middle of a flow's path, which splits its connection in two: what arrives
//! on one it writes to the other, as far as there is room, and so with the end of either's
//! sending. Any application runs over it and knows nothing of it, as with a split-TCP proxy
//! that nobody asked for (RFC 3135, 2.4).

use super::{Application, At, Connection, Connections, Host, Side, Totals};
use std::collections::HashMap;

/// An application whose connections go through a relay.
pub(super) struct Relayed {
    ends: Box<dyn Application>,
    /// By the number of the relay's pair of sockets.
    relays: HashMap<u32, Relay>,
}

/// What a relay has done with a connection; the first is from the opener to the responder.
#[derive(Default)]
struct Relay {
    closed: [bool; 2],
}

impl Relayed {
    pub fn new(ends: Box<dyn Application>) -> Relayed {
        Relayed {
            ends,
            relays: HashMap::new(),
        }
    }

    /// Writes what has arrived from the end that `from` faces to the other.
    fn forward(&mut self, host: &mut Host, pair: Connection, from: Side) {
        let to = match from {
            Side::Opener => Side::Responder,
            Side::Responder => Side::Opener,
        };
        let relay = self.relays.entry(pair.number()).or_default();
        loop {
            let arrived = host.connections.look(pair, from);
            let held_bytes = arrived.readable_bytes();
            if held_bytes == 0 {
                if arrived.fin_arrived() && !relay.closed[from as usize] {
                    relay.closed[from as usize] = true;
                    host.close(pair, to);
                }
                return;
            }
            let bytes = held_bytes.min(host.room_bytes(pair, to));
            if bytes == 0 {
                return;
            }
            host.connections.socket(pair, from).read(host.net, bytes);
            host.write(pair, to, bytes);
        }
    }

    /// News of one of a relay's sockets: both directions may go on.
    fn both(&mut self, host: &mut Host, pair: Connection) {
        self.forward(host, pair, Side::Opener);
        self.forward(host, pair, Side::Responder);
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
            // The sockets may have served another connection before.
            self.relays.insert(at.connection.number(), Relay::default());
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
