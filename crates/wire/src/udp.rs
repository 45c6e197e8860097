//! The UDP header (RFC 768).

use crate::bytes::{be16, put16};
use crate::checksum::{self, Sum};
use crate::error::ParseError;
use crate::ipv4::PROTOCOL_UDP;
use std::net::Ipv4Addr;

const HEADER: &str = "UDP";

/// Size of the UDP header in bytes.
pub const HEADER_BYTES: usize = 8;

/// A checked view of a UDP datagram.
///
/// The length is valid. [`UdpView::verify_checksum`] checks the checksum.
#[derive(Clone, Copy, Debug)]
pub struct UdpView<'a> {
    bytes: &'a [u8],
}

impl<'a> UdpView<'a> {
    /// Views a whole datagram; bytes after its length are ignored.
    ///
    /// # Errors
    /// The first wrong field.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let view = Self::parse_cut(bytes)?;
        let length = usize::from(view.len_bytes());
        match bytes.get(..length) {
            Some(bytes) => Ok(Self { bytes }),
            None => Err(ParseError::truncated(
                HEADER,
                "payload",
                HEADER_BYTES,
                length,
                bytes.len(),
            )),
        }
    }

    /// Views a datagram whose payload may be cut, as in a capture with a snap length.
    ///
    /// # Errors
    /// The first wrong field.
    pub fn parse_cut(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let available = bytes.len();
        if available < HEADER_BYTES {
            return Err(ParseError::truncated(
                HEADER,
                "header",
                0,
                HEADER_BYTES,
                available,
            ));
        }
        let length = be16(bytes, 4);
        if usize::from(length) < HEADER_BYTES {
            return Err(ParseError::value(
                HEADER,
                "length",
                4,
                u64::from(length),
                "at least 8",
            ));
        }
        let end = available.min(usize::from(length));
        Ok(Self {
            bytes: &bytes[..end],
        })
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

    /// Length of header and payload, as the header states it.
    #[must_use]
    pub fn len_bytes(&self) -> u16 {
        be16(self.bytes, 4)
    }

    /// The checksum in the header; 0 if the sender computed none.
    #[must_use]
    pub fn checksum(&self) -> u16 {
        be16(self.bytes, 6)
    }

    /// The payload, or the part of it that was captured.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..]
    }

    /// Checks the checksum of a whole datagram between two hosts; a datagram without a checksum is
    /// valid.
    ///
    /// # Errors
    /// The checksum in the header and the correct one.
    pub fn verify_checksum(
        &self,
        source: Ipv4Addr,
        destination: Ipv4Addr,
    ) -> Result<(), ParseError> {
        if self.checksum() == 0 {
            return Ok(());
        }
        let (before, after) = self.bytes.split_at(6);
        let sum = Sum::pseudo_header(source, destination, PROTOCOL_UDP, self.len_bytes());
        let computed = sum.plus(before).plus(&after[2..]).finish();
        checksum::compare(HEADER, 6, self.checksum(), computed)
    }
}

/// A UDP header as a plain value. [`UdpRepr::emit`] sets length and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpRepr {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
}

impl UdpRepr {
    /// Copies a view to a value.
    #[must_use]
    pub fn from_view(view: &UdpView<'_>) -> Self {
        Self {
            source_port: view.source_port(),
            destination_port: view.destination_port(),
        }
    }

    /// Writes the header into the first eight bytes of `datagram`, with the checksum of the whole
    /// of `datagram`. The payload must already be in `datagram`.
    ///
    /// # Panics
    /// If `datagram` is shorter than the header or longer than 65,535 bytes.
    pub fn emit(&self, source: Ipv4Addr, destination: Ipv4Addr, datagram: &mut [u8]) {
        let length = u16::try_from(datagram.len()).expect("a datagram fits an IPv4 packet");
        put16(datagram, 0, self.source_port);
        put16(datagram, 2, self.destination_port);
        put16(datagram, 4, length);
        put16(datagram, 6, 0);
        let sum = Sum::pseudo_header(source, destination, PROTOCOL_UDP, length);
        let sum = sum.plus(datagram).finish();
        // RFC 768: a checksum of zero is sent as all ones, because a zero means that the sender
        // computed none.
        put16(datagram, 6, if sum == 0 { 0xffff } else { sum });
    }
}
