//! Settings of hosts by Linux's own names: sysctls of net.ipv4, and attributes of routes as in
//! `ip route`. The tables list what the simulator models; other names are refused.

use crate::limits::BUFFER_BYTES;
use crate::quantity::{any_time, format_size, format_time, parse_positive_time, parse_size};
use crate::text::{quoted, shorten, Refused};

/// The three sizes of a socket's memory, as in tcp_rmem and tcp_wmem: the minimum, the size at the
/// start, and the size up to which the buffer grows.
pub type Memory = [u64; 3];

/// The values that a setting can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// A whole number, from the first to the second of these.
    Range(u64, u64),
    /// One of these numbers.
    OneOf(&'static [u64]),
    /// Three sizes in bytes.
    Memory,
    /// A time in whole milliseconds, from the first to the second of these, in nanoseconds.
    Milliseconds(u64, u64),
}

/// A setting that the simulator models.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Linux's name.
    pub name: &'static str,
    /// The allowed values.
    pub values: Values,
    /// Whether the stack `linux-2.6` has it.
    pub in_2_6: bool,
}

const fn setting(name: &'static str, values: Values, in_2_6: bool) -> Setting {
    Setting {
        name,
        values,
        in_2_6,
    }
}

const SWITCH: Values = Values::Range(0, 1);
const MS: u64 = 1_000_000;

/// The sysctls of net.ipv4 that the simulator models. A sysctl applies to all hosts.
///
/// The simulator keeps no metrics of earlier connections (tcp_no_metrics_save 1), and always
/// detects losses by time (tcp_recovery 1; Linux 6.17 and later do so with every value).
pub const SYSCTLS: &[Setting] = &[
    setting("tcp_slow_start_after_idle", SWITCH, true),
    setting("tcp_rmem", Values::Memory, true),
    setting("tcp_wmem", Values::Memory, true),
    setting("tcp_no_metrics_save", Values::OneOf(&[1]), true),
    setting("tcp_frto", Values::Range(0, 2), false),
    setting("tcp_early_retrans", Values::Range(0, 4), false),
    setting("tcp_recovery", Values::OneOf(&[1, 3, 5, 7]), false),
    setting("tcp_sack", SWITCH, true),
    setting("tcp_timestamps", Values::Range(0, 2), true),
    setting("tcp_window_scaling", SWITCH, true),
    setting(ECN, Values::Range(0, 5), true),
    setting("tcp_ecn_option", Values::Range(0, 2), false),
    setting("tcp_ecn_option_beacon", Values::Range(0, 255), false),
    setting("tcp_pacing_ss_ratio", Values::Range(0, 1000), false),
    setting("tcp_pacing_ca_ratio", Values::Range(0, 1000), false),
    setting("tcp_tso_win_divisor", Values::Range(1, 1000), false),
    setting("tcp_min_tso_segs", Values::Range(1, 1000), false),
    setting(
        "tcp_notsent_lowat",
        Values::Range(1, u32::MAX as u64),
        false,
    ),
    setting("tcp_rto_min_us", Values::Range(1000, 120_000_000), false),
];

/// The attributes of routes that the simulator models. They apply to all routes of all hosts.
pub const ROUTE: &[Setting] = &[
    setting("initcwnd", Values::Range(1, 10_000), false),
    setting("initrwnd", Values::Range(1, 10_000), false),
    setting("rto_min", Values::Milliseconds(MS, 120_000 * MS), true),
    setting("quickack", SWITCH, true),
];

/// The stack that lacks some settings.
const OLD_STACK: &str = "linux-2.6";
/// The sysctl of ECN, and its largest value without Accurate ECN, which that stack lacks.
const ECN: &str = "tcp_ecn";
const MOST_ECN_IN_2_6: u64 = 2;
/// Linux's prefix of the sysctls' names.
const PREFIX: &str = "net.ipv4.";

/// Parses three sizes with units that are separated by slashes, such as "4KiB/128KiB/6MiB".
///
/// # Errors
/// One line with the value and what is allowed.
pub fn parse_memory(text: &str) -> Result<Memory, Refused> {
    let parts: Vec<&str> = text.split('/').collect();
    let [least, first, most] = parts[..] else {
        return Err(Refused::new(format!(
            "{} is not allowed; three sizes, MINIMUM/DEFAULT/MAXIMUM, such as 4KiB/128KiB/6MiB",
            shorten(&quoted(text))
        )));
    };
    let size = |part: &str| parse_size(part.trim());
    let sizes = [size(least)?, size(first)?, size(most)?];
    check_memory(sizes).map(|()| sizes)
}

/// Writes sizes such that [`parse_memory`] reads them.
#[must_use]
pub fn format_memory(sizes: Memory) -> String {
    sizes.map(|size| format_size(size.into())).join("/")
}

/// Checks three sizes.
///
/// # Errors
/// One line with the value and what is allowed.
pub fn check_memory(sizes: Memory) -> Result<(), Refused> {
    let (least, most) = BUFFER_BYTES;
    if let Some(size) = sizes.iter().find(|size| !(least..=most).contains(size)) {
        return Err(Refused::new(format!(
            "{} is not allowed; 4096 B to 1 GiB",
            format_size((*size).into())
        )));
    }
    for (one, other, names) in [
        (sizes[0], sizes[1], ("minimum", "default")),
        (sizes[1], sizes[2], ("default", "maximum")),
    ] {
        if one > other {
            return Err(Refused::new(format!(
                "the {} {} is not allowed; at most the {}, {}",
                names.0,
                format_size(one.into()),
                names.1,
                format_size(other.into())
            )));
        }
    }
    Ok(())
}

