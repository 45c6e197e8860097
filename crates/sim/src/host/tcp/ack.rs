//! Processing of acknowledgements at the sender (Linux tcp_ack).

use super::ack_info::AckInfo;
use super::recovery::MayRetransmit;
use super::rtt::clock_units;
use super::scoreboard::{EVER_RETRANS, SACKED};
use super::{ca, Pending, Socket, Timer};
use crate::net::packet::{about, flags, Packet, SackBlock, Sacks};
use crate::net::Net;
use headway_algorithms::Ack;

/// Transmission times from which an ACK's RTT samples are computed.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    first_sent_ns: Option<u64>,
    last_sent_ns: Option<u64>,
    sack_sent_ns: Option<u64>,
    last_sack_sent_ns: Option<u64>,
}

impl Socket {
    /// Processes the acknowledgement of a packet.
    pub(super) fn on_ack(&mut self, net: &mut Net, p: &Packet, sacks: &Sacks) {
        if p.ack > self.snd_nxt || p.flags & flags::ACK == 0 {
            return;
        }
        if p.ack < self.snd_una {
            // The acknowledgement number is old, but the SACK blocks may be new.
            let mut info = AckInfo {
                not_duplicate: true,
                ..AckInfo::default()
            };
            self.take_sacks(net, (p, sacks), p.ack, &mut info, &mut Samples::default());
            if p.n_sack > 0 && !self.profile.counts_acks && self.board.packets_out() > 0 {
                self.old_ack_sacks(net, &mut info);
            }
            return;
        }
        if self.starts_fast {
            self.flight_acked(p.ack);
        }
        if self.board.packets_out() == 0 {
            self.nothing_to_ack(net, p);
            return;
        }
        let prior_una = self.snd_una;
        let mut info = AckInfo {
            advanced: p.ack > self.snd_una,
            not_duplicate: p.payload_bytes > 0 || p.flags & flags::FIN != 0,
            ts_ecr_ms: p.ts_ecr_ms,
            losses_before: self.board.losses,
            in_flight_before: self.board.in_flight(),
            ..AckInfo::default()
        };
        info.not_duplicate |= self.take_ack(p);
        let prior_sacked_end = self.board.sacked_end;
        let mut samples = Samples::default();
        if p.n_sack > 0 {
            self.take_sacks(net, (p, sacks), prior_una, &mut info, &mut samples);
        }
        self.clean_queue(net, prior_sacked_end, &mut info, &mut samples);
        // The SACKed data was sent before the oldest packet was last sent, so the oldest packet may
        // still arrive (tcp_clean_rtx_queue).
        info.restarts_timer = info.acked_pkts == 0
            && samples.sack_sent_ns.is_some_and(|sent_ns| {
                let oldest = self.board.front();
                oldest.is_some_and(|oldest| sent_ns < oldest.sent_ns)
            });
        let rtt_us = if self.profile.clock_us > 1 {
            self.sample_rtt_26(net, &info, &samples);
            self.control_sample_26(net, &info, &samples)
        } else {
            self.sample_rtt_6(net, &info, &samples)
        };
        if self.ecn.any() {
            info.ece = self.take_echo(p, Some(&info));
        }
        self.count_delivered(info.delivered());
        if self.takes_samples {
            info.may_be_delayed = info.acked_pkts == 1
                && prior_sacked_end <= self.board.first
                && self.snd_una - prior_una < u64::from(self.mss);
        }
        if self.reads_monitor {
            self.read_monitor(net);
        }
        let ack = Ack {
            acked_pkts: info.acked_pkts,
            rtt_us,
        };
        if self.profile.counts_acks {
            self.finish_ack_26(net, &info, &ack);
        } else {
            self.finish_ack_6(net, &mut info, &ack, p);
        }
    }

    /// linux-6: an ACK with an old number but new SACK blocks may show losses, and makes room for
    /// retransmissions within the same cwnd (tcp_ack, old_ack).
    #[cold]
    fn old_ack_sacks(&mut self, net: &mut Net, info: &mut AckInfo) {
        self.count_delivered(info.sacked_pkts);
        let may_retransmit = self.alert_6(net, info, &mut false);
        if may_retransmit != MayRetransmit::Nothing {
            self.retransmit_lost(net, may_retransmit);
        }
    }

