//! Effects of a link: how they are written, as text or as fields, and their form in the scenario.

use serde_json::{Map, Value as Json};

use super::fields::Fields;
use crate::algorithm::{options, split_options, Known};
use crate::flow::Kind;
use crate::limits::{
    JITTER_TABLE_VALUES, LINK_MTU_BYTES, MAX_JITTER_NS, MAX_LIMIT, MIN_BURST_BYTES, THINNED_ACKS,
};
use crate::quantity::format_time;
use crate::text::{quoted, shorten, unknown, Refused};

/// What a field of an effect contains.
#[derive(Clone, Copy)]
enum Content {
    /// A value with a unit, a switch or a word.
    Of(Kind),
    /// A positive time up to ten minutes.
    Short,
    /// A probability; true: 1 is allowed.
    Probability(bool),
    /// A list of 16-bit numbers, or null.
    Table,
    /// One of several, "1/4".
    OneOf,
}

/// How the text of an effect begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Head {
    /// With an option.
    Option,
    /// With the value of the first field.
    Value,
    /// With an option, or with the value of the first field.
    MaybeValue,
    /// With an option, or with the name of the first field, a switch, which it switches on.
    MaybeName,
}

/// A field of an effect.
struct Part {
    name: &'static str,
    /// The field's name in the scenario.
    lowered: &'static str,
    content: Content,
    needed: bool,
}

/// An effect of a link.
struct Effect {
    name: &'static str,
    head: Head,
    parts: &'static [Part],
    /// An example of its text, for errors.
    example: &'static str,
}

const fn part(name: &'static str, lowered: &'static str, content: Content, needed: bool) -> Part {
    Part {
        name,
        lowered,
        content,
        needed,
    }
}

const DISTRIBUTIONS: &[&str] = &["uniform", "normal", "pareto"];
const RATE: Part = part("rate", "rate_bps", Content::Of(Kind::Rate), true);
const BURST: Part = part(
    "burst",
    "burst_bytes",
    Content::Of(Kind::Size(MIN_BURST_BYTES, MAX_LIMIT)),
    true,
);

/// All effects. Their names are the names of the link's fields, in experiments and in the scenario.
/// Absent fields have the scenario's defaults.
const EFFECTS: [Effect; 8] = [
    Effect {
        name: "jitter",
        head: Head::Value,
        parts: &[
            part("spread", "spread_ns", Content::Short, true),
            part(
                "distribution",
                "distribution",
                Content::Of(Kind::Word(DISTRIBUTIONS)),
                false,
            ),
            part("table", "table", Content::Table, false),
            part(
                "correlation",
                "correlation",
                Content::Probability(false),
                false,
            ),
            part("reorder", "reorder", Content::Of(Kind::Switch), false),
        ],
        example: "10ms:distribution=normal",
    },
    Effect {
        name: "burst_loss",
        head: Head::Option,
        parts: &[
            part("to_bad", "to_bad", Content::Probability(true), true),
            part("to_good", "to_good", Content::Probability(true), true),
            part("loss_bad", "loss_bad", Content::Probability(true), false),
            part("loss_good", "loss_good", Content::Probability(true), false),
        ],
        example: "to_bad=1%:to_good=25%",
    },
    Effect {
        name: "policer",
        head: Head::Value,
        parts: &[
            RATE,
            BURST,
            part("mark", "mark", Content::Of(Kind::Switch), false),
        ],
        example: "10Mbit/s:burst=64KiB",
    },
    Effect {
        name: "shaper",
        head: Head::Value,
        parts: &[RATE, BURST],
        example: "10Mbit/s:burst=64KiB",
    },
    Effect {
        name: "aggregation",
        head: Head::Value,
        parts: &[
            part("interval", "interval_ns", Content::Short, true),
            part("packets", "packets", Content::Of(Kind::Whole(1)), false),
        ],
        example: "4ms:packets=32",
    },
    Effect {
        name: "ack_thinning",
        head: Head::MaybeName,
        parts: &[
            part("filter", "filter", Content::Of(Kind::Switch), false),
            part("keep", "keep_one_of", Content::OneOf, false),
            part("interval", "interval_ns", Content::Short, false),
        ],
        example: "filter or keep=1/4",
    },
    Effect {
        name: "corruption",
        head: Head::MaybeValue,
        parts: &[
            part("packet", "packet", Content::Probability(false), false),
            part("bit", "bit", Content::Probability(false), false),
        ],
        example: "0.1% or bit=1e-7",
    },
    Effect {
        name: "mtu",
        head: Head::Value,
        parts: &[
            part(
                "size",
                "size_bytes",
                Content::Of(Kind::Size(LINK_MTU_BYTES.0, LINK_MTU_BYTES.1)),
                true,
            ),
            part("icmp", "icmp", Content::Of(Kind::Switch), false),
        ],
        example: "1400B or 1400B:icmp=off",
    },
];

/// The names of all effects, which are fields of a link.
pub const EFFECT_NAMES: [&str; EFFECTS.len()] = {
    let mut names = [""; EFFECTS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = EFFECTS[index].name;
        index += 1;
    }
    names
};

