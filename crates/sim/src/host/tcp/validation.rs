//! Congestion window validation (RFC 2861 as in Linux): how idle times and an application that does
//! not fill the window reduce cwnd.

use super::{ca, ticks::TICK_NS, Socket};
use crate::net::Net;
use headway_algorithms::{Event, SSTHRESH_INFINITE};

impl Socket {
    /// After an idle time longer than the RTO, halves cwnd once per RTO (tcp_cwnd_restart) and
    /// tells the control about the restart.
    pub(super) fn after_idle(&mut self, net: &mut Net) {
        if self.board.packets_out() > 0 || self.snd_nxt >= self.write_end {
            return;
        }
        let idle_ns = net.now_ns - self.last_sent_ns;
        self.restart_if_idle(net);
        self.transmission_starts(net, idle_ns);
    }

    /// Reduces cwnd after an idle time; a part of `after_idle`. A window update for waiting data
    /// has the same effect (tcp_ack_update_window).
    pub(super) fn restart_if_idle(&mut self, net: &mut Net) {
        let (idle, timeout) = self.idle_and_timeout(net, self.last_sent_ns);
        if self.snd_nxt > 1 && idle > timeout && !self.takes_samples && self.shrinks_when_idle() {
            let mut cwnd = self.conn.cwnd_pkts;
            let restart = self.restart_cwnd_pkts().min(cwnd);
            // before the reduction, which replaces a window that the control sets now
            self.refresh(net);
            self.control.event(&mut self.conn, Event::CwndRestart);
            self.conn.ssthresh_pkts = self.current_ssthresh();
            let mut left = idle;
            while left > timeout && cwnd > restart {
                left -= timeout;
                cwnd /= 2;
            }
            self.conn.cwnd_pkts = cwnd.max(restart);
            self.cwnd_stamp_ns = net.now_ns;
            self.cwnd_used = 0;
        }
    }

    /// Returns the time since `then_ns` and the retransmission timeout, both in the unit in which
    /// this stack version compares them.
    fn idle_and_timeout(&self, net: &Net, then_ns: u64) -> (u64, u64) {
        let timeout_ns = self.rtt.rto_us() * 1000;
        if !self.profile.ticks {
            return (net.now_ns - then_ns, timeout_ns);
        }
        let tick = |at_ns: u64| (at_ns + net.since_tick_ns) / TICK_NS;
        (
            tick(net.now_ns) - tick(then_ns),
            timeout_ns.div_ceil(TICK_NS),
        )
    }

    /// Called when data is sent while nothing was in flight. The control is told of this start when
    /// the first large segment is sent. The size of that segment was decided before
    /// (tcp_event_data_sent).
    pub(super) fn transmission_starts(&mut self, net: &mut Net, idle_ns: u64) {
        if self.paces_segments {
            self.starting_pkts = self.largest_segment_pkts();
        }
        self.tell_start(net, idle_ns);
    }

