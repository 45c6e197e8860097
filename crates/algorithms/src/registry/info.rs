//! The description of each algorithm: names, sources, flags, counters, and how it is read from
//! the algorithm's C table.

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
    /// Paper or RFC and the implementation that the control follows.
    pub source: &'static str,
    /// The startup if none is named; None if it owns its start.
    pub startup: Option<&'static str>,
    /// Its flags.
    pub flags: ControlFlags,
    /// State per connection.
    pub state_bytes: u32,
    /// Windows of data that a growing send buffer has room for.
    #[serde(skip)]
    pub send_windows: u32,
    /// The control sets cwnd and pacing rate by rate samples (`control` instead of `cong_avoid`).
    pub takes_samples: bool,
    /// The control reads what its outgoing link publishes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reads_monitor: bool,
    /// The control's tunables, in declared order.
    pub tunables: Vec<TunableInfo>,
    /// The header that the control owns.
    pub header: Option<&'static str>,
    /// Path and content hash of the user's file; None: built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'static str>,
    #[serde(skip)]
    pub(crate) ops: Ops<ffi::CcOps>,
}

/// Properties of a control, beyond its callbacks (`enum hw_cc_flags`); in JSON a list of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlFlags(pub(crate) u32);

impl ControlFlags {
    const NAMES: [&'static str; 7] = [
        "own-start",
        "paces",
        "ect0",
        "ect1",
        "needs-ecn",
        "rtt-stamp",
        "asks-on-syn",
    ];

    const fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    /// The control takes no startup.
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

    /// The control's RTT samples are in microseconds, however coarse the stack's clock is.
    #[must_use]
    pub const fn rtt_stamp(self) -> bool {
        self.has(ffi::CC_RTT_STAMP)
    }

    /// The control's header is also sent on the SYN and SYN-ACK.
    #[must_use]
    pub const fn asks_on_syn(self) -> bool {
        self.has(ffi::CC_ASKS_ON_SYN)
    }

    /// Names of the flags that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = Self::NAMES.into_iter().enumerate();
        all.filter_map(move |(bit, name)| self.has(1 << bit).then_some(name))
    }

    /// Bits beyond those that have a name.
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
    /// The kernel's name of it joined with a startup, or with its own start.
    #[must_use]
    pub fn kernel_name(&self, startup: Option<&StartupInfo>) -> String {
        format!("{}_{}", self.name, startup.map_or(OWN_SUFFIX, |s| s.suffix))
    }

    /// Its header, if sockets can send it: a TCP option or the ECN bits, answered in a TCP
    /// option.
    #[must_use]
    pub fn header_at_sockets(&self) -> Option<&'static HeaderInfo> {
        let own = header(self.header?).ok()?;
        let answer = own.answer.map_or(Some(own), |name| header(name).ok())?;
        (own.carrier != Carrier::IpOption && answer.carrier == Carrier::TcpOption).then_some(own)
    }
}

/// Replaces a startup's suffix if the control owns its start.
const OWN_SUFFIX: &str = "os";

/// A startup: growth below ssthresh.
#[derive(Clone, Debug, Serialize)]
pub struct StartupInfo {
    /// Name of the startup.
    pub name: &'static str,
    /// Two letters; a pair is `control_suffix` in the kernel.
    pub suffix: &'static str,
    /// The startup's title, one line.
    pub title: &'static str,
    /// Paper or RFC and the implementation that the startup follows.
    pub source: &'static str,
    /// State per connection.
    pub state_bytes: u32,
    /// The startup may pace what it sends.
    pub paces: bool,
    /// The startup's tunables, in declared order.
    pub tunables: Vec<TunableInfo>,
    #[serde(skip)]
    pub(crate) ops: Ops<ffi::StartupOps>,
}

impl StartupInfo {
    /// Whether the startup may send requests to routers in its packets.
    #[must_use]
    pub fn opens(&self) -> bool {
        // SAFETY: the table is static.
        unsafe { (*self.ops.0).open.is_some() }
    }
}

/// A queue discipline of a link.
#[derive(Clone, Debug, Serialize)]
pub struct QueueInfo {
    /// Name of the queue discipline.
    pub name: &'static str,
    /// The discipline's title, one line.
    pub title: &'static str,
    /// Paper or RFC and the implementation that the discipline follows.
    pub source: &'static str,
    /// State per link.
    pub state_bytes: u32,
    /// The discipline's tunables, in declared order.
    pub tunables: Vec<TunableInfo>,
    #[serde(skip)]
    pub(crate) ops: Ops<ffi::QueueOps>,
}

/// A counter, a value or an event of a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CounterInfo {
    /// Name of the counter, which ends in its unit if it has one.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// The counter's meaning, in one line.
    pub meaning: &'static str,
    /// The shown value is so many times the algorithm's.
    #[serde(skip)]
    pub(crate) times: u64,
}

impl CounterInfo {
    /// A counter with this name, unit and meaning; the shown value is `times` the algorithm's.
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

    /// The shown value for an algorithm's value.
    #[must_use]
    pub fn shown(&self, value: u64) -> u64 {
        value.wrapping_mul(self.times)
    }
}

/// A router algorithm, in addition to a queue discipline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RouterInfo {
    /// Name of the router algorithm.
    pub name: &'static str,
    /// The algorithm's title, one line.
    pub title: &'static str,
    /// Paper or RFC and the implementation that the algorithm follows.
    pub source: &'static str,
    /// State per link.
    pub state_bytes: u32,
    /// The algorithm's tunables, in declared order.
    pub tunables: Vec<TunableInfo>,
    /// The algorithm's counters and values.
    pub counters: Vec<CounterInfo>,
    /// Its events.
    pub events: Vec<CounterInfo>,
    /// The header that the algorithm reads.
    pub header: Option<&'static str>,
    /// The algorithm publishes values for this machine's controls.
    #[serde(skip)]
    pub publishes: bool,
    /// Path and content hash of the user's file; None: built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'static str>,
    #[serde(skip)]
    pub(crate) ops: Ops<ffi::RouterOps>,
}

/// Reads a control's table.
///
/// # Safety
/// It is a constant table, its texts are literals and its tunables its own.
pub(crate) unsafe fn control_info(
    ops: &'static ffi::CcOps,
    header: Option<&'static str>,
    file: Option<&'static str>,
) -> ControlInfo {
    // SAFETY: the caller's promise.
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
            tunables: tunables(ops.tunables, ops.n_tunables),
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
            // SAFETY: within the table by the caller's promise; its texts are literals.
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

/// Reads a router's table.
///
/// # Safety
/// It is a constant table, its texts are literals and its tunables and counters its own.
pub(crate) unsafe fn router_info(
    ops: &'static ffi::RouterOps,
    header: Option<&'static str>,
    file: Option<&'static str>,
) -> RouterInfo {
    // SAFETY: the caller's promise.
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
