//! The network between the hosts: packets, links, routes, and what is recorded of them.

pub(crate) mod capture;
pub mod link;
pub mod packet;
mod routers;
mod screen;
pub(crate) mod topology;

use crate::event::{EventKind, Events};
use crate::net::capture::Tap;
use crate::net::link::{Arrival, Drop, Link, Offer, Offered, Turn};
use crate::net::packet::{about, ecn::CE, flags, Headers, Packet, Sacks, Slab};
use crate::net::topology::Route;
use crate::scenario::Record;
use crate::trace::digest::{Digest, Transfer};
use crate::trace::record::Tables;
use headway_algorithms::Monitor;

/// The parts of a run that a host may use when it sends.
pub struct Net {
    /// Now, in simulated nanoseconds.
    pub now_ns: u64,
    /// How long before time 0 the hosts' coarse clock (jiffies) last ticked.
    pub(crate) since_tick_ns: u64,
    pub(crate) events: Events,
    pub(crate) packets: Slab,
    pub(crate) links: Vec<Link>,
    pub(crate) routes: Vec<Route>,
    /// The links of routes after their first link; see [`Route::link`].
    pub(crate) further: Vec<u32>,
    /// The MTU of each route's path, as far as its sender knows it from ICMP; empty without links
    /// that have an MTU.
    pub(crate) path_mtu: Vec<u32>,
    /// Tables that this run records.
    pub tables: Tables,
    pub(crate) record: Record,
    /// Whether anyone needs changes of the senders' states: the trace or the digest.
    pub(crate) follows_senders: bool,
    /// Sums of the run, if the scenario requests a digest.
    pub(crate) digest: Option<Box<Digest>>,
    pub(crate) tap: Option<Tap>,
    /// Times of the first and the last packet at the opener's host, for each pair of routes: first
    /// the pairs of flows, then those of relays.
    pub(crate) seen_ns: Vec<Option<(u64, u64)>>,
    /// Headers of the packet that a host is processing. Headers that this packet does not carry are
    /// left over from another packet.
    pub(crate) arrived: Headers,
}

impl Net {
    /// Sends a packet with headers in options over the host's access link. The packet names the
    /// headers (see [`Packet::carry`]). While the receiving host processes the packet, their
    /// fields, as changed by routers, are in `net.arrived`, and the IP TTL is in
    /// [`Net::arrived_ttl`].
    #[cold]
    pub(crate) fn send_with(&mut self, packet: Packet, sacks: &Sacks, headers: &Headers) {
        let id = self.launch(packet, sacks);
        self.packets.set_headers(id, headers);
    }

    /// The IP TTL of a packet when it arrives at its host.
    pub(crate) fn arrived_ttl(&self, packet: &Packet) -> u8 {
        Packet::ttl(self.routes[packet.route as usize].hops)
    }

    /// Sends a packet over its host's access link.
    #[inline(always)]
    pub(crate) fn send(&mut self, packet: Packet, sacks: &Sacks) {
        debug_assert_eq!(packet.headers, 0, "headers need send_with");
        self.launch(packet, sacks);
    }

    #[inline(always)]
    fn launch(&mut self, packet: Packet, sacks: &Sacks) -> u32 {
        if Route::is_outbound(packet.route) {
            self.see(packet.route);
        }
        let route = &mut self.routes[packet.route as usize];
        let arrive_ns = route.near.pass(self.now_ns, packet.ip_bytes);
        let id = self.packets.insert(packet, sacks);
        self.events.push(arrive_ns, EventKind::Arrival, id);
        id
    }

    /// Records the present time as that of the flow's latest packet at the opener's host.
    #[inline]
    pub(crate) fn see(&mut self, route: u32) {
        let now_ns = self.now_ns;
        match &mut self.seen_ns[route as usize / 2] {
            Some((_, last_ns)) => *last_ns = now_ns,
            seen => *seen = Some((now_ns, now_ns)),
        }
    }

    pub(crate) fn set_timer(&mut self, at_ns: u64, socket: u32, number: u32) {
        self.events
            .push(at_ns, EventKind::Timer, socket << 3 | number);
    }

    /// Values that the first link of a route publishes to the host that sends on it.
    #[cold]
    pub(crate) fn monitor(&self, route: u32) -> Option<Monitor> {
        let first = self.routes[route as usize].link(0, &self.further);
        self.links[first as usize].monitor()
    }

    /// Processes a packet that has arrived at the next router of its route.
    #[inline(always)]
    pub(crate) fn arrival(&mut self, id: u32) {
        let packet = &self.packets[id];
        let route = &self.routes[packet.route as usize];
        if packet.hop < route.hops {
            let number = route.link(packet.hop, &self.further);
            self.forward(id, number);
        } else {
            self.leave(id);
        }
    }

