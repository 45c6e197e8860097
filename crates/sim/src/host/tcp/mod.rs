//! The TCP endpoint, modelled on Linux. A socket is one end of a connection and has a sending and a
//! receiving half. Sequence numbers are 64-bit stream offsets; byte 0 is the SYN.

pub mod accurate_ecn;
mod ack;
mod ack_info;
mod agree;
mod arrival;
mod ecn;
mod first_flight;
mod handshake;
mod headers;
mod info;
mod limited;
mod observe;
mod options;
mod pacing;
mod path_mtu;
mod persist;
pub mod profile;
mod quick_start;
mod rate;
mod reader;
mod receiver;
mod recovery;
mod rtt;
mod rules;
mod scoreboard;
mod segmentation;
mod send;
mod sizes;
mod state;
mod tail_probe;
pub(crate) mod ticks;
mod timers;
mod validation;
mod writer;

use crate::net::packet::Packet;
use crate::net::Net;
pub use agree::Offer;
use headway_algorithms::{CaState, Conn, ControlInstance, StartupInfo, SSTHRESH_INFINITE};
pub use info::Info;
use limited::Limited;
pub use limited::LimitedTime;
pub use options::SocketOptions;
use profile::{Profile, DUPTHRESH};
pub(crate) use quick_start::{route_mtu_bytes, PROTOCOL};
pub(crate) use receiver::window_scale;
use receiver::Receiver;
use rtt::{rto_min_us, Rtt};
pub use rules::HostRules;
use scoreboard::Scoreboard;
pub use sizes::{HEADER_BYTES, MTU_BYTES, TIMESTAMP_BYTES};
pub(crate) use state::Pending;
use state::{
    Carried, EcnFlags, FirstFlight, Pacing, QuickStart, QuickStartFlags, Rates, SendBuffer,
    TimerSlot, NEVER,
};
pub use state::{Counters, FirstFlights, Reading, Timer, RATE_INTERVAL_NS};

/// Sender states as numbers, in the order of severity.
mod ca {
    use headway_algorithms::CaState;
    pub const OPEN: u8 = CaState::Open as u8;
    pub const DISORDER: u8 = CaState::Disorder as u8;
    pub const CWR: u8 = CaState::Cwr as u8;
    pub const RECOVERY: u8 = CaState::Recovery as u8;
    pub const LOSS: u8 = CaState::Loss as u8;
}

/// State of a connection's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The connection is not opened, or closed.
    Closed,
    /// Waits for a SYN (LISTEN).
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received, SYN-ACK sent.
    SynReceived,
    /// Open.
    Established,
}

/// Events at a socket since its application last read them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// The handshake is complete.
    pub established: bool,
    /// New in-order bytes arrived.
    pub delivered: bool,
    /// The send buffer has room again.
    pub writable: bool,
}

/// State of RACK (RFC 8985).
#[derive(Clone, Debug, Default)]
struct Rack {
    /// Of the delivered packet that was sent last: its transmission time and the sequence number
    /// after it.
    sent_ns: u64,
    end_seq: u64,
    rtt_us: u64,
    advanced: bool,
    reordering_seen: bool,
    steps: u32,
    persist: u32,
    dsack_seen: bool,
    last_delivered: u64,
}

