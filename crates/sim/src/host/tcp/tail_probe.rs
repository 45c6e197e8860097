//! Tail loss probes (RFC 8985 section 7 as in Linux).

use super::scoreboard::HEAD;
use super::{ca, Pending, Socket, Timer};
use crate::net::Net;

impl Socket {
    /// Arms a tail loss probe instead of the RTO, if the profile has probes
    /// (tcp_schedule_loss_probe). Returns whether it armed one.
    pub(super) fn schedule_probe(&mut self, net: &mut Net) -> bool {
        self.schedule_probe_after(net, false)
    }

    /// Arms a tail loss probe like `schedule_probe`. With `sets_timeout`, Linux would first arm the
    /// RTO and then replace it by the probe. The RTO is armed here only if no probe follows, or if
    /// arming it adds an event: this keeps the order of events.
    pub(super) fn schedule_probe_after(&mut self, net: &mut Net, sets_timeout: bool) -> bool {
        if !self.probes
            || self.board.packets_out() == 0
            || !matches!(self.conn.ca_state, ca::OPEN | ca::CWR)
            || self.board.sacked_out > 0
        {
            if sets_timeout {
                self.arm_rto(net);
            }
            return false;
        }
        let srtt_us = self.rtt.srtt_us();
        let mut timeout_us = if srtt_us > 0 {
            // With a single packet in flight, allow for the delay of its ACK.
            2 * srtt_us
                + if self.board.packets_out() == 1 {
                    self.rtt.rto_min_us()
                } else {
                    2_000
                }
        } else {
            1_000_000
        };
        timeout_us = timeout_us.min(self.rtt.rto_us());
        let at_ns = net.now_ns + timeout_us * 1000;
        if sets_timeout && at_ns < self.timers[Timer::Retransmit as usize].scheduled_ns {
            self.arm_rto(net);
        }
        self.pending = Some(Pending::Probe);
        self.arm_retransmit(net, at_ns);
        true
    }

    /// Sends a new segment, or retransmits the last one, to detect a lost tail.
    pub(super) fn send_probe(&mut self, net: &mut Net) {
        if self.tlp_high_seq == 0 {
            let mss = u64::from(self.mss);
            let new = self.snd_nxt < self.write_end
                && self.snd_una + self.snd_wnd
                    >= self.snd_nxt + mss.min(self.write_end - self.snd_nxt);
            if new {
                let len = (self.write_end - self.snd_nxt).min(mss) as u32;
                let small = len < self.mss;
                self.send_new(net, len, false, small, HEAD);
                if self.writer_waits {
                    self.sk_buff_sent(net);
                }
                self.tlp_retrans = false;
                self.tlp_high_seq = self.snd_nxt;
            } else if self.board.packets_out() > 0 {
                let last = self.board.end() - 1;
                self.retransmit(net, last);
                self.tlp_retrans = true;
                self.tlp_high_seq = self.snd_nxt;
            }
        }
        self.arm_rto(net);
    }
}
