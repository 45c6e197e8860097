//! Protocol headers at endpoints (`algorithms/port/bpf/endpoint.h`). A congestion control with a
//! header needs eBPF programs for all sockets of the machine's root cgroup. These programs are
//! attached and detached together with their congestion control.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::PathBuf;

use headway_algorithms::header::FieldInfo;
use headway_algorithms::{Carrier, Fields, HeaderInfo};
use libbpf_rs::{Object, OpenObject};
use serde::Serialize;

use crate::error::{Attempt as _, Failure};
use crate::objects::bpf::{self, Point};
use crate::objects::hooks::{self, Hook};
use crate::objects::user_file::{Declared, Sent, DECLARED};
use crate::system::cgroup;
use crate::system::clock::now_ns;
use crate::system::rundir::Lock;

const PROGRAM: &str = "hw_endpoint";
/// Name of the second eBPF program, which only a header in the ECN bits needs: it reads these bits
/// of arriving packets.
const READER: &str = "hw_bits_in";
const COUNTERS: &str = "hw_carried_cnt";
const LAST: &str = "hw_carried_last";

/// A protocol header that the sockets of a congestion control send, and that receivers answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Endpoint {
    /// Name in the kernel of the congestion control that uses the header.
    pub control: String,
    /// Name of the header; null: this build of headwayctl does not know the congestion control.
    pub header: Option<&'static str>,
    /// Whether the header is in the ECN bits. Only programs at devices can write these bits (see
    /// [`super::headers_out`]).
    pub needs_device: bool,
    /// The cgroup whose sockets send and answer the header.
    pub cgroup: String,
    /// True: headwayctl's pins keep the programs attached. False: they stay attached only while a
    /// process holds their BPF links.
    pub pinned: bool,
    /// The programs' counters, by name.
    pub counters: BTreeMap<String, u64>,
    /// The last answer to the header that any socket received; null: none yet.
    pub feedback: Option<Feedback>,
}

/// The answer to a header that a socket received from its peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Feedback {
    /// Time since the answer arrived, in ms.
    pub age_ms: u64,
    /// The answer's fields, by the names that the header declares.
    pub values: BTreeMap<String, i64>,
}

/// `status` warns if more than this many headers were sent and none was answered.
const SILENCE: u64 = 100;

impl Endpoint {
    /// Warnings for the user about the path, derived from the programs' counters.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let n = |name: &str| self.counters.get(name).copied().unwrap_or(0);
        let mut remarks = Vec::new();
        if n("sent") >= SILENCE && n("fed_back") == 0 {
            remarks.push(
                "no answer came back: the path removes the header, or the receivers ignore it"
                    .to_owned(),
            );
        }
        match n("alone") {
            0 => {}
            n => remarks.push(format!(
                "{n} of its connections react to losses only: no router on the path answers, or \
                 the path removes the header"
            )),
        }
        if n("ecn_agreed") > 0 {
            remarks.push("some connections negotiated ECN and do not use the header".to_owned());
        }
        remarks
    }
}

/// Finds the header that the sockets of a congestion control send.
fn header_of(control: &str) -> Option<&'static HeaderInfo> {
    headway_algorithms::control(control)
        .ok()?
        .header_at_sockets()
}

/// The cgroup whose sockets send the header: the machine's root cgroup.
fn cgroup_for(header: &HeaderInfo) -> Result<PathBuf, Failure> {
    cgroup::root(&format!("send the header {}", header.name))
}

/// Whether this eBPF program belongs to a congestion control.
#[must_use]
pub fn is_ours(hook: &Hook) -> bool {
    [PROGRAM, READER].contains(&hook.program.as_str())
}

/// Name in the kernel of the congestion control that an eBPF program belongs to.
#[must_use]
pub fn control_of(hook: &Hook) -> String {
    hook.text("hw_attached_name")
}

/// The attached eBPF programs that belong to a congestion control. If a command was killed, more
/// programs may be attached than the congestion control needs.
///
/// # Errors
/// Lack of privilege.
pub fn programs_of(name: &str) -> Result<Vec<Hook>, Failure> {
    let mut found = hooks::find()?;
    found.retain(|hook| is_ours(hook) && control_of(hook) == name);
    Ok(found)
}

