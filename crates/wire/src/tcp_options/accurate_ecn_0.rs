//! Accurate ECN option that begins with the counter of ECT(0) (RFC 9768 section 3.2.3).

use crate::accurate_ecn::{join, split};
use crate::error::ParseError;
use crate::options::{InTcp, OptionInfo, WireOption};

/// Name, kind and source of the option.
pub const INFO: OptionInfo = OptionInfo {
    name: "Accurate ECN 0",
    kind: 172,
    source: "RFC 9768 section 3.2.3",
};

/// The receiver's counters of payload bytes by their ECN field, modulo 2^24. Counters at the end
/// may be missing; a counter after a missing one is not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccurateEcn0 {
    /// Bytes with ECT(0).
    pub e0b: Option<u32>,
    /// Bytes with CE.
    pub ceb: Option<u32>,
    /// Bytes with ECT(1).
    pub e1b: Option<u32>,
}

impl WireOption for AccurateEcn0 {
    type Carrier = InTcp;
    const INFO: OptionInfo = INFO;

    fn parse(data: &[u8]) -> Result<Self, ParseError> {
        let [e0b, ceb, e1b] = split(&INFO, data)?;
        Ok(Self { e0b, ceb, e1b })
    }

    fn emit(&self, out: &mut [u8]) -> usize {
        join(out, [self.e0b, self.ceb, self.e1b])
    }
}
