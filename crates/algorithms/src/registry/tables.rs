//! Reads the C tables of algorithms. Only this module turns pointers of the registry into Rust
//! values, both for built-in algorithms and for users' files.

use std::ffi::{c_char, CStr};

use super::{ControlFlags, ControlInfo, CounterInfo, RouterInfo, TunableInfo};
use crate::ffi;

/// A C table of constants.
pub(crate) struct Ops<T>(pub(crate) *const T);

impl<T> Clone for Ops<T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<T> PartialEq for Ops<T> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl<T> std::fmt::Debug for Ops<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:p}", self.0)
    }
}

// SAFETY: the tables are immutable and live as long as the program.
unsafe impl<T> Send for Ops<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Ops<T> {}

/// # Safety
/// `text` is a C string literal.
pub(crate) unsafe fn text(text: *const c_char) -> &'static str {
    // SAFETY: a literal of the algorithms, which are ASCII; the caller's promise.
    unsafe { CStr::from_ptr(text) }
        .to_str()
        .expect("the algorithms' texts are ASCII")
}

/// What C declares as an array of unknown length.
///
/// # Safety
/// The array has `n` elements and exists as long as the program runs.
pub(crate) unsafe fn tables<T>(first: *const [T; 0], n: u32) -> &'static [T] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(first.cast(), n as usize) }
}

/// # Safety
/// `first` points to `n` tunables declared by an algorithm.
pub(super) unsafe fn tunables(first: *const ffi::Tunable, n: u32) -> Vec<TunableInfo> {
    (0..n as usize)
        .map(|i| {
            // SAFETY: within the table by the caller's promise; its texts are literals.
            unsafe {
                let t = &*first.add(i);
                TunableInfo {
                    name: text(t.name),
                    unit: text(t.unit),
                    meaning: text(t.meaning),
                    default: t.default_value,
                    min: t.min_value,
                    max: t.max_value,
                }
            }
        })
        .collect()
}

/// Reads a control's table.
///
/// # Safety
/// It is a constant table, its texts are literals and its tunables its own.
pub(crate) unsafe fn control_info(
    ops: &'static ffi::CcOps,
    header: Option<&'static str>,
    file: Option<&'static str>,
) -> ControlInfo {
    // SAFETY: the caller's promise.
    unsafe {
        ControlInfo {
            name: text(ops.name),
            title: text(ops.title),
            source: text(ops.source),
            startup: (!ops.startup.is_null()).then(|| text(ops.startup)),
            flags: ControlFlags(ops.flags),
            state_bytes: ops.state_bytes,
            send_windows: match ops.send_windows {
                0 => 2,
                windows => windows,
            },
            takes_samples: ffi::hw_native_takes_samples(ops) != 0,
            reads_monitor: ffi::hw_native_reads_monitor(ops) != 0,
            tunables: tunables(ops.tunables, ops.n_tunables),
            header,
            file,
            ops: Ops(ops),
        }
    }
}

/// # Safety
/// `first` points to `n` counters declared by an algorithm.
unsafe fn counters(first: *const ffi::Counter, n: u32) -> Vec<CounterInfo> {
    (0..n as usize)
        .map(|i| {
            // SAFETY: within the table by the caller's promise; its texts are literals.
            unsafe {
                let counter = &*first.add(i);
                CounterInfo {
                    name: text(counter.name),
                    unit: text(counter.unit),
                    meaning: text(counter.meaning),
                    times: u64::from(counter.times.max(1)),
                }
            }
        })
        .collect()
}

/// Reads a router's table.
///
/// # Safety
/// It is a constant table, its texts are literals and its tunables and counters its own.
pub(crate) unsafe fn router_info(
    ops: &'static ffi::RouterOps,
    header: Option<&'static str>,
    file: Option<&'static str>,
) -> RouterInfo {
    // SAFETY: the caller's promise.
    unsafe {
        RouterInfo {
            name: text(ops.name),
            title: text(ops.title),
            source: text(ops.source),
            state_bytes: ops.state_bytes,
            tunables: tunables(ops.tunables, ops.n_tunables),
            counters: counters(ops.counters, ops.n_counters),
            events: counters(ops.events, ops.n_events),
            header,
            publishes: ffi::hw_native_publishes(ops) != 0,
            file,
            ops: Ops(ops),
        }
    }
}