    /// Tells the control that data is sent while nothing is in flight. This includes data that an
    /// ACK of everything outstanding releases, and retransmissions after everything was lost
    /// (tcp_event_data_sent). Linux 2.6 also has this rule (tcp_transmit_skb). The profile linux-2.6
    /// does not model it, so that its traces do not change.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_start_once(&mut self, net: &mut Net) {
        if self.profile.segments_are_large && self.start_told_ns != net.now_ns {
            self.tell_start(net, net.now_ns - self.last_sent_ns);
        }
    }

    fn tell_start(&mut self, net: &mut Net, idle_ns: u64) {
        self.start_told_ns = net.now_ns;
        if self.reads_monitor {
            self.read_monitor(net);
        }
        self.refresh(net);
        self.conn.idle_us = u32::try_from(idle_ns / 1000).unwrap_or(u32::MAX);
        if self.starts_fast {
            self.start_fast();
        } else {
            self.control.event(&mut self.conn, Event::TxStart);
        }
        self.quick_start_flags.due |= self.conn.request_code > 0;
    }

    pub(super) fn restart_cwnd_pkts(&self) -> u32 {
        let of_route = self.options.rules.initcwnd_pkts;
        of_route.unwrap_or_else(|| self.profile.restart_cwnd_pkts(self.mss))
    }

    fn shrinks_when_idle(&self) -> bool {
        self.options.rules.shrinks_when_idle
    }

    /// The current ssthresh: at least three quarters of cwnd, unless cwnd is being reduced because
    /// of congestion (tcp_current_ssthresh).
    pub(super) fn current_ssthresh(&self) -> u32 {
        let cwnd = self.conn.cwnd_pkts;
        if matches!(self.conn.ca_state, ca::CWR | ca::RECOVERY) {
            self.conn.ssthresh_pkts
        } else {
            self.conn.ssthresh_pkts.max((cwnd >> 1) + (cwnd >> 2))
        }
    }

    /// Validates cwnd after a transmission.
    pub(super) fn validate_cwnd(&mut self, net: &mut Net, limited: bool) {
        self.limited.goes_on(net.now_ns);
        let out = self.board.packets_out();
        if !self.waits_for_room() {
            self.grow_send_buffer();
        }
        if self.snd_una >= self.usage_seq
            || limited
            || (!self.cwnd_limited && out > self.max_packets_out)
        {
            self.cwnd_limited = limited;
            self.max_packets_out = out;
            self.usage_seq = self.snd_nxt;
        }
        let filled = if self.profile.counts_acks {
            out >= self.conn.cwnd_pkts
        } else {
            self.grows_when_acked()
        };
        if filled {
            self.cwnd_used = 0;
            self.cwnd_stamp_ns = net.now_ns;
            return;
        }
        if self.writer_waits && !self.buffer.woken && self.snd_nxt >= self.write_end {
            self.limited.buffer(net.now_ns);
        }
        self.cwnd_used = self.cwnd_used.max(out);
        if self.conn.ca_state == ca::OPEN
            && self.writer_leaves_window_unused()
            && !self.takes_samples
            && self.shrinks_when_idle()
            && self.unused_for_a_timeout(net)
        {
            // The application has not filled the window for a whole RTO.
            let used = self.cwnd_used.max(self.restart_cwnd_pkts());
            if used < self.conn.cwnd_pkts {
                self.conn.ssthresh_pkts = self.current_ssthresh();
                self.conn.cwnd_pkts = (self.conn.cwnd_pkts + used) / 2;
            }
            self.cwnd_used = 0;
            self.cwnd_stamp_ns = net.now_ns;
        }
    }

    fn unused_for_a_timeout(&self, net: &Net) -> bool {
        let (idle, timeout) = self.idle_and_timeout(net, self.cwnd_stamp_ns);
        idle >= timeout
    }

    /// linux-6: whether cwnd was used up when it was last tried, or, in slow start, more than half
    /// of it was in flight (tcp_is_cwnd_limited since 6.1).
    pub(super) fn grows_when_acked(&self) -> bool {
        self.cwnd_limited
            || (self.conn.cwnd_pkts < self.conn.ssthresh_pkts
                && self.conn.cwnd_pkts < 2 * self.max_packets_out)
    }

    /// linux-2.6: whether cwnd was filled before the ACK; a third of the window may be unused
    /// (tcp_is_cwnd_limited with tso_win_divisor 3).
    pub(super) fn filled_before(&self, in_flight: u32) -> bool {
        in_flight >= self.conn.cwnd_pkts
            || (self.conn.cwnd_pkts - in_flight).saturating_mul(3) < self.conn.cwnd_pkts
    }

    /// Whether ssthresh still has its initial, infinite value.
    pub(super) fn never_reduced(&self) -> bool {
        self.conn.ssthresh_pkts >= SSTHRESH_INFINITE
    }
}
