//! The headers of capture files in the format pcap (draft-ietf-opsawg-pcap).

use crate::error::ParseError;

const FILE: &str = "pcap";
const MAGIC_US: u32 = 0xa1b2_c3d4;
const MAGIC_NS: u32 = 0xa1b2_3c4d;

/// Size of the header of a file.
pub const FILE_HEADER_BYTES: usize = 24;
/// Size of the header of a packet.
pub const RECORD_HEADER_BYTES: usize = 16;
/// Most captured bytes of a packet. tcpdump's largest snap length is 256 KiB.
pub const MAX_RECORD_BYTES: u32 = 16 << 20;

/// What the header of a file says about its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    big_endian: bool,
    unit_ns: u32,
    /// The link type of all packets.
    pub link_type: u16,
    /// Most bytes kept of each packet.
    pub snaplen_bytes: u32,
}

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time in nanoseconds since 1970.
    pub time_ns: u64,
    /// Number of captured bytes, which follow the header.
    pub captured_len_bytes: u32,
    /// Original length of the packet.
    pub original_len_bytes: u32,
}

impl FileHeader {
    /// Whether a file with these first four bytes is a pcap file.
    #[must_use]
    pub fn is_pcap(magic: [u8; 4]) -> bool {
        let known = [MAGIC_US, MAGIC_NS];
        known.contains(&u32::from_le_bytes(magic)) || known.contains(&u32::from_be_bytes(magic))
    }

    /// Parses the header at the start of a file.
    ///
    /// # Errors
    /// The first wrong field.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let Some(header) = bytes.first_chunk::<FILE_HEADER_BYTES>() else {
            let needed = FILE_HEADER_BYTES;
            return Err(ParseError::truncated(
                FILE,
                "file header",
                0,
                needed,
                bytes.len(),
            ));
        };
        let magic = u32_at(header, 0, false);
        let (big_endian, unit_ns) = match (magic, magic.swap_bytes()) {
            (MAGIC_US, _) => (false, 1000),
            (MAGIC_NS, _) => (false, 1),
            (_, MAGIC_US) => (true, 1000),
            (_, MAGIC_NS) => (true, 1),
            _ => {
                let expected = "0xa1b2c3d4 or 0xa1b23c4d in either byte order";
                return Err(ParseError::value(
                    FILE,
                    "magic",
                    0,
                    u64::from(magic),
                    expected,
                ));
            }
        };
        // the upper half of the link type has other fields
        let link_type = u32_at(header, 20, big_endian) as u16;
        Ok(Self {
            big_endian,
            unit_ns,
            link_type,
            snaplen_bytes: u32_at(header, 16, big_endian),
        })
    }

    /// Parses the header of a packet.
    ///
    /// # Errors
    /// The wrong field, with an offset from the start of the packet's header.
    pub fn record(&self, bytes: &[u8]) -> Result<Record, ParseError> {
        let Some(header) = bytes.first_chunk::<RECORD_HEADER_BYTES>() else {
            let needed = RECORD_HEADER_BYTES;
            return Err(ParseError::truncated(
                FILE,
                "packet header",
                0,
                needed,
                bytes.len(),
            ));
        };
        let [seconds, fraction, captured, original] =
            [0, 4, 8, 12].map(|at| u32_at(header, at, self.big_endian));
        if captured > MAX_RECORD_BYTES {
            let found = u64::from(captured);
            return Err(ParseError::value(
                FILE,
                "captured length",
                8,
                found,
                "at most 16777216",
            ));
        }
        Ok(Record {
            time_ns: u64::from(seconds) * 1_000_000_000
                + u64::from(fraction) * u64::from(self.unit_ns),
            captured_len_bytes: captured,
            original_len_bytes: original.max(captured),
        })
    }
}

fn u32_at(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if big_endian {
        u32::from_be_bytes(four)
    } else {
        u32::from_le_bytes(four)
    }
}
