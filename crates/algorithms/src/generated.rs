//! Made by `make mirrors`: the native binding of algorithms/ (algorithms/port/native/flow.h).

pub const FIELDS_MAX_BYTES: usize = 24;
pub const OPTION_MAX_BYTES: usize = 20;
pub const FLOW_STATE_BYTES: usize = 208;
pub const SSTHRESH_INFINITE: u32 = 2147483647;
pub const MAX_NOTES: usize = 8;
pub const QUEUE_STATE_BYTES: usize = 4096;
pub const ROUTER_STATE_BYTES: usize = 4096;
pub const MAX_TUNABLES: usize = 16;
pub const QS_IPV4_OPTION: u32 = 25;
pub const QS_TCP_OPTION: u32 = 27;
pub const QS_BYTES: usize = 8;
pub const QS_MAX_CODE: u32 = 15;
/// A tunable, declared once in the algorithm's file and shown everywhere by the
/// registry. Every tunable is a u32; a switch has the unit "bool" and the range
/// 0 to 1. A unit with bars ("last|ewma|peak") names the values from 0 on.
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
pub const IP_OPTION: Carrier = 0;
pub const TCP_OPTION: Carrier = 1;
/// The two bits of the IP header, in one byte for the codec.
pub const ECN_BITS: Carrier = 2;
pub type Carrier = core::ffi::c_uint;
/// A field, for tools that print it.
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: *const core::ffi::c_char,
    pub unit: *const core::ffi::c_char,
    /// With "two's complement" in it the field is signed.
    pub meaning: *const core::ffi::c_char,
    /// In the decoded fields.
    pub offset: u32,
    /// 1, 2, 4 or 8.
    pub bytes: u32,
}
/// How a header arrived; TTL and ECN are zero if the kernel's sockets receive it.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The remaining TTL; each router has decremented it.
    pub ip_ttl: u8,
    /// The two ECN bits.
    pub ecn: u8,
    /// Identification of the IP header; a sender counts its packets in it.
    pub ip_id: u16,
    /// Packets that arrived together, with one header (hw_packet.pkts).
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
    /// First byte of the option.
    pub kind: u8,
    /// Of the option with kind and length, a multiple of 4; 0 in ECN bits.
    pub wire_bytes: u8,
    pub fields_bytes: u8,
    pub n_fields: u32,
    pub fields: *const Field,
    /// The header in which a receiver answers; null: this one, whose other fields its next
    /// sender fills in.
    pub answer: *const Header,
    /// Whether the bytes are this header; fills in its fields.
    pub parse: ::core::option::Option<
        unsafe extern "C" fn(bytes: *const u8, fields: *mut core::ffi::c_void) -> core::ffi::c_int,
    >,
    pub emit: ::core::option::Option<
        unsafe extern "C" fn(fields: *const core::ffi::c_void, bytes: *mut u8),
    >,
    /// The receiver processes a header that has arrived. held: the fields of the next
    /// answer, zeroed after each answer. Returns whether an answer is due. Null: nothing is
    /// answered.
    pub reflect: ::core::option::Option<
        unsafe extern "C" fn(
            held: *mut core::ffi::c_void,
            arrived: *const core::ffi::c_void,
            how: *const Arrival,
        ) -> core::ffi::c_int,
    >,
}
/// What is published about a link.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Monitor {
    /// Traffic that left in the last control interval.
    pub output_bytes_per_s: u64,
    /// Growth of all flows together in the next.
    pub give_bytes_per_s: u64,
    /// Reduction of all flows, at the same time.
    pub take_bytes_per_s: u64,
    /// What left in the last load interval, and half the queue.
    pub demand_bytes: u64,
    /// The target share of what the link can carry in that time.
    pub capacity_bytes: u64,
    /// The capacity that the router assumes.
    pub capacity_bytes_per_s: u64,
    /// Flows that sent data in the last control interval.
    pub flows: u32,
    /// Measured so far; 0: nothing is known yet.
    pub intervals: u32,
    /// Opened connections whose data is not in a whole load interval yet.
    pub opening: u32,
    /// Opened or sent data in at least the last two control intervals.
    pub present: u32,
}
/// No startup: it sets cwnd from the first ACK on.
pub const CC_OWN_START: CcFlags = 1;
/// It may set a pacing rate.
pub const CC_PACES: CcFlags = 2;
/// If ECN was negotiated, the control's data packets carry ECT(0), which is also the
/// default, or ECT(1), which kernels refuse to send under RFC 3168.
pub const CC_ECT0: CcFlags = 4;
/// If ECN was negotiated, the control's data packets carry ECT(0), which is also the
/// default, or ECT(1), which kernels refuse to send under RFC 3168.
pub const CC_ECT1: CcFlags = 8;
/// The control's connections request and accept ECN, whatever the host's default is. As in
/// Linux (tcp_ca_needs_ecn), all their packets are ECN-capable, from the SYN on.
pub const CC_NEEDS_ECN: CcFlags = 16;
/// The control's RTT samples are in microseconds even if the stack's clock is coarser
/// (TCP_CONG_RTT_STAMP of Linux 2.6). They are those of the last packet that an ACK
/// acknowledges.
pub const CC_RTT_STAMP: CcFlags = 32;
/// The control's header is also sent on the SYN and SYN-ACK, if the stack can. on_send is
/// then called before init, which clears the state, and on_feedback right after init.
pub const CC_ASKS_ON_SYN: CcFlags = 64;
/// Properties of a control, beyond its callbacks (hw_cc_ops.flags).
pub type CcFlags = core::ffi::c_uint;
#[repr(u8)]
/// The sender's states, as Linux names them (tcp_ca_state).
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub enum CaState {
    /// Nothing unusual.
    Open = 0,
    /// Duplicate ACKs or SACKs were seen.
    Disorder = 1,
    /// Cwnd is being reduced without a loss.
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
    /// First transmission after nothing was in flight.
    TxStart = 0,
    /// The stack reduced cwnd after idle.
    CwndRestart = 1,
    /// End of CWR or Recovery.
    CompleteCwr = 2,
    /// Retransmission timeout.
    Loss = 3,
}
/// Nothing came back so far.
pub const ROUTERS_UNKNOWN: Routers = 0;
/// Routers answer, or have been silent only briefly.
pub const ROUTERS_ANSWER: Routers = 1;
/// None answers: it continues with its loss-based law.
pub const ROUTERS_ABSENT: Routers = 2;
/// What a control with a header knows about its protocol's routers on the path (fall_back.h).
pub type Routers = core::ffi::c_uint;
#[repr(u8)]
/// The outcome of a Quick-Start request (RFC 4782).
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub enum Grant {
    /// Never asked.
    None = 0,
    /// No answer yet.
    Requested = 1,
    /// granted_rate_Bps may be used now.
    Approved = 2,
    /// Refused, or the answer was missing or not valid.
    Denied = 3,
    /// The startup sends at the rate; the stack reports it.
    Used = 4,
    /// The startup does not use it; the stack reports 0.
    Declined = 5,
    /// No more requests on this connection.
    Disabled = 6,
}
/// A connection as its algorithms see it. The stack fills in what they may read, and applies
/// what they set.
#[repr(C)]
#[derive(Debug, PartialEq, Eq, Clone)]
pub struct Conn {
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Progress towards the next packet of cwnd, in ACKed packets (or ACKs).
    pub cwnd_cnt: u32,
    /// Cwnd moves to it in Recovery.
    pub ssthresh_pkts: u32,
    /// Read only: upper bound of cwnd.
    pub cwnd_clamp_pkts: u32,
    /// IP bytes per second; 0 leaves pacing to the stack.
    pub pacing_rate_bytes_per_s: u64,
    /// monotonic; only differences mean anything.
    pub now_us: u64,
    /// Packets known to have arrived, in or out of order.
    pub delivered_pkts: u64,
    /// First sequence number not acknowledged, modulo 2^32.
    pub snd_una: u32,
    /// Next one to be sent.
    pub snd_nxt: u32,
    /// Smoothed round-trip time; 0 before the first sample.
    pub srtt_us: u32,
    /// smallest; HW_U32_MAX before the first sample.
    pub min_rtt_us: u32,
    /// Payload of a full packet.
    pub mss_bytes: u32,
    /// The stack's estimate after the latest ACK.
    pub inflight_pkts: u32,
    /// HW_EVENT_TX_START only: time since the last transmission.
    pub idle_us: u32,
    /// Written by the application, not sent yet.
    pub app_queued_bytes: u32,
    /// Enum hw_ca_state.
    pub ca_state: u8,
    /// The sender used up cwnd since the last ACK; otherwise nothing may grow.
    pub cwnd_limited: u8,
    /// 1: growth counts ACK events (Linux up to 2.6.x), 0: ACKed packets.
    pub counts_acks: u8,
    /// The stack spaces this connection's packets.
    pub paced: u8,
    /// Packets that leave together; 0: the stack chooses.
    pub pacing_chunk_pkts: u32,
    /// Send beyond the peer's window, where the stack can.
    pub ignore_peer_window: u8,
    /// Ask for this Quick-Start rate code on the next data packet.
    pub request_code: u8,
    /// Enum hw_grant; a startup sets USED, DECLINED and DISABLED.
    pub grant: u8,
    /// Both ends agreed on ECN (RFC 3168).
    pub ecn: u8,
    /// Receive window of the peer.
    pub peer_window_bytes: u32,
    /// Of a full data packet: IP, TCP and its options.
    pub header_bytes: u32,
    /// Data packets ever sent, with retransmissions; wraps.
    pub sent_pkts: u32,
    /// Of them, retransmissions; wraps.
    pub retrans_pkts: u32,
    /// Volume the application announced; 0: unknown.
    pub app_data_bytes: u32,
    /// First rate the application asked for, IP bytes; 0: none.
    pub asked_rate_bytes_per_s: u64,
    /// That routers approved; valid with HW_GRANT_APPROVED.
    pub granted_rate_bytes_per_s: u64,
    /// Of an earlier connection to this destination; 0: none.
    pub saved_cwnd_pkts: u32,
    /// Its smallest round trip.
    pub saved_rtt_us: u32,
    /// Until the last byte of the queued data should arrive; 0: none.
    pub deadline_us: u32,
    /// The application never needs more than the rate it asked for.
    pub stabilize: u8,
    /// The application wants a normal start.
    pub no_fast_start: u8,
    /// Enum hw_routers.
    pub routers: u8,
    /// How often it has fallen back; the stack may read it and reset it to 0.
    pub fall_backs: u32,
    /// When the packets in flight were sent, they were all there was to send.
    pub app_limited: u8,
    /// Set to 1: the packets in flight now count as such, too.
    pub mark_app_limited: u8,
    /// Packets ever believed lost; wraps.
    pub lost_pkts: u32,
    /// Until pacing lets the next packet leave.
    pub pacing_wait_us: u32,
    /// When delivered_pkts last grew, on now_us's clock.
    pub delivered_us: u64,
}
/// What one ACK reported.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Ack {
    /// Newly acknowledged, cumulatively or, on stacks that count that, by SACK.
    pub acked_pkts: u32,
    /// Sample of this ACK, -1 if it gave none.
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
    /// delivered_pkts when that packet left.
    pub prior_delivered_pkts: u64,
    /// Delivered since that packet left; -1: no sample.
    pub delivered_pkts: i32,
    /// Of them, marked CE.
    pub delivered_ce_pkts: i32,
    /// -1: no sample, or shorter than the smallest round trip.
    pub interval_us: i32,
    /// RTT of the packet that was sent last, -1 without one.
    pub rtt_us: i32,
    /// Believed lost with this ACK.
    pub losses_pkts: u32,
    /// Newly acknowledged, cumulatively or by SACK.
    pub acked_pkts: u32,
    /// Before this ACK.
    pub prior_inflight_pkts: u32,
    /// Uniform over 32 bits, fresh for every call.
    pub random: u32,
    /// The application limited what was sent.
    pub is_app_limited: u8,
    /// The packet was a retransmission.
    pub is_retrans: u8,
    /// One small packet: its ACK may have been delayed.
    pub is_ack_delayed: u8,
}
/// A control. `state` has state_bytes bytes, zeroed before init; `tun` is the control's
/// tunables in declared order. A null callback means "nothing to do". A null min_cwnd makes
/// ssthresh the floor of rate halving; a min_cwnd may also return more than ssthresh. Either
/// control or cong_avoid is required.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CcOps {
    /// At most 12 characters, so that a pair's name fits 15.
    pub name: *const core::ffi::c_char,
    /// One line for people.
    pub title: *const core::ffi::c_char,
    /// Paper or RFC, and the implementation it follows.
    pub source: *const core::ffi::c_char,
    /// The startup if none is named; null if it owns its start.
    pub startup: *const core::ffi::c_char,
    pub state_bytes: u32,
    /// Enum hw_cc_flags.
    pub flags: u32,
    /// Windows of data that a growing send buffer has room for; 0: 2.
    pub send_windows: u32,
    pub n_tunables: u32,
    pub tunables: *const Tunable,
    /// That it owns (header.h); null: none.
    pub header: *const Header,
    pub init: ::core::option::Option<
        unsafe extern "C" fn(state: *mut core::ffi::c_void, tun: *const u32, c: *mut Conn),
    >,
    /// Called after every ACK with new information, in every state. It replaces pkts_acked,
    /// cong_avoid and the stack's own changes of cwnd in Recovery, at its end, after idle
    /// times and when the application leaves cwnd unused. Only with an own start; ssthresh,
    /// set_state, event and undo_cwnd are called as usual.
    pub control: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            sample: *const RateSample,
        ),
    >,
    /// After every ACK, before growth. acked_pkts is 0 if the ACK only SACKs or repeats;
    /// rtt_us is -1 without a sample. linux-2.6: only if the ACK acknowledged data.
    pub pkts_acked: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            ack: *const Ack,
        ),
    >,
    /// Growth above ssthresh; acked_pkts is 1 if c->counts_acks.
    pub cong_avoid: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            acked_pkts: u32,
        ),
    >,
    /// The new ssthresh on congestion; does not change cwnd.
    pub ssthresh: ::core::option::Option<
        unsafe extern "C" fn(state: *mut core::ffi::c_void, tun: *const u32, c: *mut Conn) -> u32,
    >,
    /// Called before c->ca_state changes to new_state.
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
    /// Cwnd to return to when a reduction proved unnecessary.
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
    /// With a header. on_send: a packet with data is about to leave. header has its decoded
    /// fields, which are zero except for those that answer the peer; the control fills in
    /// its own. Returns whether the header is sent. on_feedback: the receiver's answer has
    /// come back; called before the ACK that carried it is processed. cwnd, ssthresh and
    /// the pacing rate may be set.
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
    /// What this machine's outgoing link publishes (monitor.h). Called before control() or
    /// pkts_acked() on every ACK with new information, and before HW_EVENT_TX_START; not
    /// called if nothing is published or known. It must not change the connection.
    pub on_monitor: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            c: *mut Conn,
            monitor: *const Monitor,
        ),
    >,
}
/// A startup, under the same rules. slow_start returns how many of acked_pkts are left for
/// congestion avoidance once ssthresh is reached.
///
/// In Recovery the stack reduces cwnd to ssthresh. A startup that wants its own window there
/// sets both in set_state; from then on cwnd follows ssthresh, also upwards.
///
/// open is called before a SYN or SYN-ACK leaves, if the stack can. Only the application's
/// announcements are known, and only request_code may be set. The state is cleared afterwards.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct StartupOps {
    pub name: *const core::ffi::c_char,
    /// Two letters; the kernel's name of a pair is control_suffix.
    pub suffix: *const core::ffi::c_char,
    pub title: *const core::ffi::c_char,
    pub source: *const core::ffi::c_char,
    pub state_bytes: u32,
    /// 1: may set a pacing rate.
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
/// The algorithm's choice, with room left.
pub const DROP_EARLY: Verdict = 2;
/// Pass with congestion experienced.
pub const MARK: Verdict = 3;
pub type Verdict = core::ffi::c_uint;
/// A link at the moment that its algorithms are called.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct LinkView {
    /// Monotonic.
    pub now_ns: u64,
    /// The link's capacity, bytes per second.
    pub rate_bytes_per_s: u64,
    /// 0: no limit in bytes.
    pub limit_bytes: u64,
    /// 0: no limit in packets.
    pub limit_pkts: u32,
    /// Waiting or in transmission, before this packet.
    pub queue_bytes: u32,
    /// Likewise.
    pub queue_pkts: u32,
    /// How long the link has been idle, 0 when it is not.
    pub idle_us: u32,
    /// Uniform over 32 bits, fresh for every call.
    pub random: u32,
    /// A bit per event.
    pub noted: u32,
    /// The values of these events.
    pub notes: [u64; 8usize],
}
/// A packet at a link.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct PacketView {
    /// Tells connections apart, its upper half their senders; never 0.
    pub flow: u64,
    /// Size from the IP header on.
    pub ip_bytes: u32,
    /// The two ECN bits.
    pub ecn: u8,
    /// 1: sent by this machine, so no hop has lowered its TTL.
    pub local: u8,
    /// Identification of the IP header; a sender counts its packets in it.
    pub ip_id: u16,
    /// Packets that it leaves as; if a device segments it, all carry one header.
    pub pkts: u32,
    /// 1: a SYN or SYN-ACK, if the link reports that.
    pub opens: u8,
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
    pub init: ::core::option::Option<
        unsafe extern "C" fn(state: *mut core::ffi::c_void, tun: *const u32, link: *const LinkView),
    >,
    /// Returns an enum hw_verdict for a packet that arrives at the queue.
    pub enqueue: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *const LinkView,
            pkt: *const PacketView,
        ) -> u32,
    >,
    /// Returns an enum hw_verdict for the packet whose turn it is, which has waited for
    /// sojourn_ns: pass, mark, or drop; after a drop the link offers the next packet at the
    /// same time. link->queue_bytes and queue_pkts are the queue behind it.
    pub dequeue: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *const LinkView,
            pkt: *const PacketView,
            sojourn_ns: u64,
        ) -> u32,
    >,
    /// Number of sub-queues, each first in, first out; 0 means one. With more, both of
    /// these are required:
    pub n_queues: u32,
    /// Returns the sub-queue for a packet that enqueue admitted.
    pub classify: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *const LinkView,
            pkt: *const PacketView,
        ) -> u32,
    >,
    /// Returns which sub-queue is served next; the link does not check it. heads\[i] is the
    /// size of the packet at the head of sub-queue i, 0 if it is empty. At least one is not
    /// empty.
    pub choose: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *const LinkView,
            heads: *const u32,
        ) -> u32,
    >,
}
/// A counter, a value or an event of a router.
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Counter {
    /// Ends in the unit of the shown value.
    pub name: *const core::ffi::c_char,
    pub unit: *const core::ffi::c_char,
    pub meaning: *const core::ffi::c_char,
    /// Factor of the shown value: 8 converts B/s to bit/s; 0 means 1.
    pub times: u32,
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
    /// Its counters and values: the first n_counters u64 of its state, in this order.
    pub n_counters: u32,
    /// At most HW_MAX_NOTES.
    pub n_events: u32,
    pub counters: *const Counter,
    /// The events that it records with hw_note(), each at most once in a call.
    pub events: *const Counter,
    /// The header that it reads and writes; null: none.
    pub header: *const Header,
    pub init: ::core::option::Option<
        unsafe extern "C" fn(state: *mut core::ffi::c_void, tun: *const u32, link: *mut LinkView),
    >,
    /// A packet is offered to the queue; the discipline has not decided yet. header: the
    /// decoded fields, which may be changed in place; null if the packet has none. Returns
    /// an enum hw_verdict; a dropped packet goes no further.
    pub arrive: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *mut LinkView,
            pkt: *const PacketView,
            header: *mut core::ffi::c_void,
        ) -> u32,
    >,
    /// So many bytes of packets without its header were offered until link->now_ns, and
    /// arrive() was not called for them. Returns until when more may be gathered; 0: call
    /// arrive() for each packet. The tc program gathers per processor, without a lock or
    /// reading the clock, and then does not know the queue. Other bindings always call
    /// arrive().
    pub gather: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *mut LinkView,
            bytes: u64,
        ) -> u64,
    >,
    /// A packet leaves the queue: its transmission begins. Its header may be changed.
    /// link->queue_bytes and queue_pkts are the queue behind it. A link with such a router
    /// holds packets until their turn, which costs an event per packet.
    pub depart: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *mut LinkView,
            pkt: *const PacketView,
            header: *mut core::ffi::c_void,
        ),
    >,
    /// Called at the time that the last call returned. Returns when to call again, 0:
    /// never. It may be called earlier: when the link is made, and before the counters are
    /// read.
    pub tick: ::core::option::Option<
        unsafe extern "C" fn(
            state: *mut core::ffi::c_void,
            tun: *const u32,
            link: *mut LinkView,
        ) -> u64,
    >,
    /// What this machine's own controls may read about the link (monitor.h), as of the
    /// latest tick; null: nothing. Called whenever a control reads it.
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
    /// Flows with the same tunables may share them.
    pub cc_tun: *const u32,
    pub startup_tun: *const u32,
    /// Where the startup's state begins; the control's is before it.
    pub startup_word: u64,
    pub state: [u64; 26usize],
}
/// A link's queue discipline with its tunables and state.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Queue {
    pub ops: *const QueueOps,
    pub tun: [u32; 16usize],
    pub state: [u64; 512usize],
}
/// A link's router algorithm with its tunables and state.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Router {
    pub ops: *const RouterOps,
    pub tun: [u32; 16usize],
    pub state: [u64; 512usize],
}
/// A structure's size, or the offset of one of its fields ("hw_conn.cwnd_pkts").
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Layout {
    pub name: *const core::ffi::c_char,
    pub bytes: u64,
}
pub const QS_REQUEST: QsFunction = 0;
pub const QS_REPORT: QsFunction = 8;
/// The upper half of the third byte of the IP option. All else is ignored.
pub type QsFunction = core::ffi::c_uint;
/// An option's fields, of a request, a report or a response.
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
    /// A request is on its way.
    Requested = 1,
    /// Granted, perhaps less than asked for.
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
    /// The response says rate 0.
    Refused = 1,
    /// ACKed without a response: refused, or not understood.
    Unanswered = 2,
    /// The packet with the request was lost or reset.
    Lost = 3,
    /// A router on the way does not take part.
    TtlDiffers = 4,
    /// The response claims more than was approved.
    NonceForged = 5,
    /// The response claims more than was asked for.
    Inflated = 6,
}
/// One sender's side of the protocol. Starts zeroed.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct QsHost {
    /// Of the last request.
    pub nonce: u32,
    /// Sent.
    pub requests: u32,
    /// Requests that were granted, perhaps in part.
    pub grants: u32,
    /// Grants below the request.
    pub lowered: u32,
    /// Sent.
    pub reports: u32,
    /// By enum hw_qs_failure; OK stays 0.
    pub failures: [u32; 7usize],
    /// Asked for.
    pub code: u8,
    /// Of the last request, as it left.
    pub ttl_diff: u8,
    /// 0 unless the last request was granted.
    pub granted_code: u8,
    /// Enum hw_qs_state, of the last request.
    pub state: u8,
    /// Enum hw_qs_failure, of the last request.
    pub failure: u8,
    /// The last request has not been reported yet.
    pub report_due: u8,
    /// No more requests on this connection.
    pub disabled: u8,
    /// 0.
    pub spare: u8,
}
unsafe extern "C" {
    /// All algorithms, as the build lists them.
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
    /// Replaces the startup of a control that owns its start.
    pub static hw_native_own_start: StartupOps;
    pub static hw_native_layout: [Layout; 0usize];
    pub static hw_native_n_layout: u32;
    pub fn hw_native_takes_samples(cc: *const CcOps) -> u32;
    pub fn hw_native_open(f: *mut Flow, c: *mut Conn);
    pub fn hw_native_init(f: *mut Flow, c: *mut Conn);
    pub fn hw_native_pkts_acked(f: *mut Flow, c: *mut Conn, ack: *const Ack);
    pub fn hw_native_grow(f: *mut Flow, c: *mut Conn, acked_pkts: u32);
    pub fn hw_native_control(f: *mut Flow, c: *mut Conn, sample: *const RateSample);
    /// pkts_acked and growth in one call; grow_pkts 0 leaves growth out.
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
    pub fn hw_native_queue_init(q: *mut Queue, link: *const LinkView);
    pub fn hw_native_enqueue(q: *mut Queue, link: *const LinkView, pkt: *const PacketView) -> u32;
    /// The number of sub-queues that the link has to hold; 0: the discipline decides when packets
    /// join.
    pub fn hw_native_held_queues(ops: *const QueueOps) -> u32;
    pub fn hw_native_classify(q: *mut Queue, link: *const LinkView, pkt: *const PacketView) -> u32;
    pub fn hw_native_choose(q: *mut Queue, link: *const LinkView, heads: *const u32) -> u32;
    pub fn hw_native_dequeue(
        q: *mut Queue,
        link: *const LinkView,
        pkt: *const PacketView,
        sojourn_ns: u64,
    ) -> u32;
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
        "routers" routers
        "fall_backs" fall_backs
        "app_limited" app_limited
        "mark_app_limited" mark_app_limited
        "lost_pkts" lost_pkts
        "pacing_wait_us" pacing_wait_us
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
        "acked_pkts" acked_pkts
        "prior_inflight_pkts" prior_inflight_pkts
        "random" random
        "is_app_limited" is_app_limited
        "is_retrans" is_retrans
        "is_ack_delayed" is_ack_delayed
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
        "tunables" tunables
        "header" header
        "init" init
        "control" control
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
    "hw_queue_ops" QueueOps {
        "name" name
        "title" title
        "source" source
        "state_bytes" state_bytes
        "n_tunables" n_tunables
        "tunables" tunables
        "init" init
        "enqueue" enqueue
        "dequeue" dequeue
        "n_queues" n_queues
        "classify" classify
        "choose" choose
    }
    "hw_counter" Counter {
        "name" name
        "unit" unit
        "meaning" meaning
        "times" times
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
        "tun" tun
        "state" state
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
