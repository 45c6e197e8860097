//! What is attached, and which sockets use it.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use serde::Serialize;

use crate::attach::inventory::{self, Attachment};
use crate::error::{Attempt as _, Failure};
use crate::mechanisms::endpoints::{self, Endpoint};
use crate::mechanisms::headers_out::{self, HeadersOut};
use crate::mechanisms::hints::{self, Hints, PrefixDefault};
use crate::mechanisms::quick_start;
use crate::mechanisms::routers;
use crate::mechanisms::window::{self, FirstWindow};
use crate::objects::bpf;
use crate::objects::load;
use crate::system::netns;
use crate::system::rundir;
use crate::system::sockets;

/// The use of a control in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Use {
    /// The namespace.
    pub namespace: String,
    /// The namespace's TCP sockets with a control of this name.
    pub sockets: u64,
    /// Whether the control is the namespace's default.
    pub is_default: bool,
}

/// A control and where it is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The control in the kernel.
    #[serde(flatten)]
    pub attachment: Attachment,
    /// Whether headwayctl's pin keeps the control attached; false: a process does.
    pub pinned: bool,
    /// The namespaces that use the control. Sockets are counted by the name of their control, so
    /// the counts include sockets that keep a replaced control of the same name.
    pub used_in: Vec<Use>,
    /// ACKs and nanoseconds per ACK while the kernel's statistics were on.
    pub cost_per_ack: Option<Cost>,
}

/// The cost of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// ACKs measured.
    pub acks: u64,
    /// Mean time in the control's programs.
    pub ns_per_ack: u64,
}

/// Everything that Headway has attached to this kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Controls that sockets can choose.
    pub attached: Vec<Entry>,
    /// Controls that were detached or replaced, but that sockets still use.
    pub lingering: Vec<Attachment>,
    /// Headers of controls that endpoints send.
    pub endpoints: Vec<Endpoint>,
    /// Devices at which headers are written that sockets alone cannot send.
    pub headers_out: Vec<HeadersOut>,
    /// Cgroups whose applications may use Headway's socket options.
    pub hints: Vec<Hints>,
    /// Default hints for connections to the peers in a prefix.
    pub hint_defaults: Vec<PrefixDefault>,
    /// Devices behind which a host takes part in Quick-Start.
    pub quick_start_hosts: Vec<quick_start::Host>,
    /// Routers' algorithms at their devices.
    pub routers: Vec<routers::Router>,
    /// Devices whose connections may start with larger windows.
    pub first_windows: Vec<FirstWindow>,
    /// Whether the kernel counts runs of programs (kernel.bpf_stats_enabled).
    pub counts_runs: bool,
}

/// Reads the whole status. With `measure`, the kernel first counts the programs' runs for this
/// time.
///
/// # Errors
/// Lack of privilege.
pub fn status(measure: Option<Duration>) -> Result<Status, Failure> {
    if let Some(reason) = load::missing() {
        return Err(Failure::kernel_cannot(format!(
            "cannot see what is attached: {reason}"
        )));
    }
    rundir::enter()?;
    if let Some(duration) = measure {
        let counting = bpf::enable_statistics().attempt("let the kernel count programs' runs")?;
        thread::sleep(duration);
        drop(counting);
    }
    let pins = rundir::pins();
    let (attached, lingering): (Vec<_>, Vec<_>) =
        inventory::find()?.into_iter().partition(|a| a.attached);
    let mut uses: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    if !attached.is_empty() {
        uses = all_uses();
    }
    Ok(Status {
        attached: attached
            .into_iter()
            .map(|attachment| Entry {
                pinned: pins.contains(&rundir::pin_path(&attachment.name)),
                used_in: uses.remove(&attachment.name).unwrap_or_default(),
                cost_per_ack: attachment
                    .cost_per_ack()
                    .map(|(acks, ns_per_ack)| Cost { acks, ns_per_ack }),
                attachment,
            })
            .collect(),
        lingering,
        endpoints: endpoints::endpoints()?,
        headers_out: headers_out::devices()?,
        hints: hints::status()?,
        hint_defaults: hints::defaults(),
        quick_start_hosts: quick_start::hosts()?,
        routers: routers::attached_routers()?,
        first_windows: window::devices()?,
        counts_runs: fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled")
            .is_ok_and(|text| text.trim() == "1"),
    })
}

/// The use of every control, by its name: sockets and defaults in every namespace.
fn all_uses() -> BTreeMap<String, Vec<Use>> {
    let mut uses: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for netns in netns::all() {
        // skip a namespace that was removed meanwhile
        let Ok(mut counts) = netns.inside(sockets::count_by_control) else {
            continue;
        };
        let default = netns.default_control().unwrap_or_default();
        counts.entry(default.clone()).or_insert(0);
        for (control, sockets) in counts {
            uses.entry(control.clone()).or_default().push(Use {
                namespace: netns.label.clone(),
                sockets,
                is_default: control == default,
            });
        }
    }
    uses
}

impl Status {
    /// Whether nothing of Headway is in this kernel.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.attached.is_empty()
            && self.endpoints.is_empty()
            && self.headers_out.is_empty()
            && self.hints.is_empty()
            && self.hint_defaults.is_empty()
            && self.quick_start_hosts.is_empty()
            && self.routers.is_empty()
            && self.first_windows.is_empty()
    }
}

impl Entry {
    /// Number of sockets in all namespaces.
    #[must_use]
    pub fn sockets(&self) -> u64 {
        self.used_in.iter().map(|u| u.sockets).sum()
    }
}
