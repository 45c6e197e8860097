//! Capture files in the pcapng format (draft-ietf-opsawg-pcapng).
//!
//! The writer creates one section whose interfaces have nanosecond resolution and link type RAW:
//! packets begin with the IP header. The reader reads such files in either byte order and with any
//! time resolution, and skips unknown blocks and options.

mod reader;
mod writer;

pub use reader::{Block, Interface, Packet, Reader, Stream};
pub use writer::{Section, Writer};

/// The link type of packets that begin with their IP header.
pub const LINKTYPE_RAW: u16 = 101;

const BLOCK_SECTION: u32 = 0x0a0d_0d0a;
const BLOCK_INTERFACE: u32 = 1;
const BLOCK_ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const SHB_HARDWARE: u16 = 2;
const SHB_OS: u16 = 3;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;

/// if_tsresol of nanoseconds: 10^-9.
const TSRESOL_NS: u8 = 9;
