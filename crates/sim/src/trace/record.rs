//! What a run leaves behind: columns, each ending in its unit.

use crate::host::tcp::FirstFlights;
use headway_algorithms::RouterInfo;
use serde::Serialize;
use std::collections::BTreeMap;

/// "Infinite" or "unknown" in a u32 column.
pub const NULL_U32: u32 = u32::MAX;

macro_rules! table {
    ($(#[$meta:meta])* $name:ident { $($(#[$cmeta:meta])* $column:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name { $($(#[$cmeta])* pub $column: Vec<$type>),* }

        impl $name {
            /// Appends a row.
            #[allow(clippy::too_many_arguments)]
            pub fn push(&mut self, $($column: $type),*) {
                $(self.$column.push($column);)*
            }

            /// Memory of its rows.
            pub fn bytes(&self) -> usize {
                0 $(+ self.$column.len() * size_of::<$type>())*
            }
        }

        impl Columns for $name {
            fn columns(self) -> Vec<(&'static str, Column)> {
                vec![$((stringify!($column), Column::from(self.$column))),*]
            }
        }
    };
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Small codes.
    U8(Vec<u8>),
    /// Numbers and counts.
    U32(Vec<u32>),
    /// Counters.
    U64(Vec<u64>),
    /// Times.
    I64(Vec<i64>),
}

impl Column {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::U8(v) => v.len(),
            Column::U32(v) => v.len(),
            Column::U64(v) => v.len(),
            Column::I64(v) => v.len(),
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<Vec<u8>> for Column {
    fn from(v: Vec<u8>) -> Self {
        Column::U8(v)
    }
}
impl From<Vec<u32>> for Column {
    fn from(v: Vec<u32>) -> Self {
        Column::U32(v)
    }
}
impl From<Vec<u64>> for Column {
    fn from(v: Vec<u64>) -> Self {
        Column::U64(v)
    }
}
impl From<Vec<i64>> for Column {
    fn from(v: Vec<i64>) -> Self {
        Column::I64(v)
    }
}

/// A table as named columns.
pub trait Columns {
    /// Gives the columns away, in their declared order.
    fn columns(self) -> Vec<(&'static str, Column)>;
}

table! {
    /// Sender state, one row per change.
    FlowState {
        /// Flow number.
        flow: u32,
        /// When.
        time_ns: i64,
        /// Congestion window.
        cwnd_pkts: u32,
        /// [`NULL_U32`] before the first congestion event.
        ssthresh_pkts: u32,
        /// [`NULL_U32`] before the first sample.
        srtt_us: u32,
        /// The stack's estimate.
        inflight_pkts: u32,
        /// 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
        state: u8,
    }
}

table! {
    /// Queue length, one row per change.
    Queue {
        /// Link number.
        link: u32,
        /// When.
        time_ns: i64,
        /// Waiting and in transmission.
        queue_bytes: u32,
        /// Waiting and in transmission.
        queue_pkts: u32,
    }
}

table! {
    /// Packets that a link did not carry.
    Drops {
        /// Link number.
        link: u32,
        /// When.
        time_ns: i64,
        /// Whose packet.
        flow: u32,
        /// Its size.
        ip_bytes: u32,
        /// 0 queue full, 1 random loss, 2 early drop, 3 IP options, 4 a SYN that asked
        /// for ECN.
        reason: u8,
    }
}

table! {
    /// Queue-full events: from the first packet that found no room until one is accepted again.
    QueueFull {
        /// Link number.
        link: u32,
        /// First drop.
        start_ns: i64,
        /// Next accepted packet, or the end of the run.
        end_ns: i64,
        /// Drops between them.
        dropped_pkts: u32,
    }
}

table! {
    /// One row per datagram.
    Udp {
        /// Flow number.
        flow: u32,
        /// When it was sent.
        sent_ns: i64,
        /// One-way delay, -1 when it was lost.
        owd_ns: i64,
    }
}

table! {
    /// Congestion-induced reductions of a sender, and undone ones.
    Backoffs {
        /// Flow number.
        flow: u32,
        /// When.
        time_ns: i64,
        /// 0 recovery, 1 retransmission timeout, 2 CWR, 3 undo.
        kind: u8,
        /// Before.
        cwnd_pkts: u32,
        /// After.
        ssthresh_pkts: u32,
    }
}

table! {
    /// Counters of every flow at every checkpoint and at the end.
    FlowCounters {
        /// Checkpoint.
        time_ns: i64,
        /// Flow number.
        flow: u32,
        /// New in-order bytes that the receiver's application has read.
        delivered_bytes: u64,
        /// Bytes acknowledged at the sender.
        acked_bytes: u64,
        /// Data packets sent, retransmissions included.
        sent_pkts: u64,
        /// Data packets sent again.
        retransmits_pkts: u64,
        /// Retransmission timeouts.
        rtos: u64,
    }
}

table! {
    /// Counters of every recorded link at every checkpoint and at the end.
    LinkCounters {
        /// Checkpoint.
        time_ns: i64,
        /// Link number.
        link: u32,
        /// Offered.
        arrived_pkts: u64,
        /// Offered.
        arrived_bytes: u64,
        /// Completely transmitted.
        sent_pkts: u64,
        /// Completely transmitted.
        sent_bytes: u64,
        /// Lost or dropped.
        dropped_pkts: u64,
        /// Lost or dropped.
        dropped_bytes: u64,
        /// Integral of the queue's length, bytes times microseconds.
        queue_byte_us: u64,
    }
}

table! {
    /// Completed requests.
    Responses {
        /// Flow number.
        flow: u32,
        /// Number of the epoch or message.
        epoch: u32,
        /// When the request was handed to TCP.
        start_ns: i64,
        /// When the response had arrived completely.
        end_ns: i64,
    }
}

table! {
    /// What routers told, by the declarations of their algorithms.
    RouterEvents {
        /// Link number.
        link: u32,
        /// When.
        time_ns: i64,
        /// Of whose packet; [`NULL_U32`]: of none.
        flow: u32,
        /// Index into [`Summary::routers`].
        algorithm: u8,
        /// Index into its events.
        name: u8,
        /// In the event's unit.
        value: u64,
    }
}

table! {
    /// Counters of every router at every checkpoint and at the end.
    RouterCounters {
        /// Checkpoint.
        time_ns: i64,
        /// Link number.
        link: u32,
        /// Index into [`Summary::routers`].
        algorithm: u8,
        /// Index into its counters.
        name: u8,
        /// In the counter's unit.
        value: u64,
    }
}

/// Every table of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Nothing is to be added: no trace is wanted.
    pub off: bool,
    /// Sender state.
    pub flow_state: FlowState,
    /// Queue lengths.
    pub queue: Queue,
    /// Drops.
    pub drops: Drops,
    /// Queue-full events.
    pub queue_full: QueueFull,
    /// Datagrams.
    pub udp: Udp,
    /// Reductions.
    pub backoffs: Backoffs,
    /// Flow counters.
    pub flow_counters: FlowCounters,
    /// Link counters.
    pub link_counters: LinkCounters,
    /// Requests.
    pub responses: Responses,
    /// What routers told.
    pub router_events: RouterEvents,
    /// Counters of routers.
    pub router_counters: RouterCounters,
}

impl Tables {
    /// Memory of all rows.
    pub fn bytes(&self) -> usize {
        self.flow_state.bytes()
            + self.queue.bytes()
            + self.drops.bytes()
            + self.queue_full.bytes()
            + self.udp.bytes()
            + self.backoffs.bytes()
            + self.flow_counters.bytes()
            + self.link_counters.bytes()
            + self.responses.bytes()
            + self.router_events.bytes()
            + self.router_counters.bytes()
    }

    /// Every table by name, as columns.
    pub fn into_columns(self) -> Vec<(&'static str, Vec<(&'static str, Column)>)> {
        vec![
            ("flow_state", self.flow_state.columns()),
            ("queue", self.queue.columns()),
            ("drops", self.drops.columns()),
            ("queue_full", self.queue_full.columns()),
            ("udp", self.udp.columns()),
            ("backoffs", self.backoffs.columns()),
            ("flow_counters", self.flow_counters.columns()),
            ("link_counters", self.link_counters.columns()),
            ("responses", self.responses.columns()),
            ("router_events", self.router_events.columns()),
            ("router_counters", self.router_counters.columns()),
        ]
    }
}

/// What is known of a flow as a whole.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct FlowSummary {
    /// As given.
    pub name: String,
    /// "bulk", "cbr", "vectors" or "pingpong".
    pub kind: &'static str,
    /// Congestion control; null for UDP.
    pub control: Option<String>,
    /// Startup; null for UDP.
    pub startup: Option<String>,
    /// First packet at the sender's host, either direction; null if none.
    pub first_packet_ns: Option<u64>,
    /// Last packet at the sender's host, either direction; null if none.
    pub last_packet_ns: Option<u64>,
    /// Distinct payload bytes sent.
    pub unique_bytes: u64,
    /// Last byte of a transfer with a size in order at the receiver; absent: there
    /// is none, or not all has arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_ns: Option<u64>,
    /// From the SYN to the SYN-ACK; null without a handshake.
    pub handshake_rtt_us: Option<u64>,
    /// Payload of a full segment; null for UDP.
    pub mss_bytes: Option<u32>,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Reductions that were undone.
    pub undos: u64,
    /// Smoothed RTT at the end; null without a sample.
    pub srtt_us: Option<u32>,
    /// Smallest RTT sample; null without one.
    pub min_rtt_us: Option<u32>,
    /// Datagrams sent (UDP only).
    pub datagrams: u64,
    /// Whether both ends agreed on ECN; absent: no end asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Data packets that arrived with a router's mark; absent: none.
    #[serde(skip_serializing_if = "is_zero")]
    pub ce_marks: u64,
    /// ACKs that came back with the echo of a mark; absent: none.
    #[serde(skip_serializing_if = "is_zero")]
    pub ece_acks: u64,
    /// What its sender did by protocols with a header of their own, by their names;
    /// absent: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub protocols: BTreeMap<&'static str, ProtocolSummary>,
    /// What became of the first flights of its sender's startup; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_flight: Option<FirstFlights>,
    /// How long the peer's window held its sender back, as TCP_INFO counts; absent: never.
    #[serde(skip_serializing_if = "is_zero")]
    pub rwnd_limited_us: u64,
    /// How long the send buffer did; absent: never.
    #[serde(skip_serializing_if = "is_zero")]
    pub sndbuf_limited_us: u64,
}

// serde hands over a reference
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A sender's part in a protocol.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct ProtocolSummary {
    /// What it counted; absent: 0.
    #[serde(flatten)]
    pub counts: BTreeMap<&'static str, u64>,
    /// Why it last failed; absent: it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<&'static str>,
}

/// What is known of a run as a whole.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Summary {
    /// Version of the engine.
    pub engine: &'static str,
    /// As given.
    pub seed: u64,
    /// Events processed.
    pub events: u64,
    /// Flows, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// Names of the recorded links; a table's link number is an index into it.
    pub links: Vec<String>,
    /// Router algorithms, with what they declare; the numbers in the tables of routers
    /// are indices into these lists. Absent: no link has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<&'static RouterInfo>,
}
