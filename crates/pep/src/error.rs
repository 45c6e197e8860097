//! Why the proxy could not start or go on, in one line.

use std::fmt;
use std::io;

/// Whose fault it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// What was asked for.
    Input,
    /// The kernel, or a privilege that is missing.
    Kernel,
    /// Neither.
    Other,
}

/// One line, and whose fault it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Whose fault it was.
    pub blame: Blame,
    /// What was attempted and what to do.
    pub message: String,
}

impl Error {
    /// What was asked for makes no sense.
    pub fn input(message: impl Into<String>) -> Self {
        let (blame, message) = (Blame::Input, message.into());
        Self { blame, message }
    }

    /// This kernel, or this user, cannot.
    pub fn kernel(message: impl Into<String>) -> Self {
        let (blame, message) = (Blame::Kernel, message.into());
        Self { blame, message }
    }

    /// It did not work.
    pub fn other(message: impl Into<String>) -> Self {
        let (blame, message) = (Blame::Other, message.into());
        Self { blame, message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// `result.attempt("listen")`: an error of the system with what was attempted.
pub(crate) trait Attempt<T> {
    fn attempt(self, what: impl fmt::Display) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Attempt<T> for Result<T, E> {
    fn attempt(self, what: impl fmt::Display) -> Result<T, Error> {
        self.map_err(|error| {
            let error: io::Error = error.into();
            let message = format!("cannot {what}: {error}");
            match error.kind() {
                io::ErrorKind::PermissionDenied => Error::kernel(message),
                _ => Error::other(message),
            }
        })
    }
}
