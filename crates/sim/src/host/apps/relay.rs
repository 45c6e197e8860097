//! A host in the middle of a flow's path, which splits its connection in two: what arrives
//! on one it writes to the other, as far as there is room, and so with the end of either's
//! sending. Any application runs over it and knows nothing of it, as with a split-TCP proxy
//! that nobody asked for (RFC 3135, 2.4).

use super::{Application, At, Connection, Connections, Host, Side, Totals};

/// An application whose connections go through a relay.
pub(super) struct Relayed {
    ends: Box<dyn Application>,
}

impl Relayed {
    pub fn new(ends: Box<dyn Application>) -> Relayed {
        Relayed { ends }
    }

    /// Reads what has arrived from the end that `from` faces and writes it to the other, as
    /// far as there is room: what is not read closes the window, and so the sender waits.
    fn forward(host: &mut Host, pair: Connection, from: Side) {
        let to = match from {
            Side::Opener => Side::Responder,
            Side::Responder => Side::Opener,
        };
        loop {
            let arrived = host.connections.look(pair, from);
            if arrived.delivered_bytes == arrived.read_bytes() {
                if arrived.fin_arrived() && !host.connections.look(pair, to).closes() {
                    host.close(pair, to);
                }
                return;
            }
            let room_bytes = host.room_bytes(pair, to);
            let bytes = host.read(pair, from, room_bytes);
            if bytes == 0 {
                return;
            }
            host.write(pair, to, bytes);
        }
    }

    /// News of one of a relay's sockets: both directions may go on.
    fn both(host: &mut Host, pair: Connection) {
        Self::forward(host, pair, Side::Opener);
        Self::forward(host, pair, Side::Responder);
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
            Self::both(host, at.connection);
        }
    }

    fn readable(&mut self, host: &mut Host, at: At) {
        if host.connections.is_relay(at.connection) {
            Self::forward(host, at.connection, at.side);
        } else {
            self.ends.readable(host, at);
        }
    }

    fn writable(&mut self, host: &mut Host, at: At) {
        if host.connections.is_relay(at.connection) {
            Self::both(host, at.connection);
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
