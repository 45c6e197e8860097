//! Gives a thread its own descriptor table. The kernel limits the number of open files per table,
//! so event loops with separate tables can each open as many files as a whole process. In a table
//! that only one thread uses, the kernel looks up descriptors without reference counts, and opens
//! and closes files without waiting for other threads.
//!
//! A descriptor is valid only in one table. So the thread of an event loop must open, use and close
//! the loop's sockets itself.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// The lowest descriptor after standard input, output and error.
const FIRST: libc::c_uint = 3;

/// Gives the calling thread its own descriptor table. The table starts as a copy of the shared one,
/// with the same descriptors.
pub(crate) fn leave() -> io::Result<()> {
    // SAFETY: a plain number. The thread's new table has the same descriptors as before.
    match unsafe { libc::unshare(libc::CLONE_FILES) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Closes all descriptors except `kept` in the calling thread's own table. The files stay open in
/// the tables of other threads. When these threads close them, the calling thread does not keep
/// them open.
pub(crate) fn keep_only(kept: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut kept: Vec<_> = kept
        .iter()
        .map(|fd| fd.as_raw_fd() as libc::c_uint)
        .collect();
    kept.sort_unstable();
    let mut from = FIRST;
    for number in kept {
        if from < number {
            close(from, number - 1)?;
        }
        from = number + 1;
    }
    close(from, libc::c_uint::MAX)
}

fn close(from: libc::c_uint, to: libc::c_uint) -> io::Result<()> {
    // SAFETY: plain numbers of descriptors that nothing in this thread owns.
    match unsafe { libc::close_range(from, to, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;
    use std::thread;

    /// Whether this descriptor is open in the calling thread's table.
    fn is_open(number: i32) -> bool {
        // SAFETY: plain numbers.
        unsafe { libc::fcntl(number, libc::F_GETFD) != -1 }
    }

    #[test]
    fn a_thread_keeps_the_named_descriptors_and_others_keep_theirs() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let (other, _its_end) = UnixStream::pair().unwrap();
        let theirs = other.as_raw_fd();
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                leave().unwrap();
                assert!(is_open(theirs));
                let own = far.try_clone().unwrap();
                keep_only(&[own.as_fd(), far.as_fd()]).unwrap();
                assert!(!is_open(theirs) && is_open(far.as_raw_fd()));
                (&own).write_all(b"a").unwrap();
                // the kernel closes the thread's remaining descriptors when the thread ends
            });
            thread.join().unwrap();
        });
        assert!(is_open(theirs));
        let mut byte = [0];
        near.read_exact(&mut byte).unwrap();
        drop(far);
        assert_eq!(
            near.read(&mut byte).unwrap(),
            0,
            "no thread holds the other end"
        );
    }
}
