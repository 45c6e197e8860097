//! The Rust mirrors of the C structures in algorithms/, made of the C sources by bindgen
//! and libclang. What is made is committed, so that a build needs a C compiler only;
//! tests/fresh.rs holds it fresh. Beside each mirror stands a list of its sizes and
//! offsets, which a test of its crate compares with those of the C compiler.

use std::path::{Path, PathBuf};

mod algorithms;
mod mirror;

pub use mirror::missing;

/// The project's root.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What is made: paths from the root, and texts.
///
/// # Errors
/// libclang or rustfmt is missing; the C sources cannot be read.
pub fn files() -> Result<Vec<(PathBuf, String)>, String> {
    if let Some(reason) = missing() {
        return Err(reason);
    }
    algorithms::files()
}
