//! The path of a packet through the emulator. The emulator reads the packet from a device and
//! offers it to the first link of its route. The packet then waits in the link or is in flight. At
//! the end of the link the emulator offers it to the next link of the route, or writes it to the
//! destination's device after the last one. It logs what happened at each link.

use std::cmp::Reverse;

use headway_sim::net::link::Drop;
use headway_sim::scenario::EcnPath;
use headway_wire::Ecn;
use rustix::event::epoll;

use super::slot::Slot;
use super::Emulator;
use crate::clock;
use crate::direction::{Arriving, Outcome};
use crate::log::Row;
use crate::packet::{set_ecn, Header};

/// How many packets are read from one device before other devices get their turn.
const READ_BATCH: usize = 64;
/// Largest number of packets that may be in the emulator at the same time.
const MAX_PACKETS: usize = 1 << 20;

/// Packets that a program sends within this time after it was woken by a packet count as answers to
/// this packet.
const PROMPT_NS: u64 = 300_000;

const COPY: u8 = 2;

impl Emulator {
    /// Delivers all packets that are due. Returns the time when that is done.
    pub(super) fn deliver_due(&mut self) -> u64 {
        loop {
            let now_ns = clock::monotonic_ns();
            let due_ns = self.due.peek().map(|Reverse((due_ns, ..))| *due_ns);
            let turns = self.directions.iter().enumerate();
            let turn = turns.filter_map(|(at, link)| Some((link.turn_ns()?, at)));
            // Packets that links hold and packets that are due are processed in the order of their
            // times, because both may enter another link.
            match (turn.min(), due_ns) {
                (Some((turn_ns, at)), _)
                    if turn_ns <= now_ns && due_ns.is_none_or(|due_ns| turn_ns <= due_ns) =>
                {
                    self.take_turns(at, turn_ns);
                }
                (_, Some(due_ns)) if due_ns <= now_ns => {
                    if let Some(Reverse((_, _, slot))) = self.due.pop() {
                        self.arrive(slot, now_ns);
                    }
                }
                _ => return now_ns,
            }
        }
    }

    /// Takes a packet that is due to the next link of its route, or to its destination.
    fn arrive(&mut self, number: usize, now_ns: u64) {
        let slot = &self.slots[number];
        if slot.crossed == 0 {
            self.enter_due(number);
        } else if slot.crossed < self.devices[slot.from].route.len() {
            self.forward(number, now_ns);
        } else {
            self.deliver(number, now_ns);
        }
    }

    /// Offers a packet to the next link of its route, as of the time at which it is due there.
    fn enter_due(&mut self, number: usize) {
        let slot = &self.slots[number];
        let at_ns = slot.row.due_ns;
        let header = Header::parse(&slot.bytes).expect("parsed when the packet was read");
        if !self.enter(number, &header, at_ns) {
            self.free.push(number);
        }
    }

    /// Records that a link has delivered a packet to the next link of its route, and offers the
    /// packet to that link.
    fn forward(&mut self, number: usize, now_ns: u64) {
        let slot = &mut self.slots[number];
        let (at_ns, link) = (slot.row.due_ns, usize::from(slot.row.link));
        slot.row.delivered_ns = at_ns;
        self.directions[link].forwarded();
        if let Some(tap) = &mut self.tap {
            tap.delivered(link, now_ns, &slot.bytes);
        }
        if let Some(log) = &mut self.log {
            log.push(&slot.row);
        }
        self.enter_due(number);
    }

    fn deliver(&mut self, number: usize, now_ns: u64) {
        let slot = &mut self.slots[number];
        let (to, due_ns, wakes) = (slot.to, slot.row.due_ns, slot.wakes);
        let is_written = rustix::io::write(&self.devices[to].fd, &slot.bytes).is_ok();
        if let (true, Some(tap)) = (is_written, &mut self.tap) {
            tap.at_host(self.devices[to].side, now_ns, &slot.bytes);
        }
        if !slot.is_direct {
            self.account_for(number, is_written, now_ns);
        }
        self.free.push(number);
        if is_written {
            self.devices[to].last_due_ns = due_ns;
            self.devices[to].last_delivered_ns = now_ns;
            self.devices[to].last_wakes = wakes;
            self.devices[to].program_late_ns = None;
            self.read_answers(to, due_ns);
        }
    }

