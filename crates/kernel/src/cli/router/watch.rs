//! `headwayctl router watch`: prints routers' counters repeatedly.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::cli::at_device::{devices, listed};
use crate::cli::stop::{on_signals, waited_until};
use crate::cli::traffic::{die_with_parent, print, ready};
use crate::error::{Attempt as _, Failure};
use crate::mechanisms::routers::{watched, Reading};
use crate::out::{self, say};
use crate::system::clock::now_ns;

/// Print routers' counters and values (such as prices, feedback and load) repeatedly until Ctrl-C
#[derive(Debug, Args)]
pub(super) struct WatchCommand {
    /// Device of the router [the devices of all routers]
    #[arg(long, value_name = "DEVICE")]
    dev: Option<String>,
    /// Network namespace of the device: a name of `ip netns`, or a path [the current one]; can be
    /// repeated
    #[arg(long, requires = "dev")]
    netns: Vec<String>,
    /// Time between two readings, like 100ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval_ns)]
    every: i64,
    /// End after this many readings of each router
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print one line of JSON per reading; its times are of CLOCK_MONOTONIC
    #[arg(long)]
    json: bool,
    /// Read the counters at the times in this file, one per line, instead of every --every. The
    /// readings are written to --out as JSON
    #[arg(long, hide = true, requires = "out", conflicts_with_all = ["every", "count"])]
    at: Option<PathBuf>,
    /// File to write the readings to
    #[arg(long, hide = true, requires = "at")]
    out: Option<PathBuf>,
    /// End this command when its parent process ends
    #[arg(long, hide = true)]
    die_with_parent: bool,
}

/// The shortest and the longest interval that --every allows. A reading takes much less than 1 ms;
/// an interval of more than an hour is probably a typing error.
fn interval_ns(text: &str) -> Result<i64, String> {
    match headway_experiment::parse_time(text).map_err(|e| e.to_string())? {
        ns @ 1_000_000..=3_600_000_000_000 => Ok(ns as i64),
        _ => Err("must be 1ms to 60min".to_owned()),
    }
}

pub(super) fn run(command: &WatchCommand) -> Result<(), Failure> {
    let routers = match &command.dev {
        Some(dev) => watched(&devices(&command.netns, dev)?)?,
        None => watched(&[])?,
    };
    if command.die_with_parent {
        die_with_parent()?;
    }
    let stop = on_signals()?;
    let read = || routers.iter().map(|router| router.read());
    if let (Some(at), Some(out)) = (&command.at, &command.out) {
        let times_ns = times(at)?;
        let write = format!("write {}", out.display());
        let mut file = BufWriter::new(File::create(out).attempt(&write)?);
        ready();
        let mut readings = 0u64;
        for time_ns in times_ns {
            if !waited_until(time_ns, stop) {
                break;
            }
            for reading in read() {
                writeln!(file, "{}", json!(reading?)).attempt(&write)?;
                readings += 1;
            }
        }
        file.flush().attempt(&write)?;
        return print(&json!({ "readings": readings }));
    }
    let start_ns = now_ns();
    let mut time_ns = start_ns;
    let mut left = command.count.unwrap_or(u64::MAX);
    while left > 0 && waited_until(time_ns, stop) {
        for reading in read() {
            let reading = reading?;
            match command.json {
                true => say!("{}", json!(reading)),
                false => say!("{}", in_words(&reading, start_ns)),
            }
        }
        out::flush();
        time_ns += command.every;
        left -= 1;
    }
    Ok(())
}

fn in_words(reading: &Reading, start_ns: i64) -> String {
    format!(
        "{:8.3} s  {}  {}  {}",
        (reading.time_ns - start_ns) as f64 / 1e9,
        reading.place,
        reading.name,
        listed(&reading.counters)
    )
}

fn times(path: &Path) -> Result<Vec<i64>, Failure> {
    let text = std::fs::read_to_string(path).attempt(format_args!("read {}", path.display()))?;
    text.lines()
        .map(|line| {
            line.parse().map_err(|_| {
                Failure::bad_input(format!("{}: {line:?} is not a time in ns", path.display()))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_a_millisecond_to_an_hour_apart() {
        assert_eq!(interval_ns("100ms"), Ok(100_000_000));
        assert_eq!(interval_ns("60min"), Ok(3_600_000_000_000));
        assert!(interval_ns("10us").unwrap_err().contains("1ms to 60min"));
        assert!(interval_ns("10").is_err());
    }
}
