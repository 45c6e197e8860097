//! Segments that were sent and not cumulatively acknowledged: one entry per segment, with the marks
//! that Linux keeps on its retransmission queue.

use crate::ring::Ring;

/// Selectively acknowledged.
pub const SACKED: u8 = 1;
/// Believed lost.
pub const LOST: u8 = 2;
/// Mark of a packet that was retransmitted and whose retransmission is believed to be in flight.
pub const RETRANS: u8 = 4;
/// Mark of a packet that was retransmitted at least once.
pub const EVER_RETRANS: u8 = 8;
/// Mark of the last packet of a large segment.
pub const PUSH: u8 = 16;
/// Mark of the first packet of an sk_buff.
pub const HEAD: u8 = 32;
/// Mark of a packet at whose end the writer has set PSH (tcp_mark_push).
pub const PUSHED: u8 = 64;
/// Marks of the data itself. Retransmission and loss do not change them.
const OF_DATA: u8 = PUSH | HEAD | PUSHED;

/// A sent segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// First byte.
    pub seq: u64,
    /// Length in sequence numbers, including the FIN.
    pub len: u32,
    /// Marks.
    pub marks: u8,
    /// Whether the segment ends with a FIN, which may follow data.
    pub fin: bool,
    /// Time of the last transmission.
    pub sent_ns: u64,
    /// `snd_nxt` at the last retransmission of this segment: a SACK beyond it shows that the
    /// retransmission was lost.
    pub retrans_nxt: u64,
}

impl Segment {
    /// Bytes of data, without the sequence number of a FIN.
    pub fn payload_bytes(&self) -> u32 {
        self.len - u32::from(self.fin)
    }

    /// Sequence number after the segment's last byte.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}

/// The segments between `snd_una` and `snd_nxt`. Segments have consecutive numbers, which stay
/// valid when older segments are removed.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Scoreboard {
    segments: Ring<Segment>,
    /// Number of the oldest segment.
    pub first: u64,
    /// Number of packets marked SACKED; without SACK, number of duplicate ACKs.
    pub sacked_out: u32,
    /// Packets marked LOST.
    pub lost_out: u32,
    /// Packets marked RETRANS.
    pub retrans_out: u32,
    /// Number of packets marked HEAD, which is the number of sk_buffs with sent data.
    pub heads: u32,
    /// Number of losses found so far, including lost retransmissions.
    pub losses: u32,
    /// One more than the number of the highest SACKed segment; `first` or less if none is SACKed.
    pub sacked_end: u64,
    /// No segment below this number waits for retransmission.
    pub retransmit_from: u64,
    /// Transmissions in order of time, for RACK: (segment number, time).
    pub by_time: Ring<(u64, u64)>,
    /// SACK blocks of the previous ACK, which are already marked.
    seen: [(u64, u64); 4],
}

impl Scoreboard {
    /// Records a transmission. Also removes older entries of acknowledged segments, which nothing
    /// else removes on a connection without losses.
    #[inline]
    pub fn transmitted(&mut self, number: u64, now_ns: u64) {
        while self.by_time.front().is_some_and(|t| t.0 < self.first) {
            self.by_time.drop_front();
        }
        self.by_time.push_back((number, now_ns));
    }

    /// Packets sent and not cumulatively acknowledged.
    #[inline]
    pub fn packets_out(&self) -> u32 {
        self.segments.len() as u32
    }

    /// Packets believed to be in the network (tcp_packets_in_flight).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        (self.packets_out() + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    /// Distance of the highest SACKed segment from the oldest one (fackets_out).
    pub fn forward(&self) -> u32 {
        self.sacked_end.saturating_sub(self.first) as u32
    }

    /// The number after that of the last segment.
    pub fn end(&self) -> u64 {
        self.first + self.segments.len() as u64
    }

