//! Packets in flight. They are kept in a slab, so that no packet needs an allocation.

use headway_algorithms::{Carrier, Fields, HeaderInfo};

/// The TCP flags a packet can carry, as in the header's flag octet.
pub mod flags {
    /// FIN: the sender has no more data.
    pub const FIN: u8 = 0x01;
    /// Synchronise.
    pub const SYN: u8 = 0x02;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 0x10;
    /// ECE: the receiver has got a CE mark; in a SYN or SYN-ACK, ECN is requested or accepted.
    pub const ECE: u8 = 0x40;
    /// CWR: the sender has reduced its window; in a SYN, ECN is requested.
    pub const CWR: u8 = 0x80;
}

/// The two ECN bits of IPv4 (RFC 3168 section 5).
pub mod ecn {
    /// The packet is not capable of ECN.
    pub const NOT_ECT: u8 = 0;
    /// ECN-capable, ECT(1).
    pub const ECT_1: u8 = 1;
    /// ECN-capable, ECT(0).
    pub const ECT_0: u8 = 2;
    /// Congestion was experienced.
    pub const CE: u8 = 3;
}

/// Further properties of a packet, as bits.
pub mod about {
    /// SYN only: SACK is offered.
    pub const SACK_PERMITTED: u8 = 1;
    /// UDP, not TCP.
    pub const UDP: u8 = 2;
    /// The first SACK block is a D-SACK.
    pub const DSACK: u8 = 4;
    /// A link has damaged the packet; its receiver drops it.
    pub const CORRUPT: u8 = 8;
    /// ICMP, not TCP: a router could not send the described packet, because it is too big. The
    /// fields are those of that packet, with these exceptions: `route` and `hop` are those of the
    /// message, and `ip_id` has the MTU.
    pub const TOO_BIG: u8 = 16;
    /// The TCP flag AE (RFC 9768), which has no place in [`flags`](super::flags).
    pub const AE: u8 = 32;
    /// Properties of packets that do not reach a TCP socket as segments.
    pub const NO_SEGMENT: u8 = UDP | CORRUPT | TOO_BIG;
}

/// The decoded fields of the protocol headers that a packet carries: one in an IP option, one in a
/// TCP option. [`Packet::headers`] identifies them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// Fields of the header in an IP option; valid if [`Packet::ip_header`] is not 0.
    pub ip: Fields,
    /// Fields of the header in a TCP option; valid if [`Packet::tcp_header`] is not 0.
    pub tcp: Fields,
}

/// The acknowledgement of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Acknowledgement number, as on the wire.
    pub number: u32,
    /// The segment's flags ECE and CWR, and in bit 0 its flag AE.
    pub ecn_flags: u8,
    /// Whether the segment has only an acknowledgement: neither data nor other flags, SACK blocks or
    /// options of protocols.
    pub is_pure: bool,
}

/// Number of Accurate ECN's option among the headers in TCP options. It is no header of the
/// registry: sockets send it by themselves.
pub const ACCURATE_ECN_OPTION: u8 = 15;

/// The IP TTL with which every packet leaves its host (Linux). Each link between routers decrements
/// it.
pub const INITIAL_TTL: u8 = 64;

/// A SACK block relative to the acknowledgement number. A D-SACK block may be below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First byte, relative to `ack`.
    pub start: i32,
    /// Bytes.
    pub len: u32,
}

/// One IP packet. Sequence numbers are stream offsets (the SYN is byte 0) and never wrap. The
/// capture converts them to the 32-bit numbers of the wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// Sequence number of the first byte; for UDP, the datagram's number.
    pub seq: u64,
    /// Next byte expected.
    pub ack: u64,
    /// When the application or TCP passed the packet to IP.
    pub sent_ns: u64,
    /// Size of the IP packet.
    pub ip_bytes: u32,
    /// Payload bytes, not counting SYN and FIN.
    pub payload_bytes: u32,
    /// Number of the socket that receives the packet; for UDP, of the flow.
    pub to: u32,
    /// The packet's flow.
    pub flow: u32,
    /// Number of the packet's route.
    pub route: u32,
    /// Receive window in bytes, not divided by the window scale.
    pub window_bytes: u32,
    /// Timestamp value, milliseconds; 0 without the option.
    pub ts_val_ms: u32,
    /// Timestamp echo.
    pub ts_ecr_ms: u32,
    /// IP identification, if the sender counts its packets in it, as sockets do whose control has a
    /// header. Otherwise 0.
    pub ip_id: u16,
    /// Number of links that the packet has crossed on its route.
    pub hop: u8,
    /// TCP flags.
    pub flags: u8,
    /// IPv4 ECN bits.
    pub ecn: u8,
    /// Number of SACK blocks. The blocks are stored in the slab.
    pub n_sack: u8,
    /// Further properties ([`about`]).
    pub about: u8,
    /// Numbers of the protocol headers that the packet carries. The lower half is for the header in
    /// an IP option, the upper half for the one in a TCP option; 0 stands for none. The headers'
    /// fields are stored in the slab.
    pub headers: u8,
}

impl Packet {
    /// Whether the packet has all these properties ([`about`]).
    #[inline(always)]
    #[must_use]
    pub fn is(&self, about: u8) -> bool {
        self.about & about == about
    }

