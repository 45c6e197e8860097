//! The Python module `headway._engine`: glue over the simulator, nothing else.

mod experiment;
mod memory;

use headway_algorithms::brought::{beat, Watch};
use headway_experiment::exchanges::Exchanges;
use headway_experiment::pages::Pages;
use headway_sim::scenario::Vary;
use headway_sim::trace::record::{Column, Tables};
use headway_sim::{Outcome, Scenario, World};
use numpy::IntoPyArray;
use pyo3::exceptions::{PyInterruptedError, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a long run looks for Ctrl-C, and whether it is still wanted.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// How often the progress is told.
const TELL_INTERVAL: Duration = Duration::from_millis(250);
/// Rows that are kept before they are handed over, where somebody takes them.
const SPILL_BYTES: usize = 64 << 20;
/// Events between two looks at the clock, and between two beats of who is watched.
const EVENTS_PER_LOOK: u32 = 100_000;
const EVENTS_PER_BEAT: u32 = 20;

pub(crate) fn invalid(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

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

/// What the engine was built from, as a hash of its sources.
#[pyfunction]
fn sources() -> &'static str {
    env!("HEADWAY_SOURCES")
}

/// Memory that this process may still take: the machine's, its group's and its own limit.
#[pyfunction]
fn free_bytes() -> u64 {
    memory::free_bytes()
}

/// A file's text ("schedule" or "mahimahi") as the engine takes it in a link's `vary`.
/// Raises ValueError with one line that names the line of the file.
#[pyfunction]
fn vary_of_text(kind: &str, text: &str) -> PyResult<String> {
    let vary = match kind {
        "schedule" => Vary::schedule_of_text(text),
        "mahimahi" => Vary::mahimahi_of_text(text),
        _ => return Err(invalid("kind: schedule or mahimahi")),
    };
    serde_json::to_string(&vary.map_err(invalid)?).map_err(invalid)
}

/// Whether two live programs can play a file of exchanges. Raises ValueError with one line that
/// says why not.
#[pyfunction]
fn check_exchanges_live(path: std::path::PathBuf) -> PyResult<()> {
    let file = std::fs::File::open(path)?;
    let read = Exchanges::read(std::io::BufReader::new(file)).map_err(invalid)?;
    read.playable_live().map_err(invalid)
}

/// The columns of a file of exchanges. Raises ValueError with one line that names the file's
/// line and column, OSError where it cannot be read.
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

/// The columns of a file of Web pages. Raises as [`read_exchanges`] does.
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

/// Raises ValueError with one line for a link's `vary` that makes no sense.
#[pyfunction]
fn check_vary(vary_json: &str) -> PyResult<()> {
    let vary: Vary = serde_json::from_str(vary_json).map_err(invalid)?;
    vary.check("").map_err(invalid)
}

fn array<'py>(py: Python<'py>, column: Column) -> Bound<'py, PyAny> {
    match column {
        Column::U8(v) => v.into_pyarray(py).into_any(),
        Column::U32(v) => v.into_pyarray(py).into_any(),
        Column::U64(v) => v.into_pyarray(py).into_any(),
        Column::I64(v) => v.into_pyarray(py).into_any(),
    }
}

/// With no room for it this is a MemoryError.
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
/// `progress` is called with the simulated nanoseconds a few times a second. Where there
/// is a `spill`, it is called with the tables' rows and the captured file so far, None
/// for what is not wanted, whenever they take more than `spill_bytes`, and the result
/// has what came after.
///
/// Raises ValueError with one line if the scenario is not valid, MemoryError with one
/// line if trace and capture come to need more than `limit_bytes` (default: what is
/// free as the run begins), KeyboardInterrupt on Ctrl-C in the main thread, and
/// InterruptedError if `stop` is set meanwhile.
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
    // columns grow by doubling, and what Python makes of them needs room, too
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

/// Runs until the time is over, or the trace is larger than one of the bounds; false if
/// the run ended before. Bounds are looked at after the same events in every run.
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
    module.add_function(wrap_pyfunction!(algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(sources, module)?)?;
    module.add_function(wrap_pyfunction!(free_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(vary_of_text, module)?)?;
    module.add_function(wrap_pyfunction!(check_vary, module)?)?;
    module.add_function(wrap_pyfunction!(check_exchanges_live, module)?)?;
    module.add_function(wrap_pyfunction!(read_exchanges, module)?)?;
    module.add_function(wrap_pyfunction!(read_pages, module)?)?;
    experiment::add_to(module)?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
