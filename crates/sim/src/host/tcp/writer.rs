//! The writer and its send buffer: what an application has handed over waits for room
//! as a blocking `write` does. The buffer grows with cwnd (Linux tcp_sndbuf_expand),
//! counts what its sk_buffs take (sk_wmem_queued), and wakes the writer when a third
//! of it is free (sk_stream_write_space).
//!
//! Writers are Linux's tcp_sendmsg with as much as there is, called again until there is
//! no room. They fill whole sk_buffs. The buffer counts only where one begins: the last one
//! is filled up whatever the buffer holds, and while it is the next to be sent, a large
//! segment of it leaves each time that it is full (tcp_push_one) and makes room for more. So
//! a writer that runs uses up the window, and ends with a full sk_buff that was not sent.
//! How the application cuts its data into calls does not show in that. `notsent_lowat`
//! is off, and memory pressure of the host is not modelled.

use super::limited::By;
use super::profile::Profile;
use super::segmentation::LARGEST_BYTES;
use super::{Socket, State};
use crate::net::Net;
use std::collections::VecDeque;

/// Largest send buffer (tcp_wmem).
const MAX_SEND_BUFFER_BYTES: u64 = 4 << 20;
/// Above this window of the peer a segment is at most half of it, below as much as it
/// (tcp_bound_to_half_wnd, TCP_MSS_DEFAULT).
const HALF_ABOVE_BYTES: u32 = 536;
/// The smallest segment, with its TCP header.
const LEAST_SEGMENT_BYTES: u32 = 68;
const IP_HEADER_BYTES: u32 = 20;

/// In the place of the end of a push.
const NO_PUSH: u64 = u64::MAX;

/// What a stack counts in its send buffers.
#[derive(Debug)]
pub struct SendBufferRule {
    /// Of a full segment, when the buffer is sized to two windows, bytes.
    pub per_mss_bytes: u64,
    /// Of an sk_buff beside its data, bytes.
    pub overhead_bytes: u64,
    /// Writers wait for room. Else only an explicit size makes them, and the size counts
    /// when an endless writer stops.
    pub limits: bool,
}

/// The application's end of a socket's sending half.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    /// Sequence number after the last byte that the application has or will write.
    app_end: u64,
    /// Where the last sk_buff that was not sent begins.
    tail_start: u64,
    /// Up to here all was pushed (pushed_seq).
    pushed_end: u64,
    /// Ends of what was pushed and is not sent: the packets that end there carry PSH
    /// (tcp_mark_push).
    unsent_pushes: VecDeque<u64>,
    /// The first of them or [`NO_PUSH`]: most packets ask for it and for nothing else.
    next_push: u64,
    /// Size of the buffer (sk_sndbuf).
    limit_bytes: u64,
    /// Data of an sk_buff that the writer fills (size_goal).
    goal_bytes: u32,
    /// Of those before the last, which were filled when that began.
    filled_bytes: u32,
    /// Largest window the peer has announced.
    max_window_bytes: u32,
    /// Writers wait for room.
    limits: bool,
    /// The size is the application's (SO_SNDBUF).
    fixed: bool,
    /// A FIN follows once all is written.
    closing: bool,
    /// The writer pushes the last sk_buff, which never waits for more (tcp_push_one).
    pub pushes_tail: bool,
}

impl SendBuffer {
    pub fn new(profile: &Profile, explicit_bytes: Option<u64>) -> SendBuffer {
        let rule = &profile.send_buffer;
        // Writers that wait begin when the connection is open.
        let at_first = if rule.limits {
            0
        } else {
            2 * u64::from(profile.initial_cwnd_pkts) * rule.per_mss_bytes
        };
        SendBuffer {
            app_end: 1,
            tail_start: 1,
            pushed_end: 1,
            unsent_pushes: VecDeque::new(),
            next_push: NO_PUSH,
            limit_bytes: explicit_bytes.unwrap_or(at_first),
            goal_bytes: 0,
            filled_bytes: 1,
            max_window_bytes: 0,
            limits: rule.limits || explicit_bytes.is_some(),
            fixed: explicit_bytes.is_some(),
            closing: false,
            pushes_tail: false,
        }
    }

