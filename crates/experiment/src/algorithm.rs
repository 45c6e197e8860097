//! The text form of algorithms: "cubic", "cubic+hystart", "htcp:adaptive_backoff=off",
//! "red:ecn=on", "kernel:bbr" for a control that the running kernel provides, and "./mine.c" for a
//! user's own file.

use std::borrow::Cow;

use crate::quantity::{parse_rate, parse_size, parse_time};
use crate::queue::{parse_buffer, Buffer};
use crate::text::{quoted, unknown, Refused};

/// Prefix of a control that the running kernel provides.
pub const KERNEL_OWN: &str = "kernel:";
const KERNEL_NAME_CHARS: usize = 15;
/// Number of hexadecimal digits in the content hash that may follow a file's path.
pub const CONTENT_DIGITS: usize = 16;

/// The path and the recorded content hash of a user's own file, from "./mine.c" or
/// "./mine.c@0123456789abcdef"; None if the text is a name and no path.
#[must_use]
pub fn file_of(name: &str) -> Option<(&str, Option<&str>)> {
    let is_content =
        |text: &str| text.len() == CONTENT_DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit());
    let (path, content) = match name.rsplit_once('@') {
        Some((path, content)) if is_content(content) => (path, Some(content)),
        _ => (name, None),
    };
    path.ends_with(".c").then_some((path, content))
}

/// The name that labels show for an algorithm. For a user's file it contains neither the folder nor
/// the content hash.
#[must_use]
pub fn plain(name: &str) -> &str {
    file_of(name).map_or(name, |(path, _)| {
        let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
        file.strip_suffix(".c").unwrap_or(file)
    })
}

/// A tunable that an algorithm declares: a whole number from `min` to `max`.
#[derive(Clone, Debug)]
pub struct Tunable {
    /// Its name.
    pub name: String,
    /// The unit of the values. "bool" means a switch; "a|b|c" gives the names of the values from 0
    /// on.
    pub unit: String,
    /// Smallest value.
    pub min: u32,
    /// Largest value.
    pub max: u32,
}

impl Tunable {
    fn is_switch(&self) -> bool {
        self.unit == "bool"
    }

    /// The value that has this name. None if the unit gives no names, or does not give this name.
    fn choice(&self, written: &str) -> Option<usize> {
        if !self.unit.contains('|') {
            return None;
        }
        self.unit.split('|').position(|name| name == written)
    }

    /// Describes the allowed values as text.
    #[must_use]
    pub fn allowed(&self) -> String {
        if self.is_switch() {
            "on or off".to_owned()
        } else if self.unit.contains('|') {
            self.unit.replace('|', ", ")
        } else {
            format!("{} to {} {}", self.min, self.max, self.unit)
                .trim_end()
                .to_owned()
        }
    }

    /// The value of a quantity with a unit, such as "5ms" for a tunable in microseconds. None if
    /// the quantity is of another kind, or is not a whole number in the tunable's unit.
    fn quantity(&self, written: &str) -> Option<u64> {
        let (amount, unit) = match self.unit.as_str() {
            "ns" => (parse_time(written), 1),
            "us" => (parse_time(written), 1000),
            "ms" => (parse_time(written), 1_000_000),
            "bytes" => (parse_size(written), 1),
            "bit/s" => (parse_rate(written), 1),
            "kbit/s" => (parse_rate(written), 1000),
            "packets" => match parse_buffer(written) {
                Ok(Buffer::Packets(pkts)) => (Ok(pkts), 1),
                _ => return None,
            },
            _ => return None,
        };
        amount.ok().filter(|a| a % unit == 0).map(|a| a / unit)
    }

    /// Parses a value: a number, a quantity with a unit, on or off for a switch, or the name of a
    /// value.
    ///
    /// # Errors
    /// One line for any other text, and for a value out of range.
    pub fn check(&self, written: &str) -> Result<u32, Refused> {
        let value = if self.is_switch() && switch(written).is_some() {
            switch(written).map(u32::from)
        } else if let Some(at) = self.choice(written) {
            u32::try_from(at).ok()
        } else {
            let number = written.trim().parse().ok();
            number.or_else(|| u32::try_from(self.quantity(written)?).ok())
        };
        value
            .filter(|value| (self.min..=self.max).contains(value))
            .ok_or_else(|| {
                Refused::new(format!(
                    "tunable {}={written} out of range; allowed: {}",
                    self.name,
                    self.allowed()
                ))
            })
    }
}