    /// The segment with this number, if it is outstanding.
    #[inline]
    pub fn get(&self, number: u64) -> Option<&Segment> {
        self.segments.get(number.checked_sub(self.first)? as usize)
    }

    /// The segment with this number, mutable.
    #[inline]
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Segment> {
        self.segments
            .get_mut(number.checked_sub(self.first)? as usize)
    }

    /// The oldest segment.
    #[inline]
    pub fn front(&self) -> Option<&Segment> {
        self.segments.front()
    }

    /// Appends a new segment.
    #[inline]
    pub fn push(&mut self, segment: Segment) {
        self.heads += u32::from(segment.marks & HEAD != 0);
        self.segments.push_back(segment);
    }

    /// Removes the oldest segment, whose marks are `marks`, and updates the counts.
    #[inline]
    pub fn drop_front(&mut self, marks: u8) {
        self.segments.drop_front();
        self.first += 1;
        if marks & HEAD != 0 {
            self.pass_head_on();
        }
        if marks & !OF_DATA != 0 {
            self.sacked_out -= u32::from(marks & SACKED != 0);
            self.lost_out -= u32::from(marks & LOST != 0);
            self.retrans_out -= u32::from(marks & RETRANS != 0);
        }
    }

    /// After an sk_buff's first packet was acknowledged, moves the HEAD mark to its next packet, if
    /// it has one (tcp_trim_head).
    #[inline]
    fn pass_head_on(&mut self) {
        match self.segments.front_mut() {
            Some(next) if next.marks & HEAD == 0 => next.marks |= HEAD,
            _ => self.heads -= 1,
        }
    }

    /// Removes the acknowledged part of the oldest segment.
    pub fn trim_front(&mut self, ack: u64) {
        if let Some(front) = self.segments.front_mut() {
            if front.seq < ack {
                front.len -= (ack - front.seq) as u32;
                front.seq = ack;
            }
        }
    }

    /// Number of the segment that contains or follows `seq`.
    fn number_at(&self, seq: u64) -> u64 {
        // Most segments have equal length: start at the place that this suggests, then search
        // nearby.
        let Some(front) = self.segments.front() else {
            return self.first;
        };
        if seq <= front.seq {
            return self.first;
        }
        let mut at = (((seq - front.seq) / u64::from(front.len.max(1))) as usize)
            .min(self.segments.len() - 1);
        while at > 0 && self.segments.get(at).is_some_and(|s| s.seq > seq) {
            at -= 1;
        }
        while self.segments.get(at).is_some_and(|s| s.end() <= seq) {
            at += 1;
        }
        self.first + at as u64
    }

    /// Marks the segments that the blocks cover, and calls `visit` with the number and the previous
    /// state of each newly covered one. Blocks must be above `snd_una`.
    pub fn mark_sacked(
        &mut self,
        blocks: &[(u64, u64)],
        mut visit: impl FnMut(u64, &Segment),
    ) -> u32 {
        let mut newly = 0;
        let before = std::mem::take(&mut self.seen);
        for (i, &(start, end)) in blocks.iter().enumerate().take(4) {
            self.seen[i] = (start, end);
            // Skip the part of the block that the previous ACK's block with the same start has
            // already marked.
            let from = before
                .iter()
                .filter(|s| s.0 == start && s.1 <= end)
                .map(|s| s.1)
                .max()
                .unwrap_or(start);
            let mut number = self.number_at(from);
            while let Some(segment) = self.get_mut(number) {
                if segment.end() > end {
                    break;
                }
                if segment.marks & SACKED == 0 && segment.seq >= start {
                    visit(number, segment);
                    let marks = segment.marks;
                    segment.marks = (marks | SACKED) & !(LOST | RETRANS);
                    self.sacked_out += 1;
                    self.lost_out -= u32::from(marks & LOST != 0);
                    self.retrans_out -= u32::from(marks & RETRANS != 0);
                    self.sacked_end = self.sacked_end.max(number + 1);
                    newly += 1;
                }
                number += 1;
            }
        }
        newly
    }

