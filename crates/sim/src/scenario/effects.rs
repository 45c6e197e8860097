//! Effects of a link on packets, as plain data: delay variation, bursty loss, a policer, a shaper.
//! This module opens no file.

use super::faults::{AckThinning, Corruption};
use super::limits::{bad, check_rate, is_false, ScenarioError};
use headway_experiment::limits::{JITTER_TABLE_VALUES, MAX_JITTER_NS, MIN_BURST_BYTES};
use headway_experiment::path::NANOBITS_PER_BYTE;
use serde::{Deserialize, Serialize};

/// Unit of the values of a table of delay variation, as in netem's files: this value is one spread.
pub const TABLE_SCALE: i64 = 8192;
/// Largest deviation of the Pareto distribution in spreads. One value in 650 million exceeds it and
/// is cut.
pub const PARETO_MOST: f64 = 1000.0;
/// No value of the normal distribution is further from the mean than this number of spreads,
/// because the generator has 53 bits: sqrt(-2 ln 2⁻⁵³) is 8.6.
const NORMAL_MOST: f64 = 9.0;

/// Variation of a link's delay: each packet's delay differs from the link's by a random deviation,
/// whose mean is 0 except with a table.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// Half of the range of the uniform distribution; the standard deviation of the normal and the
    /// Pareto distribution; in a table, the deviation of the value 8192.
    pub spread_ns: u64,
    /// The distribution of the deviation.
    #[serde(default)]
    pub distribution: Distribution,
    /// Deviations in units of the spread / 8192, all equally likely; they replace `distribution`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<i16>,
    /// Correlation of successive deviations, from 0 to less than 1. The correlated values are
    /// normally distributed and then mapped to the distribution, which therefore does not change.
    #[serde(default)]
    pub correlation: f64,
    /// Whether a packet may overtake packets that left before it. False: it waits for them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reorder: bool,
}

/// Distribution of the deviations of delay.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Uniform in [-spread, spread].
    #[default]
    Uniform,
    /// Normal.
    Normal,
    /// Pareto of shape 3, shifted to the mean 0: at least -0.58 spreads, with a long tail.
    Pareto,
}

impl Jitter {
    /// Parses the text of a table in the format of netem's distribution files: whole numbers from
    /// -32768 to 32767, separated by white space; # begins a comment.
    ///
    /// # Errors
    /// One line with the number of the wrong line.
    pub fn table_of_text(text: &str) -> Result<Vec<i16>, ScenarioError> {
        let mut table = vec![];
        for (line, number) in text.lines().zip(1..) {
            let values = line.split('#').next().unwrap_or_default();
            for value in values.split_whitespace() {
                let parsed = value.parse().map_err(|_| {
                    let shown: String = value.chars().take(20).collect();
                    bad(
                        &format!("line {number}"),
                        format!("{shown:?}"),
                        "whole numbers from -32768 to 32767",
                    )
                })?;
                table.push(parsed);
            }
        }
        check_table("table", table.len())?;
        Ok(table)
    }

    /// The longest time by which the deviation delays a packet.
    #[must_use]
    pub fn longest_ns(&self) -> u64 {
        let spreads = if let Some(&most) = self.table.iter().max() {
            f64::from(most.max(0)) / TABLE_SCALE as f64
        } else {
            match self.distribution {
                Distribution::Uniform => 1.0,
                Distribution::Normal => NORMAL_MOST,
                Distribution::Pareto => PARETO_MOST,
            }
        };
        (self.spread_ns as f64 * spreads) as u64
    }

    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        if !(1..=MAX_JITTER_NS).contains(&self.spread_ns) {
            let allowed = "more than 0, at most 10 minutes";
            return Err(bad(&format!("{field}.spread_ns"), self.spread_ns, allowed));
        }
        if !self.table.is_empty() {
            check_table(&format!("{field}.table"), self.table.len())?;
            if self.distribution != Distribution::Uniform {
                let name = format!("{:?}", self.distribution).to_lowercase();
                let allowed = "with a table there is no other distribution";
                return Err(bad(&format!("{field}.distribution"), name, allowed));
            }
        }
        if !(0.0..1.0).contains(&self.correlation) {
            let allowed = "from 0 to less than 1";
            return Err(bad(
                &format!("{field}.correlation"),
                self.correlation,
                allowed,
            ));
        }
        Ok(())
    }
}

fn check_table(field: &str, values: usize) -> Result<(), ScenarioError> {
    if !(1..=JITTER_TABLE_VALUES).contains(&values) {
        let allowed = format!("1 to {JITTER_TABLE_VALUES} values");
        return Err(bad(field, format!("{values} values"), &allowed));
    }
    Ok(())
}

/// Bursty loss by the model of Gilbert and Elliott: a Markov chain of a good and a bad state, which
/// moves before each packet and starts in the good state. Each state loses packets with its own
/// probability. (E. N. Gilbert, Bell System Technical Journal 39, 1960; E. O. Elliott, 42, 1963.)
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// Probability to move from the good to the bad state: p of the papers.
    pub to_bad: f64,
    /// Probability to move from the bad to the good state: r.
    pub to_good: f64,
    /// Probability that a packet is lost in the bad state: 1 - h.
    #[serde(default = "certain")]
    pub loss_bad: f64,
    /// Probability that a packet is lost in the good state: 1 - k.
    #[serde(default)]
    pub loss_good: f64,
}

fn certain() -> f64 {
    1.0
}

