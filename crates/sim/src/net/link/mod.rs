//! One direction of a link: rate, queue, delay, loss.
//!
//! A queue is first in, first out, so a packet's departure is known when it joins, and a hop costs
//! at most one event. The queue length at a later time is found by removing the packets that have
//! departed since (`drain`). This also works if the link changes during the run (`service`) or a
//! shaper delays packets (`effects`), because the changes are known in advance. Packets are held
//! until their turn only if the discipline decides at the head or a router wants to see them leave.
//!
//! This file has a packet's path through a link; `deferred` has the path of held packets.

mod account;
mod counters;
mod deferred;
mod effects;
mod held;
mod offer;
mod segments;
mod service;
mod thinned;
mod wire;

use crate::net::packet::ecn::CE;
use crate::net::routers::Routers;
use crate::ring::Ring;
use crate::rng::{stream, threshold, Purpose};
use crate::scenario::{EcnPath, LinkSpec, Mtu};
use crate::trace::record::Tables;
pub use counters::Counters;
use counters::Watch;
use effects::{Admission, Bucket, Effects};
use headway_algorithms::{
    AlgorithmError, LinkView, Monitor, QueueInfo, QueueInstance, RouterInfo, Verdict,
};
use held::Held;
use offer::Disturbance;
pub use offer::{Arrival, Arrivals, Drop, Offer, Offered, Turn};
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
    effects: Option<Box<Effects>>,
    /// Whether the link holds no packets, has a constant rate and delay, and neither routers nor
    /// effects.
    is_fast_path: bool,
    /// Whether packets may leave the link delayed or duplicated.
    disturbs: bool,
    drop_ip_options: bool,
    /// What the link does to ECN bits and to SYNs that request ECN.
    pub ecn: EcnPath,
    /// The largest packet that the link takes.
    pub mtu: Option<Mtu>,
    /// Whether packets must be checked before they are offered: for `ecn` or `mtu`.
    screens: bool,
    view: LinkView,
    /// Packets that are held because the discipline decides at the head of the queue, because
    /// routers want to see them leave, or because newer ACKs may replace them.
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

