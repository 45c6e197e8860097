//! How algorithms are written: "cubic", "cubic+hystart", "htcp:adaptive_backoff=off",
//! "red:ecn=on", "kernel:bbr" for what the running kernel brings itself, and "./mine.c" for a
//! file of one's own.

use std::borrow::Cow;

use crate::text::{quoted, unknown, Refused};

/// Before the name of a control that the running kernel brings itself.
pub const KERNEL_OWN: &str = "kernel:";
const KERNEL_NAME_CHARS: usize = 15;
/// Behind the path of a file, what it held: so many hexadecimal digits of a hash of it.
pub const CONTENT_DIGITS: usize = 16;

/// The path of a file of one's own, and the content that it had when it was recorded, from
/// "./mine.c" or "./mine.c@0123456789abcdef"; None: a name.
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

/// A name as labels have it: of a file, neither folder nor content.
#[must_use]
pub fn plain(name: &str) -> &str {
    file_of(name).map_or(name, |(path, _)| {
        let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
        file.strip_suffix(".c").unwrap_or(file)
    })
}

/// A tunable as its algorithm declares it: a whole number from `min` to `max`.
#[derive(Clone, Debug)]
pub struct Tunable {
    /// Its name.
    pub name: String,
    /// "bool" is a switch, "a|b|c" names the values from 0 on.
    pub unit: String,
    /// Least value.
    pub min: u32,
    /// Greatest value.
    pub max: u32,
}

impl Tunable {
    fn is_switch(&self) -> bool {
        self.unit == "bool"
    }

    /// The number of a choice's name. A unit without bars is no name, also where it is "1".
    fn choice(&self, written: &str) -> Option<usize> {
        if !self.unit.contains('|') {
            return None;
        }
        self.unit.split('|').position(|name| name == written)
    }

    /// What may be written.
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

