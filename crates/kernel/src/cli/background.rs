//! For commands that start a background process: the command returns when the background process is
//! ready.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use crate::error::{Attempt as _, Failure};

/// Tells after a fork whether this process is the one that the user started or the background
/// process.
pub(super) enum Forked {
    Parent(Child),
    Child(Parent),
}

/// The background process, as the process that started it sees it.
pub(super) struct Child {
    pid: libc::pid_t,
    stream: UnixStream,
}

/// The background process's socket to the process that started it, which waits for a message.
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
    /// Sends `line` to the process that waits for the background process, which then returns.
    /// Errors are ignored, because the waiting process may have been killed.
    pub(super) fn release(mut self, line: &str) {
        let _ = self.0.write_all(line.as_bytes());
        // dropping the socket would not close the connection, because children that were forked
        // later have the socket, too
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
        read.attempt("wait for the background process")?;
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
