//! Lets one thread wait for events of many sockets and for times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::error::{Attempt, Failure};
use crate::system::clock::{exact_timers, now_ns};
use crate::traffic::socket::readable_until;

const EVENTS: usize = 256;

/// The sockets and times that are waited for. Each has the number of the connection that it belongs
/// to, its owner.
pub(super) struct Waits {
    epoll: OwnedFd,
    times: BinaryHeap<Reverse<(i64, u32)>>,
    news: Vec<u32>,
    /// The longest time by which `next` returned a time too late.
    pub late_max_ns: i64,
}

impl Waits {
    pub fn new() -> Result<Self, Failure> {
        exact_timers();
        // SAFETY: no pointers.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(io::Error::last_os_error()).attempt("wait for many sockets");
        }
        Ok(Self {
            // SAFETY: a new descriptor that nothing else owns.
            epoll: unsafe { OwnedFd::from_raw_fd(epoll) },
            times: BinaryHeap::new(),
            news: Vec::with_capacity(EVENTS),
            late_max_ns: 0,
        })
    }

    /// Adds a socket. Until the socket is closed, `next` returns `owner` whenever the socket
    /// becomes readable or writable.
    pub fn watch(&self, socket: RawFd, owner: u32) -> Result<(), Failure> {
        let wanted = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event {
            events: wanted as u32,
            u64: u64::from(owner),
        };
        let add = libc::EPOLL_CTL_ADD;
        // SAFETY: the event outlives the call.
        if unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), add, socket, &mut event) } != 0 {
            return Err(io::Error::last_os_error()).attempt("wait for a socket");
        }
        Ok(())
    }

    /// Adds a time, at which `next` returns `owner`.
    pub fn at(&mut self, time_ns: i64, owner: u32) {
        self.times.push(Reverse((time_ns, owner)));
    }

    /// Whether no added time is left.
    pub fn has_no_times(&self) -> bool {
        self.times.is_empty()
    }

    /// Waits for the next event or time and returns its owner; None at `end_ns`.
    pub fn next(&mut self, end_ns: i64) -> Result<Option<u32>, Failure> {
        loop {
            let time_ns = now_ns();
            if time_ns >= end_ns {
                return Ok(None);
            }
            let mut until_ns = end_ns;
            if let Some(&Reverse((due_ns, owner))) = self.times.peek() {
                if due_ns <= time_ns {
                    self.times.pop();
                    self.late_max_ns = self.late_max_ns.max(time_ns - due_ns);
                    return Ok(Some(owner));
                }
                until_ns = until_ns.min(due_ns);
            }
            if let Some(owner) = self.news.pop() {
                return Ok(Some(owner));
            }
            // unlike epoll_wait, ppoll is exact to the nanosecond
            if readable_until(self.epoll.as_raw_fd(), until_ns)? {
                self.fetch()?;
            }
        }
    }

    fn fetch(&mut self) -> Result<(), Failure> {
        // SAFETY: all zeros is a valid array of epoll_event.
        let mut events: [libc::epoll_event; EVENTS] = unsafe { zeroed() };
        let most = EVENTS as libc::c_int;
        // SAFETY: the array outlives the call and has the length passed.
        let got = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), most, 0) };
        let Ok(got) = usize::try_from(got) else {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::Interrupted => Ok(()),
                _ => Err(error).attempt("wait for a socket"),
            };
        };
        // reverse the events, because they are popped from the end
        self.news
            .extend(events[..got].iter().rev().map(|event| event.u64 as u32));
        Ok(())
    }
}

/// Raises this process's limit of open files to the highest value that it may set.
pub(super) fn many_sockets() {
    let mut most = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a structure of our own. If the call fails, opening too many sockets reports an error.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut most) == 0 {
            most.rlim_cur = most.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &most);
        }
    }
}