impl BurstLoss {
    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        for (name, p, least) in [
            ("to_bad", self.to_bad, f64::MIN_POSITIVE),
            ("to_good", self.to_good, f64::MIN_POSITIVE),
            ("loss_bad", self.loss_bad, 0.0),
            ("loss_good", self.loss_good, 0.0),
        ] {
            if !(least..=1.0).contains(&p) {
                let allowed = if least > 0.0 {
                    "a probability, more than 0, at most 1"
                } else {
                    "a probability from 0 to 1"
                };
                return Err(bad(&format!("{field}.{name}"), p, allowed));
            }
        }
        if self.loss_good > self.loss_bad {
            let allowed = format!("at most loss_bad, {}", self.loss_bad);
            return Err(bad(&format!("{field}.loss_good"), self.loss_good, &allowed));
        }
        Ok(())
    }
}

/// A policer: a token bucket in front of the queue. A packet that finds too few tokens is dropped,
/// or marked. The policer delays no packet.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Rate at which the bucket fills, in IP bits per second.
    pub rate_bps: u64,
    /// Size of the bucket in IP bytes. The bucket is full at the start.
    pub burst_bytes: u64,
    /// Whether packets that support ECN are marked CE instead of being dropped.
    #[serde(default, skip_serializing_if = "is_false")]
    pub mark: bool,
}

/// A shaper: a token bucket between the queue and the wire. The packet at the head of the queue
/// waits until the bucket has tokens for all of its bytes, and is then sent at the link's rate.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// Rate at which the bucket fills, in IP bits per second.
    pub rate_bps: u64,
    /// Size of the bucket in IP bytes. The bucket is full at the start.
    pub burst_bytes: u64,
}

/// Aggregation of packets into frames, as of cellular and cable networks. The link sends only at
/// multiples of the interval, and then up to what it can send in an interval at its rate.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Aggregation {
    /// Time between frames.
    pub interval_ns: u64,
    /// Largest number of packets that end in one frame; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u32>,
}

impl Aggregation {
    pub(super) fn check(&self, field: &str, rate_bps: u64) -> Result<(), ScenarioError> {
        let nanobits = u128::from(self.interval_ns) * u128::from(rate_bps);
        if self.interval_ns > MAX_JITTER_NS || nanobits < NANOBITS_PER_BYTE {
            let allowed = "a time in which the link sends at least a byte, at most 10 minutes";
            return Err(bad(
                &format!("{field}.interval_ns"),
                self.interval_ns,
                allowed,
            ));
        }
        if self.packets == Some(0) {
            return Err(bad(&format!("{field}.packets"), 0, "at least 1 packet"));
        }
        Ok(())
    }
}

fn check_bucket(field: &str, rate_bps: u64, burst_bytes: u64) -> Result<(), ScenarioError> {
    check_rate(&format!("{field}.rate_bps"), rate_bps)?;
    if !(MIN_BURST_BYTES..=u64::from(u32::MAX)).contains(&burst_bytes) {
        let allowed = format!("{MIN_BURST_BYTES} bytes, which is a full packet, to 4294967295");
        return Err(bad(&format!("{field}.burst_bytes"), burst_bytes, &allowed));
    }
    Ok(())
}

/// The name of a link's field in messages; the link's own name may be empty.
pub(super) fn place(link: &str, name: &str) -> String {
    if link.is_empty() {
        name.to_owned()
    } else {
        format!("{link}.{name}")
    }
}

/// The effects that a link applies to packets. The MTU is not among them: packets that exceed it
/// do not reach the link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects<'a> {
    /// Delay variation.
    pub jitter: Option<&'a Jitter>,
    /// Bursty loss.
    pub burst_loss: Option<BurstLoss>,
    /// Policer in front of the queue.
    pub policer: Option<Policer>,
    /// Shaper behind the queue.
    pub shaper: Option<Shaper>,
    /// Thinning of acknowledgements in front of the queue.
    pub ack_thinning: Option<AckThinning>,
    /// Damage on the wire.
    pub corruption: Option<Corruption>,
}

impl Effects<'_> {
    /// Checks every field; `field` is the link's name in messages.
    ///
    /// # Errors
    /// One line for a value out of range.
    pub fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let place = |name: &str| place(field, name);
        if let Some(jitter) = self.jitter {
            jitter.check(&place("jitter"))?;
        }
        if let Some(burst_loss) = self.burst_loss {
            burst_loss.check(&place("burst_loss"))?;
        }
        if let Some(policer) = self.policer {
            check_bucket(&place("policer"), policer.rate_bps, policer.burst_bytes)?;
        }
        if let Some(shaper) = self.shaper {
            check_bucket(&place("shaper"), shaper.rate_bps, shaper.burst_bytes)?;
        }
        if let Some(ack_thinning) = self.ack_thinning {
            ack_thinning.check(&place("ack_thinning"))?;
        }
        if let Some(corruption) = self.corruption {
            corruption.check(&place("corruption"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_netem_writes_it() {
        let text = "# a comment\n -32768 0 8192 # more\n\n32767\n";
        assert_eq!(
            Jitter::table_of_text(text).unwrap(),
            [-32768, 0, 8192, 32767]
        );
    }

    #[test]
    fn text_that_is_no_table_is_rejected_with_its_line() {
        let many = "1\n".repeat(JITTER_TABLE_VALUES + 1);
        for (text, part) in [
            ("", "0 values"),
            ("# only a comment\n", "0 values"),
            ("1\n2 x\n", "line 2: \"x\""),
            ("1\n32768\n", "line 2"),
            ("1.5", "line 1"),
            (many.as_str(), "16385 values"),
        ] {
            let message = Jitter::table_of_text(text).unwrap_err().0;
            assert!(message.contains(part), "{message}");
        }
    }
}
