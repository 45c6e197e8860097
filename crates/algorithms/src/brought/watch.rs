//! A call of a file's code that does not return. A timer of the thread's processor time looks
//! whether the run goes on, so that no call is told of: a run without files has none, and one
//! that waits, or is stopped, is not taken for one that hangs.

use std::ffi::{c_int, c_void};
use std::io;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Once;

use super::crash;

/// Between two looks, of the thread's processor time.
const LOOK_MS: i64 = 250;
/// Looks in a row without a beat, after which it hangs. Beats are 20 events apart: fifty
/// milliseconds for one, of which others take less than a microsecond.
const LOOKS: u32 = 4;
/// The signal of the timer, which has no other use in a process of Headway's.
const SIGNAL: c_int = libc::SIGVTALRM;
/// For a handler after the thread's own stack has come to its end.
const STACK_BYTES: usize = 512 << 10;

/// What a thread's run has done; read by the handler, in the same thread.
struct Heart {
    beats: AtomicU64,
    /// As of the look before.
    seen: AtomicU64,
    still: AtomicU32,
}

thread_local! {
    // nothing to drop: it is there as long as a signal can find the thread
    static HEART: Heart = const {
        Heart {
            beats: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            still: AtomicU32::new(0),
        }
    };
}

/// While it is there, a file's code that does not return ends the process with a line that
/// says where it is, and so does one that calls itself without end. It stays in its thread.
#[derive(Debug)]
pub struct Watch {
    /// None: no file was brought, and nothing is watched.
    _on: Option<On>,
    _in_thread: PhantomData<*const ()>,
}

#[derive(Debug)]
struct On {
    timer: libc::timer_t,
    /// A stack for handlers, where the thread had none.
    _stack: Option<Stack>,
}

impl Watch {
    /// Begins to watch this thread, if a file was brought in this process.
    ///
    /// # Errors
    /// The system gives no timer.
    pub fn begin() -> io::Result<Self> {
        let on = crash::any().then(On::begin).transpose()?;
        Ok(Self {
            _on: on,
            _in_thread: PhantomData,
        })
    }
}

/// This thread's run goes on: to be told every few events.
#[inline]
pub fn beat() {
    // no other thread writes a heart's beats, and the handler, in this thread, reads them only:
    // nothing comes between load and store, and neither has to lock a bus
    HEART.with(|heart| {
        let beats = heart.beats.load(Ordering::Relaxed);
        heart.beats.store(beats.wrapping_add(1), Ordering::Relaxed);
    });
}

impl On {
    fn begin() -> io::Result<Self> {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = look;
            // SAFETY: plain data; the handler has the form that SA_SIGINFO asks for.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
                libc::sigaction(SIGNAL, &raw const action, ptr::null_mut());
            }
        });
        let heart = HEART.with(ptr::from_ref);
        // SAFETY: the heart is this thread's own, as long as the thread.
        unsafe { (*heart).still.store(0, Ordering::Relaxed) };
        // SAFETY: plain data, filled in; the timer is deleted with the value.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = SIGNAL;
            event.sigev_notify_thread_id = libc::gettid();
            event.sigev_value.sival_ptr = heart.cast_mut().cast();
            let mut timer: libc::timer_t = std::mem::zeroed();
            let clock = libc::CLOCK_THREAD_CPUTIME_ID;
            if libc::timer_create(clock, &raw mut event, &raw mut timer) != 0 {
                return Err(io::Error::last_os_error());
            }
            let on = Self {
                timer,
                _stack: Stack::where_there_is_none(),
            };
            let each = libc::timespec {
                tv_sec: 0,
                tv_nsec: LOOK_MS * 1_000_000,
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
        // SAFETY: made in begin.
        unsafe { libc::timer_delete(self.timer) };
    }
}

/// The timer's handler, in the thread that it is for. It ends the process only where that
/// thread is in a file's code, which calls nothing and holds no lock.
extern "C" fn look(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: what the kernel hands to a handler with SA_SIGINFO.
    if unsafe { (*info).si_code } != libc::SI_TIMER {
        return;
    }
    // SAFETY: of a timer of ours it is the heart of this thread.
    let heart: &Heart = unsafe { &*(*info).si_value().sival_ptr.cast() };
    let beats = heart.beats.load(Ordering::Relaxed);
    if heart.seen.swap(beats, Ordering::Relaxed) != beats {
        heart.still.store(0, Ordering::Relaxed);
        return;
    }
    if heart.still.fetch_add(1, Ordering::Relaxed) + 1 >= LOOKS {
        let seconds = LOOK_MS * i64::from(LOOKS) / 1000;
        crash::end_in_a_file(
            context,
            &format!("has not returned for {seconds} s: a loop without an end?"),
        );
    }
}

/// A stack for handlers.
#[derive(Debug)]
struct Stack {
    _bytes: Vec<u8>,
}

impl Stack {
    /// For this thread, unless it has one.
    fn where_there_is_none() -> Option<Self> {
        let mut bytes = vec![0; STACK_BYTES];
        // SAFETY: plain data; the memory is the value's, and given back before it goes.
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
        // SAFETY: plain data; no handler runs on it, for this is no handler.
        unsafe {
            let mut none: libc::stack_t = std::mem::zeroed();
            none.ss_flags = libc::SS_DISABLE;
            libc::sigaltstack(&raw const none, ptr::null_mut());
        }
    }
}
