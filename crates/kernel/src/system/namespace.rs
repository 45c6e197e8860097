//! Unnamed network namespaces, which are removed with the process that made them.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::Command;

use crate::error::{Attempt as _, Failure};
use crate::system::netns::Netns;

/// Checks that this process may create a network namespace.
///
/// # Errors
/// The process is not root.
pub fn check() -> Result<(), Failure> {
    // SAFETY: no arguments; cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Err(Failure::kernel_cannot("network namespaces need root"));
    }
    Ok(())
}

/// An unnamed network namespace, which is removed when this value is dropped.
#[derive(Debug)]
pub struct Namespace {
    /// The namespace as a [`Netns`], through which functions can run in it.
    pub netns: Netns,
    _file: File,
}

impl Namespace {
    /// Makes a namespace.
    ///
    /// # Errors
    /// Lack of privilege.
    pub fn new() -> Result<Self, Failure> {
        let file = std::thread::spawn(|| {
            // SAFETY: affects this thread only, which ends here.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(io::Error::last_os_error());
            }
            File::open("/proc/thread-self/ns/net")
        })
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        .attempt("make a network namespace")?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        Ok(Self {
            netns: Netns::find(&path)?,
            _file: file,
        })
    }

    /// A path by which processes can enter the namespace while this process runs.
    #[must_use]
    pub fn path(&self) -> String {
        self.netns.path.display().to_string()
    }

    /// Runs `ip` with these words in the namespace.
    ///
    /// # Errors
    /// The program's error.
    pub fn ip(&self, words: &str) -> Result<(), Failure> {
        self.command("ip", words)
    }

    /// Runs `tc` with these words in the namespace.
    ///
    /// # Errors
    /// The program's error.
    pub fn tc(&self, words: &str) -> Result<(), Failure> {
        self.command("tc", words)
    }

    fn command(&self, program: &str, words: &str) -> Result<(), Failure> {
        let output = self
            .netns
            .inside(|| Command::new(program).args(words.split(' ')).output())
            .map_err(|e| match e.kind() {
                io::ErrorKind::NotFound => {
                    Failure::kernel_cannot(format!("`{program}` is missing; install iproute2"))
                }
                _ => Failure::failed(format!("cannot run {program} {words}: {e}")),
            })?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        Err(Failure::failed(format!(
            "cannot run {program} {words}: {}",
            text.trim()
        )))
    }

    /// Sets a sysctl of /proc/sys/net in the namespace.
    ///
    /// # Errors
    /// The kernel has no such sysctl.
    pub fn sysctl(&self, name: &str, value: &str) -> Result<(), Failure> {
        let path = Path::new("/proc/sys/net").join(name);
        self.netns
            .inside(|| fs::write(&path, value))
            .attempt(format!("set net/{name}"))
    }
}
