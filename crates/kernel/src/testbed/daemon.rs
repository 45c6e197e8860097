//! The process of a testbed's emulator. It outlives `testbed up` only if `up` completes: `up` then
//! reports this through a pipe. Before this report, the emulator exits when `up` exits. Until then
//! the emulator also holds the lock on testbeds, so that `testbed down` waits for the emulator.
//!
//! It outlives `up` only if `up` completes. Until `up` reports through a pipe that it has
//! completed, the emulator exits when `up` exits. Until then the emulator also holds the lock, so
//! that `down` waits for it.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;

use headway_emulator::{tun, Config, Emulator, EmulatorError, Summary};

use super::gateway;
use super::names::GATEWAY;
use super::state::{self, HostState, State};
use crate::error::{Attempt as _, Failure};
use crate::system::netns::Netns;

/// The emulator sends this message to `testbed up` when the TUN devices exist.
pub const READY: &str = "ready";
/// `testbed up` sends this message to the emulator when `up` has completed.
pub const COMMIT: u8 = b'c';
/// The signal that starts the schedules and traces of --vary. The signal carries the start time as
/// its value.
const BEGIN: i32 = libc::SIGUSR1;

fn failed(error: EmulatorError) -> Failure {
    Failure::failed(error.to_string())
}

/// Runs the emulator of a testbed until a signal ends it. `lock_fd` is the descriptor of the lock,
/// inherited from `testbed up`.
///
/// # Errors
/// A device cannot be made, or the log cannot be written.
pub fn run_emulator(name: &str, lock_fd: i32) -> Result<(), Failure> {
    // SAFETY: plain numbers.
    if lock_fd < 3 || unsafe { libc::fcntl(lock_fd, libc::F_GETFD) } < 0 {
        return Err(Failure::bad_input(
            "only `testbed up` can start the emulator",
        ));
    }
    // SAFETY: `up` passes the number of a descriptor that only this process uses now.
    let lock = unsafe { OwnedFd::from_raw_fd(lock_fd) };
    // Block the signals in all threads, which inherit this mask. The loop below waits for the
    // signals.
    let signals = block_signals();
    let state =
        State::load(name).ok_or_else(|| Failure::bad_input(format!("no testbed {name}")))?;
    let (mut emulator, mut ground) = emulators(&state)?;

    println!("{READY}");
    io::stdout()
        .flush()
        .attempt("send a message to `testbed up`")?;
    let mut word = [0];
    if io::stdin().read_exact(&mut word).is_err() || word[0] != COMMIT {
        return Err(Failure::failed("`testbed up` did not complete"));
    }
    drop(lock);
    leave()?;

    let stop = AtomicBool::new(false);
    let (live, begin) = (emulator.live(), emulator.begin());
    let of_ground = ground
        .as_ref()
        .map(|ground| (ground.live(), ground.begin()));
    let result = std::thread::scope(|scope| {
        let running = scope.spawn(|| emulator.run(&stop));
        let beside = ground
            .as_mut()
            .map(|ground| scope.spawn(|| ground.run(&stop)));
        let ended = || beside.as_ref().is_some_and(|beside| beside.is_finished());
        while !running.is_finished() && !ended() {
            match wait_for(&signals) {
                SignalRequest::Nothing => {}
                SignalRequest::Begin(time_ns) => {
                    begin.at(time_ns);
                    if let Some((_, begin)) = &of_ground {
                        begin.at(time_ns);
                    }
                    continue;
                }
                SignalRequest::End => {
                    stop.store(true, Ordering::Relaxed);
                    break;
                }
            }
            let summary = judged(
                live.summary(),
                of_ground.as_ref().map(|(live, _)| live.summary()),
                &state.hosts,
            );
            // Ignore errors, because a full disk must not end the emulator. Only writing the last
            // summary must not fail.
            let _ = state::save_summary(name, &summary);
        }
        stop.store(true, Ordering::Relaxed);
        let beside = beside.map(joined).transpose()?;
        Ok((joined(running)?, beside))
    });
    let (summary, beside) = result.map_err(failed)?;
    let summary = judged(summary, beside, &state.hosts);
    let what = "write the summary";
    state::save_summary(name, &summary).attempt(what)?;
    if let Some(folder) = &state.log {
        state::write_whole(&folder.join("summary.json"), &summary).attempt(what)?;
    }
    Ok(())
}

/// Waits for one of the emulator's threads to end, and returns its result.
fn joined(
    thread: ScopedJoinHandle<'_, Result<Summary, EmulatorError>>,
) -> Result<Summary, EmulatorError> {
    thread
        .join()
        .unwrap_or_else(|_| Err(EmulatorError("the emulator panicked".into())))
}

/// Opens a TUN device of a host.
fn device(host: &HostState, name: &str) -> Result<OwnedFd, Failure> {
    Netns::find(&host.namespace)?
        .inside(|| tun::create(name))
        .attempt(format!("make device {name} of {}", host.name))
}

/// Opens the TUN devices of several hosts.
fn devices(hosts: &[&HostState]) -> Result<Vec<OwnedFd>, Failure> {
    hosts
        .iter()
        .map(|host| device(host, &host.device))
        .collect()
}

