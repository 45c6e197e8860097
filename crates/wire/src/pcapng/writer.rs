//! Writes pcapng: section header, interface descriptions, enhanced packets.

use super::{
    BLOCK_ENHANCED_PACKET, BLOCK_INTERFACE, BLOCK_SECTION, BYTE_ORDER_MAGIC, IF_NAME, IF_TSRESOL,
    LINKTYPE_RAW, OPT_COMMENT, OPT_END, SHB_HARDWARE, SHB_OS, SHB_USERAPPL, TSRESOL_NS,
};
use std::io::{self, Write};

/// Texts in the section header about the origin of the file; empty texts are omitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Section<'a> {
    /// Description of the packets.
    pub comment: &'a str,
    /// The machine.
    pub hardware: &'a str,
    /// The operating system.
    pub os: &'a str,
    /// The writing program.
    pub application: &'a str,
}

/// Writes a capture in little-endian byte order on every machine.
///
/// Each block is written separately; use a `BufWriter` for a file.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    // A block is assembled here, because its length is at both ends.
    block: Vec<u8>,
    snaplens_bytes: Vec<u32>,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Errors of the output, or a text longer than 65,535 bytes.
    pub fn new(out: W, section: &Section<'_>) -> io::Result<Self> {
        let mut writer = Self {
            out,
            block: Vec::new(),
            snaplens_bytes: Vec::new(),
        };
        writer.begin(BLOCK_SECTION);
        writer.put(&BYTE_ORDER_MAGIC.to_le_bytes());
        writer.put(&1u16.to_le_bytes());
        writer.put(&0u16.to_le_bytes());
        // The length of the section is not known while it is written, so the field is -1, which
        // means "unknown".
        writer.put(&(-1i64).to_le_bytes());
        let texts = [
            (OPT_COMMENT, section.comment),
            (SHB_HARDWARE, section.hardware),
            (SHB_OS, section.os),
            (SHB_USERAPPL, section.application),
        ];
        let mut any = false;
        for (code, text) in texts {
            if !text.is_empty() {
                writer.put_option(code, text.as_bytes())?;
                any = true;
            }
        }
        if any {
            writer.put_option(OPT_END, &[])?;
        }
        writer.end()?;
        Ok(writer)
    }

    /// Describes an interface and returns its number. A snap length of 0 keeps whole packets.
    ///
    /// # Errors
    /// Errors of the output, or a name longer than 65,535 bytes.
    pub fn add_interface(&mut self, name: &str, snaplen_bytes: u32) -> io::Result<u32> {
        let number = u32::try_from(self.snaplens_bytes.len()).map_err(io::Error::other)?;
        self.begin(BLOCK_INTERFACE);
        self.put(&LINKTYPE_RAW.to_le_bytes());
        self.put(&0u16.to_le_bytes());
        self.put(&snaplen_bytes.to_le_bytes());
        self.put_option(IF_NAME, name.as_bytes())?;
        self.put_option(IF_TSRESOL, &[TSRESOL_NS])?;
        self.put_option(OPT_END, &[])?;
        self.end()?;
        self.snaplens_bytes.push(snaplen_bytes);
        Ok(number)
    }

    /// Writes a packet, or its first bytes if it is longer than the interface's snap length. Times
    /// count from 1970, in a simulation from the start of the run.
    ///
    /// # Errors
    /// Errors of the output, an interface that was not added, or a comment longer than 65,535
    /// bytes.
    pub fn write_packet(
        &mut self,
        interface: u32,
        time_ns: u64,
        packet: &[u8],
        comment: Option<&str>,
    ) -> io::Result<()> {
        let snaplen = *self.snaplens_bytes.get(interface as usize).ok_or_else(|| {
            invalid(format!(
                "cannot write a packet of interface {interface}; interfaces added: {}",
                self.snaplens_bytes.len()
            ))
        })?;
        let original = u32::try_from(packet.len()).map_err(|_| {
            let most = u32::MAX;
            invalid(format!(
                "cannot write a packet of {} bytes; at most {most} bytes are allowed",
                packet.len()
            ))
        })?;
        let captured = if snaplen == 0 {
            original
        } else {
            original.min(snaplen)
        };
        self.begin(BLOCK_ENHANCED_PACKET);
        self.put(&interface.to_le_bytes());
        self.put(&((time_ns >> 32) as u32).to_le_bytes());
        self.put(&(time_ns as u32).to_le_bytes());
        self.put(&captured.to_le_bytes());
        self.put(&original.to_le_bytes());
        self.put(&packet[..captured as usize]);
        self.pad();
        if let Some(comment) = comment {
            self.put_option(OPT_COMMENT, comment.as_bytes())?;
            self.put_option(OPT_END, &[])?;
        }
        self.end()
    }

    /// The output. Each block is written to it in one call.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// The output, for reserving memory in advance.
    pub fn out_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn begin(&mut self, block_type: u32) {
        self.block.clear();
        self.put(&block_type.to_le_bytes());
        self.put(&[0; 4]);
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    fn put_option(&mut self, code: u16, value: &[u8]) -> io::Result<()> {
        let length = u16::try_from(value.len()).map_err(|_| {
            invalid(format!(
                "cannot write option {code} of {} bytes; at most {} bytes are allowed",
                value.len(),
                u16::MAX
            ))
        })?;
        self.put(&code.to_le_bytes());
        self.put(&length.to_le_bytes());
        self.put(value);
        self.pad();
        Ok(())
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn end(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.block.len() + 4).map_err(io::Error::other)?;
        let length = length.to_le_bytes();
        self.block[4..8].copy_from_slice(&length);
        self.put(&length);
        self.out.write_all(&self.block)
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
