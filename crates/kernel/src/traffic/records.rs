//! Writes rows of little-endian 64-bit integers to a file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Attempt, Failure};

/// A file whose rows have `N` integers.
pub(crate) struct Records<const N: usize> {
    file: BufWriter<File>,
    path: PathBuf,
}

impl<const N: usize> Records<N> {
    /// Creates the file, or empties an existing one.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).attempt(format_args!("create {}", path.display()))?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 16, file),
            path: path.to_owned(),
        })
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: [i64; N]) -> Result<(), Failure> {
        row.iter()
            .try_for_each(|value| self.file.write_all(&value.to_le_bytes()))
            .attempt(format_args!("write {}", self.path.display()))
    }

    /// Writes the buffered rows to the file.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.file
            .flush()
            .attempt(format_args!("write {}", self.path.display()))
    }
}
