//! What a link keeps for the packets that it holds until the discipline or the wire lets them
//! leave. The packets themselves are in the discipline's sub-queues.

use super::offer::Disturbance;
use super::Drop;
use headway_algorithms::Leaving;
use std::collections::VecDeque;

/// State of a link that holds packets.
#[derive(Default)]
pub(super) struct Held {
    /// Number of packets that wait or that [`Link::take`](super::Link::take) has not reported yet.
    pub pkts: u32,
    /// Dropped packets that `take` has to report first.
    pub dropped: VecDeque<(Leaving, Drop)>,
    /// A packet that the discipline has chosen, and that `take` has to send next.
    pub chosen: Option<Leaving>,
    /// Time at which the link asked to be called next, to send a held packet.
    pub turn_ns: Option<u64>,
    /// Random reordering and duplications, drawn for packets that are held although the
    /// discipline does not decide at the head of the queue, in the order of these packets. None if
    /// it does.
    pub disturbances: Option<VecDeque<Disturbance>>,
}

impl Held {
    /// For packets that are held only so that routers see them leave, or so that newer ACKs replace
    /// them.
    pub fn in_order() -> Held {
        Held {
            disturbances: Some(VecDeque::new()),
            ..Held::default()
        }
    }

    /// The random delay and duplication of the packet that left last, if they were drawn when the
    /// packet joined the queue.
    pub fn drawn(&mut self) -> Option<Disturbance> {
        self.disturbances.as_mut()?.pop_front()
    }
}