    /// Records that the last link of a packet's route delivered it, or that its host rejected it.
    fn account_for(&mut self, number: usize, is_written: bool, now_ns: u64) {
        let slot = &mut self.slots[number];
        let direction = &mut self.directions[usize::from(slot.row.link)];
        if is_written {
            direction.delivered(slot.row.due_ns, now_ns);
            slot.row.delivered_ns = now_ns;
            if let Some(tap) = &mut self.tap {
                tap.delivered(usize::from(slot.row.link), now_ns, &slot.bytes);
            }
        } else {
            direction.undelivered();
        }
        if let Some(log) = &mut self.log {
            log.push(&slot.row);
        }
    }

    /// Reads the host's answers to a packet that was just delivered. The host's TCP processes a
    /// packet within the call that delivers it, so its answers wait in the device when the call
    /// returns. They are offered to their link as of the time at which the packet was due. So
    /// neither a late emulator nor the host's processing time changes the times between answers,
    /// and even a queue of a few packets gets them in the exact order. Packets that a program sends
    /// within [`PROMPT_NS`] after it was woken also count as answers: ACKs that a reader causes,
    /// and data after a packet with data or after one that opens a connection.
    fn read_answers(&mut self, number: usize, due_ns: u64) {
        for _ in 0..READ_BATCH {
            if !self.read_one(number, Some(due_ns)) {
                return;
            }
        }
    }

    /// Reads packets from a host's device and offers them to their link.
    pub(super) fn read(&mut self, number: usize) {
        for _ in 0..READ_BATCH {
            if !self.read_one(number, None) {
                return;
            }
            // deliver packets that are due before reading more
            if self.due.peek().is_some() {
                self.deliver_due();
            }
        }
    }

    /// Reads a packet from a host's device and offers it to its link as of the time `at_ns`; None:
    /// the present time. Returns whether a packet was read.
    fn read_one(&mut self, number: usize, at_ns: Option<u64>) -> bool {
        let Some(slot) = self.take_slot() else {
            self.overflow(number);
            return false;
        };
        let bytes = &mut self.slots[slot].bytes;
        bytes.resize(self.config.mtu_bytes as usize, 0);
        match rustix::io::read(&self.devices[number].fd, bytes.as_mut_slice()) {
            Ok(n) => {
                bytes.truncate(n);
                if !self.offer(number, slot, at_ns) {
                    self.free.push(slot);
                }
                true
            }
            Err(e) => {
                self.free.push(slot);
                if e != rustix::io::Errno::AGAIN && e != rustix::io::Errno::INTR {
                    self.lose_device(number);
                }
                false
            }
        }
    }

