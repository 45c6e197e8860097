//! A thread's own table of descriptors. The kernel's limit of open files is one of a table, so event
//! loops that have one each can open as many as that many processes; and what one thread alone uses is
//! looked up without counting references, and opened and closed without waiting for others.
//!
//! A number means what it means in the table of the thread that uses it: sockets of a loop are opened,
//! used and closed by its thread.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// The first that is neither input, output nor where errors go.
const FIRST: libc::c_uint = 3;

/// From now on the calling thread has a table of its own, in which all is yet that it shared with
/// others.
pub(crate) fn leave() -> io::Result<()> {
    // SAFETY: a plain number. Descriptors of this thread are those that it had.
    match unsafe { libc::unshare(libc::CLONE_FILES) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Closes all but these in the table that the calling thread has to itself: what is others' stays
/// open in theirs, and nothing is held open here when they close it.
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
    // SAFETY: plain numbers of descriptors that nothing of this thread owns.
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

    /// Whether such a number is open in the calling thread's table.
    fn is_open(number: i32) -> bool {
        // SAFETY: plain numbers.
        unsafe { libc::fcntl(number, libc::F_GETFD) != -1 }
    }

    #[test]
    fn a_thread_keeps_what_it_names_and_others_keep_what_is_theirs() {
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
                // what is left goes with the thread
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
            "nobody holds the other end"
        );
    }
}