/// Parses a switch: on or off, true or false, yes or no, in any case; None for other text.
#[must_use]
pub fn switch(written: &str) -> Option<bool> {
    match written.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" => Some(true),
        "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// An algorithm that a flow or queue, written as text, can name.
#[derive(Clone, Debug)]
pub struct Algorithm {
    /// Its name.
    pub name: String,
    /// The default startup of a control; None if the control has its own start.
    pub startup: Option<String>,
    /// Its tunables.
    pub tunables: Vec<Tunable>,
}

/// Function that reads a user's own file. It returns the file's algorithm, given the requested kind
/// and the path.
pub type LoadFile = fn(kind: &str, file: &str) -> Result<Algorithm, Refused>;

/// All names that a flow or queue, written as text, can use. The caller passes them, because it
/// knows which algorithms were built in.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Congestion controls.
    pub controls: Vec<Algorithm>,
    /// Startups.
    pub startups: Vec<Algorithm>,
    /// Queue disciplines.
    pub queues: Vec<Algorithm>,
    /// Router algorithms.
    pub routers: Vec<Algorithm>,
    /// Names of stack profiles.
    pub stacks: Vec<String>,
    /// Function that reads users' own files; None: such files are not allowed.
    pub load_file: Option<LoadFile>,
}

/// The name of an algorithm, and its tunables that differ from their defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// Name of a control's startup, if one is set.
    pub startup: Option<String>,
    /// Values of tunables, by name.
    pub tunables: Vec<(String, u32)>,
}

/// Options written as text: names and values.
pub type Options<'a> = Vec<(&'a str, &'a str)>;

/// Splits text at colons into a name and options such as "sack=off". The name of a kernel's control
/// ("kernel:bbr") contains a colon itself.
///
/// # Errors
/// One line for text that is no option, or for an option given twice.
pub fn split_options(text: &str) -> Result<(&str, Options<'_>), Refused> {
    split_at(text, &[':'])
}

/// Splits the text of an algorithm into its name and tunables. In addition to colons, commas may
/// separate tunables: "fq_codel:target=5ms,ecn=off".
///
/// # Errors
/// One line for text that is no option, or for an option given twice.
pub fn split_tunables(text: &str) -> Result<(&str, Options<'_>), Refused> {
    split_at(text, &[':', ','])
}

fn split_at<'a>(text: &'a str, separators: &[char]) -> Result<(&'a str, Options<'a>), Refused> {
    let own = if text.starts_with(KERNEL_OWN) {
        KERNEL_OWN.len()
    } else {
        0
    };
    let end = text[own..].find(':').map_or(text.len(), |at| own + at);
    let options = match text.get(end + 1..) {
        Some(rest) => self::options(rest.split(separators))?,
        None => vec![],
    };
    Ok((&text[..end], options))
}

/// Parses options from parts such as "sack=off".
///
/// # Errors
/// One line for text that is no option, or for an option given twice.
pub fn options<'a>(parts: impl IntoIterator<Item = &'a str>) -> Result<Options<'a>, Refused> {
    let mut options = Options::new();
    for part in parts {
        let option = part
            .split_once('=')
            .filter(|(name, value)| !name.is_empty() && !value.is_empty())
            .ok_or_else(|| {
                let part = quoted(part);
                Refused::new(format!("{part}: write OPTION=VALUE, for example sack=off"))
            })?;
        if options.iter().any(|(name, _)| *name == option.0) {
            return Err(Refused::new(format!("{} is given twice", option.0)));
        }
        options.push(option);
    }
    Ok(options)
}

impl Known {
    /// Finds the algorithm with this name.
    fn find<'a>(
        &self,
        all: &'a [Algorithm],
        name: &str,
        kind: &str,
    ) -> Result<Cow<'a, Algorithm>, Refused> {
        if let (Some(load_file), Some(_)) = (self.load_file, file_of(name)) {
            return load_file(kind, name).map(Cow::Owned);
        }
        let found = all.iter().find(|known| known.name == name);
        found.map(Cow::Borrowed).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
            Refused::new(unknown(kind, name, &names))
        })
    }

    /// Parses a queue discipline: "drop-tail", "red:ecn=on:max_th_pkts=50",
    /// "fq_codel:target=5ms,ecn=off".
    ///
    /// # Errors
    /// One line for an unknown name or a value out of range.
    pub fn queue(&self, text: &str) -> Result<Named, Refused> {
        let (name, options) = split_tunables(text)?;
        self.queue_of(name, &options)
    }

    /// Like [`Known::queue`], given a name and its options.
    ///
    /// # Errors
    /// One line for an unknown name or a value out of range.
    pub fn queue_of(&self, name: &str, options: &[(&str, &str)]) -> Result<Named, Refused> {
        alone(self.find(&self.queues, name, "queue discipline")?, options)
    }

    /// Checks a router algorithm, given its name and options.
    ///
    /// # Errors
    /// One line for an unknown name or a value out of range.
    pub fn router(&self, name: &str, options: &[(&str, &str)]) -> Result<Named, Refused> {
        alone(self.find(&self.routers, name, "router")?, options)
    }

    /// Checks a control, its startup and the tunables of both. The name may include a startup, as
    /// in "cubic+hystart". All options must be tunables of either.
    ///
    /// # Errors
    /// One line for an unknown name or a value out of range.
    pub fn control(&self, name: &str, options: &[(&str, &str)]) -> Result<Named, Refused> {
        let (name, startup) = halves(name);
        if let Some(own) = name.strip_prefix(KERNEL_OWN) {
            check_kernel_own(name, own, startup.is_some() || !options.is_empty())?;
            return Ok(Named {
                name: name.to_owned(),
                startup: None,
                tunables: vec![],
            });
        }
        let owners = self.owners(name, startup)?;
        // from here on, the name of a user's own file includes its content hash
        let named = |at: usize| owners[at].name.clone();
        Ok(Named {
            name: named(0),
            startup: startup.map(|_| named(1)),
            tunables: checked(&owners, options)?,
        })
    }

    /// Finds the control with this name and its startup.
    fn owners(
        &self,
        name: &str,
        startup: Option<&str>,
    ) -> Result<Vec<Cow<'_, Algorithm>>, Refused> {
        let control = self.find(&self.controls, name, "control")?;
        let Some(own) = &control.startup else {
            return match startup {
                None => Ok(vec![control]),
                Some(startup) => Err(Refused::new(format!(
                    "{name} has its own start: no startup joins it; \
                     write {name} instead of {name}+{startup}"
                ))),
            };
        };
        let started = self.find(&self.startups, startup.unwrap_or(own), "startup")?;
        Ok(vec![control, started])
    }

    /// Returns an error for the first of `options` that is a tunable of neither the control nor its
    /// startup. For a misspelt name the message also suggests names from `others`.
    pub(crate) fn only_tunables(
        &self,
        name: &str,
        options: &[(&str, &str)],
        others: &[&str],
    ) -> Result<(), Refused> {
        let (control, startup) = halves(name);
        let owners = self.owners(control, startup.filter(|startup| !startup.is_empty()))?;
        let tunables = owners.iter().flat_map(|owner| &owner.tunables);
        let mut names: Vec<&str> = tunables.map(|tunable| tunable.name.as_str()).collect();
        match options.iter().find(|(option, _)| !names.contains(option)) {
            None => Ok(()),
            Some((option, _)) => {
                names.extend(others);
                let kind = format!("option of {}", plain(name));
                Err(Refused::new(unknown(&kind, option, &names)))
            }
        }
    }
}

