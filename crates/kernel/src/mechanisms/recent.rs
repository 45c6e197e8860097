//! The last requests of Quick-Start that a host sent or a router answered, and why a
//! router granted less than was asked (algorithms/port/bpf/recent.h).

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd as _;

use headway_algorithms::quick_start::{code_down, rate_bytes_per_s};
use serde::Serialize;

use crate::mirror::{self, Plain as _, RecentRequest};
use crate::objects::bpf;
use crate::objects::hooks::Hook;
use crate::system::clock::now_ns;

/// Algorithms of the router, by their numbers.
const SHARE: u64 = 1;
const OPTIMISTIC: u64 = 2;
const FAIR: u64 = 3;
const MAP: &str = "hw_recent";
/// enum hw_qs_failure, in its order.
const FAILURES: [&str; 7] = [
    "",
    "refused by a router or the receiver",
    "not answered",
    "lost",
    "not seen by a router on the path",
    "answered with a rate that nobody approved",
    "answered with more than was asked for",
];

/// A request and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recent {
    /// Time since then, ms.
    pub age_ms: u64,
    /// Who asked.
    pub sender: String,
    /// Whom it wants to send to.
    pub peer: String,
    /// The rate asked for, bit/s.
    pub asked_bps: u64,
    /// The rate granted, bit/s; 0: none.
    pub granted_bps: u64,
    /// Why it is less than what was asked for; null: it is not, or another router's doing.
    pub reason: Option<String>,
}

/// An entry as the kernel wrote it.
struct Entry {
    recent: Recent,
    usage_bps: u64,
    outstanding_bps: u64,
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
        usage_bps: raw.usage_bytes_per_s.saturating_mul(8),
        outstanding_bps: raw.outstanding_bytes_per_s.saturating_mul(8),
        failure: raw.failure,
    })
}

/// All entries, the latest first.
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
        return Vec::new(); // of an older headwayctl
    };
    bpf::first_element(map.as_fd(), info.value_bytes as usize)
        .map(|value| entries(&value))
        .unwrap_or_default()
}

/// What became of a host's last requests, the latest first.
#[must_use]
pub fn of_host(hook: &Hook) -> Vec<Recent> {
    let told = read(hook).into_iter().map(|entry| {
        let mut recent = entry.recent;
        recent.reason = FAILURES
            .get(usize::from(entry.failure))
            .filter(|text| !text.is_empty())
            .map(|text| (*text).to_owned());
        recent
    });
    told.collect()
}

/// A router's last answers, the latest first.
#[must_use]
pub fn of_router(hook: &Hook, tunables: &BTreeMap<String, u32>) -> Vec<Recent> {
    let told = read(hook).into_iter().map(|entry| {
        let reason = why(&entry, tunables);
        Recent {
            reason,
            ..entry.recent
        }
    });
    told.collect()
}

