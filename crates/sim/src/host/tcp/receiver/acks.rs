//! When the receiving half sends ACKs: immediately, delayed, or merged with others.

use super::{AckPlan, Receiver, ATO_MIN_NS};
use crate::host::tcp::profile::DUPTHRESH;
use crate::host::tcp::rtt::Rtt;

const MS: u64 = 1_000_000;
/// TCP_DELACK_MAX.
const DELACK_MAX_NS: u64 = 200 * MS;
/// TCP_MAX_QUICKACKS.
const MAX_QUICK_ACKS: u32 = 16;
/// Longest time by which SACK compression delays an ACK (tcp_comp_sack_delay_ns).
const COMPRESSION_NS: u64 = MS;
/// An idle host's timer fires when its slack is over (tcp_comp_sack_slack_ns).
const COMPRESSION_SLACK_NS: u64 = 100_000;
/// Most ACKs merged into one (tcp_comp_sack_nr).
const MAX_COMPRESSED: u32 = 44;

impl Receiver {
    #[inline(always)]
    pub(super) fn plan(&mut self, now_ns: u64, rtt: &Rtt) -> AckPlan {
        let is_long = self.rcv_nxt - self.acked > u64::from(self.rcv_mss);
        if !self.delayed_ack
            || (is_long && self.edge_advances())
            || (self.quick > 0 && !self.pingpong)
        {
            return AckPlan::Now;
        }
        if !self.out_of_order.is_empty() {
            // The kernel sends its ACK before the application reads.
            let plan = self.compress(now_ns, rtt);
            if plan == AckPlan::Now || !(is_long && self.reads_after()) {
                return plan;
            }
        }
        if is_long && self.reads_after() {
            return AckPlan::AfterReading;
        }
        if self.pushed && !self.pingpong && self.reads_after() {
            return AckPlan::AfterReading;
        }
        let mut ato = self.ato_ns;
        if ato > ATO_MIN_NS {
            let mut most = if self.pingpong || self.pushed {
                DELACK_MAX_NS
            } else {
                500 * MS
            };
            let srtt_us = rtt.srtt_us();
            if srtt_us > 0 {
                most = most.min((srtt_us * 1000).max(ATO_MIN_NS));
            }
            ato = ato.min(most);
        }
        ato = ato.min(self.delack_max_ns);
        let mut at = now_ns + ato;
        if let Some(armed) = self.delack_at {
            if armed <= now_ns + ato / 4 {
                return AckPlan::Now;
            }
            at = at.min(armed);
        }
        self.delack_at = Some(at);
        AckPlan::DelayUntil(at)
    }

    /// linux-6: whether an application that reads everything immediately sends an ACK after reading
    /// (tcp_cleanup_rbuf). It does so after reading more than a segment, if the kernel has sent no
    /// ACK for it. It also does so after reading pushed data, unless data is held behind a hole.
    /// The window of this ACK counts the memory of the read data as free. Since Linux 6.6 a single
    /// pushed segment of full size causes this ACK; the last packet of every large segment is such
    /// a segment.
    fn reads_after(&self) -> bool {
        self.is_linux_6() && self.reader.is_none()
    }

    /// Processes the expiry of the delayed-ACK timer. Returns whether an ACK is still due.
    pub fn delack_fired(&mut self, rto_us: u64) -> bool {
        if self.delack_at.take().is_none() || self.rcv_nxt == self.acked {
            return false;
        }
        if self.pingpong {
            self.pingpong = false;
            self.ato_ns = ATO_MIN_NS;
        } else {
            self.ato_ns = (self.ato_ns * 2).min(rto_us * 1000);
        }
        true
    }

    /// Whether a delayed ACK waits for its timer.
    pub fn delays_ack(&self) -> bool {
        self.delack_at.is_some()
    }

    /// Whether a delayed or merged ACK waits for its timer.
    pub fn owes_ack(&self) -> bool {
        self.delack_at.is_some() || self.compressed > 0
    }

