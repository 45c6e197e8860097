//! Prints the output of commands. If the reader closes the pipe early, that is not an error. If
//! writing fails for another reason, such as a full disk, the command still completes its work and
//! then reports one error.

use std::fmt;
use std::io::{self, Write as _};
use std::sync::Mutex;

use serde::Serialize;

use crate::error::Failure;

/// The first error with which printing failed.
static FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints a line, as `println!` does, and never panics.
macro_rules! say {
    ($($text:tt)*) => { $crate::out::line(format_args!($($text)*)) };
}
pub(crate) use say;

/// Prints a line.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    note(io::stdout().write_fmt(format_args!("{text}\n")));
}

/// Flushes the standard output.
pub(crate) fn flush() {
    note(io::stdout().flush());
}

/// Records the error of a write to standard output, if it is the first.
pub(crate) fn note(result: io::Result<()>) {
    if let Err(error) = result {
        let mut failure = FAILURE.lock().unwrap_or_else(|e| e.into_inner());
        failure.get_or_insert(error);
    }
}

/// Fails if some output was not written. It is no failure if the reader closed the pipe.
///
/// # Errors
/// Output could not be written although its reader was still there.
pub(crate) fn finish() -> Result<(), Failure> {
    flush();
    let failure = FAILURE.lock().unwrap_or_else(|e| e.into_inner()).take();
    match failure {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::bad_input(
            format!("cannot write to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

/// Prints a value as JSON.
///
/// # Errors
/// The value cannot be written as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| Failure::failed(format!("cannot write JSON: {e}")))?;
    say!("{text}");
    Ok(())
}
