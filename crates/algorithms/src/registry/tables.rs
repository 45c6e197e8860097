//! Reads the parts that all C tables of algorithms have: lists, texts and tunables. Used for
//! built-in algorithms and users' own files.

use std::ffi::{c_char, CStr};

use super::TunableInfo;
use crate::ffi;

/// A pointer to a constant C table.
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
    // SAFETY: by the contract of this function, `text` is a literal. The algorithms' literals are
    // ASCII.
    unsafe { CStr::from_ptr(text) }
        .to_str()
        .expect("the algorithms' texts are ASCII")
}

/// Makes a slice of an array that C declares without its length.
///
/// # Safety
/// The array has `n` elements and exists as long as the program runs.
pub(crate) unsafe fn tables<T>(first: *const [T; 0], n: u32) -> &'static [T] {
    // SAFETY: by the contract of this function.
    unsafe { std::slice::from_raw_parts(first.cast(), n as usize) }
}

/// # Safety
/// `first` points to `n` tunables declared by an algorithm.
pub(super) unsafe fn tunables(first: *const ffi::Tunable, n: u32) -> Vec<TunableInfo> {
    (0..n as usize)
        .map(|i| {
            // SAFETY: by the contract of this function the tunable is within the table, whose texts
            // are literals.
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
