//! The state files of testbeds. They remain after the command that created a testbed has ended.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use headway_emulator::{Config, Summary};
use serde::{Deserialize, Serialize};

use super::names::{owner, GATEWAY};
use super::own;
use super::process::{self, Process};
use crate::error::{Attempt as _, Failure};
use crate::system::lock::{self, Lock};
use crate::system::netns::{Netns, NAMED_FOLDER};
use crate::system::processes;
use crate::system::rundir;

/// Progress of `up`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// `testbed up` has not completed.
    Starting,
    /// The testbed can be used.
    Up,
}

/// A host.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct HostState {
    /// "left1", "right1", ...
    pub name: String,
    /// Name of the host's namespace in `ip netns`.
    pub namespace: String,
    /// Its only address.
    pub address: Ipv4Addr,
    /// Name of the device in the host's namespace.
    pub device: String,
    /// The device's offload settings; empty until the device exists.
    #[serde(default)]
    pub offloads: BTreeMap<String, bool>,
}

/// The content of a testbed's state file.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct State {
    /// Version of the state file's format: 1.
    pub version: u32,
    /// The testbed's name.
    pub name: String,
    /// Progress of `up`.
    pub phase: Phase,
    /// When `testbed up` began, in ns since 1970.
    pub created_unix_ns: u64,
    /// The preset; null if none was given.
    pub preset: Option<String>,
    /// Default congestion control of all hosts.
    pub control: String,
    /// The process of the emulator; null until the emulator runs.
    pub emulator: Option<Process>,
    /// All hosts, those on the left first.
    pub hosts: Vec<HostState>,
    /// The emulator's configuration.
    pub config: Config,
    /// The terrestrial leg, if the testbed has a gateway.
    #[serde(default)]
    pub ground: Option<Config>,
    /// Default congestion control of the gateway, if it differs.
    #[serde(default)]
    pub gateway_control: Option<String>,
    /// Sysctls of every host.
    pub sysctls: BTreeMap<String, String>,
    /// Folder of the log; null: no log.
    pub log: Option<PathBuf>,
    /// A congestion control that `testbed up` has temporarily allowed in all namespaces; null:
    /// none. If `up` is killed meanwhile, this name remains, and `testbed down` withdraws the
    /// permission.
    pub allowed_control: Option<String>,
    /// The congestion control that `testbed up` attached and `testbed down` detaches; null: none.
    #[serde(default)]
    pub attached_control: Option<String>,
    /// The gateway's congestion control, if `testbed up` attached it.
    #[serde(default)]
    pub attached_gateway_control: Option<String>,
}

/// A testbed and its present condition.
#[derive(Debug, Serialize)]
pub struct Status {
    /// The contents of the state file.
    #[serde(flatten)]
    pub state: State,
    /// Whether the emulator is running.
    pub alive: bool,
    /// The emulator's last summary, which is at most a second old; null before the first one.
    pub summary: Option<Summary>,
}

/// The folder of the state files, for the scope of this process.
fn folder() -> PathBuf {
    rundir::root().join(lock::TESTBEDS)
}

fn file(name: &str, extension: &str) -> PathBuf {
    folder().join(format!("{name}.{extension}"))
}

/// The path of the file into which the emulator writes its errors.
pub fn errors_file(name: &str) -> PathBuf {
    file(name, "stderr")
}

/// Replaces a file's content atomically.
pub fn write_whole(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    fs::write(&partial, serde_json::to_vec_pretty(value)?)?;
    fs::rename(partial, path)
}

impl State {
    /// Writes the state file.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self) -> Result<(), Failure> {
        let path = file(&self.name, "json");
        write_whole(&path, self).attempt(format!("write {}", path.display()))
    }

    /// Reads the state of a testbed. `None`: the testbed does not exist, or its first state file
    /// was not completed, so nothing had been changed yet.
    #[must_use]
    pub fn load(name: &str) -> Option<State> {
        serde_json::from_slice(&fs::read(file(name, "json")).ok()?).ok()
    }

    /// The default congestion control of a host.
    #[must_use]
    pub fn control_of(&self, host: &HostState) -> &str {
        match &self.gateway_control {
            Some(control) if host.name == GATEWAY => control,
            _ => &self.control,
        }
    }

    /// Whether the emulator is running.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.emulator.is_some_and(|process| process.is_alive())
    }

    /// A host by name.
    ///
    /// # Errors
    /// No host has this name; lists the known names.
    pub fn host(&self, name: &str) -> Result<&HostState, Failure> {
        self.hosts.iter().find(|h| h.name == name).ok_or_else(|| {
            let names: Vec<_> = self.hosts.iter().map(|h| h.name.as_str()).collect();
            Failure::bad_input(format!(
                "testbed {} has no host \"{name}\"; known are {}",
                self.name,
                names.join(", ")
            ))
        })
    }
}

/// Writes the present summary of an emulator to the testbed's summary file.
pub fn save_summary(name: &str, summary: &Summary) -> io::Result<()> {
    write_whole(&file(name, "summary.json"), summary)
}