impl Link {
    /// Creates a link with an empty queue. Its random streams depend only on the run's seed and on
    /// its number.
    ///
    /// # Errors
    /// One line for a queue discipline that does not exist, or cannot have its tunables.
    pub fn new(
        spec: &LinkSpec,
        number: u32,
        seed: u64,
        record_queue: bool,
    ) -> Result<Link, AlgorithmError> {
        let service = Service::of(spec);
        let effects = Effects::new(spec, number, seed);
        let disturbs = effects
            .as_ref()
            .is_some_and(|e| e.jitter.is_some() || e.corruption.is_some());
        let thins = spec.ack_thinning.is_some();
        let rate_bps = service.as_ref().map_or(spec.rate_bps, |s| s.rate_bps(0));
        let shaper = effects.as_ref().and_then(|e| e.shaper.as_ref());
        let shapes = shaper.is_some();
        let shaped_bps = shaper.and_then(|s| s.rate_bps(0)).unwrap_or(u64::MAX);
        let view = LinkView {
            rate_bytes_per_s: rate_bps.min(shaped_bps).div_ceil(8),
            limit_bytes: spec.limit_bytes.unwrap_or(0),
            limit_pkts: spec.limit_pkts.unwrap_or(0),
            ..LinkView::default()
        };
        let aqm = &spec.aqm;
        let tunables: Vec<_> = aqm.tunables.iter().map(|(n, v)| (n.clone(), *v)).collect();
        let mut discipline = QueueInstance::new(&aqm.name, &tunables, &view)?;
        discipline.seed(stream(seed, Purpose::Queue, number).next_u64());
        let held = if discipline.holds() {
            Some(Box::default())
        } else if thins {
            discipline.hold();
            Some(Box::new(Held::in_order()))
        } else {
            None
        };
        if held.is_some() && shapes {
            discipline.watch_heads();
        }
        Ok(Link {
            is_fast_path: held.is_none() && service.is_none() && effects.is_none(),
            disturbs: spec.duplicate > 0.0 || spec.reorder > 0.0 || disturbs,
            effects,
            wire: Wire::new(spec.rate_bps, spec.delay_ns),
            service: service.map(Box::new),
            discipline,
            routers: None,
            drop_ip_options: spec.drop_ip_options,
            ecn: spec.ecn,
            mtu: spec.mtu,
            screens: spec.ecn != EcnPath::Keep || spec.mtu.is_some(),
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
            self.held = Some(Box::new(Held::in_order()));
            self.discipline.hold();
            if self.shaper().is_some() {
                self.discipline.watch_heads();
            }
        }
        self.is_fast_path &= self.held.is_none() && self.routers.is_none();
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

    /// The link's queue discipline.
    pub(crate) fn discipline(&self) -> &'static QueueInfo {
        self.discipline.info()
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

    /// Whether packets may leave the link delayed or duplicated; [`Link::disturb`] then decides
    /// when they arrive.
    #[inline]
    pub fn disturbs(&self) -> bool {
        self.disturbs
    }

    /// Applies delay variation, reordering, damage and duplication to the packet that was accepted
    /// or sent last, which has `ip_bytes` and would arrive at `arrive_ns`.
    pub fn disturb(&mut self, arrive_ns: u64, ip_bytes: u32) -> Arrivals {
        let drawn = self.held.as_mut().and_then(|held| held.drawn());
        let Disturbance { packet_ns, copy_ns } = drawn.unwrap_or_else(|| self.draw_disturbance());
        let mut arrival = |reorder_ns| Arrival {
            at_ns: self.late_ns(arrive_ns, reorder_ns),
            damaged: self.damages(ip_bytes),
        };
        Arrivals {
            packet: arrival(packet_ns),
            copy: copy_ns.map(arrival),
        }
    }

    fn draw_disturbance(&mut self) -> Disturbance {
        let twice = self.chance(self.duplicate);
        Disturbance {
            packet_ns: self.draw_reordering(),
            copy_ns: twice.then(|| self.draw_reordering()),
        }
    }

    fn draw_reordering(&mut self) -> u64 {
        let reordered = self.chance(self.reorder);
        if reordered {
            self.reorder_delay_ns
        } else {
            0
        }
    }

    fn damages(&mut self, ip_bytes: u32) -> bool {
        let corruption = self.effects.as_mut().and_then(|e| e.corruption.as_mut());
        corruption.is_some_and(|corruption| corruption.damages(ip_bytes))
    }

    /// When the packet arrives that was accepted or sent last. A reordered packet does not hold up
    /// the packets behind it.
    fn late_ns(&mut self, arrive_ns: u64, reorder_ns: u64) -> u64 {
        let depart_ns = self.wire.busy_until_ns;
        let jitter = self.effects.as_mut().and_then(|e| e.jitter.as_mut());
        let arrive_ns = jitter.map_or(arrive_ns, |jitter| jitter.arrive_ns(depart_ns, arrive_ns));
        arrive_ns + reorder_ns
    }

    /// From now on, times of the link's changes count from `origin_ns` instead of 0.
    pub fn begin_at(&mut self, origin_ns: u64) {
        if let Some(service) = &mut self.service {
            service.begin_at(origin_ns);
        }
        if let Some(effects) = &mut self.effects {
            effects.begin_at(origin_ns);
        }
    }

    /// Offers a packet to the link at `now_ns`.
    pub fn offer(&mut self, now_ns: u64, packet: Offered, tables: &mut Tables) -> Offer {
        self.offer_as::<false>(now_ns, packet, tables)
    }

    /// Whether packets must be checked before they are offered: for the link's ECN faults or MTU.
    #[inline(always)]
    pub(crate) fn screens(&self) -> bool {
        self.screens
    }

    /// Whether the link holds no packets, has a constant rate and delay, and neither routers nor
    /// effects.
    #[inline(always)]
    pub(crate) fn is_fast_path(&self) -> bool {
        self.is_fast_path
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
        if !PLAIN && self.routers.as_ref().is_some_and(|r| r.are_at_devices()) {
            self.see_rate(now_ns);
            self.view.now_ns = now_ns;
            if let Err(reason) = self.pass_routers(&mut packet, tables) {
                return self.dropped(ip_bytes, reason);
            }
        }
        if self.chance(self.loss) {
            return self.dropped(ip_bytes, Drop::Loss);
        }
        let mut policed = false;
        if let (false, Some(effects)) = (PLAIN, &mut self.effects) {
            match effects.admit(now_ns, ip_bytes, packet.ecn) {
                Admission::Pass => {}
                Admission::Mark => (policed, packet.ecn) = (true, CE),
                Admission::Drop(reason) => return self.dropped(ip_bytes, reason),
            }
        }
        if !PLAIN && self.thins() {
            return self.offer_thinned(now_ns, packet, policed, tables);
        }
        self.join_queue::<PLAIN>(now_ns, packet, policed, tables)
    }

    /// Offers a packet to the routers and to the queue. `policed`: the policer has marked it.
    #[inline(always)]
    fn join_queue<const PLAIN: bool>(
        &mut self,
        now_ns: u64,
        mut packet: Offered,
        policed: bool,
        tables: &mut Tables,
    ) -> Offer {
        let ip_bytes = packet.ip_bytes;
        self.drain(now_ns, tables);
        if !PLAIN {
            self.see_rate(now_ns);
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
        if !PLAIN && self.routers.as_ref().is_some_and(|r| !r.are_at_devices()) {
            if let Err(reason) = self.pass_routers(&mut packet, tables) {
                return self.dropped(ip_bytes, reason);
            }
        }
        if packet.ip_options && self.drop_ip_options {
            return self.dropped(ip_bytes, Drop::Options);
        }
        let ecn = packet.ecn;
        let arriving = packet.connection_view();
        let holds = !PLAIN && self.held.is_some();
        let verdict = if holds {
            self.discipline.arrive(&self.view, &arriving, packet.id)
        } else {
            self.discipline.enqueue(&self.view, &arriving)
        };
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
        let mark = verdict == Verdict::Mark || policed;
        if holds {
            self.hold(now_ns, ip_bytes, tables);
            return Offer::Held {
                mark,
                ecn: if mark { CE } else { ecn },
            };
        }
        let (depart_ns, arrive_ns) = if PLAIN {
            self.wire.serve(now_ns, ip_bytes)
        } else {
            self.transmit(now_ns, ip_bytes)
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

    /// Shows a packet to the routers. Returns the reason if one of them drops it.
    fn pass_routers(&mut self, packet: &mut Offered, tables: &mut Tables) -> Result<(), Drop> {
        let Some(routers) = &mut self.routers else {
            return Ok(());
        };
        let reads = !(self.drop_ip_options && packet.ip_options);
        let verdict = if routers.are_at_devices() {
            routers.send(&self.view, packet, reads, tables)
        } else {
            routers.arrive(&self.view, packet, reads, tables)
        };
        match verdict {
            Verdict::Pass => {}
            Verdict::Mark if packet.ecn != 0 => packet.ecn = CE,
            Verdict::DropFull => return Err(Drop::Full),
            Verdict::DropEarly | Verdict::Mark => return Err(Drop::Early),
        }
        Ok(())
    }

    /// Shows the present rate to the link's algorithms, if it may change.
    fn see_rate(&mut self, now_ns: u64) {
        if let Some(service) = &self.service {
            let shaped_bps = self.shaper().and_then(|shaper| shaper.rate_bps(now_ns));
            let rate_bps = service.rate_bps(now_ns).min(shaped_bps.unwrap_or(u64::MAX));
            self.view.rate_bytes_per_s = rate_bps.div_ceil(8);
        }
    }

    fn shaper(&self) -> Option<&Bucket> {
        self.effects.as_ref()?.shaper.as_ref()
    }

    /// When transmission of the next packet begins, as far as is known at `now_ns`: when the wire
    /// is free, the link is up, and the shaper has tokens for the packet.
    fn begin_ns(&self, now_ns: u64, ip_bytes: u32) -> u64 {
        let free_ns = now_ns.max(self.wire.busy_until_ns);
        let ready_ns = self
            .shaper()
            .map_or(free_ns, |shaper| shaper.ready_ns(free_ns, ip_bytes));
        match &self.service {
            None => ready_ns,
            Some(service) => service.begin_ns(&self.wire, ready_ns),
        }
    }

    /// Sends a packet that is ready at `now_ns`, after all earlier packets. Returns when its last
    /// bit has left and when it arrives.
    fn transmit(&mut self, now_ns: u64, ip_bytes: u32) -> (u64, u64) {
        let mut begin_ns = now_ns;
        if self.shaper().is_some() {
            begin_ns = self.begin_ns(now_ns, ip_bytes);
            let shaper = self.effects.as_mut().and_then(|e| e.shaper.as_mut());
            shaper.expect("checked").take(begin_ns, ip_bytes);
        }
        match &mut self.service {
            Some(service) => service.serve(&mut self.wire, begin_ns, ip_bytes),
            None => self.wire.serve(begin_ns, ip_bytes),
        }
    }

    /// Bytes waiting or in transmission after the last `drain`.
    pub fn queue_bytes(&self) -> u32 {
        self.queue_bytes
    }

    /// Packets waiting or in transmission after the last `drain`.
    #[inline]
    pub fn queue_pkts(&self) -> u32 {
        let held = self.held.as_ref().map_or(0, |held| held.pkts);
        self.queue.len() as u32 + held
    }
}
