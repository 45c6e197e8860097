//! The Python module `headway._engine`: glue over the simulator, nothing else.

use headway_sim::record::Column;
use headway_sim::{Outcome, Scenario, World};
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{mpsc, Mutex};
use std::time::Duration;

/// How often a long run looks for Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// Events between two looks at whether a run was abandoned.
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

fn array<'py>(py: Python<'py>, column: Column) -> Bound<'py, PyAny> {
    match column {
        Column::U8(v) => v.into_pyarray(py).into_any(),
        Column::U32(v) => v.into_pyarray(py).into_any(),
        Column::U64(v) => v.into_pyarray(py).into_any(),
        Column::I64(v) => v.into_pyarray(py).into_any(),
    }
}

fn to_python<'py>(py: Python<'py>, outcome: Outcome) -> PyResult<Bound<'py, PyDict>> {
    let tables = PyDict::new(py);
    for (name, columns) in outcome.tables.into_columns() {
        let table = PyDict::new(py);
        for (column, values) in columns {
            table.set_item(column, array(py, values))?;
        }
        tables.set_item(name, table)?;
    }
    let result = PyDict::new(py);
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

/// Builds the world of a scenario in JSON.
fn build(scenario_json: &str) -> PyResult<World> {
    let scenario = Scenario::from_json(scenario_json).map_err(invalid)?;
    World::new(&scenario).map_err(invalid)
}

/// Runs a world unless it is abandoned on the way.
fn run_unless(mut world: World, abandoned: &AtomicBool) -> Option<Outcome> {
    loop {
        for _ in 0..EVENTS_PER_LOOK {
            if !world.step() {
                return Some(world.finish());
            }
        }
        if abandoned.load(Ordering::Relaxed) {
            return None;
        }
    }
}

/// Runs one scenario.
///
/// Raises ValueError with one line if the scenario is not valid, and
/// KeyboardInterrupt on Ctrl-C.
#[pyfunction]
fn run<'py>(py: Python<'py>, scenario_json: &str) -> PyResult<Bound<'py, PyDict>> {
    let mut result = None;
    run_all(py, vec![build(scenario_json)?], 1, |_, outcome| {
        result = Some(to_python(py, outcome)?);
        Ok(())
    })?;
    result.ok_or_else(|| PyValueError::new_err("the run did not end"))
}

/// Runs scenarios in parallel and calls `on_done(index, result)` as each ends.
///
/// Raises ValueError before anything runs if a scenario is not valid. On Ctrl-C
/// the finished ones have been handed over, the others are abandoned.
#[pyfunction]
fn run_many(
    py: Python<'_>,
    scenarios: Vec<String>,
    threads: usize,
    on_done: Bound<'_, PyAny>,
) -> PyResult<()> {
    if threads == 0 {
        return Err(PyValueError::new_err(
            "threads: 0 is not allowed; at least 1",
        ));
    }
    let mut worlds = Vec::with_capacity(scenarios.len());
    for (i, scenario) in scenarios.iter().enumerate() {
        worlds
            .push(build(scenario).map_err(|e| invalid(format!("scenario {i}: {}", e.value(py))))?);
    }
    run_all(py, worlds, threads, |index, outcome| {
        on_done.call1((index, to_python(py, outcome)?)).map(|_| ())
    })
}

/// Shares worlds among threads; outcomes are handed over on this one.
fn run_all(
    py: Python<'_>,
    worlds: Vec<World>,
    threads: usize,
    mut hand_over: impl FnMut(usize, Outcome) -> PyResult<()>,
) -> PyResult<()> {
    let total = worlds.len();
    let worlds: Vec<_> = worlds.into_iter().map(|w| Mutex::new(Some(w))).collect();
    let next = AtomicUsize::new(0);
    let abandoned = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        // Waiting without the interpreter's lock needs something that threads may share.
        let receiver = Mutex::new(receiver);
        for _ in 0..threads.min(total) {
            let sender = sender.clone();
            let (worlds, next, abandoned) = (&worlds, &next, &abandoned);
            scope.spawn(move || loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(world) = worlds.get(index) else {
                    break;
                };
                let world = world.lock().expect("no run panics with its lock").take();
                let Some(world) = world else { break };
                let Some(outcome) = run_unless(world, abandoned) else {
                    break;
                };
                if sender.send((index, outcome)).is_err() {
                    break;
                }
            });
        }
        drop(sender);
        let mut done = 0;
        let result = loop {
            if done == total {
                break Ok(());
            }
            let received = py.detach(|| {
                receiver
                    .lock()
                    .expect("only this thread locks it")
                    .recv_timeout(SIGNAL_INTERVAL)
            });
            if let Err(error) = py.check_signals() {
                break Err(error);
            }
            match received {
                Ok((index, outcome)) => {
                    done += 1;
                    if let Err(error) = hand_over(index, outcome) {
                        break Err(error);
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    break Err(PyValueError::new_err("a simulation thread failed"));
                }
            }
        };
        abandoned.store(result.is_err(), Ordering::Relaxed);
        next.fetch_add(if result.is_err() { total } else { 0 }, Ordering::Relaxed);
        // A thread may be sending: let go of the receiver before the scope waits.
        drop(receiver);
        result
    })
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(run_many, module)?)
}
