//! Sums of a run, kept instead of a trace or in addition to it. Quantiles come from histograms, so
//! that memory grows with the number of flows and not with the length of the run.

mod spread;
mod transfers;

pub use spread::{Distribution, Spread, EXACT_BELOW};

pub use transfers::{
    Cdf, ClassTotals, Tail, TransferTotals, CDF_SHARES, CLASS_EDGES_BYTES, MAX_GROUPS,
};
pub(crate) use transfers::{Transfer, TransferSums};

use crate::host::tcp::FirstFlights;
use crate::trace::record::{ProtocolSummary, NULL_U32};
use serde::Serialize;
use std::collections::BTreeMap;

/// The mean over time of a signal that keeps its value between changes.
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

/// What the digest computes from the states of a sender.
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

/// Counters of a flow that are read at a checkpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AtCheckpoint {
    pub sent_pkts: u64,
    pub retransmits_pkts: u64,
    pub rtos: u64,
}

/// Sums of a run's flows so far.
#[derive(Debug)]
pub(crate) struct Digest {
    /// Start of the part of the run that the digest sums up.
    pub from_ns: u64,
    /// Times at which each flow's delivered bytes are recorded. They are also recorded at the end.
    at_ns: Vec<u64>,
    senders: Vec<Sender>,
    /// Counters of each flow at `from_ns`.
    before: Vec<AtCheckpoint>,
    /// Delivered bytes of each flow, at each of the times `at_ns` so far.
    delivered_bytes: Vec<Vec<u64>>,
    owd_ns: Spread,
    lost_pkts: u64,
    pub transfers: TransferSums,
}

impl Digest {
    /// Creates a digest that starts at the earliest of `at_ns`; None if `at_ns` is empty.
    pub fn new(mut at_ns: Vec<u64>, flows: usize) -> Option<Digest> {
        at_ns.sort_unstable();
        let from_ns = *at_ns.first()?;
        Some(Digest {
            from_ns,
            at_ns,
            senders: vec![Sender::default(); flows],
            before: vec![AtCheckpoint::default(); flows],
            delivered_bytes: Vec::new(),
            owd_ns: Spread::default(),
            lost_pkts: 0,
            transfers: TransferSums::new(from_ns),
        })
    }

    /// Adds a change of a sender's state to the sums.
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

    /// Counts a window reduction that a loss caused.
    pub fn backoff(&mut self, flow: u32, now_ns: u64) {
        let sender = &mut self.senders[flow as usize];
        if now_ns < self.from_ns {
            sender.early_backoffs += 1;
        } else {
            sender.backoffs += 1;
        }
    }

    /// Called when a sender has undone its last reduction: does not count that reduction any more.
    pub fn undo(&mut self, flow: u32) {
        let sender = &mut self.senders[flow as usize];
        if sender.backoffs > 0 {
            sender.backoffs -= 1;
        } else {
            sender.early_backoffs = sender.early_backoffs.saturating_sub(1);
        }
    }

    /// Adds the delay of a datagram that was sent at `sent_ns` and has arrived.
    pub fn arrived(&mut self, sent_ns: u64, now_ns: u64) {
        if sent_ns >= self.from_ns {
            self.owd_ns.add(now_ns - sent_ns, 1);
        }
    }

    /// Counts the loss of a datagram that was sent at `sent_ns`.
    pub fn lost(&mut self, sent_ns: u64) {
        self.lost_pkts += u64::from(sent_ns >= self.from_ns);
    }

    /// Whether counters are recorded at `now_ns`: at one of the times `at_ns`, and at the end.
    pub fn notes(&self, now_ns: u64, end_ns: u64) -> bool {
        now_ns == end_ns || self.at_ns.binary_search(&now_ns).is_ok()
    }

    /// Records the counters of all flows at one of the times `at_ns`. The counters of UDP flows are
    /// 0.
    pub fn checkpoint(&mut self, now_ns: u64, flows: impl Iterator<Item = (AtCheckpoint, u64)>) {
        let (counters, delivered): (Vec<_>, Vec<_>) = flows.unzip();
        if now_ns == self.from_ns {
            self.before = counters;
        }
        self.delivered_bytes.push(delivered);
    }

