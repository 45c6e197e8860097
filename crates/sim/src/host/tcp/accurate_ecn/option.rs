//! The option of Accurate ECN (RFC 9768 section 3.2.3): its fields, and how many of them fit beside
//! the other options.

use super::counters::ByteCounters;
use crate::net::packet::{ecn, Headers, Packet, ACCURATE_ECN_OPTION};
use headway_algorithms::Fields;

/// Kind and length, and each of the three counters.
const BASE_BYTES: u32 = 2;
const FIELD_BYTES: u32 = 3;
pub(super) const MAX_FIELDS: u32 = 3;
/// Space for options in a TCP header.
const SPACE_BYTES: u32 = 40;
/// Padding before a SACK option, of which this option can use up to two bytes.
const SACK_PADDING_BYTES: u32 = 2;
pub(super) const SACK_BLOCK_BYTES: u32 = 8;
/// SACK blocks that are kept even if the option does not fit.
const KEPT_BLOCKS: u8 = 2;

/// Bytes of the option with all counters, padded.
pub(super) const FULL_BYTES: u32 = 12;

/// Number of counters that an option needs to report bytes with this ECN field.
pub(super) fn least_fields(ip_ecn: u8) -> u32 {
    match ip_ecn {
        ecn::ECT_1 => 1,
        ecn::CE => 2,
        ecn::ECT_0 => 3,
        _ => 0,
    }
}

/// How the option fits into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Number of counters.
    pub fields: u32,
    /// Bytes that the option takes, with padding.
    pub bytes: u32,
    /// SACK blocks that are left out.
    pub dropped_blocks: u8,
}

/// Bytes of an option with this number of counters, padded to words. The padding before SACK blocks
/// is used if that saves a word.
fn padded_bytes(fields: u32, has_sack: bool) -> u32 {
    let bytes = BASE_BYTES + FIELD_BYTES * fields;
    if has_sack && bytes % 4 <= SACK_PADDING_BYTES {
        bytes / 4 * 4
    } else {
        bytes.div_ceil(4) * 4
    }
}

/// Fits the option beside timestamps and SACK blocks (tcp_options_fit_accecn). Counters that do not
/// fit are left out, but not the first `least`. If those do not fit, SACK blocks are left out; two
/// always stay. None if the option does not fit.
#[must_use]
pub fn fit(timestamp_bytes: u32, n_sack: u8, least: u32) -> Option<Fit> {
    let mut left = SPACE_BYTES - timestamp_bytes;
    if n_sack > 0 {
        left -= 2 * SACK_PADDING_BYTES + u32::from(n_sack) * SACK_BLOCK_BYTES;
    }
    let spare = if least > 0 {
        n_sack.saturating_sub(KEPT_BLOCKS)
    } else {
        0
    };
    (0..=spare).find_map(|dropped_blocks| {
        let room = left + u32::from(dropped_blocks) * SACK_BLOCK_BYTES;
        let fields = (least..=MAX_FIELDS)
            .rev()
            .find(|&fields| padded_bytes(fields, n_sack > 0) <= room)?;
        Some(Fit {
            fields,
            bytes: padded_bytes(fields, n_sack > 0),
            dropped_blocks,
        })
    })
}

/// An option as packets carry it. A packet has place for the fields of one TCP option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    counters: ByteCounters,
    /// Number of counters.
    fields: u8,
    /// Bytes in the packet, with padding.
    bytes: u8,
    /// A device on the path has replaced the option by padding.
    stripped: bool,
}

impl Carried {
    pub fn new(counters: ByteCounters, fit: &Fit) -> Carried {
        Carried {
            counters,
            fields: fit.fields as u8,
            bytes: fit.bytes as u8,
            stripped: false,
        }
    }

    /// An option with the counters E1B, CEB and E0B up to the first that is missing, in a packet
    /// whose size does not matter.
    pub fn with(counters: [Option<u32>; 3]) -> Carried {
        let [e1b, ceb, e0b] = counters.map(Option::unwrap_or_default);
        let fields = counters
            .iter()
            .take_while(|counter| counter.is_some())
            .count();
        Carried {
            counters: ByteCounters { e1b, ceb, e0b },
            fields: fields as u8,
            bytes: 0,
            stripped: false,
        }
    }

    /// The option of a packet.
    pub fn of(packet: &Packet, headers: &Headers) -> Option<Carried> {
        (packet.tcp_header() == ACCURATE_ECN_OPTION).then(|| {
            let [first, second, _] = headers.tcp.0;
            let [fields, bytes, stripped, _] = ((second >> 32) as u32).to_le_bytes();
            Carried {
                counters: ByteCounters {
                    e1b: first as u32,
                    ceb: (first >> 32) as u32,
                    e0b: second as u32,
                },
                fields,
                bytes,
                stripped: stripped != 0,
            }
        })
    }

    /// The fields that a packet carries for the option.
    pub fn encoded(&self) -> Fields {
        let sizes = u32::from_le_bytes([self.fields, self.bytes, self.stripped.into(), 0]);
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let ByteCounters { e1b, ceb, e0b } = self.counters;
        Fields([pair(e1b, ceb), pair(e0b, sizes), 0])
    }

    /// The option after a device on the path has replaced it by padding.
    pub fn stripped(self) -> Carried {
        Carried {
            stripped: true,
            ..self
        }
    }

    /// The option after a device on the path has set its counters to 0.
    pub fn zeroed(self) -> Carried {
        Carried {
            counters: ByteCounters {
                e1b: 0,
                ceb: 0,
                e0b: 0,
            },
            ..self
        }
    }

    /// The counters E1B, CEB and E0B; None if the option does not arrive.
    pub fn counters(&self) -> Option<[Option<u32>; 3]> {
        let ByteCounters { e1b, ceb, e0b } = self.counters;
        let present = |place: u8, counter| (self.fields > place).then_some(counter);
        (!self.stripped).then(|| [present(0, e1b), present(1, ceb), present(2, e0b)])
    }

    /// Bytes in the packet, with padding.
    pub fn bytes(&self) -> u32 {
        self.bytes.into()
    }

    /// Bytes of the padding before SACK blocks that the option uses.
    pub fn shared_bytes(&self) -> u32 {
        let own = BASE_BYTES + FIELD_BYTES * u32::from(self.fields);
        own.saturating_sub(self.bytes())
    }
}
