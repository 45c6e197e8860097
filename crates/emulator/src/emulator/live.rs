//! Access from another thread to a running emulator: its summary, and the start of its schedules.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::Emulator;
use crate::clock;
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
}

impl Live {
    pub(super) fn new(summary: Summary) -> Live {
        Live(Arc::new(Mutex::new(summary)))
    }

    /// The most recent summary.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }
}

impl Emulator {
    /// Restarts schedules and traces if another thread has set their start.
    pub(super) fn begin_anew(&mut self) {
        let begin_ns = self.begin.0.swap(0, Ordering::Relaxed);
        if begin_ns > 0 {
            self.summary.schedule_start_ns = begin_ns;
            for direction in &mut self.directions {
                direction.begin_at(begin_ns);
            }
        }
    }

    /// Updates the summary and makes it available to other threads.
    pub(super) fn account(&mut self, now_ns: u64, cpu_ns: u64, wait_ns: Option<u64>) {
        let summary = &mut self.summary;
        summary.end_ns = now_ns;
        summary.cpu_ns = clock::thread_cpu_ns() - cpu_ns;
        summary.cpu_wait_ns = clock::thread_wait_ns()
            .zip(wait_ns)
            .map(|(after, before)| after - before);
        if let Some(log) = &mut self.log {
            if !summary.finished {
                log.hand_over();
            }
            (summary.log_rows, summary.log_lost_rows) = log.rows();
        }
        if let Some(tap) = &mut self.tap {
            summary.capture_lost_pkts = tap.lost_pkts();
        }
        summary.directions = self
            .directions
            .iter_mut()
            .map(|d| d.summary(now_ns))
            .collect();
        summary.judge();
        *self.live.0.lock().unwrap_or_else(|e| e.into_inner()) = summary.clone();
    }
}
