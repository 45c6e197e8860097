//! Identifies processes by id and start time, so that a process with a reused id is never mistaken
//! for the earlier process.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use headway_system::identity::{self, Identity};
use serde::{Deserialize, Serialize};

use crate::system::{processes, rundir};

/// How often to check whether processes have ended.
const PAUSE: Duration = Duration::from_millis(5);
/// For how long to send SIGKILL to processes before giving up.
const FORCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 5 });

/// A process that was seen running.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// When the process started, in clock ticks since boot.
    pub start_ticks: u64,
}

impl Process {
    /// Finds the process that has this id now. `None`: no process has this id, or it has ended.
    #[must_use]
    pub fn find(pid: i32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // the program's name in parentheses may contain any character, so split at the last
        // parenthesis
        let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let start_ticks = fields.nth(18)?.parse().ok()?;
        Some(Process { pid, start_ticks })
    }

    /// Whether the process still runs.
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

/// Every process in one of these network namespaces.
pub fn inside(namespaces: &[Identity]) -> Vec<Process> {
    if namespaces.is_empty() {
        return vec![];
    }
    let own = std::process::id() as i32;
    processes::all()
        .into_iter()
        .filter(|&pid| {
            identity::at(&processes::file(pid, "ns/net"))
                .is_ok_and(|id| pid != own && namespaces.contains(&id))
        })
        .filter_map(Process::find)
        .collect()
}

/// The running emulators of this scope, each with its testbed's name. Emulators are found even if
/// the state file of their testbed is lost.
pub fn emulators() -> Vec<(String, Process)> {
    let scope = rundir::scope().unwrap_or_default();
    let own_program = program_of("self");
    // SAFETY: no arguments; cannot fail.
    let own_user = unsafe { libc::geteuid() };
    processes::all()
        .into_iter()
        .filter_map(|pid| {
            let name = emulator_of(&fs::read(format!("/proc/{pid}/cmdline")).ok()?)?;
            let user = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
            let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let is_ours = user == own_user
                && program_of(&pid.to_string()) == own_program
                && scope_in(&environment) == scope;
            Some((name, Process::find(pid).filter(|_| is_ours)?))
        })
        .collect()
}

/// The file name of the program that a process runs. The file may have been replaced since the
/// process started.
fn program_of(process: &str) -> Option<String> {
    let path = fs::read_link(format!("/proc/{process}/exe")).ok()?;
    let name = path.file_name()?.to_str()?;
    Some(name.trim_end_matches(" (deleted)").to_owned())
}

/// Returns the name of the testbed whose emulator has this command line. `None`: it is no
/// emulator's command line.
fn emulator_of(command_line: &[u8]) -> Option<String> {
    let words: Vec<&[u8]> = command_line.split(|&b| b == 0).collect();
    match words.as_slice() {
        [_, b"testbed", b"emulator", name, b"--lock-fd", ..] => {
            String::from_utf8(name.to_vec()).ok()
        }
        _ => None,
    }
}

fn scope_in(environment: &[u8]) -> String {
    let prefix = format!("{}=", rundir::SCOPE);
    let value = environment
        .split(|&b| b == 0)
        .find_map(|entry| entry.strip_prefix(prefix.as_bytes()));
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}

/// Which processes were told to end, and which still run.
#[derive(Debug, Default)]
pub struct Ended {
    /// Ids of the processes that got SIGTERM.
    pub asked: Vec<i32>,
    /// Processes that still run although they got SIGKILL.
    pub left: Vec<Process>,
}

/// Ends all processes that `find` finds. Calls `find` repeatedly, because running processes may
/// start others meanwhile. Sends SIGTERM first. After `patience` it sends SIGKILL to the processes
/// that still run, and after a further `FORCE` it gives up.
pub fn end(find: impl Fn() -> Vec<Process>, patience: Duration) -> Ended {
    let mut ended = Ended::default();
    let until = Instant::now() + patience;
    let mut asked: Vec<Process> = vec![];
    loop {
        ended.left = find();
        for process in &ended.left {
            if !asked.contains(process) {
                process.signal(libc::SIGTERM);
                asked.push(*process);
            }
        }
        if ended.left.is_empty() || Instant::now() >= until {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    let until = Instant::now() + FORCE;
    while !ended.left.is_empty() && Instant::now() < until {
        // stop all processes with SIGSTOP before killing them, so that none of them can start
        // others
        for signal in [libc::SIGSTOP, libc::SIGKILL] {
            ended.left.iter().for_each(|p| p.signal(signal));
        }
        asked.extend(&ended.left);
        std::thread::sleep(PAUSE);
        ended.left = find();
    }
    ended.asked = asked.iter().map(|p| p.pid).collect();
    ended.asked.sort_unstable();
    ended.asked.dedup();
    ended
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
        let alive = || {
            vec![process]
                .into_iter()
                .filter(Process::is_alive)
                .collect()
        };
        let ended = end(alive, Duration::from_secs(60));
        assert_eq!((ended.asked, ended.left), (vec![process.pid], vec![]));
        child.wait().unwrap();
        assert_eq!(Process::find(process.pid), None);
    }

    #[test]
    fn a_reused_number_is_another_process() {
        let mut own = Process::find(std::process::id() as i32).unwrap();
        own.start_ticks += 1;
        assert!(!own.is_alive());
        own.signal(libc::SIGKILL);
    }

    #[test]
    fn a_process_that_does_not_end_is_reported() {
        // no process has this id, so no signal is sent; `find` of this test always returns it
        let gone = Process {
            pid: i32::MAX,
            start_ticks: 1,
        };
        let looks = std::cell::Cell::new(0);
        let find = || {
            looks.set(looks.get() + 1);
            vec![gone]
        };
        let ended = end(find, Duration::ZERO);
        assert_eq!((ended.asked, ended.left), (vec![i32::MAX], vec![gone]));
        assert!(looks.get() > 1, "it calls find again");
    }

    #[test]
    fn an_emulator_is_known_by_its_command_line_and_scope() {
        let line = b"/x/headwayctl\0testbed\0emulator\0a-b\0--lock-fd\x003\0";
        assert_eq!(emulator_of(line), Some("a-b".to_owned()));
        for other in [
            &b"vi\0testbed\0emulator\0a-b\0"[..],
            b"testbed\0emulator\0a-b\0--lock-fd\0",
            b"",
        ] {
            assert_eq!(emulator_of(other), None);
        }
        assert_eq!(scope_in(b"A=b\0HEADWAY_SCOPE=ann\0"), "ann");
        assert_eq!(scope_in(b"XHEADWAY_SCOPE=ann\0"), "");
    }
}
