//! The Rust mirrors of the C structures in algorithms/, made of the C sources by bindgen and
//! libclang. The results are committed, so a build only needs a C compiler; tests/fresh.rs checks
//! that they are up to date. Each mirror has a list of its sizes and offsets, which a test of its
//! crate compares with those of the C compiler.

use std::path::PathBuf;

mod algorithms;
mod kernel;
mod mirror;

pub use mirror::root;

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

    /// What is missing to make it here.
    #[must_use]
    pub fn missing(self) -> Option<String> {
        mirror::missing().or_else(|| match self {
            Self::Algorithms => None,
            Self::Kernel => kernel::missing(),
        })
    }

    /// The generated files: paths from the root, and texts.
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
