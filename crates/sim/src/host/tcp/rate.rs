//! Delivery-rate samples for the controls that use them (Linux tcp_rate.c; Cheng, Cardwell,
//! Yeganeh, Jacobson, draft-cheng-iccrg-delivery-rate-estimation). The values noted when a packet
//! is sent are stored separately from the scoreboard; only sockets of such controls have them.

use std::collections::VecDeque;

use super::ack::AckInfo;
use super::scoreboard::{Segment, RETRANS, SACKED};
use super::Socket;
use crate::net::Net;
use crate::rng::{stream, Purpose};
use headway_algorithms::RateSample;
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

/// State of the connection when a packet was sent.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    /// Transmission time of the packet that had been delivered last.
    first_sent_ns: u64,
    /// Time of the last delivery.
    delivered_ns: u64,
    delivered_pkts: u64,
    delivered_ce_pkts: u64,
    app_limited: bool,
}

/// The packet that was sent last among those that an ACK newly acknowledges.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_ns: u64,
    end_seq: u64,
    stamp: Stamp,
    /// Time from the first packet of the flight to this one.
    send_ns: u64,
    is_retrans: bool,
}

/// State for the control's rate samples.
#[derive(Debug)]
pub(super) struct Rates {
    /// One entry per packet of the scoreboard, from number `first` on.
    stamps: VecDeque<Stamp>,
    first: u64,
    first_sent_ns: u64,
    delivered_ns: u64,
    delivered_ce_pkts: u64,
    /// Sent data counts as application-limited until more than this many packets are delivered.
    limited_until_pkts: Option<u64>,
    newest: Option<Newest>,
    rng: Xoshiro256PlusPlus,
}

impl Rates {
    pub fn new(seed: u64, route: u32) -> Self {
        Self {
            stamps: VecDeque::new(),
            first: 0,
            first_sent_ns: 0,
            delivered_ns: 0,
            delivered_ce_pkts: 0,
            limited_until_pkts: None,
            newest: None,
            rng: stream(seed, Purpose::Control, route),
        }
    }

    /// Notes that packet `number` is sent or retransmitted; `idle`: nothing was in flight.
    fn sent(&mut self, number: u64, now_ns: u64, idle: bool, delivered_pkts: u64) {
        if idle {
            self.first_sent_ns = now_ns;
            self.delivered_ns = now_ns;
        }
        let stamp = Stamp {
            first_sent_ns: self.first_sent_ns,
            delivered_ns: self.delivered_ns,
            delivered_pkts,
            delivered_ce_pkts: self.delivered_ce_pkts,
            app_limited: self.limited_until_pkts.is_some(),
        };
        if self.stamps.is_empty() {
            self.first = number;
        }
        let at = (number - self.first) as usize;
        if at == self.stamps.len() {
            self.stamps.push_back(stamp);
        } else {
            self.stamps[at] = stamp;
        }
    }

    /// Notes that packet `number` is acknowledged for the first time, cumulatively or by SACK.
    pub fn arrived(&mut self, number: u64, segment: &Segment) {
        let Some(&stamp) = self.stamps.get((number - self.first) as usize) else {
            return;
        };
        let is_newest = self.newest.is_none_or(|newest| {
            (segment.sent_ns, segment.end()) > (newest.sent_ns, newest.end_seq)
        });
        if is_newest {
            self.first_sent_ns = segment.sent_ns;
            self.newest = Some(Newest {
                sent_ns: segment.sent_ns,
                end_seq: segment.end(),
                stamp,
                send_ns: segment.sent_ns.saturating_sub(stamp.first_sent_ns),
                is_retrans: segment.marks & RETRANS != 0,
            });
        }
    }

    /// Removes the entry of the oldest packet.
    fn popped(&mut self) {
        self.stamps.pop_front();
        self.first += 1;
    }
}

impl Socket {
    /// Starts the samples when the connection opens. The first flight is application-limited,
    /// because tcp_sendmsg checks before it queues data.
    pub(super) fn rates_begin(&mut self, net: &Net) {
        if let Some(rates) = &mut self.rates {
            rates.delivered_ns = net.now_ns;
            rates.limited_until_pkts = Some(self.conn.delivered_pkts);
        }
    }

    /// Checks, when the application writes, whether it limited the sender until now
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

    /// Notes the transmission of packet `number`.
    #[inline(never)]
    pub(super) fn stamp_sent(&mut self, net: &Net, number: u64) {
        if let Some(rates) = &mut self.rates {
            let idle = self.board.packets_out() == 0;
            rates.sent(number, net.now_ns, idle, self.conn.delivered_pkts);
        }
    }

    /// Handles the removal of the oldest packet from the scoreboard.
    #[inline(never)]
    pub(super) fn stamp_acked(&mut self, segment: &Segment) {
        if let Some(rates) = &mut self.rates {
            if segment.marks & SACKED == 0 {
                rates.arrived(self.board.first - 1, segment);
            }
            rates.popped();
        }
    }

    /// Updates the rate-related values that the control can read.
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
    pub(super) fn take_rate_sample(&mut self, net: &Net, info: &AckInfo, rtt_us: i32) {
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
        if info.ece {
            rates.delivered_ce_pkts += u64::from(info.delivered());
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
            sample.delivered_ce_pkts = (rates.delivered_ce_pkts - stamp.delivered_ce_pkts) as i32;
            sample.is_app_limited = u8::from(stamp.app_limited);
            sample.is_retrans = u8::from(newest.is_retrans);
            sample.is_ack_delayed = u8::from(info.may_be_delayed && one);
            // A delivery interval shorter than the minimum RTT gives no reliable rate.
            if interval_us >= u64::from(self.rtt.min_us) {
                sample.interval_us = i32::try_from(interval_us).unwrap_or(i32::MAX);
            }
        }
        self.refresh(net);
        self.control.take_sample(&mut self.conn, &sample);
        if self.conn.mark_app_limited != 0 {
            self.conn.mark_app_limited = 0;
            let until = self.conn.delivered_pkts + u64::from(self.board.in_flight());
            if let Some(rates) = &mut self.rates {
                rates.limited_until_pkts = Some(until);
            }
        }
    }
}
