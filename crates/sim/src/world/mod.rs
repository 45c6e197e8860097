//! A run: builds the network of a scenario and processes its events.

#[cfg(test)]
mod ace_codes;
mod alone;
mod build;
mod output;
#[cfg(test)]
mod schedules;

pub use alone::{Alone, EcnCounters, Sent};

use crate::controls::Prototypes;
use crate::event::{Event, EventKind, Events};
use crate::host::apps::{window_scale_of, Application, Host};
use crate::host::connection::{Connection, Connections, Side, Totals};
use crate::host::tcp::profile::{self, Profile, PROFILES};
use crate::host::tcp::ticks;
use crate::host::tcp::{HostRules, Signals, MTU_BYTES, PROTOCOL};
use crate::net::capture::Tap;
use crate::net::link::Link;
use crate::net::packet::{about, ecn, Headers, Packet, Sacks, Slab};
use crate::net::topology::{Built, Route};
use crate::net::Net;
use crate::scenario::{bad, Flow, Record, Scenario, ScenarioError};
use crate::trace::digest::{self, Digest};
use crate::trace::record::{Summary, Tables};
use headway_algorithms::{QueueInfo, RouterInfo};

/// With fewer sockets than this, the processor's caches have most of what events need, and looking
/// ahead costs more than it saves.
const MANY_SOCKETS: usize = 128;

/// A flow of the running simulation.
struct FlowState {
    name: String,
    kind: &'static str,
    /// Name of the group of the flow's transfers.
    group: Option<String>,
    control: Option<(String, Option<String>)>,
    app: Box<dyn Application>,
    start_ns: u64,
    stop_ns: Option<u64>,
    started: bool,
    stopped: bool,
    /// Number of datagrams that arrived with a CE mark.
    datagrams_marked: u64,
}

/// What a run returns.
pub struct Outcome {
    /// Summary of flows and links over the whole run.
    pub summary: Summary,
    /// The tables of the trace, without the rows that the caller took during the run.
    pub tables: Tables,
    /// Sums of the run, if the scenario requests a digest.
    pub digest: Option<digest::Totals>,
    /// The captured packets as a pcapng file.
    pub capture: Option<Vec<u8>>,
}

/// A simulation in progress.
pub struct World {
    /// The network.
    pub net: Net,
    connections: Connections,
    flows: Vec<FlowState>,
    profile: &'static Profile,
    link_names: Vec<String>,
    routers: Vec<&'static RouterInfo>,
    /// Queue disciplines of the run that declare counters.
    queues: Vec<&'static QueueInfo>,
    /// Number of the route from the next flow's relay to its responder.
    relay_route: u32,
    /// Whether some sender may send rate requests, and some link has a router that reads them.
    asks: bool,
    seed: u64,
    /// Rules of all hosts that sysctls and attributes of routes set.
    rules: HostRules,
    duration_ns: u64,
    events: u64,
}

/// Returns a stack's profile by its name; `field` is the scenario's field that has this name.
fn profile_of(field: &str, name: &str) -> Result<&'static Profile, ScenarioError> {
    profile::profile(name).ok_or_else(|| {
        let names: Vec<_> = PROFILES.iter().map(|p| p.name).collect();
        bad(field, name, &names.join(" or "))
    })
}

