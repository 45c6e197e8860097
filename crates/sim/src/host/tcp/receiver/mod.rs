//! The receiving half: reassembly, SACK blocks, delayed and quick ACKs, window tuning. It follows
//! tcp_input.c and tcp_output.c of both Linux versions.

mod acks;
mod first_sizes;
mod window;

use super::profile::{Profile, Reduction};
use super::rtt::{delack_max_ns, Rtt};
use super::sizes::{HEADER_BYTES, TIMESTAMP_BYTES};
use super::state::reader::Reader;
use super::SocketOptions;
use crate::net::packet::Sacks;
pub(crate) use first_sizes::window_scale;
use first_sizes::FirstSizes;
use std::collections::VecDeque;

/// Shortest delay of a delayed ACK (TCP_ATO_MIN, TCP_DELACK_MIN).
const ATO_MIN_NS: u64 = 40_000_000;
/// Smallest estimate of the peer's segment size (TCP_MIN_RCVMSS).
const MIN_RCV_MSS: u32 = 536;
/// Largest number of SACK blocks in an ACK.
const MAX_SACKS: usize = 4;

/// With more SACK blocks than this, ACKs are compressed less (TCP_SACK_BLOCKS_EXPECTED).
const SACKS_EXPECTED: usize = 2;

/// Whether two ranges overlap or are adjacent.
fn meets(one: (u64, u64), other: (u64, u64)) -> bool {
    one.0 <= other.1 && other.0 <= one.1
}

/// Bytes of shared info in a driver's buffer.
const SHARED_BYTES: u32 = 320;
/// Bytes that a driver's buffer leaves free before the headers (NET_SKB_PAD).
const PAD_BYTES: u32 = 64;
/// Bytes of an sk_buff without its data.
const SK_BUFF_BYTES: u64 = 256;
/// Size of the smallest buffers of linux-6 (skbuff_small_head of 6.18).
const SMALL_BYTES: u32 = 576;

/// Bytes of a driver's buffer that a packet with `len` bytes of data uses.
fn used_of(len: u32) -> u32 {
    (PAD_BYTES + HEADER_BYTES + TIMESTAMP_BYTES + len).next_multiple_of(64) + SHARED_BYTES
}

/// Size of a packet's buffer: a power of two, in linux-6 (`has_small`) at least [`SMALL_BYTES`].
fn buffer_of(len: u32, has_small: bool) -> u32 {
    let used = used_of(len);
    if has_small && used <= SMALL_BYTES {
        SMALL_BYTES
    } else {
        used.next_power_of_two()
    }
}

/// Memory of a packet's data in a receive buffer: a driver's buffer and an sk_buff. It is 2304
/// bytes for a full packet (`ss` on 6.18).
pub(super) fn memory_of(len: u32, has_small: bool) -> u64 {
    u64::from(buffer_of(len, has_small)) + SK_BUFF_BYTES
}

/// Bytes that fit behind a packet's data in its buffer.
fn room_of(len: u32, has_small: bool) -> u32 {
    buffer_of(len, has_small) - SHARED_BYTES - PAD_BYTES - HEADER_BYTES - TIMESTAMP_BYTES - len
}

/// A packet that arrived behind a hole.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Sequence number after it.
    end: u64,
    /// Bytes of data.
    len: u32,
    /// Memory that it takes.
    memory: u64,
    /// Free bytes behind its data.
    room_bytes: u32,
}

/// When to send an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPlan {
    /// Immediately.
    Now,
    /// The ACK is delayed, but sent no later than this time.
    DelayUntil(u64),
    /// The ACK is merged with further duplicate ACKs, but sent no later than this time.
    CompressUntil(u64),
    /// The ACK is sent after the application has read what arrived.
    AfterReading,
}