    /// Counts packets as delivered (tcp_count_delivered).
    #[inline(always)]
    pub(super) fn count_delivered(&mut self, pkts: u32) {
        self.conn.delivered_pkts += u64::from(pkts);
    }

    /// Stores the number, window and timestamp of an acknowledgement. Returns whether the
    /// acknowledgement number or the window has grown.
    #[inline(always)]
    fn take_ack(&mut self, p: &Packet) -> bool {
        let window = u64::from(p.window_bytes);
        let is_news = p.ack > self.snd_una || window > self.snd_wnd;
        if is_news {
            self.snd_wnd = window;
            self.peer_window_grew();
        }
        self.snd_una = p.ack;
        self.last_echo_ms = p.ts_ecr_ms;
        is_news
    }

    /// Processes an acknowledgement while no data is outstanding. Most packets with such an
    /// acknowledgement also carry data.
    #[inline(always)]
    fn nothing_to_ack(&mut self, net: &mut Net, p: &Packet) {
        if self.ecn.any() {
            self.take_echo(p, None);
        }
        let window = self.snd_wnd;
        self.take_ack(p);
        let changes = self.snd_wnd != window && self.profile.segments_are_large;
        if changes && self.snd_nxt < self.write_end {
            self.restart_if_idle(net);
        }
        if self.pending == Some(Pending::Persist) {
            self.persist_answered(net);
        }
    }

    /// linux-2.6: first lets cwnd grow, then runs the state machine, which may reduce cwnd again.
    fn finish_ack_26(&mut self, net: &mut Net, info: &AckInfo, ack: &Ack) {
        if info.acked_pkts > 0 {
            self.arm_rto(net);
        }
        let dubious = info.is_duplicate()
            || info.sacked_pkts > 0
            || info.dsack
            || info.ece
            || self.conn.ca_state != ca::OPEN;
        let below = !info.ece || self.conn.cwnd_pkts < self.conn.ssthresh_pkts;
        let may_raise = !dubious || below && !matches!(self.conn.ca_state, ca::RECOVERY | ca::CWR);
        let grow = u32::from(info.acked_pkts > 0 && may_raise);
        if info.acked_pkts > 0 && !self.takes_samples {
            self.grow(net, ack, grow, self.filled_before(info.in_flight_before));
        }
        if dubious {
            self.alert_26(net, info);
        }
        if self.takes_samples {
            self.take_rate_sample(net, info, ack.rtt_us);
        }
    }

    /// linux-6: runs the state machine first. Then cwnd follows PRR or grows by the delivered
    /// packets.
    fn finish_ack_6(&mut self, net: &mut Net, info: &mut AckInfo, ack: &Ack, p: &Packet) {
        if self.tlp_high_seq != 0 {
            self.probe_acked(net, info, p);
        }
        let mut set_timer = info.acked_pkts > 0
            || info.restarts_timer
            || self.pending == Some(Pending::Probe) && info.advanced;
        self.rack_dsack(info);
        let dubious = info.is_duplicate()
            || info.sacked_pkts > 0
            || info.dsack
            || info.ece
            || self.conn.ca_state != ca::OPEN;
        // The control's pkts_acked is called before the state machine, also for ACKs with SACK
        // blocks only (tcp_clean_rtx_queue). cwnd grows after the state machine has run.
        if !self.takes_samples {
            self.grow(net, ack, 0, false);
        }
        let mut may_retransmit = MayRetransmit::Nothing;
        if dubious {
            may_retransmit = self.alert_6(net, info, &mut set_timer);
        }
        if set_timer && !self.schedule_probe(net) {
            self.rearm_rto(net);
        }
        if self.takes_samples {
            self.take_rate_sample(net, info, ack.rtt_us);
        } else if matches!(self.conn.ca_state, ca::CWR | ca::RECOVERY) {
            let lost = self.board.losses != info.losses_before;
            self.reduce_by_prr(info.delivered(), lost, info.advanced);
        } else {
            let progress = if self.reordering > super::profile::DUPTHRESH {
                info.acked_pkts + info.sacked_pkts > 0
            } else {
                info.acked_pkts > 0
            };
            if progress {
                // tcp_cong_avoid: if cwnd may grow, it counts as used up
                self.cwnd_stamp_ns = net.now_ns;
                let limited = self.grows_when_acked();
                self.grow_only(net, info.delivered(), limited);
            }
        }
        if may_retransmit != MayRetransmit::Nothing {
            self.retransmit_lost(net, may_retransmit);
        }
    }

