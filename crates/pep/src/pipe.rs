//! Pipes between sockets: large, opened when data is under way, given back when it is not.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use rustix::pipe::{fcntl_setpipe_size, pipe_with, PipeFlags};

use crate::counters::Counters;
use crate::flow::SCRATCH_BYTES;

/// Kept for the next connection; more than that are closed.
const SPARE: usize = 32;

/// An empty one, or one whose holder knows what is in it.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub read: OwnedFd,
    pub write: OwnedFd,
    pub capacity_bytes: usize,
    /// Of its pool.
    open: Arc<AtomicUsize>,
    counters: Arc<Counters>,
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Relaxed);
        self.counters.pipes.fetch_sub(1, Relaxed);
    }
}

/// The spare ones of a worker.
#[derive(Debug)]
pub(crate) struct Pool {
    spare: Vec<Pipe>,
    /// The fewest that were spare since the last look: so many nobody needs.
    unused: usize,
    pipe_bytes: usize,
    /// So many can be open.
    most: usize,
    /// Those in use included.
    open: Arc<AtomicUsize>,
    counters: Arc<Counters>,
}

impl Pool {
    pub fn new(pipe_bytes: usize, most: usize, counters: Arc<Counters>) -> Self {
        Self {
            spare: Vec::new(),
            unused: 0,
            pipe_bytes,
            most,
            open: Arc::default(),
            counters,
        }
    }

    /// An empty pipe, if one may be had.
    pub fn take(&mut self) -> Option<Pipe> {
        if let Some(pipe) = self.spare.pop() {
            self.unused = self.unused.min(self.spare.len());
            return Some(pipe);
        }
        if self.open.load(Relaxed) >= self.most {
            return None;
        }
        self.open().ok()
    }

    fn open(&self) -> io::Result<Pipe> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // one that stays at the system's size works as well, with more calls
        let capacity_bytes = fcntl_setpipe_size(&write, self.pipe_bytes)
            .or_else(|_| rustix::pipe::fcntl_getpipe_size(&write))?;
        if capacity_bytes < SCRATCH_BYTES {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.open.fetch_add(1, Relaxed);
        self.counters.pipes.fetch_add(1, Relaxed);
        Ok(Pipe {
            read,
            write,
            capacity_bytes,
            open: Arc::clone(&self.open),
            counters: Arc::clone(&self.counters),
        })
    }

    /// Takes an empty pipe back.
    pub fn give_back(&mut self, pipe: Pipe) {
        if self.spare.len() < SPARE {
            self.spare.push(pipe);
        }
    }

    /// Closes those that nobody needed since this was called last.
    pub fn trim(&mut self) {
        let keep = self.spare.len() - self.unused.min(self.spare.len());
        self.spare.truncate(keep);
        self.unused = self.spare.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_used_again_and_closed_when_nobody_needs_it() {
        let counters = Arc::new(Counters::default());
        let open = || counters.pipes.load(Relaxed);
        let mut pool = Pool::new(1 << 20, 2, Arc::clone(&counters));
        let (a, b) = (pool.take().unwrap(), pool.take().unwrap());
        assert!(a.capacity_bytes >= 1 << 16);
        assert!(pool.take().is_none(), "more than there may be");
        pool.give_back(a);
        pool.give_back(b);
        let again = pool.take().unwrap();
        assert_eq!(open(), 2);
        pool.trim(); // one was needed meanwhile
        pool.give_back(again);
        assert_eq!(open(), 2);
        pool.trim();
        assert_eq!(open(), 1);
        pool.trim();
        assert_eq!(open(), 0);
    }
}
