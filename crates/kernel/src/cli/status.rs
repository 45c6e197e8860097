//! `headwayctl status`

use std::time::Duration;

use clap::Args;
use headway_pep::control::Status as Proxy;
use serde::Serialize;

use super::at_device::print_list;
use super::proxies;
use super::{hints, host, router};
use crate::attach::inventory::Attachment;
use crate::attach::status::{self, Entry, Status};
use crate::error::Failure;
use crate::out::{self, say};

/// Show everything of Headway that is attached to the kernel, and all running proxies
#[derive(Debug, Args)]
pub struct StatusCommand {
    /// First measure for this long how much processor time the attached programs take, like 1s
    #[arg(long, value_name = "TIME", value_parser = measured_for)]
    measure: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Everything that Headway has attached to the kernel, and Headway's proxies.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    status: &'a Status,
    proxies: &'a [Proxy],
    killed_proxies: &'a [String],
}

/// The shortest and the longest time that --measure allows. A measurement needs at least 0.1 s to
/// be meaningful; more than an hour is probably a typing error.
fn measured_for(text: &str) -> Result<Duration, String> {
    let time =
        Duration::from_nanos(headway_experiment::parse_time(text).map_err(|e| e.to_string())?);
    if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&time) {
        Ok(time)
    } else {
        Err("must be 100ms to 60min".to_owned())
    }
}

pub(super) fn run(command: &StatusCommand) -> Result<(), Failure> {
    let status = status::status(command.measure)?;
    let proxies = proxies::find(None, false)?;
    if command.json {
        return out::json(&Report {
            status: &status,
            proxies: &proxies.running,
            killed_proxies: &proxies.killed,
        });
    }
    if status.is_empty() && proxies.is_empty() {
        say!("nothing is attached");
    }
    for entry in &status.attached {
        print_entry(entry);
    }
    for attachment in &status.lingering {
        say!(
            "{}  {}  detached or replaced; {} still use it",
            attachment.name,
            attachment.pair(),
            match attachment.references {
                1 => "1 socket or namespace".to_owned(),
                n => format!("{n} sockets or namespaces"),
            }
        );
    }
    for endpoint in &status.endpoints {
        say!(
            "header {} by {}, sockets of {}{}",
            endpoint.header.unwrap_or("unknown"),
            endpoint.control,
            endpoint.cgroup,
            if endpoint.pinned {
                ""
            } else {
                "  kept by a process"
            }
        );
        print_list("counters", &endpoint.counters);
        if let Some(feedback) = &endpoint.feedback {
            let title = format!("last feedback, {:.1} s ago", feedback.age_ms as f64 / 1e3);
            print_list(&title, &feedback.values);
        }
        for remark in endpoint.remarks() {
            say!("  {remark}");
        }
        if endpoint.needs_device && status.headers_out.is_empty() {
            say!("  no device sends it yet; run `headwayctl host headers --dev DEVICE`");
        }
    }
    host::print_headers_out(&status.headers_out);
    hints::print(&status.hints, &status.hint_defaults);
    host::print(&status.quick_start_hosts);
    router::print(&status.routers);
    host::print_windows(&status.first_windows);
    proxies.print();
    Ok(())
}

fn print_entry(entry: &Entry) {
    let attachment: &Attachment = &entry.attachment;
    say!(
        "{}  {}  {} sockets  {}",
        attachment.name,
        attachment.pair(),
        entry.sockets(),
        match (entry.pinned, attachment.link_id) {
            (true, _) => "pinned",
            (false, Some(_)) => "kept by a process or another pin",
            (false, None) => "registered without a link",
        }
    );
    for used in &entry.used_in {
        say!(
            "  namespace {}: {} sockets{}",
            used.namespace,
            used.sockets,
            if used.is_default { ", default" } else { "" }
        );
    }
    print_list("tunables", &attachment.shown_tunables());
    print_list("counters", &attachment.counters);
    if let Some(cost) = entry.cost_per_ack {
        say!(
            "  cost: {} ns per ACK over {} ACKs",
            cost.ns_per_ack,
            cost.acks
        );
    }
}
