//! Captures for Python.

use crate::error::invalid;
use headway_capture::Import;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fs::File;
use std::path::PathBuf;

/// Reads a pcap or pcapng file. Returns {"summary": JSON, "bins": {column: array}}; times are
/// nanoseconds since the first packet, -1 is an unknown value.
///
/// `progress` is called with the number of bytes read. Raises ValueError with one line for a file
/// that is no capture or needs too much memory, OSError if it cannot be opened, and
/// KeyboardInterrupt on Ctrl-C.
#[pyfunction]
#[pyo3(signature = (path, interval_ns, progress=None))]
pub(crate) fn read_capture<'py>(
    py: Python<'py>,
    path: PathBuf,
    interval_ns: i64,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let file = File::open(path)?;
    let mut import = py.detach(|| Import::new(file, interval_ns).map_err(invalid))?;
    while py.detach(|| import.step().map_err(invalid))? {
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1((import.file_bytes(),))?;
        }
    }
    let (summary, columns) = py.detach(|| import.finish());
    let bins = PyDict::new(py);
    for (name, values) in columns {
        bins.set_item(name, values.into_pyarray(py))?;
    }
    let result = PyDict::new(py);
    result.set_item("summary", serde_json::to_string(&summary).map_err(invalid)?)?;
    result.set_item("bins", bins)?;
    Ok(result)
}
