//! The hosts' coarse clock: Linux counts idle times in ticks (jiffies), from the tick before the
//! one end to the tick before the other, and timeouts in ticks that are begun
//! (usecs_to_jiffies). All hosts of a run tick together, as namespaces of one kernel do, from a
//! moment that the run's seed draws.

use super::Socket;
use crate::net::Net;
use crate::rng::{stream, Purpose};
use rand_core::RngCore;

/// At least a tick; a multiple of those that profiles have.
const LONGEST_NS: u64 = 4_000_000;

/// How long before time 0 the clock ticked.
pub(crate) fn drawn(seed: u64) -> u64 {
    stream(seed, Purpose::Ticks, 0).next_u64() % LONGEST_NS
}

impl Socket {
    /// The time since `then_ns`, and the timeout, in the unit in which this stack compares them.
    pub(super) fn idle_and_timeout(&self, net: &Net, then_ns: u64) -> (u64, u64) {
        let timeout_ns = self.rtt.rto_us() * 1000;
        match self.profile.tick_ns {
            None => (net.now_ns - then_ns, timeout_ns),
            Some(tick_ns) => {
                let tick = |at_ns: u64| (at_ns + net.since_tick_ns) / tick_ns;
                (
                    tick(net.now_ns) - tick(then_ns),
                    timeout_ns.div_ceil(tick_ns),
                )
            }
        }
    }
}
