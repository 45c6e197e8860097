//! Bursty loss by the model of Gilbert and Elliott.

use super::timeline::Timeline;
use crate::rng::threshold;
use crate::scenario::{self, OverTime};
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The Markov chain of a link's loss. While it is off, it draws nothing; it begins in the good
/// state again.
#[derive(Clone, Debug)]
pub struct BurstLoss {
    chances: Timeline<Chances>,
    at: usize,
    is_bad: bool,
    rng: Xoshiro256PlusPlus,
}

/// Probabilities as thresholds for 64-bit random numbers.
#[derive(Clone, Copy, Debug)]
struct Chances {
    to_bad: u64,
    to_good: u64,
    loss_bad: u64,
    loss_good: u64,
}

impl BurstLoss {
    pub fn new(specs: OverTime<scenario::BurstLoss>, rng: Xoshiro256PlusPlus) -> BurstLoss {
        let chances = |spec: scenario::BurstLoss| Chances {
            to_bad: threshold(spec.to_bad),
            to_good: threshold(spec.to_good),
            loss_bad: threshold(spec.loss_bad),
            loss_good: threshold(spec.loss_good),
        };
        let specs = specs.into_iter().map(|(ns, spec)| (ns, spec.map(chances)));
        BurstLoss {
            chances: Timeline::new(specs.collect()),
            at: 0,
            is_bad: false,
            rng,
        }
    }

    /// From now on, times of changes count from `origin_ns`; the changes start over.
    pub fn begin_at(&mut self, origin_ns: u64) {
        self.chances.begin_at(origin_ns);
        self.at = 0;
    }

    /// Moves the chain, and decides whether the next packet is lost.
    pub fn loses(&mut self, now_ns: u64) -> bool {
        while self.chances.next_ns(self.at).is_some_and(|ns| ns <= now_ns) {
            self.at += 1;
            self.is_bad &= self.chances.value(self.at).is_some();
        }
        let Some(&chances) = self.chances.value(self.at) else {
            return false;
        };
        let moves = if self.is_bad {
            chances.to_good
        } else {
            chances.to_bad
        };
        self.is_bad ^= self.rng.next_u64() < moves;
        let loss = if self.is_bad {
            chances.loss_bad
        } else {
            chances.loss_good
        };
        self.rng.next_u64() < loss
    }
}

#[cfg(test)]
mod tests {
    use super::super::jitter::chi_squared;
    use super::*;
    use crate::rng::{stream, Purpose};

    /// Lengths of the runs of lost packets, and the share of lost packets.
    fn runs(spec: &scenario::BurstLoss, packets: usize) -> (Vec<usize>, f64) {
        let always = vec![(0, Some(*spec))];
        let mut model = BurstLoss::new(always, stream(11, Purpose::BurstLoss, 0));
        let (mut lengths, mut length, mut lost) = (vec![], 0, 0);
        for _ in 0..packets {
            if model.loses(0) {
                length += 1;
                lost += 1;
            } else if length > 0 {
                lengths.push(length);
                length = 0;
            }
        }
        (lengths, f64::from(lost) / packets as f64)
    }

    #[test]
    fn burst_lengths_are_geometric() {
        for (to_good, loss_bad) in [(0.25, 1.0), (0.1, 0.6)] {
            let spec = scenario::BurstLoss {
                to_bad: 0.01,
                to_good,
                loss_bad,
                loss_good: 0.0,
            };
            let (lengths, _) = runs(&spec, 2_000_000);
            // a loss is followed by another one if the chain stays bad and loses
            let more: f64 = (1.0 - to_good) * loss_bad;
            let bins = 12;
            let mut seen = vec![0.0; bins];
            for length in &lengths {
                seen[(length - 1).min(bins - 1)] += 1.0;
            }
            let expected: Vec<f64> = (0..bins)
                .map(|bin| {
                    let at_least = more.powi(bin as i32);
                    let share = if bin == bins - 1 { 1.0 } else { 1.0 - more };
                    lengths.len() as f64 * at_least * share
                })
                .collect();
            // 99.9th percentile with 11 degrees of freedom
            let chi = chi_squared(&seen, &expected);
            assert!(chi < 31.26, "{chi} {seen:?} {expected:?}");
        }
    }

    #[test]
    fn a_change_keeps_the_state_and_a_loss_that_begins_again_is_good() {
        let rarely = 1e-12;
        let chain = |to_bad, to_good| scenario::BurstLoss {
            to_bad,
            to_good,
            loss_bad: 1.0,
            loss_good: 0.0,
        };
        let (turns, stays) = (chain(1.0, rarely), chain(rarely, rarely));
        for (between, lost) in [(Some(turns), true), (None, false)] {
            let specs = vec![(0, Some(turns)), (5, between), (9, Some(stays))];
            let mut model = BurstLoss::new(specs, stream(11, Purpose::BurstLoss, 0));
            assert!(model.loses(4));
            assert_eq!((model.loses(5), model.loses(9)), (lost, lost));
        }
    }

    #[test]
    fn the_share_of_lost_packets_is_that_of_the_stationary_chain() {
        let spec = scenario::BurstLoss {
            to_bad: 0.02,
            to_good: 0.3,
            loss_bad: 0.8,
            loss_good: 0.01,
        };
        let (_, share) = runs(&spec, 1_000_000);
        let bad = 0.02 / 0.32;
        let expected = bad * 0.8 + (1.0 - bad) * 0.01;
        assert!(
            (share / expected - 1.0).abs() < 0.02,
            "{share} and {expected}"
        );
    }
}
