//! The command-line options that select a network device, and functions that print counters.
//! `host`, `router` and other commands use them.

use std::fmt::Display;

use clap::Args;

use crate::error::Failure;
use crate::mechanisms::recent::Recent;
use crate::objects::device::Device;
use crate::out::say;

/// Options that select a network device and its namespace.
#[derive(Debug, Args)]
pub(super) struct AtDevice {
    /// Device that packets to the network leave through
    #[arg(long, value_name = "DEVICE")]
    dev: String,
    /// Network namespace of the device: a name of `ip netns`, or a path [the current one]
    #[arg(long)]
    netns: Option<String>,
}

impl AtDevice {
    pub(super) fn find(&self) -> Result<Device, Failure> {
        Device::find(self.netns.as_deref(), &self.dev)
    }
}

/// Finds the device of this name in each namespace in `netns`; in the current namespace if `netns`
/// is empty.
pub(super) fn devices(netns: &[String], dev: &str) -> Result<Vec<Device>, Failure> {
    match netns {
        [] => Ok(vec![Device::find(None, dev)?]),
        all => all
            .iter()
            .map(|netns| Device::find(Some(netns), dev))
            .collect(),
    }
}

/// Prints "  counters: a=1 b=2"; nothing for an empty list.
pub(super) fn print_list<'a, V: Display + 'a>(
    title: &str,
    list: impl IntoIterator<Item = (&'a String, V)>,
) {
    let items = listed(list);
    if !items.is_empty() {
        say!("  {title}: {items}");
    }
}

/// Formats a list as "a=1 b=2".
pub(super) fn listed<'a, V: Display + 'a>(
    list: impl IntoIterator<Item = (&'a String, V)>,
) -> String {
    let items: Vec<String> = list
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    items.join(" ")
}

/// How many of the last Quick-Start requests are printed as text at most. JSON has all of them.
const TOLD: usize = 5;

/// Prints the last Quick-Start requests and their outcomes.
pub(super) fn print_recent(recent: &[Recent]) {
    let mbit = |bps: u64| bps as f64 / 1e6;
    for request in recent.iter().take(TOLD) {
        let granted = match request.granted_bps {
            0 => "nothing".to_owned(),
            bps => format!("{} Mbit/s", mbit(bps)),
        };
        say!(
            "  {:.1} s ago {} to {}: asked for {} Mbit/s, got {granted}{}",
            request.age_ms as f64 / 1e3,
            request.sender,
            request.peer,
            mbit(request.asked_bps),
            match &request.reason {
                Some(reason) => format!(": {reason}"),
                None => String::new(),
            }
        );
    }
}
