//! The router algorithms of a link. They run in order, in addition to the queue discipline. They
//! see the packets that are offered to the queue, and the protocol headers of these packets. They
//! report the events and counters that they declare.
//!
//! With `routers_at_arrival` they are what `headwayctl router` attaches to the senders' devices: in
//! front of the link and its losses, with a virtual queue, and woken only by packets
//! (algorithms/port/bpf/router.h).

mod virtual_queue;

use crate::net::link::Offered;
use crate::rng::{stream, Purpose};
use crate::scenario::LinkSpec;
use crate::trace::digest::RouterTotals;
use crate::trace::record::{Tables, NULL_U32};
use headway_algorithms::header::header;
use headway_algorithms::sharing::may_share;
use headway_algorithms::{
    AlgorithmError, Carrier, Fields, HeaderInfo, LinkView, Monitor, RouterInfo, RouterInstance,
    Verdict,
};
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use virtual_queue::VirtualQueue;

/// The routers of one link.
pub(crate) struct Routers {
    list: Vec<Router>,
    /// The queue of routers that are programs at the senders' devices; None: the routers are in
    /// front of the link's own queue.
    at_devices: Option<VirtualQueue>,
    link: u32,
    /// A random stream only for routers, so that routers do not change the link's random losses.
    rng: Xoshiro256PlusPlus,
}

struct Router {
    instance: RouterInstance,
    header: Option<&'static HeaderInfo>,
    /// The algorithm's index among the algorithms of the run, as in the trace.
    algorithm: u8,
    tick_ns: Option<u64>,
    /// When it was called last by its timer. Only routers at devices can be called late.
    ticked_ns: Option<u64>,
}

