//! Quick-Start response (RFC 4782 section 4.2).

use crate::error::ParseError;
use crate::options::{exact, InTcp, OptionInfo, WireOption};
use crate::quick_start::{join, split, NONCE_MASK};

/// Name, kind and source of the option.
pub const INFO: OptionInfo = OptionInfo {
    name: "Quick-Start response",
    kind: 27,
    source: "RFC 4782 section 4.2",
};

/// What the receiver of a request returns. Bits that do not fit their field are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuickStartResponse {
    /// Code of the rate that arrived, or of a lower rate. The rate is 40 kbit/s times two to the
    /// power of the code, 0 to 15; 0 means no rate.
    pub rate_code: u8,
    /// IP TTL minus QS TTL of the request, modulo 256.
    pub ttl_diff: u8,
    /// The 30 bits of the request's nonce.
    pub nonce: u32,
}

impl WireOption for QuickStartResponse {
    type Carrier = InTcp;
    const INFO: OptionInfo = INFO;

    fn parse(data: &[u8]) -> Result<Self, ParseError> {
        // the half byte before the rate code is reserved
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
