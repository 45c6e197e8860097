//! Applications: what the two ends of a flow do with their connections. Each application is a type
//! in its own file that implements [`Application`]. [`application`] lists them.

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
/// TCP_TIMEWAIT_LEN of Linux. The scenario rejects paths whose delays add up to more than half of
/// this. No packet therefore lives longer, and none can reach the next connection of a socket.
const TIME_WAIT_NS: u64 = 60_000_000_000;

/// An application. The simulator calls the methods below; an application implements those that it
/// needs.
pub(crate) trait Application: Send {
    /// The flow starts.
    fn started(&mut self, host: &mut Host);

    /// The flow ends: the application sends nothing new. `timer` is not called any more.
    fn stopped(&mut self, host: &mut Host);

    /// A time has come that the application set with [`Host::wake`].
    fn timer(&mut self, _host: &mut Host) {}

    /// A time has come that the application set with [`Host::wake_for`]; also called after the
    /// flow's end.
    fn timer_of(&mut self, _host: &mut Host, _at: At) {}

    /// The handshake is complete at this end.
    fn established(&mut self, _host: &mut Host, _at: At) {}

    /// New bytes, or the peer's FIN, have arrived in order at this end. If one packet also
    /// completes the handshake, `established` is called first.
    fn readable(&mut self, _host: &mut Host, _at: At) {}

    /// This end's send buffer has room again, after a write that did not fit.
    fn writable(&mut self, _host: &mut Host, _at: At) {}

    /// The connection that lasts for the whole flow, if the application has one.
    fn connection(&self) -> Option<Connection> {
        None
    }

    /// Totals of the application's sender over all its connections; None without connections.
    fn totals(&self, connections: &Connections) -> Option<Totals> {
        let mut sum = Totals::default();
        sum.add(connections.sender_first(self.connection()?));
        Some(sum)
    }

    /// Number of datagrams sent.
    fn datagrams(&self) -> u64 {
        0
    }
}

/// The parts of the simulation that an application can use.
pub(crate) struct Host<'a> {
    /// Time, the network and the trace.
    pub net: &'a mut Net,
    /// All connections.
    pub connections: &'a mut Connections,
    /// Number of the host's flow.
    pub flow: u32,
    /// Number of flows in the run.
    pub flows: u32,
}

impl Host<'_> {
    /// Schedules a call of `timer`.
    pub fn wake(&mut self, at_ns: u64) {
        self.net.events.push(at_ns, What::App, self.flow);
    }

    /// Schedules a call of `timer_of`.
    pub fn wake_for(&mut self, connection: Connection, at_ns: u64) {
        let id = self.flows + connection.number();
        self.net.events.push(at_ns, What::App, id);
    }

    /// Writes at an end; TCP sends what it can.
    pub fn write(&mut self, connection: Connection, side: Side, bytes: u64) {
        let socket = self.connections.socket(connection, side);
        socket.write(bytes);
        socket.pump(self.net);
    }

    /// Writes at an end as much as its send buffer has room for; returns how much that was.
    pub fn offer(&mut self, connection: Connection, side: Side, bytes: u64) -> u64 {
        self.write(connection, side, bytes);
        bytes - self.connections.socket(connection, side).take_back()
    }

    /// The responder starts to listen and the opener sends its SYN.
    pub fn connect(&mut self, connection: Connection) {
        self.connections
            .socket(connection, Side::Responder)
            .listen();
        self.connections
            .socket(connection, Side::Opener)
            .connect(self.net);
    }

    /// Closes an end: the application writes nothing more.
    pub fn close(&mut self, connection: Connection, side: Side) {
        self.connections.socket(connection, side).close(self.net);
    }

    /// Stops an end: data that its send buffer cannot hold is not sent.
    pub fn stop(&mut self, connection: Connection, side: Side) {
        self.connections.socket(connection, side).stop(self.net);
    }
}

/// What an application needs to create its connections.
#[derive(Clone)]
pub(crate) struct Setup<'a> {
    /// The flow's description.
    pub flow: &'a Flow,
    /// The flow's number.
    pub number: u32,
    /// The run's seed.
    pub seed: u64,
    /// Route from the opener; the next number is the route back.
    pub route: u32,
    pub profile: &'static Profile,
    /// Control of both ends; None for UDP.
    pub control: Option<ControlInstance>,
    pub relay: Option<RelaySetup>,
    /// Whether any sender of the run sends Quick-Start requests.
    pub asks: bool,
}

/// The relay of a flow.
#[derive(Clone)]
pub(crate) struct RelaySetup {
    /// Route from the relay to the responder; the next number is the route back.
    pub route: u32,
    pub profile: &'static Profile,
    pub control: ControlInstance,
}

/// Creates the sockets of a flow's connections.
pub(crate) struct Recipe {
    flow: u32,
    routes: [u32; 2],
    profile: &'static Profile,
    options: SocketOptions,
    control: ControlInstance,
    announced: Announced,
    /// The end whose sending the trace records: the one that sends more.
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

    /// Creates one of a connection's sockets.
    fn socket(&self, place: Place) -> Socket {
        let Place {
            own, peer, side, ..
        } = place;
        let (mut options, mut control) = (self.options.clone(), &self.control);
        let (mut profile, mut routes) = (self.profile, self.routes);
        if let Some(relay) = &self.relay {
            // The two connections are opener to relay, and relay to responder.
            if side == Side::Responder {
                routes = [relay.route, relay.route + 1];
            }
            if place.relays {
                (profile, control) = (relay.profile, &relay.control);
                options.interactive = true;
                // like the sockets of headwayctl's proxy
                options.nodelay = true;
            }
        }
        if self.asks {
            options.mtu_bytes = route_mtu_bytes(profile);
        }
        if place.relays {
            options.reading = Reading::OnDemand;
        } else if side == self.recorded {
            // the other end is the one that reads
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

    /// Creates a connection with new sockets, and announces to them what they will send.
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

/// Creates a flow's application; it uses a relay if the flow has one.
pub(crate) fn application(setup: &Setup, connections: &mut Connections) -> Box<dyn Application> {
    let made = listed(setup, connections);
    match setup.relay {
        Some(_) => Box::new(relay::Relayed::new(made)),
        None => made,
    }
}

/// Creates a flow's application; the list of all applications.
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
