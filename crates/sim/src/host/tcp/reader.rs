//! The receiver's application: what has arrived waits in the receive buffer until it is
//! read, the window closes as the buffer fills (Linux __tcp_select_window), and a reader
//! that makes room says so (tcp_cleanup_rbuf).
//!
//! Without a reader of its own a socket's application takes everything at once, and
//! nothing here is asked. What Linux does when the host runs out of memory (pruning,
//! collapsing, tcp_clamp_window) is not modelled.

use super::receiver::Receiver;
use super::{Socket, HEADER_BYTES, WINDOW_SHIFT};
use crate::net::Net;
use std::collections::VecDeque;

/// How an application reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// All there is, as it arrives.
    #[default]
    Eager,
    /// What a rate brings in each [`RATE_INTERVAL_NS`].
    Rate {
        /// Bits per second of application data.
        bps: u64,
    },
    /// So much in so often, the first time an interval after the connection opened.
    Portions {
        /// At most in one call; what is there if that is less.
        bytes: u64,
        /// From one call to the next.
        interval_ns: u64,
    },
    /// When the application asks for it, by [`Socket::read`].
    OnDemand,
}

/// How often a reader at a rate reads.
pub const RATE_INTERVAL_NS: u64 = 10_000_000;
/// Number of the reader's timer event, beside those of `Timer`.
pub(super) const READ_TIMER: u32 = 3;
/// Acknowledgements of segments outside the window are this far apart at least
/// (tcp_invalid_ratelimit, linux-6).
const OUT_OF_WINDOW_GAP_NS: u64 = 500_000_000;
/// Headers and shared info that a driver's buffer holds beside a packet's data.
const SHARED_BYTES: u32 = 320;
/// An sk_buff.
const SK_BUFF_BYTES: u64 = 256;

/// The reader of a socket, and what waits for it.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    reading: Reading,
    calls: u64,
    /// Next byte that the application will read (copied_seq).
    copied: u64,
    /// End and memory of what arrived in order and was not read.
    unread: VecDeque<(u64, u64)>,
    unread_memory_bytes: u64,
    /// Memory of what waits for holes, and how much data that is.
    held_memory_bytes: u64,
    held_bytes: u64,
    /// After the FIN, once it is known.
    fin_end: u64,
    answered_ns: Option<u64>,
}

/// What a packet's data take of a receive buffer: a driver's power of two and an sk_buff.
/// 2304 bytes for a full packet (`ss` on 6.18).
fn memory_of(len: u32) -> u64 {
    u64::from((len + HEADER_BYTES + SHARED_BYTES).next_power_of_two()) + SK_BUFF_BYTES
}

fn round_up(window: u64) -> u64 {
    window.next_multiple_of(1 << WINDOW_SHIFT)
}

impl Reader {
    pub fn new(reading: Reading, rcv_nxt: u64) -> Option<Box<Reader>> {
        (reading != Reading::Eager).then(|| {
            Box::new(Reader {
                reading,
                calls: 0,
                copied: rcv_nxt,
                unread: VecDeque::new(),
                unread_memory_bytes: 0,
                held_memory_bytes: 0,
                held_bytes: 0,
                fin_end: u64::MAX,
                answered_ns: None,
            })
        })
    }

    /// A packet of `len` bytes arrived in order; its data end at `end`.
    #[inline(never)]
    pub fn arrived(&mut self, len: u32, end: u64) {
        let memory = memory_of(len);
        self.unread.push_back((end, memory));
        self.unread_memory_bytes += memory;
    }

    /// What had waited is in order, too, from the end of a packet up to `end`.
    #[inline(never)]
    pub fn joined(&mut self, packet_end: u64, end: u64) {
        let bytes = (end - packet_end).min(self.held_bytes);
        if bytes > 0 {
            let memory = self.held_memory_bytes * bytes / self.held_bytes;
            self.held_memory_bytes -= memory;
            self.held_bytes -= bytes;
            self.unread.push_back((end, memory));
            self.unread_memory_bytes += memory;
        }
    }

