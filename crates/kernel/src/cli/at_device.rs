//! What `host`, `router` and others have in common: a device to name, and counters to print.

use std::fmt::Display;

use clap::Args;

use super::error::CliError;
use super::out::say;
use crate::device::Device;

/// A device and its namespace.
#[derive(Debug, Args)]
pub(super) struct AtDevice {
    /// The device towards the network: packets leave by it
    #[arg(long, value_name = "DEVICE")]
    dev: String,
    /// Its namespace: a name of `ip netns`, or a path [this one]
    #[arg(long)]
    netns: Option<String>,
}

impl AtDevice {
    pub(super) fn find(&self) -> Result<Device, CliError> {
        Device::find(self.netns.as_deref(), &self.dev)
    }
}

/// Prints "  counters: a=1 b=2"; nothing of an empty list.
pub(super) fn print_list<'a, V: Display + 'a>(
    title: &str,
    list: impl IntoIterator<Item = (&'a String, V)>,
) {
    let items: Vec<String> = list
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !items.is_empty() {
        say!("  {title}: {}", items.join(" "));
    }
}
