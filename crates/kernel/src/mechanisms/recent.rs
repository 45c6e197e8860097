//! The last Quick-Start requests that a host sent, and their outcomes
//! (algorithms/port/bpf/recent.h).

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd as _;

use headway_algorithms::quick_start::rate_bytes_per_s;
use serde::Serialize;

use crate::mirror::{self, Plain as _, RecentRequest};
use crate::objects::bpf;
use crate::objects::hooks::Hook;
use crate::system::clock::now_ns;

const MAP: &str = "hw_recent";
/// The reasons why a Quick-Start request failed, in the order of enum hw_qs_failure.
const FAILURES: [&str; 7] = [
    "",
    "refused by a router or the receiver",
    "not answered",
    "lost",
    "not seen by a router on the path",
    "answered with a rate that was not approved",
    "answered with more than was asked for",
];

/// A Quick-Start request and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recent {
    /// Time since the outcome of the request was recorded, in ms.
    pub age_ms: u64,
    /// The requesting socket.
    pub sender: String,
    /// Address of the peer to which the host sent the request.
    pub peer: String,
    /// The requested rate, bit/s.
    pub asked_bps: u64,
    /// The rate granted, bit/s; 0: none.
    pub granted_bps: u64,
    /// Why the request was not granted; null: the request was granted, or has no response yet.
    pub reason: Option<String>,
}

/// Reads an entry from the bytes of the eBPF map.
struct Entry {
    recent: Recent,
    failure: u8,
}

fn entry(raw: &RecentRequest) -> Option<Entry> {
    let socket = |address: u32, port: u16| {
        let address = Ipv4Addr::from(address.to_ne_bytes());
        SocketAddrV4::new(address, u16::from_be(port)).to_string()
    };
    let rate_bps = |code: u8| 8 * rate_bytes_per_s(code.into());
    let now_ns = u64::try_from(now_ns()).ok()?;
    Some(Entry {
        recent: Recent {
            age_ms: now_ns.saturating_sub(raw.time_ns) / 1_000_000,
            sender: socket(raw.sender, raw.sender_port),
            peer: socket(raw.peer, raw.peer_port),
            asked_bps: rate_bps(raw.asked_code),
            granted_bps: rate_bps(raw.granted_code),
            reason: None,
        },
        failure: raw.failure,
    })
}

/// All Quick-Start requests in the map, the latest first.
fn entries(value: &[u8]) -> Vec<Entry> {
    let Some(mirror::Recent { count, requests }) = mirror::Recent::read(value) else {
        return Vec::new();
    };
    let held = requests.len() as u64;
    (count.saturating_sub(held)..count)
        .rev()
        .filter_map(|n| entry(&requests[(n % held) as usize]))
        .collect()
}

fn read(hook: &Hook) -> Vec<Entry> {
    let Some((map, info)) = hook.map(MAP) else {
        return Vec::new(); // an older headwayctl made the map, whose entries have another layout
    };
    bpf::first_element(map.as_fd(), info.value_bytes as usize)
        .map(|value| entries(&value))
        .unwrap_or_default()
}

/// The outcomes of a host's last requests, latest first.
#[must_use]
pub fn of_host(hook: &Hook) -> Vec<Recent> {
    let recent = read(hook).into_iter().map(|entry| {
        let mut recent = entry.recent;
        recent.reason = FAILURES
            .get(usize::from(entry.failure))
            .filter(|text| !text.is_empty())
            .map(|text| (*text).to_owned());
        recent
    });
    recent.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes an entry of the map for a test, with these codes.
    fn raw(asked: u8, granted: u8, failure: u8) -> Vec<u8> {
        let mut raw = u64::try_from(now_ns()).unwrap().to_ne_bytes().to_vec();
        raw.extend([10, 78, 0, 1, 10, 77, 0, 1]);
        raw.extend([0x13, 0x89, 0, 80]);
        raw.extend([asked, granted, failure, 0]);
        raw
    }

    #[test]
    fn the_last_requests_are_read_latest_first() {
        let mut value = 17u64.to_ne_bytes().to_vec();
        for n in 0..16u8 {
            value.extend(raw(n.max(1), 1, 0));
        }
        let found = entries(&value);
        assert_eq!(found.len(), 16);
        // the map has room for 16 requests, so request 16 has overwritten request 0
        assert_eq!(found[0].recent.asked_bps, 80_000);
        assert_eq!(found[1].recent.asked_bps, 40_000 << 15);
        assert_eq!(found[0].recent.sender, "10.78.0.1:5001");
        assert_eq!(found[0].recent.peer, "10.77.0.1:80");
        assert!(found[0].recent.age_ms < 60_000);
        assert!(entries(&[0; 8]).is_empty());
    }
}
