//! `headwayctl sample`: records the state of TCP senders at every ACK.

use std::path::PathBuf;

use clap::Args;

use super::stop::on_signals;
use super::traffic::{die_with_parent, print, ready};
use crate::error::Failure;
use crate::mechanisms::sampler::{self, Choice, NETNS_MAX};
use crate::system::netns::Netns;

/// Record cwnd, ssthresh, srtt, packets in flight and congestion state of the connections to a
/// range of ports, until SIGINT or SIGTERM. Then print a JSON summary.
#[derive(Debug, Args)]
pub struct Sample {
    /// File to write records to (see algorithms/kernel/sampler.bpf.c).
    #[arg(long)]
    out: PathBuf,
    /// Ports that the senders connect to: one, or FIRST-LAST.
    #[arg(long, value_parser = port_range)]
    port: (u16, u16),
    /// Record the servers' sockets in addition to the clients' sockets.
    #[arg(long)]
    both_ends: bool,
    /// Record only sockets in these network namespaces [default: all].
    #[arg(long)]
    netns: Vec<String>,
    /// Shortest time in ns between two records of a connection. It applies to ACKs that change
    /// neither cwnd nor ssthresh nor the number of retransmissions.
    #[arg(long, default_value_t = 1_000_000)]
    gap_ns: u32,
    /// End this command when its parent process ends.
    #[arg(long)]
    die_with_parent: bool,
}

fn port_range(text: &str) -> Result<(u16, u16), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let port = |text: &str| {
        text.parse::<u16>()
            .map_err(|_| format!("{text:?} is not a port; write 5001 or 5001-5010"))
    };
    let range = (port(first)?, port(last)?);
    if range.0 > range.1 {
        return Err("the first port is above the last".to_owned());
    }
    Ok(range)
}

/// Records until SIGINT or SIGTERM.
///
/// # Errors
/// The kernel lacks a feature; a namespace is unknown; the file cannot be written.
pub fn run(arguments: Sample) -> Result<(), Failure> {
    if arguments.netns.len() > NETNS_MAX {
        return Err(Failure::bad_input(format!(
            "--netns: {} namespaces are too many; at most {NETNS_MAX} are allowed",
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
    let object = crate::objects::built::of_build(crate::objects::sampler_object())?;
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
