//! One direction of a link: rate, queue, delay, loss.
//!
//! A queue is first in, first out, so a packet's departure is known when it
//! joins, and a hop costs one event at most. The queue's length at any later
//! moment is found by taking out what has departed since (`drain`). That holds also
//! where rate and delay change during the run (`service`), for how is known before.
//! Only where the discipline decides at the head are packets held until their turn.

mod held;
mod service;

use crate::net::link::held::{Held, Waiting};
use crate::net::link::service::Service;
use crate::net::packet::{ecn::CE, Headers};
use crate::net::routers::Routers;
use crate::ring::Ring;
use crate::rng::{stream, Purpose};
use crate::scenario::{EcnPath, LinkSpec};
use crate::trace::digest::{LinkTotals, Spread};
use crate::trace::record::Tables;
use headway_algorithms::{
    AlgorithmError, Carrier, Fields, HeaderInfo, LinkView, PacketView, QueueInstance, RouterInfo,
    Verdict,
};
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Why a packet was not carried, as in the table of drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// No room in the queue.
    Full = 0,
    /// Random loss.
    Loss = 1,
    /// The queue's algorithm dropped it early.
    Early = 2,
    /// It had IP options, on a link that carries none.
    Options = 3,
    /// It asked for ECN, on a link that drops such SYNs.
    EcnSyn = 4,
}

/// A packet that is offered to a link.
pub struct Offered<'a> {
    /// By which its owner knows it again, where the link holds it.
    pub id: u32,
    /// Whole IP packet.
    pub ip_bytes: u32,
    /// IPv4 ECN bits.
    pub ecn: u8,
    /// Identification of its IP header, as [`crate::net::packet::Packet::ip_id`] says.
    pub ip_id: u16,
    /// Whose it is.
    pub flow: u32,
    /// Which way of the flow it goes.
    pub route: u32,
    /// Its IPv4 header has options.
    pub ip_options: bool,
    /// Which headers it carries, as [`crate::net::packet::Packet::headers`] says.
    pub carried: u8,
    /// Their fields, which the link's routers may change.
    pub headers: Option<&'a mut Headers>,
}

impl Offered<'_> {
    /// The fields of a header, if the packet carries it; those of ECN bits are read into
    /// `bits`.
    pub(crate) fn header<'a>(
        &'a mut self,
        info: &HeaderInfo,
        bits: &'a mut Fields,
    ) -> Option<&'a mut Fields> {
        let carried = match info.carrier {
            Carrier::IpOption => self.carried & 0x0f,
            Carrier::TcpOption => self.carried >> 4,
            Carrier::EcnBits => {
                *bits = info.parse(&[self.ecn])?;
                return Some(bits);
            }
        };
        let headers = self.headers.as_deref_mut()?;
        if carried != info.number {
            return None;
        }
        Some(match info.carrier {
            Carrier::IpOption => &mut headers.ip,
            _ => &mut headers.tcp,
        })
    }
}

/// Rate and delay, and when the packets taken so far will have left.
#[derive(Clone, Copy)]
pub struct Wire {
    /// Nanoseconds that a byte takes, where that is a whole number; else [`Wire::ODD`]
    /// and the rate in bits per second. Packets then need no division.
    pace: u64,
    delay_ns: u64,
    busy_until_ns: u64,
}

impl Wire {
    const ODD: u64 = 1 << 63;
    /// Nanobits of a byte.
    const BYTE: u64 = 8_000_000_000;

    /// A wire that has sent nothing yet.
    pub fn new(rate_bps: u64, delay_ns: u64) -> Wire {
        let is_whole = Self::BYTE.checked_rem(rate_bps) == Some(0);
        Wire {
            pace: if is_whole {
                Self::BYTE / rate_bps
            } else {
                rate_bps | Self::ODD
            },
            delay_ns,
            busy_until_ns: 0,
        }
    }

