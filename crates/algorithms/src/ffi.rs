//! The C side: mirrors of the contract's structures and the binding's entry points.
//! `tests/layout.rs` compares every offset with the C compiler's.

use crate::header::Arrival;
use std::ffi::{c_char, c_int, c_void};

/// Tunables an algorithm may declare (`HW_MAX_TUNABLES`).
pub const MAX_TUNABLES: usize = 16;
/// Events a router algorithm may declare (`HW_MAX_NOTES`).
pub const MAX_NOTES: usize = 8;
/// `HW_FLOW_STATE_BYTES` in words: a control's state and a startup's.
pub const FLOW_STATE_WORDS: usize = 26;
/// `HW_QUEUE_STATE_BYTES` in words.
pub const QUEUE_STATE_WORDS: usize = 512;
/// `HW_ROUTER_STATE_BYTES` in words.
pub const ROUTER_STATE_WORDS: usize = 512;

/// One connection as its algorithms see it (`struct hw_conn`). The stack fills in
/// what they may know and takes over what they set.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conn {
    /// Congestion window. Set by algorithms and the stack.
    pub cwnd_pkts: u32,
    /// Progress towards the next packet of cwnd; the stack clears it when it cuts cwnd.
    pub cwnd_cnt: u32,
    /// Slow-start threshold; [`SSTHRESH_INFINITE`] before the first congestion.
    pub ssthresh_pkts: u32,
    /// Upper bound of cwnd.
    pub cwnd_clamp_pkts: u32,
    /// Pacing rate in IP bytes per second; 0 leaves pacing to the stack.
    pub pacing_rate_bytes_per_s: u64,
    /// Monotonic time; only differences mean anything.
    pub now_us: u64,
    /// Packets known to have arrived, in or out of order.
    pub delivered_pkts: u64,
    /// First unacknowledged sequence number.
    pub snd_una: u32,
    /// Next sequence number to be sent.
    pub snd_nxt: u32,
    /// Smoothed round-trip time, 0 before the first sample.
    pub srtt_us: u32,
    /// Minimum round-trip time, `u32::MAX` before the first sample.
    pub min_rtt_us: u32,
    /// Payload of a full packet.
    pub mss_bytes: u32,
    /// The stack's estimate after the latest ACK was taken in.
    pub inflight_pkts: u32,
    /// Time since the last transmission, for [`Event::TxStart`].
    pub idle_us: u32,
    /// Bytes the application has written that were not sent yet.
    pub app_queued_bytes: u32,
    /// The sender's state, a [`CaState`].
    pub ca_state: u8,
    /// The sender used up cwnd since the last ACK (0 or 1); without it nothing grows.
    pub cwnd_limited: u8,
    /// 1 if growth counts ACK events (Linux 2.6), 0 if ACKed packets.
    pub counts_acks: u8,
    /// 1 if the stack spaces packets.
    pub paced: u8,
    /// Packets that leave together when a startup paces, the least of them when a control
    /// does; 0 is the stack's choice.
    pub pacing_chunk_pkts: u32,
    /// 1: send beyond the peer's window.
    pub ignore_peer_window: u8,
    /// Quick-Start rate code to ask for on the next data packet; 0: none.
    pub request_code: u8,
    /// What became of a Quick-Start request, a [`Grant`].
    pub grant: u8,
    /// 1: both ends agreed on ECN.
    pub ecn: u8,
    /// Receive window of the peer.
    pub peer_window_bytes: u32,
    /// Headers of a full data packet: IP, TCP and its options.
    pub header_bytes: u32,
    /// Data packets ever sent, with retransmissions; wraps.
    pub sent_pkts: u32,
    /// Of them, sent again; wraps.
    pub retrans_pkts: u32,
    /// Volume the application announced; 0: unknown.
    pub app_data_bytes: u32,
    /// First rate the application asked for, IP bytes; 0: none.
    pub asked_rate_bytes_per_s: u64,
    /// Rate that routers approved, IP bytes; holds with [`Grant::Approved`].
    pub granted_rate_bytes_per_s: u64,
    /// Window of an earlier connection to this destination; 0: none.
    pub saved_cwnd_pkts: u32,
    /// Its smallest round-trip time.
    pub saved_rtt_us: u32,
    /// Until the last byte of what waits should have arrived; 0: none.
    pub deadline_us: u32,
    /// 1: the rate that was asked for is all the application ever needs.
    pub stabilize: u8,
    /// 1: the application wants to start as ever.
    pub no_fast_start: u8,
    /// 1: what is in flight was, at its time, all there was to send.
    pub app_limited: u8,
    /// Set 1 by a control: what is in flight now is to count as such, too.
    pub mark_app_limited: u8,
    /// Packets ever believed lost; wraps.
    pub lost_pkts: u32,
    /// Until pacing lets the next packet leave.
    pub pacing_wait_us: u32,
    /// When `delivered_pkts` last grew.
    pub delivered_us: u64,
}

