//! A run: builds the network of a scenario and lets it happen.

mod build;
mod kept;
mod sessions;

pub(crate) use sessions::Totals;

use crate::controls::Prototypes;
use crate::event::{Event, Events, What};
use crate::host::apps::{self as app, Next, Running};
use crate::host::tcp::profile::{profile, Profile, PROFILES};
use crate::host::tcp::Socket;
use crate::net::capture::Tap;
use crate::net::packet::{Packet, RareOptions, Sacks, Slab};
use crate::net::topology::{Built, Route};
use crate::net::Net;
use crate::scenario::{bad, Record, Scenario, ScenarioError};
use crate::trace::digest::{self, Digest};
use crate::trace::record::{Summary, Tables};
use sessions::Slot;

/// A flow at run time.
struct FlowState {
    name: String,
    control: Option<(String, String)>,
    app: Running,
    /// Sockets of the opener and of the other end.
    sockets: Option<(u32, u32)>,
    profile: &'static Profile,
    route: u32,
    start_ns: u64,
    stop_ns: Option<u64>,
    started: bool,
    stopped: bool,
}

/// What a run returns.
pub struct Outcome {
    /// Flows and links as a whole.
    pub summary: Summary,
    /// The trace; what was not taken out meanwhile.
    pub tables: Tables,
    /// What happened in sums, where the scenario wants them.
    pub digest: Option<digest::Totals>,
    /// The captured link as a pcapng file.
    pub capture: Option<Vec<u8>>,
}

/// A simulation in progress.
pub struct World {
    /// The network.
    pub net: Net,
    sockets: Vec<Socket>,
    flows: Vec<FlowState>,
    /// Connections of flows with sessions; their sockets come after all others.
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    profile: &'static Profile,
    link_names: Vec<String>,
    seed: u64,
    duration_ns: u64,
    events: u64,
}

/// A stack's profile by name; `field` is where it was named.
fn profile_of(field: &str, name: &str) -> Result<&'static Profile, ScenarioError> {
    profile(name).ok_or_else(|| {
        let names: Vec<_> = PROFILES.iter().map(|p| p.name).collect();
        bad(field, name, &names.join(" or "))
    })
}

