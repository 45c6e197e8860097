//! `headwayctl router`

mod watch;

use std::ffi::OsString;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand};
use serde_json::json;

use super::at_device::{devices, print_list};
use super::change::Change;
use super::parse::read;
use crate::benches::forwarding::packets::LEAST_BYTES;
use crate::benches::forwarding::{self, Bench, Outcome};
use crate::error::Failure;
use crate::mechanisms::routers::{Event, Link, Queue, Request, Router};
use crate::objects::constants::name_and_value;
use crate::out::{self, say};
use watch::WatchCommand;

const QUICK_START: &str = "quick-start";

/// Attach, read and measure router algorithms at network devices; `router NAME` is short for
/// `router attach NAME`
#[derive(Debug, Args)]
pub struct RouterCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Attach(AttachCommand),
    Bench(BenchCommand),
    Watch(WatchCommand),
    /// The words after `router NAME`: the options of `router attach NAME`.
    #[command(external_subcommand)]
    Short(Vec<OsString>),
}

/// `router NAME ...`, parsed like `router attach NAME ...`.
#[derive(Debug, Parser)]
#[command(name = "headwayctl router", no_binary_name = true)]
struct ShortCommand {
    #[command(flatten)]
    attach: AttachCommand,
}

/// Attach a router algorithm to the network device that sends into a link. `headway list` names the
/// algorithms, `status` prints their counters, `detach --dev` removes them
#[derive(Debug, Args)]
struct AttachCommand {
    /// Algorithm, or a C file of your own: ./mine.c
    name: String,
    /// Network device through which packets leave to the link
    #[arg(long, value_name = "DEVICE")]
    dev: String,
    /// Network namespace of the device: a name of `ip netns`, or a path [the current one]. Can be
    /// repeated if devices of this name in several namespaces send into the same link
    #[arg(long)]
    netns: Vec<String>,
    /// Rate of the link, like 10mbit
    #[arg(long, visible_alias = "capacity")]
    rate: String,
    /// Limit in bytes of the queue before the link, like 64kB [no limit]
    #[arg(long, value_name = "BYTES")]
    queue: Option<String>,
    /// Take the backlog of the device's queueing discipline as the link's queue [compute a virtual
    /// queue that drains at the link's rate]
    #[arg(long)]
    backlog: bool,
    /// Set a tunable (`headway describe NAME` lists them); can be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    #[command(flatten)]
    change: Change,
}

