//! The Rust mirrors of the C structures in algorithms/, made of the C sources by bindgen
//! and libclang. What is made is committed, so that a build needs a C compiler only;
//! tests/fresh.rs holds it fresh. Beside each mirror stands a list of its sizes and
//! offsets, which a test of its crate compares with those of the C compiler.

use std::path::{Path, PathBuf};

mod algorithms;
mod kernel;
mod mirror;

/// The project's root.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A crate's mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// crates/algorithms.
    Algorithms,
    /// crates/kernel.
    Kernel,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Algorithms, Self::Kernel];

    /// What keeps it from being made here.
    #[must_use]
    pub fn missing(self) -> Option<String> {
        mirror::missing().or_else(|| match self {
            Self::Algorithms => None,
            Self::Kernel => kernel::missing(),
        })
    }

    /// What is made: paths from the root, and texts.
    ///
    /// # Errors
    /// Something is missing; the C sources cannot be read.
    pub fn files(self) -> Result<Vec<(PathBuf, String)>, String> {
        match (self.missing(), self) {
            (Some(reason), _) => Err(reason),
            (None, Self::Algorithms) => algorithms::files(),
            (None, Self::Kernel) => kernel::files(),
        }
    }
}
