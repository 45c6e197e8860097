//! How a script configures the host: its options, and the sysctls and routes that its shell commands
//! set. The commands are read, not run.

use crate::script::{Script, Setting, Shell};
use crate::shell::{product, split};
use crate::verdict::{not_applicable, Bad, Stop};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// How deep files of commands may name each other.
const MOST_FILES: u32 = 4;
/// Largest size of a file of commands.
const MOST_BYTES: u64 = 1 << 20;

/// The configuration of a host.
#[derive(Clone, Debug)]
pub struct Config {
    /// Difference from a script's times that is allowed, in microseconds.
    pub tolerance_us: u64,
    /// The same in percent of the time since the event before.
    pub tolerance_percent: f64,
    /// Microseconds of a unit of the timestamp clock; 0: values are not checked.
    pub timestamp_unit_us: u64,
    /// Largest packet.
    pub mtu_bytes: u32,
    /// Sysctls by their names without "net.ipv4.".
    pub sysctls: BTreeMap<String, String>,
    /// Whether the device has the qdisc fq, which paces what TCP sends.
    pub paces: bool,
    /// Attributes of the route to the peer.
    pub route: BTreeMap<String, String>,
    /// Commands that were read and have no effect on the simulated host.
    pub notes: Vec<String>,
    folder: PathBuf,
}

/// Options of the tool that change nothing here: the addresses and names of the script's network.
const UNUSED: [&str; 13] = [
    "ip_version",
    "local_ip",
    "remote_ip",
    "gateway_ip",
    "netmask_ip",
    "bind_port",
    "connect_port",
    "init_scripts",
    "speed",
    "verbose",
    "debug",
    "tcp_ts_ecr_scaled",
    "default_linux_timestamping",
];

impl Config {
    /// Reads the options of a script that lies in `folder`.
    ///
    /// # Errors
    /// The first option with a value that is not allowed.
    pub fn of(script: &Script, folder: &Path) -> Result<Config, Bad> {
        let mut config = Config {
            tolerance_us: 4000,
            tolerance_percent: 12.5,
            timestamp_unit_us: 0,
            mtu_bytes: 1500,
            sysctls: BTreeMap::new(),
            paces: false,
            route: BTreeMap::new(),
            notes: vec![],
            folder: folder.to_owned(),
        };
        for setting in &script.settings {
            config.set_option(setting)?;
        }
        Ok(config)
    }

    fn set_option(&mut self, setting: &Setting) -> Result<(), Bad> {
        let Setting { line, name, value } = setting;
        let number = |least: u64, most: u64| {
            let number = value.parse().ok();
            let within = number.filter(|number| (least..=most).contains(number));
            within.ok_or_else(|| {
                let allowed = format!("a whole number from {least} to {most}");
                Bad::new(*line, &format!("--{name}"), &format!("{value:?}"), &allowed)
            })
        };
        match name.as_str() {
            "tolerance_usecs" => self.tolerance_us = number(1, 10_000_000)?,
            "tolerance_percent" => {
                let percent: Option<f64> = value.parse().ok();
                let within = percent.filter(|percent| (0.0..=100.0).contains(percent));
                self.tolerance_percent = within.ok_or_else(|| {
                    let field = format!("--{name}");
                    Bad::new(
                        *line,
                        &field,
                        &format!("{value:?}"),
                        "a number from 0 to 100",
                    )
                })?;
            }
            "tcp_ts_tick_usecs" => self.timestamp_unit_us = number(0, 1_000_000)?,
            "mtu" => self.mtu_bytes = number(576, 65_535)? as u32,
            _ if UNUSED.contains(&name.as_str()) => {}
            _ => self
                .notes
                .push(format!("the option --{name} has no effect")),
        }
        Ok(())
    }

    /// Reads shell commands.
    ///
    /// # Errors
    /// A command that sets something unknown makes the script not applicable.
    pub fn shell(&mut self, shell: &Shell) -> Result<(), Stop> {
        let folder = self.folder.clone();
        self.commands(&shell.text, &folder, 0)
    }

    fn commands(&mut self, text: &str, folder: &Path, depth: u32) -> Result<(), Stop> {
        let joined = text.replace("\\\n", " ");
        for line in joined.lines() {
            for command in split(line) {
                self.command(&command, folder, depth)?;
            }
        }
        Ok(())
    }

