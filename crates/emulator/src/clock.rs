//! Reads the machine's clocks and the processor time of this thread.

use rustix::time::{clock_gettime, ClockId, Timespec};

fn ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Current time of `CLOCK_MONOTONIC`.
#[must_use]
pub fn monotonic_ns() -> u64 {
    ns(ClockId::Monotonic)
}

/// Current time in nanoseconds since 1970.
pub(crate) fn unix_ns() -> u64 {
    ns(ClockId::Realtime)
}

/// Processor time that this thread has used.
pub(crate) fn thread_cpu_ns() -> u64 {
    ns(ClockId::ThreadCPUTime)
}

/// How long this thread was runnable but waited for a core; `None` on a kernel without scheduler
/// statistics.
pub(crate) fn thread_wait_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Converts a duration to the kernel's structure timespec.
pub(crate) fn timespec(duration_ns: u64) -> Timespec {
    Timespec {
        tv_sec: (duration_ns / 1_000_000_000) as i64,
        tv_nsec: (duration_ns % 1_000_000_000) as _,
    }
}

/// Requests punctual wake-ups of this thread. With `real_time` it requests real-time scheduling, so
/// that the thread runs as soon as it wakes. Returns whether real-time scheduling was granted. The
/// kernel may refuse these requests if the user is not root. The emulator then still measures how
/// late packets are.
pub(crate) fn be_punctual(real_time: bool) -> bool {
    // Short slices let the thread run soon after it wakes (since Linux 6.12; older
    // kernels ignore them).
    const SLICE_NS: u64 = 100_000;
    const MOST_URGENT: i32 = -20;
    // SAFETY: the structure is plain data, for which zero is a valid value.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.size = size_of::<libc::sched_attr>() as u32;
    // SAFETY: the structure outlives the call. The calls change this thread only.
    let set = |attributes: &libc::sched_attr| unsafe {
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const *attributes, 0) == 0
    };
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1usize) };
    if real_time {
        attributes.sched_policy = libc::SCHED_FIFO as u32;
        attributes.sched_priority = 1;
        if set(&attributes) {
            return true;
        }
    }
    attributes.sched_policy = libc::SCHED_OTHER as u32;
    attributes.sched_priority = 0;
    attributes.sched_nice = MOST_URGENT;
    attributes.sched_runtime = SLICE_NS;
    set(&attributes);
    false
}
