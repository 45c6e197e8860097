//! What an emulator did and how well it kept time.

use serde::{Deserialize, Serialize};

use crate::lateness::Histogram;

/// The share of late packets from which a measurement is not to be trusted.
const LATE_SHARE_MAX: f64 = 0.01;

/// An emulator's account of itself.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct Summary {
    /// Version of the emulator.
    pub version: String,
    /// Always "CLOCK_MONOTONIC": of all times in this summary and in the log.
    pub clock: String,
    /// When it started.
    pub start_ns: u64,
    /// Time 0 of schedules and traces: when it started, or when somebody said.
    #[serde(default)]
    pub schedule_start_ns: u64,
    /// The same in nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// When this summary was made.
    pub end_ns: u64,
    /// It has ended.
    pub finished: bool,
    /// It kept time and lost nothing: at most 1 in 100 packets was late, and every
    /// packet was delivered and logged. A measurement without this is suspect.
    pub on_time: bool,
    /// Why `on_time` is false, in words; empty if it is true.
    pub warnings: Vec<String>,
    /// A packet is late when it is delivered later than this after it was due.
    pub late_threshold_ns: u64,
    /// The emulating thread was scheduled in real time.
    pub real_time: bool,
    /// Processor time of the emulating thread.
    pub cpu_ns: u64,
    /// Part of the processor time in which it polled for punctuality.
    pub spin_ns: u64,
    /// How long it could have run but no core was free; null if the kernel does not tell.
    pub cpu_wait_ns: Option<u64>,
    /// Packets to an address that no host of the other side has.
    pub unroutable_pkts: u64,
    /// Packets that are not IPv4.
    pub not_ipv4_pkts: u64,
    /// Packets refused because the emulator held too many.
    pub overflow_pkts: u64,
    /// Packets that a device dropped before the emulator could read them; null if unknown.
    pub device_drops_pkts: Option<u64>,
    /// Rows that the log did not take because its disk was too slow.
    pub log_lost_rows: u64,
    /// Rows that the log took.
    pub log_rows: u64,
    /// Packets that are missing in the capture because its disk was too slow.
    #[serde(default)]
    pub capture_lost_pkts: u64,
    /// "forward", then "reverse".
    pub directions: Vec<DirectionSummary>,
}

/// What one direction did.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct DirectionSummary {
    /// "forward" (left to right) or "reverse".
    pub name: String,
    /// Offered to the link.
    pub arrived_pkts: u64,
    /// Offered to the link.
    pub arrived_bytes: u64,
    /// Completely transmitted by the link.
    pub sent_pkts: u64,
    /// Completely transmitted by the link.
    pub sent_bytes: u64,
    /// Lost or dropped by the link.
    pub dropped_pkts: u64,
    /// Lost or dropped by the link.
    pub dropped_bytes: u64,
    /// Written to the receiver's device, copies included.
    pub delivered_pkts: u64,
    /// Refused by the receiver's device.
    pub undelivered_pkts: u64,
    /// Delivered later than the threshold.
    pub late_pkts: u64,
    /// How late the delivered packets were.
    pub departure_error: DepartureError,
    /// Longest queue, waiting and in transmission.
    pub max_queue_bytes: u32,
    /// Longest queue, waiting and in transmission.
    pub max_queue_pkts: u32,
    /// Integral of the queue's length, bytes times microseconds.
    pub queue_byte_us: u64,
}

/// How long after they were due packets were delivered; null without packets.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct DepartureError {
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Median, within 1/32.
    pub p50_ns: Option<u64>,
    /// 99th percentile, within 1/32.
    pub p99_ns: Option<u64>,
    /// Largest.
    pub max_ns: Option<u64>,
}

impl DepartureError {
    pub(crate) fn of(errors: &Histogram) -> DepartureError {
        DepartureError {
            mean_ns: errors.mean_ns(),
            p50_ns: errors.quantile_ns(0.5),
            p99_ns: errors.quantile_ns(0.99),
            max_ns: errors.max_ns(),
        }
    }
}

impl Summary {
    /// Judges: fills in `on_time` and `warnings` from the counters.
    pub fn judge(&mut self) {
        self.warnings.clear();
        for direction in &self.directions {
            let (late, all) = (direction.late_pkts, direction.delivered_pkts);
            if late as f64 > all as f64 * LATE_SHARE_MAX {
                let ms = self.late_threshold_ns as f64 / 1e6;
                self.warnings.push(format!(
                    "{}: {late} of {all} packets were delivered more than {ms} ms late",
                    direction.name
                ));
            }
        }
        let undelivered = self.directions.iter().map(|d| d.undelivered_pkts).sum();
        for (pkts, what) in [
            (undelivered, "packets were refused by a host's device"),
            (
                self.overflow_pkts,
                "packets found the emulator's memory full",
            ),
            (
                self.device_drops_pkts.unwrap_or(0),
                "packets were dropped by a device before the emulator read them",
            ),
            (self.log_lost_rows, "rows are missing in the log"),
            (self.capture_lost_pkts, "packets are missing in the capture"),
        ] {
            if pkts > 0 {
                self.warnings.push(format!("{pkts} {what}"));
            }
        }
        self.on_time = self.warnings.is_empty();
    }

    /// Share of a core that the emulator used, polling included.
    #[must_use]
    pub fn cpu_share(&self) -> f64 {
        self.cpu_ns as f64 / (self.end_ns - self.start_ns).max(1) as f64
    }
}