/// Measure the cost of a router's program. Packets pass a router in a network namespace in four
/// cases, one after the other: packets with the algorithm's header, with and without its program;
/// and packets without the header, with an empty program and without a program
#[derive(Debug, Args)]
struct BenchCommand {
    /// Algorithm to measure
    #[arg(default_value = QUICK_START)]
    name: String,
    /// Size of an IP packet in bytes
    #[arg(long, default_value_t = 50, value_parser = in_range(LEAST_BYTES..=1500))]
    packet_bytes: usize,
    /// How many percent of the packets carry the algorithm's header; for quick-start the header is
    /// a rate request
    #[arg(long, value_name = "PERCENT", default_value_t = 1, value_parser = in_range(0..=100))]
    requests: usize,
    /// Number of turns
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// How long to measure each of the four cases in a round
    #[arg(long, default_value = "500ms")]
    time: String,
    /// Also measure the packets' delays, while sending this many packets per second
    #[arg(long, value_name = "PPS", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    delays: Option<u32>,
    /// Set a tunable of the algorithm; can be repeated [for quick-start max_requests=0, which
    /// answers all requests]
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn in_range(range: std::ops::RangeInclusive<usize>) -> impl TypedValueParser<Value = usize> {
    let range = *range.start() as u64..=*range.end() as u64;
    clap::value_parser!(u64)
        .range(range)
        .map(|value| value as usize)
}

pub(super) fn run(command: &RouterCommand) -> Result<(), Failure> {
    match &command.command {
        Command::Attach(command) => attach(command),
        Command::Bench(command) => bench(command),
        Command::Watch(command) => watch::run(command),
        Command::Short(words) => match read(ShortCommand::try_parse_from(words))? {
            Some(command) => attach(&command.attach),
            None => Ok(()),
        },
    }
}

/// Parses the link's rate.
fn rate_bps(text: &str) -> Result<u64, Failure> {
    let bad = |why: String| Failure::bad_input(format!("--rate or --capacity {why}"));
    match headway_experiment::parse_rate(text) {
        Ok(bps @ 1000..) => Ok(bps),
        Ok(_) => Err(bad(format!("{text}: must be at least 1 kbit/s"))),
        Err(error) => Err(bad(error.to_string())),
    }
}

fn attach(command: &AttachCommand) -> Result<(), Failure> {
    let rate_bps = rate_bps(&command.rate)?;
    let limit_bytes = command.queue.as_deref().map(|text| {
        headway_experiment::parse_positive_size(text)
            .map_err(|e| Failure::bad_input(format!("--queue {e}")))
    });
    let limit_bytes = limit_bytes.transpose()?;
    let mut settings = Vec::new();
    add_settings(&mut settings, &command.settings)?;
    let link = Link {
        rate_bps,
        limit_bytes,
        queue: match command.backlog {
            true => Queue::Backlog,
            false => Queue::Virtual,
        },
    };
    let devices = devices(&command.netns, &command.dev)?;
    let request = Request::new(&command.name, devices, link, &settings)?;
    let place = request.run(command.change.dry_run)?;
    command.change.report(
        &format!("attached {} to {place}", command.name),
        &format!("attach {} to {place}", command.name),
        json!({ "place": place, "name": command.name, "rate_bps": rate_bps }),
    )
}

fn add_settings(to: &mut Vec<(String, String)>, settings: &[String]) -> Result<(), Failure> {
    for setting in settings {
        let (name, value) = name_and_value(setting)?;
        to.push((name.to_owned(), value.to_owned()));
    }
    Ok(())
}

fn bench(command: &BenchCommand) -> Result<(), Failure> {
    let time_ns = headway_experiment::parse_positive_time(&command.time)
        .map_err(|e| Failure::bad_input(format!("--time {e}")))?;
    let time = Duration::from_nanos(time_ns);
    if !(Duration::from_millis(10)..=Duration::from_secs(60)).contains(&time) {
        return Err(Failure::bad_input(format!(
            "--time {}: must be 10 ms to 60 s",
            command.time
        )));
    }
    let mut settings = match command.name.as_str() {
        QUICK_START => vec![("max_requests".to_owned(), "0".to_owned())],
        _ => Vec::new(),
    };
    add_settings(&mut settings, &command.settings)?;
    let outcome = forwarding::measure(Bench {
        router: command.name.clone(),
        packet_bytes: command.packet_bytes,
        requests_percent: command.requests,
        rounds: command.rounds,
        time,
        settings,
        delay_pps: command.delays,
    })?;
    if command.json {
        return out::json(&outcome);
    }
    print_outcome(&outcome);
    Ok(())
}

fn print_outcome(outcome: &Outcome) {
    say!(
        "packets per second on one processor: without requests; without requests, with an empty \
         program; with requests; with requests and the program; ratio of the last two:"
    );
    for round in &outcome.rounds {
        say!(
            "  {:9.0} {:9.0} {:9.0} {:9.0}  {:.3}",
            round.plain.rate_pps,
            round.empty.rate_pps,
            round.without.rate_pps,
            round.with.rate_pps,
            round.with.rate_pps / round.without.rate_pps
        );
    }
    say!(
        "rate with the program relative to without it, median of the rounds: {:.3}",
        outcome.rate_ratio
    );
    say!(
        "sending takes {:.0} ns of the time per packet",
        outcome.sending_cpu_ns
    );
    if let Some(ns) = outcome.program_ns {
        say!("{ns:.0} ns per packet in the program, including the kernel's measurement");
    }
    if outcome.router == QUICK_START {
        say!("{} requests, {} grants", outcome.requests, outcome.grants);
    }
    for (title, delays) in outcome.delays.iter().flat_map(|sides| {
        [
            ("without requests", &sides.plain),
            ("without requests, with an empty program", &sides.empty),
            ("without the program", &sides.without),
            ("with it", &sides.with),
        ]
    }) {
        say!(
            "delay {title}: mean {:.2} us, {} of {} lost",
            delays.mean_us,
            delays.lost,
            delays.packets
        );
    }
}

/// Prints the attached routers and their counters; also used by `status`.
pub(super) fn print(routers: &[Router]) {
    for router in routers {
        say!(
            "{}  router {} of {} Mbit/s{}{}",
            [&[router.place.clone()][..], &router.also_at]
                .concat()
                .join(", "),
            router.name,
            router.rate_bps as f64 / 1e6,
            match router.queue {
                Queue::Virtual => "",
                Queue::Backlog => ", using the device's queue",
            },
            if router.gone {
                "  (its device has gone)"
            } else {
                ""
            }
        );
        if router.traffic.get("no_backlog").is_some_and(|&n| n > 0) {
            say!(
                "  the device's queue does not report its backlog: it has none, or one that \
                 counts per processor (pfifo_fast)"
            );
        }
        print_list("counters", &router.counters);
        print_list("traffic", &router.traffic);
        print_list("tunables", &router.tunables);
        for event in router.events.iter().take(5) {
            print_event(event);
        }
        if let Some(ns) = router.ns_per_run {
            say!("  cost: {ns} ns per packet over {}", router.runs);
        }
    }
}

/// Prints an event that a router's algorithm reported for one packet.
fn print_event(event: &Event) {
    let mut title = format!("{:.1} s ago", event.age_ms as f64 / 1e3);
    if let (Some(sender), Some(peer)) = (&event.sender, &event.peer) {
        title += &format!(" {sender} to {peer}");
    }
    print_list(&title, &event.values);
    if let Some(reason) = &event.reason {
        say!("    {reason}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_about_the_rate_names_both_forms_of_the_option() {
        for (text, told) in [
            ("0", "--rate or --capacity '0' has no unit"),
            (
                "999bit",
                "--rate or --capacity 999bit: must be at least 1 kbit/s",
            ),
        ] {
            let failure = rate_bps(text).unwrap_err().to_string();
            assert!(failure.starts_with(told), "{failure}");
        }
        assert_eq!(rate_bps("10mbit").unwrap(), 10_000_000);
    }
}
