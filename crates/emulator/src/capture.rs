//! Packets as they were, in a pcapng file.

use std::io;
use std::path::PathBuf;

use headway_wire::pcapng::{Section, Writer};
use serde::{Deserialize, Serialize};

use crate::config::{error, EmulatorError};
use crate::spool::Spool;

/// The links by their numbers.
const LINKS: [&str; 2] = ["forward0", "reverse0"];
const BOTTLENECK: &str = "bottleneck";

/// What to capture.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The file.
    pub file: PathBuf,
    /// "forward0" or "reverse0": packets as they are offered to that link;
    /// "bottleneck": both directions as the hosts on the left see them.
    #[serde(default = "bottleneck")]
    pub link: String,
    /// Kept of each packet; 0 keeps all of it.
    #[serde(default)]
    pub snaplen_bytes: u32,
}

fn bottleneck() -> String {
    BOTTLENECK.into()
}

impl Capture {
    pub(crate) fn check(&self) -> Result<(), EmulatorError> {
        if self.link == BOTTLENECK || LINKS.contains(&self.link.as_str()) {
            return Ok(());
        }
        error(format!(
            "capture.link: \"{}\" is not allowed; {BOTTLENECK}, {}",
            self.link,
            LINKS.join(", ")
        ))
    }
}

/// Where packets are taken, and the file they go to.
pub(crate) struct Tap {
    writer: Writer<Spool>,
    /// Number of the link whose packets are taken as they are offered.
    offered: Option<u8>,
    /// Number of the link whose packets are taken as they are delivered.
    delivered: Option<u8>,
    /// From the monotonic clock to the time since 1970.
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
        writer.add_interface(&capture.link, capture.snaplen_bytes)?;
        let (offered, delivered) = match LINKS.iter().position(|name| *name == capture.link) {
            Some(number) => (Some(number as u8), None),
            None => (Some(0), Some(1)),
        };
        Ok(Tap {
            writer,
            offered,
            delivered,
            unix_offset_ns,
        })
    }

    #[inline]
    pub fn offered(&mut self, link: u8, now_ns: u64, packet: &[u8]) {
        if self.offered == Some(link) {
            self.take(now_ns, packet);
        }
    }

    #[inline]
    pub fn delivered(&mut self, link: u8, now_ns: u64, packet: &[u8]) {
        if self.delivered == Some(link) {
            self.take(now_ns, packet);
        }
    }

    fn take(&mut self, now_ns: u64, packet: &[u8]) {
        let unix_ns = now_ns + self.unix_offset_ns;
        // into memory; what the disk refuses is told at the end
        let _ = self.writer.write_packet(0, unix_ns, packet, None);
    }

    /// Blocks that found no room because the disk was too slow.
    pub fn lost_pkts(&mut self) -> u64 {
        self.writer.get_mut().lost
    }

    /// Writes the rest and waits for the disk.
    pub fn finish(&mut self) -> io::Result<()> {
        self.writer.get_mut().finish()
    }
}
