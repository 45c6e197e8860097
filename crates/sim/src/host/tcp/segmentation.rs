//! Segmentation offload of linux-6: the stack sends several packets as one large segment
//! (tcp_tso_autosize, tcp_tso_should_defer of Linux 6.18). The packets are sent together, and the
//! last one carries PSH. The receiver's reader acknowledges it immediately, so ACKs follow large
//! segments.

use super::scoreboard::{LOST, PUSH, RETRANS, SACKED};
use super::{ca, Socket};
use crate::net::Net;

/// A large segment has as many bytes as the assumed rate delivers in 2^-10 s (sk_pacing_shift).
const RATE_SHIFT: u32 = 10;
/// Largest size of a large segment in bytes: 64 KiB minus room for headers.
pub(super) const LARGEST_BYTES: u64 = 65_216;
/// On short paths large segments are larger: by up to LARGEST_BYTES more, halved for every 2^9 us
/// of RTT.
const RTT_SHIFT: u32 = 9;
/// Smallest size of a large segment, in packets, with a startup that may send a request in a data
/// packet, because an option does not fit a segment of several packets (port/bpf/control.h).
const SMALLEST_WITH_REQUESTS_PKTS: u64 = 1;
const DEFER_NS: u64 = 1_000_000;

impl Socket {
    /// Packets of the largest segment that may be sent now; 1 without offload.
    pub(super) fn largest_segment_pkts(&self) -> u32 {
        if !self.sends_large {
            return 1;
        }
        let mss = u64::from(self.mss);
        let smallest = if self.asks_path {
            SMALLEST_WITH_REQUESTS_PKTS
        } else {
            self.options.rules.least_segment_pkts
        };
        if self.conn.pacing_rate_bytes_per_s != 0 {
            let per_pkt = u64::from(self.mss + self.conn.header_bytes);
            let rate = self.conn.pacing_rate_bytes_per_s * mss / per_pkt;
            if self.control.control().flags.short_bursts() {
                return self.conn.pacing_chunk_pkts.max(1);
            }
            let least = match self.conn.pacing_chunk_pkts {
                0 => smallest,
                pkts => u64::from(pkts),
            };
            return self.segment_of_rate(rate, least);
        }
        let cwnd = self.conn.cwnd_pkts;
        let (slow_start, avoidance) = self.options.rules.pacing_percent;
        let percent = if cwnd < self.conn.ssthresh_pkts / 2 {
            slow_start
        } else {
            avoidance
        };
        let pkts = u64::from(cwnd.max(self.board.packets_out()));
        let srtt_us = self.rtt.srtt_us().max(1);
        let brought = mss * pkts * u64::from(percent) * 10_000;
        if self.longer_for_short_path() == 0
            && brought < (((smallest + 1) * mss) << RATE_SHIFT) * srtt_us
        {
            // Shortcut that avoids a division: the rate gives less than one packet more than the
            // smallest large segment.
            return smallest as u32;
        }
        self.segment_of_rate(brought / srtt_us, smallest)
    }

    /// Bytes by which a large segment is larger because the path is short.
    fn longer_for_short_path(&self) -> u64 {
        let halvings = self.rtt.min_us >> RTT_SHIFT;
        if halvings < u32::BITS {
            LARGEST_BYTES >> halvings
        } else {
            0
        }
    }

    /// Number of packets of a large segment at a rate in payload bytes per second.
    fn segment_of_rate(&self, rate: u64, least_pkts: u64) -> u32 {
        let bytes = (rate >> RATE_SHIFT) + self.longer_for_short_path();
        (bytes.min(LARGEST_BYTES) / u64::from(self.mss)).max(least_pkts) as u32
    }

    /// Number of packets of the large segment that starts now, if this many bytes are available.
    /// `whole` allows full packets only. The result is at most half of cwnd.
    pub(super) fn segment_pkts(&self, largest_pkts: u32, bytes: u64, whole: bool) -> u32 {
        let most = u64::from(self.quota_pkts(largest_pkts));
        let mss = u64::from(self.mss);
        if bytes >= most * mss {
            return most as u32;
        }
        let fits = if whole {
            bytes / mss
        } else {
            bytes.div_ceil(mss)
        };
        fits.max(1) as u32
    }

    /// Packets that the windows and the rate allow for the large segment that starts now: at most
    /// half of cwnd.
    fn quota_pkts(&self, largest_pkts: u32) -> u32 {
        let cwnd = self.conn.cwnd_pkts;
        let free = cwnd - self.board.in_flight();
        free.min((cwnd / 2).max(1)).min(largest_pkts)
    }