/// Why less was granted than was asked for: the tightest of the bounds that
/// algorithms/router/quick_start.c knows, or else the algorithm's own.
fn why(entry: &Entry, tunables: &BTreeMap<String, u32>) -> Option<String> {
    let tunable = |name: &str| u64::from(tunables.get(name).copied().unwrap_or(0));
    let Recent {
        asked_bps,
        granted_bps,
        ..
    } = entry.recent;
    if entry.failure != 0 {
        let most = tunable("max_requests");
        return Some(format!("one of more than {most} requests in a second"));
    }
    if granted_bps >= asked_bps {
        return None;
    }
    let mbit = |bps: u64| bps as f64 / 1e6;
    let algorithm = tunable("algorithm");
    let most_bps = 8 * rate_bytes_per_s(tunables.get("max_code").copied().unwrap_or(0));
    let given_bps = tunable("capacity_kbps") * tunable("threshold_permille");
    let (used_bps, promised_bps) = (entry.usage_bps, entry.outstanding_bps);
    let unused_bps = given_bps.saturating_sub(used_bps);
    let left_bps = match algorithm {
        OPTIMISTIC => unused_bps,
        _ => unused_bps.saturating_sub(promised_bps),
    };
    let least_bps = left_bps.min(most_bps);
    if granted_bps < 8 * rate_bytes_per_s(code_down(least_bps / 8)) {
        return Some(match algorithm {
            _ if tunable("whole") == 1 => "whole=1 grants all or nothing".to_owned(),
            SHARE => format!(
                "share gives {}/1000 of what is left",
                tunable("share_permille")
            ),
            FAIR => "fair opens a slot's bandwidth little by little".to_owned(),
            _ => "the sender used little of its grants before".to_owned(),
        });
    }
    Some(if most_bps <= left_bps {
        format!("max_code allows {} Mbit/s", mbit(most_bps))
    } else if left_bps == given_bps {
        format!("{} Mbit/s are all that is given out", mbit(given_bps))
    } else if left_bps == unused_bps {
        format!(
            "a load of {:.3} Mbit/s leaves {:.3} of {}",
            mbit(used_bps),
            mbit(unused_bps),
            mbit(given_bps)
        )
    } else {
        format!(
            "a load of {:.3} Mbit/s and grants of {:.3} not yet seen leave {:.3} of {}",
            mbit(used_bps),
            mbit(promised_bps),
            mbit(left_bps),
            mbit(given_bps)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes, then usage and outstanding in bytes per second.
    fn raw(asked: u8, granted: u8, failure: u8, usage: u64, outstanding: u64) -> Vec<u8> {
        let mut raw = Vec::new();
        for long in [u64::try_from(now_ns()).unwrap(), usage, outstanding] {
            raw.extend(long.to_ne_bytes());
        }
        raw.extend([10, 78, 0, 1, 10, 77, 0, 1]);
        raw.extend([0x13, 0x89, 0, 80]);
        raw.extend([asked, granted, failure, 0]);
        raw
    }

    #[test]
    fn the_last_requests_are_read_latest_first() {
        let mut value = 17u64.to_ne_bytes().to_vec();
        for n in 0..16u8 {
            value.extend(raw(n.max(1), 1, 0, 0, 0));
        }
        let found = entries(&value);
        assert_eq!(found.len(), 16);
        // entry 16 took the place of entry 0
        assert_eq!(found[0].recent.asked_bps, 80_000);
        assert_eq!(found[1].recent.asked_bps, 40_000 << 15);
        assert_eq!(found[0].recent.sender, "10.78.0.1:5001");
        assert_eq!(found[0].recent.peer, "10.77.0.1:80");
        assert!(found[0].recent.age_ms < 60_000);
        assert!(entries(&[0; 8]).is_empty());
    }

    #[test]
    fn a_router_says_which_bound_a_request_met() {
        let told = |asked, granted, failure, usage, outstanding, changed: &[(&str, u32)]| {
            let mut tunables = BTreeMap::from(
                [
                    ("algorithm", 0),
                    ("capacity_kbps", 10_000),
                    ("threshold_permille", 1000),
                    ("max_code", 15),
                    ("max_requests", 100),
                    ("share_permille", 500),
                    ("whole", 0),
                ]
                .map(|(name, value)| (name.to_owned(), value)),
            );
            tunables.extend(changed.iter().map(|(n, v)| ((*n).to_owned(), *v)));
            why(
                &entry(
                    &RecentRequest::read(&raw(asked, granted, failure, usage, outstanding))
                        .unwrap(),
                )
                .unwrap(),
                &tunables,
            )
        };
        assert_eq!(told(4, 4, 0, 0, 0, &[]), None);
        let says = |reason: Option<String>, word: &str| {
            let reason = reason.unwrap();
            assert!(reason.contains(word), "{reason}");
        };
        says(told(4, 0, 1, 0, 0, &[]), "more than 100 requests");
        says(told(8, 7, 0, 0, 0, &[]), "10 Mbit/s are all");
        says(
            told(7, 5, 0, 1_000_000, 0, &[]),
            "a load of 8.000 Mbit/s leaves 2.000",
        );
        says(
            told(7, 6, 0, 0, 800_000, &[]),
            "grants of 6.400 not yet seen leave 3.600",
        );
        says(
            told(7, 5, 0, 0, 0, &[("max_code", 5)]),
            "max_code allows 1.28",
        );
        says(told(7, 6, 0, 0, 0, &[("algorithm", 1)]), "500/1000");
        says(told(8, 3, 0, 0, 0, &[("algorithm", 3)]), "little by little");
        says(
            told(7, 0, 0, 0, 800_000, &[("algorithm", 2), ("max_code", 0)]),
            "max_code",
        );
        says(
            told(7, 0, 0, 1_000_000, 0, &[("whole", 1)]),
            "all or nothing",
        );
    }
}
