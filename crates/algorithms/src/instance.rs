//! One flow's control and startup, and one link's queue discipline and routers.

use std::sync::Arc;

use crate::error::AlgorithmError;
use crate::ffi::{
    self, Ack, CaState, Conn, Event, LinkView, Monitor, PacketView, RateSample, MAX_TUNABLES,
};
use crate::header::{header, Fields, HeaderInfo};
use crate::registry::{
    self, unknown_tunable, ControlInfo, QueueInfo, RouterInfo, StartupInfo, TunableInfo,
};

/// Shared by all connections with the same choice.
struct Choice {
    control: &'static ControlInfo,
    /// The startup; None if the control owns its start.
    startup: Option<&'static StartupInfo>,
    cc_tun: [u32; MAX_TUNABLES],
    startup_tun: [u32; MAX_TUNABLES],
}

/// A control joined with a startup for one connection: state, tunables, callbacks.
/// Clones share their tunables.
#[derive(Clone)]
pub struct ControlInstance {
    flow: ffi::Flow,
    choice: Arc<Choice>,
}

// SAFETY: the pointers lead to constant tables and into `choice`, which is never
// written again; all else is owned.
unsafe impl Send for ControlInstance {}

impl std::fmt::Debug for ControlInstance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.choice.control.name)?;
        match self.choice.startup {
            Some(startup) => write!(f, "+{}", startup.name),
            None => Ok(()),
        }
    }
}

impl ControlInstance {
    /// Joins a control with a startup, its own if none is named. `tunables` belong to either; all
    /// others have their defaults.
    ///
    /// # Errors
    /// Unknown names (with the nearest ones), values out of range, a tunable given twice, a startup
    /// for a control that owns its start.
    pub fn new(
        control: &str,
        startup: Option<&str>,
        tunables: &[(String, u32)],
    ) -> Result<Self, AlgorithmError> {
        let control = registry::control(control)?;
        let startup = registry::startup_of(control, startup)?;
        let mut choice = Choice {
            control,
            startup,
            cc_tun: [0; MAX_TUNABLES],
            startup_tun: [0; MAX_TUNABLES],
        };
        let mut targets = vec![(&control.tunables, &mut choice.cc_tun)];
        targets.extend(startup.map(|s| (&s.tunables, &mut choice.startup_tun)));
        set_tunables(control.name, &mut targets, tunables)?;
        let startup_word = control.state_bytes.div_ceil(8);
        let words = startup_word + startup.map_or(0, |s| s.state_bytes.div_ceil(8));
        let choice = Arc::new(choice);
        let flow = ffi::Flow {
            cc: control.ops.0,
            startup: startup.map_or(&raw const ffi::hw_native_own_start, |s| s.ops.0),
            cc_tun: choice.cc_tun.as_ptr(),
            startup_tun: choice.startup_tun.as_ptr(),
            startup_word: u64::from(startup_word),
            state: [0; ffi::FLOW_STATE_WORDS],
        };
        let instance = Self { flow, choice };
        assert!(
            words as usize <= ffi::FLOW_STATE_WORDS,
            "{instance:?} needs more state than the contract gives"
        );
        Ok(instance)
    }