    /// Counters of a flow over the part of the run that the digest covers; some counters cover the
    /// whole run.
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

    /// Sums over the datagrams of all UDP flows.
    pub fn udp(&self) -> UdpTotals {
        UdpTotals {
            owd_us: self.owd_ns.over_samples(1000.0),
            lost_pkts: self.lost_pkts,
        }
    }
}

/// Counters of a TCP flow over the part of the run that the digest sums up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowCounts {
    /// Flow number.
    pub flow: u32,
    /// Delivered bytes at each time of the scenario's `digest_at_ns`, and at the end.
    pub delivered_bytes: Vec<u64>,
    /// Data packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Data packets that were retransmissions.
    pub retransmits_pkts: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Window reductions that a loss caused and that were not undone.
    pub backoffs: u64,
    /// Mean over time.
    pub srtt_us: Option<f64>,
    /// Mean over time.
    pub cwnd_pkts: Option<f64>,
    /// When the sender's ssthresh first became finite, over the whole run; null if never.
    pub finite_ns: Option<u64>,
}

/// A TCP flow's [`FlowCounts`], and fields of its [`FlowSummary`](crate::trace::FlowSummary).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowTotals {
    /// Counters of the part of the run that the digest sums up.
    #[serde(flatten)]
    pub counts: FlowCounts,
    /// As the field of this name in [`FlowSummary`](crate::trace::FlowSummary).
    pub name: String,
    /// As the field of this name in [`FlowSummary`](crate::trace::FlowSummary).
    pub control: Option<String>,
    /// As the field of this name in [`FlowSummary`](crate::trace::FlowSummary).
    pub startup: Option<String>,
    /// As the field of this name in [`FlowSummary`](crate::trace::FlowSummary).
    pub first_packet_ns: Option<u64>,
    /// As the field of this name in [`FlowSummary`](crate::trace::FlowSummary).
    pub last_packet_ns: Option<u64>,
    /// As the field of this name in [`FlowSummary`](crate::trace::FlowSummary).
    pub unique_bytes: u64,
    /// As the field of this name in [`FlowSummary`](crate::trace::FlowSummary).
    pub done_ns: Option<u64>,
    /// As the field of this name in [`FlowSummary`](crate::trace::FlowSummary).
    pub protocols: BTreeMap<&'static str, ProtocolSummary>,
    /// As the field of this name in [`FlowSummary`](crate::trace::FlowSummary).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_flight: Option<FirstFlights>,
}

/// All datagrams that were sent in the part of the run that the digest sums up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UdpTotals {
    /// One-way delay of the datagrams that arrived.
    pub owd_us: Distribution,
    /// Number of datagrams that were lost. Datagrams that are still in flight at the end do not
    /// count.
    pub lost_pkts: u64,
}

/// Counters of a link's router over the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RouterTotals {
    /// Name of the algorithm.
    pub algorithm: &'static str,
    /// Values of the counters, by their declared names.
    pub counters: BTreeMap<&'static str, u64>,
}

/// Sums of a link over the part of the run that the digest covers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkTotals {
    /// Name of the link, as in the run's summary.
    pub name: String,
    /// Packets offered.
    pub arrived_pkts: u64,
    /// Packets completely transmitted.
    pub sent_pkts: u64,
    /// Bytes completely transmitted.
    pub sent_bytes: u64,
    /// Packets lost or dropped.
    pub dropped_pkts: u64,
    /// Number of queue-full events that began in the part of the run that the digest sums up.
    pub queue_full_events: u64,
    /// Queue length over time.
    pub queue_bytes: Distribution,
    /// The link's routers, in the order in which packets pass them.
    pub routers: Vec<RouterTotals>,
}

/// Result of a run that records a digest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Totals {
    /// TCP flows.
    pub flows: Vec<FlowTotals>,
    /// Recorded links.
    pub links: Vec<LinkTotals>,
    /// Sums over UDP datagrams; null without UDP flows.
    pub udp: Option<UdpTotals>,
    /// Transfers by group; empty without flows that generate transfers.
    pub transfers: Vec<TransferTotals>,
}