    /// Sends a packet that is there at `now_ns` after all before it. Returns
    /// when its last bit has left.
    #[inline(always)]
    fn depart(&mut self, now_ns: u64, ip_bytes: u32) -> u64 {
        let transmit_ns = if self.pace & Self::ODD == 0 {
            u64::from(ip_bytes) * self.pace
        } else {
            (u64::from(ip_bytes) * Self::BYTE).div_ceil(self.pace & !Self::ODD)
        };
        self.busy_until_ns = self.busy_until_ns.max(now_ns) + transmit_ns;
        self.busy_until_ns
    }

    /// The same; returns when it arrives.
    #[inline(always)]
    pub fn pass(&mut self, now_ns: u64, ip_bytes: u32) -> u64 {
        self.depart(now_ns, ip_bytes) + self.delay_ns
    }

    /// The same; returns when its last bit has left and when it arrives.
    #[inline]
    fn serve(&mut self, now_ns: u64, ip_bytes: u32) -> (u64, u64) {
        let depart_ns = self.depart(now_ns, ip_bytes);
        (depart_ns, depart_ns + self.delay_ns)
    }
}

/// How algorithms tell senders apart: each direction of a host pair is one.
pub(crate) fn sender_of(route: u32) -> u64 {
    (u64::from(route) + 1) << 32
}

/// What happened to an offered packet.
pub enum Offer {
    /// It will be at the far end at this time.
    Accepted {
        /// When its last bit has left.
        depart_ns: u64,
        /// At the far end.
        arrive_ns: u64,
        /// With congestion experienced.
        mark: bool,
        /// Its ECN bits now.
        ecn: u8,
    },
    /// It waits for its turn ([`Link::take`]).
    Held {
        /// With congestion experienced.
        mark: bool,
        /// Its ECN bits now.
        ecn: u8,
    },
    /// It is gone.
    Dropped(Drop),
}

/// What a link that holds packets does now.
pub enum Turn {
    /// It begins to send a packet.
    Sent {
        /// Which one.
        id: u32,
        /// When its last bit has left.
        depart_ns: u64,
        /// When it will be at the far end.
        arrive_ns: u64,
        /// With congestion experienced.
        mark: bool,
    },
    /// A packet is gone; there may be others.
    Dropped {
        /// Which one.
        id: u32,
        /// Why.
        reason: Drop,
    },
    /// Nothing before this time, when it wants to be asked again.
    At(u64),
    /// Nothing: it holds no packet, or was told to be asked at a time that comes.
    Over,
}

/// What a link has done.
#[derive(Clone, Default)]
pub struct Counters {
    /// Offered.
    pub arrived_pkts: u64,
    /// Offered.
    pub arrived_bytes: u64,
    /// Completely transmitted.
    pub sent_pkts: u64,
    /// Completely transmitted.
    pub sent_bytes: u64,
    /// Lost or dropped.
    pub dropped_pkts: u64,
    /// Lost or dropped.
    pub dropped_bytes: u64,
    /// Bytes times nanoseconds.
    pub queue_byte_ns: u128,
}

/// What a link's digest is made of.
#[derive(Default)]
struct Watch {
    from_ns: u64,
    before: Counters,
    queue_bytes: Spread,
    full_events: u64,
}

/// A link between routers: a wire behind a queue, with disturbances.
pub struct Link {
    wire: Wire,
    /// Says instead of the wire when it sends, where that changes during the run.
    service: Option<Box<Service>>,
    discipline: QueueInstance,
    routers: Option<Box<Routers>>,
    drop_ip_options: bool,
    /// What it does with ECN.
    pub ecn: EcnPath,
    view: LinkView,
    /// What waits for a discipline that decides at the head.
    held: Option<Box<Held>>,
    /// Departure and size of what waits or is in transmission, but for what is held.
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
    /// Up to the last offer or [`Link::settle`].
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
    /// A link with an empty queue. Its random stream depends only on the run's
    /// seed and its own number.
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

