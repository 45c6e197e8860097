//! The machine's cgroup2.

use std::fs;
use std::path::PathBuf;

use crate::error::{Attempt as _, Failure};

/// Where it is mounted; `what` cannot be done without.
///
/// # Errors
/// It is not.
pub fn root(what: &str) -> Result<PathBuf, Failure> {
    let mounts = fs::read_to_string("/proc/self/mounts").attempt("read the mounts")?;
    mounts
        .lines()
        .find_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let at = fields.next()?;
            (fields.next()? == "cgroup2").then(|| PathBuf::from(at))
        })
        .ok_or_else(|| {
            Failure::kernel_cannot(format!(
                "cannot {what}: no cgroup2 is mounted (mount -t cgroup2 none /sys/fs/cgroup/unified)"
            ))
        })
}
