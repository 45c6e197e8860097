//! Hints of applications: socket options that the processes of a cgroup may use, and default hints
//! for connections to the peers in a prefix. `algorithms/port/bpf/app.h` describes how congestion
//! controls read the hints.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;

use libbpf_rs::{MapCore, MapFlags};
use serde::Serialize;

use crate::error::{Attempt as _, Failure};
pub use crate::mechanisms::prefix::Prefix;
use crate::mirror::{self, Plain as _};
use crate::objects::bpf::{self, Point};
use crate::objects::btf::Btf;
use crate::objects::hooks::{self, Hook};
use crate::objects::load;
use crate::objects::shared;
use crate::objects::{hints_object, writes_object};
use crate::system::cgroup;
use crate::system::rundir::{self, Lock};

/// The eBPF programs of algorithms/kernel/hints.bpf.c, and where each is attached.
const PROGRAMS: [(&str, Point); 2] = [
    ("hw_hints_set", Point::SetSockOpt),
    ("hw_hints_get", Point::GetSockOpt),
];
/// Name of the eBPF program in algorithms/kernel/writes.bpf.c.
const WRITES: &str = "hw_hints_write";
/// The BTF name of the tracepoint to which the program of writes.bpf.c is attached.
const WRITES_TRACEPOINT: &str = "btf_trace_tcp_sendmsg_locked";
/// The counters of the socket options, in the order of the options' numbers (include/headway.h).
const OPTIONS: [&str; 5] = [
    "application_type",
    "initial_rate",
    "stabilize_throughput",
    "data_volume",
    "deadline",
];
/// The map with default hints for connections to a prefix (algorithms/port/bpf/app.h).
pub(crate) const PREFIXES: &str = "hw_prefixes";
/// The application types, in the order of their numbers.
pub const TYPES: [&str; 3] = ["standard", "responsive", "lowpriority"];

/// A cgroup whose processes may set Headway's socket options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hints {
    /// Path of the cgroup's folder.
    pub cgroup: String,
    /// Whether headwayctl's pins keep the programs attached.
    pub pinned: bool,
    /// Whether startups get the full size of a large write.
    pub sees_writes: bool,
    /// How often each socket option was set. "refused" and "read" count refused and read options of
    /// all kinds.
    pub counters: BTreeMap<String, u64>,
}

/// The default hints of connections to a prefix, for applications that set no options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrefixDefault {
    /// The address prefix of the peers; "default" means all addresses.
    pub prefix: String,
    /// Hint: initial rate, bit/s.
    pub rate_bps: u64,
    /// Hint: how many bytes a connection usually carries; null: unknown.
    pub volume_bytes: Option<u64>,
    /// One of [`TYPES`].
    pub application_type: &'static str,
}

fn check() -> Result<(), Failure> {
    load::required("take hints")?;
    rundir::enter()
}

/// Attaches the programs that accept Headway's socket options from all processes of a cgroup and
/// its descendants. None: from all processes of the machine. Detaches programs of the same scope
/// that were attached before. `dry_run`: only returns the cgroup's folder.
///
/// # Errors
/// The cgroup does not exist, or the kernel refuses.
pub fn attach(cgroup: Option<&Path>, dry_run: bool) -> Result<String, Failure> {
    check()?;
    let cgroup = match cgroup {
        Some(path) => path.to_owned(),
        None => cgroup::root("take hints")?,
    };
    let place = cgroup.display().to_string();
    let target = match File::open(&cgroup) {
        Ok(file) if cgroup.join("cgroup.procs").exists() => file,
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            return Err(e).attempt(format!("open {place}"))
        }
        _ => {
            return Err(Failure::bad_input(format!(
                "cgroup \"{place}\": must be a folder of a mounted cgroup2"
            )))
        }
    };
    if dry_run {
        return Ok(place);
    }
    let lock = rundir::lock()?;
    rundir::mount_bpffs(&lock)?;
    for hook in own()? {
        hook.detach(&lock)?;
    }
    let mut open = load::open(hints_object(), "hw_hints", "hints")?;
    hooks::set_place(&mut open, &place)?;
    shared::share_maps(&mut open, &lock)?;
    let object = load::load(open, "the socket options")?;
    for (program, point) in PROGRAMS {
        let link = bpf::attach(
            hooks::program(&object, program)?.as_fd(),
            target.as_raw_fd(),
            point,
        );
        hooks::pin_new(link, &place, program, &lock)?;
    }
    if kernel_tells_of_writes() {
        attach_writes(&place, &lock)?;
    }
    Ok(place)
}

