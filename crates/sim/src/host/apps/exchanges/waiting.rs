//! When the connections of a flow of exchanges open, and which exchanges wait for others.

use headway_experiment::order::Order;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When connections open and close.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// A single connection lasts for the whole flow; its sockets are not freed.
    One,
    /// Connections follow each other: each opens when the previous one closes.
    InTurn,
    /// Each connection opens at its session's start.
    AtStarts,
    /// A single connection opens with the flow. Sessions, which have start times, share it in turn.
    Persistent,
    /// Each connection opens at its start time, counted from the flow's start. If its first
    /// exchange waits for another exchange, the connection does not open before that other exchange
    /// is over.
    WhenDue,
}

/// Exchanges that wait for others, and connections that wait for their start time.
#[derive(Default)]
pub(super) struct Waiting {
    pub order: Order,
    /// Connections that wait only for their start time.
    pub due: BinaryHeap<Reverse<(u64, u32)>>,
    /// The earliest scheduled call of `timer`; 0: none.
    pub wakes_ns: u64,
}

impl Waiting {
    pub fn of(order: Order) -> Waiting {
        Waiting {
            order,
            ..Waiting::default()
        }
    }

    /// Whether this exchange waits for another exchange that is not over yet.
    pub fn blocks(&self, exchange: u32) -> bool {
        self.order.blocks(exchange)
    }
}
