//! Distributions: exact sums, and quantiles by histogram.
//!
//! Sums are integers, so means and standard deviations are exact. Below [`EXACT_BELOW`] each value
//! has its own bucket; above, buckets are less than 0.05 % wide. A bucket remembers the last value
//! added to it. The error of a quantile is therefore at most 0.05 %. A quantile is exact if values
//! are further apart than a bucket is wide, as with queue lengths of large packets.

use serde::Serialize;

/// Binary logarithm of the number of buckets per factor of two.
const SUB_BITS: u32 = 11;
/// Values below this have buckets of their own.
pub const EXACT_BELOW: u64 = 2 << SUB_BITS;
/// Tolerance for a sum of fractions that should be 1, which rounding may make slightly smaller.
const HAIR: f64 = 1e-12;

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    weight: u64,
    value: u64,
}

/// Values with weights: a signal over time, where a value's weight is its duration, or samples of
/// weight 1.
#[derive(Clone, Debug)]
pub struct Spread {
    buckets: Vec<Bucket>,
    weight: u64,
    sum: u128,
    squares: u128,
    min: u64,
    max: u64,
}

impl Default for Spread {
    fn default() -> Self {
        Spread {
            buckets: Vec::new(),
            weight: 0,
            sum: 0,
            squares: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

/// Statistics of a distribution; all null without samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// 50 %.
    pub median: Option<f64>,
    /// Exact.
    pub mean: Option<f64>,
    /// Exact.
    pub sd: Option<f64>,
    /// 95 %.
    pub p95: Option<f64>,
    /// 99 %.
    pub p99: Option<f64>,
    /// Exact.
    pub min: Option<f64>,
    /// Exact.
    pub max: Option<f64>,
}

fn bucket_of(value: u64) -> usize {
    if value < EXACT_BELOW {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (value >> shift) as usize
}

impl Spread {
    /// Adds a value with a weight: how often it occurs, or how long it lasts.
    #[inline]
    pub fn add(&mut self, value: u64, weight: u64) {
        if weight == 0 {
            return;
        }
        let number = bucket_of(value);
        if number >= self.buckets.len() {
            self.grow(number);
        }
        let bucket = &mut self.buckets[number];
        bucket.weight += weight;
        bucket.value = value;
        self.weight += weight;
        let once = u128::from(value) * u128::from(weight);
        self.sum += once;
        self.squares += once * u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    #[cold]
    fn grow(&mut self, number: usize) {
        let octaves = (number >> SUB_BITS) + 1;
        self.buckets.resize(octaves << SUB_BITS, Bucket::default());
    }

    /// Sum of the squared distances from the mean.
    fn sum_of_squares(&self) -> f64 {
        // The part of the sum about the nearest integer to the mean is exact; the distance from
        // that integer to the mean is less than 1.
        let weight = u128::from(self.weight);
        let centre = self.sum / weight;
        let about = self.squares + centre * centre * weight - 2 * centre * self.sum;
        let rest = (self.sum - centre * weight) as f64;
        (about as f64 - rest * rest / weight as f64).max(0.0)
    }

    /// The smallest value that the signal does not exceed for the fraction `share` of the time.
    fn time_quantile(&self, share: f64) -> f64 {
        let mut reached = 0;
        for bucket in self.buckets.iter().filter(|bucket| bucket.weight > 0) {
            reached += bucket.weight;
            if reached as f64 / self.weight as f64 >= share - HAIR {
                return bucket.value as f64;
            }
        }
        self.max as f64
    }

    /// The order statistic with rank `rank`, where 0 is the smallest value.
    fn order_statistic(&self, rank: u64) -> f64 {
        let mut reached = 0;
        for bucket in &self.buckets {
            reached += bucket.weight;
            if reached > rank {
                return bucket.value as f64;
            }
        }
        self.max as f64
    }

    /// Interpolates between two order statistics.
    fn interpolated(&self, share: f64) -> f64 {
        let place = share * (self.weight - 1) as f64;
        let below = self.order_statistic(place as u64);
        let above = self.order_statistic((place as u64 + 1).min(self.weight - 1));
        below + (above - below) * place.fract()
    }

    /// A quantile of samples, each of weight 1, in units of `unit`, interpolated between order
    /// statistics; None without samples.
    pub fn quantile(&self, share: f64, unit: f64) -> Option<f64> {
        (self.weight > 0).then(|| self.interpolated(share) / unit)
    }

    /// Statistics of a signal, weighted by time.
    pub fn over_time(&self) -> Distribution {
        if self.weight == 0 {
            return Distribution::default();
        }
        Distribution {
            median: Some(self.time_quantile(0.5)),
            mean: Some(self.sum as f64 / self.weight as f64),
            sd: Some((self.sum_of_squares() / self.weight as f64).sqrt()),
            p95: Some(self.time_quantile(0.95)),
            p99: Some(self.time_quantile(0.99)),
            min: Some(self.min as f64),
            max: Some(self.max as f64),
        }
    }

    /// Statistics of samples, each of weight 1, in units of `unit`. Percentiles interpolate between
    /// order statistics. The standard deviation is the sample standard deviation, and null for a
    /// single sample.
    pub fn over_samples(&self, unit: f64) -> Distribution {
        if self.weight == 0 {
            return Distribution::default();
        }
        let more = self.weight > 1;
        let sd = more.then(|| (self.sum_of_squares() / (self.weight - 1) as f64).sqrt() / unit);
        Distribution {
            median: Some(self.interpolated(0.5) / unit),
            mean: Some(self.sum as f64 / self.weight as f64 / unit),
            sd,
            p95: Some(self.interpolated(0.95) / unit),
            p99: Some(self.interpolated(0.99) / unit),
            min: Some(self.min as f64 / unit),
            max: Some(self.max as f64 / unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_share_a_bucket_are_less_than_0_05_percent_apart() {
        let large = (14..60).flat_map(|e| (0..2000).map(move |k| (1_u64 << e) + (k << (e - 11))));
        let mut buckets = std::collections::BTreeMap::new();
        for value in (0..20_000).chain(large) {
            let (low, high) = buckets.entry(bucket_of(value)).or_insert((value, value));
            (*low, *high) = (value.min(*low), value.max(*high));
            assert!(
                (*high - *low) as f64 <= *low as f64 / 2048.0,
                "{low} to {high}"
            );
            assert!(value >= EXACT_BELOW || low == high);
        }
        let in_order: Vec<_> = buckets.values().collect();
        assert!(in_order.windows(2).all(|two| two[0].1 < two[1].0));
    }

    #[test]
    fn mean_and_standard_deviation_are_exact_for_values_far_from_zero() {
        let mut spread = Spread::default();
        for value in [10_000_000_000_001, 10_000_000_000_002, 10_000_000_000_006] {
            spread.add(value, 1);
        }
        let found = spread.over_samples(1.0);
        assert_eq!(found.mean, Some(10_000_000_000_003.0));
        assert!((found.sd.unwrap() - 7.0_f64.sqrt()).abs() < 1e-9);
        assert_eq!(Spread::default().over_time(), Distribution::default());
    }

    #[test]
    fn percentiles_are_weighted_by_time_or_interpolate_between_samples() {
        let mut signal = Spread::default();
        signal.add(10, 50);
        signal.add(20, 45);
        signal.add(7, 0);
        signal.add(1000, 5);
        let found = signal.over_time();
        assert_eq!(
            (found.median, found.p95, found.p99),
            (Some(10.0), Some(20.0), Some(1000.0))
        );
        assert_eq!((found.min, found.max), (Some(10.0), Some(1000.0)));
        let mut samples = Spread::default();
        for value in [1, 2, 3, 10] {
            samples.add(value, 1);
        }
        assert_eq!(samples.over_samples(2.0).median, Some(1.25));
    }
}
