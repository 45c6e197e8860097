//! The IPv4 header (RFC 791), with the bits of RFC 2474 (DSCP) and RFC 3168 (ECN).

use crate::bytes::{be16, put16};
use crate::checksum;
use crate::error::ParseError;
use crate::options::{find, options_of, InIpv4, OptionSpace, Walker, WireOption};
use std::net::Ipv4Addr;

const HEADER: &str = "IPv4";

/// Size of the header without options, in bytes.
pub const FIXED_BYTES: usize = 20;
/// The protocol number of ICMP.
pub const PROTOCOL_ICMP: u8 = 1;
/// The protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// The protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// The ECN field of RFC 3168 section 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// The packet is ECN-capable; this code point also identifies L4S traffic (RFC 9331).
    Ect1 = 1,
    /// ECN-capable.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The code point in the two lowest bits of `bits`; other bits are ignored.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// A checked view of an IPv4 packet.
///
/// The version and both lengths are valid and the options are well formed.
/// [`Ipv4View::verify_checksum`] checks the checksum.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4View<'a> {
    bytes: &'a [u8],
}

impl<'a> Ipv4View<'a> {
    /// Views a whole packet; bytes after its total length are ignored.
    ///
    /// # Errors
    /// The first wrong field.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let view = Self::parse_cut(bytes)?;
        let total = usize::from(view.total_len_bytes());
        if total == 0 {
            let expected = "at least the header length";
            return Err(ParseError::value(HEADER, "total length", 2, 0, expected));
        }
        match bytes.get(..total) {
            Some(bytes) => Ok(Self { bytes }),
            None => Err(ParseError::truncated(
                HEADER,
                "payload",
                view.header_len_bytes(),
                total,
                bytes.len(),
            )),
        }
    }

    /// Views a packet whose payload may be cut, as in a capture with a snap length. A total length
    /// of 0 is valid: hosts that let their device cut large packets capture them so.
    ///
    /// # Errors
    /// The first wrong field.
    pub fn parse_cut(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let available = bytes.len();
        if available < FIXED_BYTES {
            return Err(ParseError::truncated(
                HEADER,
                "fixed header",
                0,
                FIXED_BYTES,
                available,
            ));
        }
        let version = bytes[0] >> 4;
        if version != 4 {
            return Err(ParseError::value(
                HEADER,
                "version",
                0,
                u64::from(version),
                "4",
            ));
        }
        let words = bytes[0] & 0x0f;
        let options = options_of::<InIpv4>(bytes, words, ("header length", 0))?;
        let total = match be16(bytes, 2) {
            0 => u16::MAX,
            total => total,
        };
        if usize::from(total) < FIXED_BYTES + options.len() {
            return Err(ParseError::value(
                HEADER,
                "total length",
                2,
                u64::from(total),
                "at least the header length",
            ));
        }
        for option in Walker::<InIpv4>::new(options) {
            option?;
        }
        let end = available.min(usize::from(total));
        Ok(Self {
            bytes: &bytes[..end],
        })
    }

    /// Length of the header, including its options.
    #[must_use]
    pub fn header_len_bytes(&self) -> usize {
        usize::from(self.bytes[0] & 0x0f) * 4
    }

    /// Length of header and payload, as the header states it.
    #[must_use]
    pub fn total_len_bytes(&self) -> u16 {
        be16(self.bytes, 2)
    }

    /// The differentiated services code point, 0 to 63.
    #[must_use]
    pub fn dscp(&self) -> u8 {
        self.bytes[1] >> 2
    }

    /// The ECN field.
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.bytes[1])
    }

    /// The identification, which all fragments of a packet share.
    #[must_use]
    pub fn identification(&self) -> u16 {
        be16(self.bytes, 4)
    }

    /// True if routers must not fragment the packet.
    #[must_use]
    pub fn dont_fragment(&self) -> bool {
        be16(self.bytes, 6) & DONT_FRAGMENT != 0
    }

    /// True on all fragments of a packet except the last.
    #[must_use]
    pub fn more_fragments(&self) -> bool {
        be16(self.bytes, 6) & MORE_FRAGMENTS != 0
    }

    /// Offset of this fragment in its packet, in units of eight bytes.
    #[must_use]
    pub fn fragment_offset_words(&self) -> u16 {
        be16(self.bytes, 6) & FRAGMENT_OFFSET
    }

    /// Remaining hops.
    #[must_use]
    pub fn ttl(&self) -> u8 {
        self.bytes[8]
    }

    /// Protocol number of the payload.
    #[must_use]
    pub fn protocol(&self) -> u8 {
        self.bytes[9]
    }

    /// The checksum in the header.
    #[must_use]
    pub fn checksum(&self) -> u16 {
        be16(self.bytes, 10)
    }

    /// Source address.
    #[must_use]
    pub fn source(&self) -> Ipv4Addr {
        self.address(12)
    }

    /// Destination address.
    #[must_use]
    pub fn destination(&self) -> Ipv4Addr {
        self.address(16)
    }

    fn address(&self, at: usize) -> Ipv4Addr {
        let b = self.bytes;
        Ipv4Addr::new(b[at], b[at + 1], b[at + 2], b[at + 3])
    }

    /// Iterates over the options.
    #[must_use]
    pub fn options(&self) -> Walker<'a, InIpv4> {
        Walker::new(&self.bytes[FIXED_BYTES..self.header_len_bytes()])
    }

    /// Returns the first option of a type, `None` if there is none.
    ///
    /// # Errors
    /// The option exists and one of its fields is wrong.
    pub fn option<O: WireOption<Carrier = InIpv4>>(&self) -> Result<Option<O>, ParseError> {
        find(self.options())
    }

    /// The payload, or the part of it that was captured.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len_bytes()..]
    }

    /// Checks the header's checksum.
    ///
    /// # Errors
    /// The checksum in the header and the correct one.
    pub fn verify_checksum(&self) -> Result<(), ParseError> {
        let (before, after) = self.bytes[..self.header_len_bytes()].split_at(10);
        let computed = checksum::Sum::new().plus(before).plus(&after[2..]).finish();
        checksum::compare(HEADER, 10, self.checksum(), computed)
    }
}

