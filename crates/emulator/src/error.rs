//! An error of the emulator: one line.

use std::fmt;

/// An error of the emulator, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatorError(pub String);

impl fmt::Display for EmulatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.replace('\n', "; "))
    }
}

impl std::error::Error for EmulatorError {}

pub(crate) fn error<T>(message: impl Into<String>) -> Result<T, EmulatorError> {
    Err(EmulatorError(message.into()))
}