    /// Reports the ACK to the control and lets cwnd grow, in one call.
    fn grow(&mut self, net: &Net, ack: &Ack, grow_pkts: u32, limited: bool) {
        self.refresh(net);
        self.conn.cwnd_limited = u8::from(limited);
        if self.carried.is_some() {
            self.deliver_feedback();
        }
        let before_pkts = self.conn.cwnd_pkts;
        self.control.ack(&mut self.conn, ack, grow_pkts);
        if self.starts_fast {
            self.flight_may_begin(before_pkts, ack.acked_pkts);
            if limited && grow_pkts > 0 {
                self.growth_seen(before_pkts, grow_pkts);
            }
        }
    }

    fn grow_only(&mut self, net: &Net, grow_pkts: u32, limited: bool) {
        if grow_pkts == 0 || !limited {
            return;
        }
        self.refresh(net);
        self.conn.cwnd_limited = 1;
        let before_pkts = self.conn.cwnd_pkts;
        self.control.grow(&mut self.conn, grow_pkts);
        if self.starts_fast {
            self.growth_seen(before_pkts, grow_pkts);
        }
    }

    fn take_sacks(
        &mut self,
        net: &Net,
        (p, sacks): (&Packet, &Sacks),
        prior_una: u64,
        info: &mut AckInfo,
        samples: &mut Samples,
    ) {
        let mut blocks = [(0, 0); 4];
        let mut n = 0;
        for block in &sacks[..usize::from(p.n_sack)] {
            let start = (p.ack as i64 + i64::from(block.start)) as u64;
            let end = start + u64::from(block.len);
            if end <= p.ack || start < self.snd_una && end <= self.snd_una {
                continue;
            }
            if end <= self.snd_nxt && start >= self.snd_una {
                blocks[n] = (start, end);
                n += 1;
            }
        }
        if p.is(about::DSACK) {
            info.dsack = true;
            self.dsack_seen(p.ack, sacks[0], prior_una);
        }
        let prior_forward = self.board.sacked_end;
        let mut rates = if self.takes_samples {
            self.rates.as_deref_mut()
        } else {
            None
        };
        let high_seq = self.high_seq;
        let mut reordered = None;
        let (uses_rack, now_ns, min_us) = (self.uses_rack, net.now_ns, self.rtt.min_us);
        let rack = &mut self.rack;
        let joins = self.profile.segments_are_large;
        blocks[..n].sort_unstable();
        info.sacked_pkts += self
            .board
            .mark_sacked(&blocks[..n], joins, |number, segment| {
                if let Some(rates) = &mut rates {
                    rates.arrived(number, segment);
                }
                if segment.marks & EVER_RETRANS == 0 {
                    if number < prior_forward {
                        // A packet that was never retransmitted arrived after later packets, so the
                        // path reorders.
                        let distance = (prior_forward - number) as u32;
                        reordered = Some(reordered.unwrap_or(0).max(distance));
                    }
                    samples.sack_sent_ns.get_or_insert(segment.sent_ns);
                    samples.last_sack_sent_ns = Some(segment.sent_ns);
                }
                info.original_sacked |=
                    segment.marks & EVER_RETRANS == 0 && segment.end() <= high_seq;
                if uses_rack {
                    rack.advance(segment, now_ns, min_us);
                }
            });
        if let Some(distance) = reordered {
            self.reordering_found(distance);
        }
    }

