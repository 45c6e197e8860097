//! The TCP endpoint, modelled on Linux: one socket is one end of a connection,
//! with a sending and a receiving half. Sequence numbers are 64-bit stream
//! offsets; byte 0 is the SYN.

mod ack;
mod pacing;
pub mod profile;
mod quick_start;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
mod segmentation;
mod send;

use crate::net::packet::{flags, Packet, Sacks};
use crate::net::Net;
use crate::trace::record::NULL_U32;
use headway_algorithms::{CaState, Conn, ControlInstance, SSTHRESH_INFINITE};
use pacing::Pacing;
use profile::{Profile, DUPTHRESH};
use quick_start::{QuickStart, QuickStartFlags};
use receiver::{AckPlan, Receiver};
use rtt::Rtt;
use scoreboard::Scoreboard;

/// Ethernet's payload: the largest IP packet.
pub const MTU_BYTES: u32 = 1500;
/// IPv4 and TCP headers without options.
pub const HEADER_BYTES: u32 = 40;
/// The timestamp option with its padding.
pub const TIMESTAMP_BYTES: u32 = 12;
/// Largest send buffer (tcp_wmem).
const MAX_SEND_BUFFER_BYTES: u64 = 4 << 20;
pub use crate::scenario::limits::WINDOW_SHIFT;

/// Sender states as numbers, in the order of severity.
mod ca {
    use headway_algorithms::CaState;
    pub const OPEN: u8 = CaState::Open as u8;
    pub const DISORDER: u8 = CaState::Disorder as u8;
    pub const CWR: u8 = CaState::Cwr as u8;
    pub const RECOVERY: u8 = CaState::Recovery as u8;
    pub const LOSS: u8 = CaState::Loss as u8;
}

/// Life of a connection's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not opened, or done.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received, SYN-ACK sent.
    SynReceived,
    /// Open.
    Established,
}

/// A socket's timers; each has one deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Timer {
    /// Retransmission, tail loss probe or RACK reordering, see [`Pending`].
    Resend = 0,
    /// Delayed or compressed ACK.
    Ack = 1,
    /// Next paced transmission.
    Pace = 2,
}

/// What the resend timer is armed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    Rto,
    Probe,
    Reorder,
}

/// A timer's deadline and the one event that stands for it. Moving a deadline
/// later costs nothing: the event finds out when it fires.
#[derive(Clone, Copy, Debug)]
struct TimerSlot {
    deadline_ns: u64,
    scheduled_ns: u64,
}

const NEVER: u64 = u64::MAX;

/// What a flow asks of both its sockets.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// Offer SACK.
    pub sack: bool,
    /// Offer timestamps.
    pub timestamps: bool,
    /// Delay ACKs.
    pub delayed_ack: bool,
    /// Receive buffer at the start, if it is not the profile's.
    pub receive_buffer_bytes: Option<u64>,
    /// TCP_NODELAY.
    pub nodelay: bool,
    /// The application acts on what arrives.
    pub interactive: bool,
    /// As responder, an ACK with the scaled window follows the SYN-ACK.
    pub extra_ack: bool,
    /// Receive window from the start; None is the profile's.
    pub receive_window_bytes: Option<u64>,
    /// Highest Quick-Start rate code it takes as a receiver; 0: it does not answer.
    pub willing_code: u8,
    /// Codes by which it lies in its answers.
    pub inflates_codes: u8,
    /// It does not know the nonce that it answers with.
    pub forges_nonce: bool,
    /// Of the run.
    pub seed: u64,
}

/// Events for the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// The handshake is complete.
    pub established: bool,
    /// New in-order bytes arrived.
    pub delivered: bool,
}

/// State of RACK (RFC 8985).
#[derive(Clone, Debug, Default)]
struct Rack {
    /// Transmission time and end of the most recently sent packet that was delivered.
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

/// Counters of a socket.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Data packets sent.
    pub sent_pkts: u64,
    /// Of them, sent again.
    pub retransmits_pkts: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Reductions undone.
    pub undos: u64,
    /// Quick-Start requests sent.
    pub qs_requests: u64,
    /// Of them, granted.
    pub qs_grants: u64,
    /// Of the grants, those that the startup used: more than it had anyway.
    pub qs_used: u64,
    /// Answers that were found out to be lies.
    pub qs_lies: u64,
}

