//! Three network namespaces in a row: a source, a router, a sink. They have no names:
//! whatever ends this process, nothing of them is left.

use std::fs;
use std::io;
use std::net::Ipv4Addr;

use crate::error::Failure;
use crate::system::namespace::{self, Namespace};

/// The device of the source, and that of the sink.
pub const HOST_DEVICE: &str = "hw0";
/// The router's device towards the sink.
pub const ROUTER_OUT: &str = "out";
const ROUTER_IN: &str = "in";
/// Of the source and of the sink.
pub const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 79, 1, 1);
/// Of the sink.
pub const SINK: Ipv4Addr = Ipv4Addr::new(10, 79, 2, 2);
/// Ethernet addresses: of the source, of the router towards the source, and of the sink.
pub const SOURCE_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Of the router towards the source.
pub const ROUTER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// Of nobody.
pub const NOBODY_MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// The three in a row.
#[derive(Debug)]
pub struct RoutedPath {
    /// Where packets come from.
    pub source: Namespace,
    /// What forwards them.
    pub router: Namespace,
    /// Where they go.
    pub sink: Namespace,
}

impl RoutedPath {
    /// Makes it, with addresses and routes. The router does not ask who the sink is: with
    /// `sink_listens` it knows, else packets go to nobody and the sink drops them at once.
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

    /// Packets that arrived at the sink's device.
    ///
    /// # Errors
    /// It is gone.
    pub fn arrived_pkts(&self) -> io::Result<u64> {
        let text = self
            .sink
            .netns
            .inside(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        text.lines()
            .find_map(|line| line.trim().strip_prefix(HOST_DEVICE)?.strip_prefix(':'))
            .and_then(|numbers| numbers.split_whitespace().nth(1)?.parse().ok())
            .ok_or_else(|| io::Error::other("the sink's device is gone"))
    }
}

fn text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}
