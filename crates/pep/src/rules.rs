//! The proxy's rules: its own nftables tables, a policy rule and a routing table, installed and
//! removed as a whole. One nftables chain takes new connections. If the chain is emptied, new
//! connections bypass the proxy. They also bypass the proxy if no process listens any more, because
//! tproxy then finds no socket.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use headway_system::error::Failure;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::nft::{chain, nft, word, ACK, SYN};
use crate::routes;
use crate::sets::Set;
use crate::socket::Family;
use crate::untracked::Marks;

/// The parameters of the rules: devices, marks, and the listeners' ports by address family.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rules {
    table: String,
    mark: u32,
    own_mark: u32,
    /// Network devices of both sides, and those of connections that another process still has.
    devices: String,
    clients: String,
    servers: String,
    ports: Vec<(Family, u16)>,
    /// The NFLOG group to which the rules log the SYNs of clients that are to be held; None without
    /// --confirm.
    group: Option<u16>,
}

/// Address families that this machine forwards. Connections of other families could not bypass the
/// proxy.
pub(crate) fn forwarded() -> Vec<Family> {
    let is_on = |path: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() != "0");
    let mut families = Vec::new();
    if is_on("/proc/sys/net/ipv4/ip_forward") {
        families.push(Family::V4);
    }
    if is_on("/proc/sys/net/ipv6/conf/all/forwarding") {
        families.push(Family::V6);
    }
    families
}

impl Rules {
    /// Makes the rules. `others` are the devices of connections that other processes still have.
    pub fn new(
        config: &Config,
        ports: Vec<(Family, u16)>,
        group: Option<u16>,
        others: &[String],
    ) -> Self {
        let sides = [&config.client.devices[..], &config.server.devices[..]];
        let mut devices = [sides[0], sides[1], others].concat();
        devices.sort();
        devices.dedup();
        let set = |names: &[String]| {
            let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            format!("{{ {} }}", quoted.join(", "))
        };
        Self {
            table: config.table(),
            mark: config.mark,
            own_mark: config.own_mark(),
            devices: set(&devices),
            clients: set(&config.client.devices),
            servers: set(&config.server.devices),
            ports,
            group,
        }
    }

    /// Checks that no other program uses the proxy's mark.
    pub fn free(&self) -> Result<(), Failure> {
        let mut families = self.ports.iter();
        families.try_for_each(|(family, _)| routes::free(*family, self.mark))
    }

    /// Installs the nftables tables and the routes. The rules do not take new connections yet.
    pub fn install(&self, busy: &BTreeSet<u16>) -> Result<(), Failure> {
        nft(&without(&self.table))?;
        for (family, _) in &self.ports {
            routes::add(*family, self.mark)?;
        }
        nft(&(self.text((0, 0)) + &self.filling(busy)))
    }

    /// Replaces the nftables tables of another process by these in one transaction, if they differ.
    /// Then lets the rules take new connections.
    pub fn take_over(
        &self,
        table: &str,
        families: &[Family],
        busy: &BTreeSet<u16>,
    ) -> Result<(), Failure> {
        for (family, _) in &self.ports {
            if !families.contains(family) {
                routes::free(*family, self.mark)?;
                routes::add(*family, self.mark)?;
            }
        }
        let filled = self.filling(busy) + &self.opening();
        if table == self.text((0, 0)) {
            return nft(&filled);
        }
        self.renew(&filled)
    }

    /// Installs the nftables tables again, whatever their present state.
    pub fn restore(&self, open: bool, busy: &BTreeSet<u16>) -> Result<(), Failure> {
        let opening = if open { self.opening() } else { String::new() };
        self.renew(&(self.filling(busy) + &opening))
    }

    /// Sets which clients' ports bypass the proxy, because the proxy cannot use these ports itself.
    /// Replaces the earlier ports.
    pub fn fill(&self, busy: &BTreeSet<u16>) -> Result<(), Failure> {
        nft(&self.filling(busy))
    }

