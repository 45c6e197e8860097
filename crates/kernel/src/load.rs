//! Whether this process may load objects, and loading one on trial.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use libbpf_rs::{ObjectBuilder, PrintLevel};

/// What this machine lacks to load an object, in one line; `None` if nothing.
#[must_use]
pub fn missing() -> Option<String> {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some("the kernel has no type information (/sys/kernel/btf/vmlinux)".to_owned());
    }
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

/// What libbpf printed since the last call; its messages have no other way out.
static LOG: Mutex<String> = Mutex::new(String::new());

fn log(_level: PrintLevel, message: String) {
    LOG.lock()
        .unwrap_or_else(|e| e.into_inner())
        .push_str(&message);
}

/// Loads an object, so that the kernel's verifier judges every program of it, and
/// unloads it again. Nothing is attached.
///
/// # Errors
/// The loader's error followed by its log, which holds the verifier's.
pub fn verify(name: &str, bytes: &[u8]) -> Result<(), String> {
    libbpf_rs::set_print(Some((PrintLevel::Info, log)));
    std::mem::take(&mut *LOG.lock().unwrap_or_else(|e| e.into_inner()));
    ObjectBuilder::default()
        .name(name)
        .and_then(|builder| builder.open_memory(bytes))
        .and_then(|object| object.load())
        .map(drop)
        .map_err(|error| {
            let log = std::mem::take(&mut *LOG.lock().unwrap_or_else(|e| e.into_inner()));
            format!("cannot load {name}: {error}\n{log}")
        })
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
}
