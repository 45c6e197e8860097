//! One direction of a link and its queue.

use super::effects::{place, Aggregation, BurstLoss, Effects, Jitter, Policer, Shaper};
use super::faults::{AckThinning, Corruption, Mtu};
use super::limits::{bad, check_probability, check_rate, check_time, is_false, ScenarioError};
use super::switches::ever;
use super::vary::{step_place, Vary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One direction of a link.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Name in the trace; absent: "link" and the link's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// IP bits per second, at least 1.
    pub rate_bps: u64,
    /// Propagation delay.
    #[serde(default)]
    pub delay_ns: u64,
    /// Changes of rate, delay and effects during the run. `rate_bps` is then ignored. `delay_ns`
    /// applies only if this is a Mahimahi trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vary: Option<Vary>,
    /// Queue management; drop-tail when absent.
    #[serde(default)]
    pub aqm: Aqm,
    /// Capacity of the queue in IP bytes, including the packet in transmission.
    #[serde(default)]
    pub limit_bytes: Option<u64>,
    /// Capacity of the queue in packets, including the packet in transmission.
    #[serde(default)]
    pub limit_pkts: Option<u32>,
    /// Probability that a packet is lost before it reaches the queue.
    #[serde(default)]
    pub loss: f64,
    /// Probability that a packet arrives twice.
    #[serde(default)]
    pub duplicate: f64,
    /// Probability that a packet is delayed by `reorder_delay_ns`.
    #[serde(default)]
    pub reorder: f64,
    /// Extra delay of a reordered packet.
    #[serde(default)]
    pub reorder_delay_ns: u64,
    /// Variation of the delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Bursty loss before the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Token bucket in front of the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<Policer>,
    /// Token bucket between the queue and the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<Shaper>,
    /// Transmission in frames instead of packet by packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<Aggregation>,
    /// Thinning of acknowledgements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_thinning: Option<AckThinning>,
    /// Damage to packets, which receivers then drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corruption: Option<Corruption>,
    /// The largest packet that the link takes; absent: any size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Mtu>,
    /// Algorithms of the router that sends on this link, in the order in which packets pass them. A
    /// router without algorithms only decrements the IP TTL.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<Aqm>,
    /// Whether the routers are programs at the senders' devices, as `headwayctl router` attaches
    /// them. They see packets before the link does, with a virtual queue, and treat a packet as
    /// departing as soon as it arrives, because no program sees it leave that queue.
    #[serde(default, skip_serializing_if = "is_false")]
    pub routers_at_arrival: bool,
    /// Whether the link drops packets that have IP options, as some paths do.
    #[serde(default, skip_serializing_if = "is_false")]
    pub drop_ip_options: bool,
    /// What the link does to ECN bits before the queue decides.
    #[serde(default, skip_serializing_if = "EcnPath::is_kept")]
    pub ecn: EcnPath,
}

/// How a link treats ECN.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum EcnPath {
    /// Leaves ECN unchanged.
    #[default]
    Keep,
    /// Clears the two ECN bits of IPv4, as routers do that treat them as part of the class of
    /// service.
    Bleach,
    /// Drops SYNs that request ECN, as some middleboxes do.
    DropSyn,
    /// Clears TCP's flags AE, CWR and ECE.
    ClearFlags,
    /// Replaces the option of Accurate ECN by padding.
    StripOption,
    /// Sets the counters in the option of Accurate ECN to 0.
    ZeroOption,
}

impl EcnPath {
    // serde passes a reference, which clippy would replace by the value
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_kept(&self) -> bool {
        *self == EcnPath::Keep
    }
}

/// A queue discipline or router algorithm of a link, and its tunables.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Aqm {
    /// Name in the registry.
    pub name: String,
    /// Values of tunables that differ from their defaults, by name.
    #[serde(default)]
    pub tunables: BTreeMap<String, u32>,
}

/// How a link sends from `start_ns` until the next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub start_ns: u64,
    /// IP bits per second; 0: the link is down.
    pub rate_bps: u64,
    pub delay_ns: u64,
    /// Transmission in frames instead of packet by packet.
    pub frames: Option<Aggregation>,
}

impl Default for Aqm {
    fn default() -> Self {
        Aqm {
            name: "drop-tail".into(),
            tunables: BTreeMap::new(),
        }
    }
}

