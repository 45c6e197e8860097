//! Connections. A connection has two ends; each end is a socket that sends on its own route. A
//! handle identifies the connection and gives access to its sockets.

use super::tcp::{Counters, FirstFlights, LimitedTime, Socket};
use crate::net::packet::{about, Slab};
use crate::trace::digest::AtCheckpoint;

/// A handle of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connection(u32);

impl Connection {
    /// Its number, from 0.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The connection with this number, as [`Connection::number`] returned it.
    pub fn of_number(number: u32) -> Connection {
        Connection(number)
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The end that opens the connection.
    Opener = 0,
    /// The end that listens, and so accepts the connection.
    Responder = 1,
}

/// An end of a connection, with the number by which its application knows the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionEnd {
    /// The connection.
    pub connection: Connection,
    /// The end.
    pub side: Side,
    /// The application's number for the connection.
    pub tag: u32,
}

/// Ends of a connection.
#[derive(Clone, Copy)]
struct Ends {
    /// Sockets of the opener and of the responder.
    sockets: [u32; 2],
    /// Flow whose application uses this connection.
    owner: u32,
    /// The application's number for the connection.
    tag: u32,
    /// Number of the pair of sockets of the relay on the connection's path, which face the opener
    /// and the responder. For a relay's own pair: that pair's number. NONE: no relay, so the two
    /// ends are peers.
    relay: u32,
}

const NONE: u32 = u32::MAX;

/// What is needed to create a socket for a connection, with the socket that is its peer.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub own: u32,
    pub peer: u32,
    pub side: Side,
    /// Whether the socket belongs to a relay. If so, its peer is the end `side`.
    pub relays: bool,
}

/// All sockets of a run, by connection. Closed connections free their sockets, so that memory grows
/// only with the number of open connections.
#[derive(Default)]
pub(crate) struct Connections {
    sockets: Vec<Socket>,
    ends: Vec<Ends>,
    /// Connection of each socket.
    whose: Vec<u32>,
    free: Vec<Connection>,
    /// Connections that are over but may still have packets in the network.
    lingering: Vec<Connection>,
    /// Number of lingering connections at which those without packets are freed.
    frees_at: usize,
}

/// Least number of lingering connections that are searched for ones without packets.
const FEW_LINGERING: usize = 64;

impl Connections {
    /// Opens a connection with new sockets, which `make` creates: two ends and, if the path has a
    /// relay, the relay's two sockets.
    pub fn open(
        &mut self,
        flow: u32,
        tag: u32,
        is_relayed: bool,
        make: impl Fn(Place) -> Socket,
    ) -> Connection {
        let connection = self.reserve(flow, tag);
        let ends = self.ends[connection.0 as usize].sockets;
        let mut facing = [ends[1], ends[0]];
        if is_relayed {
            let relay = self.reserve(flow, tag);
            self.ends[connection.0 as usize].relay = relay.0;
            self.ends[relay.0 as usize].relay = relay.0;
            facing = self.ends[relay.0 as usize].sockets;
        }
        let place = |side: Side, relays: bool| {
            let pair = (ends[side as usize], facing[side as usize]);
            let (own, peer) = if relays { (pair.1, pair.0) } else { pair };
            Place {
                own,
                peer,
                side,
                relays,
            }
        };
        for relays in [false, true].into_iter().take(1 + usize::from(is_relayed)) {
            for side in [Side::Opener, Side::Responder] {
                self.put(make(place(side, relays)), place(side, relays).own);
            }
        }
        connection
    }

    /// Returns a free connection, or a new one with the next socket numbers.
    fn reserve(&mut self, owner: u32, tag: u32) -> Connection {
        let ends = |sockets| Ends {
            sockets,
            owner,
            tag,
            relay: NONE,
        };
        if let Some(connection) = self.free.pop() {
            let place = &mut self.ends[connection.0 as usize];
            *place = ends(place.sockets);
            return connection;
        }
        let connection = Connection(self.ends.len() as u32);
        let next = self.whose.len() as u32;
        self.ends.push(ends([next, next + 1]));
        self.whose.extend([connection.0; 2]);
        connection
    }

    fn put(&mut self, socket: Socket, number: u32) {
        match self.sockets.get_mut(number as usize) {
            Some(place) => *place = socket,
            None => {
                debug_assert_eq!(self.sockets.len(), number as usize);
                self.sockets.push(socket);
            }
        }
    }

    /// Frees a connection that is over, so that its sockets can serve another one.
    pub fn release(&mut self, connection: Connection) {
        self.free.extend(self.relay_of(connection));
        self.free.push(connection);
    }

    /// Frees a connection that is over when none of its packets is in the network any more.
    pub fn linger(&mut self, connection: Connection, packets: &Slab) {
        self.lingering.push(connection);
        if self.lingering.len() >= self.frees_at.max(FEW_LINGERING) {
            self.free_lingering(packets);
        }
    }

    /// Frees the lingering connections that have no packet in the network. The next call follows
    /// only when so many connections linger that the cost per connection is constant.
    fn free_lingering(&mut self, packets: &Slab) {
        let mut is_addressed = vec![false; self.whose.len()];
        for packet in packets.inside().filter(|packet| !packet.is(about::UDP)) {
            is_addressed[packet.to as usize] = true;
        }
        for connection in std::mem::take(&mut self.lingering) {
            let relay = self.relay_of(connection);
            let mut ends = [Some(connection), relay].into_iter().flatten();
            let is_quiet = ends.all(|one| {
                let sockets = self.ends[one.0 as usize].sockets;
                !sockets.iter().any(|&socket| is_addressed[socket as usize])
            });
            if is_quiet && self.has_ended(connection) {
                self.release(connection);
            } else {
                self.lingering.push(connection);
            }
        }
        let searched = packets.len().max(self.whose.len());
        self.frees_at = (searched / 8).max(2 * self.lingering.len());
    }

