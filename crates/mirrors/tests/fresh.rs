//! The committed mirrors equal the generator's output. This test is live because it needs libclang.
//! It measures no time.

use std::fs;

use headway_mirrors::{root, Part};

#[path = "../../../tests/skipped.rs"]
mod skipped;

#[test]
fn the_committed_mirrors_are_what_make_mirrors_writes() {
    for part in Part::ALL {
        if let Some(reason) = part.missing() {
            skipped::skipped(1, &reason);
            continue;
        }
        for (path, made) in part.files().expect("the C sources can be read") {
            let committed = fs::read_to_string(root().join(&path)).expect("a mirror is committed");
            assert!(
                committed == made,
                "{} is stale; `make mirrors` writes it anew",
                path.display()
            );
        }
    }
}
