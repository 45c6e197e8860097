//! Checks whether this process may load eBPF objects, and loads them.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use libbpf_rs::{ErrorKind, Object, ObjectBuilder, OpenObject, PrintLevel};

use crate::error::Failure;
use crate::objects::{built, user_file};

/// The reason, in one line, why this process cannot load eBPF objects on this machine; `None` if it
/// can.
#[must_use]
pub fn missing() -> Option<String> {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some("the kernel has no type information (/sys/kernel/btf/vmlinux)".to_owned());
    }
    missing_privilege()
}

/// The privilege that this process lacks, in one line; `None` if it lacks none.
#[must_use]
pub fn missing_privilege() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let capabilities = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    if may_load(capabilities) {
        None
    } else {
        Some("loading eBPF needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN".to_owned())
    }
}

/// Whether a set of effective capabilities (linux/capability.h) suffices to load eBPF objects.
fn may_load(capabilities: u64) -> bool {
    const NET_ADMIN: u64 = 1 << 12;
    const SYS_ADMIN: u64 = 1 << 21;
    const PERFMON: u64 = 1 << 38;
    const BPF: u64 = 1 << 39;
    let has = |all: u64| capabilities & all == all;
    has(NET_ADMIN | SYS_ADMIN) || has(NET_ADMIN | PERFMON | BPF)
}

thread_local! {
    /// libbpf's messages on this thread since the last call of [`keep_log`]. libbpf passes its
    /// messages to a callback only.
    static LOG: RefCell<String> = const { RefCell::new(String::new()) };
}

fn log(_level: PrintLevel, message: String) {
    LOG.with_borrow_mut(|log| log.push_str(&message));
}

/// The most informative line of the messages that libbpf sent since [`keep_log`] was called.
#[must_use]
pub fn last_message() -> String {
    reason_in(&take_log())
}

fn take_log() -> String {
    LOG.take()
}

/// From this call on, libbpf's messages are kept and not printed.
pub fn keep_log() {
    libbpf_rs::set_print(Some((PrintLevel::Info, log)));
    take_log();
}

/// The most informative line of libbpf's log: the verifier's last line before its statistics, or
/// libbpf's last line.
fn reason_in(log: &str) -> String {
    let noise = [
        "processed ",
        "-- ",
        "max_states",
        "libbpf:",
        "cur state",
        "old state",
    ];
    log.lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty() && !noise.iter().any(|n| line.starts_with(n)))
        .unwrap_or("the kernel gave no reason")
        .to_owned()
}

/// Fails if this process cannot load eBPF objects on this machine. `what` names the action that
/// needs eBPF objects.
///
/// # Errors
/// Objects cannot be loaded.
pub fn required(what: &str) -> Result<(), Failure> {
    match missing() {
        Some(reason) => Err(Failure::kernel_cannot(format!("cannot {what}: {reason}"))),
        None => Ok(()),
    }
}

/// Opens an eBPF object that the build made, and gives it a name. `what` describes the object in
/// errors.
///
/// # Errors
/// The build did not make the object, or libbpf refuses it.
pub fn open(made: Result<&[u8], &str>, name: &str, what: &str) -> Result<OpenObject, Failure> {
    let bytes = built::of_build(made)?;
    ObjectBuilder::default()
        .name(name)
        .and_then(|builder| builder.open_memory(bytes))
        .map_err(|e| Failure::failed(format!("cannot open the object of {what}: {e}")))
}

/// Loads an eBPF object into the kernel, whose verifier checks the object's programs.
///
/// # Errors
/// The kernel's reason, in one line.
pub fn load(open: OpenObject, name: &str) -> Result<Object, Failure> {
    keep_log();
    open.load().map_err(|error| {
        let log = take_log();
        let reason = reason_in(&log);
        match user_file::place_in(&log) {
            Some(place) => Failure::bad_input(format!("{place}: {reason}")),
            None => Failure::kernel_cannot(format!("cannot load {name}: {error}: {reason}")),
        }
    })
}

/// Returns the error for a congestion control that could not be attached.
#[must_use]
pub fn attach_error(name: &str, error: &libbpf_rs::Error) -> Failure {
    match error.kind() {
        ErrorKind::AlreadyExists => name_taken(name),
        _ => Failure::kernel_cannot(format!("cannot attach {name}: {error}")),
    }
}

/// Returns the error for a name that a congestion control of the kernel or of another program has
/// already.
#[must_use]
pub fn name_taken(name: &str) -> Failure {
    Failure::bad_input(format!(
        "the kernel has a congestion control {name} that is not Headway's; choose another name \
         with --name"
    ))
}

/// The kernel's jiffies per second, computed from the resolution of its coarse clock, which is one
/// jiffy.
#[must_use]
pub fn kernel_hz() -> u32 {
    // SAFETY: plain data for the result.
    let step_ns = unsafe {
        let mut step: libc::timespec = std::mem::zeroed();
        if libc::clock_getres(libc::CLOCK_REALTIME_COARSE, &mut step) != 0 {
            return 0;
        }
        step.tv_nsec
    };
    u32::try_from(step_ns)
        .ok()
        .filter(|&ns| ns > 0)
        .map_or(0, |ns| (1_000_000_000 + ns / 2) / ns)
}

/// Loads an eBPF object on trial, so that the verifier checks all its programs, and unloads it
/// again. Nothing is attached.
///
/// # Errors
/// The loader's error, followed by its log, which includes the verifier's.
pub fn verify(name: &str, bytes: &[u8]) -> Result<(), String> {
    ObjectBuilder::default()
        .name(name)
        .and_then(|builder| builder.open_memory(bytes))
        .map_err(|error| format!("cannot open {name}: {error}"))
        .and_then(|open| verify_open(name, open))
}

/// Like [`verify`], for an eBPF object that is open already.
///
/// # Errors
/// As [`verify`].
pub fn verify_open(name: &str, open: OpenObject) -> Result<(), String> {
    keep_log();
    open.load()
        .map(drop)
        .map_err(|error| format!("cannot load {name}: {error}\n{}", take_log()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_users_capabilities_are_not_enough() {
        assert!(may_load(u64::MAX));
        assert!(may_load(1 << 12 | 1 << 38 | 1 << 39));
        assert!(!may_load(0));
        assert!(!may_load(1 << 39));
    }

    #[test]
    fn the_kernels_tick_rate_is_a_usual_one() {
        assert!(
            [100, 250, 300, 1000].contains(&kernel_hz()),
            "{}",
            kernel_hz()
        );
    }

    #[test]
    fn the_last_line_of_the_verifier_is_taken_from_a_log() {
        let log = "libbpf: prog 'x': -- BEGIN PROG LOAD LOG --\n0: R1=ctx()\n\
                   no write support to tcp_sock at off 3\nprocessed 7 insns\n\
                   -- END PROG LOAD LOG --\n";
        assert_eq!(reason_in(log), "no write support to tcp_sock at off 3");
    }
}
