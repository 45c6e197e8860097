//! Measures what one end of a connection sends, as tcptrace defines its quantities.
//!
//! Positions in the stream count from the first byte of data; the SYN is before position 0. In a
//! connection that began before the capture they count from the first segment or acknowledgement.

use crate::bins::{Bin, Samples};
use crate::decode::Segment;
use crate::notes::Notes;
use crate::seen::Seen;
use headway_wire::tcp_options::{Sack, WindowScale};
use headway_wire::TcpFlags;
use serde::Serialize;
use std::collections::VecDeque;

/// Most segments of a direction that wait for their acknowledgement, and most timestamps that
/// wait for their echo.
const MAX_WAITING: usize = 1 << 16;
const MAX_STAMPS: usize = 1 << 12;
const MAX_FILLS: usize = 1 << 12;
/// Data of a packet on the wire if the capture does not have the MSS: IPv6's least MTU is 1280
/// bytes, Ethernet's 1500.
const USUAL_MSS_BYTES: u32 = 1460;
/// Bytes of an IPv4 and a TCP header without options, which an MSS leaves room for.
const FIXED_HEADERS_BYTES: u32 = 40;

/// A segment that was sent and not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: i64,
    end: i64,
    sent_ns: i64,
    is_resent: bool,
}

/// A value of the sender's clock, and when it was first sent.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    value: u32,
    sent_ns: i64,
    has_data: bool,
}

/// Totals of a direction.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Totals {
    /// Packets of any kind.
    pub pkts: i64,
    /// Packets with data, retransmissions and probes included.
    pub sent_pkts: i64,
    /// Bytes of data in them.
    pub sent_bytes: i64,
    /// Bytes of the packets with data as they cross links: with IP headers, and cut to the MSS.
    pub wire_bytes: i64,
    /// Different bytes of data.
    pub unique_bytes: i64,
    /// Bytes of data that were acknowledged.
    pub acked_bytes: i64,
    /// Bytes that were acknowledged or named in SACK blocks, SYN and FIN included.
    pub delivered_bytes: i64,
    /// Packets with data that the capture had before.
    pub retransmits_pkts: i64,
    /// Bytes of data that the capture had before.
    pub retransmits_bytes: i64,
    /// Packets with new data that came after later data.
    pub out_of_order_pkts: i64,
    /// Packets larger than the peer's MSS: captured before a device cut them.
    pub large_pkts: i64,
    /// Keep-alives: at most one byte before the next new one.
    pub keepalives: i64,
    /// SYNs that were sent again.
    pub syn_retransmits: i64,
    /// ACKs that repeat the one before, while data was unacknowledged.
    pub duplicate_acks: i64,
    /// ACKs of data that the capture does not have.
    pub acked_unseen: i64,
}

/// What one end of a connection sends, and how the other end acknowledges it.
#[derive(Debug)]
pub struct Direction {
    /// Sequence number of position 0.
    origin: Option<u32>,
    /// Sequence number of the SYN.
    pub syn: Option<u32>,
    /// Position after the last byte sent.
    highest: i64,
    /// Position of the FIN.
    fin: Option<i64>,
    acked: Option<i64>,
    seen: Seen,
    /// What the peer has, by ACKs and SACK blocks.
    delivered: Seen,
    waiting: VecDeque<Waiting>,
    stamps: VecDeque<Stamp>,
    /// Start and time of the last segments below `highest` that are not acknowledged.
    fills: VecDeque<(i64, i64)>,
    /// Sums over the capture.
    pub totals: Totals,
    /// RTT samples from ACKs: from a segment to the ACK that ends with it.
    pub rtt: Samples,
    /// RTT samples from timestamps of segments with data.
    pub echo: Samples,
    /// RTT samples from timestamps of any packet. Their minimum is the way to the peer and back
    /// even for an end that sends no data.
    pub any_echo: Samples,
    /// The smallest RTT sample of segments with at least as much data as the MSS allows.
    pub least_full_rtt_ns: Option<i64>,
    /// The smallest RTT sample of shorter segments, and that segment's bytes of data.
    pub least_short_rtt: Option<(i64, i64)>,
    /// Time of the first full segment.
    pub first_full_ns: Option<i64>,
    /// Time from the SYN to its acknowledgement.
    pub handshake_ns: Option<i64>,
    srtt_ns: Option<i64>,
    /// The MSS that this end announced.
    pub mss_bytes: Option<u16>,
    /// The window scale that this end announced: `None` without SYN, `Some(None)` without option.
    scale: Option<Option<u8>>,
    rwnd_bytes: Option<i64>,
    /// Data of a full packet on the wire, as far as known.
    full_bytes: i64,
    /// The window field of the peer's last ACK.
    peer_window: u16,
    /// The intervals in which this direction was active.
    pub bins: Vec<Bin>,
}

