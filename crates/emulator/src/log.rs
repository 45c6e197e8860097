//! The emulator's log, which has a row for each packet and link that the packet crossed.
//!
//! The file consists of rows of 64 bytes, little-endian, in the order in which packets left the
//! emulator. A program can map it into memory directly.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::Serialize;

use crate::spool::Spool;

/// Size of a row of the log, in bytes.
pub const ROW_BYTES: usize = 64;

macro_rules! row {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ident),* $(,)?) => {
        /// A row of the log: what happened to a packet at a link. All times are of `CLOCK_MONOTONIC`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Row { $($(#[doc = $doc])+ pub $name: $type),* }

        impl Row {
            /// Appends the bytes of the row to `out`.
            pub fn write(&self, out: &mut Vec<u8>) {
                $(out.extend_from_slice(&self.$name.to_le_bytes());)*
            }

            /// Decodes a row of the log from its bytes.
            #[must_use]
            pub fn read(bytes: &[u8; ROW_BYTES]) -> Row {
                let mut at = 0;
                $(
                    let size = size_of::<$type>();
                    let $name = $type::from_le_bytes(
                        bytes[at..at + size].try_into().expect("the size of the field"),
                    );
                    at += size;
                )*
                debug_assert_eq!(at, ROW_BYTES);
                Row { $($name),* }
            }
        }

        /// Descriptions of the log's columns, in order. They are written to a file next to the log.
        #[must_use]
        pub fn columns() -> Vec<ColumnInfo> {
            vec![$(ColumnInfo {
                name: stringify!($name),
                dtype: dtype(stringify!($type)),
                meaning: concat!($($doc),+).trim(),
            }),*]
        }
    };
}

/// The description of one column of the log, so that NumPy can read it.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Name of the column. The name ends in the column's unit.
    pub name: &'static str,
    /// NumPy type of the column: "<u8", "<u4", "<u2" or "u1".
    pub dtype: &'static str,
    /// What the column contains, in one line.
    pub meaning: &'static str,
}

fn dtype(rust: &str) -> &'static str {
    match rust {
        "u64" => "<u8",
        "u32" => "<u4",
        "u16" => "<u2",
        _ => "u1",
    }
}

row! {
    /// When the packet was offered to the link; for a host's answer, when the packet that it
    /// answers was due; at a further link of a route, when the link before it delivered the packet.
    arrived_ns: u64,
    /// When the packet's last bit left the queue, when a queue dropped it at its head, or when a
    /// newer ACK took its place; 0 if dropped on arrival.
    departed_ns: u64,
    /// When the packet was due at the far end of the link; 0: it was dropped.
    due_ns: u64,
    /// When the packet was delivered; 0: it was not delivered. If a further link of the route
    /// follows, this is due_ns.
    delivered_ns: u64,
    /// Bytes waiting and in transmission after the packet joined the queue, or when it was dropped.
    queue_bytes: u32,
    /// Packets waiting and in transmission after the packet joined the queue, or when it was
    /// dropped.
    queue_pkts: u32,
    /// IPv4 address of the sender as a number (10.77.0.1 is 0x0a4d0001).
    source: u32,
    /// IPv4 address of the receiver as a number.
    destination: u32,
    /// Port of the sender; 0 if the packet is neither TCP nor UDP.
    source_port: u16,
    /// Port of the receiver; 0 if the packet is neither TCP nor UDP.
    destination_port: u16,
    /// Size of the IP packet.
    ip_bytes: u32,
    /// Number of the link. Of a pair of links, 0 is forward (left to right), and 1 is reverse.
    link: u8,
    /// What happened: 0 carried, 1 queue full, 2 random loss, 3 early drop, 4 IP options, 5 a SYN
    /// that asked for ECN, 6 the policer, 7 an ACK that a newer one replaced, 8 larger than the
    /// link's MTU.
    outcome: u8,
    /// 6 TCP, 17 UDP.
    protocol: u8,
    /// Bit 0: marked CE; bit 1: this is the copy of a duplicated packet; bit 2: the link damaged the
    /// packet.
    flags: u8,
    /// Number of the packet, counted over all hosts. It is the same at all links of a route. A copy
    /// has the number of its original.
    packet: u32,
}

/// Reads a whole log.
///
/// # Errors
/// The file cannot be read, or ends within a row.
pub fn read_log(file: &Path) -> io::Result<Vec<Row>> {
    let mut bytes = vec![];
    File::open(file)?.read_to_end(&mut bytes)?;
    let rows = bytes.chunks_exact(ROW_BYTES);
    if rows.remainder().is_empty() {
        Ok(rows
            .map(|row| Row::read(row.try_into().expect("chunks of that size")))
            .collect())
    } else {
        Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the log ends within a row",
        ))
    }
}

/// The handle with which the emulator passes rows of the log to a writer thread.
pub(crate) struct Log(Spool);

impl Log {
    pub fn create(path: &Path) -> io::Result<Log> {
        Spool::create(path, "log").map(Log)
    }

    #[inline]
    pub fn push(&mut self, row: &Row) {
        self.0.push(|batch| row.write(batch));
    }

    /// Passes all rows so far to the writer thread.
    pub fn hand_over(&mut self) {
        self.0.hand_over();
    }

    /// Number of rows passed to the writer thread, and number of rows lost because that thread was
    /// too slow.
    pub fn rows(&self) -> (u64, u64) {
        (self.0.written, self.0.lost)
    }

    /// Writes the remaining rows to the file, and waits until the disk has them.
    pub fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u64) -> Row {
        Row {
            arrived_ns: n,
            departed_ns: n << 8,
            due_ns: u64::MAX - n,
            delivered_ns: n << 30,
            queue_bytes: 7,
            queue_pkts: 8,
            source: 0x0a4d_0001,
            destination: 0x0a4e_0001,
            source_port: 9,
            destination_port: 10,
            ip_bytes: 1500,
            link: 1,
            outcome: 2,
            protocol: 6,
            flags: 3,
            packet: 11,
        }
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let mut bytes = vec![];
        row(5).write(&mut bytes);
        assert_eq!(bytes.len(), ROW_BYTES);
        assert_eq!(Row::read(bytes.as_slice().try_into().unwrap()), row(5));
    }

    #[test]
    fn the_columns_fill_a_row() {
        let sizes = columns().into_iter().map(|c| {
            let digit = c.dtype.chars().last().unwrap();
            digit.to_digit(10).unwrap() as usize
        });
        assert_eq!(sizes.sum::<usize>(), ROW_BYTES);
    }

    #[test]
    fn every_row_reaches_the_file() {
        let path = std::env::temp_dir().join(format!("headway-log-{}", std::process::id()));
        let mut log = Log::create(&path).unwrap();
        let n = 12_345; // as many rows as several batches have, the last batch not full
        (0..n).for_each(|i| log.push(&row(i)));
        log.finish().unwrap();
        let rows = read_log(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(log.rows(), (n, 0));
        assert!(rows.iter().zip(0..).all(|(r, i)| *r == row(i)));
        assert_eq!(rows.len() as u64, n);
    }
}
