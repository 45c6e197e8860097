//! What is kept of a run where no trace is wanted: sums, and quantiles by histogram,
//! so that memory follows the number of flows and not the length of the run.
//!
//! Means and standard deviations are exact: sums are integers. Quantiles are those of
//! a histogram whose buckets hold one value each below [`EXACT_BELOW`] and are less than
//! 0.05 % wide above. A bucket is known by the last of its values, so a quantile is at most
//! 0.05 % off, and exact where values are further apart, as queues of large packets are.

use crate::record::NULL_U32;
use serde::Serialize;

/// Buckets per factor of two, as a power of two.
const SUB_BITS: u32 = 11;
/// Smaller values have buckets of their own.
pub const EXACT_BELOW: u64 = 2 << SUB_BITS;
/// Sums of shares may end a hair below 1.
const HAIR: f64 = 1e-12;

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    weight: u64,
    value: u64,
}

/// Values with weights: a signal over time, or samples of weight 1.
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

/// What is printed of a distribution; all null without samples.
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
    /// Takes in a value that counts `weight` times, or holds so long.
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

    /// Sum of the squares of the distances from the mean.
    fn scatter(&self) -> f64 {
        // About the nearest integer it is exact; the rest of the way is less than 1.
        let weight = u128::from(self.weight);
        let centre = self.sum / weight;
        let about = self.squares + centre * centre * weight - 2 * centre * self.sum;
        let rest = (self.sum - centre * weight) as f64;
        (about as f64 - rest * rest / weight as f64).max(0.0)
    }

    /// The smallest value that holds for at least this share of the time.
    fn holding(&self, share: f64) -> f64 {
        let mut reached = 0;
        for bucket in self.buckets.iter().filter(|bucket| bucket.weight > 0) {
            reached += bucket.weight;
            if reached as f64 / self.weight as f64 >= share - HAIR {
                return bucket.value as f64;
            }
        }
        self.max as f64
    }

    /// The order statistic of this number, from 0.
    fn ranked(&self, rank: u64) -> f64 {
        let mut reached = 0;
        for bucket in &self.buckets {
            reached += bucket.weight;
            if reached > rank {
                return bucket.value as f64;
            }
        }
        self.max as f64
    }

    /// Between two order statistics.
    fn interpolated(&self, share: f64) -> f64 {
        let place = share * (self.weight - 1) as f64;
        let below = self.ranked(place as u64);
        let above = self.ranked((place as u64 + 1).min(self.weight - 1));
        below + (above - below) * place.fract()
    }

    /// Of a signal, weighted by time.
    pub fn over_time(&self) -> Distribution {
        if self.weight == 0 {
            return Distribution::default();
        }
        Distribution {
            median: Some(self.holding(0.5)),
            mean: Some(self.sum as f64 / self.weight as f64),
            sd: Some((self.scatter() / self.weight as f64).sqrt()),
            p95: Some(self.holding(0.95)),
            p99: Some(self.holding(0.99)),
            min: Some(self.min as f64),
            max: Some(self.max as f64),
        }
    }

    /// Of samples, each of weight 1, in units of `unit`. Percentiles interpolate between
    /// order statistics; the standard deviation is that of a sample, null for one.
    pub fn over_samples(&self, unit: f64) -> Distribution {
        if self.weight == 0 {
            return Distribution::default();
        }
        let more = self.weight > 1;
        let sd = more.then(|| (self.scatter() / (self.weight - 1) as f64).sqrt() / unit);
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

/// A signal that keeps its value until it changes, as its mean over time.
#[derive(Clone, Debug, Default)]
struct Held {
    value: Option<u32>,
    sum: u128,
    time_ns: u64,
}

impl Held {
    #[inline]
    fn pass(&mut self, time_ns: u64) {
        if let Some(value) = self.value {
            self.sum += u128::from(value) * u128::from(time_ns);
            self.time_ns += time_ns;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.time_ns > 0).then(|| self.sum as f64 / self.time_ns as f64)
    }
}

/// A sender's state so far.
#[derive(Clone, Debug, Default)]
struct Sender {
    last_ns: u64,
    cwnd_pkts: Held,
    srtt_us: Held,
    finite_ns: Option<u64>,
    early_backoffs: u64,
    backoffs: u64,
}

impl Sender {
    fn pass(&mut self, from_ns: u64, now_ns: u64) {
        let time_ns = now_ns.max(from_ns) - self.last_ns.max(from_ns);
        self.last_ns = now_ns;
        if time_ns > 0 {
            self.cwnd_pkts.pass(time_ns);
            self.srtt_us.pass(time_ns);
        }
    }
}

/// Counters of a flow at a checkpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AtCheckpoint {
    pub sent_pkts: u64,
    pub retransmits_pkts: u64,
    pub rtos: u64,
}

