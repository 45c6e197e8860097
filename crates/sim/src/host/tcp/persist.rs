//! Zero-window probes, sent while nothing is in flight and the waiting data does not fit the peer's
//! window (Linux tcp_check_probe_timer, tcp_send_probe0, tcp_write_wakeup, tcp_ack_probe).
//! Unanswered probes never end the connection.

use super::profile::MAX_RTO_US;
use super::scoreboard::{HEAD, PUSH};
use super::{Pending, Socket, Timer};
use crate::net::Net;

/// How many doublings of the probe interval are counted (tcp_retries2). MAX_DOUBLINGS doublings of
/// the shortest timeout exceed the longest one (tcp_probe0_when).
const MAX_COUNTED: u8 = 15;
const MAX_DOUBLINGS: u8 = 10;

impl Socket {
    /// Starts to send zero-window probes: the peer's window has closed, and no packet is in flight
    /// whose ACK could report a larger window.
    #[cold]
    pub(super) fn start_persisting(&mut self, net: &mut Net) {
        self.persist_backoff = 0;
        self.arm_persist(net);
    }

    fn arm_persist(&mut self, net: &mut Net) {
        let interval_us = self.rtt.rto_us() << self.persist_backoff.min(MAX_DOUBLINGS);
        self.pending = Some(Pending::Persist);
        let at_ns = net.now_ns + interval_us.min(MAX_RTO_US) * 1000;
        self.arm_retransmit(net, at_ns);
    }

    /// Whether data or a FIN waits to be sent.
    fn waits_to_send(&self) -> bool {
        self.snd_nxt < self.write_end || self.fin_queued && !self.fin_sent
    }

    /// Sends a zero-window probe when the persist timer has fired. If the peer's window has room
    /// for a part of the next segment, the probe is this part. Otherwise it is an empty segment
    /// with a sequence number before the window, which elicits an ACK.
    #[cold]
    pub(super) fn persist_timer_fired(&mut self, net: &mut Net) {
        if self.board.packets_out() > 0 || !self.waits_to_send() {
            return;
        }
        let room = (self.snd_una + self.snd_wnd).saturating_sub(self.snd_nxt);
        if room > 0 && self.snd_nxt < self.write_end {
            let len = room
                .min(u64::from(self.mss))
                .min(self.write_end - self.snd_nxt);
            self.send_new(net, len as u32, false, false, HEAD | PUSH);
            self.arm_rto(net);
            return;
        }
        self.counters.zero_window_probes += 1;
        self.emit(net, self.snd_una - 1, 0, 0);
        self.persist_backoff = (self.persist_backoff + 1).min(MAX_COUNTED);
        self.arm_persist(net);
    }

    /// Processes an ACK that arrives while zero-window probes are being sent. If the window has
    /// room for the next sk_buff, the persist timer stops; otherwise it restarts.
    #[cold]
    pub(super) fn persist_answered(&mut self, net: &mut Net) {
        if !self.waits_to_send() {
            return;
        }
        let next_end = self.next_head_end();
        if next_end <= self.snd_una + self.snd_wnd {
            self.persist_backoff = 0;
            self.pending = None;
            self.disarm(Timer::Retransmit);
        } else {
            self.arm_persist(net);
        }
    }
}
