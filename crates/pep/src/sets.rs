//! Sets of connections in the proxy's nftables tables, by addresses and ports. If a set is full, a
//! further SYN bypasses the proxy.

use crate::socket::Family;

/// Most elements of a set: enough for a flood of 26,000 SYNs per second, in some 50 MB of kernel
/// memory.
const MOST: u32 = 1 << 18;

/// The kind of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// Clients whose SYN may be taken, with its original addresses. If NAT rules of other programs
    /// redirect the SYN, its addresses no longer match.
    Asked,
    /// Clients that have started a handshake with the proxy. If more handshakes are pending than
    /// the kernel stores, as in a flood of SYNs, the kernel answers with SYN cookies and stores
    /// nothing (RFC 4987, 3.6). The ACK with a cookie then belongs to no socket. By this set, the
    /// rules send it to the listener, which checks the cookie.
    Begun,
    /// Clients that wait for a server; until then no socket exists for a retransmitted SYN.
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

    /// Lifetime of an element. After it the client has completed its handshake or is very late; for
    /// `Asked`, the packet has passed all rules.
    fn within(self) -> &'static str {
        match self {
            Self::Asked => "1s",
            Self::Begun | Self::Held => "10s",
        }
    }

    /// The definitions of the sets.
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

    /// A statement that adds a SYN's connection. If the set is full, the rule ends here.
    pub fn note(self, family: Family) -> String {
        format!("update @{} {{ {} }}", self.name(family), ends(family))
    }

    /// A condition for packets of connections in the set.
    pub fn known(self, family: Family) -> String {
        format!("{} @{}", ends(family), self.name(family))
    }

    /// A statement that removes the packet's connection.
    pub fn forget(self, family: Family) -> String {
        format!("delete @{} {{ {} }}", self.name(family), ends(family))
    }
}

/// The fields that identify a connection.
fn ends(family: Family) -> &'static str {
    match family {
        Family::V4 => "ip saddr . tcp sport . ip daddr . tcp dport",
        Family::V6 => "ip6 saddr . tcp sport . ip6 daddr . tcp dport",
    }
}