/// ssthresh before the first congestion event (`HW_SSTHRESH_INFINITE`).
pub const SSTHRESH_INFINITE: u32 = 0x7fff_ffff;

impl Default for Conn {
    /// A connection before its first ACK: cwnd 10, no limit, no samples.
    fn default() -> Self {
        Self {
            cwnd_pkts: 10,
            cwnd_cnt: 0,
            ssthresh_pkts: SSTHRESH_INFINITE,
            cwnd_clamp_pkts: u32::MAX,
            pacing_rate_bytes_per_s: 0,
            now_us: 0,
            delivered_pkts: 0,
            snd_una: 0,
            snd_nxt: 0,
            srtt_us: 0,
            min_rtt_us: u32::MAX,
            mss_bytes: 1448,
            inflight_pkts: 0,
            idle_us: 0,
            app_queued_bytes: 0,
            ca_state: CaState::Open as u8,
            cwnd_limited: 1,
            counts_acks: 0,
            paced: 0,
            pacing_chunk_pkts: 0,
            ignore_peer_window: 0,
            request_code: 0,
            grant: Grant::None as u8,
            ecn: 0,
            peer_window_bytes: u32::MAX,
            header_bytes: 52,
            sent_pkts: 0,
            retrans_pkts: 0,
            app_data_bytes: 0,
            asked_rate_bytes_per_s: 0,
            granted_rate_bytes_per_s: 0,
            saved_cwnd_pkts: 0,
            saved_rtt_us: 0,
            deadline_us: 0,
            stabilize: 0,
            no_fast_start: 0,
            app_limited: 0,
            mark_app_limited: 0,
            lost_pkts: 0,
            pacing_wait_us: 0,
            delivered_us: 0,
        }
    }
}

/// What one ACK told (`struct hw_ack`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Newly acknowledged packets, the true number whatever growth counts.
    pub acked_pkts: u32,
    /// Round-trip sample of this ACK, -1 if it gave none.
    pub rtt_us: i32,
}

/// What one ACK told of the rate of delivery (`struct hw_rate_sample`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// `Conn::delivered_pkts` when the packet left that gives the sample.
    pub prior_delivered_pkts: u64,
    /// Delivered since then; -1: no sample.
    pub delivered_pkts: i32,
    /// Of them, marked CE.
    pub delivered_ce_pkts: i32,
    /// Over this time; -1: no sample, or shorter than the smallest round trip.
    pub interval_us: i32,
    /// Round trip of the packet that was sent last, -1 without one.
    pub rtt_us: i32,
    /// Believed lost with this ACK.
    pub losses_pkts: u32,
    /// Newly acknowledged, cumulatively or by SACK.
    pub acked_pkts: u32,
    /// In flight before this ACK.
    pub prior_inflight_pkts: u32,
    /// Uniform over 32 bits, fresh for every call.
    pub random: u32,
    /// 1: the application limited what was sent.
    pub is_app_limited: u8,
    /// 1: the packet had been sent again.
    pub is_retrans: u8,
    /// 1: one small packet, whose ACK may have been delayed.
    pub is_ack_delayed: u8,
}

impl Default for RateSample {
    /// An ACK that gave no sample.
    fn default() -> Self {
        Self {
            prior_delivered_pkts: 0,
            delivered_pkts: -1,
            delivered_ce_pkts: 0,
            interval_us: -1,
            rtt_us: -1,
            losses_pkts: 0,
            acked_pkts: 0,
            prior_inflight_pkts: 0,
            random: 0,
            is_app_limited: 0,
            is_retrans: 0,
            is_ack_delayed: 0,
        }
    }
}

/// The sender's states (`enum hw_ca_state`, Linux's `tcp_ca_state`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaState {
    /// Nothing unusual.
    Open = 0,
    /// Duplicate ACKs or SACKs were seen.
    Disorder = 1,
    /// cwnd is being reduced without a loss.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After a retransmission timeout.
    Loss = 4,
}

/// What became of a Quick-Start request (`enum hw_grant`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Never asked.
    None = 0,
    /// No answer yet.
    Requested = 1,
    /// The rate may be used now.
    Approved = 2,
    /// Refused, or the answer was missing or not valid.
    Denied = 3,
    /// The startup sends at the rate.
    Used = 4,
    /// The startup has no use for the rate.
    Declined = 5,
    /// No more requests on this connection.
    Disabled = 6,
}

/// What else the stack tells a control (`enum hw_cc_event`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// First transmission after nothing was in flight; `Conn::idle_us` holds.
    TxStart = 0,
    /// The stack reduced cwnd after idle.
    CwndRestart = 1,
    /// End of CWR or Recovery.
    CompleteCwr = 2,
    /// Retransmission timeout.
    Loss = 3,
}

