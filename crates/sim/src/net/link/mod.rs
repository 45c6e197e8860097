//! One direction of a link: rate, queue, delay, loss.
//!
//! A queue is first in, first out, so a packet's departure is known when it joins, and a hop costs
//! at most one event. The queue length at a later time is found by removing the packets that have
//! departed since (`drain`). This also works if rate and delay change during the run (`service`),
//! because the changes are known in advance. Packets are held until their turn only if the
//! discipline decides at the head or a router wants to see them leave.
//!
//! This file has a packet's path through a link; `deferred` has the path of held packets.

mod account;
mod counters;
mod deferred;
mod held;
mod offer;
mod service;
mod wire;

use crate::net::packet::ecn::CE;
use crate::net::routers::Routers;
use crate::ring::Ring;
use crate::rng::{stream, Purpose};
use crate::scenario::{EcnPath, LinkSpec};
use crate::trace::record::Tables;
pub use counters::Counters;
use counters::Watch;
use headway_algorithms::{AlgorithmError, LinkView, Monitor, QueueInstance, RouterInfo, Verdict};
use held::Held;
pub use offer::{Disturbance, Drop, Offer, Offered, Turn};
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use service::Service;
pub use wire::Wire;

/// A link between routers: a queue, the wire behind it, and random loss, delay and duplication.
pub struct Link {
    wire: Wire,
    /// Decides when the wire sends packets; None if rate and delay are constant.
    service: Option<Box<Service>>,
    discipline: QueueInstance,
    routers: Option<Box<Routers>>,
    drop_ip_options: bool,
    /// What the link does to ECN bits and to SYNs that request ECN.
    pub ecn: EcnPath,
    view: LinkView,
    /// Packets that are held because the discipline decides at the head of the queue, or because
    /// routers want to see them leave.
    held: Option<Box<Held>>,
    /// Departure time and size of each packet that waits or is in transmission, without held
    /// packets.
    queue: Ring<(u64, u32)>,
    queue_bytes: u32,
    number: u32,
    record_queue: bool,
    watch: Option<Box<Watch>>,
    full_since: Option<(u64, u32)>,
    last_change_ns: u64,
    loss: u64,
    duplicate: u64,
    reorder: u64,
    reorder_delay_ns: u64,
    rng: Xoshiro256PlusPlus,
    /// The link's counters, up to date after the last offer or [`Link::settle`].
    pub counters: Counters,
}

/// Converts a probability to a threshold for a 64-bit random number.
fn threshold(p: f64) -> u64 {
    if p >= 1.0 {
        u64::MAX
    } else {
        (p * 18_446_744_073_709_551_616.0) as u64
    }
}

impl Link {
    /// Creates a link with an empty queue. Its random stream depends only on the run's seed and on
    /// its number.
    pub fn new(
        spec: &LinkSpec,
        discipline: impl FnOnce(&LinkView) -> Result<QueueInstance, AlgorithmError>,
        number: u32,
        seed: u64,
        record_queue: bool,
    ) -> Result<Link, AlgorithmError> {
        let service = spec.vary.as_ref().map(Service::new);
        let rate_bps = service.as_ref().map_or(spec.rate_bps, |s| s.rate_bps(0));
        let view = LinkView {
            rate_bytes_per_s: rate_bps.div_ceil(8),
            limit_bytes: spec.limit_bytes.unwrap_or(0),
            limit_pkts: spec.limit_pkts.unwrap_or(0),
            ..LinkView::default()
        };
        let discipline = discipline(&view)?;
        let held = match discipline.held_queues() {
            0 => None,
            queues => Some(Box::new(Held::new(queues))),
        };
        Ok(Link {
            wire: Wire::new(spec.rate_bps, spec.delay_ns),
            service: service.map(Box::new),
            discipline,
            routers: None,
            drop_ip_options: spec.drop_ip_options,
            ecn: spec.ecn,
            view,
            held,
            queue: Ring::default(),
            queue_bytes: 0,
            number,
            record_queue,
            watch: None,
            full_since: None,
            last_change_ns: 0,
            loss: threshold(spec.loss),
            duplicate: threshold(spec.duplicate),
            reorder: threshold(spec.reorder),
            reorder_delay_ns: spec.reorder_delay_ns,
            rng: stream(seed, Purpose::Link, number),
            counters: Counters::default(),
        })
    }

