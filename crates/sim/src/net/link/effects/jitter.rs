//! Delay variation: draws each packet's deviation from the link's delay, and keeps packets in order
//! if they may not overtake each other.
//!
//! netem correlates uniform numbers by a weighted sum, which narrows the distribution. Here the
//! chain is normal (autoregressive of order 1) and is mapped to uniform numbers by the normal
//! distribution function, so that every distribution stays what it is.

use super::timeline::Timeline;
use crate::rng;
use crate::scenario::{Distribution, Jitter as Spec, OverTime, PARETO_MOST, TABLE_SCALE};
use headway_experiment::sizes::normal;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Standard deviation of the Pareto distribution of shape 3 and scale 1, whose mean is 1.5.
const PARETO_SD: f64 = 0.866_025_403_784_438_6;
/// Distance of neighbouring random numbers in [0, 1).
const STEP: f64 = 1.0 / 9_007_199_254_740_992.0;

/// The delay variation of a link.
#[derive(Clone, Debug)]
pub struct Jitter {
    specs: Timeline<Spec>,
    at: usize,
    source: Source,
    /// When the latest packet so far arrives. It is known while the jitter is off, too, so that no
    /// packet overtakes others because of a change.
    latest_ns: u64,
}

impl Jitter {
    pub fn new(specs: OverTime<Spec>, rng: Xoshiro256PlusPlus) -> Jitter {
        let mut jitter = Jitter {
            specs: Timeline::new(specs),
            at: 0,
            source: Source {
                correlation: 0.0,
                chain: None,
                innovation: 1.0,
                rng,
            },
            latest_ns: 0,
        };
        jitter.set_correlation();
        jitter
    }

    /// From now on, times of changes count from `origin_ns`; the changes start over.
    pub fn begin_at(&mut self, origin_ns: u64) {
        self.specs.begin_at(origin_ns);
        if self.at > 0 {
            self.at = 0;
            self.set_correlation();
        }
    }

    fn set_correlation(&mut self) {
        let spec = self.specs.value(self.at);
        self.source.correlate(spec.map_or(0.0, |s| s.correlation));
    }

    /// When a packet arrives that leaves at `depart_ns` and would arrive at `arrive_ns` without
    /// jitter. The parameters are those at `depart_ns`, which must not decrease from call to call.
    pub fn arrive_ns(&mut self, depart_ns: u64, arrive_ns: u64) -> u64 {
        while self
            .specs
            .next_ns(self.at)
            .is_some_and(|ns| ns <= depart_ns)
        {
            self.at += 1;
            self.set_correlation();
        }
        let spec = self.specs.value(self.at);
        let deviation_ns = spec.map_or(0, |spec| deviation_ns(spec, &mut self.source));
        let moved_ns = arrive_ns.saturating_add_signed(deviation_ns).max(depart_ns);
        self.latest_ns = self.latest_ns.max(moved_ns);
        if spec.is_some_and(|spec| spec.reorder) {
            moved_ns
        } else {
            self.latest_ns
        }
    }
}

/// Draws the deviation of a packet's delay, in nanoseconds.
fn deviation_ns(spec: &Spec, source: &mut Source) -> i64 {
    if !spec.table.is_empty() {
        let index = (source.uniform() * spec.table.len() as f64) as usize;
        let value = i128::from(spec.table[index]);
        return (i128::from(spec.spread_ns) * value / i128::from(TABLE_SCALE)) as i64;
    }
    let spreads = match spec.distribution {
        Distribution::Uniform => 2.0 * source.uniform() - 1.0,
        Distribution::Normal => source.normal(),
        Distribution::Pareto => {
            let value = (1.0 / libm::cbrt(1.0 - source.uniform()) - 1.5) / PARETO_SD;
            value.min(PARETO_MOST)
        }
    };
    libm::round(spreads * spec.spread_ns as f64) as i64
}

/// Random numbers, each correlated with the one before.
#[derive(Clone, Debug)]
struct Source {
    correlation: f64,
    /// The last value of the normal chain, if numbers are correlated.
    chain: Option<f64>,
    /// Weight of a new value in the chain: sqrt(1 - correlation²).
    innovation: f64,
    rng: Xoshiro256PlusPlus,
}