    /// Data arrived beyond a hole.
    pub fn held_back(&mut self, len: u32) {
        self.held_bytes += u64::from(len);
        self.held_memory_bytes += memory_of(len);
    }

    fn memory_bytes(&self) -> u64 {
        self.unread_memory_bytes + self.held_memory_bytes
    }

    /// In order, and not read.
    fn waiting_bytes(&self, rcv_nxt: u64) -> u64 {
        rcv_nxt - self.copied - u64::from(self.fin_end <= rcv_nxt)
    }

    /// What is left of the packet that is read next; packets that filled a hole are one.
    fn first_packet_bytes(&self, mss: u64) -> u64 {
        let end = self.unread.front().map_or(self.copied, |&(end, _)| end);
        (end - self.copied).min(mss)
    }

    fn take(&mut self, rcv_nxt: u64, most: u64) -> u64 {
        let bytes = self.waiting_bytes(rcv_nxt).min(most);
        self.copied += bytes;
        while let Some(&(end, memory)) = self.unread.front() {
            if end > self.copied + u64::from(self.fin_end == end) {
                break;
            }
            self.unread_memory_bytes -= memory;
            self.unread.pop_front();
        }
        bytes
    }

    /// How much the present call may take.
    fn portion(&self) -> u64 {
        match self.reading {
            Reading::Portions { bytes, .. } => bytes,
            Reading::Rate { bps } => {
                let until =
                    |calls: u64| u128::from(calls) * u128::from(bps) * u128::from(RATE_INTERVAL_NS);
                let bytes = |calls| (until(calls) / 8_000_000_000) as u64;
                bytes(self.calls) - bytes(self.calls - 1)
            }
            Reading::Eager | Reading::OnDemand => 0,
        }
    }

    fn interval_ns(&self) -> Option<u64> {
        match self.reading {
            Reading::Portions { interval_ns, .. } => Some(interval_ns),
            Reading::Rate { .. } => Some(RATE_INTERVAL_NS),
            Reading::Eager | Reading::OnDemand => None,
        }
    }
}

impl Receiver {
    /// Room in the receive buffer, as window (tcp_space).
    pub(super) fn free_space(&self) -> u64 {
        let Some(reader) = &self.reader else {
            return self.window_clamp;
        };
        let taken = self.profile.window_of_buffer(reader.memory_bytes());
        self.window_clamp.saturating_sub(taken)
    }

    /// The window to announce, before what was announced counts (__tcp_select_window):
    /// none below a segment or a sixteenth of the buffer.
    pub(super) fn select_window(&mut self) -> u64 {
        let full = self.window_clamp;
        let mss = u64::from(self.rcv_mss).min(full);
        let mut free = self.free_space();
        if free < full / 2 {
            self.quick = 0;
            free &= !((1 << WINDOW_SHIFT) - 1);
            if free < full / 16 || free < mss {
                return 0;
            }
        }
        round_up(free.min(self.window_threshold))
    }

    /// The right edge of the window that an ACK announces now; it never moves left
    /// (tcp_select_window).
    pub(super) fn announced_edge(&mut self) -> u64 {
        let now = self.right_edge.saturating_sub(self.rcv_nxt);
        let window = self.select_window();
        self.rcv_nxt
            + if window < now {
                round_up(now)
            } else {
                window.min(0xffff << WINDOW_SHIFT)
            }
    }

    /// More than a segment waits for its ACK; with a reader only where the right edge
    /// moves, else it is the reader who acknowledges (__tcp_ack_snd_check).
    pub(super) fn edge_advances(&mut self) -> bool {
        self.reader.is_none() || self.select_window() >= self.right_edge - self.acked
    }

