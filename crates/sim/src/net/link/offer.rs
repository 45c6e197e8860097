//! The types that a link exchanges with its caller: the offered packet, what became of it, and the
//! next packet of a link that holds packets.

use crate::net::packet::{Acked, Headers};
use headway_algorithms::{Carrier, Fields, HeaderInfo, PacketView};

/// Why a link did not carry a packet, as in the trace's table of drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// The queue had no room.
    Full = 0,
    /// Random loss.
    Loss = 1,
    /// The queue's algorithm dropped it early.
    Early = 2,
    /// The packet had IP options, on a link that carries none.
    Options = 3,
    /// The packet is a SYN that requests ECN, and the link drops such SYNs.
    EcnSyn = 4,
    /// The policer had too few tokens.
    Policed = 5,
    /// The packet was an ACK that a newer one made superfluous.
    Thinned = 6,
    /// The packet exceeded the link's MTU.
    TooBig = 7,
    /// The link damaged the packet but carried it; the receiver drops it.
    Corrupt = 8,
}

/// A packet that is offered to a link.
pub struct Offered<'a> {
    /// Number by which the caller identifies the packet if the link holds it.
    pub id: u32,
    /// Size of the IP packet.
    pub ip_bytes: u32,
    /// IPv4 ECN bits.
    pub ecn: u8,
    /// Identification of the packet's IP header, as in [`crate::net::packet::Packet::ip_id`].
    pub ip_id: u16,
    /// Number of the flow that the packet belongs to.
    pub flow: u32,
    /// Number of the packet's route. A route is one direction of a flow.
    pub route: u32,
    /// Number of the socket that receives the packet. It distinguishes connections of the same
    /// sender.
    pub to: u32,
    /// Whether the packet opens a connection.
    pub opens: bool,
    /// Whether the packet's IPv4 header has options.
    pub ip_options: bool,
    /// Numbers of the protocol headers that the packet carries, as in
    /// [`crate::net::packet::Packet::headers`].
    pub carried: u8,
    /// The fields of the carried headers, which the link's routers may change.
    pub headers: Option<&'a mut Headers>,
    /// The packet's acknowledgement, for links that thin ACKs; None: it has none, or no link asks.
    pub acked: Option<Acked>,
}

impl Offered<'_> {
    /// The packet without the fields of its headers.
    pub(super) fn without_headers(&self) -> Offered<'static> {
        Offered {
            id: self.id,
            ip_bytes: self.ip_bytes,
            ecn: self.ecn,
            ip_id: self.ip_id,
            flow: self.flow,
            route: self.route,
            to: self.to,
            opens: self.opens,
            ip_options: self.ip_options,
            carried: self.carried,
            headers: None,
            acked: self.acked,
        }
    }

    /// The packet as the algorithms of a link see it.
    #[inline(always)]
    pub(crate) fn view(&self) -> PacketView {
        PacketView {
            flow: sender_of(self.route),
            ip_bytes: self.ip_bytes,
            ecn: self.ecn,
            local: 0,
            ip_id: self.ip_id,
            pkts: 1,
            opens: u8::from(self.opens),
        }
    }

    /// The packet as the link's queue discipline sees it: the flow's lower half distinguishes
    /// connections of the same sender.
    #[inline(always)]
    pub(crate) fn connection_view(&self) -> PacketView {
        let mut view = self.view();
        view.flow |= u64::from(self.to);
        view
    }

    /// The fields of the packet's header `info`, if the packet carries that header. If the ECN bits
    /// carry it, they are decoded into `bits`.
    pub(crate) fn header<'a>(
        &'a mut self,
        info: &HeaderInfo,
        bits: &'a mut Fields,
    ) -> Option<&'a mut Fields> {
        let carried = match info.carrier {
            Carrier::IpOption => self.carried & 0x0f,
            Carrier::TcpOption => self.carried >> 4,
            Carrier::EcnBits => {
                *bits = info.parse(&[self.ecn])?;
                return Some(bits);
            }
        };
        let headers = self.headers.as_deref_mut()?;
        if carried != info.number {
            return None;
        }
        Some(match info.carrier {
            Carrier::IpOption => &mut headers.ip,
            _ => &mut headers.tcp,
        })
    }
}

/// The number by which algorithms distinguish senders: each direction of a host pair counts as one
/// sender.
fn sender_of(route: u32) -> u64 {
    (u64::from(route) + 1) << 32
}

/// What a link has drawn for a packet that it reorders or duplicates at random: extra delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Disturbance {
    pub packet_ns: u64,
    /// The extra delay of the packet's duplicate; None if the packet is not duplicated.
    pub copy_ns: Option<u64>,
}

/// How a packet arrives at the far end of a link that delays, damages or duplicates at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrives.
    pub at_ns: u64,
    /// Whether a bit of it is wrong.
    pub damaged: bool,
}

/// The arrivals of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// The packet's own.
    pub packet: Arrival,
    /// That of its duplicate; None if the packet is not duplicated.
    pub copy: Option<Arrival>,
}

/// What happened to an offered packet.
pub enum Offer {
    /// It is accepted.
    Accepted {
        /// When the last bit of the packet leaves the queue.
        depart_ns: u64,
        /// When the packet arrives at the far end of the link.
        arrive_ns: u64,
        /// Whether the link marked the packet CE.
        mark: bool,
        /// The packet's ECN bits after the link has treated it.
        ecn: u8,
    },
    /// The link holds the packet until [`Link::take`](super::Link::take) sends or drops it.
    Held {
        /// Whether the link marked the packet CE.
        mark: bool,
        /// The packet's ECN bits after the link has treated it.
        ecn: u8,
    },
    /// It was dropped.
    Dropped(Drop),
    /// It takes the place of the packet `id`, which the link holds and now drops. The caller must
    /// exchange the two packets, and then call [`Link::take`](super::Link::take).
    Replaces {
        /// The number of the older packet.
        id: u32,
    },
}

/// What [`Link::take`](super::Link::take) did, on a link that holds packets.
pub enum Turn {
    /// The link begins to send a packet.
    Sent {
        /// The packet's number.
        id: u32,
        /// Size of the IP packet.
        ip_bytes: u32,
        /// When the last bit of the packet leaves the queue.
        depart_ns: u64,
        /// When the packet arrives at the far end of the link.
        arrive_ns: u64,
        /// Whether the link marked the packet CE.
        mark: bool,
    },
    /// The link dropped the packet at the head of its queue. Call again for the next packet.
    Dropped {
        /// The packet's number.
        id: u32,
        /// The reason.
        reason: Drop,
    },
    /// The link sends nothing before this time. Call again at this time.
    At(u64),
    /// The link has nothing to send.
    Over,
}