    /// Sends a packet from its last router to its host. Most packets take the path in
    /// [`Net::cross`] instead; this function is for packets that the last link of their route has
    /// disturbed, and for messages of that router. The wire already knows when packets that are
    /// still on the last link will pass it, so a message does not wait for the wire.
    #[inline(never)]
    fn leave(&mut self, id: u32) {
        let packet = &mut self.packets[id];
        packet.hop += 1;
        let far = &mut self.routes[packet.route as usize].far;
        let arrive_ns = if packet.is(about::TOO_BIG) {
            far.pass_idle(self.now_ns, packet.ip_bytes)
        } else {
            far.pass(self.now_ns, packet.ip_bytes)
        };
        self.tap_received(id, arrive_ns);
        self.events.push(arrive_ns, EventKind::Delivery, id);
    }

    /// Puts a packet on the next link of its route.
    #[inline(always)]
    fn forward(&mut self, id: u32, number: u32) {
        if self.tap.is_some() {
            self.tap_entering(id, number);
        }
        if self.links[number as usize].screens() && self.screen(id, number) {
            return;
        }
        let link = &mut self.links[number as usize];
        // `offered` is built in each branch separately so that it can stay in registers.
        let offer = if link.is_fast_path() {
            let offered = offered(&mut self.packets, id);
            link.offer_plain(self.now_ns, offered, &mut self.tables)
        } else {
            let acked = link.thins().then(|| self.packets[id].acked()).flatten();
            let mut offered = offered(&mut self.packets, id);
            offered.acked = acked;
            link.offer_slow_path(self.now_ns, offered, &mut self.tables)
        };
        match offer {
            Offer::Accepted { arrive_ns, ecn, .. } => {
                self.cross(id, number, arrive_ns, ecn);
            }
            Offer::Held { ecn, .. } => {
                self.packets[id].ecn = ecn;
                if !self.links[number as usize].is_busy(self.now_ns) {
                    self.turn(number);
                }
            }
            Offer::Dropped(reason) => {
                self.lose(number, id, reason);
                if self.links[number as usize].thins() {
                    self.turn(number);
                }
            }
            Offer::Replaces { id: older } => {
                self.packets.swap(older, id);
                self.lose(number, id, Drop::Thinned);
                self.turn(number);
            }
        }
    }

    /// If this link is captured, captures a packet that is offered to it.
    #[cold]
    fn tap_entering(&mut self, id: u32, number: u32) {
        if let Some(tap) = &mut self.tap {
            tap.entering(number, self.now_ns, || self.packets.whole(id));
            let packet = &self.packets[id];
            if packet.hop == 0 && !packet.is(about::TOO_BIG) {
                tap.sent(|| self.packets.whole(id));
            }
        }
    }

    /// Captures a packet that will reach its host, if packets are captured at hosts.
    #[cold]
    fn tap_received(&mut self, id: u32, arrive_ns: u64) {
        if let Some(tap) = &mut self.tap {
            tap.received(arrive_ns, || self.packets.whole(id));
        }
    }

    /// Schedules the arrival of a packet at the end of a link, at time `arrive_ns`.
    #[inline]
    fn cross(&mut self, id: u32, number: u32, mut arrive_ns: u64, ecn: u8) {
        let packet = &mut self.packets[id];
        packet.ecn = ecn;
        packet.hop += 1;
        if self.links[number as usize].disturbs() {
            self.disturb(id, number, arrive_ns);
            return;
        }
        if let Some(tap) = &mut self.tap {
            tap.leaving(number, arrive_ns, || self.packets.whole(id));
        }
        let packet = &mut self.packets[id];
        let route = &mut self.routes[packet.route as usize];
        let mut kind = EventKind::Arrival;
        if packet.hop == route.hops {
            // Packets of this route alone use the access link of the destination, and in this
            // order, so the time at the host is already known.
            packet.hop += 1;
            kind = EventKind::Delivery;
            arrive_ns = route.far.pass(arrive_ns, packet.ip_bytes);
            if self.tap.is_some() {
                self.tap_received(id, arrive_ns);
            }
        }
        self.events.push(arrive_ns, kind, id);
    }

    /// Sends the packets that a link holds and can send now, and schedules the next attempt.
    #[inline(never)]
    pub(crate) fn turn(&mut self, number: u32) {
        loop {
            let link = &mut self.links[number as usize];
            match link.take(self.now_ns, &mut self.tables) {
                Turn::Sent {
                    id,
                    arrive_ns,
                    mark,
                    ..
                } => {
                    if mark {
                        self.packets[id].ecn = CE;
                    }
                    let mut ecn = self.packets[id].ecn;
                    if link.departs() {
                        let mut leaving = offered(&mut self.packets, id);
                        link.depart(&mut leaving, &mut self.tables);
                        ecn = leaving.ecn;
                    }
                    self.cross(id, number, arrive_ns, ecn);
                }
                Turn::Dropped { id, reason } => self.lose(number, id, reason),
                Turn::At(time_ns) => {
                    if link.awaits(time_ns) {
                        self.events.push(time_ns, EventKind::Turn, number);
                    }
                    return;
                }
                Turn::Over => return,
            }
        }
    }

