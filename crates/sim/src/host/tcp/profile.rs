//! Stack profiles: the Linux versions that endpoints model.
//!
//! A profile lists what differs between two versions of the same stack. Sources: net/ipv4 of Linux
//! 2.6.24/2.6.25 for `linux-2.6`, Linux 6.18 for `linux-6` unless an older version is named.

use crate::scenario::EcnMode;

/// How losses are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Forward acknowledgement: packets more than `reordering` below the highest SACK are lost.
    Fack,
    /// RACK-TLP (RFC 8985): losses are detected by transmission time, with tail loss probes.
    RackTlp,
}

/// How cwnd is reduced to ssthresh in recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Rate halving: cwnd shrinks by one packet for every second ACK.
    RateHalving,
    /// Proportional rate reduction (RFC 6937) as in Linux.
    Prr,
}

/// How a stack counts data in its send buffers.
#[derive(Debug)]
pub struct SendBufferRule {
    /// Bytes of memory that a full segment counts when the buffer is sized to two windows.
    pub per_mss_bytes: u64,
    /// Memory of an sk_buff in bytes, not counting its data.
    pub overhead_bytes: u64,
    /// Whether writers wait for room in the send buffer. If not, they wait only if the flow sets a
    /// buffer size; the size then also limits how much an endless writer still sends when it stops.
    pub limits: bool,
}

/// The properties of a stack version.
#[derive(Debug)]
pub struct Profile {
    /// Name in scenarios.
    pub name: &'static str,
    /// A one-line description for readers.
    pub title: &'static str,
    /// Whether cwnd grows per ACK instead of per acknowledged packet.
    pub counts_acks: bool,
    /// Initial window, packets.
    pub initial_cwnd_pkts: u32,
    /// Whether Linux's ticks (HZ 250) are modelled: idle times are counted in ticks, and timers
    /// fire at ticks. Otherwise both have nanosecond resolution.
    pub ticks: bool,
    /// Resolution of RTT samples.
    pub clock_us: u64,
    /// Retransmission timeout before the first RTT sample.
    pub initial_rto_us: u64,
    /// Number of SYN timeouts that do not double the next timeout (tcp_syn_linear_timeouts).
    pub linear_syn_timeouts: u32,
    /// Loss detection.
    pub detection: Detection,
    /// Window reduction.
    pub reduction: Reduction,
    /// Largest reordering that the sender assumes of a path, packets.
    pub max_reordering_pkts: u32,
    /// Largest receive window that a new connection advertises, bytes. linux-6 advertises all that
    /// the buffer holds.
    pub first_window_bytes: u64,
    /// Receive buffer, bytes: its initial and its largest size.
    pub buffer_bytes: u64,
    pub max_buffer_bytes: u64,
    /// Part of the receive buffer that is advertised as window, in 256ths. Set by
    /// tcp_adv_win_scale; since Linux 6.6 measured on the first full segment (scaling_ratio).
    pub window_part: u64,
    /// How data is counted in a send buffer.
    pub send_buffer: SendBufferRule,
    /// Whether duplicate ACKs are delayed and merged for up to a millisecond.
    pub compresses_sacks: bool,
    /// Number of data packets of a connection that are sent before pacing begins.
    pub unpaced_pkts: u64,
    /// Segmentation offload: several packets are sent as one segment.
    pub segments_are_large: bool,
    /// Whether connections request or accept ECN (tcp_ecn).
    pub ecn: EcnMode,
    /// Whether a retransmitted SYN does not request ECN (tcp_ecn_fallback).
    pub ecn_falls_back: bool,
}

/// Smallest value of the variance term of the retransmission timeout (TCP_RTO_MIN).
pub const MIN_RTO_US: u64 = 200_000;
/// The retransmission timeout if the handshake was retransmitted and gave no RTT sample
/// (TCP_TIMEOUT_FALLBACK).
pub const FALLBACK_RTO_US: u64 = 3_000_000;
/// Longest retransmission timeout (TCP_RTO_MAX).
pub const MAX_RTO_US: u64 = 120_000_000;
/// This many duplicate ACKs indicate a loss, and so does a SACK this many packets above a missing
/// one.
pub const DUPTHRESH: u32 = 3;

/// All profiles.
pub static PROFILES: [Profile; 2] = [
    Profile {
        name: "linux-2.6",
        title: "Linux 2.6.25: rate halving, FACK, initial window 2, ACK counting, HZ 1000",
        counts_acks: true,
        // tcp_metrics.c keeps the socket's initial cwnd of 2 unless the route has a cached RTT.
        initial_cwnd_pkts: 2,
        // the papers' hosts had HZ 1000, so a tick was about the transmission time of a packet on
        // their paths
        ticks: false,
        clock_us: 1000,
        initial_rto_us: 3_000_000,
        linear_syn_timeouts: 0,
        detection: Detection::Fack,
        reduction: Reduction::RateHalving,
        // TCP_MAX_REORDERING
        max_reordering_pkts: 127,
        // Four segments initially. tcp_rmem is 87380 by default and 4 MiB at most, of which three
        // quarters are window (tcp_adv_win_scale 2).
        first_window_bytes: 5840,
        buffer_bytes: 87_380,
        max_buffer_bytes: 4 << 20,
        window_part: 192,
        // tcp_new_space counts for each segment the MSS (1460 bytes), MAX_TCP_HEADER (176), 16
        // bytes, and an sk_buff of about 208 bytes. The buffer is twice the window of a busy
        // sender, up to 4 MiB, so the writer always has unsent data in the buffer. The papers'
        // hosts had buffers larger than their paths' bandwidth-delay products.
        send_buffer: SendBufferRule {
            per_mss_bytes: 1860,
            overhead_bytes: 400,
            limits: false,
        },
        compresses_sacks: false,
        // Linux 2.6 had no pacing; the patched kernels of the papers paced all packets
        unpaced_pkts: 0,
        segments_are_large: false,
        // tcp_ecn was off by default; its value 2 came with Linux 2.6.31, tcp_ecn_fallback with 4.1
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
        // tcp_rmem is 131072 by default and 6 MiB at most. Half of it is window until the first
        // full segment. Its 1448 bytes take 2304 bytes of buffer, so from then on 160/256 are
        // window.
        first_window_bytes: u64::MAX,
        buffer_bytes: 131_072,
        max_buffer_bytes: 6 << 20,
        window_part: 128,
        // tcp_sndbuf_expand counts for each segment the MSS, header and shared info, rounded up to
        // 2048 bytes, and an sk_buff of 256 bytes. An sk_buff without data takes 832 bytes
        // (tcp_stream_alloc_skb; ss on 6.18).
        send_buffer: SendBufferRule {
            per_mss_bytes: 2304,
            overhead_bytes: 832,
            limits: true,
        },
        compresses_sacks: true,
        // tcp_update_skb_after_send does not pace the first ten packets; the queue discipline fq
        // did the same earlier
        unpaced_pkts: 10,
        segments_are_large: true,
        ecn: EcnMode::Passive,
        ecn_falls_back: true,
    },
];

impl Profile {
    /// The window after an idle time (tcp_init_cwnd). linux-2.6 begins a connection with a smaller
    /// window, see `initial_cwnd_pkts`.
    pub fn restart_cwnd_pkts(&self, mss: u32) -> u32 {
        match self.reduction {
            Reduction::RateHalving if mss > 1460 => 2,
            Reduction::RateHalving if mss > 1095 => 3,
            Reduction::RateHalving => 4,
            Reduction::Prr => self.initial_cwnd_pkts,
        }
    }
}

/// Finds a profile by name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|p| p.name == name)
}
