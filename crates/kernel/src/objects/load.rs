//! Whether this process may load objects, and loading them.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use libbpf_rs::{ErrorKind, Object, ObjectBuilder, OpenObject, PrintLevel};

use crate::error::Failure;
use crate::objects::brought;

/// What this machine lacks to load an object, in one line; `None` if nothing.
#[must_use]
pub fn missing() -> Option<String> {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some("the kernel has no type information (/sys/kernel/btf/vmlinux)".to_owned());
    }
    missing_privilege()
}

/// What this process is not allowed, in one line; `None` if nothing.
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

/// Whether a set of effective capabilities suffices (linux/capability.h).
fn may_load(capabilities: u64) -> bool {
    const NET_ADMIN: u64 = 1 << 12;
    const SYS_ADMIN: u64 = 1 << 21;
    const PERFMON: u64 = 1 << 38;
    const BPF: u64 = 1 << 39;
    let has = |all: u64| capabilities & all == all;
    has(NET_ADMIN | SYS_ADMIN) || has(NET_ADMIN | PERFMON | BPF)
}

thread_local! {
    /// What libbpf printed since the last call, of this thread's objects; its messages have no
    /// other way out.
    static LOG: RefCell<String> = const { RefCell::new(String::new()) };
}

fn log(_level: PrintLevel, message: String) {
    LOG.with_borrow_mut(|log| log.push_str(&message));
}

/// The line of libbpf's messages that says most, since [`keep_log`].
#[must_use]
pub fn said() -> String {
    gist(&take_log())
}

fn take_log() -> String {
    LOG.take()
}

/// From here on libbpf's messages are kept instead of printed.
pub fn keep_log() {
    libbpf_rs::set_print(Some((PrintLevel::Info, log)));
    take_log();
}

/// The line of the log that says most: the verifier's last word before its
/// statistics, or libbpf's.
fn gist(log: &str) -> String {
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

/// Fails with one line where this machine or this process cannot load objects, which `what` needs.
///
/// # Errors
/// It cannot.
pub fn required(what: &str) -> Result<(), Failure> {
    match missing() {
        Some(reason) => Err(Failure::kernel_cannot(format!("cannot {what}: {reason}"))),
        None => Ok(()),
    }
}

/// What the build made of the eBPF programs.
///
/// # Errors
/// It made none, for a reason that it knew.
pub fn of_build<T>(made: Result<T, &str>) -> Result<T, Failure> {
    made.map_err(|reason| Failure::failed(format!("this build has no eBPF objects: {reason}")))
}

/// Opens an object of the build under a name; `what` it is of.
///
/// # Errors
/// It was not made, or libbpf does not take it.
pub fn open(made: Result<&[u8], &str>, name: &str, what: &str) -> Result<OpenObject, Failure> {
    let bytes = of_build(made)?;
    ObjectBuilder::default()
        .name(name)
        .and_then(|builder| builder.open_memory(bytes))
        .map_err(|e| Failure::failed(format!("cannot open the object of {what}: {e}")))
}

/// Loads an object, which is when the kernel's verifier judges its programs.
///
/// # Errors
/// What the kernel said, in one line.
pub fn load(open: OpenObject, name: &str) -> Result<Object, Failure> {
    keep_log();
    open.load().map_err(|error| {
        let log = take_log();
        let gist = gist(&log);
        match brought::place_in(&log) {
            Some(place) => Failure::bad_input(format!("{place}: {gist}")),
            None => Failure::kernel_cannot(format!("cannot load {name}: {error}: {gist}")),
        }
    })
}

/// Why a control could not be attached.
#[must_use]
pub fn attach_error(name: &str, error: &libbpf_rs::Error) -> Failure {
    match error.kind() {
        ErrorKind::AlreadyExists => name_taken(name),
        _ => Failure::kernel_cannot(format!("cannot attach {name}: {error}")),
    }
}

/// The kernel's own, or another program's.
#[must_use]
pub fn name_taken(name: &str) -> Failure {
    Failure::bad_input(format!(
        "the kernel has a congestion control {name} that is not Headway's; choose another name with --name"
    ))
}

/// Jiffies per second: the kernel's coarse clock goes by jiffies and tells its step.
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

/// Loads an object on trial, so that the verifier judges every program of it, and
/// unloads it again. Nothing is attached.
///
/// # Errors
/// The loader's error followed by its log, which holds the verifier's.
pub fn verify(name: &str, bytes: &[u8]) -> Result<(), String> {
    ObjectBuilder::default()
        .name(name)
        .and_then(|builder| builder.open_memory(bytes))
        .map_err(|error| format!("cannot open {name}: {error}"))
        .and_then(|open| verify_open(name, open))
}

/// The same with an object that is open.
///
/// # Errors
/// As of [`verify`].
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
    fn capabilities_of_an_ordinary_user_do_not_suffice() {
        assert!(may_load(u64::MAX));
        assert!(may_load(1 << 12 | 1 << 38 | 1 << 39));
        assert!(!may_load(0));
        assert!(!may_load(1 << 39));
    }

    #[test]
    fn the_kernels_tick_is_a_usual_one() {
        assert!(
            [100, 250, 300, 1000].contains(&kernel_hz()),
            "{}",
            kernel_hz()
        );
    }

    #[test]
    fn the_gist_of_a_log_is_the_verifiers_last_word() {
        let log = "libbpf: prog 'x': -- BEGIN PROG LOAD LOG --\n0: R1=ctx()\n\
                   no write support to tcp_sock at off 3\nprocessed 7 insns\n\
                   -- END PROG LOAD LOG --\n";
        assert_eq!(gist(log), "no write support to tcp_sock at off 3");
    }
}