/// State of the receiving half. The fields are ordered by use, as in [`super::Socket`]: first what
/// every sent packet reads, then what in-order data needs, last the rest.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    /// Next byte expected.
    pub rcv_nxt: u64,
    /// `rcv_nxt` when the last ACK was sent.
    pub(super) acked: u64,
    /// Right edge of the last advertised window; it never moves left.
    pub(super) right_edge: u64,
    /// Whether no data has arrived or was read since this end last sent an ACK, so that the next
    /// packet advertises the same right edge. This holds for most packets of a sender.
    pub(super) edge_is_current: bool,
    /// Data has arrived since the last ACK.
    pub(super) ack_scheduled: bool,
    /// An ACK is due as soon as the application has read the data that just arrived.
    pub(super) ack_after_read: bool,
    /// The connection is interactive: ACKs wait for the application's replies, which carry them.
    pub pingpong: bool,
    pub(super) pushed: bool,
    delayed_ack: bool,
    /// Window scale: windows are announced in units of 2 to this power.
    scale: u8,
    /// Whether SACK is on. Only with SACK may duplicate ACKs be merged.
    sack: bool,
    timestamps: bool,
    /// Timestamp to echo.
    pub ts_recent_ms: u32,
    /// Timestamp echo of the latest packet (rcv_rtt_last_tsecr).
    last_echo_ms: u32,
    ato_ns: u64,
    last_data_ns: u64,
    /// Number of quick ACKs left: this many packets are acknowledged immediately.
    pub(super) quick: u32,
    /// Largest number of quick ACKs that ECN requests because of the current segment; 0: none.
    pub requested_quick_acks: u32,
    /// Range of bytes that arrived twice and that the next ACK reports (D-SACK, RFC 2883).
    dsack: Option<(u64, u64)>,
    /// SACK blocks for the next ACK, newest first.
    sacks: Vec<(u64, u64)>,
    /// Ranges of bytes received beyond `rcv_nxt`, sorted and not adjacent.
    out_of_order: Vec<(u64, u64)>,

    pub(super) profile: &'static Profile,
    /// How the application reads; None: it reads everything immediately.
    pub(super) reader: Option<Box<Reader>>,
    delack_at: Option<u64>,
    tuning: Tuning,
    pub(super) rcv_mss: u32,
    last_segment: u32,
    mss: u32,
    compressed: u32,
    /// Sequence number after the latest packet that arrived in order, not counting data behind a
    /// hole that the packet filled.
    pub(super) packet_end: u64,
    /// Memory of unread data that arrived in order.
    pub(super) unread_memory_bytes: u64,
    /// Memory that data behind holes occupies.
    held_memory_bytes: u64,
    /// Size of the receive buffer (sk_rcvbuf).
    buffer_bytes: u64,
    /// Part of the receive buffer that is advertised as window, in 256ths (scaling_ratio).
    window_part: u64,
    pub(super) window_clamp: u64,
    /// Limit of the advertised window, which grows as data arrives (rcv_ssthresh).
    window_threshold: u64,

    /// Largest size to which right-sizing may raise the receive buffer.
    max_buffer_bytes: u64,
    /// Whether the application has set the buffer's size, so that it does not grow
    /// (SOCK_RCVBUF_LOCK).
    buffer_is_fixed: bool,
    /// Longest delay of a delayed ACK.
    delack_max_ns: u64,
    /// The packets that arrived behind holes, by sequence number.
    held: VecDeque<Held>,
    /// When a segment outside the window was last answered with an ACK.
    pub(super) answered_ns: Option<u64>,
    dup_acks: u32,
    compressed_at: u64,
}

/// State of dynamic right-sizing, which measures what the application reads per round trip.
#[derive(Clone, Debug, Default)]
struct Tuning {
    rtt_x8_us: u64,
    space: u64,
    since_ns: u64,
    since_seq: u64,
    /// Start time of the window of data that is being measured, and the sequence number after it.
    window_ns: u64,
    window_end: u64,
}

