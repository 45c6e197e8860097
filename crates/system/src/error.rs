//! Errors of commands: one line on stderr and an exit status.

use std::fmt;
use std::io;

/// Exit status of a command whose input was valid but that did not succeed.
pub const FAILED: u8 = 1;
/// Exit status of a command for invalid input, the same as clap's.
pub const BAD_INPUT: u8 = 2;
/// Exit status of a command if the kernel lacks something, or a privilege is missing.
pub const KERNEL_CANNOT: u8 = 3;

/// Why a command failed, in one line, and its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One line that says what was attempted, what happened and what to do.
    pub message: String,
    /// The exit status: [`FAILED`], [`BAD_INPUT`] or [`KERNEL_CANNOT`].
    pub exit_status: u8,
}

impl Failure {
    /// Creates a failure whose cause is neither invalid input nor a limit of the kernel.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(message.into(), FAILED)
    }

    /// Creates a failure for invalid input.
    pub fn bad_input(message: impl Into<String>) -> Self {
        Self::new(message.into(), BAD_INPUT)
    }

    /// Creates a failure for something that this kernel cannot do, or that it does not permit to
    /// this user.
    pub fn kernel_cannot(message: impl Into<String>) -> Self {
        Self::new(message.into(), KERNEL_CANNOT)
    }

    /// Replaces line breaks by "; ", because one error is one line.
    fn new(message: String, exit_status: u8) -> Self {
        let lines: Vec<&str> = message
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        Self {
            message: lines.join("; "),
            exit_status,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Adds to a system error what was attempted, as in `result.attempt("mount a bpffs")`.
pub trait Attempt<T> {
    /// Adds what was attempted to an error. `what` is put after the word "cannot", such as "mount a
    /// bpffs".
    ///
    /// # Errors
    /// The error of `self` as a [`Failure`]. A missing privilege has the exit status
    /// [`KERNEL_CANNOT`].
    fn attempt(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> Attempt<T> for Result<T, E> {
    fn attempt(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| {
            let error: io::Error = error.into();
            let message = format!("cannot {what}: {error}");
            if error.kind() == io::ErrorKind::PermissionDenied {
                Failure::kernel_cannot(message)
            } else {
                Failure::failed(message)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line() {
        let error = Failure::failed("cannot load\n  bad thing\n\n");
        assert_eq!(error.message, "cannot load; bad thing");
        assert_eq!(error.exit_status, FAILED);
    }

    #[test]
    fn lack_of_privilege_is_kernel_cannot() {
        let denied: io::Result<()> = Err(io::Error::from_raw_os_error(libc::EPERM));
        assert_eq!(
            denied.attempt("mount").unwrap_err().exit_status,
            KERNEL_CANNOT
        );
    }
}
