//! Builds a crate with the algorithms in the tests' own folders, which a normal build does not
//! include. With it tests check that a user can add algorithms by naming a folder.
//!
//! crates/integration has this file as its library; crates/kernel includes it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Folders of algorithms, relative to the root of the work tree.
const FOLDERS: &str = "tests/protocol:tests/routers:tests/controls:tests/two_bits";

/// Builds a test file of this crate, and the crate's programs, with these folders, in a separate
/// target folder below `target`. Returns the paths of the test and of the folder.
///
/// If the crates are already built (`make test`), HEADWAY_TESTED has the options of cargo that
/// select the same crates.
pub fn built(target: &Path, file: &str) -> (PathBuf, PathBuf) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = target.join("further");
    let this = format!("--package={}", env!("CARGO_PKG_NAME"));
    let crates = std::env::var("HEADWAY_TESTED").unwrap_or(this);
    let told = Command::new(env!("CARGO"))
        .args(["test", "--no-run", "--offline", "--message-format=json"])
        .args(crates.split_whitespace())
        .args(["--test", file])
        .env("HEADWAY_ALGORITHMS", FOLDERS)
        .env("CARGO_TARGET_DIR", &target)
        .current_dir(root)
        .output()
        .expect("cargo runs this test");
    let text = String::from_utf8_lossy(&told.stdout);
    let errors = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{text}{errors}");
    let test = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|told| told["manifest_path"] == concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .find(|told| told["target"]["name"] == file && told["executable"].is_string())
        .unwrap_or_else(|| panic!("no {file} in {text}"));
    let test = test["executable"].as_str().expect("a string");
    (PathBuf::from(test), target.join("debug"))
}
