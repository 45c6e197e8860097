//! Records the state of TCP senders with `algorithms/kernel/sampler.bpf.c`. Each record is written
//! to a file as it arrives from the kernel, in the layout of `struct hw_sample` (little-endian).

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libbpf_rs::{MapCore, MapFlags, ObjectBuilder, PrintLevel, RingBufferBuilder};
use serde::Serialize;

use crate::error::{Attempt, Failure};
use crate::mirror::{self, Plain as _};

/// Size in bytes of a record, `struct hw_sample`.
pub const RECORD_BYTES: usize = size_of::<mirror::Sample>();
/// Maximum number of network namespaces that one recording can select.
pub const NETNS_MAX: usize = 8;

/// Which connections to record, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Lowest server port of the connections to record.
    pub first_port: u16,
    /// Highest server port of the connections to record.
    pub last_port: u16,
    /// Whether to record the servers' sockets in addition to the clients'.
    pub both_ends: bool,
    /// Shortest time between two records of a connection, for ACKs that change neither cwnd nor
    /// ssthresh.
    pub gap_ns: u32,
    /// Inodes of the network namespaces to record; empty: all.
    pub netns: Vec<u32>,
}

impl Choice {
    /// The settings as the bytes of `struct hw_sample_config`.
    fn to_bytes(&self) -> Vec<u8> {
        let mut config = mirror::SampleConfig {
            first_port: self.first_port.into(),
            last_port: self.last_port.into(),
            gap_ns: self.gap_ns,
            both_ends: self.both_ends.into(),
            netns_count: u32::try_from(self.netns.len().min(NETNS_MAX)).expect("few"),
            ..Default::default()
        };
        for (place, &inode) in config.netns.iter_mut().zip(&self.netns) {
            *place = inode;
        }
        config.bytes().to_vec()
    }
}

/// How many records were written and lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sampled {
    /// Records written.
    pub records: u64,
    /// Records dropped because the buffer between kernel and file was full. If this is more than 0,
    /// the file has gaps.
    pub lost: u64,
}

fn refused(what: &str, error: &libbpf_rs::Error) -> Failure {
    let message = format!("cannot {what}: {error}");
    if matches!(error.kind(), libbpf_rs::ErrorKind::PermissionDenied) {
        Failure::kernel_cannot(format!("{message}; it needs root"))
    } else {
        Failure::kernel_cannot(message)
    }
}

/// Records until `stop` is set. Calls `ready` when the eBPF programs are attached. All events after
/// that are recorded.
///
/// # Errors
/// The kernel refuses the programs, or the file cannot be written.
pub fn sample(
    object: &[u8],
    choice: &Choice,
    out: &Path,
    stop: &AtomicBool,
    ready: impl FnOnce(),
) -> Result<Sampled, Failure> {
    let mut file =
        BufWriter::new(File::create(out).attempt(format_args!("create {}", out.display()))?);
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, _| ())));
    let mut open = ObjectBuilder::default()
        .name("hw_sampler")
        .and_then(|builder| builder.open_memory(object))
        .map_err(|error| refused("open the sampler", &error))?;
    let config = choice.to_bytes();
    for mut map in open.maps_mut() {
        if is_section(map.name(), ".rodata") {
            map.set_initial_value(&config)
                .map_err(|error| refused("configure the sampler", &error))?;
        }
    }
    let object = open
        .load()
        .map_err(|error| refused("load the sampler", &error))?;
    let mut links = Vec::new();
    for program in object.progs_mut() {
        links.push(
            program
                .attach()
                .map_err(|error| refused("attach the sampler", &error))?,
        );
    }

    let ring = object
        .maps()
        .find(|map| map.name() == OsStr::new("hw_samples"))
        .ok_or_else(|| Failure::failed("the sampler's object has no ring buffer"))?;
    let mut records = 0u64;
    let mut failure: Option<std::io::Error> = None;
    {
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&ring, |data: &[u8]| match file.write_all(data) {
                Ok(()) => {
                    records += 1;
                    0
                }
                Err(error) => {
                    failure = Some(error);
                    -libc::EIO
                }
            })
            .map_err(|error| refused("read the sampler's ring buffer", &error))?;
        let ring = builder
            .build()
            .map_err(|error| refused("read the sampler's ring buffer", &error))?;
        ready();
        let mut running = true;
        while running {
            // after `stop`, read the records that the kernel wrote before
            running = !stop.load(Ordering::Relaxed);
            // Sleep between reads and read many records at once. Waking up for every ACK would take
            // processor time from the measured traffic.
            std::thread::sleep(Duration::from_millis(if running { 20 } else { 0 }));
            if ring.consume().is_err() {
                break;
            }
        }
    }
    if let Some(error) = failure {
        return Err(error).attempt(format_args!("write {}", out.display()));
    }
    drop(links);
    file.flush()
        .attempt(format_args!("write {}", out.display()))?;
    let lost = object
        .maps()
        .find(|map| is_section(map.name(), ".bss"))
        .and_then(|map| {
            map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)
                .ok()
                .flatten()
        })
        .and_then(|value| value.get(..8).map(|raw| raw.try_into().expect("8 bytes")))
        .map_or(0, u64::from_ne_bytes);
    Ok(Sampled { records, lost })
}

/// Whether a BPF map contains the given data section. The map's name is the object's name, which
/// may be cut, followed by the section's name.
fn is_section(map: &OsStr, section: &str) -> bool {
    map.to_str().is_some_and(|name| name.ends_with(section))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_has_the_layout_that_the_program_reads() {
        let choice = Choice {
            first_port: 5001,
            last_port: 5010,
            both_ends: true,
            gap_ns: 7,
            netns: vec![0xabcd, 3],
        };
        let bytes = choice.to_bytes();
        assert_eq!(bytes.len(), 52);
        assert_eq!(bytes[..4], 5001u32.to_le_bytes());
        assert_eq!(bytes[12..20], [1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(bytes[20..28], [0xcd, 0xab, 0, 0, 3, 0, 0, 0]);
    }
}