    fn command(&mut self, words: &[String], folder: &Path, depth: u32) -> Result<(), Stop> {
        let Some(first) = words.first() else {
            return Ok(());
        };
        let rest = &words[1..];
        match first.rsplit('/').next().unwrap_or_default() {
            "sysctl" => {
                for word in rest.iter().filter(|word| !word.starts_with('-')) {
                    self.sysctl(word)?;
                }
                Ok(())
            }
            "set_sysctls.py" => rest.iter().try_for_each(|word| self.sysctl(word)),
            "echo" => match rest {
                [value, arrow, file] if arrow == ">" && file.contains("/net/ipv4/") => {
                    self.sysctl(&format!("{file}={value}"))
                }
                [value, arrow, file] if arrow == ">" && file.contains("/tcp_cubic/parameters/") => {
                    self.cubic(file, value)
                }
                _ => Err(not_applicable(format!("the command {}", words.join(" ")))),
            },
            "ip" => self.ip(rest),
            "tc" => {
                let is_fifo =
                    |word: &String| word == "pfifo" || word == "fq" || word == "pfifo_fast";
                if !rest.iter().any(is_fifo) || rest.iter().any(|word| word == "limit") {
                    return Err(not_applicable(format!("the command {}", words.join(" "))));
                }
                self.paces = rest.iter().any(|word| word == "fq");
                Ok(())
            }
            name if name.starts_with("sysctl_restore_") => Ok(()),
            "true" | ":" => Ok(()),
            name if name.ends_with(".sh") && depth < MOST_FILES => self.file(first, folder, depth),
            _ => Err(not_applicable(format!("the command {}", words.join(" ")))),
        }
    }

    /// Reads a file of commands that the script names.
    fn file(&mut self, name: &str, folder: &Path, depth: u32) -> Result<(), Stop> {
        let path = folder.join(name);
        let unreadable = |error: &dyn std::fmt::Display| {
            not_applicable(format!("the file {name} of the script's commands: {error}"))
        };
        let size = fs::metadata(&path)
            .map_err(|error| unreadable(&error))?
            .len();
        if size > MOST_BYTES {
            return Err(unreadable(&"more than 1 MiB"));
        }
        let text = fs::read_to_string(&path).map_err(|error| unreadable(&error))?;
        let folder = path.parent().unwrap_or(folder).to_owned();
        self.commands(&text, &folder, depth + 1)
    }

    fn sysctl(&mut self, assignment: &str) -> Result<(), Stop> {
        let Some((name, value)) = assignment.split_once('=') else {
            // A sysctl that is only printed.
            return Ok(());
        };
        let name = name.trim_start_matches("/proc/sys/").replace('/', ".");
        let value = product(value);
        let Some(name) = name.strip_prefix("net.ipv4.") else {
            self.note(&format!("the sysctl {name} has no effect"));
            return Ok(());
        };
        self.sysctls.insert(name.to_owned(), value);
        Ok(())
    }

    /// Parameters of CUBIC's module. HyStart looks for both signs unless a script says otherwise.
    fn cubic(&mut self, file: &str, value: &str) -> Result<(), Stop> {
        let name = file.rsplit('/').next().unwrap_or_default();
        let is_usual = matches!((name, value), ("hystart_detect", "3") | ("hystart", "1"));
        if is_usual {
            return Ok(());
        }
        Err(not_applicable(format!(
            "{name} = {value} of CUBIC's module"
        )))
    }

    fn ip(&mut self, words: &[String]) -> Result<(), Stop> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if words.contains(&"tcp_metrics") {
            return Ok(());
        }
        let unknown = || not_applicable(format!("the command ip {}", words.join(" ")));
        if words.first() != Some(&"route") {
            return Err(unknown());
        }
        let mut rest = words.iter().skip(2);
        while let Some(word) = rest.next() {
            match *word {
                "initcwnd" | "initrwnd" | "rto_min" | "quickack" => {
                    let value = rest.next().ok_or_else(unknown)?;
                    self.route.insert((*word).to_owned(), (*value).to_owned());
                }
                "dev" | "via" | "src" | "proto" | "scope" => {
                    rest.next();
                }
                "default" => {}
                word if word.contains(['.', ':']) => {}
                _ => return Err(unknown()),
            }
        }
        Ok(())
    }

    /// Adds a note, once.
    pub fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }
}
