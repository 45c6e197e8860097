//! Packets that a link holds until the discipline or the wire lets them leave.

use super::offer::Disturbance;
use std::collections::VecDeque;

/// A packet that the link holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// Number by which the link's caller identifies the packet.
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
    /// Size of the packet at the head of each sub-queue; 0 if the sub-queue is empty.
    heads: Vec<u32>,
    pkts: u32,
    /// Time at which the link asked to be called next, to send a held packet.
    pub turn_ns: Option<u64>,
    /// Random reordering and duplications, drawn for packets that are held although the
    /// discipline does not decide at the head of the queue, in the order of these packets. None if
    /// it does.
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

    /// A single sub-queue, for packets that are held only so that routers see them leave, or so that
    /// newer ACKs replace them.
    pub fn in_order() -> Held {
        Held {
            disturbances: Some(VecDeque::new()),
            ..Held::new(1)
        }
    }

    /// The random delay and duplication of the packet that left last, if they were drawn when the
    /// packet joined the queue.
    pub fn drawn(&mut self) -> Option<Disturbance> {
        self.disturbances.as_mut()?.pop_front()
    }

    /// Number of waiting packets.
    pub fn pkts(&self) -> u32 {
        self.pkts
    }

    /// Size of the packet at the head of each sub-queue.
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

    /// Removes and returns the packet at the head of a sub-queue.
    pub fn take(&mut self, queue: usize) -> Option<Waiting> {
        let packet = self.queues[queue].pop_front()?;
        self.heads[queue] = self.queues[queue].front().map_or(0, |next| next.ip_bytes);
        self.pkts -= 1;
        Some(packet)
    }
}
