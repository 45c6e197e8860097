//! Runs a program on a host of a testbed.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use super::state;
use crate::error::{Attempt as _, Failure};
use crate::system::netns::NAMED_FOLDER;

/// Replaces this process by the program `command`, in the network namespace of `host`. Only the
/// network differs: the program sees the same files and BPF pins as programs outside the testbed.
///
/// # Errors
/// The testbed, host or program does not exist, or lack of privilege.
pub fn exec(
    testbed: Option<&str>,
    host: &str,
    command: &[OsString],
) -> Result<Infallible, Failure> {
    let state = state::find(testbed)?;
    let host = state.host(host)?;
    let what = format!("enter {}", host.namespace);
    let file = File::open(Path::new(NAMED_FOLDER).join(&host.namespace)).attempt(&what)?;
    // SAFETY: a valid descriptor. The process has one thread.
    if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error()).attempt(&what);
    }
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| Failure::bad_input("which program?"))?;
    let error = Command::new(program).args(arguments).exec();
    let message = format!("cannot run {}: {error}", program.to_string_lossy());
    Err(match error.kind() {
        io::ErrorKind::NotFound => Failure::bad_input(message),
        _ => Failure::failed(message),
    })
}