    /// The control.
    pub fn control(&self) -> &'static ControlInfo {
        self.choice.control
    }

    /// The startup; None if the control owns its start.
    pub fn startup(&self) -> Option<&'static StartupInfo> {
        self.choice.startup
    }

    /// A SYN or SYN-ACK is about to leave; the startup may ask for a rate on it.
    pub fn open(&mut self, conn: &mut Conn) {
        self.flow.state.fill(0);
        // SAFETY: as in init.
        unsafe { ffi::hw_native_open(&mut self.flow, conn) }
    }

    /// The connection is established. Clears the state first.
    pub fn init(&mut self, conn: &mut Conn) {
        self.flow.state.fill(0);
        // SAFETY: the tables are joined with buffers of the contract's size; C keeps no pointer.
        unsafe { ffi::hw_native_init(&mut self.flow, conn) }
    }

    /// Reports an ACK that acknowledged data, before growth.
    pub fn pkts_acked(&mut self, conn: &mut Conn, ack: &Ack) {
        // SAFETY: as in init.
        unsafe { ffi::hw_native_pkts_acked(&mut self.flow, conn, ack) }
    }

    /// Growth on an ACK: startup below ssthresh, control above; nothing if cwnd was
    /// not used up. `acked_pkts` is 1 on a stack that counts ACKs.
    pub fn grow(&mut self, conn: &mut Conn, acked_pkts: u32) {
        // SAFETY: as in init.
        unsafe { ffi::hw_native_grow(&mut self.flow, conn, acked_pkts) }
    }

    /// [`Self::pkts_acked`], then [`Self::grow`] unless `grow_pkts` is 0, in one call.
    pub fn ack(&mut self, conn: &mut Conn, ack: &Ack, grow_pkts: u32) {
        // SAFETY: as in init.
        unsafe { ffi::hw_native_ack(&mut self.flow, conn, ack, grow_pkts) }
    }

    /// Reports an ACK with new information to a control that takes samples, as [`Self::ack`] does
    /// to others. Does nothing for controls without samples.
    pub fn take_sample(&mut self, conn: &mut Conn, sample: &RateSample) {
        // SAFETY: as in init.
        unsafe { ffi::hw_native_control(&mut self.flow, conn, sample) }
    }

    /// The new ssthresh on congestion; leaves cwnd and ssthresh as they are.
    #[must_use]
    pub fn ssthresh(&mut self, conn: &mut Conn) -> u32 {
        // SAFETY: as in init.
        unsafe { ffi::hw_native_ssthresh(&mut self.flow, conn) }
    }

    /// The sender's state changes: notifies the algorithms, then sets `conn.ca_state`.
    pub fn set_state(&mut self, conn: &mut Conn, new_state: CaState) {
        // SAFETY: as in init.
        unsafe { ffi::hw_native_set_state(&mut self.flow, conn, new_state as u8) }
    }

    /// Reports another event.
    pub fn event(&mut self, conn: &mut Conn, event: Event) {
        // SAFETY: as in init.
        unsafe { ffi::hw_native_event(&mut self.flow, conn, event as u8) }
    }

    /// cwnd to return to when a reduction proved unnecessary.
    #[must_use]
    pub fn undo_cwnd(&mut self, conn: &mut Conn, prior_cwnd_pkts: u32) -> u32 {
        // SAFETY: as in init.
        unsafe { ffi::hw_native_undo_cwnd(&mut self.flow, conn, prior_cwnd_pkts) }
    }

    /// The header that the control owns.
    #[must_use]
    pub fn header(&self) -> Option<&'static HeaderInfo> {
        let name = self.choice.control.header?;
        Some(header(name).expect("a control's header is of the registry"))
    }

    /// A packet with data is about to leave: fills in the fields of the control's header. Returns
    /// whether it is sent.
    pub fn on_send(&mut self, conn: &mut Conn, fields: &mut Fields) -> bool {
        let fields = (&raw mut *fields).cast();
        // SAFETY: as in init; fields are as large as any header's.
        unsafe { ffi::hw_native_on_send(&mut self.flow, conn, fields) != 0 }
    }

    /// The answer to the control's header has come back.
    pub fn on_feedback(&mut self, conn: &mut Conn, fields: &Fields) {
        // SAFETY: as in on_send.
        unsafe { ffi::hw_native_on_feedback(&mut self.flow, conn, (&raw const *fields).cast()) }
    }

    /// Passes what the connection's outgoing link publishes. Does nothing for controls that do not
    /// read it.
    pub fn on_monitor(&mut self, conn: &mut Conn, monitor: &Monitor) {
        // SAFETY: as in init.
        unsafe { ffi::hw_native_on_monitor(&mut self.flow, conn, monitor) }
    }

    /// The floor of rate halving (ssthresh for most).
    #[must_use]
    pub fn min_cwnd(&mut self, conn: &mut Conn) -> u32 {
        // SAFETY: as in init.
        unsafe { ffi::hw_native_min_cwnd(&mut self.flow, conn) }
    }
}

/// What happens to a packet that arrives at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It joins.
    Pass,
    /// No room.
    DropFull,
    /// The algorithm's choice, with room left.
    DropEarly,
    /// The packet joins the queue, marked CE.
    Mark,
}

impl Verdict {
    #[inline(always)]
    fn of(verdict: u32, whose: &str) -> Self {
        match verdict {
            ffi::PASS => Self::Pass,
            ffi::DROP_FULL => Self::DropFull,
            ffi::DROP_EARLY => Self::DropEarly,
            ffi::MARK => Self::Mark,
            other => Self::unknown(other, whose),
        }
    }

    #[cold]
    fn unknown(verdict: u32, whose: &str) -> Self {
        unreachable!("{whose} returned verdict {verdict}")
    }
}

/// A queue discipline of one link: state, tunables, callbacks.
#[derive(Clone)]
pub struct QueueInstance {
    queue: Box<ffi::Queue>,
    info: &'static QueueInfo,
}

