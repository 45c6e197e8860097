//! Measures rates and times on a shared machine. Tests should not fail because other programs took
//! a core: such a measurement is repeated, and a test without an undisturbed measurement reports
//! that, as in Python (tests/live/real_time.py).
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

/// How much time all repeated measurements of a test program may take together.
const SPARE: Duration = Duration::from_secs(30);
static REPEATED_MS: AtomicU64 = AtomicU64::new(0);

/// A measurement was disturbed if other work took more than this fraction of a core from it in
/// total, or more than this time between two readings of the tasks' times.
const MOST_LOST: f64 = 0.01;
const MOST_LOST_AT_ONCE: Duration = Duration::from_millis(20);
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Why a test has ended without a result.
#[derive(Debug)]
pub struct TooBusy(pub String);

/// Measures until the result is right. A wrong result fails at once if the machine kept time;
/// otherwise the measurement is repeated while time remains. If HEADWAY_BESIDE says that other
/// tests run, it fails at once: `make test-live` then runs the test again, alone.
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
        let result = format!("{what}: {measured:?}, while {lost}");
        let is_alone = std::env::var_os("HEADWAY_BESIDE").is_none();
        assert!(is_alone && lost.disturbed(took), "{result}");
        let spent = REPEATED_MS.fetch_add(took.as_millis() as u64, Ordering::Relaxed);
        if Duration::from_millis(spent) > SPARE {
            return Err(TooBusy(format!(
                "the machine is too busy for real time: {result}"
            )));
        }
        println!("{result}: once more");
    }
}

/// For how long tasks of the test were ready to run but cores did other work.
#[derive(Clone, Copy, Default)]
struct Lost {
    /// Time that the host of this virtual machine took from it (steal), over all cores.
    stolen: Duration,
    /// Time that tasks of the test (`taking_part`) waited for a core.
    waited: Duration,
    /// The largest stolen or waited time between two readings.
    at_once: Duration,
}

impl Lost {
    fn during<T>(measure: impl FnOnce() -> T) -> (T, Self) {
        let (end, ended) = channel::<()>();
        let (ready, begun) = channel::<()>();
        // read the tasks' times during the measurement, because a task may end before the
        // measurement
        let watcher = thread::spawn(move || {
            let (mut seen, mut stolen_before) = (waits(), stolen());
            let _ = ready.send(());
            let mut lost = Self::default();
            loop {
                let next = ended.recv_timeout(CHECK_INTERVAL);
                let mut waited_ns = 0;
                for (task, ns) in waits() {
                    // another task may have got the id of an ended one, so the difference may be
                    // negative
                    waited_ns += ns.saturating_sub(seen.insert(task, ns).unwrap_or(0));
                }
                let stolen_now = stolen();
                let stolen = stolen_now.saturating_sub(stolen_before);
                lost.add(stolen, Duration::from_nanos(waited_ns));
                stolen_before = stolen_now;
                if next != Err(RecvTimeoutError::Timeout) {
                    return lost;
                }
            }
        });
        let _ = begun.recv();
        let measured = measure();
        drop(end);
        (measured, watcher.join().expect("it reads what is there"))
    }

    fn add(&mut self, stolen: Duration, waited: Duration) {
        self.stolen += stolen;
        self.waited += waited;
        self.at_once = self.at_once.max(stolen + waited);
    }

    fn disturbed(&self, took: Duration) -> bool {
        let lost = self.stolen + self.waited;
        self.at_once >= MOST_LOST_AT_ONCE || lost > took.mul_f64(MOST_LOST)
    }
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (stolen, waited, at_once) = (self.stolen, self.waited, self.at_once);
        write!(
            f,
            "the machine's host took {stolen:.1?} and tasks waited {waited:.1?} for a core, \
             {at_once:.1?} of it at once"
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

/// The ids of the processes that take part in a measurement: this process and its descendants,
/// background processes of headwayctl such as emulators, and the kernel threads that forward
/// packets.
fn taking_part() -> Vec<PathBuf> {
    let mut parents = HashMap::new();
    let mut all = Vec::new();
    for folder in entries("/proc".as_ref()) {
        let Ok(text) = fs::read_to_string(folder.join("stat")) else {
            continue; // not a process, or one that has ended
        };
        // the fields are: pid (name) state parent
        let fields = text.split_once(" (").zip(text.rsplit_once(") "));
        let Some(((pid, name), (_, rest))) = fields else {
            continue;
        };
        let parent = rest.split(' ').nth(1).and_then(|word| word.parse().ok());
        if let (Ok(pid), Some(parent)) = (pid.parse::<u32>(), parent) {
            parents.insert(pid, parent);
            let by_name = ["ksoftirqd/", "headwayctl)"];
            all.push((pid, by_name.iter().any(|n| name.starts_with(n)), folder));
        }
    }
    let own = std::process::id();
    all.retain(|(pid, by_name, _)| {
        let line = std::iter::successors(Some(*pid), |pid| parents.get(pid).copied());
        *by_name || line.take(20).any(|pid| pid == own)
    });
    all.into_iter().map(|(_, _, folder)| folder).collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// For each task, how long it has waited for a core: the second number of its schedstat file, in
/// ns.
fn waits() -> HashMap<PathBuf, u64> {
    taking_part()
        .iter()
        .flat_map(|process| entries(&process.join("task")))
        .filter_map(|task| {
            let text = fs::read_to_string(task.join("schedstat")).ok()?;
            let waited = text.split(' ').nth(1)?.parse().ok()?;
            Some((task, waited))
        })
        .collect()
}