/// One end of a connection. With a thousand sockets, cache misses take most of the time. The fields
/// are therefore ordered by use: first what every packet needs, then the receiving half, then the
/// sending half, last what only losses and the end of the run need.
#[repr(C, align(64))]
pub struct Socket {
    options: SocketOptions,
    state: State,
    fin_queued: bool,
    fin_sent: bool,
    /// Whether the last data packet carries the FIN.
    fin_with_last_data: bool,
    /// The application closes its end only when the peer has acknowledged all data.
    closes_when_acked: bool,
    /// The writer waits for room in the send buffer (SOCK_NOSPACE).
    writer_waits: bool,
    /// Whether the flow's trace records what this end sends.
    pub recorded: bool,
    signals: Signals,
    fack: bool,
    cwnd_limited: bool,
    /// Whether RACK detects losses: the stack profile has it and SACK is on.
    uses_rack: bool,
    /// Whether tail loss probes are sent.
    probes: bool,
    /// Whether the control uses rate samples and sets cwnd itself. `rates` is then set.
    takes_samples: bool,
    /// Whether the control reads the values that the first link of the path publishes.
    reads_monitor: bool,
    /// Whether the control is told of every lost packet.
    follows_losses: bool,
    /// Whether the stack sends several packets as one large segment (segmentation offload).
    sends_large: bool,
    /// Whether the control or the startup paces whole large segments, as Linux does.
    paces_segments: bool,
    /// The startup may begin with a first flight.
    starts_fast: bool,
    /// Whether the startup may send requests to routers in its packets.
    asks_path: bool,
    /// Number of packets of the large segment with which a transmission starts; 0: that segment
    /// has been sent.
    starting_pkts: u32,
    quick_start_flags: QuickStartFlags,
    ecn: EcnFlags,
    /// State of the protocol header that the socket's control sends, or in which the socket returns
    /// feedback; most sockets have none.
    carried: Option<Box<Carried>>,
    /// Deadline for the last byte of the written data; 0: none.
    deadline_ns: u64,
    pending: Option<Pending>,
    id: u32,
    peer: u32,
    /// The socket's flow.
    pub flow: u32,
    route: u32,
    /// Largest payload of a data packet if it has no timestamp option.
    pub mss: u32,
    /// Timestamp echo of the latest ACK that arrived.
    last_echo_ms: u32,
    snd_una: u64,
    snd_nxt: u64,
    /// Sequence number after the last byte in the send buffer.
    write_end: u64,
    snd_wnd: u64,
    timers: [TimerSlot; 3],
    /// When the retransmission timer was armed, if its deadline must still be rounded to ticks;
    /// otherwise NEVER.
    retransmit_armed_ns: u64,
    /// Time from the start of a millisecond of the timestamp clock to time 0.
    clock_offset_ns: u64,
    profile: &'static Profile,
    /// Number of application bytes that were received in order.
    pub delivered_bytes: u64,
    /// Number of bytes that the peer will send in total, if known.
    expected_bytes: u64,
    /// Sequence number after the peer's FIN, if the FIN has arrived.
    fin_received: Option<u64>,
    receiver: Receiver,

    board: Scoreboard,
    /// State that the socket shares with the congestion control, for example cwnd and ssthresh.
    pub conn: Conn,
    rtt: Rtt,
    rack: Rack,
    high_seq: u64,
    last_sent_ns: u64,
    /// Sequence number after the data that a tail loss probe covers; 0 if no probe is in flight.
    tlp_high_seq: u64,
    usage_seq: u64,
    cwnd_stamp_ns: u64,
    /// When the first retransmission of the current loss episode was sent; 0: none.
    retrans_stamp_ns: u64,
    max_packets_out: u32,
    cwnd_used: u32,
    reordering: u32,
    buffer: SendBuffer,
    prr_out: u32,
    undo_retrans: i32,
    /// Counters.
    pub counters: Counters,
    control: ControlInstance,

    /// Sequence number after the last small segment, for Nagle's rule with Minshall's change.
    small_end: u64,
    undo_marker: Option<u64>,
    prior_ssthresh: u32,
    /// Proportional rate reduction.
    prior_cwnd: u32,
    prr_delivered: u32,
    /// Number of zero-window probes sent since the peer's window closed.
    persist_backoff: u8,
    /// Number of retransmission timeouts in a row, without progress between them.
    retries: u32,
    tlp_retrans: bool,
    /// Whether F-RTO is checking the last timeout.
    frto: bool,
    /// Whether the startup set cwnd when Recovery began. The startup then controls cwnd through
    /// ssthresh.
    startup_reduces: bool,
    pacing: Pacing,
    rates: Option<Box<Rates>>,
    quick_start: Option<Box<QuickStart>>,
    first_flight: Option<Box<FirstFlight>>,
    pub(crate) limited: Limited,
    /// When the control was last told that a transmission starts.
    start_told_ns: u64,
    syn_sent_ns: u64,
    /// Timestamp of the first SYN or SYN-ACK sent.
    first_syn_ms: u32,
    /// Time from SYN to SYN-ACK, once known.
    pub handshake_us: Option<u64>,
    /// When the application had read all bytes that it expects.
    pub(crate) done_ns: Option<u64>,
    last_recorded: (u32, u32, u32, u32, u8),
}

