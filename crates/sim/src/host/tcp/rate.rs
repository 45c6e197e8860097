//! Delivery-rate samples for the controls that use them (Linux tcp_rate.c; Cheng, Cardwell,
//! Yeganeh, Jacobson, draft-cheng-iccrg-delivery-rate-estimation). The values that are recorded
//! when a packet is sent are stored outside the scoreboard, and only for sockets of such controls.

use super::ack_info::AckInfo;
use super::scoreboard::{Segment, SACKED};
use super::Socket;
use crate::net::Net;
use headway_algorithms::{Lost, RateSample};
use rand_core::RngCore;

impl Socket {
    /// Starts the rate samples when the connection opens. The first flight counts as
    /// application-limited, because tcp_sendmsg checks whether data is lacking before it queues new
    /// data.
    pub(super) fn rates_begin(&mut self, net: &Net) {
        if let Some(rates) = &mut self.rates {
            rates.delivered_ns = net.now_ns;
            rates.limited_until_pkts = Some(self.conn.delivered_pkts);
        }
    }

    /// Checks, when the application writes, whether a lack of data limited the sender until now
    /// (tcp_rate_check_app_limited): all data was sent, the window has room, and no lost packet
    /// waits for its retransmission.
    pub(super) fn note_app_limited(&mut self) {
        let in_flight = self.board.in_flight();
        let unsent = self.write_end.saturating_sub(self.snd_nxt);
        if let Some(rates) = &mut self.rates {
            if unsent < u64::from(self.mss)
                && in_flight < self.conn.cwnd_pkts
                && self.board.lost_out <= self.board.retrans_out
            {
                rates.limited_until_pkts = Some(self.conn.delivered_pkts + u64::from(in_flight));
            }
        }
    }

    /// Records that packet `number` is sent.
    #[inline(never)]
    pub(super) fn stamp_sent(&mut self, net: &Net, number: u64) {
        if let Some(rates) = &mut self.rates {
            let idle = self.board.packets_out() == 0;
            let inflight_pkts = self.board.in_flight() + 1;
            let stamp = rates.sent(number, net.now_ns, idle, &self.conn);
            (stamp.inflight_pkts, stamp.losses) = (inflight_pkts, self.board.losses);
        }
    }

    /// Removes the record of the oldest packet, which the scoreboard removes now.
    #[inline(never)]
    pub(super) fn stamp_acked(&mut self, segment: &Segment) {
        if let Some(rates) = &mut self.rates {
            if segment.marks & SACKED == 0 {
                rates.arrived(self.board.first - 1, segment);
            }
            rates.popped();
        }
    }

    /// Updates the values about delivery rates that the control can read.
    pub(super) fn refresh_rates(&mut self, net: &Net) {
        if let Some(rates) = &self.rates {
            self.conn.app_limited = u8::from(rates.limited_until_pkts.is_some());
            self.conn.lost_pkts = self.board.losses;
            self.conn.delivered_us = rates.delivered_ns / 1000;
            let wait_us = self.pacing.next_ns.saturating_sub(net.now_ns) / 1000;
            self.conn.pacing_wait_us = u32::try_from(wait_us).unwrap_or(u32::MAX);
        }
    }

    /// Passes the rate sample of an ACK to the control (tcp_rate_gen).
    pub(super) fn take_rate_sample(&mut self, net: &mut Net, info: &AckInfo, rtt_us: i32) {
        let Some(rates) = &mut self.rates else { return };
        let delivered_pkts = self.conn.delivered_pkts;
        if rates
            .limited_until_pkts
            .is_some_and(|until| delivered_pkts > until)
        {
            rates.limited_until_pkts = None;
        }
        if info.delivered() > 0 {
            rates.delivered_ns = net.now_ns;
        }
        let mut sample = RateSample {
            rtt_us,
            losses_pkts: self.board.losses - info.losses_before,
            acked_pkts: info.delivered(),
            prior_inflight_pkts: info.in_flight_before,
            random: rates.rng.next_u32(),
            ..RateSample::default()
        };
        if let Some(newest) = rates.newest.take() {
            let stamp = newest.stamp;
            let ack_ns = net.now_ns - stamp.delivered_ns;
            let interval_us = newest.send_ns.max(ack_ns) / 1000;
            let one = delivered_pkts == stamp.delivered_pkts + 1;
            sample.prior_delivered_pkts = stamp.delivered_pkts;
            sample.delivered_pkts = (delivered_pkts - stamp.delivered_pkts) as i32;
            let marked_pkts = self.conn.delivered_ce_pkts;
            let marked_pkts = marked_pkts.wrapping_sub(stamp.delivered_ce_pkts);
            sample.delivered_ce_pkts = marked_pkts as i32;
            sample.tx_inflight_pkts = stamp.inflight_pkts;
            sample.lost_pkts = self.board.losses - stamp.losses;
            sample.is_app_limited = u8::from(stamp.app_limited);
            sample.is_retrans = u8::from(newest.is_retrans);
            sample.is_ack_delayed = u8::from(info.may_be_delayed && one);
            // A delivery interval shorter than the minimum RTT gives no reliable rate.
            if interval_us >= u64::from(self.rtt.min_us) {
                sample.interval_us = i32::try_from(interval_us).unwrap_or(i32::MAX);
            }
        }
        self.refresh(net);
        self.conn.cwnd_limited = u8::from(self.cwnd_limited);
        if self.carried.is_some() {
            self.deliver_feedback();
        }
        self.control.take_sample(&mut self.conn, &sample);
        if self.recorded && net.record.controls {
            self.record_readings(net);
        }
        if self.conn.mark_app_limited != 0 {
            self.conn.mark_app_limited = 0;
            let until = self.conn.delivered_pkts + u64::from(self.board.in_flight());
            if let Some(rates) = &mut self.rates {
                rates.limited_until_pkts = Some(until);
            }
        }
    }

    /// Marks a packet lost, and reports the loss to the control if the control follows losses.
    pub(super) fn lose(&mut self, net: &Net, number: u64) {
        if self.board.mark_lost(number) && self.follows_losses {
            self.report_loss(net, number);
        }
    }

    #[cold]
    fn report_loss(&mut self, net: &Net, number: u64) {
        let segment = self.board.get(number).copied().unwrap_or_default();
        let Some(rates) = &mut self.rates else { return };
        let Some(stamp) = rates.stamp(number) else {
            return;
        };
        let lost = Lost {
            pkts: 1,
            seq: segment.seq as u32,
            end_seq: segment.end() as u32,
            tx_inflight_pkts: stamp.inflight_pkts,
            lost_pkts: self.board.losses - stamp.losses,
            random: rates.rng.next_u32(),
            is_app_limited: u8::from(stamp.app_limited),
        };
        self.refresh(net);
        self.control.on_loss(&mut self.conn, &lost);
    }

    /// Records the readings of the control in the trace.
    #[cold]
    fn record_readings(&mut self, net: &mut Net) {
        let now_ns = net.now_ns as i64;
        for (reading, value) in (0..).zip(self.control.readings(&self.conn)) {
            net.tables.readings.push(self.flow, now_ns, reading, value);
        }
    }
}
