//! What a link checks before a packet is offered to it: an MTU, and ECN faults.

use crate::event::EventKind;
use crate::host::tcp::accurate_ecn::option::Carried as AccurateEcnOption;
use crate::net::link::Drop;
use crate::net::packet::{about, flags};
use crate::net::Net;
use crate::scenario::EcnPath;
use headway_wire::icmp::TOO_BIG_BYTES;

impl Net {
    /// Drops a packet that exceeds the link's MTU, and applies the link's ECN fault. Returns whether
    /// the packet was dropped.
    #[cold]
    pub(super) fn screen(&mut self, id: u32, number: u32) -> bool {
        let link = &mut self.links[number as usize];
        let ip_bytes = self.packets[id].ip_bytes;
        if let Some(mtu) = link.mtu.filter(|mtu| ip_bytes > mtu.size_bytes) {
            link.refuse(ip_bytes, Drop::TooBig);
            if mtu.icmp {
                self.tell_too_big(id, mtu.size_bytes);
            }
            self.lose(number, id, Drop::TooBig);
            return true;
        }
        self.apply_ecn_fault(id, number)
    }

    /// Tells the sender of a packet that a link of its route has an MTU. The message takes the end of
    /// the way back, with as many links as the packet has crossed. On a way back over the same
    /// routers, that is the way from this router. UDP senders ignore such messages.
    fn tell_too_big(&mut self, id: u32, mtu_bytes: u32) {
        let (mut message, sacks, _) = self.packets.whole(id);
        if message.is(about::UDP) {
            return;
        }
        message.about = message.about & !about::CORRUPT | about::TOO_BIG;
        message.route ^= 1;
        let links = self.routes[message.route as usize].hops;
        message.hop = links.saturating_sub(message.hop);
        message.ip_id = mtu_bytes as u16;
        message.ip_bytes = TOO_BIG_BYTES as u32;
        message.ecn = 0;
        message.headers = 0;
        message.sent_ns = self.now_ns;
        let message = self.packets.insert(message, &sacks);
        self.events.push(self.now_ns, EventKind::Arrival, message);
    }

    /// Applies the ECN fault of a link that clears ECN bits, clears TCP's ECN flags or option, or
    /// drops ECN SYNs. Returns whether the packet was dropped.
    fn apply_ecn_fault(&mut self, id: u32, number: u32) -> bool {
        let link = &mut self.links[number as usize];
        let packet = &mut self.packets[id];
        match link.ecn {
            EcnPath::Keep => {}
            EcnPath::Bleach => packet.ecn = 0,
            EcnPath::ClearFlags => {
                packet.flags &= !(flags::ECE | flags::CWR);
                packet.about &= !about::AE;
            }
            EcnPath::StripOption => self.change_option(id, AccurateEcnOption::stripped),
            EcnPath::ZeroOption => self.change_option(id, AccurateEcnOption::zeroed),
            EcnPath::DropSyn => {
                let asking = flags::SYN | flags::ECE | flags::CWR;
                let asks = packet.flags & (asking | flags::ACK) == asking;
                if asks {
                    link.refuse(packet.ip_bytes, Drop::EcnSyn);
                    self.lose(number, id, Drop::EcnSyn);
                }
                return asks;
            }
        }
        false
    }

    /// Changes the option of Accurate ECN in a packet, if the packet has it.
    fn change_option(&mut self, id: u32, change: fn(AccurateEcnOption) -> AccurateEcnOption) {
        let (packet, _, headers) = self.packets.whole(id);
        if let Some(option) = AccurateEcnOption::of(&packet, &headers) {
            self.packets.headers_mut(id).tcp = change(option).encoded();
        }
    }
}