/// One end of a connection. With a thousand of them the time goes into bringing
/// their cache lines near, so fields stand in the order in which packets need them:
/// first what every packet does, then the receiving half, then the sending half,
/// last what only losses and the end of the run ask for.
#[repr(C)]
pub struct Socket {
    state: State,
    options: SocketOptions,
    fin_queued: bool,
    fin_sent: bool,
    /// This end's sending is what the flow's trace shows.
    pub recorded: bool,
    signals: Signals,
    fack: bool,
    cwnd_limited: bool,
    quick_start_flags: QuickStartFlags,
    /// When the last byte of what is written should have arrived; 0: no deadline.
    deadline_ns: u64,
    pending: Option<Pending>,
    id: u32,
    peer: u32,
    /// Flow it belongs to.
    pub flow: u32,
    route: u32,
    /// Largest payload of a data packet, timestamps taken off.
    pub mss: u32,
    /// Timestamp echo of the latest ACK.
    last_echo_ms: u32,
    snd_una: u64,
    snd_nxt: u64,
    /// Sequence number after the last byte the application wrote.
    write_end: u64,
    snd_wnd: u64,
    timers: [TimerSlot; 3],
    profile: &'static Profile,
    /// In-order application bytes received.
    pub delivered_bytes: u64,
    /// All that will come, where that is known.
    expected_bytes: u64,
    /// The peer sent a FIN.
    fin_received: Option<u64>,
    receiver: Receiver,

    board: Scoreboard,
    /// The congestion control's view; its cwnd and ssthresh are the socket's.
    pub conn: Conn,
    rtt: Rtt,
    rack: Rack,
    high_seq: u64,
    last_sent_ns: u64,
    /// End of the probed tail, 0 if no probe is out.
    tlp_high_seq: u64,
    usage_seq: u64,
    cwnd_stamp_ns: u64,
    /// When the first retransmission of the episode was sent; 0 if none.
    retrans_stamp_ns: u64,
    max_packets_out: u32,
    cwnd_used: u32,
    /// The send buffer has grown with it.
    largest_cwnd_pkts: u32,
    reordering: u32,
    prr_out: u32,
    undo_retrans: i32,
    /// Counters.
    pub counters: Counters,
    control: ControlInstance,

    /// Last small segment, for Nagle's rule as Minshall amended it.
    small_end: u64,
    undo_marker: Option<u64>,
    prior_ssthresh: u32,
    /// Proportional rate reduction.
    prior_cwnd: u32,
    prr_delivered: u32,
    /// RTOs since progress.
    retries: u32,
    tlp_retrans: bool,
    /// The startup has set cwnd as Recovery began, and leads it by ssthresh.
    startup_reduces: bool,
    pacing: Pacing,
    quick_start: Option<Box<QuickStart>>,
    syn_sent_ns: u64,
    /// SYN to SYN-ACK, once known.
    pub handshake_us: Option<u64>,
    /// When all that was expected had arrived.
    pub(crate) done_ns: Option<u64>,
    last_recorded: (u32, u32, u32, u32, u8),
}

