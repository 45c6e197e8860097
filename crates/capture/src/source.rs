//! Frames of a pcap or pcapng file, read through a window of bounded size.

use headway_wire::pcap::{FileHeader, FILE_HEADER_BYTES, RECORD_HEADER_BYTES};
use headway_wire::pcapng::{Block, Stream};
use headway_wire::ParseError;
use std::io::{ErrorKind, Read};

/// Size of the window, first and later: short files need little memory.
const FIRST_WINDOW_BYTES: usize = 1 << 14;
const WINDOW_BYTES: usize = 1 << 20;
/// Largest block of a pcapng file; the largest packet and its options need less.
const MAX_BLOCK_BYTES: usize = 32 << 20;
/// Bytes with a block's type, its length and the byte order.
const BLOCK_HEAD_BYTES: usize = 12;
/// Most interfaces of a pcapng section; their link types are kept.
const MAX_INTERFACES: usize = 4096;

/// A captured frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Number of the interface in the file; 0 in a pcap file.
    pub interface: u32,
    pub link_type: u16,
    /// Nanoseconds since 1970; `None` if they do not fit.
    pub time_ns: Option<i64>,
    pub original_len_bytes: u32,
    pub bytes: &'a [u8],
}

#[derive(Debug)]
enum Format {
    Pcap(FileHeader),
    Pcapng {
        stream: Stream,
        link_types: Vec<u16>,
    },
}

#[derive(Debug)]
pub(crate) struct Source<R> {
    window: Window<R>,
    format: Format,
}

impl<R: Read> Source<R> {
    /// Recognizes the format by the first bytes.
    pub fn new(input: R) -> Result<Self, String> {
        let mut window = Window::new(input);
        let magic = match window.peek(4)? {
            Some(bytes) => [bytes[0], bytes[1], bytes[2], bytes[3]],
            None => return Err("not a capture: fewer than 4 bytes".to_owned()),
        };
        let format = if FileHeader::is_pcap(magic) {
            let all = window.peek_up_to(FILE_HEADER_BYTES)?;
            let header = FileHeader::parse(all).map_err(|e| e.to_string())?;
            window.advance(FILE_HEADER_BYTES);
            Format::Pcap(header)
        } else if magic == [0x0a, 0x0d, 0x0d, 0x0a] {
            let stream = Stream::new();
            let link_types = Vec::new();
            Format::Pcapng { stream, link_types }
        } else {
            return Err("not a capture: begins like neither pcap nor pcapng".to_owned());
        };
        Ok(Self { window, format })
    }

    pub const fn read_bytes(&self) -> u64 {
        self.window.base + self.window.at as u64
    }

    /// The next frame, `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, String> {
        match &mut self.format {
            Format::Pcap(header) => record(&mut self.window, header),
            Format::Pcapng { stream, link_types } => {
                let found = packet(&mut self.window, stream, link_types)?;
                Ok(found.map(|at| self.window.frame(at)))
            }
        }
    }
}

fn record<'a, R: Read>(
    window: &'a mut Window<R>,
    header: &FileHeader,
) -> Result<Option<Frame<'a>>, String> {
    let head = window.peek_up_to(RECORD_HEADER_BYTES)?;
    if head.is_empty() {
        return Ok(None);
    }
    let record = header.record(head);
    let record = record.map_err(|e| window.located(e))?;
    window.advance(RECORD_HEADER_BYTES);
    let len = record.captured_len_bytes as usize;
    let bytes = window.take(len, "packet")?;
    Ok(Some(Frame {
        interface: 0,
        link_type: header.link_type,
        time_ns: i64::try_from(record.time_ns).ok(),
        original_len_bytes: record.original_len_bytes,
        bytes,
    }))
}

/// A packet in the window: its place outlives the block's borrow.
struct Place {
    interface: u32,
    link_type: u16,
    time_ns: Option<i64>,
    original_len_bytes: u32,
    offset: usize,
    len: usize,
}

