//! The Rust mirrors of the C structures in algorithms/, made of the C sources by bindgen and
//! libclang. The results are committed, so a build only needs a C compiler; tests/fresh.rs checks
//! that they are up to date. Each mirror has a list of its sizes and offsets, which a test of its
//! crate compares with those of the C compiler.

use std::path::PathBuf;

mod algorithms;
mod kernel;
mod mirror;

pub use mirror::root;

/// The crate for which a mirror is made.
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

    /// What is missing on this machine to make the mirror; None if nothing is.
    #[must_use]
    pub fn missing(self) -> Option<String> {
        mirror::missing().or_else(|| match self {
            Self::Algorithms => None,
            Self::Kernel => kernel::missing(),
        })
    }

    /// The generated files: their paths from the project's root, and their texts.
    ///
    /// # Errors
    /// Something that is needed is missing, or the C sources cannot be read.
    pub fn files(self) -> Result<Vec<(PathBuf, String)>, String> {
        match (self.missing(), self) {
            (Some(reason), _) => Err(reason),
            (None, Self::Algorithms) => algorithms::files(),
            (None, Self::Kernel) => kernel::files(),
        }
    }
}