impl World {
    /// Builds the network and the hosts.
    ///
    /// # Errors
    /// One line that names the field. The scenario's own check cannot know stacks, algorithms,
    /// tunables and link names; these are checked here.
    pub fn new(scenario: &Scenario) -> Result<World, ScenarioError> {
        let profile = profile_of("stack", &scenario.stack)?;
        scenario.check_stack(&scenario.stack)?;
        let rules = HostRules::of(scenario);
        let built = Built::new(scenario)?;
        let tap = match &scenario.capture {
            Some(capture) => Some(Tap::new(capture, &built, scenario.seed)?),
            None => None,
        };
        let record = if scenario.trace {
            scenario.record.clone()
        } else {
            Record::none()
        };
        let seen_ns = vec![None; built.routes.len() / 2];
        let has_mtu = built.links.iter().any(|link| link.mtu.is_some());
        let path_mtu = vec![MTU_BYTES; if has_mtu { built.routes.len() } else { 0 }];
        let net = Net {
            now_ns: 0,
            since_tick_ns: ticks::drawn(scenario.seed),
            events: Events::new(scenario.pkts_per_s()),
            packets: Slab::default(),
            links: built.links,
            routes: built.routes,
            further: built.further,
            path_mtu,
            tables: Tables {
                off: !scenario.trace,
                ..Tables::default()
            },
            follows_senders: record.flows || !scenario.digest_at_ns.is_empty(),
            record,
            digest: Digest::new(scenario.digest_at_ns.clone(), scenario.flows.len()).map(Box::new),
            tap,
            seen_ns,
            arrived: Headers::default(),
        };
        let mut world = World {
            net,
            connections: Connections::default(),
            flows: Vec::new(),
            profile,
            link_names: built.names,
            routers: built.routers,
            queues: built.queues,
            relay_route: 2 * scenario.flows.len() as u32,
            asks: false,
            seed: scenario.seed,
            rules,
            duration_ns: scenario.duration_ns,
            events: 0,
        };
        let mut checkpoints = scenario.checkpoints_ns.clone();
        checkpoints.extend(&scenario.digest_at_ns);
        if let Some(digest) = &world.net.digest {
            let from_ns = digest.from_ns;
            for link in &mut world.net.links {
                link.watch(from_ns);
            }
        }
        if let Some(tap) = &mut world.net.tap {
            let of_flow = |flow: &Flow| {
                let own = flow.stack.as_deref().and_then(profile::profile);
                window_scale_of(flow, rules, own.unwrap_or(world.profile))
            };
            tap.scales = scenario.flows.iter().map(of_flow).collect();
        }
        let mut prototypes = Prototypes::default();
        world.asks = world.net.links.iter().any(|link| link.knows(PROTOCOL))
            && scenario.flows.iter().any(|flow| prototypes.asks(flow));
        for (number, flow) in scenario.flows.iter().enumerate() {
            world.add_flow(number as u32, flow, scenario, &mut prototypes)?;
            let of_relay = flow.relay.as_ref().and_then(|relay| relay.stack.as_ref());
            for stack in flow.stack.iter().chain(of_relay) {
                scenario.check_stack(stack)?;
            }
        }
        for number in 0..world.net.links.len() {
            if let Some(at_ns) = world.net.links[number].tick_ns() {
                world.net.wake_router(at_ns, number as u32);
            }
        }
        checkpoints.retain(|&t| t < scenario.duration_ns);
        checkpoints.sort_unstable();
        checkpoints.dedup();
        for at_ns in checkpoints {
            world.net.events.push(at_ns, EventKind::Checkpoint, 0);
        }
        Ok(world)
    }

    /// Processes one event. Returns false when the run is over.
    #[inline]
    pub fn step(&mut self) -> bool {
        let Some(event) = self.net.events.pop(self.duration_ns) else {
            return false;
        };
        self.net.now_ns = event.time_ns;
        self.events += 1;
        if self.connections.sockets() >= MANY_SOCKETS {
            self.prefetch_upcoming();
        }
        // Most events are arrivals of packets. These comparisons find them without an indirect
        // jump.
        let kind = event.kind();
        if kind == EventKind::Delivery {
            let packet = self.net.packets[event.id()];
            let sacks = self.net.packets.sacks(event.id());
            if packet.headers != 0 {
                self.net.arrived = self.net.packets.headers(event.id());
            }
            self.net.packets.remove(event.id());
            self.arrived(&packet, &sacks);
            return true;
        }
        if kind == EventKind::Arrival {
            self.net.arrival(event.id());
            return true;
        }
        match kind {
            EventKind::Timer => {
                let socket = self.connections.numbered(event.id() >> 3);
                socket.on_timer(&mut self.net, event.id() & 7);
            }
            EventKind::Turn => self.net.turn(event.id()),
            _ => self.rare_event(event),
        }
        true
    }

    /// Loads the socket of the upcoming event into the cache while the present one is processed.
    #[inline(always)]
    fn prefetch_upcoming(&self) {
        let Some(event) = self.net.events.upcoming() else {
            return;
        };
        let socket = match event.kind() {
            EventKind::Delivery => self.net.packets[event.id()].to,
            EventKind::Timer => event.id() >> 3,
            _ => return,
        };
        self.connections.prefetch(socket);
    }