/// Fails if another attached congestion control sends the same header, because packets would then
/// carry the header twice.
///
/// # Errors
/// Another attached congestion control sends the header, or no cgroup2 is mounted.
pub fn check(control: &str, name: &str) -> Result<(), Failure> {
    let Some(header) = header_of(control) else {
        return Ok(());
    };
    cgroup_for(header)?;
    match endpoints()?
        .iter()
        .find(|e| e.control != name && e.header == Some(header.plain_name()))
    {
        Some(other) => Err(Failure::bad_input(format!(
            "name \"{name}\": {1} already sends the header {0}; detach {1} first",
            header.plain_name(),
            other.control
        ))),
        None => Ok(()),
    }
}

/// Writes the path of the cgroup into the constants of a congestion control's eBPF object. Does
/// nothing for a congestion control without a header.
///
/// # Errors
/// No cgroup2 is mounted.
pub fn describe(open: &mut OpenObject, control: &str) -> Result<(), Failure> {
    let Some(header) = header_of(control) else {
        return Ok(());
    };
    let root = cgroup_for(header)?;
    hooks::set_place(open, &root.display().to_string())
}

/// Attaches the programs that send and answer the header of a loaded congestion control, if it has
/// a header. Detaches the older programs in `before`.
///
/// # Errors
/// The kernel refuses.
pub fn attach(object: &Object, control: &str, before: &[Hook], lock: &Lock) -> Result<(), Failure> {
    if let Some(header) = header_of(control) {
        let root = cgroup_for(header)?;
        let place = root.display().to_string();
        let target = File::open(&root).attempt(format!("open {place}"))?;
        let in_ecn_bits = header.carrier == Carrier::EcnBits;
        for (name, point) in [
            (PROGRAM, Some(Point::SockOps)),
            (READER, in_ecn_bits.then_some(Point::SocketIngress)),
        ] {
            let Some(point) = point else { continue };
            let program = hooks::program(object, name)?;
            let link = bpf::attach(program.as_fd(), target.as_raw_fd(), point);
            hooks::pin_new(link, &place, name, lock)?;
        }
    }
    before.iter().try_for_each(|hook| hook.detach(lock))
}

/// Reads `struct hw_carried_last`: the time and the fields of the last answer to the header.
fn feedback(hook: &Hook, of: &Sent) -> Option<Feedback> {
    let (map, info) = hook.map(LAST)?;
    let raw = bpf::first_element(map.as_fd(), info.value_bytes as usize).ok()?;
    let mut words = raw
        .chunks_exact(8)
        .map(|raw| u64::from_ne_bytes(raw.try_into().expect("8 bytes")));
    let told_ns = words.next().filter(|&ns| ns > 0)?;
    let mut fields = Fields::default();
    fields
        .0
        .iter_mut()
        .zip(words)
        .for_each(|(to, word)| *to = word);
    let value = |field: &FieldInfo| {
        let value = field.of(&fields)?;
        let above = 64 - 8 * field.bytes.min(8);
        let value = match field.meaning.contains("two's complement") {
            true => (value << above) as i64 >> above,
            false => i64::try_from(value).unwrap_or(i64::MAX),
        };
        Some((field.name.to_owned(), value))
    };
    let now_ns = u64::try_from(now_ns()).ok()?;
    Some(Feedback {
        age_ms: now_ns.saturating_sub(told_ns) / 1_000_000,
        values: of.answer.iter().filter_map(value).collect(),
    })
}

/// All protocol headers that sockets of this machine send.
///
/// # Errors
/// Lack of privilege.
pub fn endpoints() -> Result<Vec<Endpoint>, Failure> {
    let mut found = hooks::find()?;
    found.retain(|hook| hook.program == PROGRAM);
    Ok(found
        .into_iter()
        .map(|hook| {
            let declared = hook
                .constant(DECLARED)
                .and_then(|said| Declared::read(&said));
            let header = match declared {
                Some(declared) => declared.header,
                None => Sent::by(&hook.text("hw_control_name")),
            };
            Endpoint {
                control: control_of(&hook),
                header: header.as_ref().map(|header| header.name),
                needs_device: header.as_ref().is_some_and(|h| h.in_ecn_bits),
                counters: hook.named_counters(COUNTERS),
                feedback: header.and_then(|header| feedback(&hook, &header)),
                cgroup: hook.place,
                pinned: hook.pinned,
            }
        })
        .collect())
}
