//! One direction of a link: rate, queue, delay, loss.
//!
//! The queue is first in, first out, so a packet's departure is known when it
//! joins, and a hop costs one event. The queue's length at any later moment is
//! found by taking out what has departed since (`drain`).

use crate::record::Tables;
use crate::scenario::LinkSpec;
use headway_algorithms::{AlgorithmError, LinkView, PacketView, RouterInstance, Verdict};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// Why a packet was not carried, as in the table of drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// No room in the queue.
    Full = 0,
    /// Random loss.
    Loss = 1,
    /// The queue's algorithm dropped it early.
    Early = 2,
}

/// A packet in the queue or on the wire.
#[derive(Clone, Copy)]
pub(crate) struct InPipe {
    pub depart_ns: u64,
    pub order: u64,
    pub packet: u32,
    pub ip_bytes: u32,
}

/// What happened to an offered packet.
pub(crate) enum Offer {
    /// It will arrive at the far end at this time.
    Accepted {
        arrive_ns: u64,
        mark: bool,
        first: bool,
    },
    Dropped(Drop),
}

#[derive(Default)]
pub(crate) struct Counters {
    pub arrived_pkts: u64,
    pub arrived_bytes: u64,
    pub sent_pkts: u64,
    pub sent_bytes: u64,
    pub dropped_pkts: u64,
    pub dropped_bytes: u64,
    /// Bytes times nanoseconds.
    pub queue_byte_ns: u128,
}

/// A queue's limits and algorithm, and what is recorded of it. Access links
/// have none: they are never the bottleneck by construction of the topology.
pub(crate) struct Managed {
    router: RouterInstance,
    view: LinkView,
    /// Number in the tables.
    pub number: u32,
    record_queue: bool,
    full_since: Option<(u64, u32)>,
    last_change_ns: u64,
}

pub(crate) struct Link {
    rate_bps: u64,
    pub delay_ns: u64,
    loss: u64,
    duplicate: u64,
    reorder: u64,
    pub reorder_delay_ns: u64,
    rng: Xoshiro256PlusPlus,
    busy_until_ns: u64,
    pub pipe: VecDeque<InPipe>,
    /// How many packets at the front of the pipe have left the queue.
    departed: usize,
    queue_bytes: u32,
    pub managed: Option<Box<Managed>>,
    pub counters: Counters,
}

/// A probability as a threshold for a 64-bit random number.
fn threshold(p: f64) -> u64 {
    if p >= 1.0 {
        u64::MAX
    } else {
        (p * 18_446_744_073_709_551_616.0) as u64
    }
}

impl Link {
    /// An access link: never full, not recorded.
    pub fn access(rate_bps: u64, delay_ns: u64) -> Link {
        Link {
            rate_bps,
            delay_ns,
            loss: 0,
            duplicate: 0,
            reorder: 0,
            reorder_delay_ns: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(0),
            busy_until_ns: 0,
            pipe: VecDeque::new(),
            departed: 0,
            queue_bytes: 0,
            managed: None,
            counters: Counters::default(),
        }
    }

    /// A recorded link with a queue. Its random stream depends only on the
    /// run's seed and its own number.
    pub fn managed(
        spec: &LinkSpec,
        router: impl FnOnce(&LinkView) -> Result<RouterInstance, AlgorithmError>,
        number: u32,
        seed: u64,
        record_queue: bool,
    ) -> Result<Link, AlgorithmError> {
        let view = LinkView {
            rate_bytes_per_s: spec.rate_bps.div_ceil(8),
            limit_bytes: spec.limit_bytes.unwrap_or(0),
            limit_pkts: spec.limit_pkts.unwrap_or(0),
            ..LinkView::default()
        };
        let router = router(&view)?;
        Ok(Link {
            loss: threshold(spec.loss),
            duplicate: threshold(spec.duplicate),
            reorder: threshold(spec.reorder),
            reorder_delay_ns: spec.reorder_delay_ns,
            rng: crate::rng::stream(seed, crate::rng::Purpose::Link, number),
            managed: Some(Box::new(Managed {
                router,
                view,
                number,
                record_queue,
                full_since: None,
                last_change_ns: 0,
            })),
            ..Link::access(spec.rate_bps, spec.delay_ns)
        })
    }

    #[inline]
    fn chance(&mut self, threshold: u64) -> bool {
        threshold != 0 && self.rng.next_u64() < threshold
    }

    /// The dice that decide what happens to an accepted packet on the way.
    pub fn draw_duplicate(&mut self) -> bool {
        self.chance(self.duplicate)
    }

    pub fn draw_reorder(&mut self) -> bool {
        self.chance(self.reorder)
    }

    /// Takes out of the queue what has departed by `now_ns`.
    pub fn drain(&mut self, now_ns: u64, tables: &mut Tables) {
        let Some(managed) = self.managed.as_deref_mut() else {
            return;
        };
        while let Some(head) = self.pipe.get(self.departed) {
            if head.depart_ns > now_ns {
                break;
            }
            self.departed += 1;
            self.counters.sent_pkts += 1;
            self.counters.sent_bytes += u64::from(head.ip_bytes);
            managed.integrate(&mut self.counters, self.queue_bytes, head.depart_ns);
            self.queue_bytes -= head.ip_bytes;
            let queue_pkts = (self.pipe.len() - self.departed) as u32;
            managed.record(tables, head.depart_ns, self.queue_bytes, queue_pkts);
        }
    }

