//! Applications: what the two ends of a flow do with their connections. Each is one type
//! in one file, with the interface [`Application`]; the list of them is [`application`].

mod announced;
mod bulk;
mod cbr;
mod exchanges;
mod pages;
mod pingpong;
mod relay;
mod requests;

use super::connection::{At, Connection, Connections, Place, Side, Totals};
use crate::event::What;
use crate::host::tcp::profile::Profile;
use crate::host::tcp::{route_mtu_bytes, Reading, Socket, SocketOptions, MTU_BYTES};
use crate::net::Net;
use crate::scenario::{App, Flow};
use announced::Announced;
use headway_algorithms::quick_start::{code_down, MAX_CODE};
use headway_algorithms::ControlInstance;

/// IPv4 and UDP headers.
const UDP_HEADER_BYTES: u32 = 28;
/// TCP_TIMEWAIT_LEN of Linux. No packet outlives it, so none can reach a socket's
/// next connection: the scenario refuses paths with more than half of it in delays.
const TIME_WAIT_NS: u64 = 60_000_000_000;

/// What a flow does. The world calls what it may want to act on; whatever it does not
/// care for, it leaves out.
pub(crate) trait Application: Send {
    /// The flow's start.
    fn started(&mut self, host: &mut Host);

    /// The flow's end: it sends nothing new. Its own times are no longer told.
    fn stopped(&mut self, host: &mut Host);

    /// A time that it asked for with [`Host::wake`].
    fn timer(&mut self, _host: &mut Host) {}

    /// A time that it asked for with [`Host::wake_for`]; also after the flow's end.
    fn timer_of(&mut self, _host: &mut Host, _at: At) {}

    /// The handshake is complete for this end.
    fn established(&mut self, _host: &mut Host, _at: At) {}

    /// New bytes, or the peer's end of sending, have arrived in order at this end. Comes
    /// after `established` where one packet did both.
    fn readable(&mut self, _host: &mut Host, _at: At) {}

    /// There is room again in this end's send buffer, after a write that did not fit.
    fn writable(&mut self, _host: &mut Host, _at: At) {}

    /// The connection that lasts from its start to its end, if there is one.
    fn connection(&self) -> Option<Connection> {
        None
    }

    /// What its sender has done over all its connections; None without any.
    fn totals(&self, connections: &Connections) -> Option<Totals> {
        let mut sum = Totals::default();
        sum.add(connections.sender_first(self.connection()?));
        Some(sum)
    }

    /// Datagrams sent.
    fn datagrams(&self) -> u64 {
        0
    }
}

/// What an application may touch.
pub(crate) struct Host<'a> {
    /// Time, the network and the trace.
    pub net: &'a mut Net,
    /// All connections.
    pub connections: &'a mut Connections,
    /// Number of its flow.
    pub flow: u32,
    /// How many flows there are.
    pub flows: u32,
}

impl Host<'_> {
    /// Asks for a call of `timer`.
    pub fn wake(&mut self, at_ns: u64) {
        self.net.events.push(at_ns, What::App, self.flow);
    }

    /// Asks for a call of `timer_of`.
    pub fn wake_for(&mut self, connection: Connection, at_ns: u64) {
        let id = self.flows + connection.number();
        self.net.events.push(at_ns, What::App, id);
    }

    /// The application writes at an end, and TCP sends what it may.
    pub fn write(&mut self, connection: Connection, side: Side, bytes: u64) {
        let socket = self.connections.socket(connection, side);
        socket.write(bytes);
        socket.pump(self.net);
    }

    /// The application writes what there is room for at an end; returns how much that was.
    pub fn offer(&mut self, connection: Connection, side: Side, bytes: u64) -> u64 {
        self.write(connection, side, bytes);
        bytes - self.connections.socket(connection, side).take_back()
    }

    /// The responder listens and the opener sends its SYN.
    pub fn connect(&mut self, connection: Connection) {
        self.connections
            .socket(connection, Side::Responder)
            .listen();
        self.connections
            .socket(connection, Side::Opener)
            .connect(self.net);
    }

    /// Nothing more will be written at an end.
    pub fn close(&mut self, connection: Connection, side: Side) {
        self.connections.socket(connection, side).close(self.net);
    }

    /// An end stops writing: what its send buffer cannot hold is not sent.
    pub fn stop(&mut self, connection: Connection, side: Side) {
        self.connections.socket(connection, side).stop(self.net);
    }
}

/// What an application's connections start with.
#[derive(Clone)]
pub(crate) struct Setup<'a> {
    /// The flow as it is described.
    pub flow: &'a Flow,
    /// Its number.
    pub number: u32,
    /// Of the run.
    pub seed: u64,
    /// Route from the opener; the one back is the next.
    pub route: u32,
    pub profile: &'static Profile,
    /// Of both ends; None for UDP.
    pub control: Option<ControlInstance>,
    pub relay: Option<RelaySetup>,
    /// Some sender of the run asks its path with Quick-Start.
    pub asks: bool,
}

/// What a host in the middle of a flow's path has of its own.
#[derive(Clone)]
pub(crate) struct RelaySetup {
    /// Route from it to the responder; the one back is the next.
    pub route: u32,
    pub profile: &'static Profile,
    pub control: ControlInstance,
}

