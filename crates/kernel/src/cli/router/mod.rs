//! `headwayctl router`

mod watch;

use std::ffi::OsString;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand};
use serde_json::json;

use super::at_device::{devices, print_list};
use super::read;
use super::tell::Tell;
use crate::benches::forwarding::packets::LEAST_BYTES;
use crate::benches::forwarding::{self, Bench, Outcome};
use crate::error::Failure;
use crate::mechanisms::routers::{Event, Link, Queue, Request, Router};
use crate::objects::constants::name_and_value;
use crate::out::{self, say};
use watch::WatchCommand;

const QUICK_START: &str = "quick-start";

/// What a router does at the device of a link; `router NAME` is short for `router attach NAME`
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
    /// The name of an algorithm, and what `attach` takes.
    #[command(external_subcommand)]
    Short(Vec<OsString>),
}

/// `router NAME ...`, as `router attach NAME ...` would read it.
#[derive(Debug, Parser)]
#[command(name = "headwayctl router", no_binary_name = true)]
struct ShortCommand {
    #[command(flatten)]
    attach: AttachCommand,
}

/// Put a router's algorithm at the link that packets leave by; `headway list` names them,
/// `status` prints what they count, `detach --dev` ends it
#[derive(Debug, Args)]
struct AttachCommand {
    /// The algorithm; a C file of your own: ./mine.c
    name: String,
    /// The device towards the network: packets leave by it
    #[arg(long, value_name = "DEVICE")]
    dev: String,
    /// Its namespace: a name of `ip netns`, or a path [this one]; several whose devices of
    /// that name all send into this one link
    #[arg(long)]
    netns: Vec<String>,
    /// What the link can carry, like 10mbit
    #[arg(long, visible_alias = "capacity")]
    rate: String,
    /// Room of the link's queue in bytes, like 64kB [no limit]
    #[arg(long, value_name = "BYTES")]
    queue: Option<String>,
    /// Take what waits in the device's own queueing discipline for the link's queue [what the
    /// link's rate has not sent yet of what has come]
    #[arg(long)]
    backlog: bool,
    /// A tunable's value (`headway describe NAME` lists them); may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    #[command(flatten)]
    tell: Tell,
}

/// Measure what a router's program costs: packets through a router of network namespaces, with
/// it and without, and packets without requests or other headers, also with a program that does
/// nothing, in turns
#[derive(Debug, Args)]
struct BenchCommand {
    /// The algorithm
    #[arg(default_value = QUICK_START)]
    name: String,
    /// Bytes of an IP packet
    #[arg(long, default_value_t = 50, value_parser = in_range(LEAST_BYTES..=1500))]
    packet_bytes: usize,
    /// Packets of a hundred that carry a request, or what header the algorithm has
    #[arg(long, value_name = "PERCENT", default_value_t = 1, value_parser = in_range(0..=100))]
    requests: usize,
    /// Turns
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Of each part of a turn
    #[arg(long, default_value = "500ms")]
    time: String,
    /// Also delays, at so many packets per second
    #[arg(long, value_name = "PPS", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    delays: Option<u32>,
    /// A tunable's value; may be given several times [of quick-start max_requests=0: all
    /// requests are answered]
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

/// Of a link; the option has two names.
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
    let place = request.run(command.tell.dry_run)?;
    command.tell.change(
        &format!("{} is at {place}", command.name),
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
        "packets per second of one processor: without requests, the same with an empty program, \
         with requests, and with the program:"
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
        "with the program by without it, the rounds' median: {:.3}",
        outcome.rate_ratio
    );
    say!(
        "of a packet's time {:.0} ns are sending it",
        outcome.sending_cpu_ns
    );
    if let Some(ns) = outcome.program_ns {
        say!("{ns:.0} ns per packet in the program, the kernel's counting included");
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

/// As `status` shows it.
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
                Queue::Backlog => ", by the device's own queue",
            },
            if router.gone {
                "  (its device has gone)"
            } else {
                ""
            }
        );
        if router.traffic.get("no_backlog").is_some_and(|&n| n > 0) {
            say!(
                "  the device's queue does not tell what waits in it: it has none, or one that \
                 counts by processor (pfifo_fast)"
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

/// What the algorithm told of one packet.
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
    fn a_rate_that_cannot_be_is_told_by_both_names_of_its_option() {
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
