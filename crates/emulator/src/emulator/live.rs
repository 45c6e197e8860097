//! Access from another thread to a running emulator: its summary, and the start of its schedules.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::summary::Summary;

/// The emulator's summary, which another thread can read while the emulator runs.
#[derive(Clone)]
pub struct Live(Arc<Mutex<Summary>>);

/// A handle with which another thread sets the time at which schedules and traces start.
#[derive(Clone, Default)]
pub struct Begin(Arc<AtomicU64>);

impl Begin {
    /// Sets time 0 of schedules and traces to `time_ns` of `CLOCK_MONOTONIC`, which may be in the
    /// future. Until then a schedule's first step applies, and a trace delivers nothing.
    pub fn at(&self, time_ns: u64) {
        self.0.store(time_ns, Ordering::Relaxed);
    }

    /// Returns and clears the start time that another thread has set; 0: no thread has set one.
    pub(super) fn take_ns(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Live {
    pub(super) fn new(summary: Summary) -> Live {
        Live(Arc::new(Mutex::new(summary)))
    }

    /// Publishes a new summary for other threads.
    pub(super) fn publish(&self, summary: &Summary) {
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) = summary.clone();
    }

    /// The summary that the emulator published last.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }
}