impl LinkSpec {
    /// A link with this rate and delay, a drop-tail queue without a limit, and no effects.
    #[must_use]
    pub fn plain(rate_bps: u64, delay_ns: u64) -> LinkSpec {
        LinkSpec {
            name: None,
            rate_bps,
            delay_ns,
            vary: None,
            aqm: Aqm::default(),
            limit_bytes: None,
            limit_pkts: None,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            reorder_delay_ns: 0,
            jitter: None,
            burst_loss: None,
            policer: None,
            shaper: None,
            aggregation: None,
            ack_thinning: None,
            corruption: None,
            mtu: None,
            routers: vec![],
            routers_at_arrival: false,
            drop_ip_options: false,
            ecn: EcnPath::Keep,
        }
    }

    /// The link's effects other than independent loss, duplication and reordering, before steps of
    /// `vary` change them.
    #[must_use]
    pub fn effects(&self) -> Effects<'_> {
        Effects {
            jitter: self.jitter.as_ref(),
            burst_loss: self.burst_loss,
            policer: self.policer,
            shaper: self.shaper,
            ack_thinning: self.ack_thinning,
            corruption: self.corruption,
        }
    }

    /// How the link sends in the course of a run without a Mahimahi trace.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let segment = |start_ns, rate_bps, delay_ns| Segment {
            start_ns,
            rate_bps,
            delay_ns,
            frames: None,
        };
        let mut all = match &self.vary {
            Some(Vary::Schedule { steps }) => steps
                .iter()
                .map(|step| segment(step.start_ns, step.rate_bps, step.delay_ns))
                .collect(),
            _ => vec![segment(0, self.rate_bps, self.delay_ns)],
        };
        let frames = self.aggregations();
        let mut at = 0;
        for segment in &mut all {
            let next = |at: usize| frames.get(at + 1).map(|(start_ns, _)| *start_ns);
            while next(at).is_some_and(|start_ns| start_ns <= segment.start_ns) {
                at += 1;
            }
            segment.frames = frames[at].1;
        }
        all
    }

    /// The highest rate over the run.
    pub(super) fn fastest_bps(&self) -> u64 {
        let rates_bps = self.segments().into_iter().map(|s| s.rate_bps);
        rates_bps.max().unwrap_or(0)
    }

    /// Longest time by which reordering, delay variation, the wait for a frame and the thinning of
    /// ACKs delay a packet.
    pub(super) fn longest_late_ns(&self) -> u64 {
        let jitters_ns = ever(self.jitters()).map(|jitter| jitter.longest_ns());
        let frames_ns = ever(self.aggregations()).map(|frames| frames.interval_ns);
        let keeps = self.ack_thinning.and_then(|thinning| thinning.keeps());
        self.reorder_delay_ns
            .saturating_add(jitters_ns.max().unwrap_or(0))
            .saturating_add(frames_ns.max().unwrap_or(0))
            .saturating_add(keeps.map_or(0, |(_, interval_ns)| interval_ns))
    }

    /// Checks all frames that the link may send in.
    fn check_frames(&self, field: &str) -> Result<(), ScenarioError> {
        let steps = self.vary.iter().flat_map(|vary| vary.switches());
        let of_steps = steps.enumerate().filter_map(|(at, (_, switches))| {
            let place = step_place(&format!("{field}.vary"), at);
            switches.frames().map(|frames| (place, frames))
        });
        let own = self.aggregation.map(|frames| (field.to_owned(), frames));
        let rates_bps = self.segments().into_iter().map(|s| s.rate_bps);
        let slowest_bps = rates_bps.filter(|&bps| bps > 0).min().unwrap_or(0);
        for (place, frames) in own.into_iter().chain(of_steps) {
            let place = format!("{place}.aggregation");
            if matches!(self.vary, Some(Vary::Mahimahi { .. })) {
                let line = format!("{place}: a link with a Mahimahi trace cannot send in frames");
                return Err(ScenarioError(line));
            }
            frames.check(&place, slowest_bps)?;
        }
        Ok(())
    }

    /// Checks every field; `field` is the link's name in messages.
    ///
    /// # Errors
    /// One line for a value out of range.
    pub fn check(&self, field: &str) -> Result<(), ScenarioError> {
        check_rate(&format!("{field}.rate_bps"), self.rate_bps)?;
        check_time(&format!("{field}.delay_ns"), self.delay_ns)?;
        check_time(&format!("{field}.reorder_delay_ns"), self.reorder_delay_ns)?;
        check_probability(&format!("{field}.loss"), self.loss)?;
        check_probability(&format!("{field}.duplicate"), self.duplicate)?;
        check_probability(&format!("{field}.reorder"), self.reorder)?;
        if let Some(vary) = &self.vary {
            vary.check(&format!("{field}.vary"))?;
        }
        self.effects().check(field)?;
        if let Some(mtu) = self.mtu {
            mtu.check(&place(field, "mtu"))?;
        }
        self.check_frames(field)?;
        if let Some(shaper) = self.shaper.filter(|_| self.vary.is_none()) {
            if shaper.rate_bps > self.rate_bps {
                let allowed = format!("at most the link's rate, {}", self.rate_bps);
                let field = format!("{field}.shaper.rate_bps");
                return Err(bad(&field, shaper.rate_bps, &allowed));
            }
        }
        if self.limit_bytes == Some(0) || self.limit_bytes > Some(u64::from(u32::MAX)) {
            return Err(bad(
                &format!("{field}.limit_bytes"),
                self.limit_bytes.unwrap_or(0),
                "1 to 4294967295 bytes",
            ));
        }
        if self.limit_pkts == Some(0) {
            return Err(bad(&format!("{field}.limit_pkts"), 0, "at least 1 packet"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_effects_are_rejected_with_the_field_and_what_is_allowed() {
        for (name, json, part) in [
            ("jitter", r#"{"spread_ns": 0}"#, "jitter.spread_ns: 0"),
            ("jitter", r#"{"spread_ns": 600000000001}"#, "10 minutes"),
            (
                "jitter",
                r#"{"spread_ns": 1, "correlation": 1.0}"#,
                "jitter.correlation: 1 is",
            ),
            (
                "jitter",
                r#"{"spread_ns": 1, "table": [1], "distribution": "normal"}"#,
                "jitter.distribution: normal",
            ),
            (
                "burst_loss",
                r#"{"to_bad": 0.0, "to_good": 0.5}"#,
                "burst_loss.to_bad: 0 is",
            ),
            (
                "burst_loss",
                r#"{"to_bad": 0.1, "to_good": 1.5}"#,
                "burst_loss.to_good: 1.5",
            ),
            (
                "burst_loss",
                r#"{"to_bad": 0.1, "to_good": 0.5, "loss_bad": 0.1, "loss_good": 0.2}"#,
                "at most loss_bad, 0.1",
            ),
            (
                "policer",
                r#"{"rate_bps": 1, "burst_bytes": 1499}"#,
                "policer.burst_bytes: 1499 is not allowed; 1500 bytes",
            ),
            (
                "policer",
                r#"{"rate_bps": 0, "burst_bytes": 1500}"#,
                "policer.rate_bps: 0",
            ),
            (
                "shaper",
                r#"{"rate_bps": 1, "burst_bytes": 4294967296}"#,
                "shaper.burst_bytes",
            ),
            (
                "aggregation",
                r#"{"interval_ns": 0}"#,
                "aggregation.interval_ns: 0 is not allowed",
            ),
            (
                "aggregation",
                r#"{"interval_ns": 1000}"#,
                "in which the link sends at least a byte",
            ),
            (
                "aggregation",
                r#"{"interval_ns": 100000000, "packets": 0}"#,
                "aggregation.packets: 0",
            ),
            (
                "ack_thinning",
                r#"{}"#,
                "ack_thinning.keep: is missing; give filter, or keep=1/N",
            ),
            (
                "ack_thinning",
                r#"{"filter": true, "keep_one_of": 4}"#,
                "ack_thinning.keep: 1/4 is not allowed; not together with filter",
            ),
            (
                "ack_thinning",
                r#"{"keep_one_of": 1}"#,
                "ack_thinning.keep: 1/1 is not allowed; 1/2 to 1/1000",
            ),
            (
                "ack_thinning",
                r#"{"filter": true, "interval_ns": 1}"#,
                "ack_thinning.interval: 1 ns is not allowed; only together with keep",
            ),
            (
                "corruption",
                r#"{"packet": 0.1, "bit": 0.2}"#,
                "corruption.bit: 0.2 is not allowed; not together",
            ),
            (
                "corruption",
                r#"{"packet": 1.0}"#,
                "corruption.packet: 1 is",
            ),
            (
                "mtu",
                r#"{"size_bytes": 575}"#,
                "mtu.size_bytes: 575 is not allowed; 576 to 1500 bytes",
            ),
            (
                "shaper",
                r#"{"rate_bps": 2000, "burst_bytes": 1500}"#,
                "shaper.rate_bps: 2000 is not allowed; at most the link's rate, 1000",
            ),
        ] {
            let link = format!(r#"{{"rate_bps": 1000, "{name}": {json}}}"#);
            let link: LinkSpec = serde_json::from_str(&link).unwrap();
            let message = link.check("link").unwrap_err().0;
            assert!(message.starts_with("link."), "{message}");
            assert!(message.contains(part), "{message}");
        }
    }
}
