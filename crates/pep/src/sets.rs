//! The nftables sets of the proxy. Their elements are connections, given by addresses and ports. If
//! a set is full, further SYNs bypass the proxy.

use crate::socket::Family;

/// Maximum number of elements of a set. It is enough for a flood of 26,000 SYNs per second, and
/// needs about 50 MB of kernel memory.
const MOST: u32 = 1 << 18;

/// The purposes of the proxy's nftables sets.
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
    /// Connections whose clients wait for the server's answer (--confirm). Until this answer
    /// arrives, no socket exists that a retransmitted SYN could match.
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

    /// How long an element stays in a set. After this time the client has completed its handshake
    /// or is very late. For `Asked`, the SYN has passed all rules after this time.
    fn within(self) -> &'static str {
        match self {
            Self::Asked => "1s",
            Self::Begun | Self::Held => "10s",
        }
    }

    /// Returns the nftables definitions of this set, one for each address family.
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

    /// Returns the nftables statement that adds a SYN's connection to the set. If the set is full,
    /// the statement ends the rule.
    pub fn note(self, family: Family) -> String {
        format!("update @{} {{ {} }}", self.name(family), ends(family))
    }

    /// Returns the nftables condition that matches packets of connections in the set.
    pub fn known(self, family: Family) -> String {
        format!("{} @{}", ends(family), self.name(family))
    }

    /// Returns the nftables statement that removes a packet's connection from the set.
    pub fn forget(self, family: Family) -> String {
        format!("delete @{} {{ {} }}", self.name(family), ends(family))
    }
}

/// The fields of a packet that identify its connection in a set.
fn ends(family: Family) -> &'static str {
    match family {
        Family::V4 => "ip saddr . tcp sport . ip daddr . tcp dport",
        Family::V6 => "ip6 saddr . tcp sport . ip6 daddr . tcp dport",
    }
}