/// How to make the sockets of a flow's connections.
pub(crate) struct Recipe {
    flow: u32,
    routes: [u32; 2],
    profile: &'static Profile,
    options: SocketOptions,
    control: ControlInstance,
    announced: Announced,
    /// The end whose sending the trace shows: the one that sends more.
    recorded: Side,
    relay: Option<Box<RelaySetup>>,
    asks: bool,
}

impl Recipe {
    fn new(setup: &Setup, interactive: bool, recorded: Side) -> Recipe {
        let control = setup.control.clone();
        Recipe {
            flow: setup.number,
            routes: [setup.route, setup.route + 1],
            profile: setup.profile,
            options: socket_options(setup.flow, setup.seed, interactive),
            control: control.expect("checked by the scenario"),
            announced: Announced::of(setup.flow),
            recorded,
            relay: setup.relay.clone().map(Box::new),
            asks: setup.asks,
        }
    }

    /// One of a connection's sockets.
    fn socket(&self, place: Place) -> Socket {
        let Place {
            own, peer, side, ..
        } = place;
        let (mut options, mut control) = (self.options.clone(), &self.control);
        let (mut profile, mut routes) = (self.profile, self.routes);
        if let Some(relay) = &self.relay {
            // The legs are opener to relay, relay to responder.
            if side == Side::Responder {
                routes = [relay.route, relay.route + 1];
            }
            if place.relays {
                (profile, control) = (relay.profile, &relay.control);
                options.interactive = true;
                // as the sockets of headwayctl's proxy
                options.nodelay = true;
            }
        }
        if self.asks {
            options.mtu_bytes = route_mtu_bytes(profile);
        }
        if place.relays {
            options.reading = Reading::OnDemand;
        } else if side == self.recorded {
            // it is the other end that reads
            options.reading = Reading::Eager;
        }
        let goes_back = (side == Side::Responder) != place.relays;
        let route = routes[usize::from(goes_back)];
        let mut socket = Socket::new(
            own,
            peer,
            self.flow,
            route,
            profile,
            options,
            control.clone(),
        );
        socket.recorded = side == self.recorded && !place.relays;
        socket
    }

    /// A connection with fresh sockets, which know what will be sent by either.
    fn connection(
        &self,
        connections: &mut Connections,
        tag: u32,
        requests: impl IntoIterator<Item = u64>,
        responses: impl IntoIterator<Item = u64>,
    ) -> Connection {
        let is_relayed = self.relay.is_some();
        let connection = connections.open(self.flow, tag, is_relayed, |place| self.socket(place));
        if let Some(relay) = connections.relay_of(connection) {
            connections.socket(relay, Side::Opener).listen();
            for side in [Side::Opener, Side::Responder] {
                connections.socket(relay, side).read_on_demand();
            }
        }
        let opener = connections.socket(connection, Side::Opener);
        self.announced
            .tell(opener, self.recorded == Side::Opener, requests);
        let responder = connections.socket(connection, Side::Responder);
        self.announced
            .tell(responder, self.recorded == Side::Responder, responses);
        connection
    }
}

fn socket_options(flow: &Flow, seed: u64, interactive: bool) -> SocketOptions {
    SocketOptions {
        mtu_bytes: MTU_BYTES,
        sack: flow.sack,
        timestamps: flow.timestamps,
        delayed_ack: flow.delayed_ack,
        receive_buffer_bytes: flow.receive_buffer_bytes,
        receive_window_bytes: flow.receive_window_bytes,
        extra_ack: flow.extra_ack,
        willing_code: flow
            .willing_rate_bps
            .map_or(MAX_CODE, |bps| code_down(bps / 8))
            .min(MAX_CODE) as u8,
        inflates_codes: flow.inflates_codes,
        forges_nonce: flow.forges_nonce,
        ecn: flow.ecn,
        frto: flow.frto,
        seed,
        nodelay: flow.nodelay,
        send_buffer_bytes: flow.send_buffer_bytes,
        reading: reading(flow),
        interactive,
    }
}

fn reading(flow: &Flow) -> Reading {
    match (flow.read_rate_bps, flow.read_bytes, flow.read_interval_ns) {
        (Some(bps), _, _) => Reading::Rate { bps },
        (None, Some(bytes), Some(interval_ns)) => Reading::Portions { bytes, interval_ns },
        _ => Reading::Eager,
    }
}

/// What a flow does, through a relay where there is one.
pub(crate) fn application(setup: &Setup, connections: &mut Connections) -> Box<dyn Application> {
    let made = listed(setup, connections);
    match setup.relay {
        Some(_) => Box::new(relay::Relayed::new(made)),
        None => made,
    }
}

/// A flow's application: the list of all there are.
fn listed(setup: &Setup, connections: &mut Connections) -> Box<dyn Application> {
    match &setup.flow.app {
        App::Bulk(app) => Box::new(bulk::Bulk::new(app, setup, connections)),
        App::Cbr(app) => Box::new(cbr::Cbr::new(app, setup)),
        App::Vectors(app) => Box::new(exchanges::Exchanges::of_vectors(app, setup, connections)),
        App::Sessions(app) => Box::new(exchanges::Exchanges::of_sessions(app, setup)),
        App::Exchanges(app) => Box::new(exchanges::Exchanges::of_file(app, setup)),
        App::Pages(app) => Box::new(pages::Pages::new(app, setup)),
        App::Pingpong(app) => Box::new(pingpong::Pingpong::new(app, setup, connections)),
        App::Requests(app) => Box::new(requests::Requests::new(app, setup)),
    }
}
