//! The nftables sets of the proxy, whose elements are connections, by addresses and ports. If a set
//! is full, further SYNs bypass the proxy.

use crate::socket::Family;

/// Maximum number of elements of a set. It is enough for a flood of 26,000 SYNs per second, and
/// needs about 50 MB of kernel memory.
const MOST: u32 = 1 << 18;

/// The sets, by their purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// Connections whose SYN the proxy may take, with the SYN's original addresses. If NAT rules of
    /// other programs redirect the SYN, its addresses no longer match and it is not taken.
    Asked,
    /// Connections whose clients have started a handshake with the proxy. If more handshakes are
    /// pending than the kernel stores, as in a flood of SYNs, the kernel answers with SYN cookies
    /// and stores nothing (RFC 4987, 3.6). The ACK with a cookie then belongs to no socket. The
    /// rules find its connection in this set and pass the ACK to the listener, which checks the
    /// cookie.
    Begun,
    /// Connections whose clients wait for the server's answer (--confirm). Until it arrives, no
    /// socket exists that a retransmitted SYN could match.
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

    /// Lifetime of an element. After that time the client has completed its handshake or is very
    /// late; for `Asked`, the SYN has passed all rules.
    fn within(self) -> &'static str {
        match self {
            Self::Asked => "1s",
            Self::Begun | Self::Held => "10s",
        }
    }

    /// The text that defines this set for each address family.
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

    /// A statement that adds a SYN's connection to the set. If the set is full, the statement ends
    /// the rule.
    pub fn note(self, family: Family) -> String {
        format!("update @{} {{ {} }}", self.name(family), ends(family))
    }

    /// A condition that matches packets of connections in the set.
    pub fn known(self, family: Family) -> String {
        format!("{} @{}", ends(family), self.name(family))
    }

    /// A statement that removes a packet's connection from the set.
    pub fn forget(self, family: Family) -> String {
        format!("delete @{} {{ {} }}", self.name(family), ends(family))
    }
}

/// The packet's fields that identify a connection in a set.
fn ends(family: Family) -> &'static str {
    match family {
        Family::V4 => "ip saddr . tcp sport . ip daddr . tcp dport",
        Family::V6 => "ip6 saddr . tcp sport . ip6 daddr . tcp dport",
    }
}
