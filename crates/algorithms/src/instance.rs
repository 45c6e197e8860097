//! Instances of algorithms: one flow's control and startup, and one link's routers.

use std::sync::Arc;

use crate::error::AlgorithmError;
use crate::ffi::{
    self, Ack, CaState, Conn, Event, LinkView, Lost, Monitor, PacketView, RateSample, MAX_READINGS,
    MAX_TUNABLES,
};
use crate::header::{header, Fields, HeaderInfo};
use crate::registry::{self, unknown_tunable, ControlInfo, RouterInfo, StartupInfo, TunableInfo};

/// The chosen algorithms and tunables, shared by all connections with the same choice.
struct Choice {
    control: &'static ControlInfo,
    /// The startup; None if the control starts by itself.
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

// SAFETY: the pointers lead to constant tables and into `choice`, which is never written again; the
// instance owns all other data.
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
    /// Joins a control with the named startup, or with the control's default startup. `tunables`
    /// are values for tunables of either; all other tunables have their defaults.
    ///
    /// # Errors
    /// Unknown names (with the nearest ones), values out of range, a tunable given twice, a startup
    /// for a control that has its own start.
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

    /// The startup; None if the control starts by itself.
    pub fn startup(&self) -> Option<&'static StartupInfo> {
        self.choice.startup
    }

    /// Called before a SYN or SYN-ACK is sent; the startup may request a rate in that packet.
    pub fn open(&mut self, conn: &mut Conn) {
        self.flow.state.fill(0);
        // SAFETY: the tables and buffers are valid, as in `init`; the C function keeps no pointer.
        unsafe { ffi::hw_native_open(&mut self.flow, conn) }
    }

    /// Called when the connection is established. Clears the state of the control and the startup
    /// first.
    pub fn init(&mut self, conn: &mut Conn) {
        self.flow.state.fill(0);
        // SAFETY: the tables were joined with buffers of the sizes that the contract demands; C
        // keeps no pointer.
        unsafe { ffi::hw_native_init(&mut self.flow, conn) }
    }

    /// Reports an ACK that acknowledged data. Called before [`Self::grow`].
    pub fn pkts_acked(&mut self, conn: &mut Conn, ack: &Ack) {
        // SAFETY: the tables and buffers are valid, as in `init`; the C function keeps no pointer.
        unsafe { ffi::hw_native_pkts_acked(&mut self.flow, conn, ack) }
    }

    /// Lets cwnd grow for an ACK: by the startup below ssthresh, by the control above. Does nothing
    /// if cwnd did not limit the sender. `acked_pkts` is 1 on a stack that counts ACKs.
    pub fn grow(&mut self, conn: &mut Conn, acked_pkts: u32) {
        // SAFETY: the tables and buffers are valid, as in `init`; the C function keeps no pointer.
        unsafe { ffi::hw_native_grow(&mut self.flow, conn, acked_pkts) }
    }

    /// Calls [`Self::pkts_acked`] and then, unless `grow_pkts` is 0, [`Self::grow`], in one call.
    pub fn ack(&mut self, conn: &mut Conn, ack: &Ack, grow_pkts: u32) {
        // SAFETY: the tables and buffers are valid, as in `init`; the C function keeps no pointer.
        unsafe { ffi::hw_native_ack(&mut self.flow, conn, ack, grow_pkts) }
    }

    /// Reports an ACK with new information to a control that takes rate samples, as [`Self::ack`]
    /// does to other controls. Does nothing for controls without rate samples.
    pub fn take_sample(&mut self, conn: &mut Conn, sample: &RateSample) {
        // SAFETY: the tables and buffers are valid, as in `init`; the C function keeps no pointer.
        unsafe { ffi::hw_native_control(&mut self.flow, conn, sample) }
    }

    /// Reports lost packets to a control that follows losses. Does nothing for other controls.
    pub fn on_loss(&mut self, conn: &mut Conn, lost: &Lost) {
        // SAFETY: the tables and buffers are valid, as in `init`; the C function keeps no pointer.
        unsafe { ffi::hw_native_on_loss(&mut self.flow, conn, lost) }
    }

    /// The values of the control's readings, in the units and the order in which the control
    /// declares them.
    pub fn readings(&mut self, conn: &Conn) -> impl Iterator<Item = u64> {
        let mut values = [0; MAX_READINGS];
        // SAFETY: as in `init`. A control declares at most so many readings.
        unsafe { ffi::hw_native_observe(&mut self.flow, conn, values.as_mut_ptr()) };
        let control = self.choice.control;
        control
            .readings
            .iter()
            .zip(values)
            .map(|(info, value)| info.shown(value))
    }

    /// Called at a congestion event: returns the new ssthresh. Does not change cwnd and ssthresh
    /// itself.
    #[must_use]
    pub fn ssthresh(&mut self, conn: &mut Conn) -> u32 {
        // SAFETY: the tables and buffers are valid, as in `init`; the C function keeps no pointer.
        unsafe { ffi::hw_native_ssthresh(&mut self.flow, conn) }
    }

    /// Tells the algorithms that the sender's state changes, then sets `conn.ca_state`.
    pub fn set_state(&mut self, conn: &mut Conn, new_state: CaState) {
        // SAFETY: the tables and buffers are valid, as in `init`; the C function keeps no pointer.
        unsafe { ffi::hw_native_set_state(&mut self.flow, conn, new_state as u8) }
    }

    /// Reports another event.
    pub fn event(&mut self, conn: &mut Conn, event: Event) {
        // SAFETY: the tables and buffers are valid, as in `init`; the C function keeps no pointer.
        unsafe { ffi::hw_native_event(&mut self.flow, conn, event as u8) }
    }

    /// Returns the cwnd to restore when a reduction has proved spurious.
    #[must_use]
    pub fn undo_cwnd(&mut self, conn: &mut Conn, prior_cwnd_pkts: u32) -> u32 {
        // SAFETY: the tables and buffers are valid, as in `init`; the C function keeps no pointer.
        unsafe { ffi::hw_native_undo_cwnd(&mut self.flow, conn, prior_cwnd_pkts) }
    }

    /// The header that the control owns.
    #[must_use]
    pub fn header(&self) -> Option<&'static HeaderInfo> {
        let name = self.choice.control.header?;
        Some(header(name).expect("a control's header is of the registry"))
    }

    /// Called before a packet with data is sent: fills in the fields of the control's header.
    /// Returns whether the packet carries the header.
    pub fn on_send(&mut self, conn: &mut Conn, fields: &mut Fields) -> bool {
        let fields = (&raw mut *fields).cast();
        // SAFETY: as in `init`; fields have room for those of any header.
        unsafe { ffi::hw_native_on_send(&mut self.flow, conn, fields) != 0 }
    }

    /// Called when the answer to the control's header has arrived.
    pub fn on_feedback(&mut self, conn: &mut Conn, fields: &Fields) {
        // SAFETY: as in `on_send`: the fields have room for those of any header.
        unsafe { ffi::hw_native_on_feedback(&mut self.flow, conn, (&raw const *fields).cast()) }
    }

    /// Passes the values that the connection's outgoing link publishes to the control. Does nothing
    /// for controls that do not read them.
    pub fn on_monitor(&mut self, conn: &mut Conn, monitor: &Monitor) {
        // SAFETY: the tables and buffers are valid, as in `init`; the C function keeps no pointer.
        unsafe { ffi::hw_native_on_monitor(&mut self.flow, conn, monitor) }
    }

    /// The lowest cwnd to which rate halving may reduce (ssthresh for most controls).
    #[must_use]
    pub fn min_cwnd(&mut self, conn: &mut Conn) -> u32 {
        // SAFETY: the tables and buffers are valid, as in `init`; the C function keeps no pointer.
        unsafe { ffi::hw_native_min_cwnd(&mut self.flow, conn) }
    }
}