    /// Whether a reader that took something acknowledges (tcp_cleanup_rbuf).
    fn reading_acks(&mut self) -> bool {
        let Some(reader) = &self.reader else {
            return false;
        };
        let empty = reader.unread_memory_bytes == 0;
        let ended = reader.fin_end <= self.rcv_nxt;
        if self.ack_scheduled
            && (self.rcv_nxt - self.acked > u64::from(self.rcv_mss)
                || (self.pushed && !self.pingpong && empty))
        {
            return true;
        }
        let now = self.right_edge.saturating_sub(self.rcv_nxt);
        if ended || 2 * now > self.window_clamp {
            return false;
        }
        let window = self.select_window();
        window > 0 && window >= 2 * now
    }

    /// What the application has read, and what waits for it.
    pub(super) fn read_position(&self) -> (u64, u64) {
        match &self.reader {
            Some(reader) => (reader.copied, reader.waiting_bytes(self.rcv_nxt)),
            None => (self.rcv_nxt, 0),
        }
    }

    /// Whether an old or unusable segment is answered now (tcp_oow_rate_limited).
    pub(super) fn answers_out_of_window(&mut self, now_ns: u64) -> bool {
        let limited = self.is_linux_6();
        let Some(reader) = &mut self.reader else {
            return false;
        };
        if limited
            && reader
                .answered_ns
                .is_some_and(|then_ns| now_ns - then_ns < OUT_OF_WINDOW_GAP_NS)
        {
            return false;
        }
        reader.answered_ns = Some(now_ns);
        true
    }

    /// The peer has sent a FIN that ends here.
    pub(super) fn fin_ends(&mut self, end: u64) {
        if let Some(reader) = &mut self.reader {
            reader.fin_end = end;
        }
    }
}

impl Socket {
    /// Before the connection opens: its application reads when it wants to.
    pub fn read_on_demand(&mut self) {
        self.receiver.reader = Reader::new(Reading::OnDemand, self.receiver.rcv_nxt);
    }

    /// Nothing beyond the window that `peer` announced has been sent; for tests.
    pub fn within_window_of(&self, peer: &Socket) -> bool {
        self.snd_nxt <= peer.receiver.right_edge.max(peer.receiver.rcv_nxt)
    }

    /// The application reads at most so much of what has arrived in order. Returns how
    /// much it got.
    pub fn read(&mut self, net: &mut Net, most_bytes: u64) -> u64 {
        let rcv_nxt = self.receiver.rcv_nxt;
        let Some(reader) = &mut self.receiver.reader else {
            return 0;
        };
        // The window is tuned after each packet of a call, so the first decides for all: what
        // the call has still to read waits (tcp_recvmsg_locked, tcp_rcv_space_adjust).
        let first = reader.first_packet_bytes(u64::from(self.mss));
        let mut bytes = reader.take(rcv_nxt, most_bytes.min(first));
        if bytes > 0 {
            self.receiver.right_size(net.now_ns);
            if let Some(reader) = &mut self.receiver.reader {
                bytes += reader.take(rcv_nxt, most_bytes - bytes);
            }
            if self.receiver.reading_acks() {
                self.send_ack(net);
            }
        }
        bytes
    }

    /// Application bytes that were read.
    pub fn read_bytes(&self) -> u64 {
        if self.receiver.reader.is_some() {
            self.receiver.read_position().0 - 1
        } else {
            self.delivered_bytes
        }
    }

    /// The connection is open: the first reading is an interval away.
    pub(super) fn reader_starts(&mut self, net: &mut Net) {
        if let Some(interval_ns) = self.receiver.reader.as_ref().and_then(|r| r.interval_ns()) {
            net.set_timer(net.now_ns + interval_ns, self.id, READ_TIMER);
        }
    }

    /// The reader's time has come.
    #[cold]
    pub(super) fn reader_wakes(&mut self, net: &mut Net) {
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

    /// A segment without data from before the window: a probe. It is answered, so that
    /// its sender learns the window (tcp_send_dupack).
    #[cold]
    pub(super) fn old_sequence(&mut self, net: &mut Net) {
        if self.receiver.answers_out_of_window(net.now_ns) {
            self.ack_owed_now(net);
        }
    }
}
