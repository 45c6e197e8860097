//! Made by `make mirrors`: what headwayctl and the eBPF programs tell each other (algorithms/kernel, port/bpf).

use headway_algorithms::{Ack, Conn, Lost, Monitor, RateSample};

#[repr(u8)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub enum ContractCall {
    Init = 0,
    PktsAcked = 1,
    Grow = 2,
    Ssthresh = 3,
    SetState = 4,
    Event = 5,
    UndoCwnd = 6,
    MinCwnd = 7,
    Open = 8,
    Control = 9,
    Monitor = 10,
    Loss = 11,
}
/// The input and output of one call of the contract.
#[repr(C)]
#[derive(Clone)]
pub struct Situation {
    pub conn: Conn,
    pub sample: RateSample,
    pub ack: Ack,
    pub monitor: Monitor,
    pub lost: Lost,
    /// Enum hw_contract_call.
    pub call: u32,
    pub argument: u32,
    pub result: u32,
}
/// An IPv6 prefix. IPv4 prefixes are mapped (::ffff:a.b.c.d), and ::/0 has the system's default.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Prefix {
    pub bits: u32,
    /// Network byte order.
    pub address: [u32; 4usize],
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct PrefixDefault {
    pub rate_bytes_per_s: u64,
    /// Bytes that connections to the prefix usually carry; 0: not known.
    pub volume_bytes: u64,
    pub type_: u8,
    pub unused: [u8; 7usize],
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct PathKey {
    /// Inode of the network namespace.
    pub netns: u32,
    pub peer: Prefix,
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Path {
    /// CLOCK_MONOTONIC.
    pub saved_ns: u64,
    /// Packets that the path delivered in one smallest round trip.
    pub cwnd_pkts: u32,
    /// Smallest round trip; 0: a connection has taken this entry.
    pub min_rtt_us: u32,
    /// Payload bytes of one packet.
    pub pkt_bytes: u32,
    pub unused: u32,
}
/// The lifetime of an entry; 0: nothing is remembered.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Manager {
    pub lifetime_ns: u64,
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct RecentRequest {
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// Addresses and ports in network byte order.
    pub sender: u32,
    pub peer: u32,
    pub sender_port: u16,
    pub peer_port: u16,
    pub asked_code: u8,
    pub granted_code: u8,
    /// Enum hw_qs_failure.
    pub failure: u8,
    pub unused: u8,
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Recent {
    /// Requests since the start; request n is at index n mod HW_RECENT.
    pub count: u64,
    pub requests: [RecentRequest; 16usize],
}
/// A record: 72 bytes without holes. crates/kernel/src/mechanisms/sampler and
/// python/headway/backends read it.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Sample {
    /// CLOCK_MONOTONIC, as all times in this file.
    pub time_ns: u64,
    /// Arrival time of the connection's previous packet; 0: unknown.
    pub since_ns: u64,
    pub acked_bytes: u64,
    pub cwnd_pkts: u32,
    pub ssthresh_pkts: u32,
    /// << 3; 0: not known.
    pub srtt_us: u32,
    pub inflight_pkts: u32,
    pub delivered_pkts: u32,
    pub retransmits_pkts: u32,
    /// Data packets, with retransmissions.
    pub sent_pkts: u32,
    /// Cwnd before its last reduction.
    pub prior_cwnd_pkts: u32,
    pub local_port: u16,
    pub peer_port: u16,
    /// 0 before Linux 6.7.
    pub rtos: u16,
    pub ca_state: u8,
    pub kind: u8,
    /// Inode of the connection's network namespace.
    pub netns: u32,
    pub mss_bytes: u32,
}
/// Set before load.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct SampleConfig {
    /// Lowest server port of the connections to record.
    pub first_port: u32,
    pub last_port: u32,
    /// ACKs that change neither cwnd nor ssthresh nor the number of retransmissions are
    /// recorded at most once in this time.
    pub gap_ns: u32,
    /// 1: also record the servers' sockets.
    pub both_ends: u32,
    /// 0: all.
    pub netns_count: u32,
    pub netns: [u32; 8usize],
}
/// Congestion controls that send Quick-Start requests, by their names in the kernel, with the
/// tunables of their startup. headwayctl adds a control when it attaches it.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct QsAsker {
    pub tun: [u32; 16usize],
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct QsAskerName {
    pub name: [core::ffi::c_char; 16usize],
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
    "hw_situation" Situation {
        "conn" conn
        "sample" sample
        "ack" ack
        "monitor" monitor
        "lost" lost
        "call" call
        "argument" argument
        "result" result
    }
    "hw_prefix" Prefix {
        "bits" bits
        "address" address
    }
    "hw_prefix_default" PrefixDefault {
        "rate_Bps" rate_bytes_per_s
        "volume_bytes" volume_bytes
        "type" type_
        "unused" unused
    }
    "hw_path_key" PathKey {
        "netns" netns
        "peer" peer
    }
    "hw_path" Path {
        "saved_ns" saved_ns
        "cwnd_pkts" cwnd_pkts
        "min_rtt_us" min_rtt_us
        "pkt_bytes" pkt_bytes
        "unused" unused
    }
    "hw_manager" Manager {
        "lifetime_ns" lifetime_ns
    }
    "hw_recent_request" RecentRequest {
        "time_ns" time_ns
        "sender" sender
        "peer" peer
        "sender_port" sender_port
        "peer_port" peer_port
        "asked_code" asked_code
        "granted_code" granted_code
        "failure" failure
        "unused" unused
    }
    "hw_recent" Recent {
        "count" count
        "requests" requests
    }
    "hw_sample" Sample {
        "time_ns" time_ns
        "since_ns" since_ns
        "acked_bytes" acked_bytes
        "cwnd_pkts" cwnd_pkts
        "ssthresh_pkts" ssthresh_pkts
        "srtt_us" srtt_us
        "inflight_pkts" inflight_pkts
        "delivered_pkts" delivered_pkts
        "retransmits_pkts" retransmits_pkts
        "sent_pkts" sent_pkts
        "prior_cwnd_pkts" prior_cwnd_pkts
        "local_port" local_port
        "peer_port" peer_port
        "rtos" rtos
        "ca_state" ca_state
        "kind" kind
        "netns" netns
        "mss_bytes" mss_bytes
    }
    "hw_sample_config" SampleConfig {
        "first_port" first_port
        "last_port" last_port
        "gap_ns" gap_ns
        "both_ends" both_ends
        "netns_count" netns_count
        "netns" netns
    }
    "hw_qs_asker" QsAsker {
        "tun" tun
    }
    "hw_qs_asker_name" QsAskerName {
        "name" name
    }
};
