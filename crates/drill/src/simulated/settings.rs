//! The simulator's form of a host's configuration.

use super::files::SocketOptions;
use crate::config::Config;
use crate::verdict::{not_applicable, Stop};
use headway_experiment::host::{Table, OF_ROUTES, OF_SYSCTLS};
use headway_sim::Scenario;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// Sysctls whose values make no difference to what is played.
pub(crate) const WITHOUT_EFFECT: [&str; 19] = [
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_retries1",
    "tcp_retries2",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_syncookies",
    "tcp_fin_timeout",
    "tcp_max_syn_backlog",
    "tcp_limit_output_bytes",
    "tcp_base_mss",
    "tcp_mtu_probe_floor",
    "tcp_probe_interval",
    "tcp_probe_threshold",
    "tcp_challenge_ack_limit",
    "tcp_tw_reuse",
    "tcp_backlog_ack_defer",
    "ip_local_port_range",
];
/// Sysctls of which the simulator has only this value.
const FIXED: [(&str, &str); 7] = [
    ("tcp_dsack", "1"),
    ("tcp_fack", "0"),
    ("tcp_reordering", "3"),
    ("tcp_moderate_rcvbuf", "1"),
    ("tcp_mtu_probing", "0"),
    ("tcp_ecn_fallback", "1"),
    ("tcp_autocorking", "1"),
];
const CONTROL: &str = "tcp_congestion_control";
/// Linux's own control if a script names none.
const USUAL_CONTROL: &str = "cubic";
/// A rate at which a packet leaves the endpoint within two nanoseconds.
const AT_ONCE_BPS: u64 = 10_000_000_000_000;
/// Longer than any script.
const DURATION_NS: u64 = 40_000_000_000_000;

/// Numbers of the settings of one table.
fn numbers(table: Table, settings: &BTreeMap<String, String>) -> Result<Map<String, Value>, Stop> {
    let mut all = Map::new();
    for (name, value) in settings {
        if WITHOUT_EFFECT.contains(&name.as_str()) || name == CONTROL {
            continue;
        }
        if let Some((_, own)) = FIXED.iter().find(|(fixed, _)| fixed == name) {
            if own != value {
                return Err(not_applicable(format!(
                    "{name} = {value}; the simulator has only {own}"
                )));
            }
            continue;
        }
        if table.find(name).is_err() {
            return Err(not_applicable(format!(
                "{name}: the simulator does not model it"
            )));
        }
        let (setting, parsed) = table
            .parse(name, value)
            .map_err(|error| not_applicable(error.to_string()))?;
        all.insert(setting.name.to_owned(), json!(parsed));
    }
    Ok(all)
}

/// Checks that the simulator has all settings.
pub(super) fn check(config: &mut Config) -> Result<(), Stop> {
    scenario(config, &SocketOptions::default()).map(|_| ())
}

/// The scenario of a host with one endpoint.
pub(super) fn scenario(config: &mut Config, options: &SocketOptions) -> Result<Scenario, Stop> {
    if config.mtu_bytes != 1500 {
        let reason = format!("--mtu={}; the simulator has only 1500", config.mtu_bytes);
        return Err(not_applicable(reason));
    }
    if config.paces {
        return Err(not_applicable(
            "the qdisc fq; the endpoint's device does not pace",
        ));
    }
    let of_config = config.sysctls.get(CONTROL).map(String::as_str);
    let control = options
        .control
        .as_deref()
        .or(of_config)
        .unwrap_or(USUAL_CONTROL);
    if headway_algorithms::control(control).is_err() {
        return Err(not_applicable(format!("the congestion control {control}")));
    }
    let mut flow = json!({
        "name": "endpoint",
        "app": {"kind": "bulk"},
        "control": {"name": control},
        "nodelay": options.nodelay,
    });
    for (name, bytes) in [
        ("sndbuf_bytes", options.send_buffer_bytes),
        ("rcvbuf_bytes", options.receive_buffer_bytes),
    ] {
        if let Some(bytes) = bytes {
            flow[name] = json!(bytes);
        }
    }
    let link = json!({"rate_bps": 1_000_000_000, "limit_bytes": 1_000_000});
    let document = json!({
        "stack": "linux-6",
        "duration_ns": DURATION_NS,
        "trace": false,
        "sysctls": numbers(OF_SYSCTLS, &config.sysctls)?,
        "route_attributes": numbers(OF_ROUTES, &config.route)?,
        "topology": {"access_rate_bps": AT_ONCE_BPS, "links": [link, link]},
        "flows": [flow],
    });
    Scenario::from_json(&document.to_string()).map_err(|error| not_applicable(error.to_string()))
}
