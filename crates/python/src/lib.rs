//! The Python module `headway._engine`: glue over the simulator, nothing else.

use headway_sim::record::Column;
use headway_sim::{Outcome, Scenario, World};
use numpy::IntoPyArray;
use pyo3::exceptions::{PyInterruptedError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a long run looks for Ctrl-C, and whether it is still wanted.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// Events between two looks at the clock.
const EVENTS_PER_LOOK: u32 = 100_000;

fn invalid(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The registry of algorithms and stacks, as JSON.
#[pyfunction]
fn algorithms() -> PyResult<String> {
    let stacks: Vec<_> = headway_sim::tcp::profile::PROFILES
        .iter()
        .map(|p| serde_json::json!({"name": p.name, "title": p.title}))
        .collect();
    serde_json::to_string(&serde_json::json!({
        "controls": headway_algorithms::controls(),
        "startups": headway_algorithms::startups(),
        "routers": headway_algorithms::routers(),
        "stacks": stacks,
    }))
    .map_err(invalid)
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// What the engine was built from, as a hash of its sources.
#[pyfunction]
fn sources() -> &'static str {
    env!("HEADWAY_SOURCES")
}

fn array<'py>(py: Python<'py>, column: Column) -> Bound<'py, PyAny> {
    match column {
        Column::U8(v) => v.into_pyarray(py).into_any(),
        Column::U32(v) => v.into_pyarray(py).into_any(),
        Column::U64(v) => v.into_pyarray(py).into_any(),
        Column::I64(v) => v.into_pyarray(py).into_any(),
    }
}

fn to_python<'py>(py: Python<'py>, outcome: Outcome) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    if let Some(totals) = outcome.digest {
        let text = py.detach(|| serde_json::to_string(&totals).map_err(invalid))?;
        result.set_item("digest", text)?;
        return Ok(result);
    }
    let tables = PyDict::new(py);
    for (name, columns) in outcome.tables.into_columns() {
        let table = PyDict::new(py);
        for (column, values) in columns {
            table.set_item(column, array(py, values))?;
        }
        tables.set_item(name, table)?;
    }
    result.set_item(
        "summary",
        serde_json::to_string(&outcome.summary).map_err(invalid)?,
    )?;
    result.set_item("tables", tables)?;
    result.set_item(
        "capture",
        outcome.capture.map(|bytes| PyBytes::new(py, &bytes)),
    )?;
    Ok(result)
}

/// Tells runs in other threads to end without a result.
#[pyclass(frozen)]
#[derive(Default)]
struct Stop(AtomicBool);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Every run that was given this one ends soon.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs one scenario in the calling thread, while other Python threads go on.
///
/// Raises ValueError with one line if the scenario is not valid, KeyboardInterrupt
/// on Ctrl-C in the main thread, and InterruptedError if `stop` is set meanwhile.
#[pyfunction]
#[pyo3(signature = (scenario_json, stop=None))]
fn run<'py>(
    py: Python<'py>,
    scenario_json: &str,
    stop: Option<&Stop>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut world = py.detach(|| {
        let scenario = Scenario::from_json(scenario_json).map_err(invalid)?;
        World::new(&scenario).map_err(invalid)
    })?;
    loop {
        let until = Instant::now() + SIGNAL_INTERVAL;
        if !py.detach(|| goes_on(&mut world, until)) {
            break;
        }
        py.check_signals()?;
        if stop.is_some_and(|stop| stop.0.load(Ordering::Relaxed)) {
            return Err(PyInterruptedError::new_err("the run was stopped"));
        }
    }
    to_python(py, py.detach(|| world.finish()))
}

/// Runs until the time is over; false if the run ended before.
fn goes_on(world: &mut World, until: Instant) -> bool {
    loop {
        for _ in 0..EVENTS_PER_LOOK {
            if !world.step() {
                return false;
            }
        }
        if Instant::now() >= until {
            return true;
        }
    }
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Stop>()?;
    module.add_function(wrap_pyfunction!(algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(sources, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
