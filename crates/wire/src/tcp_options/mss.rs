//! Maximum segment size (RFC 9293 section 3.7.1).

use crate::error::ParseError;
use crate::options::{exact, InTcp, OptionInfo, WireOption};

/// Name, kind and source of the option.
pub const INFO: OptionInfo = OptionInfo {
    name: "maximum segment size",
    kind: 2,
    source: "RFC 9293 section 3.7.1",
};

/// The largest segment, without options, that the sender of this option accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mss {
    /// Number of bytes of TCP payload and options.
    pub mss_bytes: u16,
}

impl WireOption for Mss {
    type Carrier = InTcp;
    const INFO: OptionInfo = INFO;

    fn parse(data: &[u8]) -> Result<Self, ParseError> {
        let data = exact(&INFO, data, "4")?;
        Ok(Self {
            mss_bytes: u16::from_be_bytes(data),
        })
    }

    fn emit(&self, out: &mut [u8]) -> usize {
        out[..2].copy_from_slice(&self.mss_bytes.to_be_bytes());
        2
    }
}
