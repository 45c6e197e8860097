//! Reads fields of a JSON document. Error messages name the field's place in the document.

use serde_json::{Map, Value as Json};

use crate::algorithm::{options, split_tunables, Known, Named};
use crate::flow::{Kind, Value};
use crate::quantity::{probability, RATES_SHOWN, SIZES_SHOWN, TIMES_SHOWN};
use crate::text::{quoted, shorten, unknown, Refused};

/// A JSON object of the document, and its place in it.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    /// The object's place; empty for the whole document.
    pub(super) at: &'a str,
    map: &'a Map<String, Json>,
    only: Option<&'a [&'a str]>,
}

/// Name and units of a kind of value that needs a unit; None for other kinds.
fn quantity(kind: Kind) -> Option<(&'static str, &'static str)> {
    match kind {
        Kind::Rate => Some(("rate", RATES_SHOWN)),
        Kind::Time | Kind::Length => Some(("time", TIMES_SHOWN)),
        Kind::Size(..) => Some(("size", SIZES_SHOWN)),
        _ => None,
    }
}

fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => shorten(&quoted(text)),
        other => shorten(&other.to_string()),
    }
}

impl<'a> Fields<'a> {
    /// Returns the fields of the object `value`; `at` is the object's place in the document.
    pub(super) fn of(value: &'a Json, at: &'a str) -> Result<Fields<'a>, Refused> {
        match value {
            Json::Object(map) => Ok(Fields {
                at,
                map,
                only: None,
            }),
            other => Err(Refused::new(format!(
                "{at}: {} is not allowed; fields by name",
                shown(other)
            ))),
        }
    }

    /// Restricts the object to the fields that have these names.
    pub(super) fn only(self, names: &'a [&'a str]) -> Fields<'a> {
        Fields {
            only: Some(names),
            ..self
        }
    }

    /// Returns an error if the object has a field with another name than these.
    pub(super) fn known(&self, names: &[&str]) -> Result<(), Refused> {
        match self.map.keys().find(|name| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let line = unknown("", name, names);
                let hint = line.split_once("; ").map_or("", |(_, hint)| hint);
                Err(self.refuse(name, format!("no such field; {hint}")))
            }
        }
    }

    /// An error about the field `name`.
    pub(super) fn refuse(&self, name: &str, what: impl std::fmt::Display) -> Refused {
        Refused::new(format!("{}: {what}", self.place(name)))
    }

    /// The place of the field `name` in the document.
    pub(super) fn place(&self, name: &str) -> String {
        if self.at.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.at)
        }
    }

    /// The value of a field; None if it is missing or null.
    pub(super) fn get(&self, name: &str) -> Option<&'a Json> {
        if self.only.is_some_and(|names| !names.contains(&name)) {
            return None;
        }
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// The value of a required field.
    pub(super) fn need(&self, name: &str) -> Result<&'a Json, Refused> {
        self.get(name)
            .ok_or_else(|| self.refuse(name, "is missing; it has to be given"))
    }

    /// The value of a field, parsed as this kind, in SI units.
    pub(super) fn value(
        &self,
        name: &str,
        kind: Kind,
        known: &Known,
    ) -> Result<Option<Value>, Refused> {
        self.get(name)
            .map(|written| value(written, kind, known).map_err(|e| self.refuse(name, e)))
            .transpose()
    }

    /// The number in a field, in SI units.
    pub(super) fn number(&self, name: &str, kind: Kind) -> Result<Option<u64>, Refused> {
        match self.value(name, kind, &Known::default())? {
            Some(Value::Number(number)) => Ok(Some(number)),
            _ => Ok(None),
        }
    }

    /// The number in a required field, in SI units.
    pub(super) fn needed(&self, name: &str, kind: Kind) -> Result<u64, Refused> {
        self.need(name)?;
        Ok(self.number(name, kind)?.unwrap_or_default())
    }

    /// The switch in a field; off if the field is missing.
    pub(super) fn is_on(&self, name: &str) -> Result<bool, Refused> {
        let switch = self.value(name, Kind::Switch, &Known::default())?;
        Ok(switch == Some(Value::Switch(true)))
    }

    /// The text in a field.
    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, Refused> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.refuse(name, format!("{} is not allowed; text", shown(other)))),
        }
    }

    /// The list in a field; None if the field is missing.
    pub(super) fn list(&self, name: &str) -> Result<Option<&'a [Json]>, Refused> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::Array(list)) => Ok(Some(list)),
            Some(other) => {
                Err(self.refuse(name, format!("{} is not allowed; a list", shown(other))))
            }
        }
    }

    /// The probability in a field, as a number or text, from 0 up to, but not including, 1; 0 if
    /// the field is missing.
    pub(super) fn probability(&self, name: &str) -> Result<f64, Refused> {
        self.probability_up_to(name, false)
    }

    /// Like [`Self::probability`]; `with_one` also allows 1.
    pub(super) fn probability_up_to(&self, name: &str, with_one: bool) -> Result<f64, Refused> {
        let read = match self.get(name) {
            None => Ok(0.0),
            Some(Json::String(text)) => probability(text, &quoted(text), with_one),
            Some(other) => probability(&other.to_string(), &shown(other), with_one),
        };
        read.map_err(|e| self.refuse(name, e))
    }
}

