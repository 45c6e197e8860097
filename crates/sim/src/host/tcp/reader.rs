//! The receiving application. Arrived data waits in the receive buffer until the application reads
//! it. The window closes as the buffer fills (Linux __tcp_select_window), and a reader that frees
//! memory advertises the larger window (tcp_cleanup_rbuf).
//!
//! Without a `Reader`, the application reads everything immediately. Linux's handling of low memory
//! (pruning, collapsing, tcp_clamp_window) is not modelled.

use super::receiver::Receiver;
use super::state::reader::{Reader, Reading, READ_TIMER};
use super::Socket;
use crate::net::Net;

/// Minimum time between ACKs that answer segments outside the window (tcp_invalid_ratelimit,
/// linux-6).
const OUT_OF_WINDOW_GAP_NS: u64 = 500_000_000;

impl Receiver {
    /// Whether the window's right edge advances. Only then does the kernel itself acknowledge more
    /// than one segment immediately; otherwise the reader's call sends the ACK
    /// (__tcp_ack_snd_check).
    pub(super) fn edge_advances(&mut self) -> bool {
        self.reader.is_none() && !self.is_linux_6()
            || self.select_window() >= self.right_edge - self.acked
    }

    /// Whether a reader sends an ACK after reading (tcp_cleanup_rbuf).
    fn acks_after_read(&mut self) -> bool {
        let empty = self.taken_bytes() == 0;
        if self.ack_scheduled
            && (self.rcv_nxt - self.acked > u64::from(self.rcv_mss)
                || (self.pushed && !self.pingpong && empty))
        {
            return true;
        }
        self.window_doubles()
    }

    /// Whether the window after a read should be announced: it is at least twice the advertised
    /// window, which is at most half of the largest window (tcp_cleanup_rbuf).
    fn window_doubles(&mut self) -> bool {
        let now = self.right_edge.saturating_sub(self.rcv_nxt);
        let ended = |reader: &Reader| reader.fin_end <= self.rcv_nxt;
        if self.reader.as_deref().is_some_and(ended) || 2 * now > self.window_clamp {
            return false;
        }
        let window = self.select_window();
        window > 0 && window >= 2 * now
    }

    /// The next byte that the application will read, and how many arrived bytes wait to be read.
    pub(super) fn read_position(&self) -> (u64, u64) {
        match &self.reader {
            Some(reader) => (reader.copied, reader.waiting_bytes(self.rcv_nxt)),
            // The receive window is tuned when a call has read its first packet. A call that reads
            // everything finds several packets if one of them has filled a hole.
            None if self.is_linux_6() => (self.packet_end, self.rcv_nxt - self.packet_end),
            None => (self.rcv_nxt, 0),
        }
    }

    /// Whether the rate limit allows an ACK now that answers an old or unusable segment
    /// (tcp_oow_rate_limited).
    pub(super) fn answers_out_of_window(&mut self, now_ns: u64) -> bool {
        if self.is_linux_6()
            && self
                .answered_ns
                .is_some_and(|then_ns| now_ns - then_ns < OUT_OF_WINDOW_GAP_NS)
        {
            return false;
        }
        self.answered_ns = Some(now_ns);
        true
    }

    /// Records the sequence number after the peer's FIN.
    pub(super) fn fin_ends(&mut self, end: u64) {
        if let Some(reader) = &mut self.reader {
            reader.fin_end = end;
        }
    }
}

impl Socket {
    /// Makes the application read only when it calls [`Socket::read`] or [`Socket::splice`]. Call
    /// this before the connection opens.
    pub fn read_on_demand(&mut self) {
        self.receiver.reader = Reader::new(Reading::OnDemand, self.receiver.rcv_nxt);
    }

    /// Whether all sent data was within the window that `peer` advertised; for tests.
    pub fn within_window_of(&self, peer: &Socket) -> bool {
        self.snd_nxt <= peer.receiver.right_edge.max(peer.receiver.rcv_nxt)
    }

