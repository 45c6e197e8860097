//! Queue disciplines without a simulated network. Tests are named after those of the literature
//! that they repeat: A for active queue management, L for L4S.

mod dualpi2;
mod fq;
mod fq_codel;
mod operations;
mod pie;
mod refusals;
mod step;

use headway_algorithms::{Leaving, LinkView, PacketView, QueueInstance, Verdict};

pub const US: u64 = 1000;
pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;
/// Bytes of a full packet.
pub const FULL: u32 = 1500;
pub const NOT_ECT: u8 = 0;
pub const ECT_1: u8 = 1;
pub const ECT_0: u8 = 2;

pub fn owned(tunables: &[(&str, u32)]) -> Vec<(String, u32)> {
    tunables.iter().map(|&(n, v)| (n.to_owned(), v)).collect()
}

/// The error for a discipline with these tunables on a link.
pub fn refusal(name: &str, tunables: &[(&str, u32)], link: &LinkView) -> String {
    let error = QueueInstance::new(name, &owned(tunables), link).unwrap_err();
    error.to_string()
}

/// A queue that the test fills and empties at times of its choice.
#[derive(Clone)]
pub struct Lane {
    pub queue: QueueInstance,
    pub link: LinkView,
    /// Number of packets that have arrived, and the id of the next one.
    pub arrived: u32,
}

impl Lane {
    pub fn new(name: &str, tunables: &[(&str, u32)]) -> Self {
        Self::on(name, tunables, LinkView::default())
    }

    /// A queue of a link with these limits and this rate.
    pub fn on(name: &str, tunables: &[(&str, u32)], link: LinkView) -> Self {
        let mut queue = QueueInstance::new(name, &owned(tunables), &link).unwrap();
        queue.seed(1);
        Self {
            queue,
            link,
            arrived: 0,
        }
    }

    fn see(&mut self, now_ns: u64) {
        self.link.now_ns = now_ns;
        self.link.queue_bytes = self.queue.bytes();
        self.link.queue_pkts = self.queue.pkts();
    }

    /// A packet of connection `flow` arrives.
    pub fn join(&mut self, now_ns: u64, flow: u32, ip_bytes: u32, ecn: u8) -> Verdict {
        self.see(now_ns);
        let packet = PacketView {
            flow: (u64::from(flow) + 1) << 32 | 7,
            ip_bytes,
            ecn,
            local: 0,
            ip_id: 0,
            pkts: 1,
            opens: 0,
        };
        self.arrived += 1;
        self.queue.arrive(&self.link, &packet, self.arrived - 1)
    }

    /// The wire asks for a packet.
    pub fn leave(&mut self, now_ns: u64) -> Option<Leaving> {
        self.see(now_ns);
        self.queue.dequeue(&self.link)
    }

    /// The packets that were dropped since the last call.
    pub fn drops(&mut self) -> Vec<Leaving> {
        std::iter::from_fn(|| self.queue.next_drop()).collect()
    }

    /// A counter of the discipline.
    pub fn counter(&mut self, now_ns: u64, name: &str) -> u64 {
        self.see(now_ns);
        self.queue.tick(&self.link);
        self.queue.counter(name).expect("it is declared")
    }

    /// The ids of all packets, in the order in which a wire gets them that takes no time.
    pub fn empty(&mut self, now_ns: u64) -> Vec<u32> {
        std::iter::from_fn(|| self.leave(now_ns).map(|packet| packet.id)).collect()
    }
}

/// The flow of a packet by its id, if flow `ids[i]` was given the i-th packet.
pub fn flows(order: &[u32], flow_of: &[u32]) -> Vec<u32> {
    order.iter().map(|&id| flow_of[id as usize]).collect()
}
