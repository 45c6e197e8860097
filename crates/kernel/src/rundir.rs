//! What Headway keeps in /run: a lock, a bpffs of its own with the pins, and what
//! has to be put back on detach. `detach --all` removes all of it.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cli::error::{Attempt as _, CliError};
use crate::netns::{self, Identity, Netns};

const ROOT: &str = "/run/headway";
const LOCK: &str = "/run/headway/lock";
/// Outside /sys, which `ip netns exec` mounts anew. Names in it have no dots.
const BPFFS: &str = "/run/headway/bpf";
const DEFAULTS: &str = "/run/headway/defaults";
const BPF_FS_MAGIC: libc::c_long = 0xcafe_4a11;

/// A namespace's default congestion control before Headway changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultRecord {
    /// Device and inode of the namespace.
    pub identity: Identity,
    /// The namespace's name when it was changed.
    pub label: String,
    /// What to put back.
    pub previous: String,
    /// What Headway set.
    pub set_to: String,
}

/// Held while anything is changed; released by the kernel if its holder dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Waits until nobody else changes anything. Makes the folder if need be.
///
/// # Errors
/// Lack of privilege.
pub fn lock() -> Result<Lock, CliError> {
    let what = format!("lock {LOCK}");
    loop {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(ROOT)
            .attempt(format!("make {ROOT}"))?;
        let file = match OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(LOCK)
        {
            // the folder was removed between the two
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            other => other.attempt(&what)?,
        };
        // SAFETY: a valid descriptor.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } != 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error).attempt(&what);
        }
        // whoever had it may have removed the file: then it locks nothing any more
        let locked = file.metadata().attempt(&what)?;
        if fs::metadata(LOCK)
            .is_ok_and(|now| (now.dev(), now.ino()) == (locked.dev(), locked.ino()))
        {
            return Ok(Lock { _file: file });
        }
    }
}

/// Whether Headway's bpffs is mounted and seen from here.
#[must_use]
pub fn has_bpffs() -> bool {
    let Ok(path) = CString::new(BPFFS) else {
        return false;
    };
    // SAFETY: plain data, for which zero is a value, and a terminated string.
    unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        libc::statfs(path.as_ptr(), &mut stat) == 0 && stat.f_type == BPF_FS_MAGIC
    }
}

/// Goes where the pins are, or would have to be.
///
/// # Errors
/// Lack of privilege.
pub fn enter() -> Result<(), CliError> {
    if has_bpffs() {
        return Ok(());
    }
    netns::enter_first_mount_namespace()
}

/// Mounts the bpffs unless it is.
///
/// # Errors
/// Lack of privilege.
pub fn mount_bpffs(_lock: &Lock) -> Result<(), CliError> {
    if has_bpffs() {
        return Ok(());
    }
    let what = format!("mount a bpffs at {BPFFS}");
    fs::create_dir_all(BPFFS).attempt(&what)?;
    let target = CString::new(BPFFS)
        .map_err(io::Error::from)
        .attempt(&what)?;
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

/// Where the link of a control of that name is pinned.
#[must_use]
pub fn pin_path(name: &str) -> PathBuf {
    Path::new(BPFFS).join(name)
}

/// All pins. What has a dot in its name is the kernel's own (maps.debug).
#[must_use]
pub fn pins() -> Vec<PathBuf> {
    if !has_bpffs() {
        return Vec::new();
    }
    let mut pins: Vec<PathBuf> = fs::read_dir(BPFFS)
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
    Path::new(DEFAULTS).join(format!("{device}-{inode}.json"))
}

/// The namespaces whose default was changed. A record that cannot be read is
/// skipped: it was never finished, so its change was not made.
#[must_use]
pub fn default_records() -> Vec<DefaultRecord> {
    let mut records: Vec<DefaultRecord> = fs::read_dir(DEFAULTS)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok())
        .collect();
    records.sort_by_key(|record| record.identity);
    records
}

/// Remembers a namespace's default before it is changed.
///
/// # Errors
/// The folder cannot be written.
pub fn record_default(
    _lock: &Lock,
    netns: &Netns,
    previous: &str,
    set_to: &str,
) -> Result<(), CliError> {
    let what = format!("write to {DEFAULTS}");
    fs::create_dir_all(DEFAULTS).attempt(&what)?;
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
    fs::write(&partial, json).attempt(&what)?;
    fs::rename(&partial, &path).attempt(&what)
}

/// Forgets a namespace's record.
pub fn forget_default(_lock: &Lock, identity: Identity) {
    let path = record_path(identity);
    let _ = fs::remove_file(path.with_extension("partial"));
    let _ = fs::remove_file(path);
}

/// Removes everything that `detach --all` must not leave: records, the bpffs with
/// whatever is pinned in it, the lock, and the folder unless others keep
/// something in it.
///
/// # Errors
/// Something cannot be removed.
pub fn remove(lock: Lock) -> Result<(), CliError> {
    let what = |path: &str| format!("remove {path}");
    if Path::new(DEFAULTS).exists() {
        fs::remove_dir_all(DEFAULTS).attempt(what(DEFAULTS))?;
    }
    for pin in pins() {
        fs::remove_file(&pin).attempt(what(&pin.to_string_lossy()))?;
    }
    while has_bpffs() {
        let target = CString::new(BPFFS)
            .map_err(io::Error::from)
            .attempt(what(BPFFS))?;
        // SAFETY: a terminated string.
        if unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) } != 0 {
            return Err(io::Error::last_os_error()).attempt(format!("unmount {BPFFS}"));
        }
    }
    if Path::new(BPFFS).exists() {
        fs::remove_dir(BPFFS).attempt(what(BPFFS))?;
    }
    // still locked: a waiting process notices that the file is another one
    fs::remove_file(LOCK).attempt(what(LOCK))?;
    let _ = fs::remove_dir(ROOT);
    drop(lock);
    Ok(())
}
