//! The handshake: SYN, SYN-ACK, and the initial state of both ends.

use super::{ca, quick_start, Pending, Socket, State, Timer, HEADER_BYTES};
use crate::net::packet::{about, flags, Packet, Sacks};
use crate::net::Net;

impl Socket {
    /// Waits for a SYN, as a listening socket does.
    pub fn listen(&mut self) {
        self.state = State::Listen;
    }

    /// Sends the SYN.
    pub fn connect(&mut self, net: &mut Net) {
        self.state = State::SynSent;
        self.learn_mtu(net, self.route);
        // tcp_connect_init: before the handshake it is not known whether timestamps will take space
        // in segments.
        let segment_bytes = self.options.mtu_bytes - HEADER_BYTES;
        self.receiver.set_syn_window(segment_bytes, &self.options);
        self.send_syn(net);
    }

    pub(super) fn send_syn(&mut self, net: &mut Net) {
        self.syn_sent_ns = net.now_ns;
        let first = self.snd_nxt == 0;
        if first {
            self.first_syn_ms = self.timestamp(net);
            self.quick_start_opens(net);
        } else if self.quick_start.is_some() {
            self.request_was_lost(net, true);
        }
        self.snd_nxt = 1;
        let opens = self.state == State::SynSent;
        let flags = if opens {
            flags::SYN
        } else {
            flags::SYN | flags::ACK
        };
        let ack = if self.state == State::SynSent {
            0
        } else {
            self.receiver.rcv_nxt
        };
        let mut syn = Packet {
            seq: 0,
            ack,
            ip_bytes: self.options.syn_bytes(),
            flags,
            // The window of a SYN is not scaled.
            window_bytes: self.receiver.initial_window_bytes().min(65_535) as u32,
            ts_val_ms: self.timestamp(net),
            ts_ecr_ms: self.receiver.ts_recent_ms,
            about: if self.options.sack {
                about::SACK_PERMITTED
            } else {
                0
            },
            ..self.blank(net)
        };
        self.mark_syn(&mut syn, opens);
        if self.quick_start_flags.due || self.headers_on_syn() {
            self.send_with_headers(net, syn, &Sacks::default());
        } else {
            net.send(syn, &Sacks::default());
        }
        let mut rto_us = self.rtt.rto_us();
        // In linux-6 the timeout of a SYN with a request stays as it is: eBPF programs on a kernel
        // cannot set it.
        if self.quick_start_flags.waits && self.profile.counts_acks {
            rto_us = rto_us.max(quick_start::SYN_RTO_US);
        }
        self.arm_retransmit(net, net.now_ns + rto_us * 1000);
        self.pending = Some(Pending::Rto);
    }

    /// Processes a packet that arrives before the connection is established. Returns whether the
    /// packet has established the connection and must be processed further.
    #[cold]
    pub(super) fn on_handshake_packet(&mut self, net: &mut Net, p: &Packet) -> bool {
        match self.state {
            State::Closed | State::Established => false,
            State::Listen => {
                if p.flags & flags::SYN != 0 {
                    self.receiver.ts_recent_ms = p.ts_val_ms;
                    self.snd_wnd = u64::from(p.window_bytes);
                    self.state = State::SynReceived;
                    self.learn_mtu(net, self.route);
                    self.learn_mtu(net, p.route);
                    self.on_ecn_syn(net, p);
                    self.send_syn(net);
                    if self.options.extra_ack {
                        self.send_ack(net);
                    }
                }
                false
            }
            State::SynSent => {
                if p.flags & (flags::SYN | flags::ACK) == flags::SYN | flags::ACK {
                    self.learn_mtu(net, p.route);
                    self.on_ecn_syn_ack(net, p);
                    self.established(net, p);
                    if self.snd_nxt < self.write_end {
                        self.transmission_starts(net, 0);
                    }
                    self.send_ack(net);
                    self.run_writer(net);
                    self.push_pending(net);
                    self.record(net);
                }
                false
            }
            State::SynReceived => {
                if p.flags & flags::SYN != 0 {
                    // In linux-6, sending the SYN-ACK again after a repeated SYN counts as a
                    // retransmission (inet_rtx_syn_ack).
                    self.retries += u32::from(!self.profile.counts_acks);
                    self.syn_arrived_again(p);
                    self.send_syn(net);
                    return false;
                }
                if p.ack < 1 {
                    return false;
                }
                self.accurate_completes(p);
                self.established(net, p);
                true
            }
        }
    }

