//! The writer and its send buffer. Data that an application writes waits for room, as in a blocking
//! `write`. The buffer grows with cwnd (Linux tcp_sndbuf_expand), counts the memory of its sk_buffs
//! (sk_wmem_queued), and wakes the writer when a third of it is free (sk_stream_write_space).
//!
//! Writers model tcp_sendmsg: they write all available data, and are called again until no room is
//! left. They fill whole sk_buffs. The buffer's limit is checked only when a new sk_buff begins;
//! the last sk_buff is always filled. While the last sk_buff is the next to be sent, a large
//! segment of it is sent each time that it is full (tcp_push_one), which makes room for more. A
//! running writer therefore uses up the window and ends with a full unsent sk_buff. The result does
//! not depend on how the application divides its data into calls. Low memory of the host is not
//! modelled.

use super::limited::LimitedBy;
use super::segmentation::LARGEST_BYTES;
use super::{Socket, State};
use crate::net::Net;

/// If the peer's largest window exceeds this, a segment is at most half of that window; otherwise
/// at most the whole window (tcp_bound_to_half_wnd, TCP_MSS_DEFAULT).
const HALF_ABOVE_BYTES: u32 = 536;
/// The smallest segment, including its TCP header.
const LEAST_SEGMENT_BYTES: u32 = 68;
const IP_HEADER_BYTES: u32 = 20;

impl Socket {
    /// Writes data for the application. The write waits if the buffer has no room. `pump` sends the
    /// data.
    pub fn write(&mut self, bytes: u64) {
        self.note_app_limited();
        self.buffer.app_end += bytes;
        self.fill();
    }

    /// Makes the application write without end.
    pub fn write_forever(&mut self) {
        self.note_app_limited();
        self.buffer.app_end = u64::MAX >> 2;
        self.fill();
    }

    /// Stops the writer. Data in the send buffer is still delivered, followed by a FIN. If writers
    /// do not wait, the buffer of an endless writer counts as full.
    pub fn stop(&mut self, net: &mut Net) {
        if !self.buffer.limits {
            let end = self.snd_nxt.max(self.snd_una + self.buffer.limit_bytes);
            self.write_end = self.write_end.min(end.max(1));
        }
        self.buffer.app_end = self.write_end;
        self.writer_waits = false;
        self.buffer.woken = false;
        self.close(net);
    }

    /// Closes the socket: a FIN follows the data. In linux-6 the application waits until all data
    /// is acknowledged, as the kernel backend's programs do.
    pub fn close(&mut self, net: &mut Net) {
        self.closes_when_acked = self.profile.segments_are_large;
        self.send_fin(net);
    }

    fn send_fin(&mut self, net: &mut Net) {
        self.buffer.closing = true;
        self.fin_queued = self.write_end == self.buffer.app_end;
        self.pump(net);
    }

    /// Ends the application's sending now. The FIN is sent with the last data packet, unless that
    /// was sent already (tcp_send_fin).
    pub fn shut_down(&mut self, net: &mut Net) {
        self.fin_with_last_data = self.snd_nxt < self.write_end;
        self.send_fin(net);
    }

    /// Whether the application has closed this end.
    pub(crate) fn has_closed(&self) -> bool {
        self.buffer.closing
    }

    /// Whether the connection is open and no earlier write waits for room.
    pub(crate) fn takes_writes(&self) -> bool {
        self.state == State::Established && !self.writer_waits
    }

    /// For a writer that does not wait (O_NONBLOCK): gives the part of its write that the buffer
    /// had no room for back to the application. Returns the number of bytes given back.
    pub(crate) fn withdraw_unbuffered(&mut self) -> u64 {
        let bytes = self.buffer.app_end - self.write_end;
        self.buffer.app_end = self.write_end;
        bytes
    }

    /// Unsent bytes that the application has written or is writing. The rest of a write counts,
    /// because on a kernel the eBPF program that runs at a write counts it, too. It does so for fast
    /// startups only.
    pub(super) fn app_unsent_bytes(&self) -> u64 {
        self.buffer.app_end.saturating_sub(self.snd_nxt.max(1))
    }

    /// Number of unsent bytes in the send buffer.
    pub(super) fn unsent_bytes(&self) -> u64 {
        self.write_end.saturating_sub(self.snd_nxt.max(1))
    }

    /// Unless the application has set the buffer's size, grows the buffer to two windows of
    /// segments. A control that sets cwnd itself may ask for another number of windows
    /// (tcp_sndbuf_expand; tcp_new_space of 2.6).
    pub(super) fn grow_send_buffer(&mut self) {
        if self.buffer.fixed {
            return;
        }
        let rule = &self.profile.send_buffer;
        let mut pkts = self.conn.cwnd_pkts.max(self.profile.initial_cwnd_pkts);
        if self.buffer.limits {
            pkts = pkts.max(self.reordering + 1);
        }
        let windows = match self.rates {
            Some(_) => u64::from(self.control.control().send_windows),
            None => 2,
        };
        let bytes = windows * u64::from(pkts) * rule.per_mss_bytes;
        let most = self.buffer.most_bytes;
        let limit = &mut self.buffer.limit_bytes;
        *limit = (*limit).max(bytes.min(most));
    }

