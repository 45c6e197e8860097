//! The Python module `headway._engine`: bindings of the simulator, which only convert values.

mod capture;
mod conform;
mod error;
mod experiment;
mod graph;
mod memory;

use error::invalid;
use headway_algorithms::user_file::{beat, Watch};
use headway_experiment::exchanges::Exchanges;
use headway_experiment::lower;
use headway_experiment::pages::Pages;
use headway_sim::scenario::Vary;
use headway_sim::trace::record::{Column, Tables};
use headway_sim::{Outcome, Scenario, World};
use numpy::IntoPyArray;
use pyo3::exceptions::{PyInterruptedError, PyMemoryError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval at which a long run checks for Ctrl-C and for a stop request.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// Interval between calls of `progress`.
const TELL_INTERVAL: Duration = Duration::from_millis(250);
/// Bytes of rows that may accumulate before `spill` is called.
const SPILL_BYTES: usize = 64 << 20;
/// Number of simulated events between two checks of the clock, and between two signals of progress
/// to the watchdog of users' files.
const EVENTS_PER_LOOK: u32 = 100_000;
const EVENTS_PER_BEAT: u32 = 20;

/// The registry of algorithms and stacks, as JSON.
#[pyfunction]
fn algorithms() -> PyResult<String> {
    let stacks: Vec<_> = headway_sim::host::tcp::profile::PROFILES
        .iter()
        .map(|p| serde_json::json!({"name": p.name, "title": p.title}))
        .collect();
    serde_json::to_string(&serde_json::json!({
        "controls": headway_algorithms::controls(),
        "startups": headway_algorithms::startups(),
        "queues": headway_algorithms::queues(),
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

/// A hash of the sources from which the engine was built.
#[pyfunction]
fn sources() -> &'static str {
    env!("HEADWAY_SOURCES")
}

/// Memory in bytes that this process may still use: the smallest of what the machine, its control
/// group and its own limit leave.
#[pyfunction]
fn free_bytes() -> u64 {
    memory::free_bytes()
}

/// Converts a file's text ("schedule" or "mahimahi") to the form of a link's `vary`. Raises
/// ValueError with one line that names the line of the file.
#[pyfunction]
fn vary_of_text(kind: &str, text: &str) -> PyResult<String> {
    let vary = match kind {
        "schedule" => Vary::schedule_of_text(text),
        "mahimahi" => Vary::mahimahi_of_text(text),
        _ => return Err(invalid("kind: schedule or mahimahi")),
    };
    serde_json::to_string(&vary.map_err(invalid)?).map_err(invalid)
}

/// Checks whether two live programs can run a file of exchanges. Raises ValueError with one line
/// that gives the reason.
#[pyfunction]
fn check_exchanges_live(path: std::path::PathBuf) -> PyResult<()> {
    let file = std::fs::File::open(path)?;
    let read = Exchanges::read(std::io::BufReader::new(file)).map_err(invalid)?;
    read.playable_live().map_err(invalid)
}

/// Reads the columns of a file of exchanges. Raises ValueError with one line that names the file's
/// line and column, OSError if the file cannot be read.
#[pyfunction]
fn read_exchanges<'py>(py: Python<'py>, path: std::path::PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let file = std::fs::File::open(path)?;
    let read = py
        .detach(|| Exchanges::read(std::io::BufReader::new(file)))
        .map_err(invalid)?;
    let columns = PyDict::new(py);
    columns.set_item("start_ns", read.start_ns.into_pyarray(py))?;
    columns.set_item("exchanges", read.exchanges.into_pyarray(py))?;
    columns.set_item("request_bytes", read.request_bytes.into_pyarray(py))?;
    columns.set_item("response_bytes", read.response_bytes.into_pyarray(py))?;
    columns.set_item("serve_ns", read.serve_ns.into_pyarray(py))?;
    columns.set_item("think_ns", read.think_ns.into_pyarray(py))?;
    columns.set_item("deadline_ns", read.deadline_ns.into_pyarray(py))?;
    columns.set_item("after", read.after.into_pyarray(py))?;
    Ok(columns)
}

/// Reads the columns of a file of Web pages. Raises the same errors as [`read_exchanges`].
#[pyfunction]
fn read_pages<'py>(py: Python<'py>, path: std::path::PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let file = std::fs::File::open(path)?;
    let read = py
        .detach(|| Pages::read(std::io::BufReader::new(file)))
        .map_err(invalid)?;
    let columns = PyDict::new(py);
    columns.set_item("objects", read.objects.into_pyarray(py))?;
    columns.set_item("think_ns", read.think_ns.into_pyarray(py))?;
    columns.set_item("request_bytes", read.request_bytes.into_pyarray(py))?;
    columns.set_item("response_bytes", read.response_bytes.into_pyarray(py))?;
    columns.set_item("serve_ns", read.serve_ns.into_pyarray(py))?;
    columns.set_item("start_ns", read.start_ns.into_pyarray(py))?;
    columns.set_item("after", read.after.into_pyarray(py))?;
    Ok(columns)
}

/// The scenario's form of a link's `vary`, from the JSON of its typed model. `rate_bps` and
/// `delay_ns` are those of the link. Raises ValueError with one line for an invalid `vary`.
#[pyfunction]
fn lowered_vary(document: &str, rate_bps: u64, delay_ns: u64) -> PyResult<String> {
    let written = serde_json::from_str(document).map_err(invalid)?;
    let lowered = lower::lowered_vary(&written, rate_bps, delay_ns, "").map_err(invalid)?;
    let text = lowered.to_string();
    let vary: Vary = serde_json::from_value(lowered).map_err(invalid)?;
    vary.check("").map_err(invalid)?;
    Ok(text)
}

fn array<'py>(py: Python<'py>, column: Column) -> Bound<'py, PyAny> {
    match column {
        Column::U8(v) => v.into_pyarray(py).into_any(),
        Column::U32(v) => v.into_pyarray(py).into_any(),
        Column::U64(v) => v.into_pyarray(py).into_any(),
        Column::I64(v) => v.into_pyarray(py).into_any(),
    }
}