impl Routers {
    /// Creates the routers of a link, if the scenario has any. `all` lists the router algorithms of
    /// the run. The routers' clock begins at 0.
    pub fn new(
        spec: &LinkSpec,
        all: &[&'static RouterInfo],
        view: &LinkView,
        link: u32,
        seed: u64,
    ) -> Result<Option<Box<Routers>>, AlgorithmError> {
        let mut list = Vec::new();
        for router in &spec.routers {
            let tunables: Vec<_> = router
                .tunables
                .iter()
                .map(|(name, value)| (name.clone(), *value))
                .collect();
            let mut view = *view;
            let mut instance = RouterInstance::new(&router.name, &tunables, &mut view)?;
            let info = instance.info();
            let at = all.iter().position(|r| std::ptr::eq(*r, info));
            // a program at a device is called first by the first packet
            let tick_ns = if spec.routers_at_arrival {
                Some(0)
            } else {
                instance.tick(&mut view)
            };
            list.push(Router {
                tick_ns,
                ticked_ns: None,
                header: info.header.map(header).transpose()?,
                algorithm: at.expect("it was found there") as u8,
                instance,
            });
        }
        let together: Vec<_> = list.iter().map(|router| router.instance.info()).collect();
        may_share(&together)?;
        let rng = stream(seed, Purpose::Router, link);
        Ok((!list.is_empty()).then(|| {
            Box::new(Routers {
                list,
                at_devices: spec.routers_at_arrival.then(|| VirtualQueue::new(view)),
                link,
                rng,
            })
        }))
    }

    /// Whether the routers are programs at the senders' devices.
    pub fn are_at_devices(&self) -> bool {
        self.at_devices.is_some()
    }

    /// Shows the routers at the senders' devices a packet that a host sends into the link. It counts
    /// as leaving at once, because no program sees it leave a virtual queue.
    #[inline(never)]
    pub fn send(
        &mut self,
        view: &LinkView,
        packet: &mut Offered,
        reads: bool,
        tables: &mut Tables,
    ) -> Verdict {
        let queue = self.at_devices.as_mut().expect("checked by the caller");
        queue.begin(view.now_ns);
        for router in &mut self.list {
            router.tick_late(view, queue, self.link, tables);
        }
        let mut view = *view;
        queue.show(&mut view);
        let verdict = self.arrive(&view, packet, reads, tables);
        if matches!(verdict, Verdict::Pass | Verdict::Mark) {
            self.depart(&view, packet, tables);
            let queue = self.at_devices.as_mut().expect("checked by the caller");
            queue.join(view.now_ns, packet.ip_bytes);
        }
        verdict
    }

    /// Shows every router a packet that is offered to the queue. If `reads` is false, the packet's
    /// headers are hidden from the routers. Returns one verdict for all routers.
    #[inline(never)]
    pub fn arrive(
        &mut self,
        view: &LinkView,
        packet: &mut Offered,
        reads: bool,
        tables: &mut Tables,
    ) -> Verdict {
        let mut all = Verdict::Pass;
        for router in &mut self.list {
            let mut view = *view;
            let arriving = packet.view();
            let mut bits = Fields::default();
            let header = if reads {
                router
                    .header
                    .and_then(|info| packet.header(info, &mut bits))
            } else {
                None
            };
            view.random = self.rng.next_u32();
            let has_header = header.is_some();
            let verdict = router.instance.arrive(&mut view, &arriving, header);
            router.write_bits(has_header, &bits, packet);
            router.tell(&view, self.link, packet.flow, tables);
            match verdict {
                Verdict::Pass => {}
                Verdict::Mark => all = Verdict::Mark,
                drop => return drop,
            }
        }
        all
    }

    /// Whether one of the routers processes the header.
    pub fn know(&self, header: &str) -> bool {
        self.list
            .iter()
            .any(|router| router.header.is_some_and(|own| own.name == header))
    }

    /// Whether one of the routers must see packets leave the queue.
    pub fn depart_too(&self) -> bool {
        self.at_devices.is_none() && self.list.iter().any(|router| router.instance.departs())
    }

    /// Shows a packet that leaves the queue to the routers that want to see it.
    pub fn depart(&mut self, view: &LinkView, packet: &mut Offered, tables: &mut Tables) {
        for router in self.list.iter_mut().filter(|r| r.instance.departs()) {
            let mut view = *view;
            view.random = self.rng.next_u32();
            let mut leaving = packet.view();
            leaving.flow |= u64::from(packet.to);
            let mut bits = Fields::default();
            let header = router.header.and_then(|i| packet.header(i, &mut bits));
            let has_header = header.is_some();
            router.instance.depart(&mut view, &leaving, header);
            router.write_bits(has_header, &bits, packet);
            router.tell(&view, self.link, packet.flow, tables);
        }
    }

    /// Calls the routers that have asked to be called by now. Returns when the next call is due.
    pub fn tick(&mut self, view: &LinkView, tables: &mut Tables) -> Option<u64> {
        for router in &mut self.list {
            if router.tick_ns.is_some_and(|at_ns| at_ns <= view.now_ns) {
                router.tick(view, self.link, tables);
            }
        }
        self.next_ns()
    }

    /// When the next router asked to be called. At devices, only packets wake routers.
    pub fn next_ns(&self) -> Option<u64> {
        if self.are_at_devices() {
            return None;
        }
        self.list.iter().filter_map(|router| router.tick_ns).min()
    }

    /// Values that a router publishes to senders on the same machine.
    pub fn monitor(&self) -> Option<Monitor> {
        self.list
            .iter()
            .find_map(|router| router.instance.monitor())
    }

    /// Counters of each router over the whole run so far.
    pub fn totals(&mut self, view: &LinkView, tables: &mut Tables) -> Vec<RouterTotals> {
        let mut all = Vec::new();
        self.catch_up(view, tables);
        for router in &self.list {
            let info = router.instance.info();
            let names = info.counters.iter().map(|counter| counter.name);
            all.push(RouterTotals {
                algorithm: info.name,
                counters: names.zip(router.instance.counters()).collect(),
            });
        }
        all
    }

    /// Calls every router, so that its counters are up to date.
    fn catch_up(&mut self, view: &LinkView, tables: &mut Tables) {
        if !self.are_at_devices() {
            for router in &mut self.list {
                router.tick(view, self.link, tables);
            }
        }
    }

    /// Records the routers' counters. Calls the routers first, so that their counters are up to
    /// date even without packets.
    pub fn count(&mut self, view: &LinkView, tables: &mut Tables) {
        let now_ns = view.now_ns as i64;
        self.catch_up(view, tables);
        for router in &self.list {
            for (name, value) in (0..).zip(router.instance.counters()) {
                tables
                    .router_counters
                    .push(now_ns, self.link, router.algorithm, name, value);
            }
        }
    }
}

impl Router {
    /// Writes the fields of a header that is carried in the ECN bits back into these bits.
    #[inline]
    fn write_bits(&self, has_header: bool, bits: &Fields, packet: &mut Offered) {
        let in_bits = |info: &&HeaderInfo| info.carrier == Carrier::EcnBits;
        if let Some(info) = self.header.filter(in_bits).filter(|_| has_header) {
            packet.ecn = info.emit_bits(bits);
        }
    }

    /// Calls a router at a device whose time has come: with the time that it asked for, or with the
    /// present time if it is late by more than one interval.
    fn tick_late(&mut self, view: &LinkView, queue: &VirtualQueue, link: u32, tables: &mut Tables) {
        let Some(tick_ns) = self.tick_ns.filter(|&at_ns| at_ns <= view.now_ns) else {
            return;
        };
        let mut view = *view;
        if let Some(ticked_ns) = self.ticked_ns {
            if view.now_ns - tick_ns < tick_ns - ticked_ns {
                view.now_ns = tick_ns;
            }
        }
        self.ticked_ns = Some(view.now_ns);
        queue.show(&mut view);
        self.tick(&view, link, tables);
    }

    fn tick(&mut self, view: &LinkView, link: u32, tables: &mut Tables) {
        let mut view = *view;
        self.tick_ns = self.instance.tick(&mut view);
        self.tell(&view, link, NULL_U32, tables);
    }

    /// Records the events that the router reported in its last call.
    #[inline]
    fn tell(&self, view: &LinkView, link: u32, flow: u32, tables: &mut Tables) {
        if view.noted == 0 || tables.off {
            return;
        }
        let now_ns = view.now_ns as i64;
        for (name, value) in self.instance.told(view) {
            tables
                .router_events
                .push(link, now_ns, flow, self.algorithm, name, value);
        }
    }
}
