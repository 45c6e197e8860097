//! Processing of an arriving packet: the order in which the parts of the socket handle it, and how
//! its data reaches the receiving half.

use super::receiver::AckPlan;
use super::{Socket, State, Timer};
use crate::net::packet::{flags, Packet, Sacks};
use crate::net::Net;

impl Socket {
    /// Processes a packet that has arrived for this socket.
    pub fn on_packet(&mut self, net: &mut Net, p: &Packet, sacks: &Sacks) {
        if p.headers != 0 || self.quick_start_flags.waits {
            self.headers_arrived(net, p);
        }
        if self.carried.is_some() {
            self.ecn_bits_arrived(net, p);
            self.accurate_arrived(net, p);
        }
        let mut opens = false;
        if self.state != State::Established {
            if !self.on_handshake_packet(net, p) {
                return;
            }
            opens = true;
        } else if p.flags & flags::SYN != 0 {
            // A SYN-ACK that arrives again shows that the peer did not receive our ACK of it
            // (tcp_validate_incoming).
            if self.receiver.answers_out_of_window(net.now_ns) {
                self.echo_syn_ack_again(p);
                self.send_ack(net);
            }
            return;
        } else if p.flags & flags::ACK == 0 {
            return;
        } else if p.ack > self.snd_nxt {
            // It acknowledges what was not sent (RFC 9293 section 3.10.7.4).
            if self.receiver.answers_out_of_window(net.now_ns) {
                self.send_ack(net);
            }
            return;
        }
        self.receiver.note_timestamp(p.seq, p.ts_val_ms);
        let takes_echo = !opens && self.receiver.takes_echo(p.ts_ecr_ms);
        self.on_ack(net, p, sacks);
        if p.payload_bytes > 0 || p.flags & flags::FIN != 0 {
            self.on_data(net, p, takes_echo);
        } else if p.seq < self.receiver.acked {
            self.answer_old_segment(net);
        }
        self.push_pending(net);
        if self.writer_waits {
            self.new_space(net);
        } else if opens {
            self.run_writer(net);
        } else if self.buffer.polled_full {
            self.grow_polled(net);
        }
        self.acknowledge_if_owed(net);
        self.read_eagerly(net);
        self.record(net);
    }

    fn on_data(&mut self, net: &mut Net, p: &Packet, takes_echo: bool) {
        let fin = p.flags & flags::FIN != 0;
        let len = p.payload_bytes + u32::from(fin);
        if fin {
            self.fin_received = Some(p.seq + u64::from(len));
            self.receiver.fin_ends(p.seq + u64::from(len));
        }
        let full = p.payload_bytes >= self.receiver.rcv_mss;
        let trip_us = (full && takes_echo && p.ts_ecr_ms != 0)
            .then(|| u64::from(self.timestamp(net).saturating_sub(p.ts_ecr_ms)) * 1000);
        let is_acked = self
            .receiver
            .sends_compressed_ack(p.seq, p.seq + u64::from(len));
        if is_acked {
            self.send_ack(net);
        }
        let counted = self.receiver.counted_acks();
        let mut at_once = self.ecn.any() && self.on_ecn_data(net, p);
        let had_ended = self.fin_arrived();
        let (bytes, plan) = self.receiver.on_segment(
            net.now_ns,
            p.seq,
            len,
            p.flags & flags::PSH != 0,
            trip_us,
            &self.rtt,
        );
        if bytes > 0 {
            self.delivered_bytes = self.receiver.rcv_nxt - 1 - u64::from(self.fin_arrived());
            self.signals.delivered = true;
            if self.receiver.reader.is_none() {
                self.note_done(net);
            }
        }
        // The peer's FIN is acknowledged immediately if this end has sent its own, because this end
        // sends no more data that could carry the ACK (tcp_fin).
        at_once |= self.fin_sent && !had_ended && self.fin_arrived();
        match plan {
            _ if is_acked => {
                self.receiver.ack_scheduled = false;
                self.receiver.count_acks(counted);
            }
            _ if at_once => self.ack_owed_now(net),
            AckPlan::Now => self.ack_owed_now(net),
            AckPlan::AfterReading => self.receiver.ack_after_read = true,
            AckPlan::DelayUntil(at_ns) => self.arm_wheel(net, Timer::Ack, at_ns),
            AckPlan::CompressUntil(at_ns) => {
                let armed_ns = self.timers[Timer::Ack as usize].deadline_ns;
                self.arm(net, Timer::Ack, at_ns.min(armed_ns));
            }
        }
    }
}
