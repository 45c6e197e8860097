//! Headway's files in /run: a lock file, a bpffs with the pins of BPF links and maps, and records
//! of the default congestion controls that `detach` restores. `detach --all` removes all of them.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use headway_system::identity::Identity;
use serde::{Deserialize, Serialize};

use crate::error::{Attempt as _, Failure};
pub use crate::system::lock::Lock;
use crate::system::netns::{self, Netns};

/// Name of the environment variable with the scope. The scope is a word. It restricts headwayctl to
/// congestion controls whose names begin with this word, and to a separate folder in /run. Tests
/// set a scope so that they do not detach congestion controls that are in use.
pub const SCOPE: &str = "HEADWAY_SCOPE";
/// The folder in /run if no scope is set.
const MACHINE: &str = "/run/headway";
/// The longest scope, in characters. A congestion control's name has at most 15 characters, so at
/// least two characters remain after the scope and its separator.
const SCOPE_LONGEST: usize = 13;
const BPF_FS_MAGIC: libc::c_long = 0xcafe_4a11;

/// Reads the scope from HEADWAY_SCOPE. This process may change only congestion controls whose names
/// begin with this word. Without a scope, it may change all.
///
/// # Errors
/// HEADWAY_SCOPE has characters other than letters and digits, or is too long.
pub fn scope() -> Result<String, Failure> {
    let scope = std::env::var_os(SCOPE).unwrap_or_default();
    let scope = scope.to_string_lossy().into_owned();
    if scope.len() <= SCOPE_LONGEST && scope.chars().all(|c| c.is_ascii_alphanumeric()) {
        Ok(scope)
    } else {
        Err(Failure::bad_input(format!(
            "{SCOPE}=\"{scope}\": must be at most {SCOPE_LONGEST} letters and digits"
        )))
    }
}

/// Whether the name of a congestion control belongs to a scope. The part of the name before the
/// first _ or - must equal the scope.
#[must_use]
pub fn is_in_scope(name: &str, scope: &str) -> bool {
    scope.is_empty()
        || name
            .strip_prefix(scope)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

/// The folder in /run for the scope of this process. Only root can write to the folder.
#[must_use]
pub fn root() -> PathBuf {
    match scope() {
        Ok(scope) if !scope.is_empty() => PathBuf::from(format!("{MACHINE}-{scope}")),
        _ => PathBuf::from(MACHINE),
    }
}

/// The folder at which Headway mounts its bpffs. The folder is outside /sys, because `ip netns
/// exec` mounts a new /sys. The file names in it contain no dots, which a bpffs does not allow.
fn bpffs() -> PathBuf {
    root().join("bpf")
}

fn defaults() -> PathBuf {
    root().join("defaults")
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}

/// A record of a namespace's default congestion control from before Headway changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultRecord {
    /// Device and inode of the namespace.
    pub identity: Identity,
    /// The label of the namespace at the time of the change.
    pub label: String,
    /// The congestion control to restore.
    pub previous: String,
    /// The congestion control that Headway set.
    pub set_to: String,
}

/// Waits for Headway's lock and takes it. Creates the folder in /run if needed.
///
/// # Errors
/// Lack of privilege.
pub fn lock() -> Result<Lock, Failure> {
    Lock::take(&root())
}

/// Like [`lock`], but also takes the lock for changes that affect all scopes.
///
/// # Errors
/// Lack of privilege.
pub fn lock_machine() -> Result<[Option<Lock>; 2], Failure> {
    let own = lock()?;
    let machine = Path::new(MACHINE);
    let other = (root() != machine).then(|| Lock::take(machine));
    Ok([Some(own), other.transpose()?])
}

/// Whether Headway's bpffs is mounted and visible to this process.
#[must_use]
pub fn has_bpffs() -> bool {
    let Ok(path) = c_path(&bpffs()) else {
        return false;
    };
    // SAFETY: plain data, for which zero is a valid value, and a terminated string.
    unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        libc::statfs(path.as_ptr(), &mut stat) == 0 && stat.f_type == BPF_FS_MAGIC
    }
}

/// Enters the mount namespace that has the bpffs with the pins, or in which it would be mounted.
///
/// # Errors
/// Lack of privilege.
pub fn enter() -> Result<(), Failure> {
    if has_bpffs() {
        return Ok(());
    }
    netns::enter_first_mount_namespace()
}

