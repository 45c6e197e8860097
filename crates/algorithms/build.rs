//! Compiles every algorithm found in `algorithms/` and writes the registry: a new algorithm needs
//! only its file. HEADWAY_ALGORITHMS may name further folders with the same layout, separated as in
//! PATH; missing subfolders are skipped.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// For each kind of algorithm: the folder of its files, the prefix of the table that a file
/// exports, the C type of the table, and the name of the list in the registry.
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
    let mut roots = vec![root.clone()];
    println!("cargo::rerun-if-env-changed=HEADWAY_ALGORITHMS");
    if let Some(more) = env::var_os("HEADWAY_ALGORITHMS") {
        let named = env::split_paths(&more).filter(|path| !path.as_os_str().is_empty());
        roots.extend(named.map(|path| manifest.join("../..").join(path)));
    }
    for root in &roots {
        assert!(root.is_dir(), "no folder {}", root.display());
        println!("cargo::rerun-if-changed={}", root.display());
    }

    let mut build = cc::Build::new();
    build
        .std("c11")
        .opt_level(2)
        .warnings(true)
        .extra_warnings(true)
        .include(root.join("port"));
    // in debug builds, which tests use, undefined behaviour in C stops the process
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        build
            .flag_if_supported("-fsanitize=undefined")
            .flag_if_supported("-fsanitize-undefined-trap-on-error");
    }
    let mut registry = String::from("#include \"native/flow.h\"\n");
    for (folder, prefix, kind, list) in FOLDERS {
        let files = sources(&roots, folder, "c");
        let tables: Vec<String> = files
            .iter()
            .map(|file| format!("{prefix}{}", stem(file)))
            .collect();
        for table in &tables {
            writeln!(registry, "extern const struct {kind} {table};").expect("a String");
        }
        list_of(&mut registry, kind, list, &tables);
        build.files(files);
    }
    let headers = sources(&roots, "header", "h");
    for header in &headers {
        writeln!(registry, "#include \"{}\"", header.display()).expect("a String");
    }
    let tables: Vec<String> = headers
        .iter()
        .map(|file| format!("hw_header_{}", stem(file)))
        .collect();
    list_of(&mut registry, "hw_header", "headers", &tables);
    let registry_c = out.join("registry.c");
    fs::write(&registry_c, registry).expect("OUT_DIR is writable");
    build
        .files(sources(&roots[..1], "port/native", "c"))
        .file(registry_c)
        .compile("headway_algorithms_c");
    port(&roots, &headers, &out);
}

/// Writes the list of headers that a user's own algorithm file may include, so that such files
/// compile without the source tree.
fn port(roots: &[PathBuf], headers: &[PathBuf], out: &Path) {
    let mut list = String::from("const PORT: &[(&str, &str)] = &[\n");
    let of = |folder, ending| sources(&roots[..1], folder, ending);
    for (folder, files) in [
        ("port", &of("port", "h")[..]),
        ("header", headers),
        ("cc", &of("cc", "c")),
    ] {
        for file in files {
            let name = file.file_name().and_then(|name| name.to_str());
            let name = format!("{folder}/{}", name.expect("ASCII"));
            writeln!(list, "({name:?}, include_str!({file:?})),").expect("a String");
        }
    }
    fs::write(out.join("port.rs"), list + "];\n").expect("OUT_DIR is writable");
}

/// Writes the registry's list of all tables of one kind.
fn list_of(registry: &mut String, kind: &str, list: &str, tables: &[String]) {
    writeln!(
        registry,
        "const struct {kind} *const hw_native_{list}[] = {{ &{} }};\n\
         const u32 hw_native_n_{list} = HW_COUNT(hw_native_{list});",
        tables.join(", &")
    )
    .expect("a String");
}

/// The files in `folder` whose names end with `ending`, under each of the roots, in a fixed order.
fn sources(roots: &[PathBuf], folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in roots.iter().map(|root| root.join(folder)) {
        if !path.is_dir() {
            continue;
        }
        let listed =
            fs::read_dir(&path).unwrap_or_else(|e| panic!("cannot list {}: {e}", path.display()));
        let paths = listed.map(|entry| entry.expect("a readable folder").path());
        let mut found: Vec<_> = paths
            .filter(|path| path.extension().is_some_and(|e| e == ending))
            .collect();
        found.sort();
        files.extend(found);
    }
    assert!(!files.is_empty(), "no {ending} files in {folder}");
    files
}

fn stem(file: &Path) -> &str {
    file.file_stem()
        .and_then(|s| s.to_str())
        .expect("an ASCII name")
}
