//! The configuration of an emulator, as plain data in SI units.

use std::collections::HashSet;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use headway_experiment::limits::MAX_HOPS;
use headway_experiment::testbed::REAL_TIME_MAX_BPS;
use headway_sim::scenario::{check_rate, ever, EcnPath, LinkSpec, Vary};
use serde::{Deserialize, Serialize};

use crate::capture::Capture;
use crate::error::{error, EmulatorError};

/// The configuration of an emulator: its links, the hosts on either side, and timing parameters.
///
/// Links have numbers, which routes refer to: 0 is `forward`, 1 is `reverse`, and `further` has the
/// others from 2 on. Without routes, packets from the left cross link 0, and packets from the right
/// link 1.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Seed of the links' random numbers.
    #[serde(default = "one")]
    pub seed: u64,
    /// Link 0: the direction from left to right.
    pub forward: Path,
    /// Link 1: the direction from right to left.
    pub reverse: Path,
    /// The links of a network from number 2 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Path>,
    /// Hosts on the left, one per device.
    pub left: Vec<Host>,
    /// Hosts on the right, one per device.
    pub right: Vec<Host>,
    /// Rate of each host's access link, which leads to the emulated link. Absent: packets reach the
    /// emulated link immediately.
    #[serde(default)]
    pub access_rate_bps: Option<u64>,
    /// Largest IP packet.
    #[serde(default = "ethernet_mtu")]
    pub mtu_bytes: u32,
    /// File for the log, which has a row per packet; absent: no log.
    #[serde(default)]
    pub log: Option<PathBuf>,
    /// Packet capture; absent: none.
    #[serde(default)]
    pub capture: Option<Capture>,
    /// A packet counts as late if it is delivered later than this time after it was due.
    #[serde(default = "millisecond")]
    pub late_threshold_ns: u64,
    /// How long before a packet is due the emulator's thread stops sleeping. From then on the
    /// thread polls.
    #[serde(default = "default_spin")]
    pub spin_ns: u64,
    /// Largest fraction of a core's time that the thread may spend polling, from 0 to 1. When this
    /// fraction is used up, the thread sleeps until the packet is due.
    #[serde(default = "default_spin_share")]
    pub spin_share: f64,
    /// Whether to request real-time scheduling for the thread. If absent, the emulator requests it
    /// if the links are slow enough to leave the thread idle often, because Linux stops a real-time
    /// thread that is never idle for 50 ms.
    #[serde(default)]
    pub real_time: Option<bool>,
}

/// A link, which leads in one direction.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Rate, delay, queue and disturbances of the link, as in a scenario.
    pub link: LinkSpec,
    /// File with the link's changes over time. Its rate and delay replace those of the link.
    #[serde(default)]
    pub vary: Option<VaryFile>,
    /// Number of the link's random stream; None: the link's number. The simulator numbers the links
    /// of both legs of a gateway in one sequence.
    #[serde(default)]
    pub stream: Option<u32>,
}

impl Path {
    /// Returns the link, with the changes from its file.
    ///
    /// # Errors
    /// One line for a file that cannot be read or is invalid.
    pub fn link(&self) -> Result<LinkSpec, EmulatorError> {
        let mut link = self.link.clone();
        if matches!(
            link.ecn,
            EcnPath::ClearFlags | EcnPath::StripOption | EcnPath::ZeroOption
        ) {
            return error(
                "ecn: only the simulator changes TCP headers; keep, bleach or drop-syn is allowed",
            );
        }
        if let Some(file) = &self.vary {
            if link.vary.is_some() {
                return error("vary: given twice, as a file and in the link");
            }
            link.vary = Some(file.read()?);
            let checked = link.check("link");
            checked.map_err(|e| EmulatorError(e.to_string()))?;
        }
        Ok(link)
    }

    /// Checks that the token buckets have room for the largest packet; otherwise it never passes.
    fn check_bursts(&self, name: &str, mtu_bytes: u32) -> Result<(), EmulatorError> {
        let policers = ever(self.link.policers()).map(|p| ("policer", p.burst_bytes));
        let shapers = ever(self.link.shapers()).map(|s| ("shaper", s.burst_bytes));
        for (effect, burst_bytes) in policers.chain(shapers) {
            if burst_bytes < u64::from(mtu_bytes) {
                return error(format!(
                    "{name}.link.{effect}.burst_bytes: {burst_bytes} is not allowed; \
                     at least mtu_bytes, {mtu_bytes}"
                ));
            }
        }
        Ok(())
    }
}

/// A file with a link's changes over time. Time 0 of the file is the emulator's start.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum VaryFile {
    /// A schedule: a header `time_ns,rate_bps,delay_ns`, which may continue with names of effects,
    /// and lines with these values. The last line applies until the end of the run.
    Schedule {
        /// The file.
        file: PathBuf,
    },
    /// A Mahimahi trace: each line is the millisecond at which 1500 IP bytes can be delivered. The
    /// trace repeats. The link's delay applies.
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

