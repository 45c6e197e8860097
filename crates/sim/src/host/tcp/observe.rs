//! Access to a socket from outside: its totals, its trace, and the relations that must hold between
//! its fields.

use super::state::timers::NEVER;
use super::{Socket, State, Timer};
use crate::net::Net;
use crate::trace::record::NULL_U32;
use headway_algorithms::SSTHRESH_INFINITE;

impl Socket {
    /// Bytes that the peer has acknowledged, not counting SYN and FIN.
    pub fn acked_bytes(&self) -> u64 {
        self.snd_una.saturating_sub(1).min(self.write_end - 1)
    }

    /// Distinct payload bytes sent.
    pub fn unique_bytes(&self) -> u64 {
        self.snd_nxt.saturating_sub(1).min(self.write_end - 1)
    }

    /// Whether the peer's FIN and all bytes before it have arrived.
    pub(crate) fn fin_arrived(&self) -> bool {
        self.fin_received
            .is_some_and(|end| self.receiver.rcv_nxt >= end)
    }

    /// Whether this end's FIN and all bytes before it have been acknowledged.
    pub(crate) fn fin_acked(&self) -> bool {
        self.fin_sent && self.snd_una == self.snd_nxt
    }

    /// When the opener could first send data; None before, and for the responder.
    pub(crate) fn opened_ns(&self) -> Option<u64> {
        Some(self.syn_sent_ns + self.handshake_us? * 1000)
    }

    /// Smoothed RTT; None without a sample.
    pub fn srtt_us(&self) -> Option<u32> {
        (self.rtt.srtt_us() != 0).then(|| self.rtt.srtt_us() as u32)
    }

    /// Smallest RTT; None without a sample.
    pub fn min_rtt_us(&self) -> Option<u32> {
        (self.rtt.min_us != u32::MAX).then_some(self.rtt.min_us)
    }

    /// Names of the readings that the socket's control declares.
    pub(crate) fn reading_names(&self) -> Vec<&'static str> {
        let readings = &self.control.control().readings;
        readings.iter().map(|reading| reading.name).collect()
    }

    /// Records the sender's state in the trace if it has changed.
    #[inline(always)]
    pub(super) fn record(&mut self, net: &mut Net) {
        if self.recorded && net.follows_senders {
            self.record_state(net);
        }
    }

    #[inline(never)]
    fn record_state(&mut self, net: &mut Net) {
        let ssthresh = match self.conn.ssthresh_pkts {
            SSTHRESH_INFINITE => NULL_U32,
            pkts => pkts,
        };
        let srtt = self.srtt_us().unwrap_or(NULL_U32);
        let state = (
            self.conn.cwnd_pkts,
            ssthresh,
            srtt,
            self.board.in_flight(),
            self.conn.ca_state,
        );
        if state != self.last_recorded {
            self.last_recorded = state;
            if let Some(digest) = &mut net.digest {
                digest.state(self.flow, net.now_ns, state.0, state.1, state.2);
            }
            if !net.record.flows {
                return;
            }
            let now_ns = net.now_ns as i64;
            net.tables.flow_state.push(
                self.flow, now_ns, state.0, state.1, state.2, state.3, state.4,
            );
        }
    }

    /// Checks every relation between the socket's fields that must hold between events; for tests.
    pub fn check_invariants(&self) -> Result<(), String> {
        if self.conn.cwnd_pkts < 1 {
            return Err(format!("flow {}: cwnd is 0", self.flow));
        }
        if !self.board.is_consistent(self.options.sack) {
            return Err(format!(
                "flow {}: the scoreboard's counts disagree with its marks",
                self.flow
            ));
        }
        let armed = self.timers[Timer::Retransmit as usize].deadline_ns != NEVER;
        if self.state == State::Established && self.board.packets_out() > 0 && !armed {
            return Err(format!(
                "flow {}: data is outstanding, but the retransmission timer is not armed",
                self.flow
            ));
        }
        for slot in &self.timers {
            if slot.deadline_ns < slot.scheduled_ns {
                return Err(format!(
                    "flow {}: a timer's deadline is earlier than its scheduled event",
                    self.flow
                ));
            }
        }
        Ok(())
    }
}
