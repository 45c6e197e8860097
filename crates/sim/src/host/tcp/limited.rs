//! How long limits other than cwnd held the sender back, counted as in TCP_INFO (tcpi_rwnd_limited,
//! tcpi_sndbuf_limited; tcp_chrono_start, tcp_chrono_stop).
//!
//! - The peer's window limits the sender from a transmission that stops at this window until the
//!   next transmission that does not.
//! - The send buffer limits the sender while all data is sent, cwnd has room and the writer waits
//!   for memory (tcp_cwnd_validate). This limit ends when the writer is woken (tcp_check_space). A
//!   writer that is writing does not wait.
//! - While both limit the sender, the time counts for the buffer only.

/// What holds a sender back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LimitedBy {
    #[default]
    Nothing,
    Window,
    Buffer,
}

/// A sum of time intervals, some of which may not have ended yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct LimitedTime {
    ns: i64,
    open: i64,
}

impl LimitedTime {
    fn step(&mut self, now_ns: u64, step: i64) {
        self.ns -= step * now_ns as i64;
        self.open += step;
    }

    /// The sum in microseconds. Intervals that are still open count until now.
    pub fn until_us(self, now_ns: u64) -> u64 {
        ((self.ns + self.open * now_ns as i64) / 1000) as u64
    }

    pub fn add(&mut self, other: LimitedTime) {
        self.ns += other.ns;
        self.open += other.open;
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Limited {
    pub(super) by: LimitedBy,
    /// Whether the writer is writing at the moment. Data that is sent during a write does not find
    /// the writer waiting for memory.
    pub(super) writes: bool,
    /// When a transmission of data last stopped at the peer's window.
    stopped_ns: u64,
    pub window: LimitedTime,
    pub buffer: LimitedTime,
}

impl Limited {
    /// Records that this limit holds the sender back from now on.
    #[cold]
    pub(super) fn set(&mut self, now_ns: u64, by: LimitedBy) {
        self.step(now_ns, -1);
        self.by = by;
        self.step(now_ns, 1);
    }

    /// Called when a transmission of data stops at the peer's window.
    #[cold]
    pub(super) fn stops(&mut self, now_ns: u64) {
        self.stopped_ns = now_ns;
        if self.by == LimitedBy::Nothing {
            self.set(now_ns, LimitedBy::Window);
        }
    }

    /// Called when a transmission has sent data or was limited by cwnd. Ends the limit by the
    /// peer's window, unless this transmission also stopped at that window.
    #[inline]
    pub(super) fn goes_on(&mut self, now_ns: u64) {
        if self.by == LimitedBy::Window && self.stopped_ns != now_ns {
            self.set(now_ns, LimitedBy::Nothing);
        }
    }

    /// Called when all data is sent, cwnd has room, and the writer waits for memory.
    #[cold]
    pub(super) fn buffer(&mut self, now_ns: u64) {
        if !self.writes && self.by != LimitedBy::Buffer {
            self.set(now_ns, LimitedBy::Buffer);
        }
    }

    fn step(&mut self, now_ns: u64, step: i64) {
        match self.by {
            LimitedBy::Nothing => {}
            LimitedBy::Window => self.window.step(now_ns, step),
            LimitedBy::Buffer => self.buffer.step(now_ns, step),
        }
    }
}