impl Socket {
    /// Creates a closed socket.
    pub fn new(
        id: u32,
        peer: u32,
        flow: u32,
        route: u32,
        profile: &'static Profile,
        options: SocketOptions,
        control: ControlInstance,
    ) -> Socket {
        let own = control.header();
        let mss = options.segment_bytes() - own.map_or(0, |own| u32::from(own.wire_bytes));
        let conn = Conn {
            cwnd_pkts: options
                .rules
                .initcwnd_pkts
                .unwrap_or(profile.initial_cwnd_pkts),
            ssthresh_pkts: SSTHRESH_INFINITE,
            cwnd_clamp_pkts: u32::MAX >> 1,
            min_rtt_us: u32::MAX,
            mss_bytes: mss,
            counts_acks: u8::from(profile.counts_acks),
            header_bytes: options.mtu_bytes - mss,
            sack: u8::from(options.sack),
            ..Conn::default()
        };
        let starts_fast = control.startup().is_some_and(|startup| startup.paces);
        Socket {
            id,
            peer,
            flow,
            route,
            profile,
            recorded: false,
            state: State::Closed,
            mss,
            snd_una: 0,
            snd_nxt: 0,
            write_end: 1,
            fin_queued: false,
            fin_sent: false,
            fin_with_last_data: false,
            closes_when_acked: false,
            writer_waits: false,
            buffer: SendBuffer::new(profile, &options),
            fin_received: None,
            snd_wnd: 0,
            small_end: 0,
            last_sent_ns: 0,
            board: Scoreboard::default(),
            conn,
            rtt: Rtt::new(
                profile.clock_us,
                profile.initial_rto_us,
                rto_min_us(profile, options.rules.rto_min_us),
            ),
            high_seq: 0,
            prior_ssthresh: 0,
            startup_reduces: false,
            undo_marker: None,
            undo_retrans: 0,
            retrans_stamp_ns: 0,
            last_echo_ms: 0,
            reordering: DUPTHRESH,
            fack: profile.detection == profile::Detection::Fack && options.sack,
            uses_rack: profile.detection == profile::Detection::RackTlp && options.sack,
            probes: profile.detection == profile::Detection::RackTlp
                && options.sack
                && options.rules.probes,
            prior_cwnd: 0,
            prr_delivered: 0,
            prr_out: 0,
            rack: Rack {
                steps: 1,
                ..Rack::default()
            },
            pending: None,
            tlp_high_seq: 0,
            tlp_retrans: false,
            frto: false,
            retries: 0,
            persist_backoff: 0,
            cwnd_limited: false,
            max_packets_out: 0,
            usage_seq: 0,
            cwnd_used: 0,
            cwnd_stamp_ns: 0,
            takes_samples: control.control().takes_samples,
            reads_monitor: control.control().reads_monitor,
            follows_losses: control.control().follows_losses,
            rates: control
                .control()
                .takes_samples
                .then(|| Box::new(Rates::new(options.seed, route))),
            // The device takes packets one by one (gso_max_segs 1), because each packet has its own
            // protocol header.
            sends_large: profile.segments_are_large && own.is_none(),
            paces_segments: profile.segments_are_large
                && (control.control().flags.paces() || starts_fast),
            starts_fast,
            asks_path: control.startup().is_some_and(StartupInfo::opens),
            starting_pkts: 0,
            ecn: EcnFlags::of(control.control().flags, profile),
            carried: Carried::of(&control, profile),
            control,
            pacing: Pacing::default(),
            quick_start: None,
            first_flight: None,
            limited: Limited::default(),
            quick_start_flags: QuickStartFlags::default(),
            start_told_ns: NEVER,
            deadline_ns: 0,
            timers: [TimerSlot {
                deadline_ns: NEVER,
                scheduled_ns: NEVER,
            }; 3],
            retransmit_armed_ns: NEVER,
            clock_offset_ns: if profile.ticks {
                ticks::drawn(options.seed)
            } else {
                0
            },
            syn_sent_ns: 0,
            first_syn_ms: 0,
            receiver: Receiver::new(profile, mss, 1, &options),
            options,
            delivered_bytes: 0,
            expected_bytes: u64::MAX,
            counters: Counters::default(),
            handshake_us: None,
            done_ns: None,
            signals: Signals::default(),
            last_recorded: (0, 0, 0, 0, 255),
        }
    }