fn effect_named(name: &str) -> Result<&'static Effect, Refused> {
    let found = EFFECTS.iter().find(|effect| effect.name == name);
    found.ok_or_else(|| Refused::new(unknown("effect", name, &EFFECT_NAMES)))
}

/// The fields of an effect that is written as text: "10ms:distribution=normal". The values are
/// text; [`lowered_effect`] checks them.
///
/// # Errors
/// One line for text that does not have this form.
pub fn effect_of_text<'a>(
    name: &str,
    text: &'a str,
) -> Result<Vec<(&'static str, &'a str)>, Refused> {
    let effect = effect_named(name)?;
    let wrong = || {
        let text = shorten(&quoted(text));
        Refused::new(format!(
            "{text} is not allowed; write for example {}",
            effect.example
        ))
    };
    let (before, _) = text.split_once(':').unwrap_or((text, ""));
    let has_head = !before.contains('=');
    let fits = match effect.head {
        Head::Option => !has_head,
        Head::Value => has_head,
        Head::MaybeValue => true,
        Head::MaybeName => !has_head || before == effect.parts[0].name,
    };
    if before.is_empty() || !fits {
        return Err(wrong());
    }
    let mut fields = vec![];
    let given = if has_head {
        let (head, given) = split_options(text)?;
        let is_name = effect.head == Head::MaybeName;
        fields.push((effect.parts[0].name, if is_name { "on" } else { head }));
        given
    } else {
        options(text.split(':'))?
    };
    for (option, value) in given {
        let names: Vec<&str> = effect.parts.iter().map(|part| part.name).collect();
        let Some(part) = effect.parts.iter().find(|part| part.name == option) else {
            return Err(Refused::new(unknown("option", option, &names)));
        };
        if fields.iter().any(|(known, _)| *known == part.name) {
            return Err(Refused::new(format!("{option} is given twice")));
        }
        fields.push((part.name, value));
    }
    Ok(fields)
}

/// The scenario's form of an effect that is written as text or as fields; `at` is its place.
///
/// # Errors
/// One line that names the field, its value and what is allowed.
pub fn lowered_effect(name: &str, written: &Json, at: &str) -> Result<Json, Refused> {
    let effect = effect_named(name)?;
    let of_text;
    let written = if let Json::String(text) = written {
        let given = effect_of_text(name, text).map_err(|e| Refused::new(format!("{at}: {e}")))?;
        let named = given.into_iter().map(|(n, v)| (n.to_owned(), v.into()));
        of_text = Json::Object(named.collect());
        &of_text
    } else {
        written
    };
    let fields = Fields::of(written, at)?;
    let names: Vec<&str> = effect.parts.iter().map(|part| part.name).collect();
    fields.known(&names)?;
    let mut all = Map::new();
    for part in effect.parts {
        if part.needed {
            fields.need(part.name)?;
        }
        if let Some(value) = lowered_part(&fields, part)? {
            all.insert(part.lowered.to_owned(), value);
        }
    }
    Ok(all.into())
}

fn lowered_part(fields: &Fields<'_>, part: &Part) -> Result<Option<Json>, Refused> {
    if fields.get(part.name).is_none() {
        return Ok(None);
    }
    Ok(Some(match part.content {
        Content::Of(kind) => match fields.value(part.name, kind, &Known::default())? {
            Some(value) => value.into(),
            None => return Ok(None),
        },
        Content::Short => match fields.needed(part.name, Kind::Length)? {
            time_ns if time_ns <= MAX_JITTER_NS => time_ns.into(),
            time_ns => {
                let time = format_time(time_ns.into());
                let line = format!("{time} is not allowed; at most 10 minutes");
                return Err(fields.refuse(part.name, line));
            }
        },
        Content::Probability(with_one) => fields.probability_up_to(part.name, with_one)?.into(),
        Content::OneOf => one_of(fields.text(part.name)?.unwrap_or_default())
            .map_err(|e| fields.refuse(part.name, e))?
            .into(),
        Content::Table => {
            let list = fields.list(part.name)?.unwrap_or_default();
            let is_16_bit = |value: &Json| value.as_i64().is_some_and(|v| i16::try_from(v).is_ok());
            if let Some(other) = list.iter().find(|value| !is_16_bit(value)) {
                let other = shorten(&other.to_string());
                let line = format!("{other} is not allowed; whole numbers from -32768 to 32767");
                return Err(fields.refuse(part.name, line));
            }
            if !(1..=JITTER_TABLE_VALUES).contains(&list.len()) {
                let (count, most) = (list.len(), JITTER_TABLE_VALUES);
                let line = format!("{count} values are not allowed; 1 to {most}");
                return Err(fields.refuse(part.name, line));
            }
            list.into()
        }
    }))
}

/// Parses "1/4" as 4.
fn one_of(text: &str) -> Result<u64, Refused> {
    let (least, most) = THINNED_ACKS;
    let number = text.strip_prefix("1/").and_then(|n| n.parse().ok());
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| {
            let text = shorten(&quoted(text));
            Refused::new(format!("{text} is not allowed; 1/{least} to 1/{most}"))
        })
}