impl Receiver {
    /// Creates a receiver that expects byte `rcv_nxt`, from a peer with segments of `mss`. The
    /// options may set its initial buffer (the default of tcp_rmem) and its initial window.
    pub fn new(
        profile: &'static Profile,
        mss: u32,
        rcv_nxt: u64,
        options: &SocketOptions,
    ) -> Receiver {
        let sizes = FirstSizes::of(profile, options.segment_bytes(), options);
        Receiver {
            profile,
            delayed_ack: options.delayed_ack,
            sack: options.sack,
            timestamps: options.timestamps,
            mss,
            rcv_nxt,
            out_of_order: Vec::new(),
            sacks: Vec::new(),
            dsack: None,
            acked: rcv_nxt,
            right_edge: rcv_nxt + sizes.first_window,
            edge_is_current: false,
            buffer_bytes: sizes.buffer,
            max_buffer_bytes: sizes.most,
            buffer_is_fixed: sizes.is_fixed,
            scale: sizes.scale,
            delack_max_ns: delack_max_ns(profile, options.rules.rto_min_us),
            window_part: profile.window_part,
            window_clamp: sizes.clamp,
            window_threshold: sizes.first_window.min(sizes.clamp),
            packet_end: rcv_nxt,
            unread_memory_bytes: 0,
            held_memory_bytes: 0,
            held: VecDeque::new(),
            answered_ns: None,
            quick: 0,
            requested_quick_acks: 0,
            ato_ns: 0,
            pingpong: false,
            pushed: false,
            ack_scheduled: false,
            ack_after_read: false,
            last_data_ns: 0,
            rcv_mss: MIN_RCV_MSS.min(mss),
            last_segment: 0,
            delack_at: None,
            ts_recent_ms: 0,
            last_echo_ms: 0,
            tuning: Tuning {
                space: sizes.first_space,
                ..Tuning::default()
            },
            compressed: 0,
            dup_acks: 0,
            compressed_at: rcv_nxt,
            reader: Reader::new(options.reading, rcv_nxt),
        }
    }

    /// The window of a SYN, before scaling limits it.
    pub fn initial_window_bytes(&self) -> u64 {
        self.right_edge - self.acked
    }

    /// Remembers the timestamp that the next ACK echoes: that of the first unacknowledged segment,
    /// so that the peer's RTT includes the ACK's delay (RFC 7323, 4.3).
    pub fn note_timestamp(&mut self, seq: u64, value_ms: u32) {
        if seq <= self.acked && value_ms > self.ts_recent_ms {
            self.ts_recent_ms = value_ms;
        }
    }

    /// Processes a segment of `len` bytes of sequence space at `seq`. Returns by how many bytes
    /// `rcv_nxt` moved, and when to send an ACK. `trip_us` is the age of the timestamp that the
    /// segment echoes, if it is to be measured.
    #[allow(clippy::too_many_arguments)]
    pub fn on_segment(
        &mut self,
        now_ns: u64,
        seq: u64,
        len: u32,
        push: bool,
        trip_us: Option<u64>,
        rtt: &Rtt,
    ) -> (u64, AckPlan) {
        let end = seq + u64::from(len);
        let before = self.rcv_nxt;
        // linux-2.6 measures the RTT only by timestamp echoes of segments that arrive in order
        if let Some(trip_us) = trip_us.filter(|_| self.is_linux_6() || seq <= self.rcv_nxt) {
            self.measure_rtt_by_echo(trip_us);
        }
        self.ack_scheduled = true;
        self.edge_is_current = false;
        if end <= self.rcv_nxt {
            // Duplicate data: report it and acknowledge it immediately, because the sender may be
            // in loss recovery.
            self.dsack = Some((seq, end));
            self.enter_quick_ack();
            return (0, AckPlan::Now);
        }
        // Linux accepts a FIN without data even if the window is closed, and acknowledges it
        // immediately, so that the peer does not send it again and again.
        let is_bare_fin = len == 1 && self.ends_at(end) && self.is_linux_6();
        let fits_nowhere = is_bare_fin && seq == self.rcv_nxt && seq >= self.right_edge;
        if seq >= self.right_edge && !fits_nowhere {
            // The window is closed, so the segment is dropped (tcp_data_queue).
            self.enter_quick_ack();
            return (0, AckPlan::Now);
        }
        if seq > self.rcv_nxt {
            return (0, self.queue_out_of_order(now_ns, (seq, end), push, rtt));
        }
        if seq < self.rcv_nxt {
            self.dsack = Some((seq, self.rcv_nxt));
            self.enter_quick_ack();
        }
        self.make_room();
        self.rcv_nxt = end;
        self.packet_end = end;
        let has_small = self.is_linux_6();
        let mut memory = memory_of(len, has_small);
        if let Some(reader) = &mut self.reader {
            if self.profile.segments_are_large && reader.fits_last(len, end) {
                memory = 0;
            } else {
                reader.arrived(memory, end, room_of(len, has_small));
            }
        }
        self.unread_memory_bytes += memory;
        self.event_data(now_ns, len, push, rtt);
        if !self.out_of_order.is_empty() {
            self.join_in_order_ranges();
            self.move_to_unread(room_of(len, has_small));
            if self.out_of_order.is_empty() {
                // The segment fills the last hole: acknowledge it immediately (ICSK_ACK_NOW).
                // linux-2.6 does so only if `plan` decides that an ACK is due.
                self.pingpong = false;
                if self.is_linux_6() {
                    return (self.rcv_nxt - before, AckPlan::Now);
                }
            }
        }
        if self.ends_at(self.rcv_nxt) {
            // The application is expected to close its end, and that FIN can carry the ACK
            // (tcp_fin). An application that reads everything immediately is assumed to do so.
            self.pingpong = true;
        }
        if fits_nowhere {
            return (self.rcv_nxt - before, AckPlan::Now);
        }
        (self.rcv_nxt - before, self.plan(now_ns, rtt))
    }

