//! What commands print. A reader that goes away early is no error: the rest is nobody's
//! loss. A device that is full is one, told once when the command has done its work.

use std::fmt;
use std::io::{self, Write as _};
use std::sync::Mutex;

use serde::Serialize;

use crate::error::Failure;

/// Why no more can be printed; the first reason counts.
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

/// Has everything written that was printed so far.
pub(crate) fn flush() {
    note(io::stdout().flush());
}

/// Takes down how printing went.
pub(crate) fn note(result: io::Result<()>) {
    if let Err(error) = result {
        let mut failure = FAILURE.lock().unwrap_or_else(|e| e.into_inner());
        failure.get_or_insert(error);
    }
}

/// Whether all that was said has been written, as far as anybody wanted it.
///
/// # Errors
/// It could not be written, and somebody was there to read it.
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
/// It has no JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| Failure::failed(format!("cannot write JSON: {e}")))?;
    say!("{text}");
    Ok(())
}