impl World {
    /// Builds the network and the hosts.
    ///
    /// # Errors
    /// One line that names the field, for anything the scenario's own check
    /// cannot know: stacks, algorithms, tunables, link names.
    pub fn new(scenario: &Scenario) -> Result<World, ScenarioError> {
        let profile = profile_of("stack", &scenario.stack)?;
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
        let net = Net {
            now_ns: 0,
            events: Events::default(),
            packets: Slab::default(),
            links: built.links,
            routes: built.routes,
            tables: Tables {
                off: !scenario.trace,
                ..Tables::default()
            },
            follows_senders: record.flows || !scenario.digest_at_ns.is_empty(),
            record,
            digest: Digest::new(scenario.digest_at_ns.clone(), scenario.flows.len()).map(Box::new),
            tap,
            seen_ns: vec![None; scenario.flows.len()],
            arrived: RareOptions::default(),
        };
        let mut world = World {
            net,
            sockets: Vec::new(),
            flows: Vec::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            profile,
            link_names: built.names,
            seed: scenario.seed,
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
        let mut prototypes = Prototypes::default();
        for (number, flow) in scenario.flows.iter().enumerate() {
            world.add_flow(number as u32, flow, scenario.seed, &mut prototypes)?;
        }
        checkpoints.retain(|&t| t < scenario.duration_ns);
        checkpoints.sort_unstable();
        checkpoints.dedup();
        for at_ns in checkpoints {
            world.net.events.push(at_ns, What::Checkpoint, 0);
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
        match event.what() {
            What::Arrival => {
                if self.net.arrival(event.id()) {
                    let packet = self.net.packets[event.id()];
                    let sacks = self.net.packets.sacks(event.id());
                    if packet.rare != 0 {
                        self.net.arrived = self.net.packets.rare(event.id());
                    }
                    self.net.packets.remove(event.id());
                    self.arrived(&packet, &sacks);
                }
            }
            What::Timer => {
                self.sockets[(event.id() >> 3) as usize].on_timer(&mut self.net, event.id() & 7);
            }
            What::App | What::Checkpoint => self.rare_event(event),
        }
        true
    }

    #[inline(never)]
    fn rare_event(&mut self, event: Event) {
        if event.what() == What::App {
            match (event.id() as usize).checked_sub(self.flows.len()) {
                Some(slot) => self.slot_event(slot as u32),
                None => self.app_event(event.id()),
            }
        } else {
            self.count();
        }
    }

    /// Runs to the end.
    pub fn run(mut self) -> Outcome {
        while self.step() {}
        self.finish()
    }

    /// Events processed so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Sockets that exist: those of sessions are used again.
    pub fn sockets(&self) -> usize {
        self.sockets.len()
    }

    /// Packets that a recorded link has transmitted completely.
    pub fn link_sent_pkts(&mut self, link: usize) -> u64 {
        let link = &mut self.net.links[link];
        link.drain(self.net.now_ns, &mut self.net.tables);
        link.counters.sent_pkts
    }

    /// Every internal relation that must hold between events; for tests.
    ///
    /// # Errors
    /// Which one does not.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.sockets.iter().try_for_each(Socket::check_invariants)?;
        for (name, link) in self.link_names.iter().zip(&self.net.links) {
            let c = &link.counters;
            let inside: u64 = u64::from(link.queue_bytes());
            if c.arrived_bytes != c.sent_bytes + c.dropped_bytes + inside {
                return Err(format!("link {name}: packets were not conserved"));
            }
        }
        Ok(())
    }

    /// Bytes delivered in order to the receiver of a flow, and bytes its sender wrote and sent.
    pub fn delivered(&self, flow: usize) -> (u64, u64) {
        let (from, to) = self.flows[flow].sockets.expect("a TCP flow");
        (
            self.sockets[to as usize].delivered_bytes,
            self.sockets[from as usize].unique_bytes(),
        )
    }

    fn arrived(&mut self, packet: &Packet, sacks: &Sacks) {
        if packet.udp {
            if let Some(digest) = &mut self.net.digest {
                digest.arrived(packet.sent_ns, self.net.now_ns);
            }
            if self.net.record.udp {
                let sent_ns = packet.sent_ns as i64;
                let owd_ns = self.net.now_ns as i64 - sent_ns;
                self.net.tables.udp.push(packet.flow, sent_ns, owd_ns);
            }
            return;
        }
        if !Route::is_outbound(packet.route) {
            self.net.see(packet.flow);
        }
        let socket = &mut self.sockets[packet.to as usize];
        socket.on_packet(&mut self.net, packet, sacks);
        if let Some(signals) = socket.take_signals() {
            if matches!(self.flows[packet.flow as usize].app, Running::Sessions(_)) {
                self.slot_signalled(packet.to, signals.established);
            } else {
                self.signalled(packet.flow, signals.established);
            }
        }
    }

    /// A socket of a flow has news for the application.
    fn signalled(&mut self, number: u32, established: bool) {
        let flow = &mut self.flows[number as usize];
        let Some((client, server)) = flow.sockets else {
            return;
        };
        let (left, right) = self.sockets.split_at_mut(server as usize);
        let (client, server) = (&mut left[client as usize], &mut right[0]);
        let net = &mut self.net;
        match &mut flow.app {
            Running::Vectors(v) => {
                v.answer(net, client, server);
                if let Next::At(at_ns) = v.collect(net, number, client) {
                    net.events.push(at_ns, What::App, number);
                }
            }
            Running::Pingpong(p) => {
                if established && !p.open {
                    p.open = true;
                    if let Next::At(at_ns) = p.next_gap(net) {
                        net.events.push(at_ns, What::App, number);
                    }
                }
                p.answer(net, server);
                p.collect(net, number, client);
            }
            Running::Bulk { .. }
            | Running::Cbr { .. }
            | Running::Sessions(_)
            | Running::Requests(_) => {}
        }
    }

    /// The time an application asked for, its start or its stop.
    fn app_event(&mut self, number: u32) {
        let now_ns = self.net.now_ns;
        let flow = &mut self.flows[number as usize];
        if now_ns < flow.start_ns || flow.stopped {
            return;
        }
        let starting = !flow.started;
        flow.started = true;
        let stopping = flow.stop_ns.is_some_and(|stop_ns| now_ns >= stop_ns);
        flow.stopped = stopping;
        if let Running::Cbr {
            ip_bytes,
            interval_ns,
            sent,
        } = &mut flow.app
        {
            if !stopping {
                let (bytes, next_ns, seq) = (*ip_bytes, now_ns + *interval_ns, *sent);
                *sent += 1;
                let route = flow.route;
                self.net.events.push(next_ns, What::App, number);
                app::send_datagram(&mut self.net, number, route, seq, bytes);
            }
            return;
        }
        if let Running::Requests(requests) = &mut flow.app {
            if !stopping {
                let next_ns = requests.ask(&mut self.net, number, flow.route);
                self.net.events.push(next_ns, What::App, number);
            }
            return;
        }
        if matches!(flow.app, Running::Sessions(_)) {
            if !stopping {
                self.open_sessions(number);
            }
            return;
        }
        let Some((client, server)) = flow.sockets else {
            return;
        };
        if stopping {
            self.sockets[client as usize].stop(&mut self.net);
            return;
        }
        if starting {
            self.sockets[server as usize].listen();
            let client = &mut self.sockets[client as usize];
            match &mut flow.app {
                Running::Bulk { bytes: Some(bytes) } => client.write(*bytes),
                Running::Bulk { bytes: None } => client.write_forever(),
                Running::Vectors(v) => v.ask(&mut self.net, client),
                _ => {}
            }
            client.connect(&mut self.net);
            if let Running::Bulk { bytes: Some(_) } = flow.app {
                client.close(&mut self.net);
            }
            return;
        }
        let client = &mut self.sockets[client as usize];
        match &mut flow.app {
            Running::Vectors(v) => {
                v.ask(&mut self.net, client);
                // With nothing to wait for, the other end answers at once.
                self.signalled(number, false);
            }
            Running::Pingpong(p) => {
                if let Next::At(at_ns) = p.ask(&mut self.net, client) {
                    self.net.events.push(at_ns, What::App, number);
                }
            }
            _ => {}
        }
    }

    /// Records every counter.
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
            link.count_approvals(now_ns, &mut self.net.tables);
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

    /// Closes the books of a run that is over.
    pub fn finish(mut self) -> Outcome {
        self.net.now_ns = self.duration_ns;
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
