//! Hides packets on the clients' side from the kernel's connection tracking. Both legs of a
//! connection have the same addresses and ports. If rules of other programs have enabled connection
//! tracking, tracking would mistake one leg for the other: it would consider packets of either leg
//! invalid, and packets to servers would not be masqueraded. So tracking should only see the
//! servers' legs. To achieve this, the rules look up each packet's socket, which later rules need,
//! too. The lookup also happens on machines without connection tracking, because a rule that
//! checked for tracking would enable it.
//!
//! A client's SYN is tracked until NAT rules of other programs have decided its destination. If the
//! proxy takes the SYN, an untracked copy of it continues through loopback (nftables' `dup`,
//! available in tables of one version of IP), and the original is dropped.

use crate::nft::{chain, word, ACK, SYN};
use crate::sets::Set;
use crate::socket::Family;

/// The proxy's marks and devices, from which the chains are made.
pub(crate) struct Marks<'a> {
    pub mark: u32,
    pub own_mark: u32,
    pub clients: &'a str,
    pub servers: &'a str,
}

impl Marks<'_> {
    /// Returns the definitions of the nftables chains for incoming and outgoing packets that run
    /// before connection tracking. `known` are the sets of connections whose clients have no socket
    /// yet.
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
        // rules can see a socket's mark only while its connection is established
        came.push(format!("socket mark != {own_mark} return"));
        came.push("socket transparent 1 notrack".to_owned());
        let left = [
            "type filter hook output priority raw; policy accept;".to_owned(),
            format!("meta mark {own_mark} oifname {clients} notrack return"),
            // this rule matches a client's SYN that the proxy sends on after the server has
            // answered
            format!("meta mark {mark} oifname \"lo\" notrack"),
        ];
        chain("came", &came) + &chain("left", &left)
    }

    /// Returns the definitions of the nftables tables that send copies of taken SYNs through
    /// loopback.
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
