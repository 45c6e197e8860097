//! Messages of the routers between the links.

use std::cmp::Reverse;

use headway_wire::icmp::build_too_big;

use super::slot::Slot;
use super::Emulator;
use crate::log::Row;
use crate::packet::Header;

impl Emulator {
    /// Tells the sender of a packet that the packet exceeds the MTU of its next link. The message
    /// takes the end of the way back, as many links as the packet has crossed, as in the simulator.
    /// Routers have no addresses here, so the message comes from the packet's destination.
    pub(super) fn tell_too_big(
        &mut self,
        number: usize,
        header: &Header,
        mtu_bytes: u32,
        now_ns: u64,
    ) {
        let Some(message) = self.take_slot() else {
            self.summary.overflow_pkts += 1;
            return;
        };
        let mut bytes = std::mem::take(&mut self.slots[message].bytes);
        let slot = &self.slots[number];
        let between = (header.destination, header.source);
        build_too_big(&mut bytes, &slot.bytes, between, mtu_bytes as u16);
        let (from, to) = (slot.to, slot.from);
        let way_back = self.devices[from].route.len();
        let crossed = way_back.saturating_sub(slot.crossed - 1);
        self.sequence += 1;
        let due_ns = now_ns + self.devices[to].extra_delay_ns;
        self.slots[message] = Slot {
            bytes,
            row: Row {
                due_ns,
                packet: self.sequence as u32,
                ..Row::default()
            },
            from,
            crossed,
            to,
            is_direct: crossed == way_back,
            ..Slot::default()
        };
        if crossed == way_back {
            self.due.push(Reverse((due_ns, self.sequence, message)));
            return;
        }
        let parsed = Header::parse(&self.slots[message].bytes);
        if !parsed.is_some_and(|header| self.enter(message, &header, now_ns)) {
            self.free.push(message);
        }
    }
}
