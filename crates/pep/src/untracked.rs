//! Both legs of a connection have the same ends, so that the kernel's connection tracking, where
//! others' rules have turned it on, takes one for the other: their packets would be invalid by
//! turns, and those to servers not be masqueraded. It is to know servers' legs only. That costs a
//! look for what a packet's socket is, which the rules have then done, and is there where nothing is
//! tracked, too: a rule that asked whether it is would turn it on.
//!
//! A client's first packet is tracked until the rules of others (NAT) have said where it leads. If
//! that is to be taken a copy of it that is not tracked goes on, by loopback (nftables' `dup`, which
//! tables of one version of IP have), and of the one that came nothing remains.

use crate::rules::{chain, ACK, SYN};
use crate::sets::Set;
use crate::socket::Family;

/// What of the rules it takes.
pub(crate) struct Marks<'a> {
    pub mark: u32,
    pub own_mark: u32,
    pub clients: &'a str,
    pub servers: &'a str,
}

impl Marks<'_> {
    /// Chains for packets that come, and that leave, before they are tracked. `known` are sets of
    /// clients that have no socket yet.
    pub fn chains(&self, families: &[Family], known: &[Set]) -> String {
        let Self {
            mark,
            own_mark,
            clients,
            servers,
        } = self;
        let mut came = vec![
            "type filter hook prerouting priority raw; policy accept;".to_owned(),
            format!("iifname != {clients} return"),
            format!("{ACK} socket mark {own_mark} meta mark set {mark} notrack accept"),
            format!(
                "meta l4proto {{ icmp, ipv6-icmp }} socket mark {own_mark} meta mark set {mark} \
                 notrack accept"
            ),
            "meta l4proto != tcp return".to_owned(),
        ];
        for &family in families {
            came.push(format!(
                "{SYN} fib daddr type unicast fib daddr oifname {servers} {}",
                Set::Asked.note(family)
            ));
            for set in known {
                came.push(format!("{} notrack return", set.known(family)));
            }
        }
        // of sockets there is no mark to see before they stand and after their end
        came.push(format!("socket mark != {own_mark} return"));
        came.push("socket transparent 1 notrack".to_owned());
        let left = [
            "type filter hook output priority raw; policy accept;".to_owned(),
            format!("meta mark {own_mark} oifname {clients} notrack return"),
            // a first packet that is sent on after the server has answered
            format!("meta mark {mark} oifname \"lo\" notrack"),
        ];
        chain("came", &came) + &chain("left", &left)
    }

    /// Tables by which first packets that are taken come again.
    pub fn tables(&self, table: &str, families: &[Family]) -> String {
        let Self { mark, clients, .. } = self;
        let text = |family: &Family| {
            let (word, loopback) = (word(*family), family.loopback(0).ip());
            let lines = [
                "type filter hook prerouting priority dstnat + 2; policy accept;".to_owned(),
                format!(
                    "iifname {clients} meta mark {mark} {SYN} dup to {loopback} device \"lo\" drop"
                ),
            ];
            format!("table {word} {table} {{{}\n}}\n", chain("copied", &lines))
        };
        families.iter().map(text).collect()
    }
}

/// What nftables calls a version of IP.
pub(crate) fn word(family: Family) -> &'static str {
    match family {
        Family::V4 => "ip",
        Family::V6 => "ip6",
    }
}
