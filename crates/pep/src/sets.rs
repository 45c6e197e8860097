//! Sets of connections in the proxy's nftables tables, by their ends. One that is full has no room
//! for another SYN; that one passes around the proxy.

use crate::socket::Family;

/// So many are known at a time: a flood of 26,000 SYNs per second, in some 50 MB of the kernel's.
const MOST: u32 = 1 << 18;

/// Who is in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// Who sent a SYN that may be taken, as it came. Where it leads elsewhere after the rules of
    /// others (NAT), its ends are not those any more.
    Asked,
    /// Whose handshake was begun with the proxy. Where more of them are under way than the kernel
    /// keeps, as in a flood of SYNs, it answers with cookies and keeps nothing (RFC 4987, 3.6). The
    /// packet that brings a cookie back belongs to no socket, so the rules know by the set that it
    /// goes to the listener, which checks it.
    Begun,
    /// Who waits for a server: until then there is no socket for another SYN of it.
    Held,
}

impl Set {
    fn name(self, family: Family) -> String {
        let word = match self {
            Self::Asked => "asked",
            Self::Begun => "begun",
            Self::Held => "held",
        };
        format!("{word}_{}", family.name())
    }

    /// After that the client has come, or is late by far; a packet has gone through all rules.
    fn within(self) -> &'static str {
        match self {
            Self::Asked => "1s",
            Self::Begun | Self::Held => "10s",
        }
    }

    /// The sets.
    pub fn text(self, families: &[Family]) -> String {
        let text = |&family: &Family| {
            format!(
                "
    set {} {{
        typeof {}
        size {MOST}
        flags dynamic,timeout
        timeout {}
        gc-interval 1s
    }}",
                self.name(family),
                ends(family),
                self.within()
            )
        };
        families.iter().map(text).collect()
    }

    /// Part of a rule: a SYN is noted; without room for it the rule ends here.
    pub fn note(self, family: Family) -> String {
        format!("update @{} {{ {} }}", self.name(family), ends(family))
    }

    /// Part of a rule: it goes on for packets of what was noted.
    pub fn known(self, family: Family) -> String {
        format!("{} @{}", ends(family), self.name(family))
    }

    /// Part of a rule, or one: it is not noted any more.
    pub fn forget(self, family: Family) -> String {
        format!("delete @{} {{ {} }}", self.name(family), ends(family))
    }
}

/// What tells connections apart.
fn ends(family: Family) -> &'static str {
    match family {
        Family::V4 => "ip saddr . tcp sport . ip daddr . tcp dport",
        Family::V6 => "ip6 saddr . tcp sport . ip6 daddr . tcp dport",
    }
}
