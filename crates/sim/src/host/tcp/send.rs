//! Transmission of new data, acknowledgements and retransmissions (Linux tcp_output.c).

use super::profile::Reduction;
use super::scoreboard::{Segment, HEAD, PUSH, PUSHED};
use super::{ca, Pending, Socket, State, Timer, HEADER_BYTES, TIMESTAMP_BYTES};
use crate::net::packet::{about, flags, Packet, Sacks};
use crate::net::Net;

impl Socket {
    pub(super) fn max_sack_blocks(&self) -> usize {
        // A Quick-Start response takes the space of one SACK block.
        let response = usize::from(self.quick_start_flags.due && self.response_is_due());
        if self.carried.is_some() && self.options.sack {
            return self.sack_blocks_beside_header(self.timestamp_bytes());
        }
        self.sack_blocks_beside(response)
    }

    /// SACK blocks that fit in addition to timestamps and to `others` other options, each as large
    /// as a block.
    #[inline]
    fn sack_blocks_beside(&self, others: usize) -> usize {
        match (self.options.sack, self.options.timestamps) {
            (false, _) => 0,
            (true, true) => 3 - others,
            (true, false) => 4 - others,
        }
    }

    pub(super) fn timestamp_bytes(&self) -> u32 {
        if self.options.timestamps {
            TIMESTAMP_BYTES
        } else {
            0
        }
    }

    /// Sends a packet with the current acknowledgement.
    #[inline]
    pub(super) fn emit(&mut self, net: &mut Net, seq: u64, payload_bytes: u32, flags: u8) {
        if self.ecn.any() || self.quick_start_flags.due || self.carried.is_some() {
            self.emit_rare(net, seq, payload_bytes, flags);
        } else {
            self.emit_plain(net, seq, payload_bytes, flags);
        }
    }

    #[inline(never)]
    fn emit_rare(&mut self, net: &mut Net, seq: u64, payload_bytes: u32, flags: u8) {
        self.emit_as::<false>(net, seq, payload_bytes, flags);
    }

    #[inline(never)]
    fn emit_plain(&mut self, net: &mut Net, seq: u64, payload_bytes: u32, flags: u8) {
        self.emit_as::<true>(net, seq, payload_bytes, flags);
    }

    /// Sends a packet. With `PLAIN` it has neither ECN nor protocol headers. The packet is built as
    /// the argument of the call that stores it. Its address is not taken before, so the compiler
    /// writes the fields directly into the slab instead of copying the packet.
    #[inline(always)]
    fn emit_as<const PLAIN: bool>(
        &mut self,
        net: &mut Net,
        seq: u64,
        payload_bytes: u32,
        flags: u8,
    ) {
        let window_bytes = self.receiver.ack_sent();
        let mut sacks = Sacks::default();
        let most = if PLAIN {
            self.sack_blocks_beside(0)
        } else {
            self.max_sack_blocks()
        };
        let (mut n_sack, mut dsack) = self.receiver.write_sack_blocks(most, &mut sacks);
        self.disarm(Timer::Ack);
        let mut sack_bytes = 0;
        if n_sack > 0 {
            n_sack = self.sack_blocks_within_mtu(net, n_sack, payload_bytes);
            dsack &= n_sack > 0;
            sack_bytes = if n_sack > 0 {
                4 + 8 * u32::from(n_sack)
            } else {
                0
            };
        }
        let (ecn, ecn_flags) = if PLAIN || !self.ecn.any() {
            (0, 0)
        } else {
            self.ecn_of_segment(seq, payload_bytes)
        };
        let packet = Packet {
            seq,
            ack: self.receiver.rcv_nxt,
            ip_bytes: HEADER_BYTES + self.timestamp_bytes() + sack_bytes + payload_bytes,
            payload_bytes,
            flags: flags::ACK | flags | ecn_flags,
            ecn,
            window_bytes,
            ts_val_ms: self.timestamp(net),
            ts_ecr_ms: self.receiver.ts_recent_ms,
            n_sack,
            about: if dsack && n_sack > 0 { about::DSACK } else { 0 },
            ..self.blank(net)
        };
        if PLAIN {
            net.send(packet, &sacks);
        } else {
            self.send_with_headers(net, packet, &sacks);
        }
    }

