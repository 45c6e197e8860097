//! Writes the mirrors (`make mirrors`).

use std::fs;
use std::process::ExitCode;

use headway_mirrors::{root, Part};

fn main() -> ExitCode {
    match Part::ALL.into_iter().try_for_each(write) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("mirrors: {message}");
            ExitCode::FAILURE
        }
    }
}

fn write(part: Part) -> Result<(), String> {
    for (path, text) in part.files()? {
        fs::write(root().join(&path), text)
            .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}
