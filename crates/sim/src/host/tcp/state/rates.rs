//! State of a socket for the rate samples of its control.

use super::super::scoreboard::{Segment, RETRANS};
use crate::rng::{stream, Purpose};
use headway_algorithms::Conn;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// The connection's delivery counts and times, recorded when a packet was sent.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// Transmission time of the packet that had been delivered last when this packet was sent.
    pub first_sent_ns: u64,
    /// When a packet was last delivered before this packet was sent.
    pub delivered_ns: u64,
    pub delivered_pkts: u64,
    pub delivered_ce_pkts: u32,
    pub app_limited: bool,
    /// Packets in flight when this packet was sent, including this packet.
    pub inflight_pkts: u32,
    /// Number of losses known when this packet was sent.
    pub losses: u32,
}

/// The packet that was sent last among those that an ACK newly acknowledges.
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    pub sent_ns: u64,
    pub end_seq: u64,
    pub stamp: Stamp,
    /// Time from the transmission of the flight's first packet to that of this packet.
    pub send_ns: u64,
    pub is_retrans: bool,
}

/// State for the control's rate samples.
#[derive(Debug)]
pub struct Rates {
    /// One stamp per packet of the scoreboard; the first belongs to packet number `first`.
    pub stamps: VecDeque<Stamp>,
    pub first: u64,
    pub first_sent_ns: u64,
    pub delivered_ns: u64,
    /// Data that is sent counts as application-limited until more than this many packets have been
    /// delivered.
    pub limited_until_pkts: Option<u64>,
    pub newest: Option<Newest>,
    pub rng: Xoshiro256PlusPlus,
}

impl Rates {
    pub fn new(seed: u64, route: u32) -> Self {
        Self {
            stamps: VecDeque::new(),
            first: 0,
            first_sent_ns: 0,
            delivered_ns: 0,
            limited_until_pkts: None,
            newest: None,
            rng: stream(seed, Purpose::Control, route),
        }
    }

    /// Records that packet `number` is sent or retransmitted; `idle` tells whether nothing was in
    /// flight. Returns the record; the caller sets the numbers of packets in flight and of losses.
    pub fn sent(&mut self, number: u64, now_ns: u64, idle: bool, conn: &Conn) -> &mut Stamp {
        if idle {
            self.first_sent_ns = now_ns;
            self.delivered_ns = now_ns;
        }
        let stamp = Stamp {
            first_sent_ns: self.first_sent_ns,
            delivered_ns: self.delivered_ns,
            delivered_pkts: conn.delivered_pkts,
            delivered_ce_pkts: conn.delivered_ce_pkts,
            app_limited: self.limited_until_pkts.is_some(),
            inflight_pkts: 0,
            losses: 0,
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
        &mut self.stamps[at]
    }

    /// The record of packet `number`, if the packet is outstanding.
    pub fn stamp(&self, number: u64) -> Option<Stamp> {
        let at = number.checked_sub(self.first)?;
        self.stamps.get(at as usize).copied()
    }

    /// Records that packet `number` is acknowledged for the first time, cumulatively or by SACK.
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

    /// Follows the scoreboard, whose packets were cut anew: each gets the stamp of the packet with
    /// this index among the old ones.
    pub fn cut_anew(&mut self, origins: &[usize]) {
        let old = std::mem::take(&mut self.stamps);
        self.stamps = origins
            .iter()
            .filter_map(|&at| old.get(at).copied())
            .collect();
    }

    /// Removes the entry of the oldest packet.
    pub fn popped(&mut self) {
        self.stamps.pop_front();
        self.first += 1;
    }
}