    /// Sends a pure acknowledgement.
    pub(super) fn send_ack(&mut self, net: &mut Net) {
        self.emit(net, self.snd_nxt, 0, 0);
        if self.paces_segments {
            self.pacing.next_ns = self.pacing.next_ns.max(net.now_ns);
        }
    }

    /// Marks an ACK as due. If data is sent during the same event, the data carries the ACK;
    /// otherwise the ACK is sent alone.
    pub(super) fn ack_owed_now(&mut self, net: &Net) {
        self.timers[Timer::Ack as usize].deadline_ns = net.now_ns;
    }

    /// Sends a pure ACK if an ACK is due and no data packet has carried it.
    pub(super) fn acknowledge_if_owed(&mut self, net: &mut Net) {
        if self.timers[Timer::Ack as usize].deadline_ns <= net.now_ns {
            self.send_ack(net);
        }
    }

    /// Sends new data as far as the windows allow (tcp_write_xmit), and sets the timers.
    #[inline]
    pub(super) fn push_pending(&mut self, net: &mut Net) {
        let all_sent = self.snd_nxt >= self.write_end && (self.fin_sent || !self.fin_queued);
        if all_sent || self.state != State::Established {
            return;
        }
        if self.starts_fast
            && self.profile.segments_are_large
            && self.board.in_flight() == 0
            && self.start_told_ns != net.now_ns
            && self.snd_nxt < self.write_end.min(self.snd_una + self.snd_wnd)
        {
            self.transmission_starts(net, net.now_ns - self.last_sent_ns);
        }
        let is_plain = self.conn.pacing_rate_bytes_per_s == 0
            && !(self.paces_segments && self.pacing.next_ns > net.now_ns)
            && self.pending != Some(Pending::Persist)
            && self.carried.is_none()
            && !self.quick_start_flags.due;
        if is_plain {
            self.push_plain(net);
        } else {
            if self.report_goes_alone() {
                self.send_ack(net);
            }
            self.push_rare(net);
        }
    }

    #[inline(never)]
    fn push_plain(&mut self, net: &mut Net) {
        self.push::<true>(net);
    }

    #[inline(never)]
    fn push_rare(&mut self, net: &mut Net) {
        self.push::<false>(net);
    }

