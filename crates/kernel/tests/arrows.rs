//! Checks the dependencies between the crate's modules: a module uses only modules before it in the
//! list below, and only main.rs uses the command line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The crate's modules, lowest first. Modules in one line may use each other. The test fails if a
/// file in `src` belongs to none of these modules.
const LAYERS: [&[&str]; 9] = [
    &["error", "skipped", "generated", "uapi", "socket_options"],
    &["out", "mirror"],
    &["system"],
    &["objects"],
    &["mechanisms"],
    &["attach", "traffic"],
    &["testbed"],
    &["benches"],
    &["cli"],
];
/// The crate's root files, which may use every module.
const ROOTS: [&str; 2] = ["lib", "main"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Returns the names of the modules that a file uses: every word after `crate::` in the file's
/// code, including the words of a list in braces.
fn modules_named_in(text: &str) -> Vec<String> {
    let code: Vec<&str> = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect();
    let code = code.join("\n");
    let word = |text: &str| -> String {
        let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        text.trim_start().chars().take_while(is_name).collect()
    };
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let Some(list) = rest.strip_prefix('{') else {
            found.push(word(rest));
            continue;
        };
        let mut depth = 0;
        let mut start = true;
        for (at, c) in list.char_indices() {
            if start && depth == 0 && !c.is_whitespace() {
                found.push(word(&list[at..]));
                start = false;
            }
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => start = true,
                _ => {}
            }
        }
    }
    found
}

#[test]
fn a_module_uses_only_modules_before_it() {
    let layer: BTreeMap<&str, usize> = LAYERS
        .iter()
        .enumerate()
        .flat_map(|(depth, modules)| modules.iter().map(move |module| (*module, depth)))
        .collect();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    assert!(files.len() > 60, "{files:?}");
    let mut wrong = Vec::new();
    let mut uses = 0;
    for path in files {
        let inside = path.strip_prefix(&src).expect("below src");
        let first = inside.components().next().expect("a file");
        let module = first.as_os_str().to_string_lossy().replace(".rs", "");
        if ROOTS.contains(&module.as_str()) {
            continue;
        }
        let Some(depth) = layer.get(module.as_str()) else {
            wrong.push(format!("{} is in no module of this test", inside.display()));
            continue;
        };
        let text = fs::read_to_string(&path).expect("a source");
        for named in modules_named_in(&text) {
            // lib.rs re-exports names of `objects`, so the crate's root counts as `objects`
            let target = layer.get(named.as_str()).copied().unwrap_or(3);
            uses += usize::from(named != module);
            if named != module && target >= *depth {
                wrong.push(format!("{} names crate::{named}", inside.display()));
            }
        }
    }
    assert!(uses > 100, "{uses} uses are too few to be all");
    assert!(
        wrong.is_empty(),
        "uses of a higher module:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn uses_are_found_in_lists_and_paths_but_not_in_comments() {
    let text = "use crate::{cli, testbed::{up, down},\n    units};\n// crate::nothing\n\
                let x = crate::out::line(); //! crate::neither";
    assert_eq!(modules_named_in(text), ["cli", "testbed", "units", "out"]);
}
