//! `headwayctl watchdog`: removes the testbeds, congestion controls and hints of a program that was
//! killed.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

use clap::Args;

use crate::attach::detach;
use crate::error::Failure;
use crate::mechanisms::hints;
use crate::system::rundir;
use crate::testbed;

/// For how long the watchdog repeats the removal. A command that the killed program started may
/// still run, and may create testbeds or attach congestion controls.
const PATIENCE: Duration = Duration::from_secs(10);

/// Read the lines "testbed NAME", "control NAME" and "hints" from stdin. If stdin ends before the
/// line "done", remove the named testbeds and controls, and the hints
#[derive(Debug, Args)]
pub struct WatchdogCommand {}

pub(super) fn run(_: &WatchdogCommand) -> Result<(), Failure> {
    let (mut testbeds, mut controls, mut takes_hints) = (vec![], vec![], false);
    for line in std::io::stdin().lines() {
        // any error means that the program that writes to this pipe has ended
        let Ok(line) = line else { break };
        match line.split_once(' ') {
            Some(("testbed", name)) => testbeds.push(name.to_owned()),
            Some(("control", name)) => controls.push(name.to_owned()),
            None if line == "hints" => takes_hints = true,
            None if line == "done" => return Ok(()),
            _ => {
                return Err(Failure::bad_input(format!(
                    "\"{line}\": must be testbed NAME, control NAME, hints or done"
                )))
            }
        }
    }
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        // ignore errors, because a testbed or control may not exist, or may not exist yet
        for name in &testbeds {
            let _ = testbed::down(Some(name), false);
        }
        for name in &controls {
            let _ = detach::detach(detach::Target::Control(name));
        }
        if takes_hints && nobody_runs() {
            // keep the default hints for prefixes, because a user may have set them by hand
            let _ = hints::detach(true, false);
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(())
}

/// Whether no other program runs experiments that use hints. Each such program locks a file
/// (python/headway/backends/kernel/hints.py).
fn nobody_runs() -> bool {
    let scope = rundir::scope().unwrap_or_default();
    let dash = if scope.is_empty() { "" } else { "-" };
    let Ok(lock) = File::open(format!("/run/headway.hints{dash}{scope}")) else {
        return true;
    };
    // SAFETY: the descriptor is valid; closing it releases the lock.
    unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}