    #[inline(never)]
    fn rare_event(&mut self, event: Event) {
        if event.kind() == EventKind::App {
            match event.id().checked_sub(self.flows.len() as u32) {
                Some(number) => {
                    let connection = Connection::of_number(number);
                    let (flow, at) = self.connections.opener(connection);
                    self.with_app(flow, |app, host| app.timer_of(host, at));
                }
                None => self.app_event(event.id()),
            }
        } else if event.kind() == EventKind::Tick {
            self.net.tick(event.id());
        } else {
            self.count();
        }
    }

    /// Runs to the end of the scenario.
    pub fn run(mut self) -> Outcome {
        while self.step() {}
        self.finish()
    }

    /// Number of events processed so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Number of sockets that exist. Sockets of closed connections are used again.
    pub fn sockets(&self) -> usize {
        self.connections.sockets()
    }

    /// Number of packets that a recorded link has transmitted completely.
    pub fn link_sent_pkts(&mut self, link: usize) -> u64 {
        let link = &mut self.net.links[link];
        link.drain(self.net.now_ns, &mut self.net.tables);
        link.counters.sent_pkts
    }

    /// Checks every internal relation that must hold between events; for tests.
    ///
    /// # Errors
    /// Names the relation that is violated.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.connections.check_invariants()?;
        for (name, link) in self.link_names.iter().zip(&self.net.links) {
            let c = &link.counters;
            let (held_pkts, held_bytes) = link.held_back();
            let inside = u64::from(link.queue_bytes()) + u64::from(held_bytes);
            if c.arrived_bytes != c.sent_bytes + c.dropped_bytes + inside {
                return Err(format!("link {name}: bytes were not conserved"));
            }
            let inside = u64::from(link.queue_pkts()) + u64::from(held_pkts);
            if c.arrived_pkts != c.sent_pkts + c.dropped_pkts + inside {
                return Err(format!("link {name}: packets were not conserved"));
            }
        }
        Ok(())
    }

    /// Bytes that a flow's responder has received in order, and distinct bytes that its opener has
    /// sent.
    pub fn delivered(&self, flow: usize) -> (u64, u64) {
        let connection = self.flows[flow].app.connection().expect("a TCP flow");
        let opener = self.connections.socket_ref(connection, Side::Opener);
        let responder = self.connections.socket_ref(connection, Side::Responder);
        (responder.delivered_bytes, opener.unique_bytes())
    }

    fn arrived(&mut self, packet: &Packet, sacks: &Sacks) {
        if packet.about & about::NO_SEGMENT != 0 {
            self.no_segment_arrived(packet);
            return;
        }
        if !Route::is_outbound(packet.route) {
            self.net.see(packet.route);
        }
        let socket = self.connections.numbered(packet.to);
        socket.on_packet(&mut self.net, packet, sacks);
        if let Some(signals) = socket.take_signals() {
            self.signalled(packet.to, signals);
        }
    }

    /// Processes a packet that is no valid TCP segment: one that is damaged, a router's message, or a
    /// datagram.
    #[inline(never)]
    fn no_segment_arrived(&mut self, packet: &Packet) {
        let (net, is_datagram) = (&mut self.net, packet.is(about::UDP));
        if packet.is(about::CORRUPT) {
            if is_datagram {
                net.datagram_lost(packet);
            } else if !Route::is_outbound(packet.route) {
                net.see(packet.route);
            }
            return;
        }
        if packet.is(about::TOO_BIG) {
            let sender = self.connections.numbered(packet.to).peer();
            let socket = self.connections.numbered(sender);
            socket.packet_was_too_big(net, packet);
            return;
        }
        if let Some(digest) = &mut net.digest {
            digest.arrived(packet.sent_ns, net.now_ns);
        }
        if packet.ecn == ecn::CE {
            self.flows[packet.flow as usize].datagrams_marked += 1;
        }
        if net.record.udp {
            let sent_ns = packet.sent_ns as i64;
            let owd_ns = net.now_ns as i64 - sent_ns;
            net.tables.udp.push(packet.flow, sent_ns, owd_ns);
        }
    }

    /// Calls one of an application's functions with its host.
    fn with_app(&mut self, flow: u32, act: impl FnOnce(&mut dyn Application, &mut Host)) {
        let mut host = Host {
            net: &mut self.net,
            connections: &mut self.connections,
            flow,
            flows: self.flows.len() as u32,
        };
        act(&mut *self.flows[flow as usize].app, &mut host);
    }

    /// Tells an application what has changed at its socket since the last call.
    fn signalled(&mut self, socket: u32, signals: Signals) {
        let (flow, at) = self.connections.owner_of(socket);
        self.with_app(flow, |app, host| {
            if signals.established {
                app.established(host, at);
            }
            if signals.delivered {
                app.readable(host, at);
            }
            if signals.writable {
                app.writable(host, at);
            }
        });
    }

    /// Starts a flow, stops it, or calls its application at a time that the application has set.
    fn app_event(&mut self, number: u32) {
        let now_ns = self.net.now_ns;
        let flow = &mut self.flows[number as usize];
        if now_ns < flow.start_ns || flow.stopped {
            return;
        }
        let starting = !flow.started;
        flow.started = true;
        flow.stopped = flow.stop_ns.is_some_and(|stop_ns| now_ns >= stop_ns);
        let stopping = flow.stopped;
        self.with_app(number, |app, host| {
            if stopping {
                app.stopped(host);
            } else if starting {
                app.started(host);
            } else {
                app.timer(host);
            }
        });
    }

    /// Totals of a flow's sender.
    fn totals(&self, flow: usize) -> Option<Totals> {
        self.flows[flow].app.totals(&self.connections)
    }

    /// Records all counters.
    fn count(&mut self) {
        let now_ns = self.net.now_ns;
        if let Some(mut digest) = self.net.digest.take() {
            self.checkpoint(&mut digest);
            self.net.digest = Some(digest);
        }
        if self.net.tables.off {
            return;
        }
        for number in 0..self.flows.len() {
            let Some(sum) = self.totals(number) else {
                continue;
            };
            self.net.tables.flow_counters.push(
                now_ns as i64,
                number as u32,
                sum.delivered_bytes,
                sum.acked_bytes,
                sum.counters.sent_pkts,
                sum.counters.retransmits_pkts,
                sum.counters.rtos,
            );
        }
        for (number, link) in self.net.links.iter_mut().enumerate() {
            link.settle(now_ns, &mut self.net.tables);
            link.count_routers(now_ns, &mut self.net.tables);
            let own = self
                .queues
                .iter()
                .position(|&q| std::ptr::eq(q, link.discipline()));
            if let Some(algorithm) = own {
                link.count_queue(now_ns, algorithm as u8, &mut self.net.tables);
            }
            let c = &link.counters;
            self.net.tables.link_counters.push(
                now_ns as i64,
                number as u32,
                c.arrived_pkts,
                c.arrived_bytes,
                c.sent_pkts,
                c.sent_bytes,
                c.dropped_pkts,
                c.dropped_bytes,
                (c.queue_byte_ns / 1000) as u64,
            );
        }
    }

    /// Ends the run and returns its outcome.
    pub fn finish(mut self) -> Outcome {
        self.net.now_ns = self.duration_ns;
        for number in 0..self.flows.len() as u32 {
            self.with_app(number, |app, host| app.ended(host));
        }
        self.count();
        for link in &mut self.net.links {
            link.finish(self.duration_ns, &mut self.net.tables);
        }
        let flows: Vec<_> = self
            .flows
            .iter()
            .enumerate()
            .map(|(i, f)| self.summary(i, f))
            .collect();
        let digest = self.net.digest.take();
        let digest = digest.map(|digest| self.digested(*digest, &flows));
        let summary = Summary {
            engine: env!("CARGO_PKG_VERSION"),
            seed: self.seed,
            events: self.events,
            flows,
            links: self.link_names,
            routers: if self.net.links.iter().any(Link::has_routers) {
                self.routers
            } else {
                vec![]
            },
            queues: self.queues,
        };
        let capture = self.net.tap.map(|tap| tap.finish(self.duration_ns));
        Outcome {
            summary,
            tables: self.net.tables,
            digest,
            capture,
        }
    }
}
