//! The fields that both options of Quick-Start (RFC 4782) have in common: a rate code in four bits
//! and a nonce in the upper thirty bits of the last word.

use crate::bytes::{be32, put32};

/// Mask of the bits of the nonce in the last word.
pub(crate) const NONCE_MASK: u32 = 0x3fff_ffff;

/// Splits an option's data into the half byte before the rate code, rate code, TTL byte and nonce.
/// The two reserved bits are ignored.
pub(crate) fn split(data: [u8; 6]) -> (u8, u8, u8, u32) {
    (data[0] >> 4, data[0] & 15, data[1], be32(&data, 2) >> 2)
}

/// Writes the fields that `split` reads; reserved bits are zero.
pub(crate) fn join(out: &mut [u8], half: u8, code: u8, ttl: u8, nonce: u32) -> usize {
    out[0] = half << 4 | code & 15;
    out[1] = ttl;
    put32(out, 2, nonce << 2);
    6
}
