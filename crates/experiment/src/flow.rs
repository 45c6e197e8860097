//! The text form of flows: "2xcubic+hystart:initial_rate=5Mbit/s:size=1MB,1xvoip".

use serde_json::Value as Json;

use crate::algorithm::{split_options, switch, Known, Named, KERNEL_OWN};
use crate::arrivals::{parse_arrivals, parse_load};
use crate::graph::check_nodes;
use crate::host::{format_memory, parse_memory, Memory};
use crate::limits::{
    BUFFER_BYTES, MAX_BYTES, MAX_FLOWS, MAX_NAME_CHARS, MAX_RATE_BPS, MAX_WINDOW_BYTES,
    MIN_WINDOW_BYTES, SOCKET_OPTION_BYTES,
};
use crate::quantity::{
    any_time, format_rate, format_size, parse_positive_size, parse_positive_time, parse_rate,
    parse_size, parse_time,
};
use crate::sizes::Sizes;
use crate::text::{quoted, shorten, unknown, Refused};

/// Types of the values that options can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A rate in bits per second, more than 0.
    Rate,
    /// Nanoseconds, 0 or more.
    Time,
    /// Nanoseconds, more than 0.
    Length,
    /// A size in bytes, from the first to the second of these numbers.
    Size(u64, u64),
    /// Three sizes in bytes, as of tcp_rmem.
    Memory,
    /// On or off.
    Switch,
    /// A whole number of at least this value.
    Whole(u64),
    /// Any printable text.
    Name,
    /// Names of nodes, separated by hyphens.
    Nodes,
    /// The name of a stack profile, which is a version of the TCP endpoint.
    Stack,
    /// One of the listed words.
    Word(&'static [&'static str]),
    /// A rate of arrivals, as the mean time between them in nanoseconds.
    Arrivals,
    /// A load of a link, more than 0.
    Load,
    /// A distribution of sizes, or the name of a file that has one.
    Sizes,
}

/// ECN setting of both ends of a connection, or separate settings of the opener and the responder.
const ECN: &[&str] = &[
    "off",
    "on",
    "passive",
    "off/on",
    "off/passive",
    "on/off",
    "on/passive",
    "passive/off",
    "passive/on",
    "accurate",
    "accurate/off",
    "accurate/on",
    "accurate/passive",
    "off/accurate",
    "on/accurate",
    "passive/accurate",
];

/// Directions in which a flow's opener sends through a dumbbell or a chain.
const DIRECTIONS: &[&str] = &["forward", REVERSE];
/// The direction of a flow whose opener is at the far end.
pub(crate) const REVERSE: &str = "reverse";

/// Versions of HTTP, which determine how the objects of Web pages share connections.
const HTTP: &[&str] = &["1.0", "1.1", "1.1-pipelined", "2"];

/// Distributions of the times between transfers.
const SPACINGS: &[&str] = &["exponential", CONSTANT];
/// The distribution of equal times.
pub(crate) const CONSTANT: &str = "constant";

const SIZE: Kind = Kind::Size(1, MAX_BYTES);

/// All options of a flow's text in addition to its algorithms' tunables. A new option needs a line
/// in this list and a field with its name in Python's class Flow.
pub const FLOW_OPTIONS: &[(&str, Kind)] = &[
    ("name", Kind::Name),
    ("sack", Kind::Switch),
    ("timestamps", Kind::Switch),
    ("delayed_ack", Kind::Switch),
    ("ecn", Kind::Word(ECN)),
    ("frto", Kind::Switch),
    ("nodelay", Kind::Switch),
    ("stack", Kind::Stack),
    (
        "rcvbuf",
        Kind::Size(SOCKET_OPTION_BYTES.0, SOCKET_OPTION_BYTES.1),
    ),
    (
        "sndbuf",
        Kind::Size(SOCKET_OPTION_BYTES.0, SOCKET_OPTION_BYTES.1),
    ),
    ("rmem", Kind::Memory),
    ("wmem", Kind::Memory),
    ("read_rate", Kind::Rate),
    ("read_size", SIZE),
    ("read_interval", Kind::Length),
    (
        "initial_rwnd",
        Kind::Size(MIN_WINDOW_BYTES, MAX_WINDOW_BYTES),
    ),
    ("extra_ack", Kind::Switch),
    ("initial_rate", Kind::Rate),
    ("data_volume", SIZE),
    ("announces", Kind::Switch),
    ("announces_first", Kind::Switch),
    ("stabilize", Kind::Switch),
    ("deadline", Kind::Length),
    ("willing_rate", Kind::Rate),
    ("start", Kind::Time),
    ("stop", Kind::Time),
    ("delay", Kind::Time),
    ("from_hop", Kind::Whole(0)),
    ("to_hop", Kind::Whole(1)),
    ("direction", Kind::Word(DIRECTIONS)),
    ("source", Kind::Nodes),
    ("destination", Kind::Nodes),
    ("route", Kind::Nodes),
    ("reverse_route", Kind::Nodes),
    ("relay", Kind::Whole(1)),
    ("relay_control", Kind::Name),
    ("size", SIZE),
    ("exchanges", Kind::Name),
    ("pages", Kind::Name),
    ("http", Kind::Word(HTTP)),
    ("connections", Kind::Whole(1)),
    ("arrivals", Kind::Arrivals),
    ("load", Kind::Load),
    ("think", Kind::Length),
    ("spacing", Kind::Word(SPACINGS)),
    ("sizes", Kind::Sizes),
];

