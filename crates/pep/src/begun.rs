//! Handshakes that were begun with the proxy, in sets of its nftables table. Where more of them are
//! under way than the kernel keeps, as in a flood of SYNs, it answers with cookies and keeps
//! nothing (RFC 4987, 3.6). The packet that brings a cookie back belongs to no socket, so the
//! rules know by the set that it goes to the listener, which checks it.
//!
//! A set that is full has no room for another SYN; that one passes around the proxy.

use crate::socket::Family;

/// So many are known at a time: a flood of 26,000 SYNs per second, in some 50 MB of the kernel's.
const MOST: u32 = 1 << 18;
/// After that the client has come, or is late by far.
const WITHIN: &str = "10s";

fn set(family: Family) -> String {
    format!("begun_{}", family.name())
}

/// What tells connections apart.
fn ends(family: Family) -> &'static str {
    match family {
        Family::V4 => "ip saddr . tcp sport . ip daddr . tcp dport",
        Family::V6 => "ip6 saddr . tcp sport . ip6 daddr . tcp dport",
    }
}

/// The sets.
pub(crate) fn sets(families: impl Iterator<Item = Family>) -> String {
    let text = |family| {
        format!(
            "
    set {} {{
        typeof {}
        size {MOST}
        flags dynamic,timeout
        timeout {WITHIN}
        gc-interval 1s
    }}",
            set(family),
            ends(family)
        )
    };
    families.map(text).collect()
}

/// Part of a rule: a SYN is noted; without room for it the rule ends here.
pub(crate) fn note(family: Family) -> String {
    format!("update @{} {{ {} }}", set(family), ends(family))
}

/// Part of a rule: it goes on for packets of what was noted.
pub(crate) fn known(family: Family) -> String {
    format!("{} @{}", ends(family), set(family))
}

/// A rule for SYNs that pass after all: what comes after them passes, too.
pub(crate) fn forget(family: Family) -> String {
    format!("delete @{} {{ {} }}", set(family), ends(family))
}