/// Whether this kernel has the tracepoint that reports an application's writes (since Linux 6.16).
fn kernel_tells_of_writes() -> bool {
    Btf::of_kernel().is_some_and(|btf| btf.has_typedef(WRITES_TRACEPOINT))
}

/// Attaches the program that passes the full size of large writes to startups.
fn attach_writes(place: &str, lock: &Lock) -> Result<(), Failure> {
    let mut open = load::open(writes_object(), "hw_writes", "writes")?;
    hooks::set_place(&mut open, place)?;
    shared::share_maps(&mut open, lock)?;
    let object = load::load(open, "the program that sees writes")?;
    let program = hooks::program(&object, WRITES)?;
    let link = bpf::attach(program.as_fd(), 0, Point::Tracepoint);
    hooks::pin_new(link, place, WRITES, lock)
}

/// The attached programs that handle socket options.
fn attached() -> Result<Vec<Hook>, Failure> {
    let mut hooks = hooks::find()?;
    hooks.retain(|hook| {
        hook.program == WRITES || PROGRAMS.iter().any(|(name, _)| *name == hook.program)
    });
    Ok(hooks)
}

/// The eBPF programs that a command with the present HEADWAY_SCOPE attached. If the variable is not
/// set, the programs that a command without a scope attached. Programs of other scopes are left
/// out, because the kernel backend attaches and detaches hints for each run, and must not detach
/// the hints of others.
fn own() -> Result<Vec<Hook>, Failure> {
    let scope = rundir::scope()?;
    let mut hooks = attached()?;
    hooks.retain(|hook| hook.scope == scope);
    Ok(hooks)
}

/// The hints that `detach` removed. In a dry run, those that it would remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The cgroups whose processes could set the socket options.
    pub places: Vec<String>,
    /// The prefixes that had default hints.
    pub defaults: Vec<String>,
}

/// Stops accepting socket options. Also removes the default hints of all prefixes, except if the
/// caller wants to keep them. Does not change hints of other scopes. `dry_run`: only reports what
/// would be removed.
///
/// # Errors
/// No program is attached and no prefix has default hints, or the kernel refuses.
pub fn detach(keep_defaults: bool, dry_run: bool) -> Result<Ended, Failure> {
    check()?;
    let hooks = own()?;
    let mut ended = Ended::default();
    if !keep_defaults {
        ended.defaults = defaults().into_iter().map(|d| d.prefix).collect();
    }
    if hooks.is_empty() && ended.defaults.is_empty() {
        return Err(Failure::bad_input(
            "the hints of applications are not accepted; run `headwayctl hints attach` first",
        ));
    }
    ended.places = hooks.iter().map(|hook| hook.place.clone()).collect();
    ended.places.dedup();
    if dry_run {
        return Ok(ended);
    }
    let lock = rundir::lock()?;
    for hook in &hooks {
        hook.detach(&lock)?;
    }
    for prefix in &ended.defaults {
        if let (Some(map), Ok(prefix)) = (shared::map(PREFIXES), Prefix::parse(prefix)) {
            // ignore this error, because another command may have removed the prefix
            let _ = map.delete(&prefix.to_bytes());
        }
    }
    Ok(ended)
}

/// The cgroups whose processes may set the socket options, and how often each option was used.
///
/// # Errors
/// Lack of privilege.
pub fn status() -> Result<Vec<Hints>, Failure> {
    let hooks = attached()?;
    let sees_writes = hooks.iter().any(|hook| hook.program == WRITES);
    Ok(hooks
        .into_iter()
        .filter(|hook| hook.program == PROGRAMS[0].0)
        .map(|hook| {
            let sums = hook.counters("hw_hints");
            let named = OPTIONS.iter().enumerate().map(|(i, name)| (*name, i + 1));
            let counters = named
                .chain([("refused", 8), ("read", 9)])
                .filter_map(|(name, at)| Some((name.to_owned(), *sums.get(at)?)))
                .collect();
            Hints {
                cgroup: hook.place,
                pinned: hook.pinned,
                sees_writes,
                counters,
            }
        })
        .collect())
}