/// An IPv4 header as a plain value. [`Ipv4Repr::emit`] sets lengths and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Repr {
    /// The differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// The identification, which all fragments of a packet share.
    pub identification: u16,
    /// Whether routers must not fragment the packet.
    pub dont_fragment: bool,
    /// Whether more fragments follow: true on all fragments except the last.
    pub more_fragments: bool,
    /// Offset of this fragment in its packet, in units of eight bytes, 0 to 8191.
    pub fragment_offset_words: u16,
    /// Remaining hops.
    pub ttl: u8,
    /// Protocol number of the payload.
    pub protocol: u8,
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// The options.
    pub options: OptionSpace<InIpv4>,
}

impl Ipv4Repr {
    /// An unfragmented packet between two hosts: TTL 64, DF set, no options.
    #[must_use]
    pub const fn new(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8) -> Self {
        Self {
            dscp: 0,
            ecn: Ecn::NotEct,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset_words: 0,
            // The default of RFC 1700, which Linux also uses.
            ttl: 64,
            protocol,
            source,
            destination,
            options: OptionSpace::new(),
        }
    }

    /// Copies a view to a value.
    ///
    /// # Errors
    /// None in practice: the view has checked everything, and the options are checked again.
    pub fn from_view(view: &Ipv4View<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            dscp: view.dscp(),
            ecn: view.ecn(),
            identification: view.identification(),
            dont_fragment: view.dont_fragment(),
            more_fragments: view.more_fragments(),
            fragment_offset_words: view.fragment_offset_words(),
            ttl: view.ttl(),
            protocol: view.protocol(),
            source: view.source(),
            destination: view.destination(),
            options: OptionSpace::parse(&view.bytes[FIXED_BYTES..view.header_len_bytes()])?,
        })
    }

    /// Length of the emitted header.
    #[must_use]
    pub const fn header_len_bytes(&self) -> usize {
        FIXED_BYTES + self.options.padded_len_bytes()
    }

    /// Writes the header, with its checksum, into the first [`Ipv4Repr::header_len_bytes`] bytes of
    /// `out`. Bits that do not fit their field are dropped.
    ///
    /// # Panics
    /// If `out` is shorter than the header.
    pub fn emit(&self, total_len_bytes: u16, out: &mut [u8]) {
        let header_len = self.header_len_bytes();
        let out = &mut out[..header_len];
        out[0] = 0x40 | (header_len / 4) as u8;
        out[1] = self.dscp << 2 | self.ecn as u8;
        put16(out, 2, total_len_bytes);
        put16(out, 4, self.identification);
        let mut fragment = self.fragment_offset_words & FRAGMENT_OFFSET;
        if self.dont_fragment {
            fragment |= DONT_FRAGMENT;
        }
        if self.more_fragments {
            fragment |= MORE_FRAGMENTS;
        }
        put16(out, 6, fragment);
        out[8] = self.ttl;
        out[9] = self.protocol;
        put16(out, 10, 0);
        out[12..16].copy_from_slice(&self.source.octets());
        out[16..20].copy_from_slice(&self.destination.octets());
        out[20..].copy_from_slice(self.options.as_bytes());
        let sum = checksum::of(out);
        put16(out, 10, sum);
    }
}