/// A queue's link at the moment a packet arrives (`struct hw_link`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkView {
    /// Monotonic time.
    pub now_ns: u64,
    /// Capacity in bytes per second.
    pub rate_bytes_per_s: u64,
    /// 0: no limit in bytes.
    pub limit_bytes: u64,
    /// 0: no limit in packets.
    pub limit_pkts: u32,
    /// Waiting or in transmission, before this packet.
    pub queue_bytes: u32,
    /// Waiting or in transmission, before this packet.
    pub queue_pkts: u32,
    /// How long the link has been idle, 0 when it is not.
    pub idle_us: u32,
    /// Uniform over 32 bits, fresh for every call.
    pub random: u32,
    /// What a router tells of the call: a bit per event, of those that it declares.
    pub noted: u32,
    /// The values of these events.
    pub notes: [u64; MAX_NOTES],
}

/// A packet that wants to join a queue (`struct hw_packet`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketView {
    /// Tells connections apart, its upper half their senders; never 0.
    pub flow: u64,
    /// Size from the IP header on.
    pub ip_bytes: u32,
    /// The two ECN bits.
    pub ecn: u8,
}

#[repr(C)]
pub(crate) struct Tunable {
    pub name: *const c_char,
    pub unit: *const c_char,
    pub meaning: *const c_char,
    pub default_value: u32,
    pub min_value: u32,
    pub max_value: u32,
}

/// The head of `struct hw_cc_ops`; the callbacks behind it are C's alone.
#[repr(C)]
pub(crate) struct CcOps {
    pub name: *const c_char,
    pub title: *const c_char,
    pub source: *const c_char,
    pub startup: *const c_char,
    pub state_bytes: u32,
    pub flags: u32,
    pub send_windows: u32,
    pub n_tunables: u32,
    pub tunables: *const Tunable,
    pub header: *const Header,
}

#[repr(C)]
pub(crate) struct StartupOps {
    pub name: *const c_char,
    pub suffix: *const c_char,
    pub title: *const c_char,
    pub source: *const c_char,
    pub state_bytes: u32,
    pub paces: u32,
    pub n_tunables: u32,
    pub tunables: *const Tunable,
}

/// The head of `struct hw_queue_ops`.
#[repr(C)]
pub(crate) struct QueueOps {
    pub name: *const c_char,
    pub title: *const c_char,
    pub source: *const c_char,
    pub state_bytes: u32,
    pub n_tunables: u32,
    pub tunables: *const Tunable,
}

/// The head of `struct hw_router_ops`.
#[repr(C)]
pub(crate) struct RouterOps {
    pub name: *const c_char,
    pub title: *const c_char,
    pub source: *const c_char,
    pub state_bytes: u32,
    pub n_tunables: u32,
    pub tunables: *const Tunable,
    pub n_counters: u32,
    pub n_events: u32,
    pub counters: *const Counter,
    pub events: *const Counter,
    pub header: *const Header,
}

/// `struct hw_counter`.
#[repr(C)]
pub(crate) struct Counter {
    pub name: *const c_char,
    pub unit: *const c_char,
    pub meaning: *const c_char,
    pub times: u32,
}

/// `struct hw_field`.
#[repr(C)]
pub(crate) struct Field {
    pub name: *const c_char,
    pub unit: *const c_char,
    pub meaning: *const c_char,
    pub offset: u32,
    pub bytes: u32,
}

/// `struct hw_header`.
#[repr(C)]
pub(crate) struct Header {
    pub name: *const c_char,
    pub title: *const c_char,
    pub source: *const c_char,
    pub carrier: u8,
    pub kind: u8,
    pub wire_bytes: u8,
    pub fields_bytes: u8,
    pub n_fields: u32,
    pub fields: *const Field,
    pub answer: *const Header,
    pub parse: unsafe extern "C" fn(*const u8, *mut c_void) -> c_int,
    pub emit: unsafe extern "C" fn(*const c_void, *mut u8),
    pub reflect: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const Arrival) -> c_int>,
}

/// `struct hw_flow`.
#[repr(C)]
#[derive(Clone)]
pub(crate) struct Flow {
    pub cc: *const CcOps,
    pub startup: *const StartupOps,
    pub cc_tun: *const u32,
    pub startup_tun: *const u32,
    pub startup_word: u64,
    pub state: [u64; FLOW_STATE_WORDS],
}

/// `struct hw_queue`.
#[repr(C)]
#[derive(Clone)]
pub(crate) struct Queue {
    pub ops: *const QueueOps,
    pub tun: [u32; MAX_TUNABLES],
    pub state: [u64; QUEUE_STATE_WORDS],
}

/// `struct hw_router`.
#[repr(C)]
#[derive(Clone)]
pub(crate) struct Router {
    pub ops: *const RouterOps,
    pub tun: [u32; MAX_TUNABLES],
    pub state: [u64; ROUTER_STATE_WORDS],
}

