//! The receiver's window: the size of its buffer, the free part of it, and how both grow. Follows
//! Linux's tcp_select_initial_window, tcp_init_buffer_space, tcp_grow_window, tcp_rcv_space_adjust,
//! tcp_clamp_window and __tcp_select_window.

use super::first_sizes::{window_of, FirstSizes};
use super::{memory_of, room_of, Held, Receiver};
use crate::host::tcp::SocketOptions;

impl Receiver {
    /// Rounds a window up to the unit in which it is announced.
    fn round_up(&self, window: u64) -> u64 {
        window.next_multiple_of(1 << self.scale)
    }

    /// The largest window that 16 bits can announce.
    fn largest_window(&self) -> u64 {
        0xffff << self.scale
    }

    fn window_of(&self, buffer_bytes: u64) -> u64 {
        window_of(buffer_bytes, self.window_part)
    }

    /// Bytes of the buffer that unread data and data behind holes occupy.
    pub(in crate::host::tcp) fn taken_bytes(&self) -> u64 {
        self.unread_memory_bytes + self.held_memory_bytes
    }

    /// Sets the window that the SYN advertises, as a number of segments of `mss` bytes.
    pub fn set_syn_window(&mut self, mss: u32, options: &SocketOptions) {
        let first_window = FirstSizes::of(self.profile, mss, options).first_window;
        self.right_edge = self.acked + first_window;
        self.edge_is_current = false;
        self.window_threshold = first_window.min(self.window_clamp);
        self.tuning.space = self.tuning.space.min(first_window);
    }

    /// Limits the receiver to what both ends of the connection support. Its own segments have at
    /// most `mss` bytes. Without window scaling the window is a number of 16 bits.
    pub fn agree(&mut self, mss: u32, options: &SocketOptions) {
        (self.sack, self.timestamps, self.mss) = (options.sack, options.timestamps, mss);
        if !options.rules.window_scaling {
            self.scale = 0;
            self.window_clamp = self.window_clamp.min(0xffff);
            self.window_threshold = self.window_threshold.min(self.window_clamp);
        }
    }

    /// Starts right-sizing of the receive buffer when the connection opens (tcp_init_buffer_space).
    /// linux-2.6 starts it with the first data.
    pub fn start_right_sizing(&mut self, now_ns: u64) {
        if self.is_linux_6() {
            (self.tuning.since_ns, self.tuning.since_seq) = (now_ns, self.rcv_nxt);
        }
    }

    /// If a segment's size differs from that of the segment before, measures which part of the
    /// receive buffer's memory is data (tcp_measure_rcv_mss, tcp_set_window_clamp, since Linux
    /// 6.6).
    #[cold]
    pub(super) fn measure_overhead(&mut self, len: u32) {
        let part = (u64::from(len) << 8) / memory_of(len, self.is_linux_6());
        if part == self.window_part {
            return;
        }
        self.window_part = part;
        let clamp = self.window_of(self.buffer_bytes);
        if clamp < self.window_clamp {
            self.window_threshold = self.window_threshold.min(clamp);
        } else {
            let announced = self.right_edge - self.acked;
            self.window_threshold = self.window_threshold.max(announced.min(clamp));
        }
        self.window_clamp = clamp;
        self.tuning.space = self.tuning.space.min(clamp);
    }

    /// Whether a packet's timestamp echo may be measured. linux-6 uses only the first packet with a
    /// given echo value. If that packet is too small to be measured, as a pure ACK is, no later
    /// packet with the same echo is measured (tcp_rcv_rtt_measure_ts, rcv_rtt_last_tsecr). The ACK
    /// of a SYN-ACK does not count.
    #[inline]
    pub fn takes_echo(&mut self, echo_ms: u32) -> bool {
        let is_new = self.last_echo_ms != echo_ms;
        self.last_echo_ms = echo_ms;
        is_new || !self.is_linux_6()
    }

    /// Measures the round trip from a timestamp echo (tcp_rcv_rtt_measure_ts). linux-6 raises the
    /// estimate only if all data has been read.
    pub(super) fn measure_rtt_by_echo(&mut self, ago_us: u64) {
        let linux_6 = self.is_linux_6();
        if linux_6 && ago_us == 0 {
            return;
        }
        let sample = ago_us.max(1);
        let waits = self.reader.is_some() && self.read_position().0 != self.rcv_nxt;
        let x8 = &mut self.tuning.rtt_x8_us;
        if *x8 == 0 || (linux_6 && sample * 8 < *x8) {
            *x8 = sample * 8;
        } else if !(linux_6 && waits) {
            *x8 = *x8 - *x8 / 8 + sample;
        }
    }

