//! The proxy's rules: nftables tables of its own, a policy rule and a routing table, put in
//! and taken out as a whole. New connections are taken by one chain, which is emptied to let
//! them pass; if nobody listens any more, tproxy finds no socket and they pass as well.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

use headway_system::error::{Attempt as _, Failure};
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::routes;
use crate::sets::Set;
use crate::socket::Family;
use crate::untracked::{word, Marks};

/// The first packet of a connection.
pub(crate) const SYN: &str = "tcp flags & (fin | syn | rst | ack) == syn";
/// One of those that come after it, the last of the handshake among them.
pub(crate) const ACK: &str = "tcp flags & (fin | syn | rst | ack) == ack";
/// What is put in, for which address families, and where the listeners are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rules {
    table: String,
    mark: u32,
    own_mark: u32,
    /// Of both sides, and of connections that another process has yet.
    devices: String,
    clients: String,
    servers: String,
    ports: Vec<(Family, u16)>,
    /// First packets are held, and logged to this group.
    group: Option<u16>,
}

/// Address families that this machine forwards: of another, nothing could pass around.
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

    /// Whether nobody else has what it needs.
    pub fn free(&self) -> Result<(), Failure> {
        let mut families = self.ports.iter();
        families.try_for_each(|(family, _)| routes::free(*family, self.mark))
    }

    /// Puts all in. Nothing is taken yet.
    pub fn install(&self, busy: &BTreeSet<u16>) -> Result<(), Failure> {
        nft(&without(&self.table))?;
        for (family, _) in &self.ports {
            routes::lead(*family, self.mark)?;
        }
        nft(&(self.text((0, 0)) + &self.filling(busy)))
    }

    /// Takes the place of the table that another process has put in, in one go, if it is not what
    /// this one wants, and takes new connections.
    pub fn take_over(
        &self,
        table: &str,
        families: &[Family],
        busy: &BTreeSet<u16>,
    ) -> Result<(), Failure> {
        for (family, _) in &self.ports {
            if !families.contains(family) {
                routes::free(*family, self.mark)?;
                routes::lead(*family, self.mark)?;
            }
        }
        let filled = self.filling(busy) + &self.opening();
        if table == self.text((0, 0)) {
            return nft(&filled);
        }
        self.renew(&filled)
    }

    /// Puts the table back, whatever became of it.
    pub fn restore(&self, open: bool, busy: &BTreeSet<u16>) -> Result<(), Failure> {
        let opening = if open { self.opening() } else { String::new() };
        self.renew(&(self.filling(busy) + &opening))
    }

    /// From now on clients with these ports pass, and others do not.
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

    /// Chains that are there get other rules, each at once; sets keep what they remember, and the
    /// counter what it has counted. Where tables are deleted and added in one go packets pass unmarked
    /// for a moment, and come to ends that know nothing of them.
    fn renew(&self, filled: &str) -> Result<(), Failure> {
        let table = &self.table;
        let mut text = String::new();
        for word in TABLES {
            text += &format!("table {word} {table} {{ }}\nflush table {word} {table}\n");
        }
        let renewed = nft(&(text + &self.text((0, 0)) + filled));
        // those of another version may have chains and sets of another kind
        renewed.or_else(|_| {
            let count = self.count().unwrap_or_default();
            nft(&(without(table) + &self.text(count) + filled))
        })
    }

    /// The tables, with what was counted before. What they do not name passes untouched, all of UDP
    /// included. First comes what nearly all packets are, those of connections that the proxy has:
    /// the rules below say the same of them, after a look into the routes. It comes after the rules
    /// of others that say where a packet leads (NAT): what they lead elsewhere is not taken.
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

    /// From now on new connections are taken.
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
            // where nobody listens the packet is not dropped, but passes; one that is dropped begins
            // when it is sent on, which it may never be
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

    /// Rules for packets that go to listeners, after what is asked `first`; where there is no
    /// listener `end` is not reached.
    fn to_listeners(&self, first: impl Fn(Family) -> String, end: &str) -> Vec<String> {
        let line = |(family, port): &(Family, u16)| {
            // a first packet with headers between IP's and TCP's is not understood (syn.rs)
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

    /// From now on they pass; those that were taken go on.
    pub fn close(&self) -> Result<(), Failure> {
        nft(&format!("flush chain inet {} take\n", self.table))
    }

    /// Takes out whatever of it is there.
    pub fn remove(&self) -> Result<(), Failure> {
        remove(&self.table, self.mark)
    }

    /// What is intercepted.
    pub fn families(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.ports.iter().map(|(family, _)| family.name())
    }

    /// New connections that passed around the proxy, by their first packets.
    pub fn around(&self) -> Option<u64> {
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

/// Families of tables, as nftables calls them.
const TABLES: [&str; 3] = ["inet", "ip", "ip6"];

/// Takes the tables out, there or not.
fn without(table: &str) -> String {
    // the first line makes sure that there is something to delete
    let text = |word| format!("table {word} {table} {{ }}\ndelete table {word} {table}\n");
    TABLES.map(text).concat()
}

/// A chain of a table.
pub(crate) fn chain(name: &str, lines: &[String]) -> String {
    let lines = lines.join("\n        ");
    format!("\n    chain {name} {{\n        {lines}\n    }}")
}

/// Takes out what a proxy with this table and mark has put in, if it is there.
pub(crate) fn remove(table: &str, mark: u32) -> Result<(), Failure> {
    nft(&without(table))?;
    routes::remove(mark)
}

pub(crate) fn missing(program: &str, package: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::kernel_cannot(format!("`{program}` is missing; install {package}"))
        }
        _ => Failure::failed(format!("cannot run {program}: {error}")),
    }
}

/// Runs a batch; it is taken as a whole or not at all.
fn nft(batch: &str) -> Result<(), Failure> {
    let mut child = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| missing("nft", "nftables", &e))?;
    if let Some(mut input) = child.stdin.take() {
        // what it has to say about that it says itself
        let _ = input.write_all(batch.as_bytes());
    }
    let output = child.wait_with_output().attempt("wait for nft")?;
    succeeded("nft", &output)
}

pub(crate) fn succeeded(what: &str, output: &Output) -> Result<(), Failure> {
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = format!("cannot run {what}: {text}");
    Err(if text.contains("not permitted") {
        Failure::kernel_cannot(line)
    } else {
        Failure::failed(line)
    })
}
