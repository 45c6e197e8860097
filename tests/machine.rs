//! Rates and times that are measured on a machine which others use, too. What a core that is
//! taken away does to a transfer is not what is judged: such a measurement is done again, and
//! a test that never gets one says so, as Python's do (tests/real_time.py).
//!
//! Every crate with such tests includes this file.

use std::collections::HashMap;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// What all repeated measurements of a test program may take together.
const SPARE: Duration = Duration::from_secs(60);
static REPEATED_MS: AtomicU64 = AtomicU64::new(0);

/// The share of a core above which a measurement was disturbed.
const MOST_LOST: f64 = 0.01;

/// Why a test has ended without a judgement.
#[derive(Debug)]
pub struct TooBusy(pub String);

/// Measures until it is right. What is not fails at once on a machine that kept time meanwhile;
/// else it is measured again, as long as there is time to spare.
pub fn measured<T: Debug>(
    what: &str,
    mut measure: impl FnMut() -> T,
    is_right: impl Fn(&T) -> bool,
) -> Result<T, TooBusy> {
    loop {
        let start = Instant::now();
        let (measured, lost) = Lost::during(&mut measure);
        let took = start.elapsed();
        if is_right(&measured) {
            return Ok(measured);
        }
        let told = format!("{what}: {measured:?}, while {lost}");
        assert!(lost.share(took) > MOST_LOST, "{told}");
        let spent = REPEATED_MS.fetch_add(took.as_millis() as u64, Ordering::Relaxed);
        if Duration::from_millis(spent) > SPARE {
            return Err(TooBusy(format!(
                "the machine is too busy for real time: {told}"
            )));
        }
        println!("{told}: once more");
    }
}

/// Time in which cores were elsewhere while there was work for them here.
struct Lost {
    /// By the host of this machine, of all cores.
    stolen: Duration,
    /// For a core, by the threads of this process and the kernel's that forward packets.
    waited: Duration,
}

impl Lost {
    fn during<T>(measure: impl FnOnce() -> T) -> (T, Self) {
        let stolen_before = stolen();
        let (end, ended) = channel::<()>();
        // threads may end before the measurement does: they are looked at meanwhile
        let watcher = thread::spawn(move || {
            let forwarders = forwarders();
            let before = waits(&forwarders);
            let mut after = before.clone();
            loop {
                let next = ended.recv_timeout(Duration::from_millis(100));
                after.extend(waits(&forwarders));
                if next != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            let new = |(task, ns): (&PathBuf, &u64)| ns - before.get(task).unwrap_or(&0).min(ns);
            Duration::from_nanos(after.iter().map(new).sum())
        });
        let measured = measure();
        drop(end);
        let lost = Self {
            stolen: stolen().saturating_sub(stolen_before),
            waited: watcher.join().expect("it reads what is there"),
        };
        (measured, lost)
    }

    fn share(&self, of: Duration) -> f64 {
        (self.stolen + self.waited).as_secs_f64() / of.as_secs_f64()
    }
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (stolen, waited) = (self.stolen, self.waited);
        write!(
            f,
            "the machine's host took {stolen:.1?} and threads waited {waited:.1?} for a core"
        )
    }
}

fn stolen() -> Duration {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = stat.split_whitespace().nth(8).and_then(|t| t.parse().ok());
    // SAFETY: asks for a constant of the system.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
    Duration::from_millis(ticks.unwrap_or(0) * 1000 / per_second)
}

/// The kernel's threads that forward packets.
fn forwarders() -> Vec<PathBuf> {
    let is_one = |task: &Path| {
        fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("ksoftirqd/"))
    };
    tasks("/proc").filter(|task| is_one(task)).collect()
}

fn tasks(folder: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// How long each task has waited for a core (the second number of schedstat, ns).
fn waits(forwarders: &[PathBuf]) -> HashMap<PathBuf, u64> {
    tasks("/proc/self/task")
        .chain(forwarders.iter().cloned())
        .filter_map(|task| {
            let text = fs::read_to_string(task.join("schedstat")).ok()?;
            let waited = text.split(' ').nth(1)?.parse().ok()?;
            Some((task, waited))
        })
        .collect()
}