/// Former names of options, which version 0.2 still accepts, and their present names.
pub const RENAMED_OPTIONS: &[(&str, &str)] = &[
    ("receive_buffer", "rmem"),
    ("send_buffer", "wmem"),
    ("receive_window", "initial_rwnd"),
];
/// The minimum that the former names of `rmem` and `wmem` imply, and the maximum of Linux's
/// tcp_rmem.
const IMPLIED_BYTES: (u64, u64) = (4096, 6 << 20);

/// Converts an option with a former name. Returns its present name and value; None for any other
/// option.
///
/// # Errors
/// One line with the value and what is allowed.
pub fn renamed(name: &str, written: &str) -> Result<Option<(&'static str, String)>, Refused> {
    let Some((old, new)) = RENAMED_OPTIONS.iter().find(|(old, _)| *old == name) else {
        return Ok(None);
    };
    let range = Kind::Size(BUFFER_BYTES.0, BUFFER_BYTES.1);
    let most = match *old {
        // a buffer of this size at the start, which grows as far as Linux's default allows
        "receive_buffer" => IMPLIED_BYTES.1,
        // a buffer that does not grow
        "send_buffer" => 0,
        _ => return Ok(Some((new, written.to_owned()))),
    };
    let Value::Number(first) = range.check(written, &Known::default())? else {
        unreachable!("a size is a number")
    };
    let sizes = [IMPLIED_BYTES.0, first, first.max(most)];
    Ok(Some((new, format_memory(sizes))))
}

/// Options that describe the application of a flow over TCP.
pub(crate) const OF_APPLICATION: [&str; 10] = [
    "size",
    "exchanges",
    "pages",
    "http",
    "connections",
    "arrivals",
    "load",
    "think",
    "spacing",
    "sizes",
];

/// Whether only flows over TCP can have an option.
fn is_of_tcp(option: &str) -> bool {
    OF_APPLICATION.contains(&option) || ["relay", "relay_control"].contains(&option)
}

/// The parsed value of an option, in SI units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number: bits per second, nanoseconds, bytes, or without a unit.
    Number(u64),
    /// Three sizes in bytes.
    Sizes(Memory),
    /// On or off.
    Switch(bool),
    /// A name.
    Text(String),
}

/// Identical flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flows {
    /// Number of flows.
    pub count: usize,
    /// Congestion control of the flows; None: the flows are VoIP calls.
    pub control: Option<Named>,
    /// The options that were given, as text.
    pub options: Vec<(String, String)>,
    /// The part of the text that describes these flows.
    pub part: String,
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        match value {
            Value::Number(number) => number.into(),
            Value::Sizes(sizes) => sizes.to_vec().into(),
            Value::Switch(on) => on.into(),
            Value::Text(text) => text.into(),
        }
    }
}

impl Kind {
    /// Parses and checks a value of this type.
    ///
    /// # Errors
    /// One line with the value and what is allowed.
    pub fn check(self, written: &str, known: &Known) -> Result<Value, Refused> {
        let no = |shown: String, allowed: String| {
            Err(Refused::new(format!("{shown} is not allowed; {allowed}")))
        };
        let number = |value: u64| Ok(Value::Number(value));
        match self {
            Kind::Rate => match parse_rate(written)? {
                bps if bps <= MAX_RATE_BPS => number(bps),
                bps => no(format_rate(bps.into()), "1 bit/s to 10 Tbit/s".into()),
            },
            Kind::Time | Kind::Length => {
                let parse = if self == Kind::Time {
                    parse_time
                } else {
                    parse_positive_time
                };
                number(any_time(parse(written)?)?)
            }
            Kind::Size(least, most) => match if least == 0 {
                parse_size(written)?
            } else {
                parse_positive_size(written)?
            } {
                bytes if (least..=most).contains(&bytes) => number(bytes),
                bytes => no(
                    format_size(bytes.into()),
                    format!(
                        "{} to {}",
                        format_size(least.into()),
                        format_size(most.into())
                    ),
                ),
            },
            Kind::Memory => parse_memory(written).map(Value::Sizes),
            Kind::Switch => match (written, switch(written)) {
                (_, Some(on)) => Ok(Value::Switch(on)),
                ("1", _) => Ok(Value::Switch(true)),
                ("0", _) => Ok(Value::Switch(false)),
                _ => no(quoted(written), "on or off".into()),
            },
            Kind::Whole(least) => match written.parse::<u64>() {
                Ok(value) if value >= least => number(value),
                _ => no(quoted(written), format!("a whole number from {least} on")),
            },
            Kind::Name => {
                let can = written.chars().count() <= MAX_NAME_CHARS
                    && !written.chars().any(char::is_control);
                if can {
                    Ok(Value::Text(written.to_owned()))
                } else {
                    let allowed = format!("up to {MAX_NAME_CHARS} printable characters");
                    no(shorten(&quoted(written)), allowed)
                }
            }
            Kind::Nodes => check_nodes(written).map(|()| Value::Text(written.to_owned())),
            Kind::Stack => {
                let names: Vec<&str> = known.stacks.iter().map(String::as_str).collect();
                if names.contains(&written) {
                    Ok(Value::Text(written.to_owned()))
                } else {
                    Err(Refused::new(unknown("stack", written, &names)))
                }
            }
            Kind::Arrivals => number(parse_arrivals(written)?),
            Kind::Load => parse_load(written).map(|_| Value::Text(written.to_owned())),
            Kind::Sizes if Sizes::is_file(written) => Kind::Name.check(written, known),
            Kind::Sizes => Sizes::parse(written).map(|_| Value::Text(written.to_owned())),
            Kind::Word(words) => {
                if words.contains(&written) {
                    Ok(Value::Text(written.to_owned()))
                } else {
                    no(quoted(written), words.join(", "))
                }
            }
        }
    }
}