impl Source {
    /// Sets the correlation. A chain that exists continues, because its distribution is the same.
    fn correlate(&mut self, correlation: f64) {
        self.correlation = correlation;
        self.innovation = libm::sqrt(1.0 - correlation * correlation);
        self.chain = match self.chain {
            _ if correlation <= 0.0 => None,
            None => Some(self.independent()),
            chain => chain,
        };
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
                *last = self.correlation * *last + self.innovation * new;
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

    const MS: u64 = 1_000_000;
    const SPREAD_NS: u64 = 10 * MS;
    const DELAY_NS: u64 = 4 * MS;
    const BINS: usize = 20;
    /// 99.9th percentile of chi-squared with 19 degrees of freedom.
    const CRITICAL: f64 = 43.82;

    fn spec(json: &str) -> Spec {
        serde_json::from_str(&format!(r#"{{"spread_ns": {SPREAD_NS}, {json}}}"#)).unwrap()
    }

    fn jitter(specs: OverTime<Spec>) -> Jitter {
        Jitter::new(specs, stream(5, Purpose::Jitter, 0))
    }

    /// Deviations of this kind, one after the other.
    fn deviations(json: &str) -> impl Iterator<Item = i64> {
        let spec = spec(json);
        let mut source = jitter(vec![(0, Some(spec.clone()))]).source;
        std::iter::repeat_with(move || deviation_ns(&spec, &mut source))
    }

    /// Compares deviations with the quantiles of a distribution, in spreads. Of correlated
    /// deviations, only every `every`-th one is used.
    fn fits(json: &str, every: usize, below: impl Fn(f64) -> f64) {
        let mut all = deviations(json).skip(every - 1).step_by(every);
        let samples = 100_000;
        let mut seen = vec![0.0; BINS];
        for _ in 0..samples {
            let spreads = all.next().unwrap() as f64 / SPREAD_NS as f64;
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
        let allowed = table.map(|value: i64| SPREAD_NS as i64 * value / 8192);
        let mut seen = [0.0; 8];
        for drawn in deviations(&format!(r#""table": {table:?}"#)).take(80_000) {
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
            let all = deviations(&format!(r#""distribution": "{name}", "correlation": 0.8"#));
            let all: Vec<f64> = all.take(200_000).map(|ns| ns as f64).collect();
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
            let arrivals = arrivals(&mut jitter(vec![(0, Some(spec(json)))]));
            assert_eq!(arrivals.windows(2).any(|w| w[1] < w[0]), overtakes);
        }
    }

    /// Arrivals of packets that leave every millisecond.
    fn arrivals(jitter: &mut Jitter) -> Vec<u64> {
        let arrive_ns = |packet: u64| {
            let depart_ns = packet * MS;
            let at_ns = jitter.arrive_ns(depart_ns, depart_ns + DELAY_NS);
            assert!(at_ns >= depart_ns);
            at_ns
        };
        (1..1000).map(arrive_ns).collect()
    }

    #[test]
    fn a_change_makes_no_packet_overtake_and_keeps_the_delays_of_others() {
        let (on, free) = (
            spec(r#""correlation": 0.5"#),
            spec(r#""correlation": 0.5, "reorder": true"#),
        );
        let plain_ns = |packet: usize| packet as u64 * MS + DELAY_NS;
        let always = arrivals(&mut jitter(vec![(0, Some(on.clone()))]));
        // the jitter ends behind a packet that arrives later than the next one without jitter
        let last = (200..).find(|&n| always[n - 1] > plain_ns(n + 1)).unwrap();
        let end_ns = (last as u64 + 1) * MS;
        let steps = |first: &Spec| {
            vec![
                (0, Some(first.clone())),
                (end_ns, None),
                (end_ns + 100 * MS, Some(on.clone())),
            ]
        };
        let switched = arrivals(&mut jitter(steps(&on)));
        // packets that left before the change are in flight with the delays they have
        assert_eq!(switched[..last], always[..last]);
        // the next ones wait for them, and then have the link's delay
        assert_eq!(switched[last], always[last - 1]);
        assert!(switched.windows(2).all(|w| w[0] <= w[1]));
        assert_eq!(switched[last + 49], plain_ns(last + 50));
        assert_ne!(switched[last + 149], plain_ns(last + 150));
        // after a time with reordering, too, no packet overtakes another any more
        let freed = arrivals(&mut jitter(steps(&free)));
        assert!(freed[..last].windows(2).any(|w| w[1] < w[0]));
        assert_eq!(freed[last], always[last - 1]);
        assert!(freed[last..].windows(2).all(|w| w[0] <= w[1]));
    }

    #[test]
    fn a_step_with_the_same_parameters_changes_nothing() {
        let same = spec(r#""distribution": "pareto", "correlation": 0.7"#);
        let once = arrivals(&mut jitter(vec![(0, Some(same.clone()))]));
        let steps = vec![(0, Some(same.clone())), (200 * MS, Some(same))];
        assert_eq!(arrivals(&mut jitter(steps)), once);
    }
}
