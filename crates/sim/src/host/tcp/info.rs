//! A socket's state as Linux's TCP_INFO reports it (tcp_get_info).

use super::{EcnFlags, Socket, State};
use headway_algorithms::SSTHRESH_INFINITE;

/// How Linux writes that ssthresh has not been set (TCP_INFINITE_SSTHRESH).
const INFINITE: i64 = 0x7fff_ffff;

/// Fields of TCP_INFO with their values, by Linux's names. Fields that the endpoint does not keep
/// are missing.
pub type Info = Vec<(&'static str, i64)>;

/// Linux's numbers of states.
mod states {
    pub const ESTABLISHED: i64 = 1;
    pub const SYN_SENT: i64 = 2;
    pub const SYN_RECV: i64 = 3;
    pub const FIN_WAIT1: i64 = 4;
    pub const FIN_WAIT2: i64 = 5;
    pub const TIME_WAIT: i64 = 6;
    pub const CLOSE: i64 = 7;
    pub const CLOSE_WAIT: i64 = 8;
    pub const LAST_ACK: i64 = 9;
    pub const LISTEN: i64 = 10;
}

/// Bits of tcpi_options.
mod options {
    pub const TIMESTAMPS: i64 = 1;
    pub const SACK: i64 = 2;
    pub const WSCALE: i64 = 4;
    pub const ECN: i64 = 8;
}

impl Socket {
    /// The socket's state at this time.
    pub fn info(&self, now_ns: u64) -> Info {
        let ssthresh = match self.conn.ssthresh_pkts {
            SSTHRESH_INFINITE => INFINITE,
            pkts => i64::from(pkts),
        };
        // Linux counts the acknowledged SYN or SYN-ACK as delivered.
        let opened = i64::from(self.state == State::Established);
        let us = |us: u64| i64::try_from(us).unwrap_or(i64::MAX);
        let mut info = vec![
            ("tcpi_state", self.linux_state()),
            ("tcpi_ca_state", i64::from(self.conn.ca_state)),
            ("tcpi_retransmits", i64::from(self.retries)),
            ("tcpi_probes", i64::from(self.persist_backoff)),
            ("tcpi_backoff", i64::from(self.rtt.doublings())),
            ("tcpi_options", self.linux_options()),
            ("tcpi_rto", us(self.rtt.rto_us())),
            ("tcpi_snd_mss", i64::from(self.mss)),
            ("tcpi_rcv_mss", i64::from(self.receiver.rcv_mss)),
            ("tcpi_unacked", i64::from(self.board.packets_out())),
            ("tcpi_sacked", i64::from(self.board.sacked_out)),
            ("tcpi_lost", i64::from(self.board.lost_out)),
            ("tcpi_retrans", i64::from(self.board.retrans_out)),
            ("tcpi_rtt", us(self.rtt.srtt_us())),
            ("tcpi_rttvar", us(self.rtt.deviation_us())),
            ("tcpi_min_rtt", i64::from(self.rtt.min_us)),
            ("tcpi_snd_ssthresh", ssthresh),
            ("tcpi_snd_cwnd", i64::from(self.conn.cwnd_pkts)),
            ("tcpi_reordering", i64::from(self.reordering)),
            ("tcpi_total_retrans", self.counters.retransmits_pkts as i64),
            ("tcpi_delivered", opened + self.conn.delivered_pkts as i64),
            ("tcpi_delivered_ce", i64::from(self.conn.delivered_ce_pkts)),
            ("tcpi_notsent_bytes", self.unsent_bytes() as i64),
            ("tcpi_bytes_acked", self.acked_bytes() as i64),
            ("tcpi_bytes_received", self.delivered_bytes as i64),
            ("tcpi_snd_wnd", self.snd_wnd as i64),
            (
                "tcpi_rwnd_limited",
                us(self.limited.window.until_us(now_ns)),
            ),
            (
                "tcpi_sndbuf_limited",
                us(self.limited.buffer.until_us(now_ns)),
            ),
        ];
        info.extend(self.ecn_info());
        info
    }

    fn linux_state(&self) -> i64 {
        match self.state {
            State::Closed => states::CLOSE,
            State::Listen => states::LISTEN,
            State::SynSent => states::SYN_SENT,
            State::SynReceived => states::SYN_RECV,
            State::Established => match (self.fin_sent, self.fin_acked(), self.fin_arrived()) {
                (false, _, false) => states::ESTABLISHED,
                (false, _, true) => states::CLOSE_WAIT,
                (true, false, false) => states::FIN_WAIT1,
                (true, true, false) => states::FIN_WAIT2,
                // It is not kept which FIN came first, so this may also be CLOSING.
                (true, false, true) => states::LAST_ACK,
                (true, true, true) => states::TIME_WAIT,
            },
        }
    }

    fn linux_options(&self) -> i64 {
        let on = |is_on: bool, bit: i64| if is_on { bit } else { 0 };
        on(self.options.timestamps, options::TIMESTAMPS)
            | on(self.options.sack, options::SACK)
            | on(self.options.rules.window_scaling, options::WSCALE)
            | on(self.ecn.has(EcnFlags::OK), options::ECN)
    }
}