/// Where in the capture's time a packet is.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Time since the first packet of the capture.
    pub at_ns: i64,
    /// Number of its interval.
    pub index: i64,
    /// Whether there is memory to remember one more segment.
    pub has_room: bool,
}

impl Direction {
    /// A direction without packets.
    #[must_use]
    pub fn new() -> Self {
        Self {
            origin: None,
            syn: None,
            highest: 0,
            fin: None,
            acked: None,
            seen: Seen::default(),
            delivered: Seen::default(),
            waiting: VecDeque::new(),
            stamps: VecDeque::new(),
            fills: VecDeque::new(),
            totals: Totals::default(),
            rtt: Samples::default(),
            echo: Samples::default(),
            any_echo: Samples::default(),
            least_full_rtt_ns: None,
            least_short_rtt: None,
            first_full_ns: None,
            handshake_ns: None,
            srtt_ns: None,
            mss_bytes: None,
            scale: None,
            rwnd_bytes: None,
            full_bytes: 1,
            peer_window: 0,
            bins: Vec::new(),
        }
    }

    /// The position of a sequence number: the one nearest to the end of the stream.
    fn position(&mut self, number: u32) -> i64 {
        let origin = *self.origin.get_or_insert(number);
        let near = (self.highest as u32).wrapping_add(origin);
        self.highest + i64::from(number.wrapping_sub(near) as i32)
    }

    /// Whether this end has sent a SYN with another number, so that this one opens a new
    /// connection.
    #[must_use]
    pub fn is_reopened_by(&self, syn: u32) -> bool {
        self.syn.map_or(self.origin.is_some(), |known| known != syn)
    }