    /// Whether writers wait for room in this socket's buffer.
    pub(super) fn waits_for_room(&self) -> bool {
        self.buffer.limits
    }

    /// Whether the application does not fill the window: no writer waits for room
    /// (tcp_cwnd_application_limited checks SOCK_NOSPACE).
    pub(super) fn writer_leaves_window_unused(&self) -> bool {
        if self.buffer.limits {
            !self.writer_waits || self.buffer.woken
        } else {
            self.snd_nxt >= self.write_end
        }
    }

    /// Sets the size of the send buffer when the connection opens (tcp_init_buffer_space). A writer
    /// that waits fills the buffer.
    pub(super) fn open_send_buffer(&mut self) {
        self.grow_send_buffer();
        self.writer_waits = false;
        self.fill();
    }

    /// Handles a new largest window of the peer: packets may become larger (tcp_sync_mss), and so
    /// may large segments (tcp_xmit_size_goal).
    #[inline]
    pub(super) fn peer_window_grew(&mut self) {
        // Until then, no window limits the size of segments.
        let opens = self.buffer.max_window_bytes == 0;
        if self.snd_wnd > u64::from(self.buffer.max_window_bytes) || opens {
            self.buffer.max_window_bytes = u32::try_from(self.snd_wnd).unwrap_or(u32::MAX);
            if opens || u64::from(self.buffer.goal_bytes) + u64::from(self.mss) <= LARGEST_BYTES {
                self.resize_segments();
            }
        }
    }

    /// Adapts the size of segments to the peer's largest window and to the headers of packets.
    pub(super) fn resize_segments(&mut self) {
        self.bound_mss();
        self.set_size_goal();
    }

    /// The largest segment that the peer's largest window allows. linux-2.6 uses half of the
    /// window, however small it is.
    fn half_window_bytes(&self) -> u32 {
        let window = self.buffer.max_window_bytes;
        if window == 0 {
            // A peer that has never opened its window limits nothing.
            return u32::MAX;
        }
        if self.profile.counts_acks || window > HALF_ABOVE_BYTES {
            window / 2
        } else {
            window
        }
    }

    /// Limits packets to the path's MTU and to half of the peer's largest window (tcp_sync_mss).
    pub(super) fn bound_mss(&mut self) {
        let full = self.options.segment_bytes();
        let headers = self.options.mtu_bytes - full;
        let least = LEAST_SEGMENT_BYTES + IP_HEADER_BYTES - headers;
        let most = self.half_window_bytes().max(least).min(full);
        let own_header = self.conn.header_bytes - headers;
        self.mss = most - own_header;
        self.conn.mss_bytes = self.mss;
    }

    /// Payload of a full packet, beside the SACK blocks that it would carry now (tcp_current_mss).
    fn current_mss(&self) -> u32 {
        self.mss - self.receiver.sack_option_bytes(self.max_sack_blocks())
    }

    /// Sets the size to which the writer fills sk_buffs (tcp_xmit_size_goal).
    pub(super) fn set_size_goal(&mut self) {
        let most = if self.sends_large {
            LARGEST_BYTES.min(u64::from(self.half_window_bytes()))
        } else {
            0
        };
        let mss = u64::from(self.current_mss());
        self.buffer.goal_bytes = ((most / mss).max(1) * mss) as u32;
    }

    /// Whether the writer fills sk_buffs of several packets and waits for room.
    pub(super) fn fills_large(&self) -> bool {
        self.buffer.limits && self.profile.segments_are_large
    }

    /// Memory of the send queue (sk_wmem_queued): the data, and an overhead for every sk_buff. Sent
    /// sk_buffs have the size with which they were sent, unsent ones the size that the writer gives
    /// them.
    fn send_queue_bytes(&self) -> u64 {
        let unsent = self.unsent_bytes();
        let goal = u64::from(self.buffer.goal_bytes.max(1));
        let waiting = if unsent > 0 && self.fills_large() {
            self.buffer.unsent_sk_buffs(self.snd_nxt)
        } else {
            unsent.div_ceil(goal)
        };
        let heads = u64::from(self.board.heads) + waiting;
        self.write_end - self.snd_una.clamp(1, self.write_end)
            + heads * self.profile.send_buffer.overhead_bytes
    }

