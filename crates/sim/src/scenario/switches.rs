//! Changes of a link's effects during a run, as plain data.

use super::effects::{Aggregation, BurstLoss, Effects, Jitter, Policer, Shaper};
use super::link::LinkSpec;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// How JSON writes that an effect ends.
const OFF: &str = "off";

/// What a step does with an effect. In JSON "off" or the effect's fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Switch<T> {
    /// The link has the effect no longer.
    Off,
    /// The link has the effect with these parameters.
    On(T),
}

impl<T> Switch<T> {
    fn on(&self) -> Option<&T> {
        match self {
            Switch::Off => None,
            Switch::On(effect) => Some(effect),
        }
    }
}

impl<T: Serialize> Serialize for Switch<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Switch::Off => serializer.serialize_str(OFF),
            Switch::On(effect) => effect.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Switch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // not an untagged enum, whose errors name neither field nor value
        struct OffOrFields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OffOrFields<T> {
            type Value = Switch<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "\"{OFF}\" or the effect's fields")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                if text == OFF {
                    return Ok(Switch::Off);
                }
                Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Switch::On)
            }
        }

        deserializer.deserialize_any(OffOrFields(PhantomData))
    }
}

/// The effects that a step of a run changes. Effects without a value stay as they are.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Switches {
    /// Variation of the delay, of packets that leave the queue from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Switch<Jitter>>,
    /// Bursty loss before the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<Switch<BurstLoss>>,
    /// Token bucket in front of the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<Switch<Policer>>,
    /// Token bucket between the queue and the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<Switch<Shaper>>,
    /// Transmission in frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<Switch<Aggregation>>,
}

impl Switches {
    pub(super) fn is_empty(&self) -> bool {
        *self == Switches::default()
    }

    /// The effects that the step switches on.
    #[must_use]
    pub fn effects(&self) -> Effects<'_> {
        Effects {
            jitter: on(self.jitter.as_ref()),
            burst_loss: on(self.burst_loss.as_ref()).copied(),
            policer: on(self.policer.as_ref()).copied(),
            shaper: on(self.shaper.as_ref()).copied(),
        }
    }

    /// The frames that the step switches on.
    pub(super) fn frames(&self) -> Option<Aggregation> {
        on(self.aggregation.as_ref()).copied()
    }
}

fn on<T>(switch: Option<&Switch<T>>) -> Option<&T> {
    switch.and_then(Switch::on)
}

/// Values of an effect in the order of their start times; None while the link does not have the
/// effect. The first value starts at 0.
pub type OverTime<T> = Vec<(u64, Option<T>)>;

impl LinkSpec {
    /// The jitter over the run: the link's own, and then that of the steps of `vary`.
    #[must_use]
    pub fn jitters(&self) -> OverTime<Jitter> {
        self.over_time(self.jitter.as_ref(), |s| s.jitter.as_ref())
    }

    /// The bursty loss over the run.
    #[must_use]
    pub fn burst_losses(&self) -> OverTime<BurstLoss> {
        self.over_time(self.burst_loss.as_ref(), |s| s.burst_loss.as_ref())
    }

    /// The policer over the run.
    #[must_use]
    pub fn policers(&self) -> OverTime<Policer> {
        self.over_time(self.policer.as_ref(), |s| s.policer.as_ref())
    }

    /// The shaper over the run.
    #[must_use]
    pub fn shapers(&self) -> OverTime<Shaper> {
        self.over_time(self.shaper.as_ref(), |s| s.shaper.as_ref())
    }

    /// The frames over the run.
    #[must_use]
    pub fn aggregations(&self) -> OverTime<Aggregation> {
        self.over_time(self.aggregation.as_ref(), |s| s.aggregation.as_ref())
    }

    fn over_time<T: Clone>(
        &self,
        own: Option<&T>,
        of_step: impl Fn(&Switches) -> Option<&Switch<T>>,
    ) -> OverTime<T> {
        let mut all = vec![(0, own.cloned())];
        for (start_ns, switches) in self.vary.iter().flat_map(|vary| vary.switches()) {
            let Some(switch) = of_step(switches) else {
                continue;
            };
            if start_ns == 0 {
                all.clear();
            }
            all.push((start_ns, switch.on().cloned()));
        }
        all
    }
}

/// The effects that a link has at some time of a run, in the order of their start times.
pub fn ever<T>(values: OverTime<T>) -> impl Iterator<Item = T> {
    values.into_iter().filter_map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(steps: &str) -> Result<LinkSpec, String> {
        let json = format!(
            r#"{{"rate_bps": 8000, "delay_ns": 3, "shaper": {{"rate_bps": 8, "burst_bytes": 1500}},
                "vary": {{"kind": "schedule", "steps": {steps}}}}}"#
        );
        let link: LinkSpec = serde_json::from_str(&json).map_err(|e| e.to_string())?;
        link.check("link").map_err(|e| e.to_string())?;
        Ok(link)
    }

    #[test]
    fn an_effect_that_a_step_does_not_name_stays_as_it_is() {
        let link = link(
            r#"[[0, 8000, 3, {"jitter": {"spread_ns": 7}}], [5, 8000, 3],
                [9, 8000, 3, {"jitter": "off", "shaper": {"rate_bps": 9, "burst_bytes": 1500}}]]"#,
        )
        .unwrap();
        let spreads: Vec<_> = link
            .jitters()
            .iter()
            .map(|(at, j)| (*at, j.as_ref().map(|j| j.spread_ns)))
            .collect();
        assert_eq!(spreads, [(0, Some(7)), (9, None)]);
        let rates: Vec<_> = ever(link.shapers()).map(|s| s.rate_bps).collect();
        assert_eq!(rates, [8, 9]);
        assert_eq!(link.policers(), [(0, None)]);
        // and JSON has it as it was written
        let again: LinkSpec = serde_json::from_value(serde_json::to_value(&link).unwrap()).unwrap();
        assert_eq!(again, link);
    }

    #[test]
    fn a_wrong_step_is_one_line_that_names_it() {
        for (switches, part) in [
            (
                r#"{"jitter": {"spread_ns": 0}}"#,
                "link.vary.steps[1].jitter.spread_ns: 0 is not allowed",
            ),
            (
                r#"{"policer": {"rate_bps": 1, "burst_bytes": 1}}"#,
                "link.vary.steps[1].policer.burst_bytes: 1 is",
            ),
            (
                r#"{"aggregation": {"interval_ns": 1}}"#,
                "link.vary.steps[1].aggregation.interval_ns: 1 is not allowed; a time in which",
            ),
            (r#"{"jitter": "of"}"#, "\"off\" or the effect's fields"),
            (r#"{"jitter": {"spread": 1}}"#, "unknown field `spread`"),
            (r#"{"limit_pkts": 5}"#, "unknown field `limit_pkts`"),
        ] {
            let message = link(&format!("[[0, 8000, 3], [5, 1, 3, {switches}]]")).unwrap_err();
            assert!(message.contains(part), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