    /// Takes an RTT sample when a whole window of data has arrived, which takes at least a round
    /// trip (tcp_rcv_rtt_measure). The smallest sample counts.
    #[inline(never)]
    pub(super) fn measure_rtt_by_window(&mut self, now_ns: u64) {
        let linux_6 = self.is_linux_6();
        let t = &mut self.tuning;
        if t.window_end > 0 {
            let sample = ((now_ns - t.window_ns) / 1000).max(1);
            // linux-2.6 compares the sample with eight times the estimate, as Linux does.
            let falls = if linux_6 { 8 * sample } else { sample } < t.rtt_x8_us;
            if t.rtt_x8_us == 0 || falls {
                t.rtt_x8_us = 8 * sample;
            }
        }
        t.window_ns = now_ns;
        t.window_end = self.rcv_nxt + (self.right_edge - self.acked);
    }

    /// Raises the limit of the window after data has arrived: by two segments or more, if they fit
    /// the buffer (tcp_grow_window).
    #[inline]
    pub(super) fn grow_window(&mut self, len: u32) {
        let most = if self.counts_memory() {
            self.window_clamp.min(self.free_space())
        } else {
            self.window_clamp
        };
        if self.window_threshold < most {
            self.grow_window_up_to(most, len);
        }
    }

    fn grow_window_up_to(&mut self, most: u64, len: u32) {
        let data = u64::from(len);
        let mut taken = self.window_of(memory_of(len, self.is_linux_6()));
        let mut step = 0;
        if taken <= data || !self.counts_memory() {
            step = 2 * u64::from(self.mss);
        } else {
            // much of the buffer's memory is overhead: grow the window only as far as data with
            // this overhead would still fit
            let mut window = self.window_of(self.max_buffer_bytes) / 2;
            taken /= 2;
            while self.window_threshold <= window {
                if taken <= data {
                    step = 2 * u64::from(self.rcv_mss);
                    break;
                }
                (taken, window) = (taken / 2, window / 2);
            }
        }
        if step == 0 {
            return;
        }
        if self.is_linux_6() {
            step = step.max(2 * data);
        }
        self.window_threshold = (self.window_threshold + step).min(most);
        self.quick |= 1;
    }

    /// Once per round trip, may grow the buffer and its window to twice the data that the
    /// application read in it (tcp_rcv_space_adjust).
    pub(in crate::host::tcp) fn right_size(&mut self, now_ns: u64) {
        let linux_6 = self.is_linux_6();
        let t = &self.tuning;
        if t.since_ns > 0 && (t.rtt_x8_us == 0 || now_ns - t.since_ns < t.rtt_x8_us / 8 * 1000) {
            return;
        }
        let (read, waiting) = self.read_position();
        if self.tuning.since_ns > 0 {
            // Since Linux 6.16, only data that the application has read counts.
            let copied =
                (read - self.tuning.since_seq).saturating_sub(if linux_6 { waiting } else { 0 });
            if linux_6 {
                if copied > self.tuning.space {
                    self.grow_buffer(copied);
                }
            } else if 2 * copied > self.tuning.space {
                self.tuning.space = 2 * copied;
                self.raise_buffer(2 * copied);
            }
        }
        (self.tuning.since_ns, self.tuning.since_seq) = (now_ns, read);
    }

    /// Grows the receive buffer to twice what was read in the last round trip, plus twice the
    /// growth of that amount for the next round trip, plus the data held behind holes
    /// (tcp_rcvbuf_grow). `space` is what is now read per round trip.
    pub(super) fn grow_buffer(&mut self, space: u64) {
        let before = std::mem::replace(&mut self.tuning.space, space);
        let mut window = 2 * space;
        window += 2 * (window * (space - before) / before.max(1));
        if let Some(last) = self.out_of_order.last() {
            window += last.1 - self.rcv_nxt;
        }
        self.raise_buffer(window);
    }

    fn raise_buffer(&mut self, window: u64) {
        if self.buffer_is_fixed {
            return;
        }
        let buffer = ((window << 8) / self.window_part).min(self.max_buffer_bytes);
        if buffer > self.buffer_bytes {
            self.buffer_bytes = buffer;
            self.window_clamp = if self.is_linux_6() {
                self.window_of(buffer)
            } else {
                let full = self.window_of(self.max_buffer_bytes);
                window.min(full).min(self.largest_window())
            };
        }
    }

