//! Compiles every algorithm found in `algorithms/` and writes the registry: an
//! algorithm is added by adding its file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folder, prefix of the exported table, C type of the table, name of the list.
const FOLDERS: [(&str, &str, &str, &str); 4] = [
    ("cc", "hw_cc_", "hw_cc_ops", "controls"),
    ("startup", "hw_startup_", "hw_startup_ops", "startups"),
    ("queue", "hw_queue_", "hw_queue_ops", "queues"),
    ("router", "hw_router_", "hw_router_ops", "routers"),
];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let root = manifest.join("../../algorithms");
    println!("cargo::rerun-if-changed={}", root.display());

    let mut build = cc::Build::new();
    build
        .std("c11")
        .opt_level(2)
        .warnings(true)
        .extra_warnings(true)
        .include(root.join("port"));
    // what the tests run stops at the first undefined operation
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        build
            .flag_if_supported("-fsanitize=undefined")
            .flag_if_supported("-fsanitize-undefined-trap-on-error");
    }
    let mut registry = String::from("#include \"native/flow.h\"\n");
    for (folder, prefix, kind, list) in FOLDERS {
        let files = sources(&root.join(folder));
        let tables: Vec<String> = files
            .iter()
            .map(|file| format!("{prefix}{}", stem(file)))
            .collect();
        for table in &tables {
            writeln!(registry, "extern const struct {kind} {table};").expect("a String");
        }
        writeln!(
            registry,
            "const struct {kind} *const hw_native_{list}[] = {{ &{} }};\n\
             const u32 hw_native_n_{list} = HW_COUNT(hw_native_{list});",
            tables.join(", &")
        )
        .expect("a String");
        build.files(files);
    }
    let registry_c = out.join("registry.c");
    fs::write(&registry_c, registry).expect("OUT_DIR is writable");
    build
        .files(sources(&root.join("port/native")))
        .file(registry_c)
        .compile("headway_algorithms_c");
}

/// The C files of a folder, in a fixed order.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("cannot list {}: {e}", folder.display()))
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no C files in {}", folder.display());
    files
}

fn stem(file: &Path) -> &str {
    file.file_stem()
        .and_then(|s| s.to_str())
        .expect("an ASCII name")
}