    /// Marks a segment lost; its retransmission, if any, no longer counts as in flight. Returns
    /// whether this is a new loss.
    pub fn mark_lost(&mut self, number: u64) -> bool {
        let Some(segment) = self.get_mut(number) else {
            return false;
        };
        if segment.marks & SACKED != 0 {
            return false;
        }
        let was = segment.marks;
        segment.marks = (was | LOST) & !RETRANS;
        let is_new = was & (LOST | RETRANS) != LOST;
        self.losses += u32::from(is_new);
        self.lost_out += u32::from(was & LOST == 0);
        self.retrans_out -= u32::from(was & RETRANS != 0);
        self.retransmit_from = self.retransmit_from.min(number);
        is_new
    }

    /// Marks everything that is not SACKed as lost, after a retransmission timeout. Returns whether
    /// any segment had been retransmitted before.
    pub fn mark_all_lost(&mut self) -> bool {
        let mut any_retrans = false;
        self.lost_out = 0;
        self.retrans_out = 0;
        let lost_out = &mut self.lost_out;
        self.segments.for_each_mut(|segment| {
            any_retrans |= segment.marks & EVER_RETRANS != 0;
            segment.marks &= SACKED | EVER_RETRANS | OF_DATA;
            if segment.marks & SACKED == 0 {
                segment.marks |= LOST;
                *lost_out += 1;
            }
        });
        self.retransmit_from = self.first;
        any_retrans
    }

    /// Removes every LOST mark.
    pub fn clear_lost(&mut self) {
        self.segments.for_each_mut(|segment| segment.marks &= !LOST);
        self.lost_out = 0;
    }

    /// The next segment that is marked lost and has no retransmission in flight.
    pub fn next_to_retransmit(&mut self) -> Option<u64> {
        let mut number = self.retransmit_from.max(self.first);
        while let Some(segment) = self.get(number) {
            if segment.marks & (LOST | RETRANS | SACKED) == LOST {
                self.retransmit_from = number;
                return Some(number);
            }
            number += 1;
        }
        self.retransmit_from = number;
        None
    }

    /// Records that a segment was retransmitted. `mark` is PUSH if the segment ended a large
    /// segment, otherwise 0.
    pub fn note_retransmission(&mut self, number: u64, now_ns: u64, snd_nxt: u64, mark: u8) {
        if let Some(segment) = self.get_mut(number) {
            let was = segment.marks;
            segment.marks |= RETRANS | EVER_RETRANS | mark;
            segment.sent_ns = now_ns;
            segment.retrans_nxt = snd_nxt;
            self.retrans_out += u32::from(was & RETRANS == 0);
        }
    }

    /// Whether all counts of the scoreboard agree with its marks; for tests.
    pub fn is_consistent(&self, sack: bool) -> bool {
        let count = |mark: u8| self.segments.iter().filter(|s| s.marks & mark != 0).count() as u32;
        (!sack || self.sacked_out == count(SACKED))
            && self.lost_out == count(LOST)
            && self.heads == count(HEAD)
            && self.retrans_out == count(RETRANS)
            && self
                .segments
                .iter()
                .zip(self.segments.iter().skip(1))
                .all(|(a, b)| a.end() == b.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_acknowledged_transmissions_are_removed_without_a_loss() {
        let mut board = Scoreboard::default();
        for number in 0..10_000 {
            let (seq, sent_ns) = (1 + number * 100, number * 1000);
            let segment = Segment {
                seq,
                len: 100,
                marks: 0,
                fin: false,
                sent_ns,
                retrans_nxt: 0,
            };
            board.push(segment);
            board.transmitted(number, sent_ns);
            if board.packets_out() > 10 {
                board.drop_front(0);
            }
            assert!(board.by_time.len() <= 12, "{}", board.by_time.len());
        }
    }
}