#[repr(C)]
pub(crate) struct Layout {
    pub name: *const c_char,
    pub bytes: u64,
}

extern "C" {
    pub(crate) static hw_native_controls: *const CcOps;
    pub(crate) static hw_native_n_controls: u32;
    pub(crate) static hw_native_own_start: StartupOps;
    pub(crate) static hw_native_startups: *const StartupOps;
    pub(crate) static hw_native_n_startups: u32;
    pub(crate) static hw_native_queues: *const QueueOps;
    pub(crate) static hw_native_n_queues: u32;
    pub(crate) static hw_native_routers: *const RouterOps;
    pub(crate) static hw_native_n_routers: u32;
    pub(crate) static hw_native_headers: *const Header;
    pub(crate) static hw_native_n_headers: u32;
    pub(crate) static hw_native_layout: Layout;
    pub(crate) static hw_native_n_layout: u32;

    pub(crate) fn hw_native_takes_samples(cc: *const CcOps) -> u32;
    pub(crate) fn hw_native_control(f: *mut Flow, c: *mut Conn, sample: *const RateSample);
    pub(crate) fn hw_native_open(f: *mut Flow, c: *mut Conn);
    pub(crate) fn hw_native_init(f: *mut Flow, c: *mut Conn);
    pub(crate) fn hw_native_pkts_acked(f: *mut Flow, c: *mut Conn, ack: *const Ack);
    pub(crate) fn hw_native_grow(f: *mut Flow, c: *mut Conn, acked_pkts: u32);
    pub(crate) fn hw_native_ack(f: *mut Flow, c: *mut Conn, ack: *const Ack, grow_pkts: u32);
    pub(crate) fn hw_native_ssthresh(f: *mut Flow, c: *mut Conn) -> u32;
    pub(crate) fn hw_native_set_state(f: *mut Flow, c: *mut Conn, new_state: u8);
    pub(crate) fn hw_native_event(f: *mut Flow, c: *mut Conn, event: u8);
    pub(crate) fn hw_native_undo_cwnd(f: *mut Flow, c: *mut Conn, prior_cwnd_pkts: u32) -> u32;
    pub(crate) fn hw_native_min_cwnd(f: *mut Flow, c: *mut Conn) -> u32;
    pub(crate) fn hw_native_on_send(f: *mut Flow, c: *mut Conn, header: *mut c_void) -> u32;
    pub(crate) fn hw_native_on_feedback(f: *mut Flow, c: *mut Conn, header: *const c_void);
    pub(crate) fn hw_native_queue_init(q: *mut Queue, link: *const LinkView);
    pub(crate) fn hw_native_router_init(r: *mut Router, link: *mut LinkView);
    pub(crate) fn hw_native_arrive(
        r: *mut Router,
        link: *mut LinkView,
        pkt: *const PacketView,
        header: *mut c_void,
    ) -> u32;
    pub(crate) fn hw_native_departs(ops: *const RouterOps) -> u32;
    pub(crate) fn hw_native_depart(
        r: *mut Router,
        link: *mut LinkView,
        pkt: *const PacketView,
        header: *mut c_void,
    );
    pub(crate) fn hw_native_tick(r: *mut Router, link: *mut LinkView) -> u64;
    pub(crate) fn hw_native_power(base: u64, n: u32) -> u64;
    pub(crate) fn hw_native_part(x: u64, fraction: u64) -> u64;
    pub(crate) fn hw_native_held_queues(ops: *const QueueOps) -> u32;
    pub(crate) fn hw_native_classify(
        q: *mut Queue,
        link: *const LinkView,
        pkt: *const PacketView,
    ) -> u32;
    pub(crate) fn hw_native_choose(q: *mut Queue, link: *const LinkView, heads: *const u32) -> u32;
    pub(crate) fn hw_native_dequeue(
        q: *mut Queue,
        link: *const LinkView,
        pkt: *const PacketView,
        sojourn_ns: u64,
    ) -> u32;
    pub(crate) fn hw_native_enqueue(
        q: *mut Queue,
        link: *const LinkView,
        pkt: *const PacketView,
    ) -> u32;

    pub(crate) fn hw_native_cbrt(x: u64) -> u32;
    pub(crate) fn hw_native_sqrt(x: u64) -> u32;
    pub(crate) fn hw_native_cubic_k(w_max_pkts: u32, cwnd_pkts: u32) -> u32;
    pub(crate) fn hw_native_cubic_target(origin_pkts: u32, k: u32, t: u64) -> u32;
    pub(crate) fn hw_native_cubic_friendly_scale(beta_1024: u32) -> u32;
    pub(crate) fn hw_native_scale(a: u32, b: u32, c: u32) -> u32;
}