impl Socket {
    /// A closed socket.
    pub fn new(
        id: u32,
        peer: u32,
        flow: u32,
        route: u32,
        profile: &'static Profile,
        options: SocketOptions,
        control: ControlInstance,
    ) -> Socket {
        let mss = MTU_BYTES
            - HEADER_BYTES
            - if options.timestamps {
                TIMESTAMP_BYTES
            } else {
                0
            };
        let conn = Conn {
            cwnd_pkts: profile.initial_cwnd_pkts,
            ssthresh_pkts: SSTHRESH_INFINITE,
            cwnd_clamp_pkts: u32::MAX >> 1,
            min_rtt_us: u32::MAX,
            mss_bytes: mss,
            counts_acks: u8::from(profile.counts_acks),
            header_bytes: MTU_BYTES - mss,
            ..Conn::default()
        };
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
            fin_received: None,
            snd_wnd: 0,
            small_end: 0,
            last_sent_ns: 0,
            board: Scoreboard::default(),
            conn,
            control,
            rtt: Rtt::new(profile.clock_us, profile.initial_rto_us),
            high_seq: 0,
            prior_ssthresh: 0,
            startup_reduces: false,
            undo_marker: None,
            undo_retrans: 0,
            retrans_stamp_ns: 0,
            last_echo_ms: 0,
            reordering: DUPTHRESH,
            fack: profile.detection == profile::Detection::Fack && options.sack,
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
            retries: 0,
            cwnd_limited: false,
            max_packets_out: 0,
            usage_seq: 0,
            cwnd_used: 0,
            largest_cwnd_pkts: profile.initial_cwnd_pkts,
            cwnd_stamp_ns: 0,
            pacing: Pacing::default(),
            quick_start: None,
            quick_start_flags: QuickStartFlags::default(),
            deadline_ns: 0,
            timers: [TimerSlot {
                deadline_ns: NEVER,
                scheduled_ns: NEVER,
            }; 3],
            syn_sent_ns: 0,
            receiver: Receiver::new(
                profile,
                mss,
                1,
                options.delayed_ack,
                options.receive_buffer_bytes,
                options.receive_window_bytes,
            ),
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

    /// What the application says before the connection opens: the rate of IP bits per
    /// second to start with, and whether it is all that is ever needed; how many bytes
    /// will be sent; 0 says nothing.
    pub fn announce(&mut self, initial_rate_bps: u64, stabilize: bool, volume_bytes: u64) {
        self.conn.asked_rate_bytes_per_s = initial_rate_bps / 8;
        self.conn.stabilize = u8::from(stabilize);
        self.conn.app_data_bytes = u32::try_from(volume_bytes).unwrap_or(u32::MAX);
    }

    /// When the last byte of what is about to be written should have arrived.
    pub fn set_deadline(&mut self, at_ns: u64) {
        self.deadline_ns = at_ns;
    }

    /// How many bytes the peer will send in all.
    pub(crate) fn expect(&mut self, bytes: u64) {
        self.expected_bytes = bytes;
    }

    /// When this end, which opened the connection, could send; None before.
    pub(crate) fn opened_ns(&self) -> Option<u64> {
        Some(self.syn_sent_ns + self.handshake_us? * 1000)
    }

    /// State of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Bytes the peer has acknowledged, SYN and FIN not counted.
    pub fn acked_bytes(&self) -> u64 {
        self.snd_una.saturating_sub(1).min(self.write_end - 1)
    }

    /// Distinct payload bytes handed to the network.
    pub fn unique_bytes(&self) -> u64 {
        self.snd_nxt.saturating_sub(1).min(self.write_end - 1)
    }

    /// The peer's FIN and all before it have arrived.
    pub(crate) fn fin_arrived(&self) -> bool {
        self.fin_received
            .is_some_and(|end| self.receiver.rcv_nxt >= end)
    }

    /// This end's FIN and all before it have been acknowledged.
    pub(crate) fn fin_acked(&self) -> bool {
        self.fin_sent && self.snd_una == self.snd_nxt
    }

    /// Smoothed RTT, if there was a sample.
    pub fn srtt_us(&self) -> Option<u32> {
        (self.rtt.srtt_us() != 0).then(|| self.rtt.srtt_us() as u32)
    }

    /// Smallest RTT, if there was a sample.
    pub fn min_rtt_us(&self) -> Option<u32> {
        (self.rtt.min_us != u32::MAX).then_some(self.rtt.min_us)
    }

    /// What happened since the last call that the application should know, if it
    /// cares.
    pub fn take_signals(&mut self) -> Option<Signals> {
        let signals = std::mem::take(&mut self.signals);
        let news = signals.established || signals.delivered;
        (self.options.interactive && news).then_some(signals)
    }

    /// Waits for a SYN.
    pub fn listen(&mut self) {
        self.state = State::Listen;
    }

    /// Sends the SYN.
    pub fn connect(&mut self, net: &mut Net) {
        self.state = State::SynSent;
        self.send_syn(net);
    }

    fn send_syn(&mut self, net: &mut Net) {
        self.syn_sent_ns = net.now_ns;
        if self.snd_nxt == 0 {
            self.quick_start_opens(net);
        } else if self.quick_start.is_some() {
            self.request_was_lost(net, true);
        }
        self.snd_nxt = 1;
        let flags = if self.state == State::SynSent {
            flags::SYN
        } else {
            flags::SYN | flags::ACK
        };
        // MSS, SACK permitted, timestamps and window scale: 20 bytes with padding.
        let options = 4
            + if self.options.timestamps { 10 } else { 0 }
            + if self.options.sack { 2 } else { 0 }
            + 4;
        let ack = if self.state == State::SynSent {
            0
        } else {
            self.receiver.rcv_nxt
        };
        let syn = Packet {
            seq: 0,
            ack,
            ip_bytes: HEADER_BYTES + (options as u32).div_ceil(4) * 4,
            flags,
            // The window of a SYN is not scaled.
            window_bytes: self.receiver.initial_window_bytes().min(65_535) as u32,
            ts_val_ms: self.timestamp(net),
            ts_ecr_ms: self.receiver.ts_recent_ms,
            sack_permitted: self.options.sack,
            ..self.blank(net)
        };
        if self.quick_start_flags.due {
            self.send_with_options(net, syn, &Sacks::default());
        } else {
            net.send(syn, &Sacks::default());
        }
        let mut rto_us = self.rtt.rto_us();
        if self.quick_start_flags.waits {
            rto_us = rto_us.max(quick_start::SYN_RTO_US);
        }
        self.arm(net, Timer::Resend, net.now_ns + rto_us * 1000);
        self.pending = Some(Pending::Rto);
    }

    /// Addressing that all packets of this socket share.
    fn blank(&self, net: &Net) -> Packet {
        Packet {
            to: self.peer,
            flow: self.flow,
            route: self.route,
            sent_ns: net.now_ns,
            ..Packet::default()
        }
    }

    /// The timestamp clock: milliseconds, never 0 where the option is on.
    fn timestamp(&self, net: &Net) -> u32 {
        if self.options.timestamps {
            (net.now_ns / 1_000_000) as u32 + 1
        } else {
            0
        }
    }

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

    /// Sends what may be sent now.
    pub fn pump(&mut self, net: &mut Net) {
        if self.state == State::Established {
            self.after_idle(net);
            self.push_pending(net);
            self.record(net);
        }
    }

    /// A packet has arrived for this socket.
    pub fn on_packet(&mut self, net: &mut Net, p: &Packet, sacks: &Sacks) {
        if p.rare != 0 || self.quick_start_flags.waits {
            self.quick_start_arrived(net, p);
        }
        if self.state != State::Established {
            if !self.shake_hands(net, p) {
                return;
            }
        } else if p.flags & flags::SYN != 0 {
            // The peer missed our ACK of its SYN-ACK.
            self.send_ack(net);
            return;
        }
        self.receiver.note_timestamp(p.seq, p.ts_val_ms);
        self.on_ack(net, p, sacks);
        if p.payload_bytes > 0 || p.flags & flags::FIN != 0 {
            self.on_data(net, p);
        }
        self.push_pending(net);
        self.acknowledge_if_owed(net);
        self.record(net);
    }

    /// A packet before the connection is established. Returns whether it is now, and
    /// the packet may carry more.
    #[cold]
    fn shake_hands(&mut self, net: &mut Net, p: &Packet) -> bool {
        match self.state {
            State::Closed | State::Established => false,
            State::Listen => {
                if p.flags & flags::SYN != 0 {
                    self.receiver.ts_recent_ms = p.ts_val_ms;
                    self.snd_wnd = u64::from(p.window_bytes);
                    self.state = State::SynReceived;
                    self.send_syn(net);
                    if self.options.extra_ack {
                        self.send_ack(net);
                    }
                }
                false
            }
            State::SynSent => {
                if p.flags & (flags::SYN | flags::ACK) == flags::SYN | flags::ACK {
                    self.established(net, p);
                    if self.snd_nxt < self.write_end {
                        self.transmission_starts(net, 0);
                    }
                    self.send_ack(net);
                    self.push_pending(net);
                    self.record(net);
                }
                false
            }
            State::SynReceived => {
                if p.flags & flags::SYN != 0 {
                    self.send_syn(net);
                    return false;
                }
                if p.ack < 1 {
                    return false;
                }
                self.established(net, p);
                true
            }
        }
    }

    fn established(&mut self, net: &mut Net, p: &Packet) {
        let sample_us = (net.now_ns - self.syn_sent_ns) / 1000;
        if self.state == State::SynSent {
            self.handshake_us = Some(sample_us);
        }
        self.state = State::Established;
        self.snd_una = 1;
        self.snd_wnd = u64::from(p.window_bytes);
        self.receiver.ts_recent_ms = p.ts_val_ms;
        self.disarm(Timer::Resend);
        self.pending = None;
        if self.retries == 0 {
            self.take_rtt_sample(sample_us);
        } else if !self.profile.counts_acks && self.retries > 1 {
            // 6.1 tcp_init_transfer forgives one lost SYN, now that it waits 1 s only.
            self.conn.cwnd_pkts = 1;
        }
        self.retries = 0;
        self.rtt.end_backoff();
        self.cwnd_stamp_ns = net.now_ns;
        self.last_sent_ns = net.now_ns;
        self.refresh(net);
        self.control.init(&mut self.conn);
        self.signals.established = true;
    }

    fn take_rtt_sample(&mut self, sample_us: u64) {
        self.rtt.sample(sample_us, self.snd_una, self.snd_nxt);
        self.conn.srtt_us = self.rtt.srtt_us() as u32;
        self.note_min_rtt(sample_us);
    }

    fn note_min_rtt(&mut self, sample_us: u64) {
        let sample_us = u32::try_from(sample_us).unwrap_or(u32::MAX).max(1);
        self.rtt.min_us = self.rtt.min_us.min(sample_us);
        self.conn.min_rtt_us = self.rtt.min_us;
    }

    fn on_data(&mut self, net: &mut Net, p: &Packet) {
        let fin = p.flags & flags::FIN != 0;
        let len = p.payload_bytes + u32::from(fin);
        if fin {
            self.fin_received = Some(p.seq + u64::from(len));
        }
        let full = p.payload_bytes >= self.mss;
        let rtt_us = (full && p.ts_ecr_ms != 0)
            .then(|| u64::from(self.timestamp(net).saturating_sub(p.ts_ecr_ms)) * 1000);
        let (bytes, plan) = self.receiver.on_segment(
            net.now_ns,
            p.seq,
            len,
            p.flags & flags::PSH != 0,
            rtt_us,
            &self.rtt,
        );
        if bytes > 0 {
            self.delivered_bytes = self.receiver.rcv_nxt - 1 - u64::from(self.fin_arrived());
            self.signals.delivered = true;
            if self.delivered_bytes == self.expected_bytes {
                self.done_ns.get_or_insert(net.now_ns);
            }
        }
        match plan {
            AckPlan::Now => self.ack_owed_now(net),
            AckPlan::DelayUntil(at_ns) => self.arm(net, Timer::Ack, at_ns),
            AckPlan::CompressUntil(at_ns) => {
                let armed_ns = self.timers[Timer::Ack as usize].deadline_ns;
                self.arm(net, Timer::Ack, at_ns.min(armed_ns));
            }
        }
    }

    /// One of this socket's timer events has come up.
    pub fn on_timer(&mut self, net: &mut Net, number: u32) {
        let slot = &mut self.timers[number as usize];
        if slot.scheduled_ns != net.now_ns {
            return;
        }
        slot.scheduled_ns = NEVER;
        if slot.deadline_ns > net.now_ns {
            if slot.deadline_ns != NEVER {
                let at_ns = slot.deadline_ns;
                slot.scheduled_ns = at_ns;
                net.set_timer(at_ns, self.id, number);
            }
            return;
        }
        slot.deadline_ns = NEVER;
        match number {
            0 => self.resend_timer_fired(net),
            1 => {
                if self.receiver.owes_ack() {
                    self.receiver.delack_fired(self.rtt.rto_us());
                    self.send_ack(net);
                }
            }
            _ => self.push_pending(net),
        }
        self.record(net);
    }

    fn arm(&mut self, net: &mut Net, timer: Timer, at_ns: u64) {
        let slot = &mut self.timers[timer as usize];
        slot.deadline_ns = at_ns;
        if at_ns < slot.scheduled_ns {
            slot.scheduled_ns = at_ns;
            net.set_timer(at_ns, self.id, timer as u32);
        }
    }

    fn disarm(&mut self, timer: Timer) {
        self.timers[timer as usize].deadline_ns = NEVER;
    }

    /// Tells the congestion control what it may know now.
    #[inline]
    fn refresh(&mut self, net: &Net) {
        self.conn.now_us = net.now_ns / 1000;
        self.conn.snd_una = self.snd_una as u32;
        self.conn.snd_nxt = self.snd_nxt as u32;
        self.conn.inflight_pkts = self.board.in_flight();
        self.conn.app_queued_bytes =
            u32::try_from(self.write_end.saturating_sub(self.snd_nxt.max(1))).unwrap_or(u32::MAX);
        self.conn.peer_window_bytes = self.snd_wnd as u32;
        self.conn.sent_pkts = self.counters.sent_pkts as u32;
        self.conn.retrans_pkts = self.counters.retransmits_pkts as u32;
        if self.deadline_ns > 0 {
            let left_us = self.deadline_ns.saturating_sub(net.now_ns) / 1000;
            self.conn.deadline_us = u32::try_from(left_us).unwrap_or(u32::MAX).max(1);
        }
    }

    fn set_ca_state(&mut self, net: &Net, state: CaState) {
        if self.conn.ca_state != state as u8 {
            self.refresh(net);
            self.control.set_state(&mut self.conn, state);
        }
    }

    /// Writes the sender's state to the trace if it changed.
    #[inline]
    fn record(&mut self, net: &mut Net) {
        if !self.recorded || !net.follows_senders {
            return;
        }
        let ssthresh = match self.conn.ssthresh_pkts {
            SSTHRESH_INFINITE => NULL_U32,
            pkts => pkts,
        };
        let srtt = self.srtt_us().unwrap_or(NULL_U32);
        let state = (
            self.conn.cwnd_pkts,
            ssthresh,
            srtt,
            self.board.in_flight(),
            self.conn.ca_state,
        );
        if state != self.last_recorded {
            self.last_recorded = state;
            if let Some(digest) = &mut net.digest {
                digest.state(self.flow, net.now_ns, state.0, state.1, state.2);
            }
            if !net.record.flows {
                return;
            }
            let now_ns = net.now_ns as i64;
            net.tables.flow_state.push(
                self.flow, now_ns, state.0, state.1, state.2, state.3, state.4,
            );
        }
    }

    /// Every internal relation that must hold between events; for tests.
    pub fn check_invariants(&self) -> Result<(), String> {
        if self.conn.cwnd_pkts < 1 {
            return Err(format!("flow {}: cwnd is 0", self.flow));
        }
        if !self.board.is_consistent(self.options.sack) {
            return Err(format!(
                "flow {}: the scoreboard's counts disagree with its marks",
                self.flow
            ));
        }
        let armed = self.timers[Timer::Resend as usize].deadline_ns != NEVER;
        if self.state == State::Established && self.board.packets_out() > 0 && !armed {
            return Err(format!(
                "flow {}: data is outstanding and no timer runs",
                self.flow
            ));
        }
        for slot in &self.timers {
            if slot.deadline_ns < slot.scheduled_ns {
                return Err(format!("flow {}: a timer has lost its event", self.flow));
            }
        }
        Ok(())
    }
}
