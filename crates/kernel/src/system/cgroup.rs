//! Finds where this machine's cgroup2 file system is mounted.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::error::{Attempt as _, Failure};

/// The folder at which cgroup2 is mounted; None: cgroup2 is not mounted.
///
/// # Errors
/// The mounts cannot be read.
pub fn mounted() -> io::Result<Option<PathBuf>> {
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    Ok(mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let at = fields.next()?;
        (fields.next()? == "cgroup2").then(|| PathBuf::from(at))
    }))
}

/// Like [`mounted`], but fails if cgroup2 is not mounted. `what` names the action that needs
/// cgroup2, for the error.
///
/// # Errors
/// cgroup2 is not mounted.
pub fn root(what: &str) -> Result<PathBuf, Failure> {
    mounted().attempt("read the mounts")?.ok_or_else(|| {
        Failure::kernel_cannot(format!(
            "cannot {what}: no cgroup2 is mounted (mount -t cgroup2 none /sys/fs/cgroup/unified)"
        ))
    })
}
