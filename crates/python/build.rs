//! Hashes the sources from which the engine is built. Results are stored under this hash, so that
//! results of another version of the engine are never mistaken for those of this version.

use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest as _, Sha256};

/// All files that determine the results of a simulation, relative to the top of the repository.
const SOURCES: [&str; 10] = [
    "algorithms",
    "crates/algorithms/src",
    "crates/algorithms/build.rs",
    "crates/experiment/src",
    "crates/python/src",
    "crates/sim/src",
    "crates/wire/src",
    "crates/wire/build.rs",
    "Cargo.toml",
    "Cargo.lock",
];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let top = manifest.join("../..");
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", top.join(source).display());
        collect(&top, Path::new(source), &mut files);
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let bytes = fs::read(top.join(&file)).expect("a file that was just listed");
        hash.update(file.to_string_lossy().as_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    let name: String = hash
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("cargo::rustc-env=HEADWAY_SOURCES={name}");
}

fn collect(top: &Path, path: &Path, files: &mut Vec<PathBuf>) {
    if top.join(path).is_dir() {
        for entry in fs::read_dir(top.join(path)).expect("a readable folder") {
            collect(
                top,
                &path.join(entry.expect("a readable entry").file_name()),
                files,
            );
        }
    } else {
        files.push(path.to_owned());
    }
}
