//! Detects a call into the code of a user's file that does not return. A timer of the thread's
//! processor time checks whether the run makes progress, so calls themselves need no bookkeeping. A
//! run without files has no timer, and a run that waits or is stopped does not count as hanging.

use std::ffi::{c_int, c_void};
use std::io;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Once;

use super::crash;

/// Time between two checks, in processor time of the thread.
const CHECK_MS: i64 = 250;
/// Number of consecutive checks without progress after which the run counts as hanging. `beat` is
/// called every 20 events, so this allows fifty milliseconds for an event; normal events take less
/// than a microsecond.
const CHECKS: u32 = 4;
/// The timer's signal, which Headway uses for nothing else.
const SIGNAL: c_int = libc::SIGVTALRM;
/// Size of the stack on which the handler runs if the thread's own stack is exhausted.
const STACK_BYTES: usize = 512 << 10;

/// Progress of the run in a thread. The signal handler in the same thread reads it.
struct Progress {
    events: AtomicU64,
    /// Value of `events` at the previous check.
    events_at_last_check: AtomicU64,
    checks_without_progress: AtomicU32,
}

thread_local! {
    // nothing to drop: the value exists as long as the thread can receive a signal
    static PROGRESS: Progress = const {
        Progress {
            events: AtomicU64::new(0),
            events_at_last_check: AtomicU64::new(0),
            checks_without_progress: AtomicU32::new(0),
        }
    };
}

/// While this value exists, code of a user's file that does not return, or that recurses without
/// end, ends the process with an error line that names the place in the file. The value cannot be
/// sent to another thread.
#[derive(Debug)]
pub struct Watch {
    /// None if no user's file was loaded, so that nothing is watched.
    _on: Option<On>,
    _in_thread: PhantomData<*const ()>,
}

#[derive(Debug)]
struct On {
    timer: libc::timer_t,
    /// A stack for signal handlers, if the thread had none.
    _stack: Option<Stack>,
}

impl Watch {
    /// Begins to watch this thread, if this process has loaded a user's file.
    ///
    /// # Errors
    /// The system provides no timer.
    pub fn begin() -> io::Result<Self> {
        let on = crash::is_any_file_loaded().then(On::begin).transpose()?;
        Ok(Self {
            _on: on,
            _in_thread: PhantomData,
        })
    }
}

/// Records progress of this thread's run; call it every few events.
#[inline]
pub fn beat() {
    // no other thread writes this counter, and the handler, in this thread, only reads it: load and
    // store need not be atomic together
    PROGRESS.with(|progress| {
        let events = progress.events.load(Ordering::Relaxed);
        progress
            .events
            .store(events.wrapping_add(1), Ordering::Relaxed);
    });
}

impl On {
    fn begin() -> io::Result<Self> {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_timer;
            // SAFETY: the structure is plain data, and the handler has the signature that
            // SA_SIGINFO requires.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
                libc::sigaction(SIGNAL, &raw const action, ptr::null_mut());
            }
        });
        let progress = PROGRESS.with(ptr::from_ref);
        // SAFETY: the counter belongs to this thread and exists as long as the thread.
        unsafe {
            (*progress)
                .checks_without_progress
                .store(0, Ordering::Relaxed)
        };
        // SAFETY: the structures are plain data and filled in; the timer is deleted when the value
        // is dropped.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = SIGNAL;
            event.sigev_notify_thread_id = libc::gettid();
            event.sigev_value.sival_ptr = progress.cast_mut().cast();
            let mut timer: libc::timer_t = std::mem::zeroed();
            let clock = libc::CLOCK_THREAD_CPUTIME_ID;
            if libc::timer_create(clock, &raw mut event, &raw mut timer) != 0 {
                return Err(io::Error::last_os_error());
            }
            let on = Self {
                timer,
                _stack: Stack::if_missing(),
            };
            let each = libc::timespec {
                tv_sec: 0,
                tv_nsec: CHECK_MS * 1_000_000,
            };
            let times = libc::itimerspec {
                it_interval: each,
                it_value: each,
            };
            match libc::timer_settime(timer, 0, &raw const times, ptr::null_mut()) {
                0 => Ok(on),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }
}

impl Drop for On {
    fn drop(&mut self) {
        // SAFETY: `begin` has created this timer.
        unsafe { libc::timer_delete(self.timer) };
    }
}

/// The timer's handler, in the watched thread. It ends the process only if the thread is in the
/// code of a user's file, which calls no functions of the process and holds no lock.
extern "C" fn on_timer(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes this argument to a handler with SA_SIGINFO.
    if unsafe { (*info).si_code } != libc::SI_TIMER {
        return;
    }
    // SAFETY: if the signal is from our timer, this is the counter of the same thread.
    let progress: &Progress = unsafe { &*(*info).si_value().sival_ptr.cast() };
    let events = progress.events.load(Ordering::Relaxed);
    if progress
        .events_at_last_check
        .swap(events, Ordering::Relaxed)
        != events
    {
        progress.checks_without_progress.store(0, Ordering::Relaxed);
        return;
    }
    if progress
        .checks_without_progress
        .fetch_add(1, Ordering::Relaxed)
        + 1
        >= CHECKS
    {
        let seconds = CHECK_MS * i64::from(CHECKS) / 1000;
        crash::end_in_a_file(
            context,
            &format!("has not returned for {seconds} s: an endless loop?"),
        );
    }
}

/// A stack on which a thread's signal handlers run.
#[derive(Debug)]
struct Stack {
    _bytes: Vec<u8>,
}

impl Stack {
    /// Creates a stack for this thread's signal handlers, unless it has one.
    fn if_missing() -> Option<Self> {
        let mut bytes = vec![0; STACK_BYTES];
        // SAFETY: the structure is plain data; the value owns the memory, and the kernel forgets
        // the stack before the value is dropped.
        unsafe {
            let mut before: libc::stack_t = std::mem::zeroed();
            let asked = libc::sigaltstack(ptr::null(), &raw mut before);
            if asked != 0 || before.ss_flags & libc::SS_DISABLE == 0 {
                return None;
            }
            let stack = libc::stack_t {
                ss_sp: bytes.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: STACK_BYTES,
            };
            (libc::sigaltstack(&raw const stack, ptr::null_mut()) == 0)
                .then_some(Self { _bytes: bytes })
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the structure is plain data; no handler runs on the stack, because this is not a
        // handler.
        unsafe {
            let mut none: libc::stack_t = std::mem::zeroed();
            none.ss_flags = libc::SS_DISABLE;
            libc::sigaltstack(&raw const none, ptr::null_mut());
        }
    }
}
