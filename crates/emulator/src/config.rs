//! What to emulate, as plain data in SI units.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use headway_sim::scenario::{check_rate, LinkSpec, Vary};
use serde::{Deserialize, Serialize};

use crate::capture::Capture;

/// An emulator: two directions, the hosts on either side, and how to keep time.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Seed of the links' random streams.
    #[serde(default = "one")]
    pub seed: u64,
    /// From left to right.
    pub forward: Path,
    /// From right to left.
    pub reverse: Path,
    /// Hosts on the left, one per device.
    pub left: Vec<Host>,
    /// Hosts on the right, one per device.
    pub right: Vec<Host>,
    /// Rate of each host's access link, which leads to the emulated link. Without it packets
    /// reach the emulated link at once.
    #[serde(default)]
    pub access_rate_bps: Option<u64>,
    /// Largest IP packet.
    #[serde(default = "ethernet_mtu")]
    pub mtu_bytes: u32,
    /// Where the row of each packet goes; none are kept when absent.
    #[serde(default)]
    pub log: Option<PathBuf>,
    /// Packets to keep as they were; none are when absent.
    #[serde(default)]
    pub capture: Option<Capture>,
    /// A packet delivered later than this after it was due counts as late.
    #[serde(default = "millisecond")]
    pub late_threshold_ns: u64,
    /// Sleep ends this long before a packet is due; the rest is spent polling.
    #[serde(default = "default_spin")]
    pub spin_ns: u64,
    /// Largest share of a core spent polling, from 0 to 1; when it is used up, sleep
    /// lasts until the packet is due.
    #[serde(default = "default_spin_share")]
    pub spin_share: f64,
    /// Ask for real-time scheduling; when absent, where the rates leave the thread
    /// idle often enough. Linux stalls a real-time thread that is not for 50 ms.
    #[serde(default)]
    pub real_time: Option<bool>,
}

/// One direction.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Rate, delay, queue and disturbances, as in a scenario.
    pub link: LinkSpec,
    /// Rate and delay that change as a file says, instead of the link's.
    #[serde(default)]
    pub vary: Option<VaryFile>,
}

impl Path {
    /// The link, with what its file says.
    ///
    /// # Errors
    /// One line for a file that cannot be read or makes no sense.
    pub fn link(&self) -> Result<LinkSpec, EmulatorError> {
        let mut link = self.link.clone();
        if let Some(file) = &self.vary {
            if link.vary.is_some() {
                return error("vary: given twice, as a file and in the link");
            }
            link.vary = Some(file.read()?);
        }
        Ok(link)
    }
}

/// A file that says how rate and delay change. Time starts when the emulator does.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum VaryFile {
    /// Lines `time_ns,rate_bps,delay_ns` under that header; the last line holds.
    Schedule {
        /// The file.
        file: PathBuf,
    },
    /// A trace of Mahimahi: each line is the millisecond of an opportunity to
    /// deliver 1500 IP bytes; the trace repeats. The link's delay holds.
    Mahimahi {
        /// The file.
        file: PathBuf,
    },
}

impl VaryFile {
    fn read(&self) -> Result<Vary, EmulatorError> {
        let (file, parse): (_, fn(&str) -> _) = match self {
            VaryFile::Schedule { file } => (file, Vary::schedule_of_text),
            VaryFile::Mahimahi { file } => (file, Vary::mahimahi_of_text),
        };
        let text = fs::read_to_string(file)
            .map_err(|e| EmulatorError(format!("cannot read {}: {e}", file.display())))?;
        parse(&text).map_err(|e| EmulatorError(format!("{}: {e}", file.display())))
    }
}

/// A host behind a device.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Packets to this address go to its device.
    pub address: Ipv4Addr,
    /// And those to these: of hosts behind it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Ipv4Addr>,
    /// Added to the delay of each packet from and to this host.
    #[serde(default)]
    pub extra_delay_ns: u64,
}

impl Host {
    /// A host with nobody behind it.
    #[must_use]
    pub fn new(address: Ipv4Addr, extra_delay_ns: u64) -> Self {
        Self {
            address,
            behind: Vec::new(),
            extra_delay_ns,
        }
    }

    /// All that its device leads to.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = Ipv4Addr> + '_ {
        std::iter::once(self.address).chain(self.behind.iter().copied())
    }
}

fn one() -> u64 {
    1
}
fn ethernet_mtu() -> u32 {
    1500
}
fn millisecond() -> u64 {
    1_000_000
}
fn default_spin() -> u64 {
    100_000
}
fn default_spin_share() -> f64 {
    0.25
}

/// The fastest link on which real-time scheduling is worth its risk.
const REAL_TIME_MAX_BPS: u64 = 200_000_000;

/// Why an emulator cannot start or go on, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatorError(pub String);

impl fmt::Display for EmulatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.replace('\n', "; "))
    }
}

impl std::error::Error for EmulatorError {}

pub(crate) fn error<T>(message: impl Into<String>) -> Result<T, EmulatorError> {
    Err(EmulatorError(message.into()))
}

impl Config {
    /// An emulator with the given links and hosts and defaults for the rest.
    #[must_use]
    pub fn new(forward: LinkSpec, reverse: LinkSpec, left: Vec<Host>, right: Vec<Host>) -> Config {
        let path = |link| Path { link, vary: None };
        Config {
            seed: one(),
            forward: path(forward),
            reverse: path(reverse),
            left,
            right,
            access_rate_bps: None,
            mtu_bytes: ethernet_mtu(),
            log: None,
            capture: None,
            late_threshold_ns: millisecond(),
            spin_ns: default_spin(),
            spin_share: default_spin_share(),
            real_time: None,
        }
    }

    pub(crate) fn wants_real_time(&self) -> bool {
        let rate_bps = self.forward.link.rate_bps.max(self.reverse.link.rate_bps);
        self.real_time.unwrap_or(rate_bps <= REAL_TIME_MAX_BPS)
    }

    /// Checks every field, without opening a file.
    ///
    /// # Errors
    /// One line that names the field, the value and what is allowed.
    pub fn check(&self) -> Result<(), EmulatorError> {
        for (path, name) in [(&self.forward, "forward"), (&self.reverse, "reverse")] {
            path.link
                .check(&format!("{name}.link"))
                .map_err(|e| EmulatorError(e.to_string()))?;
            if !path.link.routers.is_empty() {
                return error(format!(
                    "{name}.link.routers: an emulated link is no router; none only"
                ));
            }
        }
        if !(68..=65_535).contains(&self.mtu_bytes) {
            let mtu = self.mtu_bytes;
            return error(format!(
                "mtu_bytes: {mtu} is not allowed; 68 to 65535 bytes"
            ));
        }
        if let Some(rate_bps) = self.access_rate_bps {
            check_rate("access_rate_bps", rate_bps).map_err(|e| EmulatorError(e.to_string()))?;
        }
        if let Some(capture) = &self.capture {
            capture.check()?;
        }
        if !(0.0..=1.0).contains(&self.spin_share) {
            let share = self.spin_share;
            return error(format!("spin_share: {share} is not allowed; 0 to 1"));
        }
        if self.left.is_empty() || self.right.is_empty() {
            return error("left and right need at least one host each");
        }
        let mut seen = HashSet::new();
        for host in self.left.iter().chain(&self.right) {
            for address in host.addresses() {
                if !seen.insert(address) {
                    return error(format!("two hosts have the address {address}"));
                }
            }
        }
        Ok(())
    }
}
