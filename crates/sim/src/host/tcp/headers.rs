//! Headers of protocols at the hosts: which packets carry the one that a control owns, what
//! a receiver returns of what has arrived, and who is told. What is in them is the
//! header's and the control's own matter (port/header.h, `on_send` and `on_feedback` in
//! port/cc.h).

use super::{quick_start, Socket, MTU_BYTES};
use crate::net::packet::{Headers, Packet, Sacks};
use crate::net::Net;
use headway_algorithms::header::{header, numbered, HeaderInfo};
use headway_algorithms::{Arrival, Carrier, Fields};

/// Options of a TCP header, and what timestamps and the head of a SACK option take of them.
const TCP_OPTIONS_BYTES: u32 = 40;
const SACK_HEAD_BYTES: u32 = 4;

/// A socket's part in the protocol of a header; few have one.
pub(super) struct Carried {
    /// The control owns it.
    own: Option<&'static HeaderInfo>,
    /// What goes out: the control's own, or the answer to what came in.
    sends: &'static HeaderInfo,
    /// What is to be answered, until a packet takes it along.
    held: Fields,
    due: bool,
}

/// The header in which a receiver answers this one.
fn answer_of(info: &'static HeaderInfo) -> &'static HeaderInfo {
    info.answer
        .map_or(info, |name| header(name).expect("a header of the registry"))
}

impl Carried {
    /// Of a control that owns a header; none for others.
    pub fn of(own: Option<&'static HeaderInfo>) -> Option<Box<Carried>> {
        own.map(|own| {
            Box::new(Carried {
                own: Some(own),
                sends: own,
                held: Fields::default(),
                due: false,
            })
        })
    }
}

impl Socket {
    /// SACK blocks that fit beside a header in a TCP option.
    #[cold]
    pub(super) fn sack_blocks_beside_header(&self, timestamps_bytes: u32) -> usize {
        let header_bytes = self.carried.as_ref().map_or(0, |c| match c.sends.carrier {
            Carrier::TcpOption => u32::from(c.sends.wire_bytes),
            _ => 0,
        });
        let left = TCP_OPTIONS_BYTES - timestamps_bytes - header_bytes;
        (left.saturating_sub(SACK_HEAD_BYTES) / 8) as usize
    }

    /// Sends a packet with the headers that are due and fit: Quick-Start's first.
    #[cold]
    pub(super) fn send_with_headers(&mut self, net: &mut Net, mut packet: Packet, sacks: &Sacks) {
        let mut headers = Headers::default();
        if self.quick_start_flags.due {
            self.attach_quick_start(net, &mut packet, &mut headers);
        }
        if self.carried.is_some() {
            self.attach_own(net, &mut packet, &mut headers);
        }
        if packet.headers == 0 {
            net.send(packet, sacks);
        } else {
            net.send_with(packet, sacks, &headers);
        }
    }

    /// The control's own header on data, with what is to be answered; an answer also on
    /// whatever else leaves.
    fn attach_own(&mut self, net: &Net, packet: &mut Packet, headers: &mut Headers) {
        self.refresh(net);
        let carried = self.carried.as_mut().expect("the caller looked");
        let info = carried.sends;
        let taken = match info.carrier {
            Carrier::IpOption => packet.ip_header() != 0,
            Carrier::TcpOption => packet.tcp_header() != 0,
            Carrier::EcnBits => false,
        };
        if taken || packet.ip_bytes + u32::from(info.wire_bytes) > MTU_BYTES {
            return;
        }
        let mut fields = carried.held;
        let mut goes = carried.due;
        if carried.own.is_some() && packet.payload_bytes > 0 {
            goes |= self.control.on_send(&mut self.conn, &mut fields);
        }
        if !goes {
            return;
        }
        carried.held = Fields::default();
        carried.due = false;
        match info.carrier {
            Carrier::IpOption => headers.ip = fields,
            Carrier::TcpOption => headers.tcp = fields,
            Carrier::EcnBits => packet.ecn = info.emit(&fields)[0] & 3,
        }
        packet.carry(info);
    }

    /// A packet has arrived that carries headers, or that may answer a request for a rate.
    #[cold]
    pub(super) fn headers_arrived(&mut self, net: &Net, p: &Packet) {
        self.quick_start_arrived(net, p);
        for (number, fields) in [
            (p.ip_header(), net.arrived.ip),
            (p.tcp_header(), net.arrived.tcp),
        ] {
            let Some(info) = numbered(number) else {
                continue;
            };
            if !quick_start::carries(info) {
                self.header_arrived(net, p, info, &fields);
            }
        }
    }

    /// In ECN bits there is always something; it means a header where the control owns one.
    #[cold]
    pub(super) fn ecn_bits_arrived(&mut self, net: &Net, p: &Packet) {
        let own = self.carried.as_ref().and_then(|c| c.own);
        if let Some(info) = own.filter(|info| info.carrier == Carrier::EcnBits) {
            if let Some(fields) = info.parse(&[p.ecn]) {
                self.header_arrived(net, p, info, &fields);
            }
        }
    }

    fn header_arrived(
        &mut self,
        net: &Net,
        p: &Packet,
        info: &'static HeaderInfo,
        fields: &Fields,
    ) {
        let own = self.carried.as_ref().and_then(|c| c.own);
        if own.is_some_and(|own| answer_of(own).number == info.number) {
            self.refresh(net);
            self.control.on_feedback(&mut self.conn, fields);
        }
        if !info.reflects {
            return;
        }
        let how = Arrival {
            ip_ttl: net.arrived_ttl(p),
            ecn: p.ecn,
        };
        let carried = self.carried.get_or_insert_with(|| {
            Box::new(Carried {
                own: None,
                sends: answer_of(info),
                held: Fields::default(),
                due: false,
            })
        });
        if carried.sends.number == answer_of(info).number {
            carried.due |= info.reflect(&mut carried.held, fields, &how);
        }
    }
}
