//! Commands that go on in a process of their own, and come back when that is ready.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use crate::error::{Attempt as _, Failure};

/// Which of the two this is.
pub(super) enum Process {
    Starter(Started),
    Background(Starter),
}

/// What goes on, for who has started it.
pub(super) struct Started {
    pid: libc::pid_t,
    stream: UnixStream,
}

/// Who waits, for what goes on.
pub(super) struct Starter(UnixStream);

/// Makes two processes of this one, which has one thread.
pub(super) fn split_off() -> Result<Process, Failure> {
    let what = "go on in the background";
    let (near, far) = UnixStream::pair().attempt(what)?;
    // SAFETY: this process has one thread, so that nothing is half done in the other; and who leads
    // a session of its own is ended by no terminal.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()).attempt(what),
        0 => {
            unsafe { libc::setsid() };
            Ok(Process::Background(Starter(far)))
        }
        pid => Ok(Process::Starter(Started { pid, stream: near })),
    }
}

impl Starter {
    /// With what it then says; it may have been ended.
    pub(super) fn come_back(mut self, line: &str) {
        let _ = self.0.write_all(line.as_bytes());
        let _ = self.0.shutdown(Shutdown::Both); // a process that was split off has it, too
    }
}

impl Started {
    pub(super) fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Until it is ready, and what it says then. Where it fails it has said why, and this process
    /// ends as it did.
    pub(super) fn wait(mut self) -> Result<String, Failure> {
        let mut line = String::new();
        let read = self.stream.read_to_string(&mut line);
        read.attempt("wait for a process")?;
        if !line.is_empty() {
            return Ok(line);
        }
        let mut status = 0;
        // SAFETY: a child of this process, and a place for its status.
        if unsafe { libc::waitpid(self.pid, &mut status, 0) } == self.pid && libc::WIFEXITED(status)
        {
            std::process::exit(libc::WEXITSTATUS(status));
        }
        let pid = self.pid;
        Err(Failure::failed(format!("process {pid} was killed")))
    }
}
