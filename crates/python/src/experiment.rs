//! Python bindings of the crate `headway-experiment`, which the typed models use. This module only
//! converts values.

use std::collections::HashMap;
use std::sync::OnceLock;

use headway_algorithms::{sharing, LinkView, QueueInstance};
use headway_experiment::algorithm::{self, Known, Tunable};
use headway_experiment::flow::{self, FLOW_OPTIONS};
use headway_experiment::pages::MAX_PARALLEL;
use headway_experiment::quantity;
use headway_experiment::sizes::Sizes;
use headway_experiment::{
    arrivals, host, limits, lower, path, queue, start, testbed, text, Buffer, Limit,
};
use headway_sim::rng;
use headway_sim::scenario::{Jitter, LinkSpec};
use headway_sim::trace::digest::{CDF_SHARES, CLASS_EDGES_BYTES};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;

use crate::error::invalid;

/// Path and recorded content hash of a user's own file; None if the text is an algorithm's name.
#[pyfunction]
fn file_of(name: &str) -> Option<(&str, Option<&str>)> {
    algorithm::file_of(name)
}

/// The name that labels show for an algorithm or a user's file.
#[pyfunction]
fn plain(name: &str) -> &str {
    algorithm::plain(name)
}

/// The kind of a user's own file, by its table: "control" or "router"; "control" if it has no
/// table, so that loading it reports what is missing. Raises ValueError if the file cannot be read.
#[pyfunction]
fn kind_in(name: &str) -> PyResult<&'static str> {
    let kind = headway_algorithms::user_file::kind_in(name).map_err(invalid)?;
    Ok(kind.noun())
}

/// Compiles and loads a user's own file, a "control" or a "router". Returns its description, like
/// those of the registry. Raises ValueError with one line that names the file and, if known, its
/// line.
#[pyfunction]
fn user_file(py: Python<'_>, kind: &str, name: &str) -> PyResult<String> {
    py.detach(|| match kind {
        "control" => {
            let info = headway_algorithms::control(name).map_err(invalid)?;
            serde_json::to_string(info).map_err(invalid)
        }
        "router" => {
            let info = headway_algorithms::router(name).map_err(invalid)?;
            serde_json::to_string(info).map_err(invalid)
        }
        _ => Err(invalid(format!(
            "{name}: a {kind} cannot be a file of one's own; a control and a router can"
        ))),
    })
}

/// Raises ValueError if these routers cannot be used together on one link.
#[pyfunction]
fn check_routers(names: Vec<PyBackedStr>) -> PyResult<()> {
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    sharing::may_share_named(&names).map_err(invalid)
}

/// Raises ValueError if a router would misread the header of a control's packets as its own.
#[pyfunction]
fn check_passage(control: &str, router: &str) -> PyResult<()> {
    sharing::may_pass(control, router).map_err(invalid)
}

/// The names of all algorithms that are built into this engine.
fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| Known {
        stacks: headway_sim::host::tcp::profile::PROFILES
            .iter()
            .map(|p| p.name.to_owned())
            .collect(),
        ..headway_algorithms::known()
    })
}

fn tunable(name: String, unit: String, min: u32, max: u32) -> Tunable {
    Tunable {
        name,
        unit,
        min,
        max,
    }
}

#[pyfunction]
fn parse_rate(text: &str) -> PyResult<u64> {
    quantity::parse_rate(text).map_err(invalid)
}

#[pyfunction]
fn parse_time(text: &str) -> PyResult<u64> {
    quantity::parse_time(text).map_err(invalid)
}

#[pyfunction]
fn parse_positive_time(text: &str) -> PyResult<u64> {
    quantity::parse_positive_time(text).map_err(invalid)
}

/// Mean time between arrivals, in nanoseconds, at a rate such as "50/s".
#[pyfunction]
fn parse_arrivals(text: &str) -> PyResult<u64> {
    arrivals::parse_arrivals(text).map_err(invalid)
}

#[pyfunction]
fn parse_load(text: &str) -> PyResult<f64> {
    arrivals::parse_load(text).map_err(invalid)
}

/// Raises ValueError if transfers of these sizes cannot offer this load to a link of this rate.
#[pyfunction]
fn check_load(load: f64, sizes: &str, rate_bps: u64) -> PyResult<()> {
    let mean_bytes = mean_size_bytes(sizes)?;
    let interval_ns = arrivals::interval_of_load_ns(load, mean_bytes, rate_bps);
    interval_ns.map(drop).map_err(invalid)
}

