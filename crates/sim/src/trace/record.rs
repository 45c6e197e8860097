//! The tables of a run. Each column's name ends in its unit.

use crate::host::tcp::FirstFlights;
use headway_algorithms::{QueueInfo, RouterInfo};
use serde::Serialize;
use std::collections::BTreeMap;

/// Means "infinite" or "unknown" in a column of type u32.
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

            /// Memory that the rows of this table take.
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

/// One column of a table.
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
    /// Consumes the table and returns its columns, in their declared order.
    fn columns(self) -> Vec<(&'static str, Column)>;
}

table! {
    /// TCP senders' states, one row per change.
    FlowState {
        /// Flow number.
        flow: u32,
        /// When.
        time_ns: i64,
        /// Congestion window.
        cwnd_pkts: u32,
        /// Slow start threshold; [`NULL_U32`] before the first congestion event.
        ssthresh_pkts: u32,
        /// Smoothed RTT; [`NULL_U32`] before the first sample.
        srtt_us: u32,
        /// The stack's estimate of packets in flight.
        inflight_pkts: u32,
        /// Sender state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
        state: u8,
    }
}

table! {
    /// Queue lengths of links, one row per change.
    Queue {
        /// Number of the link.
        link: u32,
        /// When.
        time_ns: i64,
        /// Bytes that wait or are in transmission.
        queue_bytes: u32,
        /// Packets that wait or are in transmission.
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
        /// Flow of the packet.
        flow: u32,
        /// Size of the IP packet.
        ip_bytes: u32,
        /// Why the packet was not carried: 0 queue full, 1 random loss, 2 early drop, 3 IP options,
        /// 4 a SYN that requested ECN.
        reason: u8,
    }
}

table! {
    /// Queue-full events: from the first packet that finds no room until a packet is accepted
    /// again.
    QueueFull {
        /// Link number.
        link: u32,
        /// First drop.
        start_ns: i64,
        /// When the queue next accepted a packet, or the end of the run.
        end_ns: i64,
        /// Drops between them.
        dropped_pkts: u32,
    }
}

table! {
    /// Datagrams of all UDP flows, one row each.
    Udp {
        /// Flow number.
        flow: u32,
        /// When the datagram was sent.
        sent_ns: i64,
        /// One-way delay; -1 if the datagram was lost.
        owd_ns: i64,
    }
}

table! {
    /// Reductions of cwnd because of congestion, and their undos.
    Backoffs {
        /// Flow number.
        flow: u32,
        /// When.
        time_ns: i64,
        /// Kind of reduction: 0 recovery, 1 retransmission timeout, 2 CWR, 3 undo.
        kind: u8,
        /// Congestion window before the reduction.
        cwnd_pkts: u32,
        /// Slow start threshold after the reduction.
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
        /// Data packets that were retransmissions.
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
        /// Packets offered.
        arrived_pkts: u64,
        /// Bytes offered.
        arrived_bytes: u64,
        /// Packets completely transmitted.
        sent_pkts: u64,
        /// Bytes completely transmitted.
        sent_bytes: u64,
        /// Packets lost or dropped.
        dropped_pkts: u64,
        /// Bytes lost or dropped.
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
        /// Number of the flow's epoch, exchange, object or message.
        epoch: u32,
        /// When the request was passed to TCP.
        start_ns: i64,
        /// When the response had arrived completely.
        end_ns: i64,
    }
}

table! {
    /// Transfers that arrived during the run.
    Transfers {
        /// Flow number.
        flow: u32,
        /// Bytes to transfer.
        size_bytes: u64,
        /// When the transfer began.
        start_ns: i64,
        /// When the last byte had arrived; -1 if it had not at the end of the run.
        end_ns: i64,
        /// Completion time on an empty path; -1 if unknown.
        ideal_ns: i64,
    }
}

table! {
    /// Events that routers reported. Their algorithms declare the events.
    RouterEvents {
        /// Link number.
        link: u32,
        /// When.
        time_ns: i64,
        /// Flow of the packet that caused the event; [`NULL_U32`] if no packet did.
        flow: u32,
        /// Index into [`Summary::routers`].
        algorithm: u8,
        /// Index of the event in the algorithm's list of events.
        name: u8,
        /// Value of the event, in the unit that the algorithm declares.
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
        /// Index of the counter in the algorithm's list of counters.
        name: u8,
        /// Value of the counter, in the unit that the algorithm declares.
        value: u64,
    }
}

table! {
    /// Counters of queue disciplines that declare any, at every checkpoint and at the end.
    QueueCounters {
        /// Checkpoint.
        time_ns: i64,
        /// Link number.
        link: u32,
        /// Index into [`Summary::queues`].
        algorithm: u8,
        /// Index of the counter in the discipline's list of counters.
        name: u8,
        /// Value of the counter, in the unit that the discipline declares.
        value: u64,
    }
}

table! {
    /// Readings of controls, one row per reading after every ACK. The controls declare the
    /// readings.
    Readings {
        /// Flow number.
        flow: u32,
        /// When.
        time_ns: i64,
        /// Index of the reading in the control's list of readings.
        reading: u8,
        /// Value of the reading, in the unit that the control declares.
        value: u64,
    }
}

