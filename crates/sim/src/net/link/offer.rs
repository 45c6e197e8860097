//! What is said between a link and who offers it packets: the packet, what became of it, and
//! whose turn it is on a link that holds packets.

use crate::net::packet::Headers;
use headway_algorithms::{Carrier, Fields, HeaderInfo, PacketView};

/// Why a packet was not carried, as in the table of drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// No room in the queue.
    Full = 0,
    /// Random loss.
    Loss = 1,
    /// The queue's algorithm dropped it early.
    Early = 2,
    /// It had IP options, on a link that carries none.
    Options = 3,
    /// It asked for ECN, on a link that drops such SYNs.
    EcnSyn = 4,
}

/// A packet that is offered to a link.
pub struct Offered<'a> {
    /// By which its owner knows it again, where the link holds it.
    pub id: u32,
    /// Whole IP packet.
    pub ip_bytes: u32,
    /// IPv4 ECN bits.
    pub ecn: u8,
    /// Identification of its IP header, as [`crate::net::packet::Packet::ip_id`] says.
    pub ip_id: u16,
    /// Whose it is.
    pub flow: u32,
    /// Which way of the flow it goes.
    pub route: u32,
    /// The socket that receives it, which tells the connections of a sender apart.
    pub to: u32,
    /// It opens a connection.
    pub opens: bool,
    /// Its IPv4 header has options.
    pub ip_options: bool,
    /// Which headers it carries, as [`crate::net::packet::Packet::headers`] says.
    pub carried: u8,
    /// Their fields, which the link's routers may change.
    pub headers: Option<&'a mut Headers>,
}

impl Offered<'_> {
    /// The packet as algorithms of a link see it.
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

    /// The fields of a header, if the packet carries it; those of ECN bits are read into
    /// `bits`.
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

/// How algorithms tell senders apart: each direction of a host pair is one.
fn sender_of(route: u32) -> u64 {
    (u64::from(route) + 1) << 32
}

/// What a link that duplicates and reorders does to a packet on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disturbance {
    /// How long the packet is held back.
    pub late_ns: u64,
    /// How long its copy is held back, if it arrives twice.
    pub copy_late_ns: Option<u64>,
}

/// What happened to an offered packet.
pub enum Offer {
    /// It will be at the far end at this time.
    Accepted {
        /// When its last bit has left.
        depart_ns: u64,
        /// At the far end.
        arrive_ns: u64,
        /// With congestion experienced.
        mark: bool,
        /// Its ECN bits now.
        ecn: u8,
    },
    /// It waits for its turn ([`Link::take`]).
    Held {
        /// With congestion experienced.
        mark: bool,
        /// Its ECN bits now.
        ecn: u8,
    },
    /// It is gone.
    Dropped(Drop),
}

/// What a link that holds packets does now.
pub enum Turn {
    /// It begins to send a packet.
    Sent {
        /// Which one.
        id: u32,
        /// When its last bit has left.
        depart_ns: u64,
        /// When it will be at the far end.
        arrive_ns: u64,
        /// With congestion experienced.
        mark: bool,
    },
    /// A packet is gone; there may be others.
    Dropped {
        /// Which one.
        id: u32,
        /// Why.
        reason: Drop,
    },
    /// Nothing before this time, when it wants to be asked again.
    At(u64),
    /// Nothing: it holds no packet, or was told to be asked at a time that comes.
    Over,
}
