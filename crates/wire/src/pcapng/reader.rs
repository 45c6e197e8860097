//! Reads pcapng from bytes in memory.

use super::{
    BLOCK_ENHANCED_PACKET, BLOCK_INTERFACE, BLOCK_SECTION, BYTE_ORDER_MAGIC, IF_NAME, IF_TSRESOL,
    OPT_COMMENT, OPT_END,
};
use crate::error::ParseError;

const FILE: &str = "pcapng";

/// One block of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Block<'a> {
    /// Start of a section. Interfaces are numbered from 0 again.
    Section {
        /// Description of the packets, if the file has one.
        comment: Option<&'a str>,
    },
    /// An interface.
    Interface(Interface<'a>),
    /// A packet.
    Packet(Packet<'a>),
}

/// An interface on which packets were captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface<'a> {
    /// The link type of the interface; 101 is RAW.
    pub link_type: u16,
    /// Bytes kept of each packet; 0 for all.
    pub snaplen_bytes: u32,
    /// Name of the interface, if the file has one.
    pub name: Option<&'a str>,
    /// if_tsresol as in the file: 9 is nanoseconds, 6 is microseconds.
    pub time_resolution: u8,
}

/// A captured packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The interface's number in the section.
    pub interface: u32,
    /// Time in nanoseconds since 1970; in a simulated capture, since the start of the run.
    pub time_ns: u64,
    /// The captured bytes of the packet, perhaps not all.
    pub bytes: &'a [u8],
    /// Original length of the packet.
    pub original_len_bytes: u32,
    /// The first comment on the packet.
    pub comment: Option<&'a str>,
}

/// Iterates over the blocks of a file in memory; stops after the first error.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    file: &'a [u8],
    at: usize,
    stream: Stream,
}

/// Decodes one block after the other, for files that are not in memory as a whole.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    has_section: bool,
    big_endian: bool,
    resolutions: Vec<u8>,
}

/// A part of the file that ends with a block, and the current position in it.
struct Body<'a> {
    file: &'a [u8],
    at: usize,
    big_endian: bool,
}

/// An option of a block, and the offset of its value in the file.
struct FileOption<'a> {
    code: u16,
    at: usize,
    value: &'a [u8],
}

impl<'a> Body<'a> {
    fn take(&mut self, field: &'static str, len: usize) -> Result<&'a [u8], ParseError> {
        let end = self.at.saturating_add(len);
        let bytes = self
            .file
            .get(self.at..end)
            .ok_or_else(|| ParseError::truncated(FILE, field, self.at, end, self.file.len()))?;
        self.at = end;
        Ok(bytes)
    }

    fn u16(&mut self, field: &'static str) -> Result<u16, ParseError> {
        let bytes = self.take(field, 2)?;
        let value = u16::from_be_bytes([bytes[0], bytes[1]]);
        Ok(if self.big_endian {
            value
        } else {
            value.swap_bytes()
        })
    }

    fn u32(&mut self, field: &'static str) -> Result<u32, ParseError> {
        let bytes = self.take(field, 4)?;
        let value = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Ok(if self.big_endian {
            value
        } else {
            value.swap_bytes()
        })
    }

    fn padded(&mut self, field: &'static str, len: usize) -> Result<&'a [u8], ParseError> {
        let bytes = self.take(field, len)?;
        self.take(field, len.wrapping_neg() % 4)?;
        Ok(bytes)
    }

    /// Returns the next option's code, offset and value; `None` at the end of the block.
    fn option(&mut self) -> Result<Option<FileOption<'a>>, ParseError> {
        if self.at == self.file.len() {
            return Ok(None);
        }
        let code = self.u16("option code")?;
        let length = self.u16("option length")?;
        let at = self.at;
        let value = self.padded("option value", usize::from(length))?;
        Ok((code != OPT_END).then_some(FileOption { code, at, value }))
    }
}

fn text<'a>(field: &'static str, at: usize, value: &'a [u8]) -> Result<&'a str, ParseError> {
    std::str::from_utf8(value).map_err(|e| {
        let bad = e.valid_up_to();
        ParseError::value(FILE, field, at + bad, u64::from(value[bad]), "UTF-8")
    })
}

impl<'a> Reader<'a> {
    /// Creates a reader of a file in memory.
    #[must_use]
    pub const fn new(file: &'a [u8]) -> Self {
        Self {
            file,
            at: 0,
            stream: Stream::new(),
        }
    }

