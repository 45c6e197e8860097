//! Tests routers and hosts with hostile headers of router-assisted protocols, as an attacker might
//! build them. The program of every router gets such headers in single packets (BPF_PROG_TEST_RUN).
//! On a live path, packets with such headers pass a router to hosts whose sockets send and answer
//! these headers. HEADWAY_FUZZ sets the number of packets.

mod conversation;
mod forged;

use crate::{common, lab, wire};
use std::net::Ipv4Addr;
use std::process::Command;

use headway_algorithms::header::{header, HeaderInfo};
use headway_algorithms::{controls, routers, Carrier, RouterInfo};
use headway_kernel::benches::forwarding::path::{RoutedPath, HOST_DEVICE, ROUTER_OUT};
use headway_kernel::mechanisms::trial::Trial;

use crate::lab::{complaints, json, let_anybody_send, succeeds};
use crate::transfer::Transfer;
use crate::wire::{Random, IP_BYTES};
use conversation::converse;
use forged::{options, packet, unharmed, Segment, TCP_BYTES};

const RATE_BPS: u64 = 10_000_000;

/// The router algorithms whose headers are in TCP options or ECN bits.
fn protocols() -> Vec<(&'static RouterInfo, &'static HeaderInfo)> {
    let with_header = |router: &'static RouterInfo| Some((router, header(router.header?).ok()?));
    let mut all: Vec<_> = routers().iter().filter_map(with_header).collect();
    all.retain(|(_, info)| info.carrier != Carrier::IpOption);
    all
}

fn hostile_headers_harm_no_packet() {
    let all = protocols();
    let (runs, seed) = (wire::runs(20_000), wire::seed());
    println!("{runs} packets for {} routers, seed {seed}", all.len());
    let mut random = Random(seed);
    for (router, info) in &all {
        let trial = Trial::router(router.name, RATE_BPS, &[]).unwrap();
        let mut changed = 0;
        for _ in 0..runs.div_ceil(all.len() as u64) {
            let segment = Segment {
                from: (Ipv4Addr::new(10, 0, 0, 1 + random.next() as u8 % 4), 1024),
                to: (Ipv4Addr::new(10, 1, 0, 1), 80),
                sequence: random.next() as u32,
                ack: random.next() as u32,
                flags: [0x10, random.next() as u8][usize::from(random.below(9) == 0)],
            };
            let data = vec![random.next() as u8; random.below(1400)];
            let list = options(&mut random, info);
            let mut sent = packet(&segment, random.next() as u8, &list, &data);
            if random.below(20) == 0 {
                // corrupt one byte of the IP or TCP header, but not IP's version
                let at = 1 + random.below((IP_BYTES + TCP_BYTES - 1) as u64);
                sent[at] = random.next() as u8;
            }
            if random.below(20) == 0 {
                sent.truncate(random.below(sent.len() as u64).max(1));
            }
            let Ok(went_on) = trial.run("hw_router", &sent) else {
                continue; // the packet is too short: the kernel does not run the program
            };
            unharmed(info, &sent, &went_on);
            changed += u64::from(sent != went_on);
        }
        println!("{}: {changed} headers were rewritten", router.name);
        // Routers whose header is in the ECN bits may change no packet, because their load level
        // changes more slowly than this test runs.
        assert!(
            changed > 0 || info.carrier == Carrier::EcnBits,
            "{}",
            router.name
        );
    }
}

/// Adds up error counters of a host (/proc/net/snmp).
fn errors(path: &RoutedPath) -> u64 {
    let read = || std::fs::read_to_string("/proc/thread-self/net/snmp");
    let text = path.sink.netns.inside(read).unwrap();
    let mut sum = 0;
    for (kind, name) in [
        ("Ip:", "InHdrErrors"),
        ("Tcp:", "InErrs"),
        ("Tcp:", "InCsumErrors"),
    ] {
        let mut rows = text.lines().filter(|line| line.starts_with(kind));
        let mut row = || rows.next().unwrap().split_whitespace().collect::<Vec<_>>();
        let (names, values) = (row(), row());
        let at = names.iter().position(|n| *n == name).unwrap();
        sum += values[at].parse::<u64>().unwrap();
    }
    sum
}