    /// `quota_pkts` in bytes.
    pub(super) fn quota_bytes(&self, largest_pkts: u32) -> u64 {
        u64::from(self.quota_pkts(largest_pkts)) * u64::from(self.mss)
    }

    /// Gives the sk_buff at the head data from the next one, if it has too little for a large
    /// segment (tcp_grow_skb). Returns how many bytes of the `backlog` the segment may take; this is
    /// less than a large segment only if sk_buffs are small, as at first with a small receive
    /// window.
    #[inline]
    pub(super) fn grow_head(&mut self, largest_pkts: u32, backlog: u64) -> u64 {
        let large = u64::from(largest_pkts) * u64::from(self.mss);
        if self.buffer.head_end > self.snd_nxt + large {
            return backlog;
        }
        self.grow_small_head(largest_pkts, backlog)
    }

    #[cold]
    fn grow_small_head(&mut self, largest_pkts: u32, backlog: u64) -> u64 {
        self.buffer.drop_sent(self.snd_nxt);
        let missing = self
            .quota_bytes(largest_pkts)
            .saturating_sub(self.head_bytes());
        if missing > 0 {
            self.buffer.grow_head(missing, self.write_end);
        }
        self.head_bytes().min(backlog)
    }

    /// Decides whether the sk_buff at the head waits for the next ACK, so that more is sent at
    /// once. It waits if it has several packets, something was just sent, the window has little
    /// room, and the next ACK is near. `held_bytes` is the result of `grow_head`. Returns the
    /// sk_buff's bytes if it waits, None if it is sent now.
    pub(super) fn defers(
        &self,
        net: &Net,
        largest_pkts: u32,
        room_bytes: u64,
        held_bytes: u64,
    ) -> Option<u64> {
        // With pacing, "just sent" counts from the time at which pacing allows the next packet
        // (tcp_wstamp_ns).
        let departure_ns = self.last_sent_ns.max(self.pacing.next_ns);
        if self.conn.ca_state >= ca::RECOVERY || net.now_ns.saturating_sub(departure_ns) > DEFER_NS
        {
            return None;
        }
        let mss = u64::from(self.mss);
        let cwnd = self.conn.cwnd_pkts;
        let free_pkts = cwnd - self.board.in_flight();
        let limit_bytes = (u64::from(free_pkts) * mss).min(room_bytes);
        let window_bytes = self.snd_wnd.min(u64::from(cwnd) * mss);
        if limit_bytes >= u64::from(largest_pkts) * mss
            || limit_bytes >= window_bytes / self.options.rules.window_parts
        {
            return None;
        }
        let backlog = self.write_end - self.snd_nxt;
        let grown = self.quota_bytes(largest_pkts).min(held_bytes);
        let oldest = self.board.front()?;
        let srtt_ns = self.rtt.srtt_us() * 1000;
        if oldest.sent_ns + srtt_ns > net.now_ns + DEFER_NS.min(srtt_ns / 2) {
            return None;
        }
        let head_bytes = self.head_bytes().max(grown);
        let fits = head_bytes < backlog && head_bytes <= limit_bytes;
        (head_bytes > mss && !fits).then_some(head_bytes)
    }

    /// Whether cwnd and not the peer's window holds back a sender whose sk_buff waits: cwnd leaves
    /// less room than the peer's window, and no more than the segment at the head needs
    /// (tcp_tso_should_defer).
    pub(super) fn cwnd_holds_back(&self, head_bytes: u64, room_bytes: u64) -> bool {
        let free_pkts = u64::from(self.conn.cwnd_pkts - self.board.in_flight());
        let free_bytes = free_pkts * u64::from(self.mss);
        free_bytes < room_bytes && free_bytes <= head_bytes
    }

    /// Number of packets, beginning with `number`, that are retransmitted as one large segment:
    /// lost packets that were sent as one segment before.
    pub(super) fn retransmitted_segment_pkts(&self, number: u64) -> u64 {
        let free = self
            .conn
            .cwnd_pkts
            .saturating_sub(self.board.in_flight())
            .min(self.largest_segment_pkts());
        let mut pkts = 0;
        while pkts < u64::from(free) {
            let Some(segment) = self.board.get(number + pkts) else {
                break;
            };
            if segment.marks & (LOST | RETRANS | SACKED) != LOST {
                break;
            }
            pkts += 1;
            if segment.marks & PUSH != 0 {
                break;
            }
        }
        pkts.max(1)
    }
}
