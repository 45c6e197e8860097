//! A token bucket (RFC 2697 calls its size the committed burst size). Arithmetic is exact: levels
//! are in nanobits.
//!
//! Rate and size may change during a run. The bucket keeps its tokens, up to its new size. A bucket
//! that is switched on is full.

use super::timeline::Timeline;
use crate::scenario::{OverTime, Policer, Shaper};
use headway_experiment::path::NANOBITS_PER_BYTE;

/// The parameters of a token bucket.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    rate_bps: u64,
    size: u128,
    /// Whether a policer marks packets that find too few tokens, if they support ECN.
    mark: bool,
}

impl From<Policer> for Rule {
    fn from(policer: Policer) -> Rule {
        Rule {
            rate_bps: policer.rate_bps,
            size: nanobits(policer.burst_bytes),
            mark: policer.mark,
        }
    }
}

impl From<Shaper> for Rule {
    fn from(shaper: Shaper) -> Rule {
        Rule {
            rate_bps: shaper.rate_bps,
            size: nanobits(shaper.burst_bytes),
            mark: false,
        }
    }
}

fn nanobits(bytes: u64) -> u128 {
    u128::from(bytes) * NANOBITS_PER_BYTE
}

/// A token bucket, full at the start.
#[derive(Clone, Debug)]
pub struct Bucket {
    rules: Timeline<Rule>,
    tokens: Tokens,
}

/// The tokens of a bucket at some time.
#[derive(Clone, Copy, Debug)]
struct Tokens {
    /// Number of the rule that applies.
    at: usize,
    level: u128,
    /// When the level was computed.
    at_ns: u64,
}

impl Bucket {
    /// A bucket with these rules.
    pub fn new<T: Into<Rule>>(rules: OverTime<T>) -> Bucket {
        let rules = rules
            .into_iter()
            .map(|(ns, rule)| (ns, rule.map(Into::<Rule>::into)));
        let rules = Timeline::new(rules.collect());
        let tokens = Tokens {
            at: 0,
            level: rules.value(0).map_or(0, |rule| rule.size),
            at_ns: 0,
        };
        Bucket { rules, tokens }
    }

    /// The rate at `now_ns`; None while the bucket is off.
    pub fn rate_bps(&self, now_ns: u64) -> Option<u64> {
        self.rules.value_at(now_ns).map(|rule| rule.rate_bps)
    }

    /// Whether packets that find too few tokens are marked, by the rule of the latest packet.
    pub fn marks(&self) -> bool {
        let rule = self.rules.value(self.tokens.at);
        rule.is_some_and(|rule| rule.mark)
    }

    /// From now on, times of changes count from `origin_ns`; the changes start over.
    pub fn begin_at(&mut self, origin_ns: u64) {
        self.rules.begin_at(origin_ns);
        let was = self.rules.value(self.tokens.at).is_some();
        self.tokens.at = 0;
        self.tokens = self.under_rule(self.tokens, was);
    }

    /// The tokens after a change of rules. `was_on`: whether the bucket was on before it.
    fn under_rule(&self, tokens: Tokens, was_on: bool) -> Tokens {
        let size = self.rules.value(tokens.at).map_or(0, |rule| rule.size);
        Tokens {
            level: if was_on { tokens.level.min(size) } else { size },
            ..tokens
        }
    }

    /// The tokens at `now_ns`, if no change comes before.
    fn filled(&self, tokens: Tokens, now_ns: u64) -> Tokens {
        let level = self.rules.value(tokens.at).map_or(0, |rule| {
            let elapsed_ns = now_ns.saturating_sub(tokens.at_ns);
            let filled = u128::from(rule.rate_bps) * u128::from(elapsed_ns);
            rule.size.min(tokens.level + filled)
        });
        Tokens {
            level,
            at_ns: tokens.at_ns.max(now_ns),
            ..tokens
        }
    }

    /// The tokens at `now_ns`.
    fn at_time(&self, mut tokens: Tokens, now_ns: u64) -> Tokens {
        while let Some(change_ns) = self.rules.next_ns(tokens.at).filter(|&ns| ns <= now_ns) {
            let was_on = self.rules.value(tokens.at).is_some();
            tokens = self.filled(tokens, change_ns);
            tokens.at += 1;
            tokens = self.under_rule(tokens, was_on);
        }
        self.filled(tokens, now_ns)
    }

