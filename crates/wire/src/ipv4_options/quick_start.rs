//! Quick-Start rate request and report (RFC 4782 section 3.1).

use crate::error::ParseError;
use crate::options::{exact, InIpv4, OptionInfo, WireOption};
use crate::quick_start::{join, split, NONCE_MASK};

/// Name, kind and source of the option. The kind says: not copied on fragments, class 0, number 25.
pub const INFO: OptionInfo = OptionInfo {
    name: "Quick-Start",
    kind: 25,
    source: "RFC 4782 section 3.1",
};

const REQUEST: u8 = 0;
const REPORT: u8 = 8;

/// A request from a sender to the routers of the path. Bits that do not fit their field are
/// dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickStart {
    /// Requests a rate.
    Request {
        /// Code of the requested rate, 0 to 15. The rate is 40 kbit/s times two to the power of the
        /// code; 0 means no rate.
        rate_code: u8,
        /// QS TTL: initially random; participating routers decrement it.
        ttl: u8,
        /// 30 bits.
        nonce: u32,
    },
    /// A report of the approved rate, from the sender to the routers.
    Report {
        /// Code of the approved rate, as in a request; 0 if the request failed.
        rate_code: u8,
        /// Nonce of the request that is reported.
        nonce: u32,
    },
}

impl WireOption for QuickStart {
    type Carrier = InIpv4;
    const INFO: OptionInfo = INFO;

    fn parse(data: &[u8]) -> Result<Self, ParseError> {
        let (function, rate_code, ttl, nonce) = split(exact(&INFO, data, "8")?);
        match function {
            REQUEST => Ok(Self::Request {
                rate_code,
                ttl,
                nonce,
            }),
            // the QS TTL of a report is ignored
            REPORT => Ok(Self::Report { rate_code, nonce }),
            other => Err(ParseError::value(
                INFO.name,
                "function",
                0,
                u64::from(other),
                "0 (request) or 8 (report)",
            )),
        }
    }

    fn emit(&self, out: &mut [u8]) -> usize {
        match *self {
            Self::Request {
                rate_code,
                ttl,
                nonce,
            } => join(out, REQUEST, rate_code, ttl, nonce & NONCE_MASK),
            Self::Report { rate_code, nonce } => {
                join(out, REPORT, rate_code, 0, nonce & NONCE_MASK)
            }
        }
    }
}
