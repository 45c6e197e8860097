//! Lists the option folders, so that a new option needs only a new file.
//!
//! For `src/tcp_options/NAME.rs` this writes `pub mod NAME;` and an entry of the folder's registry,
//! taken from the file's `pub const INFO`. It does the same for `src/ipv4_options`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn option_files(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_rust = path.extension().is_some_and(|e| e == "rs");
        if let Some(stem) = path.file_stem().and_then(|s| s.to_str()) {
            if is_rust && stem != "mod" {
                files.push((stem.to_owned(), path.clone()));
            }
        }
    }
    // The order of a directory differs between machines; the build must not depend on it.
    files.sort();
    Ok(files)
}

fn registry(files: &[(String, PathBuf)]) -> String {
    let mut text = String::new();
    for (name, path) in files {
        let _ = writeln!(text, "#[path = {:?}]\npub mod {name};", path);
    }
    text.push_str("/// Every option of this folder, in the order of the file names.\n");
    text.push_str("pub const REGISTRY: &[crate::options::OptionInfo] = &[\n");
    for (name, _) in files {
        let _ = writeln!(text, "    {name}::INFO,");
    }
    text.push_str("];\n");
    text
}

fn main() -> io::Result<()> {
    let variable = |name: &str| {
        env::var(name)
            .map_err(|e| io::Error::other(format!("cargo has not set the variable {name}: {e}")))
    };
    let source = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("src");
    let out = PathBuf::from(variable("OUT_DIR")?);
    for folder in ["tcp_options", "ipv4_options"] {
        let path = source.join(folder);
        println!("cargo:rerun-if-changed={}", path.display());
        let files = option_files(&path)?;
        fs::write(out.join(format!("{folder}.rs")), registry(&files))?;
    }
    println!("cargo:rerun-if-changed=build.rs");
    Ok(())
}