/// Whether a text is meant to be the name of a file and not a distribution of sizes.
#[pyfunction]
fn is_sizes_file(text: &str) -> bool {
    Sizes::is_file(text)
}

/// Mean in bytes of a distribution of sizes. Raises ValueError for any other text.
#[pyfunction]
fn mean_size_bytes(text: &str) -> PyResult<f64> {
    Ok(Sizes::parse(text).map_err(invalid)?.mean_bytes())
}

/// The text form of the distribution in a file's content. Raises ValueError for a wrong line.
#[pyfunction]
fn sizes_of_lines(content: &str) -> PyResult<String> {
    match Sizes::of_lines(content).map_err(invalid)? {
        Sizes::Cdf(points) => Ok(Sizes::text_of_points(&points)),
        _ => unreachable!("a file has points"),
    }
}

/// Draws this many sizes in bytes, from a stream of random numbers of this seed.
#[pyfunction]
fn draw_sizes(text: &str, count: usize, seed: u64) -> PyResult<Vec<u64>> {
    let sizes = Sizes::parse(text).map_err(invalid)?;
    let mut rng = rng::stream(seed, rng::Purpose::Sizes, 0);
    let draw = |_| sizes.draw(|| rng::uniform(&mut rng));
    Ok((0..count).map(draw).collect())
}

#[pyfunction]
fn parse_size(text: &str) -> PyResult<u64> {
    quantity::parse_size(text).map_err(invalid)
}

#[pyfunction]
fn parse_positive_size(text: &str) -> PyResult<u64> {
    quantity::parse_positive_size(text).map_err(invalid)
}

/// The three sizes of a socket's memory: minimum, default, maximum.
#[pyfunction]
fn parse_memory(text: &str) -> PyResult<(u64, u64, u64)> {
    host::parse_memory(text).map(Into::into).map_err(invalid)
}

#[pyfunction]
fn format_memory(sizes: (u64, u64, u64)) -> String {
    host::format_memory(sizes.into())
}

/// The name and the value, as Linux takes them, of a sysctl ("sysctls") or an attribute of routes
/// ("route_attributes"). Raises ValueError if the simulator does not model it, or if one of the
/// stacks does not have it.
#[pyfunction]
fn host_setting(
    field: &str,
    name: &str,
    value: &str,
    stacks: Vec<PyBackedStr>,
) -> PyResult<(&'static str, String)> {
    let table = if field == host::OF_SYSCTLS.field {
        host::OF_SYSCTLS
    } else {
        host::OF_ROUTES
    };
    let (setting, numbers) = table.parse(name, value).map_err(invalid)?;
    let stacks = stacks.iter().map(|stack| &**stack);
    table
        .check_stacks(name, &numbers, stacks)
        .map_err(invalid)?;
    Ok((setting.name, setting.show(&numbers)))
}

/// The present name and value of a flow's option with a former name; None for other options.
#[pyfunction]
fn renamed_option(name: &str, value: &str) -> PyResult<Option<(&'static str, String)>> {
    flow::renamed(name, value).map_err(invalid)
}

/// The amount as decimal text, and its unit: B, pkts or BDP.
#[pyfunction]
fn parse_buffer(text: &str) -> PyResult<(String, &'static str)> {
    let buffer = queue::parse_buffer(text).map_err(invalid)?;
    Ok((buffer.amount(), buffer.unit()))
}

#[pyfunction]
fn parse_probability(text: &str, shown: &str, with_one: bool) -> PyResult<f64> {
    quantity::probability(text, shown, with_one).map_err(invalid)
}

#[pyfunction]
fn format_rate(rate_bps: i128) -> String {
    quantity::format_rate(rate_bps)
}

#[pyfunction]
fn format_time(time_ns: i128) -> String {
    quantity::format_time(time_ns)
}

#[pyfunction]
fn bdp_bytes(rate_bps: u64, rtt_ns: u64) -> u128 {
    headway_experiment::bdp_bytes(rate_bps, rtt_ns)
}