/// What a run's flows have done so far.
#[derive(Debug)]
pub(crate) struct Digest {
    /// Where the measured part begins.
    pub from_ns: u64,
    /// When deliveries are noted, beside the end.
    at_ns: Vec<u64>,
    senders: Vec<Sender>,
    /// Of each flow at the beginning of the measured part.
    before: Vec<AtCheckpoint>,
    /// Bytes of each flow at the times that are noted.
    delivered_bytes: Vec<Vec<u64>>,
    owd_ns: Spread,
    lost_pkts: u64,
}

impl Digest {
    /// A digest of what comes from the first of some times on, if there is one.
    pub fn new(mut at_ns: Vec<u64>, flows: usize) -> Option<Digest> {
        at_ns.sort_unstable();
        Some(Digest {
            from_ns: *at_ns.first()?,
            at_ns,
            senders: vec![Sender::default(); flows],
            before: vec![AtCheckpoint::default(); flows],
            delivered_bytes: Vec::new(),
            owd_ns: Spread::default(),
            lost_pkts: 0,
        })
    }

    /// A sender's state has changed.
    #[inline]
    pub fn state(&mut self, flow: u32, now_ns: u64, cwnd: u32, ssthresh: u32, srtt: u32) {
        let sender = &mut self.senders[flow as usize];
        sender.pass(self.from_ns, now_ns);
        sender.cwnd_pkts.value = Some(cwnd);
        sender.srtt_us.value = (srtt != NULL_U32).then_some(srtt);
        if ssthresh != NULL_U32 {
            sender.finite_ns.get_or_insert(now_ns);
        }
    }

    /// A sender has backed off because of loss.
    pub fn backoff(&mut self, flow: u32, now_ns: u64) {
        let sender = &mut self.senders[flow as usize];
        if now_ns < self.from_ns {
            sender.early_backoffs += 1;
        } else {
            sender.backoffs += 1;
        }
    }

    /// A sender has taken its last backoff back.
    pub fn undo(&mut self, flow: u32) {
        let sender = &mut self.senders[flow as usize];
        if sender.backoffs > 0 {
            sender.backoffs -= 1;
        } else {
            sender.early_backoffs = sender.early_backoffs.saturating_sub(1);
        }
    }

    /// A datagram that was sent then has arrived.
    pub fn arrived(&mut self, sent_ns: u64, now_ns: u64) {
        if sent_ns >= self.from_ns {
            self.owd_ns.add(now_ns - sent_ns, 1);
        }
    }

    /// A datagram that was sent then was lost.
    pub fn lost(&mut self, sent_ns: u64) {
        self.lost_pkts += u64::from(sent_ns >= self.from_ns);
    }

    /// Whether deliveries are noted at this time, or it is the end.
    pub fn notes(&self, now_ns: u64, end_ns: u64) -> bool {
        now_ns == end_ns || self.at_ns.binary_search(&now_ns).is_ok()
    }

    /// Counters of all flows at a time that it notes; UDP flows have none.
    pub fn checkpoint(&mut self, now_ns: u64, flows: impl Iterator<Item = (AtCheckpoint, u64)>) {
        let (counters, delivered): (Vec<_>, Vec<_>) = flows.unzip();
        if now_ns == self.from_ns {
            self.before = counters;
        }
        self.delivered_bytes.push(delivered);
    }

