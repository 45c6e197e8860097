//! Made by `make mirrors`: the native binding of algorithms/ (algorithms/port/native/flow.h).

pub const FIELDS_MAX_BYTES: usize = 24;
pub const OPTION_MAX_BYTES: usize = 20;
pub const FLOW_STATE_BYTES: usize = 208;
pub const MAX_READINGS: usize = 24;
pub const SSTHRESH_INFINITE: u32 = 2147483647;
pub const MAX_NOTES: usize = 8;
pub const NOWHERE: u32 = 4294967295;
pub const ROUTER_STATE_BYTES: usize = 4096;
pub const MAX_TUNABLES: usize = 16;
pub const QS_IPV4_OPTION: u32 = 25;
pub const QS_TCP_OPTION: u32 = 27;
pub const QS_BYTES: usize = 8;
pub const QS_MAX_CODE: u32 = 15;
/// A tunable, declared once in the algorithm's file and shown everywhere by the
/// registry. Every tunable is a u32; a switch has the unit "bool" and the range
/// 0 to 1. A unit with bars ("last|ewma|peak") gives the names of the values 0, 1, 2 and so on.
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Tunable {
    pub name: *const core::ffi::c_char,
    pub unit: *const core::ffi::c_char,
    pub meaning: *const core::ffi::c_char,
    pub default_value: u32,
    pub min_value: u32,
    pub max_value: u32,
}
/// Describes a counter, a value or an event of a router or a queue, or a reading of a control.
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Counter {
    /// Ends with the unit of the shown value, such as _bytes.
    pub name: *const core::ffi::c_char,
    pub unit: *const core::ffi::c_char,
    pub meaning: *const core::ffi::c_char,
    /// Factor by which the value is multiplied to show it: 8 shows B/s as bit/s; 0 means 1.
    pub times: u32,
}
pub const IP_OPTION: Carrier = 0;
pub const TCP_OPTION: Carrier = 1;
/// The two ECN bits of the IP header; the codec gets them as one byte.
pub const ECN_BITS: Carrier = 2;
pub type Carrier = core::ffi::c_uint;
/// A field of a header, described for tools that print it.
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: *const core::ffi::c_char,
    pub unit: *const core::ffi::c_char,
    /// For people; contains "two's complement" if the field is signed.
    pub meaning: *const core::ffi::c_char,
    /// Offset of the field in the decoded fields.
    pub offset: u32,
    /// 1, 2, 4 or 8.
    pub bytes: u32,
}
/// Properties of the packet in which a header arrived; TTL and ECN are zero if a socket of the
/// kernel receives a TCP option.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Remaining IP TTL; each router on the path has decremented it.
    pub ip_ttl: u8,
    /// The two ECN bits.
    pub ecn: u8,
    /// Identification of the IP header; senders increment it by one per packet.
    pub ip_id: u16,
    /// Number of packets that arrived in one buffer with this header (hw_packet.pkts).
    pub pkts: u32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct Header {
    pub name: *const core::ffi::c_char,
    pub title: *const core::ffi::c_char,
    pub source: *const core::ffi::c_char,
    /// Enum hw_carrier.
    pub carrier: u8,
    /// Kind or type of the option, its first byte.
    pub kind: u8,
    /// Size of the option, a multiple of 4; 0 if the header is in the ECN bits.
    pub wire_bytes: u8,
    pub fields_bytes: u8,
    pub n_fields: u32,
    pub fields: *const Field,
    /// The header in which a receiver answers. Null: receivers answer in this same header,
    /// which then has fields for the answer.
    pub answer: *const Header,
    /// Decodes the bytes into fields. Returns whether the bytes are this header.
    pub parse: ::core::option::Option<
        unsafe extern "C" fn(bytes: *const u8, fields: *mut core::ffi::c_void) -> core::ffi::c_int,
    >,
    pub emit: ::core::option::Option<
        unsafe extern "C" fn(fields: *const core::ffi::c_void, bytes: *mut u8),
    >,
    /// Called at the receiver for each arrived header: updates held, the fields of the next
    /// answer, which are zeroed after each answer. Returns whether an answer is due. Null:
    /// receivers do not answer.
    pub reflect: ::core::option::Option<
        unsafe extern "C" fn(
            held: *mut core::ffi::c_void,
            arrived: *const core::ffi::c_void,
            how: *const Arrival,
        ) -> core::ffi::c_int,
    >,
}
/// The data that a monitor publishes about a link.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Monitor {
    /// Rate of the traffic that left in the last control interval.
    pub output_bytes_per_s: u64,
    /// By how much all flows together may grow in the next interval.
    pub give_bytes_per_s: u64,
    /// By how much all flows together must shrink in that interval.
    pub take_bytes_per_s: u64,
    /// Bytes that left in the last load interval, plus half the queue.
    pub demand_bytes: u64,
    /// Target share of the bytes that the link can carry in that interval.
    pub capacity_bytes: u64,
    /// The capacity that the router assumes.
    pub capacity_bytes_per_s: u64,
    /// Flows that sent data in the last control interval.
    pub flows: u32,
    /// Control intervals so far; 0: nothing is known yet.
    pub intervals: u32,
    /// Connections that were opened, but have no whole load interval with their data yet.
    pub opening: u32,
    /// Connections that opened or sent data recently (two control intervals).
    pub present: u32,
}
/// The control has no startup: it sets cwnd from the first ACK on.
pub const CC_OWN_START: CcFlags = 1;
/// The control may set a pacing rate.
pub const CC_PACES: CcFlags = 2;
/// With ECN negotiated, the control's data packets have the codepoint ECT(1) instead of
/// the default ECT(0). Kernels refuse to send ECT(1) under RFC 3168.
pub const CC_ECT0: CcFlags = 4;
/// With ECN negotiated, the control's data packets have the codepoint ECT(1) instead of
/// the default ECT(0). Kernels refuse to send ECT(1) under RFC 3168.
pub const CC_ECT1: CcFlags = 8;
/// The control's connections request and accept ECN, whatever the host's default is. As in
/// Linux (tcp_ca_needs_ecn), all their packets are ECN-capable, from the SYN on.
pub const CC_NEEDS_ECN: CcFlags = 16;
/// The control's RTT samples are in microseconds even if the stack's clock is coarser
/// (TCP_CONG_RTT_STAMP of Linux 2.6). Each sample is the RTT of the last packet that the
/// ACK acknowledges.
pub const CC_RTT_STAMP: CcFlags = 32;
/// The control's header is also sent on the SYN and SYN-ACK, if the stack can. on_send is
/// then called before init, which clears the state, and on_feedback right after init.
pub const CC_ASKS_ON_SYN: CcFlags = 64;
/// The receiver's ACKs tell exactly which packets were marked CE: ECE is set if the packets
/// that the ACK newly acknowledges were marked, and a change is acknowledged immediately
/// (RFC 8257 section 3.2). The control also needs HW_CC_NEEDS_ECN.
pub const CC_ECHOES_CE: CcFlags = 128;
/// The control's connections request and accept Accurate ECN (RFC 9768), whatever the host's
/// default is, and no other ECN: without it their packets are not ECN-capable. The control
/// also needs HW_CC_NEEDS_ECN.
pub const CC_ACCURATE_ECN: CcFlags = 256;
/// At most pacing_chunk_pkts packets leave together, if the stack can limit them. The
/// simulator can, kernels cannot.
pub const CC_SHORT_BURSTS: CcFlags = 512;
/// Properties of a control, beyond its callbacks (hw_cc_ops.flags).
pub type CcFlags = core::ffi::c_uint;
#[repr(u8)]
/// The sender's states, as Linux names them (tcp_ca_state).
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub enum CaState {
    /// Nothing unusual.
    Open = 0,
    /// Duplicate ACKs or SACKs have arrived, no loss is detected yet.
    Disorder = 1,
    /// Cwnd is being reduced, but not because of a loss; for example after an ECN mark.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After a retransmission timeout.
    Loss = 4,
}
#[repr(u8)]
/// Other events that the stack reports to a control.
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub enum Event {
    /// Transmission begins while nothing is in flight.
    TxStart = 0,
    /// The stack is about to reduce cwnd after idle.
    CwndRestart = 1,
    /// CWR or Recovery has ended.
    CompleteCwr = 2,
    /// Retransmission timeout.
    Loss = 3,
}
/// No ECN, or a path that lets no marks or no feedback through.
pub const ECN_NONE: Ecn = 0;
/// The ECN of RFC 3168.
pub const ECN_CLASSIC: Ecn = 1;
/// Accurate ECN (RFC 9768).
pub const ECN_ACCURATE: Ecn = 2;
/// What both ends of a connection have negotiated.
pub type Ecn = core::ffi::c_uint;
/// No answer has come back so far.
pub const ROUTERS_UNKNOWN: Routers = 0;
/// Routers answer, or have been silent only briefly.
pub const ROUTERS_ANSWER: Routers = 1;
/// No router answers: the control uses its loss-based law.
pub const ROUTERS_ABSENT: Routers = 2;
/// What a control knows about the routers on its path that answer its header (fall_back.h).
pub type Routers = core::ffi::c_uint;
#[repr(u8)]
/// The outcome of a Quick-Start request (RFC 4782).
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub enum Grant {
    /// Never asked.
    None = 0,
    /// No answer yet.
    Requested = 1,
    /// Routers approved granted_rate_Bps, which may be used now.
    Approved = 2,
    /// A router or the receiver refused, or the response was missing or not valid.
    Denied = 3,
    /// The startup sends at the rate, which the stack reports.
    Used = 4,
    /// The startup does not use the rate; the stack reports 0.
    Declined = 5,
    /// No more requests on this connection.
    Disabled = 6,
}
/// The part of a connection that algorithms can read and set. The stack fills in the fields
/// before each call, and applies those that an algorithm may set.
#[repr(C)]
#[derive(Debug, PartialEq, Eq, Clone)]
pub struct Conn {
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Progress towards cwnd's next growth by one packet, in ACKed packets (or ACKs).
    pub cwnd_cnt: u32,
    /// slow-start threshold; in Recovery the stack moves cwnd to it.
    pub ssthresh_pkts: u32,
    /// Read only: upper bound of cwnd.
    pub cwnd_clamp_pkts: u32,
    /// IP bytes per second; 0 leaves pacing to the stack.
    pub pacing_rate_bytes_per_s: u64,
    /// Monotonic clock; only differences are meaningful.
    pub now_us: u64,
    /// Packets known to have arrived at the receiver, in or out of order.
    pub delivered_pkts: u64,
    /// First sequence number not acknowledged, modulo 2^32.
    pub snd_una: u32,
    /// Next sequence number to be sent.
    pub snd_nxt: u32,
    /// Smoothed round-trip time; 0 before the first sample.
    pub srtt_us: u32,
    /// Smallest RTT sample; HW_U32_MAX before the first sample.
    pub min_rtt_us: u32,
    /// Payload bytes of a full packet.
    pub mss_bytes: u32,
    /// Packets in flight, as the stack estimates after the latest ACK.
    pub inflight_pkts: u32,
    /// Time since the last transmission; only with HW_EVENT_TX_START.
    pub idle_us: u32,
    /// Bytes that the application has written and TCP has not sent yet.
    pub app_queued_bytes: u32,
    /// Enum hw_ca_state.
    pub ca_state: u8,
    /// Cwnd limited the sender since the last ACK, so cwnd may grow; in control(): at any point
    /// in the last round trip.
    pub cwnd_limited: u8,
    /// 1: growth counts ACK events (Linux up to 2.6.x), 0: ACKed packets.
    pub counts_acks: u8,
    /// 1: the stack spaces this connection's packets.
    pub paced: u8,
    /// Packets that leave together; 0: the stack chooses.
    pub pacing_chunk_pkts: u32,
    /// 1: send more than the peer's receive window allows, if the stack can.
    pub ignore_peer_window: u8,
    /// Quick-Start rate code to request with the next data packet; 0: none.
    pub request_code: u8,
    /// Enum hw_grant; a startup sets USED, DECLINED and DISABLED.
    pub grant: u8,
    /// Enum hw_ecn.
    pub ecn: u8,
    /// Receive window of the peer.
    pub peer_window_bytes: u32,
    /// Headers of a full data packet: IP, TCP and TCP options.
    pub header_bytes: u32,
    /// Data packets ever sent, with retransmissions; wraps.
    pub sent_pkts: u32,
    /// Retransmissions ever sent; wraps.
    pub retrans_pkts: u32,
    /// Bytes that the application announced; 0: unknown.
    pub app_data_bytes: u32,
    /// Initial rate that the application has set, IP bytes/s; 0: none.
    pub asked_rate_bytes_per_s: u64,
    /// Rate that routers approved; valid with HW_GRANT_APPROVED.
    pub granted_rate_bytes_per_s: u64,
    /// Window of an earlier connection to this peer; 0: none.
    pub saved_cwnd_pkts: u32,
    /// Smallest round trip of that earlier connection.
    pub saved_rtt_us: u32,
    /// Time until the deadline of the queued data's last byte; 0: no deadline.
    pub deadline_us: u32,
    /// 1: the application never needs more than the initial rate that it has set.
    pub stabilize: u8,
    /// 1: the application wants slow start instead of a fast startup.
    pub no_fast_start: u8,
    /// 1: the stack reduces cwnd because of a CE mark, and not because of a loss. Valid in
    /// ssthresh() and in the following set_state().
    pub by_mark: u8,
    /// Enum hw_routers.
    pub routers: u8,
    /// How often the control has fallen back to its loss-based law; the stack may reset
    /// it to 0.
    pub fall_backs: u8,
    /// Fields for controls that take rate samples (control()); 0 for all others. */
    /// /* 1: the application had no more data when the packets in flight were sent.
    pub app_limited: u8,
    /// 1: asks the stack to set app_limited for the packets that are in flight now.
    pub mark_app_limited: u8,
    /// 1: both ends use selective acknowledgements.
    pub sack: u8,
    /// Packets that the stack ever considered lost; wraps.
    pub lost_pkts: u32,
    /// Time until pacing sends the next packet.
    pub pacing_wait_us: u32,
    /// Packets of delivered_pkts whose ACK echoed a CE mark; with Accurate ECN, packets that
    /// arrived with a mark; wraps. Every control may read it.
    pub delivered_ce_pkts: u32,
    /// Time when delivered_pkts last grew, on now_us's clock.
    pub delivered_us: u64,
}
/// What one ACK acknowledged.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Ack {
    /// Packets newly acknowledged, with SACKed packets if the stack counts those.
    pub acked_pkts: u32,
    /// RTT sample of this ACK, -1 if it has none.
    pub rtt_us: i32,
}
/// A delivery-rate sample of one ACK, as Linux takes it (tcp_rate.c; Cheng, Cardwell, Yeganeh,
/// Jacobson, draft-cheng-iccrg-delivery-rate-estimation). The sample comes from the packet that
/// was sent last among those newly acknowledged: the packets delivered since it left, divided
/// by the longer of the time in which they were sent and the time in which they were
/// acknowledged.
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct RateSample {
    /// delivered_pkts when the sample's packet left.
    pub prior_delivered_pkts: u64,
    /// Packets delivered since the sample's packet left; -1: no sample.
    pub delivered_pkts: i32,
    /// Those of delivered_pkts that were marked CE.
    pub delivered_ce_pkts: i32,
    /// Length of the sample; -1: no sample, or shorter than the smallest RTT.
    pub interval_us: i32,
    /// RTT of the sample's packet, -1 if it has none.
    pub rtt_us: i32,
    /// Packets that the stack considers lost since this ACK.
    pub losses_pkts: u32,
    /// Packets in flight when the sample's packet left, with that packet.
    pub tx_inflight_pkts: u32,
    /// Packets that the stack has considered lost since the sample's packet left.
    pub lost_pkts: u32,
    /// Packets newly acknowledged, cumulatively or by SACK.
    pub acked_pkts: u32,
    /// Before this ACK.
    pub prior_inflight_pkts: u32,
    /// Uniform over 32 bits, fresh for every call.
    pub random: u32,
    /// 1: the application limited how much was in flight.
    pub is_app_limited: u8,
    /// 1: the sample's packet was a retransmission.
    pub is_retrans: u8,
    /// 1: a single small packet, whose ACK may have been delayed.
    pub is_ack_delayed: u8,
}
/// Packets that the stack now considers lost. They left together.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Their number.
    pub pkts: u32,
    /// First sequence number, modulo 2^32.
    pub seq: u32,
    /// Sequence number after the last of them.
    pub end_seq: u32,
    /// Packets in flight when they left, with them.
    pub tx_inflight_pkts: u32,
    /// Packets considered lost since they left, with them.
    pub lost_pkts: u32,
    /// Uniform over 32 bits, fresh for every call.
    pub random: u32,
    /// 1: the application limited how much was in flight.
    pub is_app_limited: u8,
}
/// A control. `state` has state_bytes bytes, zeroed before init; `tun` is the control's
/// tunables in declared order. A null callback means "nothing to do". A null min_cwnd makes
/// ssthresh the floor of rate halving; a min_cwnd may also return more than ssthresh. Either
/// control or cong_avoid is required.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CcOps {
    /// At most 12 characters, to leave room for a startup's suffix.
    pub name: *const core::ffi::c_char,
    /// One line that describes the control to people.
    pub title: *const core::ffi::c_char,
    /// Paper or RFC, and the implementation it follows.
    pub source: *const core::ffi::c_char,
    /// Name of the default startup; null if the control owns its start.
    pub startup: *const core::ffi::c_char,
    pub state_bytes: u32,
    /// Enum hw_cc_flags.
    pub flags: u32,
    /// The send buffer grows to so many windows; 0: two.
    pub send_windows: u32,
    pub n_tunables: u32,
    /// At most HW_MAX_READINGS.
    pub n_readings: u32,
    pub tunables: *const Tunable,
    /// Values of its state that a trace can show.
    pub readings: *const Counter,
    /// Header that the control owns (header.h); null: no header.
    pub header: *const Header,
    pub init: ::core::option::Option<
        unsafe extern "C" fn(state: *mut core::ffi::c_void, tun: *const u32, c: *mut Conn),
    >,
    /// Called after every ACK with new information, in every state. It replaces pkts_acked
    /// and cong_avoid, and the stack's own changes of cwnd: in Recovery, at the end of
    /// Recovery, after idle times, and when the application leaves cwnd unused. Only controls
    /// that own their start have it. ssthresh, set_state, event and undo_cwnd are called as
    /// for other controls.
    pub control: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            sample: *const RateSample,
        ),
    >,
    /// Called when the stack considers packets lost, before ssthresh and control(). Only controls
    /// with control() have it. It must not change the connection.
    pub on_loss: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            lost: *const Lost,
        ),
    >,
    /// Writes the values of the readings, in declared order.
    pub observe: ::core::option::Option<
        unsafe extern "C" fn(
            state: *const core::ffi::c_void,
            tun: *const u32,
            c: *const Conn,
            values: *mut u64,
        ),
    >,
    /// Called after every ACK, before cwnd grows. acked_pkts is 0 for duplicate ACKs and
    /// ACKs with only new SACKs; rtt_us is -1 without a sample. The stack linux-2.6 calls it
    /// only if the ACK acknowledged data.
    pub pkts_acked: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            ack: *const Ack,
        ),
    >,
    /// Congestion avoidance: may increase cwnd above ssthresh. acked_pkts is 1 if
    /// c->counts_acks.
    pub cong_avoid: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            acked_pkts: u32,
        ),
    >,
    /// Returns the new ssthresh on congestion; must not change cwnd.
    pub ssthresh: ::core::option::Option<
        unsafe extern "C" fn(state: *mut core::ffi::c_void, tun: *const u32, c: *mut Conn) -> u32,
    >,
    /// Called before the stack changes c->ca_state to new_state.
    pub set_state: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            new_state: u8,
        ),
    >,
    pub event: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            event: u8,
        ),
    >,
    /// Returns the cwnd to restore after a reduction that proved spurious.
    pub undo_cwnd: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            prior_cwnd_pkts: u32,
        ) -> u32,
    >,
    pub min_cwnd: ::core::option::Option<
        unsafe extern "C" fn(state: *mut core::ffi::c_void, tun: *const u32, c: *mut Conn) -> u32,
    >,
    /// For controls that own a header. on_send is called before a packet with data leaves.
    /// `header` has the decoded fields: those that answer the peer are set, the control
    /// fills in the others. It returns whether the header is sent. on_feedback is called
    /// with the receiver's answer, before the ACK that carried it is processed. It may set
    /// cwnd, ssthresh and the pacing rate.
    pub on_send: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            header: *mut core::ffi::c_void,
        ) -> u32,
    >,
    pub on_feedback: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            header: *const core::ffi::c_void,
        ),
    >,
    /// Passes to the control what the monitor of this machine's outgoing link has published
    /// (monitor.h). Called before control() or pkts_acked() on every ACK with new information,
    /// and before HW_EVENT_TX_START, but not if nothing has been published. It must not change
    /// the connection.
    pub on_monitor: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            monitor: *const Monitor,
        ),
    >,
}
/// A startup; the rules are those of struct hw_cc_ops. slow_start returns how many of acked_pkts
/// are left for congestion avoidance when cwnd reaches ssthresh.
///
/// In Recovery the stack reduces cwnd to ssthresh. A startup that chooses the window in Recovery
/// sets both cwnd and ssthresh in set_state; from then on the stack moves cwnd to ssthresh, even
/// if that is higher.
///
/// open is called before a SYN or SYN-ACK leaves, if the stack can. Then only the application's
/// hints are known, and open may set only request_code. The state is cleared afterwards.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct StartupOps {
    pub name: *const core::ffi::c_char,
    /// Two letters; a control with this startup has the name control_suffix.
    pub suffix: *const core::ffi::c_char,
    pub title: *const core::ffi::c_char,
    pub source: *const core::ffi::c_char,
    pub state_bytes: u32,
    /// 1: the startup may set a pacing rate.
    pub paces: u32,
    pub n_tunables: u32,
    pub tunables: *const Tunable,
    pub open: ::core::option::Option<
        unsafe extern "C" fn(state: *mut core::ffi::c_void, tun: *const u32, c: *mut Conn),
    >,
    pub init: ::core::option::Option<
        unsafe extern "C" fn(state: *mut core::ffi::c_void, tun: *const u32, c: *mut Conn),
    >,
    pub pkts_acked: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            ack: *const Ack,
        ),
    >,
    pub slow_start: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            acked_pkts: u32,
        ) -> u32,
    >,
    pub set_state: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            new_state: u8,
        ),
    >,
    pub event: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            event: u8,
        ),
    >,
}
pub const PASS: Verdict = 0;
/// No room.
pub const DROP_FULL: Verdict = 1;
/// Dropped by the algorithm although the queue has room.
pub const DROP_EARLY: Verdict = 2;
/// Admitted, and marked as having experienced congestion (CE).
pub const MARK: Verdict = 3;
pub type Verdict = core::ffi::c_uint;
/// The state of a link when one of its algorithms is called.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct LinkView {
    /// Monotonic.
    pub now_ns: u64,
    /// The link's capacity, bytes per second.
    pub rate_bytes_per_s: u64,
    /// The queue's limit in bytes; 0: none.
    pub limit_bytes: u64,
    /// The queue's limit in packets; 0: none.
    pub limit_pkts: u32,
    /// Bytes in the queue or in transmission, without this packet.
    pub queue_bytes: u32,
    /// Packets in the queue or in transmission, without this packet.
    pub queue_pkts: u32,
    /// How long the link has been idle, 0 when it is not.
    pub idle_us: u32,
    /// Uniform over 32 bits, fresh for every call.
    pub random: u32,
    /// One bit for each recorded event.
    pub noted: u32,
    /// Values of the recorded events.
    pub notes: [u64; 8usize],
}
/// A packet at a link.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct PacketView {
    /// Number of the connection, never 0; its upper half identifies the sender.
    pub flow: u64,
    /// Size from the IP header on.
    pub ip_bytes: u32,
    /// The two ECN bits.
    pub ecn: u8,
    /// 1: sent by this machine, so no router has decremented its TTL.
    pub local: u8,
    /// Identification of the IP header; senders increment it by one per packet.
    pub ip_id: u16,
    /// Number of packets into which a device will split this buffer.
    pub pkts: u32,
    /// 1: the packet is a SYN or SYN-ACK, if the link reports that.
    pub opens: u8,
}
/// A packet that waits.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub pkt: PacketView,
    /// When it joined its sub-queue.
    pub joined_ns: u64,
    /// Number by which the link knows the packet.
    pub id: u32,
    /// The packet behind it; HW_NOWHERE: none.
    pub next: u32,
    /// Why the packet was dropped, if it was (enum hw_verdict).
    pub verdict: u32,
}
/// A sub-queue and its counters since the start.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct SubQueue {
    /// Its first packet; HW_NOWHERE: the sub-queue is empty.
    pub head: u32,
    /// Its last packet.
    pub tail: u32,
    /// Packets that wait.
    pub pkts: u32,
    /// Bytes that wait.
    pub bytes: u32,
    /// Packets that have left to the wire.
    pub sent_pkts: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that the discipline has dropped.
    pub dropped_pkts: u64,
    /// Packets with ECT(0) that the discipline has marked.
    pub marked_ect0_pkts: u64,
    /// Packets with ECT(1) that the discipline has marked.
    pub marked_ect1_pkts: u64,
    /// Sum of the times that the sent packets waited.
    pub sojourn_ns: u64,
}
/// All packets that a link holds. Disciplines read the first five members only.
#[repr(C)]
#[derive(Debug, PartialEq, Eq, Clone)]
pub struct Held {
    pub n_queues: u32,
    pub pkts: u32,
    pub bytes: u32,
    /// What the packets would take in a kernel's memory.
    pub memory_bytes: u64,
    /// A discipline that has packets but sends none now sets this to the time at which it wants
    /// to be asked again; 0: when the next packet joins.
    pub wake_ns: u64,
    pub waiting: *mut Waiting,
    pub queues: *mut SubQueue,
    /// Null, or a tournament (hw_most) for the smallest packet at a head.
    pub least: *mut u32,
    /// Of the hash of connections.
    pub salt: u64,
    /// State of the random numbers.
    pub random: u64,
    /// First unused entry of `waiting`.
    pub free: u32,
    /// First packet that was dropped and not reported to the link.
    pub dropped: u32,
    pub dropped_last: u32,
    /// Id of the packet for which enqueue was called.
    pub arriving: u32,
    /// 1: the head that dequeue has chosen was marked by this call.
    pub marked: u32,
}
/// Describes why a discipline cannot have its tunables: "target_us=9 is not allowed; at most
/// interval_us, 5".
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub tunable: u32,
    pub bound: u32,
    /// "at most interval_us".
    pub allowed: *const core::ffi::c_char,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct QueueOps {
    pub name: *const core::ffi::c_char,
    pub title: *const core::ffi::c_char,
    pub source: *const core::ffi::c_char,
    pub state_bytes: u32,
    pub n_tunables: u32,
    pub tunables: *const Tunable,
    /// Descriptions of the discipline's counters and values, which are the first n_counters u64
    /// of its state, in this order.
    pub n_counters: u32,
    pub counters: *const Counter,
    /// Fills in the reason and returns 1 if the tunables do not fit together, or do not fit the
    /// link's rate and limits; null: they always do.
    pub check: ::core::option::Option<
        unsafe extern "C" fn(tun: *const u32, link: *const LinkView, why: *mut Refusal) -> u32,
    >,
    pub init: ::core::option::Option<
        unsafe extern "C" fn(state: *mut core::ffi::c_void, tun: *const u32, link: *const LinkView),
    >,
    /// Returns an enum hw_verdict for a packet that arrives at the queue. A discipline with
    /// dequeue puts each packet that it admits into a sub-queue with hw_join(), and may then
    /// drop packets at heads. Without dequeue, `held` is null.
    pub enqueue: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *const LinkView,
            pkt: *const PacketView,
            held: *mut Held,
        ) -> u32,
    >,
    /// Chooses the next packet, while at least one waits: returns a sub-queue that is not empty,
    /// whose head the link then sends, or HW_NOWHERE. Before that it may drop packets at the
    /// heads of sub-queues with hw_drop_head(), and mark the chosen one with hw_mark_head().
    /// After drops it may also return HW_NOWHERE to be called again as soon as the next head can
    /// be sent. Without drops, HW_NOWHERE means that it sends nothing before held->wake_ns.
    /// link->queue_bytes and queue_pkts are the whole queue before the call.
    pub dequeue: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *const LinkView,
            held: *mut Held,
        ) -> u32,
    >,
    /// The number of sub-queues; null means one.
    pub queues: ::core::option::Option<unsafe extern "C" fn(tun: *const u32) -> u32>,
    /// Bytes that the state has for each sub-queue, behind the first state_bytes; a multiple of
    /// 8, like state_bytes.
    pub sub_bytes: u32,
    /// Brings timers up to date. The link calls it before it reads counters, and may call it at
    /// any other time.
    pub tick: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *const LinkView,
            held: *const Held,
        ),
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct RouterOps {
    pub name: *const core::ffi::c_char,
    pub title: *const core::ffi::c_char,
    pub source: *const core::ffi::c_char,
    pub state_bytes: u32,
    pub n_tunables: u32,
    pub tunables: *const Tunable,
    /// Descriptions of the router's counters and values, which are the first n_counters u64
    /// of its state, in this order.
    pub n_counters: u32,
    /// Number of events; at most HW_MAX_NOTES.
    pub n_events: u32,
    pub counters: *const Counter,
    /// Descriptions of the events that the router records with hw_note(). A call records each
    /// event at most once.
    pub events: *const Counter,
    /// The header that the router reads and writes; null: none.
    pub header: *const Header,
    pub init: ::core::option::Option<
        unsafe extern "C" fn(state: *mut core::ffi::c_void, tun: *const u32, link: *mut LinkView),
    >,
    /// Called when a packet is offered to the queue, before the discipline decides. `header`
    /// has the decoded fields, which may be changed in place; null if the packet has no such
    /// header. Returns an enum hw_verdict; a dropped packet reaches neither later routers
    /// nor the queue.
    pub arrive: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *mut LinkView,
            pkt: *const PacketView,
            header: *mut core::ffi::c_void,
        ) -> u32,
    >,
    /// Reports that so many bytes of packets without the router's header were offered until
    /// link->now_ns; arrive() was not called for them. Returns the time until which further
    /// bytes may be gathered; 0: call arrive() for each packet. The tc program gathers per
    /// processor, without a lock or reading the clock, and then does not know the queue.
    /// Other bindings always call arrive().
    pub gather: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *mut LinkView,
            bytes: u64,
        ) -> u64,
    >,
    /// Called when a packet leaves the queue and its transmission begins. The router may
    /// change its header. link->queue_bytes and queue_pkts are the queue behind the packet.
    /// A link whose router has depart() holds packets until they are sent, which costs the
    /// simulator an event per packet.
    pub depart: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *mut LinkView,
            pkt: *const PacketView,
            header: *mut core::ffi::c_void,
        ),
    >,
    /// A timer, called at the time that its previous call returned. Returns when to call it
    /// again, 0: never. It may also be called earlier: when the link is made, and before the
    /// counters are read.
    pub tick: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *mut LinkView,
        ) -> u64,
    >,
    /// Fills in the data that controls on the same machine may read about the link
    /// (monitor.h), as of the latest tick; null: the router publishes nothing. Called
    /// whenever a control reads the data.
    pub publish: ::core::option::Option<
        unsafe extern "C" fn(
            state: *const core::ffi::c_void,
            tun: *const u32,
            monitor: *mut Monitor,
        ),
    >,
}
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Flow {
    pub cc: *const CcOps,
    pub startup: *const StartupOps,
    /// Flows with the same tunables may share the array.
    pub cc_tun: *const u32,
    pub startup_tun: *const u32,
    /// Index in state where the startup's state begins.
    pub startup_word: u64,
    pub state: [u64; 26usize],
}
/// A link's queue discipline with its tunables and state, and the packets that the link holds.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Queue {
    pub ops: *const QueueOps,
    pub state: *mut core::ffi::c_void,
    pub tun: [u32; 16usize],
    pub held: Held,
}
/// A link's router algorithm with its tunables and state.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Router {
    pub ops: *const RouterOps,
    pub tun: [u32; 16usize],
    pub state: [u64; 512usize],
}
/// Returns the size of a structure, or the offset of one of its fields ("hw_conn.cwnd_pkts").
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Layout {
    pub name: *const core::ffi::c_char,
    pub bytes: u64,
}
pub const QS_REQUEST: QsFunction = 0;
pub const QS_REPORT: QsFunction = 8;
/// Values of the upper half of the third byte of the IP option. Options with other values are
/// ignored.
pub type QsFunction = core::ffi::c_uint;
/// The fields of a Quick-Start option: a request, a report or a response.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct QsOption {
    /// 30 bits.
    pub nonce: u32,
    /// Enum hw_qs_function; 0 in a response.
    pub function: u8,
    /// The rate, 0 to 15.
    pub code: u8,
    /// request: QS TTL; response: TTL difference; report: unused.
    pub ttl: u8,
    /// 0.
    pub spare: u8,
}
#[repr(u8)]
/// ---- Sender (sections 4.1 and 4.4) ----.
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub enum QsState {
    /// Nothing asked yet.
    None = 0,
    /// The sender has sent a request and waits for its response.
    Requested = 1,
    /// Granted, perhaps at a lower rate than requested.
    Granted = 2,
    /// It failed.
    Denied = 3,
}
#[repr(u8)]
/// Why a request failed.
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub enum QsFailure {
    /// It did not.
    Ok = 0,
    /// The response has rate 0: a router or the receiver refused.
    Refused = 1,
    /// The request's packet was ACKed without a response.
    Unanswered = 2,
    /// The packet with the request was lost or reset.
    Lost = 3,
    /// A router on the path does not take part.
    TtlDiffers = 4,
    /// The nonce shows a rate above the approved one.
    NonceForged = 5,
    /// The response's rate is higher than the requested one.
    Inflated = 6,
}
/// State of a connection that sends requests. All fields are 0 at the start.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct QsHost {
    /// Nonce of the last request.
    pub nonce: u32,
    /// Sent.
    pub requests: u32,
    /// Requests that were granted, perhaps at a lower rate.
    pub grants: u32,
    /// Requests that were granted at a lower rate.
    pub lowered: u32,
    /// Sent.
    pub reports: u32,
    /// Failed requests by enum hw_qs_failure; \[0] stays 0.
    pub failures: [u32; 7usize],
    /// Asked for.
    pub code: u8,
    /// IP TTL minus QS TTL of the last request, as it left.
    pub ttl_diff: u8,
    /// 0 unless the last request was granted.
    pub granted_code: u8,
    /// Enum hw_qs_state, of the last request.
    pub state: u8,
    /// Enum hw_qs_failure, of the last request.
    pub failure: u8,
    /// 1: the sender still has to report the rate of the last request.
    pub report_due: u8,
    /// 1: this connection may send no more requests.
    pub disabled: u8,
    /// 0.
    pub spare: u8,
}
unsafe extern "C" {
    /// The build generates these lists of all algorithms.
    pub static hw_native_controls: [*const CcOps; 0usize];
    pub static hw_native_n_controls: u32;
    pub static hw_native_startups: [*const StartupOps; 0usize];
    pub static hw_native_n_startups: u32;
    pub static hw_native_queues: [*const QueueOps; 0usize];
    pub static hw_native_n_queues: u32;
    pub static hw_native_routers: [*const RouterOps; 0usize];
    pub static hw_native_n_routers: u32;
    pub static hw_native_headers: [*const Header; 0usize];
    pub static hw_native_n_headers: u32;
    /// The empty startup of controls that own their start.
    pub static hw_native_own_start: StartupOps;
    pub static hw_native_layout: [Layout; 0usize];
    pub static hw_native_n_layout: u32;
    pub fn hw_native_takes_samples(cc: *const CcOps) -> u32;
    pub fn hw_native_open(f: *mut Flow, c: *mut Conn);
    pub fn hw_native_init(f: *mut Flow, c: *mut Conn);
    pub fn hw_native_pkts_acked(f: *mut Flow, c: *mut Conn, ack: *const Ack);
    pub fn hw_native_grow(f: *mut Flow, c: *mut Conn, acked_pkts: u32);
    pub fn hw_native_control(f: *mut Flow, c: *mut Conn, sample: *const RateSample);
    pub fn hw_native_follows_losses(cc: *const CcOps) -> u32;
    pub fn hw_native_on_loss(f: *mut Flow, c: *mut Conn, lost: *const Lost);
    pub fn hw_native_observe(f: *mut Flow, c: *const Conn, values: *mut u64);
    /// Calls pkts_acked. Then lets cwnd grow, if grow_pkts is not 0.
    pub fn hw_native_ack(f: *mut Flow, c: *mut Conn, ack: *const Ack, grow_pkts: u32);
    pub fn hw_native_ssthresh(f: *mut Flow, c: *mut Conn) -> u32;
    pub fn hw_native_set_state(f: *mut Flow, c: *mut Conn, new_state: u8);
    pub fn hw_native_event(f: *mut Flow, c: *mut Conn, event: u8);
    pub fn hw_native_undo_cwnd(f: *mut Flow, c: *mut Conn, prior_cwnd_pkts: u32) -> u32;
    pub fn hw_native_min_cwnd(f: *mut Flow, c: *mut Conn) -> u32;
    pub fn hw_native_on_send(f: *mut Flow, c: *mut Conn, header: *mut core::ffi::c_void) -> u32;
    pub fn hw_native_on_feedback(f: *mut Flow, c: *mut Conn, header: *const core::ffi::c_void);
    pub fn hw_native_reads_monitor(cc: *const CcOps) -> u32;
    pub fn hw_native_on_monitor(f: *mut Flow, c: *mut Conn, monitor: *const Monitor);
    pub fn hw_native_router_init(r: *mut Router, link: *mut LinkView);
    pub fn hw_native_arrive(
        r: *mut Router,
        link: *mut LinkView,
        pkt: *const PacketView,
        header: *mut core::ffi::c_void,
    ) -> u32;
    pub fn hw_native_departs(ops: *const RouterOps) -> u32;
    pub fn hw_native_depart(
        r: *mut Router,
        link: *mut LinkView,
        pkt: *const PacketView,
        header: *mut core::ffi::c_void,
    );
    pub fn hw_native_tick(r: *mut Router, link: *mut LinkView) -> u64;
    pub fn hw_native_publishes(ops: *const RouterOps) -> u32;
    pub fn hw_native_publish(r: *const Router, monitor: *mut Monitor);
    /// Whether the link holds packets until the discipline lets them leave.
    pub fn hw_native_holds(ops: *const QueueOps) -> u32;
    /// The number of sub-queues.
    pub fn hw_native_sub_queues(ops: *const QueueOps, tun: *const u32) -> u32;
    /// 1, and the reason, if the discipline cannot have these tunables on this link.
    pub fn hw_native_queue_check(
        ops: *const QueueOps,
        tun: *const u32,
        link: *const LinkView,
        why: *mut Refusal,
    ) -> u32;
    pub fn hw_native_queue_init(q: *mut Queue, link: *const LinkView);
    pub fn hw_native_enqueue(q: *mut Queue, link: *const LinkView, pkt: *const PacketView) -> u32;
    /// Calls enqueue for a packet of a link that holds packets. `waiting` has an unused entry. If the
    /// discipline has no dequeue, the link holds its packets for other reasons, in one sub-queue.
    pub fn hw_native_enqueue_held(
        q: *mut Queue,
        link: *const LinkView,
        pkt: *const PacketView,
        id: u32,
    ) -> u32;
    /// Takes the next packet to send; returns its entry, or HW_NOWHERE.
    pub fn hw_native_dequeue(q: *mut Queue, link: *const LinkView) -> u32;
    /// The entry of the next dropped packet that was not reported, or HW_NOWHERE.
    pub fn hw_native_next_drop(q: *mut Queue) -> u32;
    pub fn hw_native_queue_tick(q: *mut Queue, link: *const LinkView);
    pub fn hw_native_qs_rate_Bps(code: u32) -> u64;
    pub fn hw_native_qs_code_down(rate_bytes_per_s: u64) -> u32;
    pub fn hw_native_qs_code_up(rate_bytes_per_s: u64) -> u32;
    pub fn hw_native_qs_window_pkts(
        rate_bytes_per_s: u64,
        rtt_us: u32,
        mss_bytes: u32,
        header_bytes: u32,
    ) -> u32;
    pub fn hw_native_qs_redraw(nonce: u32, from_code: u32, to_code: u32, random: u32) -> u32;
    pub fn hw_native_qs_parse_ipv4(bytes: *const u8, option: *mut QsOption) -> u32;
    pub fn hw_native_qs_parse_tcp(bytes: *const u8, option: *mut QsOption) -> u32;
    pub fn hw_native_qs_emit(option: *const QsOption, type_: u8, bytes: *mut u8);
    pub fn hw_native_qs_forward(
        request: *mut QsOption,
        granted_code: u32,
        ttl_step: u8,
        random: u32,
    ) -> u32;
    pub fn hw_native_qs_respond(
        request: *const QsOption,
        ip_ttl: u8,
        willing_code: u32,
        response: *mut QsOption,
    ) -> u32;
    pub fn hw_native_qs_request(
        h: *mut QsHost,
        code: u32,
        ip_ttl: u8,
        random: u64,
        request: *mut QsOption,
    ) -> u32;
    pub fn hw_native_qs_fail(h: *mut QsHost, failure: u32);
    pub fn hw_native_qs_judge(h: *mut QsHost, response: *const QsOption) -> u32;
    pub fn hw_native_qs_report(h: *mut QsHost, used_code: u32, report: *mut QsOption) -> u32;
    pub fn hw_native_cbrt(x: u64) -> u32;
    pub fn hw_native_sqrt(x: u64) -> u32;
    pub fn hw_native_cubic_k(w_max_pkts: u32, cwnd_pkts: u32) -> u32;
    pub fn hw_native_cubic_target(origin_pkts: u32, k: u32, t: u64) -> u32;
    pub fn hw_native_cubic_friendly_scale(beta_1024: u32) -> u32;
    pub fn hw_native_power(base: u64, n: u32) -> u64;
    pub fn hw_native_part(x: u64, fraction: u64) -> u64;
    pub fn hw_native_scale(a: u32, b: u32, c: u32) -> u32;
    pub fn hw_native_exp(x: i64) -> u64;
    pub fn hw_native_ln_roughly(value: u64) -> i64;
    pub fn hw_native_step_power(m: u64, falls: u32, rtt_us: u32) -> u64;
    pub fn hw_native_additive_scale(rtt_us: u32, unit_us: u32) -> u64;
    pub fn hw_native_mpcp_level(demand_bytes: u64, capacity_bytes: u64, pieces: u32) -> u32;
    pub fn hw_native_mpcp_step(level: u32, pieces: u32, m: *mut u64) -> u32;
    pub fn hw_native_ratio_times(a: u64, b: u64, x: u64) -> u64;
    pub fn hw_native_float_code(x: u64, fraction_bits: u32) -> u32;
    pub fn hw_native_float_value(code: u32, fraction_bits: u32) -> u64;
}