    /// SACK compression of linux-6: after three duplicate ACKs of the same number, further ones are
    /// delayed by 5 % of the RTT, at most a millisecond, and by the slack of the timer. Without SACK
    /// the sender has to count them, so none is delayed (__tcp_ack_snd_check).
    #[inline(never)]
    pub(super) fn compress(&mut self, now_ns: u64, rtt: &Rtt) -> AckPlan {
        if !self.profile.compresses_sacks || !self.sack || self.dsack.is_some() {
            return AckPlan::Now;
        }
        if self.compressed_at != self.rcv_nxt {
            self.compressed_at = self.rcv_nxt;
            self.dup_acks = 0;
        }
        if self.dup_acks < DUPTHRESH || self.compressed >= MAX_COMPRESSED {
            self.dup_acks += 1;
            return AckPlan::Now;
        }
        self.compressed += 1;
        let srtt_us = rtt.srtt_us();
        let mut rtt_us = self.tuning.rtt_x8_us / 8;
        if srtt_us != 0 && srtt_us < rtt_us {
            rtt_us = srtt_us;
        }
        let delay_ns = COMPRESSION_NS.min(rtt_us * 1000 / 20);
        AckPlan::CompressUntil(now_ns + delay_ns + COMPRESSION_SLACK_NS)
    }

    /// What SACK compression has counted: the ACK number, duplicate ACKs, and ACKs held back.
    pub(in crate::host::tcp) fn counted_acks(&self) -> (u64, u32, u32) {
        (self.compressed_at, self.dup_acks, self.compressed)
    }

    /// Goes back to an earlier count, because a segment has caused no ACK.
    #[cold]
    pub(in crate::host::tcp) fn count_acks(&mut self, counted: (u64, u32, u32)) {
        (self.compressed_at, self.dup_acks, self.compressed) = counted;
    }

    /// Adapts the delay of ACKs to the gaps between arrivals of in-order data.
    #[inline(always)]
    pub(super) fn time_data(&mut self, now_ns: u64, rtt: &Rtt) {
        if self.ato_ns == 0 {
            self.add_quick_acks(MAX_QUICK_ACKS);
            self.ato_ns = ATO_MIN_NS;
        } else {
            let gap = now_ns - self.last_data_ns;
            if gap <= ATO_MIN_NS / 2 {
                self.ato_ns = self.ato_ns / 2 + ATO_MIN_NS / 2;
            } else if gap < self.ato_ns {
                self.ato_ns = (self.ato_ns / 2 + gap).min(rtt.rto_us() * 1000);
            } else if gap > rtt.rto_us() * 1000 {
                self.add_quick_acks(MAX_QUICK_ACKS);
            }
        }
        self.last_data_ns = now_ns;
        if self.requested_quick_acks > 0 {
            self.enter_requested_quick_acks();
        }
    }

    pub(super) fn enter_quick_ack(&mut self) {
        self.enter_quick_ack_up_to(MAX_QUICK_ACKS);
    }

    #[inline(never)]
    fn enter_quick_ack_up_to(&mut self, most: u32) {
        self.add_quick_acks(most);
        self.pingpong = false;
        self.ato_ns = ATO_MIN_NS;
    }

    /// Begins the quick acknowledgements that ECN requested (`requested_quick_acks`), after the
    /// whole segment was processed.
    #[cold]
    pub(super) fn enter_requested_quick_acks(&mut self) {
        let most = std::mem::take(&mut self.requested_quick_acks);
        self.enter_quick_ack_up_to(most.min(MAX_QUICK_ACKS));
    }

    #[inline(never)]
    fn add_quick_acks(&mut self, most: u32) {
        // The window that the last ACK advertised (rcv_wnd).
        let window = self.right_edge - self.acked;
        let quick = match (window / (2 * u64::from(self.rcv_mss))) as u32 {
            0 => 2,
            quick => quick.min(most),
        };
        self.quick = self.quick.max(quick);
    }

    /// Records that this end sends data now. If data arrived within the last ACK timeout, the
    /// connection counts as interactive (pingpong) from now on.
    pub fn data_sent(&mut self, now_ns: u64) {
        if self.ato_ns != 0 && now_ns - self.last_data_ns < self.ato_ns {
            self.pingpong = true;
        }
    }
}
