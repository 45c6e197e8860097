//! Captures packets to a pcapng file.

use std::io;
use std::path::PathBuf;

use headway_wire::pcapng::{Section, Writer};
use serde::{Deserialize, Serialize};

use crate::error::{error, EmulatorError};
use crate::spool::Spool;

/// Names of the emulator's two links, by link number.
const LINKS: [&str; 2] = ["forward0", "reverse0"];
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
    /// What to capture: "forward0" or "reverse0" for packets as they are offered to that link;
    /// "bottleneck" for both directions as the hosts on the left see them; "hosts" for both
    /// directions as the hosts on either side see them, with an interface for each side.
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
    pub(crate) fn check(&self) -> Result<(), EmulatorError> {
        if [BOTTLENECK, HOSTS].contains(&self.link.as_str()) || LINKS.contains(&self.link.as_str())
        {
            return Ok(());
        }
        error(format!(
            "capture.link: \"{}\" is not allowed; {BOTTLENECK}, {HOSTS}, {}",
            self.link,
            LINKS.join(", ")
        ))
    }
}

/// Where packets are captured, and the capture file.
pub(crate) struct Tap {
    writer: Writer<Spool>,
    /// For each link, the number of the capture's interface for packets that are offered to the
    /// link; None: these packets are not captured.
    offered: [Option<u32>; 2],
    /// For each link, the number of the capture's interface for packets that the link delivers;
    /// None: these packets are not captured.
    delivered: [Option<u32>; 2],
    /// Difference between the time since 1970 and CLOCK_MONOTONIC.
    unix_offset_ns: u64,
}

impl Tap {
    pub fn create(capture: &Capture, unix_offset_ns: u64) -> io::Result<Tap> {
        let section = Section {
            comment: "packets of real hosts through Headway's emulated link",
            application: concat!("headway ", env!("CARGO_PKG_VERSION")),
            ..Section::default()
        };
        let mut writer = Writer::new(Spool::create(&capture.file, "capture")?, &section)?;
        let link = capture.link.as_str();
        let (offered, delivered) = match link {
            HOSTS => ([Some(0), Some(1)], [Some(1), Some(0)]),
            BOTTLENECK => ([Some(0), None], [None, Some(0)]),
            _ => (LINKS.map(|name| (name == link).then_some(0)), [None; 2]),
        };
        let names: &[&str] = if link == HOSTS { &SIDES } else { &[link] };
        for name in names {
            writer.add_interface(name, capture.snaplen_bytes)?;
        }
        Ok(Tap {
            writer,
            offered,
            delivered,
            unix_offset_ns,
        })
    }

    #[inline]
    pub fn offered(&mut self, link: u8, now_ns: u64, packet: &[u8]) {
        if let Some(&Some(interface)) = self.offered.get(usize::from(link)) {
            self.take(interface, now_ns, packet);
        }
    }

    #[inline]
    pub fn delivered(&mut self, link: u8, now_ns: u64, packet: &[u8]) {
        if let Some(&Some(interface)) = self.delivered.get(usize::from(link)) {
            self.take(interface, now_ns, packet);
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