    /// Whether the peer's FIN is the last sequence number before `end`, and the application still
    /// has to read up to it.
    fn ends_at(&self, end: u64) -> bool {
        self.reader
            .as_deref()
            .is_some_and(|reader| reader.fin_end == end)
    }

    #[inline(never)]
    fn queue_out_of_order(
        &mut self,
        now_ns: u64,
        (seq, end): (u64, u64),
        push: bool,
        rtt: &Rtt,
    ) -> AckPlan {
        if self.is_linux_6() {
            // Since Linux 6.17, tcp_data_queue_ofo also measures the RTT from out-of-order
            // segments.
            self.measure_segment((end - seq) as u32, push);
        }
        if self.requested_quick_acks > 0 {
            self.enter_requested_quick_acks();
        }
        let (mut start, mut stop) = (seq, end);
        let at = self.out_of_order.partition_point(|r| r.1 < seq);
        let mut upto = at;
        let mut known = false;
        while let Some(range) = self.out_of_order.get(upto).filter(|r| r.0 <= end) {
            known |= range.0 <= seq && range.1 >= end;
            start = start.min(range.0);
            stop = stop.max(range.1);
            upto += 1;
        }
        if known {
            self.dsack = Some((seq, end));
        }
        if !known {
            let len = (end - seq) as u32;
            if self.is_linux_6() && self.sack {
                self.grow_window(len);
            }
            self.hold(seq, end);
        }
        if upto > at {
            self.out_of_order[at] = (start, stop);
            self.out_of_order.drain(at + 1..upto);
        } else {
            self.out_of_order.insert(at, (start, stop));
        }
        if self.is_linux_6() {
            self.grow_buffer(self.tuning.space);
        }
        self.extend_sacks(seq, end);
        self.plan(now_ns, rtt)
    }

    /// Adds a segment to the SACK blocks. Only the four latest blocks are known, so a segment that
    /// joins data of a forgotten block does not report that data again (tcp_sack_new_ofo_skb,
    /// tcp_sack_maybe_coalesce).
    fn extend_sacks(&mut self, seq: u64, end: u64) {
        let Some(at) = self.sacks.iter().position(|s| meets(*s, (seq, end))) else {
            self.sacks.truncate(MAX_SACKS - 1);
            self.sacks.insert(0, (seq, end));
            return;
        };
        let mut first = self.sacks.remove(at);
        first = (first.0.min(seq), first.1.max(end));
        self.sacks.retain(|s| {
            let apart = !meets(*s, first);
            if !apart {
                first = (first.0.min(s.0), first.1.max(s.1));
            }
            apart
        });
        self.sacks.insert(0, first);
    }

    /// linux-6: whether a segment makes the receiver send the ACK that SACK compression holds back.
    /// This is so if there are several SACK blocks and the segment extends neither of the two
    /// latest ones. That ACK does not report the segment yet, and the segment causes no further ACK
    /// (tcp_sack_compress_send_ack).
    #[inline]
    pub fn sends_compressed_ack(&self, seq: u64, end: u64) -> bool {
        self.compressed > 0
            && seq > self.rcv_nxt
            && self.sacks.len() >= SACKS_EXPECTED
            && !self.sacks[..SACKS_EXPECTED]
                .iter()
                .any(|s| meets(*s, (seq, end)))
    }

