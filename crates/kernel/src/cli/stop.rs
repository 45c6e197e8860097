//! Handles SIGINT and SIGTERM for commands that run until such a signal arrives.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Attempt as _, Failure};
use crate::system::clock::{now_ns, sleep_until};

static STOP: AtomicBool = AtomicBool::new(false);
/// How often a waiting command checks whether a signal has arrived.
const CHECK_NS: i64 = 50_000_000;

extern "C" fn stop(_signal: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// Installs handlers for SIGINT and SIGTERM. These signals then no longer end the process, but set
/// the returned flag.
///
/// # Errors
/// The signal handlers cannot be installed.
pub(super) fn on_signals() -> Result<&'static AtomicBool, Failure> {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let handler: extern "C" fn(libc::c_int) = stop;
        // SAFETY: the handler only stores into an atomic.
        if unsafe { libc::signal(signal, handler as libc::sighandler_t) } == libc::SIG_ERR {
            return Err(std::io::Error::last_os_error()).attempt("handle signals");
        }
    }
    Ok(&STOP)
}

/// Sleeps until a time of CLOCK_MONOTONIC. Returns false if SIGINT or SIGTERM arrived before this
/// time.
pub(super) fn waited_until(time_ns: i64, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let now_ns = now_ns();
        if now_ns >= time_ns {
            return true;
        }
        sleep_until(time_ns.min(now_ns + CHECK_NS));
    }
}
