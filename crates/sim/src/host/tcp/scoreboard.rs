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
    /// state of each newly covered one. Blocks must be above `snd_una`. With `joins`, SACKed sk_buffs
    /// are joined and divided as in [`Self::join_sacked`].
    pub fn mark_sacked(
        &mut self,
        blocks: &[(u64, u64)],
        joins: bool,
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
            let (mut joined, newly_before) = (false, newly);
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
                    if joins {
                        joined = self.join_sacked(number, marks, joined);
                    }
                }
                number += 1;
            }
            if joins && newly > newly_before {
                self.divide_before(number);
            }
        }
        newly
    }

    /// Whether the outstanding segment that contains this sequence number was sent again.
    pub fn was_retransmitted(&self, seq: u64) -> bool {
        let segment = self.get(self.number_at(seq));
        segment.is_some_and(|segment| segment.marks & (RETRANS | EVER_RETRANS) != 0)
    }

    /// Keeps the sk_buffs of a newly SACKed packet, whose marks were `was`, as Linux does: it joins
    /// the sk_buff before it if that is SACKed and has packets of the same size, and then also the
    /// one behind it, which frees their memory (tcp_shift_skb_data). A SACK of a part of an sk_buff
    /// divides it (tcp_match_skb_to_sack). `joined`: whether the packet before it in this block has
    /// joined. Returns whether this packet has.
    #[inline(never)]
    fn join_sacked(&mut self, number: u64, was: u8, joined: bool) -> bool {
        let size = self.get(number).map_or(0, |segment| segment.len);
        let is_like = |other: &Segment| {
            other.marks & (SACKED | LOST | RETRANS) == SACKED && other.len == size
        };
        let before = number.checked_sub(1).and_then(|at| self.get(at)).copied();
        let mut joins = joined;
        if was & HEAD != 0 {
            joins = was & (LOST | RETRANS) != RETRANS && before.as_ref().is_some_and(is_like);
            if joins {
                self.drop_head(number);
            }
        } else if before.is_some_and(|before| before.marks & SACKED == 0) {
            joins = false;
            self.divide_before(number);
        }
        if joins && self.get(number + 1).is_some_and(is_like) {
            self.drop_head(number + 1);
        }
        joins
    }

    /// Makes a packet the first one of an sk_buff.
    fn divide_before(&mut self, number: u64) {
        if let Some(next) = self.get_mut(number).filter(|next| next.marks & HEAD == 0) {
            next.marks |= HEAD;
            self.heads += 1;
        }
    }

    /// Makes a packet a part of the sk_buff before it.
    fn drop_head(&mut self, number: u64) {
        if let Some(segment) = self.get_mut(number).filter(|one| one.marks & HEAD != 0) {
            segment.marks &= !HEAD;
            self.heads -= 1;
        }
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

    /// Cuts the sk_buffs that have packets above `mss` bytes into packets of at most `mss`, and marks
    /// these lost (tcp_simple_retransmit, tcp_set_skb_tso_segs). Packets that are SACKed are kept: a
    /// SACK of a part of an sk_buff divides it (tcp_match_skb_to_sack). Returns for each packet of the
    /// new scoreboard the index of the old packet with its first byte.
    pub fn cut_anew(&mut self, mss: u32) -> Vec<usize> {
        let old: Vec<Segment> = self.segments.iter().copied().collect();
        self.segments = Ring::default();
        let (mut origins, mut sacked_end) = (vec![], self.first);
        let mut at = 0;
        while at < old.len() {
            let sacked = old[at].marks & SACKED;
            let belongs = |one: &&Segment| one.marks & (HEAD | SACKED) == sacked;
            let len = 1 + old[at + 1..].iter().take_while(belongs).count();
            let sk_buff = &old[at..at + len];
            if sacked == 0 && sk_buff.iter().any(|one| one.payload_bytes() > mss) {
                let mut from = at;
                for piece in pieces(sk_buff, mss) {
                    while old[from].end() <= piece.seq {
                        from += 1;
                    }
                    origins.push(from);
                    self.segments.push_back(piece);
                    self.losses += 1;
                }
            } else {
                for (segment, from) in sk_buff.iter().zip(at..) {
                    origins.push(from);
                    self.segments.push_back(*segment);
                    if segment.marks & SACKED != 0 {
                        sacked_end = self.end();
                    }
                }
            }
            at += len;
        }
        self.count_anew(sacked_end);
        origins
    }

    /// Computes everything that depends on packets' numbers or marks.
    fn count_anew(&mut self, sacked_end: u64) {
        let count = |mark: u8| self.segments.iter().filter(|s| s.marks & mark != 0).count() as u32;
        (self.lost_out, self.retrans_out, self.heads) = (count(LOST), count(RETRANS), count(HEAD));
        self.sacked_end = sacked_end;
        self.retransmit_from = self.first;
        self.seen = Default::default();
        if self.by_time.len() > 0 {
            let mut times: Vec<_> = self
                .segments
                .iter()
                .map(|s| s.sent_ns)
                .zip(self.first..)
                .collect();
            times.sort_unstable();
            self.by_time = Ring::default();
            for (sent_ns, number) in times {
                self.by_time.push_back((number, sent_ns));
            }
        }
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

/// The packets of at most `mss` bytes into which an sk_buff is cut, all marked lost.
fn pieces(sk_buff: &[Segment], mss: u32) -> Vec<Segment> {
    let (first, last) = (sk_buff[0], sk_buff[sk_buff.len() - 1]);
    let end = last.end() - u64::from(last.fin);
    let mut pieces = vec![];
    let mut seq = first.seq;
    while seq < end {
        let len = (end - seq).min(mss.into()) as u32;
        let is_pushed = |one: &&Segment| one.marks & PUSHED != 0;
        let mut pushes = sk_buff.iter().filter(is_pushed).map(Segment::end);
        let piece_end = seq + u64::from(len);
        pieces.push(Segment {
            seq,
            len,
            marks: LOST
                | (first.marks & EVER_RETRANS)
                | if seq == first.seq { HEAD } else { 0 }
                | if pushes.any(|push| push > seq && push <= piece_end) {
                    PUSHED
                } else {
                    0
                },
            fin: false,
            ..first
        });
        seq = piece_end;
    }
    if let Some(tail) = pieces.last_mut() {
        tail.len += u32::from(last.fin);
        tail.fin = last.fin;
        tail.marks |= PUSH | (last.marks & PUSHED);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(seq: u64, len: u32, marks: u8) -> Segment {
        Segment {
            seq,
            len,
            marks,
            fin: false,
            sent_ns: seq,
            retrans_nxt: 0,
        }
    }

    #[test]
    fn a_smaller_mss_cuts_sk_buffs_and_marks_their_packets_lost() {
        let mut board = Scoreboard {
            first: 7,
            ..Scoreboard::default()
        };
        // an sk_buff of three packets, a small one, and one that ends with a FIN
        for (segment, number) in [
            sent(1, 1448, HEAD),
            sent(1449, 1448, 0),
            sent(2897, 1448, PUSH | PUSHED),
            sent(4345, 500, HEAD | PUSHED),
            Segment {
                fin: true,
                ..sent(4845, 1449, HEAD)
            },
        ]
        .into_iter()
        .zip(7..)
        {
            board.push(segment);
            board.transmitted(number, segment.sent_ns);
        }
        let origins = board.cut_anew(1348);
        assert!(board.is_consistent(true));
        let all: Vec<_> = (7..board.end()).map(|n| *board.get(n).unwrap()).collect();
        let sizes: Vec<_> = all.iter().map(|s| (s.seq, s.len)).collect();
        let expected = [
            (1, 1348),
            (1349, 1348),
            (2697, 1348),
            (4045, 300),
            (4345, 500),
            (4845, 1348),
            (6193, 101),
        ];
        assert_eq!(sizes, expected);
        assert_eq!(origins, [0, 0, 1, 2, 3, 4, 4]);
        assert_eq!((board.lost_out, board.losses, board.heads), (6, 6, 3));
        let lost: Vec<_> = all.iter().map(|s| s.marks & LOST != 0).collect();
        assert_eq!(lost, [true, true, true, true, false, true, true]);
        let last: Vec<_> = all.iter().map(|s| s.marks & PUSH != 0).collect();
        assert_eq!(last, [false, false, false, true, false, false, true]);
        assert_eq!(all.iter().filter(|s| s.fin).count(), 1);
        assert!(all[6].fin);
        assert_eq!(board.next_to_retransmit(), Some(7));
        let times: Vec<_> = board.by_time.iter().map(|&(number, _)| number).collect();
        assert_eq!(times, (7..14).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_lost_of_an_sk_buff_is_cut_although_the_rest_is_sacked() {
        let mut board = Scoreboard::default();
        let marks = [HEAD, SACKED, SACKED, 0, PUSH | PUSHED];
        for (number, marks) in (0..).zip(marks) {
            board.push(sent(1 + 1448 * number, 1448, marks));
            board.transmitted(number, number);
        }
        board.sacked_out = 2;
        let origins = board.cut_anew(1348);
        let all: Vec<_> = (0..board.end()).map(|n| *board.get(n).unwrap()).collect();
        let sizes: Vec<_> = all.iter().map(|s| s.len).collect();
        assert_eq!(sizes, [1348, 100, 1448, 1448, 1348, 1348, 200]);
        assert_eq!(origins, [0, 0, 1, 2, 3, 3, 4]);
        let lost: Vec<_> = all.iter().map(|s| s.marks & LOST != 0).collect();
        assert_eq!(lost, [true, true, false, false, true, true, true]);
        assert!(board.is_consistent(true));
    }

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

    #[test]
    fn sacked_sk_buffs_are_joined_and_divided() {
        let mut board = Scoreboard::default();
        // six sk_buffs: four of one packet, one of two packets and one of a smaller packet
        for (at, marks) in [HEAD, HEAD, HEAD, HEAD, HEAD, 0].into_iter().enumerate() {
            board.push(sent(1000 * at as u64, 1000, marks));
        }
        board.push(sent(6000, 500, HEAD));
        let mut heads = |block, joins| {
            board.mark_sacked(&[block], joins, |_, _| {});
            assert!(board.is_consistent(true));
            board.heads
        };
        // the first packet is missing
        assert_eq!(heads((1000, 2000), true), 6);
        // the fourth joins nothing, and half of the fifth sk_buff joins it
        assert_eq!(heads((3000, 5000), true), 6);
        // the third joins the second, and the fourth joins both
        assert_eq!(heads((1000, 5000), true), 4);
        // the smaller packet does not join the rest
        assert_eq!(heads((1000, 6500), true), 3);
    }
}
