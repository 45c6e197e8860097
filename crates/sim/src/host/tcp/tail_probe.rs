//! Tail loss probes (RFC 8985 section 7 as in Linux).

use super::scoreboard::HEAD;
use super::{ca, Pending, Socket, Timer};
use crate::net::Net;

impl Socket {
    /// Arms a tail loss probe instead of the RTO, if the profile has probes
    /// (tcp_schedule_loss_probe). Returns whether it armed one.
    ///
    /// A probe after an ACK is due at the latest when a timeout would be that starts now.
    pub(super) fn schedule_probe(&mut self, net: &mut Net) -> bool {
        if !self.may_probe() {
            return false;
        }
        let at_ns = self.probe_ns(net, net.now_ns + self.rtt.rto_us() * 1000);
        self.pending = Some(Pending::Probe);
        self.arm_retransmit(net, at_ns);
        true
    }

    /// Arms a tail loss probe after new data was sent. It is due at the latest when the oldest packet
    /// times out, unless that time has passed.
    ///
    /// With `sets_timeout`, Linux would first arm the RTO and then replace it by the probe. The RTO is
    /// armed here only if no probe follows, or if arming it adds an event: this keeps the order of
    /// events.
    pub(super) fn schedule_probe_after_data(&mut self, net: &mut Net, sets_timeout: bool) {
        if !self.may_probe() {
            if sets_timeout {
                self.rearm_rto(net);
            }
            return;
        }
        let at_ns = Some(self.timeout_of_head_ns(net)).filter(|&at_ns| at_ns > net.now_ns);
        let at_ns = self.probe_ns(net, at_ns.unwrap_or(u64::MAX));
        if sets_timeout && at_ns < self.timers[Timer::Retransmit as usize].scheduled_ns {
            self.arm_rto(net);
        }
        self.pending = Some(Pending::Probe);
        self.arm_retransmit(net, at_ns);
    }

    fn may_probe(&self) -> bool {
        self.probes
            && self.board.packets_out() > 0
            && matches!(self.conn.ca_state, ca::OPEN | ca::CWR)
            && self.board.sacked_out == 0
    }

    /// When a probe that is armed now is due, at most at `limit_ns`.
    fn probe_ns(&self, net: &Net, limit_ns: u64) -> u64 {
        let srtt_us = self.rtt.srtt_us();
        let timeout_us = if srtt_us > 0 {
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
        limit_ns.min(net.now_ns + timeout_us * 1000)
    }

    /// Sends a new segment, or retransmits the last one, to detect a lost tail.
    pub(super) fn send_probe(&mut self, net: &mut Net) {
        if self.tlp_high_seq != 0 {
            // the previous probe is not answered yet
            self.rearm_rto_of_head(net);
            return;
        }
        let mss = u64::from(self.mss);
        let new = self.snd_nxt < self.write_end
            && self.snd_una + self.snd_wnd >= self.snd_nxt + mss.min(self.write_end - self.snd_nxt);
        if new {
            let len = (self.write_end - self.snd_nxt).min(mss) as u32;
            let small = len < self.mss;
            self.send_new(net, len, false, small, HEAD);
            if self.writer_waits {
                self.sk_buff_sent(net);
            }
            self.tlp_retrans = false;
            self.tlp_high_seq = self.snd_nxt;
        } else if self.fin_waits() {
            self.send_new(net, 1, true, false, HEAD);
            self.tlp_retrans = false;
            self.tlp_high_seq = self.snd_nxt;
        } else if self.board.packets_out() > 0 {
            let last = self.board.end() - 1;
            self.retransmit(net, last);
            self.tlp_retrans = true;
            self.tlp_high_seq = self.snd_nxt;
        }
        self.arm_rto(net);
    }

    /// Whether a FIN without data is the next to be sent and only cwnd holds it back.
    fn fin_waits(&self) -> bool {
        self.fin_queued
            && !self.fin_sent
            && self.snd_nxt >= self.write_end
            && self.may_close()
            && self.snd_una + self.snd_wnd > self.snd_nxt
    }
}
