//! Commands that continue in a background process. The command itself returns when that process is
//! ready.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use crate::error::{Attempt as _, Failure};

/// After a fork: whether this is the starting process or the background process.
pub(super) enum Forked {
    Parent(Child),
    Child(Parent),
}

/// In the starting process: the handle of the background process.
pub(super) struct Child {
    pid: libc::pid_t,
    stream: UnixStream,
}

/// In the background process: the connection to the starting process, which waits.
pub(super) struct Parent(UnixStream);

/// Forks this process, which must have only one thread.
pub(super) fn fork() -> Result<Forked, Failure> {
    let what = "continue in the background";
    let (near, far) = UnixStream::pair().attempt(what)?;
    // SAFETY: this process has one thread, so no lock is held in the child. setsid() detaches the
    // child from the terminal, so that closing the terminal does not end it.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()).attempt(what),
        0 => {
            unsafe { libc::setsid() };
            Ok(Forked::Child(Parent(far)))
        }
        pid => Ok(Forked::Parent(Child { pid, stream: near })),
    }
}

impl Parent {
    /// Makes the waiting process return with `line`. Errors are ignored, because that process may
    /// have been killed.
    pub(super) fn release(mut self, line: &str) {
        let _ = self.0.write_all(line.as_bytes());
        // dropping the socket is not enough: children that were forked later hold it, too
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl Child {
    pub(super) fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Waits until the background process is ready, and returns the line that it sent. If the
    /// background process fails, it has printed the reason, and this process exits with the same
    /// status.
    pub(super) fn wait(mut self) -> Result<String, Failure> {
        let mut line = String::new();
        let read = self.stream.read_to_string(&mut line);
        read.attempt("wait for a process")?;
        if !line.is_empty() {
            return Ok(line);
        }
        let mut status = 0;
        // SAFETY: the pid is a child of this process, and `status` outlives the call.
        if unsafe { libc::waitpid(self.pid, &mut status, 0) } == self.pid && libc::WIFEXITED(status)
        {
            std::process::exit(libc::WEXITSTATUS(status));
        }
        let pid = self.pid;
        Err(Failure::failed(format!("process {pid} was killed")))
    }
}
