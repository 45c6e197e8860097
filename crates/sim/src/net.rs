//! The network between the hosts: packets, links, routes, and what is recorded of them.

use crate::capture::Tap;
use crate::event::{Event, Events, What};
use crate::link::{Drop, Link, Offer};
use crate::packet::{Packet, Slab};
use crate::record::Tables;
use crate::scenario::Record;

/// Everything that a host may touch when it sends.
pub struct Net {
    /// Now, in simulated nanoseconds.
    pub now_ns: u64,
    pub(crate) events: Events,
    pub(crate) packets: Slab,
    pub(crate) links: Vec<Link>,
    pub(crate) routes: Vec<Vec<u32>>,
    /// What the run leaves behind.
    pub tables: Tables,
    pub(crate) record: Record,
    pub(crate) tap: Option<Tap>,
    /// Per flow: first and last packet at the sender's host.
    pub(crate) seen_ns: Vec<Option<(u64, u64)>>,
    /// Per route: it starts at its flow's sender.
    pub(crate) from_sender: Vec<bool>,
}

impl Net {
    /// A host hands a packet to its first link.
    #[inline]
    pub(crate) fn send(&mut self, packet: Packet) {
        if self.from_sender[packet.route as usize] {
            self.see(packet.flow);
        }
        let id = self.packets.insert(packet);
        self.forward(id);
    }

    /// The sender's host sends or receives a packet of its flow.
    #[inline]
    pub(crate) fn see(&mut self, flow: u32) {
        let now_ns = self.now_ns;
        let seen = &mut self.seen_ns[flow as usize];
        *seen = Some((seen.map_or(now_ns, |s| s.0), now_ns));
    }

    pub(crate) fn set_timer(&mut self, at_ns: u64, socket: u32, number: u32) {
        self.events.push(at_ns, What::Timer, socket << 3 | number);
    }

    /// Puts a packet on the next link of its route.
    #[inline]
    fn forward(&mut self, id: u32) {
        let packet = &self.packets[id];
        let (ip_bytes, ecn, flow) = (packet.ip_bytes, packet.ecn, packet.flow);
        let number = self.routes[packet.route as usize][usize::from(packet.hop)];
        if let Some(tap) = &mut self.tap {
            tap.entering(number, self.now_ns, &self.packets[id]);
        }
        let order = self.events.take_order();
        let link = &mut self.links[number as usize];
        match link.offer(self.now_ns, id, ip_bytes, ecn, order, &mut self.tables) {
            Offer::Accepted {
                arrive_ns,
                mark,
                first,
            } => {
                if mark {
                    self.packets[id].ecn = 3;
                }
                if first {
                    let event = Event {
                        time_ns: arrive_ns,
                        order,
                        what: What::LinkHead,
                        id: number,
                    };
                    self.events.push_ordered(event);
                }
            }
            Offer::Dropped(reason) => self.lose(number, id, flow, ip_bytes, reason),
        }
    }

    fn lose(&mut self, number: u32, id: u32, flow: u32, ip_bytes: u32, reason: Drop) {
        let now_ns = self.now_ns as i64;
        if let (true, Some(managed)) = (self.record.drops, &self.links[number as usize].managed) {
            self.tables
                .drops
                .push(managed.number, now_ns, flow, ip_bytes, reason as u8);
        }
        let packet = self.packets[id];
        if packet.udp && self.record.udp {
            self.tables.udp.push(flow, packet.sent_ns as i64, -1);
        }
        self.packets.remove(id);
    }

    /// The packet at the head of a link's pipe has arrived at its far end.
    /// Returns it if that is its destination.
    #[inline]
    pub(crate) fn link_head(&mut self, number: u32) -> Option<u32> {
        let link = &mut self.links[number as usize];
        let (id, next) = link.arrive(self.now_ns, &mut self.tables);
        match next {
            Some(next) => self.events.replace_first(Event {
                time_ns: next.depart_ns + link.delay_ns,
                order: next.order,
                what: What::LinkHead,
                id: number,
            }),
            None => self.events.pop(),
        }
        if link.managed.is_some() {
            if link.draw_duplicate() {
                let copy = self.packets[id];
                let copy = self.packets.insert(copy);
                self.events.push(self.now_ns, What::Straggler, copy);
            }
            let link = &mut self.links[number as usize];
            if link.draw_reorder() {
                let late_ns = self.now_ns + link.reorder_delay_ns;
                self.events.push(late_ns, What::Straggler, id);
                return None;
            }
        }
        self.leave_link(id)
    }

    /// A packet has crossed a link: on to the next, or it is where it should be.
    pub(crate) fn leave_link(&mut self, id: u32) -> Option<u32> {
        let packet = &mut self.packets[id];
        let route = &self.routes[packet.route as usize];
        if let Some(tap) = &mut self.tap {
            tap.leaving(route[usize::from(packet.hop)], self.now_ns, packet);
        }
        packet.hop += 1;
        if usize::from(packet.hop) == route.len() {
            return Some(id);
        }
        self.forward(id);
        None
    }

    /// Packets that entered the network and have not left it, for tests.
    pub fn packets_inside(&self) -> usize {
        self.packets.len()
    }
}