    /// Whether this end has closed its direction.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.fin.is_some()
    }

    /// Adds a segment that this end sent. `peer_mss_bytes` is what the other end announced.
    pub fn sent(
        &mut self,
        now: Moment,
        segment: &Segment,
        peer_mss_bytes: Option<u16>,
        notes: &mut Notes,
    ) {
        self.totals.pkts += 1;
        if segment.flags.contains(TcpFlags::RST) {
            return; // its sequence number need not be one of the stream
        }
        let is_syn = segment.flags.contains(TcpFlags::SYN);
        if is_syn {
            if self.syn == Some(segment.sequence) {
                self.totals.syn_retransmits += 1;
            }
            self.syn = Some(segment.sequence);
            self.origin.get_or_insert(segment.sequence.wrapping_add(1));
            self.mss_bytes = segment.mss_bytes;
            self.scale = Some(segment.window_scale);
        }
        let start = self.position(segment.sequence);
        let length = i64::from(segment.payload_bytes);
        let is_fin = segment.flags.contains(TcpFlags::FIN);
        let is_probe = length <= 1 && start == self.highest - 1 && self.highest > 0;
        let is_idle = self.acked.is_some_and(|acked| acked >= self.highest);
        if is_probe && is_idle && !is_syn && !is_fin {
            self.totals.keepalives += 1;
            return;
        }
        let end = start + length + i64::from(is_syn) + i64::from(is_fin);
        if is_fin {
            self.fin.get_or_insert(end - 1);
        }
        if end > start {
            self.wait(now, start, end, notes);
        }
        if length > 0 {
            let data_start = start + i64::from(is_syn);
            self.data(now, segment, data_start, peer_mss_bytes);
        }
        self.highest = self.highest.max(end);
        if let Some((value, _)) = segment.timestamps {
            let is_newer = |s: &Stamp| (value.wrapping_sub(s.value) as i32) > 0;
            if self.stamps.back().is_none_or(is_newer) {
                if self.stamps.len() == MAX_STAMPS || !now.has_room {
                    self.stamps.pop_front();
                }
                let has_data = end > start;
                let sent_ns = now.at_ns;
                self.stamps.push_back(Stamp {
                    value,
                    sent_ns,
                    has_data,
                });
            }
        }
    }

    /// Remembers a segment until its acknowledgement, or marks what it repeats.
    fn wait(&mut self, now: Moment, start: i64, end: i64, notes: &mut Notes) {
        let is_first = self.highest == 0 && self.waiting.is_empty();
        if start < self.highest && !is_first {
            if self.fills.len() == MAX_FILLS || !now.has_room {
                self.fills.pop_front();
            }
            self.fills.push_back((start, now.at_ns));
            let from = self.waiting.partition_point(|w| w.end <= start);
            for waiting in self.waiting.range_mut(from..) {
                if waiting.start >= end {
                    break;
                }
                waiting.is_resent = true;
            }
            if end <= self.highest {
                return;
            }
        }
        if self.waiting.len() == MAX_WAITING || !now.has_room {
            self.waiting.pop_front();
            notes.beyond_unacknowledged += 1;
            if !now.has_room {
                return;
            }
        }
        let sent_ns = now.at_ns;
        let is_resent = start < self.highest && !is_first;
        self.waiting.push_back(Waiting {
            start,
            end,
            sent_ns,
            is_resent,
        });
    }

    fn data(&mut self, now: Moment, segment: &Segment, start: i64, peer_mss: Option<u16>) {
        let length = i64::from(segment.payload_bytes);
        let before = self.seen.add(start, start + length);
        let headers = segment.ip_bytes - segment.payload_bytes;
        // an MSS does not count options
        let options = headers.saturating_sub(FIXED_HEADERS_BYTES);
        let mss = peer_mss
            .map_or(USUAL_MSS_BYTES, u32::from)
            .saturating_sub(options)
            .max(1);
        self.full_bytes = self.full_bytes.max(length.min(i64::from(mss)));
        if segment.payload_bytes >= mss {
            self.first_full_ns.get_or_insert(now.at_ns);
        }
        let pieces = segment.payload_bytes.div_ceil(mss);
        let totals = &mut self.totals;
        totals.sent_pkts += 1;
        totals.sent_bytes += length;
        totals.wire_bytes += length + i64::from(pieces) * i64::from(headers);
        totals.unique_bytes += length - before;
        totals.large_pkts += i64::from(pieces > 1 && peer_mss.is_some());
        if before > 0 {
            totals.retransmits_pkts += 1;
            totals.retransmits_bytes += before;
        } else if start < self.highest {
            totals.out_of_order_pkts += 1;
        }
        let flight = self.highest.max(start + length) - self.acked.unwrap_or(0);
        self.bin(now, flight);
    }

    /// Adds what a segment of the other end acknowledges. `scale` is that end's.
    pub fn acknowledged(&mut self, now: Moment, segment: &Segment, scale: Option<u8>) {
        if !segment.flags.contains(TcpFlags::ACK) || segment.flags.contains(TcpFlags::RST) {
            return;
        }
        let is_syn = segment.flags.contains(TcpFlags::SYN);
        if let Some(shift) = if is_syn { Some(0) } else { scale } {
            self.rwnd_bytes = Some(i64::from(segment.window) << shift);
        }
        let before = self.totals.delivered_bytes;
        let acked_before = self.acked.unwrap_or(0);
        let rtt_ns = self.ack(now, segment);
        self.sacked(segment);
        let echo_ns = self.echoed(now, segment);
        if rtt_ns.is_none() && echo_ns.is_none() && before == self.totals.delivered_bytes {
            return;
        }
        if self.bins.is_empty() {
            return; // no data so far
        }
        let flight = self.highest - self.acked.unwrap_or(0);
        let is_prompt = self.acked.unwrap_or(0) - acked_before >= 2 * self.full_bytes;
        let bin = self.bin(now, flight);
        if let Some(sample) = rtt_ns.filter(|s| *s >= 0) {
            bin.rtt.add(sample);
            if is_prompt {
                bin.prompt.add(sample);
            }
        }
        if let Some(sample) = echo_ns {
            bin.echo.add(sample);
        }
    }

    /// Processes the acknowledgement number. Returns an RTT sample, -1 for an ACK of new data that
    /// gives none, `None` for other ACKs.
    fn ack(&mut self, now: Moment, segment: &Segment) -> Option<i64> {
        let ack = self.position(segment.acknowledgement);
        let before = self.acked;
        if before.is_some_and(|before| ack <= before) {
            let is_plain = segment.payload_bytes == 0 && self.peer_window == segment.window;
            if before == Some(ack) && is_plain && ack < self.highest {
                self.totals.duplicate_acks += 1;
            }
            self.peer_window = segment.window;
            return None;
        }
        self.peer_window = segment.window;
        self.acked = Some(ack);
        self.deliver(before.unwrap_or(0), ack);
        self.totals.acked_unseen += i64::from(ack > self.highest);
        self.totals.acked_bytes = ack.min(self.fin.unwrap_or(i64::MAX)).max(0);
        let mut last = None;
        while let Some(front) = self.waiting.front().copied().filter(|w| w.end <= ack) {
            last = Some(front);
            self.waiting.pop_front();
        }
        let mut filled_ns = i64::MIN;
        self.fills.retain(|(start, at_ns)| {
            let is_acked = *start < ack;
            if is_acked {
                filled_ns = filled_ns.max(*at_ns);
            }
            !is_acked
        });
        // an ACK inside of a segment acknowledges a part of it
        let Some(last) = last.filter(|last| last.end == ack && !last.is_resent) else {
            return Some(-1);
        };
        if filled_ns > last.sent_ns {
            return Some(-1); // the ACK waited for the segment that filled a hole
        }
        let sample = now.at_ns - last.sent_ns;
        if last.end == 0 {
            self.handshake_ns.get_or_insert(sample);
        } else {
            self.least_rtt(last.end - last.start, sample);
        }
        self.rtt.add(sample);
        let srtt = self
            .srtt_ns
            .map_or(sample, |srtt| srtt + (sample - srtt) / 8);
        self.srtt_ns = Some(srtt);
        Some(sample)
    }

    /// Keeps the smallest samples: a link needs time to send a segment, by its size.
    fn least_rtt(&mut self, bytes: i64, sample_ns: i64) {
        if self.first_full_ns.is_some() && bytes >= self.full_bytes {
            let least = self.least_full_rtt_ns.unwrap_or(i64::MAX);
            self.least_full_rtt_ns = Some(least.min(sample_ns));
        } else if self
            .least_short_rtt
            .is_none_or(|(least, _)| sample_ns < least)
        {
            self.least_short_rtt = Some((sample_ns, bytes));
        }
    }

    fn deliver(&mut self, start: i64, end: i64) {
        let new = (end - start).max(0) - self.delivered.add(start, end);
        self.totals.delivered_bytes += new;
    }

    fn sacked(&mut self, segment: &Segment) {
        for block in segment.sack.iter().flat_map(Sack::blocks) {
            let (left, right) = (self.position(block.left), self.position(block.right));
            // a wrong block may name data that was never sent
            if (0..=self.highest).contains(&left) && right <= self.highest {
                self.deliver(left, right);
            }
        }
    }

    /// Finds the sample of an echoed timestamp: its first echo counts.
    fn echoed(&mut self, now: Moment, segment: &Segment) -> Option<i64> {
        let (_, echo) = segment.timestamps?;
        while let Some(front) = self.stamps.front().copied() {
            let newer = front.value.wrapping_sub(echo) as i32;
            if newer > 0 {
                return None;
            }
            self.stamps.pop_front();
            if newer == 0 {
                let sample = now.at_ns - front.sent_ns;
                self.any_echo.add(sample);
                if front.has_data {
                    self.echo.add(sample);
                }
                return front.has_data.then_some(sample);
            }
        }
        None
    }

    /// The scale of this end's windows, given the other end's; `None` if the capture lacks a SYN.
    #[must_use]
    pub fn scale_with(&self, peer: &Self) -> Option<u8> {
        match (self.scale?, peer.scale?) {
            (Some(shift), Some(_)) => Some(WindowScale { shift }.effective_shift()),
            _ => Some(0), // both ends must send the option
        }
    }

    /// Number of segments and timestamps that are remembered.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.waiting.len() + self.stamps.len() + self.fills.len()
    }

    /// Bytes between the first and the last one that the capture lacks.
    #[must_use]
    pub fn missing_bytes(&self) -> i64 {
        self.seen.missing_bytes()
    }

    /// The bin of this moment, with the totals so far.
    fn bin(&mut self, now: Moment, flight_bytes: i64) -> &mut Bin {
        if self.bins.last().is_none_or(|last| last.index < now.index) {
            let index = now.index;
            self.bins.push(Bin {
                index,
                ..Bin::default()
            });
        }
        let at = self.bins.len() - 1;
        let bin = &mut self.bins[at];
        bin.acked_bytes = self.totals.acked_bytes;
        bin.delivered_bytes = self.totals.delivered_bytes;
        bin.unique_bytes = self.totals.unique_bytes;
        bin.sent_pkts = self.totals.sent_pkts;
        bin.wire_bytes = self.totals.wire_bytes;
        bin.retransmits_pkts = self.totals.retransmits_pkts;
        bin.out_of_order_pkts = self.totals.out_of_order_pkts;
        bin.srtt_ns = self.srtt_ns.unwrap_or(-1);
        bin.flight_bytes = bin.flight_bytes.max(flight_bytes); // never below 0, as a new bin has it
        bin.rwnd_bytes = self.rwnd_bytes.unwrap_or(-1);
        bin
    }
}

impl Default for Direction {
    fn default() -> Self {
        Self::new()
    }
}
