//! Reports what Headway has attached to the kernel, and how many sockets use it.

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

/// How one namespace uses a congestion control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Use {
    /// The namespace.
    pub namespace: String,
    /// Number of the namespace's TCP sockets whose congestion control has this name.
    pub sockets: u64,
    /// Whether the congestion control is the namespace's default.
    pub is_default: bool,
}

/// A congestion control and the namespaces that use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The congestion control, as found in the kernel.
    #[serde(flatten)]
    pub attachment: Attachment,
    /// True: headwayctl's pin keeps the congestion control attached. False: it stays attached only
    /// while a process holds its BPF link.
    pub pinned: bool,
    /// The namespaces that use the congestion control. Sockets are counted by the name of their
    /// congestion control, so the counts include sockets that still use a replaced one of the same
    /// name.
    pub used_in: Vec<Use>,
    /// Number of ACKs, and mean time per ACK, while the kernel's statistics
    /// (kernel.bpf_stats_enabled) were on.
    pub cost_per_ack: Option<Cost>,
}

/// The processor time that a congestion control costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// ACKs measured.
    pub acks: u64,
    /// Mean time that one ACK spends in the congestion control's programs.
    pub ns_per_ack: u64,
}

/// Everything that Headway has attached to this kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Congestion controls that sockets can choose.
    pub attached: Vec<Entry>,
    /// Congestion controls that were detached or replaced, but that sockets still use.
    pub lingering: Vec<Attachment>,
    /// Protocol headers that the sockets of attached congestion controls send.
    pub endpoints: Vec<Endpoint>,
    /// Devices at which a program writes those headers of congestion controls that sockets alone
    /// cannot send.
    pub headers_out: Vec<HeadersOut>,
    /// Cgroups whose applications may use Headway's socket options.
    pub hints: Vec<Hints>,
    /// Default hints for connections to the peers in a prefix.
    pub hint_defaults: Vec<PrefixDefault>,
    /// Devices behind which a host takes part in Quick-Start.
    pub quick_start_hosts: Vec<quick_start::Host>,
    /// Router algorithms that are attached to devices.
    pub routers: Vec<routers::Router>,
    /// Devices whose connections may start with larger windows.
    pub first_windows: Vec<FirstWindow>,
    /// Whether the kernel counts runs of programs (kernel.bpf_stats_enabled).
    pub counts_runs: bool,
}

/// Reads the status of everything that is attached. With `measure`, the kernel first counts the
/// runs of eBPF programs for this time.
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
        let counting =
            bpf::enable_statistics().attempt("let the kernel count the runs of eBPF programs")?;
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

/// For each congestion control, by its name: how many sockets of each namespace use it, and whether
/// it is the namespace's default.
fn all_uses() -> BTreeMap<String, Vec<Use>> {
    let mut uses: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for netns in netns::all() {
        // skip a namespace that was removed after it was listed
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
    /// Whether this kernel has nothing of Headway attached.
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
    /// Number of sockets that use the congestion control, in all namespaces.
    #[must_use]
    pub fn sockets(&self) -> u64 {
        self.used_in.iter().map(|u| u.sockets).sum()
    }
}
