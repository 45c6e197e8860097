//! Path MTU discovery (RFC 1191) as in Linux: a router's message that a packet was too big lowers the
//! MSS, and what was too big is sent again at once, in smaller packets and without a smaller window
//! (tcp_v4_err, tcp_v4_mtu_reduced, tcp_sync_mss, tcp_simple_retransmit). The host remembers the MTU
//! of the path for later connections.

use super::{ca, Socket, State, MTU_BYTES};
use crate::net::packet::Packet;
use crate::net::Net;
use headway_algorithms::CaState;

impl Socket {
    /// The number of the socket at the other end.
    pub(crate) fn peer(&self) -> u32 {
        self.peer
    }

    /// Before the connection opens, takes the MTU that the sender of a route knows: the own one, or
    /// the peer's, whose SYN offers the MSS for it (ipv4_default_advmss).
    pub(super) fn learn_mtu(&mut self, net: &Net, route: u32) {
        if let Some(&mtu_bytes) = net.path_mtu.get(route as usize) {
            self.options.mtu_bytes = self.options.mtu_bytes.min(mtu_bytes);
        }
    }

    /// Processes a router's message about a packet of this socket.
    #[cold]
    pub(crate) fn packet_was_too_big(&mut self, net: &mut Net, message: &Packet) {
        let is_outstanding = (self.snd_una..=self.snd_nxt).contains(&message.seq);
        if self.state != State::Established || !is_outstanding {
            return;
        }
        let mtu_bytes = u32::from(message.ip_id);
        let known = &mut net.path_mtu[self.route as usize];
        *known = mtu_bytes.min(*known);
        if mtu_bytes >= self.options.mtu_bytes {
            return;
        }
        self.options.mtu_bytes = mtu_bytes;
        self.bound_mss();
        self.set_size_goal();
        self.resend_too_big(net);
        self.record(net);
    }

    /// Size of the largest packet that may carry further options.
    pub(super) fn largest_packet_bytes(&self, net: &Net) -> u32 {
        if net.path_mtu.is_empty() {
            MTU_BYTES
        } else {
            self.options.mtu_bytes
        }
    }

    /// How many of a packet's SACK blocks fit beside its payload. New data leaves room for them;
    /// retransmitted data may not, and would be too big again. (Linux shortens it.)
    pub(super) fn sack_blocks_within_mtu(&self, net: &Net, n_sack: u8, payload_bytes: u32) -> u8 {
        if net.path_mtu.is_empty() || payload_bytes == 0 {
            return n_sack;
        }
        let room_bytes = self.mss.saturating_sub(payload_bytes + 4);
        n_sack.min((room_bytes / 8).min(4) as u8)
    }

    /// Sends the packets again that exceed the MSS. This is no sign of congestion: cwnd stays, and
    /// nothing is undone later. The state is Loss until all of it has arrived.
    fn resend_too_big(&mut self, net: &mut Net) {
        let origins = self.board.cut_anew(self.mss);
        if let Some(rates) = &mut self.rates {
            rates.cut_anew(&origins);
        }
        if self.board.lost_out == 0 {
            return;
        }
        if !self.options.sack {
            let others = self.board.packets_out() - self.board.lost_out;
            self.board.sacked_out = self.board.sacked_out.min(others);
        }
        if self.conn.ca_state != ca::LOSS {
            self.high_seq = self.snd_nxt;
            self.conn.ssthresh_pkts = self.current_ssthresh();
            self.prior_ssthresh = 0;
            self.undo_marker = None;
            self.set_ca_state(net, CaState::Loss);
        }
        self.retransmit_queue(net);
    }
}
