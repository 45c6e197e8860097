//! Measurements of a direction in intervals of equal length.

/// Most bins of a capture: about 300 MB.
pub const MAX_BINS: usize = 2_000_000;

/// Count, sum and extremes of samples in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Number of samples.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u64,
    /// The smallest; 0 without samples.
    pub min_ns: i64,
    /// The largest; 0 without samples.
    pub max_ns: i64,
}

impl Samples {
    /// Adds a sample, which is not negative.
    pub fn add(&mut self, sample_ns: i64) {
        if self.count == 0 {
            self.min_ns = sample_ns;
        }
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(sample_ns.unsigned_abs());
        self.min_ns = self.min_ns.min(sample_ns);
        self.max_ns = self.max_ns.max(sample_ns);
    }

    /// Adds the samples of another part of the capture.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let is_empty = self.count == 0;
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = if is_empty {
            other.min_ns
        } else {
            self.min_ns.min(other.min_ns)
        };
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The mean, `None` without samples.
    #[must_use]
    pub fn mean_ns(&self) -> Option<i64> {
        (self.count > 0).then(|| (self.sum_ns / self.count) as i64)
    }

    /// The smallest sample, `None` without samples.
    #[must_use]
    pub fn least_ns(&self) -> Option<i64> {
        (self.count > 0).then_some(self.min_ns)
    }

    /// The largest sample, `None` without samples.
    #[must_use]
    pub fn most_ns(&self) -> Option<i64> {
        (self.count > 0).then_some(self.max_ns)
    }
}

/// One interval of a direction. Totals count from the start of the capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bin {
    /// Number of the interval.
    pub index: i64,
    /// Bytes acknowledged, in total.
    pub acked_bytes: i64,
    /// Bytes acknowledged or named in SACK blocks, in total.
    pub delivered_bytes: i64,
    /// Different bytes sent, in total.
    pub unique_bytes: i64,
    /// Packets with data, in total.
    pub sent_pkts: i64,
    /// Bytes of these packets as they cross links, with IP headers, in total.
    pub wire_bytes: i64,
    /// Packets with data that was sent before, in total.
    pub retransmits_pkts: i64,
    /// Packets with new data before data that was sent earlier, in total.
    pub out_of_order_pkts: i64,
    /// RTT samples from ACKs.
    pub rtt: Samples,
    /// Those of ACKs that acknowledge at least two full segments, which no receiver delays.
    pub prompt: Samples,
    /// RTT samples from timestamps.
    pub echo: Samples,
    /// Smoothed RTT (RFC 6298) at the end, in nanoseconds; -1 before the first sample.
    pub srtt_ns: i64,
    /// Most bytes sent and not acknowledged.
    pub flight_bytes: i64,
    /// The peer's last receive window; -1 if unknown.
    pub rwnd_bytes: i64,
}

/// Bins as columns of equal length; -1 is an unknown value.
pub type Columns = Vec<(&'static str, Vec<i64>)>;

type Read = fn(&Bin) -> i64;

/// Names of the columns after "connection" and "direction", and their values.
const COLUMNS: [(&str, Read); 23] = [
    ("index", |b| b.index),
    ("acked_bytes", |b| b.acked_bytes),
    ("delivered_bytes", |b| b.delivered_bytes),
    ("unique_bytes", |b| b.unique_bytes),
    ("sent_pkts", |b| b.sent_pkts),
    ("wire_bytes", |b| b.wire_bytes),
    ("retransmits_pkts", |b| b.retransmits_pkts),
    ("out_of_order_pkts", |b| b.out_of_order_pkts),
    ("rtt_samples", |b| b.rtt.count as i64),
    ("rtt_min_ns", |b| b.rtt.least_ns().unwrap_or(-1)),
    ("rtt_mean_ns", |b| b.rtt.mean_ns().unwrap_or(-1)),
    ("rtt_max_ns", |b| b.rtt.most_ns().unwrap_or(-1)),
    ("prompt_samples", |b| b.prompt.count as i64),
    ("prompt_min_ns", |b| b.prompt.least_ns().unwrap_or(-1)),
    ("prompt_mean_ns", |b| b.prompt.mean_ns().unwrap_or(-1)),
    ("prompt_max_ns", |b| b.prompt.most_ns().unwrap_or(-1)),
    ("echo_samples", |b| b.echo.count as i64),
    ("echo_min_ns", |b| b.echo.least_ns().unwrap_or(-1)),
    ("echo_mean_ns", |b| b.echo.mean_ns().unwrap_or(-1)),
    ("echo_max_ns", |b| b.echo.most_ns().unwrap_or(-1)),
    ("srtt_ns", |b| b.srtt_ns),
    ("flight_bytes", |b| b.flight_bytes),
    ("rwnd_bytes", |b| b.rwnd_bytes),
];

/// Columns of the bins of (connection, direction).
#[must_use]
pub fn columns<'a>(parts: impl Iterator<Item = (usize, usize, &'a [Bin])>) -> Columns {
    let mut all: Columns = vec![("connection", Vec::new()), ("direction", Vec::new())];
    all.extend(COLUMNS.map(|(name, _)| (name, Vec::new())));
    for (connection, direction, bins) in parts {
        for bin in bins {
            all[0].1.push(connection as i64);
            all[1].1.push(direction as i64);
            for (column, (_, read)) in all[2..].iter_mut().zip(COLUMNS) {
                column.1.push(read(bin));
            }
        }
    }
    all
}
