//! The memory that this process may still use.

use std::fs;

const PAGE_BYTES: u64 = 4096;
/// Ratio of the address space that Polars' allocators and threads reserve to the memory that they
/// use.
const ADDRESSES_PER_BYTE: u64 = 3;

/// The smallest of the machine's free memory, the rest of the control group's limit, and the rest
/// of the process's limit of address space. A limit that Linux does not report is ignored.
pub fn free_bytes() -> u64 {
    [machine(), group(), own()]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(u64::MAX)
}

fn machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

fn group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let name = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let folder = format!("/sys/fs/cgroup{name}");
    let number = |file: &str| -> Option<u64> {
        fs::read_to_string(format!("{folder}/{file}"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

fn own() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max address space"))?;
    let most: u64 = line.split_whitespace().nth(3)?.parse().ok()?;
    let pages = fs::read_to_string("/proc/self/statm").ok()?;
    let taken: u64 = pages.split_whitespace().next()?.parse().ok()?;
    Some(most.saturating_sub(taken * PAGE_BYTES) / ADDRESSES_PER_BYTE)
}
