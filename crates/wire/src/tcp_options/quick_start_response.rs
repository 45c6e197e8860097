//! Quick-Start response, RFC 4782 section 4.2.

use crate::error::ParseError;
use crate::options::{exact, InTcp, OptionInfo, WireOption};
use crate::quick_start::{join, split, NONCE_MASK};

/// Name, kind and source.
pub const INFO: OptionInfo = OptionInfo {
    name: "Quick-Start response",
    kind: 27,
    source: "RFC 4782 section 4.2",
};

/// What the receiver of a request saw. Bits of a field that do not fit are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuickStartResponse {
    /// The rate that arrived, or less: 40 kbit/s times two to the power of this,
    /// 0 to 15; 0 is no rate.
    pub rate_code: u8,
    /// IP TTL less QS TTL as they arrived, modulo 256.
    pub ttl_diff: u8,
    /// 30 bits, as they arrived.
    pub nonce: u32,
}

impl WireOption for QuickStartResponse {
    type Carrier = InTcp;
    const INFO: OptionInfo = INFO;

    fn parse(data: &[u8]) -> Result<Self, ParseError> {
        // the half byte before the rate is reserved
        let (_, rate_code, ttl_diff, nonce) = split(exact(&INFO, data, "8")?);
        Ok(Self {
            rate_code,
            ttl_diff,
            nonce,
        })
    }

    fn emit(&self, out: &mut [u8]) -> usize {
        let nonce = self.nonce & NONCE_MASK;
        join(out, 0, self.rate_code, self.ttl_diff, nonce)
    }
}
