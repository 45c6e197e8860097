//! Timestamps (RFC 7323 section 3).

use crate::bytes::{be32, put32};
use crate::error::ParseError;
use crate::options::{exact, InTcp, OptionInfo, WireOption};

/// Name, kind and source of the option.
pub const INFO: OptionInfo = OptionInfo {
    name: "timestamps",
    kind: 8,
    source: "RFC 7323 section 3",
};

/// The sender's clock and the echo of the peer's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the sender's clock when the segment was sent.
    pub value: u32,
    /// TSecr: the last clock value received from the peer; 0 on a first SYN.
    pub echo_reply: u32,
}

impl WireOption for Timestamps {
    type Carrier = InTcp;
    const INFO: OptionInfo = INFO;

    fn parse(data: &[u8]) -> Result<Self, ParseError> {
        let data: [u8; 8] = exact(&INFO, data, "10")?;
        Ok(Self {
            value: be32(&data, 0),
            echo_reply: be32(&data, 4),
        })
    }

    fn emit(&self, out: &mut [u8]) -> usize {
        put32(out, 0, self.value);
        put32(out, 4, self.echo_reply);
        8
    }
}
