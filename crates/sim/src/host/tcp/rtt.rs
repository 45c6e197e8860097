//! Round-trip time and retransmission timeout as in Linux (tcp_rtt_estimator). It is RFC 6298 with
//! a smaller gain when the RTT falls, a variance that is the maximum over a window, and a floor on
//! the variance rather than on the timeout.

use super::profile::{Profile, FALLBACK_RTO_US, MAX_RTO_US, MIN_RTO_US};
use super::ticks::TICK_NS;

/// Converts a time to units of a clock. The units in use are constants in this function, so that
/// the compiler can avoid divisions.
pub(super) fn clock_units(us: u64, clock_us: u64) -> u64 {
    match clock_us {
        1 => us,
        1000 => us / 1000,
        other => us / other,
    }
}

/// The floor of the variance term of the timeout, if a sysctl or a route sets one: Linux counts it
/// in ticks, rounded up (usecs_to_jiffies, msecs_to_jiffies).
pub(super) fn rto_min_us(profile: &Profile, set_us: Option<u64>) -> u64 {
    match set_us {
        Some(set_us) if profile.ticks => set_us.next_multiple_of(TICK_NS / 1000),
        Some(set_us) => set_us,
        None => MIN_RTO_US,
    }
}

/// Longest delay of a delayed ACK: shorter than a retransmission timeout that a sysctl or a route
/// has shortened (tcp_delack_max since Linux 6.7).
pub(super) fn delack_max_ns(profile: &Profile, set_us: Option<u64>) -> u64 {
    match set_us {
        Some(us) if profile.ticks && us < MIN_RTO_US => {
            (rto_min_us(profile, set_us) * 1000).max(2 * TICK_NS) - TICK_NS
        }
        _ => u64::MAX,
    }
}

/// The RTT estimator. It computes in units of the stack's clock, so that a clock of milliseconds
/// truncates as in the kernel.
#[derive(Clone, Debug)]
pub struct Rtt {
    clock_us: u64,
    /// Smallest value of the variance term of the timeout, in clock units.
    floor: i64,
    /// Smoothed RTT, in eighths of a clock unit; 0 before the first sample.
    srtt_x8: i64,
    /// Mean deviation of the RTT, in quarters of a clock unit.
    mdev_x4: i64,
    mdev_max: i64,
    var: i64,
    /// Sequence number whose acknowledgement ends the window over which the largest variance is
    /// used.
    window_end: u64,
    rto_us: u64,
    /// How often the timeout has been doubled without progress in between.
    backoff: u32,
    /// Smallest RTT sample in microseconds.
    pub min_us: u32,
}

impl Rtt {
    /// Creates an estimator without samples.
    pub fn new(clock_us: u64, initial_rto_us: u64, rto_min_us: u64) -> Rtt {
        Rtt {
            clock_us,
            floor: (rto_min_us / clock_us) as i64,
            srtt_x8: 0,
            mdev_x4: 0,
            mdev_max: 0,
            var: 0,
            window_end: 0,
            rto_us: initial_rto_us,
            backoff: 0,
            min_us: u32::MAX,
        }
    }

    /// The floor of the variance term (tcp_rto_min_us).
    pub fn rto_min_us(&self) -> u64 {
        self.floor as u64 * self.clock_us
    }

    /// Adds a sample.
    pub fn sample(&mut self, sample_us: u64, snd_una: u64, snd_nxt: u64) {
        let sample = (clock_units(sample_us, self.clock_us) as i64).max(1);
        if self.srtt_x8 != 0 {
            let mut error = sample - (self.srtt_x8 >> 3);
            self.srtt_x8 = (self.srtt_x8 + error).max(1);
            if error < 0 {
                error = -error - (self.mdev_x4 >> 2);
                if error > 0 {
                    error >>= 3;
                }
            } else {
                error -= self.mdev_x4 >> 2;
            }
            self.mdev_x4 += error;
            if self.mdev_x4 > self.mdev_max {
                self.mdev_max = self.mdev_x4;
                self.var = self.var.max(self.mdev_max);
            }
            if snd_una > self.window_end {
                if self.mdev_max < self.var {
                    self.var -= (self.var - self.mdev_max) >> 2;
                }
                self.window_end = snd_nxt;
                self.mdev_max = self.floor;
            }
        } else {
            self.srtt_x8 = sample << 3;
            self.mdev_x4 = sample << 1;
            self.mdev_max = self.mdev_x4.max(self.floor);
            self.var = self.mdev_max;
            self.window_end = snd_nxt;
        }
        self.backoff = 0;
        self.rto_us = (((self.srtt_x8 >> 3) + self.var) as u64 * self.clock_us).min(MAX_RTO_US);
    }

    /// Smoothed RTT; 0 before the first sample.
    pub fn srtt_us(&self) -> u64 {
        (self.srtt_x8 as u64 * self.clock_us) >> 3
    }

    /// The retransmission timeout, with its doublings.
    pub fn rto_us(&self) -> u64 {
        self.rto_us
            .saturating_mul(1 << self.backoff.min(20))
            .min(MAX_RTO_US)
    }

    /// Mean deviation of the RTT.
    pub fn deviation_us(&self) -> u64 {
        (self.mdev_x4 as u64 * self.clock_us) >> 2
    }

    /// How often the timeout has been doubled without progress in between.
    pub fn doublings(&self) -> u32 {
        self.backoff
    }

    /// Doubles the retransmission timeout after it has expired.
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Whether a timeout has doubled the next one since the last sample.
    pub fn has_backed_off(&self) -> bool {
        self.backoff > 0
    }

    /// Sets the retransmission timeout after a handshake that gave no RTT sample
    /// (TCP_TIMEOUT_FALLBACK).
    pub fn fall_back(&mut self) {
        self.rto_us = FALLBACK_RTO_US;
    }

    /// Ends the doubling of the timeout when an ACK shows progress.
    pub fn end_backoff(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_of_a_steady_path_is_its_rtt_plus_200_ms() {
        let mut rtt = Rtt::new(1000, 3_000_000, MIN_RTO_US);
        for i in 0..200 {
            rtt.sample(100_000, i, i + 1);
        }
        assert_eq!(rtt.srtt_us(), 100_000);
        assert_eq!(rtt.rto_us(), 300_000);
    }

    #[test]
    fn the_timeout_after_the_first_sample_is_three_round_trips() {
        let mut rtt = Rtt::new(1, 1_000_000, MIN_RTO_US);
        assert_eq!(rtt.rto_us(), 1_000_000);
        rtt.sample(400_000, 1, 2);
        assert_eq!(rtt.rto_us(), 1_200_000);
        rtt.back_off();
        assert_eq!(rtt.rto_us(), 2_400_000);
    }
}
