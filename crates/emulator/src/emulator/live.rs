//! Access from another thread to a running emulator: its summary, and the start of its schedules.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::summary::Summary;

/// A summary that another thread can read.
#[derive(Clone)]
pub struct Live(Arc<Mutex<Summary>>);

/// Lets another thread set the start of schedules and traces.
#[derive(Clone, Default)]
pub struct Begin(Arc<AtomicU64>);

impl Begin {
    /// Sets their time 0 to `time_ns` of `CLOCK_MONOTONIC`, which may be in the future. Until then
    /// a schedule's first step applies, and a trace delivers nothing.
    pub fn at(&self, time_ns: u64) {
        self.0.store(time_ns, Ordering::Relaxed);
    }

    /// Takes the start that another thread has set; 0 if none has.
    pub(super) fn take_ns(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Live {
    pub(super) fn new(summary: Summary) -> Live {
        Live(Arc::new(Mutex::new(summary)))
    }

    /// Makes a summary available to other threads.
    pub(super) fn publish(&self, summary: &Summary) {
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) = summary.clone();
    }

    /// The most recent summary.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }
}