    /// Bytes of the sk_buff that would be sent next.
    pub(super) fn head_bytes(&self) -> u64 {
        if !self.fills_large() {
            return self.unsent_bytes().min(u64::from(self.mss));
        }
        let end = self.buffer.unsent_head_end(self.snd_nxt, self.write_end);
        end - self.snd_nxt.clamp(1, end)
    }

    /// End of the sk_buff that would be sent next, including its FIN.
    pub(super) fn next_head_end(&self) -> u64 {
        let end = self.snd_nxt + self.head_bytes();
        end + u64::from(self.fin_queued && end == self.write_end)
    }

    /// Whether the unsent data begins with a full sk_buff. It is pushed before the writer fills the
    /// next one (tcp_sendmsg_locked, tcp_push_one).
    pub(super) fn is_pushed_alone(&self) -> bool {
        self.unsent_bytes() >= u64::from(self.buffer.goal_bytes)
    }

    /// Writes as long as the send buffer has room. If sk_buffs have several packets, it fills only
    /// the first one; `run_writer` continues.
    fn fill(&mut self) {
        let end = self.buffer.app_end;
        if self.fills_large() {
            self.set_size_goal(); // tcp_send_mss, at each call of the writer
            let is_empty = self.snd_nxt >= self.write_end;
            if !self.writer_waits && is_empty && self.send_queue_bytes() < self.buffer.limit_bytes {
                self.begin_sk_buff();
            }
        } else if self.buffer.limits {
            if self.writer_waits {
                return;
            }
            let limit = self.buffer.limit_bytes;
            let queued = self.send_queue_bytes();
            if queued < limit {
                let goal = u64::from(self.buffer.goal_bytes);
                let per_head = goal + self.profile.send_buffer.overhead_bytes;
                let bytes = (limit - queued).div_ceil(per_head) * goal;
                self.write_end = end.min(self.write_end + bytes);
            }
            self.writer_waits = self.write_end < end;
        } else {
            self.write_end = end;
        }
        self.fin_queued = self.buffer.closing && self.write_end == end;
    }

    fn begin_sk_buff(&mut self) {
        let goal = u64::from(self.buffer.goal_bytes);
        self.buffer.begin_sk_buff(self.write_end, self.snd_nxt);
        self.write_end = self.buffer.app_end.min(self.write_end + goal);
    }

    /// Runs a writer that fills large sk_buffs until the send buffer has no room. What the windows
    /// allow is sent meanwhile (tcp_sendmsg_locked).
    #[inline(never)]
    pub(super) fn run_writer(&mut self, net: &mut Net) {
        let end = self.buffer.app_end;
        if !self.fills_large() || self.writer_waits || self.state != State::Established {
            return;
        }
        let mut is_new_call = true;
        while self.write_end < end {
            if self.snd_nxt < self.write_end {
                let before = self.snd_nxt;
                self.fill_tail(end, std::mem::take(&mut is_new_call));
                if self.write_end == end {
                    self.mark_pushed();
                }
                if self.write_end > self.forced_push_from() {
                    self.mark_pushed();
                    self.push_pending(net);
                } else if self.buffer.tail_start() <= self.snd_nxt {
                    self.push_tail(net);
                }
                if self.snd_nxt > before && self.snd_nxt < self.write_end {
                    continue;
                }
                if self.write_end >= end {
                    break;
                }
            }
            if self.send_queue_bytes() >= self.buffer.limit_bytes
                || self.unsent_bytes() >= self.buffer.lowat_bytes
            {
                self.mark_pushed();
                self.writer_waits = true;
                break;
            }
            self.begin_sk_buff();
            is_new_call = false;
        }
        if self.write_end == end {
            self.mark_pushed();
            // tcp_poll
            self.buffer.polled_full = self.options.interactive && !self.has_room();
        }
        let fin = self.buffer.closing && self.write_end == end;
        if fin && !self.fin_queued {
            self.fin_queued = true;
            self.push_pending(net);
        }
    }

    /// Pushes all written data: the unsent part ends with PSH. If everything was sent, no sk_buff
    /// can be marked, and the push does not count (tcp_push).
    fn mark_pushed(&mut self) {
        if self.snd_nxt >= self.write_end {
            return;
        }
        self.buffer.pushed_end = self.write_end;
        let pushes = &mut self.buffer.unsent_pushes;
        if pushes.back() != Some(&self.write_end) {
            pushes.push_back(self.write_end);
            self.buffer.note_next_push();
        }
    }

    /// The sequence number from which on all data is pushed, because half of the peer's largest
    /// window was written since the last push (forced_push).
    fn forced_push_from(&self) -> u64 {
        self.buffer.pushed_end + u64::from(self.buffer.max_window_bytes) / 2
    }

