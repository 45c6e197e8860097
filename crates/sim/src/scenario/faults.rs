//! Faults that a link may have, as plain data: thinned ACKs, corruption, an MTU below that of hosts.

use super::limits::{bad, is_false, is_true, yes, ScenarioError};
use headway_experiment::limits::{ACK_INTERVAL_NS, LINK_MTU_BYTES, MAX_JITTER_NS, THINNED_ACKS};
use headway_experiment::quantity::format_time;
use serde::{Deserialize, Serialize};

/// Thinning of acknowledgements: a link drops a pure ACK that a newer one of the same connection
/// makes superfluous. Either `filter` or `keep_one_of` is set.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct AckThinning {
    /// Whether a newer ACK takes the place of an older one that waits in the queue.
    #[serde(default, skip_serializing_if = "is_false")]
    pub filter: bool,
    /// Of how many ACKs of a connection the link keeps one: it holds them until it has this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_one_of: Option<u32>,
    /// How long the link holds an ACK for newer ones; absent: [`ACK_INTERVAL_NS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
}

impl AckThinning {
    /// How many ACKs become one, and how long an ACK is held for that; None: the filter.
    #[must_use]
    pub fn keeps(&self) -> Option<(u32, u64)> {
        let interval_ns = self.interval_ns.unwrap_or(ACK_INTERVAL_NS);
        self.keep_one_of.map(|acks| (acks, interval_ns))
    }

    pub(super) fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let keep = format!("{field}.keep");
        match (self.filter, self.keep_one_of) {
            (false, None) => {
                let line = format!("{keep}: is missing; give filter, or keep=1/N");
                return Err(ScenarioError(line));
            }
            (true, Some(n)) => {
                return Err(bad(&keep, format!("1/{n}"), "not together with filter"));
            }
            (false, Some(n)) => {
                let (least, most) = THINNED_ACKS;
                if !(least..=most).contains(&n.into()) {
                    let allowed = format!("1/{least} to 1/{most}");
                    return Err(bad(&keep, format!("1/{n}"), &allowed));
                }
            }
            (true, None) => {}
        }
        if let Some(interval_ns) = self.interval_ns {
            let (place, time) = (format!("{field}.interval"), format_time(interval_ns.into()));
            if self.filter {
                return Err(bad(&place, time, "only together with keep"));
            }
            if !(1..=MAX_JITTER_NS).contains(&interval_ns) {
                return Err(bad(&place, time, "more than 0, at most 10 minutes"));
            }
        }
        Ok(())
    }
}

/// Corruption: a packet crosses the link with a bit error, and the receiver's checksum drops it.
/// Either `packet` or `bit` is set.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Corruption {
    /// Probability that a packet is damaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<f64>,
    /// Probability that a bit is damaged, so that large packets are damaged more often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit: Option<f64>,
}

impl Corruption {
    pub(super) fn check(&self, field: &str) -> Result<(), ScenarioError> {
        match (self.packet, self.bit) {
            (None, None) => {
                let allowed = "give a probability per packet, or bit=PROBABILITY";
                return Err(ScenarioError(format!(
                    "{field}.packet: is missing; {allowed}"
                )));
            }
            (Some(_), Some(p)) => {
                let field = format!("{field}.bit");
                return Err(bad(&field, p, "not together with a probability per packet"));
            }
            _ => {}
        }
        for (name, p) in [("packet", self.packet), ("bit", self.bit)] {
            if !(0.0..1.0).contains(&p.unwrap_or(0.0)) {
                let allowed = "a probability, less than 1";
                return Err(bad(&format!("{field}.{name}"), p.unwrap_or(0.0), allowed));
            }
        }
        Ok(())
    }
}

/// The largest packet that a link takes.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Mtu {
    /// Size of the largest IP packet.
    pub size_bytes: u32,
    /// Whether the router in front of the link tells the sender of a larger packet (ICMP
    /// "fragmentation needed"). False: it drops the packet silently.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub icmp: bool,
}

impl Mtu {
    pub(super) fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let (least, most) = LINK_MTU_BYTES;
        if !(least..=most).contains(&self.size_bytes.into()) {
            let allowed = format!("{least} to {most} bytes");
            let field = format!("{field}.size_bytes");
            return Err(bad(&field, self.size_bytes, &allowed));
        }
        Ok(())
    }
}