table! {
    /// Sub-queues of disciplines with counters, at every checkpoint and at the end. Sub-queues that
    /// no packet has reached are left out.
    SubQueues {
        /// Checkpoint.
        time_ns: i64,
        /// Link number.
        link: u32,
        /// Number of the sub-queue.
        queue: u32,
        /// Packets that wait.
        queue_pkts: u32,
        /// Bytes that wait.
        queue_bytes: u32,
        /// Packets that have left to the wire.
        sent_pkts: u64,
        /// Their bytes.
        sent_bytes: u64,
        /// Sum of the times that they waited.
        sojourn_us: u64,
        /// Packets that the discipline has dropped.
        dropped_pkts: u64,
        /// Packets with ECT(0) that the discipline has marked.
        marked_ect0_pkts: u64,
        /// Packets with ECT(1) that the discipline has marked.
        marked_ect1_pkts: u64,
    }
}

/// Every table of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Whether the run keeps no trace. Then no rows are added to any table.
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
    /// Reductions of cwnd.
    pub backoffs: Backoffs,
    /// Flow counters.
    pub flow_counters: FlowCounters,
    /// Link counters.
    pub link_counters: LinkCounters,
    /// Requests.
    pub responses: Responses,
    /// Transfers.
    pub transfers: Transfers,
    /// Events of routers.
    pub router_events: RouterEvents,
    /// Counters of routers.
    pub router_counters: RouterCounters,
    /// Counters of queue disciplines.
    pub queue_counters: QueueCounters,
    /// Sub-queues.
    pub sub_queues: SubQueues,
    /// Readings of controls.
    pub readings: Readings,
}

impl Tables {
    /// Memory of the rows of all tables.
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
            + self.transfers.bytes()
            + self.router_events.bytes()
            + self.router_counters.bytes()
            + self.queue_counters.bytes()
            + self.sub_queues.bytes()
            + self.readings.bytes()
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
            ("transfers", self.transfers.columns()),
            ("router_events", self.router_events.columns()),
            ("router_counters", self.router_counters.columns()),
            ("queue_counters", self.queue_counters.columns()),
            ("sub_queues", self.sub_queues.columns()),
            ("readings", self.readings.columns()),
        ]
    }
}

/// Summary of a flow over the whole run.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct FlowSummary {
    /// Name of the flow, as in the scenario.
    pub name: String,
    /// Name of the application, as in the scenario's `app.kind`.
    pub kind: &'static str,
    /// Name of the group of the flow's transfers; absent if the flow generates none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Name of the congestion control; null for UDP.
    pub control: Option<String>,
    /// Startup; null for UDP.
    pub startup: Option<String>,
    /// Names of the control's readings, to which the table of readings refers; absent if they are
    /// not recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<&'static str>,
    /// When the sender's host first sent or received a packet of the flow; null if never.
    pub first_packet_ns: Option<u64>,
    /// When the sender's host last sent or received a packet of the flow; null if never.
    pub last_packet_ns: Option<u64>,
    /// Distinct payload bytes sent.
    pub unique_bytes: u64,
    /// When the last byte of a transfer with a size was in order at the receiver. Absent if the
    /// transfer has no size or has not completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_ns: Option<u64>,
    /// Time from the SYN to the SYN-ACK; null without a handshake.
    pub handshake_rtt_us: Option<u64>,
    /// Payload of a full segment; null for UDP.
    pub mss_bytes: Option<u32>,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Window reductions that were undone.
    pub undos: u64,
    /// Smoothed RTT at the end of the run; null without a sample.
    pub srtt_us: Option<u32>,
    /// Smallest RTT sample; null without one.
    pub min_rtt_us: Option<u32>,
    /// Datagrams sent (UDP only).
    pub datagrams: u64,
    /// Whether both ends negotiated ECN; absent if neither end requested it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Whether both ends negotiated Accurate ECN; absent if not.
    #[serde(skip_serializing_if = "is_false")]
    pub accurate_ecn: bool,
    /// Data packets that arrived with a CE mark; absent if none did.
    #[serde(skip_serializing_if = "is_zero")]
    pub ce_marks: u64,
    /// ACKs that arrived with ECE set; absent if none did.
    #[serde(skip_serializing_if = "is_zero")]
    pub ece_acks: u64,
    /// The sender's counters for protocols with a header of their own, by protocol name; absent if
    /// none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub protocols: BTreeMap<&'static str, ProtocolSummary>,
    /// Results of the first flights of the sender's startup; absent if it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_flight: Option<FirstFlights>,
    /// How long the peer's window limited the sender, as in TCP_INFO; absent if it never limited
    /// it.
    #[serde(skip_serializing_if = "is_zero")]
    pub rwnd_limited_us: u64,
    /// How long the send buffer limited the sender, as in TCP_INFO; absent if it never limited it.
    #[serde(skip_serializing_if = "is_zero")]
    pub sndbuf_limited_us: u64,
}

// serde passes a reference, which clippy would replace by the value
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

// as above
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(switch: &bool) -> bool {
    !*switch
}

/// What a sender did with a protocol that has a header of its own.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct ProtocolSummary {
    /// Counters by name; those that are 0 are left out.
    #[serde(flatten)]
    pub counts: BTreeMap<&'static str, u64>,
    /// Reason of the protocol's last failure; absent if it did not fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<&'static str>,
}

/// Summary of a run.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Summary {
    /// Version of the engine.
    pub engine: &'static str,
    /// Seed of the run, as in the scenario.
    pub seed: u64,
    /// Events processed.
    pub events: u64,
    /// Flows, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// Names of the recorded links; a table's link number is an index into this list.
    pub links: Vec<String>,
    /// Router algorithms of the run, with the events and counters that they declare. The tables of
    /// routers refer to algorithms, events and counters by their indices in these lists. Absent if
    /// no link has a router.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<&'static RouterInfo>,
    /// Queue disciplines of the run that declare counters. The tables of queues refer to them by
    /// their index in this list. Absent if no link has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<&'static QueueInfo>,
}
