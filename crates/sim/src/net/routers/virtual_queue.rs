//! The queue that a program at a sender's device takes as the link's queue
//! (algorithms/port/bpf/router.h): arrivals minus what the link's rate has sent since. It knows
//! neither random losses nor what the link's queue discipline drops.

use headway_algorithms::LinkView;

/// The largest packet. A limit in packets counts as so many bytes each
/// (python/headway/mechanisms/routers.py).
const PACKET_BYTES: u64 = 1500;
/// The mean packet size is an average over about so many of the latest packets.
const MEAN_PKTS: u64 = 1024;
const NS_PER_S: u128 = 1_000_000_000;

pub(super) struct VirtualQueue {
    rate: u64,
    /// The longest wait.
    most_ns: u64,
    /// When the queue will be empty; None: no packet has arrived.
    clear_ns: Option<u64>,
    /// What arrived since the queue was last empty.
    busy_bytes: u64,
    busy_pkts: u64,
}

impl VirtualQueue {
    pub fn new(view: &LinkView) -> Self {
        let rate = view.rate_bytes_per_s.max(1);
        let room_bytes = match (view.limit_bytes, u64::from(view.limit_pkts)) {
            (0, 0) => 2 * rate,
            (0, pkts) => pkts * PACKET_BYTES,
            (bytes, _) => bytes,
        };
        Self {
            rate,
            most_ns: time_ns(room_bytes, rate),
            clear_ns: None,
            busy_bytes: 0,
            busy_pkts: 0,
        }
    }

    /// Begins with the first packet.
    pub fn begin(&mut self, now_ns: u64) {
        self.clear_ns.get_or_insert(now_ns);
    }

    /// Fills in the queue at the view's time, in whole packets of the mean size.
    pub fn show(&self, view: &mut LinkView) {
        let clear_ns = self.clear_ns.unwrap_or(view.now_ns);
        let wait_ns = clear_ns.saturating_sub(view.now_ns);
        let bytes = wait_ns / 1000 * self.rate / 1_000_000;
        let mean_bytes = self.busy_bytes.checked_div(self.busy_pkts).unwrap_or(0);
        let pkts = bytes.div_ceil(mean_bytes.max(1));
        let u32_of = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        view.queue_pkts = u32_of(pkts);
        view.queue_bytes = u32_of(pkts * mean_bytes.max(1));
        view.idle_us = u32_of(view.now_ns.saturating_sub(clear_ns) / 1000);
    }

    /// Adds a packet, unless the queue would exceed its limit.
    pub fn join(&mut self, now_ns: u64, ip_bytes: u32) {
        let from_ns = self.clear_ns.map_or(now_ns, |at_ns| at_ns.max(now_ns));
        let until_ns = from_ns + time_ns(ip_bytes.into(), self.rate);
        if from_ns > now_ns && until_ns - now_ns > self.most_ns {
            return;
        }
        if from_ns == now_ns {
            (self.busy_bytes, self.busy_pkts) = (0, 0);
        } else if self.busy_pkts >= MEAN_PKTS {
            self.busy_bytes /= 2;
            self.busy_pkts /= 2;
        }
        self.busy_bytes += u64::from(ip_bytes);
        self.busy_pkts += 1;
        self.clear_ns = Some(until_ns);
    }
}

fn time_ns(bytes: u64, rate: u64) -> u64 {
    u64::try_from(u128::from(bytes) * NS_PER_S / u128::from(rate)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(queue: &VirtualQueue, now_ns: u64) -> (u32, u32, u32) {
        let mut view = LinkView {
            now_ns,
            ..LinkView::default()
        };
        queue.show(&mut view);
        (view.queue_pkts, view.queue_bytes, view.idle_us)
    }

    #[test]
    fn packets_count_until_their_transmission_ends_with_their_mean_size() {
        const MS: u64 = 1_000_000;
        let mut queue = VirtualQueue::new(&LinkView {
            rate_bytes_per_s: 1_000_000,
            limit_pkts: 2,
            ..LinkView::default()
        });
        queue.begin(0);
        queue.join(0, 1500);
        queue.join(0, 500);
        assert_eq!(shown(&queue, 0), (2, 2000, 0));
        // 1.5 ms later the small packet is left; it counts with the mean size
        assert_eq!(shown(&queue, 3 * MS / 2), (1, 1000, 0));
        assert_eq!(shown(&queue, 5 * MS), (0, 0, 3000));
        // two full packets have room for a further packet of 1000 bytes, but not of 1001
        queue.join(5 * MS, 1000);
        queue.join(5 * MS, 1000);
        queue.join(5 * MS, 1001);
        assert_eq!(shown(&queue, 5 * MS), (2, 2000, 0));
        queue.join(5 * MS, 1000);
        assert_eq!(shown(&queue, 5 * MS), (3, 3000, 0));
    }
}