/// Creates the devices of a path with a gateway, and starts an emulator for each of its two legs.
/// The satellite leg comes first.
fn emulators(state: &State) -> Result<(Emulator, Option<Emulator>), Failure> {
    let side = |side: &str| -> Vec<&HostState> {
        let hosts = state.hosts.iter();
        hosts.filter(|host| host.name.starts_with(side)).collect()
    };
    let (left, right) = (side("left"), side("right"));
    let emulator = |config: &Config, left: Vec<OwnedFd>, right: Vec<OwnedFd>| {
        Emulator::new(config.clone(), left, right).map_err(failed)
    };
    let Some(ground) = &state.ground else {
        return Ok((
            emulator(&state.config, devices(&left)?, devices(&right)?)?,
            None,
        ));
    };
    let gateway = state.host(GATEWAY)?;
    let to = |name: &str| Ok(vec![device(gateway, name)?]);
    let satellite = emulator(&state.config, to(gateway::SATELLITE)?, devices(&right)?)?;
    let ground = emulator(ground, devices(&left)?, to(gateway::TERRESTRIAL)?)?;
    Ok((satellite, Some(ground)))
}

/// Detaches this process from the terminal and the working folder of `testbed up`.
fn leave() -> Result<(), Failure> {
    let what = "leave the terminal";
    let null = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .attempt(what)?;
    std::env::set_current_dir("/").attempt(what)?;
    // SAFETY: valid descriptors, plain numbers.
    unsafe {
        libc::setsid();
        libc::dup2(null.as_raw_fd(), 0);
        libc::dup2(null.as_raw_fd(), 1);
    }
    // If the kernel groups processes by session (autogroup), it first divides processor time among
    // sessions. A thread's own priority then counts only within its session.
    let _ = fs::write("/proc/self/autogroup", "-20");
    Ok(())
}

/// The emulator's summary of all legs until now.
fn judged(mut summary: Summary, ground: Option<Summary>, hosts: &[HostState]) -> Summary {
    add_device_drops(&mut summary, hosts);
    if let Some(ground) = ground {
        gateway::judge(&mut summary, ground);
    }
    summary
}

/// Adds to a summary the packets that the hosts' devices dropped before the emulator could read
/// them.
fn add_device_drops(summary: &mut Summary, hosts: &[HostState]) {
    let drops = hosts.iter().map(|host| {
        let table = Netns::find(&host.namespace)
            .ok()?
            .inside(|| fs::read_to_string("/proc/thread-self/net/dev"))
            .ok()?;
        let of_gateway = transmit_drops(&table, gateway::TERRESTRIAL).unwrap_or(0);
        Some(transmit_drops(&table, &host.device)? + of_gateway)
    });
    summary.device_drops_pkts = drops.sum();
    summary.judge();
}

/// Reads from /proc/net/dev how many packets a device dropped when it sent.
fn transmit_drops(table: &str, device: &str) -> Option<u64> {
    let counters = table
        .lines()
        .find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'))?;
    // the line has eight columns of receive counters, then transmitted bytes, packets, errors,
    // drops
    counters.split_whitespace().nth(11)?.parse().ok()
}

fn block_signals() -> libc::sigset_t {
    // SAFETY: a signal set is plain data that sigemptyset initializes.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::sigaddset(&raw mut set, libc::SIGINT);
        libc::sigaddset(&raw mut set, libc::SIGHUP);
        libc::sigaddset(&raw mut set, BEGIN);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        set
    }
}

/// A request that another process sends to the emulator by a signal.
enum SignalRequest {
    Nothing,
    /// Start the schedules and traces of --vary at this time of CLOCK_MONOTONIC.
    Begin(u64),
    End,
}

/// Waits up to a second for a signal.
fn wait_for(signals: &libc::sigset_t) -> SignalRequest {
    let second = libc::timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    // SAFETY: initialized structures that outlive the call. The sender of the signal BEGIN attaches
    // a value, which may have any bits.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        match libc::sigtimedwait(signals, &raw mut info, &raw const second) {
            BEGIN => SignalRequest::Begin(info.si_value().sival_ptr as u64),
            signal if signal > 0 => SignalRequest::End,
            _ => SignalRequest::Nothing,
        }
    }
}

/// Makes a testbed's emulator start its schedules and traces at this time of `CLOCK_MONOTONIC`.
/// `dry_run`: only checks whether that is possible.
///
/// # Errors
/// The testbed does not exist, or its emulator is not running.
pub fn begin(name: &str, at_ns: u64, dry_run: bool) -> Result<(), Failure> {
    let state = State::load(name)
        .ok_or_else(|| Failure::bad_input(format!("there is no testbed {name}")))?;
    let emulator = state.emulator.filter(|process| process.is_alive());
    let emulator = emulator
        .ok_or_else(|| Failure::failed(format!("testbed {name}: its emulator has ended")))?;
    if dry_run {
        return Ok(());
    }
    let value = libc::sigval {
        sival_ptr: at_ns as *mut libc::c_void,
    };
    // SAFETY: plain numbers; the value is never used as a pointer.
    match unsafe { libc::sigqueue(emulator.pid, BEGIN, value) } {
        0 => Ok(()),
        _ => Err(Failure::failed(format!(
            "cannot signal the emulator of {name}: {}",
            io::Error::last_os_error()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_a_device_are_read() {
        let table = "Inter-|   Receive  | Transmit\n face |bytes packets errs drop\n\
            \x20   lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
            \x20  hw0:21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36\n";
        assert_eq!(transmit_drops(table, "hw0"), Some(32));
        assert_eq!(transmit_drops(table, "hw1"), None);
    }
}