macro_rules! layout {
($($c:literal $rust:ident { $($c_field:literal $field:ident)* })*) => {
&[$(
($c, size_of::<$rust>()),
$((concat!($c, ".", $c_field), core::mem::offset_of!($rust, $field)),)*
)*]
};
}

/// Sizes and offsets of what is mirrored, under C's names.
pub const LAYOUT: &[(&str, usize)] = layout! {
    "hw_tunable" Tunable {
        "name" name
        "unit" unit
        "meaning" meaning
        "default_value" default_value
        "min_value" min_value
        "max_value" max_value
    }
    "hw_counter" Counter {
        "name" name
        "unit" unit
        "meaning" meaning
        "times" times
    }
    "hw_field" Field {
        "name" name
        "unit" unit
        "meaning" meaning
        "offset" offset
        "bytes" bytes
    }
    "hw_arrival" Arrival {
        "ip_ttl" ip_ttl
        "ecn" ecn
        "ip_id" ip_id
        "pkts" pkts
    }
    "hw_header" Header {
        "name" name
        "title" title
        "source" source
        "carrier" carrier
        "kind" kind
        "wire_bytes" wire_bytes
        "fields_bytes" fields_bytes
        "n_fields" n_fields
        "fields" fields
        "answer" answer
        "parse" parse
        "emit" emit
        "reflect" reflect
    }
    "hw_monitor" Monitor {
        "output_Bps" output_bytes_per_s
        "give_Bps" give_bytes_per_s
        "take_Bps" take_bytes_per_s
        "demand_bytes" demand_bytes
        "capacity_bytes" capacity_bytes
        "capacity_Bps" capacity_bytes_per_s
        "flows" flows
        "intervals" intervals
        "opening" opening
        "present" present
    }
    "hw_conn" Conn {
        "cwnd_pkts" cwnd_pkts
        "cwnd_cnt" cwnd_cnt
        "ssthresh_pkts" ssthresh_pkts
        "cwnd_clamp_pkts" cwnd_clamp_pkts
        "pacing_rate_Bps" pacing_rate_bytes_per_s
        "now_us" now_us
        "delivered_pkts" delivered_pkts
        "snd_una" snd_una
        "snd_nxt" snd_nxt
        "srtt_us" srtt_us
        "min_rtt_us" min_rtt_us
        "mss_bytes" mss_bytes
        "inflight_pkts" inflight_pkts
        "idle_us" idle_us
        "app_queued_bytes" app_queued_bytes
        "ca_state" ca_state
        "cwnd_limited" cwnd_limited
        "counts_acks" counts_acks
        "paced" paced
        "pacing_chunk_pkts" pacing_chunk_pkts
        "ignore_peer_window" ignore_peer_window
        "request_code" request_code
        "grant" grant
        "ecn" ecn
        "peer_window_bytes" peer_window_bytes
        "header_bytes" header_bytes
        "sent_pkts" sent_pkts
        "retrans_pkts" retrans_pkts
        "app_data_bytes" app_data_bytes
        "asked_rate_Bps" asked_rate_bytes_per_s
        "granted_rate_Bps" granted_rate_bytes_per_s
        "saved_cwnd_pkts" saved_cwnd_pkts
        "saved_rtt_us" saved_rtt_us
        "deadline_us" deadline_us
        "stabilize" stabilize
        "no_fast_start" no_fast_start
        "by_mark" by_mark
        "routers" routers
        "fall_backs" fall_backs
        "app_limited" app_limited
        "mark_app_limited" mark_app_limited
        "sack" sack
        "lost_pkts" lost_pkts
        "pacing_wait_us" pacing_wait_us
        "delivered_ce_pkts" delivered_ce_pkts
        "delivered_us" delivered_us
    }
    "hw_ack" Ack {
        "acked_pkts" acked_pkts
        "rtt_us" rtt_us
    }
    "hw_rate_sample" RateSample {
        "prior_delivered_pkts" prior_delivered_pkts
        "delivered_pkts" delivered_pkts
        "delivered_ce_pkts" delivered_ce_pkts
        "interval_us" interval_us
        "rtt_us" rtt_us
        "losses_pkts" losses_pkts
        "tx_inflight_pkts" tx_inflight_pkts
        "lost_pkts" lost_pkts
        "acked_pkts" acked_pkts
        "prior_inflight_pkts" prior_inflight_pkts
        "random" random
        "is_app_limited" is_app_limited
        "is_retrans" is_retrans
        "is_ack_delayed" is_ack_delayed
    }
    "hw_lost" Lost {
        "pkts" pkts
        "seq" seq
        "end_seq" end_seq
        "tx_inflight_pkts" tx_inflight_pkts
        "lost_pkts" lost_pkts
        "random" random
        "is_app_limited" is_app_limited
    }
    "hw_cc_ops" CcOps {
        "name" name
        "title" title
        "source" source
        "startup" startup
        "state_bytes" state_bytes
        "flags" flags
        "send_windows" send_windows
        "n_tunables" n_tunables
        "n_readings" n_readings
        "tunables" tunables
        "readings" readings
        "header" header
        "init" init
        "control" control
        "on_loss" on_loss
        "observe" observe
        "pkts_acked" pkts_acked
        "cong_avoid" cong_avoid
        "ssthresh" ssthresh
        "set_state" set_state
        "event" event
        "undo_cwnd" undo_cwnd
        "min_cwnd" min_cwnd
        "on_send" on_send
        "on_feedback" on_feedback
        "on_monitor" on_monitor
    }
    "hw_startup_ops" StartupOps {
        "name" name
        "suffix" suffix
        "title" title
        "source" source
        "state_bytes" state_bytes
        "paces" paces
        "n_tunables" n_tunables
        "tunables" tunables
        "open" open
        "init" init
        "pkts_acked" pkts_acked
        "slow_start" slow_start
        "set_state" set_state
        "event" event
    }
    "hw_link" LinkView {
        "now_ns" now_ns
        "rate_Bps" rate_bytes_per_s
        "limit_bytes" limit_bytes
        "limit_pkts" limit_pkts
        "queue_bytes" queue_bytes
        "queue_pkts" queue_pkts
        "idle_us" idle_us
        "random" random
        "noted" noted
        "notes" notes
    }
    "hw_packet" PacketView {
        "flow" flow
        "ip_bytes" ip_bytes
        "ecn" ecn
        "local" local
        "ip_id" ip_id
        "pkts" pkts
        "opens" opens
    }
    "hw_waiting" Waiting {
        "pkt" pkt
        "joined_ns" joined_ns
        "id" id
        "next" next
        "verdict" verdict
    }
    "hw_sub_queue" SubQueue {
        "head" head
        "tail" tail
        "pkts" pkts
        "bytes" bytes
        "sent_pkts" sent_pkts
        "sent_bytes" sent_bytes
        "dropped_pkts" dropped_pkts
        "marked_ect0_pkts" marked_ect0_pkts
        "marked_ect1_pkts" marked_ect1_pkts
        "sojourn_ns" sojourn_ns
    }
    "hw_held" Held {
        "n_queues" n_queues
        "pkts" pkts
        "bytes" bytes
        "memory_bytes" memory_bytes
        "wake_ns" wake_ns
        "waiting" waiting
        "queues" queues
        "least" least
        "salt" salt
        "random" random
        "free" free
        "dropped" dropped
        "dropped_last" dropped_last
        "arriving" arriving
        "marked" marked
    }
    "hw_refusal" Refusal {
        "tunable" tunable
        "bound" bound
        "allowed" allowed
    }
    "hw_queue_ops" QueueOps {
        "name" name
        "title" title
        "source" source
        "state_bytes" state_bytes
        "n_tunables" n_tunables
        "tunables" tunables
        "n_counters" n_counters
        "counters" counters
        "check" check
        "init" init
        "enqueue" enqueue
        "dequeue" dequeue
        "queues" queues
        "sub_bytes" sub_bytes
        "tick" tick
    }
    "hw_router_ops" RouterOps {
        "name" name
        "title" title
        "source" source
        "state_bytes" state_bytes
        "n_tunables" n_tunables
        "tunables" tunables
        "n_counters" n_counters
        "n_events" n_events
        "counters" counters
        "events" events
        "header" header
        "init" init
        "arrive" arrive
        "gather" gather
        "depart" depart
        "tick" tick
        "publish" publish
    }
    "hw_flow" Flow {
        "cc" cc
        "startup" startup
        "cc_tun" cc_tun
        "startup_tun" startup_tun
        "startup_word" startup_word
        "state" state
    }
    "hw_queue" Queue {
        "ops" ops
        "state" state
        "tun" tun
        "held" held
    }
    "hw_router" Router {
        "ops" ops
        "tun" tun
        "state" state
    }
    "hw_layout" Layout {
        "name" name
        "bytes" bytes
    }
    "hw_qs_option" QsOption {
        "nonce" nonce
        "function" function
        "code" code
        "ttl" ttl
        "spare" spare
    }
    "hw_qs_host" QsHost {
        "nonce" nonce
        "requests" requests
        "grants" grants
        "lowered" lowered
        "reports" reports
        "failures" failures
        "code" code
        "ttl_diff" ttl_diff
        "granted_code" granted_code
        "state" state
        "failure" failure
        "report_due" report_due
        "disabled" disabled
        "spare" spare
    }
};
