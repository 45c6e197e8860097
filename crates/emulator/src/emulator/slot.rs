//! A packet in the emulator.

use crate::log::Row;
use crate::packet::mark;

const MARKED: u8 = 1;

/// A packet in the emulator, and what is known about its way.
#[derive(Clone, Default)]
pub(super) struct Slot {
    pub bytes: Vec<u8>,
    pub row: Row,
    pub to: usize,
    pub extra_delay_ns: u64,
    /// Whether it waits for its turn on the link.
    pub held: bool,
    /// Whether it may wake a program: it has data or opens a connection.
    pub wakes: bool,
}

impl Slot {
    /// Marks congestion in the packet and in its row of the log.
    pub fn mark(&mut self) {
        mark(&mut self.bytes);
        self.row.flags |= MARKED;
    }
}
