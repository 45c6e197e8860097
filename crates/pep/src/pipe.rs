//! Pipes between sockets: large, opened while data is waiting, returned afterwards.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use rustix::pipe::{fcntl_setpipe_size, pipe_with, PipeFlags};

use crate::counters::Counters;

/// Reads that fit into a buffer of this size are copied without a pipe. A read that fills it is
/// probably followed by more data, and a pipe is opened.
pub(crate) const SCRATCH_BYTES: usize = 16 << 10;
/// Most pipes that are kept for reuse; others are closed.
const SPARE: usize = 32;

/// A pipe. It is empty, or its owner knows its contents.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub read: OwnedFd,
    pub write: OwnedFd,
    pub capacity_bytes: usize,
    /// The pool's number of open pipes.
    open: Arc<AtomicUsize>,
    counters: Arc<Counters>,
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Relaxed);
        self.counters.pipes.fetch_sub(1, Relaxed);
    }
}

/// The spare pipes of a worker.
#[derive(Debug)]
pub(crate) struct Pool {
    spare: Vec<Pipe>,
    /// The lowest number of spare pipes since the last trim; these were not needed.
    unused: usize,
    pipe_bytes: usize,
    /// Most open pipes.
    most: usize,
    /// Open pipes, including those in use.
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

    /// An empty pipe; None: the limit is reached.
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
        // a pipe of the default size works as well, with more system calls
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

    /// Returns an empty pipe to the pool.
    pub fn give_back(&mut self, pipe: Pipe) {
        if self.spare.len() < SPARE {
            self.spare.push(pipe);
        }
    }

    /// Closes pipes that were not needed since the last call.
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
    fn a_pipe_is_reused_and_closed_when_it_is_not_needed() {
        let counters = Arc::new(Counters::default());
        let open = || counters.pipes.load(Relaxed);
        let mut pool = Pool::new(1 << 20, 2, Arc::clone(&counters));
        let (a, b) = (pool.take().unwrap(), pool.take().unwrap());
        assert!(a.capacity_bytes >= 1 << 16);
        assert!(pool.take().is_none(), "more than the limit");
        pool.give_back(a);
        pool.give_back(b);
        let again = pool.take().unwrap();
        assert_eq!(open(), 2);
        pool.trim(); // one pipe was needed meanwhile
        pool.give_back(again);
        assert_eq!(open(), 2);
        pool.trim();
        assert_eq!(open(), 1);
        pool.trim();
        assert_eq!(open(), 0);
    }
}
