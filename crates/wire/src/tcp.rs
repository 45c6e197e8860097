//! The TCP header (RFC 9293 section 3.1).

use crate::bytes::{be16, be32, put16, put32};
use crate::checksum::{self, Sum};
use crate::error::ParseError;
use crate::ipv4::PROTOCOL_TCP;
use crate::options::{find, options_of, InTcp, OptionSpace, Walker, WireOption};
use std::net::Ipv4Addr;
use std::ops::{BitOr, BitOrAssign};

const HEADER: &str = "TCP";

/// Size of the header without options, in bytes.
pub const FIXED_BYTES: usize = 20;

/// The control bits, from FIN in bit 0 to AE in bit 8.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TcpFlags(u16);

impl TcpFlags {
    /// No bit.
    pub const NONE: Self = Self(0);
    /// FIN: the sender has no more data.
    pub const FIN: Self = Self(0x001);
    /// Synchronizes sequence numbers.
    pub const SYN: Self = Self(0x002);
    /// Resets the connection.
    pub const RST: Self = Self(0x004);
    /// PSH: the receiver should pass the data to the application now.
    pub const PSH: Self = Self(0x008);
    /// ACK: the acknowledgement field is valid.
    pub const ACK: Self = Self(0x010);
    /// URG: the urgent pointer is valid.
    pub const URG: Self = Self(0x020);
    /// ECE: echo of congestion experienced (RFC 3168).
    pub const ECE: Self = Self(0x040);
    /// CWR: the congestion window was reduced (RFC 3168).
    pub const CWR: Self = Self(0x080);
    /// AE: accurate ECN (RFC 9768); formerly the nonce sum.
    pub const AE: Self = Self(0x100);

    const ALL: [(Self, &'static str); 9] = [
        (Self::FIN, "FIN"),
        (Self::SYN, "SYN"),
        (Self::RST, "RST"),
        (Self::PSH, "PSH"),
        (Self::ACK, "ACK"),
        (Self::URG, "URG"),
        (Self::ECE, "ECE"),
        (Self::CWR, "CWR"),
        (Self::AE, "AE"),
    ];

    /// Flags from the bits of the header; bits above AE are reserved and ignored.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0x1ff)
    }

    /// The bits, as they are in the header.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// True if all bits that are set in `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for TcpFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for TcpFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl std::fmt::Debug for TcpFlags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = Self::ALL.iter().filter(|(flag, _)| self.contains(*flag));
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        write!(f, "TcpFlags({})", names.join("|"))
    }
}

/// A checked view of a TCP segment.
///
/// The data offset is valid and, unless the view is of a cut segment, the options are well formed.
/// [`TcpView::verify_checksum`] checks the checksum. The three reserved bits are ignored (RFC 9293 section 3.1).
#[derive(Clone, Copy, Debug)]
pub struct TcpView<'a> {
    bytes: &'a [u8],
}

