//! Slots, each of which stores one packet while it is in the emulator.

use crate::log::Row;
use crate::packet::mark;

const MARKED: u8 = 1;
const DAMAGED: u8 = 4;

/// A packet in the emulator, with its row of the log for the link that it crosses.
#[derive(Clone, Default)]
pub(super) struct Slot {
    pub bytes: Vec<u8>,
    pub row: Row,
    /// Number of the sender's device, which knows the packet's route.
    pub from: usize,
    /// How many links of the route the packet has crossed.
    pub crossed: usize,
    pub to: usize,
    /// Whether the link holds the packet (Outcome::Held).
    pub held: bool,
    /// Whether the packet may wake a program: it has data or opens a connection.
    pub wakes: bool,
    /// Whether a link has damaged the packet.
    pub is_damaged: bool,
    /// Whether the packet crosses no link: a message from the router next to its host.
    pub is_direct: bool,
}

impl Slot {
    /// Marks the packet with CE, and records this in the packet's row of the log.
    pub fn mark(&mut self) {
        mark(&mut self.bytes);
        self.row.flags |= MARKED;
    }

    /// Flips the packet's last bit, unless it is flipped already, and records this in the packet's row
    /// of the log. The bit belongs to what TCP's and UDP's checksums protect, so the receiving host
    /// drops the packet.
    pub fn damage(&mut self) {
        if let (false, Some(last)) = (self.is_damaged, self.bytes.last_mut()) {
            *last ^= 1;
        }
        self.is_damaged = true;
        self.row.flags |= DAMAGED;
    }
}
