//! Selective acknowledgement (RFC 2018 section 3).

use crate::bytes::be32;
use crate::error::ParseError;
use crate::options::{InTcp, OptionInfo, WireOption};

/// Name, kind and source of the option.
pub const INFO: OptionInfo = OptionInfo {
    name: "SACK",
    kind: 5,
    source: "RFC 2018 section 3",
};

/// Largest number of blocks that fit the 40 bytes of options.
pub const MAX_BLOCKS: usize = 4;

/// A range of bytes that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// Sequence number of the first byte.
    pub left: u32,
    /// Sequence number after the last byte.
    pub right: u32,
}

/// The ranges of bytes that arrived above the cumulative acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    // Blocks from `len` on are zero, so that the derived comparison is correct.
    blocks: [SackBlock; MAX_BLOCKS],
    len: u8,
}

impl Sack {
    /// Creates an option with the first blocks of `blocks`, at most [`MAX_BLOCKS`].
    #[must_use]
    pub fn new(blocks: &[SackBlock]) -> Self {
        let mut sack = Self::default();
        let len = blocks.len().min(MAX_BLOCKS);
        sack.blocks[..len].copy_from_slice(&blocks[..len]);
        sack.len = len as u8;
        sack
    }

    /// The blocks, the most recent first.
    #[must_use]
    pub fn blocks(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }
}

impl WireOption for Sack {
    type Carrier = InTcp;
    const INFO: OptionInfo = INFO;

    fn parse(data: &[u8]) -> Result<Self, ParseError> {
        if data.len() % 8 != 0 || data.len() > MAX_BLOCKS * 8 {
            return Err(ParseError::value(
                INFO.name,
                "length",
                0,
                data.len() as u64 + 2,
                "2 + 8 n for n up to 4",
            ));
        }
        let mut sack = Self::default();
        for (block, bytes) in sack.blocks.iter_mut().zip(data.chunks_exact(8)) {
            block.left = be32(bytes, 0);
            block.right = be32(bytes, 4);
        }
        sack.len = (data.len() / 8) as u8;
        Ok(sack)
    }

    fn emit(&self, out: &mut [u8]) -> usize {
        for (block, bytes) in self.blocks().iter().zip(out.chunks_exact_mut(8)) {
            bytes[..4].copy_from_slice(&block.left.to_be_bytes());
            bytes[4..].copy_from_slice(&block.right.to_be_bytes());
        }
        self.blocks().len() * 8
    }
}
