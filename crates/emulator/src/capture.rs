//! Captures packets to a pcapng file.

use std::io;
use std::path::PathBuf;

use headway_wire::pcapng::{Section, Writer};
use serde::{Deserialize, Serialize};

use crate::error::{error, EmulatorError};
use crate::spool::Spool;

const BOTTLENECK: &str = "bottleneck";
const HOSTS: &str = "hosts";
/// Names of the two sides of the emulator. A capture "hosts" has one interface for each side.
const SIDES: [&str; 2] = ["left", "right"];

/// A packet capture.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The file.
    pub file: PathBuf,
    /// What to capture: a link's name for packets as they are offered to that link ("forward0" and
    /// "reverse0" of a pair of links); "bottleneck" for packets as they are offered to link 0 and
    /// as link 1 delivers them, which is what the hosts on the left of a pair of links see; "hosts"
    /// for what the hosts on either side send and receive, with an interface for each side.
    #[serde(default = "bottleneck")]
    pub link: String,
    /// Bytes to keep of each packet; 0 keeps all.
    #[serde(default)]
    pub snaplen_bytes: u32,
}

fn bottleneck() -> String {
    BOTTLENECK.into()
}

impl Capture {
    /// Checks that the capture selects something. `links` has the names of all links.
    pub(crate) fn check(&self, links: &[String]) -> Result<(), EmulatorError> {
        if [BOTTLENECK, HOSTS].contains(&self.link.as_str()) || links.contains(&self.link) {
            return Ok(());
        }
        error(format!(
            "capture.link: \"{}\" is not allowed; {BOTTLENECK}, {HOSTS}, {}",
            self.link,
            links.join(", ")
        ))
    }
}

/// Where packets are captured, and the capture file.
pub(crate) struct Tap {
    writer: Writer<Spool>,
    /// Number of the link whose packets are captured as they are offered to it.
    entering: Option<usize>,
    /// Number of the link whose packets are captured as the link delivers them.
    leaving: Option<usize>,
    /// Whether packets are captured as hosts send and receive them.
    at_hosts: bool,
    /// Difference between the time since 1970 and CLOCK_MONOTONIC.
    unix_offset_ns: u64,
}

impl Tap {
    /// Creates the file. `links` has the names of all links.
    pub fn create(capture: &Capture, links: &[String], unix_offset_ns: u64) -> io::Result<Tap> {
        let section = Section {
            comment: "packets of real hosts through Headway's emulated link",
            application: concat!("headway ", env!("CARGO_PKG_VERSION")),
            ..Section::default()
        };
        let mut writer = Writer::new(Spool::create(&capture.file, "capture")?, &section)?;
        let link = capture.link.as_str();
        let (entering, leaving) = match link {
            HOSTS => (None, None),
            BOTTLENECK => (Some(0), Some(1)),
            _ => (links.iter().position(|name| name == link), None),
        };
        let names: &[&str] = if link == HOSTS { &SIDES } else { &[link] };
        for name in names {
            writer.add_interface(name, capture.snaplen_bytes)?;
        }
        Ok(Tap {
            writer,
            entering,
            leaving,
            at_hosts: link == HOSTS,
            unix_offset_ns,
        })
    }

    /// A host on this side (0 left, 1 right) sends or receives a packet.
    #[inline]
    pub fn at_host(&mut self, side: usize, now_ns: u64, packet: &[u8]) {
        if self.at_hosts {
            self.take(side as u32, now_ns, packet);
        }
    }

    /// A packet is offered to this link.
    #[inline]
    pub fn offered(&mut self, link: usize, now_ns: u64, packet: &[u8]) {
        if self.entering == Some(link) {
            self.take(0, now_ns, packet);
        }
    }

    /// This link delivers a packet.
    #[inline]
    pub fn delivered(&mut self, link: usize, now_ns: u64, packet: &[u8]) {
        if self.leaving == Some(link) {
            self.take(0, now_ns, packet);
        }
    }

    fn take(&mut self, interface: u32, now_ns: u64, packet: &[u8]) {
        let unix_ns = now_ns + self.unix_offset_ns;
        // this call writes to memory only; `finish` reports errors of the disk
        let _ = self.writer.write_packet(interface, unix_ns, packet, None);
    }

    /// Number of packets that were not captured because the disk was too slow.
    pub fn lost_pkts(&mut self) -> u64 {
        self.writer.get_mut().lost
    }

    /// Writes the remaining packets to the file, and waits until the disk has them.
    pub fn finish(&mut self) -> io::Result<()> {
        self.writer.get_mut().finish()
    }
}