/// The names of all [`FLOW_OPTIONS`].
fn option_names() -> Vec<&'static str> {
    FLOW_OPTIONS.iter().map(|(name, _)| *name).collect()
}

/// Parses flows from compact text: `COUNTxNAME[+STARTUP][:OPTION=VALUE]...`, separated by commas.
///
/// NAME is a control, or "voip". An option is one of [`FLOW_OPTIONS`] or a tunable of the control
/// or startup. Options are returned as text: [`values`] parses them.
///
/// # Errors
/// One line that names the part with the error.
pub fn parse_flows(text: &str, known: &Known) -> Result<Vec<Flows>, Refused> {
    let mut flows: Vec<Flows> = Vec::new();
    let mut all = 0;
    for part in text.split(',') {
        let (count, rest) = counted(part.trim());
        if rest.is_empty() || count == 0 {
            let part = quoted(part);
            return Err(Refused::new(format!(
                "{part}: write for example 2xcubic or 1xhtcp:adaptive_backoff=off"
            )));
        }
        all += count;
        let part = shorten(part);
        if all > MAX_FLOWS {
            return Err(Refused::new(format!(
                "{part}: too many flows; at most {MAX_FLOWS} in all"
            )));
        }
        let (control, options) =
            parse_flow(rest, known).map_err(|e| Refused::new(format!("{part}: {e}")))?;
        flows.push(Flows {
            count,
            control,
            options,
            part,
        });
    }
    Ok(flows)
}

/// Splits off the count at the beginning of a flow's text. A count with too many digits is returned
/// as a number above the limit.
fn counted(part: &str) -> (usize, &str) {
    match part.split_once('x') {
        Some((count, rest)) if !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()) => {
            let few = count.len() <= MAX_FLOWS.to_string().len();
            let number = if few { count.parse().ok() } else { None };
            (number.unwrap_or(MAX_FLOWS + 1), rest)
        }
        _ => (1, part),
    }
}

type Split = (Option<Named>, Vec<(String, String)>);

/// Parses a flow without its count.
///
/// # Errors
/// One line for an unknown name.
pub fn parse_flow(text: &str, known: &Known) -> Result<Split, Refused> {
    let (name, written) = split_options(text)?;
    let is_option = |name: &str| {
        FLOW_OPTIONS.iter().any(|(option, _)| *option == name)
            || RENAMED_OPTIONS.iter().any(|(option, _)| *option == name)
    };
    let (options, tunables): (Vec<_>, Vec<_>) =
        written.into_iter().partition(|(name, _)| is_option(name));
    let control = if name == "voip" {
        let other = tunables
            .first()
            .or_else(|| options.iter().find(|(name, _)| is_of_tcp(name)));
        if let Some((other, _)) = other {
            let mut allowed = option_names();
            allowed.retain(|name| !is_of_tcp(name));
            let (other, allowed) = (quoted(other), allowed.join(", "));
            return Err(Refused::new(format!(
                "voip has no option {other}; allowed: {allowed}"
            )));
        }
        None
    } else {
        if !name.starts_with(KERNEL_OWN) {
            known.only_tunables(name, &tunables, &option_names())?;
        }
        Some(known.control(name, &tunables)?)
    };
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Ok((control, options.into_iter().map(owned).collect()))
}

/// Parses and checks the options of a flow.
///
/// # Errors
/// One line with the option, its value, and what is allowed.
pub fn values(flow: &Flows, known: &Known) -> Result<Vec<(String, Value)>, Refused> {
    flow.options
        .iter()
        .map(|(name, written)| {
            let in_flow = |e: Refused| Refused::new(format!("{}: {name}: {e}", flow.part));
            let (name, written) = match renamed(name, written).map_err(in_flow)? {
                Some((new, value)) => (new, value),
                None => (name.as_str(), written.clone()),
            };
            let kind = FLOW_OPTIONS.iter().find(|(option, _)| *option == name);
            let (_, kind) = kind.expect("an option that was found");
            let value = kind.check(&written, known).map_err(in_flow)?;
            Ok((name.to_owned(), value))
        })
        .collect()
}
