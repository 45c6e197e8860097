//! A live test, because it runs cargo and git. It shows that algorithms are added to the simulator
//! by naming their folder when it is built, without any other change. The test builds this file
//! again with the folders of tests/further.rs in a separate target folder, and runs the ignored
//! tests there. It measures no time. It fails if the work tree is edited while it runs.

#[path = "../common/mod.rs"]
mod common;
mod ecn_controls;
mod new_protocol;

use std::path::Path;
use std::process::Command;

/// Uncommitted changes of the work tree, including untracked files; None outside of a git work
/// tree.
fn changes(root: &Path) -> Option<String> {
    let mut git = Command::new("git");
    git.args(["status", "--porcelain", "--untracked-files=all"]);
    let status = git.current_dir(root).output().ok()?;
    status
        .status
        .success()
        .then(|| String::from_utf8_lossy(&status.stdout).into_owned())
}

#[test]
fn algorithms_are_added_by_naming_their_folder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let before = changes(&root);
    let (test, _) = further::built(Path::new(env!("CARGO_TARGET_TMPDIR")), "sim_further");
    let output = Command::new(test).arg("--ignored").output();
    let output = output.expect("the built test starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("9 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(before, changes(&root), "nothing else changes");
}
