//! Errors as Python's exceptions.

use pyo3::exceptions::PyValueError;
use pyo3::PyErr;

/// A ValueError with this message.
pub(crate) fn invalid(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