/// Mounts the bpffs if it is not mounted.
///
/// # Errors
/// Lack of privilege.
pub fn mount_bpffs(_lock: &Lock) -> Result<(), Failure> {
    if has_bpffs() {
        return Ok(());
    }
    let path = bpffs();
    let what = format!("mount a bpffs at {}", path.display());
    fs::create_dir_all(&path).attempt(&what)?;
    let target = c_path(&path).attempt(&what)?;
    // SAFETY: terminated strings.
    let result = unsafe {
        libc::mount(
            c"headway".as_ptr(),
            target.as_ptr(),
            c"bpf".as_ptr(),
            libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
            c"mode=0700".as_ptr().cast(),
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error()).attempt(&what);
    }
    Ok(())
}

/// Path of the pin of a control's link.
#[must_use]
pub fn pin_path(name: &str) -> PathBuf {
    bpffs().join(name)
}

/// Path of the pin of a link or map that is not a control. The file's name is longer than any
/// control's name, so they cannot collide.
#[must_use]
pub fn other_pin_path(kind: &str, name: &str) -> PathBuf {
    bpffs().join(format!("headway_{kind}_{name}"))
}

/// The paths of all pins of Headway. Files with a dot in their name, such as maps.debug, are the
/// kernel's and left out.
#[must_use]
pub fn pins() -> Vec<PathBuf> {
    if !has_bpffs() {
        return Vec::new();
    }
    let mut pins: Vec<PathBuf> = fs::read_dir(bpffs())
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| !entry.file_name().as_encoded_bytes().contains(&b'.'))
        .map(|entry| entry.path())
        .collect();
    pins.sort();
    pins
}

fn record_path((device, inode): Identity) -> PathBuf {
    defaults().join(format!("{device}-{inode}.json"))
}

/// The records of namespaces whose default was changed. An unreadable record is left out: its
/// process was killed while writing it, before it changed the default.
#[must_use]
pub fn default_records() -> Vec<DefaultRecord> {
    let mut records: Vec<DefaultRecord> = fs::read_dir(defaults())
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok())
        .collect();
    records.sort_by_key(|record| record.identity);
    records
}

/// Records a namespace's default congestion control before it is changed.
///
/// # Errors
/// The folder cannot be written.
pub fn record_default(
    _lock: &Lock,
    netns: &Netns,
    previous: &str,
    set_to: &str,
) -> Result<(), Failure> {
    let what = format!("write to {}", defaults().display());
    fs::create_dir_all(defaults()).attempt(&what)?;
    let record = DefaultRecord {
        identity: netns.identity,
        label: netns.label.clone(),
        previous: previous.to_owned(),
        set_to: set_to.to_owned(),
    };
    let path = record_path(netns.identity);
    let partial = path.with_extension("partial");
    let json = serde_json::to_vec(&record)
        .map_err(io::Error::from)
        .attempt(&what)?;
    fs::write(&partial, json)
        .and_then(|()| fs::rename(&partial, &path))
        .inspect_err(|_| drop(fs::remove_file(&partial)))
        .attempt(&what)
}

/// Removes the record of a namespace's former default congestion control.
pub fn forget_default(_lock: &Lock, identity: Identity) {
    let path = record_path(identity);
    let _ = fs::remove_file(path.with_extension("partial"));
    let _ = fs::remove_file(path);
}

/// Removes everything that `detach --all` must not leave: records, the bpffs with all pins, the
/// lock, and the folder unless it has other content.
///
/// # Errors
/// Something cannot be removed.
pub fn remove(lock: Lock) -> Result<(), Failure> {
    let what = |path: &Path| format!("remove {}", path.display());
    let (defaults, bpffs) = (defaults(), bpffs());
    if defaults.exists() {
        fs::remove_dir_all(&defaults).attempt(what(&defaults))?;
    }
    for pin in pins() {
        let removed = if pin.is_dir() {
            fs::remove_dir_all(&pin) // a user may have made folders in the bpffs
        } else {
            fs::remove_file(&pin)
        };
        removed.attempt(what(&pin))?;
    }
    while has_bpffs() {
        let target = c_path(&bpffs).attempt(what(&bpffs))?;
        // SAFETY: a terminated string.
        if unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) } != 0 {
            return Err(io::Error::last_os_error()).attempt(format!("unmount {}", bpffs.display()));
        }
    }
    if bpffs.exists() {
        fs::remove_dir(&bpffs).attempt(what(&bpffs))?;
    }
    drop(lock);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_a_whole_word() {
        for (name, is_ours) in [
            ("ann_x", true),
            ("ann-x", true),
            ("ann", true),
            ("anna_x", false),
            ("ann1", false),
            ("x_ann", false),
            ("an", false),
        ] {
            assert_eq!(is_in_scope(name, "ann"), is_ours, "{name}");
            assert!(is_in_scope(name, ""));
        }
    }
}
