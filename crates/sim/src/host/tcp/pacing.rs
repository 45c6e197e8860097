//! Pacing: how a socket spaces packets if its control or startup asks for it. linux-2.6 spaces
//! packets or bursts, as the timers of the papers' patched kernels did; linux-6 spaces large
//! segments.

use super::{Socket, Timer};
use crate::net::Net;

impl Socket {
    /// linux-2.6: returns whether the next packet has to wait. If so, arms the pacing timer;
    /// otherwise counts the packet as sent.
    #[inline(never)]
    pub(super) fn pacing_waits(&mut self, net: &mut Net) -> bool {
        let rate = self.conn.pacing_rate_bytes_per_s;
        let pkt_bytes = u64::from(self.mss + self.conn.header_bytes);
        let chunk_pkts = self.conn.pacing_chunk_pkts;
        // If the present plan is old, the packets that it did not send are not made up for by a
        // burst.
        let stale = net.now_ns > self.pacing.next_ns + self.pacing.interval_ns;
        if stale || self.pacing.asked != (rate, chunk_pkts) {
            let (next_ns, before_ns) = (self.pacing.next_ns, self.pacing.interval_ns);
            let goes_on = !stale && self.pacing.asked.0 != 0;
            self.pacing.asked = (rate, chunk_pkts);
            self.plan_bursts(rate, u64::from(chunk_pkts), pkt_bytes);
            self.pacing.next_ns = if goes_on && self.control.control().flags.paces() {
                // a new rate of a control changes only the gap to the next packet; nothing is sent
                // immediately
                (next_ns + self.pacing.interval_ns).saturating_sub(before_ns)
            } else {
                next_ns.min(net.now_ns)
            };
        }
        let plan = &mut self.pacing;
        if plan.credit_pkts == 0 {
            if plan.next_ns > net.now_ns {
                let at_ns = plan.next_ns;
                self.arm(net, Timer::Pace, at_ns);
                return true;
            }
            plan.fired += 1;
            let of = |fired: u64| fired.wrapping_mul(plan.window_pkts) / plan.bursts;
            plan.credit_pkts = (of(plan.fired) - of(plan.fired - 1)).max(1);
            plan.next_ns = net.now_ns + plan.interval_ns;
        }
        plan.credit_pkts -= 1;
        false
    }

    /// Plans bursts for a window of cwnd packets or, without a chunk size, of one packet. The plan
    /// lasts as long as this window takes at the rate.
    fn plan_bursts(&mut self, rate: u64, chunk_pkts: u64, pkt_bytes: u64) {
        let cwnd = u64::from(self.conn.cwnd_pkts);
        let (window_pkts, chunks) = match cwnd.checked_div(chunk_pkts) {
            Some(chunks) => (cwnd, chunks),
            None => (1, 1),
        };
        let tau_ns = u128::from(window_pkts * pkt_bytes) * 1_000_000_000 / u128::from(rate);
        let tau_ns = u64::try_from(tau_ns).unwrap_or(u64::MAX >> 2);
        let ticks = tau_ns / (self.profile.clock_us * 1000);
        let bursts = if chunk_pkts > 0 { chunks.min(ticks) } else { 1 }.max(1);
        self.pacing.window_pkts = window_pkts;
        self.pacing.bursts = bursts;
        self.pacing.interval_ns = tau_ns / bursts;
        self.pacing.fired = 0;
        self.pacing.credit_pkts = 0;
    }

    /// linux-6, if the control or the startup may pace: returns whether the next large segment has
    /// to wait (tcp_pacing_check). If so, arms the pacing timer. After pacing has ended, the gap
    /// after the last paced packet still applies, as in the kernel (port/bpf/control.h).
    pub(super) fn segment_waits(&mut self, net: &mut Net) -> bool {
        // The gap counts from the last transmission, even from one that was not paced. Paced
        // transmissions have already set `next_ns`.
        self.pacing.next_ns = self.pacing.next_ns.max(self.last_sent_ns);
        let at_ns = self.pacing.next_ns;
        if at_ns <= net.now_ns {
            return false;
        }
        self.arm(net, Timer::Pace, at_ns);
        true
    }

    /// Called after a segment of `pkts` packets was sent. The next segment must wait as long as
    /// sending this segment takes at the pacing rate. If pacing sent this segment late, the
    /// lateness is subtracted, up to half of that time (tcp_update_skb_after_send).
    pub(super) fn segment_sent(&mut self, net: &Net, pkts: u64) {
        let late_ns = net.now_ns.saturating_sub(self.pacing.next_ns);
        self.pacing.next_ns = self.pacing.next_ns.max(net.now_ns);
        let rate = self.conn.pacing_rate_bytes_per_s;
        if rate == 0 || self.counters.sent_pkts < self.profile.unpaced_pkts {
            return;
        }
        let bytes = u128::from(pkts) * u128::from(self.mss + self.conn.header_bytes);
        let takes_ns = bytes * 1_000_000_000 / u128::from(rate);
        let takes_ns = u64::try_from(takes_ns).unwrap_or(u64::MAX >> 2);
        self.pacing.next_ns += takes_ns - late_ns.min(takes_ns / 2);
    }
}
