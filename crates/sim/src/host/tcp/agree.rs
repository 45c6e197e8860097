//! What both ends of a connection support. In a run, both ends have the same options. A peer that
//! the caller plays may offer less, so that this end gives up what the peer lacks
//! (tcp_parse_options, tcp_rcv_synsent_state_process, tcp_openreq_init).

use super::profile::Detection;
use super::receiver::{window_scale, Receiver};
use super::{Socket, State, HEADER_BYTES};

/// Segment size of a peer that offers none (TCP_MSS_DEFAULT).
const USUAL_MSS_BYTES: u32 = 536;
/// Smallest segment size that counts (TCP_MIN_SND_MSS).
const LEAST_MSS_BYTES: u32 = 48;

/// What a peer's SYN or SYN-ACK offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Largest segment that the peer accepts, without TCP options.
    pub mss_bytes: Option<u32>,
    /// Whether the peer understands SACK.
    pub sack: bool,
    /// Whether the peer sends timestamps.
    pub timestamps: bool,
    /// Whether the peer scales windows.
    pub scales: bool,
}

impl Socket {
    /// Limits the connection to what the peer offers. Called before the peer's SYN or SYN-ACK is
    /// processed.
    pub fn agree(&mut self, offer: Offer) {
        let own_header =
            self.conn.header_bytes - (self.options.mtu_bytes - self.options.segment_bytes());
        self.options.sack &= offer.sack;
        self.options.timestamps &= offer.timestamps;
        self.options.rules.window_scaling &= offer.scales;
        let own_segment = self.options.segment_bytes();
        if self.state == State::Listen {
            // Nothing was announced yet.
            let reader = self.receiver.reader.take();
            self.receiver = Receiver::new(self.profile, own_segment, 1, &self.options);
            self.receiver.reader = reader;
        } else {
            self.receiver.agree(own_segment, &self.options);
        }
        let peer_mss = offer.mss_bytes.unwrap_or(USUAL_MSS_BYTES);
        let mtu_bytes = peer_mss.max(LEAST_MSS_BYTES) + HEADER_BYTES;
        self.options.mtu_bytes = self.options.mtu_bytes.min(mtu_bytes);
        self.mss = self.options.segment_bytes() - own_header;
        self.conn.mss_bytes = self.mss;
        self.conn.header_bytes = self.options.mtu_bytes - self.mss;
        self.conn.sack = u8::from(self.options.sack);
        self.fack &= self.options.sack;
        let by_time = self.profile.detection == Detection::RackTlp && self.options.sack;
        self.uses_rack &= by_time;
        self.probes &= by_time;
    }

    /// The window scale that this end announces; None without window scaling.
    pub fn announced_scale(&self) -> Option<u8> {
        window_scale(self.profile, &self.options)
    }

    /// The socket's number.
    pub(crate) fn own_number(&self) -> u32 {
        self.id
    }

    /// Sets the size of the send buffer, as SO_SNDBUF does: Linux doubles it, and the buffer does
    /// not grow any more.
    pub fn set_send_buffer(&mut self, bytes: u64) {
        self.options.sndbuf_bytes = Some(bytes);
        self.buffer.set_limit(bytes);
    }

    /// Sets TCP_NOTSENT_LOWAT: a writer waits while this much is unsent.
    pub fn set_notsent_lowat(&mut self, bytes: u64) {
        self.buffer.lowat_bytes = bytes.max(1);
    }

    /// Sets TCP_NODELAY.
    pub fn set_nodelay(&mut self, on: bool) {
        self.options.nodelay = on;
    }

    /// Bytes of writes that wait for room in the send buffer.
    pub fn unbuffered_bytes(&self) -> u64 {
        self.buffer.app_end - self.write_end
    }

    /// Whether data that was written is not acknowledged.
    pub fn has_unacked_data(&self) -> bool {
        self.snd_una < self.write_end
    }

    /// Bytes that arrived in order and wait to be read.
    pub fn readable_bytes(&self) -> u64 {
        self.receiver.read_position().1
    }
}