    /// Takes a packet's tokens. Returns false, and takes none, if there are too few. A bucket that
    /// is off has tokens for every packet.
    pub fn take(&mut self, now_ns: u64, ip_bytes: u32) -> bool {
        self.tokens = self.at_time(self.tokens, now_ns);
        if self.rules.value(self.tokens.at).is_none() {
            return true;
        }
        let need = nanobits(ip_bytes.into());
        let enough = self.tokens.level >= need;
        if enough {
            self.tokens.level -= need;
        }
        enough
    }

    /// When the bucket has tokens for a packet: `now_ns` or later.
    pub fn ready_ns(&self, mut now_ns: u64, ip_bytes: u32) -> u64 {
        let mut tokens = self.tokens;
        loop {
            tokens = self.at_time(tokens, now_ns);
            let Some(rule) = self.rules.value(tokens.at) else {
                return now_ns;
            };
            let missing = nanobits(ip_bytes.into()).saturating_sub(tokens.level);
            let wait_ns = missing.div_ceil(u128::from(rule.rate_bps));
            let ready_ns = now_ns.saturating_add(u64::try_from(wait_ns).unwrap_or(u64::MAX));
            match self.rules.next_ns(tokens.at) {
                Some(change_ns) if change_ns < ready_ns => now_ns = change_ns,
                _ => return ready_ns,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn rule(rate_bps: u64, burst_bytes: u64) -> Option<Shaper> {
        Some(Shaper {
            rate_bps,
            burst_bytes,
        })
    }

    #[test]
    fn a_bucket_lets_a_burst_pass_and_then_its_rate() {
        let mut bucket = Bucket::new(vec![(0, rule(12_000_000, 4500))]);
        // 1500 bytes per millisecond
        let taken: Vec<bool> = (0..5).map(|_| bucket.take(10, 1500)).collect();
        assert_eq!(taken, [true, true, true, false, false]);
        assert!(!bucket.take(1_000_009, 1500));
        assert!(bucket.take(1_000_010, 1500));
        assert!(!bucket.take(1_000_010, 1));
        // after a pause it is full, and no fuller
        let after: Vec<bool> = (0..4).map(|_| bucket.take(1 << 60, 1500)).collect();
        assert_eq!(after, [true, true, true, false]);
    }

    #[test]
    fn a_packet_is_ready_at_the_first_nanosecond_with_enough_tokens() {
        let mut bucket = Bucket::new(vec![(0, rule(7_777_777, 1500))]);
        assert!(bucket.take(0, 1500));
        let ready_ns = bucket.ready_ns(5, 1000);
        assert!(!bucket.clone().take(ready_ns - 1, 1000));
        assert!(bucket.take(ready_ns, 1000));
    }

    #[test]
    fn tokens_are_carried_over_a_change_up_to_the_new_size() {
        let rules = vec![
            (0, rule(12_000_000, 6000)),
            (2 * MS, rule(6_000_000, 3000)),
            (9 * MS, rule(12_000_000, 9000)),
        ];
        let mut bucket = Bucket::new(rules);
        assert!(bucket.take(0, 6000));
        // 3000 bytes until the change, which is the new size, then 750 per ms
        assert!(!bucket.clone().take(2 * MS, 3001));
        assert!(bucket.take(2 * MS, 2000));
        assert_eq!(bucket.ready_ns(2 * MS, 1750), 3 * MS);
        // full again before 9 ms; the larger size does not fill it at once
        assert!(!bucket.clone().take(9 * MS, 3001));
        assert!(bucket.take(10 * MS, 4500));
        assert_eq!(bucket.rate_bps(8 * MS), Some(6_000_000));
    }

    #[test]
    fn a_bucket_that_is_off_passes_all_and_is_full_when_it_is_on_again() {
        let rules = vec![
            (0, rule(12_000, 1500)),
            (3 * MS, None),
            (5 * MS, rule(12_000, 3000)),
        ];
        let mut bucket = Bucket::new(rules);
        assert!(bucket.take(0, 1500));
        // it would take a second to fill, but is off after 3 ms
        assert_eq!(bucket.ready_ns(1, 1500), 3 * MS);
        assert!(bucket.take(3 * MS, 60_000));
        assert_eq!(bucket.rate_bps(4 * MS), None);
        assert!(bucket.take(5 * MS, 3000));
        assert!(!bucket.take(5 * MS, 1));
        // it starts over with tokens of its time, up to the first size
        bucket.begin_at(100 * MS);
        assert!(!bucket.clone().take(5 * MS, 1));
        assert!(bucket.take(100 * MS, 142));
        assert!(bucket.take(103 * MS, 60_000));
    }
}