    pub(super) fn established(&mut self, net: &mut Net, p: &Packet) {
        let sample_us = (net.now_ns - self.syn_sent_ns) / 1000;
        // A retransmitted SYN makes the responder retransmit its SYN-ACK, even if no timer fired.
        let mut timed_out = self.rtt.has_backed_off();
        let opens = self.state == State::SynSent;
        if opens {
            self.handshake_us = Some(sample_us);
            timed_out = self.retries > 0;
        }
        self.state = State::Established;
        self.snd_una = 1;
        self.snd_wnd = u64::from(p.window_bytes);
        self.receiver.ts_recent_ms = p.ts_val_ms;
        self.disarm(Timer::Retransmit);
        self.pending = None;
        if self.retries == 0 {
            self.take_rtt_sample(sample_us);
        } else if !self.profile.counts_acks {
            self.syn_was_repeated(net, p.ts_ecr_ms, timed_out);
        }
        self.retries = 0;
        self.rtt.end_backoff();
        self.cwnd_stamp_ns = net.now_ns;
        self.last_sent_ns = net.now_ns;
        self.rates_begin(net);
        self.refresh(net);
        self.ecn_agreed();
        self.peer_window_grew();
        if timed_out && opens {
            self.hold_loss_of_syn();
        }
        self.control.init(&mut self.conn);
        if self.profile.counts_acks {
            self.deliver_feedback();
        }
        self.open_send_buffer();
        self.signals.established = true;
        self.receiver.start_right_sizing(net.now_ns);
        self.start_reader(net);
    }

    /// Handles a timeout of the SYN, which enters Loss. The SYN-ACK acknowledges everything
    /// outstanding and ends Loss. Without SACK, however, the sender stays in Loss until data is
    /// acknowledged (tcp_try_undo_recovery). A startup begins only in Open, so it then does not
    /// begin with the first data.
    #[cold]
    fn hold_loss_of_syn(&mut self) {
        if !self.options.sack {
            self.conn.ca_state = ca::LOSS;
            self.high_seq = self.snd_una;
        }
    }

    /// linux-6: handles a retransmitted SYN or SYN-ACK. A timestamp shows which transmission was
    /// answered, and so the RTT (tcp_synack_rtt_meas, tcp_ack_update_rtt). Without timestamps the
    /// timeout falls back to 3 s (tcp_init_metrics; RFC 6298, 5.7). cwnd is 1 after two
    /// retransmissions, at least one of them after a timeout (tcp_init_transfer; RFC 5681, 3.1).
    /// cwnd is not reduced if the peer answered the first transmission, because then no
    /// transmission was lost (tcp_try_undo_spurious_syn).
    #[cold]
    fn syn_was_repeated(&mut self, net: &Net, ts_ecr_ms: u32, timed_out: bool) {
        if ts_ecr_ms == 0 {
            self.rtt.fall_back();
        } else {
            let echo_ms = self.timestamp(net).saturating_sub(ts_ecr_ms).max(1);
            self.take_rtt_sample(u64::from(echo_ms) * 1000);
        }
        let is_spurious = ts_ecr_ms != 0 && ts_ecr_ms == self.first_syn_ms;
        if self.retries > 1 && timed_out && !is_spurious {
            self.conn.cwnd_pkts = 1;
        }
    }
}