    /// Delays, damages or duplicates a packet that has crossed a link, by what the link has drawn at
    /// random for it.
    fn disturb(&mut self, id: u32, number: u32, arrive_ns: u64) {
        let (packet, sacks, headers) = self.packets.whole(id);
        let arrivals = self.links[number as usize].disturb(arrive_ns, packet.ip_bytes);
        let copy = arrivals.copy.map(|arrival| {
            let copy = self.packets.insert(packet, &sacks);
            if packet.headers != 0 {
                self.packets.set_headers(copy, &headers);
            }
            (copy, arrival)
        });
        for (id, arrival) in [Some((id, arrivals.packet)), copy].into_iter().flatten() {
            let Arrival { at_ns, damaged } = arrival;
            if damaged {
                self.packets[id].about |= about::CORRUPT;
                self.record_drop(number, &packet, Drop::Corrupt);
            }
            if let Some(tap) = &mut self.tap {
                tap.leaving(number, at_ns, || (self.packets[id], sacks, headers));
            }
            self.events.push(at_ns, EventKind::Arrival, id);
        }
    }

    fn lose(&mut self, number: u32, id: u32, reason: Drop) {
        let packet = self.packets[id];
        self.record_drop(number, &packet, reason);
        if packet.is(about::UDP) {
            self.datagram_lost(&packet);
        }
        self.packets.remove(id);
    }

    fn record_drop(&mut self, number: u32, packet: &Packet, reason: Drop) {
        if self.record.drops {
            let now_ns = self.now_ns as i64;
            self.tables
                .drops
                .push(number, now_ns, packet.flow, packet.ip_bytes, reason as u8);
        }
    }

    /// Records that a datagram does not reach its application.
    pub(crate) fn datagram_lost(&mut self, packet: &Packet) {
        if let Some(digest) = &mut self.digest {
            digest.lost(packet.sent_ns);
        }
        if self.record.udp {
            self.tables.udp.push(packet.flow, packet.sent_ns as i64, -1);
        }
    }

    /// Calls a link's routers at the time that one of them has set.
    pub(crate) fn tick(&mut self, number: u32) {
        let link = &mut self.links[number as usize];
        if let Some(at_ns) = link.tick(self.now_ns, &mut self.tables) {
            self.wake_router(at_ns, number);
        }
    }

    /// Schedules the next call of a link's routers.
    pub(crate) fn wake_router(&mut self, at_ns: u64, number: u32) {
        self.events
            .push(at_ns.max(self.now_ns), EventKind::Tick, number);
    }

    /// Records that the response to a request has arrived.
    pub(crate) fn answered(&mut self, flow: u32, exchange: u32, asked_ns: u64) {
        if !self.tables.off {
            let now_ns = self.now_ns as i64;
            self.tables
                .responses
                .push(flow, exchange, asked_ns as i64, now_ns);
        }
    }

    /// Records a transfer that is complete, or that is not complete at the end of the run.
    pub(crate) fn transferred(&mut self, flow: u32, transfer: &Transfer, is_complete: bool) {
        let now_ns = self.now_ns;
        if let (Some(digest), true) = (&mut self.digest, is_complete) {
            digest.transfers.completed(transfer, now_ns);
        }
        if !self.tables.off {
            let end_ns = if is_complete { now_ns as i64 } else { -1 };
            self.tables.transfers.push(
                flow,
                transfer.bytes,
                transfer.start_ns as i64,
                end_ns,
                transfer.ideal_ns.map_or(-1, |ns| ns as i64),
            );
        }
    }

    /// Number of packets that are in the network; for tests.
    pub fn packets_inside(&self) -> usize {
        self.packets.len()
    }
}

/// A packet as a link and its routers see it.
#[inline(always)]
fn offered(packets: &mut Slab, id: u32) -> Offered<'_> {
    let packet = &packets[id];
    let carried = packet.headers;
    let mut offered = Offered {
        id,
        ip_bytes: packet.ip_bytes,
        ecn: packet.ecn,
        ip_id: packet.ip_id,
        flow: packet.flow,
        route: packet.route,
        to: packet.to,
        opens: packet.flags & flags::SYN != 0,
        ip_options: packet.ip_header() != 0,
        carried,
        headers: None,
        acked: None,
    };
    if carried != 0 {
        offered.headers = Some(packets.headers_mut(id));
    }
    offered
}