/// A queue's limit in bytes, computed from a limit as `parse_buffer` returns it; None if the limit
/// is in packets.
#[pyfunction]
fn limit_bytes(buffer: &str, rate_bps: u64, base_rtt_ns: u64) -> PyResult<Option<u128>> {
    let buffer: Buffer = queue::parse_buffer(buffer).map_err(invalid)?;
    Ok(buffer.bytes(rate_bps, base_rtt_ns))
}

/// Raises ValueError if a queue cannot have this limit.
#[pyfunction]
fn check_limit(buffer: &str, rate_bps: u64, base_rtt_ns: u64, of: &str) -> PyResult<()> {
    let buffer: Buffer = queue::parse_buffer(buffer).map_err(invalid)?;
    buffer
        .limit(rate_bps, base_rtt_ns, of)
        .map(drop)
        .map_err(invalid)
}

#[pyfunction]
fn halves_ns(rtt_ns: u64) -> (u64, u64) {
    path::halves_ns(rtt_ns)
}

/// Start of each flow: its own start time, or one drawn from the seed.
#[pyfunction]
fn start_times_ns(seed: u64, spread_ns: u64, own: Vec<Option<u64>>) -> Vec<u64> {
    own.into_iter()
        .enumerate()
        .map(|(flow, own)| own.unwrap_or_else(|| start::start_ns(seed, flow, spread_ns)))
        .collect()
}

#[pyfunction]
fn checkpoints_ns(duration_ns: u64, warmup_ns: u64, sample_ns: Option<u64>) -> Vec<u64> {
    lower::checkpoints_ns(duration_ns, warmup_ns, sample_ns)
}

/// The names of all flows. Each entry has the name that the user gave the flow, the name of its
/// control, and whether it is a VoIP call.
#[pyfunction]
fn flow_names(flows: Vec<(Option<PyBackedStr>, Option<PyBackedStr>, bool)>) -> Vec<String> {
    let flows = flows.iter().enumerate();
    flows
        .map(|(number, (own, control, is_voip))| {
            lower::flow_name(own.as_deref(), control.as_deref(), *is_voip, number)
        })
        .collect()
}

/// The scenario of an experiment, which is given as the JSON of its typed model. `apps` has the
/// applications whose data is not in the JSON, by flow number.
#[pyfunction]
fn scenario(
    py: Python<'_>,
    document: &str,
    apps: HashMap<usize, PyBackedStr>,
    digest_at_ns: Option<Vec<u64>>,
    trace: bool,
) -> PyResult<String> {
    let outputs = lower::Outputs {
        digest_at_ns,
        trace,
    };
    let app_text = |number: usize| apps.get(&number).map(|app| &**app);
    py.detach(|| lower::scenario(document, known(), app_text, outputs))
        .map_err(invalid)
}

/// A topology in the scenario's form, from the JSON of its typed model.
#[pyfunction]
fn topology(document: &str) -> PyResult<String> {
    let written = serde_json::from_str(document).map_err(invalid)?;
    let topology = lower::topology(&written, known()).map_err(invalid)?;
    Ok(topology.fields().to_string())
}

/// The fields of a link's effect from text such as "10ms:distribution=normal".
#[pyfunction]
fn effect_of_text<'py>(py: Python<'py>, name: &str, text: &str) -> PyResult<Bound<'py, PyDict>> {
    dictionary(py, lower::effect_of_text(name, text).map_err(invalid)?)
}

/// The scenario's form of a link's effect, from the JSON of its typed model. Raises ValueError if
/// the engine cannot run it.
#[pyfunction]
fn lowered_effect(name: &str, document: &str) -> PyResult<String> {
    let written = serde_json::from_str(document).map_err(invalid)?;
    let lowered = lower::lowered_effect(name, &written, "").map_err(invalid)?;
    let link = serde_json::json!({ "rate_bps": limits::MAX_RATE_BPS, name: lowered });
    let spec: LinkSpec = serde_json::from_value(link).map_err(invalid)?;
    spec.check("").map_err(|e| {
        let line = e.to_string();
        invalid(line.trim_start_matches(&format!("{name}.")))
    })?;
    Ok(lowered.to_string())
}

/// The values of a table of delay variation, from text in netem's format.
#[pyfunction]
fn jitter_table_of_text(text: &str) -> PyResult<Vec<i16>> {
    Jitter::table_of_text(text).map_err(invalid)
}

