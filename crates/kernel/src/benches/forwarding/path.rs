//! Three network namespaces in a row: a source, a router, a sink. The namespaces have no names, so
//! the kernel removes them however this process ends.

use std::fs;
use std::io;
use std::net::Ipv4Addr;

use crate::error::Failure;
use crate::system::namespace::{self, Namespace};

/// Name of the device in the source's namespace, and of the one in the sink's.
pub const HOST_DEVICE: &str = "hw0";
/// The router's device that leads to the sink.
pub const ROUTER_OUT: &str = "out";
const ROUTER_IN: &str = "in";
/// Address of the source.
pub const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 79, 1, 1);
/// Address of the sink.
pub const SINK: Ipv4Addr = Ipv4Addr::new(10, 79, 2, 2);
/// Ethernet address of the source.
pub const SOURCE_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Ethernet address of the router's device towards the source.
pub const ROUTER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// An Ethernet address that no device has.
pub const NOBODY_MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// The namespaces of source, router and sink.
#[derive(Debug)]
pub struct RoutedPath {
    /// Sends packets.
    pub source: Namespace,
    /// Forwards packets.
    pub router: Namespace,
    /// Receives packets.
    pub sink: Namespace,
}

impl RoutedPath {
    /// Makes the path with addresses and routes. The router has a fixed neighbour entry for the
    /// sink. With `sink_listens` the entry has the sink's Ethernet address. Otherwise it has an
    /// address that no device has, so that the sink drops packets at once.
    ///
    /// # Errors
    /// Lack of privilege; no `ip`.
    pub fn new(sink_listens: bool) -> Result<Self, Failure> {
        namespace::check()?;
        let path = Self {
            source: Namespace::new()?,
            router: Namespace::new()?,
            sink: Namespace::new()?,
        };
        let (source_mac, router_mac) = (text(SOURCE_MAC), text(ROUTER_MAC));
        let sink_mac = text([2, 0, 0, 0, 0, 4]);
        let (router, source) = (&path.router, &path.source);
        for words in [
            format!(
                "link add {ROUTER_IN} address {router_mac} type veth peer name {HOST_DEVICE} \
                 address {source_mac} netns {}",
                source.path()
            ),
            format!(
                "link add {ROUTER_OUT} type veth peer name {HOST_DEVICE} address {sink_mac} netns \
                 {}",
                path.sink.path()
            ),
            format!("addr add 10.79.1.2/24 dev {ROUTER_IN}"),
            format!("addr add 10.79.2.1/24 dev {ROUTER_OUT}"),
            format!("link set {ROUTER_IN} up"),
            format!("link set {ROUTER_OUT} up"),
        ] {
            router.ip(&words)?;
        }
        for (host, address, router) in [
            (&path.source, SOURCE, "10.79.1.2"),
            (&path.sink, SINK, "10.79.2.1"),
        ] {
            host.ip("link set lo up")?;
            host.ip(&format!("addr add {address}/24 dev {HOST_DEVICE}"))?;
            host.ip(&format!("link set {HOST_DEVICE} up"))?;
            host.ip(&format!("route add default via {router}"))?;
        }
        let next_hop = if sink_listens {
            sink_mac
        } else {
            text(NOBODY_MAC)
        };
        router.ip(&format!(
            "neigh replace {SINK} lladdr {next_hop} dev {ROUTER_OUT}"
        ))?;
        router.sysctl("ipv4/ip_forward", "1")?;
        Ok(path)
    }

    /// How many packets have arrived at the sink's device.
    ///
    /// # Errors
    /// The device no longer exists.
    pub fn arrived_pkts(&self) -> io::Result<u64> {
        let text = self
            .sink
            .netns
            .inside(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        text.lines()
            .find_map(|line| line.trim().strip_prefix(HOST_DEVICE)?.strip_prefix(':'))
            .and_then(|numbers| numbers.split_whitespace().nth(1)?.parse().ok())
            .ok_or_else(|| io::Error::other("the sink's device no longer exists"))
    }
}

fn text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}
