//! A histogram of fixed size, of how late packets were delivered.

/// Binary logarithm of the number of buckets per factor of two, which is 32. So the values in a
/// bucket differ by at most 1/32, about 3 %.
const PRECISION_BITS: u32 = 5;
const PER_OCTAVE: usize = 1 << PRECISION_BITS;
const BUCKETS: usize = (64 - PRECISION_BITS as usize + 1) * PER_OCTAVE;

/// Histogram of durations in nanoseconds. Short durations are stored exactly, longer ones with an
/// error of at most 1/32.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Box<[u64; BUCKETS]>,
    count: u64,
    sum_ns: u128,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            buckets: Box::new([0; BUCKETS]),
            count: 0,
            sum_ns: 0,
            max_ns: 0,
        }
    }
}

fn bucket(value_ns: u64) -> usize {
    let octave = (u64::BITS - value_ns.leading_zeros()).saturating_sub(PRECISION_BITS + 1);
    octave as usize * PER_OCTAVE + (value_ns >> octave) as usize
}

/// The largest value that belongs to a bucket.
fn upper_ns(bucket: usize) -> u64 {
    if bucket < 2 * PER_OCTAVE {
        return bucket as u64;
    }
    let octave = bucket / PER_OCTAVE - 1;
    let mantissa = (bucket - octave * PER_OCTAVE) as u64;
    (mantissa << octave) | ((1 << octave) - 1)
}

impl Histogram {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value_ns: u64) {
        self.buckets[bucket(value_ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest value; `None` without values.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// The mean of all values; `None` without values.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The value that a fraction `q` of all values does not exceed; `None` without values.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let rank = ((q * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (i, n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= rank {
                return Some(upper_ns(i).min(self.max_ns));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_have_an_error_of_at_most_a_thirty_second() {
        let mut histogram = Histogram::default();
        let mut values: Vec<u64> = (0..20_000u64).map(|i| (i * i * 7919) % 900_007).collect();
        values.iter().for_each(|&v| histogram.add(v));
        values.sort_unstable();
        for q in [0.01, 0.5, 0.9, 0.99, 1.0] {
            let exact = values[(q * values.len() as f64).ceil() as usize - 1];
            let found = histogram.quantile_ns(q).unwrap();
            assert!(found >= exact, "{q}: {found} < {exact}");
            assert!(found - exact <= exact / 32, "{q}: {found} for {exact}");
        }
        assert_eq!(histogram.max_ns(), values.last().copied());
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
        assert!((histogram.mean_ns().unwrap() - mean).abs() < 1e-6);
    }

    #[test]
    fn buckets_are_ordered_and_contain_their_values() {
        for value in (0..100_000)
            .chain((0..63).map(|bit| 1 << bit))
            .chain([u64::MAX])
        {
            let at = bucket(value);
            assert!(upper_ns(at) >= value);
            assert!(at == 0 || upper_ns(at - 1) < value);
        }
    }

    #[test]
    fn without_values_there_are_no_statistics() {
        let histogram = Histogram::default();
        assert_eq!(histogram.quantile_ns(0.5), None);
        assert_eq!(histogram.mean_ns(), None);
        assert_eq!(histogram.max_ns(), None);
    }
}
