//! Processes by number and start, so that a number that was used again is never
//! mistaken for the process that had it before.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// A process that was seen running.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// When it started, in clock ticks since boot.
    pub start_ticks: u64,
}

impl Process {
    /// The process that has this number now; `None` if none, or it has ended.
    #[must_use]
    pub fn find(pid: i32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // the name, in parentheses, may hold anything
        let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let start_ticks = fields.nth(18)?.parse().ok()?;
        Some(Process { pid, start_ticks })
    }

    /// It is still there.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        Process::find(self.pid) == Some(*self)
    }

    fn signal(&self, signal: i32) {
        if self.is_alive() {
            // SAFETY: plain numbers.
            unsafe { libc::kill(self.pid, signal) };
        }
    }
}

/// Every process in the network namespace at `path`.
pub fn inside(path: &Path) -> Vec<Process> {
    let identity = |path: &Path| fs::metadata(path).map(|m| (m.dev(), m.ino())).ok();
    let Some(wanted) = identity(path) else {
        return vec![];
    };
    let own = std::process::id() as i32;
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| identity(&entry.path().join("ns/net")) == Some(wanted))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&pid| pid != own)
        .filter_map(Process::find)
        .collect()
}

/// Asks processes to end, and makes those end that do not within `patience`.
/// Returns whether all are gone.
pub fn end(processes: &[Process], patience: Duration) -> bool {
    for (signal, wait) in [
        (libc::SIGTERM, patience),
        (libc::SIGKILL, Duration::from_secs(5)),
    ] {
        processes.iter().for_each(|p| p.signal(signal));
        let end = Instant::now() + wait;
        while processes.iter().any(Process::is_alive) {
            if Instant::now() >= end {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    !processes.iter().any(Process::is_alive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_found_and_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::find(child.id() as i32).unwrap();
        assert!(process.is_alive());
        assert!(end(&[process], Duration::from_secs(5)));
        child.wait().unwrap();
        assert_eq!(Process::find(process.pid), None);
    }

    #[test]
    fn a_number_that_was_used_again_is_another_process() {
        let mut own = Process::find(std::process::id() as i32).unwrap();
        own.start_ticks += 1;
        assert!(!own.is_alive());
        assert!(end(&[own], Duration::ZERO));
    }
}