    /// All up to `end` leaves: the end of the last push in it.
    #[inline(always)]
    pub fn take_pushes(&mut self, end: u64) -> Option<u64> {
        if end < self.next_push {
            return None;
        }
        self.take_pushes_up_to(end)
    }

    #[inline(never)]
    fn take_pushes_up_to(&mut self, end: u64) -> Option<u64> {
        let mut last = None;
        while self.unsent_pushes.front().is_some_and(|&push| push <= end) {
            last = self.unsent_pushes.pop_front();
        }
        self.note_next_push();
        last
    }

    fn note_next_push(&mut self) {
        self.next_push = self.unsent_pushes.front().copied().unwrap_or(NO_PUSH);
    }

    /// What leaves as one large segment has PSH at its end only, wherever in it a push ended
    /// (tcp_grow_skb).
    #[inline]
    pub fn merge_pushes(&mut self, segment_end: u64) {
        if self.take_pushes(segment_end).is_some() {
            self.unsent_pushes.push_front(segment_end);
            self.next_push = segment_end;
        }
    }
}

impl Socket {
    /// The application writes, and waits where there is no room. Nothing is sent until
    /// `pump`.
    pub fn write(&mut self, bytes: u64) {
        self.note_app_limited();
        self.buffer.app_end += bytes;
        self.fill();
    }

    /// The application will write without end.
    pub fn write_forever(&mut self) {
        self.note_app_limited();
        self.buffer.app_end = u64::MAX >> 2;
        self.fill();
    }

    /// The application stops writing. What is in the send buffer is still delivered, and
    /// a FIN follows. Where writers do not wait, the buffer of an endless one is full.
    pub fn stop(&mut self, net: &mut Net) {
        if !self.buffer.limits {
            let end = self.snd_nxt.max(self.snd_una + self.buffer.limit_bytes);
            self.write_end = self.write_end.min(end.max(1));
        }
        self.buffer.app_end = self.write_end;
        self.writer_waits = false;
        self.close(net);
    }

    /// A FIN follows the data.
    pub fn close(&mut self, net: &mut Net) {
        self.buffer.closing = true;
        self.fin_queued = self.write_end == self.buffer.app_end;
        self.pump(net);
    }

    /// The application ends its sending at this moment. The FIN goes with the last packet of data
    /// unless that was sent (tcp_send_fin).
    pub fn shut_down(&mut self, net: &mut Net) {
        self.fin_rides = self.snd_nxt < self.write_end;
        self.close(net);
    }

    /// The application has said that nothing more will come.
    pub(crate) fn closes(&self) -> bool {
        self.buffer.closing
    }

    /// The connection is open, and no earlier write waits for room.
    pub(crate) fn takes_writes(&self) -> bool {
        self.state == State::Established && !self.writer_waits
    }

    /// The writer does not wait (O_NONBLOCK): what of its write had no room is the application's
    /// again. Returns how much that is.
    pub(crate) fn take_back(&mut self) -> u64 {
        let bytes = self.buffer.app_end - self.write_end;
        self.buffer.app_end = self.write_end;
        bytes
    }

    /// What the application has written or is writing and was not sent yet: hints of the
    /// kernel (programs of writes) see the end of the present write, too.
    pub(super) fn app_unsent_bytes(&self) -> u64 {
        self.buffer.app_end.saturating_sub(self.snd_nxt.max(1))
    }

    /// Handed over by the application and not sent yet, as far as the buffer holds it.
    pub(super) fn unsent_bytes(&self) -> u64 {
        self.write_end.saturating_sub(self.snd_nxt.max(1))
    }