    /// Removes cumulatively acknowledged packets (tcp_clean_rtx_queue).
    fn clean_queue(
        &mut self,
        net: &Net,
        prior_sacked_end: u64,
        info: &mut AckInfo,
        samples: &mut Samples,
    ) {
        let una = self.snd_una;
        while let Some(&segment) = self.board.front() {
            if segment.end() > una {
                break;
            }
            self.board.drop_front(segment.marks);
            info.acked_pkts += 1;
            if self.takes_samples {
                self.stamp_acked(&segment);
            }
            info.newly_acked_pkts += u32::from(segment.marks & SACKED == 0 || !self.options.sack);
            if segment.marks & EVER_RETRANS != 0 {
                info.retransmitted_acked = true;
            } else if segment.marks & SACKED == 0 {
                samples.first_sent_ns.get_or_insert(segment.sent_ns);
                samples.last_sent_ns = Some(segment.sent_ns);
                if segment.end() <= self.high_seq {
                    info.original_sacked = true;
                }
                let number = self.board.first - 1;
                if self.options.sack && number < prior_sacked_end {
                    // A packet that was not retransmitted has filled a hole that was known before
                    // this ACK, so the path reorders.
                    let distance = (self.board.sacked_end - number) as u32;
                    self.reordering_found(distance);
                }
            }
            // The echoed timestamp is older than the retransmission, so the original packet has
            // arrived (tcp_skb_spurious_retrans).
            let original = segment.marks & EVER_RETRANS != 0
                && info.ts_ecr_ms != 0
                && info.ts_ecr_ms < self.stamp_ms(segment.sent_ns);
            if self.uses_rack && segment.marks & SACKED == 0 && !original {
                self.rack.advance(&segment, net.now_ns, self.rtt.min_us);
            }
        }
        self.board.trim_front(una);
        if info.acked_pkts > 0 && !self.options.sack {
            self.remove_duplicate_acks(info);
        }
        if self.board.packets_out() == 0 {
            self.board.sacked_out = 0;
        }
    }

    /// linux-6: updates the RTO estimator from transmission times, or from timestamps if a
    /// retransmission was acknowledged (tcp_ack_update_rtt). Returns the RTT sample for the
    /// congestion control and the minimum, taken from the packet that was delivered last; -1
    /// without a sample.
    fn sample_rtt_6(&mut self, net: &Net, info: &AckInfo, samples: &Samples) -> i32 {
        let since_us = |sent_ns: u64| (net.now_ns - sent_ns) / 1000;
        let own = |sent_ns: Option<u64>| sent_ns.filter(|_| !info.retransmitted_acked);
        let first = own(samples.first_sent_ns).or(samples.sack_sent_ns);
        let (estimate_us, control_us) = match first {
            Some(sent_ns) => {
                let last_ns = samples.last_sack_sent_ns.or(own(samples.last_sent_ns));
                (since_us(sent_ns), since_us(last_ns.unwrap_or(sent_ns)))
            }
            None if info.acked_pkts > 0 && info.ts_ecr_ms != 0 => {
                let echo_ms = self.timestamp(net).saturating_sub(info.ts_ecr_ms).max(1);
                (u64::from(echo_ms) * 1000, u64::from(echo_ms) * 1000)
            }
            None => return -1,
        };
        self.note_min_rtt(control_us);
        self.rtt.sample(estimate_us, self.snd_una, self.snd_nxt);
        self.conn.srtt_us = self.rtt.srtt_us() as u32;
        i32::try_from(control_us).unwrap_or(i32::MAX)
    }

    /// linux-2.6: updates the RTO estimator from timestamps, or from transmission times without
    /// timestamps.
    fn sample_rtt_26(&mut self, net: &Net, info: &AckInfo, samples: &Samples) {
        if info.acked_pkts == 0 {
            return;
        }
        let sample_us = if info.ts_ecr_ms != 0 {
            u64::from(self.timestamp(net).saturating_sub(info.ts_ecr_ms)) * 1000
        } else if info.retransmitted_acked {
            return;
        } else if let Some(sent_ns) = samples.first_sent_ns {
            self.ticks(net.now_ns) - self.ticks(sent_ns)
        } else {
            return;
        };
        self.rtt.sample(sample_us, self.snd_una, self.snd_nxt);
        self.conn.srtt_us = self.rtt.srtt_us() as u32;
    }

