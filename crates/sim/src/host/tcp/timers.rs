//! A socket's timers.

use super::state::reader::READ_TIMER;
use super::state::timers::{Timer, NEVER};
use super::{ticks, Socket};
use crate::net::Net;

impl Socket {
    /// Handles a timer event of this socket.
    pub fn on_timer(&mut self, net: &mut Net, number: u32) {
        if number == READ_TIMER {
            self.reader_timer_fired(net);
            return;
        }
        let slot = &mut self.timers[number as usize];
        if slot.scheduled_ns != net.now_ns {
            return;
        }
        slot.scheduled_ns = NEVER;
        if number == Timer::Retransmit as u32 {
            let armed_ns = std::mem::replace(&mut self.retransmit_armed_ns, NEVER);
            if armed_ns != NEVER && slot.deadline_ns != NEVER {
                slot.deadline_ns = ticks::fires_ns(armed_ns, slot.deadline_ns, net.since_tick_ns);
            }
        }
        if slot.deadline_ns > net.now_ns {
            if slot.deadline_ns != NEVER {
                let at_ns = slot.deadline_ns;
                slot.scheduled_ns = at_ns;
                net.set_timer(at_ns, self.id, number);
            }
            return;
        }
        slot.deadline_ns = NEVER;
        match number {
            0 => self.retransmit_timer_fired(net),
            1 => {
                if self.receiver.owes_ack() {
                    self.receiver.delack_fired(self.rtt.rto_us());
                    self.send_ack(net);
                }
            }
            _ => {
                // tcp_tsq_write: when the pacing timer fires, lost packets are sent first
                if self.paces_segments && self.board.lost_out > self.board.retrans_out {
                    self.retransmit_queue(net);
                }
                self.push_pending(net);
                self.continue_woken_writer(net);
            }
        }
        self.record(net);
    }

    /// Arms a timer of the host's timer wheel. If the profile has ticks, the timer fires at a tick.
    #[inline]
    pub(super) fn arm_wheel(&mut self, net: &mut Net, timer: Timer, at_ns: u64) {
        let at_ns = if self.profile.ticks {
            ticks::fires_ns(net.now_ns, at_ns, net.since_tick_ns)
        } else {
            at_ns
        };
        self.arm(net, timer, at_ns);
    }

    /// Arms the retransmission timer, whose deadline every sent packet and every ACK moves. To save
    /// work, the deadline is rounded to a tick only when the timer's event fires, in most cases
    /// before the deadline.
    #[inline]
    pub(super) fn arm_retransmit(&mut self, net: &mut Net, at_ns: u64) {
        let slot = &mut self.timers[Timer::Retransmit as usize];
        if at_ns >= slot.scheduled_ns && self.profile.ticks {
            slot.deadline_ns = at_ns;
            self.retransmit_armed_ns = net.now_ns;
        } else {
            self.retransmit_armed_ns = NEVER;
            self.arm_wheel(net, Timer::Retransmit, at_ns);
        }
    }

    /// Arms a timer that has nanosecond resolution.
    pub(super) fn arm(&mut self, net: &mut Net, timer: Timer, at_ns: u64) {
        let slot = &mut self.timers[timer as usize];
        slot.deadline_ns = at_ns;
        if at_ns < slot.scheduled_ns {
            slot.scheduled_ns = at_ns;
            net.set_timer(at_ns, self.id, timer as u32);
        }
    }

    pub(super) fn disarm(&mut self, timer: Timer) {
        self.timers[timer as usize].deadline_ns = NEVER;
    }
}