/// Copies bytes to Python; raises MemoryError if memory is short.
fn to_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |room| {
        room.copy_from_slice(bytes);
        Ok(())
    })
}

fn tables_to_python(py: Python<'_>, tables: Tables) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for (name, columns) in tables.into_columns() {
        let table = PyDict::new(py);
        for (column, values) in columns {
            table.set_item(column, array(py, values))?;
        }
        all.set_item(name, table)?;
    }
    Ok(all)
}

fn to_python<'py>(py: Python<'py>, outcome: Outcome) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    if let Some(totals) = &outcome.digest {
        let text = py.detach(|| serde_json::to_string(totals).map_err(invalid))?;
        result.set_item("digest", text)?;
    }
    let capture = outcome.capture.map(|bytes| to_bytes(py, &bytes));
    result.set_item("capture", capture.transpose()?)?;
    if outcome.tables.off {
        return Ok(result);
    }
    let tables = tables_to_python(py, outcome.tables)?;
    result.set_item(
        "summary",
        serde_json::to_string(&outcome.summary).map_err(invalid)?,
    )?;
    result.set_item("tables", tables)?;
    Ok(result)
}

/// An object with which another thread can stop runs. A stopped run ends without a result.
#[pyclass(frozen)]
#[derive(Default)]
struct Stop(AtomicBool);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Stops every run that was started with this object.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a scenario in the calling thread. Other Python threads continue to run.
///
/// `progress` is called with the simulated nanoseconds a few times a second. `spill` is called
/// with the tables' rows and the captured file so far, whenever they use more than `spill_bytes`.
/// An argument is None for tables or a capture that the scenario does not request. The result then
/// has only the rows and the capture after the last `spill`.
///
/// Raises ValueError with one line if the scenario is not valid, MemoryError with one line if
/// trace and capture need more than `limit_bytes` (default: a third of the memory that is free
/// when the run begins), KeyboardInterrupt on Ctrl-C in the main thread, and InterruptedError if
/// `stop` was set.
#[pyfunction]
#[pyo3(signature = (scenario_json, stop=None, *, progress=None, limit_bytes=None, spill=None, spill_bytes=SPILL_BYTES))]
fn run<'py>(
    py: Python<'py>,
    scenario_json: &str,
    stop: Option<&Stop>,
    progress: Option<&Bound<'py, PyAny>>,
    limit_bytes: Option<u64>,
    spill: Option<&Bound<'py, PyAny>>,
    spill_bytes: usize,
) -> PyResult<Bound<'py, PyDict>> {
    // leave memory for columns, which grow by doubling, and for their Python copies
    let limit_bytes = limit_bytes.unwrap_or_else(|| memory::free_bytes() / 3);
    let _watch =
        Watch::begin().map_err(|e| PyOSError::new_err(format!("cannot watch a run: {e}")))?;
    let mut world = py.detach(|| {
        let scenario = Scenario::from_json(scenario_json).map_err(invalid)?;
        World::new(&scenario).map_err(invalid)
    })?;
    let spill_bytes = if spill.is_some() {
        spill_bytes
    } else {
        usize::MAX
    };
    let mut told = Instant::now();
    loop {
        let until = Instant::now() + SIGNAL_INTERVAL;
        let (more, spilling) = py.detach(|| {
            let bound = usize::try_from(limit_bytes).unwrap_or(usize::MAX);
            (
                goes_on(&mut world, until, bound, spill_bytes),
                world.spillable_bytes() >= spill_bytes,
            )
        });
        if let (Some(spill), true) = (spill, spilling) {
            let tables = world.take_tables();
            let tables = if tables.off {
                None
            } else {
                Some(tables_to_python(py, tables)?)
            };
            let capture = py.detach(|| world.take_capture());
            spill.call1((
                tables,
                capture.map(|bytes| to_bytes(py, &bytes)).transpose()?,
            ))?;
        }
        if world.trace_bytes() as u64 > limit_bytes {
            return Err(too_large(&world, limit_bytes));
        }
        if !more {
            break;
        }
        if let (Some(progress), true) = (progress, told.elapsed() >= TELL_INTERVAL) {
            told = Instant::now();
            progress.call1((world.now_ns(),))?;
        }
        py.check_signals()?;
        if stop.is_some_and(|stop| stop.0.load(Ordering::Relaxed)) {
            return Err(PyInterruptedError::new_err("the run was stopped"));
        }
    }
    to_python(py, py.detach(|| world.finish()))
}

