//! One direction of a link and its queue.

use super::limits::{bad, check_probability, check_rate, check_time, is_false, ScenarioError};
use super::vary::Vary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One direction of a link.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// IP bits per second, at least 1.
    pub rate_bps: u64,
    /// Propagation delay.
    #[serde(default)]
    pub delay_ns: u64,
    /// Rate and delay that change during the run; `rate_bps` is then not used, and
    /// `delay_ns` where this gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vary: Option<Vary>,
    /// Queue management; drop-tail when absent.
    #[serde(default)]
    pub aqm: Aqm,
    /// Room of the queue in IP bytes, waiting and in transmission.
    #[serde(default)]
    pub limit_bytes: Option<u64>,
    /// Room of the queue in packets, waiting and in transmission.
    #[serde(default)]
    pub limit_pkts: Option<u32>,
    /// Probability that a packet is lost before it reaches the queue.
    #[serde(default)]
    pub loss: f64,
    /// Probability that a packet arrives twice.
    #[serde(default)]
    pub duplicate: f64,
    /// Probability that a packet is held back by `reorder_delay_ns`.
    #[serde(default)]
    pub reorder: f64,
    /// How long a reordered packet is held back.
    #[serde(default)]
    pub reorder_delay_ns: u64,
    /// Algorithms of the router before the link, in the order in which packets pass them.
    /// Without any it takes only the IP TTL down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<Aqm>,
    /// Drops packets that have IP options, as some paths do.
    #[serde(default, skip_serializing_if = "is_false")]
    pub drop_ip_options: bool,
    /// What it does with ECN before the queue decides.
    #[serde(default, skip_serializing_if = "EcnPath::is_kept")]
    pub ecn: EcnPath,
}

/// What a link does with ECN.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum EcnPath {
    /// Nothing.
    #[default]
    Keep,
    /// Clears the two bits of IPv4, as routers that take them for a class of service do.
    Bleach,
    /// Drops SYNs that ask for it, as some middleboxes do.
    DropSyn,
}

impl EcnPath {
    // serde hands over a reference
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_kept(&self) -> bool {
        *self == EcnPath::Keep
    }
}

/// An algorithm of a link and its tunables.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Aqm {
    /// Name in the registry.
    pub name: String,
    /// Tunables that differ from their defaults.
    #[serde(default)]
    pub tunables: BTreeMap<String, u32>,
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
    /// Checks every field; `field` is the name of the whole in messages.
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
