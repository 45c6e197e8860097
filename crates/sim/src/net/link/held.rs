//! Packets that a link holds until their turn.

use super::offer::Disturbance;
use std::collections::VecDeque;

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// Number by which the caller identifies the packet.
    pub id: u32,
    pub ip_bytes: u32,
    pub flow: u64,
    pub joined_ns: u64,
    pub ecn: u8,
    pub ip_id: u16,
}

/// Sub-queues of waiting packets, each first in, first out.
#[derive(Default)]
pub(super) struct Held {
    queues: Vec<VecDeque<Waiting>>,
    /// Size of the packet at the head of each sub-queue; 0 if it is empty.
    heads: Vec<u32>,
    pkts: u32,
    /// Time of the turn that the link asked for last.
    pub turn_ns: Option<u64>,
    /// Disturbances drawn for the packets that are held for routers, in order. None if the
    /// discipline decides at the head.
    pub disturbances: Option<VecDeque<Disturbance>>,
}

impl Held {
    pub fn new(queues: usize) -> Held {
        Held {
            queues: vec![VecDeque::new(); queues],
            heads: vec![0; queues],
            pkts: 0,
            turn_ns: None,
            disturbances: None,
        }
    }

    /// A single sub-queue for packets that wait until routers see them leave.
    pub fn for_routers() -> Held {
        Held {
            disturbances: Some(VecDeque::new()),
            ..Held::new(1)
        }
    }

    /// The disturbance of the packet that left last, if it was drawn when the packet joined.
    pub fn drawn(&mut self) -> Option<Disturbance> {
        self.disturbances.as_mut()?.pop_front()
    }

    /// Number of waiting packets.
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

    /// Takes the packet at the head of a sub-queue.
    pub fn take(&mut self, queue: usize) -> Option<Waiting> {
        let packet = self.queues[queue].pop_front()?;
        self.heads[queue] = self.queues[queue].front().map_or(0, |next| next.ip_bytes);
        self.pkts -= 1;
        Some(packet)
    }
}
