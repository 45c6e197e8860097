//! The proxy's rules: its own nftables tables, a policy rule and a routing table, installed and
//! removed as a whole. One chain takes new connections; it is emptied to let them bypass the proxy.
//! If no process listens any more, tproxy finds no socket and connections bypass the proxy as well.

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

/// The rules to install, for which address families, and where the listeners are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rules {
    table: String,
    mark: u32,
    own_mark: u32,
    /// Devices of both sides, and of connections that another process still has.
    devices: String,
    clients: String,
    servers: String,
    ports: Vec<(Family, u16)>,
    /// First packets are held, and logged to this group.
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
    /// `others` are devices of connections that another process has.
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

    /// Checks that no one else uses the mark.
    pub fn free(&self) -> Result<(), Failure> {
        let mut families = self.ports.iter();
        families.try_for_each(|(family, _)| routes::free(*family, self.mark))
    }

    /// Installs everything. New connections are not taken yet.
    pub fn install(&self, busy: &BTreeSet<u16>) -> Result<(), Failure> {
        nft(&without(&self.table))?;
        for (family, _) in &self.ports {
            routes::add(*family, self.mark)?;
        }
        nft(&(self.text((0, 0)) + &self.filling(busy)))
    }

    /// Replaces the table of another process in one transaction, if it differs from this one, and
    /// takes new connections.
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

    /// Restores the table, whatever its present state.
    pub fn restore(&self, open: bool, busy: &BTreeSet<u16>) -> Result<(), Failure> {
        let opening = if open { self.opening() } else { String::new() };
        self.renew(&(self.filling(busy) + &opening))
    }

    /// From now on, only clients with these ports bypass the proxy.
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

    /// Replaces the rules of existing chains, each chain at once. Sets keep their elements, and the
    /// counter its value. Deleting and adding tables in one transaction would let packets pass
    /// unmarked for a moment, and they would reach hosts that do not know their connection.
    fn renew(&self, filled: &str) -> Result<(), Failure> {
        let table = &self.table;
        let mut text = String::new();
        for word in TABLES {
            text += &format!("table {word} {table} {{ }}\nflush table {word} {table}\n");
        }
        let renewed = nft(&(text + &self.text((0, 0)) + filled));
        // chains and sets of another version may be of other kinds
        renewed.or_else(|_| {
            let count = self.count().unwrap_or_default();
            nft(&(without(table) + &self.text(count) + filled))
        })
    }

    /// The tables, with the counter's previous value. Packets that no rule names pass untouched,
    /// including all of UDP. The first rules match nearly all packets: those of the proxy's
    /// connections. The rules further down would treat them the same way, after a route lookup. The
    /// chain comes after other programs' NAT rules: what these redirect is not taken.
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

    /// From now on, new connections are taken.
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
            // if no process listens, the packet is not dropped but bypasses the proxy. A dropped
            // SYN leaves the set `Begun` and enters it again when it is sent on, which may never
            // happen
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

    /// Rules for packets to listeners, with `first` as a condition. Without a listener, `end` is
    /// not reached.
    fn to_listeners(&self, first: impl Fn(Family) -> String, end: &str) -> Vec<String> {
        let line = |(family, port): &(Family, u16)| {
            // syn.rs does not parse a SYN with headers between those of IP and TCP
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

    /// From now on, new connections bypass the proxy. Existing connections continue.
    pub fn close(&self) -> Result<(), Failure> {
        nft(&format!("flush chain inet {} take\n", self.table))
    }

    /// Removes all of the rules that exist.
    pub fn remove(&self) -> Result<(), Failure> {
        remove(&self.table, self.mark)
    }

    /// The intercepted address families.
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

/// Families of tables, by nftables' names.
const TABLES: [&str; 3] = ["inet", "ip", "ip6"];

/// Removes the tables, whether or not they exist.
fn without(table: &str) -> String {
    // the first line creates the table if needed, so that the second cannot fail
    let text = |word| format!("table {word} {table} {{ }}\ndelete table {word} {table}\n");
    TABLES.map(text).concat()
}

/// Removes what a proxy with this table and mark has installed.
pub(crate) fn remove(table: &str, mark: u32) -> Result<(), Failure> {
    nft(&without(table))?;
    routes::remove(mark)
}