/// Sets the default hints for a prefix. They take effect at once for every connection that opens
/// later, also in processes that already run. `dry_run`: only checks whether that is possible.
///
/// # Errors
/// Lack of privilege, or too many prefixes.
pub fn set_default(
    prefix: Prefix,
    rate_bps: u64,
    volume_bytes: u64,
    kind: u8,
    dry_run: bool,
) -> Result<(), Failure> {
    check()?;
    if dry_run {
        return Ok(());
    }
    let lock = rundir::lock()?;
    rundir::mount_bpffs(&lock)?;
    if shared::map(PREFIXES).is_none() {
        make_maps(&lock)?;
    }
    let map = shared::map(PREFIXES)
        .ok_or_else(|| Failure::failed("the map of prefixes has disappeared; try again"))?;
    write_default(&map, prefix, rate_bps, volume_bytes, kind)
}

/// Writes the default hints for a prefix into the map of prefixes.
pub(crate) fn write_default(
    map: &impl MapCore,
    prefix: Prefix,
    rate_bps: u64,
    volume_bytes: u64,
    kind: u8,
) -> Result<(), Failure> {
    let value = mirror::PrefixDefault {
        rate_bytes_per_s: rate_bps / 8,
        volume_bytes,
        type_: kind,
        unused: [0; 7],
    };
    map.update(&prefix.to_bytes(), value.bytes(), MapFlags::ANY)
        .map_err(|e| Failure::failed(format!("cannot set the default hints for {prefix}: {e}")))
}

/// Loads the eBPF object only to create its maps. The maps are pinned and so remain. No program is
/// attached.
fn make_maps(lock: &Lock) -> Result<(), Failure> {
    let mut open = load::open(hints_object(), "hw_hints", "hints")?;
    shared::share_maps(&mut open, lock)?;
    load::load(open, "the map of prefixes").map(drop)
}

/// Removes the default hints for a prefix. `dry_run`: only checks that the prefix has default
/// hints.
///
/// # Errors
/// The prefix has no default hints.
pub fn unset_default(prefix: Prefix, dry_run: bool) -> Result<(), Failure> {
    check()?;
    let key = prefix.to_bytes();
    let known =
        shared::map(PREFIXES).filter(|m| matches!(m.lookup(&key, MapFlags::ANY), Ok(Some(_))));
    if let Some(map) = known {
        if dry_run {
            return Ok(());
        }
        let _lock = rundir::lock()?;
        return map.delete(&key).map_err(|e| {
            Failure::failed(format!("cannot delete the default hints for {prefix}: {e}"))
        });
    }
    let known: Vec<String> = defaults().into_iter().map(|d| d.prefix).collect();
    Err(Failure::bad_input(format!(
        "prefix \"{prefix}\": has no default hints; {}",
        if known.is_empty() {
            "no prefix has one".to_owned()
        } else {
            format!("there are {}", known.join(", "))
        }
    )))
}

/// All defaults.
#[must_use]
pub fn defaults() -> Vec<PrefixDefault> {
    let Some(map) = shared::map(PREFIXES) else {
        return Vec::new();
    };
    let mut found: Vec<PrefixDefault> = map
        .keys()
        .filter_map(|key| {
            let value = map.lookup(&key, MapFlags::ANY).ok()??;
            let value = mirror::PrefixDefault::read(&value)?;
            Some(PrefixDefault {
                prefix: Prefix::from_bytes(&key)?.to_string(),
                rate_bps: value.rate_bytes_per_s * 8,
                volume_bytes: Some(value.volume_bytes).filter(|&bytes| bytes > 0),
                application_type: TYPES.get(usize::from(value.type_)).copied()?,
            })
        })
        .collect();
    found.sort_by(|a, b| a.prefix.cmp(&b.prefix));
    found
}