    /// The buffer grows to two windows of segments, or as many as a control that owns cwnd
    /// asks for (tcp_sndbuf_expand; tcp_new_space of 2.6), unless the application has set it.
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
        let limit = &mut self.buffer.limit_bytes;
        *limit = (*limit).max(bytes.min(MAX_SEND_BUFFER_BYTES));
    }

    /// Writers wait for room in this socket's buffer.
    pub(super) fn waits_for_room(&self) -> bool {
        self.buffer.limits
    }

    /// It is the application that does not fill the window: no writer waits
    /// (tcp_cwnd_application_limited asks for SOCK_NOSPACE).
    pub(super) fn writer_starves(&self) -> bool {
        if self.buffer.limits {
            !self.writer_waits
        } else {
            self.snd_nxt >= self.write_end
        }
    }

    /// The buffer of a connection that opens (tcp_init_buffer_space), and what a waiting
    /// writer puts into it.
    pub(super) fn open_send_buffer(&mut self) {
        self.grow_send_buffer();
        self.writer_waits = false;
        self.fill();
    }

    /// The peer's window is larger than ever: so may packets be (tcp_sync_mss), and large
    /// segments (tcp_xmit_size_goal).
    #[inline]
    pub(super) fn peer_window_grew(&mut self) {
        if self.snd_wnd > u64::from(self.buffer.max_window_bytes) {
            self.buffer.max_window_bytes = u32::try_from(self.snd_wnd).unwrap_or(u32::MAX);
            if u64::from(self.buffer.goal_bytes) + u64::from(self.mss) <= LARGEST_BYTES {
                self.bound_mss();
                self.set_size_goal();
            }
        }
    }

    /// The largest segment for the largest window that the peer has announced. 2.6 halves
    /// every window.
    fn half_window_bytes(&self) -> u32 {
        let window = self.buffer.max_window_bytes;
        if self.profile.counts_acks || window > HALF_ABOVE_BYTES {
            window / 2
        } else {
            window
        }
    }

    /// A packet is at most half of the peer's largest window.
    fn bound_mss(&mut self) {
        let full = self.options.segment_bytes();
        let headers = self.options.mtu_bytes - full;
        let least = LEAST_SEGMENT_BYTES + IP_HEADER_BYTES - headers;
        let most = self.half_window_bytes().max(least).min(full);
        let own_header = self.conn.header_bytes - headers;
        self.mss = most - own_header;
        self.conn.mss_bytes = self.mss;
    }

    fn set_size_goal(&mut self) {
        let most = if self.sends_large {
            LARGEST_BYTES.min(u64::from(self.half_window_bytes()))
        } else {
            0
        };
        let mss = u64::from(self.mss);
        self.buffer.goal_bytes = ((most / mss).max(1) * mss) as u32;
    }

    /// The writer fills sk_buffs of several packets, and waits for room.
    pub(super) fn fills_large(&self) -> bool {
        self.buffer.limits && self.profile.segments_are_large
    }

    /// What the send queue takes of the buffer (sk_wmem_queued): data, and for every
    /// sk_buff its overhead. Sent ones are as large as they were sent, others as the
    /// writer fills them.
    fn send_queue_bytes(&self) -> u64 {
        let unsent = self.unsent_bytes();
        let goal = u64::from(self.buffer.goal_bytes.max(1));
        let waiting = if self.fills_large() {
            let before = self.buffer.tail_start.saturating_sub(self.snd_nxt);
            u64::from(unsent > 0) + before.div_ceil(u64::from(self.buffer.filled_bytes))
        } else {
            unsent.div_ceil(goal)
        };
        let heads = u64::from(self.board.heads) + waiting;
        self.write_end - self.snd_una.clamp(1, self.write_end)
            + heads * self.profile.send_buffer.overhead_bytes
    }

    /// Bytes of the sk_buff that would be sent next.
    pub(super) fn head_bytes(&self) -> u64 {
        let before = self.buffer.tail_start.saturating_sub(self.snd_nxt);
        if !self.fills_large() {
            self.unsent_bytes().min(u64::from(self.mss))
        } else if before > 0 {
            (before - 1) % u64::from(self.buffer.filled_bytes) + 1
        } else {
            self.unsent_bytes()
        }
    }

    /// End of the sk_buff that would be sent next, its FIN included.
    pub(super) fn next_head_end(&self) -> u64 {
        let end = self.snd_nxt + self.head_bytes();
        end + u64::from(self.fin_queued && end == self.write_end)
    }

    /// What is written begins with a full sk_buff, which is pushed before the next one is filled
    /// (tcp_sendmsg_locked, tcp_push_one).
    pub(super) fn is_pushed_alone(&self) -> bool {
        self.unsent_bytes() >= u64::from(self.buffer.goal_bytes)
    }

    /// The writer writes as long as there is room; of large sk_buffs the first, and goes on
    /// in `run_writer`.
    fn fill(&mut self) {
        let end = self.buffer.app_end;
        if self.fills_large() {
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
        self.buffer.filled_bytes = self.buffer.goal_bytes.max(1);
        let goal = u64::from(self.buffer.goal_bytes);
        self.buffer.tail_start = self.write_end;
        self.write_end = self.buffer.app_end.min(self.write_end + goal);
    }

    /// A writer of large sk_buffs writes until there is no room, and what the windows allow
    /// is sent as it goes (tcp_sendmsg_locked).
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
                } else if self.buffer.tail_start <= self.snd_nxt {
                    self.push_tail(net);
                }
                if self.snd_nxt > before && self.snd_nxt < self.write_end {
                    continue;
                }
                if self.write_end >= end {
                    break;
                }
            }
            if self.send_queue_bytes() >= self.buffer.limit_bytes {
                self.mark_pushed();
                self.writer_waits = true;
                break;
            }
            self.begin_sk_buff();
            is_new_call = false;
        }
        if self.write_end == end {
            self.mark_pushed();
        }
        let fin = self.buffer.closing && self.write_end == end;
        if fin && !self.fin_queued {
            self.fin_queued = true;
            self.push_pending(net);
        }
    }

    /// The writer pushes all that it has written: what was not sent ends with PSH.
    fn mark_pushed(&mut self) {
        self.buffer.pushed_end = self.write_end;
        let pushes = &mut self.buffer.unsent_pushes;
        if self.snd_nxt < self.write_end && pushes.back() != Some(&self.write_end) {
            pushes.push_back(self.write_end);
            self.buffer.note_next_push();
        }
    }

    /// All is pushed where so much was written since the last time: half of the largest window
    /// (forced_push).
    fn forced_push_from(&self) -> u64 {
        self.buffer.pushed_end + u64::from(self.buffer.max_window_bytes) / 2
    }

    /// Fills up the last sk_buff, of data up to `end`. A new call of the writer takes its push
    /// back.
    fn fill_tail(&mut self, end: u64, is_new_call: bool) {
        let tail = self.buffer.tail_start.max(self.snd_nxt);
        let full = tail + u64::from(self.buffer.goal_bytes);
        let new_end = end.min(self.write_end.max(full));
        let pushes = &mut self.buffer.unsent_pushes;
        if new_end > self.write_end && pushes.back() == Some(&self.write_end) {
            // The sk_buff that was pushed goes on.
            pushes.pop_back();
            if !is_new_call {
                pushes.push_back(new_end);
            }
            self.buffer.note_next_push();
        }
        self.write_end = new_end;
    }

    /// The last sk_buff is the next to be sent, and full. A large segment of it leaves and it
    /// is filled up (tcp_push_one), until the window is used up or all is pushed.
    fn push_tail(&mut self, net: &mut Net) {
        let (full, end) = (self.write_end, self.buffer.app_end);
        let goal = u64::from(self.buffer.goal_bytes);
        // The size of the first was decided before the control heard of the transmission.
        let (pkts, starts) = match self.starting_pkts {
            0 => (self.largest_segment_pkts(), false),
            pkts => (pkts, true),
        };
        let large = u64::from(pkts) * u64::from(self.mss);
        if large >= goal {
            self.push_pending(net);
            return;
        }
        // As if the writer had written all that it will have by then.
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

    /// A writer waits, and an acknowledgement may have made room (tcp_new_space).
    pub(super) fn new_space(&mut self, net: &mut Net) {
        if !self.buffer.fixed && self.board.in_flight() < self.conn.cwnd_pkts {
            self.grow_send_buffer();
            self.cwnd_stamp_ns = net.now_ns;
        }
        let limit = self.buffer.limit_bytes;
        let data = self.write_end - self.snd_una.clamp(1, self.write_end);
        // Most of the time the data alone are too much; what counts then is never asked.
        if 3 * data > 2 * limit || 3 * self.send_queue_bytes() > 2 * limit {
            return;
        }
        self.writer_waits = false;
        if self.limited.by == By::Buffer {
            self.limited.set(net.now_ns, By::Nothing);
        }
        // The next call begins (tcp_sendmsg_locked): it may find that all has left.
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
