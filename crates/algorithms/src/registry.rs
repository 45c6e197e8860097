//! What there is: the lists of algorithms, their tunables, and look-up by name.

use std::ffi::{c_char, CStr};
use std::sync::OnceLock;

use headway_experiment::algorithm::{self, Known};
use headway_experiment::text::Refused;
use serde::Serialize;

use crate::brought;
use crate::error::{nearest, AlgorithmError};
use crate::ffi;
use crate::header::{header, Carrier, HeaderInfo};

/// A tunable as its algorithm declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TunableInfo {
    /// Name, unique within a control and every startup it may be joined with.
    pub name: &'static str,
    /// Unit; `bool` is a switch, `a|b|c` names the values from 0 on.
    pub unit: &'static str,
    /// One line of meaning.
    pub meaning: &'static str,
    /// Value when none is given.
    pub default: u32,
    /// Least value.
    pub min: u32,
    /// Greatest value.
    pub max: u32,
}

impl TunableInfo {
    /// Whether it is a switch.
    pub fn is_switch(&self) -> bool {
        self.unit == "bool"
    }

    /// The names of its values from 0 on, where it has names.
    pub fn choices(&self) -> Option<impl Iterator<Item = &'static str> + 'static> {
        self.unit.contains('|').then(|| self.unit.split('|'))
    }

    /// A value as people write it: by its name where it has one, on or off for a switch.
    pub fn shown(&self, value: u32) -> String {
        match (self.is_switch(), value) {
            (true, 0) => return "off".to_owned(),
            (true, 1) => return "on".to_owned(),
            _ => {}
        }
        let name = self
            .choices()
            .and_then(|mut names| names.nth(value as usize));
        name.map_or_else(|| value.to_string(), str::to_owned)
    }

    /// Reads a value as people write it: an integer, for a switch also on/off,
    /// yes/no or true/false, for a choice also its name.
    ///
    /// # Errors
    /// [`AlgorithmError::BadValue`] if it is not a number or out of range.
    pub fn parse(&self, text: &str) -> Result<u32, AlgorithmError> {
        let text = text.trim();
        let value = self.described().check(text);
        value.map_err(|_| self.bad_value(text))
    }

    /// The same for who reads what people write.
    fn described(&self) -> algorithm::Tunable {
        algorithm::Tunable {
            name: self.name.to_owned(),
            unit: self.unit.to_owned(),
            min: self.min,
            max: self.max,
        }
    }

    pub(crate) fn bad_value(&self, value: &str) -> AlgorithmError {
        AlgorithmError::BadValue {
            tunable: self.name.to_owned(),
            value: value.to_owned(),
            allowed: self.described().allowed(),
        }
    }
}

/// A control: how a flow goes on.
#[derive(Clone, Debug, Serialize)]
pub struct ControlInfo {
    /// Name by which it is chosen.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Paper or RFC and the implementation it follows.
    pub source: &'static str,
    /// The startup it has when none is named; None where it owns its start.
    pub startup: Option<&'static str>,
    /// What it does besides growing.
    pub flags: ControlFlags,
    /// State per connection.
    pub state_bytes: u32,
    /// Windows of data that a growing send buffer has room for.
    #[serde(skip)]
    pub send_windows: u32,
    /// It sets cwnd and pacing rate by rate samples (`control` instead of `cong_avoid`).
    pub takes_samples: bool,
    /// Its tunables, in declared order.
    pub tunables: Vec<TunableInfo>,
    /// The header that it owns.
    pub header: Option<&'static str>,
    /// Path and content of the file that it was brought in; None: it was built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'static str>,
    #[serde(skip)]
    pub(crate) ops: Ops<ffi::CcOps>,
}

/// What a control is, beyond its callbacks (`enum hw_cc_flags`); in JSON a list of names.
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

    /// No startup joins it.
    #[must_use]
    pub const fn own_start(self) -> bool {
        self.has(ffi::CC_OWN_START)
    }

    /// It may set a pacing rate.
    #[must_use]
    pub const fn paces(self) -> bool {
        self.has(ffi::CC_PACES)
    }

    /// Its data packets carry ECT(0) where ECN was negotiated.
    #[must_use]
    pub const fn ect0(self) -> bool {
        self.has(ffi::CC_ECT0)
    }

    /// Its data packets carry ECT(1) where ECN was negotiated.
    #[must_use]
    pub const fn ect1(self) -> bool {
        self.has(ffi::CC_ECT1)
    }

    /// It asks for ECN, whatever the host's default is.
    #[must_use]
    pub const fn needs_ecn(self) -> bool {
        self.has(ffi::CC_NEEDS_ECN)
    }

    /// Its RTT samples are in microseconds, however coarse the stack's clock is.
    #[must_use]
    pub const fn rtt_stamp(self) -> bool {
        self.has(ffi::CC_RTT_STAMP)
    }

    /// Its header goes out on the SYN and SYN-ACK, too.
    #[must_use]
    pub const fn asks_on_syn(self) -> bool {
        self.has(ffi::CC_ASKS_ON_SYN)
    }

    /// Those that are set, by name.
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

