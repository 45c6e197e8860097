//! The data that both options of Accurate ECN (RFC 9768 section 3.2.3) have in common: up to three
//! byte counters of 24 bits each. The options differ in the order of the counters.

use crate::error::ParseError;
use crate::options::OptionInfo;

/// Bytes of a counter.
const FIELD_BYTES: usize = 3;
/// Number of counters in a complete option.
const MAX_FIELDS: usize = 3;

/// Counters in the order of the option. Counters at the end may be missing.
pub(crate) type Counters = [Option<u32>; MAX_FIELDS];

/// Parses the counters in an option's data.
pub(crate) fn split(info: &OptionInfo, data: &[u8]) -> Result<Counters, ParseError> {
    if data.len() % FIELD_BYTES != 0 || data.len() > MAX_FIELDS * FIELD_BYTES {
        let found = data.len() as u64 + 2;
        return Err(ParseError::value(
            info.name,
            "length",
            0,
            found,
            "2 + 3 n for n up to 3",
        ));
    }
    let mut counters = Counters::default();
    for (counter, bytes) in counters.iter_mut().zip(data.chunks_exact(FIELD_BYTES)) {
        *counter = Some(u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]));
    }
    Ok(counters)
}

/// Writes counters up to the first that is missing; returns the number of bytes.
pub(crate) fn join(out: &mut [u8], counters: Counters) -> usize {
    let present = counters.iter().map_while(|counter| *counter);
    let mut len = 0;
    for (counter, bytes) in present.zip(out.chunks_exact_mut(FIELD_BYTES)) {
        bytes.copy_from_slice(&counter.to_be_bytes()[1..]);
        len += FIELD_BYTES;
    }
    len
}