    /// Gives the link the routers that it is to have.
    pub(crate) fn with_routers(
        mut self,
        spec: &LinkSpec,
        all: &[&'static RouterInfo],
        seed: u64,
    ) -> Result<Link, AlgorithmError> {
        self.routers = Routers::new(spec, all, &self.view, self.number, seed)?;
        if self.held.is_none() && self.departs() {
            self.held = Some(Box::new(Held::new(1)));
        }
        Ok(self)
    }

    /// Whether a router wants to see packets leave the queue.
    pub(crate) fn departs(&self) -> bool {
        self.routers.as_ref().is_some_and(|r| r.depart_too())
    }

    /// A packet that [`Link::take`] sends leaves the queue.
    pub(crate) fn depart(&mut self, packet: &mut Offered, tables: &mut Tables) {
        if let Some(routers) = &mut self.routers {
            routers.depart(&self.view, packet, tables);
        }
    }

    /// Whether it has routers.
    pub(crate) fn has_routers(&self) -> bool {
        self.routers.is_some()
    }

    /// When a router wants to be called.
    pub(crate) fn tick_ns(&self) -> Option<u64> {
        self.routers.as_ref()?.next_ns()
    }

    /// The time of a router has come. Returns when the next wants to be called.
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

    /// Packets may leave it in another order than they came, or twice.
    pub fn disturbs(&self) -> bool {
        self.duplicate != 0 || self.reorder != 0
    }

    /// Whether an accepted packet arrives twice.
    pub fn draw_duplicate(&mut self) -> bool {
        self.chance(self.duplicate)
    }

    /// How long an accepted packet is held back on the way.
    pub fn draw_hold_ns(&mut self) -> u64 {
        if self.chance(self.reorder) {
            self.reorder_delay_ns
        } else {
            0
        }
    }

    /// Takes out of the queue what has departed by `now_ns`.
    pub fn drain(&mut self, now_ns: u64, tables: &mut Tables) {
        while let Some(&(depart_ns, ip_bytes)) = self.queue.front() {
            if depart_ns > now_ns {
                break;
            }
            self.queue.pop_front();
            self.counters.sent_pkts += 1;
            self.counters.sent_bytes += u64::from(ip_bytes);
            self.change_queue(depart_ns, self.queue_bytes - ip_bytes, tables);
        }
    }

    #[inline(always)]
    fn change_queue(&mut self, time_ns: u64, queue_bytes: u32, tables: &mut Tables) {
        self.integrate(time_ns);
        self.queue_bytes = queue_bytes;
        if self.record_queue {
            self.record_change(time_ns, tables);
        }
    }

    #[inline(never)]
    fn record_change(&mut self, time_ns: u64, tables: &mut Tables) {
        let pkts = self.queue_pkts();
        tables
            .queue
            .push(self.number, time_ns as i64, self.queue_bytes, pkts);
    }

    #[inline(never)]
    fn watch_change(&mut self, time_ns: u64) {
        if let Some(watch) = &mut self.watch {
            let held_ns = time_ns.saturating_sub(self.last_change_ns.max(watch.from_ns));
            watch.queue_bytes.add(u64::from(self.queue_bytes), held_ns);
        }
    }

    #[inline(always)]
    fn integrate(&mut self, time_ns: u64) {
        if self.watch.is_some() {
            self.watch_change(time_ns);
        }
        self.counters.queue_byte_ns +=
            u128::from(self.queue_bytes) * u128::from(time_ns - self.last_change_ns);
        self.last_change_ns = time_ns;
    }

    /// Changes of rate and delay count from `origin_ns`, not from 0.
    pub fn begin_at(&mut self, origin_ns: u64) {
        if let Some(service) = &mut self.service {
            service.begin_at(origin_ns);
        }
    }

    /// Offers a packet to the link at `now_ns`.
    pub fn offer(&mut self, now_ns: u64, packet: Offered, tables: &mut Tables) -> Offer {
        self.offer_as::<false>(now_ns, packet, tables)
    }

    /// It holds nothing, has one rate and delay, and no routers.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.held.is_none() && self.service.is_none() && self.routers.is_none()
    }

