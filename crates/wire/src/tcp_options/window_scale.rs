//! Window scale (RFC 7323 section 2).

use crate::error::ParseError;
use crate::options::{exact, InTcp, OptionInfo, WireOption};

/// Name, kind and source of the option.
pub const INFO: OptionInfo = OptionInfo {
    name: "window scale",
    kind: 3,
    source: "RFC 7323 section 2",
};

/// The largest shift a receiver may use (RFC 7323 section 2.3).
pub const MAX_SHIFT: u8 = 14;

/// The shift that the sender of this option applies to its windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowScale {
    /// Bits to shift, as sent. A value above [`MAX_SHIFT`] counts as 14;
    /// [`WindowScale::effective_shift`] applies this rule.
    pub shift: u8,
}

impl WindowScale {
    /// The number of bits to shift: the value sent, but at most 14 (RFC 7323 section 2.3).
    #[must_use]
    pub fn effective_shift(self) -> u8 {
        self.shift.min(MAX_SHIFT)
    }
}

impl WireOption for WindowScale {
    type Carrier = InTcp;
    const INFO: OptionInfo = INFO;

    fn parse(data: &[u8]) -> Result<Self, ParseError> {
        let [shift] = exact(&INFO, data, "3")?;
        Ok(Self { shift })
    }

    fn emit(&self, out: &mut [u8]) -> usize {
        out[0] = self.shift;
        1
    }
}
