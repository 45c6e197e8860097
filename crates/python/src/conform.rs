//! Scripts of packetdrill for Python.

use crate::error::invalid;
use headway_drill::{play_on_kernel, read, simulate, Verdict};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A verdict as Python has it: the word, the line of the script (0 if it passes), the reason, and
/// notes on commands without effect.
type Said = (&'static str, u32, Option<String>, Vec<String>);

fn said(verdict: &Verdict) -> Said {
    let reason = verdict.reason().map(str::to_owned);
    (verdict.word(), verdict.line, reason, verdict.notes.clone())
}

/// Plays a script of packetdrill against the endpoint of a backend. Raises ValueError with one line
/// that names the line of the script if the file is no script, OSError if the backend cannot run.
#[pyfunction]
pub(crate) fn conform(py: Python<'_>, path: PathBuf, backend: &str) -> PyResult<Said> {
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let text = read(&path).map_err(invalid)?;
    match backend {
        "sim" => py
            .detach(|| simulate(&text, &folder).map_err(invalid))
            .map(|v| said(&v)),
        "kernel" => {
            let played = py.detach(|| play_on_kernel(&text, &folder).map_err(invalid))?;
            match played {
                Ok(verdict) => Ok(said(&verdict)),
                Err(error) => Err(PyOSError::new_err(error.to_string())),
            }
        }
        _ => Err(invalid("backend: sim or kernel")),
    }
}
