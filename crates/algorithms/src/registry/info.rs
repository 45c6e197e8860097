//! Descriptions of algorithms: names, sources, flags and counters. This module reads them from the
//! algorithms' C tables.

use serde::Serialize;

use super::tables::{text, tunables, Ops};
use super::TunableInfo;
use crate::ffi;
use crate::header::{header, Carrier, HeaderInfo};

/// A congestion control.
#[derive(Clone, Debug, Serialize)]
pub struct ControlInfo {
    /// Name of the control.
    pub name: &'static str,
    /// The control's title, one line.
    pub title: &'static str,
    /// Source: the paper or RFC, and the implementation, that the control follows.
    pub source: &'static str,
    /// Name of the default startup; None if the control starts by itself.
    pub startup: Option<&'static str>,
    /// Its flags.
    pub flags: ControlFlags,
    /// State per connection.
    pub state_bytes: u32,
    /// Number of windows of data to which the send buffer grows.
    #[serde(skip)]
    pub send_windows: u32,
    /// The control uses rate samples and sets cwnd and pacing rate itself (it has the callback
    /// `control` instead of `cong_avoid`).
    pub takes_samples: bool,
    /// The control reads the values that its outgoing link publishes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reads_monitor: bool,
    /// The stack reports every lost packet to the control.
    #[serde(skip)]
    pub follows_losses: bool,
    /// The control's tunables, in declared order.
    pub tunables: Vec<TunableInfo>,
    /// Values of the control's state that a trace can show.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<CounterInfo>,
    /// Name of the header that the control owns; None if it owns none.
    pub header: Option<&'static str>,
    /// The header is in the two ECN bits, so the control's connections cannot use ECN.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub takes_ecn_bits: bool,
    /// Path and content hash of the user's file; None if the control is built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'static str>,
    #[serde(skip)]
    pub(crate) ops: Ops<ffi::CcOps>,
}

/// Properties of a control, as flags (`enum hw_cc_flags`). In JSON they are a list of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlFlags(pub(crate) u32);

impl ControlFlags {
    const NAMES: [&'static str; 10] = [
        "own-start",
        "paces",
        "ect0",
        "ect1",
        "needs-ecn",
        "rtt-stamp",
        "asks-on-syn",
        "echoes-ce",
        "accurate-ecn",
        "short-bursts",
    ];

    const fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    /// The control starts by itself and takes no startup.
    #[must_use]
    pub const fn own_start(self) -> bool {
        self.has(ffi::CC_OWN_START)
    }

    /// The control may set a pacing rate.
    #[must_use]
    pub const fn paces(self) -> bool {
        self.has(ffi::CC_PACES)
    }

    /// The control's data packets carry ECT(0) if ECN was negotiated.
    #[must_use]
    pub const fn ect0(self) -> bool {
        self.has(ffi::CC_ECT0)
    }

    /// The control's data packets carry ECT(1) if ECN was negotiated.
    #[must_use]
    pub const fn ect1(self) -> bool {
        self.has(ffi::CC_ECT1)
    }

    /// The control's connections request ECN, whatever the host's default is.
    #[must_use]
    pub const fn needs_ecn(self) -> bool {
        self.has(ffi::CC_NEEDS_ECN)
    }

    /// The control gets RTT samples in microseconds, even if the stack's clock is coarser.
    #[must_use]
    pub const fn rtt_stamp(self) -> bool {
        self.has(ffi::CC_RTT_STAMP)
    }

    /// The control's header is also sent on the SYN and SYN-ACK.
    #[must_use]
    pub const fn asks_on_syn(self) -> bool {
        self.has(ffi::CC_ASKS_ON_SYN)
    }

    /// The receiver's ACKs tell exactly which packets were marked CE.
    #[must_use]
    pub const fn echoes_ce(self) -> bool {
        self.has(ffi::CC_ECHOES_CE)
    }

    /// The control's connections request Accurate ECN, whatever the host's default is, and have no
    /// ECN without it.
    #[must_use]
    pub const fn accurate_ecn(self) -> bool {
        self.has(ffi::CC_ACCURATE_ECN)
    }

    /// The control's pacing chunk is also the largest number of packets that leave together.
    #[must_use]
    pub const fn short_bursts(self) -> bool {
        self.has(ffi::CC_SHORT_BURSTS)
    }