/// Splits "cubic+hystart" into its two parts.
fn halves(name: &str) -> (&str, Option<&str>) {
    match name.split_once('+') {
        Some((control, startup)) => (control, Some(startup)),
        None => (name, None),
    }
}

/// Checks the name of a control that the running kernel provides.
///
/// # Errors
/// One line for an invalid name, or for a startup or tunables.
pub fn check_kernel_own(name: &str, own: &str, has_more: bool) -> Result<(), Refused> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if !(1..=KERNEL_NAME_CHARS).contains(&own.len()) || !own.chars().all(fits) {
        let name = quoted(name);
        return Err(Refused::new(format!(
            "{name}: write kernel:NAME, for example kernel:bbr"
        )));
    }
    if has_more {
        return Err(Refused::new(format!(
            "{name} is the kernel's own: no startup and no tunables can be set"
        )));
    }
    Ok(())
}

/// Checks an algorithm that is not combined with another one, and its options.
fn alone(owner: Cow<'_, Algorithm>, options: &[(&str, &str)]) -> Result<Named, Refused> {
    Ok(Named {
        name: owner.name.clone(),
        startup: None,
        tunables: checked(&[owner], options)?,
    })
}

/// Parses and checks the values of tunables that some algorithms have.
fn checked(
    owners: &[Cow<'_, Algorithm>],
    values: &[(&str, &str)],
) -> Result<Vec<(String, u32)>, Refused> {
    let tunables: Vec<&Tunable> = owners.iter().flat_map(|owner| &owner.tunables).collect();
    let whose: Vec<&str> = owners.iter().map(|owner| plain(&owner.name)).collect();
    check_tunables(&whose.join("+"), &tunables, values)
}

/// Parses and checks values by the names of tunables. A value with a unit may stand after a name
/// without its unit: "target=5ms" for a tunable "target_us".
///
/// # Errors
/// One line for an unknown name, a value out of range, or a tunable given twice.
pub fn check_tunables(
    whose: &str,
    tunables: &[&Tunable],
    values: &[(&str, &str)],
) -> Result<Vec<(String, u32)>, Refused> {
    let mut all: Vec<(String, u32)> = Vec::with_capacity(values.len());
    for (name, value) in values {
        let is_meant = |tunable: &Tunable| {
            let bare = tunable.name.rsplit_once('_').map(|(bare, _)| bare);
            bare == Some(*name) && tunable.quantity(value).is_some()
        };
        let by_name = tunables.iter().find(|tunable| tunable.name == *name);
        let by_unit = || tunables.iter().find(|tunable| is_meant(tunable));
        let Some(tunable) = by_name.or_else(by_unit) else {
            let mut names: Vec<&str> = tunables.iter().map(|t| t.name.as_str()).collect();
            if names.is_empty() {
                names.push("(none)");
            }
            let kind = format!("tunable of {whose}");
            return Err(Refused::new(unknown(&kind, name, &names)));
        };
        if all.iter().any(|(earlier, _)| *earlier == tunable.name) {
            return Err(Refused::new(format!("{} is given twice", tunable.name)));
        }
        all.push((tunable.name.clone(), tunable.check(value)?));
    }
    Ok(all)
}