/// Reads the last summary that a testbed's emulator has written.
pub fn load_summary(name: &str) -> Option<Summary> {
    serde_json::from_slice(&fs::read(file(name, "summary.json")).ok()?).ok()
}

/// Removes all files of a testbed, the state file last.
pub fn forget(name: &str) -> Result<(), Failure> {
    for extension in [
        "summary.json.partial",
        "summary.json",
        "stderr",
        "json.partial",
        "json",
    ] {
        let path = file(name, extension);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(e).attempt(format!("remove {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Waits for the lock on testbeds, and takes it.
///
/// # Errors
/// Lack of privilege.
pub fn lock() -> Result<Lock, Failure> {
    Lock::take(&folder())
}

/// The names of all testbeds of this scope. A testbed is listed if it has a state file, a namespace
/// or an emulator.
#[must_use]
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = list(&folder())
        .iter()
        .filter_map(|f| f.split_once('.'))
        .map(|(name, _)| name.to_owned())
        .collect();
    names.extend(own_namespaces().into_iter().map(|(testbed, _)| testbed));
    names.extend(process::emulators().into_iter().map(|(testbed, _)| testbed));
    names.sort();
    names.dedup();
    names
}

fn list(folder: &Path) -> Vec<String> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|e| e.file_name().into_string().ok())
        .collect()
}

/// The namespaces of this scope's testbeds, each with the testbed's name. Leaves out namespaces
/// that have a similar name but not the mark of a testbed (own.rs).
fn own_namespaces() -> Vec<(String, String)> {
    list(Path::new(NAMED_FOLDER))
        .into_iter()
        .filter_map(|namespace| {
            let (testbed, _) = owner(&namespace)?;
            own::is_ours(testbed, &namespace).then(|| (testbed.to_owned(), namespace.clone()))
        })
        .collect()
}

/// The namespaces of a testbed.
#[must_use]
pub fn namespaces(testbed: &str) -> Vec<String> {
    let mut found: Vec<String> = own_namespaces()
        .into_iter()
        .filter(|(owner, _)| owner == testbed)
        .map(|(_, namespace)| namespace)
        .collect();
    found.sort();
    found
}

/// Files in the folder of namespaces' names on which no namespace is mounted. They remain if
/// `testbed up` is killed before the mount.
#[must_use]
pub fn unmounted_names(state: &State) -> Vec<PathBuf> {
    let paths = state
        .hosts
        .iter()
        .map(|h| Path::new(NAMED_FOLDER).join(&h.namespace));
    paths
        .filter(|path| {
            Netns::find(&path.to_string_lossy()).is_err()
                && fs::symlink_metadata(path).is_ok_and(|m| m.is_file() && m.len() == 0)
        })
        .collect()
}

/// Finds the testbed of this name, or the only testbed if no name is given.
///
/// # Errors
/// No such testbed exists, or several exist and no name was given.
pub fn find(name: Option<&str>) -> Result<State, Failure> {
    let up: Vec<String> = names()
        .into_iter()
        .filter(|n| State::load(n).is_some())
        .collect();
    let name = match (name, up.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => only,
        (None, []) => {
            return Err(Failure::bad_input(
                "there is no testbed; `headwayctl testbed up` creates one",
            ))
        }
        (None, many) => {
            return Err(Failure::bad_input(format!(
                "several testbeds exist; choose one with --name: {}",
                many.join(", ")
            )))
        }
    };
    State::load(name).ok_or_else(|| {
        Failure::bad_input(format!(
            "there is no testbed {name}; there are: {}",
            up.join(", ")
        ))
    })
}

/// The name of the only testbed, even if that testbed is incomplete.
///
/// # Errors
/// No testbed exists, or several do.
pub fn only_name() -> Result<String, Failure> {
    let mut names = names();
    match names.len() {
        0 => Err(Failure::bad_input("there is no testbed to take down")),
        1 => Ok(names.remove(0)),
        _ => Err(Failure::bad_input(format!(
            "several testbeds exist; give one as NAME, or --all: {}",
            names.join(", ")
        ))),
    }
}

/// All testbeds, including those whose state file is missing, of which only parts remain.
#[must_use]
pub fn status() -> (Vec<Status>, Vec<String>) {
    let mut known = vec![];
    let mut leftovers = vec![];
    for name in names() {
        let Some(state) = State::load(&name) else {
            let namespaces = namespaces(&name).into_iter();
            leftovers.extend(namespaces.map(|namespace| format!("namespace {namespace}")));
            let emulators = process::emulators().into_iter();
            leftovers.extend(
                emulators
                    .filter(|(testbed, _)| *testbed == name)
                    .map(|(_, process)| processes::describe(process.pid)),
            );
            let files = list(&folder()).into_iter();
            leftovers.extend(
                files
                    .filter(|f| {
                        f.split_once('.')
                            .is_some_and(|(testbed, _)| testbed == name)
                    })
                    .map(|f| format!("file {}", folder().join(f).display())),
            );
            continue;
        };
        known.push(Status {
            alive: state.is_alive(),
            summary: load_summary(&name),
            state,
        });
    }
    (known, leftovers)
}