    /// Asks the processor to load the cache lines that most events of a socket need: those of the
    /// receiving half, the scoreboard, and what the control reads.
    #[inline(always)]
    pub fn prefetch(&self) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
            use std::mem::offset_of;
            const LINE_BYTES: usize = 64;
            let start = std::ptr::from_ref(self).cast::<i8>();
            for at in (offset_of!(Socket, state)..offset_of!(Socket, rtt)).step_by(LINE_BYTES) {
                // SAFETY: a prefetch reads nothing that the program can see, and the address is in
                // this socket.
                unsafe { _mm_prefetch(start.wrapping_add(at), _MM_HINT_T0) };
            }
        }
    }

    /// Stores what the application announces before the connection opens: its initial rate in IP
    /// bits per second, whether it never needs more, and the bytes that it will send. 0 means not
    /// announced.
    pub fn announce(&mut self, initial_rate_bps: u64, stabilize: bool, volume_bytes: u64) {
        self.conn.asked_rate_bytes_per_s = initial_rate_bps / 8;
        self.conn.stabilize = u8::from(stabilize);
        self.conn.app_data_bytes = u32::try_from(volume_bytes).unwrap_or(u32::MAX);
    }

    /// Sets the deadline for the last byte of the next write.
    pub fn set_deadline(&mut self, at_ns: u64) {
        self.deadline_ns = at_ns;
    }

    /// Sets how many bytes the peer will send in total.
    pub(crate) fn expect(&mut self, bytes: u64) {
        self.expected_bytes = bytes;
    }

    /// State of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns and clears the events since the last call, if the application wants them.
    #[inline(always)]
    pub fn take_signals(&mut self) -> Option<Signals> {
        if !self.options.interactive {
            return None;
        }
        let signals = std::mem::take(&mut self.signals);
        let news = signals.established || signals.delivered || signals.writable;
        news.then_some(signals)
    }

    /// Returns a packet with the fields that all packets of this socket share.
    fn blank(&self, net: &Net) -> Packet {
        Packet {
            to: self.peer,
            flow: self.flow,
            route: self.route,
            sent_ns: net.now_ns,
            ..Packet::default()
        }
    }

    /// The timestamp clock in milliseconds; never 0 if the option is on.
    fn timestamp(&self, net: &Net) -> u32 {
        if self.options.timestamps {
            self.stamp_ms(net.now_ns)
        } else {
            0
        }
    }

    /// A time on the timestamp clock, as the peer echoes it.
    fn stamp_ms(&self, time_ns: u64) -> u32 {
        ((time_ns + self.clock_offset_ns) / 1_000_000) as u32 + 1
    }

    /// Sends all data that the windows allow now.
    pub fn pump(&mut self, net: &mut Net) {
        if self.state == State::Established {
            self.after_idle(net);
            self.run_writer(net);
            self.push_pending(net);
            self.continue_woken_writer(net);
            self.record(net);
        }
    }

    /// Adds an RTT sample to the estimates of the socket and of its control.
    fn take_rtt_sample(&mut self, sample_us: u64) {
        self.rtt.sample(sample_us, self.snd_una, self.snd_nxt);
        self.conn.srtt_us = self.rtt.srtt_us() as u32;
        self.note_min_rtt(sample_us);
    }

    /// Lowers the minimum RTT if this sample is smaller.
    fn note_min_rtt(&mut self, sample_us: u64) {
        let sample_us = u32::try_from(sample_us).unwrap_or(u32::MAX).max(1);
        self.rtt.min_us = self.rtt.min_us.min(sample_us);
        self.conn.min_rtt_us = self.rtt.min_us;
    }

    /// Updates the values that the congestion control can read.
    #[inline]
    fn refresh(&mut self, net: &Net) {
        self.conn.now_us = net.now_ns / 1000;
        self.conn.snd_una = self.snd_una as u32;
        self.conn.snd_nxt = self.snd_nxt as u32;
        self.conn.inflight_pkts = self.board.in_flight();
        // a program at the writes tells only fast startups of the rest of a write
        let queued = if self.starts_fast {
            self.app_unsent_bytes()
        } else {
            self.unsent_bytes()
        };
        self.conn.app_queued_bytes = u32::try_from(queued).unwrap_or(u32::MAX);
        self.conn.peer_window_bytes = self.snd_wnd as u32;
        self.conn.sent_pkts = self.counters.sent_pkts as u32;
        self.conn.retrans_pkts = self.counters.retransmits_pkts as u32;
        if self.deadline_ns > 0 {
            let left_us = self.deadline_ns.saturating_sub(net.now_ns) / 1000;
            self.conn.deadline_us = u32::try_from(left_us).unwrap_or(u32::MAX).max(1);
        }
        if self.takes_samples {
            self.refresh_rates(net);
        }
    }

    /// Passes the values that the first link of the path publishes to the control.
    #[inline(never)]
    fn read_monitor(&mut self, net: &Net) {
        if let Some(monitor) = net.monitor(self.route) {
            self.refresh(net);
            self.control.on_monitor(&mut self.conn, &monitor);
        }
    }

    fn set_ca_state(&mut self, net: &Net, state: CaState) {
        if self.conn.ca_state != state as u8 {
            self.refresh(net);
            self.control.set_state(&mut self.conn, state);
        }
    }
}
