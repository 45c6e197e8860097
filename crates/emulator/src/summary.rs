//! Counters of an emulator, and whether it kept time.

use serde::{Deserialize, Serialize};

use crate::lateness::Histogram;

/// The share of late packets above which a measurement is not reliable.
const LATE_SHARE_MAX: f64 = 0.01;

/// Summary of an emulator's run.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct Summary {
    /// Version of the emulator.
    pub version: String,
    /// Clock of all times in this summary and in the log; always "CLOCK_MONOTONIC".
    pub clock: String,
    /// When it started.
    pub start_ns: u64,
    /// Time 0 of schedules and traces: `start_ns`, or a later time set through [`crate::Begin`].
    #[serde(default)]
    pub schedule_start_ns: u64,
    /// Time of the start in nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// When this summary was made.
    pub end_ns: u64,
    /// Whether the emulator has ended.
    pub finished: bool,
    /// Whether the emulator kept time and lost nothing: at most 1 in 100 packets was late, and
    /// every packet was delivered and logged. Otherwise the measurement is not reliable.
    pub on_time: bool,
    /// The reasons why `on_time` is false, in words; empty if it is true.
    pub warnings: Vec<String>,
    /// A packet counts as late if it is delivered more than this after it was due.
    pub late_threshold_ns: u64,
    /// Whether the emulating thread had real-time scheduling.
    pub real_time: bool,
    /// Processor time of the emulating thread.
    pub cpu_ns: u64,
    /// Processor time that the emulating thread spent polling.
    pub spin_ns: u64,
    /// How long the thread was runnable but no core was free; null if the kernel does not report
    /// it.
    pub cpu_wait_ns: Option<u64>,
    /// Packets to an address that no host on the opposite side has.
    pub unroutable_pkts: u64,
    /// Packets that are not IPv4.
    pub not_ipv4_pkts: u64,
    /// Packets that were dropped because the emulator had too many at once.
    pub overflow_pkts: u64,
    /// Packets that a TUN device dropped before the emulator could read them; null if unknown.
    pub device_drops_pkts: Option<u64>,
    /// Rows that are missing in the log because the disk was too slow.
    pub log_lost_rows: u64,
    /// Rows that the log contains.
    pub log_rows: u64,
    /// Packets that are missing in the capture because the disk was too slow.
    #[serde(default)]
    pub capture_lost_pkts: u64,
    /// "forward", then "reverse".
    pub directions: Vec<DirectionSummary>,
}

/// Counters of one direction.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct DirectionSummary {
    /// "forward" (left to right) or "reverse".
    pub name: String,
    /// Packets offered to the link.
    pub arrived_pkts: u64,
    /// Bytes offered to the link.
    pub arrived_bytes: u64,
    /// Packets completely transmitted by the link.
    pub sent_pkts: u64,
    /// Bytes completely transmitted by the link.
    pub sent_bytes: u64,
    /// Packets lost or dropped by the link.
    pub dropped_pkts: u64,
    /// Bytes lost or dropped by the link.
    pub dropped_bytes: u64,
    /// Packets written to the receiver's device, including copies.
    pub delivered_pkts: u64,
    /// Packets rejected by the receiver's device.
    pub undelivered_pkts: u64,
    /// Packets that were delivered later than `late_threshold_ns` allows.
    pub late_pkts: u64,
    /// Lateness of the delivered packets.
    pub departure_error: DepartureError,
    /// Largest length of the queue in bytes, waiting and in transmission.
    pub max_queue_bytes: u32,
    /// Largest length of the queue in packets, waiting and in transmission.
    pub max_queue_pkts: u32,
    /// Integral of the queue's length, bytes times microseconds.
    pub queue_byte_us: u64,
}

/// Lateness of packets: delivery minus due time; null without packets.
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
    /// Sets `on_time` and `warnings` from the counters.
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
            (undelivered, "packets were rejected by a host's device"),
            (
                self.overflow_pkts,
                "packets were dropped because the emulator held too many",
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

    /// Share of a core that the emulator used, including polling.
    #[must_use]
    pub fn cpu_share(&self) -> f64 {
        self.cpu_ns as f64 / (self.end_ns - self.start_ns).max(1) as f64
    }
}