    fn step(&mut self) -> Result<Option<Block<'a>>, ParseError> {
        while self.at < self.file.len() {
            let (block, end) = self.stream.block(self.file, self.at)?;
            self.at = end;
            if block.is_some() {
                return Ok(block);
            }
        }
        Ok(None)
    }
}

impl Stream {
    /// A stream at the beginning of its file.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            has_section: false,
            big_endian: false,
            resolutions: Vec::new(),
        }
    }

    /// Length in bytes of the block that begins with `head`, which has at least twelve bytes.
    ///
    /// # Errors
    /// A block whose first fields are wrong, with an offset from the start of the block.
    pub fn block_len_bytes(&self, head: &[u8]) -> Result<usize, ParseError> {
        let mut stream = Self {
            has_section: self.has_section,
            big_endian: self.big_endian,
            resolutions: Vec::new(),
        };
        stream.head(head, 0).map(|(_, length, _)| length)
    }

    /// Decodes the block at byte `start` of `file`. Returns it, or `None` if its type is unknown,
    /// and where it ends.
    ///
    /// # Errors
    /// The wrong field, with its offset from the start of `file`.
    pub fn block<'a>(
        &mut self,
        file: &'a [u8],
        start: usize,
    ) -> Result<(Option<Block<'a>>, usize), ParseError> {
        let (block_type, body, end) = self.frame(file, start)?;
        let block = match block_type {
            BLOCK_SECTION => Some(self.section(body)?),
            BLOCK_INTERFACE => Some(self.interface(body)?),
            BLOCK_ENHANCED_PACKET => Some(self.packet(body)?),
            _ => None,
        };
        Ok((block, end))
    }

    /// Reads a block's type and first length field.
    fn head<'a>(
        &mut self,
        file: &'a [u8],
        start: usize,
    ) -> Result<(u32, usize, Body<'a>), ParseError> {
        let mut head = Body {
            file,
            at: start,
            big_endian: self.big_endian,
        };
        let block_type = head.u32("block type")?;
        if block_type == BLOCK_SECTION {
            // The block type is the same in both byte orders; the magic number tells which order
            // the file has.
            let mut magic = Body {
                file,
                at: start + 8,
                big_endian: false,
            };
            head.big_endian = match magic.u32("byte-order magic")? {
                BYTE_ORDER_MAGIC => false,
                other if other.swap_bytes() == BYTE_ORDER_MAGIC => true,
                other => {
                    return Err(ParseError::value(
                        FILE,
                        "byte-order magic",
                        start + 8,
                        u64::from(other),
                        "0x1a2b3c4d in either byte order",
                    ))
                }
            };
            self.big_endian = head.big_endian;
            self.has_section = true;
        } else if !self.has_section {
            let found = u64::from(block_type);
            return Err(ParseError::value(
                FILE,
                "block type",
                start,
                found,
                "a section header",
            ));
        }
        let length = head.u32("block length")?;
        if length < 12 || length % 4 != 0 {
            let found = u64::from(length);
            return Err(ParseError::value(
                FILE,
                "block length",
                start + 4,
                found,
                "a multiple of 4, at least 12",
            ));
        }
        Ok((block_type, length as usize, head))
    }

    /// Checks a block's two length fields. Returns its type, its body and where it ends.
    fn frame<'a>(
        &mut self,
        file: &'a [u8],
        start: usize,
    ) -> Result<(u32, Body<'a>, usize), ParseError> {
        let (block_type, length, head) = self.head(file, start)?;
        let end = start.saturating_add(length);
        if end > file.len() {
            return Err(ParseError::truncated(FILE, "block", start, end, file.len()));
        }
        let mut tail = Body {
            at: end - 4,
            ..head
        };
        let again = tail.u32("trailing block length")?;
        if again as usize != length {
            return Err(ParseError::value(
                FILE,
                "trailing block length",
                end - 4,
                u64::from(again),
                "the block length",
            ));
        }
        let body = Body {
            file: &file[..end - 4],
            ..head
        };
        Ok((block_type, body, end))
    }

    fn section<'a>(&mut self, mut body: Body<'a>) -> Result<Block<'a>, ParseError> {
        self.resolutions.clear();
        body.take("byte-order magic", 4)?;
        let at = body.at;
        let major = body.u16("major version")?;
        if major != 1 {
            return Err(ParseError::value(
                FILE,
                "major version",
                at,
                u64::from(major),
                "1",
            ));
        }
        body.u16("minor version")?;
        body.take("section length", 8)?;
        let mut comment = None;
        while let Some(FileOption { code, at, value }) = body.option()? {
            if code == OPT_COMMENT && comment.is_none() {
                comment = Some(text("opt_comment", at, value)?);
            }
        }
        Ok(Block::Section { comment })
    }

    fn interface<'a>(&mut self, mut body: Body<'a>) -> Result<Block<'a>, ParseError> {
        let mut interface = Interface {
            link_type: body.u16("link type")?,
            snaplen_bytes: 0,
            name: None,
            // A file without the option if_tsresol has a resolution of microseconds.
            time_resolution: 6,
        };
        body.u16("reserved")?;
        interface.snaplen_bytes = body.u32("snap length")?;
        while let Some(FileOption { code, at, value }) = body.option()? {
            match code {
                IF_NAME => interface.name = Some(text("if_name", at, value)?),
                IF_TSRESOL => {
                    let [resolution] = *value else {
                        let found = value.len() as u64;
                        return Err(ParseError::value(
                            FILE,
                            "if_tsresol length",
                            at - 2,
                            found,
                            "1",
                        ));
                    };
                    interface.time_resolution = resolution;
                }
                _ => {}
            }
        }
        self.resolutions.push(interface.time_resolution);
        Ok(Block::Interface(interface))
    }

    fn packet<'a>(&mut self, mut body: Body<'a>) -> Result<Block<'a>, ParseError> {
        let at = body.at;
        let interface = body.u32("interface")?;
        let Some(&resolution) = self.resolutions.get(interface as usize) else {
            let found = u64::from(interface);
            return Err(ParseError::value(
                FILE,
                "interface",
                at,
                found,
                "an interface that was described before",
            ));
        };
        let at = body.at;
        let high = body.u32("timestamp")?;
        let ticks = u64::from(high) << 32 | u64::from(body.u32("timestamp")?);
        let time_ns = to_ns(ticks, resolution).ok_or_else(|| {
            ParseError::value(FILE, "timestamp", at, ticks, "at most 2^64 - 1 nanoseconds")
        })?;
        let at = body.at;
        let captured = body.u32("captured length")?;
        let original_len_bytes = body.u32("original length")?;
        if captured > original_len_bytes {
            let found = u64::from(captured);
            return Err(ParseError::value(
                FILE,
                "captured length",
                at,
                found,
                "at most the original length",
            ));
        }
        let bytes = body.padded("packet data", captured as usize)?;
        let mut comment = None;
        while let Some(FileOption { code, at, value }) = body.option()? {
            if code == OPT_COMMENT && comment.is_none() {
                comment = Some(text("opt_comment", at, value)?);
            }
        }
        Ok(Block::Packet(Packet {
            interface,
            time_ns,
            bytes,
            original_len_bytes,
            comment,
        }))
    }
}

/// Converts ticks of an if_tsresol to nanoseconds, rounded down. The resolution is a power of ten,
/// or of two if the top bit is set.
fn to_ns(ticks: u64, resolution: u8) -> Option<u64> {
    let per_second = match resolution {
        r if r & 0x80 != 0 => 1u128.checked_shl(u32::from(r & 0x7f)),
        r => 10u128.checked_pow(u32::from(r)),
    };
    let ns = match per_second {
        Some(per_second) => u128::from(ticks) * 1_000_000_000 / per_second,
        // Ticks are so short that even 2^64 of them are less than a nanosecond.
        None => 0,
    };
    u64::try_from(ns).ok()
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Block<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step();
        if item.is_err() {
            self.at = self.file.len();
        }
        item.transpose()
    }
}