/// In the place of a startup's suffix where the control owns its start.
const OWN_SUFFIX: &str = "os";

/// A startup: how a flow grows below ssthresh.
#[derive(Clone, Debug, Serialize)]
pub struct StartupInfo {
    /// Name by which it is chosen.
    pub name: &'static str,
    /// Two letters; a pair is `control_suffix` in the kernel.
    pub suffix: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Paper or RFC and the implementation it follows.
    pub source: &'static str,
    /// State per connection.
    pub state_bytes: u32,
    /// It may pace what it sends.
    pub paces: bool,
    /// Its tunables, in declared order.
    pub tunables: Vec<TunableInfo>,
    #[serde(skip)]
    pub(crate) ops: Ops<ffi::StartupOps>,
}

/// A queue discipline of a link.
#[derive(Clone, Debug, Serialize)]
pub struct QueueInfo {
    /// Name by which it is chosen.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Paper or RFC and the implementation it follows.
    pub source: &'static str,
    /// State per link.
    pub state_bytes: u32,
    /// Its tunables, in declared order.
    pub tunables: Vec<TunableInfo>,
    #[serde(skip)]
    pub(crate) ops: Ops<ffi::QueueOps>,
}

/// Something that a router counts, knows or tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CounterInfo {
    /// Name, ending in its unit where it has one.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// One line of meaning.
    pub meaning: &'static str,
    /// What is shown is so many times what the algorithm has.
    #[serde(skip)]
    pub(crate) times: u64,
}

impl CounterInfo {
    /// One of that name, unit and meaning; what is shown is `times` what the algorithm has.
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

    /// What is shown of a value that the algorithm has.
    #[must_use]
    pub fn shown(&self, value: u64) -> u64 {
        value.wrapping_mul(self.times)
    }
}

/// A router's algorithm, which works beside a queue's discipline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RouterInfo {
    /// Name by which it is chosen.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Paper or RFC and the implementation it follows.
    pub source: &'static str,
    /// State per link.
    pub state_bytes: u32,
    /// Its tunables, in declared order.
    pub tunables: Vec<TunableInfo>,
    /// What it counts and knows.
    pub counters: Vec<CounterInfo>,
    /// What it tells of packets.
    pub events: Vec<CounterInfo>,
    /// The header that it reads.
    pub header: Option<&'static str>,
    /// Path and content of the file that it was brought in; None: it was built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'static str>,
    #[serde(skip)]
    pub(crate) ops: Ops<ffi::RouterOps>,
}

/// A C table of constants.
pub(crate) struct Ops<T>(pub(crate) *const T);

impl<T> Clone for Ops<T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<T> PartialEq for Ops<T> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl<T> std::fmt::Debug for Ops<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:p}", self.0)
    }
}

// SAFETY: the tables are immutable and live as long as the program.
unsafe impl<T> Send for Ops<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Ops<T> {}

/// # Safety
/// `text` is a C string literal.
pub(crate) unsafe fn text(text: *const c_char) -> &'static str {
    // SAFETY: a literal of the algorithms, which are ASCII; the caller's promise.
    unsafe { CStr::from_ptr(text) }
        .to_str()
        .expect("the algorithms' texts are ASCII")
}

/// What C declares as an array of unknown length.
///
/// # Safety
/// `n` of them stand there, as long as the program runs.
pub(crate) unsafe fn tables<T>(first: *const [T; 0], n: u32) -> &'static [T] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(first.cast(), n as usize) }
}

/// # Safety
/// `first` points to `n` tunables declared by an algorithm.
unsafe fn tunables(first: *const ffi::Tunable, n: u32) -> Vec<TunableInfo> {
    (0..n as usize)
        .map(|i| {
            // SAFETY: within the table by the caller's promise; its texts are literals.
            unsafe {
                let t = &*first.add(i);
                TunableInfo {
                    name: text(t.name),
                    unit: text(t.unit),
                    meaning: text(t.meaning),
                    default: t.default_value,
                    min: t.min_value,
                    max: t.max_value,
                }
            }
        })
        .collect()
}