    /// Offers a packet to the link at `now_ns`; if it is accepted it is in the pipe.
    #[inline]
    pub fn offer(
        &mut self,
        now_ns: u64,
        packet: u32,
        ip_bytes: u32,
        ecn: u8,
        order: u64,
        tables: &mut Tables,
    ) -> Offer {
        let mut mark = false;
        self.counters.arrived_pkts += 1;
        self.counters.arrived_bytes += u64::from(ip_bytes);
        if self.managed.is_some() {
            if self.chance(self.loss) {
                return self.dropped(ip_bytes, Drop::Loss);
            }
            self.drain(now_ns, tables);
            let random = self.rng.next_u32();
            let queue_pkts = (self.pipe.len() - self.departed) as u32;
            let managed = self.managed.as_deref_mut().expect("checked above");
            managed.view.now_ns = now_ns;
            managed.view.queue_bytes = self.queue_bytes;
            managed.view.queue_pkts = queue_pkts;
            managed.view.random = random;
            managed.view.idle_us = if queue_pkts == 0 {
                u32::try_from(now_ns.saturating_sub(self.busy_until_ns) / 1000).unwrap_or(u32::MAX)
            } else {
                0
            };
            match managed
                .router
                .enqueue(&managed.view, &PacketView { ip_bytes, ecn })
            {
                Verdict::Pass => {}
                Verdict::Mark => mark = true,
                Verdict::DropEarly => return self.dropped(ip_bytes, Drop::Early),
                Verdict::DropFull => {
                    managed.full_since.get_or_insert((now_ns, 0)).1 += 1;
                    return self.dropped(ip_bytes, Drop::Full);
                }
            }
            if let Some((start_ns, pkts)) = managed.full_since.take() {
                tables
                    .queue_full
                    .push(managed.number, start_ns as i64, now_ns as i64, pkts);
            }
            managed.integrate(&mut self.counters, self.queue_bytes, now_ns);
            self.queue_bytes += ip_bytes;
            managed.record(tables, now_ns, self.queue_bytes, queue_pkts + 1);
        }
        let transmit_ns = (u64::from(ip_bytes) * 8_000_000_000).div_ceil(self.rate_bps);
        self.busy_until_ns = self.busy_until_ns.max(now_ns) + transmit_ns;
        let first = self.pipe.is_empty();
        let depart_ns = self.busy_until_ns;
        self.pipe.push_back(InPipe {
            depart_ns,
            order,
            packet,
            ip_bytes,
        });
        Offer::Accepted {
            arrive_ns: depart_ns + self.delay_ns,
            mark,
            first,
        }
    }

    fn dropped(&mut self, ip_bytes: u32, reason: Drop) -> Offer {
        self.counters.dropped_pkts += 1;
        self.counters.dropped_bytes += u64::from(ip_bytes);
        Offer::Dropped(reason)
    }

    /// The first packet of the pipe has arrived; the next one, if any, is returned too.
    #[inline]
    pub fn arrive(&mut self, now_ns: u64, tables: &mut Tables) -> (u32, Option<InPipe>) {
        if self.departed == 0 {
            self.drain(now_ns, tables);
        }
        let head = self
            .pipe
            .pop_front()
            .expect("an arrival event has its packet in the pipe");
        self.departed = self.departed.saturating_sub(1);
        (head.packet, self.pipe.front().copied())
    }

    /// Brings the counters up to `now_ns`.
    pub fn settle(&mut self, now_ns: u64, tables: &mut Tables) {
        self.drain(now_ns, tables);
        if let Some(managed) = self.managed.as_deref_mut() {
            managed.integrate(&mut self.counters, self.queue_bytes, now_ns);
        }
    }

    /// Closes a queue-full event that lasts to the end of the run.
    pub fn finish(&mut self, now_ns: u64, tables: &mut Tables) {
        let Some(managed) = self.managed.as_deref_mut() else {
            return;
        };
        if let Some((start_ns, pkts)) = managed.full_since.take() {
            tables
                .queue_full
                .push(managed.number, start_ns as i64, now_ns as i64, pkts);
        }
    }

    /// Bytes waiting or in transmission after the last `drain`.
    pub fn queue_bytes(&self) -> u32 {
        self.queue_bytes
    }
}

impl Managed {
    fn integrate(&mut self, counters: &mut Counters, queue_bytes: u32, time_ns: u64) {
        counters.queue_byte_ns +=
            u128::from(queue_bytes) * u128::from(time_ns - self.last_change_ns);
        self.last_change_ns = time_ns;
    }

    fn record(&self, tables: &mut Tables, time_ns: u64, queue_bytes: u32, queue_pkts: u32) {
        if self.record_queue {
            tables
                .queue
                .push(self.number, time_ns as i64, queue_bytes, queue_pkts);
        }
    }
}