/// Reads blocks up to the next packet.
fn packet<R: Read>(
    window: &mut Window<R>,
    stream: &mut Stream,
    link_types: &mut Vec<u16>,
) -> Result<Option<Place>, String> {
    loop {
        let head = window.peek_up_to(BLOCK_HEAD_BYTES)?;
        if head.is_empty() {
            return Ok(None);
        }
        let length = stream.block_len_bytes(head);
        let length = length.map_err(|e| window.located(e))?;
        if length > MAX_BLOCK_BYTES {
            return Err(format!(
                "pcapng: block length at byte {}: is {length}, must be at most {MAX_BLOCK_BYTES}",
                window.base + window.at as u64 + 4
            ));
        }
        window.fill(length)?;
        let start = window.at;
        let end = window.end.min(start + length);
        let block = stream.block(&window.bytes[start..end], 0);
        let (block, _) = block.map_err(|e| window.located(e))?;
        let place = match block {
            Some(Block::Section { .. }) => {
                link_types.clear();
                None
            }
            Some(Block::Interface(interface)) => {
                if link_types.len() == MAX_INTERFACES {
                    return Err(format!("pcapng: more than {MAX_INTERFACES} interfaces"));
                }
                link_types.push(interface.link_type);
                None
            }
            Some(Block::Packet(packet)) => Some(Place {
                interface: packet.interface,
                link_type: link_types
                    .get(packet.interface as usize)
                    .copied()
                    .unwrap_or(0),
                time_ns: i64::try_from(packet.time_ns).ok(),
                original_len_bytes: packet.original_len_bytes,
                // fixed fields of an enhanced packet block
                offset: start + 28,
                len: packet.bytes.len(),
            }),
            _ => None,
        };
        window.advance(length);
        if place.is_some() {
            return Ok(place);
        }
    }
}

/// A part of the input in memory.
#[derive(Debug)]
struct Window<R> {
    input: R,
    bytes: Vec<u8>,
    /// Start and end of the bytes that are not consumed yet.
    at: usize,
    end: usize,
    /// Offset of the window's first byte in the file.
    base: u64,
    is_at_end: bool,
}

impl<R: Read> Window<R> {
    fn new(input: R) -> Self {
        Self {
            input,
            bytes: vec![0; FIRST_WINDOW_BYTES],
            at: 0,
            end: 0,
            base: 0,
            is_at_end: false,
        }
    }

    /// Reads until the window has `needed` bytes, or to the end of the input.
    fn fill(&mut self, needed: usize) -> Result<(), String> {
        if self.end - self.at >= needed || self.is_at_end {
            return Ok(());
        }
        let was_full = self.end == self.bytes.len();
        self.bytes.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        if was_full && self.bytes.len() < WINDOW_BYTES {
            self.bytes.resize(WINDOW_BYTES, 0);
        }
        while self.end < needed {
            if self.end == self.bytes.len() {
                // only as the input comes: a wrong length may be much larger than the file
                self.bytes.resize(2 * self.end, 0);
            }
            match self.input.read(&mut self.bytes[self.end..]) {
                Ok(0) => {
                    self.is_at_end = true;
                    break;
                }
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(format!(
                        "byte {}: cannot be read ({error})",
                        self.base + self.end as u64
                    ))
                }
            }
        }
        Ok(())
    }

    /// The next bytes, `None` if fewer than `needed` are left.
    fn peek(&mut self, needed: usize) -> Result<Option<&[u8]>, String> {
        let bytes = self.peek_up_to(needed)?;
        Ok((bytes.len() == needed).then_some(bytes))
    }

    /// The next bytes, fewer than `most` at the end of the input.
    fn peek_up_to(&mut self, most: usize) -> Result<&[u8], String> {
        self.fill(most)?;
        Ok(&self.bytes[self.at..self.end.min(self.at + most)])
    }

    fn advance(&mut self, count: usize) {
        self.at = self.end.min(self.at + count);
    }

    fn take(&mut self, count: usize, field: &str) -> Result<&[u8], String> {
        self.fill(count)?;
        let left = self.end - self.at;
        if left < count {
            return Err(format!(
                "{field} at byte {}: needs {count} bytes, only {left} are available",
                self.base + self.at as u64
            ));
        }
        let start = self.at;
        self.at += count;
        Ok(&self.bytes[start..start + count])
    }

    fn frame(&self, place: Place) -> Frame<'_> {
        Frame {
            interface: place.interface,
            link_type: place.link_type,
            time_ns: place.time_ns,
            original_len_bytes: place.original_len_bytes,
            bytes: &self.bytes[place.offset..place.offset + place.len],
        }
    }

    /// An error of what begins at the window's position, with its offset in the file.
    fn located(&self, error: ParseError) -> String {
        // A file of 2^64 bytes does not exist; on 32 bits the offset may be cut.
        let offset_bytes = error.offset_bytes + (self.base + self.at as u64) as usize;
        ParseError {
            offset_bytes,
            ..error
        }
        .to_string()
    }
}