    pub(super) fn take_slot(&mut self) -> Option<usize> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        if self.slots.len() == MAX_PACKETS {
            return None;
        }
        self.slots.push(Slot::default());
        Some(self.slots.len() - 1)
    }

    /// Reads a packet and drops it, because the emulator has no free slot for it. If the packet
    /// were not read, epoll would report the device again and again.
    fn overflow(&mut self, number: usize) {
        let mut bytes = [0; 1];
        if rustix::io::read(&self.devices[number].fd, &mut bytes).is_ok() {
            self.summary.overflow_pkts += 1;
        }
    }

    /// Handles the removal of a device.
    fn lose_device(&mut self, number: usize) {
        let device = &mut self.devices[number];
        if device.alive {
            device.alive = false;
            let _ = epoll::delete(&self.epoll, &device.fd);
        }
    }

    /// Offers the packet in a slot, which was read from a device, to the first link of its route as
    /// of the time `at_ns`; None: the present time. Returns whether the slot is still in use.
    fn offer(&mut self, number: usize, slot_number: usize, at_ns: Option<u64>) -> bool {
        let slot = &mut self.slots[slot_number];
        let Some(header) = Header::parse(&slot.bytes) else {
            self.summary.not_ipv4_pkts += 1;
            return false;
        };
        let (side, peer) = (self.devices[number].side, self.devices[number].peer);
        let to = self
            .destinations
            .get(&header.destination.to_bits())
            .copied();
        let is_reached =
            |to: &usize| self.devices[*to].side != side && peer.is_none_or(|peer| peer == *to);
        let Some(to) = to.filter(is_reached) else {
            self.summary.unroutable_pkts += 1;
            return false;
        };

        let now_ns = at_ns.unwrap_or_else(|| self.sent_ns(number, &header));
        let ip_bytes = self.slots[slot_number].bytes.len() as u32;
        let access = &mut self.devices[number].access;
        let now_ns = access
            .as_mut()
            .map_or(now_ns, |wire| wire.pass(now_ns, ip_bytes));
        self.sequence += 1;
        let slot = &mut self.slots[slot_number];
        slot.from = number;
        slot.crossed = 0;
        slot.to = to;
        slot.wakes = !header.is_ack;
        (slot.is_damaged, slot.is_direct) = (false, false);
        slot.row.packet = self.sequence as u32;
        if let Some(tap) = &mut self.tap {
            tap.at_host(side, clock::monotonic_ns(), &slot.bytes);
        }
        let delay_ns = self.devices[number].extra_delay_ns;
        if delay_ns == 0 {
            return self.enter(slot_number, &header, now_ns);
        }
        slot.row.due_ns = now_ns + delay_ns;
        self.due
            .push(Reverse((now_ns + delay_ns, self.sequence, slot_number)));
        true
    }

    /// Offers a packet to the next link of its route as of the time `at_ns`. Returns whether the
    /// slot is still in use.
    pub(super) fn enter(&mut self, slot_number: usize, header: &Header, at_ns: u64) -> bool {
        let slot = &mut self.slots[slot_number];
        let at = usize::from(self.devices[slot.from].route[slot.crossed]);
        slot.crossed += 1;
        // First process those packets held by the link (Outcome::Held) that leave it or are dropped
        // before at_ns.
        self.take_turns(at, at_ns);
        let direction = &mut self.directions[at];
        // the times at which packets are offered to a link must not decrease
        let now_ns = at_ns.max(direction.last_ns());
        let slot = &mut self.slots[slot_number];
        if let Some(tap) = &mut self.tap {
            tap.offered(at, clock::monotonic_ns(), &slot.bytes);
        }
        let ip_bytes = slot.bytes.len() as u32;
        let mut ecn = header.ecn;
        if direction.ecn() == EcnPath::Bleach && ecn != 0 {
            ecn = 0;
            set_ecn(&mut slot.bytes, Ecn::NotEct);
        }
        let arriving = Arriving {
            id: slot_number as u32,
            flow: header.flow(),
            ip_bytes,
            ecn,
            ip_options: header.ip_options,
            opens: header.opens,
            acked: header.acked,
        };
        let exceeded = direction.mtu().filter(|mtu| ip_bytes > mtu.size_bytes);
        let outcome = if exceeded.is_some() {
            direction.refuse(ip_bytes, Drop::TooBig)
        } else if direction.ecn() == EcnPath::DropSyn && header.asks_ecn {
            direction.refuse(ip_bytes, Drop::EcnSyn)
        } else {
            direction.offer(now_ns, &arriving)
        };
        let (queue_bytes, queue_pkts) = match outcome {
            Outcome::Dropped(_) => direction.queue_at(now_ns),
            _ => direction.queue(),
        };
        slot.held = matches!(outcome, Outcome::Held { .. });
        slot.row = Row {
            arrived_ns: now_ns,
            queue_bytes,
            queue_pkts,
            source: header.source.to_bits(),
            destination: header.destination.to_bits(),
            source_port: header.source_port,
            destination_port: header.destination_port,
            ip_bytes,
            link: direction.number(),
            protocol: header.protocol,
            packet: slot.row.packet,
            ..Row::default()
        };
        if let Some(mtu) = exceeded.filter(|mtu| mtu.icmp && header.dont_fragment) {
            self.tell_too_big(slot_number, header, mtu.size_bytes, now_ns);
        }
        let in_use = self.follow(slot_number, outcome);
        self.take_turns(at, now_ns);
        in_use
    }

    /// Returns when the host sent the packet that was just read from its device. An answer counts
    /// as sent when the packet that it answers was due. If a program answers with several packets
    /// of data, only the first of them counts as sent at that time. The others follow at the
    /// intervals at which they were read, because the host's TCP may pace them.
    fn sent_ns(&mut self, number: usize, header: &Header) -> u64 {
        let (now_ns, device) = (clock::monotonic_ns(), &mut self.devices[number]);
        if now_ns - device.last_delivered_ns >= PROMPT_NS {
            now_ns
        } else if header.is_ack {
            device.last_due_ns
        } else if header.is_tcp && device.last_wakes {
            let late_ns = now_ns - device.last_due_ns;
            now_ns - *device.program_late_ns.get_or_insert(late_ns)
        } else {
            now_ns
        }
    }

    /// Does with a packet what its link has decided: delivers it later, keeps it, or drops it.
    /// Returns whether the packet's slot is still in use.
    fn follow(&mut self, slot_number: usize, outcome: Outcome) -> bool {
        let slot = &mut self.slots[slot_number];
        let carried = match outcome {
            Outcome::Carried(carried) => carried,
            Outcome::Held { mark } => {
                if mark {
                    slot.mark();
                }
                return true;
            }
            Outcome::Dropped(reason) => {
                slot.row.outcome = reason as u8 + 1;
                if let Some(log) = &mut self.log {
                    log.push(&slot.row);
                }
                return false;
            }
            Outcome::Replaces { id } => {
                let (older, now_ns) = (id as usize, slot.row.arrived_ns);
                slot.held = true;
                self.slots.swap(slot_number, older);
                let slot = &mut self.slots[slot_number];
                slot.held = false;
                slot.row.departed_ns = now_ns;
                return self.follow(slot_number, Outcome::Dropped(Drop::Thinned));
            }
        };
        if carried.mark {
            slot.mark();
        }
        slot.row.departed_ns = carried.depart_ns;
        let is_last = slot.crossed == self.devices[slot.from].route.len();
        let extra_delay_ns = if is_last {
            self.devices[slot.to].extra_delay_ns
        } else {
            0
        };
        slot.row.due_ns = carried.due_ns + extra_delay_ns;
        let sequence = u64::from(slot.row.packet);
        self.due
            .push(Reverse((slot.row.due_ns, sequence, slot_number)));
        if let Some(due_ns) = carried.copy_due_ns {
            self.copy(slot_number, due_ns + extra_delay_ns, carried.damaged.1);
        }
        if carried.damaged.0 {
            self.slots[slot_number].damage();
        }
        true
    }

    /// Processes the held packets that have left their link or were dropped until now.
    fn take_turns(&mut self, at: usize, now_ns: u64) {
        while let Some((id, outcome)) = self.directions[at].turn(now_ns) {
            let number = id as usize;
            let slot = &mut self.slots[number];
            slot.held = false;
            if matches!(outcome, Outcome::Dropped(_)) {
                slot.row.departed_ns = self.directions[at].last_ns();
            }
            if !self.follow(number, outcome) {
                self.free.push(number);
            }
        }
    }

    fn copy(&mut self, original: usize, due_ns: u64, is_damaged: bool) {
        let Some(number) = self.take_slot() else {
            self.summary.overflow_pkts += 1;
            return;
        };
        let mut slot = self.slots[original].clone();
        slot.row.due_ns = due_ns;
        slot.row.flags |= COPY;
        if is_damaged {
            slot.damage();
        }
        let sequence = u64::from(slot.row.packet);
        self.slots[number] = slot;
        self.due.push(Reverse((due_ns, sequence, number)));
    }

    /// Logs the packets that were in flight when the emulator was stopped.
    pub(super) fn abandon(&mut self) {
        while let Some(Reverse((_, _, number))) = self.due.pop() {
            if let (Some(log), 1..) = (&mut self.log, self.slots[number].crossed) {
                log.push(&self.slots[number].row);
            }
        }
        for slot in self.slots.iter().filter(|slot| slot.held) {
            if let Some(log) = &mut self.log {
                log.push(&slot.row);
            }
        }
    }
}