/// The list of one kind of table, sorted by name: `$info` from the C array `$list`
/// of `$n` tables, whose head has the texts `$text` and the switches `$switch`.
macro_rules! list {
    (
        $info:ident, $list:ident, $n:ident, [$($text:ident),*], [$($switch:ident),*]
    ) => {{
        static LIST: OnceLock<Vec<$info>> = OnceLock::new();
        LIST.get_or_init(|| {
            // SAFETY: the registry the build wrote: an array of pointers to constant
            // tables, whose texts are literals and whose tunables are theirs.
            let mut list: Vec<$info> = unsafe {
                tables(&raw const ffi::$list, ffi::$n)
                    .iter()
                    .map(|&ops| $info {
                        $($text: text((*ops).$text),)*
                        $($switch: (*ops).$switch != 0,)*
                        state_bytes: (*ops).state_bytes,
                        tunables: tunables((*ops).tunables, (*ops).n_tunables),
                        ops: Ops(ops),
                    })
                    .collect()
            };
            list.sort_by_key(|info| info.name);
            list
        })
    }};
}

/// All controls, by name.
pub fn controls() -> &'static [ControlInfo] {
    static LIST: OnceLock<Vec<ControlInfo>> = OnceLock::new();
    LIST.get_or_init(|| {
        // SAFETY: as in list!; a control without a startup's name has its own start.
        let mut list: Vec<ControlInfo> = unsafe {
            tables(
                &raw const ffi::hw_native_controls,
                ffi::hw_native_n_controls,
            )
            .iter()
            .map(|&ops| {
                let header = (*ops).header;
                control_info(
                    &*ops,
                    (!header.is_null()).then(|| text((*header).name)),
                    None,
                )
            })
            .collect()
        };
        list.sort_by_key(|info| info.name);
        list
    })
}

/// What a control's table says.
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
            tunables: tunables(ops.tunables, ops.n_tunables),
            header,
            file,
            ops: Ops(ops),
        }
    }
}

/// Every control with every startup that may join it; one that owns its start once.
pub fn choices() -> impl Iterator<Item = (&'static ControlInfo, Option<&'static StartupInfo>)> {
    controls().iter().flat_map(|control| {
        let alone = control.flags.own_start().then_some((control, None));
        let joined = startups().iter().map(move |s| (control, Some(s)));
        let joined = joined.filter(|(control, _)| !control.flags.own_start());
        alone.into_iter().chain(joined)
    })
}

/// The startup that joins a control: the one that is named, else the control's own.
/// None where the control owns its start.
///
/// # Errors
/// Unknown names; a startup for a control that takes none.
pub fn startup_of(
    control: &ControlInfo,
    named: Option<&str>,
) -> Result<Option<&'static StartupInfo>, AlgorithmError> {
    match (control.flags.own_start(), named) {
        (true, Some(named)) => Err(AlgorithmError::OwnStart(control.name, named.to_owned())),
        (true, None) => Ok(None),
        (false, named) => startup(named.or(control.startup).unwrap_or_default()).map(Some),
    }
}

/// All startups, by name.
pub fn startups() -> &'static [StartupInfo] {
    list!(
        StartupInfo,
        hw_native_startups,
        hw_native_n_startups,
        [name, suffix, title, source],
        [paces]
    )
}

/// An algorithm for who reads the text of a flow or a queue.
fn named(name: &str, startup: Option<&str>, tunables: &[TunableInfo]) -> algorithm::Algorithm {
    algorithm::Algorithm {
        name: name.to_owned(),
        startup: startup.map(str::to_owned),
        tunables: tunables.iter().map(TunableInfo::described).collect(),
    }
}

/// The same of a file.
fn named_of_file(kind: &str, name: &str) -> Result<algorithm::Algorithm, Refused> {
    match kind {
        "control" => control(name)
            .map(|c| named(c.file.unwrap_or(c.name), c.startup, &c.tunables))
            .map_err(Refused::from),
        "router" => router(name)
            .map(|r| named(r.file.unwrap_or(r.name), None, &r.tunables))
            .map_err(Refused::from),
        _ => Err(Refused::new(format!(
            "{name}: a {kind} cannot be a file of one's own; a control and a router can"
        ))),
    }
}

/// All that the text of a flow or a queue may name, but for stacks.
#[must_use]
pub fn known() -> Known {
    let controls = controls().iter();
    let startups = startups().iter();
    let queues = queues().iter();
    let routers = routers().iter();
    Known {
        controls: controls
            .map(|c| named(c.name, c.startup, &c.tunables))
            .collect(),
        startups: startups.map(|s| named(s.name, None, &s.tunables)).collect(),
        queues: queues.map(|q| named(q.name, None, &q.tunables)).collect(),
        routers: routers.map(|r| named(r.name, None, &r.tunables)).collect(),
        stacks: vec![],
        bring: Some(named_of_file),
    }
}

