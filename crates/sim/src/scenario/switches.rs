//! Changes of a link's effects during a run, as plain data.

use super::effects::{Aggregation, BurstLoss, Effects, Jitter, Policer, Shaper};
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
    pub(super) fn on(&self) -> Option<&T> {
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
            ..Effects::default()
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

/// The effects that a link has at some time of a run, in the order of their start times.
pub fn ever<T>(values: OverTime<T>) -> impl Iterator<Item = T> {
    values.into_iter().filter_map(|(_, value)| value)
}
