//! Tunables: their names, their values, and how people write values.

use headway_experiment::algorithm;
use serde::Serialize;

use crate::error::AlgorithmError;

/// A tunable, as its algorithm declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TunableInfo {
    /// Name of the tunable. It is unique within a control and all startups that the control can be
    /// combined with.
    pub name: &'static str,
    /// Unit of the value. `bool` means a switch; `a|b|c` gives the names of the values from 0 on.
    pub unit: &'static str,
    /// The tunable's meaning, in one line.
    pub meaning: &'static str,
    /// Value that applies if none is given.
    pub default: u32,
    /// Least value.
    pub min: u32,
    /// Greatest value.
    pub max: u32,
}

impl TunableInfo {
    /// Whether the tunable is a switch.
    pub fn is_switch(&self) -> bool {
        self.unit == "bool"
    }

    /// Names of the tunable's values from 0 on, if they have names.
    pub fn choices(&self) -> Option<impl Iterator<Item = &'static str> + 'static> {
        self.unit.contains('|').then(|| self.unit.split('|'))
    }

    /// Formats a value as people write it: on or off for a switch, the value's name if it has one,
    /// otherwise a number.
    pub fn shown(&self, value: u32) -> String {
        match (self.is_switch(), value) {
            (true, 0) => return "off".to_owned(),
            (true, 1) => return "on".to_owned(),
            _ => {}
        }
        let name = self
            .choices()
            .and_then(|mut names| names.nth(value as usize));
        name.map_or_else(|| value.to_string(), str::to_owned)
    }

    /// Parses a value as people write it: an integer; for a switch also on/off, yes/no or
    /// true/false; for a value with a name also the name.
    ///
    /// # Errors
    /// [`AlgorithmError::BadValue`] if it is not a number or out of range.
    pub fn parse(&self, text: &str) -> Result<u32, AlgorithmError> {
        let text = text.trim();
        let value = self.described().check(text);
        value.map_err(|_| self.bad_value(text))
    }

    /// Describes the tunable to the parser of flow and queue texts.
    pub(super) fn described(&self) -> algorithm::Tunable {
        algorithm::Tunable {
            name: self.name.to_owned(),
            unit: self.unit.to_owned(),
            min: self.min,
            max: self.max,
        }
    }

    pub(crate) fn bad_value(&self, value: &str) -> AlgorithmError {
        AlgorithmError::BadValue {
            tunable: self.name.to_owned(),
            value: value.to_owned(),
            allowed: self.described().allowed(),
        }
    }
}
