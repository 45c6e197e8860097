//! Stack profiles: which Linux the endpoints are.
//!
//! A profile is the list of what differs between two eras of the same stack.
//! Sources: Linux 2.6.24/2.6.25 net/ipv4 for `linux-2.6`, Linux 6.18 for `linux-6` where no older
//! version is named.

pub use super::writer::SendBufferRule;
use crate::scenario::EcnMode;

/// How lost packets are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Forward acknowledgement: everything further than `reordering` packets
    /// below the highest SACK is lost.
    Fack,
    /// RACK-TLP (RFC 8985): by time of transmission, with tail loss probes.
    RackTlp,
}

/// How cwnd comes down to ssthresh in recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// One packet less for every second ACK.
    RateHalving,
    /// Proportional rate reduction (RFC 6937) as in Linux.
    Prr,
}

/// What fixes an era.
#[derive(Debug)]
pub struct Profile {
    /// Name in scenarios.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Growth counts ACK events, not ACKed packets.
    pub counts_acks: bool,
    /// First window, packets.
    pub initial_cwnd_pkts: u32,
    /// Idle times are counted in ticks and timers fire at them (HZ 250); else to the nanosecond.
    pub ticks: bool,
    /// Resolution of RTT samples.
    pub clock_us: u64,
    /// Retransmission timeout before the first sample.
    pub initial_rto_us: u64,
    /// The first timeouts of a SYN, which do not double the next (tcp_syn_linear_timeouts).
    pub linear_syn_timeouts: u32,
    /// Loss detection.
    pub detection: Detection,
    /// Window reduction.
    pub reduction: Reduction,
    /// The farthest that a path may be known to reorder, packets.
    pub max_reordering_pkts: u32,
    /// Most receive window of a new connection, bytes; linux-6 offers what the buffer holds.
    pub first_window_bytes: u64,
    /// Receive buffer before it is tuned, and at most, bytes.
    pub buffer_bytes: u64,
    pub max_buffer_bytes: u64,
    /// The receive buffer's part that is window, in 256ths: fixed by tcp_adv_win_scale;
    /// since 6.6 measured on the first full segment (scaling_ratio).
    pub window_part: u64,
    /// What counts in a send buffer.
    pub send_buffer: SendBufferRule,
    /// Duplicate ACKs are merged for up to a millisecond.
    pub compresses_sacks: bool,
    /// So many data packets of a connection leave before pacing begins.
    pub unpaced_pkts: u64,
    /// Segmentation offload: several packets leave as one.
    pub segments_are_large: bool,
    /// Whether connections ask for or grant ECN (tcp_ecn).
    pub ecn: EcnMode,
    /// A SYN that is repeated does not ask for ECN again (tcp_ecn_fallback).
    pub ecn_falls_back: bool,
}

/// The floor of the variance term of the retransmission timeout (TCP_RTO_MIN).
pub const MIN_RTO_US: u64 = 200_000;
/// The timeout where a repeated handshake gave no sample (TCP_TIMEOUT_FALLBACK).
pub const FALLBACK_RTO_US: u64 = 3_000_000;
/// Longest retransmission timeout (TCP_RTO_MAX).
pub const MAX_RTO_US: u64 = 120_000_000;
/// Duplicate ACKs, or packets of distance, that mean loss.
pub const DUPTHRESH: u32 = 3;

/// All profiles.
pub static PROFILES: [Profile; 2] = [
    Profile {
        name: "linux-2.6",
        title: "Linux 2.6.25: rate halving, FACK, initial window 2, ACK counting, HZ 1000",
        counts_acks: true,
        // The metrics code leaves the socket's initial 2 unless the route has a cached RTT.
        initial_cwnd_pkts: 2,
        // HZ 1000: a tick is within a packet's time on the papers' paths
        ticks: false,
        clock_us: 1000,
        initial_rto_us: 3_000_000,
        linear_syn_timeouts: 0,
        detection: Detection::Fack,
        reduction: Reduction::RateHalving,
        // TCP_MAX_REORDERING
        max_reordering_pkts: 127,
        // Four segments at first; tcp_rmem 87380 default and 4 MiB at most, of which
        // three quarters are window (tcp_adv_win_scale 2).
        first_window_bytes: 5840,
        buffer_bytes: 87_380,
        max_buffer_bytes: 4 << 20,
        window_part: 192,
        // tcp_new_space: MSS 1460, MAX_TCP_HEADER 176, 16, an sk_buff of about 208. It is
        // twice the window of a busy sender up to 4 MiB, so that the writer is always there
        // before; the papers' hosts had buffers beyond their paths' products.
        send_buffer: SendBufferRule {
            per_mss_bytes: 1860,
            overhead_bytes: 400,
            limits: false,
        },
        compresses_sacks: false,
        // had no pacing of its own; that of the papers' patches spaced all
        unpaced_pkts: 0,
        segments_are_large: false,
        // tcp_ecn was off; 2 is of 2.6.31, the fallback of 4.1
        ecn: EcnMode::Off,
        ecn_falls_back: false,
    },
    Profile {
        name: "linux-6",
        title: "Linux 6.x: PRR, RACK-TLP, initial window 10, packet counting",
        counts_acks: false,
        initial_cwnd_pkts: 10,
        ticks: true,
        clock_us: 1,
        initial_rto_us: 1_000_000,
        // since 6.5
        linear_syn_timeouts: 4,
        detection: Detection::RackTlp,
        reduction: Reduction::Prr,
        // tcp_max_reordering
        max_reordering_pkts: 300,
        // tcp_rmem 131072 default and 6 MiB at most. Half of it is window until the first full
        // segment: its 1448 bytes take 2304 bytes of buffer, so 160/256 are from then on.
        first_window_bytes: u64::MAX,
        buffer_bytes: 131_072,
        max_buffer_bytes: 6 << 20,
        window_part: 128,
        // tcp_sndbuf_expand: MSS, header and shared info rounded up to 2048, an sk_buff of
        // 256. An sk_buff without data counts 832 bytes (tcp_stream_alloc_skb; ss on 6.18).
        send_buffer: SendBufferRule {
            per_mss_bytes: 2304,
            overhead_bytes: 832,
            limits: true,
        },
        compresses_sacks: true,
        // tcp_update_skb_after_send, as the queue fq did before
        unpaced_pkts: 10,
        segments_are_large: true,
        ecn: EcnMode::Passive,
        ecn_falls_back: true,
    },
];

impl Profile {
    /// The window to restart with after an idle time (tcp_init_cwnd): 2.6 begins a
    /// connection with less, see `initial_cwnd_pkts`.
    pub fn restart_cwnd_pkts(&self, mss: u32) -> u32 {
        match self.reduction {
            Reduction::RateHalving if mss > 1460 => 2,
            Reduction::RateHalving if mss > 1095 => 3,
            Reduction::RateHalving => 4,
            Reduction::Prr => self.initial_cwnd_pkts,
        }
    }
}

/// Finds a profile.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|p| p.name == name)
}
