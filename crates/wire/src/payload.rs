//! The bytes of a simulated stream, which depend only on the stream and the offset.
//!
//! A packet that is cut or retransmitted anywhere has the same bytes at the same offsets. A
//! receiver can therefore check its data without storing what was sent.

use std::fmt;

/// Error: the first byte that differs from the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The stream that was checked.
    pub stream: u64,
    /// The absolute offset of the byte in its stream.
    pub offset_bytes: u64,
    /// The byte found.
    pub found: u8,
    /// The byte that the stream has at this offset.
    pub expected: u8,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "payload of stream {} at offset {}: is {:#04x}, should be {:#04x}",
            self.stream, self.offset_bytes, self.found, self.expected
        )
    }
}

impl std::error::Error for Mismatch {}

/// The eight bytes of word `index` of a stream.
///
/// They are the stream's number and the index, mixed by the finalizer of SplitMix64 (Steele, Lea
/// and Flood, OOPSLA 2014). The finalizer is a bijection, so no two words of a stream are equal.
const fn word(stream: u64, index: u64) -> [u8; 8] {
    let mut z = stream
        .wrapping_mul(0xd1b5_4a32_d192_ed03)
        .wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)).to_le_bytes()
}

/// Fills `out` with the bytes of `stream` from the absolute offset on. Offsets
/// wrap at 2^64.
pub fn fill(stream: u64, offset_bytes: u64, out: &mut [u8]) {
    let mut index = offset_bytes / 8;
    let skip = (offset_bytes % 8) as usize;
    let head_len = if skip == 0 {
        0
    } else {
        (8 - skip).min(out.len())
    };
    let (head, rest) = out.split_at_mut(head_len);
    if head_len > 0 {
        head.copy_from_slice(&word(stream, index)[skip..skip + head_len]);
        index = next(index);
    }
    let mut words = rest.chunks_exact_mut(8);
    for piece in &mut words {
        piece.copy_from_slice(&word(stream, index));
        index = next(index);
    }
    let tail = words.into_remainder();
    let tail_len = tail.len();
    tail.copy_from_slice(&word(stream, index)[..tail_len]);
}

/// The index of the next word of eight bytes. Offsets of bytes wrap at 2^64, so indices of words
/// wrap at 2^61.
const fn next(index: u64) -> u64 {
    (index + 1) & (u64::MAX >> 3)
}

/// Checks that `bytes` are those of `stream` at the absolute offset.
///
/// # Errors
/// The first byte that differs.
pub fn check(stream: u64, offset_bytes: u64, bytes: &[u8]) -> Result<(), Mismatch> {
    let mut expected = [0u8; 512];
    let mut at = offset_bytes;
    for piece in bytes.chunks(expected.len()) {
        let expected = &mut expected[..piece.len()];
        fill(stream, at, expected);
        if piece != expected {
            for (i, (&found, &wanted)) in piece.iter().zip(expected.iter()).enumerate() {
                if found != wanted {
                    return Err(Mismatch {
                        stream,
                        offset_bytes: at.wrapping_add(i as u64),
                        found,
                        expected: wanted,
                    });
                }
            }
        }
        at = at.wrapping_add(piece.len() as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_cut_anywhere_has_the_same_bytes() {
        let mut whole = vec![0; 100];
        fill(7, 1_000_003, &mut whole);
        for from in 0..100 {
            for to in from..=100 {
                let mut part = vec![0; to - from];
                fill(7, 1_000_003 + from as u64, &mut part);
                assert_eq!(part, whole[from..to], "bytes {from} to {to}");
            }
        }
    }

    #[test]
    fn a_changed_byte_is_reported_with_its_offset() {
        let mut bytes = vec![0; 2000];
        fill(3, 77, &mut bytes);
        assert_eq!(check(3, 77, &bytes), Ok(()));
        for at in [0, 511, 512, 1999] {
            let kept = bytes[at];
            bytes[at] ^= 0x10;
            let mismatch = check(3, 77, &bytes).unwrap_err();
            assert_eq!(mismatch.offset_bytes, 77 + at as u64);
            assert_eq!((mismatch.found, mismatch.expected), (kept ^ 0x10, kept));
            bytes[at] = kept;
        }
    }

    #[test]
    fn bytes_of_another_stream_or_offset_are_rejected() {
        let mut bytes = vec![0; 64];
        fill(1, 0, &mut bytes);
        assert!(check(2, 0, &bytes).is_err());
        assert!(check(1, 8, &bytes).is_err());
        assert!(check(1, 1, &bytes).is_err());
    }

    #[test]
    fn the_largest_offset_wraps_to_the_first_bytes() {
        let mut across = [0; 16];
        fill(9, u64::MAX - 4, &mut across);
        let mut start = [0; 11];
        fill(9, 0, &mut start);
        assert_eq!(across[5..], start);
        assert_eq!(check(9, u64::MAX - 4, &across), Ok(()));
    }
}
