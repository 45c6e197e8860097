//! Random streams. Each purpose, and each flow or link within a purpose, has its own random stream,
//! derived from the run's seed. Adding a flow therefore does not change what another flow or link
//! draws.

use rand_core::SeedableRng;
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// What a random stream is used for; each purpose has its own streams.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Loss, duplication, reordering and queue management of a link.
    Link = 1,
    /// An application's choices.
    App = 2,
    /// Initial sequence numbers of exported packets.
    Wire = 3,
    /// Nonces of rate requests (RFC 4782).
    Nonce = 4,
    /// Random choices of a link's routers.
    Router = 5,
    /// Random choices of a congestion control.
    Control = 6,
    /// Phase of the hosts' clock ticks.
    Ticks = 7,
    /// Delay variation of a link.
    Jitter = 8,
    /// Bursty loss of a link.
    BurstLoss = 9,
    /// Sizes of an application's transfers.
    Sizes = 10,
    /// Damage to the packets of a link.
    Corruption = 11,
    /// Random choices of a link's queue discipline, and its hash of connections.
    Queue = 12,
}

/// Returns the stream for `purpose` and `number` of a run with `seed`.
pub fn stream(seed: u64, purpose: Purpose, number: u32) -> Xoshiro256PlusPlus {
    use rand_core::RngCore;
    let mut mix = SplitMix64::seed_from_u64(seed);
    let base = mix.next_u64();
    let tag = ((purpose as u64) << 32) | u64::from(number);
    Xoshiro256PlusPlus::seed_from_u64(base ^ tag.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Draws an exponentially distributed time, with a logarithm that gives the same result on every
/// machine.
pub fn exponential_ns(rng: &mut Xoshiro256PlusPlus, mean_ns: u64) -> u64 {
    (-libm::log(uniform(rng)) * mean_ns as f64) as u64
}

/// Draws a uniform number in (0, 1] from the 53 high bits of a random word.
pub fn uniform(rng: &mut Xoshiro256PlusPlus) -> f64 {
    use rand_core::RngCore;
    ((rng.next_u64() >> 11) + 1) as f64 / 9_007_199_254_740_992.0
}

/// Converts a probability to a threshold for a 64-bit random number.
pub fn threshold(p: f64) -> u64 {
    if p >= 1.0 {
        u64::MAX
    } else {
        (p * 18_446_744_073_709_551_616.0) as u64
    }
}