    #[inline(never)]
    fn join_in_order_ranges(&mut self) {
        let mut taken = 0;
        let arrived = self.rcv_nxt;
        for range in &self.out_of_order {
            if range.0 > self.rcv_nxt {
                break;
            }
            if range.0 < arrived && self.is_linux_6() {
                // The segment repeats a part of this range (tcp_ofo_queue). Only what meets the
                // part that is already known extends it (tcp_dsack_extend).
                let twice = (range.0, range.1.min(arrived));
                self.dsack = Some(match self.dsack {
                    Some(known) if meets(known, twice) => {
                        (known.0.min(twice.0), known.1.max(twice.1))
                    }
                    Some(known) => known,
                    None => twice,
                });
            }
            self.rcv_nxt = self.rcv_nxt.max(range.1);
            taken += 1;
        }
        if taken > 0 {
            self.out_of_order.drain(..taken);
            let rcv_nxt = self.rcv_nxt;
            self.sacks.retain(|s| s.0 > rcv_nxt);
        }
    }

    /// Updates the segment size, the delayed-ACK timing and the window for in-order data
    /// (tcp_event_data_recv).
    fn event_data(&mut self, now_ns: u64, len: u32, push: bool, rtt: &Rtt) {
        self.measure_segment(len, push);
        if self.rcv_nxt >= self.tuning.window_end && (self.is_linux_6() || !self.timestamps) {
            self.measure_rtt_by_window(now_ns);
        }
        self.time_data(now_ns, rtt);
        if len >= 128 {
            self.grow_window(len);
        }
    }

    /// Estimates the peer's segment size (tcp_measure_rcv_mss).
    #[inline]
    fn measure_segment(&mut self, len: u32, push: bool) {
        if len >= self.rcv_mss {
            let len = len.min(self.mss);
            if len != self.rcv_mss && self.is_linux_6() {
                self.measure_overhead(len);
            }
            self.rcv_mss = len;
        } else if len == self.last_segment && len >= MIN_RCV_MSS.min(self.mss) {
            self.rcv_mss = len;
        }
        self.last_segment = len;
        self.pushed |= push && (len < self.rcv_mss || self.is_linux_6());
    }

    pub(super) fn is_linux_6(&self) -> bool {
        self.profile.reduction == Reduction::Prr
    }

    /// Records that a packet with an ACK is sent now. Returns the window that the packet
    /// advertises.
    #[inline]
    pub fn ack_sent(&mut self) -> u32 {
        // Every sent packet uses up one quick ACK, however many packets it acknowledges. Since
        // Linux 6.x it does so only if data has arrived, in order or not (tcp_dec_quickack_mode).
        let counts = !self.is_linux_6() || self.ack_scheduled;
        self.ack_scheduled = false;
        if self.quick > 0 && counts {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato_ns = ATO_MIN_NS;
            }
        }
        if !self.edge_is_current {
            self.right_edge = self.announced_edge();
            self.acked = self.rcv_nxt;
            self.delack_at = None;
            self.pushed = false;
            self.compressed = 0;
            self.edge_is_current = true;
        }
        self.ack_after_read = false;
        // The advertised window is a number of 16 bits, in units that are rounded down.
        let units = (self.right_edge - self.rcv_nxt) as u32 >> self.scale;
        units.min(0xffff) << self.scale
    }

    /// Writes SACK blocks into the packet, at most `max_blocks`. Returns how many it wrote, and
    /// whether the first one is a D-SACK.
    #[inline]
    pub fn write_sack_blocks(&mut self, max_blocks: usize, out: &mut Sacks) -> (u8, bool) {
        if self.sacks.is_empty() && self.dsack.is_none() {
            return (0, false);
        }
        let dsack = self.dsack.take();
        let rcv_nxt = self.rcv_nxt;
        let all = dsack.iter().chain(&self.sacks).take(max_blocks);
        let mut n = 0;
        for (block, &(start, end)) in out.iter_mut().zip(all) {
            block.start = (start as i64 - rcv_nxt as i64) as i32;
            block.len = (end - start) as u32;
            n += 1;
        }
        (n, n > 0 && dsack.is_some())
    }

    /// Number of SACK blocks that the next packet will carry.
    pub fn sack_blocks(&self, max_blocks: usize) -> u32 {
        (self.sacks.len() + usize::from(self.dsack.is_some())).min(max_blocks) as u32
    }

    /// Bytes of the SACK option that the next packet will carry.
    pub fn sack_option_bytes(&self, max_blocks: usize) -> u32 {
        let n = self.sack_blocks(max_blocks);
        if n == 0 {
            0
        } else {
            4 + 8 * n
        }
    }
}
