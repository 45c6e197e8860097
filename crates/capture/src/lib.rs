//! Reads captures of any size: what each TCP connection sent, delivered, lost and waited.
//!
//! [`Import`] reads a pcap or pcapng file from start to end, a window at a time. [`decode`] finds
//! the TCP segment in a frame, [`connection`] assigns segments to connections, and [`direction`]
//! measures one direction of a connection as tcptrace defines its quantities. Memory grows with the
//! connections and with [`bins`], the intervals in which a connection was active, but not with the
//! number of packets.
//!
//! No input makes the reader panic. A file that is damaged ends at the damage, and what was read
//! before stays. [`notes::Notes`] counts all packets that are left out, by reason.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bins;
pub mod connection;
pub mod decode;
pub mod direction;
pub mod notes;
pub mod seen;
mod source;

use bins::Columns;
use connection::{Connections, Described};
use notes::Notes;
use serde::Serialize;
use source::{Frame, Source};
use std::io::Read;

/// Number of packets that are read between two returns of [`Import::step`].
const PACKETS_PER_STEP: u32 = 50_000;

/// What an import found apart from the bins.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Time of the first packet in nanoseconds since 1970; other times count from it.
    pub first_ns: i64,
    /// Time of the last packet.
    pub last_ns: i64,
    /// Packets read, of any protocol.
    pub packets: u64,
    /// Bytes of the file that were read.
    pub file_bytes: u64,
    /// Why reading ended before the end of the file, if it did.
    pub damage: Option<String>,
    /// What was left out.
    pub notes: Notes,
    /// The connections, in the order of their first packets.
    pub connections: Vec<Described>,
}

/// A capture being read.
#[derive(Debug)]
pub struct Import<R> {
    source: Source<R>,
    connections: Connections,
    notes: Notes,
    first_ns: Option<i64>,
    now_ns: i64,
    packets: u64,
    damage: Option<String>,
}

impl<R: Read> Import<R> {
    /// Begins to read a capture, in bins of this length.
    ///
    /// # Errors
    /// One line if the input cannot be read or is no capture, or if the interval is not positive.
    pub fn new(input: R, interval_ns: i64) -> Result<Self, String> {
        if interval_ns <= 0 {
            return Err(format!(
                "interval: {interval_ns} ns is not allowed; must be positive"
            ));
        }
        Ok(Self {
            source: Source::new(input)?,
            connections: Connections::new(interval_ns),
            notes: Notes::default(),
            first_ns: None,
            now_ns: 0,
            packets: 0,
            damage: None,
        })
    }

    /// Reads the next packets. Returns false at the end of the file.
    ///
    /// # Errors
    /// One line if the results need more memory than is allowed.
    pub fn step(&mut self) -> Result<bool, String> {
        for _ in 0..PACKETS_PER_STEP {
            let frame = match self.source.next() {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(false),
                Err(damage) => {
                    self.damage = Some(damage);
                    return Ok(false);
                }
            };
            self.packets += 1;
            let Frame {
                interface,
                link_type,
                time_ns,
                original_len_bytes,
                bytes,
            } = frame;
            let time_ns = time_ns.unwrap_or_else(|| {
                self.notes.without_time += 1;
                self.now_ns
            });
            if self.first_ns.is_some() && time_ns < self.now_ns {
                self.notes.time_reversed += 1;
            }
            self.now_ns = self.now_ns.max(time_ns);
            let first_ns = *self.first_ns.get_or_insert(self.now_ns);
            match decode::segment(link_type, bytes, original_len_bytes) {
                Ok(segment) => {
                    let at_ns = self.now_ns - first_ns;
                    self.connections
                        .add(interface, at_ns, &segment, &mut self.notes)?;
                }
                Err(skip) => self.notes.skip(skip),
            }
        }
        Ok(true)
    }

    /// Number of bytes read so far.
    pub const fn file_bytes(&self) -> u64 {
        self.source.read_bytes()
    }

    /// The results: a summary, and the bins of all connections.
    pub fn finish(self) -> (Summary, Columns) {
        let (connections, bins) = self.connections.finish();
        let first_ns = self.first_ns.unwrap_or(0);
        let summary = Summary {
            first_ns,
            last_ns: self.now_ns.max(first_ns),
            packets: self.packets,
            file_bytes: self.source.read_bytes(),
            damage: self.damage,
            notes: self.notes,
            connections,
        };
        (summary, bins)
    }
}