    /// Sends new data as far as the windows allow. `PLAIN` is for sockets without pacing and
    /// headers whose peer's window is open.
    #[inline(always)]
    fn push<const PLAIN: bool>(&mut self, net: &mut Net) {
        let before = self.snd_nxt;
        let out_before = self.board.packets_out();
        let mut limited = false;
        let mut closed = false;
        // Computed only when something can be sent, because most ACKs that arrive do not release
        // data.
        let mut largest = 0;
        // Number of packets of the current large segment: all, left to send, and sent so far.
        let (mut pkts, mut left, mut gone) = (1, 0, 0);
        let mut segment_end = 0;
        // Whether a transmission starts with this segment. The size of the first segment was
        // decided separately.
        let mut starts = false;
        let by_segment = !PLAIN && self.paces_segments;
        loop {
            let end = self.write_end;
            let has_data = self.snd_nxt < end;
            let has_fin = self.fin_queued && !self.fin_sent && !has_data && self.may_close();
            if !has_data && !has_fin {
                break;
            }
            if left == 0 && by_segment && self.segment_waits(net) {
                break;
            }
            let in_flight = self.board.in_flight();
            if in_flight >= self.conn.cwnd_pkts {
                limited = true;
                break;
            }
            let room = if self.conn.ignore_peer_window == 0 {
                (self.snd_una + self.snd_wnd).saturating_sub(self.snd_nxt)
            } else {
                u64::MAX
            };
            let most_sacks = if PLAIN {
                self.sack_blocks_beside(0)
            } else {
                self.max_sack_blocks()
            };
            let mut mss = u64::from(self.mss - self.receiver.sack_option_bytes(most_sacks));
            if !PLAIN && self.quick_start_flags.due {
                mss -= u64::from(self.quick_start_bytes());
            }
            if !PLAIN {
                let n_sack = self.receiver.sack_blocks(most_sacks) as u8;
                mss -= u64::from(self.option_bytes(net, n_sack));
            }
            let want = if has_fin {
                1
            } else if left > 0 {
                (segment_end - self.snd_nxt).min(mss)
            } else {
                (end - self.snd_nxt).min(mss)
            };
            // If the window cuts a large segment, its last packet is shortened.
            let is_cut = left > 0 && room > 0;
            if want > room && room < mss && !is_cut {
                closed = true;
                self.limited.stops(net.now_ns);
                if has_data && self.fills_large() {
                    self.grow_head(self.largest_segment_pkts(), end - self.snd_nxt);
                }
                break;
            }
            let mut len = want.min(room) as u32;
            if !has_fin && u64::from(len) < mss && !is_cut && self.nagle_waits(end) {
                break;
            }
            if !PLAIN
                && self.conn.pacing_rate_bytes_per_s != 0
                && !by_segment
                && self.pacing_waits(net)
            {
                break;
            }
            if largest == 0 {
                largest = match std::mem::take(&mut self.starting_pkts) {
                    0 => self.largest_segment_pkts(),
                    pkts => {
                        starts = self.is_pushed_alone();
                        pkts
                    }
                };
            }
            if left == 0 && largest > 1 {
                let backlog = end - self.snd_nxt;
                let held = self.grow_head(largest, backlog);
                if backlog > mss && !self.buffer.pushes_tail {
                    if let Some(head) = self.defers(net, largest, room, held) {
                        limited = self.cwnd_holds_back(head, room);
                        if !limited && room <= head {
                            self.limited.stops(net.now_ns);
                        }
                        break;
                    }
                }
                // tcp_mss_split_point: the last packet may be partial if the segment ends where an
                // sk_buff ends and not at the window, or if Nagle's rule allows it
                let whole =
                    self.small_is_out() && (held == backlog || room < self.quota_bytes(largest));
                pkts = self.segment_pkts(largest, room.min(held), whole);
                left = pkts;
                segment_end = self.snd_nxt + (u64::from(pkts) * mss).min(room.min(held));
                if has_data {
                    len = len.min((segment_end - self.snd_nxt) as u32);
                }
                self.buffer.merge_pushes(segment_end);
            }
            if !PLAIN && self.pending == Some(Pending::Persist) {
                let idle_ns = net.now_ns - self.last_sent_ns;
                self.pending = None;
                self.transmission_starts(net, idle_ns);
            }
            if in_flight == 0 && has_data {
                self.tell_start_once(net);
            }
            let head = if left == 0 || left == pkts { HEAD } else { 0 };
            left = left.saturating_sub(1);
            let mark = head | if left == 0 && pkts > 1 { PUSH } else { 0 };
            self.send_new(net, len, has_fin, u64::from(len) < mss, mark);
            if left == 0 && self.writer_waits {
                self.sk_buff_sent(net);
            }
            if by_segment {
                gone += 1;
                if left == 0 {
                    self.segment_sent(net, std::mem::take(&mut gone));
                    if std::mem::take(&mut starts) {
                        largest = 0;
                    }
                }
            }
        }
        if gone > 0 {
            self.segment_sent(net, gone);
        }
        if self.snd_nxt != before || limited {
            // cwnd also counts as used up if the last packet used it exactly.
            limited |= self.board.in_flight() >= self.conn.cwnd_pkts;
            self.validate_cwnd(net, limited);
        }
        if self.snd_nxt != before {
            // RACK's reordering timer keeps running (tcp_event_new_data_sent).
            let goes_on = matches!(self.pending, Some(Pending::Rto | Pending::Reorder));
            self.schedule_probe_after_data(net, out_before == 0 || !goes_on);
        } else if closed && out_before == 0 && self.pending.is_none() {
            self.start_persisting(net);
        }
    }

    pub(super) fn may_close(&self) -> bool {
        !self.closes_when_acked || self.board.packets_out() == 0
    }