    /// Names of the flags that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = Self::NAMES.into_iter().enumerate();
        all.filter_map(move |(bit, name)| self.has(1 << bit).then_some(name))
    }

    /// The flags that have no name.
    #[must_use]
    pub const fn unknown(self) -> u32 {
        self.0 >> Self::NAMES.len()
    }
}

impl Serialize for ControlFlags {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.names())
    }
}

impl ControlInfo {
    /// The name in the kernel of this control with this startup, or of a control that starts by
    /// itself.
    #[must_use]
    pub fn kernel_name(&self, startup: Option<&StartupInfo>) -> String {
        format!("{}_{}", self.name, startup.map_or(OWN_SUFFIX, |s| s.suffix))
    }

    /// The control's header, if a kernel's sockets can send it and receive its answer: if it is a
    /// TCP option, or the ECN bits with an answer in a TCP option.
    #[must_use]
    pub fn header_at_sockets(&self) -> Option<&'static HeaderInfo> {
        let own = header(self.header?).ok()?;
        let answer = own.answer.map_or(Some(own), |name| header(name).ok())?;
        (own.carrier != Carrier::IpOption && answer.carrier == Carrier::TcpOption).then_some(own)
    }
}

/// Suffix of the kernel's name for a control that starts by itself.
const OWN_SUFFIX: &str = "os";

/// A startup, which determines the growth of cwnd below ssthresh.
#[derive(Clone, Debug, Serialize)]
pub struct StartupInfo {
    /// Name of the startup.
    pub name: &'static str,
    /// The startup's two letters in kernel names: in the kernel, a control with this startup is
    /// called `control_suffix`.
    pub suffix: &'static str,
    /// The startup's title, one line.
    pub title: &'static str,
    /// Source: the paper or RFC, and the implementation, that the startup follows.
    pub source: &'static str,
    /// State per connection.
    pub state_bytes: u32,
    /// The startup may pace packets.
    pub paces: bool,
    /// The startup's tunables, in declared order.
    pub tunables: Vec<TunableInfo>,
    #[serde(skip)]
    pub(crate) ops: Ops<ffi::StartupOps>,
}

impl StartupInfo {
    /// Whether the startup may send Quick-Start requests in its packets.
    #[must_use]
    pub fn opens(&self) -> bool {
        // SAFETY: the startup's table is static.
        unsafe { (*self.ops.0).open.is_some() }
    }
}

/// A queue discipline of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueInfo {
    /// Name of the queue discipline.
    pub name: &'static str,
    /// The discipline's title, one line.
    pub title: &'static str,
    /// Source: the paper or RFC, and the implementation, that the discipline follows.
    pub source: &'static str,
    /// State per link, if all tunables have their defaults.
    pub state_bytes: u32,
    /// The discipline's tunables, in declared order.
    pub tunables: Vec<TunableInfo>,
    /// The discipline's counters and values.
    pub counters: Vec<CounterInfo>,
    #[serde(skip)]
    pub(crate) ops: Ops<ffi::QueueOps>,
}

/// A counter, a value or an event that a queue discipline or a router algorithm declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CounterInfo {
    /// Name of the counter, which ends in its unit if it has one.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// The counter's meaning, in one line.
    pub meaning: &'static str,
    /// Factor by which the algorithm's value is multiplied for users.
    #[serde(skip)]
    pub(crate) times: u64,
}

impl CounterInfo {
    /// Describes a counter. Users see the algorithm's value times `times`.
    #[must_use]
    pub const fn new(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        times: u64,
    ) -> Self {
        Self {
            name,
            unit,
            meaning,
            times,
        }
    }

    /// Converts an algorithm's value to the value that users see.
    #[must_use]
    pub fn shown(&self, value: u64) -> u64 {
        value.wrapping_mul(self.times)
    }
}

/// A router algorithm, which a link can have in addition to its queue discipline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RouterInfo {
    /// Name of the router algorithm.
    pub name: &'static str,
    /// The algorithm's title, one line.
    pub title: &'static str,
    /// Source: the paper or RFC, and the implementation, that the algorithm follows.
    pub source: &'static str,
    /// State per link.
    pub state_bytes: u32,
    /// The algorithm's tunables, in declared order.
    pub tunables: Vec<TunableInfo>,
    /// The algorithm's counters and values.
    pub counters: Vec<CounterInfo>,
    /// Its events.
    pub events: Vec<CounterInfo>,
    /// Name of the header that the algorithm reads; None if it reads none.
    pub header: Option<&'static str>,
    /// The algorithm publishes values that controls on the same machine can read.
    #[serde(skip)]
    pub publishes: bool,
    /// Path and content hash of the user's file; None if the algorithm is built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'static str>,
    #[serde(skip)]
    pub(crate) ops: Ops<ffi::RouterOps>,
}

