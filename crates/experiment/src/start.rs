//! Start times of flows that set none, drawn from the experiment's seed.
//!
//! The draw is `random()` of Python's `random.Random` seeded with the text `SEED/start/FLOW`, a
//! sequence that Python promises to keep. The text and its SHA-512 form one number, whose 32-bit
//! words initialize the generator MT19937 (M. Matsumoto, T. Nishimura, "Mersenne Twister", ACM
//! TOMACS 8(1), 1998). The result has 53 bits of the first two words that the generator outputs.

use sha2::{Digest, Sha512};

/// When flow number `flow` starts, in nanoseconds: a random number from 0 up to, but not including,
/// `spread_ns`.
#[must_use]
pub fn start_ns(seed: u64, flow: usize, spread_ns: u64) -> u64 {
    (uniform(&format!("{seed}/start/{flow}")) * spread_ns as f64) as u64
}

/// The first random number, from 0 up to, but not including, 1, of a generator that is seeded with
/// this text.
fn uniform(seed: &str) -> f64 {
    let mut bytes = seed.as_bytes().to_vec();
    bytes.extend(Sha512::digest(seed.as_bytes()));
    bytes.reverse();
    let words: Vec<u32> = bytes
        .chunks(4)
        .map(|chunk| {
            chunk
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u32::from(*byte))
        })
        .collect();
    let state = by_array(&words);
    let (high, low) = (output(&state, 0) >> 5, output(&state, 1) >> 6);
    (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
}

const N: usize = 624;
const M: usize = 397;

/// The state of MT19937 initialized by a list of words.
fn by_array(words: &[u32]) -> [u32; N] {
    let mut state = [0_u32; N];
    state[0] = 19_650_218;
    for i in 1..N {
        let before = state[i - 1];
        state[i] = 1_812_433_253_u32
            .wrapping_mul(before ^ (before >> 30))
            .wrapping_add(i as u32);
    }
    let (mut i, mut j) = (1, 0);
    let mixed = |before: u32, factor: u32| (before ^ (before >> 30)).wrapping_mul(factor);
    for _ in 0..N.max(words.len()) {
        state[i] = (state[i] ^ mixed(state[i - 1], 1_664_525))
            .wrapping_add(words[j])
            .wrapping_add(j as u32);
        i += 1;
        j = (j + 1) % words.len();
        if i == N {
            state[0] = state[N - 1];
            i = 1;
        }
    }
    for _ in 1..N {
        state[i] = (state[i] ^ mixed(state[i - 1], 1_566_083_941)).wrapping_sub(i as u32);
        i += 1;
        if i == N {
            state[0] = state[N - 1];
            i = 1;
        }
    }
    state[0] = 0x8000_0000;
    state
}

/// Output number `i`, below N - M, of a generator in this initial state.
fn output(state: &[u32; N], i: usize) -> u32 {
    let joined = (state[i] & 0x8000_0000) | (state[i + 1] & 0x7fff_ffff);
    let twist = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
    let mut word = state[i + M] ^ (joined >> 1) ^ twist;
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c_5680;
    word ^= (word << 15) & 0xefc6_0000;
    word ^ (word >> 18)
}
