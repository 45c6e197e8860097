//! Rates and times that are measured on a machine which others use, too. What a core that is
//! taken away does to a transfer is not what is judged: such a measurement is done again, and
//! a test that never gets one says so, as Python's do (`punctual` in tests/support.py).

use std::any::Any;
use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What all repeated measurements of a test program may take together.
const SPARE: Duration = Duration::from_secs(60);
static REPEATED_MS: AtomicU64 = AtomicU64::new(0);

/// The share of a core above which a measurement was disturbed.
const MOST_LOST: f64 = 0.01;

/// Why a test has ended without a judgement.
struct TooBusy(String);

/// The reason, where that is how a test ended.
pub fn too_busy(ended: &(dyn Any + Send)) -> Option<&str> {
    ended.downcast_ref().map(|TooBusy(reason)| reason.as_str())
}

/// Measures until it is right. What is not fails at once on a machine that kept time meanwhile;
/// else it is measured again, as long as there is time to spare.
pub fn holds<T: Debug>(
    what: &str,
    mut measure: impl FnMut() -> T,
    is_right: impl Fn(&T) -> bool,
) -> T {
    loop {
        let before = Lost::now();
        let measured = measure();
        let (lost, took) = before.since();
        if is_right(&measured) {
            return measured;
        }
        let told = format!("{what}: {measured:?}, while {lost}");
        assert!(lost.share(took) > MOST_LOST, "{told}");
        let spent = REPEATED_MS.fetch_add(took.as_millis() as u64, Ordering::Relaxed);
        if Duration::from_millis(spent) > SPARE {
            let reason = format!("the machine is too busy for real time: {told}");
            std::panic::resume_unwind(Box::new(TooBusy(reason)));
        }
        println!("{told}: once more");
    }
}

/// Time in which cores were elsewhere while there was work for them here.
struct Lost {
    at: Instant,
    /// By the host of this machine, of all cores.
    stolen: Duration,
    /// For a core, by the threads of this process.
    waited: Duration,
    /// The same by the kernel's threads that forward packets.
    kernel_waited: Duration,
}

impl Lost {
    fn now() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let ticks = stat.split_whitespace().nth(8).and_then(|t| t.parse().ok());
        // SAFETY: asks for a constant of the system.
        let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
        let is_softirq = |task: &Path| {
            fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("ksoftirqd/"))
        };
        Self {
            at: Instant::now(),
            stolen: Duration::from_millis(ticks.unwrap_or(0) * 1000 / per_second),
            waited: waited(Path::new("/proc/self/task"), |_| true),
            kernel_waited: waited(Path::new("/proc"), is_softirq),
        }
    }

    fn since(&self) -> (Self, Duration) {
        let now = Self::now();
        let lost = Self {
            at: now.at,
            stolen: now.stolen.saturating_sub(self.stolen),
            waited: now.waited.saturating_sub(self.waited),
            kernel_waited: now.kernel_waited.saturating_sub(self.kernel_waited),
        };
        (lost, now.at - self.at)
    }

    fn share(&self, of: Duration) -> f64 {
        (self.stolen + self.waited + self.kernel_waited).as_secs_f64() / of.as_secs_f64()
    }
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the machine's host took {:?}, this program waited {:?} for a core and the kernel's \
             network {:?}",
            self.stolen, self.waited, self.kernel_waited
        )
    }
}

/// Sums how long tasks have waited for a core (the second number of schedstat, ns).
fn waited(tasks: &Path, counts: impl Fn(&Path) -> bool) -> Duration {
    let of = |task: &Path| -> Option<u64> {
        let text = fs::read_to_string(task.join("schedstat")).ok()?;
        text.split(' ').nth(1)?.parse().ok()
    };
    let all = fs::read_dir(tasks).into_iter().flatten().flatten();
    let paths = all.map(|entry| entry.path()).filter(|path| counts(path));
    Duration::from_nanos(paths.filter_map(|path| of(&path)).sum())
}
