//! Writes the mirrors (`make mirrors`).

use std::fs;
use std::process::ExitCode;

use headway_mirrors::{files, root};

fn main() -> ExitCode {
    let written = files().and_then(|files| {
        for (path, text) in files {
            fs::write(root().join(&path), text)
                .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
            println!("{}", path.display());
        }
        Ok(())
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("mirrors: {message}");
            ExitCode::FAILURE
        }
    }
}
