//! The summary of an emulator's run: its counters, and whether it delivered packets on time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::lateness::Histogram;

/// The fraction of late packets above which a measurement is not reliable.
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
    /// Time of the emulator's start, in ns since 1970.
    pub start_unix_ns: u64,
    /// The time at which this summary was made.
    pub end_ns: u64,
    /// Whether the emulator has ended.
    pub finished: bool,
    /// Whether a measurement with this emulator is reliable. True: at most 1 in 100 packets was
    /// late, and every packet was delivered and logged.
    pub on_time: bool,
    /// The reasons why `on_time` is false, in words; empty if `on_time` is true.
    pub warnings: Vec<String>,
    /// A packet counts as late if it is delivered later than this time after it was due.
    pub late_threshold_ns: u64,
    /// Whether the emulating thread had real-time scheduling.
    pub real_time: bool,
    /// Processor time of the emulating thread.
    pub cpu_ns: u64,
    /// Processor time that the emulating thread spent polling.
    pub spin_ns: u64,
    /// How long the emulating thread was runnable but no core was free; null if the kernel does not
    /// report it.
    pub cpu_wait_ns: Option<u64>,
    /// Number of dropped packets whose destination address no host that they could reach has.
    pub unroutable_pkts: u64,
    /// Number of dropped packets that were not IPv4.
    pub not_ipv4_pkts: u64,
    /// Number of packets that were dropped because too many packets were in the emulator at the
    /// same time.
    pub overflow_pkts: u64,
    /// Packets that a TUN device dropped before the emulator could read them; null if unknown.
    pub device_drops_pkts: Option<u64>,
    /// Rows that are missing in the log because the disk was too slow.
    pub log_lost_rows: u64,
    /// Number of rows that the log contains.
    pub log_rows: u64,
    /// Packets that are missing in the capture because the disk was too slow.
    #[serde(default)]
    pub capture_lost_pkts: u64,
    /// The links in the order of their numbers: "forward", then "reverse"; or those of a network.
    pub directions: Vec<DirectionSummary>,
}

/// The counters of a link.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct DirectionSummary {
    /// Name of the link: "forward" (left to right), "reverse", or its name in a network.
    pub name: String,
    /// Packets offered to the link.
    pub arrived_pkts: u64,
    /// Bytes offered to the link.
    pub arrived_bytes: u64,
    /// Packets completely transmitted by the link.
    pub sent_pkts: u64,
    /// Bytes completely transmitted by the link.
    pub sent_bytes: u64,
    /// Packets that the link dropped: random losses and drops of its queue.
    pub dropped_pkts: u64,
    /// Bytes that the link dropped: random losses and drops of its queue.
    pub dropped_bytes: u64,
    /// Packets written to the receiver's device or passed to the next link of their route,
    /// including copies.
    pub delivered_pkts: u64,
    /// Packets rejected by the receiver's device.
    pub undelivered_pkts: u64,
    /// Packets that were delivered later than `late_threshold_ns` allows.
    pub late_pkts: u64,
    /// By how much the delivered packets were late.
    pub departure_error: DepartureError,
    /// Largest length of the queue in bytes, waiting and in transmission.
    pub max_queue_bytes: u32,
    /// Largest length of the queue in packets, waiting and in transmission.
    pub max_queue_pkts: u32,
    /// Integral of the queue's length, bytes times microseconds.
    pub queue_byte_us: u64,
    /// Counters that the queue discipline declares, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queue_counters: BTreeMap<String, u64>,
}

/// By how much packets were late at hosts: time of delivery minus the time at which they were due;
/// null without packets.
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

    /// Fraction of a core's time that the emulator used, including polling.
    #[must_use]
    pub fn cpu_share(&self) -> f64 {
        self.cpu_ns as f64 / (self.end_ns - self.start_ns).max(1) as f64
    }
}
