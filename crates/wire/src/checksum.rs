//! The Internet checksum of RFC 1071.

use crate::error::ParseError;
use std::net::Ipv4Addr;

/// A one's-complement sum in progress.
///
/// Every piece except the last must have an even length, as in a header followed by its payload:
/// the sum counts each piece in 16-bit words from its first byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// An empty sum.
    #[must_use]
    pub const fn new() -> Self {
        Self(0)
    }

    /// The pseudo header of TCP and UDP (RFC 9293 section 3.1, RFC 768).
    #[must_use]
    pub fn pseudo_header(
        source: Ipv4Addr,
        destination: Ipv4Addr,
        protocol: u8,
        length_bytes: u16,
    ) -> Self {
        Self::new()
            .plus(&source.octets())
            .plus(&destination.octets())
            .plus(&[0, protocol])
            .plus(&length_bytes.to_be_bytes())
    }

    /// Adds bytes; an odd last byte is padded with zero.
    #[must_use]
    pub fn plus(self, bytes: &[u8]) -> Self {
        // RFC 1071 section 2 (C): the sum may use wider words and be folded later, since 2^16 = 1
        // modulo 2^16 - 1. Adding 32-bit words into 64 bits needs no carry for any packet (there is
        // room for 2^32 words).
        let mut total = self.0;
        let mut words = bytes.chunks_exact(4);
        for word in &mut words {
            total += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
        }
        total += match *words.remainder() {
            [a] => u64::from(u16::from_be_bytes([a, 0])),
            [a, b] => u64::from(u16::from_be_bytes([a, b])),
            [a, b, c] => u64::from(u32::from_be_bytes([a, b, c, 0])),
            _ => 0,
        };
        // Folding here prevents an overflow with any number of pieces.
        Self((total & 0xffff_ffff) + (total >> 32))
    }

    /// The checksum: the complement of the folded sum. It is 0 over bytes that contain a correct
    /// checksum.
    #[must_use]
    pub const fn finish(self) -> u16 {
        let mut total = self.0;
        while total >> 16 != 0 {
            total = (total & 0xffff) + (total >> 16);
        }
        !(total as u16)
    }
}

/// The checksum of contiguous bytes.
#[must_use]
pub fn of(bytes: &[u8]) -> u16 {
    Sum::new().plus(bytes).finish()
}

/// A header's checksum after one of its 16-bit words has changed (RFC 1624, equation 3). The rest
/// of the packet need not be read.
#[must_use]
pub const fn replace(checksum: u16, before: u16, after: u16) -> u16 {
    Sum(!checksum as u64 + !before as u64 + after as u64).finish()
}

/// Compares a header's checksum with the one computed from its bytes.
///
/// 0x0000 and 0xffff are both zero in one's complement, so they count as equal
/// (RFC 1624 section 3).
pub(crate) fn compare(
    header: &'static str,
    offset_bytes: usize,
    found: u16,
    computed: u16,
) -> Result<(), ParseError> {
    if found == computed || (found ^ computed) == 0xffff && (found == 0 || computed == 0) {
        Ok(())
    } else {
        Err(ParseError::checksum(header, offset_bytes, found, computed))
    }
}

/// Length of a whole segment, as the pseudo header contains it.
pub(crate) fn segment_length(header: &'static str, segment: &[u8]) -> Result<u16, ParseError> {
    u16::try_from(segment.len()).map_err(|_| {
        ParseError::value(
            header,
            "segment length",
            0,
            segment.len() as u64,
            "at most 65535",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_section_3_sums_to_ddf2() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(of(&bytes), !0xddf2);
    }

    #[test]
    fn an_odd_last_byte_counts_as_the_high_half_of_a_word() {
        for len in 1..8 {
            let bytes: Vec<u8> = (1..=len).collect();
            let mut padded = bytes.clone();
            padded.resize(8, 0);
            assert_eq!(of(&bytes), of(&padded), "{len} bytes");
        }
    }

    #[test]
    fn the_sum_of_even_pieces_is_the_sum_of_the_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1501).collect();
        for cut in (0..=1500).step_by(2) {
            let pieces = Sum::new().plus(&bytes[..cut]).plus(&bytes[cut..]);
            assert_eq!(pieces.finish(), of(&bytes), "cut at {cut}");
        }
    }

    #[test]
    fn the_wide_sum_equals_the_sum_of_16_bit_words() {
        for len in 0..300usize {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 167 + len) as u8 | 0xc0).collect();
            let mut plain = 0u32;
            for pair in bytes.chunks(2) {
                plain += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
                plain = (plain & 0xffff) + (plain >> 16);
            }
            assert_eq!(of(&bytes), !(plain as u16), "{len} bytes");
        }
    }

    #[test]
    fn bytes_with_their_checksum_sum_to_zero() {
        let mut bytes = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0, 0,
        ];
        let sum = of(&bytes);
        bytes[10..].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(of(&bytes), 0);
    }
}
