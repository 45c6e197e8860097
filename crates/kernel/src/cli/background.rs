//! Commands that continue in a background process; the command returns when that is ready.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use crate::error::{Attempt as _, Failure};

/// Which of the two processes this is after the fork.
pub(super) enum Forked {
    Parent(Child),
    Child(Parent),
}

/// The background process, as the starting process sees it.
pub(super) struct Child {
    pid: libc::pid_t,
    stream: UnixStream,
}

/// The waiting process, as the background process sees it.
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
    /// Lets the waiting process return with `line`; it may have been killed in the meantime.
    pub(super) fn release(mut self, line: &str) {
        let _ = self.0.write_all(line.as_bytes());
        let _ = self.0.shutdown(Shutdown::Both); // forked children hold this socket, too
    }
}

impl Child {
    pub(super) fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Waits until the background process is ready, and returns its line. If that process fails,
    /// it has printed the reason, and this process exits with the same status.
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
