//! The IPv6 header and its extension headers (RFC 8200), of captured packets.

use crate::bytes::be16;
use crate::error::ParseError;

const HEADER: &str = "IPv6";

/// Size of the fixed header in bytes.
pub const FIXED_BYTES: usize = 40;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
/// RFC 8200 has at most one of each kind, except for two of destination options.
const MOST_EXTENSIONS: usize = 8;

/// A checked view of an IPv6 packet, whose payload may be cut.
///
/// The version is valid and the extension headers are complete.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6View<'a> {
    bytes: &'a [u8],
    protocol: u8,
    is_fragment: bool,
    headers_bytes: usize,
}

impl<'a> Ipv6View<'a> {
    /// Views a packet whose payload may be cut, as in a capture with a snap length. A payload
    /// length of 0 is valid: hosts that let their device cut large packets capture them so.
    ///
    /// # Errors
    /// The first wrong field.
    pub fn parse_cut(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let available = bytes.len();
        let truncated =
            |field, at, needed| ParseError::truncated(HEADER, field, at, needed, available);
        if available < FIXED_BYTES {
            return Err(truncated("fixed header", 0, FIXED_BYTES));
        }
        let version = bytes[0] >> 4;
        if version != 6 {
            return Err(ParseError::value(
                HEADER,
                "version",
                0,
                u64::from(version),
                "6",
            ));
        }
        let mut view = Self {
            bytes,
            protocol: bytes[6],
            is_fragment: false,
            headers_bytes: FIXED_BYTES,
        };
        for _ in 0..MOST_EXTENSIONS {
            let at = view.headers_bytes;
            let unit_bytes = match view.protocol {
                HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | FRAGMENT => 8,
                AUTHENTICATION => 4, // RFC 4302 counts words of four bytes, minus two
                _ => break,
            };
            let [next, length] = *bytes
                .get(at..at + 2)
                .and_then(|two| <&[u8; 2]>::try_from(two).ok())
                .ok_or_else(|| truncated("extension header", at, at + 2))?;
            let length_bytes = match view.protocol {
                FRAGMENT => 8,
                AUTHENTICATION => unit_bytes * (usize::from(length) + 2),
                _ => unit_bytes * (usize::from(length) + 1),
            };
            let end = at + length_bytes;
            if end > available {
                return Err(truncated("extension header", at, end));
            }
            if view.protocol == FRAGMENT {
                // all but the reserved bits: zero in a packet that is whole
                view.is_fragment |= be16(bytes, at + 2) & !6 != 0;
            }
            view.protocol = next;
            view.headers_bytes = end;
        }
        let stated = usize::from(view.payload_len_bytes());
        if stated > 0 {
            view.bytes = &bytes[..available.min(FIXED_BYTES + stated)];
            if view.headers_bytes > view.bytes.len() {
                let found = stated as u64;
                let expected = "at least the extension headers' length";
                return Err(ParseError::value(
                    HEADER,
                    "payload length",
                    4,
                    found,
                    expected,
                ));
            }
        }
        Ok(view)
    }

    /// Length of what follows the fixed header, as the header states it.
    #[must_use]
    pub fn payload_len_bytes(&self) -> u16 {
        be16(self.bytes, 4)
    }

    /// Length of the fixed header and the extension headers.
    #[must_use]
    pub const fn headers_len_bytes(&self) -> usize {
        self.headers_bytes
    }

    /// Protocol number of the payload after the extension headers.
    #[must_use]
    pub const fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Whether the packet is a fragment of a larger one.
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        self.is_fragment
    }

    /// Source address.
    #[must_use]
    pub fn source(&self) -> [u8; 16] {
        self.address(8)
    }

    /// Destination address.
    #[must_use]
    pub fn destination(&self) -> [u8; 16] {
        self.address(24)
    }

    fn address(&self, at: usize) -> [u8; 16] {
        let mut address = [0; 16];
        address.copy_from_slice(&self.bytes[at..at + 16]);
        address
    }

    /// What follows the extension headers, or the part of it that was captured.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.headers_bytes..]
    }
}
