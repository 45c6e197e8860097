//! A testbed's gateway, which connects two emulated links, called legs. The testbed's link is the
//! satellite leg; a terrestrial leg connects the gateway to the hosts on the left.

use std::fs;
use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use headway_emulator::{Config, Host, Path, Summary};
use headway_pep::control::{self, Request, Status};
use headway_system::identity::Identity;

use super::names::{namespace, GATEWAY};
use super::process::Process;
use super::state::HostState;
use crate::error::{Attempt as _, Failure};
use crate::system::netns::Netns;
use crate::system::rundir;

/// The gateway's device towards the hosts on the right.
pub const SATELLITE: &str = "sat";
/// The gateway's device towards the hosts on the left.
pub const TERRESTRIAL: &str = "ground";
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 1);

/// Adds a gateway on the left of a testbed's link. Returns the terrestrial leg, which gets the
/// hosts on that side with their delays.
pub(super) fn between(config: &mut Config, forward: Path, reverse: Path) -> Config {
    let hosts = std::mem::take(&mut config.left);
    let at = |hosts: &[Host]| Host {
        behind: hosts.iter().map(|host| host.address).collect(),
        ..Host::new(ADDRESS, 0)
    };
    config.left = vec![at(&hosts)];
    let right = vec![at(&config.right)];
    let mut ground = Config::new(forward.link, reverse.link, hosts, right);
    ground.forward.vary = forward.vary;
    ground.reverse.vary = reverse.vary;
    ground.seed = config.seed;
    // this leg gets other random numbers than the satellite leg
    ground.forward.stream = forward.stream.or(Some(2));
    ground.reverse.stream = reverse.stream.or(Some(3));
    ground.late_threshold_ns = config.late_threshold_ns;
    ground
}

/// Describes the gateway like one of the testbed's hosts.
pub(super) fn host(testbed: &str) -> HostState {
    HostState {
        name: GATEWAY.into(),
        namespace: namespace(testbed, GATEWAY),
        address: ADDRESS,
        device: SATELLITE.into(),
        offloads: Default::default(),
    }
}

/// Arguments for the `ip` commands that configure the gateway's devices.
pub(super) fn configuration(mtu_bytes: u32, queue_pkts: u32) -> Vec<String> {
    let mut lines = vec!["link set lo up".to_owned()];
    for (device, side) in [(SATELLITE, 78), (TERRESTRIAL, 77)] {
        lines.extend([
            format!("link set {device} mtu {mtu_bytes} txqueuelen {queue_pkts}"),
            format!("addr add {ADDRESS}/32 dev {device}"),
            format!("link set {device} up"),
            format!("route add 10.{side}.0.0/16 dev {device} src {ADDRESS}"),
        ]);
    }
    lines
}

/// Arguments for the `ip` command that adds a host's route to the gateway's own address. The host
/// already has a route to the hosts on the other side.
pub(super) fn route(host: &HostState) -> String {
    let HostState {
        address, device, ..
    } = host;
    format!("route add {ADDRESS}/32 dev {device} src {address}")
}

/// Makes the gateway forward packets.
pub(super) fn forward(netns: &Netns) -> Result<(), Failure> {
    netns
        .inside(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1"))
        .attempt(format!("let {} forward", netns.label))
}

/// Adds the warnings of the terrestrial leg to a testbed's summary.
pub(super) fn judge(summary: &mut Summary, mut ground: Summary) {
    ground.judge();
    let warnings = ground.warnings.into_iter();
    summary
        .warnings
        .extend(warnings.map(|warning| format!("terrestrial leg: {warning}")));
    summary.on_time = summary.warnings.is_empty();
}

/// The longest time to wait until a proxy has removed its rules.
const MOST_S: u64 = 5;

/// Ends the proxies among a testbed's processes, and waits until they have ended. The proxies reset
/// their connections.
pub(super) fn end_proxies(processes: &[Process]) {
    let folder = rundir::root().join("pep");
    let ours = |status: &Status| {
        let pid = i32::try_from(status.pid).ok()?;
        processes.iter().find(|process| process.pid == pid)
    };
    let until = Instant::now() + Duration::from_secs(MOST_S);
    for name in control::names(&folder) {
        let status = Request::Status { connections: false };
        let answer = control::ask::<Status>(&folder, &name, status);
        // ignore the error of a proxy that does not answer, because its process is ended later like
        // all others
        let Some(proxy) = answer.ok().flatten().as_ref().and_then(ours) else {
            continue;
        };
        let now = Request::Stop { within_ms: Some(0) };
        let _ = control::ask::<Status>(&folder, &name, now);
        while proxy.is_alive() && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Removes the files of proxies that were killed in a testbed's namespaces. The proxies' firewall
/// rules disappear with the namespaces.
pub(super) fn forget_killed_proxies(namespaces: &[Identity]) -> Result<(), Failure> {
    let folder = rundir::root().join("pep");
    for name in control::names(&folder) {
        if control::place_of(&folder, &name).is_some_and(|place| namespaces.contains(&place)) {
            headway_pep::clean(&folder, &rundir::scope()?, &name, |_, _| Ok(()))?;
        }
    }
    Ok(())
}