    /// linux-2.6: returns the sample for the congestion control and the minimum RTT; -1 if there is
    /// none.
    fn control_sample_26(&mut self, net: &Net, info: &AckInfo, samples: &Samples) -> i32 {
        let sample_us = if info.retransmitted_acked {
            0
        } else if self.control.control().flags.rtt_stamp() {
            let last = samples.last_sent_ns;
            last.map_or(0, |sent_ns| (net.now_ns - sent_ns) / 1000)
        } else {
            let first = samples.first_sent_ns;
            first.map_or(0, |sent_ns| self.ticks(net.now_ns) - self.ticks(sent_ns))
        };
        if sample_us == 0 {
            return -1;
        }
        self.note_min_rtt(sample_us);
        i32::try_from(sample_us).unwrap_or(i32::MAX)
    }

    /// A time in microseconds, rounded down to the resolution of the stack's clock.
    fn ticks(&self, time_ns: u64) -> u64 {
        let clock_us = self.profile.clock_us;
        clock_units(time_ns / 1000, clock_us) * clock_us
    }

    /// Records that the path reorders packets by up to `distance` packets (tcp_update_reordering).
    pub(super) fn reordering_found(&mut self, distance: u32) {
        if distance > self.reordering {
            self.reordering = distance.min(self.profile.max_reordering_pkts);
            // From now on without FACK, because FACK assumes that packets arrive in order.
            self.fack = false;
        }
        self.rack.reordering_seen = true;
    }

    fn dsack_seen(&mut self, ack: u64, block: SackBlock, prior_una: u64) {
        let start = (ack as i64 + i64::from(block.start)) as u64;
        let end = start + u64::from(block.len);
        self.rack.dsack_seen = true;
        // Copies of data of this episode count: of acknowledged data, and of data that was sent again
        // and is not acknowledged (tcp_check_dsack, tcp_sacktag_one).
        let is_of_episode = self.undo_marker.is_some_and(|marker| end > marker);
        if is_of_episode
            && self.undo_retrans > 0
            && (end <= prior_una || self.board.was_retransmitted(start))
        {
            self.undo_retrans -= 1;
        }
        if self.tlp_high_seq != 0 && self.tlp_retrans && end == self.tlp_high_seq {
            // Both the original packet and the tail loss probe arrived, so nothing was lost.
            self.tlp_high_seq = 0;
        }
    }

    /// Handles the retransmission timer, which also serves tail loss probes and RACK's reordering
    /// window.
    #[inline(never)]
    pub(super) fn retransmit_timer_fired(&mut self, net: &mut Net) {
        use super::State;
        match self.state {
            State::SynSent | State::SynReceived => {
                self.retries += 1;
                // tcp_update_rto_stats; linux-2.6 counts only timeouts of data, not of the
                // handshake
                self.counters.rtos += u64::from(!self.profile.counts_acks);
                let opens = self.state == State::SynSent;
                if opens {
                    // tcp_enter_loss also runs for a SYN that times out, and queues CWR
                    self.queue_cwr();
                }
                if !opens || self.retries > self.profile.linear_syn_timeouts {
                    self.rtt.back_off();
                }
                self.send_syn(net);
                return;
            }
            State::Established => {}
            _ => return,
        }
        match self.pending.take() {
            Some(Pending::Probe) => self.send_probe(net),
            Some(Pending::Reorder) => self.reorder_timer_fired(net),
            Some(Pending::Persist) => self.persist_timer_fired(net),
            _ => self.timeout(net),
        }
        self.push_pending(net);
        self.continue_woken_writer(net);
        debug_assert!(
            self.board.packets_out() == 0
                || self.timers[Timer::Retransmit as usize].deadline_ns != u64::MAX
        );
    }
}