fn hostile_headers_harm_no_connection() {
    let all: Vec<_> = controls()
        .iter()
        .filter_map(|control| Some((control, control.header_at_sockets()?)))
        .collect();
    let (runs, seed) = (wire::runs(5_000), wire::seed());
    println!("{runs} segments for {} controls, seed {seed}", all.len());
    let before = complaints();
    let path = RoutedPath::new(true).unwrap();
    let_anybody_send(&path.router);
    for (control, info) in &all {
        converse(&path, control, info, runs.div_ceil(all.len() as u64), seed);
        assert_eq!(errors(&path), 0, "{}", control.name);
    }
    assert_eq!(complaints(), before, "dmesg says more");
}

/// Waits until `headwayctl status` reports that `n` connections of the congestion control have
/// fallen back to loss-based control.
fn wait_until_alone(n: u64, what: &str) {
    lab::wait_until(&format!("{n} of them {what}"), || {
        json(&["status"])["endpoints"][0]["counters"]["alone"] == n
    });
}

fn a_flow_falls_back_without_a_router_and_status_reports_it() {
    for control in controls() {
        let Some(info) = control.header_at_sockets() else {
            continue;
        };
        let path = RoutedPath::new(true).unwrap();
        let name = format!("hwt_{}", control.name);
        succeeds(&["attach", control.name, "--name", &name]);
        path.source.netns.set_default_control(&name).unwrap();
        // VCP falls back only if round-trip times show a queue. Without a queue, it takes a missing
        // header for low load.
        let narrow = "tbf rate 2mbit burst 5kb limit 60kb";
        path.router
            .tc(&format!("qdisc add dev {ROUTER_OUT} root {narrow}"))
            .unwrap();
        let (netns, source) = (path.router.path(), path.source.path());
        succeeds(&["host", "headers", "--netns", &source, "--dev", HOST_DEVICE]);
        let transfer = Transfer::start(&path);
        wait_until_alone(1, "without a router");
        let text = succeeds(&["status"]);
        assert!(
            text.contains("1 of its connections react to losses"),
            "{text}"
        );
        let router = routers()
            .iter()
            .find(|r| r.header == Some(info.name))
            .unwrap();
        let at = ["--netns", &netns, "--dev", ROUTER_OUT];
        succeeds(&[&["router", router.name, "--capacity", "1500kbit"], &at[..]].concat());
        wait_until_alone(0, "with a router");
        let text = succeeds(&["status"]);
        assert!(text.contains("last feedback, "), "{text}");
        println!(
            "{}",
            text.lines()
                .filter(|l| l.contains("last feedback") || l.contains("  counters:"))
                .collect::<Vec<_>>()
                .join("\n")
        );
        if info.carrier == Carrier::TcpOption {
            let rule = format!(
                "add table ip strip; add chain ip strip options {{ type filter hook forward priority 0; }}; \
                 add rule ip strip options reset tcp option {}",
                info.kind
            );
            let run = || Command::new("nft").arg(&rule).output();
            let output = path.router.netns.inside(run).unwrap();
            assert!(output.status.success(), "{output:?}");
            wait_until_alone(1, "where the option is removed");
        }
        drop(transfer);
        wait_until_alone(0, "closed");
        path.source.netns.set_default_control("reno").unwrap();
        succeeds(&["detach", "--all"]);
    }
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "hostile headers harm no packet",
        &hostile_headers_harm_no_packet,
    ),
    (
        "hostile headers harm no connection",
        &hostile_headers_harm_no_connection,
    ),
    (
        "a flow falls back without a router and status reports it",
        &a_flow_falls_back_without_a_router_and_status_reports_it,
    ),
];