/// A host and the TUN device that leads to it.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Address of the host. The emulator writes packets to this address to the host's device.
    pub address: Ipv4Addr,
    /// Addresses of further hosts that are reached through this host. The emulator also writes
    /// packets to them to this host's device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Ipv4Addr>,
    /// Delay of the host's own link. A packet from this host waits this long before its first link,
    /// and a packet to it after its last link.
    #[serde(default)]
    pub extra_delay_ns: u64,
    /// Numbers of the links that packets from this host cross, in order. The packets can reach only
    /// the host with the same index on the other side. Empty: the link of the host's side, which
    /// leads to all hosts on the other side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<u8>,
}

impl Host {
    /// Creates a host through which no other hosts are reached.
    #[must_use]
    pub fn new(address: Ipv4Addr, extra_delay_ns: u64) -> Self {
        Self {
            address,
            behind: Vec::new(),
            extra_delay_ns,
            route: Vec::new(),
        }
    }

    /// All addresses that are reached through the host's device.
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

/// Names of the two links without routes.
const DIRECTIONS: [&str; 2] = ["forward", "reverse"];
/// Largest number of links: the log has one byte for a link's number.
const MAX_LINKS: usize = 256;

impl Config {
    /// Creates a configuration with these links and hosts, and with defaults for all other fields.
    #[must_use]
    pub fn new(forward: LinkSpec, reverse: LinkSpec, left: Vec<Host>, right: Vec<Host>) -> Config {
        let path = |link| Path {
            link,
            vary: None,
            stream: None,
        };
        Config {
            seed: one(),
            forward: path(forward),
            reverse: path(reverse),
            further: vec![],
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
        let is_slow = |path: &Path| path.link.rate_bps <= REAL_TIME_MAX_BPS;
        self.real_time.unwrap_or_else(|| self.paths().all(is_slow))
    }

    /// All links, in the order of their numbers.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        [&self.forward, &self.reverse]
            .into_iter()
            .chain(&self.further)
    }

    /// All links, in the order of their numbers, to be changed.
    pub fn paths_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        [&mut self.forward, &mut self.reverse]
            .into_iter()
            .chain(&mut self.further)
    }

    /// Whether packets cross links by routes.
    #[must_use]
    pub fn is_network(&self) -> bool {
        self.left.iter().any(|host| !host.route.is_empty())
    }

    /// The name of a link in summaries and errors: its direction, or in a network its own name, for
    /// example "a-b".
    #[must_use]
    pub fn link_name(&self, number: usize) -> String {
        if !self.is_network() && number < DIRECTIONS.len() {
            return DIRECTIONS[number].to_owned();
        }
        let own = self.paths().nth(number).and_then(|p| p.link.name.clone());
        own.unwrap_or_else(|| format!("link{number}"))
    }

    /// The names by which a capture selects a link, in the order of the links' numbers.
    pub(crate) fn capture_names(&self) -> Vec<String> {
        let name = |number| match self.is_network() {
            true => self.link_name(number),
            false => format!("{}0", self.link_name(number)),
        };
        (0..self.paths().count()).map(name).collect()
    }

    /// Checks every field of the configuration, without opening its files.
    ///
    /// # Errors
    /// One line that names the field, the value and what is allowed.
    pub fn check(&self) -> Result<(), EmulatorError> {
        let links = 2 + self.further.len();
        if links > MAX_LINKS {
            let (given, most) = (self.further.len(), MAX_LINKS - 2);
            return error(format!(
                "further: {given} links are not allowed; at most {most}"
            ));
        }
        for (number, path) in self.paths().enumerate() {
            let name = match number {
                0 | 1 => DIRECTIONS[number].to_owned(),
                _ => format!("further[{}]", number - 2),
            };
            path.link
                .check(&format!("{name}.link"))
                .map_err(|e| EmulatorError(e.to_string()))?;
            if !path.link.routers.is_empty() {
                return error(format!(
                    "{name}.link.routers: emulated links cannot have routers"
                ));
            }
            path.check_bursts(&name, self.mtu_bytes)?;
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
            capture.check(&self.capture_names())?;
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
            if let Some(link) = host.route.iter().find(|&&link| usize::from(link) >= links) {
                return error(format!(
                    "route: {link} is not allowed; links have numbers from 0 to {}",
                    links - 1
                ));
            }
            if host.route.len() > MAX_HOPS {
                let crossed = host.route.len();
                return error(format!(
                    "route: {crossed} links are not allowed; at most {MAX_HOPS}"
                ));
            }
            for address in host.addresses() {
                if !seen.insert(address) {
                    return error(format!("two hosts have the address {address}"));
                }
            }
        }
        Ok(())
    }
}