/// A setting's place in an experiment: its table, and the name of the field.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    settings: &'static [Setting],
    /// What the settings are called in errors.
    what: &'static str,
    /// The field of an experiment.
    pub field: &'static str,
}

/// The table of sysctls.
pub const OF_SYSCTLS: Table = Table {
    settings: SYSCTLS,
    what: "sysctl",
    field: "sysctls",
};
/// The table of attributes of routes.
pub const OF_ROUTES: Table = Table {
    settings: ROUTE,
    what: "attribute of a route",
    field: "route_attributes",
};

impl Table {
    /// Finds a setting by its name; the prefix "net.ipv4." of a sysctl may be left out.
    ///
    /// # Errors
    /// The simulator does not model it; the line lists what it models.
    pub fn find(self, name: &str) -> Result<&'static Setting, Refused> {
        let bare = name.strip_prefix(PREFIX).unwrap_or(name);
        let found = self.settings.iter().find(|setting| setting.name == bare);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.settings.iter().map(|setting| setting.name).collect();
            Refused::new(format!(
                "{}: the simulator does not model this {}; it models {}",
                shorten(name),
                self.what,
                names.join(", ")
            ))
        })
    }

    /// Parses a setting's value, which has Linux's form: numbers without units, separated by
    /// spaces. A time has a unit. Returns the numbers, times in nanoseconds.
    ///
    /// # Errors
    /// One line with the name, the value and what is allowed.
    pub fn parse(self, name: &str, text: &str) -> Result<(&'static Setting, Vec<u64>), Refused> {
        let setting = self.find(name)?;
        let named = |error: Refused| Refused::new(format!("{}: {error}", setting.name));
        let numbers = match setting.values {
            Values::Milliseconds(..) => vec![parse_positive_time(text)
                .and_then(any_time)
                .map_err(named)?],
            _ => text
                .split_whitespace()
                .map(str::parse)
                .collect::<Result<Vec<u64>, _>>()
                .map_err(|_| setting.refuse(shorten(&quoted(text))))?,
        };
        setting.check(&numbers)?;
        Ok((setting, numbers))
    }

    /// Refuses a setting, or a value of it, that one of these stacks does not have.
    ///
    /// # Errors
    /// One line with the name and the stack.
    pub fn check_stacks<'a>(
        self,
        name: &str,
        numbers: &[u64],
        stacks: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), Refused> {
        let setting = self.find(name)?;
        if !stacks.into_iter().any(|stack| stack == OLD_STACK) {
            return Ok(());
        }
        if !setting.in_2_6 {
            return Err(Refused::new(format!(
                "{}: the stack {OLD_STACK} does not have this {}",
                setting.name, self.what
            )));
        }
        if setting.name == ECN && numbers.iter().any(|&number| number > MOST_ECN_IN_2_6) {
            return Err(Refused::new(format!(
                "{}: {} is not allowed; 0 to {MOST_ECN_IN_2_6} with {OLD_STACK}",
                setting.name,
                setting.show(numbers)
            )));
        }
        Ok(())
    }
}

impl Setting {
    fn refuse(&self, shown: impl std::fmt::Display) -> Refused {
        Refused::new(format!(
            "{}: {shown} is not allowed; {}",
            self.name,
            self.allowed()
        ))
    }

    fn allowed(&self) -> String {
        let list = |all: &[u64]| {
            let all: Vec<String> = all.iter().map(u64::to_string).collect();
            all.join(", ")
        };
        match self.values {
            Values::Range(least, most) => format!("a whole number from {least} to {most}"),
            Values::OneOf(all) => list(all),
            Values::Memory => "three numbers of bytes: minimum, default, maximum".into(),
            Values::Milliseconds(least, most) => format!(
                "{} to {}, in whole milliseconds",
                format_time(least.into()),
                format_time(most.into())
            ),
        }
    }

    /// Checks the numbers of a value.
    ///
    /// # Errors
    /// One line with the name, the value and what is allowed.
    pub fn check(&self, numbers: &[u64]) -> Result<(), Refused> {
        let fits = match (self.values, numbers) {
            (Values::Range(least, most), [number]) => (least..=most).contains(number),
            (Values::OneOf(all), [number]) => all.contains(number),
            (Values::Milliseconds(least, most), [number]) => {
                (least..=most).contains(number) && number % MS == 0
            }
            (Values::Memory, [least, first, most]) => {
                return check_memory([*least, *first, *most])
                    .map_err(|error| Refused::new(format!("{}: {error}", self.name)));
            }
            _ => false,
        };
        if fits {
            return Ok(());
        }
        Err(self.refuse(self.show(numbers)))
    }

    /// A value as [`Table::parse`] reads it.
    #[must_use]
    pub fn show(&self, numbers: &[u64]) -> String {
        if let (Values::Milliseconds(..), [time_ns]) = (self.values, numbers) {
            return format_time((*time_ns).into());
        }
        let all: Vec<String> = numbers.iter().map(u64::to_string).collect();
        all.join(" ")
    }
}