    /// Called when data arrives: if the content of the receive buffer exceeds its size, the size is
    /// raised to that of the content (tcp_clamp_window).
    #[inline]
    pub(super) fn make_room(&mut self) {
        let taken = self.taken_bytes();
        if taken > self.buffer_bytes && self.unread_memory_bytes > 0 {
            self.quick = 0;
            if !self.buffer_is_fixed {
                self.buffer_bytes = taken.min(self.max_buffer_bytes);
            }
        }
    }

    /// Counts the memory of a packet that arrived behind a hole. In linux-6 its data is copied
    /// behind that of the packet before it if it fits there (tcp_ooo_try_coalesce).
    pub(super) fn hold(&mut self, seq: u64, end: u64) {
        let (len, has_small) = ((end - seq) as u32, self.is_linux_6());
        let at = self.held.partition_point(|one| one.end < end);
        let before = at.checked_sub(1).and_then(|at| self.held.get_mut(at));
        if let Some(before) = before.filter(|one| one.end == seq) {
            if has_small && len <= before.room_bytes {
                before.end = end;
                before.len += len;
                before.room_bytes -= len;
                return;
            }
        }
        let packet = Held {
            end,
            len,
            memory: memory_of(len, has_small),
            room_bytes: room_of(len, has_small),
        };
        self.held_memory_bytes += packet.memory;
        self.held.insert(at, packet);
    }

    /// Counts packets that were held behind a hole and are now in order as unread ones. `room_bytes`
    /// are free behind the data of the packet that filled the hole (tcp_ofo_queue).
    #[inline(never)]
    pub(super) fn move_to_unread(&mut self, mut room_bytes: u32) {
        let joins = self.profile.segments_are_large;
        let count = self.held.partition_point(|one| one.end <= self.rcv_nxt);
        for packet in self.held.drain(..count) {
            self.held_memory_bytes -= packet.memory;
            let fits = match &mut self.reader {
                Some(reader) => joins && reader.fits_last(packet.len, packet.end),
                None => joins && packet.len <= room_bytes,
            };
            if fits {
                room_bytes = room_bytes.saturating_sub(packet.len);
                continue;
            }
            room_bytes = packet.room_bytes;
            self.unread_memory_bytes += packet.memory;
            if let Some(reader) = &mut self.reader {
                reader.arrived(packet.memory, packet.end, room_bytes);
            }
        }
    }

    /// Whether unread data takes room in the buffer. With linux-2.6 and no `Reader` it takes no
    /// room, because the applications of the thesis read immediately.
    fn counts_memory(&self) -> bool {
        self.reader.is_some() || self.is_linux_6()
    }

    /// Free room in the receive buffer, as a window (tcp_space).
    fn free_space(&self) -> u64 {
        self.window_of(self.buffer_bytes.saturating_sub(self.taken_bytes()))
    }

    /// Computes the window to advertise, ignoring which window was advertised before
    /// (__tcp_select_window). It is 0 if less than a segment, or less than a sixteenth of the
    /// buffer, is free.
    pub(in crate::host::tcp) fn select_window(&mut self) -> u64 {
        let allowed = self.window_of(self.buffer_bytes);
        let full = self.window_clamp.min(allowed);
        let mss = u64::from(self.rcv_mss).min(full);
        let mut free = self.free_space();
        if free < full / 2 {
            self.quick = 0;
            free &= !((1 << self.scale) - 1);
            if free < allowed / 16 || free < mss {
                return 0;
            }
        }
        free = free.min(self.window_threshold);
        if self.scale == 0 {
            return self.unscaled_window(free, mss, full);
        }
        self.round_up(free)
    }

    /// Without a window scale, the window is a number of whole segments. The one that was announced
    /// last remains as long as it is within a segment of the free room.
    #[cold]
    fn unscaled_window(&self, free: u64, mss: u64, full: u64) -> u64 {
        let last = self.right_edge - self.acked;
        if last + mss <= free || last > free {
            free - free % mss.max(1)
        } else if mss == full && free > last + full / 2 {
            free
        } else {
            last
        }
    }

    /// The right edge of the window that an ACK advertises now. It never moves left
    /// (tcp_select_window).
    pub(super) fn announced_edge(&mut self) -> u64 {
        if !self.counts_memory() {
            return self.right_edge.max(self.rcv_nxt + self.window_threshold);
        }
        let now = self.right_edge.saturating_sub(self.rcv_nxt);
        let window = self.select_window();
        self.rcv_nxt
            + if window < now {
                self.round_up(now)
            } else {
                window.min(self.largest_window())
            }
    }
}