    /// Nagle's rule with Minshall's change: a small segment waits while another one is outstanding.
    fn nagle_waits(&self, end: u64) -> bool {
        self.snd_nxt + u64::from(self.mss) >= end && self.small_is_out()
    }

    /// Whether a small segment is outstanding and Nagle's rule applies (tcp_nagle_check). In
    /// linux-6 a FIN does not release the last data: headwayctl's programs on a kernel close only
    /// after all data is acknowledged.
    fn small_is_out(&self) -> bool {
        let is_closed = self.fin_queued && !self.profile.segments_are_large;
        !self.options.nodelay && !is_closed && self.small_end > self.snd_una
    }

    /// Sends a new segment. `small` tells whether the segment has less data than its options leave
    /// room for (tcp_minshall_update with mss_now).
    pub(super) fn send_new(&mut self, net: &mut Net, len: u32, fin: bool, small: bool, mark: u8) {
        let number = self.board.end();
        let end = self.snd_nxt + u64::from(len);
        // A packet that contains the end of a push carries PSH, even if it extends beyond that end
        // (tcp_grow_skb).
        let pushed = self.buffer.take_pushes(end).is_some();
        let rides = !fin && self.fin_with_last_data && end == self.write_end;
        let (len, fin) = (len + u32::from(rides), fin || rides);
        let segment = Segment {
            seq: self.snd_nxt,
            len,
            marks: mark | if pushed { PUSHED } else { 0 },
            fin,
            sent_ns: net.now_ns,
            retrans_nxt: 0,
        };
        if small && !fin {
            self.small_end = segment.end();
        }
        self.transmit(net, &segment);
        if self.takes_samples {
            self.stamp_sent(net, number);
        }
        self.board.push(segment);
        if self.uses_rack {
            self.board.transmitted(number, net.now_ns);
        }
        self.snd_nxt += u64::from(len);
        self.fin_sent |= fin;
        self.prr_out += 1;
    }

    /// Sends a segment.
    #[inline(always)]
    fn transmit(&mut self, net: &mut Net, segment: &Segment) {
        self.receiver.data_sent(net.now_ns);
        let payload_bytes = segment.payload_bytes();
        let last = segment.marks & (PUSH | PUSHED) != 0
            || !self.fills_large() && segment.end() >= self.write_end;
        let flags = match (segment.fin, last && payload_bytes > 0) {
            (true, true) => flags::FIN | flags::PSH,
            (true, false) => flags::FIN,
            (false, true) => flags::PSH,
            (false, false) => 0,
        };
        self.emit(net, segment.seq, payload_bytes, flags);
        self.last_sent_ns = net.now_ns;
        self.counters.sent_pkts += u64::from(payload_bytes > 0);
    }

    /// Retransmits a segment.
    pub(super) fn retransmit(&mut self, net: &mut Net, number: u64) {
        self.retransmit_marked(net, number, 0);
    }

    fn retransmit_marked(&mut self, net: &mut Net, number: u64, mark: u8) {
        let Some(&segment) = self.board.get(number) else {
            return;
        };
        if self.quick_start_flags.waits && self.carried_request(segment.seq, segment.end()) {
            self.request_was_lost(net, false);
        }
        if self.board.in_flight() == 0 {
            self.tell_start_once(net);
        }
        // Only one transmission of a large segment carries its PSH: __tcp_transmit_skb sets PSH in
        // the clone.
        let segment = Segment {
            marks: segment.marks & !PUSH | mark,
            ..segment
        };
        self.transmit(net, &segment);
        if self.takes_samples {
            self.stamp_sent(net, number);
        }
        self.counters.retransmits_pkts += u64::from(segment.payload_bytes() > 0);
        let snd_nxt = self.snd_nxt;
        self.board
            .note_retransmission(number, net.now_ns, snd_nxt, mark);
        if self.uses_rack {
            self.board.transmitted(number, net.now_ns);
        }
        if self.retrans_stamp_ns == 0 {
            self.retrans_stamp_ns = net.now_ns;
        }
        self.undo_retrans = self.undo_retrans.max(0) + 1;
        self.prr_out += 1;
    }