/// The longest time by which delay variation in the scenario's form delays a packet.
#[pyfunction]
fn jitter_longest_ns(lowered: &str) -> PyResult<u64> {
    let jitter: Jitter = serde_json::from_str(lowered).map_err(invalid)?;
    Ok(jitter.longest_ns())
}

/// Raises ValueError if a testbed cannot have this topology, the JSON of its typed model, with this
/// number of flows.
#[pyfunction]
fn check_testbed(document: &str, flows: usize) -> PyResult<()> {
    let written = serde_json::from_str(document).map_err(invalid)?;
    let topology = lower::topology(&written, known()).map_err(invalid)?;
    testbed::check(&topology, flows).map_err(invalid)
}

#[pyfunction]
fn unknown(kind: &str, name: &str, names: Vec<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    text::unknown(kind, name, &names)
}

#[pyfunction]
fn check_tunable(name: String, unit: String, min: u32, max: u32, written: &str) -> PyResult<u32> {
    tunable(name, unit, min, max)
        .check(written)
        .map_err(invalid)
}

/// Checks values by the names of tunables, each of which is a name, a unit, a minimum and a maximum.
/// Returns them as integers, by full names.
#[pyfunction]
fn check_tunables<'py>(
    py: Python<'py>,
    whose: &str,
    tunables: Vec<(String, String, u32, u32)>,
    values: Vec<(PyBackedStr, PyBackedStr)>,
) -> PyResult<Bound<'py, PyDict>> {
    let tunables = tunables.into_iter();
    let tunables: Vec<Tunable> = tunables
        .map(|(n, u, min, max)| tunable(n, u, min, max))
        .collect();
    let tunables: Vec<&Tunable> = tunables.iter().collect();
    let values: Vec<(&str, &str)> = values.iter().map(|(n, v)| (&**n, &**v)).collect();
    let checked = algorithm::check_tunables(whose, &tunables, &values).map_err(invalid)?;
    dictionary(py, checked)
}

/// Raises ValueError if a queue discipline cannot have these tunables on a link with this rate and
/// limit.
#[pyfunction]
fn check_queue(
    name: &str,
    tunables: HashMap<String, u32>,
    buffer: &str,
    rate_bps: u64,
    base_rtt_ns: u64,
) -> PyResult<()> {
    let buffer: Buffer = queue::parse_buffer(buffer).map_err(invalid)?;
    let mut link = LinkView {
        rate_bytes_per_s: rate_bps.div_ceil(8),
        ..LinkView::default()
    };
    match buffer.limit(rate_bps, base_rtt_ns, "").map_err(invalid)? {
        Limit::Bytes(bytes) => link.limit_bytes = bytes,
        Limit::Packets(pkts) => link.limit_pkts = u32::try_from(pkts).unwrap_or(u32::MAX),
    }
    let tunables: Vec<_> = tunables.into_iter().collect();
    QueueInstance::check(name, &tunables, &link).map_err(invalid)
}

#[pyfunction]
fn allowed_of_tunable(unit: String, min: u32, max: u32) -> String {
    tunable(String::new(), unit, min, max).allowed()
}

fn dictionary<'py>(
    py: Python<'py>,
    pairs: impl IntoIterator<Item = (impl AsRef<str>, impl IntoPyObject<'py>)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for (name, value) in pairs {
        dictionary.set_item(name.as_ref(), value)?;
    }
    Ok(dictionary)
}

/// Parses options from parts such as "sack=off".
#[pyfunction]
fn options_of_text(py: Python<'_>, parts: Vec<String>) -> PyResult<Bound<'_, PyDict>> {
    let options = algorithm::options(parts.iter().map(String::as_str)).map_err(invalid)?;
    dictionary(py, options)
}

/// Parses an algorithm's name and tunables from text such as "htcp:adaptive_backoff=off".
#[pyfunction]
fn split_tunables<'py>(py: Python<'py>, text: &str) -> PyResult<(String, Bound<'py, PyDict>)> {
    let (name, options) = algorithm::split_tunables(text).map_err(invalid)?;
    Ok((name.to_owned(), dictionary(py, options)?))
}

/// Raises ValueError for an invalid name of a control of the kernel.
#[pyfunction]
fn check_kernel_own(name: &str, has_more: bool) -> PyResult<()> {
    let own = name.strip_prefix(algorithm::KERNEL_OWN).unwrap_or_default();
    algorithm::check_kernel_own(name, own, has_more).map_err(invalid)
}