// SAFETY: the pointer leads to a constant table; all else is owned.
unsafe impl Send for QueueInstance {}

impl std::fmt::Debug for QueueInstance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.info.name)
    }
}

impl QueueInstance {
    /// A discipline on the given link. Tunables not named have their defaults.
    ///
    /// # Errors
    /// Unknown names (with the nearest ones), values out of range, a tunable given twice.
    pub fn new(
        name: &str,
        tunables: &[(String, u32)],
        link: &LinkView,
    ) -> Result<Self, AlgorithmError> {
        let info = registry::queue(name)?;
        let mut queue = Box::new(ffi::Queue {
            ops: info.ops.0,
            tun: [0; MAX_TUNABLES],
            state: [0; ffi::QUEUE_STATE_WORDS],
        });
        let targets = &mut [(&info.tunables, &mut queue.tun)];
        set_tunables(info.name, targets, tunables)?;
        // SAFETY: the table is joined with a buffer of the contract's size; C keeps no pointer.
        unsafe { ffi::hw_native_queue_init(&mut *queue, link) };
        Ok(Self { queue, info })
    }

    /// The discipline.
    pub fn info(&self) -> &'static QueueInfo {
        self.info
    }

    /// A packet arrives at the queue.
    #[inline(always)]
    pub fn enqueue(&mut self, link: &LinkView, pkt: &PacketView) -> Verdict {
        // SAFETY: as in new.
        let verdict = unsafe { ffi::hw_native_enqueue(&mut *self.queue, link, pkt) };
        Verdict::of(verdict, self.info.name)
    }

    /// The number of sub-queues in which the link holds packets until their turn; 0: the discipline
    /// decides as packets arrive.
    #[must_use]
    pub fn held_queues(&self) -> usize {
        // SAFETY: a constant table.
        unsafe { ffi::hw_native_held_queues(self.info.ops.0) as usize }
    }

    /// The sub-queue for a packet that [`Self::enqueue`] admitted.
    #[must_use]
    pub fn classify(&mut self, link: &LinkView, pkt: &PacketView) -> usize {
        // SAFETY: as in new.
        unsafe { ffi::hw_native_classify(&mut *self.queue, link, pkt) as usize }
    }

    /// Which sub-queue is served next. `heads` are the sizes of the packets at the head of each, 0
    /// if it is empty.
    ///
    /// # Panics
    /// If `heads` does not have [`Self::held_queues`] entries.
    #[must_use]
    pub fn choose(&mut self, link: &LinkView, heads: &[u32]) -> usize {
        assert_eq!(heads.len(), self.held_queues());
        // SAFETY: as in new; the discipline reads as many sizes as it declares sub-queues.
        unsafe { ffi::hw_native_choose(&mut *self.queue, link, heads.as_ptr()) as usize }
    }

    /// It is the turn of a packet that has waited so long; `link` has the queue behind it.
    #[must_use]
    pub fn dequeue(&mut self, link: &LinkView, pkt: &PacketView, sojourn_ns: u64) -> Verdict {
        // SAFETY: as in new.
        let number = unsafe { ffi::hw_native_dequeue(&mut *self.queue, link, pkt, sojourn_ns) };
        Verdict::of(number, self.info.name)
    }
}

/// A router algorithm of one link, in addition to its queue discipline.
#[derive(Clone)]
pub struct RouterInstance {
    router: Box<ffi::Router>,
    info: &'static RouterInfo,
}

// SAFETY: the pointer leads to a constant table; all else is owned.
unsafe impl Send for RouterInstance {}

impl std::fmt::Debug for RouterInstance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counters = self.info.counters.iter().map(|c| c.name);
        write!(f, "{} ", self.info.name)?;
        f.debug_map()
            .entries(counters.zip(self.counters()))
            .finish()
    }
}

impl RouterInstance {
    /// A new router on the given link. All other tunables have their defaults.
    ///
    /// # Errors
    /// Unknown names (with the nearest ones), values out of range, a tunable given twice.
    pub fn new(
        name: &str,
        tunables: &[(String, u32)],
        link: &mut LinkView,
    ) -> Result<Self, AlgorithmError> {
        let info = registry::router(name)?;
        let mut router = Box::new(ffi::Router {
            ops: info.ops.0,
            tun: [0; MAX_TUNABLES],
            state: [0; ffi::ROUTER_STATE_WORDS],
        });
        let targets = &mut [(&info.tunables, &mut router.tun)];
        set_tunables(info.name, targets, tunables)?;
        // SAFETY: the table is joined with a buffer of the contract's size; C keeps no pointer.
        unsafe { ffi::hw_native_router_init(&mut *router, link) };
        Ok(Self { router, info })
    }

