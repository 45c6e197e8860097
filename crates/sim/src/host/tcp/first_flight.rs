//! First flights of a fast startup (algorithms/port/first_flight.h): how much of the startup's
//! window was sent, and which limits held back the rest. This is observation only; the stack's
//! behaviour does not depend on the counts.

use super::state::FirstFlights;
use super::{ca, Socket};
use headway_algorithms::{Conn, Event};

/// The largest window of a SYN or SYN-ACK.
const SYN_WINDOW_BYTES: u64 = 65_535;

impl Socket {
    /// Counts of the first flights.
    pub(crate) fn first_flights(&self) -> Option<&FirstFlights> {
        self.first_flight.as_ref().map(|flight| &flight.counts)
    }

    /// Tells the startup that a transmission starts. The startup may then choose the window of a
    /// first flight.
    #[cold]
    pub(super) fn start_fast(&mut self) {
        let mut usual_pkts = self.conn.cwnd_pkts;
        if self.counters.sent_pkts == 0 {
            let of_route = self.options.rules.initcwnd_pkts;
            let initial_pkts = of_route.unwrap_or(self.profile.initial_cwnd_pkts);
            usual_pkts = usual_pkts.min(initial_pkts);
        }
        // A startup may limit its window by the peer's window. To find the window without that
        // limit, call the startup with an unlimited peer window.
        let mut unbounded = Conn {
            peer_window_bytes: u32::MAX,
            ..self.conn.clone()
        };
        self.control.clone().event(&mut unbounded, Event::TxStart);
        self.control.event(&mut self.conn, Event::TxStart);
        let window_pkts = self.conn.cwnd_pkts.max(unbounded.cwnd_pkts);
        if window_pkts > usual_pkts {
            self.flight_begins(window_pkts, window_pkts - self.conn.cwnd_pkts);
        }
    }

    /// Records that a first flight begins. The startup itself has left out `left_out_pkts` packets
    /// because of the peer's window.
    fn flight_begins(&mut self, window_pkts: u32, left_out_pkts: u32) {
        let (mss, unsent_bytes) = (u64::from(self.mss), self.app_unsent_bytes());
        let asked_bytes = unsent_bytes.min(u64::from(window_pkts) * mss);
        let (first_seq, sent_before_pkts) = (self.snd_nxt, self.new_pkts());
        let flight = self.first_flight.get_or_insert_default();
        flight.first_seq = Some(first_seq);
        flight.sent_before_pkts = sent_before_pkts;
        flight.asked_pkts = asked_bytes.div_ceil(mss) as u32;
        flight.asked_bytes = asked_bytes;
        flight.chosen_pkts = window_pkts - left_out_pkts;
        flight.target_pkts = 0;
    }

    /// Number of data packets sent, not counting retransmissions.
    fn new_pkts(&self) -> u64 {
        self.counters.sent_pkts - self.counters.retransmits_pkts
    }

    /// Called before an ACK is processed. A flight ends with its first ACK.
    #[cold]
    pub(super) fn flight_acked(&mut self, ack: u64) {
        let mss = u64::from(self.mss);
        let new_pkts = self.new_pkts();
        let window_end = if self.conn.ignore_peer_window == 0 {
            self.snd_una + self.snd_wnd
        } else {
            u64::MAX
        };
        let buffer_end = if self.writer_waits {
            self.write_end
        } else {
            u64::MAX
        };
        let is_openers_first = self.snd_una == 1 && self.handshake_us.is_some();
        let Some(flight) = &mut self.first_flight else {
            return;
        };
        let Some(first_seq) = flight.first_seq.filter(|&first_seq| ack > first_seq) else {
            return;
        };
        let asked_bytes = flight.asked_bytes;
        let beyond = |end: u64| asked_bytes.saturating_sub(end - first_seq).div_ceil(mss);
        let asked_pkts = u64::from(flight.asked_pkts);
        let sent_pkts = (new_pkts - flight.sent_before_pkts).min(asked_pkts);
        let rwnd_limited_pkts = beyond(window_end.max(first_seq))
            .max(asked_pkts.saturating_sub(u64::from(flight.chosen_pkts)));
        let syn_limited_pkts = if is_openers_first {
            rwnd_limited_pkts.min(beyond(first_seq + SYN_WINDOW_BYTES))
        } else {
            0
        };
        flight.counts.add(&FirstFlights {
            asked_pkts,
            largest_pkts: asked_pkts,
            sent_pkts,
            rwnd_limited_pkts,
            syn_limited_pkts,
            sndbuf_limited_pkts: beyond(buffer_end.max(first_seq)),
            growth_limited_pkts: 0,
        });
        flight.first_seq = None;
        if sent_pkts < asked_pkts {
            flight.target_pkts = flight.asked_pkts;
        }
    }

    /// Called after an ACK of `acked_pkts` has changed the window from `before_pkts`. If the
    /// startup raised it by more than slow start would, a flight has begun.
    #[cold]
    pub(super) fn flight_may_begin(&mut self, before_pkts: u32, acked_pkts: u32) {
        // linux-2.6 may also grow by one packet for ACKs that it counted before
        if self.conn.cwnd_pkts > before_pkts.saturating_add(acked_pkts + 2) {
            self.flight_begins(self.conn.cwnd_pkts, 0);
        }
    }

    /// Compares growth: the window was `before_pkts`, and standard slow start would raise it by
    /// `grow_pkts`.
    #[cold]
    pub(super) fn growth_seen(&mut self, before_pkts: u32, grow_pkts: u32) {
        let (cwnd_pkts, ssthresh_pkts) = (self.conn.cwnd_pkts, self.conn.ssthresh_pkts);
        let is_reduced = self.conn.ca_state >= ca::CWR;
        let Some(flight) = &mut self.first_flight else {
            return;
        };
        if is_reduced || cwnd_pkts >= flight.target_pkts || before_pkts >= ssthresh_pkts {
            flight.target_pkts = 0;
        } else if cwnd_pkts >= before_pkts {
            let grown_pkts = cwnd_pkts - before_pkts;
            flight.counts.growth_limited_pkts += u64::from(grow_pkts.saturating_sub(grown_pkts));
        }
    }
}
