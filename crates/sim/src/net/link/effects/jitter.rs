//! Delay variation: draws each packet's deviation from the link's delay, and keeps packets in order
//! if they may not overtake each other.
//!
//! netem correlates uniform numbers by a weighted sum, which narrows the distribution. Here the
//! chain is normal (autoregressive of order 1) and is mapped to uniform numbers by the normal
//! distribution function, so that every distribution stays what it is.

use crate::rng;
use crate::scenario::{Distribution, Jitter as Spec, PARETO_MOST, TABLE_SCALE};
use headway_experiment::sizes::normal;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Standard deviation of the Pareto distribution of shape 3 and scale 1, whose mean is 1.5.
const PARETO_SD: f64 = 0.866_025_403_784_438_6;
/// Distance of neighbouring random numbers in [0, 1).
const STEP: f64 = 1.0 / 9_007_199_254_740_992.0;

/// The delay variation of a link.
#[derive(Clone, Debug)]
pub struct Jitter {
    spec: Spec,
    /// The last value of the normal chain, if the deviations are correlated.
    chain: Option<f64>,
    /// Weight of a new value in the chain: sqrt(1 - correlation²).
    innovation: f64,
    /// When the latest packet so far arrives.
    latest_ns: u64,
    rng: Xoshiro256PlusPlus,
}

impl Jitter {
    pub fn new(spec: &Spec, rng: Xoshiro256PlusPlus) -> Jitter {
        let mut jitter = Jitter {
            spec: spec.clone(),
            chain: None,
            innovation: libm::sqrt(1.0 - spec.correlation * spec.correlation),
            latest_ns: 0,
            rng,
        };
        if spec.correlation > 0.0 {
            jitter.chain = Some(jitter.independent());
        }
        jitter
    }

    /// Draws the deviation of a packet's delay, in nanoseconds.
    pub fn deviation_ns(&mut self) -> i64 {
        let spread_ns = self.spec.spread_ns as f64;
        if !self.spec.table.is_empty() {
            let index = (self.uniform() * self.spec.table.len() as f64) as usize;
            let value = i128::from(self.spec.table[index]);
            return (i128::from(self.spec.spread_ns) * value / i128::from(TABLE_SCALE)) as i64;
        }
        let spreads = match self.spec.distribution {
            Distribution::Uniform => 2.0 * self.uniform() - 1.0,
            Distribution::Normal => self.normal(),
            Distribution::Pareto => {
                let value = (1.0 / libm::cbrt(1.0 - self.uniform()) - 1.5) / PARETO_SD;
                value.min(PARETO_MOST)
            }
        };
        libm::round(spreads * spread_ns) as i64
    }

    /// When a packet arrives that would arrive at `arrive_ns` with this deviation, but not before
    /// `depart_ns`.
    pub fn arrive_ns(&mut self, depart_ns: u64, arrive_ns: u64, deviation_ns: i64) -> u64 {
        let moved_ns = arrive_ns.saturating_add_signed(deviation_ns).max(depart_ns);
        if self.spec.reorder {
            return moved_ns;
        }
        self.latest_ns = self.latest_ns.max(moved_ns);
        self.latest_ns
    }

    /// A number in [0, 1), correlated with the previous one if the chain is.
    fn uniform(&mut self) -> f64 {
        if self.chain.is_none() {
            return rng::uniform(&mut self.rng) - STEP;
        }
        let below = 0.5 * libm::erfc(-self.normal() * std::f64::consts::FRAC_1_SQRT_2);
        below.clamp(0.0, 1.0 - STEP)
    }

    fn normal(&mut self) -> f64 {
        let new = self.independent();
        match &mut self.chain {
            None => new,
            Some(last) => {
                *last = self.spec.correlation * *last + self.innovation * new;
                *last
            }
        }
    }

    /// A number with the standard normal distribution.
    fn independent(&mut self) -> f64 {
        normal(|| rng::uniform(&mut self.rng))
    }
}