/// Fields of a control: its name, its startup (or None), its tunables.
type ControlFields<'py> = (String, Option<String>, Bound<'py, PyDict>);
/// Fields of a flow: those of its control (None for a VoIP call), and its options as text.
type FlowFields<'py> = (Option<ControlFields<'py>>, Bound<'py, PyDict>);

fn flow_fields<'py>(
    py: Python<'py>,
    control: Option<algorithm::Named>,
    options: Vec<(String, String)>,
) -> PyResult<FlowFields<'py>> {
    let control = match control {
        None => None,
        Some(named) => Some((named.name, named.startup, dictionary(py, named.tunables)?)),
    };
    Ok((control, dictionary(py, options)?))
}

/// Parses a flow without its count.
#[pyfunction]
fn parse_flow<'py>(py: Python<'py>, text: &str) -> PyResult<FlowFields<'py>> {
    let (control, options) = flow::parse_flow(text, known()).map_err(invalid)?;
    flow_fields(py, control, options)
}

/// Parses flows. Each entry has the number of equal flows, their part of the text, and the fields
/// of one flow.
#[pyfunction]
fn parse_flows<'py>(
    py: Python<'py>,
    text: &str,
) -> PyResult<Vec<(usize, String, FlowFields<'py>)>> {
    let flows = flow::parse_flows(text, known()).map_err(invalid)?;
    let fields = |flows: flow::Flows| {
        let of_one = flow_fields(py, flows.control, flows.options)?;
        Ok((flows.count, flows.part, of_one))
    };
    flows.into_iter().map(fields).collect()
}

/// Parses the options of flows. Returns them by name, in SI units.
#[pyfunction]
fn flow_values<'py>(py: Python<'py>, text: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let flows = flow::parse_flows(text, known()).map_err(invalid)?;
    let mut all = Vec::with_capacity(flows.len());
    for flow in &flows {
        let values = PyDict::new(py);
        for (name, value) in flow::values(flow, known()).map_err(invalid)? {
            match value {
                flow::Value::Number(number) => values.set_item(name, number)?,
                flow::Value::Sizes(sizes) => values.set_item(name, <(_, _, _)>::from(sizes))?,
                flow::Value::Switch(on) => values.set_item(name, on)?,
                flow::Value::Text(text) => values.set_item(name, text)?,
            }
        }
        all.push(values);
    }
    Ok(all)
}