    /// What a flow has done in the measured part, and in all.
    pub fn flow(&mut self, flow: u32, end_ns: u64, end: AtCheckpoint) -> FlowCounts {
        let number = flow as usize;
        let (sender, before) = (&mut self.senders[number], self.before[number]);
        sender.pass(self.from_ns, end_ns);
        FlowCounts {
            flow,
            delivered_bytes: self.delivered_bytes.iter().map(|all| all[number]).collect(),
            sent_pkts: end.sent_pkts - before.sent_pkts,
            retransmits_pkts: end.retransmits_pkts - before.retransmits_pkts,
            rtos: end.rtos - before.rtos,
            backoffs: sender.backoffs,
            srtt_us: sender.srtt_us.mean(),
            cwnd_pkts: sender.cwnd_pkts.mean(),
            finite_ns: sender.finite_ns,
        }
    }

    /// All datagrams.
    pub fn udp(&self) -> UdpTotals {
        UdpTotals {
            owd_us: self.owd_ns.over_samples(1000.0),
            lost_pkts: self.lost_pkts,
        }
    }
}

/// A TCP flow over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowCounts {
    /// Flow number.
    pub flow: u32,
    /// Totals at each time of the scenario's `digest_at_ns`, and at the end.
    pub delivered_bytes: Vec<u64>,
    /// Data packets, retransmissions included.
    pub sent_pkts: u64,
    /// Data packets sent again.
    pub retransmits_pkts: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Reductions because of loss that stood.
    pub backoffs: u64,
    /// Mean over time.
    pub srtt_us: Option<f64>,
    /// Mean over time.
    pub cwnd_pkts: Option<f64>,
    /// When ssthresh was first finite, in the whole run.
    pub finite_ns: Option<u64>,
}

/// A TCP flow: what [`FlowCounts`] says, and what is known of it as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowTotals {
    /// Of the measured part.
    #[serde(flatten)]
    pub counts: FlowCounts,
    /// As in the summary.
    pub name: String,
    /// As in the summary.
    pub control: Option<String>,
    /// As in the summary.
    pub startup: Option<String>,
    /// As in the summary.
    pub first_packet_ns: Option<u64>,
    /// As in the summary.
    pub last_packet_ns: Option<u64>,
    /// As in the summary.
    pub unique_bytes: u64,
    /// As in the summary.
    pub done_ns: Option<u64>,
    /// As in the summary.
    pub quick_start_requests: u64,
    /// As in the summary.
    pub quick_start_grants: u64,
    /// As in the summary.
    pub quick_start_used: u64,
}

/// All datagrams that were sent in the measured part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UdpTotals {
    /// One-way delay of those that arrived.
    pub owd_us: Distribution,
    /// The others whose fate is known.
    pub lost_pkts: u64,
}

/// Answers of a link's Quick-Start router in the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answers {
    /// Requests for a rate.
    pub requests: u64,
    /// Granted.
    pub grants: u64,
    /// Of the grants, those below the request.
    pub lowered: u64,
    /// Denied.
    pub denials: u64,
}

/// A link over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkTotals {
    /// As in the summary.
    pub name: String,
    /// Offered.
    pub arrived_pkts: u64,
    /// Completely transmitted.
    pub sent_pkts: u64,
    /// Completely transmitted.
    pub sent_bytes: u64,
    /// Lost or dropped.
    pub dropped_pkts: u64,
    /// Events that began in it.
    pub queue_full_events: u64,
    /// Over time.
    pub queue_bytes: Distribution,
    /// Null without a Quick-Start router.
    pub quick_start: Option<Answers>,
}

/// What a run leaves behind instead of tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Totals {
    /// TCP flows.
    pub flows: Vec<FlowTotals>,
    /// Recorded links.
    pub links: Vec<LinkTotals>,
    /// Null without UDP flows.
    pub udp: Option<UdpTotals>,
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
    fn mean_and_deviation_of_values_far_from_zero_are_exact() {
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
    fn percentiles_are_those_of_the_time_or_lie_between_samples() {
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