    fn filling(&self, busy: &BTreeSet<u16>) -> String {
        let table = &self.table;
        let mut text = format!("flush set inet {table} busy\n");
        if !busy.is_empty() {
            let ports: Vec<String> = busy.iter().map(u16::to_string).collect();
            let ports = ports.join(", ");
            text += &format!("add element inet {table} busy {{ {ports} }}\n");
        }
        text
    }

    /// Replaces the rules in the existing chains, each chain at once. The sets keep their elements,
    /// and the counter keeps its value. Deleting and adding whole tables, even in one transaction,
    /// could let packets pass without a mark for a moment. These packets would reach hosts that do
    /// not know their connection.
    fn renew(&self, filled: &str) -> Result<(), Failure> {
        let table = &self.table;
        let mut text = String::new();
        for word in TABLES {
            text += &format!("table {word} {table} {{ }}\nflush table {word} {table}\n");
        }
        let renewed = nft(&(text + &self.text((0, 0)) + filled));
        // This fails if the chains and sets of another version have other types. Then replace the
        // whole tables.
        renewed.or_else(|_| {
            let count = self.count().unwrap_or_default();
            nft(&(without(table) + &self.text(count) + filled))
        })
    }

    /// Returns the definition of the nftables tables, with a value for the counter. Packets that
    /// match no rule pass unchanged, including all of UDP. The first rules match the packets of the
    /// proxy's connections, which are nearly all packets. Later rules would treat these packets in
    /// the same way, but only after a route lookup. The chain comes after the NAT rules of other
    /// programs, so the proxy does not take connections that NAT redirects.
    pub fn text(&self, (packets, bytes): (u64, u64)) -> String {
        let Self {
            table,
            mark,
            own_mark,
            devices,
            clients,
            servers,
            ..
        } = self;
        let end = format!("meta mark set {mark} accept");
        let families: Vec<Family> = self.ports.iter().map(|(family, _)| *family).collect();
        let marks = Marks {
            mark: *mark,
            own_mark: *own_mark,
            clients,
            servers,
        };
        let (sets, again): (&[Set], fn(Family) -> String) = match self.group {
            None => (&[Set::Asked, Set::Begun], |_| String::new()),
            Some(_) => (&[Set::Asked, Set::Begun, Set::Held], |family| {
                Set::Begun.note(family)
            }),
        };
        let own = chain("again", &self.to_listeners(again, &end))
            + &chain("begun", &self.to_listeners(|f| Set::Begun.known(f), &end))
            + &marks.chains(&families, &sets[1..]);
        let sets: String = sets.iter().map(|set| set.text(&families)).collect();
        let mut pass: Vec<String> = families.iter().map(|f| Set::Begun.forget(*f)).collect();
        pass.push("counter name around".to_owned());
        let pass = chain("pass", &pass);
        let tables = marks.tables(table, &families);
        format!(
            "table inet {table} {{
    counter around {{ packets {packets} bytes {bytes} }}
    set busy {{ type inet_service; }}
    chain take {{ }}{sets}{own}{pass}
    chain prerouting {{
        type filter hook prerouting priority dstnat + 1; policy accept;
        iifname {devices} meta mark {mark} accept
        iifname {devices} {ACK} socket mark {own_mark} meta mark set {mark} accept
        meta l4proto {{ icmp, ipv6-icmp }} socket mark {own_mark} meta mark set {mark} accept
        meta l4proto != tcp return
        iifname \"lo\" meta mark {mark} {SYN} jump again
        iifname != {devices} return
        fib daddr type != unicast return
        ip6 daddr fe80::/10 return
        meta mark {own_mark} return
        iifname {clients} {SYN} tcp sport != @busy fib daddr oifname {servers} jump take
        socket transparent 1 meta mark set {mark} accept
        iifname {clients} {ACK} jump begun
        iifname {clients} {SYN} fib daddr oifname {servers} jump pass
    }}
}}
{tables}"
        )
    }

    /// Lets the rules take new connections from now on.
    pub fn open(&self) -> Result<(), Failure> {
        nft(&self.opening())
    }

    fn opening(&self) -> String {
        let (table, mark) = (&self.table, self.mark);
        let lines = match self.group {
            None => self.to_listeners(
                |family| Set::Asked.known(family) + " " + &Set::Begun.note(family),
                &format!("meta mark set {mark} accept"),
            ),
            // If no process listens, tproxy ends the rule before the drop, so the packet bypasses
            // the proxy. When a SYN is dropped, its connection is removed from the set `Begun`, and
            // is added again if the SYN is sent on later.
            Some(group) => self.to_listeners(
                |family| {
                    let parts = [
                        Set::Asked.known(family),
                        Set::Begun.forget(family),
                        Set::Held.note(family),
                    ];
                    parts.join(" ")
                },
                &format!("log group {group} queue-threshold 1 drop"),
            ),
        };
        let mut text = format!("flush chain inet {table} take\n");
        for line in lines {
            text += &format!("add rule inet {table} take {line}\n");
        }
        text
    }

    /// Returns the nftables rules that pass packets to the proxy's listeners. `first` is the
    /// condition of the rules. `end` is their last part, which is not reached if no process
    /// listens.
    fn to_listeners(&self, first: impl Fn(Family) -> String, end: &str) -> Vec<String> {
        let line = |(family, port): &(Family, u16)| {
            // If SYNs are logged to a group, take only SYNs without IPv6 extension headers, because
            // syn.rs cannot parse these headers.
            let which = match family {
                Family::V4 => "meta nfproto ipv4 meta l4proto tcp",
                Family::V6 if self.group.is_some() => "ip6 nexthdr tcp",
                Family::V6 => "meta nfproto ipv6 meta l4proto tcp",
            };
            let (word, first) = (word(*family), first(*family));
            format!(
                "{which} {first} tproxy {word} to {} {end}",
                family.loopback(*port)
            )
        };
        self.ports.iter().map(line).collect()
    }

    /// Changes the rules so that new connections bypass the proxy. Existing connections continue.
    pub fn close(&self) -> Result<(), Failure> {
        nft(&format!("flush chain inet {} take\n", self.table))
    }

    /// Removes all of the proxy's nftables tables, policy rules and routes that exist.
    pub fn remove(&self) -> Result<(), Failure> {
        remove(&self.table, self.mark)
    }

    /// The address families of the connections that the proxy intercepts.
    pub fn families(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.ports.iter().map(|(family, _)| family.name())
    }

    /// The number of SYNs that bypassed the proxy.
    pub fn bypassed(&self) -> Option<u64> {
        self.count().map(|(packets, _)| packets)
    }

    /// Packets and bytes.
    fn count(&self) -> Option<(u64, u64)> {
        let output = Command::new("nft")
            .args(["list", "counter", "inet", &self.table, "around"])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let number = |what| {
            let mut words = text.split_whitespace().skip_while(|word| *word != what);
            words.nth(1)?.parse().ok()
        };
        Some((number("packets")?, number("bytes")?))
    }
}

/// nftables' names of the table families in which the proxy has a table.
const TABLES: [&str; 3] = ["inet", "ip", "ip6"];

/// Returns nftables commands that remove the tables, whether these exist or not.
fn without(table: &str) -> String {
    // the first line creates the table if needed, so that the second cannot fail
    let text = |word| format!("table {word} {table} {{ }}\ndelete table {word} {table}\n");
    TABLES.map(text).concat()
}

/// Removes everything that a proxy with this table and mark has installed.
pub(crate) fn remove(table: &str, mark: u32) -> Result<(), Failure> {
    nft(&without(table))?;
    routes::remove(mark)
}
