//! How the connections of a flow are created.

use super::announced::Announced;
use crate::host::connection::{Connection, Connections, Place, Side};
use crate::host::tcp::profile::Profile;
use crate::host::tcp::{
    route_mtu_bytes, window_scale, HostRules, Reading, Socket, SocketOptions, MTU_BYTES,
};
use crate::scenario::Flow;
use headway_algorithms::quick_start::{code_down, MAX_CODE};
use headway_algorithms::ControlInstance;
use headway_experiment::path::{IdealPath, PacketSizes};

/// What an application needs to create its connections.
#[derive(Clone)]
pub(crate) struct Setup<'a> {
    /// The flow's description.
    pub flow: &'a Flow,
    /// The flow's number.
    pub number: u32,
    /// The run's seed.
    pub seed: u64,
    /// Rules of all hosts of the run.
    pub rules: HostRules,
    /// Number of the route from the opener to the responder. The route with the next number leads
    /// back.
    pub route: u32,
    pub profile: &'static Profile,
    /// Congestion control of both ends; None for UDP.
    pub control: Option<ControlInstance>,
    pub relay: Option<RelaySetup>,
    /// Whether any sender of the run sends Quick-Start requests.
    pub asks: bool,
    /// Number of the group of the flow's transfers.
    pub group: u32,
    /// The path on which the ideal completion time of transfers is computed; None: unknown, or the
    /// flow generates no transfers.
    pub ideal: Option<IdealPath>,
}

/// What a flow's relay needs to create its sockets.
#[derive(Clone)]
pub(crate) struct RelaySetup {
    /// Number of the route from the relay to the responder. The route with the next number leads
    /// back.
    pub route: u32,
    pub profile: &'static Profile,
    pub control: ControlInstance,
}

/// Creates the sockets of a flow's connections.
pub(crate) struct Recipe {
    flow: u32,
    routes: [u32; 2],
    profile: &'static Profile,
    pub options: SocketOptions,
    control: ControlInstance,
    announced: Announced,
    /// The end that sends more: the trace records what it sends.
    recorded: Side,
    relay: Option<Box<RelaySetup>>,
    asks: bool,
}

impl Recipe {
    pub fn new(setup: &Setup, interactive: bool, recorded: Side) -> Recipe {
        let control = setup.control.clone();
        Recipe {
            flow: setup.number,
            routes: [setup.route, setup.route + 1],
            profile: setup.profile,
            options: socket_options(setup.flow, setup.rules, setup.seed, interactive),
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
            // A relay splits the path into two connections: from the opener to the relay, and from
            // the relay to the responder.
            if side == Side::Responder {
                routes = [relay.route, relay.route + 1];
            }
            if place.relays {
                (profile, control) = (relay.profile, &relay.control);
                options.interactive = true;
                // headwayctl's proxy also sets TCP_NODELAY on its sockets
                options.nodelay = true;
            }
        }
        if self.asks {
            options.mtu_bytes = route_mtu_bytes(profile);
        }
        if place.relays {
            options.reading = Reading::OnDemand;
        } else if side == self.recorded {
            // The application that reads is at the end that sends less.
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

    /// Creates a connection with new sockets, and announces to the sockets what the application
    /// will send.
    pub fn connection(
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

/// The window scale that a flow's hosts announce; None: window scaling is off.
pub(crate) fn window_scale_of(flow: &Flow, rules: HostRules, profile: &Profile) -> Option<u8> {
    window_scale(profile, &socket_options(flow, rules, 0, false))
}

/// The sizes of a flow's packets.
pub(crate) fn packet_sizes_of(flow: &Flow, rules: HostRules) -> PacketSizes {
    socket_options(flow, rules, 0, false).packet_sizes()
}

fn socket_options(flow: &Flow, rules: HostRules, seed: u64, interactive: bool) -> SocketOptions {
    SocketOptions {
        mtu_bytes: MTU_BYTES,
        sack: flow.sack && rules.sack,
        timestamps: flow.timestamps && rules.timestamps,
        delayed_ack: flow.delayed_ack && rules.delayed_ack,
        rcvbuf_bytes: flow.rcvbuf_bytes,
        sndbuf_bytes: flow.sndbuf_bytes,
        rmem_bytes: flow.rmem_bytes,
        wmem_bytes: flow.wmem_bytes.or(rules.wmem_bytes),
        initial_rwnd_bytes: flow.initial_rwnd_bytes,
        rules,
        extra_ack: flow.extra_ack,
        willing_code: flow
            .willing_rate_bps
            .map_or(MAX_CODE, |bps| code_down(bps / 8))
            .min(MAX_CODE) as u8,
        inflates_codes: flow.inflates_codes,
        forges_nonce: flow.forges_nonce,
        ecn: flow.ecn.map(|mode| mode.or(rules.ecn)),
        frto: flow.frto.or(rules.frto),
        seed,
        nodelay: flow.nodelay,
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