    /// Fills the last sk_buff with data up to `end`. A new call of the writer removes the PSH that
    /// the previous call set at the end of this sk_buff.
    fn fill_tail(&mut self, end: u64, is_new_call: bool) {
        let tail = self.buffer.tail_start().max(self.snd_nxt);
        let full = tail + u64::from(self.buffer.goal_bytes);
        let new_end = end.min(self.write_end.max(full));
        let pushes = &mut self.buffer.unsent_pushes;
        if new_end > self.write_end && pushes.back() == Some(&self.write_end) {
            // The last sk_buff had PSH at its end and now gets more data.
            pushes.pop_back();
            if !is_new_call {
                pushes.push_back(new_end);
            }
            self.buffer.note_next_push();
        }
        self.write_end = new_end;
    }

    /// Processes a full last sk_buff that is also the next to be sent: sends large segments of it
    /// and refills it (tcp_push_one), until the window is used up or all data is pushed.
    fn push_tail(&mut self, net: &mut Net) {
        let (full, end) = (self.write_end, self.buffer.app_end);
        let goal = u64::from(self.buffer.goal_bytes);
        // The size of the first segment was decided before the control was told that a transmission
        // starts.
        let (pkts, starts) = match self.starting_pkts {
            0 => (self.largest_segment_pkts(), false),
            pkts => (pkts, true),
        };
        let large = u64::from(pkts) * u64::from(self.current_mss());
        if large >= goal {
            self.push_pending(net);
            return;
        }
        // The code assumes that the writer has already written all that it will write before the
        // next forced push.
        let until = (self.forced_push_from() + 1).saturating_sub(goal);
        let segments = if starts {
            1
        } else {
            until.saturating_sub(self.snd_nxt).div_ceil(large).max(1)
        };
        self.write_end = end.min(self.snd_nxt + segments * large);
        self.buffer.pushes_tail = true;
        self.push_pending(net);
        self.buffer.pushes_tail = false;
        self.write_end = full.max(self.snd_nxt);
        self.fill_tail(end, false);
    }

    /// Grows the buffer of a waiting writer if cwnd has room. Returns whether to wake the writer
    /// now (tcp_new_space).
    fn wakes_writer(&mut self, net: &Net) -> bool {
        if !self.buffer.fixed && self.board.in_flight() < self.conn.cwnd_pkts {
            self.grow_send_buffer();
            self.cwnd_stamp_ns = net.now_ns;
        }
        if !self.has_room() {
            return false;
        }
        if self.limited.by == LimitedBy::Buffer {
            self.limited.set(net.now_ns, LimitedBy::Nothing);
        }
        true
    }

    /// Whether at least a third of the send buffer is free (sk_stream_min_wspace), and less than half
    /// of tcp_notsent_lowat is unsent (__sk_stream_is_writeable).
    pub(crate) fn has_room(&self) -> bool {
        if 2 * self.unsent_bytes() >= self.buffer.lowat_bytes {
            return false;
        }
        let limit = self.buffer.limit_bytes;
        let data = self.write_end - self.snd_una.clamp(1, self.write_end);
        // In most cases the data alone exceeds the limit, so the overhead of sk_buffs need not be
        // computed.
        3 * data <= 2 * limit && 3 * self.send_queue_bytes() <= 2 * limit
    }

    /// Grows the buffer after an acknowledgement, if the application waits for events.
    #[cold]
    pub(super) fn grow_polled(&mut self, net: &Net) {
        self.buffer.polled_full = !self.wakes_writer(net);
    }

    /// Checks for room in the buffer after an sk_buff of new data was sent. Between two sk_buffs
    /// cwnd is not yet used up, so the buffer may grow and the writer be woken
    /// (tcp_event_new_data_sent since Linux 5.19).
    #[inline(never)]
    pub(super) fn sk_buff_sent(&mut self, net: &Net) {
        if self.fills_large() && !self.buffer.woken {
            self.buffer.woken = self.wakes_writer(net);
        }
    }

    /// Continues the writer if [`Self::sk_buff_sent`] has woken it.
    pub(super) fn continue_woken_writer(&mut self, net: &mut Net) {
        if self.buffer.woken {
            self.writer_writes(net);
        }
    }

    /// Wakes a waiting writer if an acknowledgement has made room (tcp_new_space).
    pub(super) fn new_space(&mut self, net: &mut Net) {
        if self.buffer.woken || self.wakes_writer(net) {
            self.writer_writes(net);
        }
    }

    fn writer_writes(&mut self, net: &mut Net) {
        self.buffer.woken = false;
        self.writer_waits = false;
        // The writer's next call begins (tcp_sendmsg_locked). All data may already be sent by then.
        self.note_app_limited();
        let before = self.write_end;
        self.fill();
        self.run_writer(net);
        if self.write_end > before {
            self.limited.writes = true;
            self.push_pending(net);
            self.limited.writes = false;
        }
        self.signals.writable = !self.writer_waits;
    }
}