    /// Adds the routers of the scenario's link to this link.
    pub(crate) fn with_routers(
        mut self,
        spec: &LinkSpec,
        all: &[&'static RouterInfo],
        seed: u64,
    ) -> Result<Link, AlgorithmError> {
        self.routers = Routers::new(spec, all, &self.view, self.number, seed)?;
        if self.held.is_none() && self.departs() {
            self.held = Some(Box::new(Held::for_routers()));
        }
        Ok(self)
    }

    /// Whether a router wants to see packets leave the queue.
    pub(crate) fn departs(&self) -> bool {
        self.routers.as_ref().is_some_and(|r| r.depart_too())
    }

    /// Shows the routers a held packet that [`Link::take`] lets leave.
    pub(crate) fn depart(&mut self, packet: &mut Offered, tables: &mut Tables) {
        if let Some(routers) = &mut self.routers {
            routers.depart(&self.view, packet, tables);
        }
    }

    /// Values that the link's routers publish to the senders that use the link.
    pub(crate) fn monitor(&self) -> Option<Monitor> {
        self.routers.as_ref()?.monitor()
    }

    /// Whether the link has routers.
    pub(crate) fn has_routers(&self) -> bool {
        self.routers.is_some()
    }

    /// Whether one of the link's routers processes the header.
    pub(crate) fn knows(&self, header: &str) -> bool {
        self.routers.as_ref().is_some_and(|own| own.know(header))
    }

    /// When the next of the link's routers asked to be called.
    pub(crate) fn tick_ns(&self) -> Option<u64> {
        self.routers.as_ref()?.next_ns()
    }

    /// Calls the routers that have asked to be called by now. Returns when the next call is due.
    pub(crate) fn tick(&mut self, now_ns: u64, tables: &mut Tables) -> Option<u64> {
        self.drain(now_ns, tables);
        self.view.now_ns = now_ns;
        self.view.queue_bytes = self.queue_bytes;
        self.view.queue_pkts = self.queue_pkts();
        self.routers.as_mut()?.tick(&self.view, tables)
    }

    #[inline]
    fn chance(&mut self, threshold: u64) -> bool {
        threshold != 0 && self.rng.next_u64() < threshold
    }

    /// Whether packets may leave the link reordered or duplicated.
    pub fn disturbs(&self) -> bool {
        self.duplicate != 0 || self.reorder != 0
    }

    /// The random delay and duplication of the packet that was accepted or sent last.
    pub fn disturbance(&mut self) -> Disturbance {
        let drawn = self.held.as_mut().and_then(|held| held.drawn());
        drawn.unwrap_or_else(|| self.draw_disturbance())
    }

    fn draw_disturbance(&mut self) -> Disturbance {
        let twice = self.chance(self.duplicate);
        Disturbance {
            late_ns: self.draw_late_ns(),
            copy_late_ns: twice.then(|| self.draw_late_ns()),
        }
    }

    fn draw_late_ns(&mut self) -> u64 {
        if self.chance(self.reorder) {
            self.reorder_delay_ns
        } else {
            0
        }
    }

    /// From now on, times of rate and delay changes count from `origin_ns` instead of 0.
    pub fn begin_at(&mut self, origin_ns: u64) {
        if let Some(service) = &mut self.service {
            service.begin_at(origin_ns);
        }
    }

    /// Offers a packet to the link at `now_ns`.
    pub fn offer(&mut self, now_ns: u64, packet: Offered, tables: &mut Tables) -> Offer {
        self.offer_as::<false>(now_ns, packet, tables)
    }

    /// Whether the link holds no packets, has a constant rate and delay, and no routers.
    #[inline(always)]
    pub(crate) fn is_fast_path(&self) -> bool {
        self.held.is_none() && self.service.is_none() && self.routers.is_none()
    }

    /// [`Link::offer`] for a link that [`Link::is_fast_path`].
    #[inline(always)]
    pub(crate) fn offer_plain(
        &mut self,
        now_ns: u64,
        packet: Offered,
        tables: &mut Tables,
    ) -> Offer {
        self.offer_as::<true>(now_ns, packet, tables)
    }

    /// Offers a packet, as [`Link::offer`] does, to a link that is not [`Link::is_fast_path`]. This
    /// code is kept out of the hot path.
    #[inline(never)]
    pub(crate) fn offer_slow_path(
        &mut self,
        now_ns: u64,
        packet: Offered,
        tables: &mut Tables,
    ) -> Offer {
        self.offer(now_ns, packet, tables)
    }

    /// Offers a packet; `PLAIN` is the result of [`Link::is_fast_path`].
    #[inline(always)]
    fn offer_as<const PLAIN: bool>(
        &mut self,
        now_ns: u64,
        mut packet: Offered,
        tables: &mut Tables,
    ) -> Offer {
        let ip_bytes = packet.ip_bytes;
        self.counters.arrived_pkts += 1;
        self.counters.arrived_bytes += u64::from(ip_bytes);
        if self.chance(self.loss) {
            return self.dropped(ip_bytes, Drop::Loss);
        }
        self.drain(now_ns, tables);
        if let (false, Some(service)) = (PLAIN, &self.service) {
            self.view.rate_bytes_per_s = service.rate_bps(now_ns).div_ceil(8);
        }
        self.view.now_ns = now_ns;
        self.view.queue_bytes = self.queue_bytes;
        self.view.queue_pkts = if PLAIN {
            self.queue.len() as u32
        } else {
            self.queue_pkts()
        };
        self.view.random = self.rng.next_u32();
        self.view.idle_us = if self.view.queue_pkts == 0 {
            let idle_us = now_ns.saturating_sub(self.wire.busy_until_ns) / 1000;
            u32::try_from(idle_us).unwrap_or(u32::MAX)
        } else {
            0
        };
        if let (false, Some(routers)) = (PLAIN, &mut self.routers) {
            let reads = !(self.drop_ip_options && packet.ip_options);
            match routers.arrive(&self.view, &mut packet, reads, tables) {
                Verdict::Pass => {}
                Verdict::Mark if packet.ecn != 0 => packet.ecn = CE,
                Verdict::DropFull => return self.dropped(ip_bytes, Drop::Full),
                Verdict::DropEarly | Verdict::Mark => return self.dropped(ip_bytes, Drop::Early),
            }
        }
        if packet.ip_options && self.drop_ip_options {
            return self.dropped(ip_bytes, Drop::Options);
        }
        let ecn = packet.ecn;
        let arriving = packet.view();
        let verdict = self.discipline.enqueue(&self.view, &arriving);
        match verdict {
            Verdict::Mark if ecn == 0 => return self.dropped(ip_bytes, Drop::Early),
            Verdict::Pass | Verdict::Mark => {}
            Verdict::DropEarly => return self.dropped(ip_bytes, Drop::Early),
            Verdict::DropFull => {
                self.full_since.get_or_insert((now_ns, 0)).1 += 1;
                return self.dropped(ip_bytes, Drop::Full);
            }
        }
        self.end_full(now_ns, tables);
        let mark = verdict == Verdict::Mark;
        if !PLAIN && self.held.is_some() {
            self.hold(now_ns, packet.id, &arriving, mark, tables);
            return Offer::Held {
                mark,
                ecn: if mark { CE } else { ecn },
            };
        }
        let (depart_ns, arrive_ns) = match &mut self.service {
            Some(service) if !PLAIN => service.serve(&mut self.wire, now_ns, ip_bytes),
            _ => self.wire.serve(now_ns, ip_bytes),
        };
        self.queue.push_back((depart_ns, ip_bytes));
        self.change_queue(now_ns, self.queue_bytes + ip_bytes, tables);
        Offer::Accepted {
            depart_ns,
            arrive_ns,
            mark,
            ecn: if mark { CE } else { ecn },
        }
    }

    /// Bytes waiting or in transmission after the last `drain`.
    pub fn queue_bytes(&self) -> u32 {
        self.queue_bytes
    }

    /// Packets waiting or in transmission after the last `drain`.
    #[inline]
    pub fn queue_pkts(&self) -> u32 {
        let held = self.held.as_ref().map_or(0, |held| held.pkts());
        self.queue.len() as u32 + held
    }
}
