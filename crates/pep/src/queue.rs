//! The event queue of an event loop (epoll). It waits for events of sockets and for wake-ups by the
//! main thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::Timespec;
use rustix::io::Errno;

/// Maximum number of events that one call returns.
const EVENTS: usize = 256;
/// The key under which the queue reports a wake-up.
pub(crate) const WAKE: u64 = u64::MAX;

/// An epoll queue. It returns each event with the key with which the descriptor was added.
#[derive(Debug)]
pub(crate) struct Queue(OwnedFd);

impl Queue {
    /// Makes an event queue. Waiting also ends when the descriptor `wake` becomes readable.
    pub fn new(wake: impl AsFd) -> io::Result<Self> {
        let queue = Self(epoll::create(CreateFlags::CLOEXEC)?);
        queue.add(wake, WAKE, EventFlags::IN)?;
        Ok(queue)
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    pub fn add(&self, fd: impl AsFd, word: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.0, fd, EventData::new_u64(word), flags)?)
    }

    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.0, fd)?)
    }

    /// Waits for events for at most this time, and stores them in `events`. Afterwards `events` is
    /// empty if no event occurred or a signal arrived.
    pub fn wait(&self, within: Duration, events: &mut Vec<Event>) -> io::Result<()> {
        let within = Timespec::try_from(within).map_err(io::Error::other)?;
        events.clear();
        events.reserve(EVENTS);
        let buffer = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.0, buffer, Some(&within)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
