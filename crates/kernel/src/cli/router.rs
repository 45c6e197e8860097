//! `headwayctl router`

use clap::{Args, Subcommand};

use super::error::CliError;
use crate::device::Device;
use crate::router::{Request, Router};
use crate::testbed::units;

/// What a router does at the device of a link
#[derive(Debug, Args)]
pub struct RouterCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    QuickStart(QuickStartCommand),
}

/// Answer requests for rates on the link that packets leave by (RFC 4782); `detach
/// --dev` ends it
#[derive(Debug, Args)]
struct QuickStartCommand {
    /// The device that packets leave by
    #[arg(long, value_name = "DEVICE")]
    dev: String,
    /// Its namespace: a name of `ip netns`, or a path [this one]
    #[arg(long)]
    netns: Option<String>,
    /// What the link can carry, like 10mbit; a lower bound does no harm
    #[arg(long, value_name = "RATE")]
    capacity: String,
    /// target, share, optimistic, fair or extreme [target]
    #[arg(long)]
    algorithm: Option<String>,
    /// How samples of the load are joined: last, ewma or peak [peak]
    #[arg(long)]
    estimator: Option<String>,
    /// Another tunable's value (`headway describe quick-start` lists them); may be given
    /// several times
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
}

pub(super) fn run(command: &RouterCommand) -> Result<(), CliError> {
    let Command::QuickStart(command) = &command.command;
    let capacity_bps = units::rate_bps(&command.capacity)
        .map_err(|e| CliError::bad_input(format!("--capacity {e}")))?;
    if capacity_bps < 1000 || capacity_bps / 1000 > u64::from(u32::MAX) {
        return Err(CliError::bad_input(format!(
            "--capacity {}: must be 1 kbit/s to 4294 Gbit/s",
            command.capacity
        )));
    }
    let mut settings = vec![(
        "capacity_kbps".to_owned(),
        (capacity_bps / 1000).to_string(),
    )];
    for (name, value) in [
        ("algorithm", &command.algorithm),
        ("estimator", &command.estimator),
    ] {
        settings.extend(value.iter().map(|v| (name.to_owned(), v.clone())));
    }
    for setting in &command.settings {
        let (name, value) = setting.split_once('=').ok_or_else(|| {
            CliError::bad_input(format!("setting \"{setting}\": must be name=value"))
        })?;
        settings.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    let device = Device::find(command.netns.as_deref(), &command.dev)?;
    let place = Request::new(device, &settings)?.run()?;
    println!("{place} answers Quick-Start requests");
    Ok(())
}

/// As `status` shows it.
pub(super) fn print(routers: &[Router]) {
    for router in routers {
        println!(
            "{}  router of Quick-Start{}",
            router.place,
            if router.gone {
                "  (its device has gone)"
            } else {
                ""
            }
        );
        let mbit = |bps: u64| bps as f64 / 1e6;
        println!(
            "  load {:.3} Mbit/s ({:.1} % of the capacity), granted and not yet seen {:.3} Mbit/s, \
             granted in all {:.3} Mbit/s",
            mbit(router.usage_bps),
            router.utilization_permille as f64 / 10.0,
            mbit(router.outstanding_bps),
            mbit(router.granted_bps)
        );
        let list = |map: Vec<String>| map.join(" ");
        println!(
            "  counters: {}",
            list(
                router
                    .counters
                    .iter()
                    .map(|(k, v)| format!("{k}={v}"))
                    .collect()
            )
        );
        println!(
            "  tunables: {}",
            list(
                router
                    .tunables
                    .iter()
                    .map(|(k, v)| format!("{k}={v}"))
                    .collect()
            )
        );
        if let Some(cost) = router.cost_per_packet {
            println!("  cost: {} ns per packet over {}", cost.ns, cost.runs);
        }
    }
}