impl<'a> TcpView<'a> {
    /// Views a segment, which is an IP packet's payload. The TCP header has no length field, so a
    /// cut payload is not an error.
    ///
    /// # Errors
    /// The first wrong field.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
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
        let words = bytes[12] >> 4;
        let options = options_of::<InTcp>(bytes, words, ("data offset", 12))?;
        for option in Walker::<InTcp>::new(options) {
            option?;
        }
        Ok(Self { bytes })
    }

    /// Views a segment whose options may be cut or wrong, as in a capture with a snap length.
    /// Iterating over its options may end with an error.
    ///
    /// # Errors
    /// The first wrong field.
    pub fn parse_cut(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let available = bytes.len();
        if available < FIXED_BYTES {
            let needed = FIXED_BYTES;
            return Err(ParseError::truncated(
                HEADER,
                "fixed header",
                0,
                needed,
                available,
            ));
        }
        let words = bytes[12] >> 4;
        if words < 5 {
            let found = u64::from(words);
            return Err(ParseError::value(
                HEADER,
                "data offset",
                12,
                found,
                "at least 5 words",
            ));
        }
        Ok(Self { bytes })
    }

    /// Length of the header, including its options.
    #[must_use]
    pub fn header_len_bytes(&self) -> usize {
        usize::from(self.bytes[12] >> 4) * 4
    }

    /// The sender's port.
    #[must_use]
    pub fn source_port(&self) -> u16 {
        be16(self.bytes, 0)
    }

    /// The receiver's port.
    #[must_use]
    pub fn destination_port(&self) -> u16 {
        be16(self.bytes, 2)
    }

    /// Sequence number of the first payload byte, or of the SYN.
    #[must_use]
    pub fn sequence(&self) -> u32 {
        be32(self.bytes, 4)
    }

    /// The next sequence number that the sender expects, if ACK is set.
    #[must_use]
    pub fn acknowledgement(&self) -> u32 {
        be32(self.bytes, 8)
    }

    /// The control bits.
    #[must_use]
    pub fn flags(&self) -> TcpFlags {
        TcpFlags::from_bits(be16(self.bytes, 12))
    }

    /// The receive window as sent, not scaled.
    #[must_use]
    pub fn window(&self) -> u16 {
        be16(self.bytes, 14)
    }

    /// The checksum in the header.
    #[must_use]
    pub fn checksum(&self) -> u16 {
        be16(self.bytes, 16)
    }

    /// End of urgent data, if URG is set.
    #[must_use]
    pub fn urgent_pointer(&self) -> u16 {
        be16(self.bytes, 18)
    }

    /// Iterates over the options.
    #[must_use]
    pub fn options(&self) -> Walker<'a, InTcp> {
        Walker::new(&self.bytes[FIXED_BYTES..self.header_len_bytes().min(self.bytes.len())])
    }

    /// Returns the first option of a type, `None` if there is none.
    ///
    /// # Errors
    /// The option exists and one of its fields is wrong.
    pub fn option<O: WireOption<Carrier = InTcp>>(&self) -> Result<Option<O>, ParseError> {
        find(self.options())
    }

    /// The data, or the part of it that was captured.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len_bytes().min(self.bytes.len())..]
    }

    /// Checks the checksum of a whole segment between two hosts.
    ///
    /// # Errors
    /// The checksum in the header and the correct one, or a segment that is longer than IPv4
    /// allows.
    pub fn verify_checksum(
        &self,
        source: Ipv4Addr,
        destination: Ipv4Addr,
    ) -> Result<(), ParseError> {
        let length = checksum::segment_length(HEADER, self.bytes)?;
        let (before, after) = self.bytes.split_at(16);
        let sum = Sum::pseudo_header(source, destination, PROTOCOL_TCP, length);
        let computed = sum.plus(before).plus(&after[2..]).finish();
        checksum::compare(HEADER, 16, self.checksum(), computed)
    }
}

/// A TCP header as a plain value. [`TcpRepr::emit`] sets data offset and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpRepr {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Sequence number of the first payload byte, or of the SYN.
    pub sequence: u32,
    /// The next sequence number that the sender expects.
    pub acknowledgement: u32,
    /// The control bits.
    pub flags: TcpFlags,
    /// The receive window as sent, not scaled.
    pub window: u16,
    /// End of urgent data.
    pub urgent_pointer: u16,
    /// The options.
    pub options: OptionSpace<InTcp>,
}

impl TcpRepr {
    /// Copies a view to a value.
    ///
    /// # Errors
    /// A wrong option in a view of a cut segment.
    pub fn from_view(view: &TcpView<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            source_port: view.source_port(),
            destination_port: view.destination_port(),
            sequence: view.sequence(),
            acknowledgement: view.acknowledgement(),
            flags: view.flags(),
            window: view.window(),
            urgent_pointer: view.urgent_pointer(),
            options: OptionSpace::parse(
                &view.bytes[FIXED_BYTES..view.header_len_bytes().min(view.bytes.len())],
            )?,
        })
    }

    /// Length of the emitted header.
    #[must_use]
    pub const fn header_len_bytes(&self) -> usize {
        FIXED_BYTES + self.options.padded_len_bytes()
    }

    /// Writes the header into the first [`TcpRepr::header_len_bytes`] bytes of `segment`, with the
    /// checksum of the whole of `segment`. The payload must already be in `segment`.
    ///
    /// # Panics
    /// If `segment` is shorter than the header or longer than 65,535 bytes.
    pub fn emit(&self, source: Ipv4Addr, destination: Ipv4Addr, segment: &mut [u8]) {
        let length = u16::try_from(segment.len()).expect("a segment fits an IPv4 packet");
        let header_len = self.header_len_bytes();
        let header = &mut segment[..header_len];
        put16(header, 0, self.source_port);
        put16(header, 2, self.destination_port);
        put32(header, 4, self.sequence);
        put32(header, 8, self.acknowledgement);
        put16(
            header,
            12,
            (header_len as u16 / 4) << 12 | self.flags.bits(),
        );
        put16(header, 14, self.window);
        put16(header, 16, 0);
        put16(header, 18, self.urgent_pointer);
        header[FIXED_BYTES..].copy_from_slice(self.options.as_bytes());
        let sum = Sum::pseudo_header(source, destination, PROTOCOL_TCP, length);
        let sum = sum.plus(segment).finish();
        put16(segment, 16, sum);
    }
}
