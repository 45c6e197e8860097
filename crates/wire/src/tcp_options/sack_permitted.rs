//! SACK permitted (RFC 2018 section 2).

use crate::error::ParseError;
use crate::options::{exact, InTcp, OptionInfo, WireOption};

/// Name, kind and source of the option.
pub const INFO: OptionInfo = OptionInfo {
    name: "SACK permitted",
    kind: 4,
    source: "RFC 2018 section 2",
};

/// The sender of this SYN accepts selective acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackPermitted;

impl WireOption for SackPermitted {
    type Carrier = InTcp;
    const INFO: OptionInfo = INFO;

    fn parse(data: &[u8]) -> Result<Self, ParseError> {
        let [] = exact(&INFO, data, "2")?;
        Ok(Self)
    }

    fn emit(&self, _out: &mut [u8]) -> usize {
        0
    }
}