    /// The IP TTL of a packet that has crossed this many links between routers.
    #[must_use]
    pub fn ttl(links: u8) -> u8 {
        INITIAL_TTL.wrapping_sub(links)
    }

    /// The acknowledgement of a TCP segment; None if the packet has none.
    #[must_use]
    pub(crate) fn acked(&self) -> Option<Acked> {
        if self.about & about::NO_SEGMENT & !about::CORRUPT != 0 || self.flags & flags::ACK == 0 {
            return None;
        }
        let echoes = flags::ECE | flags::CWR;
        Some(Acked {
            number: self.ack as u32,
            ecn_flags: self.flags & echoes | u8::from(self.is(about::AE)),
            is_pure: self.flags & !echoes == flags::ACK
                && self.payload_bytes == 0
                && self.n_sack == 0
                && self.headers == 0,
        })
    }

    /// Number of the header in an IP option; 0: none.
    #[must_use]
    pub fn ip_header(&self) -> u8 {
        self.headers & 0x0f
    }

    /// Number of the header in a TCP option; 0: none.
    #[must_use]
    pub fn tcp_header(&self) -> u8 {
        self.headers >> 4
    }

    /// Adds a header in an option to the packet's size and its header numbers. Its fields are
    /// passed when the packet is sent.
    pub fn carry(&mut self, header: &HeaderInfo) {
        let number = match header.carrier {
            Carrier::IpOption => header.number,
            Carrier::TcpOption => header.number << 4,
            Carrier::EcnBits => return,
        };
        self.headers |= number;
        self.ip_bytes += u32::from(header.wire_bytes);
    }
}

// A packet fills one cache line: moving packets in and out of the cache is most of the engine's
// work.
const _: () = assert!(size_of::<Packet>() == 64);

/// The SACK blocks of a packet, newest first. The packet's `n_sack` tells how many are valid.
pub type Sacks = [SackBlock; 4];

/// All packets that are in the network.
#[derive(Default)]
pub struct Slab {
    packets: Vec<Packet>,
    /// SACK blocks by packet number; valid only for packets with `n_sack` above 0, which are rare.
    sacks: Vec<Sacks>,
    /// Headers by packet number, up to the highest number of a packet that had headers: empty in
    /// most runs.
    headers: Vec<Headers>,
    free: Vec<u32>,
}

impl Slab {
    /// Stores a packet and returns its number.
    #[inline(always)]
    pub fn insert(&mut self, packet: Packet, sacks: &Sacks) -> u32 {
        let id = if let Some(id) = self.free.pop() {
            self.packets[id as usize] = packet;
            id
        } else {
            self.packets.push(packet);
            self.sacks.push(Sacks::default());
            (self.packets.len() - 1) as u32
        };
        if packet.n_sack > 0 {
            self.sacks[id as usize] = *sacks;
        }
        id
    }

    /// The SACK blocks of the packet with this number.
    #[inline]
    pub fn sacks(&self, id: u32) -> Sacks {
        if self[id].n_sack > 0 {
            self.sacks[id as usize]
        } else {
            Sacks::default()
        }
    }

    /// Sets the fields of the headers that a packet carries.
    #[cold]
    pub fn set_headers(&mut self, id: u32, headers: &Headers) {
        let at = id as usize;
        if self.headers.len() <= at {
            self.headers.resize(at + 1, Headers::default());
        }
        self.headers[at] = *headers;
    }

    /// The headers of the packet with this number.
    #[inline]
    pub fn headers(&self, id: u32) -> Headers {
        if self[id].headers != 0 {
            self.headers[id as usize]
        } else {
            Headers::default()
        }
    }

    /// The fields of a packet's headers, mutable for routers.
    pub fn headers_mut(&mut self, id: u32) -> &mut Headers {
        &mut self.headers[id as usize]
    }

    /// A packet with its SACK blocks and header fields.
    pub fn whole(&self, id: u32) -> (Packet, Sacks, Headers) {
        (self[id], self.sacks(id), self.headers(id))
    }

    /// All packets, and what is left of packets that have left the network; for tests that change
    /// packets on their way.
    #[cfg(test)]
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Packet> {
        self.packets.iter_mut()
    }

    /// Exchanges the content of two packets that have neither SACK blocks nor headers.
    pub fn swap(&mut self, a: u32, b: u32) {
        self.packets.swap(a as usize, b as usize);
    }

    /// Frees a packet's number for another packet.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.free.push(id);
    }

    /// The packets in the network, in the order of their numbers. Takes time linear in the largest
    /// number of packets so far.
    pub fn inside(&self) -> impl Iterator<Item = &Packet> {
        let mut is_free = vec![false; self.packets.len()];
        for &id in &self.free {
            is_free[id as usize] = true;
        }
        let all = self.packets.iter().zip(is_free);
        all.filter(|(_, is_free)| !is_free)
            .map(|(packet, _)| packet)
    }

    /// Number of packets in the network.
    pub fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// True when no packet is in the network.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::ops::Index<u32> for Slab {
    type Output = Packet;
    #[inline(always)]
    fn index(&self, id: u32) -> &Packet {
        &self.packets[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Slab {
    #[inline(always)]
    fn index_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.packets[id as usize]
    }
}
