//! What a loop waits for: events of descriptors, and somebody who wakes it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::Timespec;
use rustix::io::Errno;

use crate::worker::Shared;

/// Taken at a stretch.
const EVENTS: usize = 256;
/// The word of the event that somebody wants something of the loop.
pub(crate) const WAKE: u64 = u64::MAX;

/// Tells each event with the word that its descriptor was added with.
#[derive(Debug)]
pub(crate) struct Queue(OwnedFd);

impl Queue {
    /// A queue that `shared` can wake.
    pub fn new(shared: &Shared) -> io::Result<Self> {
        let queue = Self(epoll::create(CreateFlags::CLOEXEC)?);
        queue.add(&shared.wake, WAKE, EventFlags::IN)?;
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

    /// Puts what happens within so long in the place of `events`; none, if nothing does or a signal
    /// comes first.
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