/// All queue disciplines, by name.
pub fn queues() -> &'static [QueueInfo] {
    list!(
        QueueInfo,
        hw_native_queues,
        hw_native_n_queues,
        [name, title, source],
        []
    )
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

/// All router algorithms, by name.
///
/// # Panics
/// If one declares more than the contract allows.
pub fn routers() -> &'static [RouterInfo] {
    static LIST: OnceLock<Vec<RouterInfo>> = OnceLock::new();
    LIST.get_or_init(|| {
        // SAFETY: as in list.
        let mut list: Vec<RouterInfo> = unsafe {
            tables(&raw const ffi::hw_native_routers, ffi::hw_native_n_routers)
                .iter()
                .map(|&ops| {
                    let table = &*ops;
                    assert!(table.n_events as usize <= ffi::MAX_NOTES);
                    assert!(table.n_counters * 8 <= table.state_bytes || table.n_counters == 0);
                    assert!(table.state_bytes as usize <= 8 * ffi::ROUTER_STATE_WORDS);
                    let header = table.header;
                    router_info(
                        table,
                        (!header.is_null()).then(|| text((*header).name)),
                        None,
                    )
                })
                .collect()
        };
        list.sort_by_key(|info| info.name);
        list
    })
}

/// What a router's table says.
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
            file,
            ops: Ops(ops),
        }
    }
}

fn by_name<T>(
    kind: &'static str,
    list: &'static [T],
    name_of: fn(&T) -> &'static str,
    name: &str,
) -> Result<&'static T, AlgorithmError> {
    list.iter()
        .find(|info| name_of(info) == name)
        .ok_or_else(|| AlgorithmError::Unknown {
            kind,
            name: name.to_owned(),
            nearest: nearest(name, list.iter().map(name_of)),
        })
}

/// The control of that name, or of that file.
///
/// # Errors
/// [`AlgorithmError::Unknown`] with the nearest names; [`AlgorithmError::File`].
pub fn control(name: &str) -> Result<&'static ControlInfo, AlgorithmError> {
    brought::control(name).unwrap_or_else(|| by_name("control", controls(), |info| info.name, name))
}

/// The startup of that name.
///
/// # Errors
/// [`AlgorithmError::Unknown`] with the nearest names.
pub fn startup(name: &str) -> Result<&'static StartupInfo, AlgorithmError> {
    by_name("startup", startups(), |info| info.name, name)
}

/// The queue discipline of that name.
///
/// # Errors
/// [`AlgorithmError::Unknown`] with the nearest names.
pub fn queue(name: &str) -> Result<&'static QueueInfo, AlgorithmError> {
    by_name("queue discipline", queues(), |info| info.name, name)
}

/// The router algorithm of that name, or of that file.
///
/// # Errors
/// [`AlgorithmError::Unknown`] with the nearest names; [`AlgorithmError::File`].
pub fn router(name: &str) -> Result<&'static RouterInfo, AlgorithmError> {
    brought::router(name).unwrap_or_else(|| by_name("router", routers(), |info| info.name, name))
}

/// All router algorithms by name, then those of `names` that are files: what the numbers in a
/// run's record count, whatever other files this process has read.
#[must_use]
pub fn routers_of<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'static RouterInfo> {
    let mut all: Vec<&RouterInfo> = routers().iter().collect();
    let files: Vec<_> = names
        .into_iter()
        .filter_map(|name| brought::router(name)?.ok())
        .collect();
    for info in files {
        if !all
            .iter()
            .any(|known| known.file == info.file && info.file.is_some())
        {
            all.push(info);
        }
    }
    all
}

/// Finds a tunable of a control or of the startup it is joined with.
///
/// # Errors
/// Unknown control, startup or tunable, with the nearest names.
pub fn find_tunable(
    control_name: &str,
    startup_name: Option<&str>,
    tunable: &str,
) -> Result<&'static TunableInfo, AlgorithmError> {
    let control = control(control_name)?;
    let of_startup = startup_of(control, startup_name)?.map_or(&[][..], |s| &s.tunables);
    let mut all = control.tunables.iter().chain(of_startup);
    all.find(|t| t.name == tunable)
        .ok_or_else(|| unknown_tunable(control_name, tunable, &[&control.tunables, of_startup]))
}

pub(crate) fn unknown_tunable(
    owner: &str,
    tunable: &str,
    lists: &[&[TunableInfo]],
) -> AlgorithmError {
    AlgorithmError::UnknownTunable {
        owner: owner.to_owned(),
        name: tunable.to_owned(),
        nearest: nearest(
            tunable,
            lists.iter().flat_map(|list| list.iter().map(|t| t.name)),
        ),
    }
}
