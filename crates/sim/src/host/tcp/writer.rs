//! What the application writes.

use super::Socket;
use crate::net::Net;

/// Largest send buffer (tcp_wmem).
const MAX_SEND_BUFFER_BYTES: u64 = 4 << 20;

impl Socket {
    /// The application writes. Nothing is sent until `pump`.
    pub fn write(&mut self, bytes: u64) {
        self.write_end += bytes;
    }

    /// The application will write without end.
    pub fn write_forever(&mut self) {
        self.write_end = u64::MAX >> 2;
    }

    /// The application stops writing. What is in the send buffer is still
    /// delivered, and a FIN follows. An application that writes without end has
    /// the buffer full, and Linux has let it grow to twice the largest window.
    pub fn stop(&mut self, net: &mut Net) {
        let per_pkt = self.profile.send_buffer_per_pkt_bytes;
        let buffered = 2 * u64::from(self.largest_cwnd_pkts) * per_pkt;
        let end = self
            .snd_nxt
            .max(self.snd_una + buffered.min(MAX_SEND_BUFFER_BYTES));
        self.write_end = self.write_end.min(end.max(1));
        self.close(net);
    }

    /// A FIN follows the data.
    pub fn close(&mut self, net: &mut Net) {
        self.fin_queued = true;
        self.pump(net);
    }
}