/// Parses a value of this kind, in SI units, from text or from the corresponding JSON type.
pub(super) fn value(written: &Json, kind: Kind, known: &Known) -> Result<Value, Refused> {
    match (written, kind) {
        (Json::String(text), _) => kind.check(text, known),
        (Json::Bool(on), Kind::Switch) => Ok(Value::Switch(*on)),
        (Json::Number(number), Kind::Whole(_)) => kind.check(&number.to_string(), known),
        (other, _) => Err(Refused::new(match (other, quantity(kind)) {
            (Json::Number(number), Some((what, units))) => {
                format!("{number} has no unit; write it as text, {what} in {units}")
            }
            (_, Some((what, units))) => {
                let other = shown(other);
                format!("{other} is not a {what}; write a number and one of: {units}")
            }
            (_, None) => format!("{} is not allowed; text", shown(other)),
        })),
    }
}

/// Parses an algorithm that is written as text with options, or as an object with its name and
/// tunables; `find` checks the algorithm.
pub(super) fn algorithm(
    written: &Json,
    at: &str,
    find: impl Fn(&str, &[(&str, &str)]) -> Result<Named, Refused>,
) -> Result<Named, Refused> {
    let refused = |e: Refused| Refused::new(format!("{at}: {e}"));
    if let Json::String(text) = written {
        return split_tunables(text)
            .and_then(|(name, options)| find(name, &options))
            .map_err(refused);
    }
    let fields = Fields::of(written, at)?;
    fields.known(&["name", "startup", "tunables"])?;
    let (text, startup) = (fields.text("name")?, fields.text("startup")?);
    let (name, mut all) = split_tunables(text.unwrap_or_default()).map_err(refused)?;
    let tunables = match fields.get("tunables") {
        None => vec![],
        Some(given) => tunables(given, &fields.place("tunables"))?,
    };
    all.extend(tunables.iter().map(|(name, v)| (*name, v.as_str())));
    let joined = startup.map(|startup| format!("{name}+{startup}"));
    find(joined.as_deref().unwrap_or(name), &all).map_err(refused)
}

/// Reads an object of values by name; each value as text.
pub(super) fn tunables<'a>(written: &'a Json, at: &str) -> Result<Vec<(&'a str, String)>, Refused> {
    if let Json::String(text) = written {
        let all = options(text.split(':')).map_err(|e| Refused::new(format!("{at}: {e}")))?;
        return Ok(all.into_iter().map(|(n, v)| (n, v.to_owned())).collect());
    }
    Fields::of(written, at)?;
    let given = written.as_object().into_iter().flatten();
    let text = |value: &Json| match value {
        Json::String(text) => text.clone(),
        Json::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
        other => other.to_string(),
    };
    Ok(given.map(|(n, v)| (n.as_str(), text(v))).collect())
}
