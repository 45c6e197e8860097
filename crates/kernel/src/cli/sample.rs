//! `headwayctl sample`: what TCP senders know, at every ACK.

use std::path::PathBuf;

use clap::Args;

use super::stop::on_signals;
use super::traffic::{die_with_parent, print, ready};
use crate::error::Failure;
use crate::mechanisms::sampler::{self, Choice, NETNS_MAX};
use crate::system::netns::Netns;

/// Record cwnd, ssthresh, srtt, packets in flight and state of connections to a
/// range of ports, until SIGINT or SIGTERM; a JSON summary ends it.
#[derive(Debug, Args)]
pub struct Sample {
    /// File of records (see algorithms/kernel/sampler.bpf.c).
    #[arg(long)]
    out: PathBuf,
    /// Ports that the senders connect to: one, or FIRST-LAST.
    #[arg(long, value_parser = port_range)]
    port: (u16, u16),
    /// Also the sockets of the servers themselves.
    #[arg(long)]
    both_ends: bool,
    /// Only in these network namespaces [default: all].
    #[arg(long)]
    netns: Vec<String>,
    /// ACKs that change nothing are recorded at most this often, ns.
    #[arg(long, default_value_t = 1_000_000)]
    gap_ns: u32,
    /// End when the program that started this one does.
    #[arg(long)]
    die_with_parent: bool,
}

fn port_range(text: &str) -> Result<(u16, u16), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let port = |text: &str| {
        text.parse::<u16>()
            .map_err(|_| format!("{text:?} is no port; write 5001 or 5001-5010"))
    };
    let range = (port(first)?, port(last)?);
    if range.0 > range.1 {
        return Err("the first port is above the last".to_owned());
    }
    Ok(range)
}

/// Records until it is told to end.
///
/// # Errors
/// A kernel that cannot; an unknown namespace; a file that cannot be written.
pub fn run(arguments: Sample) -> Result<(), Failure> {
    if arguments.netns.len() > NETNS_MAX {
        return Err(Failure::bad_input(format!(
            "{} namespaces: at most {NETNS_MAX} can be chosen",
            arguments.netns.len()
        )));
    }
    let netns = arguments
        .netns
        .iter()
        .map(|name| {
            let inode = Netns::find(name)?.identity.1;
            u32::try_from(inode).map_err(|_| Failure::failed(format!("inode {inode} of {name}")))
        })
        .collect::<Result<Vec<u32>, Failure>>()?;
    let object = crate::objects::load::of_build(crate::objects::sampler_object())?;
    if let Some(reason) = crate::missing() {
        return Err(Failure::kernel_cannot(reason));
    }
    if arguments.die_with_parent {
        die_with_parent()?;
    }
    let stop = on_signals()?;
    let choice = Choice {
        first_port: arguments.port.0,
        last_port: arguments.port.1,
        both_ends: arguments.both_ends,
        gap_ns: arguments.gap_ns,
        netns,
    };
    print(&sampler::sample(
        object,
        &choice,
        &arguments.out,
        stop,
        ready,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_one_or_a_range() {
        assert_eq!(port_range("5001"), Ok((5001, 5001)));
        assert_eq!(port_range("5001-5010"), Ok((5001, 5010)));
        assert!(port_range("9-1").is_err());
        assert!(port_range("70000").unwrap_err().contains("70000"));
    }
}
