//! `headwayctl status`

use std::time::Duration;

use clap::Args;

use super::at_device::print_list;
use super::error::CliError;
use super::{hints, host, print_json, router};
use crate::inventory::Attachment;
use crate::status::{self, Entry};

/// Show everything of Headway that is attached, whoever attached it
#[derive(Debug, Args)]
pub struct StatusCommand {
    /// Let the kernel count programs' runs for so many seconds first
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    measure: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &StatusCommand) -> Result<(), CliError> {
    let status = status::status(command.measure.map(Duration::from_secs))?;
    if command.json {
        return print_json(&status);
    }
    if status.is_empty() {
        println!("nothing is attached");
    }
    for entry in &status.attached {
        print_entry(entry);
    }
    for attachment in &status.lingering {
        println!(
            "{}  {}  detached or replaced; {} still use it",
            attachment.name,
            attachment.pair(),
            match attachment.references {
                1 => "1 socket or namespace".to_owned(),
                n => format!("{n} sockets or namespaces"),
            }
        );
    }
    hints::print(&status.hints, &status.hint_defaults);
    host::print(&status.quick_start_hosts);
    router::print(&status.quick_start_routers);
    host::print_windows(&status.first_windows);
    Ok(())
}

fn print_entry(entry: &Entry) {
    let attachment: &Attachment = &entry.attachment;
    println!(
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
        println!(
            "  namespace {}: {} sockets{}",
            used.namespace,
            used.sockets,
            if used.is_default { ", default" } else { "" }
        );
    }
    print_list("tunables", &attachment.tunables);
    print_list("counters", &attachment.counters);
    if let Some(cost) = entry.cost_per_ack {
        println!(
            "  cost: {} ns per ACK over {} ACKs",
            cost.ns_per_ack, cost.acks
        );
    }
}