/// Pearson's statistic of observed and expected counts.
#[cfg(test)]
pub fn chi_squared(seen: &[f64], expected: &[f64]) -> f64 {
    assert!(expected.iter().all(|&n| n >= 5.0), "{expected:?}");
    let terms = seen.iter().zip(expected).map(|(s, e)| (s - e).powi(2) / e);
    terms.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{stream, Purpose};

    const SPREAD_NS: u64 = 10_000_000;
    const BINS: usize = 20;
    /// 99.9th percentile of chi-squared with 19 degrees of freedom.
    const CRITICAL: f64 = 43.82;

    fn jitter(json: &str) -> Jitter {
        let spec = format!(r#"{{"spread_ns": {SPREAD_NS}, {json}}}"#);
        Jitter::new(
            &serde_json::from_str(&spec).unwrap(),
            stream(5, Purpose::Jitter, 0),
        )
    }

    /// Compares deviations with the quantiles of a distribution, in spreads. Of correlated
    /// deviations, only every `every`-th one is used.
    fn fits(json: &str, every: usize, below: impl Fn(f64) -> f64) {
        let mut jitter = jitter(json);
        let samples = 100_000;
        let mut seen = vec![0.0; BINS];
        for _ in 0..samples {
            let all = (0..every).map(|_| jitter.deviation_ns());
            let spreads = all.last().unwrap() as f64 / SPREAD_NS as f64;
            seen[((below(spreads) * BINS as f64) as usize).min(BINS - 1)] += 1.0;
        }
        let chi = chi_squared(&seen, &[f64::from(samples) / BINS as f64; BINS]);
        assert!(chi < CRITICAL, "{json}: {chi} {seen:?}");
    }

    fn normal_below(x: f64) -> f64 {
        0.5 * libm::erfc(-x / 2f64.sqrt())
    }

    fn pareto_below(x: f64) -> f64 {
        1.0 - (x * 0.75f64.sqrt() + 1.5).powi(-3)
    }

    #[test]
    fn deviations_have_their_distribution() {
        fits(r#""distribution": "uniform""#, 1, |x| (x + 1.0) / 2.0);
        fits(r#""distribution": "normal""#, 1, normal_below);
        fits(r#""distribution": "pareto""#, 1, pareto_below);
    }

    #[test]
    fn correlation_does_not_change_the_distribution() {
        // the correlation of every 20th value is 0.5²⁰, less than a millionth
        let of = |name: &str| format!(r#""distribution": "{name}", "correlation": 0.5"#);
        fits(&of("uniform"), 20, |x| (x + 1.0) / 2.0);
        fits(&of("normal"), 20, normal_below);
        fits(&of("pareto"), 20, pareto_below);
    }

    #[test]
    fn values_of_a_table_are_equally_likely_and_scaled_by_8192() {
        let table = [-32768, -8192, -1, 0, 4096, 8192, 16384, 32767];
        let mut jitter = jitter(&format!(r#""table": {table:?}"#));
        let allowed = table.map(|value: i64| SPREAD_NS as i64 * value / 8192);
        let mut seen = [0.0; 8];
        for _ in 0..80_000 {
            let drawn = jitter.deviation_ns();
            seen[allowed.iter().position(|&a| a == drawn).unwrap()] += 1.0;
        }
        // 99.9th percentile with 7 degrees of freedom
        let chi = chi_squared(&seen, &[10_000.0; 8]);
        assert!(chi < 24.32, "{chi} {seen:?}");
    }

    #[test]
    fn successive_deviations_have_the_correlation() {
        // of uniform numbers it is 6/π asin(ρ/2)
        let uniform = 6.0 / std::f64::consts::PI * f64::asin(0.8 / 2.0);
        for (name, expected) in [("normal", 0.8), ("uniform", uniform)] {
            let mut jitter = jitter(&format!(r#""distribution": "{name}", "correlation": 0.8"#));
            let all: Vec<f64> = (0..200_000).map(|_| jitter.deviation_ns() as f64).collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let variance: f64 = all.iter().map(|x| (x - mean).powi(2)).sum();
            let both: f64 = all.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
            let found = both / variance;
            assert!((found - expected).abs() < 0.01, "{name}: {found}");
        }
    }

    #[test]
    fn packets_overtake_only_if_they_may_and_never_arrive_before_they_leave() {
        for (json, overtakes) in [(r#""reorder": true"#, true), (r#""reorder": false"#, false)] {
            let mut jitter = jitter(json);
            let arrivals: Vec<u64> = (1..1000u64)
                .map(|packet| {
                    let depart_ns = packet * 1_000_000;
                    let deviation_ns = jitter.deviation_ns();
                    let at_ns = jitter.arrive_ns(depart_ns, depart_ns + 4_000_000, deviation_ns);
                    assert!(at_ns >= depart_ns);
                    at_ns
                })
                .collect();
            assert_eq!(arrivals.windows(2).any(|w| w[1] < w[0]), overtakes);
        }
    }
}