    /// [`Link::offer`] where [`Link::is_plain`].
    #[inline(always)]
    pub(crate) fn offer_plain(
        &mut self,
        now_ns: u64,
        packet: Offered,
        tables: &mut Tables,
    ) -> Offer {
        self.offer_as::<true>(now_ns, packet, tables)
    }

    /// [`Link::offer`] where it is not, out of the way.
    #[inline(never)]
    pub(crate) fn offer_rare(
        &mut self,
        now_ns: u64,
        packet: Offered,
        tables: &mut Tables,
    ) -> Offer {
        self.offer(now_ns, packet, tables)
    }

    /// `PLAIN`: as [`Link::is_plain`].
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
            let rng = &mut self.rng;
            let reads = !(self.drop_ip_options && packet.ip_options);
            let draw = || rng.next_u32();
            match routers.arrive(&self.view, &mut packet, reads, draw, tables) {
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
        let arriving = PacketView {
            flow: sender_of(packet.route),
            ip_bytes,
            ecn,
            local: 0,
            ip_id: packet.ip_id,
            pkts: 1,
        };
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

    #[inline(never)]
    fn hold(&mut self, now_ns: u64, id: u32, pkt: &PacketView, mark: bool, tables: &mut Tables) {
        let queue = self.discipline.classify(&self.view, pkt);
        let held = self.held.as_mut().expect("the caller looked");
        held.join(
            queue,
            Waiting {
                id,
                ip_bytes: pkt.ip_bytes,
                flow: pkt.flow,
                joined_ns: now_ns,
                ecn: if mark { CE } else { pkt.ecn },
                ip_id: pkt.ip_id,
            },
        );
        self.change_queue(now_ns, self.queue_bytes + pkt.ip_bytes, tables);
    }

    /// The next packet of a link that holds them, if its wire is free at `now_ns`; to be
    /// asked for after each [`Offer::Held`] and at the times it names, until it is over.
    pub fn take(&mut self, now_ns: u64, tables: &mut Tables) -> Turn {
        self.drain(now_ns, tables);
        let Some(held) = self.held.as_mut().filter(|held| held.pkts() > 0) else {
            return Turn::Over;
        };
        let begin_ns = match &self.service {
            None => now_ns.max(self.wire.busy_until_ns),
            Some(service) => service.begin_ns(&self.wire, now_ns),
        };
        if begin_ns > now_ns {
            if held.turn_ns.replace(begin_ns) == Some(begin_ns) {
                return Turn::Over;
            }
            return Turn::At(begin_ns);
        }
        if let Some(service) = &self.service {
            self.view.rate_bytes_per_s = service.rate_bps(now_ns).div_ceil(8);
        }
        self.view.now_ns = now_ns;
        self.view.idle_us = 0;
        self.view.random = self.rng.next_u32();
        self.view.queue_bytes = self.queue_bytes;
        self.view.queue_pkts = self.queue.len() as u32 + held.pkts();
        let queue = match held.heads() {
            [_] => 0,
            heads => self.discipline.choose(&self.view, heads),
        };
        let packet = held
            .take(queue)
            .expect("choose names one that has a packet");
        self.view.queue_bytes -= packet.ip_bytes;
        self.view.queue_pkts -= 1;
        let leaving = PacketView {
            flow: packet.flow,
            ip_bytes: packet.ip_bytes,
            ecn: packet.ecn,
            local: 0,
            ip_id: packet.ip_id,
            pkts: 1,
        };
        let sojourn_ns = now_ns - packet.joined_ns;
        let verdict = self.discipline.dequeue(&self.view, &leaving, sojourn_ns);
        let id = packet.id;
        let mark = verdict == Verdict::Mark;
        if !(verdict == Verdict::Pass || mark && packet.ecn != 0) {
            self.change_queue(now_ns, self.queue_bytes - packet.ip_bytes, tables);
            self.dropped(packet.ip_bytes, Drop::Early);
            let reason = Drop::Early;
            return Turn::Dropped { id, reason };
        }
        let (depart_ns, arrive_ns) = match &mut self.service {
            None => self.wire.serve(now_ns, packet.ip_bytes),
            Some(service) => service.serve(&mut self.wire, now_ns, packet.ip_bytes),
        };
        self.queue.push_back((depart_ns, packet.ip_bytes));
        Turn::Sent {
            id,
            depart_ns,
            arrive_ns,
            mark,
        }
    }

    #[inline(always)]
    fn end_full(&mut self, now_ns: u64, tables: &mut Tables) {
        if self.full_since.is_some() {
            self.no_longer_full(now_ns, tables);
        }
    }

    #[inline(never)]
    fn no_longer_full(&mut self, now_ns: u64, tables: &mut Tables) {
        if let Some((start_ns, pkts)) = self.full_since.take() {
            if let Some(watch) = &mut self.watch {
                watch.full_events += u64::from(start_ns >= watch.from_ns);
            }
            if !tables.off {
                tables
                    .queue_full
                    .push(self.number, start_ns as i64, now_ns as i64, pkts);
            }
        }
    }

    /// A packet has come that goes no further, whatever the queue.
    pub fn refuse(&mut self, ip_bytes: u32, reason: Drop) {
        self.counters.arrived_pkts += 1;
        self.counters.arrived_bytes += u64::from(ip_bytes);
        self.dropped(ip_bytes, reason);
    }

    fn dropped(&mut self, ip_bytes: u32, reason: Drop) -> Offer {
        self.counters.dropped_pkts += 1;
        self.counters.dropped_bytes += u64::from(ip_bytes);
        Offer::Dropped(reason)
    }

    /// Brings the counters up to `now_ns`.
    pub fn settle(&mut self, now_ns: u64, tables: &mut Tables) {
        self.drain(now_ns, tables);
        self.integrate(now_ns);
    }

    /// Records what its routers have counted up to `now_ns`.
    pub(crate) fn count_routers(&mut self, now_ns: u64, tables: &mut Tables) {
        if let Some(routers) = &mut self.routers {
            let view = LinkView {
                now_ns,
                ..self.view
            };
            routers.count(&view, tables);
        }
    }

    /// Sums up what happens from this time on, instead of recording it.
    pub(crate) fn watch(&mut self, from_ns: u64) {
        self.watch = Some(Box::new(Watch {
            from_ns,
            ..Watch::default()
        }));
    }

    /// The part that is summed up begins, and the counters are up to date.
    pub(crate) fn begin(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.before = self.counters.clone();
        }
    }

    /// What was summed up until `now_ns`, after [`Link::settle`].
    pub(crate) fn totals(&mut self, now_ns: u64, name: String, tables: &mut Tables) -> LinkTotals {
        let watch = self.watch.take().unwrap_or_default();
        let (now, before) = (&self.counters, &watch.before);
        let view = LinkView {
            now_ns,
            ..self.view
        };
        LinkTotals {
            name,
            arrived_pkts: now.arrived_pkts - before.arrived_pkts,
            sent_pkts: now.sent_pkts - before.sent_pkts,
            sent_bytes: now.sent_bytes - before.sent_bytes,
            dropped_pkts: now.dropped_pkts - before.dropped_pkts,
            queue_full_events: watch.full_events,
            queue_bytes: watch.queue_bytes.over_time(),
            routers: match &mut self.routers {
                Some(routers) => routers.totals(&view, tables),
                None => vec![],
            },
        }
    }

    /// Closes a queue-full event that lasts to the end of the run.
    pub fn finish(&mut self, now_ns: u64, tables: &mut Tables) {
        self.end_full(now_ns, tables);
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