    /// The value of what is written: a number, on or off, or a choice's name.
    ///
    /// # Errors
    /// One line for anything else, and for what is out of range.
    pub fn check(&self, written: &str) -> Result<u32, Refused> {
        let value = if self.is_switch() && switch(written).is_some() {
            switch(written).map(u32::from)
        } else if let Some(at) = self.choice(written) {
            u32::try_from(at).ok()
        } else {
            written.trim().parse().ok()
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

/// What a switch says: on or off, true or false, yes or no, in any case; None: none of them.
#[must_use]
pub fn switch(written: &str) -> Option<bool> {
    match written.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" => Some(true),
        "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// An algorithm that may be named.
#[derive(Clone, Debug)]
pub struct Algorithm {
    /// Its name.
    pub name: String,
    /// A control's own startup; None where it owns its start.
    pub startup: Option<String>,
    /// Its tunables.
    pub tunables: Vec<Tunable>,
}

/// What a file of one's own holds, by the kind that is asked for and its name.
pub type Bring = fn(kind: &str, file: &str) -> Result<Algorithm, Refused>;

/// All that may be named: who calls this crate knows what was built.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// How flows go on.
    pub controls: Vec<Algorithm>,
    /// How flows start.
    pub startups: Vec<Algorithm>,
    /// What queues do.
    pub queues: Vec<Algorithm>,
    /// What routers do beside queueing.
    pub routers: Vec<Algorithm>,
    /// Profiles of the TCP endpoint.
    pub stacks: Vec<String>,
    /// How files are read; None: not at all.
    pub bring: Option<Bring>,
}

/// An algorithm's name, and what of its tunables is not the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// A control's startup, if one is named.
    pub startup: Option<String>,
    /// Tunables by name, as written.
    pub tunables: Vec<(String, u32)>,
}

/// Options as they are written: names and values.
pub type Options<'a> = Vec<(&'a str, &'a str)>;

/// What colons separate: a name, and options as "sack=off". A kernel's own control has a colon
/// in its name.
///
/// # Errors
/// One line for what is no option, or is given twice.
pub fn split_options(text: &str) -> Result<(&str, Options<'_>), Refused> {
    let own = if text.starts_with(KERNEL_OWN) {
        KERNEL_OWN.len()
    } else {
        0
    };
    let end = text[own..].find(':').map_or(text.len(), |at| own + at);
    let options = match text.get(end + 1..) {
        Some(rest) => self::options(rest.split(':'))?,
        None => vec![],
    };
    Ok((&text[..end], options))
}

/// Options by name, from parts such as "sack=off".
///
/// # Errors
/// One line for what is no option, or is given twice.
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
    /// The algorithm called `name`.
    fn find<'a>(
        &self,
        all: &'a [Algorithm],
        name: &str,
        kind: &str,
    ) -> Result<Cow<'a, Algorithm>, Refused> {
        if let (Some(bring), Some(_)) = (self.bring, file_of(name)) {
            return bring(kind, name).map(Cow::Owned);
        }
        let found = all.iter().find(|known| known.name == name);
        found.map(Cow::Borrowed).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
            Refused::new(unknown(kind, name, &names))
        })
    }

    /// What a queue does: "drop-tail", "red:ecn=on:max_th_pkts=50".
    ///
    /// # Errors
    /// One line for what is not known or out of range.
    pub fn queue(&self, text: &str) -> Result<Named, Refused> {
        let (name, options) = split_options(text)?;
        self.queue_of(name, &options)
    }

    /// The same of a name and its options.
    ///
    /// # Errors
    /// One line for what is not known or out of range.
    pub fn queue_of(&self, name: &str, options: &[(&str, &str)]) -> Result<Named, Refused> {
        alone(self.find(&self.queues, name, "queue discipline")?, options)
    }

    /// What a router does, by its name and options.
    ///
    /// # Errors
    /// One line for what is not known or out of range.
    pub fn router(&self, name: &str, options: &[(&str, &str)]) -> Result<Named, Refused> {
        alone(self.find(&self.routers, name, "router")?, options)
    }

    /// How a flow goes on and starts, and both their tunables: a name as "cubic+hystart", and
    /// options that are all tunables.
    ///
    /// # Errors
    /// One line for what is not known or out of range.
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
        // a file's name has its content from here on
        let named = |at: usize| owners[at].name.clone();
        Ok(Named {
            name: named(0),
            startup: startup.map(|_| named(1)),
            tunables: checked(&owners, options)?,
        })
    }

    /// The control of that name and the startup that goes with it.
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

    /// The first of `options` that is a tunable of neither the control nor the startup of that
    /// name is refused, with `others` named beside the tunables.
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

/// "cubic+hystart" in its two parts.
fn halves(name: &str) -> (&str, Option<&str>) {
    match name.split_once('+') {
        Some((control, startup)) => (control, Some(startup)),
        None => (name, None),
    }
}

/// The name of a control that the running kernel brings itself.
///
/// # Errors
/// One line for what is none, or comes with a startup or tunables.
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

/// An algorithm that nothing joins.
fn alone(owner: Cow<'_, Algorithm>, options: &[(&str, &str)]) -> Result<Named, Refused> {
    Ok(Named {
        name: owner.name.clone(),
        startup: None,
        tunables: checked(&[owner], options)?,
    })
}

/// Values by tunable name.
fn checked(
    owners: &[Cow<'_, Algorithm>],
    values: &[(&str, &str)],
) -> Result<Vec<(String, u32)>, Refused> {
    let known = || owners.iter().flat_map(|owner| &owner.tunables);
    let mut all = Vec::with_capacity(values.len());
    for (name, value) in values {
        let Some(tunable) = known().find(|tunable| tunable.name == *name) else {
            let names: Vec<&str> = known().map(|tunable| tunable.name.as_str()).collect();
            let whose: Vec<&str> = owners.iter().map(|owner| plain(&owner.name)).collect();
            let kind = format!("tunable of {}", whose.join("+"));
            let names = if names.is_empty() {
                vec!["(none)"]
            } else {
                names
            };
            return Err(Refused::new(unknown(&kind, name, &names)));
        };
        all.push(((*name).to_owned(), tunable.check(value)?));
    }
    Ok(all)
}
