//! Capacity of a queue: "60000 B", "40 pkts", "1 BDP".

use std::fmt;

use crate::limits::MAX_LIMIT;
use crate::quantity::{scaled, split, Number, SIZES_BYTES};
use crate::text::{quoted, Refused};

const SHOWN: &str = "B, kB, MB, GB, KiB, MiB, GiB, pkts, BDP";
const NS_PER_S: u128 = 1_000_000_000;

/// The limit of a queue, as the user has written it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// In IP bytes.
    Bytes(u64),
    /// In packets.
    Packets(u64),
    /// The limit in bandwidth-delay products.
    Bdp(Number),
}

/// A queue's limit in bytes or packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// In IP bytes.
    Bytes(u64),
    /// In packets.
    Packets(u64),
}

impl Buffer {
    /// A limit that is this number of bandwidth-delay products.
    #[must_use]
    pub const fn bdp(products: u32) -> Buffer {
        Buffer::Bdp(Number {
            negative: false,
            digits: products as u128,
            exponent: 0,
        })
    }

    /// The number in the limit, without its unit.
    #[must_use]
    pub fn amount(&self) -> String {
        match self {
            Buffer::Bytes(amount) | Buffer::Packets(amount) => amount.to_string(),
            Buffer::Bdp(amount) => amount.plain(),
        }
    }

    /// The unit of the limit: "B", "pkts" or "BDP".
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self {
            Buffer::Bytes(_) => "B",
            Buffer::Packets(_) => "pkts",
            Buffer::Bdp(_) => "BDP",
        }
    }

    /// The limit in bytes on a link with this rate and a path with this base RTT, without checking
    /// it; None for a limit in packets. Values above 2¹²⁸ count as 2¹²⁸. Fractions of a byte are
    /// dropped.
    #[must_use]
    pub fn bytes(&self, rate_bps: u64, base_rtt_ns: u64) -> Option<u128> {
        match self {
            Buffer::Bytes(bytes) => Some(u128::from(*bytes)),
            Buffer::Packets(_) => None,
            Buffer::Bdp(amount) => {
                let product = amount.times_down(bdp_bytes(rate_bps, base_rtt_ns));
                Some(product.unwrap_or(u128::MAX))
            }
        }
    }

    /// The limit on a link with this rate and a path with this base RTT. Error messages name the
    /// link with `of`, for example " of hop 0".
    ///
    /// # Errors
    /// The limit is less than one byte, or more than the largest limit.
    pub fn limit(&self, rate_bps: u64, base_rtt_ns: u64, of: &str) -> Result<Limit, Refused> {
        let bytes = self.bytes(rate_bps, base_rtt_ns);
        let (room, unit) = match (bytes, self) {
            (None, Buffer::Packets(pkts)) => (u128::from(*pkts), "pkts"),
            (bytes, _) => (bytes.unwrap_or_default(), "B"),
        };
        if room == 0 {
            return Err(Refused::new(format!("{self}{of} is less than one byte")));
        }
        if room > u128::from(MAX_LIMIT) {
            return Err(Refused::new(format!(
                "{self}{of} is not allowed; at most {MAX_LIMIT} {unit}"
            )));
        }
        let room = room as u64;
        Ok(if bytes.is_some() {
            Limit::Bytes(room)
        } else {
            Limit::Packets(room)
        })
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.amount(), self.unit())
    }
}

/// Bandwidth-delay product: rate × base RTT, in whole bytes, rounded down.
#[must_use]
pub fn bdp_bytes(rate_bps: u64, base_rtt_ns: u64) -> u128 {
    u128::from(rate_bps) * u128::from(base_rtt_ns) / (8 * NS_PER_S)
}

/// Parses a queue limit in bytes, whole packets or BDP, more than 0.
///
/// # Errors
/// One line with the allowed units.
pub fn parse_buffer(text: &str) -> Result<Buffer, Refused> {
    let (number, unit) = split(text, "queue limit", SHOWN)?;
    if number.negative || number.digits == 0 {
        return Err(Refused::new(format!(
            "{} must be more than 0",
            quoted(text)
        )));
    }
    match unit {
        "BDP" | "bdp" => Ok(Buffer::Bdp(number)),
        "pkts" | "pkt" | "packets" | "packet" if !number.is_whole() => Err(Refused::new(format!(
            "{} must be a whole number of packets",
            quoted(text)
        ))),
        "pkts" | "pkt" | "packets" | "packet" => number
            .times(1)
            .and_then(|pkts| u64::try_from(pkts).ok())
            .filter(|pkts| i64::try_from(*pkts).is_ok())
            .map(Buffer::Packets)
            .ok_or_else(|| Refused::new(format!("{} is too large", quoted(text)))),
        _ => scaled(text, "size", &[&SIZES_BYTES], SHOWN, 1).map(Buffer::Bytes),
    }
}
