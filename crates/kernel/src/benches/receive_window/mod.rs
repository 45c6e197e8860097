//! Measures how the receive window affects the start of a connection. Transfers run over an
//! emulated path between two unnamed network namespaces. The benchmark records the congestion
//! window and the receive window at the sender, and the data that arrives (the thesis' section 5.2,
//! figures 5.11 and 5.12).
//!
//! Linux 2.6.24 announced a window of a few packets at first. Today's Linux announces 64 kB or the
//! size of its buffer. A route with `initrwnd` restores the old behaviour.

mod transfer;

pub use transfer::{End, Transfer, Transferred, Windows};

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use serde::Serialize;

use crate::attach;
use crate::error::{Attempt as _, Failure};
use crate::mechanisms::window;
use crate::objects::device::Device;
use crate::objects::load;
use crate::system::namespace::Namespace;
use crate::system::rundir;
use crate::testbed::{LinkOptions, Private, Spec, DEVICE};

/// Settings of the emulated path and of the two hosts.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Rate of each direction, like 10mbit.
    pub rate: String,
    /// Round-trip time, like 200ms.
    pub rtt: String,
    /// Limit of the queue in each direction, like 1000pkts.
    pub buffer: String,
    /// tcp_rmem and tcp_wmem of both hosts, in bytes: minimum, default, maximum.
    pub buffers: [u64; 3],
    /// The sender's initial congestion window; None: the kernel's default.
    pub initial_window_pkts: Option<u32>,
    /// The receive window that the receiver announces first, in packets; None: as large as its
    /// buffer allows.
    pub first_window_pkts: Option<u32>,
}

/// Two hosts and the path between them, removed when the value is dropped.
#[derive(Debug)]
pub struct Hosts {
    testbed: Private,
}

impl Hosts {
    /// Makes the hosts. The receiver acknowledges every segment.
    ///
    /// # Errors
    /// An invalid setting; lack of privilege.
    pub fn new(setting: &Setting) -> Result<Self, Failure> {
        let links = LinkOptions {
            rate: Some(setting.rate.clone()),
            rtt: Some(setting.rtt.clone()),
            buffer: Some(setting.buffer.clone()),
            ..LinkOptions::default()
        };
        let buffers = setting.buffers.map(|bytes| bytes.to_string()).join(" ");
        let sysctls = ["tcp_rmem", "tcp_wmem"].map(|name| format!("net.ipv4.{name}={buffers}"));
        let spec = Spec::new("window-bench", &links, 1, "", &sysctls, None)?;
        let testbed = Private::new(&spec)?;
        let words = |name: &str, pkts: Option<u32>| {
            pkts.map_or_else(String::new, |pkts| format!(" {name} {pkts}"))
        };
        let hosts = Self { testbed };
        let initial = words("initcwnd", setting.initial_window_pkts);
        let first = words("initrwnd", setting.first_window_pkts);
        hosts
            .sender()
            .ip(&format!("route change 10.78.0.0/16 dev {DEVICE}{initial}"))?;
        hosts.receiver().ip(&format!(
            "route change 10.77.0.0/16 dev {DEVICE} quickack 1{first}"
        ))?;
        Ok(hosts)
    }

    /// The host that sends the data.
    #[must_use]
    pub fn sender(&self) -> &Namespace {
        &self.testbed.left
    }

    /// The host that receives the data.
    #[must_use]
    pub fn receiver(&self) -> &Namespace {
        &self.testbed.right
    }

    /// Transfers `bytes` of payload from the sender to the receiver, with a congestion control that
    /// the kernel has.
    ///
    /// # Errors
    /// As [`Transfer::run`].
    pub fn transfer(
        &self,
        control: &str,
        bytes: usize,
        sender_connects: bool,
    ) -> Result<Transferred, Failure> {
        let end = |namespace, second| End {
            netns: namespace,
            address: Ipv4Addr::new(10, second, 0, 1),
        };
        Transfer {
            sender: end(&self.sender().netns, 77),
            receiver: end(&self.receiver().netns, 78),
            control,
            bytes,
            sender_connects,
        }
        .run()
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The sender's congestion control, such as `cubic+jump-start`.
    pub control: String,
    /// The control's tunables, `name=value`.
    pub settings: Vec<String>,
    /// The path and the hosts.
    pub setting: Setting,
    /// Payload of a transfer.
    pub bytes: usize,
    /// Number of transfers, one after the other.
    pub rounds: u32,
    /// True: the sender opens the connection. False: the receiver opens it.
    pub sender_connects: bool,
    /// Receive window in an extra ACK that the receiver sends after its SYN-ACK; 0: no extra ACK.
    pub extra_ack_bytes: u32,
    /// Receive window that the sender assumes at least until data is acknowledged; 0: the sender
    /// uses the announced window.
    pub ignore_peer_bytes: u32,
}

/// All results.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// As requested.
    pub control: String,
    /// As requested.
    pub bytes: usize,
    /// The transfers.
    pub rounds: Vec<Transferred>,
    /// Counters of the eBPF programs that enlarge first receive windows: extra ACKs sent, windows
    /// raised.
    pub counters: BTreeMap<String, u64>,
    /// Whether the emulated link sent all packets on time.
    pub on_time: bool,
    /// Reasons why the emulated link was late.
    pub warnings: Vec<String>,
}

/// How long to wait after a transfer until the last ACKs of its connection have arrived.
const BETWEEN: Duration = Duration::from_millis(300);

/// Runs the measurement.
///
/// # Errors
/// An unknown control; lack of privilege; a kernel that refuses.
pub fn measure(bench: &Bench) -> Result<Outcome, Failure> {
    load::required("measure first windows")?;
    // all namespaces of the machine share the names of congestion controls, so other processes must
    // not use this name
    let mut name = format!("{}_wb{:x}", rundir::scope()?, std::process::id());
    name.truncate(15);
    let name = name.trim_start_matches('_').to_owned();
    let control = attach::Request::new(&bench.control, &bench.settings, Some(&name), None)?
        .hold(bench.bytes as u64)?;
    let hosts = Hosts::new(&bench.setting)?;
    let mut programs = Vec::new();
    for (namespace, own_bytes, peer_bytes) in [
        (hosts.receiver(), bench.extra_ack_bytes, 0),
        (hosts.sender(), 0, bench.ignore_peer_bytes),
    ] {
        if own_bytes > 0 || peer_bytes > 0 {
            let device = Device::find(Some(&namespace.path()), DEVICE)?;
            programs.push(window::hold(&device, own_bytes, peer_bytes)?);
        }
    }
    let mut rounds = Vec::new();
    for _ in 0..bench.rounds {
        rounds.push(hosts.transfer(&name, bench.bytes, bench.sender_connects)?);
        std::thread::sleep(BETWEEN);
    }
    let mut counters: BTreeMap<String, u64> = BTreeMap::new();
    for program in &programs {
        for (name, count) in program
            .counters()
            .attempt("read the counters of the programs that enlarge first windows")?
        {
            *counters.entry(name).or_default() += count;
        }
    }
    drop((programs, control));
    let summary = hosts.testbed.finish()?;
    Ok(Outcome {
        control: bench.control.clone(),
        bytes: bench.bytes,
        rounds,
        counters,
        on_time: summary.on_time,
        warnings: summary.warnings,
    })
}
