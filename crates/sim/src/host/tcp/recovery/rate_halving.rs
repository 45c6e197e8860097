//! Recovery of linux-2.6: FACK detects losses by distance, and rate halving reduces the window
//! (tcp_fastretrans_alert and the functions it calls, Linux 2.6.24).

use crate::host::tcp::ack_info::AckInfo;
use crate::host::tcp::scoreboard::{LOST, RETRANS, SACKED};
use crate::host::tcp::{ca, Socket};
use crate::net::Net;
use headway_algorithms::CaState;

impl Socket {
    /// Runs the state machine (tcp_fastretrans_alert of 2.6.24).
    #[inline(never)]
    pub(in crate::host::tcp) fn alert_26(&mut self, net: &mut Net, info: &AckInfo) {
        let duplicate = info.is_duplicate();
        let mut do_lost =
            duplicate || (info.sacked_pkts > 0 && self.board.forward() > self.reordering);
        if info.ece {
            self.prior_ssthresh = 0;
        }
        if self.conn.ca_state == ca::RECOVERY && info.sacked_pkts > 0 {
            self.find_lost_retransmissions(net);
        }
        if self.conn.ca_state == ca::OPEN {
            self.retrans_stamp_ns = 0;
        } else if self.snd_una >= self.high_seq && self.leave_state_26(net) {
            return;
        }
        match self.conn.ca_state {
            ca::RECOVERY => {
                if info.advanced {
                    do_lost = self.partial_ack(net);
                } else if !self.options.sack && duplicate {
                    self.add_duplicate_ack();
                }
            }
            ca::LOSS => {
                if info.acked_pkts > 0 {
                    self.retries = 0;
                }
                if !self.undo_loss(net, false) {
                    self.moderate(net);
                    self.retransmit_queue(net);
                    return;
                }
                if self.conn.ca_state != ca::OPEN || !self.enter_if_due(net, info) {
                    return;
                }
            }
            _ => {
                if !self.options.sack {
                    if info.advanced {
                        self.reset_duplicate_acks();
                    }
                    if duplicate {
                        self.add_duplicate_ack();
                    }
                }
                if self.conn.ca_state == ca::DISORDER {
                    self.undo_by_dsack(net);
                }
                if !self.enter_if_due(net, info) {
                    return;
                }
            }
        }
        if do_lost || self.head_timed_out(net) {
            self.mark_by_distance(net);
        }
        self.halve_step(net, info);
        self.retransmit_queue(net);
    }

    /// Leaves Recovery, Loss or CWR when `high_seq` is acknowledged. Returns whether the sender
    /// stays in the state for this ACK.
    fn leave_state_26(&mut self, net: &mut Net) -> bool {
        match self.conn.ca_state {
            ca::LOSS => {
                self.retries = 0;
                return self.undo_recovery(net);
            }
            // CWR lasts until data above high_seq is acknowledged.
            ca::CWR if self.snd_una != self.high_seq => {
                self.complete_reduction(net);
                self.set_ca_state(net, CaState::Open);
            }
            ca::DISORDER => {
                self.undo_by_dsack(net);
                if self.undo_marker.is_none() || !self.options.sack || self.snd_una != self.high_seq
                {
                    self.undo_marker = None;
                    self.set_ca_state(net, CaState::Open);
                }
            }
            ca::RECOVERY => {
                self.reset_duplicate_acks();
                if self.undo_recovery(net) {
                    return true;
                }
                self.complete_reduction(net);
            }
            _ => {}
        }
        false
    }

    /// Marks packets lost. FACK marks by the distance from the highest SACK; without FACK or SACK
    /// only the oldest packet is marked (tcp_update_scoreboard).
    fn mark_by_distance(&mut self, net: &Net) {
        let count = if self.fack {
            self.board.forward().saturating_sub(self.reordering).max(1)
        } else {
            1
        };
        for number in self.board.first..self.board.first + u64::from(count) {
            match self.board.get(number) {
                Some(s) if s.end() <= self.high_seq => {
                    if s.marks & (SACKED | LOST) == 0 {
                        self.lose(net, number);
                    }
                }
                _ => break,
            }
        }
        if self.options.sack && self.head_timed_out(net) {
            let limit_ns = self.rtt.rto_us() * 1000;
            let mut number = self.board.first;
            while let Some(s) = self.board.get(number) {
                if net.now_ns.saturating_sub(s.sent_ns) <= limit_ns {
                    break;
                }
                if s.marks & (SACKED | LOST) == 0 {
                    self.lose(net, number);
                }
                number += 1;
            }
        }
    }

    /// Marks retransmissions lost if data sent after them was SACKed (tcp_mark_lost_retrans).
    fn find_lost_retransmissions(&mut self, net: &Net) {
        if self.board.retrans_out == 0 || self.board.sacked_end <= self.board.first {
            return;
        }
        let Some(received) = self.board.get(self.board.sacked_end - 1).map(|s| s.end()) else {
            return;
        };
        let slack = if self.fack {
            0
        } else {
            u64::from(self.reordering * self.mss)
        };
        for number in self.board.first..self.board.sacked_end {
            let Some(s) = self.board.get(number) else {
                break;
            };
            if s.marks & RETRANS != 0 && s.marks & SACKED == 0 && received > s.retrans_nxt + slack {
                self.lose(net, number);
            }
        }
    }

    /// Reduces cwnd by one packet for every second ACK (tcp_cwnd_down).
    pub(super) fn halve_step(&mut self, net: &Net, info: &AckInfo) {
        if self.takes_samples {
            return;
        }
        let progress = info.acked_pkts > 0 || info.advanced || info.sacked_pkts > 0 || info.dsack;
        if !progress && (self.options.sack || !info.is_duplicate()) {
            return;
        }
        let in_flight = self.board.in_flight();
        self.cwnd_stamp_ns = net.now_ns;
        if self.startup_reduces && self.conn.ca_state == ca::RECOVERY {
            self.conn.cwnd_pkts = self.startup_window(in_flight, info);
            return;
        }
        let count = self.conn.cwnd_cnt + 1;
        self.conn.cwnd_cnt = count & 1;
        let mut cwnd = self.conn.cwnd_pkts;
        self.refresh(net);
        let floor = self.control.min_cwnd(&mut self.conn);
        if cwnd > floor {
            cwnd -= count >> 1;
        }
        self.conn.cwnd_pkts = cwnd.min(in_flight + 1).max(1);
    }

    /// Computes cwnd during a Recovery for which a startup has set cwnd: slow start up to ssthresh.
    /// Linux 2.6 itself does not support this; only the kernels that were patched for Quick-Start
    /// did.
    fn startup_window(&self, in_flight: u32, info: &AckInfo) -> u32 {
        let window = in_flight + 1 + u32::from(info.advanced);
        // The first lost packet is retransmitted whatever cwnd is (RFC 5681 section 3.2).
        let least = if self.retrans_stamp_ns == 0 {
            in_flight + 1
        } else {
            1
        };
        window.min(self.conn.ssthresh_pkts).max(least)
    }

    /// Processes a partial ACK in Recovery. Returns whether more packets must be marked lost.
    fn partial_ack(&mut self, net: &mut Net) -> bool {
        let failed = !self.options.sack || self.board.forward() > self.reordering;
        if self.may_undo() {
            if self.board.retrans_out == 0 {
                self.retrans_stamp_ns = 0;
            }
            self.undo(net, false);
            return false;
        }
        failed
    }
}