    /// Retransmits lost segments within cwnd. linux-2.6 also retransmits segments below the highest
    /// SACK in Recovery if no new data can be sent (tcp_xmit_retransmit_queue). linux-6 stops when
    /// as many packets are retransmitted as are lost, even if they are not the same ones, as after
    /// a timeout that F-RTO has undone.
    pub(super) fn retransmit_queue(&mut self, net: &mut Net) {
        let by_segment = self.paces_segments;
        let counts = !self.profile.counts_acks;
        while self.board.lost_out > 0 && self.board.in_flight() < self.conn.cwnd_pkts {
            if counts && self.board.retrans_out >= self.board.lost_out {
                break;
            }
            let Some(number) = self.board.next_to_retransmit() else {
                break;
            };
            if by_segment && self.segment_waits(net) {
                break;
            }
            let pkts = self.retransmitted_segment_pkts(number);
            for at in number..number + pkts {
                let mark = if pkts > 1 && at + 1 == number + pkts {
                    PUSH
                } else {
                    0
                };
                self.retransmit_marked(net, at, mark);
            }
            if by_segment {
                self.segment_sent(net, pkts);
            }
            if number == self.board.first && self.pending != Some(Pending::Reorder) {
                self.arm_rto(net);
            }
        }
        if self.profile.reduction == Reduction::RateHalving && self.conn.ca_state == ca::RECOVERY {
            self.forward_retransmit(net);
        }
    }

    /// Retransmits segments below the highest SACK that are not marked lost, if no new data can be
    /// sent.
    fn forward_retransmit(&mut self, net: &mut Net) {
        if !self.options.sack || self.board.sacked_out == 0 || self.may_send_new() {
            return;
        }
        use super::scoreboard::{LOST, RETRANS, SACKED};
        let mut number = self.board.first;
        while number < self.board.sacked_end && self.board.in_flight() < self.conn.cwnd_pkts {
            if self
                .board
                .get(number)
                .is_some_and(|s| s.marks & (SACKED | LOST | RETRANS) == 0)
            {
                self.retransmit(net, number);
                if number == self.board.first {
                    self.arm_rto(net);
                }
            }
            number += 1;
        }
    }

    /// Whether a new segment could be sent now (tcp_may_send_now).
    pub(super) fn may_send_new(&self) -> bool {
        self.snd_nxt < self.write_end
            && self.board.in_flight() < self.conn.cwnd_pkts
            && self.snd_una + self.snd_wnd >= self.snd_nxt + u64::from(self.mss)
    }

    /// Restarts the retransmission timer (RFC 6298, 5.3).
    pub(super) fn arm_rto(&mut self, net: &mut Net) {
        self.arm_rto_at(net, net.now_ns + self.rtt.rto_us() * 1000);
    }

    fn arm_rto_at(&mut self, net: &mut Net, at_ns: u64) {
        if self.board.packets_out() == 0 {
            self.disarm(Timer::Retransmit);
            self.pending = None;
            return;
        }
        self.pending = Some(Pending::Rto);
        self.arm_retransmit(net, at_ns);
    }

    /// Arms the retransmission timer instead of a probe or of RACK's timer for the time at which the
    /// oldest packet times out; otherwise restarts it (tcp_rearm_rto).
    pub(super) fn rearm_rto(&mut self, net: &mut Net) {
        if matches!(self.pending, Some(Pending::Probe | Pending::Reorder)) {
            self.rearm_rto_of_head(net);
        } else {
            self.arm_rto(net);
        }
    }

    /// Arms the retransmission timer for the time at which the oldest packet times out, or for the
    /// next tick.
    pub(super) fn rearm_rto_of_head(&mut self, net: &mut Net) {
        let at_ns = self.timeout_of_head_ns(net).max(net.now_ns + 1000);
        self.arm_rto_at(net, at_ns);
    }

    /// When the oldest packet times out, counted from its last transmission (tcp_rto_delta_us).
    pub(super) fn timeout_of_head_ns(&self, net: &Net) -> u64 {
        let sent_ns = self.board.front().map_or(net.now_ns, |head| head.sent_ns);
        sent_ns + self.rtt.rto_us() * 1000
    }
}
