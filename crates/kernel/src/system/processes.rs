//! The processes in /proc, their descriptions for users, and the priority of this process.

use std::fs;
use std::path::PathBuf;

/// The process ids of all processes.
pub fn all() -> Vec<i32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The path of a file in the /proc folder of a process.
pub fn file(pid: i32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{name}"))
}

/// Describes a process to users by its id and command line.
pub fn describe(pid: i32) -> String {
    let raw = fs::read(file(pid, "cmdline")).unwrap_or_default();
    let words: Vec<String> = raw
        .split(|&b| b == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).escape_debug().to_string())
        .collect();
    let mut command: String = words.join(" ").chars().take(120).collect();
    if command.is_empty() {
        command = name_of(pid).escape_debug().to_string();
    }
    format!("process {pid} ({command})")
}

/// The name (comm) of a process or of a thread of this process; empty if it has ended.
pub fn name_of(pid: i32) -> String {
    let name = fs::read_to_string(file(pid, "comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// Raises the priority of this process and its future children, if allowed. With `real_time` they
/// get real-time priority. Then the emulator of the testbed, which has real-time priority too, does
/// not interrupt them when it wakes up on their core. An interrupted program would let packets wait
/// and answer them in one burst.
pub fn be_prompt(real_time: bool) {
    const URGENT: libc::c_int = -19;
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: plain numbers; if the call is not allowed, the priority does not change.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, URGENT);
        if real_time {
            libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_among_all_and_has_a_name() {
        let own = std::process::id() as i32;
        assert!(all().contains(&own));
        assert!(!name_of(own).is_empty());
        assert!(describe(own).starts_with(&format!("process {own} (")));
    }
}