/// Reads a control's table.
///
/// # Safety
/// `ops` is a constant table whose texts are literals. Its lists belong to it.
pub(crate) unsafe fn control_info(
    ops: &'static ffi::CcOps,
    header: Option<&'static str>,
    file: Option<&'static str>,
) -> ControlInfo {
    // SAFETY: by the contract of this function.
    unsafe {
        ControlInfo {
            name: text(ops.name),
            title: text(ops.title),
            source: text(ops.source),
            startup: (!ops.startup.is_null()).then(|| text(ops.startup)),
            flags: ControlFlags(ops.flags),
            state_bytes: ops.state_bytes,
            send_windows: match ops.send_windows {
                0 => 2,
                windows => windows,
            },
            takes_samples: ffi::hw_native_takes_samples(ops) != 0,
            reads_monitor: ffi::hw_native_reads_monitor(ops) != 0,
            follows_losses: ffi::hw_native_follows_losses(ops) != 0,
            tunables: tunables(ops.tunables, ops.n_tunables),
            readings: counters(ops.readings, ops.n_readings),
            takes_ecn_bits: header
                .and_then(|name| crate::header::header(name).ok())
                .is_some_and(|own| own.carrier == Carrier::EcnBits),
            header,
            file,
            ops: Ops(ops),
        }
    }
}

/// # Safety
/// `first` points to `n` counters declared by an algorithm.
unsafe fn counters(first: *const ffi::Counter, n: u32) -> Vec<CounterInfo> {
    (0..n as usize)
        .map(|i| {
            // SAFETY: by the contract of this function the counter is within the table, whose texts
            // are literals.
            unsafe {
                let counter = &*first.add(i);
                CounterInfo {
                    name: text(counter.name),
                    unit: text(counter.unit),
                    meaning: text(counter.meaning),
                    times: u64::from(counter.times.max(1)),
                }
            }
        })
        .collect()
}

/// Reads a startup's table.
///
/// # Safety
/// As for [`control_info`].
pub(super) unsafe fn startup_info(ops: &'static ffi::StartupOps) -> StartupInfo {
    // SAFETY: by the contract of this function.
    unsafe {
        StartupInfo {
            name: text(ops.name),
            suffix: text(ops.suffix),
            title: text(ops.title),
            source: text(ops.source),
            state_bytes: ops.state_bytes,
            paces: ops.paces != 0,
            tunables: tunables(ops.tunables, ops.n_tunables),
            ops: Ops(ops),
        }
    }
}

/// Reads a queue discipline's table.
///
/// # Panics
/// If the discipline declares more counters than its state has room for.
///
/// # Safety
/// As for [`control_info`].
pub(super) unsafe fn queue_info(ops: &'static ffi::QueueOps) -> QueueInfo {
    assert!(ops.n_counters * 8 <= ops.state_bytes);
    // SAFETY: by the contract of this function; the defaults are values of all tunables.
    unsafe {
        let tunables = tunables(ops.tunables, ops.n_tunables);
        let defaults: Vec<u32> = tunables.iter().map(|tunable| tunable.default).collect();
        let sub_queues = ffi::hw_native_sub_queues(ops, defaults.as_ptr());
        QueueInfo {
            name: text(ops.name),
            title: text(ops.title),
            source: text(ops.source),
            state_bytes: ops.state_bytes + sub_queues * ops.sub_bytes,
            tunables,
            counters: counters(ops.counters, ops.n_counters),
            ops: Ops(ops),
        }
    }
}

/// Reads a router's table.
///
/// # Safety
/// `ops` is a constant table whose texts are literals. Its lists belong to it.
pub(crate) unsafe fn router_info(
    ops: &'static ffi::RouterOps,
    header: Option<&'static str>,
    file: Option<&'static str>,
) -> RouterInfo {
    // SAFETY: by the contract of this function.
    unsafe {
        RouterInfo {
            name: text(ops.name),
            title: text(ops.title),
            source: text(ops.source),
            state_bytes: ops.state_bytes,
            tunables: tunables(ops.tunables, ops.n_tunables),
            counters: counters(ops.counters, ops.n_counters),
            events: counters(ops.events, ops.n_events),
            header,
            publishes: ffi::hw_native_publishes(ops) != 0,
            file,
            ops: Ops(ops),
        }
    }
}
