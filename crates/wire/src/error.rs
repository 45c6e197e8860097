//! The error of every parser: the field, its offset, and what is wrong with it.

use std::fmt;

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes end before the field is complete.
    Truncated {
        /// Number of bytes that are needed, counted from the start of the header.
        needed_bytes: usize,
        /// Number of bytes that are available, counted from the start of the header.
        available_bytes: usize,
    },
    /// The field has a value that is not allowed.
    Value {
        /// The value of the field.
        found: u64,
        /// Description of the allowed values.
        expected: &'static str,
    },
    /// The checksum is wrong.
    Checksum {
        /// The checksum in the header.
        found: u16,
        /// The checksum computed from the bytes.
        computed: u16,
    },
}

/// The error of a failed parse: the header, the wrong field, its offset and what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The header or block being parsed, such as `IPv4`.
    pub header: &'static str,
    /// The wrong field, named as in its RFC.
    pub field: &'static str,
    /// Offset of the field in bytes from the start of the header; in a capture file, from the start
    /// of the file.
    pub offset_bytes: usize,
    /// What is wrong.
    pub problem: Problem,
}

impl ParseError {
    pub(crate) const fn truncated(
        header: &'static str,
        field: &'static str,
        offset_bytes: usize,
        needed_bytes: usize,
        available_bytes: usize,
    ) -> Self {
        let problem = Problem::Truncated {
            needed_bytes,
            available_bytes,
        };
        Self {
            header,
            field,
            offset_bytes,
            problem,
        }
    }

    pub(crate) const fn value(
        header: &'static str,
        field: &'static str,
        offset_bytes: usize,
        found: u64,
        expected: &'static str,
    ) -> Self {
        let problem = Problem::Value { found, expected };
        Self {
            header,
            field,
            offset_bytes,
            problem,
        }
    }

    pub(crate) const fn checksum(
        header: &'static str,
        offset_bytes: usize,
        found: u16,
        computed: u16,
    ) -> Self {
        Self {
            header,
            field: "checksum",
            offset_bytes,
            problem: Problem::Checksum { found, computed },
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            header,
            field,
            offset_bytes,
            problem,
        } = self;
        write!(f, "{header}: {field} at byte {offset_bytes}: ")?;
        match problem {
            Problem::Truncated {
                needed_bytes,
                available_bytes,
            } => write!(
                f,
                "needs {needed_bytes} bytes, only {available_bytes} are available"
            ),
            Problem::Value { found, expected } => write!(f, "is {found}, must be {expected}"),
            Problem::Checksum { found, computed } => {
                write!(f, "is {found:#06x}, should be {computed:#06x}")
            }
        }
    }
}

impl std::error::Error for ParseError {}
