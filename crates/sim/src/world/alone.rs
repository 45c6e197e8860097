//! One TCP endpoint without a network. The caller plays the peer: it takes every packet that the
//! endpoint sends and decides what arrives. The endpoint is the same `Socket` as in every run.

use super::World;
use crate::event::EventKind;
use crate::host::connection::{Connection, Side};
use crate::host::tcp::accurate_ecn::option::Carried;
use crate::host::tcp::{Info, Offer, Socket, State};
use crate::net::packet::{Packet, Sacks, ACCURATE_ECN_OPTION};
use crate::net::Net;
use crate::scenario::{Scenario, ScenarioError};
use std::collections::VecDeque;

/// Number of events at one call of [`Alone::advance`] after which the endpoint counts as stuck.
const MOST_EVENTS: u32 = 1_000_000;
/// How long before time 0 the host's clock ticked: half a millisecond before the next tick. A timer
/// that is set at time 0 then fires at most half a millisecond later than its time, rounded up to
/// ticks.
const SINCE_TICK_NS: u64 = 3_500_000;

/// The counters of Accurate ECN's option: E1B, CEB and E0B, as far as the option has them.
pub type EcnCounters = [Option<u32>; 3];

/// A packet between the endpoint and its peer.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The packet.
    pub packet: Packet,
    /// Its SACK blocks.
    pub sacks: Sacks,
    /// Its option of Accurate ECN.
    pub counters: Option<EcnCounters>,
}

/// A TCP endpoint whose peer the caller plays.
pub struct Alone {
    world: World,
    connection: Connection,
    sent: VecDeque<Sent>,
    times: Times,
}

/// Times that TCP_INFO has and a run does not need.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// How long data was not acknowledged, and since when it is not (tcp_chrono_start).
    busy_ns: u64,
    busy_since_ns: Option<u64>,
    /// When the connection opened, or data last arrived.
    received_ns: Option<u64>,
}

impl Alone {
    /// Creates a closed endpoint: the opener of the scenario's first flow, which must be a bulk
    /// transfer. The flow's application never runs. The access link must be so fast that packets
    /// take no time on it.
    ///
    /// # Errors
    /// One line for a scenario that cannot run.
    ///
    /// # Panics
    /// If the first flow has no connection.
    pub fn new(scenario: &Scenario) -> Result<Alone, ScenarioError> {
        let mut world = World::new(scenario)?;
        let connection = world.flows[0].app.connection().expect("a bulk transfer");
        let socket = world.connections.socket(connection, Side::Opener);
        socket.read_on_demand();
        // In a run the seed decides when the hosts' clock ticks.
        world.net.since_tick_ns = SINCE_TICK_NS;
        Ok(Alone {
            world,
            connection,
            sent: VecDeque::new(),
            times: Times::default(),
        })
    }

    fn parts(&mut self) -> (&mut Socket, &mut Net) {
        let socket = self.world.connections.socket(self.connection, Side::Opener);
        (socket, &mut self.world.net)
    }

    fn socket(&self) -> &Socket {
        self.world
            .connections
            .socket_ref(self.connection, Side::Opener)
    }

    /// The simulated time.
    pub fn now_ns(&self) -> u64 {
        self.world.net.now_ns
    }

    /// Lets time pass until a timer of the endpoint fires or a packet leaves it, at most until
    /// `until_ns`. Returns whether one of both happened, so that the caller can look at the endpoint
    /// at that time.
    pub fn advance(&mut self, until_ns: u64) -> bool {
        for _ in 0..MOST_EVENTS {
            let Some(event) = self.world.net.events.pop(until_ns) else {
                let now_ns = &mut self.world.net.now_ns;
                *now_ns = until_ns.max(*now_ns);
                return false;
            };
            self.world.net.now_ns = event.time_ns;
            let (socket, net) = self.parts();
            match event.kind() {
                EventKind::Timer => {
                    socket.on_timer(net, event.id() & 7);
                    self.note_times();
                    return true;
                }
                EventKind::Arrival => {
                    let id = event.id();
                    let (packet, sacks, headers) = net.packets.whole(id);
                    net.packets.remove(id);
                    let option = Carried::of(&packet, &headers);
                    self.sent.push_back(Sent {
                        packet,
                        sacks,
                        counters: option.and_then(|option| option.counters()),
                    });
                    return true;
                }
                // The application and the links of the scenario take no part.
                _ => {}
            }
        }
        false
    }

    /// The next packet that the endpoint has sent, and that has left it by now.
    pub fn take_sent(&mut self) -> Option<Sent> {
        self.sent.pop_front()
    }