/// Runs until a point in time, or until the trace exceeds a bound. Returns false if the run has
/// ended. Repetitions of a run check the bounds after the same events.
fn goes_on(world: &mut World, until: Instant, limit_bytes: usize, spill_bytes: usize) -> bool {
    loop {
        for _ in 0..EVENTS_PER_LOOK / EVENTS_PER_BEAT {
            beat();
            for _ in 0..EVENTS_PER_BEAT {
                if !world.step() {
                    return false;
                }
            }
        }
        let large = world.trace_bytes() > limit_bytes || world.spillable_bytes() >= spill_bytes;
        if large || Instant::now() >= until {
            return true;
        }
    }
}

fn too_large(world: &World, limit_bytes: u64) -> PyErr {
    PyMemoryError::new_err(format!(
        "after {:.1} s the trace needs more than the {} MB that are free for it",
        world.now_ns() as f64 / 1e9,
        limit_bytes / 1_000_000
    ))
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Stop>()?;
    module.add_class::<graph::Graph>()?;
    module.add_function(wrap_pyfunction!(graph::check_nodes, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(sources, module)?)?;
    module.add_function(wrap_pyfunction!(free_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(conform::conform, module)?)?;
    module.add_function(wrap_pyfunction!(capture::read_capture, module)?)?;
    module.add_function(wrap_pyfunction!(vary_of_text, module)?)?;
    module.add_function(wrap_pyfunction!(lowered_vary, module)?)?;
    module.add_function(wrap_pyfunction!(check_exchanges_live, module)?)?;
    module.add_function(wrap_pyfunction!(read_exchanges, module)?)?;
    module.add_function(wrap_pyfunction!(read_pages, module)?)?;
    experiment::add_to(module)?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
