//! Protocol headers at the hosts: which packets carry a control's header, which feedback a receiver
//! returns for arriving headers, and which control gets that feedback. The content of headers is
//! defined in port/header.h, and by the controls' `on_send` and `on_feedback` in port/cc.h.

use super::state::carried::{answer_of, tcp_option_bytes, Carried};
use super::{quick_start, Socket, State};
use crate::net::packet::{flags, Headers, Packet, Sacks};
use crate::net::Net;
use headway_algorithms::header::{numbered, HeaderInfo};
use headway_algorithms::{Arrival, Carrier, Fields, ROUTERS_ABSENT};

/// Space for options in a TCP header, and the bytes of a SACK option before its blocks.
const TCP_OPTIONS_BYTES: u32 = 40;
const SACK_HEAD_BYTES: u32 = 4;

/// Whether a packet of at most `most_bytes` has room for this header beside the headers that it
/// already carries.
fn has_room(packet: &Packet, info: &HeaderInfo, most_bytes: u32) -> bool {
    let taken = match info.carrier {
        Carrier::IpOption => packet.ip_header() != 0,
        Carrier::TcpOption => packet.tcp_header() != 0,
        Carrier::EcnBits => false,
    };
    !taken && packet.ip_bytes + u32::from(info.wire_bytes) <= most_bytes
}

fn attach(packet: &mut Packet, headers: &mut Headers, info: &HeaderInfo, fields: Fields) {
    match info.carrier {
        Carrier::IpOption => headers.ip = fields,
        Carrier::TcpOption => headers.tcp = fields,
        Carrier::EcnBits => packet.ecn = info.emit_bits(&fields),
    }
    packet.carry(info);
}

impl Socket {
    /// Number of SACK blocks that fit beside headers in TCP options.
    #[cold]
    pub(super) fn sack_blocks_beside_header(&self, timestamps_bytes: u32) -> usize {
        let header_bytes = self.carried.as_ref().map_or(0, |c| {
            tcp_option_bytes(c.own) + tcp_option_bytes(c.answers_apart())
        });
        let left = TCP_OPTIONS_BYTES - timestamps_bytes - header_bytes;
        (left.saturating_sub(SACK_HEAD_BYTES) / 8) as usize
    }

    /// Sends a packet with the protocol headers that are due and that fit in. Quick-Start's options
    /// are added first.
    #[cold]
    pub(super) fn send_with_headers(&mut self, net: &mut Net, mut packet: Packet, sacks: &Sacks) {
        let mut headers = Headers::default();
        if self.quick_start_flags.due {
            self.attach_quick_start(net, &mut packet, &mut headers);
        }
        if let Some(carried) = &self.carried {
            if carried.own.is_some() || carried.answers.is_some() {
                self.attach_own(net, &mut packet, &mut headers);
                self.attach_answer(net, &mut packet, &mut headers);
                self.number(&mut packet);
            }
            self.attach_accurate(net, (&mut packet, sacks), &mut headers);
        }
        if packet.headers == 0 {
            net.send(packet, sacks);
        } else {
            net.send_with(packet, sacks, &headers);
        }
    }

    /// Adds the control's own header to a packet with data. If feedback to the peer uses the same
    /// header and is pending, any packet carries the header.
    fn attach_own(&mut self, net: &Net, packet: &mut Packet, headers: &mut Headers) {
        let most_bytes = self.largest_packet_bytes(net);
        let carried = self.carried.as_ref().expect("checked by the caller");
        let Some(own) = carried.own.filter(|own| has_room(packet, own, most_bytes)) else {
            return;
        };
        let answers_itself = carried.answers_apart().is_none();
        let (mut fields, mut goes) = if answers_itself {
            (carried.held, carried.due)
        } else {
            (Fields::default(), false)
        };
        let is_syn = packet.flags & flags::SYN != 0;
        if packet.payload_bytes > 0 || is_syn && carried.on_syn {
            self.refresh(net);
            goes |= self.control.on_send(&mut self.conn, &mut fields);
            self.counters.fall_backs += u64::from(std::mem::take(&mut self.conn.fall_backs));
        }
        if !goes {
            return;
        }
        if answers_itself {
            self.answered();
        }
        attach(packet, headers, own, fields);
    }

    /// If feedback has a header of its own and is pending, adds that header to the next packet with
    /// room for it. Full packets have none, as with port/bpf/endpoint.h.
    fn attach_answer(&mut self, net: &Net, packet: &mut Packet, headers: &mut Headers) {
        let most_bytes = self.largest_packet_bytes(net);
        let carried = self.carried.as_ref().expect("checked by the caller");
        let answer = carried.answers_apart().filter(|_| carried.due);
        if let Some(answer) = answer.filter(|answer| has_room(packet, answer, most_bytes)) {
            attach(packet, headers, answer, carried.held);
            self.answered();
        }
    }

    /// Clears the pending feedback, because it was sent.
    fn answered(&mut self) {
        let carried = self.carried.as_mut().expect("it sent an answer");
        carried.held = Fields::default();
        carried.due = false;
    }

    /// Sets the IP identification to a per-socket packet count, as Linux does for packets that must
    /// not be fragmented (ip_select_ident_segs).
    fn number(&mut self, packet: &mut Packet) {
        let carried = self.carried.as_mut().expect("checked by the caller");
        carried.ip_id = carried.ip_id.checked_add(1).unwrap_or(1);
        packet.ip_id = carried.ip_id;
    }

    /// Name of the header that the control owns.
    pub(crate) fn own_header(&self) -> Option<&'static str> {
        Some(self.carried.as_ref()?.own?.name)
    }

    /// Why the control uses its loss-based law instead of the routers' feedback; None if it does
    /// not.
    pub(crate) fn without_routers(&self) -> Option<&'static str> {
        (u32::from(self.conn.routers) == ROUTERS_ABSENT).then_some("no router answers")
    }

    /// Whether a SYN of this end carries the control's header or feedback.
    #[cold]
    pub(super) fn headers_on_syn(&self) -> bool {
        let carries = self.carried.as_ref().is_some_and(|c| c.on_syn || c.due);
        carries || self.syn_ack_has_option()
    }

    /// Passes the latest feedback that waits to the control. In linux-6 it waits for the control's
    /// call for the ACK (hw_deliver_feedback), in linux-2.6 only until the control is initialized.
    #[cold]
    pub(super) fn deliver_feedback(&mut self) {
        let feedback = self.carried.as_mut().and_then(|c| c.feedback.take());
        if let Some(fields) = feedback {
            self.control.on_feedback(&mut self.conn, &fields);
        }
    }

    /// Processes a packet that carries headers, or that may answer a Quick-Start request.
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

    /// Parses the ECN bits as a header, if the control's header uses them.
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
            if let Some(carried) = &mut self.carried {
                carried.feedback = Some(*fields);
            }
            if self.profile.counts_acks && self.state == State::Established {
                self.refresh(net);
                self.deliver_feedback();
            }
        }
        if !info.reflects {
            return;
        }
        let how = Arrival {
            ip_ttl: net.arrived_ttl(p),
            ecn: p.ecn,
            ip_id: p.ip_id,
            pkts: 1,
        };
        let answer = answer_of(info);
        let carried = self
            .carried
            .get_or_insert_with(|| Carried::new(None, Some(answer)));
        if carried.answers.is_some_and(|a| a.number == answer.number) {
            carried.due |= info.reflect(&mut carried.held, fields, &how);
        }
    }
}