/// What a queue discipline or router decides about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It joins.
    Pass,
    /// No room.
    DropFull,
    /// The algorithm drops the packet although the queue has room.
    DropEarly,
    /// The packet joins the queue, marked CE.
    Mark,
}

impl Verdict {
    #[inline(always)]
    pub(crate) fn of(verdict: u32, whose: &str) -> Self {
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

/// A router algorithm that works on one link in addition to the link's queue discipline.
#[derive(Clone)]
pub struct RouterInstance {
    router: Box<ffi::Router>,
    info: &'static RouterInfo,
}

// SAFETY: the pointer leads to a constant table; the instance owns all other data.
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
    /// Creates a router for the given link. Tunables that are not named have their defaults.
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
        // SAFETY: the table was joined with a buffer of the size that the contract demands; C keeps
        // no pointer.
        unsafe { ffi::hw_native_router_init(&mut *router, link) };
        Ok(Self { router, info })
    }

    /// The algorithm.
    pub fn info(&self) -> &'static RouterInfo {
        self.info
    }

    /// Called when a packet is offered to the link's queue, with the header that the router reads,
    /// if the packet carries it. The router adds its events to `link.noted`, which the caller
    /// clears before.
    #[inline]
    pub fn arrive(
        &mut self,
        link: &mut LinkView,
        pkt: &PacketView,
        header: Option<&mut Fields>,
    ) -> Verdict {
        let header = header.map_or(std::ptr::null_mut(), |h| (&raw mut *h).cast());
        // SAFETY: the table and buffer are those of `new`; fields have room for those of any
        // header.
        let verdict = unsafe { ffi::hw_native_arrive(&mut *self.router, link, pkt, header) };
        Verdict::of(verdict, self.info.name)
    }

    /// Whether the algorithm is called when packets leave the queue.
    #[must_use]
    pub fn departs(&self) -> bool {
        // SAFETY: the pointer leads to a constant table.
        unsafe { ffi::hw_native_departs(self.info.ops.0) != 0 }
    }

    /// Called when a packet leaves the link's queue; otherwise the same as [`Self::arrive`].
    pub fn depart(&mut self, link: &mut LinkView, pkt: &PacketView, header: Option<&mut Fields>) {
        let header = header.map_or(std::ptr::null_mut(), |h| (&raw mut *h).cast());
        // SAFETY: as in `arrive`: the fields have room for those of any header.
        unsafe { ffi::hw_native_depart(&mut *self.router, link, pkt, header) }
    }

    /// Runs the router's timer. Returns the time of its next call, if there is one.
    pub fn tick(&mut self, link: &mut LinkView) -> Option<u64> {
        // SAFETY: the table and the buffer are valid, as in `new`; the C function keeps no pointer.
        let at_ns = unsafe { ffi::hw_native_tick(&mut *self.router, link) };
        (at_ns != 0).then_some(at_ns)
    }

    /// The values that the algorithm publishes for controls on the same machine. None: it has
    /// published nothing yet.
    #[must_use]
    pub fn monitor(&self) -> Option<Monitor> {
        if !self.info.publishes {
            return None;
        }
        let mut monitor = Monitor::default();
        // SAFETY: the table and buffer are those of `new`; C writes only `monitor`.
        unsafe { ffi::hw_native_publish(&*self.router, &mut monitor) };
        (monitor.intervals != 0).then_some(monitor)
    }

    /// Values of the algorithm's counters after the last [`Self::tick`], in the order and units in
    /// which the algorithm declares them.
    pub fn counters(&self) -> impl Iterator<Item = u64> + '_ {
        let values = self.info.counters.iter().zip(&self.router.state);
        values.map(|(counter, value)| value.wrapping_mul(counter.times))
    }

    /// Value of the algorithm's counter with this name.
    #[must_use]
    pub fn counter(&self, name: &str) -> Option<u64> {
        let at = self.info.counters.iter().position(|c| c.name == name)?;
        self.counters().nth(at)
    }

    /// The events that the algorithm reported in its last call: number and value of each, in the
    /// event's unit.
    pub fn told<'a>(&self, link: &'a LinkView) -> impl Iterator<Item = (u8, u64)> + 'a {
        let info = self.info;
        (0_u8..)
            .zip(&info.events)
            .filter(|&(at, _)| link.noted >> at & 1 != 0)
            .map(|(at, event)| (at, link.notes[usize::from(at)].wrapping_mul(event.times)))
    }
}

/// First sets all tunables to their defaults, then sets the given ones.
pub(crate) fn set_tunables(
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
