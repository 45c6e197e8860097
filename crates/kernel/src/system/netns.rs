//! Network namespaces: which there are, work inside them, and their default
//! congestion control.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use headway_system::identity::{self, Identity};

use super::processes;
use crate::error::{Attempt as _, Failure};

/// Where `ip netns` keeps namespaces by name.
const NAMED: &str = "/run/netns";
/// Read and written by whoever is inside.
const DEFAULT_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The namespace of the first process, and what it is called.
const FIRST: &str = "/proc/1/ns/net";
const FIRST_LABEL: &str = "init";

/// A network namespace that can be entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Netns {
    /// Its identity.
    pub identity: Identity,
    /// A name for people: that of `ip netns`, "init", or a process in it; with
    /// [`Netns::place_label`] one tells namespaces apart.
    pub label: String,
    /// A file to enter it by.
    pub path: PathBuf,
}

impl Netns {
    fn at(path: PathBuf, label: String) -> io::Result<Self> {
        Ok(Self {
            identity: identity::at(&path)?,
            label,
            path,
        })
    }

    /// The namespace of a name of `ip netns`, of a path such as /proc/PID/ns/net, or of
    /// what `status` calls one that has no name.
    ///
    /// # Errors
    /// There is none, with the names there are.
    pub fn find(name: &str) -> Result<Self, Failure> {
        let path = if name.contains('/') {
            PathBuf::from(name)
        } else {
            Path::new(NAMED).join(name)
        };
        let netns = Self::at(path, name.to_owned()).ok();
        // only a namespace's file is on the same device as our own
        let own = identity::at(Path::new("/proc/self/ns/net"))
            .map(|id| id.0)
            .ok();
        let netns = netns.filter(|n| Some(n.identity.0) == own);
        let by_label = || all().into_iter().find(|n| n.place_label() == name);
        netns.or_else(by_label).ok_or_else(|| {
            let known = named();
            Failure::bad_input(format!(
                "no network namespace \"{name}\"; {}",
                if known.is_empty() {
                    "`ip netns add` makes one".to_owned()
                } else {
                    format!("there are {}", known.join(", "))
                }
            ))
        })
    }

    /// The one that this process is in, by its name if it has one.
    ///
    /// # Errors
    /// It may not be looked at.
    pub fn own() -> Result<Self, Failure> {
        let own =
            identity::at(Path::new("/proc/self/ns/net")).attempt("look at the own namespace")?;
        all()
            .into_iter()
            .find(|netns| netns.identity == own)
            .ok_or_else(|| Failure::failed("the own network namespace is not to be found"))
    }

    /// What it is called in places: no two namespaces have the same, and one has the
    /// same however it was found, by whichever command.
    #[must_use]
    pub fn place_label(&self) -> String {
        if identity::at(Path::new(FIRST)).ok() == Some(self.identity) {
            return FIRST_LABEL.to_owned();
        }
        named()
            .into_iter()
            // a name that looks like another namespace's label is none
            .filter(|name| name != FIRST_LABEL && !name.starts_with("net:["))
            .find(|name| identity::at(&Path::new(NAMED).join(name)).ok() == Some(self.identity))
            .unwrap_or_else(|| self.kernels_label())
    }

    /// As the links in /proc/PID/ns are shown.
    fn kernels_label(&self) -> String {
        format!("net:[{}]", self.identity.1)
    }

    /// Runs `work` inside, on a thread of its own, and waits for it.
    ///
    /// # Errors
    /// The namespace is gone or may not be entered, or what `work` returned.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let file = File::open(&self.path)?;
        if identity::of(&file.metadata()?) != self.identity {
            return Err(io::Error::from_raw_os_error(libc::ESTALE));
        }
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    // SAFETY: a valid descriptor; moves this thread only.
                    if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
                        return Err(io::Error::last_os_error());
                    }
                    work()
                })
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        })
    }

    /// The congestion control of sockets that do not choose one.
    ///
    /// # Errors
    /// The namespace is gone.
    pub fn default_control(&self) -> io::Result<String> {
        self.inside(|| Ok(fs::read_to_string(DEFAULT_CONTROL)?.trim().to_owned()))
    }

    /// Sets it.
    ///
    /// # Errors
    /// There is no such control, or it is restricted, or the namespace is gone.
    pub fn set_default_control(&self, name: &str) -> io::Result<()> {
        self.inside(|| fs::write(DEFAULT_CONTROL, name))
    }
}

/// The names of `ip netns`.
fn named() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(NAMED)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Every namespace that has a name or a process.
#[must_use]
pub fn all() -> Vec<Netns> {
    let mut found: BTreeMap<Identity, Netns> = BTreeMap::new();
    let own = Path::new("/proc/self/ns/net");
    let Ok((device, _)) = identity::at(own) else {
        return Vec::new();
    };
    let mut add = |path: PathBuf, label: String| {
        if let Ok(netns) = Netns::at(path, label) {
            if netns.identity.0 == device {
                found.entry(netns.identity).or_insert(netns);
            }
        }
    };
    add(PathBuf::from(FIRST), FIRST_LABEL.to_owned());
    for name in named() {
        add(Path::new(NAMED).join(&name), name);
    }
    add(own.to_owned(), "self".to_owned());
    for pid in processes::all() {
        add(processes::file(pid, "ns/net"), format!("process {pid}"));
    }
    found.into_values().collect()
}

/// Enters the mount namespace of the first ancestor that may be looked at, where
/// pins have to be to outlive `ip netns exec`, which gives its command a mount
/// namespace of its own.
///
/// # Errors
/// Lack of privilege.
pub fn enter_first_mount_namespace() -> Result<(), Failure> {
    let own = identity::at(Path::new("/proc/self/ns/mnt")).ok();
    let mut first = PathBuf::from("/proc/self/ns/mnt");
    let mut process = "self".to_owned();
    while let Some(parent) = parent_of(&process) {
        process = parent;
        let path = Path::new("/proc").join(&process).join("ns/mnt");
        if File::open(&path).is_ok() {
            first = path;
        }
    }
    if identity::at(&first).ok() == own {
        return Ok(());
    }
    let what = format!("enter the mount namespace of process {process}");
    let file = File::open(&first).attempt(&what)?;
    // SAFETY: a valid descriptor. The process has one thread yet.
    if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNS) } != 0 {
        return Err(io::Error::last_os_error()).attempt(&what);
    }
    Ok(())
}

/// The parent of a process; none of the first, nor of those that cannot be seen.
fn parent_of(process: &str) -> Option<String> {
    let status = fs::read_to_string(Path::new("/proc").join(process).join("status")).ok()?;
    let parent = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))?
        .trim()
        .to_owned();
    (parent != "0").then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_namespace_is_refused() {
        let error = Netns::find("/proc/self/status").unwrap_err();
        assert_eq!(error.exit_status, crate::error::BAD_INPUT);
        assert!(Netns::find("surely-not-there").is_err());
        assert!(Netns::find("/proc/self/ns/net").is_ok());
    }

    #[test]
    fn a_namespace_is_listed_once() {
        let mut identities: Vec<Identity> = all().iter().map(|n| n.identity).collect();
        let own = identity::at(Path::new("/proc/self/ns/net")).unwrap();
        assert!(identities.contains(&own));
        let n = identities.len();
        identities.dedup();
        assert_eq!(identities.len(), n);
    }
}