    /// A packet arrives. Its addresses are filled in.
    pub fn arrive(&mut self, sent: Sent) {
        let (socket, net) = self.parts();
        let Sent {
            mut packet,
            sacks,
            counters,
        } = sent;
        if let Some(counters) = counters {
            packet.headers |= ACCURATE_ECN_OPTION << 4;
            net.arrived.tcp = Carried::with(counters).encoded();
        }
        let packet = Packet {
            to: socket.own_number(),
            flow: socket.flow,
            route: 1,
            sent_ns: net.now_ns,
            ..packet
        };
        socket.on_packet(net, &packet, &sacks);
        if packet.payload_bytes > 0 {
            self.times.received_ns = Some(packet.sent_ns);
        }
        self.note_times();
    }

    /// Learns what the peer's SYN or SYN-ACK offers, before it arrives.
    pub fn agree(&mut self, offer: Offer) {
        self.parts().0.agree(offer);
    }

    /// Waits for a SYN.
    pub fn listen(&mut self) {
        self.parts().0.listen();
    }

    /// Sends a SYN.
    pub fn connect(&mut self) {
        let (socket, net) = self.parts();
        socket.connect(net);
    }

    /// Writes data. Returns how many bytes the buffer had no room for; the endpoint writes them
    /// later unless they are withdrawn.
    pub fn write(&mut self, bytes: u64) -> u64 {
        let (socket, net) = self.parts();
        socket.write(bytes);
        socket.pump(net);
        let unbuffered_bytes = socket.unbuffered_bytes();
        self.note_times();
        unbuffered_bytes
    }

    /// The bytes of earlier writes that still wait for room.
    pub fn unbuffered_bytes(&self) -> u64 {
        self.socket().unbuffered_bytes()
    }

    /// Gives back the bytes of a write for which the buffer has no room.
    pub fn withdraw_unbuffered(&mut self) -> u64 {
        self.parts().0.withdraw_unbuffered()
    }

    /// Whether a writer that polls the socket would be told that it can write.
    pub fn has_room(&self) -> bool {
        self.socket().has_room()
    }

    /// Reads at most `most_bytes`. Returns how many were read.
    pub fn read(&mut self, most_bytes: u64) -> u64 {
        let (socket, net) = self.parts();
        socket.read(net, most_bytes)
    }

    /// Number of bytes that wait to be read.
    pub fn readable_bytes(&self) -> u64 {
        self.socket().readable_bytes()
    }

    /// Whether the peer's FIN has arrived, after all data before it.
    pub fn has_ended(&self) -> bool {
        self.socket().fin_arrived()
    }

    /// Sends a FIN after the written data.
    pub fn shut_down(&mut self) {
        let (socket, net) = self.parts();
        socket.shut_down(net);
    }

    /// Sets the size of the send buffer (SO_SNDBUF), which Linux doubles.
    pub fn set_send_buffer(&mut self, bytes: u64) {
        self.parts().0.set_send_buffer(bytes);
    }

    /// Sets TCP_NOTSENT_LOWAT.
    pub fn set_notsent_lowat(&mut self, bytes: u64) {
        self.parts().0.set_notsent_lowat(bytes);
    }

    /// Sets TCP_NODELAY; data that waited is sent.
    pub fn set_nodelay(&mut self, on: bool) {
        let (socket, net) = self.parts();
        socket.set_nodelay(on);
        socket.pump(net);
    }

    /// The connection's state.
    pub fn state(&self) -> State {
        self.socket().state()
    }

    /// The window scale that this end announces; None without window scaling.
    pub fn window_scale(&self) -> Option<u8> {
        self.socket().announced_scale()
    }

    /// The endpoint's state, as TCP_INFO has it.
    pub fn info(&self) -> Info {
        let now_ns = self.now_ns();
        let mut info = self.socket().info(now_ns);
        let since = |then_ns: u64| now_ns - then_ns;
        let busy_ns = self.times.busy_ns + self.times.busy_since_ns.map_or(0, since);
        info.push(("tcpi_busy_time", (busy_ns / 1000) as i64));
        if let Some(received_ns) = self.times.received_ns {
            let ms = since(received_ns) / 1_000_000;
            info.push(("tcpi_last_data_recv", ms as i64));
        }
        info
    }

    /// Follows the times that TCP_INFO has, after the endpoint did something.
    fn note_times(&mut self) {
        let now_ns = self.now_ns();
        let is_open = self.socket().state() == State::Established;
        let is_busy = is_open && self.socket().has_unacked_data();
        let times = &mut self.times;
        if is_open {
            times.received_ns.get_or_insert(now_ns);
        }
        match (is_busy, times.busy_since_ns) {
            (true, None) => times.busy_since_ns = Some(now_ns),
            (false, Some(since_ns)) => {
                times.busy_ns += now_ns - since_ns;
                times.busy_since_ns = None;
            }
            _ => {}
        }
    }

    /// Checks every internal relation that must hold between events.
    ///
    /// # Errors
    /// Names the relation that is violated.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.socket().check_invariants()
    }
}