/// Adds these functions to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    for function in [
        wrap_pyfunction!(parse_rate, module)?,
        wrap_pyfunction!(parse_time, module)?,
        wrap_pyfunction!(parse_positive_time, module)?,
        wrap_pyfunction!(parse_arrivals, module)?,
        wrap_pyfunction!(parse_load, module)?,
        wrap_pyfunction!(check_load, module)?,
        wrap_pyfunction!(is_sizes_file, module)?,
        wrap_pyfunction!(mean_size_bytes, module)?,
        wrap_pyfunction!(sizes_of_lines, module)?,
        wrap_pyfunction!(draw_sizes, module)?,
        wrap_pyfunction!(parse_size, module)?,
        wrap_pyfunction!(parse_positive_size, module)?,
        wrap_pyfunction!(parse_buffer, module)?,
        wrap_pyfunction!(parse_memory, module)?,
        wrap_pyfunction!(format_memory, module)?,
        wrap_pyfunction!(host_setting, module)?,
        wrap_pyfunction!(renamed_option, module)?,
        wrap_pyfunction!(parse_probability, module)?,
        wrap_pyfunction!(format_rate, module)?,
        wrap_pyfunction!(format_time, module)?,
        wrap_pyfunction!(bdp_bytes, module)?,
        wrap_pyfunction!(limit_bytes, module)?,
        wrap_pyfunction!(check_limit, module)?,
        wrap_pyfunction!(halves_ns, module)?,
        wrap_pyfunction!(start_times_ns, module)?,
        wrap_pyfunction!(checkpoints_ns, module)?,
        wrap_pyfunction!(flow_names, module)?,
        wrap_pyfunction!(scenario, module)?,
        wrap_pyfunction!(topology, module)?,
        wrap_pyfunction!(effect_of_text, module)?,
        wrap_pyfunction!(lowered_effect, module)?,
        wrap_pyfunction!(jitter_table_of_text, module)?,
        wrap_pyfunction!(jitter_longest_ns, module)?,
        wrap_pyfunction!(check_testbed, module)?,
        wrap_pyfunction!(unknown, module)?,
        wrap_pyfunction!(check_tunable, module)?,
        wrap_pyfunction!(check_tunables, module)?,
        wrap_pyfunction!(check_queue, module)?,
        wrap_pyfunction!(allowed_of_tunable, module)?,
        wrap_pyfunction!(options_of_text, module)?,
        wrap_pyfunction!(split_tunables, module)?,
        wrap_pyfunction!(check_kernel_own, module)?,
        wrap_pyfunction!(file_of, module)?,
        wrap_pyfunction!(plain, module)?,
        wrap_pyfunction!(user_file, module)?,
        wrap_pyfunction!(kind_in, module)?,
        wrap_pyfunction!(check_routers, module)?,
        wrap_pyfunction!(check_passage, module)?,
        wrap_pyfunction!(parse_flow, module)?,
        wrap_pyfunction!(parse_flows, module)?,
        wrap_pyfunction!(flow_values, module)?,
    ] {
        module.add_function(function)?;
    }
    let names: Vec<&str> = FLOW_OPTIONS.iter().map(|(name, _)| *name).collect();
    module.add(
        "FLOW_OPTIONS",
        pyo3::types::PyTuple::new(module.py(), names)?,
    )?;
    let names: Vec<&str> = flow::RENAMED_OPTIONS.iter().map(|(old, _)| *old).collect();
    module.add(
        "RENAMED_OPTIONS",
        pyo3::types::PyTuple::new(module.py(), names)?,
    )?;
    module.add("KERNEL_OWN", algorithm::KERNEL_OWN)?;
    module.add("VOIP", lower::VOIP)?;
    for (name, all) in [
        ("LINK", &lower::LINK[..]),
        ("MIRRORED", &lower::MIRRORED[..]),
        ("RECORDS", &lower::RECORDS[..]),
        ("RECORDS_BY_DEFAULT", &lower::RECORDS_BY_DEFAULT[..]),
    ] {
        module.add(name, pyo3::types::PyTuple::new(module.py(), all)?)?;
    }
    let edges_bytes = pyo3::types::PyTuple::new(module.py(), CLASS_EDGES_BYTES)?;
    module.add("SIZE_CLASS_EDGES_BYTES", edges_bytes)?;
    module.add(
        "CDF_SHARES",
        pyo3::types::PyTuple::new(module.py(), CDF_SHARES)?,
    )?;
    for (name, value) in [
        ("BATCHES", lower::BATCHES),
        ("MAX_RATE_BPS", limits::MAX_RATE_BPS),
        ("MAX_TIME_NS", limits::MAX_TIME_NS),
        ("MAX_DURATION_NS", limits::MAX_DURATION_NS),
        ("MAX_BYTES", limits::MAX_BYTES),
        ("MAX_HOPS", limits::MAX_HOPS as u64),
        ("MAX_FLOWS", limits::MAX_FLOWS as u64),
        ("MAX_NODES", limits::MAX_NODES as u64),
        ("MAX_EDGES", limits::MAX_EDGES as u64),
        ("MAX_SESSION_DELAY_NS", limits::MAX_SESSION_DELAY_NS),
        ("MAX_PARALLEL", MAX_PARALLEL.into()),
        ("MAX_WINDOW_BYTES", limits::MAX_WINDOW_BYTES),
        ("MIN_WINDOW_BYTES", limits::MIN_WINDOW_BYTES),
        ("MAX_MESSAGE_BYTES", limits::MAX_MESSAGE_BYTES),
        ("MIN_BUFFER_BYTES", limits::BUFFER_BYTES.0),
        ("MAX_BUFFER_BYTES", limits::BUFFER_BYTES.1),
        ("MIN_SOCKET_OPTION_BYTES", limits::SOCKET_OPTION_BYTES.0),
        ("MAX_SOCKET_OPTION_BYTES", limits::SOCKET_OPTION_BYTES.1),
        ("MAX_NAME_CHARS", limits::MAX_NAME_CHARS as u64),
        ("ACK_INTERVAL_NS", limits::ACK_INTERVAL_NS),
        ("REAL_TIME_MAX_BPS", testbed::REAL_TIME_MAX_BPS),
    ] {
        module.add(name, value)?;
    }
    Ok(())
}