    /// Reads at most `most_bytes` that arrived in order. Returns how many were read.
    pub fn read(&mut self, net: &mut Net, most_bytes: u64) -> u64 {
        let rcv_nxt = self.receiver.rcv_nxt;
        let Some(reader) = &mut self.receiver.reader else {
            return 0;
        };
        // Linux tunes the receive window after each buffer that a call reads, and data that is
        // still unread counts against the growth. The first buffer of the call therefore decides
        // how far the window grows (tcp_recvmsg_locked, tcp_rcv_space_adjust).
        let first = reader.first_buffer_bytes();
        let (mut bytes, mut freed) = reader.take(rcv_nxt, most_bytes.min(first));
        if bytes > 0 {
            self.receiver.right_size(net.now_ns);
            if let Some(reader) = &mut self.receiver.reader {
                let rest = reader.take(rcv_nxt, most_bytes - bytes);
                (bytes, freed) = (bytes + rest.0, freed + rest.1);
            }
            self.after_read(net, freed);
        }
        bytes
    }

    /// Like [`Socket::read`], but into a pipe. Linux then tunes the window once, after reading
    /// (tcp_splice_read, tcp_read_sock).
    pub fn splice(&mut self, net: &mut Net, most_bytes: u64) -> u64 {
        let Some(reader) = &mut self.receiver.reader else {
            return 0;
        };
        let (bytes, freed) = reader.take(self.receiver.rcv_nxt, most_bytes);
        if bytes > 0 {
            self.receiver.right_size(net.now_ns);
            self.after_read(net, freed);
        }
        bytes
    }

    /// Frees the memory of the data that a call has read, and sends an ACK if one is due
    /// (tcp_cleanup_rbuf).
    fn after_read(&mut self, net: &mut Net, freed: u64) {
        self.receiver.unread_memory_bytes -= freed;
        self.receiver.edge_is_current = false;
        self.note_done(net);
        if self.receiver.acks_after_read() {
            self.send_ack(net);
        }
    }

    /// Lets an application that reads everything immediately read what has just arrived, after the
    /// kernel has sent its own ACKs (tcp_recvmsg).
    #[inline]
    pub(super) fn read_eagerly(&mut self, net: &mut Net) {
        if self.receiver.reader.is_none() && self.receiver.unread_memory_bytes > 0 {
            self.receiver.unread_memory_bytes = 0;
            self.receiver.edge_is_current = false;
            self.receiver.right_size(net.now_ns);
            if self.receiver.is_linux_6()
                && (self.receiver.ack_after_read || self.receiver.window_doubles())
            {
                self.send_ack(net);
            }
        }
    }

    /// Records the time if the application has now read all bytes that it expects.
    #[inline]
    pub(super) fn note_done(&mut self, net: &Net) {
        if self.read_bytes() == self.expected_bytes {
            self.done_ns.get_or_insert(net.now_ns);
        }
    }

    /// Bytes that the application has read.
    pub fn read_bytes(&self) -> u64 {
        if self.receiver.reader.is_some() {
            self.receiver.read_position().0 - 1
        } else {
            self.delivered_bytes
        }
    }

    /// Starts a reader that is called regularly. The first call is one interval after the
    /// connection opens.
    pub(super) fn start_reader(&mut self, net: &mut Net) {
        if let Some(interval_ns) = self.receiver.reader.as_ref().and_then(|r| r.interval_ns()) {
            net.set_timer(net.now_ns + interval_ns, self.id, READ_TIMER);
        }
    }

    /// Makes the regular reader read now.
    #[cold]
    pub(super) fn reader_timer_fired(&mut self, net: &mut Net) {
        let Some(reader) = &mut self.receiver.reader else {
            return;
        };
        reader.calls += 1;
        let portion = reader.portion();
        let next = reader.interval_ns();
        self.read(net, portion);
        let over = self.fin_arrived() && self.receiver.read_position().1 == 0;
        if let (Some(interval_ns), false) = (next, over) {
            net.set_timer(net.now_ns + interval_ns, self.id, READ_TIMER);
        }
    }

    /// Answers a segment without data from before the window, which is a zero-window probe. The
    /// sender learns the window from this answer (tcp_send_dupack).
    #[cold]
    pub(super) fn answer_old_segment(&mut self, net: &mut Net) {
        if self.receiver.answers_out_of_window(net.now_ns) {
            self.ack_owed_now(net);
        }
    }
}