    /// The algorithm.
    pub fn info(&self) -> &'static RouterInfo {
        self.info
    }

    /// A packet is offered to the link's queue, with the header that the router reads, if any. The
    /// router's events are in `link.noted`, which the caller clears before.
    #[inline]
    pub fn arrive(
        &mut self,
        link: &mut LinkView,
        pkt: &PacketView,
        header: Option<&mut Fields>,
    ) -> Verdict {
        let header = header.map_or(std::ptr::null_mut(), |h| (&raw mut *h).cast());
        // SAFETY: as in new; fields are as large as any header's.
        let verdict = unsafe { ffi::hw_native_arrive(&mut *self.router, link, pkt, header) };
        Verdict::of(verdict, self.info.name)
    }

    /// Whether the algorithm sees packets leave the queue.
    #[must_use]
    pub fn departs(&self) -> bool {
        // SAFETY: a constant table.
        unsafe { ffi::hw_native_departs(self.info.ops.0) != 0 }
    }

    /// A packet leaves the link's queue; as [`Self::arrive`].
    pub fn depart(&mut self, link: &mut LinkView, pkt: &PacketView, header: Option<&mut Fields>) {
        let header = header.map_or(std::ptr::null_mut(), |h| (&raw mut *h).cast());
        // SAFETY: as in arrive.
        unsafe { ffi::hw_native_depart(&mut *self.router, link, pkt, header) }
    }

    /// Runs the router's timer. Returns when it wants to be called again, if ever.
    pub fn tick(&mut self, link: &mut LinkView) -> Option<u64> {
        // SAFETY: as in new.
        let at_ns = unsafe { ffi::hw_native_tick(&mut *self.router, link) };
        (at_ns != 0).then_some(at_ns)
    }

    /// What the algorithm publishes for controls of this machine; None: nothing yet.
    #[must_use]
    pub fn monitor(&self) -> Option<Monitor> {
        if !self.info.publishes {
            return None;
        }
        let mut monitor = Monitor::default();
        // SAFETY: as in new; it writes the block.
        unsafe { ffi::hw_native_publish(&*self.router, &mut monitor) };
        (monitor.intervals != 0).then_some(monitor)
    }

    /// The values of its counters, in declared order, in their units; as of the last
    /// [`Self::tick`].
    pub fn counters(&self) -> impl Iterator<Item = u64> + '_ {
        let values = self.info.counters.iter().zip(&self.router.state);
        values.map(|(counter, value)| value.wrapping_mul(counter.times))
    }

    /// A counter by its name.
    #[must_use]
    pub fn counter(&self, name: &str) -> Option<u64> {
        let at = self.info.counters.iter().position(|c| c.name == name)?;
        self.counters().nth(at)
    }

    /// The events of the last call: number and value of each, in its unit.
    pub fn told<'a>(&self, link: &'a LinkView) -> impl Iterator<Item = (u8, u64)> + 'a {
        let info = self.info;
        (0_u8..)
            .zip(&info.events)
            .filter(|&(at, _)| link.noted >> at & 1 != 0)
            .map(|(at, event)| (at, link.notes[usize::from(at)].wrapping_mul(event.times)))
    }
}

/// Fills in defaults, then the requested values.
fn set_tunables(
    owner: &str,
    targets: &mut [(&'static Vec<TunableInfo>, &mut [u32; MAX_TUNABLES])],
    tunables: &[(String, u32)],
) -> Result<(), AlgorithmError> {
    for (infos, values) in &mut *targets {
        for (info, value) in infos.iter().zip(values.iter_mut()) {
            *value = info.default;
        }
    }
    for (i, (name, value)) in tunables.iter().enumerate() {
        if tunables[..i].iter().any(|(earlier, _)| earlier == name) {
            return Err(AlgorithmError::Twice(name.clone()));
        }
        let slot = targets.iter_mut().find_map(|(infos, values)| {
            let at = infos.iter().position(|info| info.name == name)?;
            Some((&infos[at], &mut values[at]))
        });
        let Some((info, slot)) = slot else {
            let lists: Vec<&[TunableInfo]> = targets.iter().map(|t| t.0.as_slice()).collect();
            return Err(unknown_tunable(owner, name, &lists));
        };
        if !(info.min..=info.max).contains(value) {
            return Err(info.bad_value(&value.to_string()));
        }
        *slot = *value;
    }
    Ok(())
}
