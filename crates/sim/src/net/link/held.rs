//! What waits on a link whose discipline decides at the head of the queue: there a
//! departure is not known when a packet joins, so packets are held until their turn.

use std::collections::VecDeque;

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// Whose packet it is knows who offered it.
    pub id: u32,
    pub ip_bytes: u32,
    pub flow: u64,
    pub joined_ns: u64,
    pub ecn: u8,
    pub ip_id: u16,
}

/// Sub-queues of packets that wait, each first in, first out.
#[derive(Default)]
pub(super) struct Held {
    queues: Vec<VecDeque<Waiting>>,
    /// Size of the packet at the head of each, 0 where there is none.
    heads: Vec<u32>,
    pkts: u32,
    /// When the link was last asked for a turn.
    pub turn_ns: Option<u64>,
}

impl Held {
    pub fn new(queues: usize) -> Held {
        Held {
            queues: vec![VecDeque::new(); queues],
            heads: vec![0; queues],
            pkts: 0,
            turn_ns: None,
        }
    }

    /// How many wait.
    pub fn pkts(&self) -> u32 {
        self.pkts
    }

    /// Sizes of the packets at the heads.
    pub fn heads(&self) -> &[u32] {
        &self.heads
    }

    pub fn join(&mut self, queue: usize, packet: Waiting) {
        if self.queues[queue].is_empty() {
            self.heads[queue] = packet.ip_bytes;
        }
        self.queues[queue].push_back(packet);
        self.pkts += 1;
    }

    /// Takes the packet at the head of a sub-queue that has one.
    pub fn take(&mut self, queue: usize) -> Option<Waiting> {
        let packet = self.queues[queue].pop_front()?;
        self.heads[queue] = self.queues[queue].front().map_or(0, |next| next.ip_bytes);
        self.pkts -= 1;
        Some(packet)
    }
}
