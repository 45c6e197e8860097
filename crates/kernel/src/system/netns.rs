//! Network namespaces: lists them, runs work in them, and sets their default congestion control.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use headway_system::identity::{self, Identity};

use super::processes;
use crate::error::{Attempt as _, Failure};

/// Where `ip netns` keeps namespaces by name.
pub const NAMED_FOLDER: &str = "/run/netns";
/// The sysctl file of the default congestion control. It shows the default of the namespace in
/// which a process opens the file.
const DEFAULT_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The path and the label of the first process's network namespace.
const FIRST: &str = "/proc/1/ns/net";
const FIRST_LABEL: &str = "init";

/// A network namespace that can be entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Netns {
    /// Its identity.
    pub identity: Identity,
    /// A label for users: the namespace's name in `ip netns`, "init", or a process in the
    /// namespace. Unlike [`Netns::place_label`], this label may not be unique.
    pub label: String,
    /// A path by which the namespace can be entered.
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

    /// Finds a namespace by its name in `ip netns`, by a path such as /proc/PID/ns/net, or by the
    /// label that `headwayctl status` shows for an unnamed namespace.
    ///
    /// # Errors
    /// No namespace matches. The error lists the known names.
    pub fn find(name: &str) -> Result<Self, Failure> {
        let path = if name.contains('/') {
            PathBuf::from(name)
        } else {
            Path::new(NAMED_FOLDER).join(name)
        };
        let netns = Self::at(path, name.to_owned()).ok();
        // a path leads to a namespace if its file is on the same file system as this process's
        // namespace
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
                    "`ip netns add` creates one".to_owned()
                } else {
                    format!("known are {}", known.join(", "))
                }
            ))
        })
    }

    /// The network namespace of this process, with its name in `ip netns` as label if it has one.
    ///
    /// # Errors
    /// The process may not read its namespace.
    pub fn own() -> Result<Self, Failure> {
        let own = identity::at(Path::new("/proc/self/ns/net"))
            .attempt("find the network namespace of this process")?;
        all()
            .into_iter()
            .find(|netns| netns.identity == own)
            .ok_or_else(|| Failure::failed("cannot find the network namespace of this process"))
    }

    /// The namespace's label in texts such as `namespace:device`. The label is unique. It does not
    /// depend on whether the namespace was found by a name, a path or a process.
    #[must_use]
    pub fn place_label(&self) -> String {
        if identity::at(Path::new(FIRST)).ok() == Some(self.identity) {
            return FIRST_LABEL.to_owned();
        }
        named()
            .into_iter()
            // do not use a name that looks like the label of another namespace
            .filter(|name| name != FIRST_LABEL && !name.starts_with("net:["))
            .find(|name| {
                identity::at(&Path::new(NAMED_FOLDER).join(name)).ok() == Some(self.identity)
            })
            .unwrap_or_else(|| self.inode_label())
    }

    /// The namespace as text with its inode, such as net:[4026531840], like the links in
    /// /proc/PID/ns.
    fn inode_label(&self) -> String {
        format!("net:[{}]", self.identity.1)
    }

    /// Runs `work` in the namespace, on a separate thread, and waits for it.
    ///
    /// # Errors
    /// The namespace no longer exists or may not be entered; or `work` fails.
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

    /// Reads the namespace's default congestion control, which sockets have that do not choose one.
    ///
    /// # Errors
    /// The namespace no longer exists.
    pub fn default_control(&self) -> io::Result<String> {
        self.inside(|| Ok(fs::read_to_string(DEFAULT_CONTROL)?.trim().to_owned()))
    }

    /// Sets the namespace's default congestion control.
    ///
    /// # Errors
    /// The congestion control is unknown or restricted, or the namespace no longer exists.
    pub fn set_default_control(&self, name: &str) -> io::Result<()> {
        self.inside(|| fs::write(DEFAULT_CONTROL, name))
    }
}

/// The names that `ip netns` lists.
fn named() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(NAMED_FOLDER)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// All network namespaces that have a name or a process.
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
        add(Path::new(NAMED_FOLDER).join(&name), name);
    }
    add(own.to_owned(), "self".to_owned());
    for pid in processes::all() {
        add(processes::file(pid, "ns/net"), format!("process {pid}"));
    }
    found.into_values().collect()
}

/// The name of the device with this interface index in this thread's namespace.
pub fn device_name(number: u32) -> Option<String> {
    let mut name = [0u8; libc::IFNAMSIZ];
    // SAFETY: a buffer of the size that the call asks for.
    let found = unsafe { libc::if_indextoname(number, name.as_mut_ptr().cast()) };
    if found.is_null() {
        return None;
    }
    let end = name.iter().position(|&b| b == 0)?;
    Some(String::from_utf8_lossy(&name[..end]).into_owned())
}

/// Enters the mount namespace of the oldest ancestor process that this process may inspect. Pins
/// must be in that mount namespace: `ip netns exec` runs its command in a new mount namespace,
/// which disappears with the command.
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
    // SAFETY: a valid descriptor. The process still has one thread.
    if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNS) } != 0 {
        return Err(io::Error::last_os_error()).attempt(&what);
    }
    Ok(())
}

/// The number of a process's parent. None for the first process, and if the parent is not visible.
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
    fn a_file_that_is_not_a_namespace_is_refused() {
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
