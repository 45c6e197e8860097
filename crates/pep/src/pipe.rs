//! Large pipes between sockets. A pool of large pipes through which data is spliced between
//! sockets. A connection takes a pipe while its data waits, and returns the empty pipe to the pool.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use rustix::pipe::{fcntl_setpipe_size, pipe_with, PipeFlags};

use crate::counters::Counters;

/// Reads that fit into a buffer of this size are copied without a pipe. After a read that fills the
/// buffer, more data probably follows, so a pipe is used.
pub(crate) const SCRATCH_BYTES: usize = 16 << 10;
/// Maximum number of empty pipes that are kept for reuse. Further empty pipes are closed.
const SPARE: usize = 32;

/// A pipe of the pool. Pipes in the pool are empty. A connection that uses a pipe counts the bytes
/// in it.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub read: OwnedFd,
    pub write: OwnedFd,
    pub capacity_bytes: usize,
    /// The count of open pipes, shared with the pool.
    open: Arc<AtomicUsize>,
    counters: Arc<Counters>,
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Relaxed);
        self.counters.pipes.fetch_sub(1, Relaxed);
    }
}

/// The spare pipes of one worker.
#[derive(Debug)]
pub(crate) struct Pool {
    spare: Vec<Pipe>,
    /// The lowest number of spare pipes since the last `trim`. This many pipes were not needed.
    unused: usize,
    pipe_bytes: usize,
    /// Most open pipes.
    most: usize,
    /// The number of open pipes, those in use included.
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

    /// Takes an empty pipe from the pool, or opens one. None: the limit of pipes is reached, or
    /// opening fails.
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
        // if setting the size fails, use the pipe with its default size, which only costs more
        // system calls
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

    /// Closes spare pipes that were not needed since the last call.
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
        pool.trim(); // since the last trim(), one pipe was needed
        pool.give_back(again);
        assert_eq!(open(), 2);
        pool.trim();
        assert_eq!(open(), 1);
        pool.trim();
        assert_eq!(open(), 0);
    }
}