    /// Whether everything sent on a connection, including the FINs, has been acknowledged.
    pub fn has_ended(&self, connection: Connection) -> bool {
        let acked = |one| {
            let (a, b) = self.sender_first(one);
            a.fin_acked() && b.fin_acked()
        };
        acked(connection) && self.relay_of(connection).is_none_or(acked)
    }

    /// The relay's sockets, if a connection's path has a relay.
    pub fn relay_of(&self, connection: Connection) -> Option<Connection> {
        let relay = self.ends[connection.0 as usize].relay;
        (relay != NONE && relay != connection.0).then_some(Connection(relay))
    }

    /// Whether a connection stands for the two sockets of a relay.
    pub fn is_relay(&self, connection: Connection) -> bool {
        self.ends[connection.0 as usize].relay == connection.0
    }

    /// A socket by its number.
    #[inline(always)]
    pub fn numbered(&mut self, number: u32) -> &mut Socket {
        &mut self.sockets[number as usize]
    }

    /// Asks the processor to load a socket, if one has this number.
    #[inline(always)]
    pub fn prefetch(&self, number: u32) {
        if let Some(socket) = self.sockets.get(number as usize) {
            socket.prefetch();
        }
    }

    /// The socket of an end, mutable.
    pub fn socket(&mut self, connection: Connection, side: Side) -> &mut Socket {
        let number = self.ends[connection.0 as usize].sockets[side as usize];
        &mut self.sockets[number as usize]
    }

    /// The socket of an end.
    pub fn socket_ref(&self, connection: Connection, side: Side) -> &Socket {
        &self.sockets[self.ends[connection.0 as usize].sockets[side as usize] as usize]
    }

    /// The end of which the trace records what it sends, then the other end.
    pub fn sender_first(&self, connection: Connection) -> (&Socket, &Socket) {
        let opener = self.socket_ref(connection, Side::Opener);
        let responder = self.socket_ref(connection, Side::Responder);
        if opener.recorded {
            (opener, responder)
        } else {
            (responder, opener)
        }
    }

    /// The flow that owns a socket, and the socket's connection and end.
    pub fn owner_of(&self, socket: u32) -> (u32, ConnectionEnd) {
        let connection = Connection(self.whose[socket as usize]);
        let ends = &self.ends[connection.0 as usize];
        let side = if ends.sockets[0] == socket {
            Side::Opener
        } else {
            Side::Responder
        };
        let tag = ends.tag;
        let at = ConnectionEnd {
            connection,
            side,
            tag,
        };
        (ends.owner, at)
    }

    /// The flow that owns a connection, and the end of that connection at the opener.
    pub fn opener(&self, connection: Connection) -> (u32, ConnectionEnd) {
        self.owner_of(self.ends[connection.0 as usize].sockets[0])
    }

    /// Number of sockets.
    pub fn sockets(&self) -> usize {
        self.sockets.len()
    }

    /// Checks every relation between the sockets' fields that must hold between events.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.sockets.iter().try_for_each(Socket::check_invariants)
    }
}

/// Totals of a flow's sender over all its connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Number of bytes that the receiving application has read.
    pub delivered_bytes: u64,
    pub acked_bytes: u64,
    pub unique_bytes: u64,
    pub counters: Counters,
    pub first_flights: FirstFlights,
    /// How long the peer's window limited the sender.
    pub rwnd_limited: LimitedTime,
    /// How long the send buffer limited the sender.
    pub sndbuf_limited: LimitedTime,
}

impl Totals {
    /// The counters that a digest records at a checkpoint.
    pub fn at_checkpoint(&self) -> AtCheckpoint {
        AtCheckpoint {
            sent_pkts: self.counters.sent_pkts,
            retransmits_pkts: self.counters.retransmits_pkts,
            rtos: self.counters.rtos,
        }
    }

    /// Adds the totals of a connection.
    pub fn add(&mut self, (from, to): (&Socket, &Socket)) {
        self.delivered_bytes += to.read_bytes();
        self.acked_bytes += from.acked_bytes();
        self.unique_bytes += from.unique_bytes();
        if let Some(flights) = from.first_flights() {
            self.first_flights.add(flights);
        }
        self.rwnd_limited.add(from.limited.window);
        self.sndbuf_limited.add(from.limited.buffer);
        let (sum, one) = (&mut self.counters, &from.counters);
        sum.sent_pkts += one.sent_pkts;
        sum.retransmits_pkts += one.retransmits_pkts;
        sum.rtos += one.rtos;
        sum.recoveries += one.recoveries;
        sum.undos += one.undos;
        sum.qs_requests += one.qs_requests;
        sum.qs_grants += one.qs_grants;
        sum.qs_used += one.qs_used;
        sum.qs_lies += one.qs_lies;
        sum.fall_backs += one.fall_backs;
        sum.ece_acks += one.ece_acks;
        sum.ce_marks += to.counters.ce_marks;
    }
}
